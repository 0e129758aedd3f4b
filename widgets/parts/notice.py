"""Inline messages with icon and severity, and a progress notice with a cancel button."""

import time
from typing import ClassVar

from PySide6.QtCore import QEvent, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QGuiApplication, QKeyEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QFrame, QLabel, QSizePolicy, QWidget

from suites.errors import BenchwrightError
from widgets.parts.boxes import fill, in_column, row_in
from widgets.parts.controls import push_button
from widgets.parts.text import Text, Tone
from widgets.theme import ICON_SIZE, SPACE, pixmap, restyle, scaled

SEVERITY_NAMES = {"info": "Note", "warning": "Warning", "error": "Error", "good": "Done"}
"""Names of severities for screen readers."""


class Picture(QLabel):
    """Icon beside text that follows the current colours."""

    def __init__(self, icon: str, size: int = ICON_SIZE, colour: str = "") -> None:
        super().__init__()
        self._size = scaled(size)
        self.show_icon(icon, colour)

    def show_icon(self, icon: str, colour: str = "") -> None:
        """Show `icon` in `colour`: a field of the palette; by default that of a severity, or muted."""
        self._icon, self._colour = icon, colour
        self.setPixmap(pixmap(icon, self._size, colour, self.devicePixelRatioF()))

    def changeEvent(self, event: QEvent) -> None:
        """Redraw in new colours or for another pixel density."""
        super().changeEvent(event)
        if event.type() in {QEvent.Type.PaletteChange, QEvent.Type.DevicePixelRatioChange}:
            self.show_icon(self._icon, self._colour)


class Notice(QFrame):
    """Message and remedy as plain text that can be copied. Hidden until a message is shown."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("notice")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self._picture = Picture("info")
        self._message = Text()
        self._remedy = Text(tone=Tone.MUTED)
        texts = in_column(self._message, self._remedy, spacing=SPACE[0])
        row = row_in(self, SPACE[1], (SPACE[2], SPACE[1], SPACE[2], SPACE[1]))
        picture = in_column(self._picture, None)
        fill(row, picture, (texts, 1))
        copying = QAction("Copy message", self)
        copying.triggered.connect(self.copy)
        self.addAction(copying)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)  # a remedy is often a command to paste elsewhere
        self.hide()

    def sizeHint(self) -> QSize:
        """Return the size with the height of the texts at the present width: it is the largest one, see the policy."""
        wanted = super().sizeHint()
        return QSize(wanted.width(), max(wanted.height(), self.heightForWidth(self.width())))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Take the height that the texts need at another width."""
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()

    def show_message(self, level: str, message: str, remedy: str = "") -> None:
        """Show `message` and `remedy` as `level`: info, good, warning or error."""
        self._picture.show_icon(level)
        self._picture.setAccessibleName(SEVERITY_NAMES[level])
        self._message.setText(message)
        self._remedy.setText(remedy)
        self._remedy.setVisible(bool(remedy))
        self.setAccessibleName(f"{SEVERITY_NAMES[level]}: {self._message.text()} {self._remedy.text()}".strip())
        restyle(self, "level", level)
        self.show()

    def show_error(self, error: BenchwrightError) -> None:
        """Show the message and remedy of `error`; what the user cancelled is no error."""
        self.show_message("info" if error.cancelled else "error", error.message, error.remedy)

    def text(self) -> str:
        """Return the message and remedy."""
        return f"{self._message.text()} {self._remedy.text()}".strip()

    def copy(self) -> None:
        """Copy the message and remedy."""
        QGuiApplication.clipboard().setText(self.text())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Copy on the platform's copy shortcut."""
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        else:
            super().keyPressEvent(event)


class FieldMessage(QWidget):
    """Icon and message below a field."""

    _TONES: ClassVar = {"good": Tone.GOOD, "error": Tone.ERROR, "warning": Tone.WARNING, "info": Tone.MUTED}

    def __init__(self) -> None:
        super().__init__()
        row = row_in(self, SPACE[1])
        self._picture = Picture("info")
        self.label = Text()
        self.label.setAlignment(Qt.AlignmentFlag.AlignTop)
        fill(row, (self._picture, 0, Qt.AlignmentFlag.AlignTop), (self.label, 1))
        self.clear()

    def clear(self) -> None:
        """Remove the message."""
        self._picture.setVisible(False)
        self.label.setText("")

    def show_message(self, level: str, text: str) -> None:
        """Show `text` as `level`: good, warning or error."""
        self._picture.show_icon(level)
        self._picture.setVisible(True)
        self.label.set_tone(self._TONES[level])
        self.label.setText(text)


class ProgressNotice(QWidget):
    """Text of an operation with elapsed seconds and a cancel button. Hidden otherwise."""

    cancelled = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._text = ""
        self._since = 0.0
        self._label = Text(tone=Tone.MUTED)
        self.cancel_button = push_button("Cancel", self.cancelled)
        fill(row_in(self, SPACE[1]), (self._label, 1), self.cancel_button)
        self._clock = QTimer(self, interval=1000)
        self._clock.timeout.connect(self.refresh)
        self.hide()

    def begin(self, text: str) -> None:
        """Show `text` and start to count seconds."""
        self._text, self._since = text, time.monotonic()
        self.refresh()
        self._clock.start()
        self.show()

    def end(self) -> None:
        """Hide the notice and stop counting."""
        self._clock.stop()
        self.hide()

    def refresh(self) -> None:
        """Show the seconds since begin()."""
        seconds = int(time.monotonic() - self._since)
        self._label.setText(f"{self._text} {seconds} s" if seconds else self._text)
