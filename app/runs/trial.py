"""One trial: its server end, its measuring commands, and what they print, as events."""

import contextlib
import shlex
import time
from collections import Counter
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from app.events import (
    Activity,
    Event,
    FindingRaised,
    LinkChanged,
    OutputRead,
    SampleRead,
    State,
    Trial,
    TrialAttached,
    TrialEnded,
    TrialStarted,
)
from app.moments import now
from app.plans.plan import host_words
from app.runs.control import LAST_OUTPUT_TIME, Control, EndingTimeError, LeftError, StoppedError
from app.runs.left import TrialLeft
from app.runs.mailbox import IDLE, Inbox, JobEnded, Letter, Mailbox, passed_on
from app.runs.place import Place
from app.runs.sample_gaps import gap_note, samples_of
from app.runs.schedule import Turn
from app.wording import duration_text
from remote.errors import ConnectionLostError, JobError, RemoteError
from remote.jobs.job import Job
from remote.link import LinkState
from remote.targets import denied, refusal
from suites.base import Command, Parsed, Purpose, TrialParser
from suites.errors import BenchwrightError
from suites.facts import known
from suites.vocab import Sample

PEER = "peer "
"""Before the name of a stream that the server end printed."""

SERVER_START = 5.0
"""Seconds a server end may take to say that it listens."""


LATE_TIMES, LATE_BY = 3.0, 120.0
"""A command is ended once it has run as many times as long as was expected, and as many seconds longer."""

LAST_OUTPUT = 10.0
"""Seconds for which the output of a command that was ended is still read."""

STDERR_KEPT = 8192
"""Bytes of standard error in which the host may say why it did not start a command."""

STOPPED = "Stopped by you."

NEVER_BEGAN = "Benchwright ended before its command began."


class ServerError(BenchwrightError):
    """The server end did not start."""


