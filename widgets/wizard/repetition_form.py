"""Form of the repetition: stopping rule, pause and order; shows only the fields in use."""

from typing import cast

from PySide6.QtCore import QEvent, QObject, QStringListModel, Qt, Signal
from PySide6.QtWidgets import QCompleter, QLineEdit, QWidget

from app.natural_order import natural_key
from app.services import Workstation
from widgets.jobs import BackgroundJob
from widgets.parts.boxes import column_in, fill
from widgets.parts.text import Text, Tone
from widgets.theme import SPACE, TextSize, text_font
from widgets.wizard.draft import PlanDraft
from widgets.wizard.editors import FieldGrid
from widgets.wizard.repetition_parameters import REPETITION


class _Names(QCompleter):
    """Completer of baseline names that also opens on a click into the empty field."""

    def __init__(self, line: QLineEdit) -> None:
        super().__init__(line)
        self._names = QStringListModel(self)
        self.setModel(self._names)
        self.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        line.setCompleter(self)
        line.setPlaceholderText("name of a pinned run")
        line.installEventFilter(self)

    def offer(self, names: list[str]) -> None:
        """Set the names to offer."""
        self._names.setStringList(names)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Show all names on a click into the empty field."""
        if event.type() is QEvent.Type.MouseButtonRelease and not cast("QLineEdit", watched).text():
            self.setCompletionPrefix("")
            self.complete()
        return super().eventFilter(watched, event)


class RepetitionForm(QWidget):
    """Form of the plan's repetition."""

    changed = Signal()

    def __init__(self, draft: PlanDraft) -> None:
        super().__init__()
        self._draft = draft
        self._grid = FieldGrid(REPETITION, 4, 150)
        self._grid.edited.connect(self._edit)
        self.fields = self._grid.fields
        baseline = cast("QLineEdit", self.fields["baseline"].editor.field)
        self.names = _Names(baseline)
        self.names.activated.connect(lambda name: self._edit("baseline", name))
        self.problem = Text(tone=Tone.ERROR, font=text_font(TextSize.SMALL))
        fill(column_in(self, SPACE[0]), self._grid, self.problem)
        self.refresh()

    def read_baselines(self, workstation: Workstation) -> None:
        """Read the names of the baselines in the background."""
        BackgroundJob(
            lambda: frozenset(one.name for one in workstation.baselines() if one.reference is None), self
        ).start(self._take_baselines)

    def refresh(self) -> None:
        """Show the values of the draft in the fields in use."""
        form = self._draft.repetition
        for name, field in self.fields.items():
            field.show_value(form.text(name), form.parsed(name) if form.applies(name) else None)
        problem = self._draft.repetition_problem()
        self.problem.setText(problem)
        self.problem.setVisible(bool(problem))
        self._grid.show_fields(tuple(name for name in self.fields if form.applies(name)))

    def _take_baselines(self, names: frozenset[str]) -> None:
        self._draft.pinned = names
        self.names.offer(sorted(names, key=natural_key))
        self.refresh()

    def _edit(self, name: str, text: str) -> None:
        self._draft.repetition.set_text(name, text)
        self.changed.emit()
