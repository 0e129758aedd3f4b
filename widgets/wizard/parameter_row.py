"""One parameter: field, default and tuned value side by side, error or help below."""

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QPushButton, QSizePolicy, QWidget

from suites.errors import ParameterError
from suites.parameters import Parameter, Type, Value
from suites.quantities import first_upper
from widgets.parts.boxes import fill, row_in
from widgets.parts.text import Text, Tone, set_tool_tip, visible
from widgets.theme import SPACE, TextSize, code_font, palette, text_font
from widgets.wizard.draft import ParameterForm, ValueSource
from widgets.wizard.editors import Editor, make_editor, short_title

Cell = tuple[int, int, int, int]
"""Row, column, row span, column span."""

WIDE_FROM = 660
"""Width in pixels from which a row is one line."""

TITLE_WIDTH = 144
FIELD_WIDTH = 184
CHIP_WIDTH = 168
ROW_HEIGHT = 28


class ValueChip(QPushButton):
    """Button that sets a value, with a tick while that value is set."""

    def __init__(self, parameter: Parameter, source: ValueSource) -> None:
        super().__init__()
        self._parameter = parameter
        self._source = source
        self._label = ""
        self.setStyleSheet("QPushButton { padding: 2px 8px; } QPushButton:focus { padding: 1px 7px; }")
        self.setFont(text_font(TextSize.SMALL))
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)

    def show_value(self, value: Value, *, current: bool, why: str = "") -> None:
        """Show `value`, ticked if it is `current`."""
        text = f"{self._source.value} {value_text(self._parameter, value)}"
        short = short_title(text) if self._parameter.type is Type.CHOICE else text
        self._label = visible(f"✓ {short}" if current else short)
        self.setAccessibleName(f"{self._parameter.title}: use the {text}")
        set_tool_tip(self, f"{text}\n{why}".strip())
        self.updateGeometry()
        self._fit()

    def sizeHint(self) -> QSize:
        """Return the width of the whole label."""
        return QSize(self.fontMetrics().horizontalAdvance(self._label) + 2 * SPACE[1] + 6, super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        """Return the smallest legible width; a longer label is elided in the middle."""
        return QSize(min(self.sizeHint().width(), 72), self.sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Elide the label to the new width."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        space = max(24, self.width() - 2 * SPACE[1] - 4)
        self.setText(self.fontMetrics().elidedText(self._label, Qt.TextElideMode.ElideMiddle, space).replace("&", "&&"))


def _editor(parameter: Parameter) -> Editor:
    """Return the field for `parameter`; import the multi-line editor only where one is needed."""
    if parameter.type is Type.LINES:
        from widgets.wizard.multiline_editor import LinesEditor

        return LinesEditor(parameter)
    return make_editor(parameter)


def value_text(parameter: Parameter, value: Value) -> str:
    """Return `value` with its unit, or a choice by its title."""
    if parameter.type is Type.CHOICE:
        return next((choice.title for choice in parameter.choices if choice.value == value), str(value))
    if parameter.type in {Type.TEXT, Type.LINES} and not value:
        return "empty"
    return f"{parameter.format(value)} {_unit_label(parameter)}".strip()


def _unit_label(parameter: Parameter) -> str:
    """Return the unit shown after the field; sizes and durations include theirs in the value."""
    return "" if parameter.type in {Type.SIZE, Type.DURATION} else parameter.unit


class ParameterRow(QWidget):
    """Row for one parameter: emits typed text and shows the state of the form."""

    edited = Signal(str, str)  # the parameter's name, the text

    def __init__(self, parameter: Parameter) -> None:
        super().__init__()
        self.parameter = parameter
        self._arrangement = ""
        self._focused = False
        self._shown: tuple[str, Value | ParameterError, bool] | None = None
        self.editor = _editor(parameter)
        self.editor.edited.connect(self._emit)
        self.editor.field.installEventFilter(self)
        self.default_chip = ValueChip(parameter, ValueSource.DEFAULT)
        self.default_chip.clicked.connect(self._use_default)
        self.tuned_chip = ValueChip(parameter, ValueSource.TUNED)
        self.tuned_chip.clicked.connect(self._use_tuned)
        self._tuned_text = ""
        self.title = Text(parameter.title)
        self._option = Text(parameter.option, Tone.MUTED, font=code_font())
        if parameter.option.lstrip("-") == parameter.title:
            self._option.hide()
        self._unit = Text(_unit_label(parameter), Tone.MUTED, wrap=False)
        self._custom = Text(ValueSource.CUSTOM.value, Tone.MUTED, wrap=False, font=text_font(TextSize.SMALL))
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

    def show_form(self, form: ParameterForm) -> None:
        """Show the text, suggested values and message of this parameter from `form`."""
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
        self._custom.setVisible(applies and source is ValueSource.CUSTOM and not isinstance(value, ParameterError))
        self._arrange()
        self._shown = (form.text(name), value, applies)
        self._show_message(*self._shown)

    def _show_message(self, text: str, value: Value | ParameterError, applies: bool) -> None:  # noqa: FBT001 (as shown)
        wrong = isinstance(value, ParameterError) and applies
        self.editor.set_message(str(value) if wrong else "")
        if not applies:
            text, tone = "Not used with these values.", Tone.MUTED
        elif isinstance(value, ParameterError):
            text, tone = f"{value.fault} {value.remedy}".strip(), Tone.ERROR
        else:
            text, tone = self._help(text, value) if self._focused else self._normalised(text, value), Tone.MUTED
        self.message.set_tone(tone)
        self.message.setText(text)
        self.message.setVisible(bool(text))

    def _normalised(self, text: str, value: Value) -> str:
        written = self.parameter.format(value)
        return f"= {written}" if written != text and self.parameter.type in {Type.SIZE, Type.DURATION} else ""

    def _help(self, text: str, value: Value) -> str:
        bounds = self.parameter.bounds()
        return " ".join(
            part for part in (self._normalised(text, value), self.parameter.help, _sentence(bounds)) if part
        )

    def _build_field(self) -> QWidget:
        field = QWidget(self)
        fill(row_in(field, SPACE[1]), (self.editor, 1), self._unit, self._custom)
        self._unit.setVisible(bool(_unit_label(self.parameter)))
        self.title.setBuddy(self.editor.field)
        return field

    def _arrange(self) -> None:
        """Arrange the parts by width: in one line, in two, or with each chip in a separate line."""
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
        """Return the grid cell of each part; multi-line text takes the whole width."""
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

    def _emit(self, text: str) -> None:
        self.edited.emit(self.parameter.name, text)

    def _use_default(self) -> None:
        self._emit(self.parameter.format(self.parameter.default))

    def _use_tuned(self) -> None:
        self._emit(self._tuned_text)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Show the help while the field has the focus."""
        if event.type() in {QEvent.Type.FocusIn, QEvent.Type.FocusOut}:
            self._focused = event.type() is QEvent.Type.FocusIn
            if self._shown is not None:
                self._show_message(*self._shown)
            self.update()
        return super().eventFilter(watched, event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Highlight the row that has the focus."""
        if self._focused:
            painter = QPainter(self)
            painter.fillRect(self.rect(), QColor(palette().raised))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Arrange the parts for the new width."""
        super().resizeEvent(event)
        self._arrange()


def _sentence(bounds: str) -> str:
    return f"{first_upper(bounds)}." if bounds else ""