@dataclass(slots=True)
class TrialRun:
    """Runs one trial of `turn` at `place`, or takes one up that was `left` to itself."""

    id: int
    turn: Turn
    place: Place
    control: Control
    expected: float | None
    left: TrialLeft | None = None
    ended: TrialEnded | None = None
    seconds: float = 0.0
    beside: set[str] = field(default_factory=set)  # hosts on which other trials were under way meanwhile
    ended_clock: float | None = None  # the host's monotonic clock, when its last command ended
    _parser: TrialParser = field(init=False)
    _inbox: Inbox = field(init=False)
    _servers: list[Job] = field(default_factory=list)
    _ended_jobs: set[int] = field(default_factory=set)  # their ids in this process
    _read: Counter[str] = field(default_factory=Counter)  # bytes by stream
    _stderr: bytes = b""  # its beginning
    _began: bool = False
    _why: str = ""  # the last command ended as it did
    _closed: bool = False  # the kernel let the last command write to no block device
    _truncated: str = ""  # what of its output was lost on the host
    _deadline: float | None = None
    _late: bool = False  # the command was ended, because it took far longer than expected

    def __post_init__(self) -> None:
        self._parser = self.place.step.suite.parser(self.place.step.values)

    @property
    def mailbox(self) -> Mailbox:
        """Where the threads of the run leave what they read."""
        return self.place.mailbox

    def events(self) -> Iterator[Event]:
        """Run the trial; yield everything that happens. The last event is its TrialEnded.

        Raises LeftError where the run is let go of: everything then goes on.
        """
        self._inbox = self.mailbox.inbox(self.id, self.turn.host)
        try:
            yield from self._followed()
        finally:
            self._inbox.close()

    def _followed(self) -> Iterator[Event]:
        try:
            yield from self._serve() if self.left is None else self._take_up(self.left)
            exit_status = yield from self._commands_in_turn()
            self.ended = self._outcome(self._with_gaps(self._parser.finish(exit_status)), exit_status)
        except StoppedError:
            if not self._began:
                raise
            self.ended = TrialEnded(self.id, State.PARTIAL, None, self._parser.finish(None), STOPPED)
        except BenchwrightError as error:
            if not self._began:
                if isinstance(error, ConnectionLostError):
                    raise
                yield TrialStarted(self._trial(None), self.expected)
            state = State.PARTIAL if isinstance(error, RemoteError) and self._began else State.FAILED
            self.ended = TrialEnded(self.id, state, None, self._parser.finish(None), str(error))
        for server in self._servers:
            with contextlib.suppress(EndingTimeError):  # the removal of its directory says what may still run
                yield from self.mailbox.during(partial(_quietly_stop, server))
        yield from self._rest()
        self.ended = self._with_cut_servers(self.ended)
        if self.beside:
            parsed = self.ended.parsed
            notes = (*parsed.notes, _overlap_note(self.beside))
            self.ended = replace(self.ended, parsed=replace(parsed, notes=notes))
        yield self.ended

    def refused(self, reason: str) -> Iterator[Event]:
        """Say that the trial could not run, and why."""
        parsed = Parsed(notes=(reason,), complete=False)
        self.ended = TrialEnded(self.id, State.FAILED, None, parsed, reason)
        yield TrialStarted(self._trial(None), self.expected)
        yield self.ended

    def not_measured(self, reason: str) -> Iterator[Event]:
        """Say that a host of the trial was not reached: nothing is known of it, not even the exact commands."""
        self.ended = TrialEnded(self.id, State.FAILED, None, Parsed(notes=(reason,), complete=False), reason)
        turn = self.turn
        yield TrialStarted(Trial(self.id, turn.host, turn.step.name, turn.number, turn.warm_up, (), now()), None)
        yield self.ended

    def broken_off(self, reason: str) -> Iterator[Event]:
        """Say why the trial, whose beginning was told, is followed no further."""
        self.ended = TrialEnded(self.id, State.PARTIAL, None, Parsed(notes=(reason,), complete=False), reason)
        yield self.ended

    def _trial(self, clock: float | None) -> Trial:
        facts, suite = self.place.context.facts, self.place.step.suite
        version = None if facts is None else known(facts.tool(suite.tool).version)
        turn = self.turn
        commands = self.place.commands
        return Trial(self.id, turn.host, turn.step.name, turn.number, turn.warm_up, commands, now(), clock, version)

    def _commands(self, purpose: Purpose) -> list[Command]:
        return [command for command in self.place.commands if command.purpose is purpose]

    # A detached trial

    def _take_up(self, left: TrialLeft) -> Iterator[Event]:
        """Read what was stored anew, and follow the server end again."""
        samples: list[Sample] = []
        for stream, data in left.output:
            self._read[stream] += len(data)
            if not stream.startswith(PEER):
                samples += self._parser.feed(data, stream)
        self._began = True
        yield TrialAttached(left.trial, self.expected, tuple(samples))
        for server in left.servers:
            self._servers.append(server)
            self.mailbox.follow(server, self.id, PEER)

    # The server end

    def _serve(self) -> Iterator[Event]:
        for number, command in enumerate(self._commands(Purpose.SERVE)):
            server = yield from self.place.start(command, self.id, number, self._printed(PEER))
            self._servers.append(server)
            self.mailbox.follow(server, self.id, PEER)
            yield from self._await_server(server, command)

    def _printed(self, prefix: str) -> dict[str, int]:
        """Return how many bytes the commands so far have printed, by stream; a server end's streams have a prefix."""
        return {stream: self._read[prefix + stream] for stream in ("stdout", "stderr")}

    def _await_server(self, server: Job, command: Command) -> Iterator[Event]:
        """Wait until the server end has printed something on its standard output: that is when it listens."""
        deadline = time.monotonic() + SERVER_START
        printed: list[bytes] = []
        listening = False
        while time.monotonic() < deadline and not self.control.over:
            for letter in self._inbox.take():
                if isinstance(letter, JobEnded) and letter.job is server:
                    self._ended_jobs.add(id(server))
                    said = b"".join(printed).decode("utf-8", "replace").strip()[:500]
                    raise ServerError(
                        f"The server end of {self.turn.step.name} did not start: {said or command.argv[0] + ' ended'}.",
                        "Choose another port, or end what uses this one.",
                    )
                if isinstance(letter, OutputRead) and letter.stream.startswith(PEER):
                    printed.append(letter.data)
                    listening = listening or letter.stream == PEER + "stdout"
                yield from self._handle(letter)
            if listening and (yield from self.mailbox.during(server.running)):
                return
            yield IDLE

    # The measurement

    def _commands_in_turn(self) -> Generator[Event, None, int | None]:
        """Run the measuring commands one after another until one fails; return the last one's exit status."""
        exit_status: int | None = None
        for number, command in enumerate(self._commands(Purpose.MEASURE)):
            if self.left is not None and number < self.left.number:
                continue
            if self.control.left:
                raise LeftError
            found = self.left.measuring if self.left is not None and number == self.left.number else None
            job = found or (yield from self.place.start(command, self.id, number, self._printed("")))
            if not self._began:
                yield TrialStarted(self._trial(job.clock), self.expected)
                self._began = True
            yield from self._measure(job, command)
            exit_status, self._why, self.ended_clock = job.exit_status, job.reason, job.ended_clock
            self._closed = job.closed
            self._truncated = self._truncated or job.truncated
            self.seconds += max(0.0, (job.ended_clock or job.clock) - job.clock)
            if exit_status != 0 or self._truncated:
                break
        return exit_status

    def _measure(self, job: Job, command: Command) -> Iterator[Event]:
        self.mailbox.follow(job, self.id)
        self._set_deadline()
        stopped: float | None = None
        while stopped is None or (
            time.monotonic() < stopped + LAST_OUTPUT and self.control.remaining(LAST_OUTPUT_TIME)
        ):
            for letter in self._inbox.take():
                if isinstance(letter, JobEnded) and letter.job is job:
                    if letter.error is not None:
                        raise letter.error
                    return
                yield from self._handle(letter)
            if self.control.left:
                raise LeftError
            late = self._deadline is not None and time.monotonic() > self._deadline
            if (self.control.stopped or late) and stopped is None:
                self._late = not self.control.stopped
                yield Activity(f"ending {self.turn.step.name} on {host_words(self.turn.host)}", self.turn.host)
                if self.control.left:  # recording that, it was seen that the run was taken over
                    raise LeftError
                try:
                    yield from self.mailbox.during(job.stop)
                except RemoteError as error:
                    raise _may_still_run(job, command, error.host or self.turn.host, error) from error
                stopped = time.monotonic()
            yield IDLE

    def _set_deadline(self) -> None:
        """Say until when the command has to end: well beyond what it was estimated to take."""
        most = None if self.expected is None else max(LATE_TIMES * self.expected, self.expected + LATE_BY)
        self._deadline = None if most is None else time.monotonic() + most

    def _handle(self, letter: Letter) -> Iterator[Event]:
        """Hand on a letter; output goes to the parser as well, and what is found out on this host is this trial's."""
        match letter:
            case OutputRead(trial=self.id, stream=stream, data=data):
                self._read[stream] += len(data)
                yield letter
                if stream == "stderr" and len(self._stderr) < STDERR_KEPT:
                    self._stderr += data
                if not stream.startswith(PEER):
                    for sample in self._parser.feed(data, stream):
                        yield SampleRead(self.id, sample)
            case FindingRaised(finding=finding, trial=None) if self._began and finding.host == self.turn.host:
                yield replace(letter, trial=self.id)
            case LinkChanged(host=self.turn.host, state=state):
                if state is LinkState.BACK:
                    self._set_deadline()
                elif state is not LinkState.STALLED:
                    self._deadline = None  # it cannot be late where nobody sees it end
            case JobEnded(job=job):
                self._ended_jobs.add(id(job))
            case _:
                yield from passed_on(letter)

    def _rest(self) -> Iterator[Event]:
        """Hand on what the server end printed last."""
        deadline = time.monotonic() + SERVER_START
        while not self._ended_jobs.issuperset(map(id, self._servers)) and time.monotonic() < deadline:
            if not self.control.remaining(LAST_OUTPUT_TIME):
                return
            for letter in self._inbox.take():
                yield from self._handle(letter)
            yield IDLE

    def _outcome(self, parsed: Parsed, exit_status: int | None) -> TrialEnded:
        if self.control.stopped:
            return TrialEnded(self.id, State.PARTIAL, exit_status, parsed, STOPPED)
        cut = self._late or self._truncated
        if exit_status == 0 and parsed.complete and parsed.figures and not cut:
            return TrialEnded(self.id, State.DONE, exit_status, parsed)
        if exit_status is None and self.left is not None and not cut:
            gone = f"The command on {host_words(self.turn.host)} was gone when it was looked for: {self._why}."
            return TrialEnded(self.id, State.PARTIAL, None, parsed, f"{gone} What was stored is kept.")
        return TrialEnded(self.id, State.FAILED, exit_status, parsed, self._failure(parsed, exit_status))

    def _failure(self, parsed: Parsed, exit_status: int | None) -> str:
        """Return why the trial failed."""
        tool, host = self.place.step.suite.tool, host_words(self.turn.host)
        if self._late:
            return self._too_late()
        if self._truncated:
            return self._cut_words(parsed)
        if why := refusal(exit_status, self._stderr):
            return f"{tool} was not started on {host}: {why} (exit status {exit_status})"
        said = "; ".join(parsed.notes) or "the output holds no figure"
        status = "was killed" if exit_status is None else f"exit status {exit_status}"
        denial = denied(host, self._stderr + said.encode(), closed=self._closed)
        return f"{tool} on {host}: {said} ({f'{status}; {self._why}' if self._why else status}).{denial}"

    def _with_gaps(self, parsed: Parsed) -> Parsed:
        """Return `parsed` with a note where samples are missing; several commands pause between their series."""
        note = gap_note(parsed) if len(self._commands(Purpose.MEASURE)) == 1 else ""
        return replace(parsed, notes=(*parsed.notes, note)) if note else parsed

    def _with_cut_servers(self, ended: TrialEnded) -> TrialEnded:
        """Return `ended` with a note for each server end whose output was lost: the figures are the client's."""
        step, peer = self.place.step, host_words(self.place.step.peer or self.turn.host)
        notes = tuple(
            f"Output of the server end of {step.name} was truncated on {peer}: {server.truncated}. The figures are the "
            "client’s and count."
            for server in self._servers
            if server.truncated
        )
        return replace(ended, parsed=replace(ended.parsed, notes=(*ended.parsed.notes, *notes))) if notes else ended

    def _too_late(self) -> str:
        tool, expected = self.place.step.suite.tool, duration_text(self.expected or 0.0)
        return (
            f"{tool} on {host_words(self.turn.host)} was ended: it took far longer than the {expected} that it was to "
            "take. Its figures do not count; look on the host at what kept it."
        )

    def _cut_words(self, parsed: Parsed) -> str:
        """Say that output was lost on the host, and how many samples there are."""
        arrived, expected = samples_of(parsed, self.seconds)
        of_all = f" of about {expected}" if expected is not None and expected > arrived else ""
        return (
            f"Output of {self.place.step.suite.tool} was truncated on {host_words(self.turn.host)}: "
            f"{self._truncated}. {arrived}{of_all} samples arrived; its figures do not count. "
            "Find what empties or replaces files there, such as a log cleaner or a quota, and run it again."
        )


def _may_still_run(job: Job, command: Command, host: str, error: RemoteError) -> JobError:
    """Return that a command could not be ended, and what runs where."""
    return JobError(
        f"“{command.argv[0]}” (process {job.pid} on {host_words(host)}, in {job.workspace.path}) may still run: "
        f"{error.message}",
        f"List what is left there with: benchwright hosts leftovers {shlex.quote(host)}",
        host=host,
    )


def _overlap_note(hosts: set[str]) -> str:
    names = ", ".join(map(host_words, sorted(hosts)))
    return (
        f"Overlapped with trials on {names} while a connection was lost: shared hardware, storage or network may "
        "change the result."
    )


def _quietly_stop(job: Job) -> None:
    try:
        if job.running():
            job.stop()
    except RemoteError:
        # The connection is gone, and the trial says so; the server end dies with its one client (iperf3 -1).
        return
