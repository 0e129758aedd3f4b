"""The fleet studies that this window runs, side by side, each in a background job."""

import threading
from collections.abc import Callable, Sequence
from enum import Enum
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from app.fleet.progress import remaining_seconds
from app.fleet_study import FleetStudy, HostRun
from app.hosts.hosts import HostsError
from app.questions import Asker, HostKeyQuestion
from app.services import Workstation
from app.timestamps import now
from suites.errors import BenchwrightError
from suites.quantities import count_text, duration_text
from widgets.fleet.board_text import BoardHead, counts_text, study_title
from widgets.jobs import BackgroundJob
from widgets.run_strip import LineState, StripLine

if TYPE_CHECKING:
    from app.fleet.runner import FleetRunner  # with SQLAlchemy, which the first window does not need
    from app.fleet.watching import WatchedRun

LOOK_EVERY = 3000
"""Milliseconds between looks at the progress of the studies under way."""

DEEPEST_JUMP = 4
"""Questions about keys: that of a host is seen once those of its jump hosts are trusted."""

KeysTrusted = Callable[[Sequence[HostKeyQuestion]], bool]

KEY = "fleet-"
"""Prefix of the keys of studies in the strip."""


def study_of(key: str) -> str:
    """Return the study with a key of the strip; empty if it is that of a run."""
    return key.removeprefix(KEY) if key.startswith(KEY) else ""


class _Request(Enum):
    """What the user asked of a study under way."""

    NONE = "none"
    STOP = "stop"
    DETACH = "detach"


class _StudyRun:
    """A study that a job runs. Its runner is made on the job's thread; a request before that is applied then."""

    def __init__(self, workstation: Workstation, study: FleetStudy, asker: Asker, trust: KeysTrusted) -> None:
        self.head = BoardHead(study, own=True)
        self._workstation, self._asker, self._trust = workstation, asker, trust
        self._lock = threading.Lock()
        self._runner: FleetRunner | None = None
        self.request = _Request.NONE

    def run(self) -> FleetStudy:
        """Run the study on the calling thread."""
        asker = self._trusting_asker()
        runner = self._workstation.fleet_runner(self.head.study.id, asker)
        with self._lock:
            self._runner = runner
        self._apply()
        return runner.run()

    def _trusting_asker(self) -> Asker:
        """Return an asker that trusts the unknown keys of several hosts, after one question about all of them.

        Raises HostsError if the user does not trust them. A single key is asked for when its host is connected to.
        """
        from app.hosts.host_keys import TrustingAsker

        plan, trusted = self.head.study.plan, list[HostKeyQuestion]()
        peers = (step.peer for step in plan.network_steps if step.peer is not None)
        hosts = list(dict.fromkeys([*plan.by_name, *peers]))
        for _ in range(DEEPEST_JUMP):
            new = self._workstation.unknown_host_keys(hosts, trusted) if len(hosts) > 1 else []
            if len(new) < 2:
                break
            if not self._trust(new):
                raise HostsError(
                    f"{count_text(len(new), 'host key')} not trusted: nothing was started.",
                    "Compare them with those of the provider, then press Resume.",
                )
            trusted += new
        return TrustingAsker(self._asker, trusted)

    @property
    def runner(self) -> "FleetRunner | None":
        """What runs it, once that was made."""
        with self._lock:
            return self._runner

    def take(self, study: FleetStudy) -> None:
        """Take the study as it was at its end."""
        self.head = BoardHead(study, own=True)

    def ask(self, request: _Request) -> None:
        """Stop or detach the study. From any thread."""
        with self._lock:
            self.request = request
        self._apply()

    def _apply(self) -> None:
        with self._lock:
            runner, request = self._runner, self.request
        if runner is not None and request is not _Request.NONE:
            runner.stop() if request is _Request.STOP else runner.detach()


