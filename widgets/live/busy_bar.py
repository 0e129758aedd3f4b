"""Somebody else measures the host: who, since when, and what can be done about it, in place."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QVBoxLayout

from widgets.parts.notice import WORDS, Picture
from widgets.parts.text import Text, Tone, set_tool_tip
from widgets.theme import SPACE, restyle


class BusyBar(QFrame):
    """A message with two ways on. Hidden while nobody is in the way."""

    wait_requested = Signal()
    anyway_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("notice")
        self.message, self.detail = Text(), Text(tone=Tone.MUTED)
        self.wait_button = QPushButton("Wait for it")
        self.anyway_button = QPushButton("Run anyway")
        set_tool_tip(self.wait_button, "Begin as soon as the other measurement is over")
        set_tool_tip(self.anyway_button, "Run at the same time; the run records it")
        self.wait_button.clicked.connect(self.wait_requested)
        self.anyway_button.clicked.connect(self.anyway_requested)
        first = QHBoxLayout()
        first.setSpacing(SPACE[1])
        first.addWidget(Picture("warning"))
        first.addWidget(self.message, 1)
        first.addWidget(self.wait_button)
        first.addWidget(self.anyway_button)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(SPACE[2], SPACE[1], SPACE[1], SPACE[1])
        rows.setSpacing(SPACE[0])
        rows.addLayout(first)
        rows.addWidget(self.detail)
        restyle(self, "level", "warning")
        self.hide()

    def refuse(self, message: str) -> None:
        """Say that nothing was run because of somebody else, and offer both ways on."""
        self._say(message, "Two measurements on one host disturb each other. Nothing was run.")
        self.wait_button.show()
        self.wait_button.setFocus()

    def wait(self, message: str) -> None:
        """Say for whom the run waits; it can still go on at once."""
        self._say(message, "The run begins as soon as the host is free.")
        self.wait_button.hide()

    def _say(self, message: str, detail: str) -> None:
        self.message.setText(message)
        self.detail.setText(detail)
        self.setAccessibleName(f"{WORDS['warning']}: {self.message.text()} {self.detail.text()}")
        self.show()
