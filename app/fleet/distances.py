"""Robust distances of hosts from the other hosts of their group, with p-values for tails as of Student's t4."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from app.numeric import Numbers, np, special

FEWEST_PER_GROUP = 6
"""Fewest hosts of a group for a claim on one of them. Of five others one may be a lemon too, and four are left for a
scale; with three others, the same error needs five times the distance (simulated for this project)."""

LEVEL_TAIL, SPREAD_TAIL = 4, 6
"""Degrees of freedom of Student's t as the reference of levels and of spreads. A normal reference claims a lemon in
76 % of clean fleets of 100 hosts whose effects have tails as of t3; with t3 itself, of 50 hosts one that is 40 % slower
is missed at a CoV of 4 % (simulated for this project, and staged)."""

WINSORISED = 0.3
"""Share of the other hosts, the farthest from their median, that count as no farther than the rest: so many may be
lemons themselves. A larger part of a group is no set of lemons but a second population."""

_T3_SCALE = 0.87
"""The winsorised standard deviation of a standard t3 distribution: the median of simulated samples of 5 to 100."""

_FEW_OTHERS = 5.0
"""Wider scale for few hosts, 1 + _FEW_OTHERS / n of them: covers the error of the scale of 5 to 100 hosts that have
normal, t3 or log-normal effects (simulated for this project)."""

_LEAST_SCALE = 1e-6
"""A bound on the relative scale: hosts that are equal differ by rounding."""


@dataclass(frozen=True, slots=True)
class HostScore:
    """The score of a host, a logarithm, and two estimates of its squared error.

    `error` is by the noise of all hosts and the host's numbers of sessions and trials, `own` by its own noise.
    """

    host: str
    value: float
    error: float
    own: float = 0.0


@dataclass(frozen=True, slots=True)
class RobustDistance:
    """The distance of a score from the median of the `others`, in logarithms, its scale, and its two-sided p-value."""

    host: str
    value: float
    scale: float
    others: int
    p: float


def robust_distances(
    groups: Sequence[Sequence[HostScore]], excluded: Collection[str] = (), tail: int = LEVEL_TAIL
) -> list[RobustDistance]:
    """Return the distance of each host of some groups of one metric, without groups of too few other hosts.

    Each host is compared with the others, without itself and without `excluded`, known lemons. The scale is the
    winsorised standard deviation of the others about their median, at least the median of the scales of all groups. A
    host with fewer sessions or trials than the others, or with more noise of its own, has a wider scale by its larger
    error: trials that are slow now and then do not make a lemon.
    """
    rest = [[one for one in group if one.host not in excluded] for group in groups]
    usable = [
        (group, others) for group, others in zip(groups, rest, strict=True) if len(others) >= FEWEST_PER_GROUP - 1
    ]
    pooled = _pooled_scale([others for _, others in usable if len(others) >= FEWEST_PER_GROUP])
    found = []
    for group, others in usable:
        values, errors = (np.array([getattr(one, name) for one in others]) for name in ("value", "error"))
        names = np.array([one.host for one in others])
        for one in group:
            kept = names != one.host
            if kept.sum() >= FEWEST_PER_GROUP - 1:
                found.append(_distance(one, values[kept], float(np.median(errors[kept])), pooled, tail))
    return found


def _pooled_scale(groups: Sequence[Sequence[HostScore]]) -> tuple[float, int]:
    """Return the median scale of the groups and the number of their hosts without one."""
    scales = [_scale(np.array([one.value for one in group])) for group in groups]
    return float(np.median(scales)) if scales else 0.0, sum(map(len, groups)) - 1


def _distance(one: HostScore, others: Numbers, usual: float, pooled: tuple[float, int], tail: int) -> RobustDistance:
    distance = one.value - float(np.median(others))
    square = max(_scale(others), pooled[0]) ** 2
    scale = math.sqrt(square + max(0.0, one.error - usual, one.own - min(usual, square)))
    few = 1 + _FEW_OTHERS / max(len(others), pooled[1])
    p = 2 * float(special.stdtr(tail, -abs(distance) / (scale * few)))
    return RobustDistance(one.host, distance, scale, len(others), p)


def _scale(values: Numbers) -> float:
    """Return the winsorised standard deviation about the median, in scales of Student's t3."""
    deviations = np.sort(np.abs(values - np.median(values)))
    kept = len(values) - int(WINSORISED * len(values))
    square = float((np.minimum(deviations, deviations[kept - 1]) ** 2).sum()) / (len(values) - 1)
    return max(math.sqrt(square) / _T3_SCALE, _LEAST_SCALE)
