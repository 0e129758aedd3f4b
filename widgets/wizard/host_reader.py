"""Read host facts in the background, one job per host, and keep the state of each."""

from collections.abc import Callable, Iterable
from enum import StrEnum
from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal

from app.questions import Asker
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.facts import Facts
from widgets.jobs import BackgroundJob
from widgets.parts.names import host_label
from widgets.wizard.messages import listed

DELAY = 600
"""Debounce after the last edit before a new path is looked up on the hosts, in ms."""


Paths = tuple[str, ...]


class Reading(StrEnum):
    """State of reading a host's facts."""

    NOT_READ = "not read"
    UNDER_WAY = "under way"
    READ = "read"
    FAILED = "failed"


class HostFacts(QObject):
    """Facts of one host, the state of reading them, and the error of the last attempt."""

    changed = Signal(str)

    def __init__(self, host: str, read: Callable[[Paths, Paths], Facts], parent: QObject) -> None:
        super().__init__(parent)
        self.host = host
        self.reading = Reading.NOT_READ
        self.facts: Facts | None = None
        self.error: BenchwrightError | None = None
        self.read_paths: tuple[Paths, Paths] = ((), ())  # directories and devices of the last read
        self._read = read

    def start(self, directories: Paths, devices: Paths) -> None:
        """Read the facts, including `directories` and `devices`; do nothing while a read is running."""
        if self.reading is Reading.UNDER_WAY:
            return
        self.reading, self.read_paths = Reading.UNDER_WAY, (directories, devices)
        BackgroundJob(lambda: self._read(directories, devices)).start(self._take, self._fail)
        self.changed.emit(self.host)

    def misses_paths(self, directories: Paths, devices: Paths) -> bool:
        """Return whether the facts miss a path that was not looked up yet."""
        facts = self.facts
        return facts is not None and (
            any(facts.directory(path) is None and path not in self.read_paths[0] for path in directories)
            or any(facts.device(path) is None and path not in self.read_paths[1] for path in devices)
        )

    def _take(self, facts: Facts) -> None:
        self.reading, self.facts, self.error = Reading.READ, facts, None
        self.changed.emit(self.host)

    def _fail(self, error: BenchwrightError) -> None:
        self.reading, self.error = Reading.FAILED, error
        self.changed.emit(self.host)


class HostReader(QObject):
    """Facts of every host that was requested."""

    changed = Signal(str)  # the host whose state changed

    def __init__(self, workstation: Workstation, asker: Asker, parent: QObject) -> None:
        super().__init__(parent)
        self._workstation = workstation
        self._asker = asker
        self._hosts: dict[str, HostFacts] = {}
        self._missing_paths: tuple[Paths, Paths, Paths] = ((), (), ())  # hosts, and what they lack
        self._timer = QTimer(self, singleShot=True, interval=DELAY)
        self._timer.timeout.connect(self._look)

    def of(self, host: str) -> HostFacts:
        """Return the state of `host`."""
        if host not in self._hosts:
            workstation, asker = self._workstation, self._asker
            made = HostFacts(host, partial(workstation.facts, host, asker), self)
            made.changed.connect(self.changed)
            self._hosts[host] = made
        return self._hosts[host]

    @property
    def waiting(self) -> bool:
        """Whether a read is running or scheduled."""
        under_way = any(known.reading is Reading.UNDER_WAY for known in self._hosts.values())
        return under_way or self._timer.isActive()

    def need(self, hosts: Iterable[str], directories: Paths = (), devices: Paths = ()) -> None:
        """Read what is missing: new hosts immediately, new paths after the debounce."""
        states = [self.of(host) for host in hosts]
        for known in states:
            if known.reading is Reading.NOT_READ:
                known.start(directories, devices)
        unread = tuple(known.host for known in states if known.misses_paths(directories, devices))
        if (unread, directories, devices) != self._missing_paths:
            self._missing_paths = (unread, directories, devices)
            self._timer.start()

    def _look(self) -> None:
        unread, directories, devices = self._missing_paths
        if any(self.of(host).reading is Reading.UNDER_WAY for host in unread):
            self._timer.start()  # that read was started without these paths
            return
        for host in unread:
            self.of(host).start(directories, devices)

    def forget(self, host: str) -> None:
        """Forget the facts of `host`, whose address has changed."""
        self._hosts.pop(host, None)

    def reread(self, host: str, directories: Paths = (), devices: Paths = ()) -> None:
        """Read `host` again."""
        self.of(host).start(directories, devices)

    def problem(self, hosts: Iterable[str]) -> str:
        """Return why the facts of `hosts` are missing, or an empty string."""
        states = [self.of(host) for host in hosts]
        waiting = [host_label(each.host) for each in states if each.reading is Reading.UNDER_WAY]
        failed = [host_label(each.host) for each in states if each.reading is Reading.FAILED]
        if failed:
            return f"Facts not read: {listed(failed)}. Retry or deselect."
        return f"Reading facts: {listed(waiting)}…" if waiting else ""
