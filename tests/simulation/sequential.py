"""How the adaptive stopping rules do on simulated trials: errors and trials of “until verdict”, coverage of both."""

from dataclasses import dataclass

import numpy as np

from app.events import Decision
from app.plans.repetition import UntilInterval, UntilVerdict
from suites.vocab import Better
from tests.simulation.experiments import Followed, Share, followed, generators
from tests.simulation.noise import Draw, normal

MARGIN = 0.05


def student(cov: float) -> Draw:
    """Return trials with the heavy tails of Student's t with three degrees of freedom; `cov` includes the tails."""
    return lambda rng, count: [1 + cov * float(one) / 3**0.5 for one in rng.standard_t(3, count)]


def exponential(cov: float) -> Draw:
    """Return trials with an exponential tail upwards; their pseudo-median, the median of means of two, is 1."""
    return lambda rng, count: [1 + cov * (float(one) - 0.83917) for one in rng.exponential(size=count)]


@dataclass(frozen=True, slots=True)
class Verdicts:
    """How “until verdict” did: the mean number of trials, how often it claimed what, and how often the last interval
    contained the true ratio."""

    trials: float
    better: Share
    worse: Share
    same: Share
    held: Share


@dataclass(frozen=True, slots=True)
class Setting:
    """Spreads of the trials and of the baseline, its number of trials, and the margin and confidence of the rule."""

    cov: float = 0.03
    cov_baseline: float | None = None  # None: the same
    baseline: int = 10
    margin: float = MARGIN
    confidence: float = 0.95


def until_verdict(factor: float, tries: int, setting: Setting | None = None, seed: int = 1) -> Verdicts:
    """Return how the rule does at a true ratio `factor`, with 6 to 30 trials."""
    given = setting or Setting()
    counts, claimed, held = [], [], 0
    known = normal(given.cov if given.cov_baseline is None else given.cov_baseline)
    for rng in generators(tries, seed):
        baseline = tuple(known(rng, given.baseline))
        rule = UntilVerdict(baseline, Better.HIGHER, given.margin, given.confidence, 6, 30)
        decision = followed(rule, [factor * value for value in normal(given.cov)(rng, 30)])
        counts.append(decision.trials)
        claimed.append(_claim(decision, given.margin) if decision.settled else "")
        held += decision.low is not None and decision.high is not None and decision.low <= factor <= decision.high
    better, worse, same = (Share(claimed.count(what), tries) for what in ("better", "worse", "same"))
    return Verdicts(float(np.mean(counts)), better, worse, same, Share(held, tries))


def _claim(decision: Decision, margin: float) -> str:
    """Return what the interval of a settled decision claims, of a metric of which more is better."""
    assert decision.low is not None
    assert decision.high is not None
    if decision.low >= 1 + margin:
        return "better"
    return "worse" if decision.high <= 1 - margin else "same"


def until_interval(draw: Draw, precision: float, tries: int, seed: int = 1) -> Followed:
    """Return how “until the interval is within ±`precision`” does, with 6 to 30 trials."""
    rule = UntilInterval(precision, 6, 30)
    counts, held, settled = [], 0, 0
    for rng in generators(tries, seed):
        decision = followed(rule, draw(rng, 30))
        counts.append(decision.trials)
        held += decision.low is not None and decision.high is not None and decision.low <= 1 <= decision.high
        settled += decision.settled
    return Followed(float(np.mean(counts)), Share(held, tries), Share(settled, tries))
