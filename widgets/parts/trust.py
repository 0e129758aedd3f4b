"""How far a result may be believed: a drawn mark and a word first, a colour second."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.checks.after_words import verdict_text
from suites.verdict import Verdict
from widgets.parts.notice import Picture
from widgets.parts.text import Text, Tone, strong
from widgets.parts.trust_marks import MARKS
from widgets.theme import SPACE


class VerdictView(QWidget):
    """A verdict: its mark, its level and limiter in a line, and below it the sentence to quote. Hidden without one."""

    def __init__(self) -> None:
        super().__init__()
        self.mark = Picture("good")
        self.words, self.summary = Text(font=strong()), Text(tone=Tone.MUTED)
        head = QHBoxLayout()
        head.setSpacing(SPACE[1])
        head.addWidget(self.mark, 0, Qt.AlignmentFlag.AlignTop)
        head.addWidget(self.words, 1)
        rows = QVBoxLayout(self)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(SPACE[0])
        rows.addLayout(head)
        rows.addWidget(self.summary)
        self.show_verdict(None)

    def show_verdict(self, verdict: Verdict | None) -> None:
        """Show `verdict` in place of what was shown."""
        self.setVisible(verdict is not None)
        if verdict is None:
            return
        said = verdict_text(verdict)
        self.mark.show_icon(MARKS[verdict.level])
        self.mark.setAccessibleName(verdict.level.value)
        self.words.setText(said[:1].upper() + said[1:])
        self.summary.setText(verdict.summary)
        self.setAccessibleName(f"Verdict: {verdict.summary}")