class FleetRuns(QObject):
    """Runs studies until they are over, or stopped, or detached."""

    changed = Signal()  # a study has begun, progressed or ended
    ended = Signal(str, str)  # the title of a study, and its counts then
    failed = Signal(object)  # a BenchwrightError

    def __init__(
        self, workstation: Workstation, asker: Asker, parent: QObject, trust: KeysTrusted = lambda _keys: False
    ) -> None:
        """`trust` asks whether to trust the unknown keys of several hosts."""
        super().__init__(parent)
        self._workstation, self._asker, self._trust = workstation, asker, trust
        self._runs: dict[str, _StudyRun] = {}
        self._begun: set[str] = set()
        self._looking: BackgroundJob | None = None
        self._clock = QTimer(self, interval=LOOK_EVERY)
        self._clock.timeout.connect(self._look)

    @property
    def running(self) -> bool:
        """Whether a study is under way."""
        return bool(self._runs)

    def runs(self, study: str) -> bool:
        """Return whether this window runs a study."""
        return study in self._runs

    def has_run(self, study: str) -> bool:
        """Return whether this window runs a study, or has run it."""
        return study in self._begun

    def watched(self, study: FleetStudy, one: HostRun) -> "WatchedRun | None":
        """Return the run of a host-run that this window carries; None of another."""
        run = self._runs.get(study.id)
        return None if run is None or run.runner is None else run.runner.watched(study, one)

    def stopping(self, study: str) -> bool:
        """Return whether a study was asked to stop or detach and has not ended."""
        return study in self._runs and self._runs[study].request is not _Request.NONE

    def start(self, study: FleetStudy) -> None:
        """Run a study, unless it is under way here or workers run it."""
        if study.by_workers or study.id in self._runs:
            return
        self._begun.add(study.id)
        made = self._runs[study.id] = _StudyRun(self._workstation, study, self._asker, self._trust)
        job = BackgroundJob(made.run, self)
        job.start(made.take, self.failed, finished=lambda: self._end(study.id))
        self._clock.start()
        self.changed.emit()

    def stop(self, study: str) -> None:
        """Stop the host-runs under way of a study; it can be resumed."""
        self._request(study, _Request.STOP)

    def detach(self, study: str) -> None:
        """Detach the host-runs under way of a study; it can be resumed."""
        self._request(study, _Request.DETACH)

    def stop_host_runs(self, study: str, numbers: Sequence[int]) -> None:
        """Stop host-runs of a study that this window carries; the others continue."""
        run = self._runs.get(study)
        if run is not None and run.runner is not None:
            for number in numbers:
                run.runner.stop_host_run(number)
            self.changed.emit()

    def stopping_host_runs(self, study: str) -> frozenset[int]:
        """Return the numbers of the host-runs of a study that were asked to stop here and have not ended."""
        run = self._runs.get(study)
        return frozenset() if run is None or run.runner is None else run.runner.stopping()

    def stop_all(self) -> None:
        """Stop every study."""
        for study in list(self._runs):
            self.stop(study)

    def detach_all(self) -> None:
        """Detach every study."""
        for study in list(self._runs):
            self.detach(study)

    def titles(self) -> list[str]:
        """Return the studies under way with their progress."""
        return [f"{study_title(one.head.study)}: {counts_text(one.head.study)}" for one in self._runs.values()]

    def lines(self) -> list[StripLine]:
        """Return the studies under way for the strip."""
        return [_line(one) for one in self._runs.values()]

    def covers(self, line: StripLine) -> bool:
        """Return whether a line that the queue has is of host-runs of a study under way here, which has its own."""
        studies = [one.head.study for one in self._runs.values()]
        return line.state is LineState.ELSEWHERE and any(
            line.plan == study.name and all(host in study.plan.by_name for host in line.hosts) for study in studies
        )

    def take(self, head: BoardHead) -> None:
        """Take the progress of a study that was read elsewhere."""
        if (one := self._runs.get(head.study.id)) is not None and one.head != head:
            one.head = head
            self.changed.emit()

    def _request(self, study: str, request: _Request) -> None:
        if (one := self._runs.get(study)) is not None:
            one.ask(request)
            self.changed.emit()

    def _end(self, study: str) -> None:
        one = self._runs.pop(study)
        if not self._runs:
            self._clock.stop()
        self.changed.emit()
        self.ended.emit(study_title(one.head.study), counts_text(one.head.study))

    def _look(self) -> None:
        if self._looking is None:
            studies, workstation = list(self._runs), self._workstation
            job = self._looking = BackgroundJob(lambda: [_head_of(workstation, study) for study in studies], self)
            job.start(self._take_all, self._ignore, finished=self._looked)

    def _looked(self) -> None:
        self._looking = None

    def _take_all(self, heads: Sequence[BoardHead]) -> None:
        for head in heads:
            self.take(head)

    def _ignore(self, _error: BenchwrightError) -> None:
        """The library is busy or gone: the runner logs it and tries again."""


def _head_of(workstation: Workstation, study: str) -> BoardHead:
    found = workstation.fleet_study(study)
    return BoardHead(found, remaining_seconds(found, workstation.host_runs(found.id), now()), own=True)


def _line(one: _StudyRun) -> StripLine:
    study, remaining = one.head.study, one.head.remaining
    left = "" if remaining is None else f"about {duration_text(remaining)} left"
    doing = "stopping" if one.request is not _Request.NONE else f"{one.head.done} of {study.total}"
    detail = " · ".join(filter(None, (doing, "paused" if study.paused is not None else left)))
    hosts = () if one.runner is None else one.runner.hosts_under_way()
    return StripLine(
        f"{KEY}{study.id}", study_title(study), detail, LineState.RUNNING, doing=doing, left=left, share=one.head.share,
        hosts=hosts, plan=study.name, fleet=True,
    )  # fmt: skip
