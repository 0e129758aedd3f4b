"""Placeholder of an empty page: its purpose and the next step."""

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from widgets.parts.boxes import fill
from widgets.parts.controls import push_button
from widgets.parts.notice import Picture
from widgets.parts.text import Text, Tone
from widgets.theme import SEVERITIES, SPACE, TextSize, text_font

WIDTH = 440
"""Width in pixels of the explanation: about 70 characters."""


class EmptyState(QWidget):
    """A centred title, a sentence or two, and a button."""

    def __init__(
        self,
        title: str,
        text: str,
        action_text: str = "",
        callback: Callable[[], object] | None = None,
        *,
        icon: str = "",
    ) -> None:
        """Show `title`, `text` and, with a `callback`, the button `action_text`."""
        super().__init__()
        self._rows = QVBoxLayout(self)
        self._rows.setSpacing(SPACE[2])
        self._rows.addStretch(2)
        if icon:
            self._rows.addWidget(
                Picture(icon, 32, "" if icon in SEVERITIES else "baseline"), 0, Qt.AlignmentFlag.AlignHCenter
            )
        self.text = Text(text, Tone.MUTED)
        for label in (Text(title, font=text_font(TextSize.HEADING, bold=True)), self.text):
            label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            self._rows.addWidget(label)
        self.button: QPushButton | None = None
        if callback is not None:
            self.button = push_button(action_text, lambda _checked: callback(), primary=True)
            fill(self._rows, SPACE[0], (self.button, 0, Qt.AlignmentFlag.AlignHCenter))
        self._rows.addStretch(3)

    def add_action(self, text: str, callback: Callable[[], object]) -> QPushButton:
        """Add a secondary button below and return it."""
        button = push_button(text, lambda _checked: callback())
        self._rows.insertWidget(self._rows.count() - 1, button, 0, Qt.AlignmentFlag.AlignHCenter)
        return button

    def minimumSizeHint(self) -> QSize:
        """Return the size of the texts with the least margins: the margins shrink first."""
        least, margins = super().minimumSizeHint(), self._rows.contentsMargins()
        return QSize(least.width() - margins.left() - margins.right() + 2 * SPACE[3], least.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the lines at most WIDTH pixels long."""
        super().resizeEvent(event)
        margin = max(SPACE[3], (self.width() - WIDTH) // 2)
        self._rows.setContentsMargins(margin, SPACE[3], margin, SPACE[3])
