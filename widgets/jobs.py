"""Background threads for the window, batches of the events of a run, and pausing the garbage collector."""

import gc
import logging
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any

from PySide6.QtCore import QObject, Qt, Signal, SignalInstance
from shiboken6 import isValid

from app.events import Event, OutputRead
from suites.errors import BenchwrightError

_lock = threading.Lock()
_pausing = 0


@contextmanager
def collection_paused() -> Iterator[None]:
    """Disable the garbage collector for all threads in this context.

    Creating a hundred thousand samples triggers collections of 0.1 s each, during which no thread runs. Samples form
    no cycles: reference counting frees them.
    """
    global _pausing  # noqa: PLW0603 (the collector is process-wide, and so is this count)
    with _lock:
        _pausing += 1
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            _pausing -= 1
            if not _pausing:
                gc.enable()


log = logging.getLogger(__name__)

Slot = Callable[..., object] | SignalInstance
"""A function, or a signal to emit again."""

SWITCH = 0.0005
"""Interpreter switch interval in seconds."""


class BackgroundJob(QObject):
    """Work on a background thread. Signals arrive on the window's thread, in order, `finished` last."""

    yielded = Signal(object)
    returned = Signal(object)
    failed = Signal(object)  # a BenchwrightError
    finished = Signal()

    def __init__(
        self,
        work: Callable[[], Any],
        parent: QObject | None = None,
        *,
        put: Callable[[Any], bool] = lambda _value: True,
    ) -> None:
        """Prepare `work`: a function that returns a value, or an iterator of values.

        `put` is called with each value on the thread; a value is `yielded` only if it returns true. Once the `parent`
        is deleted, nothing is delivered and the work is cancelled.
        """
        super().__init__(parent)
        self._work, self._put = work, put
        self._cancelled = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"job-{id(self):x}", daemon=True)
        self._carrier = _get_carrier()
        known = weakref.ref(self)  # a method of the job would no longer be called
        self.destroyed.connect(lambda: _forget(known()))

    def start(
        self,
        returned: Slot | None = None,
        failed: Slot | None = None,
        *,
        finished: Slot | None = None,
        yielded: Slot | None = None,
    ) -> "BackgroundJob":
        """Connect the signals to the slots given, start the work and return this job."""
        slots = {self.returned: returned, self.failed: failed, self.finished: finished, self.yielded: yielded}
        for signal, slot in slots.items():
            if slot is not None:
                signal.connect(slot)
        _running.add(self)
        self._thread.start()
        return self

    def cancel(self) -> None:
        """Request the work to end at its next yield, or where it calls stop_if_cancelled()."""
        self._cancelled.set()

    @property
    def cancelled(self) -> bool:
        """Whether cancel() was called."""
        return self._cancelled.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait for the thread to end, at most `seconds`; blocks, for shutdown only."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        _current.job = self
        try:
            outcome = self._work()
            if not isinstance(outcome, Generator | Iterator):
                self._send("returned", outcome)
                return
            with closing(outcome) if isinstance(outcome, Generator) else nullcontext():
                for value in outcome:
                    if self._put(value):
                        self._send("yielded", value)
                    if self._cancelled.is_set():
                        break
        except _CancelledError:
            pass
        except BenchwrightError as error:
            self._send("failed", error)
        except Exception as error:
            # Any other exception is a bug: log the traceback, show the user one sentence.
            log.exception("unexpected error in a job")
            message = f"Internal error: {type(error).__name__}."
            self._send("failed", BenchwrightError(message, "Report it with the traceback from the log."))
        finally:
            self._send("finished", None)

    def _send(self, what: str, value: object) -> None:
        if isValid(self._carrier):  # otherwise the application has ended
            self._carrier.arrived.emit(self, what, value)

    def deliver(self, what: str, value: object) -> None:
        """Emit a signal of the thread on the window's thread."""
        if what == "finished":
            # Join first: the thread must drop its reference, or this QObject could be destroyed on that thread.
            self._thread.join()
            _running.discard(self)
            self.finished.emit()
        else:
            {"yielded": self.yielded, "returned": self.returned, "failed": self.failed}[what].emit(value)


