"""Lemons of a fleet study: instances that are slower, or vary more, than the others of their group."""

import math
import statistics
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.centres import student
from app.comparison.caveats import two_levels
from app.comparison.estimates import ERROR, holm
from app.fleet.distances import (
    FEWEST_PER_GROUP,
    LEVEL_TAIL,
    SPREAD_TAIL,
    WINSORISED,
    HostScore,
    RobustDistance,
    robust_distances,
)
from app.fleet.scores import level_scores, spread_scores
from app.fleet.study import FleetMetric
from suites.quantities import count_text, figure_text, metric_text
from suites.vocab import Better, Labels, Metric

METHOD = (
    "Each instance is compared with the median of the others of its group: distance of logarithms in robust standard "
    "deviations of the others, tails as of Student's t4, Holm's correction for all instances, groups and metrics"
)
"""The method. Share of simulated clean studies with a lemon, by the shape and the CoV of the effects of instances: 200
studies of 10 instances, 60 of 50, 40 of 100; CoV of sessions and trials 1 %, margin 5 %, 6 trials:

| instances x sessions, CoV | normal | t3   | log-normal | exponential | noisy neighbour | two levels |
| 10 x 1, 2 %               |  .000  | .020 |    .015    |    .045     |      .000       |    .000    |
| 50 x 2, 2 %               |  .000  | .033 |    .067    |    .067     |      .000       |    .000    |
| 100 x 1, 2 %              |  .000  | .025 |    .000    |    .025     |      .000       |    .000    |
| 10 x 1, 5 %               |  .005  | .030 |    .025    |    .090     |      .005       |    .020    |
| 50 x 2, 5 %               |  .000  | .067 |    .100    |    .217     |      .000       |    .000    |
| 100 x 1, 5 %              |  .000  | .025 |    .000    |    .175     |      .000       |    .000    |

An instance far out in a tail of slow instances is slow indeed, whatever the shape is called. Share of 40 studies that
find exactly the one instance that is slower, 2 sessions of 6 trials, by CoV and number of instances:

| slower by | 1 %, 10 | 1 %, 50 | 2 %, 10 | 2 %, 50 | 5 %, 10 | 5 %, 50 |
|   10 %    |   .73   |   .78   |   .18   |   .05   |   .00   |   .00   |
|   20 %    |  1.00   |  1.00   |   .88   |   .98   |   .20   |   .03   |
|   30 %    |  1.00   |  1.00   |  1.00   |  1.00   |   .38   |   .33   |
|   50 %    |  1.00   |  1.00   |  1.00   |  1.00   |   .98   |  1.00   |"""

SPREAD_RATIO = 2.0
"""Least ratio of the spread of a host to that of the others for a lemon by spread: with 12 trials, the standard
deviation of every twentieth host is 1.4 times that of the median host by chance alone."""

ONE_IN_TWENTY = 2.46
"""The distance from the median that every twentieth trial exceeds, by the mean deviation (normal distribution)."""

WORSE, BETTER = "worse", "better"


class LemonKind(StrEnum):
    """What differs: the level of an instance, or the spread of its trials within sessions."""

    LEVEL = "level"
    SPREAD = "spread"


TAILS = {LemonKind.LEVEL: LEVEL_TAIL, LemonKind.SPREAD: SPREAD_TAIL}

ERROR_SHARES = {(LemonKind.LEVEL, WORSE): 0.75, (LemonKind.LEVEL, BETTER): 0.05, (LemonKind.SPREAD, WORSE): 0.2}
"""Shares of the claims in the family-wise error; each is a one-sided test. An instance that is better than the others
is worth a note, and costs the search for lemons little."""


@dataclass(frozen=True, slots=True)
class Lemon:
    """An instance whose distribution of a metric differs from that of the others of its group.

    `ratio` is its level, or its spread, by the median of the others, with the 95 % interval; `p_adjusted` is Holm's
    over all instances, groups and metrics. Only one whose `direction` is worse is a lemon, `is_worse`. `trials` are
    those of all its sessions, `others` the instances that it is compared with, `median` their median.
    """

    host: str
    group: str
    step: str
    metric: Metric
    labels: Labels
    ratio: float
    low: float
    high: float
    p_adjusted: float
    kind: LemonKind
    direction: str
    sessions: int
    trials: int
    others: int
    median: float

    @property
    def is_worse(self) -> bool:
        """Whether it is a lemon: worse, not better than the others."""
        return self.direction == WORSE

    @property
    def key(self) -> tuple[str, str, str, Labels, LemonKind]:
        """What identifies the lemon in another study."""
        return self.host, self.step, self.metric.name, self.labels, self.kind


