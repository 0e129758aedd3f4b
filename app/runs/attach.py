"""Attach to detached runs: follow the commands still running on their hosts, or end runs whose trials are complete."""

import logging
import shlex
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial

from app.detached_runs import DetachedRun, StoredJob
from app.events import Event, FindingRaised, RunEnded, State, Trial, TrialStarted, apply_stages
from app.plans.plan import Order, Plan, Policy, host_label
from app.records import RunRecord, TrialRecord
from app.runs.control import Control
from app.runs.duet import Duet
from app.runs.orphans import followed_of, orphans_ended
from app.runs.phase import RunOutcome
from app.runs.policies import decided, verdict_rules
from app.runs.schedule import Schedule, Slot
from app.runs.trial import NEVER_BEGAN, PEER, DetachedTrial, TrialRun
from app.runs.trials import Trials, TrialTask, hosts_of
from app.store.errors import ReadOnlyError, StoreError
from app.store.recorder import Recorder
from app.store.store import Store
from app.verdict.stages import Verdicts
from remote.errors import JobError
from remote.jobs.job import RemoteJob
from remote.session import Session
from suites.base import Purpose
from suites.errors import BenchwrightError

log = logging.getLogger(__name__)

Baseline = Callable[[str], RunRecord]
"""Return the run of a baseline by the baseline's name; raise BenchwrightError if there is none."""

Output = tuple[tuple[str, bytes], ...]
"""Output of a trial: (stream, bytes) in order of arrival."""


class Attachment:
    """Resumption of the detached run `run`; `stored_output` is that of its running trials, by trial id."""

    def __init__(self, run: DetachedRun, stored_output: Mapping[int, Output], trials: Trials) -> None:
        self._run, self._stored_output = run, stored_output
        self._trials, self._steps, self._hosts = trials, trials.steps, trials.hosts
        self._duets: dict[tuple[str, int, bool], Duet] = {}  # by host, number and warm-up

    def begin(self) -> Iterator[Event]:
        """Feed finished trials to the schedule, adopt trials whose start is not stored, end all other commands.

        Raises OrphanError if one may still run.
        """
        yield from replay_trials(self._trials.schedule, self._run)
        yield self._trials.progress()
        for job in self._run.unstored:
            yield from self._adopt(job)
        yield from orphans_ended(self._run, self._hosts, self._steps.outcome)

    def _adopt(self, job: StoredJob) -> Iterator[Event]:
        """Record the start of a trial, unless its command verifiably never began: the trial then runs anew."""
        used = next((used for used in self._run.workspaces if used.workspace.nonce == job.workspace.nonce), None)
        session = (self._hosts.sessions | self._hosts.roots).get(job.where)
        if used is None or session is None:
            return
        began = job.began
        try:
            if began is None:
                find = partial(RemoteJob.find_or_prevent, session, job.workspace, job.directory)
                found = yield from self._hosts.queue.during(find)
                if found is None:
                    return
                began = found.began
        except JobError:  # it may have begun: the trial ends with this error once its command is looked for again
            log.info("trial %d of %s", job.trial, self._run.id, exc_info=True)
        trial = self._trial(job.trial, self._trials.schedule.next_slot((used.step, used.host)))
        clock = None if began is None else began.clock
        made = replace(trial.described(clock), started=self._run.since)  # recorded until just after its start
        record = TrialRecord(made, State.RUNNING, None, None)
        self._run = replace(self._run, record=replace(self._run.record, trials=(*self._run.record.trials, record)))
        yield TrialStarted(made, trial.expected)

    def _trial(self, number: int, slot: Slot) -> TrialRun:
        trials = self._trials
        made = TrialRun(number, slot, self._steps.at(slot), trials.request.control, measuring=trials.measuring)
        made.expected, made.start_reported = trials.schedule.expected(slot.key), True
        return made

    def resume(self) -> Iterator[Event]:
        """Reopen steps that may have directories, and follow the running trials."""
        run, trials, schedule = self._run, self._trials, self._trials.schedule
        self._restore_steps()
        yield from self._steps.end(detached=True)
        for record in run.under_way:
            trial = self._trial(record.trial.id, slot_of(run.record.plan, record.trial))
            trial.duet = self._duet_of(record)
            task = TrialTask(trials, trial)
            trials.begin(task, self._found(record.trial, task))
        for step, host in self._steps.open_keys():
            needed = hosts_of(run.record.plan.step(step), host)
            if not schedule.open((step, host)) and not needed & trials.occupied():
                yield from self._steps.close((step, host))

    def _duet_of(self, record: TrialRecord) -> Duet | None:
        """Return the duet of a running trial, one for both; None outside of one. An ended partner waits no longer."""
        plan, own = self._run.record.plan, record.trial
        if plan.order is not Order.DUET:
            return None
        at = own.host, own.number, own.warm_up
        if at not in self._duets:
            pair = {one.trial.step: one for one in self._run.record.trials if _place(one) == at}
            ids = tuple(pair[step.name].trial.id if step.name in pair else -1 for step in plan.steps)
            duet = Duet((ids[0], ids[1]), (plan.steps[0].name, plan.steps[1].name), self._trials.request.control)
            for step, number in zip(plan.steps, ids, strict=True):
                partner = pair.get(step.name)
                if partner is None or partner.state is not State.RUNNING:
                    done = partner is not None and partner.state is State.DONE
                    duet.leave(number, done=done, reason="" if partner is None else partner.reason)
            self._duets[at] = duet
        return self._duets[at]

    def _restore_steps(self) -> None:
        """Reopen steps that may still have directories on hosts. A step with a started trial counts as prepared."""
        run = self._run
        begun = {(record.trial.step, record.trial.host) for record in run.record.trials}
        for used in run.workspaces:
            host_step = self._steps.at(Slot(run.record.plan.step(used.step).on(used.host), used.host, 1, warm_up=False))
            host_step.prepared = (used.step, used.host) in begun
            if used.on_peer:
                host_step.peer_workspace = used.workspace
            elif host_step.workspace is None:
                host_step.workspace = used.workspace
            else:
                host_step.volumes.append(used.workspace)

    def _found(self, taken: Trial, task: TrialTask) -> Generator[Event, None, bool]:
        """Find the trial that was running on its host, or end it if its command never began."""
        trial, run = task.trial, self._run
        task.since = time.monotonic() - run.age
        sessions = self._hosts.sessions | self._hosts.roots
        find = partial(find_trial, run, taken, sessions, self._stored_output.get(taken.id, ()))
        trial.overlapping |= overlapping(run, taken)  # also noted on a trial that is not found again
        trial.detached_trial = yield from self._hosts.queue.during(find)
        if trial.detached_trial is None:
            yield from trial.broken_off(NEVER_BEGAN)
            if not taken.profiled:
                self._steps.outcome.ended(trial.slot.step.name, trial.ended)
        return True


