"""How a host is calibrated: the instrument is measured, then a suite is run against itself, as an ordinary run."""

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from app.calibration.calibration import (
    Calibration,
    Instrument,
    MetricNoise,
    TelemetryEffect,
    fingerprint_of,
)
from app.calibration.false_alarms import FOR_TRIALS, false_alarms, least_detectable, log_spread
from app.calibration.measuring import measure_instrument
from app.comparing.intervals import FEWEST_TRIALS, ratio_of
from app.events import Activity, Event, RunStarted
from app.plans.context import step_context
from app.plans.plan import MAXIMUM_TRIALS, Order, Plan, Repetition, Step, host_words, make_step
from app.plans.presets import tuned_step
from app.records import RunRecord, TrialRecord
from app.runs.control import Control
from remote.probe import read_facts
from remote.session import Session
from suites.errors import BenchwrightError
from suites.facts import Facts, known
from suites.parameters import Type, Value
from suites.registry import suite as find_suite
from suites.vocab import Labels

TRIALS = 8
"""Trials a side unless asked for otherwise: two more than a comparison needs, in under two minutes."""

BRIEF = 5.0
"""Seconds of a trial, where the suite lets that be said: an A/A test needs many trials rather than long ones."""

_TIMES = ("time", "runtime")

WITH_SYSBENCH, WITHOUT = "sysbench-cpu", "compute"
"""The suites that are calibrated with unless another is asked for: the probe of our own where sysbench is missing."""


class CalibrationError(BenchwrightError):
    """A host could not be calibrated."""


class CalibrationFailedError(CalibrationError):
    """A calibration began, and did not come to its end."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a calibration is made with: the suite (empty: the default), its parameters, and the trials a side."""

    suite: str = ""
    trials: int = TRIALS
    given: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Calibrated:
    """A calibration is made and kept."""

    calibration: Calibration


@dataclass(frozen=True, slots=True)
class Bench:
    """What calibrating needs of the workstation: `run` runs a plan, leaving those of its steps unwatched it is told."""

    connect: Callable[[str], Session]
    run: Callable[[Plan, frozenset[str]], Generator[Event]]
    load: Callable[[str], RunRecord]
    keep: Callable[[Calibration], None]


def calibrate(bench: Bench, host: str, wanted: Wanted, control: Control) -> Generator[Event | Calibrated]:
    """Calibrate `host`: yield what happens, and at last the calibration, which is then kept.

    Raises CalibrationError where the A/A test did not come to its end, and ConnectError.
    """
    if not FEWEST_TRIALS <= wanted.trials <= MAXIMUM_TRIALS:
        raise CalibrationError(f"{wanted.trials} trials a side.", f"Give {FEWEST_TRIALS} to {MAXIMUM_TRIALS}.")
    named = host_words(host)
    yield Activity(f"connecting to {named}", host)
    with closing(bench.connect(host)) as session:
        facts = read_facts(session)
        plan = aa_plan(host, facts, wanted)
        yield Activity(f"measuring the clock and the timers of {named}", host)
        instrument = measure_instrument(session, facts)
    run_id = ""
    for event in bench.run(plan, frozenset({plan.steps[2].name})):
        if isinstance(event, RunStarted):
            run_id = event.run_id
        yield event
    if control.over:
        raise CalibrationFailedError(f"The calibration of {named} was stopped: nothing was calibrated.", _kept(run_id))
    yield Activity("splitting the trials at random", host)
    made = calibration_of(bench.load(run_id), instrument)
    bench.keep(made)
    yield Calibrated(made)


