"""How each host stands as far as the window knows: tried or not, reached or not, and its facts."""

from collections.abc import Iterator
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from app.hosts.hosts import ConnectReport
from app.plans.plan import LOCAL
from app.questions import Asker, Outcome
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.facts import Facts
from widgets.jobs import Job


@dataclass(slots=True)
class Standing:
    """One host. `doing` is what is under way, in words; `problem` why the last attempt brought nothing."""

    doing: str = ""
    report: ConnectReport | None = None
    facts: Facts | None = None
    problem: BenchwrightError | None = None
    job: Job | None = None

    @property
    def level(self) -> str:
        """The severity of how it stands: good, error, or empty where nothing is known."""
        if self.doing:
            return ""
        if self.problem is not None or (self.report is not None and self.report.outcome is not Outcome.CONNECTED):
            return "error"
        return "good" if self.report is not None or self.facts is not None else ""

    @property
    def words(self) -> str:
        """How it stands, in a word or two."""
        if self.doing:
            return self.doing
        if self.report is not None and self.report.outcome is not Outcome.CONNECTED:
            return self.report.outcome.value
        if self.problem is not None:
            return "facts not read"
        return "connected" if self.level else "not tried"


class HostConnections(QObject):
    """Connects to hosts and reads their facts, one job a host, off the window's thread."""

    changed = Signal(str)  # the host that stands differently now

    def __init__(self, workstation: Workstation, asker: Asker, parent: QObject) -> None:
        super().__init__(parent)
        self._workstation = workstation
        self._asker = asker
        self._standings: dict[str, Standing] = {}

    def of(self, name: str) -> Standing:
        """Return how the host stands."""
        return self._standings.setdefault(name, Standing())

    def test(self, name: str) -> None:
        """Connect, say how it went, and read the facts where it went well."""
        doing = "reading facts…" if name == LOCAL else "connecting…"
        self._start(name, doing, Job(lambda: _test_and_read(self._workstation, name, self._asker), self))

    def read(self, name: str) -> None:
        """Read the facts."""
        self._start(name, "reading facts…", Job(lambda: iter((self._workstation.facts(name, self._asker),)), self))

    def cancel(self, name: str) -> None:
        """Stop waiting. What the worker thread still learns is not listened to."""
        standing = self.of(name)
        if standing.job is not None:
            standing.job.cancel()
            standing.job, standing.doing = None, ""
            self.changed.emit(name)

    def forget(self, name: str) -> None:
        """Know nothing of the host any more: it is gone, or reached differently now."""
        self.cancel(name)
        self._standings.pop(name, None)
        self.changed.emit(name)

    def _start(self, name: str, doing: str, job: Job) -> None:
        standing = self.of(name)
        if standing.job is not None:
            return
        standing.job, standing.doing, standing.problem = job, doing, None
        job.yielded.connect(lambda value: self._take(name, job, value))
        job.failed.connect(lambda error: self._fail(name, job, error))
        job.finished.connect(lambda: self._finish(name, job))
        job.start()
        self.changed.emit(name)

    def _take(self, name: str, job: Job, value: object) -> None:
        standing = self.of(name)
        if standing.job is not job:
            return
        if isinstance(value, ConnectReport):
            standing.report, standing.facts, standing.doing = value, None, "reading facts…"
        elif isinstance(value, Facts):
            standing.facts = value
            if standing.report is not None and standing.report.outcome is not Outcome.CONNECTED:
                standing.report = None  # it has been reached since
        self.changed.emit(name)

    def _fail(self, name: str, job: Job, error: BenchwrightError) -> None:
        if self.of(name).job is job:
            self.of(name).problem = error

    def _finish(self, name: str, job: Job) -> None:
        standing = self.of(name)
        if standing.job is job:
            standing.job, standing.doing = None, ""
            self.changed.emit(name)


def _test_and_read(workstation: Workstation, name: str, asker: Asker) -> Iterator[ConnectReport | Facts]:
    report = workstation.test_connection(name, asker)
    yield report
    if report.outcome is Outcome.CONNECTED:
        yield workstation.facts(name, asker)
