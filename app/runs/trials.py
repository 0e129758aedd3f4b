"""Trials of a run: their order, and the work before and after each."""

import itertools
import logging
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property

from app.checks.catalogue import blocks
from app.events import Activity, Event, FindingRaised, Progress, State, StepEnded
from app.plans.plan import LOCAL, Step, host_label
from app.runs.control import DetachedError, StoppedError
from app.runs.duet import Duet
from app.runs.event_queue import IDLE, DefectError, Task, stepped
from app.runs.findings import not_profiled, streams_here
from app.runs.host_setup import HostSetup
from app.runs.host_step import HostSteps
from app.runs.phase import NOT_MEASURED, Phase
from app.runs.policies import decided, verdict_rules
from app.runs.request import RunRequest
from app.runs.run_hosts import RunHosts
from app.runs.schedule import Schedule, Slot, StepKey
from app.runs.trial import TrialRun
from remote.errors import ConnectionLostError
from suites.errors import BenchwrightError
from suites.evidence import STOPPED
from suites.quantities import duration_text
from suites.vocab import Finding

log = logging.getLogger(__name__)

NAMED_PAUSE = 5.0
"""Seconds from which the pause between trials is an activity of its own."""

LATE = 1.0
"""Seconds beyond the telemetry interval to wait for a sample."""


class RunFailedError(BenchwrightError):
    """A step is blocked by a finding."""


