"""Work off the window's thread: a generator runs in a thread, what it yields arrives as signals.

The signals object lives on the window's thread and is owned by the caller's page; the thread only ever emits.
Cancelling is cooperative: the generator is closed at its next yield, so its ``finally`` runs.
"""

import logging
import threading
import weakref
from collections.abc import Callable, Generator, Iterator
from typing import Any

from PySide6.QtCore import QObject, Qt, Signal

from suites.errors import BenchwrightError

log = logging.getLogger(__name__)


class Job(QObject):
    """One piece of work. Signals arrive on the window's thread, in order, `finished` always last."""

    yielded = Signal(object)
    returned = Signal(object)
    failed = Signal(object)  # a BenchwrightError, worded for people
    finished = Signal()

    _arrived = Signal(str, object)

    def __init__(self, work: Callable[[], Any], parent: QObject | None = None) -> None:
        """Prepare `work`: a function that returns a value, or one that returns an iterator of values.

        With a `parent`, nothing is delivered any more once that is gone; the work itself is asked to end.
        """
        super().__init__(parent)
        self._work = work
        self._cancelled = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"job-{id(self):x}", daemon=True)
        self._arrived.connect(self._deliver, Qt.ConnectionType.QueuedConnection)
        _running.add(self)
        known = weakref.ref(self)  # a slot of its own is not called any more when Qt's half goes
        self.destroyed.connect(lambda: _forget(known()))

    def start(self) -> "Job":
        """Start the work and return this job."""
        self._thread.start()
        return self

    def cancel(self) -> None:
        """Ask the work to end at its next yield."""
        self._cancelled.set()

    @property
    def cancelled(self) -> bool:
        """Whether cancel() was called."""
        return self._cancelled.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait for the thread to end; for shutting down only, it blocks."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        _current.job = self
        try:
            outcome = self._work()
            if isinstance(outcome, Generator | Iterator):
                self._drain(outcome)
            else:
                self._tell("returned", outcome)
        except BenchwrightError as error:
            self._tell("failed", error)
        except Exception as error:
            # Anything else is a defect of ours: the log gets the traceback, the user a sentence.
            log.exception("unexpected error in a job")
            message = f"Something went wrong inside Benchwright: {type(error).__name__}."
            self._tell("failed", BenchwrightError(message, "The details are in the log; please report it."))
        finally:
            self._tell("finished", None)

    def _drain(self, values: Iterator[Any]) -> None:
        try:
            for value in values:
                self._tell("yielded", value)
                if self._cancelled.is_set():
                    break
        finally:
            if isinstance(values, Generator):
                values.close()

    def _tell(self, what: str, value: object) -> None:
        try:
            self._arrived.emit(what, value)
        except RuntimeError:
            # Qt's half of this object went with its parent: nobody is left to be told.
            _forget(self)

    def _deliver(self, what: str, value: object) -> None:
        if what == "finished":
            _running.discard(self)
            self.finished.emit()
        else:
            {"yielded": self.yielded, "returned": self.returned, "failed": self.failed}[what].emit(value)


_current = threading.local()
"""The job whose thread this is, so that what it calls can see whether it was cancelled."""


def current() -> Job | None:
    """Return the job on whose thread the caller runs, or None."""
    return getattr(_current, "job", None)


_running: set[Job] = set()
"""Jobs under way: kept alive here until their `finished` has been delivered."""


def _forget(job: Job | None) -> None:
    if job is not None:
        job.cancel()
        _running.discard(job)


def running() -> frozenset[Job]:
    """Return the jobs whose end has not been delivered yet."""
    return frozenset(_running)
