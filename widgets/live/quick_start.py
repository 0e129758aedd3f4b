"""Starts the quick benchmark of a host: reads its facts, then runs, or hands a plan that cannot run to the wizard."""

from dataclasses import dataclass

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.checks.catalogue import blocks
from app.plans.plan import Plan
from app.questions import Asker
from app.services import Workstation
from suites.errors import BenchwrightError
from widgets.jobs import BackgroundJob
from widgets.parts.boxes import column_in, fill
from widgets.parts.names import host_title
from widgets.parts.notice import Notice, ProgressNotice
from widgets.theme import SPACE


@dataclass(frozen=True, slots=True)
class QuickPlan:
    """The plan of a quick benchmark, and whether a finding keeps it from running, such as a missing tool."""

    plan: Plan
    blocked: bool


def _planned(workstation: Workstation, host: str, asker: Asker) -> QuickPlan:
    facts = workstation.facts(host, asker)
    plan = workstation.quick_plan(host, facts)
    return QuickPlan(plan, any(map(blocks, workstation.check(plan, {host: facts}))))


class QuickStart(QWidget):
    """Line that is visible while a quick benchmark is prepared, or if it could not be."""

    ready = Signal(object)  # a Plan to run
    blocked = Signal(object)  # a Plan to repair

    def __init__(self, workstation: Workstation, asker: Asker) -> None:
        super().__init__()
        self._workstation, self._asker = workstation, asker
        self._job: BackgroundJob | None = None
        self.working, self.notice = ProgressNotice(), Notice()
        self.working.cancelled.connect(self.cancel)
        fill(column_in(self, 0, (SPACE[3], SPACE[1], SPACE[3], 0)), self.working, self.notice)
        self.notice.hide()
        self.hide()

    def start(self, host: str) -> None:
        """Prepare the quick benchmark of `host`; an earlier one that is still prepared is dropped."""
        self.notice.hide()
        self.working.begin(f"Quick benchmark: reading the facts of {host_title(host)}…")
        self.show()
        workstation, asker = self._workstation, self._asker
        job = self._job = BackgroundJob(lambda: _planned(workstation, host, asker), self)
        job.returned.connect(lambda found: self._take(found) if job is self._job else None)
        job.failed.connect(lambda error: self._fail(error) if job is self._job else None)
        job.start()

    def cancel(self) -> None:
        """Start nothing."""
        if self._job is not None:
            self._job.cancel()
            self._job = None
        self.hide()

    def _take(self, found: QuickPlan) -> None:
        self._job = None
        self.hide()
        (self.blocked if found.blocked else self.ready).emit(found.plan)

    def _fail(self, error: BenchwrightError) -> None:
        self._job = None
        self.working.end()
        self.notice.show_error(error)
