"""A plan as executed: facts, findings, trials in order, facts again; one stream of events."""

import logging
import math
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

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
    Trial,
    TrialAttached,
    TrialEnded,
    TrialStarted,
)
from app.moments import now
from app.plans.agreed_memory import AgreedMemory
from app.plans.context import step_context
from app.plans.plan import Plan, Step, host_words
from app.records import RunRecord
from app.runs.asking import OneAtATime
from app.runs.control import Control, HostInUseError, LeftError, StoppedError
from app.runs.findings import CLOCK_STEPPED, clocks_apart
from app.runs.joining import Joining
from app.runs.left import LeftRun, seconds_since
from app.runs.mailbox import IDLE, TICK, Mailbox
from app.runs.place import Place
from app.runs.policies import decided, unsteady_starts, verdict_rules
from app.runs.resume import OrphanError, beside, end_orphans, feed, find_trial, restored_places, turn_of
from app.runs.root_work import RootWork
from app.runs.run_hosts import RunHosts
from app.runs.run_state import NOT_MEASURED, RunState
from app.runs.schedule import PlaceKey, Schedule, Turn
from app.runs.tasks import DefectError, Task, stepped, together
from app.runs.trial import NEVER_BEGAN, STOPPED, TrialRun
from remote.errors import ConnectionLostError
from remote.link import PATIENCE, Patience
from remote.probe import read_facts
from remote.questions import Asker, Refuse
from remote.session import Session
from suites.errors import BenchwrightError
from suites.facts import Facts
from suites.vocab import Finding

log = logging.getLogger(__name__)

Output = tuple[tuple[str, bytes], ...]

LATE = 1.0
"""Seconds beyond its interval that a look at a host may take to arrive, before it is no longer waited for."""


class RunFailedError(BenchwrightError):
    """The run could not begin."""


