"""The shape of a side's values: its ECDF and histogram, each trial weighing alike, with what the trials differ by."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.distributions.values import TrialValues

if TYPE_CHECKING:
    from app.distributions.values import Numbers

MOST_STEPS = 200
"""Points of an ECDF: more than a plot has pixels for, few enough to print."""

BINS = 30
"""Bins of a histogram: as many as a reader tells apart in a small plot."""

DECADE = 10.0
"""Values that span more than this factor are binned by their logarithms: latencies have long tails."""


@dataclass(frozen=True, slots=True)
class Step:
    """The share of values at or below `value`: the mean of the trials, the lowest of them and the highest."""

    value: float
    share: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Bin:
    """The share of values from `start` up to `end`: the mean of the trials, the lowest of them and the highest."""

    start: float
    end: float
    share: float
    low: float
    high: float


def ecdf(trials: Sequence[TrialValues]) -> tuple[Step, ...]:
    """Return the empirical distribution of a side, the mean of those of its trials."""
    import numpy as np

    if not trials:
        return ()
    every = np.unique(np.concatenate([trial.values for trial in trials]))
    if len(every) > MOST_STEPS:
        places = np.unique(np.linspace(0, len(every) - 1, MOST_STEPS).round().astype(int))
        every = every[places]
    shares = np.array([trial.share_up_to(every) for trial in trials])
    columns = zip(every, shares.mean(axis=0), shares.min(axis=0), shares.max(axis=0), strict=True)
    return tuple(Step(*(float(value) for value in column)) for column in columns)


def edges_of(sides: Sequence[Sequence[TrialValues]]) -> "Numbers":
    """Return the edges of bins that hold all values of all sides, so that their histograms can be held together."""
    import numpy as np

    values = [trial.values for side in sides for trial in side]
    low, high = min(float(one[0]) for one in values), max(float(one[-1]) for one in values)
    if low > 0 and high / low > DECADE:
        return np.geomspace(low, np.nextafter(high, math.inf), BINS + 1)
    if low == high:
        return np.array([low, np.nextafter(high, math.inf)])
    return np.linspace(low, np.nextafter(high, math.inf), BINS + 1)


def histogram(trials: Sequence[TrialValues], edges: "Numbers") -> tuple[Bin, ...]:
    """Return the share of a side's values in each bin between `edges`."""
    import numpy as np

    if not trials:
        return ()
    below = np.nextafter(edges, -math.inf)
    below[-1] = edges[-1]
    shares = np.array([np.diff(trial.share_up_to(below)) for trial in trials])
    columns = zip(edges[:-1], edges[1:], shares.mean(axis=0), shares.min(axis=0), shares.max(axis=0), strict=True)
    return tuple(Bin(*(float(value) for value in column)) for column in columns)
