"""Estimates from trials with their intervals: centres, and ratios of two sides."""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar

from app.centres import CONFIDENCE, Centre, student
from app.numeric import Numbers, mean_of, np, special, stats

Real = TypeVar("Real", float, "Numbers")

ERROR = 0.05
"""Family-wise error rate: the accepted false-alarm rate for all metrics of a comparison together."""

FEWEST_TRIALS = 6
"""Trials on each side that a verdict needs: benchstat's rule. With fewer, a single outlier decides, and the interval
depends on a distribution that so few trials cannot show: with three trials of a bimodal metric, a 95 % interval covers
the true value in 64 % of cases (simulated for this project)."""

FEWEST_HOSTS = 3
"""Hosts on each side that a verdict on types of hosts needs: with three each, the means of hosts raise a false alarm in
4 % of cases and detect a difference of 10 % in 67 % (simulated for this project: hosts vary by 3 %)."""

NO_VARIANCE = "identical: variance unknown"
"""How the reason for no interval ends that further values of this kind do not remove."""

MOST_FORECAST = 1000
"""The largest number of further trials that is forecast."""

_MAX_LOGARITHM = 700.0
"""A bound on logarithms: exp() overflows at 709."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio to the baseline with its interval; `reason` says why the interval is None.

    `spread` and `spread_baseline` are the standard deviations of the logarithms of the units of each side (of pairs:
    `spread` that of their ratios). `error` is the standard error of the logarithm of the ratio and `freedom` its
    degrees of freedom, both 0 without an interval; `p` is the two-sided p-value of no difference.
    """

    value: float
    low: float | None = None
    high: float | None = None
    spread: float = 0.0
    spread_baseline: float = 0.0
    p: float | None = None
    reason: str = ""
    error: float = 0.0
    freedom: float = 0.0


def ratio_of(values: Sequence[float], baseline: Sequence[float], confidence: float = CONFIDENCE) -> Ratio | str:
    """Return the ratio of the geometric means of two sets of trials, or the reason for none.

    The interval is Welch's t interval of the difference of the means of the logarithms (Welch 1947), which does not
    assume equal variances. One trial is one value: samples within a trial are autocorrelated, and a test that pools
    them raises a false alarm in every second A/A comparison.
    """
    if min(*values, *baseline) <= 0:
        return "a ratio needs values above zero"
    ours, theirs = ([math.log(value) for value in side] for side in (values, baseline))
    difference = statistics.fmean(ours) - statistics.fmean(theirs)
    ratio = _exp(difference)
    if min(len(ours), len(theirs)) < 2:
        return Ratio(ratio, reason="an interval needs at least two trials on each side")
    variances = [statistics.variance(side) for side in (ours, theirs)]
    if max(variances) < 1e-24:  # the logarithms differ by rounding alone
        return Ratio(ratio, reason=f"the values of each side are {NO_VARIANCE}")
    errors = [(variance / n, n - 1) for variance, n in zip(variances, (len(ours), len(theirs)), strict=True)]
    spreads = [math.sqrt(variance) for variance in variances]
    return ratio_with_interval(difference, errors, confidence, spread=spreads[0], spread_baseline=spreads[1])


def paired_ratio_of(values: Sequence[float], baseline: Sequence[float], confidence: float = CONFIDENCE) -> Ratio | str:
    """Return the ratio of the geometric means of pairs, or the reason for none.

    The interval is Student's of the mean of the logarithms of the ratios of the pairs: what the two values of a pair
    share (the host, the moment) cancels. Raises ValueError for sides of different length.
    """
    if min(*values, *baseline) <= 0:
        return "a ratio needs values above zero"
    logs = [math.log(ours / theirs) for ours, theirs in zip(values, baseline, strict=True)]
    difference = statistics.fmean(logs)
    if len(logs) < 2:
        return Ratio(_exp(difference), reason="an interval needs at least two pairs")
    variance = statistics.variance(logs)
    if variance < 1e-24:
        return Ratio(_exp(difference), reason=f"the ratios of all pairs are {NO_VARIANCE}")
    errors = [(variance / len(logs), len(logs) - 1)]
    return ratio_with_interval(difference, errors, confidence, spread=math.sqrt(variance))


