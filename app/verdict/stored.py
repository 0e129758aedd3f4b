"""Verdicts of a stored run: the evidence of each step on each host, and its outcome checks."""

import contextlib
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from app.calibration.calibration import UNWATCHED, counted_calibration
from app.checks.catalogue import AFTER_IDS, DURING_IDS
from app.checks.energy import POWER, EnergyUse, energy_of
from app.checks.run_findings import INTERRUPTIONS
from app.checks.version import CHECKS_VERSION
from app.events import FindingRaised, State, Trial
from app.plans.context import step_context
from app.plans.duet import facts_seen, on_first_half
from app.plans.plan import Order, Plan, Policy, Step
from app.records import ComputedVerdicts, RunRecord, SampleSeries, TrialRecord
from app.runs.schedule import StepKey
from app.verdict.steps import StepVerdict, new_findings, run_verdict, step_verdict
from suites.base import Context
from suites.errors import BenchwrightError
from suites.evidence import HostNoise, HostWatch, StepOutcomeEvidence, TrialEvidence
from suites.verdict import Trust
from suites.vocab import Finding, Sample

if TYPE_CHECKING:
    from app.store.store import Store

Telemetry = Mapping[str, tuple[Sample, ...]]

TREE = "tool_"
"""Prefix of the metrics of the process tree under test."""

MARGIN = 5.0
"""Seconds of telemetry before and after a trial in its evidence; those before are the baseline of the host's load."""


def step_keys(plan: Plan) -> tuple[StepKey, ...]:
    """Return the keys of all steps on all hosts of `plan`, in order."""
    return tuple((step.name, host) for step in plan.steps for host in plan.hosts)


def step_verdicts(
    record: RunRecord, samples: SampleSeries, telemetry: Telemetry, keys: tuple[StepKey, ...] | None = None
) -> Iterator[StepVerdict]:
    """Yield the verdicts of the steps `keys` of a stored run, or of all of them.

    Deterministic: depends only on what is stored. Steps of unknown suites are skipped.
    """
    for name, host in step_keys(record.plan) if keys is None else keys:
        with contextlib.suppress(BenchwrightError):
            yield step_verdict(evidence_of(record, samples, telemetry, record.plan.step(name), host))


def energy_of_run(
    record: RunRecord, samples: SampleSeries, telemetry: Telemetry
) -> Mapping[tuple[str, str], EnergyUse]:
    """Return the energy by step and host: that of the packages or the platform, else of the whole server."""
    if not any(sample.metric.name == POWER for found in telemetry.values() for sample in found):
        return {}
    found: dict[tuple[str, str], EnergyUse] = {}
    for name, host in step_keys(record.plan):
        with contextlib.suppress(BenchwrightError):
            uses, _ = energy_of(evidence_of(record, samples, telemetry, record.plan.step(name), host))
            if uses:
                found[name, host] = uses[0]
    return found


def judged(store: "Store", record: RunRecord) -> RunRecord:
    """Return a run of `store` with its verdicts, stored or computed now.

    Runs lack stored verdicts if they predate them or if computing them failed at their end. One whose evidence is not
    complete stays without.
    """
    if record.verdicts or record.summary.state is State.RUNNING or record.published is not None:
        return record
    run = record.summary.id
    if run not in store.computed and store.missing_evidence([run]):
        return record  # what is left of it may say otherwise than the whole
    if run not in store.computed:
        store.computed[run] = computed_verdicts(record, store.samples(run), store.telemetry(run))
    known = store.computed[run]
    if not known.verdicts:
        return record
    whole = replace(record, summary=known.complete(record.summary), verdicts=known.verdicts)
    return whole.with_raised((*record.raised, *known.findings))


