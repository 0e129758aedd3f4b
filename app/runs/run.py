"""A plan as executed: facts, findings, trials in order, facts again; one stream of events."""

import time
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from app.checks import check_plan
from app.checks.blocking import blocks
from app.events import (
    Activity,
    AttemptEnded,
    Event,
    FactsRead,
    FindingRaised,
    Moment,
    Progress,
    RunAttached,
    RunEnded,
    RunLeft,
    RunStarted,
    State,
    StepEnded,
    TelemetryRead,
)
from app.moments import now
from app.plans.context import loops_below, step_context
from app.plans.plan import Plan, Step, host_words
from app.records import RunRecord
from app.runs.control import Control, HostInUseError, LeftError, StoppedError
from app.runs.destruction import Confirming
from app.runs.findings import CLOCK_STEPPED, clocks_apart
from app.runs.left import LeftRun, seconds_since
from app.runs.mailbox import TICK, Mailbox, passed_on
from app.runs.place import Place
from app.runs.policies import decided, unsteady_starts, verdict_rules
from app.runs.resume import OrphanError, end_orphans, feed, find_trial, restored_places, turn_of
from app.runs.root_work import RootWork
from app.runs.run_hosts import RunHosts
from app.runs.schedule import PlaceKey, Schedule, Turn
from app.runs.trial import STOPPED, TrialRun
from remote.devices import read_devices
from remote.errors import RemoteError
from remote.link import PATIENCE, Patience
from remote.probe import read_facts
from remote.questions import Asker, Refuse
from remote.session import Session
from suites.base import Command, device_of, directories_of
from suites.errors import BenchwrightError
from suites.facts import Facts
from suites.vocab import Finding

Output = tuple[tuple[str, bytes], ...]

LATE = 1.0
"""Seconds beyond its interval that a look at a host may take to arrive, before it is no longer waited for."""


class RunFailedError(BenchwrightError):
    """The run could not begin."""


