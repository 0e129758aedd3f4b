"""Fields for the types a parameter can have; each keeps what was typed, accepted or not."""

from typing import cast

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent, QPen, QWheelEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QLineEdit,
    QStyle,
    QStyleOptionComboBox,
    QStylePainter,
    QVBoxLayout,
    QWidget,
)

from suites.errors import ParameterError
from suites.parameters import Parameter, Type
from widgets.parts.text import set_tool_tip
from widgets.theme import SPACE, palette


class Editor(QWidget):
    """A field for one parameter. `edited` is said for what the user does, not for set_text()."""

    edited = Signal(str)

    def __init__(self, field: QWidget, parameter: Parameter) -> None:
        super().__init__()
        self.parameter = parameter
        self.field = field
        self.setFocusProxy(field)
        field.setAccessibleName(f"{parameter.title}, {parameter.unit}" if parameter.unit else parameter.title)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(field)

    def set_text(self, text: str) -> None:
        """Show `text`, which is already in the draft."""

    def set_message(self, message: str) -> None:
        """Mark the field as not accepted where there is a `message`, and tell it to screen readers."""
        self.field.setAccessibleDescription(message or self.parameter.help)


class _Line(QLineEdit):
    """A line that turns its frame to the error's colour, and steps whole numbers with the arrow keys."""

    def __init__(self, parameter: Parameter) -> None:
        super().__init__()
        self._parameter = parameter
        self.invalid = False

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Step a whole number up or down; everything else is typing."""
        step = {Qt.Key.Key_Up: 1, Qt.Key.Key_Down: -1}.get(Qt.Key(event.key()))
        if step is None or self._parameter.type is not Type.INTEGER:
            super().keyPressEvent(event)
            return
        try:
            stepped = self._parameter.parse(int(cast("int", self._parameter.parse(self.text()))) + step)
        except ParameterError:
            return  # at the bound, or not a number yet: the key has nothing to do
        self.setText(self._parameter.format(stepped))
        self.textEdited.emit(self.text())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the field, framed in the error's colour while its text is not accepted."""
        super().paintEvent(event)
        if self.invalid:
            painter = QPainter(self)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(QColor(palette().error), 2))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 2, 2)


class LineEditor(Editor):
    """A line of text: numbers, sizes, durations and words. Leaving it writes an accepted value out in full."""

    def __init__(self, parameter: Parameter) -> None:
        self._line = _Line(parameter)
        super().__init__(self._line, parameter)
        self._line.setPlaceholderText("empty" if parameter.type is Type.TEXT else "")
        self._line.textEdited.connect(self.edited)
        self._line.editingFinished.connect(self._write_out)

    def set_text(self, text: str) -> None:
        """Show `text` unless it stands there: the cursor stays where it is."""
        if self._line.text() != text:
            self._line.setText(text)

    def set_message(self, message: str) -> None:
        """Frame the field while there is a message."""
        super().set_message(message)
        self._line.invalid = bool(message)
        self._line.update()

    def _write_out(self) -> None:
        try:
            written = self.parameter.format(self.parameter.parse(self._line.text()))
        except ParameterError:
            return
        if written != self._line.text():
            self._line.setText(written)
            self.edited.emit(written)


class _Combo(QComboBox):
    """A list that the wheel turns only while it has the focus: scrolling a page must not change a value."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Leave the wheel to the page unless the list has the focus."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the choice as far as there is room: in full, else what comes before its colon."""
        painter = QStylePainter(self)
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        place = self.style().subControlRect(
            QStyle.ComplexControl.CC_ComboBox, option, QStyle.SubControl.SC_ComboBoxEditField, self
        )
        room, metrics = place.width() - SPACE[0], self.fontMetrics()
        fits = metrics.horizontalAdvance(option.currentText) <= room
        said = option.currentText if fits else short_words(option.currentText)
        option.currentText = metrics.elidedText(said, Qt.TextElideMode.ElideRight, room)
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)


class ChoiceEditor(Editor):
    """A list of the values a CHOICE accepts, each in words."""

    def __init__(self, parameter: Parameter) -> None:
        self._combo = _Combo()
        self._combo.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._combo.setMinimumContentsLength(8)
        self._combo.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        for choice in parameter.choices:
            self._combo.addItem(choice.title, choice.value)
        super().__init__(self._combo, parameter)
        self._combo.activated.connect(self._chosen)

    def set_text(self, text: str) -> None:
        """Select the value `text`."""
        self._combo.setCurrentIndex(self._combo.findData(text))
        self._combo.view().setMinimumWidth(self._combo.view().sizeHintForColumn(0) + SPACE[4])
        set_tool_tip(self._combo, self._combo.currentText())

    def _chosen(self, index: int) -> None:
        self.edited.emit(str(self._combo.itemData(index)))


class FlagEditor(Editor):
    """A box to tick."""

    def __init__(self, parameter: Parameter) -> None:
        self._box = QCheckBox()
        super().__init__(self._box, parameter)
        self._box.clicked.connect(self._clicked)

    def set_text(self, text: str) -> None:
        """Tick the box where `text` means yes."""
        self._box.setChecked(self.parameter.parse(text) is True)
        self._box.setText(text)

    def _clicked(self, ticked: bool) -> None:  # noqa: FBT001 (Qt passes it so)
        self.edited.emit(self.parameter.format(ticked))


def short_words(title: str) -> str:
    """Return what a choice is called, without what is said about it after a colon."""
    return title.partition(": ")[0]


def make_editor(parameter: Parameter) -> Editor:
    """Return the field for `parameter`, by its type alone."""
    if parameter.type is Type.CHOICE:
        return ChoiceEditor(parameter)
    if parameter.type is Type.FLAG:
        return FlagEditor(parameter)
    return LineEditor(parameter)
