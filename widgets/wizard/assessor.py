"""Check the plan and render its commands in a background thread after each change."""

from collections.abc import Mapping
from dataclasses import dataclass

from PySide6.QtCore import QObject, QTimer, Signal

from app.checks.before import SkippedCheck
from app.checks.host import OLD
from app.plans.plan import Plan
from app.plans.totals import StepPreview
from app.runs.root_commands import RootCommand
from app.services import Workstation
from app.timestamps import seconds_since
from suites.errors import BenchwrightError
from suites.facts import Facts
from suites.vocab import Finding
from widgets.jobs import BackgroundJob

DELAY = 120
"""Debounce after the last edit before a plan is checked, in ms."""


@dataclass(frozen=True, slots=True)
class Assessment:
    """Findings about a plan, skipped checks, and the exact commands it would run."""

    plan: Plan
    findings: tuple[Finding, ...]
    skipped: tuple[SkippedCheck, ...]
    previews: tuple[StepPreview, ...]
    as_root: tuple[RootCommand, ...] = ()


class Assessor(QObject):
    """Background assessment of the newest plan; results for older plans are dropped."""

    assessed = Signal(object)  # an Assessment
    failed = Signal(object)  # a BenchwrightError

    def __init__(self, workstation: Workstation, parent: QObject) -> None:
        super().__init__(parent)
        self._workstation = workstation
        self._requested: tuple[Plan, dict[str, Facts]] | None = None
        self._running: tuple[Plan, dict[str, Facts]] | None = None
        self._assessed: tuple[Plan, dict[str, Facts]] | None = None
        self._timer = QTimer(self, singleShot=True, interval=DELAY)
        self._timer.timeout.connect(self._begin)

    @property
    def busy(self) -> bool:
        """Whether the newest plan is not assessed yet."""
        return self._requested is not None

    def request(self, plan: Plan, facts: Mapping[str, Facts]) -> None:
        """Assess `plan` after the debounce; do nothing where it is the plan assessed last."""
        if self._requested is None and self._assessed == (plan, facts):
            return
        self._requested = (plan, dict(facts))
        self._timer.start()

    def renew(self) -> None:
        """Assess the same plan again if facts are old: findings show the age of what was seen on the hosts."""
        if self._assessed is not None and any(
            seconds_since(each.read_at) >= OLD for each in self._assessed[1].values()
        ):
            self._requested, self._assessed = self._assessed, None
            self._timer.start()

    def drop(self) -> None:
        """Cancel the request: there is no plan now."""
        self._requested = self._assessed = None
        self._timer.stop()

    def _begin(self) -> None:
        if self._requested is None or self._running is not None:
            return  # one job at a time: _end() starts the next one
        self._running = self._requested
        plan, facts = self._requested
        workstation = self._workstation
        BackgroundJob(lambda: _assess(workstation, plan, facts)).start(self._take, self._fail, finished=self._end)

    def _take(self, assessment: Assessment) -> None:
        if self._running is self._requested:  # else the plan changed meanwhile
            self._assessed, self._requested = self._requested, None
            self.assessed.emit(assessment)

    def _fail(self, error: BenchwrightError) -> None:
        if self._running is self._requested:
            self._requested = self._assessed = None
            self.failed.emit(error)

    def _end(self) -> None:
        self._running = None
        if self._requested is not None and not self._timer.isActive():
            self._begin()


def _assess(workstation: Workstation, plan: Plan, facts: Mapping[str, Facts]) -> Assessment:
    report = workstation.report(plan, facts)
    previews = tuple(workstation.preview(plan, facts))
    return Assessment(plan, report.findings, report.cannot_tell, previews, workstation.root_commands(plan, facts))
