"""Host tuning of the plan, collapsed by default, and every command that runs as root."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from app.plans.plan import host_label
from app.plans.tuning import TUNING
from app.runs.root_commands import RootCommand
from widgets.parts.boxes import column_in, fill, in_row
from widgets.parts.controls import tool_button
from widgets.parts.text import Text, Tone
from widgets.theme import SPACE, TextSize, text_font
from widgets.wizard.command_view import CommandView
from widgets.wizard.draft import PlanDraft
from widgets.wizard.editors import FieldGrid


class TuningForm(QWidget):
    """Form of the plan's tuning; every field is empty by default."""

    changed = Signal()

    def __init__(self, draft: PlanDraft) -> None:
        super().__init__()
        self._draft = draft
        self.unfold = tool_button(text="Host tuning", checkable=True)
        self.unfold.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.unfold.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.unfold.toggled.connect(self._fold)
        explanation = "Changed as root for the run and restored at its end. Empty fields change nothing."
        self._explanation = Text(explanation, Tone.MUTED)
        self._grid = FieldGrid(TUNING, 3, 180)
        self._grid.edited.connect(self._edit)
        self.fields = self._grid.fields
        self.problem = Text(tone=Tone.ERROR, font=text_font(TextSize.SMALL))
        self.commands = CommandView("Runs as root", lines=6)
        self._build()
        self._fold(shown=False)

    def _build(self) -> None:
        head = in_row(self.unfold, None)
        fill(column_in(self, SPACE[1]), head, self._explanation, self._grid, self.problem, self.commands)

    def refresh(self) -> None:
        """Show the values of the draft; expand the form where one is not the default."""
        form = self._draft.tuning
        for name, field in self.fields.items():
            field.show_value(form.text(name), form.parsed(name))
        problem = self._draft.tuning_problem()
        self.problem.setText(problem)
        self.problem.setVisible(bool(problem))
        if any(form.text(known.name) != known.format(known.default) for known in form.parameters):
            self.unfold.setChecked(True)

    def show_commands(self, commands: Sequence[RootCommand]) -> None:
        """Show every command that runs as root; hide the view where there is none."""
        self.commands.setVisible(bool(commands))
        count = f"{len(commands)} command{'s' if len(commands) > 1 else ''}"
        self.commands.set_caption(f"Runs as root: {count}")
        self.commands.set_text(
            "\n".join(f"# on {host_label(command.host)}, {command.when}\n{command.line}" for command in commands)
        )

    def _edit(self, name: str, text: str) -> None:
        self._draft.tuning.set_text(name, text)
        self.changed.emit()

    def _fold(self, shown: bool) -> None:  # noqa: FBT001 (a signal passes it so)
        self.unfold.setArrowType(Qt.ArrowType.DownArrow if shown else Qt.ArrowType.RightArrow)
        for part in (self._explanation, self._grid):
            part.setVisible(shown)
