"""What flatness, knees and models of scaling do on simulated sweeps whose truth is known."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from app.scaling.fits import ParameterEstimate, fit_models
from app.scaling.knees import is_flat, knee_bounds
from suites.sweep import KNEE_SHARE
from tests.simulation.experiments import Share, generators, share

Curve = Callable[[float], float]

MODELS = ("Amdahl", "USL", "clamped")

DOUBLING = (1, 2, 4, 8, 16, 32, 64)


def amdahl(serial: float) -> Curve:
    """Return Amdahl's law."""
    return lambda n: n / (1 + serial * (n - 1))


def usl(serial: float, peak: float) -> Curve:
    """Return the USL with its peak at `peak`."""
    crosstalk = (1 - serial) / peak**2
    return lambda n: n / (1 + serial * (n - 1) + crosstalk * n * (n - 1))


def clamped(curve: Curve, limit: float) -> Curve:
    """Return a curve that ends at a hard limit."""
    return lambda n: min(curve(n), limit)


def nearly(share: float) -> Curve:
    """Return a curve whose last doubling alone reaches the knee, the five before being at `share` of it."""
    values = (0.5, *(share,) * 5, 1.0)
    return lambda n: values[DOUBLING.index(int(n))]


@dataclass(frozen=True, slots=True)
class Sweep:
    """A sweep that is simulated: the points, the trials of each, and the noise of a trial (its standard deviation)."""

    counts: Sequence[int] = DOUBLING
    trials: int = 3
    noise: float = 0.02

    def of(self, curve: Curve, rng: np.random.Generator) -> list[tuple[float, list[float]]]:
        """Return trials of the points of a curve."""
        return [
            (float(n), [curve(n) * math.exp(self.noise * rng.normal()) for _ in range(self.trials)])
            for n in self.counts
        ]


@dataclass(frozen=True, slots=True)
class Fits:
    """How often a curve was flat, and each model accepted; how often the intervals of the USL's peak and of the first
    parameter but one (the serial share) held the true ones, where given."""

    flat: Share
    models: dict[str, Share]
    peak: Share
    serial: Share

    @property
    def law(self) -> Share:
        """How often any model was accepted."""
        return Share(sum(one.happened for one in self.models.values()), self.flat.tries)


def fits(curve: Curve, tries: int, sweep: Sweep = Sweep(), *, peak: float = 0.0, serial: float = 0.0) -> Fits:
    """Analyse sweeps that follow `curve` but for some noise, again and again."""
    flat, found = [], []
    for rng in generators(tries, 26):
        points = sweep.of(curve, rng)
        flat.append(is_flat([values for _, values in points]))
        found.append(None if flat[-1] else fit_models(points)[0])
    accepted = [fit for fit in found if fit is not None]
    return Fits(
        share(iter(flat)),
        {name: share(fit is not None and fit.model == name for fit in found) for name in MODELS},
        _held([fit.peak for fit in accepted if fit.peak is not None], peak),
        _held([fit.parameters[1] for fit in accepted if fit.model in {"Amdahl", "USL"}], serial),
    )


def _held(estimates: Sequence[ParameterEstimate], truth: float) -> Share:
    """Return how often the intervals held the truth; a parameter at its bound has none."""
    bounds = [(one.low, one.high) for one in estimates]
    return share(low <= truth <= high for low, high in bounds if low is not None and high is not None)


def knees(curve: Curve, tries: int, sweep: Sweep = Sweep()) -> tuple[Share, float]:
    """Return how often the interval of the knee holds the true one, and how many points it has on average."""
    values = [curve(n) for n in sweep.counts]
    truth = next(index for index, value in enumerate(values) if value >= KNEE_SHARE * max(values))
    found = [
        knee_bounds([own for _, own in sweep.of(curve, rng)]) or (0, len(values) - 1) for rng in generators(tries, 27)
    ]
    widths = [high - low + 1 for low, high in found]
    return share(low <= truth <= high for low, high in found), sum(widths) / len(widths)
