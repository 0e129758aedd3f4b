"""What distributions, noise figures and models of scaling do on simulated trials whose truth is known."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np

from app.distributions.percentiles import TrialValues, ValueLevel, harrell_davis, percentiles, shifts, trial_values
from app.scaling.models import Fit, fit_models
from app.spreads import spread_of
from tests.simulation.experiments import Share, _generators, share
from tests.simulation.noise import Draw, trials_of_samples

Curve = Callable[[float], float]


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

    return share(holds(rng) for rng in _generators(tries, 21))


def resampled_coverage(percentile: float, count: int, tries: int) -> Share:
    """Return the same for the interval from resampling whole trials, which is not used."""
    truth = math.log(true_percentile(percentile))

    def holds(rng: np.random.Generator) -> bool:
        values = np.array([math.log(trial.quantile(percentile / 100)) for trial in _trials(rng, count)])
        drawn = values[rng.integers(0, count, (400, count))].mean(axis=1)
        low, high = np.quantile(drawn, [0.025, 0.975])
        return bool(low <= truth <= high)

    return share(holds(rng) for rng in _generators(tries, 22))


def shift_coverage(percentile: float, factor: float, count: int, tries: int) -> Share:
    """Return how often the interval of the ratio at a decile holds a factor by which every sample is larger."""

    def holds(rng: np.random.Generator) -> bool:
        found = shifts(_trials(rng, count, factor), _trials(rng, count), ValueLevel.SAMPLES)
        at = next(each for each in found if each.percentile == percentile)
        return (at.ratio_low or 0) <= factor <= (at.ratio_high or 0)

    return share(holds(rng) for rng in _generators(tries, 23))


def figures_shift_coverage(count: int, tries: int) -> Share:
    """Return how often the resampled interval of the median shift of trials' figures holds a shift of 5."""

    def one(rng: np.random.Generator, middle: float) -> list[TrialValues]:
        return [trial_values("run", n, "host", [value]) for n, value in enumerate(rng.normal(middle, 2, count), 1)]

    def holds(rng: np.random.Generator) -> bool:
        found = shifts(one(rng, 105), one(rng, 100), ValueLevel.TRIALS)
        at = next(each for each in found if each.percentile == 50)
        return (at.low or 0) <= 5 <= (at.high or 0)

    return share(holds(rng) for rng in _generators(tries, 24))


def cov_coverage(draw: Draw, truth: float, count: int, tries: int) -> Share:
    """Return how often the interval of the CoV holds the true one."""

    def holds(rng: np.random.Generator) -> bool:
        found = spread_of(draw(rng, count))
        if found is None or found.low is None:
            return False
        return found.low <= truth and (found.high is None or truth <= found.high)  # open where so few cannot end it

    return share(holds(rng) for rng in _generators(tries, 25))


@dataclass(frozen=True, slots=True)
class Fits:
    """Which model stood how often, and how often the interval of the USL's peak held the true one."""

    amdahl: Share
    usl: Share
    none: Share
    peak: Share


def fits(curve: Curve, counts: Iterable[int], tries: int, *, noise: float = 0.02, peak: float = 0.0) -> Fits:
    """Fit points that follow `curve` but for some noise, again and again."""
    places = list(counts)
    found: list[Fit | None] = []
    for rng in _generators(tries, 26):
        points = [(float(n), curve(n) * math.exp(noise * rng.normal())) for n in places]
        found.append(fit_models(points)[0])
    names = ["" if fit is None else fit.model for fit in found]
    peaks = [fit.peak for fit in found if fit is not None and fit.peak is not None]
    return Fits(
        share(name == "Amdahl" for name in names),
        share(name == "USL" for name in names),
        share(not name for name in names),
        share(each.low <= peak <= each.high for each in peaks) if peaks else Share(0, 1),
    )


def amdahl(serial: float) -> Curve:
    """Return Amdahl's law."""
    return lambda n: n / (1 + serial * (n - 1))


def usl(serial: float, peak: float) -> Curve:
    """Return the USL with its peak at `peak`."""
    crosstalk = (1 - serial) / peak**2
    return lambda n: n / (1 + serial * (n - 1) + crosstalk * n * (n - 1))
