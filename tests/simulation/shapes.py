"""What distributions and noise figures do on simulated trials whose truth is known."""

import math
from functools import cache

import numpy as np

from app.distributions.percentiles import TrialValues, ValueLevel, harrell_davis, percentiles, shifts, trial_values
from app.spreads import spread_of
from tests.simulation.experiments import Share, generators, share
from tests.simulation.noise import Draw, trials_of_samples


def _trials(rng: np.random.Generator, count: int, factor: float = 1.0) -> list[TrialValues]:
    drawn = trials_of_samples(rng, count, factor)
    return [trial_values("run", number, "host", list(one)) for number, one in enumerate(drawn, 1)]


@cache
def true_percentile(percentile: float) -> float:
    """Return the geometric mean over very many trials of what a trial's percentile is."""
    drawn = np.sort(trials_of_samples(np.random.default_rng(99), 6000), axis=1)
    return math.exp(sum(math.log(harrell_davis(one, percentile / 100)) for one in drawn) / len(drawn))


def percentile_coverage(percentile: float, count: int, tries: int) -> Share:
    """Return how often the interval of a percentile of samples holds the truth."""
    truth = true_percentile(percentile)

    def holds(rng: np.random.Generator) -> bool:
        found = next(
            each for each in percentiles(_trials(rng, count), ValueLevel.SAMPLES) if each.percentile == percentile
        )
        return (found.low or 0) <= truth <= (found.high or 0)

    return share(holds(rng) for rng in generators(tries, 21))


def resampled_coverage(percentile: float, count: int, tries: int) -> Share:
    """Return the same for the interval from resampling whole trials, which is not used."""
    truth = math.log(true_percentile(percentile))

    def holds(rng: np.random.Generator) -> bool:
        values = np.array([math.log(trial.quantile(percentile / 100)) for trial in _trials(rng, count)])
        drawn = values[rng.integers(0, count, (400, count))].mean(axis=1)
        low, high = np.quantile(drawn, [0.025, 0.975])
        return bool(low <= truth <= high)

    return share(holds(rng) for rng in generators(tries, 22))


def shift_coverage(percentile: float, factor: float, count: int, tries: int) -> Share:
    """Return how often the interval of the ratio at a decile holds a factor by which every sample is larger."""

    def holds(rng: np.random.Generator) -> bool:
        found = shifts(_trials(rng, count, factor), _trials(rng, count), ValueLevel.SAMPLES)
        at = next(each for each in found if each.percentile == percentile)
        return (at.ratio_low or 0) <= factor <= (at.ratio_high or 0)

    return share(holds(rng) for rng in generators(tries, 23))


def figures_shift_coverage(count: int, tries: int) -> Share:
    """Return how often the resampled interval of the median shift of trials' figures holds a shift of 5."""

    def one(rng: np.random.Generator, middle: float) -> list[TrialValues]:
        return [trial_values("run", n, "host", [value]) for n, value in enumerate(rng.normal(middle, 2, count), 1)]

    def holds(rng: np.random.Generator) -> bool:
        found = shifts(one(rng, 105), one(rng, 100), ValueLevel.TRIALS)
        at = next(each for each in found if each.percentile == 50)
        return (at.low or 0) <= 5 <= (at.high or 0)

    return share(holds(rng) for rng in generators(tries, 24))


def cov_coverage(draw: Draw, truth: float, count: int, tries: int) -> Share:
    """Return how often the interval of the CoV holds the true one."""

    def holds(rng: np.random.Generator) -> bool:
        found = spread_of(draw(rng, count))
        if found is None or found.low is None:
            return False
        return found.low <= truth and (found.high is None or truth <= found.high)  # open where so few cannot end it

    return share(holds(rng) for rng in generators(tries, 25))
