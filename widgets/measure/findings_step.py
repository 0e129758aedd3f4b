"""Fourth step: what is known to fool people about this plan, before a minute is spent on it."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from app.checks import Unsure
from suites.vocab import Finding
from widgets.measure.draft import PlanDraft
from widgets.measure.step_view import StepView
from widgets.parts.finding_card import Describe, nothing
from widgets.parts.finding_list import FindingList, open_summary
from widgets.parts.icons import set_icon
from widgets.parts.notice import Notice
from widgets.parts.text import Text, Tone, set_tool_tip
from widgets.theme import SPACE, TextSize, text_font

NOTHING = "No check speaks against this plan."


class FindingsStep(StepView):
    """The findings with their remedies, one click each; what a click changed can be taken back."""

    title = "Findings"
    apply_requested = Signal(object)
    install_requested = Signal(object)
    acknowledge_requested = Signal(object, str)
    more_requested = Signal(str)
    undo_requested = Signal()
    again_requested = Signal()  # the facts, and with them the checks

    def __init__(self, draft: PlanDraft, describe: Describe, parent: QWidget | None = None) -> None:
        super().__init__(draft, "What stands against these numbers?", "", parent)
        self._waiting = False
        self._notice = Notice()
        self.undo = QPushButton("Undo")
        set_icon(self.undo, "refresh")
        self.undo.clicked.connect(self.undo_requested)
        self.undo.hide()
        row = QHBoxLayout()
        row.setSpacing(SPACE[1])
        row.addWidget(self._notice, 1)
        row.addWidget(self.undo, 0, Qt.AlignmentFlag.AlignVCenter)
        self.column.addLayout(row)
        self.list = FindingList(describe=describe)
        self.list.apply_requested.connect(self.apply_requested)
        self.list.install_requested.connect(self.install_requested)
        self.list.acknowledge_requested.connect(self.acknowledge_requested)
        self.list.more_requested.connect(self.more_requested)
        self.column.addWidget(self.list, 1)
        self.unsure = Text(tone=Tone.MUTED, font=text_font(TextSize.SMALL))
        self.again_button = QPushButton("Check again")
        set_icon(self.again_button, "refresh")
        set_tool_tip(self.again_button, "Reads the facts of every host anew, then checks the plan")
        self.again_button.clicked.connect(self.again_requested)
        foot = QHBoxLayout()
        foot.setSpacing(SPACE[2])
        foot.addWidget(self.unsure, 1)
        foot.addStretch(0)
        foot.addWidget(self.again_button, 0, Qt.AlignmentFlag.AlignBottom)
        self.column.addLayout(foot)

    def show_report(self, findings: Sequence[Finding], unsure: Sequence[Unsure], reason_of: Describe = nothing) -> None:
        """Show what the checks found, what of it is acknowledged, and what they could not tell."""
        self.list.set_findings(findings, reason_of)
        reasons = dict.fromkeys(each.because for each in unsure)
        self.unsure.setVisible(bool(reasons))
        self.unsure.setText(f"Could not be told: {' '.join(reasons)}")
        self.list.set_empty_text(NOTHING)
        count = open_summary(findings, reason_of)
        self.explanation.setText(f"{count}, the gravest first." if count else "")
        self.explanation.setVisible(bool(count))

    def show_waiting(self, text: str) -> None:
        """Say that the findings are not there (yet), and why."""
        self.list.set_findings(())
        self.unsure.hide()
        self.list.set_empty_text(text)
        self.explanation.hide()

    def say_changed(self, words: str) -> None:
        """Say what a click has changed, or nothing any more where there are no words."""
        self.undo.setVisible(bool(words))
        if words:
            self._notice.say("good", words)
        else:
            self._notice.hide()

    def focus_first(self) -> None:
        """Put the keyboard on the first finding."""
        cards = self.list.cards()
        if cards:
            cards[0].setFocus(Qt.FocusReason.TabFocusReason)
        else:
            super().focus_first()
