"""Flatness of a curve, and its knee with an interval, from the logarithms of the trials of each point."""

import math
import statistics
from collections.abc import Sequence

from app.centres import CONFIDENCE
from app.comparison.estimates import ERROR
from app.numeric import np, special
from suites.sweep import KNEE_SHARE

FLAT_WITHIN = 0.10
"""Range of a flat curve with one trial a point: seven points of a rate that varies by 2 % exceed it in 1 % of cases."""

ROUNDING = 1e-24
"""Variance of logarithms below which values are identical: the rest is rounding."""


def pure_error(logs: Sequence[Sequence[float]]) -> tuple[float, int]:
    """Return the pooled variance of the trials within the points, and its degrees of freedom.

    Both are 0 with fewer degrees of freedom than points: less than two trials a point, on average.
    """
    freedom = sum(len(own) - 1 for own in logs)
    if freedom < len(logs):
        return 0.0, 0
    return sum(statistics.variance(own) * (len(own) - 1) for own in logs if len(own) > 1) / freedom, freedom


def is_flat(points: Sequence[Sequence[float]]) -> bool:
    """Return whether the trials of some points show no dependence on the point.

    So if all geometric means are within 5 % of the maximum, so that every point is the knee, or do not differ
    significantly (one-way analysis of variance of the logarithms); with one trial a point, within FLAT_WITHIN.
    """
    if min(map(min, points)) <= 0:
        return False
    logs = [[math.log(value) for value in own] for own in points]
    means = [statistics.fmean(own) for own in logs]
    spread = max(means) - min(means)
    variance, freedom = pure_error(logs)
    if spread <= (-math.log(KNEE_SHARE) if freedom else math.log1p(FLAT_WITHIN)):
        return True
    if variance < ROUNDING:
        return False
    grand = statistics.fmean(value for own in logs for value in own)
    between = sum(len(own) * (mean - grand) ** 2 for own, mean in zip(logs, means, strict=True)) / (len(logs) - 1)
    return float(special.fdtrc(len(logs) - 1, freedom, between / variance)) > ERROR


def knee_bounds(points: Sequence[Sequence[float]]) -> tuple[int, int] | None:
    """Return the first and the last point, by index, that can be the knee (95 %); None with too few trials.

    The knee is the first point to reach 95 % of the maximum. Excluded are the points before the first one that is not
    significantly below 95 % of some other, and those after the first one significantly above 95 % of every other: t
    tests with the pooled variance of the logarithms, half the error for each end. Exceeding one of the others is
    corrected by Bonferroni; exceeding all of them needs no correction (intersection-union test, Berger 1982). The
    interval held the knee in 94 % or more of every simulated case, with several points just below 95 % too.
    """
    if len(points) < 2 or min(map(min, points)) <= 0:
        return None
    logs = [[math.log(value) for value in own] for own in points]
    variance, freedom = pure_error(logs)
    if not freedom:
        return None
    means = np.array([statistics.fmean(own) for own in logs])
    shares = np.array([1 / len(own) for own in logs])
    errors = np.sqrt(max(variance, ROUNDING) * (shares[:, None] + shares))
    excess = (means[:, None] - means - math.log(KNEE_SHARE)) / errors
    np.fill_diagonal(excess, math.inf)
    least = excess.min(axis=1)
    half = (1 - CONFIDENCE) / 2
    below, above = (float(special.stdtrit(freedom, 1 - error)) for error in (half / (len(points) - 1), half))
    certain = least > above
    return int(np.argmax(least >= -below)), int(np.argmax(certain)) if certain.any() else len(points) - 1
