"""Text field that stores itself while one types."""

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import QPlainTextEdit

from widgets.theme import SPACE

PAUSE = 600
"""Milliseconds without a key after which a text is stored."""


class SavedText(QPlainTextEdit):
    """A plain text that is stored after a pause and when the focus leaves; markup in it is text.

    `base` is what is stored as far as known. A text that was not stored yet is never replaced by a newer stored one.
    """

    save_requested = Signal(str, str)  # the text, and the base

    def __init__(self, name: str, placeholder: str, lines: int) -> None:
        super().__init__()
        self.base = ""
        self._held = False
        self._timer = QTimer(self, singleShot=True, interval=PAUSE)
        self._timer.timeout.connect(self.save)
        self.setAccessibleName(name)
        self.setPlaceholderText(placeholder)
        self.setTabChangesFocus(True)
        self.setAcceptDrops(False)  # the window opens files
        line = self.fontMetrics().lineSpacing()
        self.setMinimumHeight(2 * line + SPACE[2])
        self.setMaximumHeight(lines * line + 2 * SPACE[2])
        self.textChanged.connect(self._typed)

    @property
    def unsaved(self) -> bool:
        """Whether the text differs from what is stored."""
        return self.toPlainText().strip() != self.base

    def show_text(self, stored: str, *, other: bool = False) -> None:
        """Show a stored text, unless the user has typed since; that of `other` content in any case."""
        if other or not self.unsaved:
            self.base = stored
            if other or self.toPlainText().strip() != stored:
                self.blockSignals(True)  # not typed
                self.setPlainText(stored)
                self.blockSignals(False)
            self._held = False
            self._timer.stop()

    def take_saved(self, text: str) -> None:
        """Take note that a text was stored."""
        self.base = text.strip()

    def take_refused(self, stored: str, *, held: bool) -> None:
        """Take note that the text was not stored, and what is `stored`; a `held` one waits until it is changed."""
        self.base, self._held = stored, held

    def save(self) -> None:
        """Request that the text is stored, if it is not."""
        self._timer.stop()
        if self.unsaved and not self._held:
            self.save_requested.emit(self.toPlainText(), self.base)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Store the text."""
        super().focusOutEvent(event)
        self.save()

    def _typed(self) -> None:
        self._held = False
        self._timer.start()
