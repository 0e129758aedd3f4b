"""Where the threads of a run leave what they read, for the one that hands it on in order."""

import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from app.events import Event, FindingRaised, OutputRead, TelemetryRead
from app.runs.findings import clock_stepped
from remote.jobs.job import Job
from remote.telemetry.telemetry import Telemetry
from suites.errors import BenchwrightError

T = TypeVar("T")

TICK = 0.1

MOST_HELD = 16 * 2**20
"""Bytes of output that wait to be handed on; a host that prints more waits, as it would for a slow connection."""


@dataclass(frozen=True, slots=True)
class JobEnded:
    """A job has ended, or can no longer be followed because of `error`."""

    job: Job
    error: BenchwrightError | None = None


@dataclass(frozen=True, slots=True)
class TelemetryEnded:
    """A host is no longer watched because of `error`."""

    host: str
    error: BenchwrightError


@dataclass(slots=True, eq=False)
class Work:
    """Something that a thread does while letters are handed on: this one says that it is done, with what it brought."""

    value: Any = None
    error: BaseException | None = None


Letter = Event | JobEnded | TelemetryEnded | Work


def passed_on(letter: Letter) -> Iterator[Event]:
    """Yield the letter where it is an event."""
    if not isinstance(letter, JobEnded | TelemetryEnded | Work):
        yield letter


class Mailbox:
    """A queue of letters, of which only output is ever kept waiting, and the threads that fill it."""

    def __init__(self) -> None:
        self._letters: queue.SimpleQueue[Letter] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._room = threading.Condition()
        self._held = 0  # bytes of output that nobody has taken yet
        self._closed = False

    def put(self, letter: Letter) -> None:
        """Leave a letter, from any thread."""
        self._letters.put(letter)

    def take(self, timeout: float) -> Iterator[Letter]:
        """Yield what has arrived, waiting up to `timeout` seconds for the first.

        What arrives meanwhile waits for the next time: a flood of output keeps nobody from stopping what prints it.
        """
        try:
            first = self._letters.get(timeout=timeout)
            others = self._letters.qsize()
            yield self._opened(first)
            for _ in range(others):
                yield self._opened(self._letters.get_nowait())
        except queue.Empty:
            return

    def _opened(self, letter: Letter) -> Letter:
        """Return a letter that is handed on now, and make room for more output where it held some."""
        if isinstance(letter, OutputRead):
            with self._room:
                self._held -= len(letter.data)
                self._room.notify_all()
        return letter

    def _put_output(self, output: OutputRead) -> None:
        """Leave output, once there is room: a tool may print faster than anybody can keep it."""
        with self._room:
            self._room.wait_for(lambda: self._held < MOST_HELD or self._closed)
            self._held += len(output.data)
        self._letters.put(output)

    def arrived(self) -> Iterator[Event]:
        """Yield the events that have arrived, between two trials: nobody waits for the end of a job then."""
        for letter in self.take(0.001):
            yield from passed_on(letter)

    def during(
        self, work: Callable[[], T], handle: Callable[[Letter], Iterator[Event]] = passed_on
    ) -> Generator[Event, None, T]:
        """Do `work` in a thread of its own and return what it returns; meanwhile, yield what `handle` makes of letters.

        So a host that is slow, or lost, keeps nobody from hearing of it. The end of a job stays in the mailbox.
        """
        doing = Work()
        self._start(lambda: self._do(doing, work), "work")
        stays: list[Letter] = []
        done = False
        while not done:
            for letter in self.take(TICK):
                done = done or letter is doing
                if isinstance(letter, JobEnded):
                    stays.append(letter)
                else:
                    yield from handle(letter)
        for letter in stays:
            self.put(letter)
        if doing.error is not None:
            raise doing.error
        value: T = doing.value
        return value

    def _do(self, doing: Work, work: Callable[[], Any]) -> None:
        try:
            doing.value = work()
        except BaseException as error:  # noqa: BLE001 (whatever it is, it is raised where it was asked for)
            doing.error = error
        finally:
            self._letters.put(doing)

    def follow(self, job: Job, trial: int, prefix: str = "") -> None:
        """Hand on the output of `job` as it arrives; the streams of a server end get a `prefix`."""

        def read() -> None:
            error: BenchwrightError | None = None
            try:
                for chunk in job.follow():
                    if chunk is not None:
                        self._put_output(OutputRead(trial, prefix + chunk.stream, chunk.data))
            except BenchwrightError as caught:
                error = caught
            finally:
                self._letters.put(JobEnded(job, error))

        self._start(read, f"follow {job.pid}")

    def watch(self, host: str, telemetry: Telemetry, stopped: Callable[[], bool]) -> None:
        """Hand on the telemetry of `host` until it is stopped."""

        def read() -> None:
            try:
                while not stopped():
                    samples = telemetry.read(timeout=0.5)
                    if samples:
                        self._letters.put(TelemetryRead(host, samples))
                    for step in telemetry.steps():
                        self._letters.put(FindingRaised(clock_stepped(host, step)))
            except BenchwrightError as caught:
                self._letters.put(TelemetryEnded(host, caught))

        self._start(read, f"telemetry {host}")

    def _start(self, work: Callable[[], None], name: str) -> None:
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        thread = threading.Thread(target=work, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def join(self, timeout: float) -> None:
        """Wait for the threads to end, at most `timeout` seconds in all. Nobody takes anything any more."""
        with self._room:
            self._closed = True
            self._room.notify_all()
        deadline = time.monotonic() + timeout
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