class Trials:
    """Trials of a run, one after another; while the connection to a host is lost, trials on the others continue."""

    def __init__(self, request: RunRequest, hosts: RunHosts, setup: HostSetup, steps: HostSteps) -> None:
        self.request, self.hosts, self.setup, self.steps = request, hosts, setup, steps
        self.tasks: list[Task] = []
        """Running tasks: trials, and the clean-up of hosts that no trial needs any more."""
        self.measuring: list[TrialRun] = []
        """Running trials whose command has begun."""
        self.idle_since = 0.0
        """When the last trial was accounted for (monotonic seconds); 0 before."""
        self.link_changes = 0
        """Changes of connections until then."""
        self._streams_reported = False
        detached_run = request.detached_run
        self._last = (
            0 if detached_run is None else max((trial.trial.id for trial in detached_run.record.trials), default=0)
        )

    @cached_property
    def schedule(self) -> Schedule:
        """The schedule, made on first use, after the facts of the first hosts are read."""
        plan = self.request.plan
        return Schedule(plan, None, verdict_rules(plan, self.request.baseline, self.setup.facts))

    def events(self) -> Iterator[Event]:
        """Run trials until no step gets another or the run is over; yield their events."""
        control, schedule = self.request.control, self.schedule
        slots = schedule.slots_where(self._may_begin)
        ahead = True
        while ahead or self.tasks:
            control.raise_if_detached()
            self._note_phase()
            if control.over:
                self._end_free_hosts()
            else:
                yield from self.setup.step()
            yield from stepped(self.tasks)
            if control.stopped and not self.tasks:
                break
            at_once: tuple[Slot, ...] = ()
            if not self._is_busy(self.hosts.is_away) and not control.over:
                at_once = next(slots, ())
                ahead = bool(at_once) or not schedule.over()
            if at_once:
                yield self.progress()
                for trial in self._trials_at(at_once):
                    self.begin(TrialTask(self, trial))
            else:
                yield IDLE
        if control.stopped and not schedule.over():
            self.steps.outcome.problem(State.PARTIAL, STOPPED)
        yield self.progress()

    def _trials_at(self, at_once: Sequence[Slot]) -> list[TrialRun]:
        """Return the trials of `at_once`, which is one slot, or both of a duet."""
        made = []
        for slot in at_once:
            self._last += 1
            made.append(TrialRun(self._last, slot, self.steps.at(slot), self.request.control, measuring=self.measuring))
        if len(made) == 2:
            first, second = made
            steps = first.slot.step.name, second.slot.step.name
            first.duet = second.duet = Duet((first.id, second.id), steps, self.request.control)
        return made

    def begin(self, task: "TrialTask", ready: Generator[Event, None, bool] | None = None) -> None:
        """Add a trial to the tasks; for a detached trial, `ready` replaces TrialTask.ready()."""
        slot, self._last = task.trial.slot, max(self._last, task.trial.id)
        self.tasks.append(Task(task.events(ready or task.ready()), hosts_of(slot.step, slot.host)))

    def progress(self) -> Progress:
        """Return the progress of the run, and estimate the steps on hosts whose facts were read meanwhile."""
        plan, schedule, unreached = self.request.plan, self.schedule, list[StepKey]()
        for step, host in itertools.product(plan.steps, plan.hosts):
            key = step.name, host
            if hosts_of(step, host) & self.setup.failed.keys():
                unreached.append(key)
            elif not schedule.expected(key):
                schedule.estimated(key, self.steps.estimate(Slot(step.on(host), host, 1, warm_up=False)))
        ahead = schedule.forecast(unreached)
        return Progress(ahead.done, ahead.total, ahead.seconds, ahead.exact)

    def look_for_streams(self, slot: Slot) -> Iterator[Event]:
        """Report, once, that this computer is measured while runs on other hosts stream their results through it."""
        if not self._streams_reported and LOCAL in hosts_of(slot.step, slot.host):
            others = self.request.streams()
            if others:
                self._streams_reported = True
                yield FindingRaised(streams_here(others))

    def occupied(self) -> set[str]:
        """Return the hosts of the running tasks."""
        return {host for task in self.tasks for host in task.hosts}

    def _end_free_hosts(self) -> None:
        """Start ending the run on the hosts that no running trial needs; a host that hangs does not delay the rest."""
        occupied, plan = self.occupied(), self.request.plan
        for host in self.steps.hosts() | self.hosts.sessions.keys():
            steps = [plan.step(step) for step, at in self.steps.open_keys() if at == host]
            needed = {host}.union(*(hosts_of(step, host) for step in steps))
            if not occupied & needed and (steps or not self.steps.has_ended(host)):
                self.tasks.append(Task(self.steps.end_on(host), frozenset({host})))
                occupied.add(host)

    def _is_busy(self, is_lost: Callable[[str], bool]) -> bool:
        """Whether a task runs none of whose hosts `is_lost`; the next trial waits for it."""
        return any(not any(map(is_lost, task.hosts)) for task in self.tasks)

    def _note_phase(self) -> None:
        """Set the phase; RECONNECTING, which starts the patience with lost hosts, only if nothing else can run."""
        if self.request.control.over:
            self.hosts.phase.to(Phase.STOPPING)
        elif self.hosts.any_lost() and not self._is_busy(self.hosts.is_lost):
            self.hosts.phase.to(Phase.RECONNECTING)
        else:
            self.hosts.phase.to(Phase.MEASURING)

    def _may_begin(self, key: StepKey) -> bool:
        """Whether a trial of `key` may begin; also true if its host failed, so that it is recorded as not measured."""
        hosts = hosts_of(self.request.plan.step(key[0]), key[1])
        if hosts & self.setup.failed.keys():
            return True
        return hosts <= self.setup.ready - self.occupied() and not any(map(self.hosts.is_lost, hosts))


