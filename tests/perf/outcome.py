"""What a benchmark of Benchwright itself found: a figure, how sure it is, and whether its aim is met."""

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

CONFIDENCE = 0.95


class Met(StrEnum):
    """Whether an aim is met; UNDECIDED where the interval allows for both."""

    MET = "met"
    MISSED = "missed"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure and the interval that holds it with a confidence of 95 %."""

    value: float
    low: float
    high: float

    def under(self, aim: float) -> Met:
        """Return whether the figure is below `aim`."""
        if self.high < aim:
            return Met.MET
        return Met.MISSED if self.low >= aim else Met.UNDECIDED

    def within(self, share: float) -> Met:
        """Return whether this ratio is one: nearer to it than `share`, and 1 inside its interval."""
        if not self.low <= 1 <= self.high:
            return Met.MISSED
        return Met.MET if abs(self.value - 1) <= share else Met.UNDECIDED


@dataclass(frozen=True, slots=True)
class Outcome:
    """One line of the report."""

    what: str
    figure: str
    interval: str
    aim: str
    met: Met


def mean(values: Sequence[float]) -> Interval:
    """Return the mean of `values` with its t interval."""
    from scipy import stats

    centre = statistics.fmean(values)
    error = statistics.stdev(values) / math.sqrt(len(values))
    low, high = stats.t.interval(CONFIDENCE, len(values) - 1, loc=centre, scale=error) if error else (centre, centre)
    return Interval(centre, float(low), float(high))


def paired_ratio(ours: Sequence[float], theirs: Sequence[float]) -> Interval:
    """Return the geometric mean of the ratios of pairs, with the t interval of their logarithms."""
    found = mean([math.log(our / their) for our, their in zip(ours, theirs, strict=True)])
    return Interval(math.exp(found.value), math.exp(found.low), math.exp(found.high))


def percentile(values: Sequence[float], rank: float) -> Interval:
    """Return a percentile of `values` with its interval from order statistics, which supposes nothing of their shape.

    The upper end is the largest value where there are too few to bound the percentile otherwise (below 299 for p99).
    """
    from scipy import stats

    ordered, count = sorted(values), len(values)
    share = rank / 100
    tail = (1 - CONFIDENCE) / 2
    low = int(stats.binom.ppf(tail, count, share))
    high = int(stats.binom.ppf(1 - tail, count, share)) + 1
    middle = min(count - 1, math.ceil(share * count) - 1)
    return Interval(ordered[middle], ordered[max(0, low - 1)], ordered[min(count - 1, high - 1)])


def seconds_line(what: str, times: Sequence[float], aim: float) -> Outcome:
    """Return the line of a time that should be below `aim`; it has an interval if there are several."""
    found = mean(times) if len(times) > 1 else None
    value = times[0] if found is None else found.value
    interval = "" if found is None else f"{found.low:.3f} to {found.high:.3f}"
    met = (Met.MET if value < aim else Met.MISSED) if found is None else found.under(aim)
    return Outcome(f"{what}, seconds", f"{value:.3f}", interval, f"under {aim:g}", met)


def timed(work: Callable[[], object]) -> float:
    """Return the seconds that `work` takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
