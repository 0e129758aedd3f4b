"""The wizard's way back and on, and what still stands in the way."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from widgets.parts.icons import set_icon
from widgets.parts.text import Text, Tone, set_tool_tip
from widgets.theme import SPACE


class Foot(QWidget):
    """Back on the left, Next or Start on the right, and between them what keeps the user here."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.back = QPushButton("Back")
        set_tool_tip(self.back, "Alt+Left")
        self.new = QPushButton("New plan")
        set_icon(self.new, "add")
        self.open = QPushButton("Open plan…")
        set_icon(self.open, "folder")
        self.questions = QPushButton("Start from a question…")
        set_tool_tip(self.questions, "Questions that fill in the tests")
        self.next = QPushButton("Next")
        self.next.setProperty("primary", True)
        self.hint = Text(tone=Tone.MUTED)
        self.hint.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACE[4], SPACE[1], SPACE[4], SPACE[2])
        row.setSpacing(SPACE[2])
        for widget in (self.back, self.new, self.open, self.questions):
            row.addWidget(widget)
        row.addWidget(self.hint, 1)
        row.addWidget(self.next)

    def show_step(self, obstacle: str, *, first: bool, last: bool, begun: bool) -> None:
        """Say what stands in the way, if anything; name the way on. `begun`: there is a plan to leave behind."""
        self.hint.setText(obstacle)
        self.next.setEnabled(not obstacle)
        self.next.setText("Start" if last else "Next")
        set_tool_tip(self.next, "Ctrl+Return" if last else "Alt+Right")
        self.back.setVisible(not first)
        self.open.setVisible(first)
        self.questions.setVisible(first)
        self.new.setVisible(first and begun)
