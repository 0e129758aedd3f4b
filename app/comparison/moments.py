"""Moments that hosts share, sessions of a study or runs of several hosts: their error in a ratio of hosts."""

import math
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from app.centres import student
from app.comparison.estimates import Ratio, ratio_with_interval, with_error
from app.numeric import np

Moments = Mapping[str, str]
"""The moment of runs by their ids; a run that is not named is a moment of its own."""

NO_MOMENTS: Moments = MappingProxyType({})

MeansByMoment = Mapping[str, Mapping[str, float]]
"""The mean of each host at each of its moments."""


@dataclass(frozen=True, slots=True)
class MomentError:
    """The error that shared moments add to a ratio of hosts, on logarithms.

    `counts` are the numbers of shared moments of this side and of the baseline. `squared` has `freedom` degrees of
    freedom; both are 0 if it is not known how moments vary. `spread` is the standard deviation of a moment.
    """

    counts: tuple[int, int]
    squared: float = 0.0
    freedom: float = 0.0
    spread: float = 0.0

    @property
    def known(self) -> bool:
        """Whether the error is known."""
        return bool(self.freedom)

    @property
    def of_both(self) -> bool:
        """Whether it is known, and both sides have shared moments."""
        return self.known and min(self.counts) > 0

    def added_to(self, ratio: Ratio) -> Ratio:
        """Return a ratio with this error beside that of its hosts; unchanged without an interval.

        The interval has the root of the sum of the squared reaches of both errors, each by its own degrees of freedom:
        those of Satterthwaite (1946) are too many where one of two errors has a single degree and is small by chance.
        """
        if not (self.known and ratio.error):
            return ratio
        errors = [(ratio.error**2, ratio.freedom), (self.squared, self.freedom)]
        found = ratio_with_interval(
            math.log(ratio.value), errors, spread=ratio.spread, spread_baseline=ratio.spread_baseline
        )
        reach = math.sqrt(sum(squared * student(freedom) ** 2 for squared, freedom in errors))
        return with_error(found, reach / student(found.freedom))


def means_by_moment(means: Mapping[tuple[str, str], float]) -> MeansByMoment:
    """Return means by host and moment as those of each host."""
    found: dict[str, dict[str, float]] = {}
    for (host, name), mean in means.items():
        found.setdefault(host, {})[name] = mean
    return found


def moment_error(ours: MeansByMoment, baseline: MeansByMoment) -> MomentError | None:
    """Return the error of moments in the ratio of two sides, each the mean of its hosts, each the mean of its moments.

    What all hosts of a moment share is in the ratio with the difference of the moment's weights on both sides: moments
    of both sides cancel. None if all do, and if no moment has several hosts, whose spread has the moments then.

    The variance of moments is that of their effects, by least squares on the deviations from the means of hosts; it
    contains the mean of what hosts do not share. It is that of each side (Welch 1947) if both have several moments, and
    none in common; else one for both. Without a host with several shared moments it is the variance within hosts.

    Of 800 simulated pairs of equal groups of 8 hosts (CoV of moments 1 or 5 %), the 95 % interval contains 1 in 94 to
    99 %; where moments of one side vary by 5 % and those of the other by 1 %, in 88 to 91 % with 2 against 4 to 10.
    """
    hosts = Counter(name for side in (ours, baseline) for host in side.values() for name in host)
    shared = {name for name, count in hosts.items() if count > 1}
    names = [shared & {name for host in side.values() for name in host} for side in (ours, baseline)]
    squares = [
        [(_weight(name, ours) - _weight(name, baseline)) ** 2 for name in own]
        for own in (names[0], names[1] - names[0])
    ]
    squared = sum(map(sum, squares))
    if squared < _ROUNDING:
        return None
    counts = len(names[0]), len(names[1])
    sides = [[host for host in side.values() if min(host.values()) > 0] for side in (ours, baseline)]
    both = [_spread(side, shared) for side in sides]
    if not names[0] & names[1] and all(both):
        errors = [(found[0] * sum(own), found[1]) for found, own in zip(both, squares, strict=True) if found]
        error = sum(each for each, _ in errors)
        freedom = error**2 / sum(each**2 / count for each, count in errors) if error else sum(n for _, n in errors)
        return MomentError(counts, error, freedom, math.sqrt(error / squared))
    every = [*sides[0], *sides[1]]
    pooled = _spread(every, shared) or _within(every)
    return MomentError(counts, pooled[0] * squared, pooled[1], math.sqrt(pooled[0])) if pooled else MomentError(counts)


_ROUNDING = 1e-12
"""Weights that differ by rounding alone."""


def _weight(name: str, side: MeansByMoment) -> float:
    """Return the weight of a moment in the mean of a side."""
    return sum(1 / len(host) for host in side.values() if name in host) / max(1, len(side))


def _spread(hosts: Iterable[Mapping[str, float]], shared: Collection[str]) -> tuple[float, int] | None:
    """Return the variance of shared moments and its degrees of freedom; None if no host has several."""
    places = {name: place for place, name in enumerate(shared)}
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
    return float((effects**2).sum() / rank), int(rank)


def _within(hosts: Iterable[Mapping[str, float]]) -> tuple[float, int] | None:
    """Return the variance of moments within hosts and its degrees of freedom; None if no host has several."""
    several = [[math.log(mean) for mean in host.values()] for host in hosts if len(host) > 1]
    freedom = sum(len(own) - 1 for own in several)
    return (sum((len(own) - 1) * statistics.variance(own) for own in several) / freedom, freedom) if several else None