@dataclass(slots=True)
class Engine:
    """Executes one plan. `connect` opens a session on a host; `addresses` is how this computer reaches each.

    With `left` it goes on with a run that was left to itself; `stored_output` is then what of a trial is stored.
    """

    run_id: str
    plan: Plan
    connect: Callable[[str], Session]
    control: Control
    addresses: Mapping[str, str] = field(default_factory=dict)
    interval: float = 1.0  # seconds between two looks at the host itself
    baseline: RunRecord | None = None  # what a plan runs against that is to run until its verdict is settled
    left: LeftRun | None = None
    stored_output: Callable[[int], Output] = lambda _trial: ()
    patience: Patience = PATIENCE
    unwatched: frozenset[str] = frozenset()  # steps during whose trials their host has no telemetry
    refused: bool = False  # whether it raised before anything was done
    asker: Asker = field(default_factory=Refuse)  # asked for what root needs
    _hosts: RunHosts = field(init=False)
    _root: RootWork = field(init=False)
    _facts: dict[str, Facts] = field(default_factory=dict)
    _places: dict[PlaceKey, Place] = field(default_factory=dict)
    _findings: list[Finding] = field(default_factory=list)
    _stepped: set[str] = field(default_factory=set)  # hosts whose clock was seen to be set
    _seen: dict[str, float] = field(default_factory=dict)  # when telemetry last looked, by the host's monotonic clock
    _states: list[State] = field(default_factory=list)
    _problems: list[str] = field(default_factory=list)
    _opened: bool = False

    def __post_init__(self) -> None:
        self._hosts = RunHosts(
            self.run_id, self.connect, Mailbox(), self.control, interval=self.interval, patience=self.patience
        )
        self._root = RootWork(self.run_id, self.plan, self.asker, self._hosts)
        if self.left is not None:
            for record in self.left.record.changes:
                if record.pending:
                    self._root.changed.setdefault(record.change.host, set()).add(record.change.path)
            self._facts.update(self.left.record.facts_before)
            self._findings.extend(self.left.record.findings)
            ended = [trial for trial in self.left.record.trials if trial.state is not State.RUNNING]
            self._states += [trial.state for trial in ended]
            self._problems += [f"{trial.trial.step}: {trial.reason}" for trial in ended if trial.reason]

    @property
    def _mailbox(self) -> Mailbox:
        return self._hosts.mailbox

    def events(self) -> Iterator[Event]:
        """Run the plan; yield everything that happens. The first event is RunStarted or RunAttached, the last
        RunEnded, or RunLeft where the user lets go of the run.

        Raises HostInUseError where somebody else measures a host, and what kept a run that was left to itself from
        being attached: nothing was changed then.
        """
        for event in self._events():
            if isinstance(event, FindingRaised) and event.finding.id == CLOCK_STEPPED:
                self._stepped.add(event.finding.host or "")
            if isinstance(event, TelemetryRead):
                self._seen[event.host] = event.samples[-1].time
            yield event

    def _events(self) -> Iterator[Event]:
        left_alone = False
        yield self._beginning()
        try:
            try:
                yield from self._measured()
            except LeftError:
                left_alone = True
            self._hosts.give_up()
            if not self.control.lost:
                yield from self._close_places(only_unprepared=left_alone)
            if not (left_alone or self.control.lost):
                self._problems += yield from self._root.put_back()
        except BaseException:
            # Refused, a defect of ours, or nobody listens any more: whatever it is, nothing stays behind.
            self._hosts.give_up()
            refused = self.left is not None and not self._opened
            for _ in self._close_places(only_unprepared=refused):
                continue
            for _ in self._root.put_back() if not refused else ():
                continue
            raise
        finally:
            self._root.close()
            refused = self.left is not None and not self._opened
            cost = self._hosts.close(keep=left_alone or self.control.lost, refused=refused and not left_alone)
        yield RunLeft(self.run_id) if left_alone else RunEnded(self.run_id, self._state(), self._reason(), cost)

    def _beginning(self) -> Event:
        if self.left is None:
            return RunStarted(self.run_id, self.plan, now())
        return RunAttached(self.run_id, self.plan, seconds_since(self.left.record.summary.started))

    def _measured(self) -> Iterator[Event]:
        try:
            yield from self._open()
            yield from self._trials()
            yield from self._facts_after()
        except StoppedError:
            self._note_stop()
        except BenchwrightError as error:
            self.refused = isinstance(error, HostInUseError) or (self.left is not None and not self._opened)
            if self.refused:
                raise
            self._states.append(State.FAILED)
            self._problems.append(str(error))

    def _names(self) -> list[str]:
        peers = [step.peer for step in self.plan.steps if step.peer is not None]
        return list(dict.fromkeys([*self.plan.hosts, *peers]))

    def _open(self) -> Iterator[Event]:
        for host in self._names():
            yield Activity(f"connecting to {host_words(host)}", host)
            self._hosts.open(host)
            in_use = yield from self._hosts.claim(host)
            if in_use and self.left is None:
                raise HostInUseError(f"{in_use}.", "Wait until it is free, or say that it is to be measured anyway.")
            yield from self._refuse_where_it_lives(host)
            self._heed_control()
            self._hosts.watch(host)
            if host not in self._facts:
                yield Activity(f"reading the facts of {host_words(host)}", host)
                read = yield from self._mailbox.during(partial(self._read, host))
                self._facts[host] = read
                yield from self._root.open(host, self._purposes(host))
                self._facts[host] = yield from self._root.seen(read)
                yield FactsRead(host, Moment.BEFORE, self._facts[host])
            else:
                yield from self._root.open(host, self._purposes(host))
            self._hosts.watch_loops(host, loops_below(self.plan, host, self._facts[host]))
            if self.left is None:
                yield from self._root.find_leftovers(host)
            self._heed_control()
        if self.left is not None:
            yield from self._end_orphans(self.left)
        if self.left is None or not (self.left.record.trials or self._findings):
            yield from self._check()
            yield from self._root.apply()
        self._opened = True

    def _end_orphans(self, left: LeftRun) -> Iterator[Event]:
        """End what may still run of the run besides what is followed.

        Raises OrphanError where something is to be started: nothing is, beside what may still run.
        """
        end = partial(end_orphans, left, self._hosts.sessions | self._hosts.roots)
        try:
            untold = yield from self._mailbox.during(end)
        except OrphanError as error:
            if not self.control.stopped:
                raise
            self._problems.append(str(error))
        else:
            yield from map(AttemptEnded, untold)

    def _refuse_where_it_lives(self, host: str) -> Iterator[Event]:
        """Raise HostInUseError where a Benchwright that cannot be seen from here still watches `host` for this run."""
        if self.left is None or not self.left.unseen:
            return
        keeper = yield from self._hosts.kept_elsewhere(host)
        if keeper:
            raise HostInUseError(
                f"The run {self.run_id} is under way: {keeper}.",
                "Stop it there. If that Benchwright has ended, try again in a few minutes, or attach with --anyway.",
            )

    def _heed_control(self) -> None:
        """Go on to no other host once the run is over; one that was left to itself is reached to end it in order."""
        if self.control.left:
            raise LeftError
        if self.control.stopped and self.left is None:
            raise StoppedError

    def _read(self, host: str) -> Facts:
        session = self._hosts.sessions[host]
        devices = [device_of(step.suite, step.values) for step in self.plan.steps if host in self.plan.hosts]
        facts = read_facts(session, self._directories(host))
        return replace(facts, devices=read_devices(session, sorted({*devices} - {""})))

    def _purposes(self, host: str) -> list[str]:
        """Return in words what has to be done as root on `host`."""
        if host not in self.plan.hosts:
            return []
        steps = [step for step in self.plan.steps if any(command.root for command in self._commands(step, host))]
        return [*self.plan.tuning.purposes(), *(f"run {step.name}" for step in steps)]

    def _commands(self, step: Step, host: str) -> tuple[Command, ...]:
        return step.suite.commands(step.values, step_context(step, host, self._facts, self.addresses))

    def _directories(self, host: str) -> tuple[str, ...]:
        steps = self.plan.steps if host in self.plan.hosts else ()
        return tuple(sorted({path for step in steps for path in directories_of(step.suite, step.values)}))

    def _check(self) -> Iterator[Event]:
        findings = check_plan(self.plan, self._facts, self.addresses).findings
        for finding in Confirming(self.plan, self._facts, self.asker).settled(findings):
            self._findings.append(finding)
            yield FindingRaised(finding)

    def _trials(self) -> Iterator[Event]:
        schedule = self._schedule()
        last = 0
        if self.left is not None:
            last = max((trial.trial.id for trial in self.left.record.trials), default=0)
            yield from self._take_up(self.left, schedule)
        for number, turn in enumerate(schedule.turns(), last + 1):
            yield _progress(schedule)
            if self.control.left:
                raise LeftError
            if self.control.stopped:
                self._note_stop()
                return
            unfit = yield from self._unfit(turn)
            if unfit:
                yield from self._pass_over(turn, schedule, unfit)
                continue
            began = time.monotonic()
            self._hosts.watch_or_not(turn.host, watched=turn.step.name not in self.unwatched)
            trial = TrialRun(number, turn, self._place(turn), self.control, schedule.expected(turn.place))
            yield from self._one(trial)
            yield from self._account(trial, schedule, time.monotonic() - began)
            self._pause(not schedule.over())
        yield _progress(schedule)

    def _schedule(self) -> Schedule:
        estimates = {
            (step.name, host): self._estimate(Turn(step, host, 1, warm_up=False))
            for step in self.plan.steps
            for host in self.plan.hosts
        }
        return Schedule(self.plan, estimates, verdict_rules(self.plan, self.baseline, self._facts))

    def _take_up(self, left: LeftRun, schedule: Schedule) -> Iterator[Event]:
        """Go on with a run that was left to itself: tell the schedule what is done, and follow what is under way."""
        yield from feed(schedule, left)
        for place in restored_places(left, self._place):
            self._places[place.step.name, place.host] = place
        yield from self._close_places(only_unprepared=True)
        record = left.under_way
        if record is not None:
            began = time.monotonic()
            turn = turn_of(left.record.plan, record.trial)
            sessions = self._hosts.sessions | self._hosts.roots
            find = partial(find_trial, left, record.trial, sessions, self.stored_output(record.trial.id))
            found = yield from self._mailbox.during(find)
            expected = schedule.expected(turn.place)
            trial = TrialRun(record.trial.id, turn, self._place(turn), self.control, expected, found)
            yield _progress(schedule)
            yield from trial.events() if found is not None else trial.broken_off()
            self._note(trial)
            yield from self._account(trial, schedule, time.monotonic() - began + left.age)
        for key in tuple(self._places):
            if not schedule.open(key):
                yield from self._close_place(key)

    def _one(self, trial: TrialRun) -> Iterator[Event]:
        """Prepare where needed and run `trial`; a step that cannot run says why, as a failed trial."""
        blocked = self._blocked(trial.turn)
        try:
            if blocked is not None:
                raise RunFailedError(
                    f"{blocked.title} on {host_words(trial.turn.host)}: {blocked.measured}", blocked.remedy
                )
            yield from trial.place.prepare(self.control, trial.id)
            if not self.control.over:
                yield from self._root.before_trial(trial.turn.host, trial.id)
        except BenchwrightError as error:
            yield from trial.refused(str(error))
        else:
            if self.control.over:
                return
            yield Activity(f"measuring {trial.turn.step.name} on {host_words(trial.turn.host)}", trial.turn.host)
            yield from trial.events()
        self._note(trial)

    def _note_stop(self) -> None:
        self._states.append(State.PARTIAL)
        if not any(STOPPED in problem for problem in self._problems):
            self._problems.append(STOPPED)

    def _note(self, trial: TrialRun) -> None:
        if trial.ended is not None:
            self._states.append(trial.ended.state)
            if trial.ended.reason:
                self._problems.append(f"{trial.turn.step.name}: {trial.ended.reason}")

    def _account(self, trial: TrialRun, schedule: Schedule, spent: float) -> Iterator[Event]:
        """Tell the schedule how a trial went, and close the place that gets no other."""
        if trial.ended is None or trial.ended.state is not State.DONE:
            schedule.give_up(trial.turn)
        else:
            for finding in unsteady_starts(trial.turn, trial.ended.parsed):
                yield FindingRaised(finding, trial.id)
            yield from decided(schedule.took(trial.turn, trial.ended.parsed.figures, trial.seconds, spent))
        if not schedule.open(trial.turn.place) and not self.control.left:
            yield from self._last_look(trial)
            yield from self._close_place(trial.turn.place)
            yield StepEnded(trial.turn.step.name, trial.turn.host)

    def _last_look(self, trial: TrialRun) -> Iterator[Event]:
        """Wait for the look at the host that covers the trial's end: counters of its last second are read only then."""
        host, ended = trial.turn.host, trial.ended_clock
        deadline = time.monotonic() + self.interval + LATE
        while ended is not None and self._hosts.watches(host) and self._seen.get(host, 0.0) < ended:
            if self.control.over or time.monotonic() > deadline:
                return
            for letter in self._mailbox.take(TICK):
                yield from passed_on(letter)

    def _unfit(self, turn: Turn) -> Generator[Event, None, str]:
        """Return why nothing more can be measured where `turn` would run, empty where it can."""
        for host in dict.fromkeys([turn.host, turn.step.peer or turn.host]):
            reason = yield from self._hosts.unfit(host)
            if reason:
                return reason
        return ""

    def _pass_over(self, turn: Turn, schedule: Schedule, reason: str) -> Iterator[Event]:
        schedule.give_up(turn)
        self._states.append(State.PARTIAL)
        if reason not in self._problems:
            self._problems.append(reason)
        yield from self._close_place(turn.place)

    def _blocked(self, turn: Turn) -> Finding | None:
        for finding in self._findings:
            if blocks(finding) and finding.step == turn.step.name and finding.host in {None, turn.host}:
                return finding
        return None

    def _pause(self, more: bool) -> None:  # noqa: FBT001 (private, one caller)
        if more and self.plan.repetition.pause:
            self.control.wait(self.plan.repetition.pause)

    def _estimate(self, turn: Turn) -> float | None:
        context = step_context(turn.step, turn.host, self._facts, self.addresses)
        return turn.step.suite.estimate(turn.step.values, context).duration

    def _place(self, turn: Turn) -> Place:
        if turn.place not in self._places:
            context = step_context(turn.step, turn.host, self._facts, self.addresses)
            self._places[turn.place] = Place(turn.step, turn.host, context, self._hosts)
        return self._places[turn.place]

    def _close_place(self, key: PlaceKey) -> Iterator[Event]:
        place = self._places.pop(key, None)
        if place is not None:
            self._problems += yield from place.close()

    def _close_places(self, *, only_unprepared: bool = False) -> Iterator[Event]:
        for key, place in tuple(self._places.items()):
            if not (only_unprepared and place.prepared):
                yield from self._close_place(key)

    def _facts_after(self) -> Iterator[Event]:
        for host, session in self._hosts.sessions.items():
            if self.control.left:
                raise LeftError
            if self.control.stopped:
                return
            yield from self._mailbox.arrived()
            try:
                after = yield from self._mailbox.during(partial(read_facts, session))
            except RemoteError as error:
                self._states.append(State.PARTIAL)
                self._problems.append(f"The facts after the run could not be read: {error}")
                continue
            yield FactsRead(host, Moment.AFTER, after)
            if host not in self._stepped:
                yield from map(FindingRaised, clocks_apart(host, self._facts[host], after))

    def _reason(self) -> str:
        return " ".join(self._problems)

    def _state(self) -> State:
        for state in (State.FAILED, State.PARTIAL):
            if state in self._states:
                return state
        return State.DONE if self._states else State.FAILED


def _progress(schedule: Schedule) -> Progress:
    ahead = schedule.ahead()
    return Progress(ahead.done, ahead.total, ahead.seconds, ahead.exact)