def ratio_with_interval(
    difference: float,
    errors: Sequence[tuple[float, float]],
    confidence: float = CONFIDENCE,
    *,
    spread: float = 0.0,
    spread_baseline: float = 0.0,
) -> Ratio:
    """Return the ratio of a difference of logarithms, with the interval and p-value of welch()."""
    low, high, p = welch(difference, errors, confidence)
    error = sum(squared for squared, _ in errors)
    freedom = error**2 / sum(squared**2 / count for squared, count in errors)
    return Ratio(
        _exp(difference), _exp(low), _exp(high), spread, spread_baseline, float(p),
        error=math.sqrt(error), freedom=freedom,
    )  # fmt: skip


def widened(ratio: Ratio, confidence: float) -> Ratio:
    """Return a ratio whose error is larger, so that its interval at CONFIDENCE is that of `ratio` at `confidence`."""
    if not ratio.error:
        return ratio
    return with_error(ratio, ratio.error * student(ratio.freedom, confidence) / student(ratio.freedom))


def with_error(ratio: Ratio, error: float) -> Ratio:
    """Return a ratio with an interval by another standard error of its logarithm."""
    middle, reach = math.log(ratio.value), error * student(ratio.freedom)
    p = 2 * float(special.stdtr(ratio.freedom, -abs(middle) / error))
    return replace(ratio, low=_exp(middle - reach), high=_exp(middle + reach), error=error, p=p)


def margin_edges(margin: float) -> tuple[float, float]:
    """Return the logarithms of the edges of a margin: of the ratios 1 - margin and 1 + margin.

    The margin is a change relative to the baseline, as sentences give changes: −4.9 % is within 5 %.
    """
    return math.log1p(-margin) if margin < 1 else -math.inf, math.log1p(margin)


def beyond_p(ratio: Ratio, margin: float) -> float:
    """Return the p-value against a ratio within the margin; 1 without an interval.

    Twice the probability of a ratio at least as far from 1, at the nearer edge of the margin: below 0.05 exactly if the
    95 % interval is entirely beyond the margin. Without a margin it is the two-sided p-value of no difference.
    """
    low, high = margin_edges(margin)
    return _two_sided(ratio, max(math.log(ratio.value) - high, low - math.log(ratio.value)))


def within_p(ratio: Ratio, margin: float) -> float:
    """Return the p-value against a ratio beyond the margin (equivalence); 1 without an interval.

    Twice the larger of the two one-sided p-values (TOST, Schuirmann 1987): below 0.05 exactly if the 95 % interval is
    entirely within the margin.
    """
    low, high = margin_edges(margin)
    return _two_sided(ratio, min(high - math.log(ratio.value), math.log(ratio.value) - low))


def _two_sided(ratio: Ratio, distance: float) -> float:
    """Return twice the probability of Student's t beyond a distance in logarithms; 1 without an interval."""
    return min(1.0, 2 * float(special.stdtr(ratio.freedom, -distance / ratio.error))) if ratio.error else 1.0


def _exp(logarithm: float) -> float:
    """Return exp(logarithm), clamped: the interval of two distant trials can exceed the range of floats."""
    return math.exp(max(-_MAX_LOGARITHM, min(_MAX_LOGARITHM, logarithm)))


