"""Checks made again on hosts: the background load every few seconds while it is watched, all of them on request."""

import threading
from collections.abc import Collection, Mapping
from functools import partial

from PySide6.QtCore import QObject, Signal

from app.plans.plan import Plan
from app.questions import Asker, RefusingAsker
from app.services import Workstation
from suites.facts import Facts
from widgets.jobs import BackgroundJob


class Rechecks(QObject):
    """Reads hosts again, each on its own background thread. The page decides when: never while a host is measured."""

    read = Signal(object)  # a HostReading
    failed = Signal(object)  # a BenchwrightError
    busy_changed = Signal(bool)  # whether hosts are read on request

    def __init__(self, workstation: Workstation, asker: Asker, parent: QObject) -> None:
        super().__init__(parent)
        self._workstation, self._asker = workstation, asker
        self._watched: dict[str, threading.Event] = {}
        self._unreachable: set[str] = set()
        self._reading = 0

    @property
    def watched(self) -> Collection[str]:
        """The hosts whose background load is read every few seconds."""
        return self._watched.keys()

    def watch(self, plan: Plan, facts: Mapping[str, Facts]) -> None:
        """Read the background load of the hosts of `facts` every few seconds, and no longer that of others.

        Nobody is asked for a password: a host that needs one is not watched.
        """
        for host in [each for each in self._watched if each not in facts]:
            self._watched.pop(host).set()
        for host, known in facts.items():
            if host not in self._watched and host not in self._unreachable:
                self._begin(plan, known)

    def stop(self) -> None:
        """End watching."""
        for stopped in self._watched.values():
            stopped.set()
        self._watched.clear()
        self._unreachable.clear()

    def recheck(self, plan: Plan, facts: Mapping[str, Facts], hosts: Collection[str]) -> None:
        """Read the facts of `hosts` again and repeat their pre-run checks."""
        for host in hosts:
            self._count(1)
            work = partial(self._workstation.recheck, plan, dict(facts), host, self._asker)
            BackgroundJob(work, self).start(self.read, self.failed, finished=lambda: self._count(-1))

    def _begin(self, plan: Plan, facts: Facts) -> None:
        stopped = self._watched[facts.host] = threading.Event()
        self.destroyed.connect(stopped.set)
        work = partial(self._workstation.watch_load, plan, facts, RefusingAsker(), stopped)
        job = BackgroundJob(work, self)
        job.yielded.connect(lambda reading: self.read.emit(reading) if not stopped.is_set() else None)
        job.failed.connect(lambda _error: self._give_up(facts.host, stopped))
        job.start()

    def _give_up(self, host: str, stopped: threading.Event) -> None:
        if self._watched.get(host) is stopped:
            del self._watched[host]
            self._unreachable.add(host)

    def _count(self, change: int) -> None:
        self._reading += change
        if self._reading - change == 0 or self._reading == 0:
            self.busy_changed.emit(self._reading > 0)
