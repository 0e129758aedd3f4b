"""Reads the facts of hosts in the background, one job a host, and remembers how each stands."""

from collections.abc import Callable, Iterable
from enum import StrEnum

from PySide6.QtCore import QObject, QTimer, Signal

from app.questions import Asker
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.facts import Facts
from widgets.jobs import Job

DELAY = 600
"""Milliseconds without a key after which a directory's name counts as written."""


class Reading(StrEnum):
    """How the reading of a host's facts stands."""

    NOT_READ = "not read"
    UNDER_WAY = "under way"
    READ = "read"
    FAILED = "failed"


class HostFacts(QObject):
    """One host's facts: being read, read, or not to be had and why."""

    changed = Signal(str)

    def __init__(self, host: str, read: Callable[[tuple[str, ...]], Facts], parent: QObject) -> None:
        super().__init__(parent)
        self.host = host
        self.reading = Reading.NOT_READ
        self.facts: Facts | None = None
        self.error: BenchwrightError | None = None
        self.directories: tuple[str, ...] = ()
        self._read = read

    def start(self, directories: tuple[str, ...]) -> None:
        """Read anew, looking at `directories` too; does nothing while a reading is under way."""
        if self.reading is Reading.UNDER_WAY:
            return
        self.reading, self.directories = Reading.UNDER_WAY, directories
        job = Job(lambda: self._read(directories))
        job.returned.connect(self._take)
        job.failed.connect(self._fail)
        job.start()
        self.changed.emit(self.host)

    def lacks(self, directories: tuple[str, ...]) -> bool:
        """Return whether the facts do not say anything of one of `directories` that was not asked about yet."""
        facts = self.facts
        return facts is not None and any(
            facts.directory(path) is None and path not in self.directories for path in directories
        )

    def _take(self, facts: Facts) -> None:
        self.reading, self.facts, self.error = Reading.READ, facts, None
        self.changed.emit(self.host)

    def _fail(self, error: BenchwrightError) -> None:
        self.reading, self.error = Reading.FAILED, error
        self.changed.emit(self.host)


class HostReader(QObject):
    """The facts of every host that somebody asked for."""

    changed = Signal(str)  # the host whose reading stands differently now

    def __init__(self, workstation: Workstation, asker: Asker, parent: QObject) -> None:
        super().__init__(parent)
        self._workstation = workstation
        self._asker = asker
        self._hosts: dict[str, HostFacts] = {}
        self._lacking: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(DELAY)
        self._timer.timeout.connect(self._look)

    def of(self, host: str) -> HostFacts:
        """Return how `host` stands."""
        if host not in self._hosts:
            workstation, asker = self._workstation, self._asker
            made = HostFacts(host, lambda directories: workstation.facts(host, asker, directories), self)
            made.changed.connect(self.changed)
            self._hosts[host] = made
        return self._hosts[host]

    @property
    def waiting(self) -> bool:
        """Whether a reading is still to come."""
        under_way = any(known.reading is Reading.UNDER_WAY for known in self._hosts.values())
        return under_way or self._timer.isActive()

    def need(self, hosts: Iterable[str], directories: tuple[str, ...] = ()) -> None:
        """Read what has not been read: hosts never asked at once, directories as soon as nobody types their name."""
        stands = [self.of(host) for host in hosts]
        for known in stands:
            if known.reading is Reading.NOT_READ:
                known.start(directories)
        lacking = tuple(known.host for known in stands if known.lacks(directories))
        if (lacking, directories) != self._lacking:
            self._lacking = (lacking, directories)
            self._timer.start()

    def _look(self) -> None:
        lacking, directories = self._lacking
        for host in lacking:
            self.of(host).start(directories)

    def again(self, host: str, directories: tuple[str, ...] = ()) -> None:
        """Read `host` anew."""
        self.of(host).start(directories)

    def problem(self, hosts: Iterable[str]) -> str:
        """Return why the facts of `hosts` are not there yet, or an empty string."""
        from widgets.measure.words import listed
        from widgets.names import host_words

        stands = [self.of(host) for host in hosts]
        waiting = [host_words(each.host) for each in stands if each.reading is Reading.UNDER_WAY]
        failed = [host_words(each.host) for each in stands if each.reading is Reading.FAILED]
        if failed:
            return f"No facts of {listed(failed)}. Retry, or leave it out."
        return f"Reading the facts of {listed(waiting)}…" if waiting else ""
