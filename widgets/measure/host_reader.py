"""Reads the facts of hosts in the background, one job a host, and remembers how each stands."""

from collections.abc import Callable, Iterable
from enum import StrEnum
from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal

from app.questions import Asker
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.facts import Facts
from widgets.jobs import Job

DELAY = 600
"""Milliseconds without a key after which a directory's name counts as written."""


Paths = tuple[str, ...]


class Reading(StrEnum):
    """How the reading of a host's facts stands."""

    NOT_READ = "not read"
    UNDER_WAY = "under way"
    READ = "read"
    FAILED = "failed"


class HostFacts(QObject):
    """One host's facts: being read, read, or not to be had and why."""

    changed = Signal(str)

    def __init__(self, host: str, read: Callable[[Paths, Paths], Facts], parent: QObject) -> None:
        super().__init__(parent)
        self.host = host
        self.reading = Reading.NOT_READ
        self.facts: Facts | None = None
        self.error: BenchwrightError | None = None
        self.asked: tuple[Paths, Paths] = ((), ())  # which directories and devices were looked at
        self._read = read

    def start(self, directories: Paths, devices: Paths) -> None:
        """Read anew, looking at `directories` and `devices` too; does nothing while a reading is under way."""
        if self.reading is Reading.UNDER_WAY:
            return
        self.reading, self.asked = Reading.UNDER_WAY, (directories, devices)
        job = Job(lambda: self._read(directories, devices))
        job.returned.connect(self._take)
        job.failed.connect(self._fail)
        job.start()
        self.changed.emit(self.host)

    def lacks(self, directories: Paths, devices: Paths) -> bool:
        """Return whether the facts do not say anything of a path that was not asked about yet."""
        facts = self.facts
        return facts is not None and (
            any(facts.directory(path) is None and path not in self.asked[0] for path in directories)
            or any(facts.device(path) is None and path not in self.asked[1] for path in devices)
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
        self._lacking: tuple[Paths, Paths, Paths] = ((), (), ())  # hosts, and what they lack
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(DELAY)
        self._timer.timeout.connect(self._look)

    def of(self, host: str) -> HostFacts:
        """Return how `host` stands."""
        if host not in self._hosts:
            workstation, asker = self._workstation, self._asker
            made = HostFacts(host, partial(workstation.facts, host, asker), self)
            made.changed.connect(self.changed)
            self._hosts[host] = made
        return self._hosts[host]

    @property
    def waiting(self) -> bool:
        """Whether a reading is still to come."""
        under_way = any(known.reading is Reading.UNDER_WAY for known in self._hosts.values())
        return under_way or self._timer.isActive()

    def need(self, hosts: Iterable[str], directories: Paths = (), devices: Paths = ()) -> None:
        """Read what has not been read: hosts never asked at once, paths as soon as nobody types their name."""
        stands = [self.of(host) for host in hosts]
        for known in stands:
            if known.reading is Reading.NOT_READ:
                known.start(directories, devices)
        lacking = tuple(known.host for known in stands if known.lacks(directories, devices))
        if (lacking, directories, devices) != self._lacking:
            self._lacking = (lacking, directories, devices)
            self._timer.start()

    def _look(self) -> None:
        lacking, directories, devices = self._lacking
        for host in lacking:
            self.of(host).start(directories, devices)

    def again(self, host: str, directories: Paths = (), devices: Paths = ()) -> None:
        """Read `host` anew."""
        self.of(host).start(directories, devices)

    def problem(self, hosts: Iterable[str]) -> str:
        """Return why the facts of `hosts` are not there yet, or an empty string."""
        from widgets.measure.words import listed
        from widgets.parts.names import host_words

        stands = [self.of(host) for host in hosts]
        waiting = [host_words(each.host) for each in stands if each.reading is Reading.UNDER_WAY]
        failed = [host_words(each.host) for each in stands if each.reading is Reading.FAILED]
        if failed:
            return f"No facts of {listed(failed)}. Retry, or leave it out."
        return f"Reading the facts of {listed(waiting)}…" if waiting else ""
