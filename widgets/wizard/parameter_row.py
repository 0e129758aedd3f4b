"""One parameter in a row of fixed height: the tool's token, field, unit, and a quiet hint; one Tab stop."""

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QAction, QColor, QContextMenuEvent, QFontMetrics, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QMenu, QWidget

from suites.errors import ParameterError
from suites.parameters import Parameter, Type, Value
from suites.quantities import first_upper
from widgets.parts.boxes import fill, row_in
from widgets.parts.text import Text, Tone, set_tool_tip
from widgets.theme import SPACE, TextSize, code_font, palette, text_font
from widgets.wizard.draft import PLACE_AT, ParameterForm
from widgets.wizard.editors import Editor, make_editor

LABEL, FIELD = 27, 28
"""Characters of a label and of a field: of code, so that the fields of all rows begin at one place."""

LONGEST_LABEL = 22
"""Characters of a label that has the option beside it."""

RESET_KEYS = "Ctrl+Backspace"


def _editor(parameter: Parameter) -> Editor:
    """Return the field for `parameter`; import the multi-line editor only where one is needed."""
    if parameter.type is Type.LINES:
        from widgets.wizard.multiline_editor import LinesEditor

        return LinesEditor(parameter)
    return make_editor(parameter)


def value_text(parameter: Parameter, value: Value) -> str:
    """Return `value` with its unit; a choice as the tool spells it."""
    if parameter.type is Type.LINES or (parameter.type is Type.TEXT and not value):
        return "empty" if not value else "text"
    return f"{parameter.format(value)} {unit_text(parameter)}".strip()


def unit_text(parameter: Parameter) -> str:
    """Return the unit shown after the field; sizes and durations include theirs in the value."""
    return "" if parameter.type in {Type.SIZE, Type.DURATION} else parameter.unit


def label_text(parameter: Parameter) -> str:
    """Return the tool's token of a parameter; without one, the title with the option, if both fit.

    The row for one host is below the row for all hosts and shows only the host's name.
    """
    if PLACE_AT in parameter.name:
        return f"  on{parameter.title.rpartition(' on')[2]}"
    both = f"{parameter.title} {parameter.option}".strip()
    token = parameter.option.lstrip("-=") == parameter.title
    return parameter.title if token or len(both) > LONGEST_LABEL else both


def help_text(parameter: Parameter, why: str = "") -> str:
    """Return the help of a parameter with its option, its bounds, and why its tuned value is so."""
    bounds = parameter.bounds()
    option = f"{parameter.option}:" if parameter.option else ""
    return " ".join(filter(None, (option, parameter.help, f"{first_upper(bounds)}." if bounds else "", why)))


