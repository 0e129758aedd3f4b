"""Connection status and facts of each host."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from app.hosts.hosts import ConnectReport
from app.plans.plan import LOCAL
from app.questions import Asker, ConnectOutcome
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.facts import Facts
from widgets.jobs import BackgroundJob


@dataclass(slots=True)
class HostStatus:
    """Status of one host. `activity` describes the running job; `problem` is the error of the last one."""

    activity: str = ""
    report: ConnectReport | None = None
    facts: Facts | None = None
    problem: BenchwrightError | None = None
    job: BackgroundJob | None = None

    @property
    def level(self) -> str:
        """Severity of the status: good, error, or empty if unknown."""
        if self.activity:
            return ""
        if self.problem is not None:
            return "info" if self.problem.cancelled else "error"
        if self.report is not None:
            return self.report.severity
        return "good" if self.facts is not None else ""

    @property
    def text(self) -> str:
        """Status in a word or two."""
        if self.activity:
            return self.activity
        if self.report is not None and self.report.outcome is not ConnectOutcome.CONNECTED:
            return self.report.outcome.value
        if self.problem is not None:
            return "facts not read"
        return "connected" if self.level else "not tried"


class HostConnections(QObject):
    """Connects to hosts and reads their facts in the background, one job per host."""

    changed = Signal(str)  # the host whose status changed

    def __init__(self, workstation: Workstation, asker: Asker, parent: QObject) -> None:
        super().__init__(parent)
        self._workstation = workstation
        self._asker = asker
        self._statuses: dict[str, HostStatus] = {}

    def of(self, name: str) -> HostStatus:
        """Return the status of the host."""
        return self._statuses.setdefault(name, HostStatus())

    def test(self, name: str) -> None:
        """Connect, report the outcome, and read the facts on success."""
        activity = "reading facts…" if name == LOCAL else "connecting…"
        self._start(name, activity, lambda: _test_and_read(self._workstation, name, self._asker))

    def read(self, name: str) -> None:
        """Read the facts."""
        self._start(name, "reading facts…", lambda: iter((self._workstation.facts(name, self._asker),)))

    def cancel(self, name: str) -> None:
        """Stop waiting; later results of the worker thread are dropped."""
        status = self.of(name)
        if status.job is not None:
            status.job.cancel()
            status.job, status.activity = None, ""
            self.changed.emit(name)

    def forget(self, name: str) -> None:
        """Discard the status of the host: it was removed or its connection was edited."""
        self.cancel(name)
        self._statuses.pop(name, None)
        self.changed.emit(name)

    def _start(self, name: str, activity: str, work: Callable[[], Iterator[ConnectReport | Facts]]) -> None:
        status = self.of(name)
        if status.job is not None:
            return
        job = BackgroundJob(work, self)
        status.job, status.activity, status.problem = job, activity, None
        job.yielded.connect(lambda value: self._take(name, job, value))
        job.failed.connect(lambda error: self._fail(name, job, error))
        job.finished.connect(lambda: self._finish(name, job))
        job.start()
        self.changed.emit(name)

    def _take(self, name: str, job: BackgroundJob, value: object) -> None:
        status = self.of(name)
        if status.job is not job:
            return
        if isinstance(value, ConnectReport):
            status.report, status.facts, status.activity = value, None, "reading facts…"
        elif isinstance(value, Facts):
            status.facts = value
            if status.report is not None and status.report.outcome is not ConnectOutcome.CONNECTED:
                status.report = None  # reachable after all: the failed report is outdated
        self.changed.emit(name)

    def _fail(self, name: str, job: BackgroundJob, error: BenchwrightError) -> None:
        if self.of(name).job is job:
            self.of(name).problem = error

    def _finish(self, name: str, job: BackgroundJob) -> None:
        status = self.of(name)
        if status.job is job:
            status.job, status.activity = None, ""
            self.changed.emit(name)


def _test_and_read(workstation: Workstation, name: str, asker: Asker) -> Iterator[ConnectReport | Facts]:
    report = workstation.test_connection(name, asker)
    yield report
    if report.outcome is ConnectOutcome.CONNECTED:
        yield workstation.facts(name, asker)