def welch(
    difference: Real, errors: Sequence[tuple[Real, float]], confidence: float = CONFIDENCE
) -> tuple[Real, Real, Real]:
    """Return the interval of a difference of means and the two-sided p-value of no difference (Welch 1947).

    `errors` are the squared standard error of each mean, at least one above zero, and its degrees of freedom;
    `difference` and the errors are numbers, or arrays of one shape. More than two means: Satterthwaite (1946).

    Two means give the figures of scipy.stats.ttest_ind(equal_var=False), to 12 digits in the tests. That function takes
    two samples only, warns if one side is constant, and takes 1.1 ms a call and 0.6 s to import: a ranking of 100
    candidates has 9,900 pairs.
    """
    error: Any = sum(error for error, _ in errors)
    freedom = error**2 / sum(error**2 / count for error, count in errors)
    reach = special.stdtrit(freedom, (1 + confidence) / 2) * error**0.5
    return difference - reach, difference + reach, 2 * special.stdtr(freedom, -abs(difference) / error**0.5)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values of several tests corrected by Holm's method (1979), in the order given.

    It bounds the family-wise error rate by that of one test.
    """
    count, highest = len(p_values), 0.0
    corrected = [0.0] * count
    for rank, index in enumerate(sorted(range(count), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (count - rank) * p_values[index]))
        corrected[index] = highest
    return corrected


def more_trials(ratio: Ratio, margin: float, counts: tuple[int, int], confidence: float = CONFIDENCE) -> int | None:
    """Estimate the further trials on each side that would settle a ratio whose interval contains an edge of the margin.

    `counts` are the trials of this side and of the baseline. The half width has to shrink to d, the distance to the
    nearest edge: N = (z s / d)^2, s^2 the sum of both variances. It is a least number: with N trials a verdict is
    reached in half of all cases. None if no number up to MOST_FORECAST suffices.
    """
    distance = min(abs(math.log(ratio.value) - edge) for edge in margin_edges(margin))
    if not distance or not (ratio.spread or ratio.spread_baseline):
        return None
    wanted = (distance / statistics.NormalDist().inv_cdf((1 + confidence) / 2)) ** 2
    needed = (ratio.spread**2 + ratio.spread_baseline**2) / wanted
    return max(1, math.ceil(needed) - min(counts)) if needed <= MOST_FORECAST else None


EXACT_UP_TO = 50
"""Trials up to which the signed-rank distribution is computed exactly; beyond, by normal approximation, as in scipy."""


def centre_of(values: Sequence[float], confidence: float = CONFIDENCE) -> Centre:
    """Return the median of all means of two trials (Hodges and Lehmann 1963) with its signed-rank interval.

    The interval inverts Wilcoxon's test (Tukey 1949): exact for any symmetric distribution and robust against
    single outliers. With fewer than six trials no 95 % interval exists.
    """
    trials = np.asarray(values, dtype=float)
    first, second = np.triu_indices(len(trials))
    means = np.sort((trials[first] + trials[second]) / 2)
    middle = float(np.median(means))
    depth = signed_rank_depth(len(trials), round(confidence, 6))
    if not depth:
        return Centre(middle)
    return Centre(middle, float(means[depth - 1]), float(means[-depth]))


def median_of(values: Sequence[float], confidence: float = CONFIDENCE) -> Centre:
    """Return the median of trials with the interval of order statistics, the inverted sign test.

    Exact for any distribution, and always contains the sample median. The interval of centre_of() excludes the median
    of thirty bimodal trials in 29 % of cases (simulated for this project).
    """
    middle = statistics.median(values)
    if 2 * 0.5 ** len(values) > 1 - confidence:  # even the range is too narrow
        return Centre(middle)
    test: Any = stats.quantile_test(values, q=middle, p=0.5)  # the stubs lack confidence_interval
    found = test.confidence_interval(confidence_level=confidence)
    return Centre(middle, float(found.low), float(found.high))


Group = TypeVar("Group")


def group_means(values: Iterable[float], groups: Iterable[Group]) -> dict[Group, float]:
    """Return the mean_of() the values of each group, in the order of their first values."""
    found: dict[Group, list[float]] = {}
    for value, group in zip(values, groups, strict=True):
        found.setdefault(group, []).append(value)
    return {group: mean_of(own) for group, own in found.items()}


@lru_cache(maxsize=256)
def signed_rank_depth(count: int, confidence: float) -> int:
    """Return the rank of the sorted Walsh averages that bounds the interval at each end; 0 without an interval.

    It is the number of rank sums whose cumulative probability is at most half the error.
    """
    error = (1 - confidence) / 2
    if count > EXACT_UP_TO:
        middle, spread = count * (count + 1) / 4, math.sqrt(count * (count + 1) * (2 * count + 1) / 24)
        return max(0, math.floor(middle + statistics.NormalDist().inv_cdf(error) * spread - 0.5) + 1)
    sums = [1]  # number of subsets of the ranks so far with each sum
    for rank in range(1, count + 1):
        longer = sums + [0] * rank
        for total, ways in enumerate(sums):
            longer[total + rank] += ways
        sums = longer
    reached, depth = 0, 0
    for ways in sums:
        reached += ways
        if reached > error * 2**count:
            break
        depth += 1
    return depth