def _place(record: TrialRecord) -> tuple[str, int, bool]:
    """Return host, number and warm-up: both trials of a duet share them."""
    return record.trial.host, record.trial.number, record.trial.warm_up


def hosts_to_connect(plan: Plan, run: DetachedRun | None, control: Control) -> tuple[str, ...]:
    """Return the hosts to connect to: all hosts of a new run; of a detached run those that hold its commands or
    directories and, unless it is being stopped, those with remaining trials.
    """
    hosts, peers = plan.hosts, [step.peer for step in plan.steps if step.peer is not None]
    if run is not None and control.stopped:
        return tuple(host for host in dict.fromkeys([*hosts, *peers]) if host in run.needed)
    if run is not None:
        schedule = Schedule(plan)
        replay_trials(schedule, run)
        hosts = tuple(host for host in hosts if host in run.needed or schedule.measures(host))
    return tuple(dict.fromkeys([*hosts, *peers]))


def slot_of(plan: Plan, trial: Trial) -> Slot:
    """Return the slot of `trial`."""
    return Slot(plan.step(trial.step).on(trial.host), trial.host, trial.number, trial.warm_up, trial.profiled)


def replay_trials(schedule: Schedule, run: DetachedRun) -> list[FindingRaised]:
    """Feed the ended trials to `schedule`; return the findings that follow and are not stored yet."""
    known = {(finding.id, finding.step, finding.host) for finding in run.record.findings}
    found: list[FindingRaised] = []
    for record in run.record.trials:
        slot = slot_of(run.record.plan, record.trial)
        if record.state is State.DONE:
            seconds = record.duration or 0.0
            events = decided(schedule.record_trial(slot, record.figures, seconds, seconds))
            found += [event for event in events if isinstance(event, FindingRaised)]
        elif record.state is not State.RUNNING:
            schedule.give_up(slot)
    return [one for one in found if (one.finding.id, one.finding.step, one.finding.host) not in known]


def overlapping(run: DetachedRun, trial: Trial) -> set[str]:
    """Return the other hosts whose trials began after `trial`, which is still running, or are still running, too."""
    meanwhile = (
        record.trial for record in run.record.trials if record.trial.id > trial.id or record.state is State.RUNNING
    )
    return {other.host for other in meanwhile if other.clock is not None} - {trial.host}


