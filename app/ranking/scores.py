"""Scores of candidates and their separation: sums of means of logarithms, one value a trial, session or host."""

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from app.comparison.estimates import ERROR, NO_VARIANCE, Ratio, beyond_p, holm, ratio_with_interval
from app.comparison.verdicts import FEWEST, Level
from suites.quantities import count_text


@dataclass(frozen=True, slots=True)
class Score:
    """The logarithm of a score, higher is better, as the sum of the means of its parts.

    A part has one value for each trial, session or host of a step: the weighted sum of the logarithms of its metrics,
    negated where lower is better. Metrics of one trial are correlated, so they form one value; steps are independent.
    """

    parts: tuple[tuple[float, ...], ...]
    level: Level = Level.TRIAL

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


def ratio_between(one: Score, other: Score) -> Ratio:
    """Return the ratio of two scores with Welch's interval over all parts of both (Satterthwaite 1946).

    For a single metric it equals the ratio of compare().
    """
    difference = one.value - other.value
    parts = [*one.parts, *other.parts]
    if min(map(len, parts)) < 2:
        return Ratio(math.exp(difference), reason="an interval needs at least two trials on each side")
    errors = [(statistics.variance(part) / len(part), len(part) - 1) for part in parts]
    if sum(error for error, _ in errors) < 1e-24:
        return Ratio(math.exp(difference), reason=f"the values of each side are {NO_VARIANCE}")
    return ratio_with_interval(difference, errors)


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
