"""The wizard's way back and on, and what still stands in the way."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

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
        self._row = QHBoxLayout()
        self._row.setSpacing(SPACE[2])
        for widget in (self.back, self.new, self.open, self.questions):
            self._row.addWidget(widget)
        self._row.addStretch(1)
        self._row.addWidget(self.next)
        self._rows = QVBoxLayout(self)
        self._rows.setContentsMargins(SPACE[4], SPACE[1], SPACE[4], SPACE[2])
        self._rows.setSpacing(SPACE[1])
        self._rows.addLayout(self._row)
        self._above = False
        self._place_hint(above=True)

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
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put what stands in the way above the buttons where there is no room between them."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        buttons = (self.back, self.new, self.open, self.questions, self.next)
        taken = sum(each.sizeHint().width() + SPACE[2] for each in buttons if not each.isHidden())
        self._place_hint(above=taken + self.hint.sizeHint().width() + 2 * SPACE[4] > self.width())
        self.hint.setVisible(bool(self.hint.text()))

    def _place_hint(self, *, above: bool) -> None:
        if above == self._above:
            return
        self._above = above
        self._rows.removeWidget(self.hint)
        self._row.removeWidget(self.hint)
        if above:
            self._rows.insertWidget(0, self.hint)
        else:
            self._row.insertWidget(self._row.count() - 1, self.hint)
