"""Where the threads of a run leave what they read, for the one that hands it on in order."""

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from app.events import Activity, Event, FindingRaised, LinkChanged, OutputRead, TelemetryRead
from app.runs.control import ENDING_TIME, Control, EndingTimeError, LeftError, StoppedError
from app.runs.findings import clock_stepped
from remote.jobs.job import Job
from remote.telemetry.telemetry import Telemetry
from suites.errors import BenchwrightError

T = TypeVar("T")

TICK = 0.1

MOST_HELD = 16 * 2**20
"""Bytes of output that wait to be handed on; a host that prints more waits, as it would for a slow connection."""

IDLE: Event = Activity("")
"""Yielded by a generator of events that waits, so that the others go on. It never leaves the Engine."""


@dataclass(frozen=True, slots=True)
class JobEnded:
    """A job of the trial `trial` has ended, or can no longer be followed because of `error`."""

    job: Job
    error: BenchwrightError | None = None
    trial: int = 0


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
    done: threading.Event = field(default_factory=threading.Event)


@dataclass(slots=True, eq=False)
class Call:
    """Something that a thread wants done by the one that hands letters on: it waits until `done`."""

    work: Callable[[], Any]
    value: Any = None
    error: BaseException | None = None
    done: threading.Event = field(default_factory=threading.Event)

    def answer(self) -> None:
        """Do it; whoever waits gets what it brings."""
        try:
            self.value = self.work()
        except BaseException as error:
            self.error = error
            if not isinstance(error, Exception):  # Ctrl+C at a question ends the run as well
                raise
        finally:
            self.done.set()


Letter = Event | JobEnded | TelemetryEnded | Work | Call


def passed_on(letter: Letter) -> Iterator[Event]:
    """Yield the letter where it is an event."""
    if not isinstance(letter, JobEnded | TelemetryEnded | Work | Call):
        yield letter


class Inbox:
    """The letters of one trial: its output, the ends of its jobs, and what is found out about its host meanwhile."""

    def __init__(self, mailbox: "Mailbox", trial: int, host: str) -> None:
        self.trial, self.host = trial, host
        self._mailbox = mailbox
        self._letters: deque[Letter] = deque()

    def put(self, letter: Letter) -> None:
        """Leave a letter."""
        self._letters.append(letter)

    def take(self) -> Iterator[Letter]:
        """Yield what has arrived. What arrives meanwhile waits for the next time: a flood holds up nobody."""
        for _ in range(len(self._letters)):
            yield self._mailbox.opened(self._letters.popleft())

    def close(self) -> None:
        """Take no more; what was not taken is for everybody."""
        self._mailbox.close_inbox(self)
        for letter in self._letters:
            if not isinstance(letter, LinkChanged):  # everybody has heard of it
                self._mailbox.put(letter)
        self._letters.clear()