class _Carrier(QObject):
    """Delivers the signals of all jobs to the window's thread, in order. A singleton."""

    arrived = Signal(object, str, object)

    def __init__(self) -> None:
        super().__init__()
        self.arrived.connect(self._deliver, Qt.ConnectionType.QueuedConnection)

    def _deliver(self, job: BackgroundJob, what: str, value: object) -> None:
        if isValid(job):
            job.deliver(what, value)
        else:  # its C++ object was deleted with its parent
            _forget(job)


@cache
def _get_carrier() -> _Carrier:
    """Return the carrier, created by the first job, on the window's thread."""
    # Qt calls a table model some fifty times in a row, and each call may wait one switch interval for a busy thread:
    # with Python's default of 5 ms the window blocked for a quarter of a second.
    sys.setswitchinterval(SWITCH)
    return _Carrier()


_current = threading.local()
"""The job of this thread, so that the code it runs can check for cancellation."""


def current() -> BackgroundJob | None:
    """Return the job of the calling thread, or None."""
    return getattr(_current, "job", None)


class _CancelledError(Exception):
    """The job of this thread was cancelled."""


def stop_if_cancelled() -> None:
    """End the work of the calling thread here if its job was cancelled: without a result or an error."""
    job = current()
    if job is not None and job.cancelled:
        raise _CancelledError


_running: set[BackgroundJob] = set()
"""Jobs under way: referenced here until their `finished` has been delivered."""


def _forget(job: BackgroundJob | None) -> None:
    if job is not None:
        job.cancel()
        _running.discard(job)


def running() -> frozenset[BackgroundJob]:
    """Return the jobs whose `finished` has not been delivered yet."""
    return frozenset(_running)


# Events of a run

PERIOD = 0.03
"""Seconds between deliveries while events keep coming."""

OUTPUT_LIMIT = 64 * 1024
"""Bytes of raw output shown per delivery (2 MB/s)."""


@dataclass(frozen=True, slots=True)
class EventBatch:
    """Events and output since the last batch. `unshown` bytes of raw output exceeded the limit."""

    events: tuple[Event, ...]
    output: tuple[OutputRead, ...]
    unshown: int


class PendingEvents:
    """Thread-safe buffer of events. The run's thread calls `put`, the window's calls `take`.

    Thousands of events a second become a few dozen batches. Only the first event since the last empty batch wakes the
    window: a lone event arrives at once, and a flood cannot fill Qt's event queue. Raw output for display is bounded
    here; the store has every byte.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._events: list[Event] = []
        self._output: deque[OutputRead] = deque()
        self._waiting = 0
        self._unshown = 0
        self._armed = True

    def put(self, event: Event) -> bool:
        """Add an event; return whether to wake the window."""
        with self._lock:
            if isinstance(event, OutputRead):
                self._add_output(event)
            else:
                self._events.append(event)
            wake, self._armed = self._armed, False
            return wake

    def take(self) -> EventBatch:
        """Return and clear what has arrived. After an empty batch, the next event wakes the window again."""
        with self._lock:
            batch = EventBatch(tuple(self._events), tuple(self._output), self._unshown)
            # Until a batch is empty the window takes the next one by its timer and needs no wake-up.
            self._armed = not self._events and not self._output
            self._events.clear()
            self._output.clear()
            self._waiting = self._unshown = 0
            return batch

    def _add_output(self, output: OutputRead) -> None:
        """Keep the newest OUTPUT_LIMIT bytes."""
        cut = output.data[-OUTPUT_LIMIT:]
        self._unshown += len(output.data) - len(cut)
        self._output.append(OutputRead(output.trial, output.stream, cut))
        self._waiting += len(cut)
        while self._waiting > OUTPUT_LIMIT and len(self._output) > 1:
            dropped = len(self._output.popleft().data)
            self._waiting -= dropped
            self._unshown += dropped
