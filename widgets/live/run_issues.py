"""Issues of a run in the drawer of its page; on Live, with checks made again while no run measures the hosts."""

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial

from app.checks.issues import HostReading, key_of
from app.checks.limits import LIMITED_BY
from app.checks.recheck import can_recheck, epoch_of
from app.plans.plan_remarks import reason_of
from app.questions import Asker
from app.services import Workstation
from suites.verdict import Trust
from suites.vocab import Finding
from widgets.live.model import RunModel
from widgets.parts.issue_line import IssueActions
from widgets.parts.issues_drawer import IssuesDrawer
from widgets.rechecks import IssueRechecks

NO_ISSUES, NOT_CHECKED, NOT_JUDGED = "No issues", "Not checked yet", "Not judged"


class RunIssues(IssuesDrawer):
    """Issues of a run. Nothing is fixed in it; those of a stored run can be acknowledged."""

    def __init__(self, name: str, actions: IssueActions) -> None:
        super().__init__(name, actions)
        self._model: RunModel | None = None
        self._listed: tuple[object, ...] = ()

    def show_run(self, model: RunModel, *, aged: bool = False) -> bool:
        """Show the issues of `model`, with their age if the run is watched (`aged`); return whether they changed."""
        findings = besides_limits(model)
        listed = findings, model.plan.acknowledged, tuple(model.facts)
        undecided = any(one.trust is Trust.UNDECIDED for one in model.verdicts.values())
        checked = (bool(model.facts) or model.phase.over) and not undecided
        self.set_empty_text(NO_ISSUES if checked else NOT_JUDGED if undecided else NOT_CHECKED, checked=checked)
        if model is self._model and listed == self._listed:
            return False
        if model is not self._model:
            self.clear()
        self._model, self._listed = model, listed
        read_at = {host: epoch_of(facts) for host, facts in model.facts.items()} if aged else {}
        self.show_findings(findings, partial(reason_of, model.plan.acknowledged), read_at, aged=aged)
        return True


class LiveIssues(RunIssues):
    """Issues of the run on the page Live. `measured` returns the hosts that runs of the window measure now."""

    def __init__(self, workstation: Workstation, asker: Asker, measured: Callable[[], Collection[str]]) -> None:
        super().__init__("live", IssueActions(fix=False, acknowledge=False, can_recheck=can_recheck))
        self.rechecks = IssueRechecks(self, workstation, asker, measured)
        self.rechecks.failed.connect(lambda error: self.show_message(str(error)))
        self.recheck_requested.connect(self._recheck)

    def show_run(self, model: RunModel, *, aged: bool = True) -> bool:
        """Show the issues of `model` with their age, and watch its hosts if they have background load."""
        changed = super().show_run(model, aged=aged)
        if changed:
            self.follow()
        return changed

    def take_reading(self, reading: HostReading) -> None:
        """Update the issues of the run by `reading`; a condition that the run did not have is none of them."""
        known = set() if self._model is None else {key_of(one) for one in besides_limits(self._model)}
        super().take_reading(replace(reading, findings=tuple(one for one in reading.findings if key_of(one) in known)))

    def _recheck(self, hosts: tuple[str, ...]) -> None:
        self.show_message("")
        self.rechecks.recheck(hosts)

    def follow(self) -> None:
        """Watch the background load of the hosts that have such an issue, while shown and not measured."""
        if self._model is not None:
            self.rechecks.follow(self._model.plan, self._model.facts)


def besides_limits(model: RunModel) -> tuple[Finding, ...]:
    """Return the findings without the limits: the verdict on each step has the evidence of its own."""
    limits = {(LIMITED_BY.id, *step_key) for step_key in model.verdicts if step_key is not None}
    return tuple(one for one in model.findings if (one.id, one.step, one.host) not in limits)
