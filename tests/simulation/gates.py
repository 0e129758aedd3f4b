"""The outcome of simulated gates: fixed baseline, first run until its verdict, fresh runs that confirm it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from app.cli.gate import MOST_RUNS
from app.comparison.compare import compare
from app.comparison.gate import ConditionAnswer, GateOutcome, answers_of, result_of
from app.comparison.gate_conditions import Condition
from app.plans.plan import MINIMUM, Policy, Repetition
from app.plans.repetition import UntilVerdict
from app.records import RunRecord
from suites.vocab import Better, Metric
from tests.app.run_events import IOPS, run_record
from tests.simulation.experiments import followed, generators
from tests.simulation.noise import correlated

AUTOCORRELATION = 0.5
"""Correlation of neighbouring trials, assumed: the intervals, which take trials as independent, are then too narrow by
a factor of 1.7."""


def outcome(
    rng: np.random.Generator, conditions: tuple[Condition, ...], cov: float, factor: float = 1.0, trials: int = 30
) -> GateOutcome:
    """Return the outcome of one gate on a host that is `factor` as fast as its baseline, by the program's policy.

    Each condition has a metric of its own, independent of the others; the first is the headline.
    """
    draw = correlated(cov, AUTOCORRELATION)
    metrics = [replace(IOPS, name=one.metric) for one in conditions]
    baselines = [draw(rng, trials) for _ in metrics]
    share = min(one.share or 1.0 for one in conditions)
    rule = UntilVerdict(tuple(baselines[0]), Better.HIGHER, share, 0.95, MINIMUM, trials)
    known = _record("a", metrics, baselines)
    answers: list[Sequence[ConditionAnswer]] = []
    names: list[str] = []
    for number in range(MOST_RUNS):
        series = [[factor * value for value in draw(rng, trials)] for _ in metrics]
        repetition = Repetition(trials)
        if not number:
            count = followed(rule, series[0]).trials
            series = [values[:count] for values in series]
            repetition = Repetition(  # compare() widens its interval by this
                policy=Policy.UNTIL_VERDICT, baseline="a", margin=share, minimum=MINIMUM, cap=trials
            )
        record = _repeated(_record(f"b{number}", metrics, series), repetition)
        names.append(f"b{number}")
        answers.append(answers_of(conditions, compare([known, record], tested={one.name for one in metrics})))
        found = result_of(answers, names, "a")
        if found.settled:
            break
    return found.outcome


def _record(run: str, metrics: Sequence[Metric], series: Sequence[Sequence[float]]) -> RunRecord:
    """Return a run with one trial for each value of the series, which are one for each metric."""
    first, *others = [run_record(run, values, metric=metric) for metric, values in zip(metrics, series, strict=True)]
    trials = tuple(
        replace(one, figures=(*one.figures, *(figure for other in others for figure in other.trials[at].figures)))
        for at, one in enumerate(first.trials)
    )
    return replace(first, trials=trials)


def _repeated(record: RunRecord, repetition: Repetition) -> RunRecord:
    return replace(record, plan=replace(record.plan, repetition=repetition))


def outcomes(
    cov: float, tries: int, *, factor: float = 1.0, share: float = 0.05, trials: int = 30, conditions: int = 1
) -> Mapping[GateOutcome, int]:
    """Return how many of `tries` gates have each outcome, with as many `conditions` on one metric each."""
    names = [IOPS.name, *(f"{IOPS.name}_{number}" for number in range(2, conditions + 1))]
    given = tuple(Condition(f"{name} worse by {100 * share:g} %", name, share) for name in names)
    found = [outcome(rng, given, cov, factor, trials) for rng in generators(tries, 1)]
    return {answer: found.count(answer) for answer in GateOutcome}
