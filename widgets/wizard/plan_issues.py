"""Issues of the plan in the wizard's drawer: remedies, undo, acknowledgements, background load as it changes."""

from functools import partial

from PySide6.QtCore import Signal

from app.checks.recheck import epoch_of
from app.plans.plan import Plan
from app.plans.plan_remarks import reason_of, with_reason, with_reason_for
from app.questions import Asker
from app.services import Workstation
from suites.vocab import Finding
from widgets.jobs import BackgroundJob
from widgets.parts.issue_line import IssueActions, acknowledged_text
from widgets.parts.issues_drawer import IssuesDrawer
from widgets.rechecks import IssueRechecks
from widgets.wizard.assessor import Assessment
from widgets.wizard.draft import PlanDraft
from widgets.wizard.remedies import ValueChange, changes_text, describe, make_changes, undo_changes

NO_ISSUES = "No issues"


class PlanIssues(IssuesDrawer):
    """Shows what the checks found in a draft, and applies remedies to it."""

    edited = Signal()  # the draft
    reported = Signal(str)  # one line about what was done
    failed = Signal(object)  # a BenchwrightError

    def __init__(self, draft: PlanDraft, workstation: Workstation, asker: Asker) -> None:
        actions = IssueActions(can_recheck=lambda finding: bool(finding.host), describe=partial(describe, draft))
        super().__init__("wizard", actions)
        self._draft, self._workstation = draft, workstation
        self._changes: list[tuple[ValueChange, ...]] = []  # of each remedy that can be undone
        self.rechecks = IssueRechecks(self, workstation, asker)
        self.fix_requested.connect(self._apply)
        self.undo_requested.connect(self._undo)
        self.acknowledge_requested.connect(self._acknowledge)

    def reset(self) -> None:
        """Forget the findings and changes of another plan."""
        self._changes.clear()
        self.clear()
        self.show_message("")

    def show_assessment(self, found: Assessment | None, waiting: str) -> None:
        """Show the findings; without an assessment those of the plan before it, or why there are none."""
        self.set_empty_text(waiting if found is None else NO_ISSUES, checked=found is not None)
        if found is not None:
            read_at = {host: epoch_of(facts) for host, facts in self._draft.facts.items()}
            self.show_findings(found.findings, partial(reason_of, self._draft.acknowledged), read_at)
        elif self._draft.sketch() is None:
            self.show_findings(())
        if (plan := self._draft.sketch()) is not None:
            self.rechecks.follow(plan, self._draft.facts)

    def _apply(self, findings: tuple[Finding, ...]) -> None:
        plan, workstation = self._draft.sketch(), self._workstation
        if plan is not None:
            BackgroundJob(lambda: workstation.apply(plan, *findings)).start(self._take, self.failed)

    def _take(self, plan: Plan) -> None:
        changes = make_changes(self._draft, plan)
        self._draft.changed = plan.changed
        if changes:
            self._changes.append(changes)
        self._show_last()
        self.reported.emit(changes_text(changes))
        self.edited.emit()

    def _undo(self) -> None:
        undo_changes(self._draft, self._changes.pop())
        self._show_last()
        self.edited.emit()

    def _show_last(self) -> None:
        """Show the last remedy that can be undone."""
        text = changes_text(self._changes[-1]) if self._changes else ""
        self.show_message(text, undo=bool(text))

    def _acknowledge(self, findings: tuple[Finding, ...], reason: str) -> None:
        for given in with_reason_for(findings, reason):
            self._draft.acknowledged = with_reason(self._draft.acknowledged, given)
        self.reported.emit(acknowledged_text(findings, reason))
        self.edited.emit()
