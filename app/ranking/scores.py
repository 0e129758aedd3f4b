"""Scores of candidates that can be told apart or not: sums of means of logarithms, one value a trial."""

import itertools
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from app.comparing.intervals import CONFIDENCE, Ratio, holm, student
from app.comparing.verdicts import Verdict, Weighing, weighed
from suites.units import Unit
from suites.vocab import Better, Kind, Metric

if TYPE_CHECKING:
    import numpy as np

    Numbers = np.ndarray[Any, np.dtype[np.float64]]

RESAMPLES = 2000
"""Bootstrap samples behind a rank interval: its edges then move by less than one rank in a hundred."""

SCORE = Metric("score", "Score", Unit.ONE, Better.HIGHER, Kind.COUNT)


@dataclass(frozen=True, slots=True)
class Score:
    """The logarithm of a score, higher is better, as the sum of the means of its parts.

    A part has one value a trial: what the trial of one step says of all its metrics, weighed and turned so that
    higher is better. Metrics of one trial hang together; steps are measured apart.
    """

    parts: tuple[tuple[float, ...], ...]
    of_hosts: bool = False  # a value is a host, not a trial

    @property
    def value(self) -> float:
        """The logarithm of the score."""
        return sum(statistics.fmean(part) for part in self.parts)

    @property
    def n(self) -> int:
        """The trials of the part that has fewest."""
        return min(len(part) for part in self.parts)


def ratio_between(one: Score, other: Score, confidence: float = CONFIDENCE) -> Ratio:
    """Return the ratio of two scores with its interval: Welch's, over all parts of both (Satterthwaite 1946).

    Of a single metric it is the very ratio that compare() gives.
    """
    from scipy import special

    difference = one.value - other.value
    parts = [*one.parts, *other.parts]
    if min(map(len, parts)) < 2:
        return Ratio(math.exp(difference), reason="an interval needs at least two trials on both sides")
    errors = [(statistics.variance(part) / len(part), len(part) - 1) for part in parts]
    whole = sum(error for error, _ in errors)
    if whole < 1e-24:
        return Ratio(math.exp(difference), reason="all trials agree to the last digit, so their spread is not known")
    freedom = whole**2 / sum(error**2 / count for error, count in errors)
    reach = student(freedom, confidence) * math.sqrt(whole)
    p = 2 * float(special.stdtr(freedom, -abs(difference) / math.sqrt(whole)))
    return Ratio(math.exp(difference), math.exp(difference - reach), math.exp(difference + reach), p=p)


MarginOf = Callable[[int, int], float]
"""The margin by which two scores are held against each other, by their places."""


def separated(scores: Sequence[Score], margin_of: MarginOf) -> list[list[bool]]:
    """Return for every pair whether the first is better than the second, as compare() would say it.

    The whole interval has to lie beyond the margin of the two, each side needs six trials (of groups three hosts),
    and of all pairs each has to outlast Holm's correction.
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
        weighing = Weighing(SCORE, margin, counts, noun, tests=len(tested), p=p)
        verdict, _, _ = weighed(replace(ratio, p=p), weighing)
        found[one][other] = verdict is Verdict.BETTER
        found[other][one] = verdict is Verdict.WORSE
    return found


def _counted(one: Score, other: Score) -> tuple[str, tuple[int, int]]:
    """Return what one value is, and how many each score has: beside a group of hosts a host alone is a single one."""
    if not (one.of_hosts or other.of_hosts):
        return "trial", (one.n, other.n)
    return "host", (one.n if one.of_hosts else 1, other.n if other.of_hosts else 1)


def tied_groups(scores: Sequence[Score], margin_of: MarginOf) -> list[list[int]]:
    """Return the places of the scores in groups, the best first. Within a group nothing says which is better.

    A group is what its leader, the highest, is not shown to be better than. A weaker one that some member beats, but
    not the leader, stays: where nothing is transitive, what cannot be separated from the best is not put below it.
    """
    better = separated(scores, margin_of)
    order = sorted(range(len(scores)), key=lambda place: -scores[place].value)
    groups: list[list[int]] = []
    for place in order:
        if groups and not better[groups[-1][0]][place]:
            groups[-1].append(place)
        else:
            groups.append([place])
    return groups


def rank_intervals(scores: Sequence[Score], confidence: float = CONFIDENCE) -> list[tuple[int, int]]:
    """Return between which ranks each score lies when its trials are drawn again, with replacement (bootstrap).

    Draws of few trials spread too little: they are widened by n / (n - 1), as the variance asks.
    """
    import numpy as np

    rng = np.random.default_rng(1)  # the same trials give the same answer
    drawn = np.array([_drawn(score, rng) for score in scores])
    ranks = (-drawn).argsort(axis=0).argsort(axis=0) + 1
    tails = [50 * (1 - confidence), 100 - 50 * (1 - confidence)]
    edges = np.percentile(ranks, tails, axis=1, method="closest_observation")
    return [(int(low), int(high)) for low, high in edges.T]


def _drawn(score: Score, rng: "np.random.Generator") -> "Numbers":
    import numpy as np

    total = np.zeros(RESAMPLES)
    for part in score.parts:
        values = np.asarray(part)
        means = values[rng.integers(0, len(values), (RESAMPLES, len(values)))].mean(axis=1)
        widened = math.sqrt(len(values) / (len(values) - 1)) if len(values) > 1 else 1.0
        total += values.mean() + (means - values.mean()) * widened
    return total
