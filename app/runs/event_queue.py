"""Event queue of a run, its producer threads, and cooperative tasks run by the consumer thread."""

import contextlib
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from app.events import Activity, Event, FindingRaised, LinkChanged, OutputRead, TelemetryRead
from app.runs.control import ENDING_TIME, Control, EndingTimeError
from app.runs.findings import clock_stepped, telemetry_refused, telemetry_replaced
from remote.jobs.job import RemoteJob
from remote.telemetry.telemetry import Telemetry
from suites.errors import BenchwrightError
from suites.vocab import Finding

T = TypeVar("T")

TICK = 0.1
"""Seconds between polls."""

MAX_QUEUED = 16 * 2**20
"""Bytes of output queued before producers block; a host that prints faster is slowed, as by a slow connection."""

IDLE: Event = Activity("")
"""Yielded by a waiting generator so that the other tasks can run. Never leaves the Engine."""


@dataclass(frozen=True, slots=True)
class JobEnded:
    """A job of the trial `trial` ended, or can no longer be followed because of `error`."""

    job: RemoteJob
    error: BenchwrightError | None = None
    trial: int = 0


@dataclass(slots=True, eq=False)
class Call:
    """Work done by one thread for another, `within` a context; its result is available once `done` is set."""

    work: Callable[[], Any]
    within: contextlib.AbstractContextManager[object] = field(default_factory=contextlib.nullcontext)
    value: Any = None
    error: BaseException | None = None
    done: threading.Event = field(default_factory=threading.Event)

    def run(self, notify: Callable[["Call"], None] = lambda _call: None) -> None:
        """Do the work, then call `notify`; result() re-raises its exception."""
        try:
            with self.within:
                self.value = self.work()
        except BaseException as error:  # noqa: BLE001 (re-raised in the calling thread)
            self.error = error
        finally:
            self.done.set()
            notify(self)

    def result(self) -> Any:
        """Return the result of the work, or re-raise its exception."""
        if self.error is not None:
            raise self.error
        return self.value


Item = Event | JobEnded | Call


def events_in(item: Item) -> Iterator[Event]:
    """Yield the item if it is an event."""
    if not isinstance(item, JobEnded | Call):
        yield item


class TrialQueue:
    """Items of one trial: its output, the ends of its jobs, and link changes and findings about its host."""

    def __init__(self, events: "EventQueue", trial: int, host: str) -> None:
        self.trial, self.host = trial, host
        self._events = events
        self._items: deque[Item] = deque()
        self.put = self._items.append

    def take(self) -> Iterator[Item]:
        """Yield the items that have arrived; later ones wait for the next call, so a flood delays no other task."""
        for _ in range(len(self._items)):
            yield self._events.release_output(self._items.popleft())

    def close(self) -> None:
        """Stop receiving items; return those not taken to the event queue."""
        self._events.forget(self)
        for item in self._items:
            if not isinstance(item, LinkChanged):  # already yielded by arrived()
                self._events.put(item)
        self._items.clear()


