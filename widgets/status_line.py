"""The bar at the bottom: what is running, seen from everywhere, and one line from the page in front."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QStatusBar, QWidget

from widgets.parts.icons import set_icon
from widgets.parts.notice import Picture
from widgets.parts.text import Text, Tone, set_tool_tip
from widgets.theme import SPACE

IDLE = "Nothing is running"


class StatusLine(QStatusBar):
    """On the left the running measurement with a button that stops it, on the right what the page tells."""

    stop_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setSizeGripEnabled(False)
        self._mark = Picture("live", colour="accent")
        self.running = Text(IDLE, Tone.MUTED, wrap=False)
        self.stop_button = QPushButton("Stop")
        set_icon(self.stop_button, "stop", "text")
        set_tool_tip(self.stop_button, "Stop the measurement and keep what was measured")
        policy = self.stop_button.sizePolicy()
        policy.setRetainSizeWhenHidden(True)  # the bar must not change its height when a run begins
        self.stop_button.setSizePolicy(policy)
        self.stop_button.clicked.connect(self.stop_requested)
        left = QWidget()
        row = QHBoxLayout(left)
        row.setContentsMargins(SPACE[2], SPACE[0], SPACE[1], SPACE[0])
        row.setSpacing(SPACE[1])
        for widget in (self._mark, self.running, self.stop_button):
            row.addWidget(widget)
        self.told = Text("", Tone.MUTED, wrap=False)
        self.told.setContentsMargins(0, 0, SPACE[2], 0)
        self.addWidget(left)
        self.addPermanentWidget(self.told)
        self.show_running("")

    def show_running(self, summary: str) -> None:
        """Show `summary` of what is running; an empty one says that nothing is."""
        self.running.setText(summary or IDLE)
        self.running.set_tone(Tone.NORMAL if summary else Tone.MUTED)
        self._mark.setVisible(bool(summary))
        self.stop_button.setVisible(bool(summary))
        self.stop_button.setEnabled(bool(summary))

    def show_waiting(self, text: str) -> None:
        """Say for what the window waits before it closes."""
        self.running.setText(text)
        self.stop_button.setEnabled(False)

    def show_told(self, text: str) -> None:
        """Show what the page in front tells."""
        self.told.setText(text)
