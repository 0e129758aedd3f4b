"""Status bar with the run under way and a message of the current page."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QApplication, QStatusBar, QWidget

from widgets.parts.boxes import fill, row_in
from widgets.parts.controls import push_button
from widgets.parts.notice import Picture
from widgets.parts.text import OneLine, Text, Tone
from widgets.theme import SPACE, set_icon

IDLE = "No run under way"


class StatusLine(QStatusBar):
    """Status bar: the run under way with a stop button on the left, the page's message on the right."""

    stop_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setSizeGripEnabled(False)
        self._mark = Picture("live", colour="accent")
        self.running = Text(IDLE, Tone.MUTED, wrap=False)
        self.stop_button = push_button("Stop", self.stop_requested, tip="Stop the run and keep what was measured")
        set_icon(self.stop_button, "stop", "text")
        policy = self.stop_button.sizePolicy()
        policy.setRetainSizeWhenHidden(True)  # the bar keeps its height when a run starts
        self.stop_button.setSizePolicy(policy)
        left = QWidget()
        row = row_in(left, SPACE[1], (SPACE[2], SPACE[0], SPACE[1], SPACE[0]))
        fill(row, self._mark, self.running, self.stop_button)
        self.message = OneLine(QApplication.font(), "muted", Qt.AlignmentFlag.AlignRight)
        right = QWidget()
        fill(row_in(right, 0, (0, 0, SPACE[2], 0)), self.message)
        self.addWidget(left)
        self.addPermanentWidget(right, 1)
        self.show_running("")

    def show_running(self, summary: str, *, stoppable: bool = True) -> None:
        """Show `summary` of the runs under way; an empty one means none. Of several, each is stopped in the strip."""
        self.running.setText(summary or IDLE)
        self.running.set_tone(Tone.NORMAL if summary else Tone.MUTED)
        self._mark.setVisible(bool(summary))
        self.stop_button.setVisible(bool(summary) and stoppable)
        self.stop_button.setEnabled(bool(summary))

    def show_waiting(self, text: str) -> None:
        """Show what the window waits for before it closes."""
        self.running.setText(text)
        self.stop_button.setEnabled(False)

    def show_message(self, text: str) -> None:
        """Show the message of the current page."""
        self.message.set_text(text)
