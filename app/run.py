"""A plan as executed: facts, findings, trials in order, facts again; one stream of events."""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from app.checks import check_plan
from app.context import step_context
from app.control import Control
from app.events import (
    Activity,
    Event,
    FactsRead,
    FindingRaised,
    Moment,
    Progress,
    RunEnded,
    RunStarted,
    State,
)
from app.mailbox import JobEnded, Mailbox, TelemetryEnded
from app.place import Place
from app.plan import LOCAL, Plan
from app.policies import decided, verdict_rules
from app.records import RunRecord
from app.schedule import Schedule, Turn
from app.trial import TrialRun, now
from remote.errors import RemoteError
from remote.probe import read_facts
from remote.session import Session
from remote.telemetry import Telemetry
from suites.errors import BenchwrightError
from suites.facts import Facts
from suites.vocab import Finding

BLOCKING = frozenset({"tool-missing", "no-space", "directory-not-writable"})
"""Findings that mean a step cannot run at all."""


class RunFailedError(BenchwrightError):
    """The run could not begin."""


@dataclass(slots=True)
class Engine:
    """Executes one plan. `connect` opens a session on a host; `addresses` is how this computer reaches each."""

    run_id: str
    plan: Plan
    connect: Callable[[str], Session]
    control: Control
    addresses: Mapping[str, str] = field(default_factory=dict)
    interval: float = 1.0  # seconds between two looks at the host itself
    baseline: RunRecord | None = None  # what a plan runs against that is to run until its verdict is settled
    _sessions: dict[str, Session] = field(default_factory=dict)
    _facts: dict[str, Facts] = field(default_factory=dict)
    _places: dict[tuple[str, str], Place] = field(default_factory=dict)
    _expected: dict[tuple[str, str], float | None] = field(default_factory=dict)
    _telemetry: dict[str, Telemetry] = field(default_factory=dict)
    _findings: list[Finding] = field(default_factory=list)
    _mailbox: Mailbox = field(default_factory=Mailbox)
    _watching: bool = True
    _states: list[State] = field(default_factory=list)
    _problems: list[str] = field(default_factory=list)

    def events(self) -> Iterator[Event]:
        """Run the plan; yield everything that happens. The first event is RunStarted, the last RunEnded."""
        yield RunStarted(self.run_id, self.plan, now())
        try:
            yield from self._open()
            yield from self._trials()
            yield from self._facts_after()
        except BenchwrightError as error:
            self._states.append(State.FAILED)
            self._problems.append(str(error))
        finally:
            self._close_places()
            cost = self._close_hosts()
        yield RunEnded(self.run_id, self._state(), " ".join(self._problems), cost)

    def _hosts(self) -> list[str]:
        peers = [step.peer for step in self.plan.steps if step.peer is not None]
        return list(dict.fromkeys([*self.plan.hosts, *peers]))

    def _open(self) -> Iterator[Event]:
        for host in self._hosts():
            yield Activity(f"connecting to {_named(host)}", host)
            self._sessions[host] = self.connect(host)
            yield Activity(f"reading the facts of {_named(host)}", host)
            self._facts[host] = read_facts(self._sessions[host], self._directories(host))
            yield FactsRead(host, Moment.BEFORE, self._facts[host])
        yield from self._check()
        for host, session in self._sessions.items():
            with contextlib.suppress(BenchwrightError):  # a run without telemetry is still a run; none is drawn
                self._telemetry[host] = Telemetry.start(session, self.interval)
                self._mailbox.watch(host, self._telemetry[host], lambda: not self._watching)

    def _directories(self, host: str) -> tuple[str, ...]:
        names = {
            str(step.values[parameter])
            for step in self.plan.steps
            if host in self.plan.hosts and (parameter := step.suite.directory_parameter) is not None
        }
        return tuple(sorted(names - {""}))

    def _check(self) -> Iterator[Event]:
        self._findings = list(check_plan(self.plan, self._facts, self.addresses).findings)
        for finding in self._findings:
            yield FindingRaised(finding)

    def _trials(self) -> Iterator[Event]:
        schedule = self._schedule()
        for number, turn in enumerate(schedule.turns(), 1):
            yield _progress(schedule)
            if self.control.stopped:
                self._states.append(State.PARTIAL)
                self._problems.append("Stopped by you; what was measured is kept.")
                return
            began = time.monotonic()
            expected = schedule.expected(turn.place)
            trial = TrialRun(number, turn, self._place(turn), self._mailbox, self.control, expected)
            yield from self._one(trial)
            if trial.ended is None or trial.ended.state is not State.DONE:
                schedule.give_up(turn)
            else:
                figures = trial.ended.parsed.figures
                yield from decided(schedule.took(turn, figures, trial.seconds, time.monotonic() - began))
            if not schedule.open(turn.place):
                self._close_place(turn.place)
            self._pause(not schedule.over())
        yield _progress(schedule)

    def _schedule(self) -> Schedule:
        estimates = {
            (step.name, host): self._estimate(Turn(step, host, 1, warm_up=False))
            for step in self.plan.steps
            for host in self.plan.hosts
        }
        return Schedule(self.plan, estimates, verdict_rules(self.plan, self.baseline, self._facts))

    def _one(self, trial: TrialRun) -> Iterator[Event]:
        """Prepare where needed and run `trial`; a step that cannot run says why, as a failed trial."""
        blocked = self._blocked(trial.turn)
        try:
            if blocked is not None:
                raise RunFailedError(f"{blocked.title} on {trial.turn.host}: {blocked.measured}", blocked.remedy)
            for doing in trial.place.prepare(self.control):
                yield Activity(doing, trial.turn.host)
                yield from self._drained()
        except BenchwrightError as error:
            yield from trial.refused(str(error))
        else:
            if self.control.stopped:
                return
            yield Activity(f"measuring {trial.turn.step.name} on {_named(trial.turn.host)}", trial.turn.host)
            yield from trial.events()
        if trial.ended is not None:
            self._states.append(trial.ended.state)
            if trial.ended.reason:
                self._problems.append(f"{trial.turn.step.name}: {trial.ended.reason}")

    def _blocked(self, turn: Turn) -> Finding | None:
        for finding in self._findings:
            if finding.id in BLOCKING and finding.step == turn.step.name and finding.host in {None, turn.host}:
                return finding
        return None

    def _drained(self) -> Iterator[Event]:
        for letter in self._mailbox.take(0.001):
            if not isinstance(letter, JobEnded | TelemetryEnded):
                yield letter

    def _pause(self, more: bool) -> None:  # noqa: FBT001 (private, one caller)
        if more and self.plan.repetition.pause:
            self.control.wait(self.plan.repetition.pause)

    def _estimate(self, turn: Turn) -> float | None:
        context = step_context(turn.step, turn.host, self._facts, self.addresses)
        return turn.step.suite.estimate(turn.step.values, context).duration

    def _place(self, turn: Turn) -> Place:
        place = self._places.get(turn.place)
        if place is None:
            peer = turn.step.peer
            place = Place(
                turn.step,
                turn.host,
                step_context(turn.step, turn.host, self._facts, self.addresses),
                self._sessions[turn.host],
                None if peer is None else self._sessions[peer],
            )
            self._places[turn.place] = place
        return place

    def _close_place(self, key: tuple[str, str]) -> None:
        place = self._places.pop(key, None)
        if place is not None:
            self._problems.extend(place.close())

    def _close_places(self) -> None:
        for key in tuple(self._places):
            self._close_place(key)

    def _facts_after(self) -> Iterator[Event]:
        if self.control.stopped:
            return
        for host, session in self._sessions.items():
            yield from self._drained()
            try:
                yield FactsRead(host, Moment.AFTER, read_facts(session))
            except RemoteError as error:
                self._states.append(State.PARTIAL)
                self._problems.append(f"The facts after the run could not be read: {error}")

    def _close_hosts(self) -> dict[str, float]:
        self._watching = False
        cost: dict[str, float] = {}
        for host, telemetry in self._telemetry.items():
            if telemetry.cost is not None:
                cost[host] = telemetry.cost
            with contextlib.suppress(BenchwrightError):  # its host is gone, and the run says so already
                telemetry.stop()
        self._mailbox.join(5.0)
        for session in self._sessions.values():
            session.close()
        return cost

    def _state(self) -> State:
        for state in (State.FAILED, State.PARTIAL):
            if state in self._states:
                return state
        return State.DONE if self._states else State.FAILED


def _progress(schedule: Schedule) -> Progress:
    ahead = schedule.ahead()
    return Progress(ahead.done, ahead.total, ahead.seconds, ahead.exact)


def _named(host: str) -> str:
    return "this computer" if host == LOCAL else host
