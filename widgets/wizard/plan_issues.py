"""Issues of the plan: the drawer with its findings, remedies, undo and acknowledgements."""

import time
from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QObject, Signal

from app.plans.plan import Plan
from app.plans.plan_remarks import reason_of, with_reason, with_reason_for
from app.services import Workstation
from app.timestamps import seconds_since
from suites.vocab import Finding
from widgets.jobs import BackgroundJob
from widgets.parts.findings import acknowledged_text
from widgets.parts.issue_line import IssueActions
from widgets.parts.issues_drawer import IssuesDrawer
from widgets.wizard.assessor import Assessment
from widgets.wizard.draft import PlanDraft
from widgets.wizard.remedies import ValueChange, changes_text, describe, make_changes, undo_changes

NO_ISSUES = "No issues"


class PlanIssues(QObject):
    """Shows what the checks found in a draft, and applies remedies to it."""

    edited = Signal()  # the draft
    reported = Signal(str)  # one line about what was done
    failed = Signal(object)  # a BenchwrightError

    def __init__(self, draft: PlanDraft, workstation: Workstation, parent: QObject) -> None:
        super().__init__(parent)
        self._draft, self._workstation = draft, workstation
        self._changes: tuple[ValueChange, ...] = ()
        actions = IssueActions(can_recheck=lambda finding: bool(finding.host), describe=partial(describe, draft))
        self.drawer = IssuesDrawer("wizard", actions)
        self.drawer.fix_requested.connect(self._apply)
        self.drawer.undo_requested.connect(self._undo)
        self.drawer.acknowledge_requested.connect(self._acknowledge)

    def reset(self) -> None:
        """Forget the findings and changes of another plan."""
        self._changes = ()
        self.drawer.clear()
        self.drawer.show_message("")

    def show_assessment(self, found: Assessment | None, waiting: str) -> None:
        """Show the findings; without an assessment those of the plan before it, or why there are none."""
        self.drawer.set_empty_text(waiting if found is None else NO_ISSUES, checked=found is not None)
        if found is not None:
            facts = self._draft.facts.items()
            read_at = {host: time.time() - seconds_since(each.read_at) for host, each in facts}
            self.drawer.show_findings(found.findings, partial(reason_of, self._draft.acknowledged), read_at)
        elif self._draft.sketch() is None:
            self.drawer.show_findings(())

    def _apply(self, findings: Sequence[Finding]) -> None:
        plan, workstation = self._draft.sketch(), self._workstation
        if plan is None:
            return

        def applied() -> Plan:
            fixed = plan
            for finding in findings:
                fixed = workstation.apply(fixed, finding)
            return fixed

        BackgroundJob(applied).start(self._take, self.failed)

    def _take(self, plan: Plan) -> None:
        self._changes = make_changes(self._draft, plan)
        self._draft.changed = plan.changed
        text = changes_text(self._changes)
        self.drawer.show_message(text, undo=bool(text))
        self.reported.emit(text)
        self.edited.emit()

    def _undo(self) -> None:
        undo_changes(self._draft, self._changes)
        self._changes = ()
        self.drawer.show_message("")
        self.edited.emit()

    def _acknowledge(self, findings: tuple[Finding, ...], reason: str) -> None:
        for given in with_reason_for(findings, reason):
            self._draft.acknowledged = with_reason(self._draft.acknowledged, given)
        self.reported.emit(acknowledged_text(findings, reason))
        self.edited.emit()