class EventQueue:
    """Ordered queue of events from the threads of a run; only output is subject to back-pressure."""

    def __init__(self, control: Control | None = None) -> None:
        self._control = control or Control()
        self._items: queue.SimpleQueue[Item] = queue.SimpleQueue()
        self._trials: dict[int, TrialQueue] = {}
        self._threads: list[threading.Thread] = []
        self._not_full = threading.Condition()
        self._waiting = 0  # bytes of output not taken yet
        self.closed = False
        self.reader = 0  # id of the consumer thread

    def put(self, item: Item) -> None:
        """Add an item, from any thread."""
        self._items.put(item)

    def of_trial(self, trial: int, host: str) -> TrialQueue:
        """Return the queue that receives the items of a trial until it is closed."""
        self._trials[trial] = TrialQueue(self, trial, host)
        return self._trials[trial]

    def forget(self, trial: TrialQueue) -> None:
        """Put no more items into `trial`."""
        if self._trials.get(trial.trial) is trial:
            del self._trials[trial.trial]

    def arrived(self, timeout: float) -> Iterator[Event]:
        """Wait up to `timeout` seconds for items; route those of a trial to its queue and yield the other events.

        Link changes are both routed and yielded immediately: the trial may be blocked on that host.
        """
        self.reader = threading.get_ident()
        items: list[Item] = []
        try:
            items.append(self._items.get(timeout=timeout))
            items += [self._items.get_nowait() for _ in range(self._items.qsize())]
        except queue.Empty:
            return
        for item in items:
            receivers = self._receivers(item)
            for trial in receivers:
                trial.put(item)
            if isinstance(item, Call) and not item.done.is_set():
                item.run()
                if item.error is not None and not isinstance(item.error, Exception):
                    raise item.error  # Ctrl+C at a question also ends the run
            elif not receivers or isinstance(item, LinkChanged):
                yield from events_in(self.release_output(item))

    def _receivers(self, item: Item) -> list[TrialQueue]:
        """Return the trials that an item is routed to: a finding about a host to the only one there, if it is one."""
        match item:
            case OutputRead() | JobEnded():
                return [self._trials[item.trial]] if item.trial in self._trials else []
            case LinkChanged(host=host):
                return [trial for trial in self._trials.values() if trial.host == host]
            case FindingRaised(finding=Finding(host=host), trial=None):
                found = [trial for trial in self._trials.values() if trial.host == host]
                return found if len(found) == 1 else []  # of a duet: the finding is about the host
        return []

    def release_output(self, item: Item) -> Item:
        """Return the item and release the room its output used."""
        if isinstance(item, OutputRead):
            with self._not_full:
                self._waiting -= len(item.data)
                self._not_full.notify_all()
        return item

    def during(
        self,
        work: Callable[[], T],
        *,
        within: contextlib.AbstractContextManager[object] | None = None,
        lasting: bool = True,
        until_over: bool = False,
    ) -> Generator[Event, None, T]:
        """Run `work` in a thread and return its result; yield IDLE meanwhile, so that a slow host delays no other.

        `within` is a context for the work, entered in its thread. join() does not wait for work that is not `lasting`.
        Raises EndingTimeError if the work does not end within ENDING_TIME of Stop. Work marked `until_over` is
        abandoned at Stop with StoppedError, or with DetachedError.
        """
        call = Call(work, within or contextlib.nullcontext())
        self._refuse_when_over(until_over=until_over)
        thread = threading.Thread(target=call.run, args=(self._items.put,), name="work", daemon=True)
        self._threads = [*filter(threading.Thread.is_alive, self._threads), *([thread] if lasting else [])]
        thread.start()
        while not call.done.is_set():
            try:
                self._refuse_when_over(until_over=until_over)
            except BaseException:
                self._threads = [other for other in self._threads if other is not thread]
                raise
            yield IDLE
        value: T = call.result()
        return value

    def _refuse_when_over(self, *, until_over: bool) -> None:
        if until_over:
            self._control.raise_if_over()
        if not self._control.remaining(ENDING_TIME):
            raise EndingTimeError

    def pause(self, seconds: float) -> Iterator[Event]:
        """Wait `seconds` or until the run is over; other tasks continue."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self._control.over:
            yield IDLE

    def call(self, work: Callable[[], T]) -> T:
        """Run `work` in the consumer thread and return its result.

        Raises TimeoutError if the queue is closed.
        """
        if threading.get_ident() == self.reader:
            return work()
        call = Call(work)
        self._items.put(call)
        while not call.done.wait(TICK):
            if self.closed:
                raise TimeoutError
        value: T = call.result()
        return value

    def follow(self, job: RemoteJob, trial: int, prefix: str = "") -> None:
        """Queue the output of `job` as it arrives; `prefix` marks the streams of a server.

        Output waits until there is room: a tool may print faster than the library stores.
        """

        def read() -> None:
            error: BenchwrightError | None = None
            try:
                for chunk in job.follow():
                    if chunk is not None:
                        with self._not_full:
                            self._not_full.wait_for(lambda: self._waiting < MAX_QUEUED or self.closed)
                            self._waiting += len(chunk.data)
                        self._items.put(OutputRead(trial, prefix + chunk.stream, chunk.data))
            except BenchwrightError as caught:
                error = caught
            finally:
                self._items.put(JobEnded(job, error, trial))

        self._start(read, f"follow {job.pid}")

    def watch(self, host: str, telemetry: Telemetry, stopped: Callable[[], bool]) -> None:
        """Queue the telemetry of `host` until it is stopped or its connection is closed."""

        def read() -> None:
            with contextlib.suppress(BenchwrightError):
                while not stopped():
                    samples = telemetry.read(timeout=0.5)
                    if samples:
                        self._items.put(TelemetryRead(host, samples))
                    if telemetry.replaced():
                        self._items.put(FindingRaised(telemetry_replaced(host)))
                    if telemetry.refused():
                        self._items.put(FindingRaised(telemetry_refused(host)))
                    for step in telemetry.steps():
                        self._items.put(FindingRaised(clock_stepped(host, step)))

        self._start(read, f"telemetry {host}")

    def _start(self, work: Callable[[], None], name: str) -> None:
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        thread = threading.Thread(target=work, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def close(self) -> None:
        """Release the threads that wait for room; nothing is taken any more."""
        with self._not_full:
            self.closed = True
            self._not_full.notify_all()

    def join(self, timeout: float) -> None:
        """Close the queue and wait for the threads, at most `timeout` seconds in total."""
        self.close()
        deadline = time.monotonic() + timeout
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))


# Tasks: generators of events run concurrently in one thread; they yield IDLE while they wait


class DefectError(BenchwrightError):
    """A task failed because of a bug in Benchwright, logged with its traceback; the other tasks continue."""

    def __init__(self, error: Exception) -> None:
        super().__init__(f"Internal error ({type(error).__name__}).", "See the log.")


@dataclass(slots=True, eq=False)
class Task:
    """Work on `hosts`, as a generator of events. An exception ends it."""

    work: Iterator[Event]
    hosts: frozenset[str] = frozenset()


def stepped(tasks: list[Task]) -> Iterator[Event]:
    """Advance each of `tasks` until it waits; yield its events and remove it once it has ended."""
    for task in tuple(tasks):
        waits = False
        try:
            for event in task.work:
                if event is IDLE:
                    waits = True
                    break
                yield event
        finally:
            if not waits and task in tasks:
                tasks.remove(task)


def together(works: Iterable[Iterator[Event]]) -> Iterator[Event]:
    """Run all `works` concurrently to their ends; yield their events."""
    tasks = [Task(work) for work in works]
    while tasks:
        yield from stepped(tasks)
        if tasks:
            yield IDLE
