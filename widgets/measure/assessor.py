"""Has the plan checked and its commands written whenever it changes, off the window's thread."""

from collections.abc import Mapping
from dataclasses import dataclass

from PySide6.QtCore import QObject, QTimer, Signal

from app.checks import Unsure
from app.plans.plan import Plan
from app.runs.root_commands import RootCommand
from app.services import StepPreview, Workstation
from suites.errors import BenchwrightError
from suites.facts import Facts
from suites.vocab import Finding
from widgets.jobs import Job

DELAY = 120
"""Milliseconds to wait for the next key before a plan is checked."""


@dataclass(frozen=True, slots=True)
class Assessment:
    """What stands against a plan, and the exact commands it would run."""

    plan: Plan
    findings: tuple[Finding, ...]
    unsure: tuple[Unsure, ...]
    previews: tuple[StepPreview, ...]
    as_root: tuple[RootCommand, ...] = ()


class Assessor(QObject):
    """Assesses the newest plan; an older one's answer is dropped."""

    assessed = Signal(object)  # an Assessment
    failed = Signal(object)  # a BenchwrightError

    def __init__(self, workstation: Workstation, parent: QObject) -> None:
        super().__init__(parent)
        self._workstation = workstation
        self._wanted: tuple[Plan, dict[str, Facts]] | None = None
        self._under_way: tuple[Plan, dict[str, Facts]] | None = None
        self._answered: tuple[Plan, dict[str, Facts]] | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(DELAY)
        self._timer.timeout.connect(self._begin)

    @property
    def busy(self) -> bool:
        """Whether an answer to the newest plan is still to come."""
        return self._wanted is not None

    def request(self, plan: Plan, facts: Mapping[str, Facts]) -> None:
        """Assess `plan` as soon as nobody types; what has just been answered is not asked again."""
        if self._wanted is None and self._answered == (plan, facts):
            return
        self._wanted = (plan, dict(facts))
        self._timer.start()

    def drop(self) -> None:
        """Forget the plan: there is none now."""
        self._wanted = self._answered = None
        self._timer.stop()

    def _begin(self) -> None:
        if self._wanted is None or self._under_way is not None:
            return  # the end of the job under way begins the next one
        self._under_way = self._wanted
        plan, facts = self._wanted
        workstation = self._workstation
        job = Job(lambda: _assess(workstation, plan, facts))
        job.returned.connect(self._take)
        job.failed.connect(self._fail)
        job.finished.connect(self._end)
        job.start()

    def _take(self, assessment: Assessment) -> None:
        if self._under_way is self._wanted:
            self._answered, self._wanted = self._wanted, None
            self.assessed.emit(assessment)

    def _fail(self, error: BenchwrightError) -> None:
        if self._under_way is self._wanted:
            self._wanted = None
            self.failed.emit(error)

    def _end(self) -> None:
        self._under_way = None
        if self._wanted is not None and not self._timer.isActive():
            self._begin()


def _assess(workstation: Workstation, plan: Plan, facts: Mapping[str, Facts]) -> Assessment:
    report = workstation.report(plan, facts)
    previews = tuple(workstation.preview(plan, facts))
    return Assessment(plan, report.findings, report.cannot_tell, previews, workstation.root_commands(plan, facts))
