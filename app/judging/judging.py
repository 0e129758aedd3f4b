"""From a stored run to its verdicts: the evidence of each step on each host, and what the checks of after say."""

import contextlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime

from app.checks.after import Judgement, judge_run, judge_step, made_anew, untold
from app.events import State
from app.plans.context import step_context
from app.plans.plan import Plan, Step
from app.records import RunRecord, SampleSeries, TrialRecord
from app.runs.schedule import PlaceKey
from suites.base import Context
from suites.errors import BenchwrightError
from suites.evidence import HostWatch, OwnNoise, StepOutcomeEvidence, TrialEvidence
from suites.verdict import Verdict
from suites.vocab import Finding, Sample

Telemetry = Mapping[str, tuple[Sample, ...]]

MARGIN = 5.0
"""Seconds of telemetry before and after a trial that belong to its evidence: what came before is the measure of it."""


def places_of(plan: Plan) -> tuple[PlaceKey, ...]:
    """Return each step on each host of `plan`, in their order."""
    return tuple((step.name, host) for step in plan.steps for host in plan.hosts)


def judgements(
    record: RunRecord, samples: SampleSeries, telemetry: Telemetry, places: tuple[PlaceKey, ...] | None = None
) -> Iterator[Judgement]:
    """Yield what the checks of after say of the `places` of a stored run, or of all of them.

    It is a function of what is stored alone. A step whose suite this program does not know cannot be judged, and is
    left out.
    """
    for name, host in places_of(record.plan) if places is None else places:
        with contextlib.suppress(BenchwrightError):
            yield judge_step(evidence_of(record, samples, telemetry, record.plan.step(name), host))


def verdicts(record: RunRecord, samples: SampleSeries, telemetry: Telemetry) -> tuple[Verdict, ...]:
    """Return the verdict on the whole of a stored run, then that on each step on each host; () where there is none."""
    steps = tuple(judgement.verdict for judgement in judgements(record, samples, telemetry))
    whole = judge_run(steps)
    return () if whole is None else (whole, *steps)


def judged(record: RunRecord, samples: SampleSeries, telemetry: Telemetry) -> RunRecord:
    """Return a run that has ended with its verdicts: those that are stored, or else what it is found to be now.

    Only runs of before verdicts were kept, or that could not be judged when they ended, have none.
    """
    if record.verdicts or record.summary.state is State.RUNNING or record.published is not None:
        return record
    made = tuple(judgements(record, samples, telemetry))
    whole = judge_run(one.verdict for one in made)
    if whole is None:
        return record
    found = [one for judgement in made for one in untold(judgement, record.findings)]
    raised_in = record.finding_trials or (None,) * len(record.findings)
    limited = "" if whole.limited_by is None else whole.limited_by.value
    return replace(
        record,
        summary=replace(record.summary, trust=whole.level.value, limited_by=limited),
        findings=(*record.findings, *(one.finding for one in found)),
        finding_trials=(*raised_in, *(one.trial for one in found)),
        verdicts=(*(one.verdict for one in made), whole),
    )


def trials_and_window(record: RunRecord, place: PlaceKey) -> tuple[tuple[int, ...], tuple[float, float]]:
    """Return the ids of the trials of a place, and from when until when they ran on the host's monotonic clock."""
    own = [one for one in record.trials if (one.trial.step, one.trial.host) == place]
    windows = [window for one in own if (window := _window(one)) is not None]
    since = min((start for start, _ in windows), default=0.0) - MARGIN
    until = max((end for _, end in windows), default=0.0) + MARGIN
    return tuple(one.trial.id for one in own), (since, until)


def _window(one: TrialRecord) -> tuple[float, float] | None:
    duration = _seconds(one)
    if one.trial.clock is None or duration is None:
        return None
    return one.trial.clock, one.trial.clock + duration


def evidence_of(
    record: RunRecord, samples: SampleSeries, telemetry: Telemetry, step: Step, host: str
) -> StepOutcomeEvidence:
    """Return all that is stored of `step` on `host`, as the checks of after look at it.

    Raises BenchwrightError for a suite that is not known.
    """
    context = step_context(step, host, record.facts_before)
    telemetry = {host: tuple(sorted(telemetry.get(host, ()), key=_time))}  # in order but where the host restarted
    own = [one for one in record.trials if (one.trial.step, one.trial.host) == (step.name, host)]
    counted = [one for one in own if not one.trial.warm_up and one.state is not State.RUNNING]
    return StepOutcomeEvidence(
        name=step.name,
        suite=step.suite,
        values=step.whole_values(),
        context=context,
        host=host,
        trials=tuple(_trial(record, one, samples.get(one.trial.id, ()), telemetry, step, context) for one in counted),
        planned=record.plan.repetition.most,
        goals=record.plan.goals,
        findings=tuple(_findings(record, step.name, host, {one.trial.id for one in own})),
        own_noise=_own_noise(record, step, host),
    )


def _own_noise(record: RunRecord, step: Step, host: str) -> OwnNoise | None:
    """Return how the step's suite varies on the host by itself, where a calibration of it is known."""
    found = (one for one in record.calibrations if (one.host, one.suite) == (host, step.suite_id))
    return next((OwnNoise(one.cov, one.day) for one in found if one.run != record.summary.id), None)


def _findings(record: RunRecord, step: str, host: str, trials: set[int]) -> Iterator[Finding]:
    """Yield the findings of before and of the run that are about this place; not those that are made anew of it."""
    anew = made_anew()
    raised_in = record.finding_trials or (None,) * len(record.findings)
    for finding, trial in zip(record.findings, raised_in, strict=True):
        here = finding.step in {None, step} and finding.host in {None, host} and (trial is None or trial in trials)
        if here and finding.id not in anew:
            yield finding


def _trial(  # noqa: PLR0917 (private, one caller)
    record: RunRecord,
    one: TrialRecord,
    samples: tuple[Sample, ...],
    telemetry: Telemetry,
    step: Step,
    context: Context,
) -> TrialEvidence:
    host = one.trial.host
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
        duration=_seconds(one),
        watch=_watch(record, host, telemetry, _window(one)),
        peer=step.peer,
    )


def _expected(step: Step, context: Context) -> float | None:
    with contextlib.suppress(BenchwrightError, KeyError):
        return step.suite.estimate(step.whole_values(), context).duration
    return None


def _seconds(one: TrialRecord) -> float | None:
    """Return how long the trial took by the workstation's clock, from its first command to the end of its output."""
    if one.ended is None:
        return None
    try:
        took = datetime.fromisoformat(one.ended) - datetime.fromisoformat(one.trial.started)
    except (ValueError, TypeError):
        return None
    return max(0.0, took.total_seconds())


def _time(sample: Sample) -> float:
    return sample.time


def _watch(record: RunRecord, host: str, telemetry: Telemetry, window: tuple[float, float] | None) -> HostWatch | None:
    if window is None:
        return None
    since, until = window[0] - MARGIN, window[1] + MARGIN
    watched = telemetry.get(host, ())
    found = watched[bisect_left(watched, since, key=_time) : bisect_right(watched, until, key=_time)]
    if not found:
        return None
    return HostWatch.of(host, found, window, record.facts_before.get(host), record.facts_after.get(host))
