"""One trial: its servers, its measuring commands and their output, as events."""

import contextlib
import shlex
import time
from collections import Counter
from collections.abc import Iterator
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
from app.plans.plan import host_label
from app.runs.control import LAST_OUTPUT_TIME, Control, EndingTimeError, StoppedError
from app.runs.duet import Duet
from app.runs.event_queue import IDLE, EventQueue, Item, JobEnded, TrialQueue, events_in
from app.runs.findings import not_attached
from app.runs.host_step import HostStep
from app.runs.samples import gap_note, samples_of
from app.runs.schedule import Slot
from app.timestamps import now, seconds_since
from remote.connection_state import LinkState
from remote.errors import ConnectionLostError, JobError, RemoteError
from remote.jobs.job import RemoteJob
from remote.target_guard import denied, refusal
from suites.base import Command, Purpose
from suites.errors import BenchwrightError
from suites.evidence import STOPPED
from suites.facts import known
from suites.outputs import ParsedTrial, TrialParser
from suites.perf import STREAM
from suites.quantities import duration_text
from suites.tool_messages import exit_text
from suites.vocab import Sample

PEER = "peer "
"""Prefix of the names of a server's streams."""

SERVER_START = 5.0
"""Seconds within which a server must report that it listens."""

LATE_TIMES, LATE_BY = 3.0, 120.0
"""A command is ended after max(LATE_TIMES x expected, expected + LATE_BY) seconds."""

LAST_OUTPUT = 10.0
"""Seconds for which the output of an ended command is still read."""

STDERR_KEPT = 8192
"""Bytes of standard error searched for the reason why the host did not start a command."""

NEVER_BEGAN = "Benchwright ended before its command began."


class ServerError(BenchwrightError):
    """The server did not start."""


@dataclass(frozen=True, slots=True)
class DetachedTrial:
    """A running trial of a detached run, with its stored output in order of arrival.

    `measuring` is its command number `number`, None if that has not begun.
    """

    trial: Trial
    output: tuple[tuple[str, bytes], ...]
    number: int
    measuring: RemoteJob | None
    servers: tuple[RemoteJob, ...] = ()