class TrialTask:
    """A trial with the work before and after it."""

    def __init__(self, trials: Trials, trial: TrialRun) -> None:
        self.trial = trial
        self.since = time.monotonic()
        """When its slot began (monotonic seconds); for a detached trial, before it was attached."""
        self.prepared = 0.0
        """Seconds for preparing the step, most of them before its first trial."""
        self._trials, self._request, self._hosts = trials, trials.request, trials.hosts
        self._steps, self._outcome = trials.steps, trials.steps.outcome

    def events(self, ready: Generator[Event, None, bool]) -> Iterator[Event]:
        """Get `ready`; if that returns true, run the trial and account for it. An error ends only it and its step."""
        trial, resumed = self.trial, self.trial.start_reported
        try:
            if not (yield from ready):
                return
            if trial.ended is None and (resumed or not self._request.control.over):
                yield from trial.events()
                self._note_outcome()
            yield from self._account()
            if not resumed and not self._trials.schedule.over():
                yield from self._pause()
        except DetachedError:
            raise
        except StoppedError:  # reported as STOPPED by Trials.events(), since the schedule is not over
            return
        except Exception as error:
            trial.leave_measuring()
            if not isinstance(error, BenchwrightError):
                log.exception("trial %d of the run %s", trial.id, self._request.run_id)
                error = DefectError(error)
            if trial.end_reported:
                self._outcome.problem(State.FAILED, str(error))
            elif trial.start_reported:
                yield from trial.broken_off(str(error))
                self._note_outcome()
            else:
                yield from self._never_began(error)
            yield from self._give_up()
        finally:
            trial.leave()

    def _pause(self) -> Iterator[Event]:
        """Wait between trials; a long wait says how long it takes: a burst refills for 20 minutes."""
        pause = self._request.plan.repetition.pause
        if pause >= NAMED_PAUSE:
            until = (datetime.now(UTC) + timedelta(seconds=pause)).astimezone()
            yield Activity(f"pause of {duration_text(pause)} until {until:%H:%M:%S}", self.trial.slot.host)
        yield from self._hosts.queue.pause(pause)

    def ready(self) -> Generator[Event, None, bool]:
        """Prepare the step if needed; return false if the trial cannot run and its step is given up."""
        trial, slot, control, schedule = self.trial, self.trial.slot, self._request.control, self._trials.schedule
        failed = self._trials.setup.failed
        unreached = hosts_of(slot.step, slot.host) & failed.keys()
        if unreached:
            yield from self._not_measured(failed[min(unreached)])
            yield from self._give_up()
            return False
        unfit = yield from self._unfit()
        if unfit:
            schedule.give_up(slot)
            self._outcome.problem(State.PARTIAL, unfit)
            yield from self._steps.close(slot.key)
            return False
        self.since = time.monotonic()
        yield from self._hosts.telemetry.switch(slot.host, on=slot.step.name not in self._request.unwatched)
        trial.expected = schedule.expected(slot.key)
        try:
            self._refuse_if_blocked()
            began = time.monotonic()
            yield from trial.host_step.prepare(trial.id)
            self.prepared = time.monotonic() - began
            if slot.profiled and not control.over:
                refused = yield from trial.host_step.try_profile(trial.id)
                if refused and not control.over:
                    yield FindingRaised(not_profiled(slot.step.name, slot.host, refused))
                    yield from self._give_up()
                    return False
            if not control.over:
                yield from self._trials.setup.root.before_trial(slot.host, trial.id)
        except BenchwrightError as error:
            yield from self._never_began(error)
        else:
            if not control.over:
                measured = slot.step.name if trial.duet is None else trial.duet.title
                place = f"{measured} on {host_label(slot.host)}"
                if slot.profiled:
                    yield Activity(f"profiling {place}, not counted", slot.host)
                else:
                    yield Activity(f"{'warming up' if slot.warm_up else 'measuring'} {place}", slot.host, measures=True)
        return True

    def _note_outcome(self) -> None:
        """Add how the trial ended to the outcome of the run, to which a profiled trial does not count."""
        if not self.trial.slot.profiled:
            self._outcome.ended(self.trial.slot.step.name, self.trial.ended)

    def _account(self) -> Iterator[Event]:
        """Report the trial to the schedule; close its step if it gets no further slot."""
        spent = time.monotonic() - self.since
        trial, slot, control, schedule = self.trial, self.trial.slot, self._request.control, self._trials.schedule
        if control.over and (trial.ended is None or trial.ended.stopped):
            return  # not counted: it remains to be run
        if trial.ended is None or trial.ended.state is not State.DONE:
            schedule.give_up(slot)
            if slot.profiled and trial.ended is not None:
                yield FindingRaised(not_profiled(slot.step.name, slot.host, trial.ended.reason.rstrip(".")))
        else:
            yield from self._hosts.leases.look(slot.host)
            yield from self._trials.look_for_streams(slot)
            self._learn_gap()
            yield from decided(schedule.record_trial(slot, trial.ended.parsed.figures, trial.seconds, spent))
        if trial.duet is not None:
            yield from trial.duet.count(trial.id, "" if trial.ended is None else trial.ended.reason)
        if not schedule.open(slot.key) and not control.detached:
            yield from self._await_last_sample()
            yield from self._steps.close(slot.key)
            yield StepEnded(slot.step.name, slot.host)

    def _learn_gap(self) -> None:
        """Record the time since the last trial ended, without this one.

        Not for the second side of a duet, nor if a connection was lost or made meanwhile: that is no usual gap.
        """
        trials, now = self._trials, time.monotonic()
        changes, trials.link_changes = trials.link_changes, self._hosts.link_changes
        began, trials.idle_since = trials.idle_since or self.since, now
        gap = now - began - self.trial.seconds - self.prepared
        if gap >= 0 and changes == trials.link_changes:
            trials.schedule.record_gap(gap - (self._request.plan.repetition.pause if began != self.since else 0.0))

    def _give_up(self) -> Iterator[Event]:
        slot = self.trial.slot
        self._trials.schedule.give_up(slot)
        yield from self._steps.close(slot.key)
        yield StepEnded(slot.step.name, slot.host)

    def _not_measured(self, error: BenchwrightError) -> Iterator[Event]:
        """Record that the trial was not measured because a host was not reached."""
        yield from self.trial.not_measured(f"{NOT_MEASURED}{error}")
        self._outcome.ended(self.trial.slot.step.name, self.trial.ended)

    def _never_began(self, error: BenchwrightError) -> Iterator[Event]:
        """Record why the trial did not begin: its host was lost, or its step cannot run there."""
        lost = isinstance(error, ConnectionLostError)
        if self._request.control.stopped:
            self._outcome.problem(State.PARTIAL, STOPPED)
            if not lost:  # a lost host is reported when its step is closed
                self._outcome.problem(State.PARTIAL, str(error))
        elif lost:
            yield from self._not_measured(error)
        else:
            yield from self.trial.refused(str(error))
            self._note_outcome()

    def _await_last_sample(self) -> Iterator[Event]:
        """Wait for the telemetry sample after the trial's end: it holds the counters of the last interval."""
        host, ended = self.trial.slot.host, self.trial.ended_clock
        deadline = time.monotonic() + self._request.interval + LATE
        while ended is not None and not self._hosts.telemetry.covers(host, ended):
            if self._request.control.over or time.monotonic() > deadline:
                return
            yield IDLE

    def _unfit(self) -> Generator[Event, None, str]:
        """Return why the trial's hosts cannot be measured any more, empty if they can."""
        slot = self.trial.slot
        for host in dict.fromkeys([slot.host, slot.step.peer or slot.host]):
            reason = yield from self._hosts.unfit(host)
            if reason:
                return reason
        return ""

    def _refuse_if_blocked(self) -> None:
        """Raise RunFailedError if a finding blocks the step on this host."""
        slot = self.trial.slot

        def is_blocking(finding: Finding) -> bool:
            return blocks(finding) and finding.step == slot.step.name and finding.host in {None, slot.host}

        blocking = next(filter(is_blocking, self._trials.setup.findings), None)
        if blocking is not None:
            raise RunFailedError(f"{blocking.title} on {host_label(slot.host)}: {blocking.measured}", blocking.remedy)


def hosts_of(step: Step, host: str) -> frozenset[str]:
    """Return the hosts that a trial of `step` on `host` uses exclusively."""
    return frozenset({host, step.peer or host})