@dataclass(slots=True)
class Engine:
    """Executes one plan. `connect` opens a session on a host; `addresses` is how this computer reaches each.

    Trials are made one after another. Hosts are independent all the same: one that is not reached keeps no other
    waiting, and while the connection to one is lost the others are measured; its trial is read on once it is back.

    With `left` it goes on with a detached run; `stored_output` is then what of a trial is stored.
    """

    run_id: str
    plan: Plan
    connect: Callable[[str, Asker], Session]
    control: Control
    addresses: Mapping[str, str] = field(default_factory=dict)
    interval: float = 1.0  # seconds between two looks at the host itself
    baseline: RunRecord | None = None  # what a plan runs against that is to run until its verdict is settled
    left: LeftRun | None = None
    stored_output: Callable[[int], Output] = lambda _trial: ()
    take_over: Callable[[], None] = lambda: None  # called before anything of a run that is gone on with is changed
    patience: Patience = PATIENCE
    unwatched: frozenset[str] = frozenset()  # steps during whose trials their host has no telemetry
    refused: bool = False  # whether it raised before anything was done
    asker: Asker = field(default_factory=Refuse)  # asked for what root needs
    agreed: Mapping[str, str] = field(default_factory=dict)  # SHA-256 of the local files that may be copied, by path
    memory: AgreedMemory | None = None  # of the losses that were confirmed on this computer
    _hosts: RunHosts = field(init=False)
    _root: RootWork = field(init=False)
    _joining: Joining = field(init=False)
    _tasks: list[Task] = field(default_factory=list)  # trials under way
    _measuring: list[TrialRun] = field(default_factory=list)  # those of them whose command has begun
    _last: int = 0  # the id of the last trial
    _facts: dict[str, Facts] = field(default_factory=dict)
    _places: dict[PlaceKey, Place] = field(default_factory=dict)
    _findings: list[Finding] = field(default_factory=list)
    _stepped: set[str] = field(default_factory=set)  # hosts whose clock was seen to be set
    _seen: dict[str, float] = field(default_factory=dict)  # when telemetry last looked, by the host's monotonic clock
    _ends: RunState = field(default_factory=RunState)
    _closed: set[str] = field(default_factory=set)  # hosts on which the run is ended
    _opened: bool = False

    def __post_init__(self) -> None:
        mailbox = Mailbox(self.control)
        asking = OneAtATime(self.asker, mailbox)
        self._hosts = RunHosts(
            self.run_id,
            lambda host: self.connect(host, asking),
            mailbox,
            self.control,
            interval=self.interval,
            patience=self.patience,
        )
        self._root = RootWork(self.run_id, self.plan, asking, self._hosts)
        self._joining = Joining(
            self.plan, self._hosts, self._root, self.control, asking, self.addresses, self.left, self._facts,
            self._findings, self.memory,
        )  # fmt: skip
        if self.left is not None:
            for record in self.left.record.changes:
                if record.pending:
                    self._root.changed.setdefault(record.change.host, set()).add(record.change.path)
            self._facts.update(self.left.record.facts_before)
            self._findings.extend(self.left.record.findings)
            self._last = max((trial.trial.id for trial in self.left.record.trials), default=0)
            self._ends = RunState.of(self.left.record.trials)

    @property
    def _mailbox(self) -> Mailbox:
        return self._hosts.mailbox

    def events(self) -> Iterator[Event]:
        """Run the plan; yield everything that happens. The first event is RunStarted or RunAttached, the last
        RunEnded, or RunLeft where the user lets go of the run.

        Raises HostInUseError where somebody else measures a host, and what kept a detached run from
        being attached: nothing was changed then.
        """
        for event in self._events():
            for happened in (event,) if event is not IDLE else self._mailbox.arrived(TICK):
                if isinstance(happened, FindingRaised) and happened.finding.id == CLOCK_STEPPED:
                    self._stepped.add(happened.finding.host or "")
                if isinstance(happened, TelemetryRead):
                    self._seen[happened.host] = happened.samples[-1].time
                yield happened

    def _events(self) -> Iterator[Event]:
        left_alone = False
        yield self._beginning()
        try:
            try:
                yield from self._measured()
                self._hosts.give_up()
                yield from self._end_hosts()
            except LeftError:
                left_alone = True
                self._hosts.give_up()
                yield from self._end_hosts(left_alone=True)
        except BaseException:
            # Refused, a defect of ours, or nobody listens any more: whatever it is, nothing stays behind.
            self._hosts.give_up()
            self._finish(self._end_hosts(left_alone=self.left is not None and not self._opened))
            raise
        finally:
            self._root.close()
            refused = self.left is not None and not self._opened
            cost, held = self._hosts.close(keep=left_alone or self.control.lost, refused=refused and not left_alone)
            self._ends.problems += held
        yield RunLeft(self.run_id) if left_alone else RunEnded(self.run_id, self._ends.state, self._ends.reason, cost)

    def _finish(self, work: Iterator[Event]) -> None:
        """Do `work` to its end, where nobody takes events any more."""
        with suppress(LeftError):
            for event in work:
                if event is IDLE:
                    list(self._mailbox.arrived(TICK))

    def _end_hosts(self, *, left_alone: bool = False) -> Iterator[Event]:
        """End the run on every host, side by side."""
        hosts = dict.fromkeys([*(host for _, host in self._places), *self._hosts.sessions])
        yield from together([self._end_on(host, left_alone=left_alone) for host in hosts])

    def _end_on(self, host: str, *, left_alone: bool = False) -> Iterator[Event]:
        """Close the places of `host` and put back what was changed there; of a run that is `left_alone`, only close
        those where nothing was prepared.
        """
        if self.control.lost:
            return
        for key in [key for key, place in self._places.items() if key[1] == host]:
            if not (left_alone and self._places[key].prepared):
                yield from self._close_place(key)
        if not left_alone and host not in self._closed:
            self._closed.add(host)
            self._ends.problems += yield from self._root.put_back([host])

    def _beginning(self) -> Event:
        if self.left is None:
            return RunStarted(self.run_id, self.plan, now())
        return RunAttached(self.run_id, self.plan, seconds_since(self.left.record.summary.started))

    def _measured(self) -> Iterator[Event]:
        if self.left is not None and self.control.stopped:
            self.control.hold_clock()
        try:
            yield from self._open()
            self.control.start_clock()
            yield from self._trials()
            yield from self._facts_after()
        except StoppedError:
            self._ends.problem(State.PARTIAL, STOPPED)
        except BenchwrightError as error:
            self.refused = isinstance(error, HostInUseError) or (self.left is not None and not self._opened)
            if self.refused:
                raise
            if self.control.stopped:
                self._ends.problem(State.PARTIAL, STOPPED)
            self._ends.problem(State.PARTIAL if self.control.stopped else State.FAILED, str(error))

    def _names(self) -> tuple[str, ...]:
        """Return the hosts to be reached: those where something was left, or, unless stopped, trials are to be made."""
        hosts, needed = self.plan.hosts, self._joining.needed
        peers = [step.peer for step in self.plan.steps if step.peer is not None]
        if self.left is not None and self.control.stopped:
            return tuple(host for host in dict.fromkeys([*hosts, *peers]) if host in needed)
        if self.left is not None:
            schedule = Schedule(self.plan)
            feed(schedule, self.left)
            hosts = tuple(host for host in hosts if host in needed or schedule.measures(host))
        return tuple(dict.fromkeys([*hosts, *peers]))

    def _open(self) -> Iterator[Event]:
        self._joining.take_over = self.take_over
        if self.left is not None:
            running = [trial.trial for trial in self.left.record.trials if trial.state is State.RUNNING]
            held = {used.where for used in self.left.workspaces} | {trial.host for trial in running}
            self._joining.needed = frozenset(
                held | {self.plan.step(trial.step).peer or trial.host for trial in running}
            )
        yield from self._joining.begin(self._names())
        if self.left is not None:
            yield from self._end_orphans(self.left)
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
            self._ends.problems.append(str(error))
        else:
            yield from map(AttemptEnded, untold)

    def _trials(self) -> Iterator[Event]:
        schedule = self._schedule()
        if self.left is not None:
            yield from self._take_up(self.left, schedule)
        turns = schedule.turns_where(self._may_begin)
        ahead = True
        while ahead or self._tasks:
            if self.control.left:
                raise LeftError
            if self.control.over:
                self._end_free_hosts()
            else:
                yield from self._joining.step()
            yield from stepped(self._tasks)
            if self.control.stopped and not self._tasks:
                break
            turn = None
            if not self._is_busy(self._hosts.is_away) and not self.control.over:
                turn = next(turns, None)
                ahead = turn is not None or not schedule.over()
            if turn is not None:
                yield _progress(schedule)
                self._last += 1
                trial = TrialRun(self._last, turn, self._place(turn), self.control, None)
                self._begin(trial, schedule, self._turn(trial, schedule))
            else:
                self._note_waiting()
                yield IDLE
        self._hosts.waited_since = min(self._hosts.waited_since, time.monotonic())
        if self.control.stopped and not schedule.over():
            self._ends.problem(State.PARTIAL, STOPPED)
        yield _progress(schedule)

    def _end_free_hosts(self) -> None:
        """Begin to end the run on the hosts that no trial under way needs: one that hangs keeps no other."""
        occupied = {host for task in self._tasks for host in task.hosts}
        for host in {host for _, host in self._places} | self._hosts.sessions.keys():
            steps = [self.plan.step(step) for step, at in self._places if at == host]
            needed = {host}.union(*(_hosts_of(step, host) for step in steps))
            if not occupied & needed and (steps or host not in self._closed):
                self._tasks.append(Task(self._end_on(host), frozenset({host})))
                occupied.add(host)

    def _is_busy(self, is_gone: Callable[[str], bool]) -> bool:
        """Whether a trial is under way of whose hosts none `is_gone`: trials are made one after another."""
        return any(not any(map(is_gone, task.hosts)) for task in self._tasks)

    def _note_waiting(self) -> None:
        """Let the patience with a lost host begin once there is nothing else to do."""
        if self._is_busy(self._hosts.is_lost):
            self._hosts.waited_since = math.inf
        elif self._hosts.waited_since == math.inf:
            self._hosts.waited_since = time.monotonic()

    def _may_begin(self, place: PlaceKey) -> bool:
        """Whether a trial at `place` may begin, or be passed over since a host has failed."""
        hosts = _hosts_of(self.plan.step(place[0]), place[1])
        if hosts & self._joining.failed.keys():
            return True
        occupied = {host for task in self._tasks for host in task.hosts}
        return hosts <= self._joining.ready - occupied and not any(map(self._hosts.is_lost, hosts))

    def _begin(self, trial: TrialRun, schedule: Schedule, work: Iterator[Event], *, told: bool = False) -> None:
        turn = trial.turn
        self._tasks.append(Task(self._alone(trial, schedule, work, told=told), _hosts_of(turn.step, turn.host)))

    def _alone(self, trial: TrialRun, schedule: Schedule, work: Iterator[Event], *, told: bool) -> Iterator[Event]:
        """Make `trial` by `work`; what goes wrong ends it and its place, and no other. `told`: its start is stored."""
        ended = False
        try:
            for event in work:
                told = told or isinstance(event, TrialStarted)
                ended = ended or isinstance(event, TrialEnded)
                yield event
        except LeftError:
            raise
        except StoppedError:  # the schedule is not over, which says so
            return
        except Exception as error:
            if not isinstance(error, BenchwrightError):
                log.exception("trial %d of the run %s", trial.id, self.run_id)
                error = DefectError(error)
            if ended:
                self._ends.problem(State.FAILED, str(error))
            elif told:
                yield from trial.broken_off(str(error))
                self._ends.ended(trial.turn.step.name, trial.ended)
            else:
                yield from self._never_began(trial, error)
            yield from self._give_up(trial.turn, schedule)

    def _turn(self, trial: TrialRun, schedule: Schedule) -> Iterator[Event]:
        """Make one trial, and what belongs to it before and after."""
        turn = trial.turn
        failed = _hosts_of(turn.step, turn.host) & self._joining.failed.keys()
        if failed:
            yield from self._not_measured(trial, self._joining.failed[min(failed)])
            yield from self._give_up(turn, schedule)
            return
        unfit = yield from self._unfit(turn)
        if unfit:
            yield from self._pass_over(turn, schedule, unfit)
            return
        began = time.monotonic()
        yield from self._hosts.watch_or_not(turn.host, watched=turn.step.name not in self.unwatched)
        if not schedule.expected(turn.place):
            schedule.estimated(turn.place, self._estimate(turn))
        trial.expected = schedule.expected(turn.place)
        yield from self._one(trial)
        yield from self._account(trial, schedule, time.monotonic() - began)
        if not schedule.over():
            yield from self._hosts.pause(self.plan.repetition.pause)

    def _give_up(self, turn: Turn, schedule: Schedule) -> Iterator[Event]:
        schedule.give_up(turn)
        yield from self._close_place(turn.place)
        yield StepEnded(turn.step.name, turn.host)

    def _not_measured(self, trial: TrialRun, error: BenchwrightError) -> Iterator[Event]:
        """Say of a trial that a host was not reached for it."""
        yield from trial.not_measured(f"{NOT_MEASURED}{error}")
        self._ends.ended(trial.turn.step.name, trial.ended)

    def _never_began(self, trial: TrialRun, error: BenchwrightError) -> Iterator[Event]:
        """Say of a trial why it did not begin: its host was lost, or its step cannot run there."""
        if self.control.stopped:
            self._ends.problem(State.PARTIAL, STOPPED)
            if not isinstance(error, ConnectionLostError):  # the end of its place says what that means
                self._ends.problem(State.PARTIAL, str(error))
        elif not isinstance(error, ConnectionLostError):
            yield from trial.refused(str(error))
            self._ends.ended(trial.turn.step.name, trial.ended)
        else:
            yield from self._not_measured(trial, error)

    def _schedule(self) -> Schedule:
        estimates = {
            (step.name, host): self._estimate(Turn(step, host, 1, warm_up=False))
            for step in self.plan.steps
            for host in self.plan.hosts
        }
        return Schedule(self.plan, estimates, verdict_rules(self.plan, self.baseline, self._facts))

    def _take_up(self, left: LeftRun, schedule: Schedule) -> Iterator[Event]:
        """Go on with a detached run: tell the schedule what is done, and follow what is under way."""
        yield from feed(schedule, left)
        for place in restored_places(left, self._place):
            self._places[place.step.name, place.host] = place
        yield from self._end_hosts(left_alone=True)
        for record in left.record.trials:
            if record.state is State.RUNNING:
                turn = turn_of(left.record.plan, record.trial)
                trial = TrialRun(record.trial.id, turn, self._place(turn), self.control, schedule.expected(turn.place))
                self._begin(trial, schedule, self._take_up_trial(left, record.trial, trial, schedule), told=True)
        under_way = {host for task in self._tasks for host in task.hosts}
        for key in tuple(self._places):
            if not schedule.open(key) and not _hosts_of(self.plan.step(key[0]), key[1]) & under_way:
                yield from self._close_place(key)

    def _take_up_trial(self, left: LeftRun, taken: Trial, trial: TrialRun, schedule: Schedule) -> Iterator[Event]:
        began = time.monotonic()
        sessions = self._hosts.sessions | self._hosts.roots
        find = partial(find_trial, left, taken, sessions, self.stored_output(taken.id))
        trial.left = yield from self._mailbox.during(find)
        trial.beside |= beside(left, taken)
        yield _progress(schedule)
        yield from self._followed(trial) if trial.left is not None else trial.broken_off(NEVER_BEGAN)
        self._ends.ended(trial.turn.step.name, trial.ended)
        yield from self._account(trial, schedule, time.monotonic() - began + left.age)

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
            yield from self._never_began(trial, error)
            return
        if not self.control.over:
            yield Activity(f"measuring {trial.turn.step.name} on {host_words(trial.turn.host)}", trial.turn.host)
            yield from self._followed(trial)
            self._ends.ended(trial.turn.step.name, trial.ended)

    def _followed(self, trial: TrialRun) -> Iterator[Event]:
        """Run `trial`, and note on those that are under way at once that they are."""
        try:
            for event in trial.events():
                if isinstance(event, TrialStarted | TrialAttached):
                    for other in self._measuring:
                        other.beside.add(trial.turn.host)
                        trial.beside.add(other.turn.host)
                    self._measuring.append(trial)
                yield event
        finally:
            if trial in self._measuring:
                self._measuring.remove(trial)

    def _account(self, trial: TrialRun, schedule: Schedule, spent: float) -> Iterator[Event]:
        """Tell the schedule how a trial went, and close the place that gets no other."""
        if self.control.over and (trial.ended is None or trial.ended.reason == STOPPED):
            return  # it is still to be made
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
            yield IDLE

    def _unfit(self, turn: Turn) -> Generator[Event, None, str]:
        """Return why nothing more can be measured where `turn` would run, empty where it can."""
        for host in dict.fromkeys([turn.host, turn.step.peer or turn.host]):
            reason = yield from self._hosts.unfit(host)
            if reason:
                return reason
        return ""

    def _pass_over(self, turn: Turn, schedule: Schedule, reason: str) -> Iterator[Event]:
        schedule.give_up(turn)
        self._ends.problem(State.PARTIAL, reason)
        yield from self._close_place(turn.place)

    def _blocked(self, turn: Turn) -> Finding | None:
        for finding in self._findings:
            if blocks(finding) and finding.step == turn.step.name and finding.host in {None, turn.host}:
                return finding
        return None

    def _estimate(self, turn: Turn) -> float | None:
        if turn.host not in self._facts:  # it is still on its way
            return None
        context = step_context(turn.step, turn.host, self._facts, self.addresses)
        return turn.step.suite.estimate(turn.step.values, context).duration

    def _place(self, turn: Turn) -> Place:
        if turn.place not in self._places:
            context = step_context(turn.step, turn.host, self._facts, self.addresses)
            self._places[turn.place] = Place(turn.step, turn.host, context, self._hosts, agreed=self.agreed)
        return self._places[turn.place]

    def _close_place(self, key: PlaceKey) -> Iterator[Event]:
        place = self._places.pop(key, None)
        if place is not None:
            others = sum(other.cleans_up for (_, host), other in self._places.items() if host == key[1])
            self._ends.problems += yield from place.close(others=others)

    def _facts_after(self) -> Iterator[Event]:
        if self.control.left:
            raise LeftError
        if self.control.stopped:
            return
        yield from together(map(self._facts_of, sorted(self._joining.ready)))
        if self.control.left:
            raise LeftError

    def _facts_of(self, host: str) -> Iterator[Event]:
        try:
            read = partial(read_facts, self._hosts.sessions[host])
            after = yield from self._mailbox.during(read, until_over=True)
        except BenchwrightError as error:
            self._ends.problem(State.PARTIAL, f"The facts after the run could not be read: {error}")
            return
        yield FactsRead(host, Moment.AFTER, after)
        if host not in self._stepped:
            yield from map(FindingRaised, clocks_apart(host, self._facts[host], after))


def _hosts_of(step: Step, host: str) -> frozenset[str]:
    """Return the hosts on which a trial of `step` on `host` needs to be alone."""
    return frozenset({host, step.peer or host})


def _progress(schedule: Schedule) -> Progress:
    ahead = schedule.ahead()
    return Progress(ahead.done, ahead.total, ahead.seconds, ahead.exact)
