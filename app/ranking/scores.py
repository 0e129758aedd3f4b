"""Scores of candidates and their separation: sums of means of logarithms, one value a trial."""

import itertools
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from app.comparison.estimates import CONFIDENCE, Ratio, holm, welch
from app.comparison.verdicts import ComparisonVerdict, Level, VerdictEvidence, decide
from app.numeric import Numbers, np
from suites.units import Unit
from suites.vocab import Better, Metric, MetricKind

RESAMPLES = 2000
"""Bootstrap samples for rank intervals: their edges then vary by less than one rank in a hundred."""

SCORE = Metric("score", "Score", Unit.ONE, Better.HIGHER, MetricKind.COUNT)


@dataclass(frozen=True, slots=True)
class Score:
    """The logarithm of a score, higher is better, as the sum of the means of its parts.

    A part has one value for each trial of a step: the weighted sum of the logarithms of its metrics, negated where
    lower is better. Metrics of one trial are correlated, so they form one value; steps are independent.
    """

    parts: tuple[tuple[float, ...], ...]
    of_hosts: bool = False  # a value is a host, not a trial

    @property
    def value(self) -> float:
        """The logarithm of the score."""
        return sum(statistics.fmean(part) for part in self.parts)

    @property
    def n(self) -> int:
        """The number of trials of the smallest part."""
        return min(len(part) for part in self.parts)


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
        return Ratio(math.exp(difference), reason="all trials are identical: variance unknown")
    low, high, p = welch(difference, errors, CONFIDENCE)
    return Ratio(math.exp(difference), math.exp(low), math.exp(high), p=float(p))


MarginOf = Callable[[int, int], float]
"""Returns the margin of two scores, by their indices."""


def separated(scores: Sequence[Score], margin_of: MarginOf) -> list[list[bool]]:
    """Return for every pair whether the first is better than the second, by the rules of compare().

    The interval has to be entirely beyond the margin of the pair, each side needs six trials (groups three hosts), and
    the p-value is corrected by Holm's method over all pairs.
    """
    count = len(scores)
    pairs = list(itertools.combinations(range(count), 2))
    ratios = [ratio_between(scores[one], scores[other]) for one, other in pairs]
    tested = [ratio.p for ratio in ratios if ratio.p is not None]
    corrected = iter(holm(tested))
    found = [[False] * count for _ in range(count)]
    for (one, other), ratio in zip(pairs, ratios, strict=True):
        p = None if ratio.p is None else next(corrected)
        noun, counts = _counted(scores[one], scores[other])
        margin = margin_of(one, other)
        evidence = VerdictEvidence(SCORE, margin, counts, noun, tests=len(tested), p=p)
        verdict, _, _ = decide(replace(ratio, p=p), evidence)
        found[one][other] = verdict is ComparisonVerdict.BETTER
        found[other][one] = verdict is ComparisonVerdict.WORSE
    return found


def _counted(one: Score, other: Score) -> tuple[Level, tuple[int, int]]:
    """Return the unit of replication and the counts: against a group of hosts, a single host counts as one."""
    if not (one.of_hosts or other.of_hosts):
        return Level.TRIAL, (one.n, other.n)
    return Level.HOST, (one.n if one.of_hosts else 1, other.n if other.of_hosts else 1)


def tied_groups(scores: Sequence[Score], margin_of: MarginOf) -> list[list[int]]:
    """Return the indices of the scores in tied groups, the best first.

    A group consists of its leader, the highest score, and all that the leader is not separated from. Separation is
    not transitive: a score that another member beats stays in the group if the leader does not beat it.
    """
    better = separated(scores, margin_of)
    order = sorted(range(len(scores)), key=lambda index: -scores[index].value)
    groups: list[list[int]] = []
    for index in order:
        if groups and not better[groups[-1][0]][index]:
            groups[-1].append(index)
        else:
            groups.append([index])
    return groups


def rank_intervals(scores: Sequence[Score]) -> list[tuple[int, int]]:
    """Return the bootstrap interval of the rank of each score: trials resampled with replacement.

    The bootstrap underestimates the variance of few trials, so deviations are scaled by sqrt(n / (n - 1)).
    """
    rng = np.random.default_rng(1)  # reproducible
    resampled = np.array([_resampled(score, rng) for score in scores])
    ranks = (-resampled).argsort(axis=0).argsort(axis=0) + 1
    tails = [50 * (1 - CONFIDENCE), 100 - 50 * (1 - CONFIDENCE)]
    edges = np.percentile(ranks, tails, axis=1, method="closest_observation")
    return [(int(low), int(high)) for low, high in edges.T]


def _resampled(score: Score, rng: "np.random.Generator") -> Numbers:
    total = np.zeros(RESAMPLES)
    for part in score.parts:
        values = np.asarray(part)
        means = values[rng.integers(0, len(values), (RESAMPLES, len(values)))].mean(axis=1)
        widened = math.sqrt(len(values) / (len(values) - 1)) if len(values) > 1 else 1.0
        total += values.mean() + (means - values.mean()) * widened
    return total
