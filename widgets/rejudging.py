"""Judges the library again in the background after an upgrade, while nothing is measured."""

import logging
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from app.services import Workstation
from suites.errors import BenchwrightError
from widgets.jobs import BackgroundJob, collection_paused

if TYPE_CHECKING:
    from app.rejudging.rejudge import JudgedRun  # with all suites, which the first window does not need

log = logging.getLogger(__name__)

DELAY = 2.0
"""Seconds after start() at which it begins, so that it does not compete with the first window."""

AGAIN = 60.0
"""Seconds after which it goes on when a run was measured, or the library was locked."""

LOOK = 1.0
"""Seconds between looks whether a run is recorded, by any process."""


class Rejudging(QObject):
    """Judges the runs whose verdict is of an earlier version of the checks.

    It takes at most half of a CPU, and rests while a run is recorded. Stopped, it goes on from there the next time.
    """

    progressed = Signal(int, int)  # runs judged, of how many
    changed = Signal()  # verdicts have changed
    blocked = Signal(object)  # a BenchwrightError: the library is full; once until it is resumed
    resumed = Signal()  # there is room again

    def __init__(self, workstation: Workstation, parent: QObject) -> None:
        super().__init__(parent)
        self._workstation = workstation
        self._job: BackgroundJob | None = None
        self._differs = self._rests = self._blocked = False
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self._begin)

    @property
    def running(self) -> bool:
        """Whether runs are judged now."""
        return self._job is not None

    def start(self, seconds: float | None = None) -> None:
        """Begin after some seconds, by default DELAY, unless it is under way."""
        if self._job is None:
            self._timer.start(round(1000 * (DELAY if seconds is None else seconds)))

    def restart(self) -> None:
        """Begin anew with another library."""
        if self._job is not None:
            self._job.cancel()
            self._job = None
        self._blocked = False
        self.start()

    def _begin(self) -> None:
        if self._job is not None:
            return
        self._differs = self._rests = False
        job = self._job = BackgroundJob(self._work, self)
        job.yielded.connect(lambda one: self._take(one) if job is self._job else None)
        job.failed.connect(self._fail)
        job.finished.connect(lambda: self._finish() if job is self._job else None)
        job.start()

    def _work(self) -> "Iterator[JudgedRun | None]":
        """Yield each run as it is judged; None, and no more, when a run is recorded."""
        from app.store.errors import StoreFullError

        refused = self._workstation.read_only()
        if isinstance(refused, StoreFullError) and self._workstation.outdated_runs():
            raise refused
        if refused is not None:
            return
        judged = self._workstation.rejudge()
        next_look = 0.0
        while True:
            if time.monotonic() >= next_look:
                if self._workstation.recorded_runs():
                    yield None
                    return
                next_look = time.monotonic() + LOOK
            began = time.monotonic()
            with collection_paused():
                one = next(judged, None)
            if one is None:
                return
            yield one
            time.sleep(min(LOOK, time.monotonic() - began))

    def _take(self, one: "JudgedRun | None") -> None:
        if one is None:
            self._rests = True
            return
        self._differs |= one.differs
        self.progressed.emit(one.done, one.total)

    def _fail(self, error: BenchwrightError) -> None:
        from app.store.errors import StoreFullError

        self._rests = True
        full = isinstance(error, StoreFullError)
        if full and self._blocked:
            return
        log.info("runs are not judged again now: %s", error)
        if full:
            self._blocked = True
            self.blocked.emit(error)

    def _finish(self) -> None:
        self._job = None
        if self._blocked and not self._rests:
            self._blocked = False
            self.resumed.emit()
        if self._rests:
            self.start(AGAIN)
        if self._differs:
            self.changed.emit()
