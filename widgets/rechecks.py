"""Checks made again on hosts: the background load every few seconds while it is watched, all of them on request."""

from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from app.checks.recheck import LOAD_PERIOD
from app.plans.plan import Plan
from app.questions import Asker, RefusingAsker
from app.services import Workstation
from suites.facts import Facts
from widgets.jobs import BackgroundJob

if TYPE_CHECKING:
    from app.hosts.load_probe import LoadProbe


class LoadWatch(QObject):
    """Reads a host with `probe` at once and then LOAD_PERIOD seconds after each reading, until stop() or a failure."""

    read = Signal(object)  # a HostReading
    failed = Signal()

    def __init__(self, probe: "LoadProbe", parent: QObject) -> None:
        super().__init__(parent)
        self._probe, self._stopped = probe, False
        self._pause = QTimer(self, singleShot=True, interval=round(LOAD_PERIOD * 1000))
        self._pause.timeout.connect(self._read)

    def start(self) -> None:
        """Read the host for the first time."""
        self._read()

    def stop(self) -> None:
        """Read no longer, and close the connection."""
        self._stopped = True
        self._pause.stop()
        BackgroundJob(self._probe.close).start()
        self.deleteLater()

    def _read(self) -> None:
        BackgroundJob(self._probe.read, self).start(self._take, lambda _error: self.failed.emit())

    def _take(self, reading: object) -> None:
        if not self._stopped:
            self._pause.start()
            if reading is not None:
                self.read.emit(reading)


class Rechecks(QObject):
    """Reads hosts again on background threads. The page decides when: never while a host is measured."""

    read = Signal(object)  # a HostReading
    failed = Signal(object)  # a BenchwrightError
    busy_changed = Signal(bool)  # whether hosts are read on request

    def __init__(self, workstation: Workstation, asker: Asker, parent: QObject) -> None:
        super().__init__(parent)
        self._workstation, self._asker = workstation, asker
        self._watches: dict[str, LoadWatch] = {}
        self._unreachable: set[str] = set()
        self._reading = 0

    @property
    def watched(self) -> Collection[str]:
        """The hosts whose background load is read every few seconds."""
        return self._watches.keys()

    def watch(self, plan: Plan, facts: Mapping[str, Facts]) -> None:
        """Read the background load of the hosts of `facts` every few seconds, and no longer that of others.

        Nobody is asked for a password: a host that needs one is not watched.
        """
        for host in [each for each in self._watches if each not in facts]:
            self._watches.pop(host).stop()
        for host, known in facts.items():
            if host not in self._watches and host not in self._unreachable:
                self._begin(plan, known)

    def stop(self) -> None:
        """End watching."""
        self._unreachable.clear()
        for host in tuple(self._watches):
            self._watches.pop(host).stop()

    def recheck(self, plan: Plan, facts: Mapping[str, Facts], hosts: Collection[str]) -> None:
        """Read the facts of `hosts` again and repeat their pre-run checks."""
        for host in hosts:
            self._count(1)
            work = partial(self._workstation.recheck, plan, dict(facts), host, self._asker)
            BackgroundJob(work, self).start(self.read, self.failed, finished=lambda: self._count(-1))

    def _begin(self, plan: Plan, facts: Facts) -> None:
        watch = LoadWatch(self._workstation.load_probe(plan, facts, RefusingAsker()), self)
        self._watches[facts.host] = watch
        watch.read.connect(self.read)
        watch.failed.connect(lambda: self._give_up(facts.host))
        watch.start()

    def _give_up(self, host: str) -> None:
        if host in self._watches:
            self._watches.pop(host).stop()
            self._unreachable.add(host)

    def _count(self, change: int) -> None:
        self._reading += change
        self.busy_changed.emit(self._reading > 0)
