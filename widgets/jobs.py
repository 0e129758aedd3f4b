"""Work off the window's thread: a generator runs in a thread, what it yields arrives as signals.

The thread only ever emits, and on an object that nobody deletes: a job may go with its page at any moment, and a signal
of an object that another thread is deleting ends the program.
Cancelling is cooperative: the generator is closed at its next yield, so its ``finally`` runs.
"""

import logging
import sys
import threading
import weakref
from collections.abc import Callable, Generator, Iterator
from functools import cache
from typing import Any

from PySide6.QtCore import QObject, Qt, Signal
from shiboken6 import isValid

from suites.errors import BenchwrightError

log = logging.getLogger(__name__)

SWITCH = 0.0005
"""Seconds after which a thread that computes lets another one go on."""


class Job(QObject):
    """One piece of work. Signals arrive on the window's thread, in order, `finished` always last."""

    yielded = Signal(object)
    returned = Signal(object)
    failed = Signal(object)  # a BenchwrightError, worded for people
    finished = Signal()

    def __init__(self, work: Callable[[], Any], parent: QObject | None = None) -> None:
        """Prepare `work`: a function that returns a value, or one that returns an iterator of values.

        With a `parent`, nothing is delivered any more once that is gone; the work itself is asked to end.
        """
        super().__init__(parent)
        self._work = work
        self._cancelled = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"job-{id(self):x}", daemon=True)
        self._carrier = _the_carrier()
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
        if isValid(self._carrier):  # else the application has ended, and nobody is left to be told
            self._carrier.arrived.emit(self, what, value)

    def deliver(self, what: str, value: object) -> None:
        """Hand on what the thread said, on the window's thread."""
        if what == "finished":
            # Nothing is left to do there; once it has let go of this object, that cannot die on the wrong thread.
            self._thread.join()
            _running.discard(self)
            self.finished.emit()
        else:
            {"yielded": self.yielded, "returned": self.returned, "failed": self.failed}[what].emit(value)


class _Carrier(QObject):
    """Takes what the threads of all jobs say to the window's thread, in order. There is one, and it stays."""

    arrived = Signal(object, str, object)

    def __init__(self) -> None:
        super().__init__()
        self.arrived.connect(self._deliver, Qt.ConnectionType.QueuedConnection)

    def _deliver(self, job: Job, what: str, value: object) -> None:
        if isValid(job):
            job.deliver(what, value)
        else:  # Qt's half of it went with its parent: nobody is left to be told
            _forget(job)


@cache
def _the_carrier() -> _Carrier:
    """Return the carrier, made by the first job: on the window's thread."""
    # Qt asks a table fifty small things at once; each may wait for as long as the interpreter leaves a busy thread
    # alone, and with Python's own 5 ms the window then stood still for a quarter of a second.
    sys.setswitchinterval(SWITCH)
    return _Carrier()


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