@dataclass(frozen=True, slots=True)
class TwoPopulations:
    """The hosts of a group that are on two levels: `low` and `high` are the levels, with the hosts on each."""

    group: str
    step: str
    metric: Metric
    labels: Labels
    low: float
    high: float
    low_hosts: tuple[str, ...]
    high_hosts: tuple[str, ...]

    @property
    def text(self) -> str:
        """The levels as a line: ``c7i.large: IOPS of fio is on two levels, about 700/s (5 instances) and ...``."""
        sides = ((self.low, self.low_hosts), (self.high, self.high_hosts))
        levels = (f"{figure_text(self.metric, level)} ({count_text(len(hosts), 'instance')})" for level, hosts in sides)
        what = f"{metric_text(self.metric, self.labels)} of {self.step}"
        return f"{self.group}: {what} is on two levels, about {' and '.join(levels)}"


@dataclass(frozen=True, slots=True)
class LemonSearch:
    """The instances that differ, the lemons first, the groups with two populations, and what was not tested and why.

    `tests` is the number of tests that Holm's correction is for.
    """

    outliers: tuple[Lemon, ...]
    populations: tuple[TwoPopulations, ...] = ()
    untested: tuple[str, ...] = ()
    tests: int = 0

    @property
    def lemons(self) -> tuple[Lemon, ...]:
        """The outliers that are worse."""
        return tuple(one for one in self.outliers if one.is_worse)


@dataclass(frozen=True, slots=True)
class _Family:
    """The scores of one kind of the hosts of one metric, by group."""

    one: FleetMetric
    kind: LemonKind
    scores: Mapping[str, Sequence[HostScore]]

    def claim(self, distance: RobustDistance) -> tuple[LemonKind, str]:
        """Return the kind and the direction of a distance: more spread is worse."""
        less_is_worse = self.kind is LemonKind.LEVEL and self.one.metric.better is Better.HIGHER
        return self.kind, WORSE if (distance.value < 0) is less_is_worse else BETTER

    def matters(self, distance: RobustDistance) -> bool:
        """Return whether a level, or every twentieth trial by its spread, is beyond the margin of the metric."""
        ratio = math.exp(min(distance.value, 700.0))
        if self.kind is LemonKind.LEVEL:
            return abs(ratio - 1) > self.one.margin
        own = next(one.value for group in self.scores.values() for one in group if one.host == distance.host)
        return ratio >= SPREAD_RATIO and ONE_IN_TWENTY * math.exp(own) > self.one.margin


def find_lemons(metrics: Sequence[FleetMetric]) -> LemonSearch:
    """Return the instances of a study that differ from the others of their group, in any of its metrics.

    A group of fewer than FEWEST_PER_GROUP hosts has no scale to compare with. Lemons do not hide each other: those
    found leave the others' scale, and the search is repeated until it finds no more. A group on two levels is compared
    level by level if the smaller one has more than WINSORISED of its hosts.
    """
    families = [family for one in metrics for family in _families(one)]
    found: dict[tuple[int, str], tuple[RobustDistance, float]] = {}
    while True:
        known = [{host for index, host in found if index == number} for number in range(len(families))]
        parts = [_parts(family, own) for family, own in zip(families, known, strict=True)]
        tests = [(number, distance) for number, own in enumerate(known)
                 for distance in robust_distances(parts[number], own, TAILS[families[number].kind])]  # fmt: skip
        corrected = _corrected([(families[number].claim(distance), distance.p) for number, distance in tests])
        new = {(number, distance.host): (distance, p) for (number, distance), p in zip(tests, corrected, strict=True)
               if p < ERROR and families[number].matters(distance)}  # fmt: skip
        complete, found = new.keys() <= found.keys(), found | new
        if complete:
            break
    outliers = [_lemon(families[number], distance, p) for (number, _), (distance, p) in found.items()]
    outliers.sort(key=lambda one: (not one.is_worse, one.kind, -abs(math.log(one.ratio))))
    populations = [each for family, own in zip(families, known, strict=True) for each in _populations(family, own)]
    return LemonSearch(tuple(outliers), tuple(populations), tuple(_untested(families, parts)), len(tests))


