"""Checks made again on hosts: the background load every few seconds while it is watched, all of them on request."""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QTimer, Signal

from app.checks.issues import HostReading
from app.checks.recheck import BACKGROUND_LOAD, LOAD_PERIOD, epoch_of
from app.plans.plan import Plan
from app.questions import Asker, RefusingAsker
from app.services import Workstation
from suites.facts import Facts
from widgets.jobs import BackgroundJob
from widgets.parts.issues_drawer import IssuesDrawer

if TYPE_CHECKING:
    from app.hosts.load_probe import LoadProbe


MEASURED, READING = "The host is being measured", "Reading the host…"
"""Why a host is not read again."""


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


class IssueRechecks(QObject):
    """Reads the hosts of the issues in `drawer` again: their background load while the drawer is shown, all on request.

    `measured` returns the hosts that runs of the window measure now. They are not read, nor is a host that a run of
    another process measures.
    """

    failed = Signal(object)  # a BenchwrightError

    def __init__(
        self,
        drawer: IssuesDrawer,
        workstation: Workstation,
        asker: Asker,
        measured: Callable[[], Collection[str]] = frozenset,
    ) -> None:
        super().__init__(drawer)
        self._drawer, self._workstation, self._asker, self._measured = drawer, workstation, asker, measured
        self._plan: Plan | None = None
        self._facts: Mapping[str, Facts] = {}
        self._checked_at: dict[str, float] = {}  # by host, in seconds since the epoch
        self._watches: dict[str, LoadWatch] = {}
        self._unreachable: set[str] = set()
        self._reading = 0
        drawer.installEventFilter(self)

    @property
    def watched(self) -> Collection[str]:
        """The hosts whose background load is read every few seconds."""
        return self._watches.keys()

    def follow(self, plan: Plan, facts: Mapping[str, Facts]) -> None:
        """Watch the hosts of `plan` that have an issue of background load; call it after each change of the issues.

        A host that asks for a password is not watched.
        """
        self._plan, self._facts = plan, facts
        measured = {*self._measured()}
        busy = {one.host for issue in self._drawer.issues for one in issue.findings if one.id in BACKGROUND_LOAD}
        checked_at = {
            host: max(epoch_of(facts[host]), self._checked_at.get(host, 0.0)) for host in plan.hosts if host in facts
        }
        why_not = MEASURED if measured & {*busy, *checked_at} else ""
        self._drawer.set_recheck(READING if self._reading else why_not, checked_at)
        shown = self._drawer.isVisible()
        wanted = {host: known for host, known in facts.items() if shown and host in busy - measured}
        for host in [each for each in self._watches if each not in wanted]:
            self._watches.pop(host).stop()
        for host, known in wanted.items():
            if host not in self._watches and host not in self._unreachable:
                self._begin(plan, known)

    def recheck(self, hosts: Collection[str]) -> None:
        """Read the facts of `hosts` again and repeat their pre-run checks."""
        for host in hosts:
            if self._plan is not None and host not in self._measured():
                self._count(1)
                work = partial(self._workstation.recheck, self._plan, dict(self._facts), host, self._asker)
                job = BackgroundJob(work, self)
                job.start(self._take, self.failed, finished=lambda: self._count(-1))

    def _take(self, reading: HostReading) -> None:
        self._checked_at[reading.host] = reading.at
        self._drawer.take_reading(reading)

    def _begin(self, plan: Plan, facts: Facts) -> None:
        watch = LoadWatch(self._workstation.load_probe(plan, facts, RefusingAsker()), self)
        self._watches[facts.host] = watch
        watch.read.connect(self._drawer.take_reading)
        watch.failed.connect(lambda: self._give_up(facts.host))
        watch.start()

    def _give_up(self, host: str) -> None:
        if host in self._watches:
            self._watches.pop(host).stop()
            self._unreachable.add(host)

    def _count(self, change: int) -> None:
        self._reading += change
        if self._plan is not None:
            self.follow(self._plan, self._facts)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Watch while the drawer is shown; try hosts that were not reached again when it is shown again."""
        if event.type() in {QEvent.Type.Show, QEvent.Type.Hide} and self._plan is not None:
            self._unreachable.clear()
            self.follow(self._plan, self._facts)
        return super().eventFilter(watched, event)
