"""Marks of finding severities and verdicts: shape and word first, colour second."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QToolButton, QWidget

from app.checks.goals import goals_text
from app.checks.limits import LIMITED_BY
from app.verdict.steps import verdict_text
from suites.quantities import first_upper
from suites.verdict import Trust, Verdict
from suites.vocab import Severity
from widgets.parts.boxes import column_in, fill, in_row
from widgets.parts.names import MARKS, mark_of
from widgets.parts.notice import Picture
from widgets.parts.text import Text, Tone, set_tool_tip, strong
from widgets.theme import SPACE, icon, set_icon

TONES = {Severity.ERROR: Tone.ERROR, Severity.WARNING: Tone.WARNING, Severity.INFO: Tone.INFO}


def doubt_icon(trust: Trust | None) -> QIcon | None:
    """Return the icon that marks a value of this trust in a table; None for a valid one and without a verdict."""
    return None if trust in {None, Trust.VALID} else icon(mark_of(str(trust)))


class VerdictBadge(QToolButton):
    """Verdict on a step in one line: mark, level and limit. A click asks for its evidence. Hidden without a verdict."""

    def __init__(self) -> None:
        super().__init__(toolButtonStyle=Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setObjectName("issue")
        self.hide()

    def show_verdict(self, verdict: Verdict | None) -> None:
        """Show `verdict`."""
        self.setVisible(verdict is not None)
        if verdict is None:
            return
        set_icon(self, MARKS[verdict.trust])
        self.setText(f" {first_upper(verdict_text(verdict))}")
        self.setAccessibleName(f"Verdict: {verdict_text(verdict)}")
        set_tool_tip(self, f"{verdict.summary}\nShow the evidence")


class VerdictView(QWidget):
    """Verdict: mark, level and limiter in one line, then its summary, and the evidence of the limit with the next test.

    Hidden without a verdict.
    """

    def __init__(self) -> None:
        super().__init__()
        self.mark = Picture("good")
        self.words, self.summary, self.limit = Text(font=strong()), Text(tone=Tone.MUTED), Text(tone=Tone.MUTED)
        head = in_row((self.mark, 0, Qt.AlignmentFlag.AlignTop), (self.words, 1), spacing=SPACE[1])
        fill(column_in(self, SPACE[0]), head, self.summary, self.limit)
        self.show_verdict(None)

    def show_verdict(self, verdict: Verdict | None) -> None:
        """Show `verdict`."""
        self.setVisible(verdict is not None)
        if verdict is None:
            return
        text = verdict_text(verdict)
        self.mark.show_icon(MARKS[verdict.trust])
        self.mark.setAccessibleName(verdict.trust.value)
        self.words.setText(first_upper(text))
        summary = first_upper(verdict.summary.removeprefix(f"{first_upper(verdict.trust.value)}: "))
        self.summary.setText("\n".join(filter(None, (goals_text([verdict]), summary))))
        limit = next((finding for finding in verdict.findings if finding.id == LIMITED_BY.id), None)
        self.limit.setVisible(limit is not None)
        if limit is not None:
            self.limit.setText(f"{limit.measured} {limit.remedy}")
        self.setAccessibleName(f"Verdict: {verdict.summary}")