def _corrected(tests: Sequence[tuple[tuple[LemonKind, str], float]]) -> list[float]:
    """Return the p-values of claims, from two-sided ones, by Holm's method within the share of each claim.

    Of each claim there are as many one-sided tests as of its kind; those of hosts on the other side have no evidence.
    """
    found = [1.0] * len(tests)
    for claim, share in ERROR_SHARES.items():
        own = [index for index, (each, _) in enumerate(tests) if each[0] is claim[0]]
        one_sided = [tests[index][1] / 2 if tests[index][0] == claim else 1.0 for index in own]
        for index, p in zip(own, holm(one_sided), strict=True):
            found[index] = min(found[index], p / share)
    return found


def _families(one: FleetMetric) -> Iterator[_Family]:
    yield _Family(one, LemonKind.LEVEL, {name: level_scores(group) for name, group in one.groups.items()})
    yield _Family(one, LemonKind.SPREAD, {name: spread_scores(group) for name, group in one.groups.items()})


def _parts(family: _Family, lemons: Collection[str]) -> list[Sequence[HostScore]]:
    """Return the groups of a family, one on two levels as two; `lemons` do not decide on levels."""
    found: list[Sequence[HostScore]] = []
    split = {each.group: each for each in _populations(family, lemons)}
    for name, scores in family.scores.items():
        levels = split.get(name)
        if levels is None:
            found.append(scores)
        else:
            middle = (math.log(levels.low) + math.log(levels.high)) / 2
            found += [[one for one in scores if (one.value < middle) is low] for low in (True, False)]
    return found


def _populations(family: _Family, lemons: Collection[str]) -> Iterator[TwoPopulations]:
    """Yield the groups on two levels, each with more than WINSORISED of the hosts that are no lemons."""
    for name, scores in family.scores.items() if family.kind is LemonKind.LEVEL else ():
        values = {one.host: math.exp(one.value) for one in scores if one.host not in lemons}
        levels = two_levels(list(values.values())) if values else None
        if levels is None:
            continue
        middle = math.sqrt(levels[0] * levels[1])
        low, high = (
            tuple(host for host, value in values.items() if (value < middle) is side) for side in (True, False)
        )
        if min(len(low), len(high)) > WINSORISED * len(values):
            yield TwoPopulations(name, family.one.step, family.one.metric, family.one.labels, *levels, low, high)


def _lemon(family: _Family, distance: RobustDistance, p_adjusted: float) -> Lemon:
    """Return an outlier with the interval of its ratio.

    The errors of the host's mean and of the median of the others, pi s^2 / 2 n; where sessions were not repeated, the
    scale of the others bounds the error of the host. Student's t with the freedom of the others.
    """
    one = family.one
    group, sessions = next((name, group[distance.host]) for name, group in one.groups.items() if distance.host in group)
    own = next(score for score in family.scores[group] if score.host == distance.host)
    repeated = family.kind is LemonKind.SPREAD or any(len(each) > 1 for each in one.groups[group].values())
    error = math.sqrt(
        (max(own.error, own.own) if repeated else distance.scale**2) + math.pi / 2 * distance.scale**2 / distance.others
    )
    reach = student(distance.others - 1) * error
    ratio, low, high = (math.exp(distance.value + side * reach) for side in (0, -1, 1))
    return Lemon(
        distance.host, group, one.step, one.metric, one.labels, ratio, low, high, p_adjusted, family.kind,
        family.claim(distance)[1], len(sessions), sum(map(len, sessions.values())), distance.others,
        math.exp(own.value - distance.value),
    )  # fmt: skip


def _untested(families: Sequence[_Family], parts: Sequence[Sequence[Sequence[HostScore]]]) -> Iterator[str]:
    """Yield why hosts of a group were not tested."""
    for family, own in zip(families, parts, strict=True):
        if family.kind is LemonKind.SPREAD:
            continue
        names = {one.host: name for name, scores in family.scores.items() for one in scores}
        for part in own:
            if 0 < len(part) < FEWEST_PER_GROUP:
                name, count = names[part[0].host], count_text(len(part), "instance")
                middle = math.exp(statistics.median(one.value for one in part))
                level = f" on the level of about {figure_text(family.one.metric, middle)}"
                where = "" if len(part) == len(family.scores[name]) else level
                yield f"{family.one.title}, {name}: {count}{where}, a lemon needs {FEWEST_PER_GROUP}"


def p_text(p: float) -> str:
    """Return an adjusted p-value: ``p < 0.0001``."""
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.2g}"
