"""Moments that hosts share, sessions of a study or runs of several hosts: their error in a ratio of hosts."""

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from app.comparison.estimates import Ratio, ratio_with_interval
from app.numeric import np

Moments = Mapping[str, str]
"""The moment of runs by their ids; a run that is not named is a moment of its own."""

NO_MOMENTS: Moments = MappingProxyType({})

MeansByMoment = Mapping[str, Mapping[str, float]]
"""The mean of each host at each of its moments."""


@dataclass(frozen=True, slots=True)
class MomentError:
    """The error that shared moments add to a ratio of hosts, on logarithms.

    `squared` has `freedom` degrees of freedom. `spread` is the standard deviation of a moment, `counts` the numbers of
    moments of this side and of the baseline.
    """

    squared: float
    freedom: int
    spread: float
    counts: tuple[int, int]

    def added_to(self, ratio: Ratio) -> Ratio:
        """Return a ratio with this error beside that of its hosts; unchanged without an interval."""
        if not ratio.error:
            return ratio
        errors = [(ratio.error**2, ratio.freedom), (self.squared, float(self.freedom))]
        return ratio_with_interval(
            math.log(ratio.value), errors, spread=ratio.spread, spread_baseline=ratio.spread_baseline
        )


def moment_error(ours: MeansByMoment, baseline: MeansByMoment) -> MomentError | None:
    """Return the error of moments in the ratio of two sides, each the mean of its hosts, each the mean of its moments.

    What all hosts of a moment share has the variance s^2 and is in the ratio with the difference of the moment's
    weights on both sides, so that moments of both sides cancel. s^2 is the variance of the effects of moments by least
    squares on the deviations from the means of hosts, per side; it contains the mean of what hosts do not share. The
    moments of a single host are in the spread of hosts; s^2 is by them if no host has several others. None if all
    moments cancel, and if no host has several, with means above zero, which leaves s^2 unknown.
    """
    every = [*ours.values(), *baseline.values()]
    hosts = Counter(name for host in every for name in host)
    shared = [name for name, count in hosts.items() if count > 1]
    squared = sum((_weight(name, ours) - _weight(name, baseline)) ** 2 for name in shared)
    if squared < _ROUNDING:
        return None
    positive = [host for host in every if min(host.values()) > 0]
    found = _spread(positive, shared) or _spread(positive, list(hosts))
    counts = _count(ours), _count(baseline)
    return None if found is None else MomentError(squared * found[0] ** 2, found[1], found[0], counts)


_ROUNDING = 1e-12
"""Weights that differ by rounding alone."""


def _count(side: MeansByMoment) -> int:
    return len({name for host in side.values() for name in host})


def _weight(name: str, side: MeansByMoment) -> float:
    """Return the weight of a moment in the mean of a side."""
    return sum(1 / len(host) for host in side.values() if name in host) / len(side)


def _spread(hosts: Sequence[Mapping[str, float]], names: Sequence[str]) -> tuple[float, int] | None:
    """Return the standard deviation of the moments `names` and its degrees of freedom; None if no host has several."""
    places = {name: place for place, name in enumerate(names)}
    design, response = [], []
    for host in hosts:
        own = {places[name]: math.log(mean) for name, mean in host.items() if name in places}
        middle = statistics.fmean(own.values()) if own else 0.0
        for place, value in own.items() if len(own) > 1 else ():
            row = np.zeros(len(places))
            row[list(own)] -= 1 / len(own)
            row[place] += 1
            design.append(row)
            response.append(value - middle)
    if not design:
        return None
    effects, _, rank, _ = np.linalg.lstsq(np.array(design), np.array(response))  # the shortest: of mean 0
    return float(np.sqrt((effects**2).sum() / rank)), int(rank)
