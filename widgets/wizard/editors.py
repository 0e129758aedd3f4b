"""Fields for each parameter type; each keeps the typed text, valid or not."""

from collections.abc import Sequence
from typing import cast

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent, QPen, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QGridLayout,
    QLineEdit,
    QStyle,
    QStyleOptionComboBox,
    QStylePainter,
    QWidget,
)

from suites.errors import ParameterError
from suites.parameters import Parameter, Type
from widgets.parts.boxes import column_in, fill
from widgets.parts.text import Text, Tone, set_tool_tip
from widgets.theme import SPACE, TextSize, palette, text_font


class Editor(QWidget):
    """Field for one parameter. User input emits `edited`; set_text() does not."""

    edited = Signal(str)

    def __init__(self, field: QWidget, parameter: Parameter) -> None:
        super().__init__()
        self.parameter = parameter
        self.field = field
        self.setFocusProxy(field)
        field.setAccessibleName(f"{parameter.title}, {parameter.unit}" if parameter.unit else parameter.title)
        fill(column_in(self), field)

    def set_text(self, text: str) -> None:
        """Show `text` without emitting `edited`."""

    def set_message(self, message: str) -> None:
        """Mark the field as invalid if `message` is not empty, and expose it to screen readers."""
        self.field.setAccessibleDescription(message or self.parameter.help)


class _Line(QLineEdit):
    """Line edit with an error frame; Up and Down step integers."""

    def __init__(self, parameter: Parameter) -> None:
        super().__init__()
        self._parameter = parameter
        self.invalid = False

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Step an integer with Up and Down."""
        step = {Qt.Key.Key_Up: 1, Qt.Key.Key_Down: -1}.get(Qt.Key(event.key()))
        if step is None or self._parameter.type is not Type.INTEGER:
            super().keyPressEvent(event)
            return
        try:
            stepped = self._parameter.parse(int(cast("int", self._parameter.parse(self.text()))) + step)
        except ParameterError:
            return  # at the bound, or not a number
        self.setText(self._parameter.format(stepped))
        self.textEdited.emit(self.text())  # setText() emits textChanged only

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the field, with an error frame while its text is invalid."""
        super().paintEvent(event)
        if self.invalid:
            painter = QPainter(self)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(QColor(palette().error), 2))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 2, 2)


class LineEditor(Editor):
    """Field for numbers, sizes, durations and text. Leaving it normalises a valid value."""

    def __init__(self, parameter: Parameter) -> None:
        self._line = _Line(parameter)
        super().__init__(self._line, parameter)
        self._line.setPlaceholderText("empty" if parameter.type is Type.TEXT else "")
        self._line.textEdited.connect(self.edited)
        self._line.editingFinished.connect(self._write_out)

    def set_text(self, text: str) -> None:
        """Show `text`; unchanged text keeps the cursor."""
        if self._line.text() != text:
            self._line.setText(text)

    def set_message(self, message: str) -> None:
        """Set the message and draw the error frame if it is not empty."""
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
    """Combo box that ignores the wheel without focus: scrolling a page must not change a value."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Pass the wheel to the page unless the list has the focus."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the choice in full, or its part before the colon where it does not fit."""
        painter = QStylePainter(self)
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        field = self.style().subControlRect(
            QStyle.ComplexControl.CC_ComboBox, option, QStyle.SubControl.SC_ComboBoxEditField, self
        )
        width, metrics = field.width() - SPACE[0], self.fontMetrics()
        fits = metrics.horizontalAdvance(option.currentText) <= width
        text = option.currentText if fits else short_title(option.currentText)
        option.currentText = metrics.elidedText(text, Qt.TextElideMode.ElideRight, width)
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)


class ChoiceEditor(Editor):
    """Combo box of the titles of a CHOICE."""

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
    """Check box."""

    def __init__(self, parameter: Parameter) -> None:
        self._box = QCheckBox()
        super().__init__(self._box, parameter)
        self._box.clicked.connect(lambda ticked: self.edited.emit(self.parameter.format(ticked)))

    def set_text(self, text: str) -> None:
        """Check the box if `text` parses as true."""
        self._box.setChecked(self.parameter.parse(text) is True)
        self._box.setText(text)


def short_title(title: str) -> str:
    """Return the title of a choice without the explanation after its colon."""
    return title.partition(": ")[0]


def make_editor(parameter: Parameter) -> Editor:
    """Return the field for the type of `parameter`."""
    if parameter.type is Type.CHOICE:
        return ChoiceEditor(parameter)
    if parameter.type is Type.FLAG:
        return FlagEditor(parameter)
    return LineEditor(parameter)


class ParameterField(QWidget):
    """Title, field and error message, one above the other."""

    def __init__(self, parameter: Parameter) -> None:
        super().__init__()
        self.editor = make_editor(parameter)
        self.message = Text(tone=Tone.ERROR, font=text_font(TextSize.SMALL))
        self.message.hide()
        # A duration and a size are typed with their unit, a number is not.
        unit = f" [{parameter.unit}]" if parameter.unit and parameter.type in {Type.INTEGER, Type.NUMBER} else ""
        title = Text(f"{parameter.title}{unit}", Tone.MUTED, wrap=False)
        title.setBuddy(self.editor.field)
        set_tool_tip(self, parameter.help)
        fill(column_in(self, SPACE[0]), title, self.editor, self.message, None)

    def show_value(self, text: str, value: object) -> None:
        """Show `text`, and the remedy where `value` is an error."""
        self.editor.set_text(text)
        wrong = value.remedy if isinstance(value, ParameterError) else ""
        self.editor.set_message(wrong)
        self.message.setText(wrong)
        self.message.setVisible(bool(wrong))


class FieldGrid(QWidget):
    """Fields of parameters in `most` columns of at least `width` pixels, or in two where these do not fit."""

    edited = Signal(str, str)  # name and text

    def __init__(self, parameters: Sequence[Parameter], most: int, width: int) -> None:
        super().__init__()
        self._most, self._width = most, width
        self._columns = most
        self._names: tuple[str, ...] = ()
        self.fields = {parameter.name: ParameterField(parameter) for parameter in parameters}
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(SPACE[2])
        self._grid.setVerticalSpacing(SPACE[1])
        for name, field in self.fields.items():
            field.setParent(self)
            field.editor.edited.connect(lambda text, name=name: self.edited.emit(name, text))
        self.show_fields(tuple(self.fields))

    def show_fields(self, names: tuple[str, ...]) -> None:
        """Show the fields `names` only, in this order."""
        if names != self._names:
            self._names = names
            self._arrange()

    def _arrange(self) -> None:
        for name, field in self.fields.items():
            self._grid.removeWidget(field)
            field.setVisible(name in self._names)
        for index, name in enumerate(self._names):
            self._grid.addWidget(self.fields[name], index // self._columns, index % self._columns)
        for column in range(len(self.fields)):
            self._grid.setColumnStretch(column, 1 if column < self._columns else 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Arrange the fields in as many columns as fit."""
        super().resizeEvent(event)
        columns = self._most if self.width() >= self._most * self._width else 2
        if columns != self._columns:
            self._columns = columns
            self._arrange()