class ParameterRow(QWidget):
    """Row for one parameter: emits typed text and shows the state of the form."""

    edited = Signal(str, str)  # the parameter's name, the text
    focused = Signal(str)  # the parameter's name
    step_requested = Signal(int)  # to the next row (1) or the previous one (-1)

    def __init__(self, parameter: Parameter) -> None:
        super().__init__()
        self.parameter = parameter
        self.error = ""
        self.why = ""
        self._focused = False
        self._offers: dict[str, str] = {}  # text of the value by title
        self._searched = ""
        self.editor = _editor(parameter)
        self.editor.edited.connect(self._emit)
        self.editor.field.installEventFilter(self)
        self.title = Text(label_text(parameter), wrap=False, font=code_font())
        self.title.setBuddy(self.editor.field)
        self._unit = Text(unit_text(parameter), Tone.MUTED, wrap=False)
        self.hint = Text(tone=Tone.MUTED, wrap=False, font=text_font(TextSize.SMALL))
        self.hint.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self._build(lines=parameter.type is Type.LINES)

    def _build(self, *, lines: bool) -> None:
        row = row_in(self, SPACE[1], (SPACE[1], 2, SPACE[1], 2))
        metrics = QFontMetrics(code_font())
        width = metrics.horizontalAdvance("0")
        self.title.setFixedWidth(LABEL * width)
        label = self.title.text()
        shown = metrics.elidedText(label, Qt.TextElideMode.ElideMiddle, LABEL * width)
        if shown != label:
            self.title.setText(shown)
            self.title.setAccessibleName(self.parameter.title)
        fill(row, self.title, (self.editor, 1 if lines else 0), self._unit, (self.hint, 0 if lines else 1))
        if lines:
            row.setAlignment(self.title, Qt.AlignmentFlag.AlignTop)
            self.hint.hide()
        else:
            self.setFixedHeight(max(34, 2 * metrics.height()))
            self.editor.setFixedWidth(FIELD * width)

    def show_form(self, form: ParameterForm) -> None:
        """Show the text, the suggested values and the error of this parameter."""
        name, parameter = self.parameter.name, self.parameter
        text, value, applies = form.text(name), form.parsed(name), form.applies(name)
        tuned = form.tuned.get(name)
        self.editor.set_text(text)
        self.editor.setEnabled(applies)
        self.title.setEnabled(applies)
        self.why = tuned.why if tuned is not None else ""
        self.error = f"{value.fault} {value.remedy}".strip() if isinstance(value, ParameterError) and applies else ""
        suggested = {} if tuned is None else {"tuned": tuned.value}
        suggested["default"] = parameter.default
        self._offers = {
            f"Use {kind} {value_text(parameter, each)}": parameter.format(each) for kind, each in suggested.items()
        }
        self.editor.set_message(self.error)
        self.hint.set_tone(Tone.ERROR if self.error else Tone.MUTED)
        self.hint.setText(self.error or self._hint_text(value, suggested, applies=applies))
        set_tool_tip(self, help_text(parameter, self.why))
        self._searched = f"{name} {parameter.title} {parameter.option} {parameter.help} {text}".casefold()

    def _hint_text(self, value: Value | ParameterError, suggested: dict[str, Value], *, applies: bool) -> str:
        """Return the suggested values: ``tuned 32 · default 1``; only the name of the one that is set."""
        if not applies:
            return "not used with these values"
        if PLACE_AT in self.parameter.name:
            return "" if value else "as on the other hosts"
        texts = {kind: value_text(self.parameter, each) or "empty" for kind, each in suggested.items()}
        return " · ".join(kind if suggested[kind] == value else f"{kind} {text}" for kind, text in texts.items())

    def matches(self, words: list[str]) -> bool:
        """Return whether every one of `words` (case-folded) occurs in name, token, help or value."""
        return all(word in self._searched for word in words)

    def reset(self) -> None:
        """Set the tuned value, or the default where there is none; from the tuned value to the default."""
        texts = list(self._offers.values())
        now = self.hint.text().startswith("tuned ·")
        self._emit(texts[-1] if now else texts[0])

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer the tuned value and the default."""
        menu = QMenu(self)
        for title, text in self._offers.items():
            action = QAction(title, menu)
            action.triggered.connect(lambda _checked=False, text=text: self._emit(text))
            menu.addAction(action)
        menu.popup(event.globalPos())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the focus; reset with Ctrl+Backspace, go to the neighbouring rows with Up and Down."""
        if event.type() in {QEvent.Type.FocusIn, QEvent.Type.FocusOut}:
            self._focused = event.type() is QEvent.Type.FocusIn
            if self._focused:
                self.focused.emit(self.parameter.name)
            self.update()
        if isinstance(event, QKeyEvent) and event.type() is QEvent.Type.KeyPress and self._take_key(event):
            return True
        return super().eventFilter(watched, event)

    def _take_key(self, event: QKeyEvent) -> bool:
        if event.key() == Qt.Key.Key_Backspace and event.modifiers() == Qt.KeyboardModifier.ControlModifier:
            self.reset()
            return True
        step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()))
        own = {Type.INTEGER, Type.CHOICE, Type.LINES}  # their fields use the keys
        if step is None or self.parameter.type in own or event.modifiers():
            return False
        self.step_requested.emit(step)
        return True

    def _emit(self, text: str) -> None:
        self.edited.emit(self.parameter.name, text)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Highlight the row that has the focus."""
        if self._focused:
            painter = QPainter(self)
            painter.fillRect(self.rect(), QColor(palette().raised))
