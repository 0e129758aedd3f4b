"""Fourth step: issues that the checks found in the plan, before anything runs."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QPushButton

from app.checks.before import SkippedCheck
from suites.vocab import Finding
from widgets.parts.boxes import in_row
from widgets.parts.controls import push_button
from widgets.parts.findings import Describe, FindingList, no_description, open_summary
from widgets.parts.notice import Notice
from widgets.parts.text import Text, Tone, set_tool_tip
from widgets.theme import SPACE, TextSize, set_icon, text_font
from widgets.wizard.draft import PlanDraft
from widgets.wizard.wizard_step import WizardStep

NO_ISSUES = "No issues found."


class FindingsStep(WizardStep):
    """Findings with one-click remedies, and undo of the last remedy."""

    title = "Findings"
    apply_requested = Signal(object)
    install_requested = Signal(object)
    acknowledge_requested = Signal(tuple, str)
    more_requested = Signal(str)
    undo_requested = Signal()
    recheck_requested = Signal()  # the facts, and with them the checks

    def __init__(self, draft: PlanDraft, describe: Describe) -> None:
        super().__init__(draft, "Issues to fix before running", "")
        self._waiting = False
        self._notice = Notice()
        self.undo = push_button("Undo", self.undo_requested, icon="refresh", visible=False)
        row = in_row((self._notice, 1), (self.undo, 0, Qt.AlignmentFlag.AlignVCenter), spacing=SPACE[1])
        self.column.addLayout(row)
        self.list = FindingList(describe=describe)
        self.list.apply_requested.connect(self.apply_requested)
        self.list.install_requested.connect(self.install_requested)
        self.list.acknowledge_requested.connect(self.acknowledge_requested)
        self.list.more_requested.connect(self.more_requested)
        self.column.addWidget(self.list, 1)
        self.skipped = Text(tone=Tone.MUTED, font=text_font(TextSize.SMALL))
        self.recheck_button = QPushButton("Check again")
        set_icon(self.recheck_button, "refresh")
        set_tool_tip(self.recheck_button, "Read the facts of every host again, then check the plan")
        self.recheck_button.clicked.connect(self.recheck_requested)
        foot = in_row((self.skipped, 1), spacing=SPACE[2])
        foot.addStretch(0)
        foot.addWidget(self.recheck_button, 0, Qt.AlignmentFlag.AlignBottom)
        self.column.addLayout(foot)

    def show_report(
        self, findings: Sequence[Finding], skipped: Sequence[SkippedCheck], reason_of: Describe = no_description
    ) -> None:
        """Show the findings, their acknowledgements, and the reasons of skipped checks."""
        self.list.set_findings(findings, reason_of)
        reasons = dict.fromkeys(each.because for each in skipped)
        self.skipped.setVisible(bool(reasons))
        self.skipped.setText(f"Not checked: {' '.join(reasons)}")
        self.list.set_empty_text(NO_ISSUES)
        count = open_summary(findings, reason_of)
        self.explanation.setText(f"{count}, most severe first." if count else "")
        self.explanation.setVisible(bool(count))

    def show_waiting(self, text: str) -> None:
        """Show `text`, the reason why there are no findings."""
        self.list.set_findings(())
        self.skipped.hide()
        self.list.set_empty_text(text)
        self.explanation.hide()

    def show_changes(self, text: str) -> None:
        """Show the changes of the last remedy with *Undo*; hide both where `text` is empty."""
        self.undo.setVisible(bool(text))
        if text:
            self._notice.show_message("good", text)
        else:
            self._notice.hide()

    def focus_first(self) -> None:
        """Put the keyboard on the first finding."""
        cards = self.list.cards()
        if cards:
            cards[0].setFocus(Qt.FocusReason.TabFocusReason)
        else:
            super().focus_first()
