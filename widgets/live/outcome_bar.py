"""How a run ended and the next steps: show it, pin it, export it, run it again."""

from PySide6.QtCore import Qt, Signal, SignalInstance
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QFrame, QHBoxLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from widgets.parts.flow_layout import flowing
from widgets.parts.notice import WORDS, Picture
from widgets.parts.text import Text, Tone, set_tool_tip
from widgets.theme import SPACE, restyle

WORDS_LEAST = 280
"""Pixels that the words have beside the buttons; with less the buttons stand below them."""


class OutcomeBar(QFrame):
    """A message with buttons; the name of a baseline is asked for in place. Hidden while a run is under way."""

    show_requested = Signal()
    export_requested = Signal()
    again_requested = Signal()
    opinion_requested = Signal()
    pin_requested = Signal(str)  # under this name

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("notice")
        self._picture = Picture("info")
        self.message, self.detail = Text(), Text(tone=Tone.MUTED)
        self.show_button = _button("Show in library", self.show_requested)
        self.pin_button = QPushButton("Pin as baseline")
        self.pin_button.clicked.connect(self._ask)
        self.export_button = _button("Export…", self.export_requested)
        self.again_button = _button("Run again", self.again_requested)
        self.opinion_button = _button("Check with another tool…", self.opinion_requested)
        self.name = QLineEdit()
        self.name.setPlaceholderText("Name of the baseline")
        self.name.setAccessibleName("Name of the baseline")
        self.name.setMaxLength(80)
        self.name.setMinimumWidth(220)
        self.name.returnPressed.connect(self._pin)
        self.name.textChanged.connect(self._enable)
        self.accept_button = QPushButton("Pin")
        self.accept_button.clicked.connect(self._pin)
        self.cancel_button = QPushButton("Cancel")
        self.cancel_button.clicked.connect(self._stop_asking)
        self._lay_out()
        self.hide()

    def say(self, level: str, message: str, detail: str, *, kept: bool, measured: bool = True) -> None:
        """Show how the run ended as `level`; without anything `kept` there is nothing to show, pin or export.

        Where no trial counts, nothing was `measured` that could be a baseline.
        """
        self._picture.show_icon(level)
        self._picture.setAccessibleName(WORDS[level])
        self.message.setText(message)
        self.detail.setText(detail)
        self.detail.setVisible(bool(detail))
        self.setAccessibleName(f"{WORDS[level]}: {message} {detail}".strip())
        restyle(self, "level", level)
        for button in (self.show_button, self.pin_button, self.export_button, self.opinion_button):
            button.setEnabled(kept)
        self.pin_button.setEnabled(kept and measured)
        why = "" if measured else "No trial counts: there is no figure to compare against"
        set_tool_tip(self.pin_button, why)
        self._stop_asking()
        self.show()

    def propose(self, name: str) -> None:
        """Propose `name` for the baseline."""
        self.name.setText(name)

    def tell(self, detail: str) -> None:
        """Say what became of a request."""
        self.detail.setText(detail)
        self.detail.show()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Take the question back with Esc."""
        if event.key() == Qt.Key.Key_Escape and self._asking.isVisible():
            self._stop_asking()
            self.pin_button.setFocus()
            return
        super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put the buttons below the words where there is no room beside them."""
        super().resizeEvent(event)
        beside, below = QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.TopToBottom
        room = self.width() - self._offers.sizeHint().width()
        self._first.setDirection(below if room < WORDS_LEAST else beside)

    def _lay_out(self) -> None:
        offers = (self.show_button, self.pin_button, self.export_button, self.opinion_button, self.again_button)
        self._offers, self._asking = flowing(*offers, spacing=SPACE[1]), QWidget()
        row = QHBoxLayout(self._asking)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE[1])
        for part in (self.name, self.accept_button, self.cancel_button):
            row.addWidget(part)
        words = QHBoxLayout()
        words.setSpacing(SPACE[1])
        words.addWidget(self._picture)
        words.addWidget(self.message, 1)
        self._first = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._first.setSpacing(SPACE[1])
        self._first.addLayout(words, 1)
        self._first.addWidget(self._offers)
        self._first.addWidget(self._asking)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(SPACE[2], SPACE[1], SPACE[1], SPACE[1])
        outer.setSpacing(SPACE[1])
        outer.addLayout(self._first)
        outer.addWidget(self.detail)
        self._asking.hide()

    def _ask(self) -> None:
        self._offers.hide()
        self._asking.show()
        self.name.selectAll()
        self.name.setFocus()
        self._enable()

    def _stop_asking(self) -> None:
        self._asking.hide()
        self._offers.show()

    def _enable(self) -> None:
        self.accept_button.setEnabled(bool(self.name.text().strip()))

    def _pin(self) -> None:
        name = self.name.text().strip()
        if name:
            self._stop_asking()
            self.pin_requested.emit(name)


def _button(words: str, request: SignalInstance) -> QPushButton:
    button = QPushButton(words)
    button.clicked.connect(lambda: request.emit())  # noqa: PLW0108 (clicked hands over whether it is checked)
    return button
