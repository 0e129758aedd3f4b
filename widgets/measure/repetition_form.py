"""How often, with what pause and in which order: a field each, drawn like any parameter."""

from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from suites.errors import ParameterError
from suites.parameters import Parameter
from widgets.measure.draft import REPETITION, PlanDraft
from widgets.measure.editors import make_editor
from widgets.text import Text, Tone, set_tool_tip
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


class RepetitionForm(QWidget):
    """The plan's repetition."""

    changed = Signal()

    def __init__(self, draft: PlanDraft, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._draft = draft
        self._columns = 0
        self.fields = {parameter.name: _Field(parameter) for parameter in REPETITION}
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(SPACE[2])
        self._grid.setVerticalSpacing(SPACE[1])
        for name, field in self.fields.items():
            field.editor.edited.connect(lambda text, name=name: self._edit(name, text))
        self._arrange(len(self.fields))

    def refresh(self) -> None:
        """Show what the draft holds."""
        form = self._draft.repetition
        for name, field in self.fields.items():
            field.editor.set_text(form.text(name))
            value = form.parsed(name)
            wrong = value.remedy if isinstance(value, ParameterError) else ""
            field.editor.set_message(wrong)
            field.message.setText(wrong)
            field.message.setVisible(bool(wrong))

    def _edit(self, name: str, text: str) -> None:
        self._draft.repetition.set_text(name, text)
        self.changed.emit()

    def _arrange(self, columns: int) -> None:
        if columns == self._columns:
            return
        self._columns = columns
        for index, field in enumerate(self.fields.values()):
            self._grid.addWidget(field, index // columns, index % columns)
        for column in range(len(self.fields)):
            self._grid.setColumnStretch(column, 1 if column < columns else 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Stand in one row where there is room, else in two."""
        super().resizeEvent(event)
        self._arrange(4 if self.width() >= 4 * COLUMN_WIDTH else 2)
