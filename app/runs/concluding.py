"""Ends a run whose every trial is made, though its Benchwright ended before it could say so: it needs no host."""

import logging
import shlex
from collections.abc import Callable, Iterator
from contextlib import closing

from app.events import Event, RunEnded
from app.judging.verdict_events import with_verdicts
from app.plans.plan import Policy, host_words
from app.records import RunRecord
from app.runs.left import LeftRun
from app.runs.policies import verdict_rules
from app.runs.resume import feed
from app.runs.run_state import RunState
from app.runs.schedule import Schedule
from app.store import Recorder, Store, StoreError
from app.store.errors import ReadOnlyError
from suites.errors import BenchwrightError

log = logging.getLogger(__name__)

Baseline = Callable[[str], RunRecord]
"""Returns the run that a name of a baseline means; raises BenchwrightError where there is none."""


def is_complete(left: LeftRun, baseline: Baseline) -> bool:
    """Return whether every trial of the run is made: its plan asks for no other."""
    record = left.record
    if left.under_way or not record.trials:
        return False
    try:
        schedule = _schedule(left, baseline)
        feed(schedule, left)
        return schedule.over()
    except BenchwrightError:  # a baseline that is gone, a suite of another program: who attaches will be told
        return False


def _schedule(left: LeftRun, baseline: Baseline) -> Schedule:
    plan, against = left.record.plan, None
    if plan.repetition.policy is Policy.UNTIL_VERDICT:
        against = baseline(plan.repetition.baseline)
    return Schedule(plan, {}, verdict_rules(plan, against, left.record.facts_before))


def concluded(left: LeftRun, recorder: Recorder, baseline: Baseline, why: str = "") -> Iterator[Event]:
    """Record and yield what is still to be said of a complete run: its verdicts and its end. `why` precedes the reason.

    What its hosts would tell is absent, and the run's reason says so.
    """
    stood = RunState.of(left.record.trials)
    reason = " ".join([*stood.problems, *([why] if why else []), *_absent(left)])
    events: list[Event] = [*feed(_schedule(left, baseline), left), RunEnded(left.id, stood.state, reason)]
    for event in with_verdicts(iter(events), recorder, resumed=True):
        recorder.record(event)
        yield event


def _absent(left: LeftRun) -> Iterator[str]:
    record = left.record  # of a host that was not reached, there are none from before either
    unread = [host_words(host) for host in record.facts_before if host not in record.facts_after]
    if unread:
        yield f"No facts after the run of {', '.join(unread)}: Benchwright ended before it read them."
    yield from left_behind(left)


def left_behind(left: LeftRun) -> Iterator[str]:
    """Yield in words what may still be on the hosts of a run that is ended without them."""
    for used in left.workspaces:
        yield f"{used.workspace.path} on {host_words(used.where)} may be left behind."
    for host in dict.fromkeys(change.change.host for change in left.record.changes if change.pending):
        yield f"The settings of {host} were not put back. Do it with: benchwright hosts restore {shlex.quote(host)}"


def conclude_interrupted(store: Store, baseline: Baseline) -> list[str]:
    """End in order the complete runs of which nothing is on a host, and that nobody records; return their ids."""
    ended = []
    for left in store.interrupted():
        try:
            if is_complete(left, baseline):
                conclude(store, left.id, baseline)
                ended.append(left.id)
        except ReadOnlyError:
            return ended
        except StoreError as error:  # another window was first, or the run cannot be read
            log.info("the run %s was not concluded: %s", left.id, error)
    return ended


def conclude(store: Store, run_id: str, baseline: Baseline) -> None:
    """End a complete run in order; raise StoreError where it has ended, or where somebody records it."""
    taken = store.take_over(run_id)
    with closing(store.recorder(run_id, taken)) as recorder:
        for _ in concluded(taken, recorder, baseline):
            continue
