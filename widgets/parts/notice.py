"""Short messages in place: an icon and words in a severity's colour; and work under way with a way out."""

import time
from typing import ClassVar

from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from suites.errors import BenchwrightError
from widgets.parts.icons import SIZE, pixmap
from widgets.parts.text import Text, Tone
from widgets.theme import SPACE, restyle

WORDS = {"info": "Note", "warning": "Warning", "error": "Error", "good": "Done"}
"""What a severity is called where a colour cannot be seen."""


class Picture(QLabel):
    """An icon beside text; it follows the colours in force."""

    def __init__(self, icon: str, size: int = SIZE, colour: str = "") -> None:
        super().__init__()
        self._size = size
        self.show_icon(icon, colour)

    def show_icon(self, icon: str, colour: str = "") -> None:
        """Show `icon` in `colour` (a field of the palette; a severity's own, else muted)."""
        self._icon, self._colour = icon, colour
        self.setPixmap(pixmap(icon, self._size, colour, self.devicePixelRatioF()))

    def changeEvent(self, event: QEvent) -> None:
        """Draw anew in new colours, or for a screen of another density."""
        super().changeEvent(event)
        if event.type() in {QEvent.Type.PaletteChange, QEvent.Type.DevicePixelRatioChange}:
            self.show_icon(self._icon, self._colour)


class Notice(QFrame):
    """What happened and what to do, as plain text that can be copied. Hidden until something is said."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self._picture = Picture("info")
        self._message = Text()
        self._remedy = Text(tone=Tone.MUTED)
        words = QVBoxLayout()
        words.setSpacing(SPACE[0])
        words.addWidget(self._message)
        words.addWidget(self._remedy)
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACE[2], SPACE[1], SPACE[2], SPACE[1])
        row.setSpacing(SPACE[1])
        picture = QVBoxLayout()
        picture.addWidget(self._picture)
        picture.addStretch(1)
        row.addLayout(picture)
        row.addLayout(words, 1)
        copying = QAction("Copy message", self)
        copying.triggered.connect(self.copy)
        self.addAction(copying)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)  # a remedy is often a command to paste elsewhere
        self.hide()

    def say(self, level: str, message: str, remedy: str = "") -> None:
        """Show `message` and `remedy` as `level`: info, good, warning or error."""
        self._picture.show_icon(level)
        self._picture.setAccessibleName(WORDS[level])
        self._message.setText(message)
        self._remedy.setText(remedy)
        self._remedy.setVisible(bool(remedy))
        self.setAccessibleName(f"{WORDS[level]}: {self._message.text()} {self._remedy.text()}".strip())
        restyle(self, "level", level)
        self.show()

    def say_error(self, error: BenchwrightError) -> None:
        """Show what `error` says."""
        self.say("error", error.message, error.remedy)

    def text(self) -> str:
        """Return what is shown, for copying."""
        return f"{self._message.text()} {self._remedy.text()}".strip()

    def copy(self) -> None:
        """Copy what is shown."""
        QGuiApplication.clipboard().setText(self.text())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Copy on the platform's copy shortcut."""
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        else:
            super().keyPressEvent(event)


class FieldMessage(QWidget):
    """An icon and a line beneath a field."""

    _TONES: ClassVar = {"good": Tone.GOOD, "error": Tone.ERROR, "warning": Tone.WARNING, "info": Tone.MUTED}

    def __init__(self) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE[1])
        self._picture = Picture("info")
        self.label = Text()
        self.label.setAlignment(Qt.AlignmentFlag.AlignTop)
        row.addWidget(self._picture, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self.label, 1)
        self.clear()

    def clear(self) -> None:
        """Say nothing."""
        self._picture.setVisible(False)
        self.label.setText("")

    def say(self, level: str, text: str) -> None:
        """Show `text` as `level`: good, warning or error."""
        self._picture.show_icon(level)
        self._picture.setVisible(True)
        self.label.set_tone(self._TONES[level])
        self.label.setText(text)


class Working(QWidget):
    """What is being done now, for how long already, and a way to stop waiting. Hidden while nothing is."""

    cancelled = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text = ""
        self._since = 0.0
        self._label = Text(tone=Tone.MUTED)
        self.cancel_button = QPushButton("Cancel")
        self.cancel_button.clicked.connect(self.cancelled)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE[1])
        row.addWidget(self._label, 1)
        row.addWidget(self.cancel_button)
        self._clock = QTimer(self, interval=1000)
        self._clock.timeout.connect(self.refresh)
        self.hide()

    def begin(self, text: str) -> None:
        """Show `text`, with the seconds since now beside it."""
        self._text, self._since = text, time.monotonic()
        self.refresh()
        self._clock.start()
        self.show()

    def end(self) -> None:
        """Nothing is being done any more."""
        self._clock.stop()
        self.hide()

    def refresh(self) -> None:
        """Show how long it has taken by now."""
        seconds = int(time.monotonic() - self._since)
        self._label.setText(f"{self._text} {seconds} s" if seconds else self._text)
