"""Means of trials with their 95 % intervals."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.numeric import balanced_mean, mean_of, special

CONFIDENCE = 0.95


def student(freedom: float, confidence: float = CONFIDENCE) -> float:
    """Return Student's two-sided quantile: the half width of an interval in standard errors."""
    return float(special.stdtrit(freedom, (1 + confidence) / 2))  # scipy.stats.t.ppf, at a tenth of its cost


@dataclass(frozen=True, slots=True)
class Centre:
    """A centre of trials and its confidence interval; None with too few trials for one."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def half(self) -> float | None:
        """The distance of the farther edge of the interval from the centre, relative to it; None without one."""
        if self.low is None or self.high is None or not self.value:
            return None
        return max(self.high - self.value, self.value - self.low) / abs(self.value)


def geometric_mean_of(values: Sequence[float], confidence: float = CONFIDENCE) -> Centre:
    """Return the geometric mean of values above zero with Student's interval on their logarithms."""
    logs = [math.log(value) for value in values]
    middle = statistics.fmean(logs)
    if len(logs) < 2:
        return Centre(math.exp(middle))
    reach = student(len(logs) - 1, confidence) * statistics.stdev(logs) / math.sqrt(len(logs))
    return Centre(math.exp(middle), *(math.exp(min(700.0, middle + side * reach)) for side in (-1, 1)))


def balanced_mean_of(values: Sequence[float], on_first: Sequence[bool], confidence: float = CONFIDENCE) -> Centre:
    """Return the geometric mean of values above zero with its interval; the halves of `on_first` have equal weight.

    With m1 and m2 the means of the logarithms of the halves, the mean is (m1 + m2) / 2. Its squared error is
    s^2 (1 / n1 + 1 / n2) / 4, s^2 pooled, with n - 2 degrees of freedom. With one half only, geometric_mean_of().
    """
    sides = [[math.log(value) for value, first in zip(values, on_first, strict=True) if first is half]
             for half in (True, False)]  # fmt: skip
    if not all(sides):
        return geometric_mean_of(values, confidence)
    means, freedom = [statistics.fmean(side) for side in sides], len(values) - 2
    middle = statistics.fmean(means)
    if not freedom:
        return Centre(math.exp(middle))
    squares = sum((one - mean) ** 2 for side, mean in zip(sides, means, strict=True) for one in side)
    error = math.sqrt(squares / freedom * sum(1 / len(side) for side in sides) / 4)
    reach = student(freedom, confidence) * error
    return Centre(math.exp(middle), *(math.exp(min(700.0, middle + side * reach)) for side in (-1, 1)))


def centre_over(values: Sequence[float], on_first: Sequence[bool] = ()) -> Centre:
    """Return the value of trials with its interval: balanced_mean_of() those of a duet, else geometric_mean_of().

    The arithmetic mean without an interval if a trial is not above zero.
    """
    if min(values) <= 0:
        return Centre(mean_of(values))
    found = balanced_mean_of(values, on_first) if on_first else geometric_mean_of(values)
    return replace(found, value=balanced_mean(values, on_first))