def find_trial(run: DetachedRun, trial: Trial, sessions: Mapping[str, Session], output: Output) -> DetachedTrial | None:
    """Return the running trial with its commands located on their hosts; None if it planned no measuring command."""
    followed = followed_of(run, trial)
    measuring = next((job for job in followed if job.purpose is Purpose.MEASURE), None)
    if measuring is None:
        return None
    servers = [_find_job(job, sessions, output, PEER) for job in followed if job.purpose is Purpose.SERVE]
    return DetachedTrial(
        trial=trial,
        output=output,
        number=measuring.number,
        measuring=_find_job(measuring, sessions, output, ""),
        servers=tuple(server for server in servers if server is not None),
    )


def _find_job(stored: StoredJob, sessions: Mapping[str, Session], output: Output, prefix: str) -> RemoteJob | None:
    """Return the job on its host, to be read from the end of its stored output; None if it has not begun."""
    session = sessions[stored.where]
    began = stored.began
    if began is None:
        found = RemoteJob.find_or_prevent(session, stored.workspace, stored.directory)
        if found is None:  # another job is started instead
            return None
        began = found.began
    received = {
        stream: sum(len(data) for name, data in output if name == prefix + stream) - stored.before.get(stream, 0)
        for stream in ("stdout", "stderr")
    }
    return RemoteJob(session, stored.workspace, stored.directory, began, received=received)


# Runs that end without connecting to their hosts


def is_complete(run: DetachedRun, baseline: Baseline) -> bool:
    """Return whether the run has ended trials, none running, and its schedule needs no more."""
    record = run.record
    if run.under_way or not record.trials:
        return False
    try:
        schedule = _schedule(run, baseline)
        replay_trials(schedule, run)
        return schedule.over()
    except BenchwrightError:  # missing baseline or suite: attaching reports it
        return False


def _schedule(run: DetachedRun, baseline: Baseline) -> Schedule:
    plan, against = run.record.plan, None
    if plan.repetition.policy is Policy.UNTIL_VERDICT:
        against = baseline(plan.repetition.baseline)
    return Schedule(plan, {}, verdict_rules(plan, against, run.record.facts_before))


def concluded(run: DetachedRun, recorder: Recorder, baseline: Baseline, why: str = "") -> Iterator[Event]:
    """Record and yield the outstanding events of a complete run: its verdicts and its end.

    The run's reason includes `why` and lists what was not read from the hosts or may remain on them.
    """
    outcome = RunOutcome.of(run.record.trials)
    reason = " ".join([*outcome.problems, *([why] if why else []), *_absent(run)])
    events: list[Event] = [*replay_trials(_schedule(run, baseline), run), RunEnded(run.id, outcome.state, reason)]
    for event in apply_stages(events, Verdicts(recorder)):
        recorder.record(event)
        yield event


def _absent(run: DetachedRun) -> Iterator[str]:
    record = run.record  # a host that was never reached has no facts from before the run either
    unread = [host_label(host) for host in record.facts_before if host not in record.facts_after]
    if unread:
        yield f"Not read: facts of {', '.join(unread)} after the run (Benchwright ended first)."
    yield from remaining_parts(run)


def remaining_parts(run: DetachedRun) -> Iterator[str]:
    """Yield messages about what may remain on the hosts of a run that ends without connecting to them."""
    for used in run.workspaces:
        yield f"{used.workspace.path} may remain on {host_label(used.where)}."
    for host in dict.fromkeys(change.change.host for change in run.record.changes if change.pending):
        yield f"Settings of {host_label(host)} were not restored. Run: benchwright hosts restore {shlex.quote(host)}"


def conclude_interrupted(store: Store, baseline: Baseline) -> list[str]:
    """Conclude the interrupted runs that are complete; return their ids."""
    ended = []
    for run in store.interrupted():
        try:
            if is_complete(run, baseline):
                conclude(store, run.id, baseline)
                ended.append(run.id)
        except ReadOnlyError:
            return ended
        except StoreError as error:  # another process was first, or the run cannot be read
            log.info("the run %s was not concluded: %s", run.id, error)
    return ended


def conclude(store: Store, run_id: str, baseline: Baseline) -> None:
    """Record the verdicts and end of a complete run; raise StoreError if it has ended or another process records it."""
    taken = store.take_over(run_id)
    with closing(store.recorder(run_id, taken)) as recorder:
        for _ in concluded(taken, recorder, baseline):
            continue
