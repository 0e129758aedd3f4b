"""One parameter: its field, the tool's default and the tuned value side by side, and what is wrong or worth knowing."""

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QPushButton, QSizePolicy, QWidget

from suites.errors import ParameterError
from suites.parameters import Parameter, Type, Value
from widgets.measure.editors import Editor, make_editor, short_words
from widgets.measure.form import Form, Source
from widgets.parts.text import Text, Tone, set_tool_tip, visible
from widgets.theme import SPACE, TextSize, code_font, palette, text_font

Cell = tuple[int, int, int, int]
"""Row, column, and how many of each."""

WIDE_FROM = 660
"""Pixels of width from which everything stands in one line."""

TITLE_WIDTH = 144
FIELD_WIDTH = 184
CHIP_WIDTH = 168
ROW_HEIGHT = 28


class ValueChip(QPushButton):
    """A value to be had with one click, ticked while it is the one that is written."""

    def __init__(self, parameter: Parameter, source: Source) -> None:
        super().__init__()
        self._parameter = parameter
        self._source = source
        self._said = ""
        self.setStyleSheet("QPushButton { padding: 2px 8px; } QPushButton:focus { padding: 1px 7px; }")
        self.setFont(text_font(TextSize.SMALL))
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)

    def show_value(self, value: Value, *, current: bool, why: str = "") -> None:
        """Show `value`, and whether it is the one that is written."""
        said = f"{self._source.value} {value_words(self._parameter, value)}"
        short = short_words(said) if self._parameter.type is Type.CHOICE else said
        self._said = visible(f"✓ {short}" if current else short)
        self.setAccessibleName(f"{self._parameter.title}: use the {said}")
        set_tool_tip(self, f"{said}\n{why}".strip())
        self.updateGeometry()
        self._fit()

    def sizeHint(self) -> QSize:
        """Return the width of all the words."""
        return QSize(self.fontMetrics().horizontalAdvance(self._said) + 2 * SPACE[1] + 6, super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        """Return the width below which nothing can be read; longer words are cut in the middle."""
        return QSize(min(self.sizeHint().width(), 72), self.sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Cut the words to the width there is."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        space = max(24, self.width() - 2 * SPACE[1] - 4)
        self.setText(self.fontMetrics().elidedText(self._said, Qt.TextElideMode.ElideMiddle, space).replace("&", "&&"))


def _editor(parameter: Parameter) -> Editor:
    """Return the field for `parameter`; one that reads files is only loaded where a suite has such a parameter."""
    if parameter.type is Type.LINES:
        from widgets.measure.lines_editor import LinesEditor

        return LinesEditor(parameter)
    return make_editor(parameter)


def value_words(parameter: Parameter, value: Value) -> str:
    """Return `value` with its unit, or a choice by its title."""
    if parameter.type is Type.CHOICE:
        return next((choice.title for choice in parameter.choices if choice.value == value), str(value))
    if parameter.type in {Type.TEXT, Type.LINES} and not value:
        return "empty"
    return f"{parameter.format(value)} {_unit_beside(parameter)}".strip()


def _unit_beside(parameter: Parameter) -> str:
    """Return the unit that stands beside the value; sizes and durations have theirs in the value."""
    return "" if parameter.type in {Type.SIZE, Type.DURATION} else parameter.unit


class ParameterRow(QWidget):
    """Drawn from a Parameter and nothing else; it says what was typed, and shows what the form holds."""

    edited = Signal(str, str)  # the parameter's name, the text

    def __init__(self, parameter: Parameter, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.parameter = parameter
        self._arrangement = ""
        self._focused = False
        self._shown: tuple[str, Value | ParameterError, bool] | None = None
        self.editor = _editor(parameter)
        self.editor.edited.connect(self._say)
        self.editor.field.installEventFilter(self)
        self.default_chip = ValueChip(parameter, Source.DEFAULT)
        self.default_chip.clicked.connect(self._use_default)
        self.tuned_chip = ValueChip(parameter, Source.TUNED)
        self.tuned_chip.clicked.connect(self._use_tuned)
        self._tuned_text = ""
        self.title = Text(parameter.title)
        self._option = Text(parameter.option, Tone.MUTED, font=code_font())
        self._unit = Text(_unit_beside(parameter), Tone.MUTED, wrap=False)
        self._yours = Text(Source.YOURS.value, Tone.MUTED, wrap=False, font=text_font(TextSize.SMALL))
        self.why = Text(tone=Tone.MUTED, font=text_font(TextSize.SMALL))
        self.message = Text(tone=Tone.MUTED, font=text_font(TextSize.SMALL))
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(SPACE[1], SPACE[0] + 2, SPACE[1], SPACE[0] + 2)
        self._grid.setHorizontalSpacing(SPACE[2])
        self._grid.setVerticalSpacing(2)
        self._field = self._build_field()
        if parameter.type is Type.LINES:
            self.default_chip.hide()
        self._arrange()

    def show_form(self, form: Form) -> None:
        """Show the text, the suggestions and the message of this parameter as `form` has them."""
        name = self.parameter.name
        self.editor.set_text(form.text(name))
        source = form.source(name)
        value = form.parsed(name)
        self.default_chip.show_value(self.parameter.default, current=value == self.parameter.default)
        tuned = form.tuned.get(name)
        self.tuned_chip.setVisible(tuned is not None)
        self.why.setVisible(tuned is not None)
        if tuned is not None:
            self._tuned_text = self.parameter.format(tuned.value)
            self.tuned_chip.show_value(tuned.value, current=value == tuned.value, why=tuned.why)
            self.why.setText(tuned.why)
        applies = form.applies(name)
        for widget in (self.editor, self.default_chip, self.tuned_chip, self.title):
            widget.setEnabled(applies)
        self._yours.setVisible(applies and source is Source.YOURS and not isinstance(value, ParameterError))
        self._arrange()
        self._shown = (form.text(name), value, applies)
        self._show_message(*self._shown)

    def _show_message(self, text: str, value: Value | ParameterError, applies: bool) -> None:  # noqa: FBT001 (as shown)
        wrong = isinstance(value, ParameterError) and applies
        self.editor.set_message(str(value) if wrong else "")
        if not applies:
            words, tone = "No effect with the other values.", Tone.MUTED
        elif isinstance(value, ParameterError):
            words, tone = f"{value.message.partition(': ')[2] or value.message} {value.remedy}".strip(), Tone.ERROR
        else:
            words, tone = self._help(text, value) if self._focused else self._reading(text, value), Tone.MUTED
        self.message.set_tone(tone)
        self.message.setText(words)
        self.message.setVisible(bool(words))

    def _reading(self, text: str, value: Value) -> str:
        written = self.parameter.format(value)
        return f"= {written}" if written != text and self.parameter.type in {Type.SIZE, Type.DURATION} else ""

    def _help(self, text: str, value: Value) -> str:
        bounds = self.parameter.bounds()
        return " ".join(part for part in (self._reading(text, value), self.parameter.help, _sentence(bounds)) if part)

    def _build_field(self) -> QWidget:
        place = QWidget(self)
        row = QHBoxLayout(place)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE[1])
        row.addWidget(self.editor, 1)
        row.addWidget(self._unit)
        row.addWidget(self._yours)
        self._unit.setVisible(bool(_unit_beside(self.parameter)))
        self.title.setBuddy(self.editor.field)
        return place

    def _arrange(self) -> None:
        """Put the parts where they fit: in one line, in two, or each chip on a line of its own."""
        wide = self.width() >= WIDE_FROM
        left = TITLE_WIDTH if wide else TITLE_WIDTH - SPACE[4]
        chips = self.default_chip.sizeHint().width() + self.tuned_chip.sizeHint().width()
        fits = chips + left + 5 * SPACE[2] <= self.width() or self.tuned_chip.isHidden()
        arrangement = "wide" if wide else "narrow" if fits else "stacked"
        if arrangement == self._arrangement:
            return
        self._arrangement = arrangement
        self.title.setFixedWidth(left)
        self._option.setFixedWidth(left)
        if self.parameter.type is not Type.LINES:
            self._field.setFixedWidth(FIELD_WIDTH)
        self.default_chip.setMaximumWidth(CHIP_WIDTH if wide else WIDE_FROM)
        one_line = self.parameter.type is not Type.LINES
        for part, (row, column, rows, columns) in self._cells(arrangement).items():
            centred = one_line and part in {self.title, self._field}
            middle = Qt.AlignmentFlag.AlignVCenter if centred else Qt.AlignmentFlag.AlignTop
            chip = part in {self.default_chip, self.tuned_chip}
            align = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft if chip else middle
            self._grid.addWidget(part, row, column, rows, columns, align)
        self._grid.setRowMinimumHeight(0, ROW_HEIGHT)
        self._grid.setColumnMinimumWidth(2, CHIP_WIDTH if wide else 0)
        self._grid.setColumnStretch(3, 1)

    def _cells(self, arrangement: str) -> dict[QWidget, Cell]:
        """Return where each part stands; text of several lines takes the whole width."""
        head: dict[QWidget, Cell] = {self.title: (0, 0, 1, 1), self._option: (1, 0, 2, 1)}
        if self.parameter.type is Type.LINES:
            return head | {self._field: (0, 1, 1, 3), self.message: (1, 1, 1, 3)}
        if arrangement == "wide":
            return head | {
                self._field: (0, 1, 1, 1),
                self.default_chip: (0, 2, 1, 1),
                self.tuned_chip: (0, 3, 1, 1),
                self.why: (1, 2, 1, 2),
                self.message: (2, 1, 1, 3),
            }
        narrow = arrangement == "narrow"
        return head | {
            self._field: (0, 1, 1, 3),
            self.default_chip: (1, 1, 1, 1 if narrow else 3),
            self.tuned_chip: (1, 2, 1, 2) if narrow else (2, 1, 1, 3),
            self.why: (3, 1, 1, 3),
            self.message: (4, 1, 1, 3),
        }

    def _say(self, text: str) -> None:
        self.edited.emit(self.parameter.name, text)

    def _use_default(self) -> None:
        self._say(self.parameter.format(self.parameter.default))

    def _use_tuned(self) -> None:
        self._say(self._tuned_text)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Show the help while the field has the focus."""
        if event.type() in {QEvent.Type.FocusIn, QEvent.Type.FocusOut}:
            self._focused = event.type() is QEvent.Type.FocusIn
            if self._shown is not None:
                self._show_message(*self._shown)
            self.update()
        return super().eventFilter(watched, event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Mark the row the keyboard is in."""
        if self._focused:
            painter = QPainter(self)
            painter.fillRect(self.rect(), QColor(palette().raised))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Stand in one line where there is room."""
        super().resizeEvent(event)
        self._arrange()


def _sentence(bounds: str) -> str:
    return f"{bounds[0].upper()}{bounds[1:]}." if bounds else ""