def aa_plan(host: str, facts: Facts, wanted: Wanted) -> Plan:
    """Return the plan that measures one thing as if it were two, and a third time with nobody watching the host."""
    suite = wanted.suite or default_suite(facts)
    if find_suite(suite).needs_peer:
        raise CalibrationError(f"{suite} needs a second host.", "Calibrate with a suite that runs on one host.")
    step = _step(suite, host, facts, wanted)
    sides = tuple(replace(step, name=f"{suite}, {side}") for side in ("side A", "side B", "not watched"))
    return Plan(
        name=f"calibration of {host_words(host)}",
        hosts=(host,),
        steps=sides,
        question=f"How far do figures of {suite} differ here when nothing differs?",
        repetition=Repetition(trials=wanted.trials, warm_ups=1),
        order=Order.RANDOMISED,
    )


def default_suite(facts: Facts) -> str:
    """Return the suite to calibrate a host with where nobody says which."""
    return WITH_SYSBENCH if known(facts.tool("sysbench").path) or known(facts.tool("sysbench").version) else WITHOUT


def _step(suite: str, host: str, facts: Facts, wanted: Wanted) -> Step:
    tuned = tuned_step(suite, step_context(make_step(suite, {}), host, {host: facts}))
    brief: dict[str, Value] = {
        parameter.name: min(float(tuned.values[parameter.name]), BRIEF)
        for parameter in find_suite(suite).parameters
        if parameter.name in _TIMES and parameter.type is Type.DURATION and tuned.values[parameter.name]
    }
    return make_step(suite, {**tuned.values, **brief, **dict(wanted.given)})


def calibration_of(record: RunRecord, instrument: Instrument) -> Calibration:
    """Return what the A/A test in `record` says, beside what was measured of the instrument.

    Raises CalibrationError where too few of its trials came to their end.
    """
    host, steps = record.plan.hosts[0], record.plan.steps
    sides = [trial for step in steps[:2] for trial in record.trials_of(step.name, host)]
    sides.sort(key=lambda trial: trial.trial.id)
    if min(len(record.trials_of(step.name, host)) for step in steps[:2]) < FEWEST_TRIALS:
        why = f" {record.reason}" if record.reason else ""
        fault = f"The A/A test on {host} did not come to its end: nothing was calibrated.{why}"
        raise CalibrationFailedError(fault, _kept(record.summary.id))
    noise = tuple(_noise(sides))
    if not noise or host not in record.facts_before:
        raise CalibrationFailedError(f"{steps[0].suite_id} gave no figure above zero.", _kept(record.summary.id))
    values = _values(sides, noise[0].metric, noise[0].labels)
    return Calibration(
        host=host,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        suite=steps[0].suite_id,
        run=record.summary.id,
        fingerprint=fingerprint_of(record.facts_before[host], steps[0].suite.tool),
        instrument=replace(instrument, telemetry_cost=record.telemetry_cost.get(host)),
        noise=noise,
        alarms=false_alarms(values),
        telemetry=_effect(values, _values(record.trials_of(steps[2].name, host), noise[0].metric, noise[0].labels)),
    )


def _noise(trials: list[TrialRecord]) -> Iterator[MetricNoise]:
    """Yield how each metric spread that every trial has above zero, the leading one first."""
    for figure in trials[0].figures:
        values = _values(trials, figure.metric.name, figure.labels)
        if len(values) == len(trials) and min(values) > 0:
            cov = log_spread(values)
            detectable = {count: least_detectable(cov, count) for count in FOR_TRIALS}
            yield MetricNoise(figure.metric.name, figure.metric.title, figure.labels, len(values), cov, detectable)


def _values(trials: list[TrialRecord] | tuple[TrialRecord, ...], metric: str, labels: Labels) -> list[float]:
    return [
        figure.value
        for trial in trials
        for figure in trial.figures
        if figure.metric.name == metric and figure.labels == labels
    ]


def _effect(watched: list[float], unwatched: list[float]) -> TelemetryEffect | None:
    """Return how the figures that were watched stand to those that were not."""
    if not unwatched:
        return None
    ratio = ratio_of(watched, unwatched)
    return None if isinstance(ratio, str) else TelemetryEffect(ratio.value, ratio.low, ratio.high)


def _kept(run_id: str) -> str:
    return f"What was measured is kept as the run {run_id}." if run_id else ""