def computed_verdicts(record: RunRecord, samples: SampleSeries, telemetry: Telemetry) -> ComputedVerdicts:
    """Return the verdicts on a stored run, and the findings that they add to those that it has."""
    made = tuple(step_verdicts(record, samples, telemetry))
    whole = run_verdict(one.verdict for one in made)
    found = (one for step in made for one in new_findings(step, record.findings))
    verdicts = () if whole is None else (*(one.verdict for one in made), whole)
    raised = tuple(FindingRaised(one.finding, one.trial, checks=CHECKS_VERSION) for one in found)
    return ComputedVerdicts(
        verdicts, raised, {(one.verdict.step, one.verdict.host): dict(one.not_checked) for one in made}
    )


@contextlib.contextmanager
def loading_judged(store: "Store", expected: Sequence[str] = ()) -> Iterator[Callable[[str], RunRecord]]:
    """Give a load() for many runs as Store.loading(), with verdicts as judged()."""
    with store.loading(expected) as load:
        yield cache(lambda run: judged(store, load(run)))


def computed_trust(store: "Store", runs: Collection[str]) -> Mapping[tuple[str, str, str], Trust]:
    """Return the trust by run, step and host of runs without a stored verdict, computed once."""
    for run in (each for each in runs if each not in store.computed):
        with contextlib.suppress(BenchwrightError):  # a damaged run has no verdict
            judged(store, store.load(run))
    return {
        (run, one.step, one.host): one.trust
        for run in runs
        if run in store.computed
        for one in store.computed[run].verdicts
        if one.step is not None and one.host is not None
    }


def trials_and_windows(
    record: RunRecord, step_key: StepKey
) -> tuple[tuple[int, ...], Mapping[str, tuple[float, float]]]:
    """Return the ids of a step's trials, and their windows on the monotonic clocks of its host and the peer."""
    own = [one for one in record.trials if (one.trial.step, one.trial.host) == step_key]
    peer = record.plan.step(step_key[0]).peer
    windows: dict[str, tuple[float, float]] = {}
    for one in own:
        for host, clock in ((step_key[1], one.trial.clock), (peer, one.trial.peer_clock)):
            if host is not None and clock is not None and one.duration is not None:
                since, until = windows.get(host, (clock, clock))
                windows[host] = min(since, clock - MARGIN), max(until, clock + one.duration + MARGIN)
    return tuple(one.trial.id for one in own), windows


def evidence_of(
    record: RunRecord, samples: SampleSeries, telemetry: Telemetry, step: Step, host: str
) -> StepOutcomeEvidence:
    """Return the stored evidence of `step` on `host` for the outcome checks.

    Raises BenchwrightError for an unknown suite.
    """
    step = step.on(host)
    context = step_context(step, host, facts_seen(record.plan, record.facts_before))
    telemetry = (
        {}
        if step.name.endswith(UNWATCHED)
        else {  # in order but after a restart
            name: tuple(sorted(samples_of, key=_time))
            for name, samples_of in telemetry.items()
            if name in {host, step.peer}
        }
    )
    own = [one for one in record.trials if (one.trial.step, one.trial.host) == (step.name, host)]
    counted = [one for one in own if not one.trial.warm_up and one.state is not State.RUNNING]
    return StepOutcomeEvidence(
        name=step.name,
        suite=step.suite,
        values=step.whole_values(),
        context=context,
        host=host,
        trials=tuple(
            _trial(record, one, samples.get(one.trial.id, ()), telemetry, step=step, context=context) for one in counted
        ),
        planned=record.plan.repetition.trials if record.plan.repetition.policy is Policy.FIXED else None,
        goals=record.plan.goals,
        findings=tuple(_findings(record, step.name, host, {one.trial.id: one.state for one in own})),
        host_noise=_host_noise(record, step, host),
        elsewhere=record.read_from is not None,
    )


def _host_noise(record: RunRecord, step: Step, host: str) -> HostNoise | None:
    """Return the noise of the step's suite on the host from its calibration; None without one."""
    found = counted_calibration(record, host, step.suite_id)
    return None if found is None or found.run == record.summary.id else HostNoise(found.cov, found.day)


