"""What the plan changes on its hosts, folded away until somebody wants it, and every command that runs as root."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QToolButton, QVBoxLayout, QWidget

from app.plans.plan import host_words
from app.plans.tuning import TUNING
from app.runs.root_commands import RootCommand
from suites.errors import ParameterError
from suites.parameters import Parameter
from widgets.measure.command_view import CommandView
from widgets.measure.draft import PlanDraft
from widgets.measure.editors import make_editor
from widgets.parts.text import Text, Tone, set_tool_tip
from widgets.theme import SPACE, TextSize, text_font

COLUMN_WIDTH = 180


class _Field(QWidget):
    """A title, a field under it, and what is wrong with it; a box to tick says its own title."""

    def __init__(self, parameter: Parameter) -> None:
        super().__init__()
        self.editor = make_editor(parameter)
        self.message = Text(tone=Tone.ERROR, font=text_font(TextSize.SMALL))
        self.message.hide()
        title = Text(parameter.title, Tone.MUTED, wrap=False)
        title.setBuddy(self.editor.field)
        set_tool_tip(self, parameter.help)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE[0])
        column.addWidget(title)
        column.addWidget(self.editor)
        column.addWidget(self.message)
        column.addStretch(1)

    def show_value(self, text: str, value: object) -> None:
        """Show `text`, and what is wrong where `value` is an error."""
        self.editor.set_text(text)
        wrong = value.remedy if isinstance(value, ParameterError) else ""
        self.editor.set_message(wrong)
        self.message.setText(wrong)
        self.message.setVisible(bool(wrong))


class TuningForm(QWidget):
    """The plan's tuning. Nothing is ticked or filled in by itself."""

    changed = Signal()

    def __init__(self, draft: PlanDraft, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._draft = draft
        self._columns = 0
        self.unfold = QToolButton()
        self.unfold.setText("Change the hosts while it runs")
        self.unfold.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.unfold.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.unfold.setCheckable(True)
        self.unfold.toggled.connect(self._fold)
        explanation = "As root, and put back when the run is over, however it ends. Empty fields change nothing."
        self._explanation = Text(explanation, Tone.MUTED)
        self.fields = {parameter.name: _Field(parameter) for parameter in TUNING}
        self._place = QWidget()
        self._grid = QGridLayout(self._place)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(SPACE[2])
        self._grid.setVerticalSpacing(SPACE[1])
        for name, field in self.fields.items():
            field.editor.edited.connect(lambda text, name=name: self._edit(name, text))
        self.problem = Text(tone=Tone.ERROR, font=text_font(TextSize.SMALL))
        self.commands = CommandView("Runs as root", lines=6)
        self._arrange(3)
        self._build()
        self._fold(shown=False)

    def _build(self) -> None:
        head = QHBoxLayout()
        head.addWidget(self.unfold)
        head.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE[1])
        column.addLayout(head)
        for part in (self._explanation, self._place, self.problem, self.commands):
            column.addWidget(part)

    def refresh(self) -> None:
        """Show what the draft holds; what somebody has filled in is never folded away."""
        form = self._draft.tuning
        for name, field in self.fields.items():
            field.show_value(form.text(name), form.parsed(name))
        problem = self._draft.tuning_problem()
        self.problem.setText(problem)
        self.problem.setVisible(bool(problem))
        if any(form.text(known.name) != known.format(known.default) for known in form.parameters):
            self.unfold.setChecked(True)

    def show_commands(self, commands: Sequence[RootCommand]) -> None:
        """Show every command that runs as root; without any, nothing."""
        self.commands.setVisible(bool(commands))
        count = f"{len(commands)} command{'s' if len(commands) > 1 else ''}"
        self.commands.set_caption(f"Runs as root: {count}")
        self.commands.set_text(
            "\n".join(f"# on {host_words(command.host)}, {command.when}\n{command.line}" for command in commands)
        )

    def _edit(self, name: str, text: str) -> None:
        self._draft.tuning.set_text(name, text)
        self.changed.emit()

    def _fold(self, shown: bool) -> None:  # noqa: FBT001 (a signal passes it so)
        self.unfold.setArrowType(Qt.ArrowType.DownArrow if shown else Qt.ArrowType.RightArrow)
        for part in (self._explanation, self._place):
            part.setVisible(shown)

    def _arrange(self, columns: int) -> None:
        if columns == self._columns:
            return
        self._columns = columns
        for index, field in enumerate(self.fields.values()):
            self._grid.addWidget(field, index // columns, index % columns)
        for column in range(len(self.fields)):
            self._grid.setColumnStretch(column, 1 if column < columns else 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Stand in two rows where there is room, else in three."""
        super().resizeEvent(event)
        self._arrange(3 if self.width() >= 3 * COLUMN_WIDTH else 2)
