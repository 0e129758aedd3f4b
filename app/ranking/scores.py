"""Scores of candidates and their separation: sums of means of logarithms, one value a trial, session or host."""

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from app.comparison.estimates import ERROR, NO_VARIANCE, Ratio, beyond_p, holm, ratio_with_interval
from app.comparison.moments import MeansByMoment, moment_error
from app.comparison.verdicts import FEWEST, Level
from suites.quantities import count_text

ValueUnit = tuple[str, ...]
"""What a value was measured in: a trial (run, host and round, or run and trial), a session (run, host), or a host."""


@dataclass(frozen=True, slots=True)
class Score:
    """The logarithm of a score, higher is better, as the sum of the means of its parts.

    A part has one value for each trial, session or host of a step: the weighted sum of the logarithms of its metrics,
    negated where lower is better. Metrics of one trial are correlated, so they form one value; steps are independent.
    `units` are those of the values of each part, if known. `moments` has a positive score of each host at its moments,
    for values of hosts.
    """

    parts: tuple[tuple[float, ...], ...]
    level: Level = Level.TRIAL
    units: tuple[tuple[ValueUnit, ...], ...] = ()
    moments: MeansByMoment = field(default_factory=dict, hash=False)

    @property
    def value(self) -> float:
        """The logarithm of the score."""
        return sum(statistics.fmean(part) for part in self.parts)

    @property
    def n(self) -> int:
        """The number of values of the smallest part."""
        return min(len(part) for part in self.parts)

    @property
    def shortage(self) -> str:
        """The reason if there are too few values for an interval that a claim can rest on; else an empty string."""
        fewest = FEWEST[self.level]
        return "" if self.n >= fewest else f"{count_text(self.n, self.level)}, a rank needs {fewest}"


def are_paired(one: Score, other: Score) -> bool:
    """Return whether most values of each part share their unit: a host, or a session or round of one host."""
    shared = [len(set(ours) & set(theirs)) for ours, theirs in zip(one.units, other.units, strict=False)]
    every = [len(set(ours) | set(theirs)) for ours, theirs in zip(one.units, other.units, strict=False)]
    return 0 < len(one.units) == len(other.units) and all(
        both > 1 and both * 2 >= whole for both, whole in zip(shared, every, strict=True)
    )


def ratio_between(one: Score, other: Score) -> Ratio:
    """Return the ratio of two scores with Welch's interval over all parts of both (Satterthwaite 1946).

    Values of the same units are compared in pairs; the others are left out then. Moments that hosts share have their
    error in it. For a single metric it equals the ratio of compare().
    """
    parts, difference = [*one.parts, *other.parts], one.value - other.value
    ours, theirs = one.moments, other.moments
    if are_paired(one, other):
        parts = _pair_differences(one, other)
        difference = sum(statistics.fmean(part) for part in parts)
        shared = ours.keys() & theirs.keys()
        ours, theirs = ({host: own for host, own in side.items() if host in shared} for side in (ours, theirs))
    if min(map(len, parts)) < 2:
        return Ratio(math.exp(difference), reason="an interval needs at least two trials on each side")
    errors = [(statistics.variance(part) / len(part), len(part) - 1) for part in parts]
    if sum(error for error, _ in errors) < 1e-24:
        return Ratio(math.exp(difference), reason=f"the values of each side are {NO_VARIANCE}")
    found, error = ratio_with_interval(difference, errors), moment_error(ours, theirs)
    return found if error is None else error.added_to(found)


def _pair_differences(one: Score, other: Score) -> list[tuple[float, ...]]:
    """Return the differences of the values that share their unit, for each part."""
    found = []
    for ours, values, theirs, others in zip(one.units, one.parts, other.units, other.parts, strict=True):
        partner = dict(zip(theirs, others, strict=True))
        found.append(tuple(value - partner[unit] for unit, value in zip(ours, values, strict=True) if unit in partner))
    return found


def separated(scores: Sequence[Score], margin: float) -> list[list[bool]]:
    """Return for every pair whether the first is better than the second.

    The ratio of the higher to the lower has to be beyond the margin: the p-value against its edge, with
    Holm's correction for all pairs, is below 0.05. Scores without variance are exact, and separated by any ratio beyond
    the margin; those with too few values are not separated.
    """
    order = sorted(range(len(scores)), key=lambda index: -scores[index].value)
    pairs = list(itertools.combinations(order, 2))
    corrected = holm([_p(scores[high], scores[low], margin) for high, low in pairs])
    found = [[False] * len(scores) for _ in scores]
    for (high, low), p in zip(pairs, corrected, strict=True):
        found[high][low] = p < ERROR
    return found


def _p(higher: Score, lower: Score, margin: float) -> float:
    if higher.shortage or lower.shortage:
        return 1.0
    ratio = ratio_between(higher, lower)
    if ratio.value <= 1:  # of the pairs, though not of all values
        return 1.0
    return beyond_p(ratio, margin) if ratio.error else float(ratio.value <= 1 + margin)


def tied_groups(scores: Sequence[Score], margin: float) -> list[list[int]]:
    """Return the indices of the scores in tied groups, the best first.

    A group consists of its leader, the highest score, and all that the leader is not separated from. Separation is
    not transitive: a score that another member beats stays in the group if the leader does not beat it.
    """
    better = separated(scores, margin)
    order = sorted(range(len(scores)), key=lambda index: -scores[index].value)
    groups: list[list[int]] = []
    for index in order:
        if groups and not better[groups[-1][0]][index]:
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups
