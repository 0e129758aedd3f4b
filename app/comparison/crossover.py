"""Estimates from duets: the ratio of two steps and the effect of the halves, as an AB/BA crossover separates them."""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.comparison.caveats import Caveat
from app.comparison.estimates import NO_VARIANCE, Ratio, ratio_with_interval
from app.comparison.sentences import change_text
from app.json_converter import publish
from app.records import TrialRecord
from suites.quantities import count_text, share_text

LEAST_OVERLAP = 0.9
"""Share of the longer trial of a pair during which both ran, below which the pair has a caveat."""


@dataclass(frozen=True, slots=True)
class HalfEffect:
    """A metric on the first half of the CPUs relative to the second; `halves` names them.

    `overlap` is the least share of the longer trial of a pair during which both ran; None if unknown.
    """

    halves: str
    ratio: Ratio
    overlap: float | None = None

    @property
    def text(self) -> str:
        """The effect in a line: ``CPUs 0-1 against 2-3: +3 % (95 % CI +1 to +5 %), overlap at least 98 %``."""
        least = "" if self.overlap is None else f", overlap at least {share_text(self.overlap)}"
        return f"{self.halves}: {change_text(self.ratio)}{least}"


publish(HalfEffect, "halves ratio=ratio.value low=ratio.low high=ratio.high overlap")


def crossover_of(
    values: Sequence[float], baseline: Sequence[float], on_first: Sequence[bool]
) -> tuple[Ratio, Ratio | None] | str:
    """Return the ratio of pairs without the effect of the halves, and that effect; or the reason for no ratio.

    `on_first` is whether the value of a pair was measured on the first half. With m1 and m2 the means of the logarithms
    of the ratios of both orientations, the ratio is (m1 + m2) / 2 and the effect (m1 - m2) / 2. Both have the squared
    error s^2 (1 / n1 + 1 / n2) / 4, s^2 pooled, with n - 2 degrees of freedom (Hills and Armitage 1979). Pairs of one
    orientation only have no interval: the halves may be the difference.
    """
    if min(*values, *baseline) <= 0:
        return "a ratio needs values above zero"
    sides = _orientations(values, baseline, on_first)
    if not all(sides):
        mean = statistics.fmean(sides[0] or sides[1])
        return Ratio(math.exp(mean), reason="each step needs a trial on each half of the CPUs"), None
    means, count = [statistics.fmean(side) for side in sides], len(values)
    ratio, effect = (means[0] + means[1]) / 2, (means[0] - means[1]) / 2
    if count < 3:
        return Ratio(math.exp(ratio), reason="an interval needs at least three duets"), Ratio(math.exp(effect))
    squares = sum((one - mean) ** 2 for side, mean in zip(sides, means, strict=True) for one in side)
    variance = squares / (count - 2)
    if variance < 1e-24:
        same = f"the ratios of all duets are {NO_VARIANCE}"
        return Ratio(math.exp(ratio), reason=same), Ratio(math.exp(effect), reason=same)
    errors = [(variance * sum(1 / len(side) for side in sides) / 4, count - 2)]
    spread = math.sqrt(variance)
    return ratio_with_interval(ratio, errors, spread=spread), ratio_with_interval(effect, errors, spread=spread)


def _orientations(
    values: Sequence[float], baseline: Sequence[float], on_first: Sequence[bool]
) -> tuple[list[float], list[float]]:
    """Return the logarithms of the ratios of the pairs on the first half, and of those on the second."""
    found: tuple[list[float], list[float]] = [], []
    for ours, theirs, first in zip(values, baseline, on_first, strict=True):
        found[not first].append(math.log(ours / theirs))
    return found


def without_half_effect(values: Sequence[float], baseline: Sequence[float], on_first: Sequence[bool]) -> list[float]:
    """Return the ratio of each pair, relative to the mean of its orientation, in order."""
    sides = _orientations(values, baseline, on_first)
    means = [statistics.fmean(side) if side else 0.0 for side in sides]
    found = zip(values, baseline, on_first, strict=True)
    return [math.exp(math.log(ours / theirs) - means[not first]) for ours, theirs, first in found]


def overlaps(ours: Iterable[TrialRecord], theirs: Iterable[TrialRecord]) -> tuple[float, ...]:
    """Return the share of the longer trial of each pair during which both ran, where it is known."""
    partners = {_moment(record): record for record in theirs}
    pairs = ((record, partners.get(_moment(record))) for record in ours)
    found = (overlap(record, other) for record, other in pairs if other is not None)
    return tuple(share for share in found if share is not None)


def overlap_caveat(shares: Sequence[float]) -> Caveat | None:
    """Return a caveat on pairs whose commands overlapped for less than LEAST_OVERLAP of the longer; None without."""
    short = [share for share in shares if share < LEAST_OVERLAP]
    if not short:
        return None
    text = f"{len(short)} of {count_text(len(shares), 'duet')} overlapped for less than {share_text(LEAST_OVERLAP)}"
    return Caveat("overlap", f"{text} of the longer trial, at least {share_text(min(short))}: the rest ran alone")


def _moment(record: TrialRecord) -> tuple[str, int]:
    return record.trial.host, record.trial.number


def overlap(one: TrialRecord, other: TrialRecord) -> float | None:
    """Return the share of the longer of two trials during which both commands ran; None if a time is unknown."""
    spans = [(record.trial.clock, record.duration) for record in (one, other)]
    known = [(clock, clock + seconds) for clock, seconds in spans if clock is not None and seconds is not None]
    longest = max((end - start for start, end in known), default=0.0)
    if len(known) < 2 or not longest:
        return None
    return max(0.0, min(end for _, end in known) - max(start for start, _ in known)) / longest
