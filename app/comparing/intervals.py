"""How sure a ratio of two sets of trials is, and how many more would settle it."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95

FEWEST_TRIALS = 6
"""Trials a side that a verdict needs: benchstat's rule. With fewer, one odd trial decides, and an interval rests on
a shape of the spread that so few cannot show: with three trials of a metric that has two levels, a 95 % interval
holds the truth in 64 % of cases (simulated for this project)."""

FEWEST_HOSTS = 3
"""Hosts a side that a verdict on kinds of hosts needs: with three each, the means of hosts raise a false alarm in
4 % of cases and show 10 % in 67 % (simulated for this project: hosts 3 % apart)."""

MOST_FORECAST = 1000
"""More trials than this are not forecast: nobody would run them."""

_FARTHEST = 700.0
"""The logarithm beyond which there are no numbers, neither large nor small."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio to the baseline with its interval; the interval is None for `reason`.

    `spread` and `spread_baseline` are the standard deviations of the logarithms of one trial on each side; `p` is
    the probability of a ratio at least as far from 1 where there is no difference (Welch's test), None without one.
    """

    value: float
    low: float | None = None
    high: float | None = None
    spread: float = 0.0
    spread_baseline: float = 0.0
    p: float | None = None
    reason: str = ""


def student(freedom: float, confidence: float = CONFIDENCE) -> float:
    """Return Student's two-sided quantile: how many standard errors an interval reaches to either side."""
    from scipy import special

    return float(special.stdtrit(freedom, (1 + confidence) / 2))  # scipy.stats.t.ppf, at a tenth of its cost


def ratio_of(values: Sequence[float], baseline: Sequence[float], confidence: float = CONFIDENCE) -> Ratio | str:
    """Return the ratio of the geometric means of two sets of trials, or in words why there is none.

    The interval is Welch's t interval of the difference of the means of the logarithms (Welch 1947), which does not
    suppose that both sides spread alike. One trial is one value: samples within a trial hang together, and testing
    them pooled raises a false alarm in every second comparison of a thing with itself.
    """
    if min(*values, *baseline) <= 0:
        return "a ratio needs figures above zero"
    ours, theirs = ([math.log(value) for value in side] for side in (values, baseline))
    difference = statistics.fmean(ours) - statistics.fmean(theirs)
    ratio = _exp(difference)
    if min(len(ours), len(theirs)) < 2:
        return Ratio(ratio, reason="an interval needs at least two trials on both sides")
    variances = [statistics.variance(side) for side in (ours, theirs)]
    if max(variances) < 1e-24:  # the logarithms differ by rounding alone
        return Ratio(ratio, reason="all trials agree to the last digit, so their spread is not known")
    low, high, p = _welch(difference, variances, [len(ours), len(theirs)], confidence)
    spreads = [math.sqrt(variance) for variance in variances]
    return Ratio(ratio, _exp(low), _exp(high), spreads[0], spreads[1], p)


def _exp(logarithm: float) -> float:
    """Return the number of a logarithm, no further out than numbers go: two trials far apart reach beyond them."""
    return math.exp(max(-_FARTHEST, min(_FARTHEST, logarithm)))


def _welch(
    difference: float, variances: Sequence[float], counts: Sequence[int], confidence: float
) -> tuple[float, float, float]:
    """Return the interval of a difference of two means, and the two-sided p-value that it is none."""
    from scipy import special

    parts = [variance / count for variance, count in zip(variances, counts, strict=True)]
    error = math.sqrt(sum(parts))
    freedom = sum(parts) ** 2 / sum(part**2 / (count - 1) for part, count in zip(parts, counts, strict=True))
    reach = student(freedom, confidence) * error
    p = 2 * float(special.stdtr(freedom, -abs(difference) / error))
    return difference - reach, difference + reach, p


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values of several tests corrected by Holm's method (1979), in the order given.

    The chance that any of the tests that should stay silent speaks is then at most the error of one.
    """
    count, highest = len(p_values), 0.0
    corrected = [0.0] * count
    for place, index in enumerate(sorted(range(count), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (count - place) * p_values[index]))
        corrected[index] = highest
    return corrected


def more_trials(
    ratio: Ratio,
    margin: float,
    counts: tuple[int, int],
    confidence: float = CONFIDENCE,
    *,
    fixed_baseline: bool = False,
) -> int | None:
    """Return about how many more trials (a side) would settle a ratio whose interval holds an edge of the margin.

    `counts` are the trials of this side and of the baseline. Both sides grow alike, or with `fixed_baseline` this
    one alone. The interval has to shrink to d, the distance to the nearest edge: s^2 / n + s'^2 / n' = (d / z)^2, at
    N = (z s / d)^2 for sides alike. None where no forecast is worth making, or where no number of trials would do.
    """
    distance = abs(abs(math.log(ratio.value)) - math.log1p(margin))
    if not distance or not (ratio.spread or ratio.spread_baseline):
        return None
    wanted = (distance / statistics.NormalDist().inv_cdf((1 + confidence) / 2)) ** 2
    here, there = counts
    if fixed_baseline:
        wanted -= ratio.spread_baseline**2 / there
        needed, have = (ratio.spread**2 / wanted if wanted > 0 else math.inf), here
    else:
        needed, have = (ratio.spread**2 + ratio.spread_baseline**2) / wanted, min(counts)
    return max(1, math.ceil(needed) - have) if needed <= MOST_FORECAST else None
