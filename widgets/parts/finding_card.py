"""One finding as a person reads it: how grave, what was measured, why it matters, what to do."""

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal, SignalInstance
from PySide6.QtGui import QColor, QGuiApplication, QKeyEvent, QKeySequence, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLineEdit, QPushButton, QToolButton, QWidget

from app.escaping import escaped
from suites.vocab import Finding, Level
from widgets.parts.flow_layout import flowing
from widgets.parts.names import place_words
from widgets.parts.severity import TONES, WORDS, SeverityMark
from widgets.parts.text import Text, Tone, set_tool_tip, small, strong
from widgets.theme import palette

Describe = Callable[[Finding], str]
"""Says in words what applying a finding would change, such as ``Threads 1 → 8``; empty where it cannot."""


def nothing(_finding: Finding) -> str:
    """Describe no change."""
    return ""


def as_text(finding: Finding) -> str:
    """Return the whole finding as lines of text, for a ticket."""
    head = f"{WORDS[finding.level]}: {finding.title}"
    place = place_words(finding.step, finding.host)
    lines = [head, place, finding.measured, finding.why, finding.remedy, finding.install or "", finding.source]
    return escaped("\n".join(line for line in lines if line), but="\n")


class FindingCard(QWidget):
    """A finding in a frame. Tab reaches it, Ctrl+C copies it; its buttons only ask, they change nothing.

    With a `reason` it is acknowledged: it stands there muted, with the reason.
    """

    apply_requested = Signal(object)
    install_requested = Signal(object)
    acknowledge_requested = Signal(object, str)  # the finding, and why it is acknowledged; without a reason no longer
    more_requested = Signal(str)  # the topic of the help that explains it
    left = Signal(int)  # the arrow keys: towards the card above (-1) or below (1)

    def __init__(
        self,
        finding: Finding,
        *,
        actions: bool = True,
        acknowledging: bool = True,
        describe: Describe = nothing,
        reason: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.finding = finding
        self.reason = reason
        self._tone = Tone.MUTED if reason else Tone.NORMAL
        self._compact: bool | None = None
        self.buttons: list[QPushButton] = []
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(f"{WORDS[finding.level]}: {finding.title}")
        self.setAccessibleDescription(as_text(finding))
        self._grid = QGridLayout(self)
        self._grid.setVerticalSpacing(4)
        self._grid.setHorizontalSpacing(12)
        self._grid.setColumnStretch(0, 1)
        self._title = Text(finding.title, self._tone, font=strong())
        self._grid.addLayout(self._build_head(), 0, 0, 1, 2)
        self._grid.addWidget(self._title, 1, 0, 1, 2)
        self._grid.addLayout(self._build_words(), 2, 0)
        self._grid.addWidget(self._build_foot(actions, acknowledging, describe), 3, 0, 1, 2)
        self._grid.addWidget(self._build_asking(), 4, 0, 1, 2)
        self.set_compact(compact=False)

    def set_compact(self, *, compact: bool) -> None:
        """Show the short form, which keeps why and the source behind a button, or everything."""
        if compact is self._compact:
            return
        self._compact = compact
        margin = 8 if compact else 16
        self._grid.setContentsMargins(margin, margin - 4, margin, 8 if compact else margin - 4)
        self._title.setVisible(compact)
        self._head_title.setVisible(not compact)
        self._more.setVisible(compact and bool(self.finding.why or self.finding.source))
        for caption in self._captions:
            caption.setVisible(not compact)
        self._words.setHorizontalSpacing(0 if compact else 12)
        self._show_details()

    def tab_chain(self) -> tuple[QWidget, ...]:
        """Return what the Tab key reaches in this card, in the order in which the eye does."""
        return (self, self._more, self.help, self.acknowledge, *self.buttons, self.reason_field)

    def _build_head(self) -> QHBoxLayout:
        finding = self.finding
        head = QHBoxLayout()
        head.setSpacing(8)
        tone = Tone.MUTED if self.reason else TONES[finding.level]
        head.addWidget(SeverityMark(finding.level, parent=self), alignment=Qt.AlignmentFlag.AlignTop)
        said = f"{WORDS[finding.level]}, acknowledged" if self.reason else WORDS[finding.level]
        word = Text(said, tone, font=strong(), wrap=False)
        word.setMinimumWidth(max(word.fontMetrics().horizontalAdvance(each) for each in WORDS.values()) + 4)
        head.addWidget(word, alignment=Qt.AlignmentFlag.AlignTop)
        self._head_title = Text(finding.title, self._tone, font=strong())
        head.addWidget(self._head_title, 3, Qt.AlignmentFlag.AlignTop)
        place = place_words(finding.step, finding.host)
        self.place = Text(place, Tone.MUTED, font=small())
        self.place.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop)
        head.addWidget(self.place, 2)
        return head

    def _build_words(self) -> QGridLayout:
        finding = self.finding
        self._words = QGridLayout()
        self._words.setVerticalSpacing(4)
        self._words.setColumnStretch(1, 1)
        self._captions: list[Text] = []
        self._details: list[Text] = []
        self._add_words("Acknowledged", self.reason, detail=False)
        self._add_words("Measured", finding.measured, detail=False, tone=self._tone)
        self._add_words("Why", finding.why, detail=True, tone=self._tone)
        self._add_words("Remedy", finding.remedy, detail=bool(self.reason), tone=self._tone)
        self._add_words("Source", finding.source, detail=True, tone=Tone.MUTED)
        return self._words

    def _add_words(self, caption: str, words: str, *, detail: bool, tone: Tone = Tone.NORMAL) -> None:
        if not words:
            return
        row = self._words.rowCount()
        label = Text(caption, Tone.MUTED, wrap=False)
        text = Text(words, tone)
        text.setAccessibleName(f"{caption}: {words}")
        self._words.addWidget(label, row, 0, Qt.AlignmentFlag.AlignTop)
        self._words.addWidget(text, row, 1)
        self._captions.append(label)
        if detail:
            self._details.append(text)

    def _build_foot(self, actions: bool, acknowledging: bool, describe: Describe) -> QWidget:  # noqa: FBT001 (private)
        finding = self.finding
        self._more = QToolButton(self)
        self._more.setAutoRaise(True)
        self._more.setCheckable(True)
        self._more.toggled.connect(self._show_details)
        self.help = QToolButton(self)
        self.help.setAutoRaise(True)
        self.help.setText("More")
        self.help.setAccessibleName(f"More about: {finding.title}")
        set_tool_tip(self.help, "What this check looks at, its source, and what to do: the page in the help")
        self.help.clicked.connect(lambda: self.more_requested.emit(f"check-{finding.id}"))
        self.acknowledge = self._build_acknowledge(self)
        self.acknowledge.setVisible(acknowledging and finding.level is not Level.ERROR)
        buttons: list[QWidget] = [self._more, self.help, self.acknowledge]
        if actions and finding.changes and not self.reason:
            changed = describe(finding)
            buttons.append(self._action("Apply", changed or "Make the change in the plan", self.apply_requested))
        if actions and finding.install:
            tip = f"Asks first, then runs: {finding.install}"
            buttons.append(self._action("Install…", tip, self.install_requested))
        return flowing(*buttons, at_end=True)

    def _build_acknowledge(self, parent: QWidget) -> QToolButton:
        """Return the button that asks for the reason to acknowledge the finding, or that takes the reason back."""
        button = QToolButton(parent)
        button.setAutoRaise(True)
        button.setText("Take back" if self.reason else "Acknowledge…")
        set_tool_tip(button, "Take the reason back" if self.reason else "Give a reason; it stands in every report")
        button.setAccessibleName(f"{button.text()} {self.finding.title}")
        button.clicked.connect(self._acknowledge_clicked)
        return button

    def _build_asking(self) -> QLineEdit:
        self.reason_field = QLineEdit(self)
        self.reason_field.setPlaceholderText("Why it does not matter here; then Enter")
        self.reason_field.setAccessibleName(f"Reason to acknowledge: {self.finding.title}")
        self.reason_field.setMaxLength(500)
        self.reason_field.returnPressed.connect(self._give_reason)
        self.reason_field.hide()
        return self.reason_field

    def _acknowledge_clicked(self) -> None:
        if self.reason:
            self.acknowledge_requested.emit(self.finding, "")
        elif self.reason_field.isVisible() and self.reason_field.text().strip():
            self._give_reason()
        else:
            self.reason_field.setVisible(self.reason_field.isHidden())
            self.reason_field.setFocus(Qt.FocusReason.OtherFocusReason)

    def _give_reason(self) -> None:
        reason = self.reason_field.text().strip()
        if reason:
            self.acknowledge_requested.emit(self.finding, reason)

    def _action(self, word: str, tip: str, request: SignalInstance) -> QPushButton:
        button = QPushButton(word, self)
        set_tool_tip(button, tip)
        button.setAccessibleName(f"{word} {self.finding.title}")
        button.clicked.connect(lambda: request.emit(self.finding))
        self.buttons.append(button)
        return button

    def _show_details(self) -> None:
        shown = not self._compact or self._more.isChecked()
        for text in self._details:
            text.setVisible(shown)
        self._more.setText("Less" if self._more.isChecked() else "Why")
        self._more.setAccessibleName(f"{self._more.text()}: {self.finding.title}")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Copy the finding as text on the platform's copy shortcut; leave by the arrow keys."""
        if event.matches(QKeySequence.StandardKey.Copy):
            QGuiApplication.clipboard().setText(as_text(self.finding))
            return
        step = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1}.get(Qt.Key(event.key()))
        if step is not None:
            self.left.emit(step)
            return
        super().keyPressEvent(event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the frame, stronger while the card has the focus."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colours = palette()
        painter.setBrush(QColor(colours.surface))
        focused = self.hasFocus()
        painter.setPen(QPen(QColor(colours.accent if focused else colours.line), 1.5 if focused else 1))
        painter.drawRoundedRect(self.rect().adjusted(1, 1, -1, -1), 4, 4)