class Mailbox:
    """A queue of letters, of which only output is ever kept waiting, and the threads that fill it."""

    def __init__(self, control: Control | None = None) -> None:
        self._control = control or Control()
        self._letters: queue.SimpleQueue[Letter] = queue.SimpleQueue()
        self._inboxes: dict[int, Inbox] = {}
        self._threads: list[threading.Thread] = []
        self._room = threading.Condition()
        self._held = 0  # bytes of output that nobody has taken yet
        self.closed = False
        self.reader = 0  # the thread that hands letters on

    def put(self, letter: Letter) -> None:
        """Leave a letter, from any thread."""
        self._letters.put(letter)

    def inbox(self, trial: int, host: str) -> Inbox:
        """Return what takes the letters of a trial from now on, until it is closed."""
        self._inboxes[trial] = Inbox(self, trial, host)
        return self._inboxes[trial]

    def close_inbox(self, inbox: Inbox) -> None:
        """Let no more letters into `inbox`."""
        if self._inboxes.get(inbox.trial) is inbox:
            del self._inboxes[inbox.trial]

    def arrived(self, timeout: float) -> Iterator[Event]:
        """Wait up to `timeout` seconds for letters; put those of a trial into its inbox, and yield the other events.

        Changes of a link are yielded at once all the same: the trial may wait for that very host.
        """
        self.reader = threading.get_ident()
        letters: list[Letter] = []
        try:
            letters.append(self._letters.get(timeout=timeout))
            letters += [self._letters.get_nowait() for _ in range(self._letters.qsize())]
        except queue.Empty:
            return
        for letter in letters:
            inbox = self._inbox_of(letter)
            if inbox is not None:
                inbox.put(letter)
            if isinstance(letter, Call):
                letter.answer()
            elif inbox is None or isinstance(letter, LinkChanged):
                yield from passed_on(self.opened(letter))

    def _inbox_of(self, letter: Letter) -> Inbox | None:
        match letter:
            case OutputRead(trial=trial) | JobEnded(trial=trial):
                return self._inboxes.get(trial)
            case LinkChanged(host=host):
                return self._on(host)
            case FindingRaised(finding=finding, trial=None):
                return self._on(finding.host)
        return None

    def _on(self, host: str | None) -> Inbox | None:
        return next((inbox for inbox in self._inboxes.values() if inbox.host == host), None)

    def opened(self, letter: Letter) -> Letter:
        """Return a letter that is handed on now, and make room for more output where it held some."""
        if isinstance(letter, OutputRead):
            with self._room:
                self._held -= len(letter.data)
                self._room.notify_all()
        return letter

    def _put_output(self, output: OutputRead) -> None:
        """Leave output, once there is room: a tool may print faster than anybody can keep it."""
        with self._room:
            self._room.wait_for(lambda: self._held < MOST_HELD or self.closed)
            self._held += len(output.data)
        self._letters.put(output)

    def during(
        self, work: Callable[[], T], *, lasting: bool = True, until_over: bool = False
    ) -> Generator[Event, None, T]:
        """Do `work` in a thread of its own and return what it returns; until then, yield IDLE.

        So a host that is slow, or lost, holds up nobody else. Nobody waits in the end for work that is not `lasting`.
        Raises EndingTimeError where it does not end within ENDING_TIME of Stop. What is to be done only `until_over`
        is dropped at Stop: StoppedError is raised, or LeftError.
        """
        doing = Work()
        self._refuse_when_over(until_over=until_over)
        thread = self._start(lambda: self._do(doing, work), "work", lasting=lasting)
        while not doing.done.is_set():
            try:
                self._refuse_when_over(until_over=until_over)
            except BaseException:
                self._threads = [other for other in self._threads if other is not thread]
                raise
            yield IDLE
        if doing.error is not None:
            raise doing.error
        value: T = doing.value
        return value

    def _refuse_when_over(self, *, until_over: bool) -> None:
        if until_over and self._control.over:
            raise LeftError if self._control.left else StoppedError
        if not self._control.remaining(ENDING_TIME):
            raise EndingTimeError

    def _do(self, doing: Work, work: Callable[[], Any]) -> None:
        try:
            doing.value = work()
        except BaseException as error:  # noqa: BLE001 (whatever it is, it is raised where it was asked for)
            doing.error = error
        finally:
            doing.done.set()
            self._letters.put(doing)

    def call(self, work: Callable[[], T]) -> T:
        """Have `work` done by the thread that hands letters on, and return what it returns.

        Raises TimeoutError where nobody hands letters on any more.
        """
        if threading.get_ident() == self.reader:
            return work()
        asked = Call(work)
        self._letters.put(asked)
        while not asked.done.wait(TICK):
            if self.closed:
                raise TimeoutError
        if asked.error is not None:
            raise asked.error
        value: T = asked.value
        return value

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
                self._letters.put(JobEnded(job, error, trial))

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

    def _start(self, work: Callable[[], None], name: str, *, lasting: bool = True) -> threading.Thread:
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        thread = threading.Thread(target=work, name=name, daemon=True)
        if lasting:
            self._threads.append(thread)
        thread.start()
        return thread

    def close(self) -> None:
        """Hold nobody up any more who leaves something: nobody takes it."""
        with self._room:
            self.closed = True
            self._room.notify_all()

    def join(self, timeout: float) -> None:
        """Wait for the threads to end, at most `timeout` seconds in all. Nobody takes anything any more."""
        self.close()
        deadline = time.monotonic() + timeout
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
