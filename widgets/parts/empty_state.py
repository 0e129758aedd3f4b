"""What a page shows while there is nothing to show: what it is for, and the one next step."""

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from widgets.parts.icons import SEVERITIES
from widgets.parts.notice import Picture
from widgets.parts.text import Text, Tone
from widgets.theme import SPACE, TextSize, text_font

WIDTH = 440
"""Pixels after which the explanation wraps: about 70 characters."""


class EmptyState(QWidget):
    """A title, a sentence or two, and one button, in the middle of the place that is empty."""

    def __init__(
        self,
        title: str,
        text: str,
        action_text: str = "",
        callback: Callable[[], object] | None = None,
        *,
        icon: str = "",
    ) -> None:
        """Say `text` under `title`; the button `action_text` calls `callback`. Without a callback there is none."""
        super().__init__()
        self._rows = QVBoxLayout(self)
        self._rows.setSpacing(SPACE[2])
        self._rows.addStretch(2)
        if icon:
            self._rows.addWidget(
                Picture(icon, 32, "" if icon in SEVERITIES else "baseline"), 0, Qt.AlignmentFlag.AlignHCenter
            )
        for label in (Text(title, font=text_font(TextSize.HEADING, bold=True)), Text(text, Tone.MUTED)):
            label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            self._rows.addWidget(label)
        self.button: QPushButton | None = None
        if callback is not None:
            self.button = QPushButton(action_text)
            self.button.setProperty("primary", True)
            self.button.clicked.connect(lambda _checked: callback())
            self._rows.addSpacing(SPACE[0])
            self._rows.addWidget(self.button, 0, Qt.AlignmentFlag.AlignHCenter)
        self._rows.addStretch(3)

    def add_action(self, text: str, callback: Callable[[], object]) -> QPushButton:
        """Offer something else beneath, less loudly; return its button."""
        button = QPushButton(text)
        button.clicked.connect(lambda _checked: callback())
        self._rows.insertWidget(self._rows.count() - 1, button, 0, Qt.AlignmentFlag.AlignHCenter)
        return button

    def minimumSizeHint(self) -> QSize:
        """Return the room the words need: the margins beside them give way when the place gets narrower."""
        least, margins = super().minimumSizeHint(), self._rows.contentsMargins()
        return QSize(least.width() - margins.left() - margins.right() + 2 * SPACE[3], least.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the lines short however wide the place is."""
        super().resizeEvent(event)
        beside = max(SPACE[3], (self.width() - WIDTH) // 2)
        self._rows.setContentsMargins(beside, SPACE[3], beside, SPACE[3])
