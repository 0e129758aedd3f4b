"""How often, until when, with what pause and in which order: a field each, and only those that have an effect."""

from typing import cast

from PySide6.QtCore import QEvent, QObject, QStringListModel, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QCompleter, QGridLayout, QLineEdit, QVBoxLayout, QWidget

from app.services import Workstation
from suites.errors import ParameterError
from suites.parameters import Parameter
from widgets.jobs import Job
from widgets.measure.draft import PlanDraft
from widgets.measure.editors import make_editor
from widgets.measure.repetition_values import REPETITION
from widgets.parts.text import Text, Tone, set_tool_tip
from widgets.theme import SPACE, TextSize, text_font

COLUMN_WIDTH = 150


class _Field(QWidget):
    """A title, a field under it, and what is wrong with it."""

    def __init__(self, parameter: Parameter) -> None:
        super().__init__()
        self.editor = make_editor(parameter)
        self.message = Text(tone=Tone.ERROR, font=text_font(TextSize.SMALL))
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


class _Names(QCompleter):
    """Offers the names of baselines as soon as their field is entered."""

    def __init__(self, line: QLineEdit) -> None:
        super().__init__(line)
        self._names = QStringListModel(self)
        self.setModel(self._names)
        self.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        line.setCompleter(self)
        line.setPlaceholderText("the name of a pinned run")
        line.installEventFilter(self)

    def offer(self, names: list[str]) -> None:
        """Offer these names from now on."""
        self._names.setStringList(names)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Show all names where the empty field is clicked."""
        if event.type() is QEvent.Type.MouseButtonRelease and not cast("QLineEdit", watched).text():
            self.setCompletionPrefix("")
            self.complete()
        return super().eventFilter(watched, event)


class RepetitionForm(QWidget):
    """The plan's repetition."""

    changed = Signal()

    def __init__(self, draft: PlanDraft, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._draft = draft
        self._shown: tuple[int, tuple[str, ...]] = (0, ())
        self.fields = {parameter.name: _Field(parameter) for parameter in REPETITION}
        baseline = cast("QLineEdit", self.fields["baseline"].editor.field)
        self.names = _Names(baseline)
        self.names.activated.connect(lambda name: self._edit("baseline", name))
        self.problem = Text(tone=Tone.ERROR, font=text_font(TextSize.SMALL))
        self._grid = QGridLayout()
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(SPACE[2])
        self._grid.setVerticalSpacing(SPACE[1])
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE[0])
        column.addLayout(self._grid)
        column.addWidget(self.problem)
        for name, field in self.fields.items():
            field.setParent(self)
            field.editor.edited.connect(lambda text, name=name: self._edit(name, text))
        self._arrange(4)
        self.refresh()

    def read_baselines(self, workstation: Workstation) -> None:
        """Read which baselines there are."""
        job = Job(lambda: frozenset(one.name for one in workstation.baselines() if one.reference is None), self)
        job.returned.connect(self._take_baselines)
        job.start()

    def refresh(self) -> None:
        """Show what the draft holds, and of the fields those that have an effect."""
        form = self._draft.repetition
        for name, field in self.fields.items():
            field.editor.set_text(form.text(name))
            value = form.parsed(name)
            wrong = value.remedy if isinstance(value, ParameterError) and form.applies(name) else ""
            field.editor.set_message(wrong)
            field.message.setText(wrong)
            field.message.setVisible(bool(wrong))
        problem = self._draft.repetition_problem()
        self.problem.setText(problem)
        self.problem.setVisible(bool(problem))
        self._arrange(self._shown[0])

    def _take_baselines(self, names: frozenset[str]) -> None:
        self._draft.pinned = names
        self.names.offer(sorted(names))
        self.refresh()

    def _edit(self, name: str, text: str) -> None:
        self._draft.repetition.set_text(name, text)
        self.changed.emit()

    def _arrange(self, columns: int) -> None:
        names = tuple(name for name in self.fields if self._draft.repetition.applies(name))
        if (columns, names) == self._shown:
            return
        self._shown = columns, names
        for name, field in self.fields.items():
            self._grid.removeWidget(field)
            field.setVisible(name in names)
        for index, name in enumerate(names):
            self._grid.addWidget(self.fields[name], index // columns, index % columns)
        for column in range(len(self.fields)):
            self._grid.setColumnStretch(column, 1 if column < columns else 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Stand in rows of four where there is room, else of two."""
        super().resizeEvent(event)
        self._arrange(4 if self.width() >= 4 * COLUMN_WIDTH else 2)