@dataclass(slots=True, eq=False)
class TrialRun:
    """Execution of one trial of `slot` at `host_step`, or of the running `detached_trial` of a detached run."""

    id: int
    slot: Slot
    host_step: HostStep
    control: Control
    expected: float | None = None
    detached_trial: DetachedTrial | None = None
    ended: TrialEnded | None = None
    seconds: float = 0.0
    start_reported: bool = False  # its TrialStarted or TrialAttached was yielded
    end_reported: bool = False  # its TrialEnded was yielded
    measuring: list["TrialRun"] = field(default_factory=list)  # shared by the trials of a run: those whose command runs
    duet: Duet | None = None  # with the trial that runs at the same moment
    overlapping: set[str] = field(default_factory=set)  # hosts on which other trials ran meanwhile
    ended_clock: float | None = None  # end of its last command on the host's monotonic clock
    origin: float | None = None  # the tool's time 0 on that clock: the earliest that the arrival of a sample allows
    _peer_since: float | None = None  # this computer's monotonic clock minus the peer's
    _start: tuple[float, float] | None = None  # of its only command, on this computer's and the host's monotonic clock
    _parser: TrialParser = field(init=False)
    _items: TrialQueue = field(init=False)
    _servers: list[RemoteJob] = field(default_factory=list)
    _ended_jobs: set[int] = field(default_factory=set)  # their ids in this process
    _read: Counter[str] = field(default_factory=Counter)  # bytes by stream
    _stderr: bytes = b""  # the first STDERR_KEPT bytes
    _began: bool = False
    _why: str = ""  # reason of the last command's end
    _closed: bool = False  # the cgroup denied the last command writes to block devices
    _truncated: str = ""  # output lost on the host
    _deadline: float | None = None  # monotonic seconds
    _late: bool = False  # the command was ended at its deadline
    _complete: bool = False  # of an attached run: the command had ended before its stop
    _alone: bool = False  # the command was ended because the other trial of the duet has no result

    def __post_init__(self) -> None:
        self._parser = self.host_step.step.suite.parser(self.host_step.step.whole_values())

    @property
    def queue(self) -> EventQueue:
        """Event queue of the run."""
        return self.host_step.queue

    def events(self) -> Iterator[Event]:
        """Run the trial; yield its events. The last one is TrialEnded.

        Raises DetachedError if the run is detached; the commands then continue.
        """
        with contextlib.closing(self.queue.of_trial(self.id, self.slot.host)) as self._items:
            exit_status: int | None = None
            try:
                yield from self._begin() if self.detached_trial is None else self._attach(self.detached_trial)
                for number, command, found in self._commands_left():
                    self.control.raise_if_detached()
                    job = found or (yield from self.host_step.start(command, self.id, number, self._printed("")))
                    yield from self._measure(job, command)
                    exit_status = job.exit_status
                    if exit_status != 0 or self._truncated:
                        break
                self.ended = self._outcome(self._with_gaps(self._parser.finish(exit_status)), exit_status)
                yield from self._read_profile(self.ended)
            except StoppedError:
                if not self._began:
                    raise
                self.ended = TrialEnded(self.id, State.PARTIAL, None, self._parser.finish(None), STOPPED, stopped=True)
            except BenchwrightError as error:
                if not self._began:
                    if isinstance(error, ConnectionLostError):
                        raise
                    yield self._reported(TrialStarted(self.described(None), self.expected))
                state = State.PARTIAL if isinstance(error, RemoteError) and self._began else State.FAILED
                self.ended = TrialEnded(self.id, state, None, self._parser.finish(None), str(error))
            for server in self._servers:
                yield from self._stop_server(server)
            yield from self._drain_servers()
            if self.duet is not None:
                yield from self.duet.end(self.id, "" if self.ended.state is State.DONE else self.ended.reason)
            ended = self._with_overlap(self._with_cut_servers(self._with_partner(self.ended)))
            self.ended = replace(ended, origin=self._origin_at_end(), ended_clock=self.ended_clock)
            yield self._reported(self.ended)

    def refused(self, reason: str) -> Iterator[Event]:
        """End the trial as failed because it could not run."""
        parsed = ParsedTrial(notes=(reason,), complete=False)
        self.ended = TrialEnded(self.id, State.FAILED, None, parsed, reason)
        yield self._reported(TrialStarted(self.described(None), self.expected))
        yield self._reported(self.ended)

    def not_measured(self, reason: str) -> Iterator[Event]:
        """End the trial as failed because a host was not reached; without facts, its commands are unknown."""
        self.ended = TrialEnded(self.id, State.FAILED, None, ParsedTrial(notes=(reason,), complete=False), reason)
        slot = self.slot
        trial = Trial(self.id, slot.host, slot.step.name, slot.number, slot.warm_up, (), now())
        yield self._reported(TrialStarted(trial, None))
        yield self._reported(self.ended)

    def broken_off(self, reason: str) -> Iterator[Event]:
        """End the trial, whose start is stored, as partial."""
        ended = TrialEnded(self.id, State.PARTIAL, None, ParsedTrial(notes=(reason,), complete=False), reason)
        self.ended = self._with_overlap(ended)
        yield self._reported(self.ended)

    def _reported(self, event: TrialStarted | TrialAttached | TrialEnded) -> Event:
        """Return `event`, noted: trials whose commands run at once overlap, and each names the other."""
        if isinstance(event, TrialEnded):
            self.end_reported = True
            self.leave_measuring()
            return event
        self.start_reported = True
        if event.trial.clock is not None:
            for other in (one for one in self.measuring if one.slot.host != self.slot.host):
                other.overlapping.add(self.slot.host)
                self.overlapping.add(other.slot.host)
            self.measuring.append(self)
        return event

    def leave_measuring(self) -> None:
        """Exclude the trial from later overlaps: its own note is complete, and both trials must name each other."""
        if self in self.measuring:
            self.measuring.remove(self)

    def leave(self) -> None:
        """Let no other trial wait for this one, which is over."""
        self.leave_measuring()
        if self.duet is not None:
            self.duet.leave(self.id, "" if self.ended is None else self.ended.reason)

    def _with_overlap(self, ended: TrialEnded) -> TrialEnded:
        if not self.overlapping:
            return ended
        notes = (*ended.parsed.notes, _overlap_note(self.overlapping))
        return replace(ended, parsed=replace(ended.parsed, notes=notes))

    def _with_partner(self, ended: TrialEnded) -> TrialEnded:
        """Return `ended`, as partial if the other trial of the duet has no result: the pair is of no use."""
        problem = "" if self.duet is None else self.duet.problem(self.id)
        if not problem or ended.state is not State.DONE:
            return ended
        if self.control.stopped:
            return replace(ended, state=State.PARTIAL, reason=STOPPED, stopped=True)
        return replace(ended, state=State.PARTIAL, reason=f"Half of a duet: {problem}")

    def described(self, clock: float | None) -> Trial:
        """Return the trial as it is stored, its command begun at `clock` (s) on the host, or never if that is None."""
        facts, suite = self.host_step.context.facts, self.host_step.step.suite
        version = None if facts is None else known(facts.tool(suite.tool).version)
        slot = self.slot
        commands = self.host_step.commands
        peer = None if self._peer_since is None or clock is None else time.monotonic() - self._peer_since
        return Trial(
            self.id, slot.host, slot.step.name, slot.number, slot.warm_up, commands, now(), clock, version, peer
        )

    # A detached trial

    def _attach(self, detached_trial: DetachedTrial) -> Iterator[Event]:
        """Parse the stored output again and follow the servers."""
        samples: list[Sample] = []
        for stream, data in detached_trial.output:
            self._read[stream] += len(data)
            if not stream.startswith((PEER, STREAM)):
                samples += self._parser.feed(data, stream)
        self._began = True
        yield self._reported(TrialAttached(detached_trial.trial, self.expected, tuple(samples)))
        seconds = seconds_since(detached_trial.trial.started)
        yield FindingRaised(not_attached(self.slot.host, self.slot.step.name, seconds), trial=self.id)
        for server in detached_trial.servers:
            self._servers.append(server)
            self.queue.follow(server, self.id, PEER)

    def _read_profile(self, ended: TrialEnded) -> Iterator[Event]:
        """Store the counters and the stacks of a profiled trial, folded on the host, as its output."""
        if not self.slot.profiled or ended.state is not State.DONE:
            return
        for stream, data in (yield from self.host_step.read_profile(self.id)).items():
            yield OutputRead(self.id, stream, data)

    # Servers

    def _begin(self) -> Iterator[Event]:
        """Start the servers; of a duet, wait until the other trial may start, too."""
        yield from self._serve()
        if self.duet is not None:
            yield from self.duet.start(self.id)

    def _stop_server(self, server: RemoteJob) -> Iterator[Event]:
        """Stop a server; after Stop only within LAST_OUTPUT_TIME, since removing its directory also ends it."""
        with contextlib.suppress(EndingTimeError):  # the removal reports what may still run
            for event in self.queue.during(partial(_stop_if_running, server)):
                if not self.control.remaining(LAST_OUTPUT_TIME):
                    return
                yield event

    def _serve(self) -> Iterator[Event]:
        for number, command in enumerate(self.host_step.commands_for(Purpose.SERVE)):
            server = yield from self.host_step.start(command, self.id, number, self._printed(PEER))
            if command.on_peer:
                self._peer_since = time.monotonic() - server.clock  # as late as the measuring command's, by _measure()
            self._servers.append(server)
            self.queue.follow(server, self.id, PEER)
            yield from self._await_server(server, command)

    def _printed(self, prefix: str) -> dict[str, int]:
        """Return the bytes printed so far by stream; `prefix` selects the servers' streams."""
        return {stream: self._read[prefix + stream] for stream in ("stdout", "stderr")}

    def _await_server(self, server: RemoteJob, command: Command) -> Iterator[Event]:
        """Wait for output on the server's stdout, which it prints once it listens."""
        deadline = time.monotonic() + SERVER_START
        printed: list[bytes] = []
        listening = False
        while time.monotonic() < deadline and not self.control.over:
            for item in self._items.take():
                if isinstance(item, JobEnded) and item.job is server:
                    self._ended_jobs.add(id(server))
                    output = b"".join(printed).decode("utf-8", "replace").strip()[:500]
                    raise ServerError(
                        f"Server of {self.slot.step.name} did not start: {output or command.argv[0] + ' ended'}.",
                        "Choose another port, or end the process that uses this one.",
                    )
                if isinstance(item, OutputRead) and item.stream.startswith(PEER):
                    printed.append(item.data)
                    listening = listening or item.stream == PEER + "stdout"
                yield from self._handle(item)
            if listening and (yield from self.queue.during(server.running)):
                return
            yield IDLE

    # Measurement

    def _commands_left(self) -> Iterator[tuple[int, Command, RemoteJob | None]]:
        """Yield the measuring commands that have not ended, with their numbers, and the job of one that was found."""
        taken = self.detached_trial
        for number, command in enumerate(self.host_step.commands_for(Purpose.MEASURE)):
            if taken is None or number >= taken.number:
                yield number, command, taken.measuring if taken is not None and number == taken.number else None

    def _measure(self, job: RemoteJob, command: Command) -> Iterator[Event]:
        """Follow `job` to its end; end it at Stop or at its deadline."""
        if not self._began:
            if len(self.host_step.commands_for(Purpose.MEASURE)) == 1:
                self._start = time.monotonic(), job.clock
            yield self._reported(TrialStarted(self.described(job.clock), self.expected))
            self._began = True
        self.queue.follow(job, self.id)
        self._set_deadline()
        stopped: float | None = None
        while stopped is None or (
            time.monotonic() < stopped + LAST_OUTPUT and self.control.remaining(LAST_OUTPUT_TIME)
        ):
            for item in self._items.take():
                if isinstance(item, JobEnded) and item.job is job:
                    if item.error is not None:
                        raise item.error
                    self._account_for(job)
                    return
                yield from self._handle(item)
            self.control.raise_if_detached()
            late = self._deadline is not None and time.monotonic() > self._deadline
            alone = self.duet is not None and bool(self.duet.problem(self.id))
            if (self.control.stopped or late or alone) and stopped is None:
                self._late, self._alone = late and not self.control.stopped, alone and not self.control.stopped
                yield Activity(f"ending {self.slot.step.name} on {host_label(self.slot.host)}", self.slot.host)
                self.control.raise_if_detached()  # recording the event may have found that the run was taken over
                try:
                    attached = self.detached_trial is not None and self.control.stopped
                    self._complete = attached and not (yield from self.queue.during(job.running))
                    if not self._complete:
                        yield from self.queue.during(job.stop)
                except RemoteError as error:
                    raise _may_still_run(job, command, error.host or self.slot.host, error) from error
                stopped = time.monotonic()
            yield IDLE
        self._account_for(job)

    def _account_for(self, job: RemoteJob) -> None:
        """Keep how a measuring command ended."""
        self._why, self.ended_clock, self._closed = job.reason, job.ended_clock, job.closed
        self._truncated = self._truncated or job.truncated
        self.seconds += max(0.0, (job.ended_clock or job.clock) - job.clock)

    def _set_deadline(self) -> None:
        """Set the deadline of the command from its expected duration."""
        most = None if self.expected is None else max(LATE_TIMES * self.expected, self.expected + LATE_BY)
        self._deadline = None if most is None else time.monotonic() + most

    def _handle(self, item: Item) -> Iterator[Event]:
        """Yield the events of an item; parse output, and assign findings about this host to the trial."""
        match item:
            case OutputRead(trial=self.id, stream=stream, data=data):
                self._read[stream] += len(data)
                yield item
                if stream == "stderr" and len(self._stderr) < STDERR_KEPT:
                    self._stderr += data
                if not stream.startswith(PEER):
                    for sample in self._parser.feed(data, stream):
                        yield SampleRead(self.id, sample, self._origin_by(sample))
            case FindingRaised(finding=finding, trial=None) if self._began and finding.host == self.slot.host:
                yield replace(item, trial=self.id)
            case LinkChanged(host=self.slot.host, state=state):
                if state is LinkState.BACK:
                    self._set_deadline()
                elif state is not LinkState.STALLED:
                    self._deadline = None  # lateness cannot be observed without a connection
            case JobEnded(job=job):
                self._ended_jobs.add(id(job))
            case _:
                yield from events_in(item)

    def _origin_by(self, sample: Sample) -> float | None:
        """Return the tool's time 0 after the arrival of `sample`; the least delayed sample decides."""
        if self._start is not None:
            here, clock = self._start
            at = clock + max(0.0, time.monotonic() - here - sample.time)
            self.origin = at if self.origin is None else min(self.origin, at)
        return self.origin

    def _origin_at_end(self) -> float | None:
        """Return the tool's time 0, as its last sample precedes the end of its command: all may have arrived late."""
        if self.origin is None or self._start is None or self.ended_clock is None or self.ended is None:
            return self.origin
        last = max((sample.time for sample in self.ended.parsed.samples), default=0.0)
        return min(self.origin, max(self._start[1], self.ended_clock - last))

    def _drain_servers(self) -> Iterator[Event]:
        """Yield the servers' last output."""
        deadline = time.monotonic() + SERVER_START
        while not self._ended_jobs.issuperset(map(id, self._servers)) and time.monotonic() < deadline:
            if not self.control.remaining(LAST_OUTPUT_TIME):
                return
            for item in self._items.take():
                yield from self._handle(item)
            yield IDLE

    def _outcome(self, parsed: ParsedTrial, exit_status: int | None) -> TrialEnded:
        if self.control.stopped and not (self._complete and exit_status == 0):
            return TrialEnded(self.id, State.PARTIAL, exit_status, parsed, STOPPED, stopped=True)
        if self._alone and self.duet is not None:
            return TrialEnded(self.id, State.PARTIAL, exit_status, parsed, f"Ended: {self.duet.problem(self.id)}")
        cut = self._late or self._truncated
        if exit_status == 0 and parsed.complete and parsed.figures and not cut:
            return TrialEnded(self.id, State.DONE, exit_status, parsed)
        if exit_status is None and self.detached_trial is not None and not cut:
            message = f"Command on {host_label(self.slot.host)} not found after attaching: {self._why}."
            return TrialEnded(self.id, State.PARTIAL, None, parsed, f"{message} Its stored output is kept.")
        return TrialEnded(self.id, State.FAILED, exit_status, parsed, self._failure(parsed, exit_status))

    def _failure(self, parsed: ParsedTrial, exit_status: int | None) -> str:
        """Return why the trial failed."""
        tool, host = self.host_step.step.suite.tool, host_label(self.slot.host)
        what = self._what
        if self._late:
            return self._too_late()
        if self._truncated:
            return self._truncated_text(parsed)
        if why := refusal(exit_status, self._stderr):
            return f"{what} was not started on {host}: {why} (exit status {exit_status})"
        ended = f"{tool} ended with exit status {exit_status}."  # follows in parentheses
        notes = "; ".join(note.rstrip(".") for note in parsed.notes if note != ended) or "no figures in the output"
        status = "was killed" if exit_status is None else f"exit status {exit_status}"
        known = exit_status is not None and (exit_text(exit_status) in notes or (exit_status == 0 and parsed.notes))
        how = "; ".join(filter(None, ("" if known else status, "" if self._why in notes else self._why)))
        denial = denied(host, self._stderr + notes.encode(), closed=self._closed)
        return f"{what} on {host}: {notes}{f' ({how})' if how else ''}.{denial}"

    @property
    def _what(self) -> str:
        """The tool; in a duet with the name of its step, as both may use one tool."""
        step = self.host_step.step
        return f"{step.suite.tool} of step {step.name}" if step.partner else step.suite.tool

    def _with_gaps(self, parsed: ParsedTrial) -> ParsedTrial:
        """Return `parsed` with a note on missing samples; not for several commands, which pause between series."""
        note = gap_note(parsed) if len(self.host_step.commands_for(Purpose.MEASURE)) == 1 else ""
        return replace(parsed, notes=(*parsed.notes, note)) if note else parsed

    def _with_cut_servers(self, ended: TrialEnded) -> TrialEnded:
        """Return `ended` with a note for each server whose output was lost; the figures are the client's."""
        step, peer = self.host_step.step, host_label(self.host_step.step.peer or self.slot.host)
        notes = tuple(
            f"Server output of {step.name} was truncated on {peer}: {server.truncated}. The figures come from the "
            "client and are valid."
            for server in self._servers
            if server.truncated
        )
        return replace(ended, parsed=replace(ended.parsed, notes=(*ended.parsed.notes, *notes))) if notes else ended

    def _too_late(self) -> str:
        expected = duration_text(self.expected or 0.0)
        return (
            f"{self._what} on {host_label(self.slot.host)} was ended: it ran much longer than the expected {expected}. "
            "Its figures are discarded. Check the host for what delayed it."
        )

    def _truncated_text(self, parsed: ParsedTrial) -> str:
        """Return that output was lost on the host, with the number of samples."""
        arrived, expected = samples_of(parsed, self.seconds)
        of_all = f" of about {expected}" if expected is not None and expected > arrived else ""
        return (
            f"Output of {self._what} was truncated on {host_label(self.slot.host)}: "
            f"{self._truncated}. {arrived}{of_all} samples arrived; its figures are discarded. "
            "Check for a log cleaner or quota that empties or replaces files there, then run again."
        )


def _may_still_run(job: RemoteJob, command: Command, host: str, error: RemoteError) -> JobError:
    """Return the error for a command that could not be ended, with its process, host and directory."""
    return JobError(
        f"“{command.argv[0]}” (process {job.pid} on {host_label(host)}, in {job.workspace.path}) may still run: "
        f"{error.message}",
        f"Run: benchwright hosts leftovers {shlex.quote(host)}",
        host=host,
    )


def _overlap_note(hosts: set[str]) -> str:
    names = ", ".join(map(host_label, sorted(hosts)))
    return (
        f"Overlapped with trials on {names} while a connection was lost: shared hardware, storage or network may "
        "change the result."
    )


def _stop_if_running(job: RemoteJob) -> None:
    try:
        if job.running():
            job.stop()
    except RemoteError:
        # The connection is lost, which the trial reports; the server exits with its one client (iperf3 -1).
        return
