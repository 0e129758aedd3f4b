"""The outcome of simulated gates: fixed baseline, first run until its verdict, fresh runs that confirm it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from app.cli.gate import MOST_RUNS
from app.comparison.compare import compare
from app.comparison.gate import Condition, ConditionAnswer, GateOutcome, answers_of, result_of
from app.plans.plan import MINIMUM, Policy, Repetition
from app.plans.repetition import UntilVerdict
from app.records import RunRecord
from suites.vocab import Better
from tests.app.run_events import IOPS, run_record
from tests.simulation.experiments import followed, generators
from tests.simulation.noise import correlated

AUTOCORRELATION = 0.5
"""Correlation of neighbouring trials, assumed: the intervals, which take trials as independent, are then too narrow by
a factor of 1.7."""


def outcome(
    rng: np.random.Generator, conditions: tuple[Condition, ...], cov: float, factor: float = 1.0, trials: int = 30
) -> GateOutcome:
    """Return the outcome of one gate on a host that is `factor` as fast as its baseline, by the program's policy."""
    draw = correlated(cov, AUTOCORRELATION)
    baseline = draw(rng, trials)
    share = min(one.share or 1.0 for one in conditions)
    rule = UntilVerdict(tuple(baseline), Better.HIGHER, share, 0.95, MINIMUM, trials)
    known = run_record("a", baseline)
    answers: list[Sequence[ConditionAnswer]] = []
    names: list[str] = []
    for number in range(MOST_RUNS):
        values = [factor * value for value in draw(rng, trials)]
        repetition = Repetition(trials)
        if not number:
            values = values[: followed(rule, values).trials]
            repetition = Repetition(  # compare() widens its interval by this
                policy=Policy.UNTIL_VERDICT, baseline="a", margin=share, minimum=MINIMUM, cap=trials
            )
        record = _repeated(run_record(f"b{number}", values), repetition)
        names.append(f"b{number}")
        answers.append(answers_of(conditions, compare([known, record])))
        found = result_of(answers, names, "a")
        if found.settled:
            break
    return found.outcome


def _repeated(record: RunRecord, repetition: Repetition) -> RunRecord:
    return replace(record, plan=replace(record.plan, repetition=repetition))


def outcomes(
    cov: float, tries: int, *, factor: float = 1.0, share: float = 0.05, trials: int = 30
) -> Mapping[GateOutcome, int]:
    """Return how many of `tries` gates have each outcome."""
    condition = Condition(f"iops worse by {100 * share:g} %", IOPS.name, share)
    found = [outcome(rng, (condition,), cov, factor, trials) for rng in generators(tries, 1)]
    return {answer: found.count(answer) for answer in GateOutcome}
