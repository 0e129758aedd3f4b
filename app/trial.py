"""One trial: its server end, its measuring commands, and what they print, as events."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from app.control import Control
from app.events import Event, OutputRead, SampleRead, State, Trial, TrialEnded, TrialStarted
from app.mailbox import JobEnded, Letter, Mailbox, TelemetryEnded
from app.place import Place
from app.schedule import Turn
from remote.errors import RemoteError
from remote.job import Job
from suites.base import Command, Parsed, Purpose, TrialParser
from suites.errors import BenchwrightError
from suites.facts import known

PEER = "peer "
"""Before the name of a stream that the server end printed."""

SERVER_START = 5.0
"""Seconds a server end may take to say that it listens."""

TICK = 0.1


class ServerError(BenchwrightError):
    """The server end did not start."""


def now() -> str:
    """Return the moment in UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@dataclass(slots=True)
class TrialRun:
    """Runs one trial of `turn` at `place`."""

    id: int
    turn: Turn
    place: Place
    mailbox: Mailbox
    control: Control
    expected: float | None
    ended: TrialEnded | None = None
    seconds: float = 0.0

    def events(self) -> Iterator[Event]:
        """Run the trial; yield everything that happens. The last event is its TrialEnded."""
        parser = self.place.step.suite.parser(self.place.step.values)
        servers: list[Job] = []
        began = False
        try:
            yield from self._serve(servers)
            exit_status: int | None = None
            for number, command in enumerate(self._commands(Purpose.MEASURE)):
                job = self.place.start(command, f"measure{self.id}-{number}")
                if not began:
                    yield TrialStarted(self._trial(job.clock), self.expected)
                    began = True
                yield from self._measure(job, parser)
                exit_status = job.exit_status
                self.seconds += max(0.0, (job.ended_clock or job.clock) - job.clock)
                if exit_status != 0:
                    break
            self.ended = self._outcome(parser.finish(exit_status), exit_status)
        except BenchwrightError as error:
            if not began:
                yield TrialStarted(self._trial(None), self.expected)
            state = State.PARTIAL if isinstance(error, RemoteError) and began else State.FAILED
            self.ended = TrialEnded(self.id, state, None, parser.finish(None), str(error))
        finally:
            for server in servers:
                _quietly_stop(server)
        yield from self._rest(servers)
        yield self.ended

    def refused(self, reason: str) -> Iterator[Event]:
        """Say that the trial could not run, and why."""
        parsed = Parsed(notes=(reason,), complete=False)
        self.ended = TrialEnded(self.id, State.FAILED, None, parsed, reason)
        yield TrialStarted(self._trial(None), self.expected)
        yield self.ended

    def _trial(self, clock: float | None) -> Trial:
        facts, suite = self.place.context.facts, self.place.step.suite
        version = None if facts is None else known(facts.tool(suite.tool).version)
        turn = self.turn
        commands = self.place.commands
        return Trial(self.id, turn.host, turn.step.name, turn.number, turn.warm_up, commands, now(), clock, version)

    def _commands(self, purpose: Purpose) -> list[Command]:
        return [command for command in self.place.commands if command.purpose is purpose]

    def _serve(self, servers: list[Job]) -> Iterator[Event]:
        for number, command in enumerate(self._commands(Purpose.SERVE)):
            server = self.place.start(command, f"serve{self.id}-{number}")
            servers.append(server)
            self.mailbox.follow(server, self.id, PEER)
            yield from self._await_server(server, command)

    def _await_server(self, server: Job, command: Command) -> Iterator[Event]:
        """Wait until the server end has printed something on its standard output: that is when it listens."""
        deadline = time.monotonic() + SERVER_START
        printed: list[bytes] = []
        listening = False
        while time.monotonic() < deadline and not self.control.stopped:
            for letter in self.mailbox.take(TICK):
                if isinstance(letter, JobEnded) and letter.job is server:
                    said = b"".join(printed).decode("utf-8", "replace").strip()[:500]
                    raise ServerError(
                        f"The server end of {self.turn.step.name} did not start: {said or command.argv[0] + ' ended'}.",
                        "Choose another port, or end what uses this one.",
                    )
                if isinstance(letter, OutputRead) and letter.stream.startswith(PEER):
                    printed.append(letter.data)
                    listening = listening or letter.stream == PEER + "stdout"
                yield from _passed_on(letter)
            if listening and server.running():
                return

    def _measure(self, job: Job, parser: TrialParser) -> Iterator[Event]:
        self.mailbox.follow(job, self.id)
        deadline = None if self.expected is None else time.monotonic() + max(3 * self.expected, self.expected + 120)
        stopping = False
        while True:
            for letter in self.mailbox.take(TICK):
                if isinstance(letter, JobEnded):
                    if letter.job is job:
                        if letter.error is not None:
                            raise letter.error
                        return
                    continue
                yield from _passed_on(letter)
                if isinstance(letter, OutputRead) and letter.trial == self.id and not letter.stream.startswith(PEER):
                    for sample in parser.feed(letter.data, letter.stream):
                        yield SampleRead(self.id, sample)
            late = deadline is not None and time.monotonic() > deadline
            if (self.control.stopped or late) and not stopping:
                stopping = True
                job.stop()

    def _rest(self, servers: list[Job]) -> Iterator[Event]:
        """Hand on what the server end printed last."""
        waiting = set(map(id, servers))
        deadline = time.monotonic() + SERVER_START
        while waiting and time.monotonic() < deadline:
            for letter in self.mailbox.take(TICK):
                if isinstance(letter, JobEnded):
                    waiting.discard(id(letter.job))
                yield from _passed_on(letter)

    def _outcome(self, parsed: Parsed, exit_status: int | None) -> TrialEnded:
        if self.control.stopped:
            return TrialEnded(self.id, State.PARTIAL, exit_status, parsed, "Stopped by you; what was measured is kept.")
        if exit_status == 0 and parsed.complete and parsed.figures:
            return TrialEnded(self.id, State.DONE, exit_status, parsed)
        said = "; ".join(parsed.notes) or "the output holds no figure"
        tool = self.place.step.suite.tool
        status = "was killed" if exit_status is None else f"exit status {exit_status}"
        return TrialEnded(self.id, State.FAILED, exit_status, parsed, f"{tool} on {self.turn.host}: {said} ({status}).")


def _passed_on(letter: Letter) -> Iterator[Event]:
    if not isinstance(letter, JobEnded | TelemetryEnded):
        yield letter


def _quietly_stop(job: Job) -> None:
    try:
        if job.running():
            job.stop()
    except RemoteError:
        # The connection is gone, and the trial says so; the server end dies with its one client (iperf3 -1).
        return