def _findings(record: RunRecord, step: str, host: str, trials: Mapping[int, State]) -> Iterator[Finding]:
    """Yield the findings before and during the run about this step and host; outcome checks are computed again.

    Those raised during a completed trial are kept: the verdict counts what the end of the trial does not confirm too.
    """
    for finding, trial in ((one.finding, one.trial) for one in seen_by_the_run(record)):
        here = finding.step in {None, step} and finding.host in {None, host} and (trial is None or trial in trials)
        during = trial is not None and trials.get(trial) is State.DONE and finding.id in DURING_IDS
        if here and (during or finding.id not in AFTER_IDS):
            yield finding


def seen_by_the_run(record: RunRecord) -> Iterator[FindingRaised]:
    """Yield the findings before and during the trials, which only the run could make, without those of its verdicts."""
    timed = any(one.clock is not None for one in record.raised)
    for one in record.raised:
        of_a_check_during = one.trial is not None and one.finding.id in DURING_IDS
        if one.checks is not None:
            continue
        if one.clock is not None or (one.finding.id not in AFTER_IDS):
            yield one
        elif of_a_check_during and not timed and not _COUNTED.search(one.finding.measured):
            yield one  # before format 13 it cannot be distinguished from one of the end of the trial


_COUNTED = re.compile(r"In (?:all|\d+ of) \d+ trials\.")
"""In what a finding of a verdict measured on several trials."""


def _trial(
    record: RunRecord,
    one: TrialRecord,
    samples: tuple[Sample, ...],
    telemetry: Telemetry,
    *,
    step: Step,
    context: Context,
) -> TrialEvidence:
    host, interval = one.trial.host, record.interval(one, samples)
    uncounted = is_uncounted(record.plan, one.trial)
    seen = (each.finding for each in record.raised if each.trial == one.trial.id)
    raised = [finding.id for finding in seen if finding.host == host]

    def watch(name: str | None, at_start: float | None) -> HostWatch | None:
        """Return telemetry of a host whose clock was `at_start` when the trial began, on the clock of the trial's."""
        clock = one.trial.clock
        if name is None or interval is None or clock is None or at_start is None or one.duration is None:
            return None
        watched = telemetry.get(name, ())
        since, until = at_start - MARGIN, at_start + one.duration + MARGIN
        found = watched[bisect_left(watched, since, key=_time) : bisect_right(watched, until, key=_time)]
        facts = record.facts_before.get(name), record.facts_after.get(name)
        window = interval.start, interval.end
        found = without_tree(found) if uncounted and name == host else found
        return HostWatch.of(name, found, window, *facts, shift=clock - at_start) if watched else None

    return TrialEvidence(
        name=step.name,
        suite=step.suite,
        values=step.whole_values(),
        context=context,
        host=host,
        id=one.trial.id,
        number=one.trial.number,
        state=one.state.value,
        reason=one.reason,
        exit_status=one.exit_status,
        figures=one.figures,
        samples=samples,
        notes=one.notes,
        commands=one.trial.commands,
        expected=_expected(step, context),
        duration=one.duration,
        watch=watch(host, one.trial.clock),
        peer=step.peer,
        peer_watch=watch(step.peer if step.peer != host else None, one.trial.peer_clock),
        elsewhere=record.read_from is not None,
        uncounted=uncounted,
        interruption=next((INTERRUPTIONS[id_] for id_ in raised if id_ in INTERRUPTIONS), ""),
    )


def is_uncounted(plan: Plan, trial: Trial) -> bool:
    """Return whether the telemetry of a trial counts the process tree of its partner in a duet, not its own.

    The telemetry follows one tree, that on the second half. The sides swap, so that each step has it in every other
    trial.
    """
    return plan.order is Order.DUET and on_first_half(plan, trial.step, trial.number)


def without_tree(samples: Iterable[Sample]) -> tuple[Sample, ...]:
    """Return telemetry without the counters of the process tree."""
    return tuple(sample for sample in samples if not sample.metric.name.startswith(TREE))


def _expected(step: Step, context: Context) -> float | None:
    with contextlib.suppress(BenchwrightError, KeyError):
        return step.suite.estimate(step.whole_values(), context).duration
    return None


def _time(sample: Sample) -> float:
    return sample.time
