"""What may be said of a ratio to a baseline, and the words for it."""

import math
from dataclasses import dataclass
from enum import StrEnum

from app.comparing.intervals import FEWEST_HOSTS, FEWEST_TRIALS, Ratio, more_trials
from app.wording import share_text, shares_text
from suites.vocab import Better, Kind, Metric

ERROR = 0.05
"""The chance of a false alarm that is accepted, for all metrics of a comparison together."""


class Verdict(StrEnum):
    """What may be said of a metric of two runs. SAME: the interval lies wholly within the margin."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "same"
    UNDECIDED = "undecided"
    NOT_COMPARABLE = "not comparable"


def verdict_of(ratio: Ratio, better: Better, margin: float) -> Verdict:
    """Return what the interval of a ratio says: wholly beyond the margin, wholly within it, or undecided.

    The margin is taken on the logarithm, so that swapping the sides mirrors the verdict.
    """
    if ratio.low is None or ratio.high is None:
        return Verdict.UNDECIDED
    edge = math.log1p(margin)
    low, high = math.log(ratio.low), math.log(ratio.high)
    if low > edge or high < -edge:
        return Verdict.BETTER if (low > edge) == (better is Better.HIGHER) else Verdict.WORSE
    return Verdict.SAME if -edge <= low and high <= edge else Verdict.UNDECIDED


def verdict_text(verdict: Verdict, margin: float) -> str:
    """Return the verdict in a word or two; a difference that was not found may still be there, within the margin."""
    return f"no difference larger than {share_text(margin)}" if verdict is Verdict.SAME else verdict.value


@dataclass(frozen=True, slots=True)
class Weighing:
    """What a verdict rests on beside the ratio.

    `counts` are how many values this side and the baseline have, `noun` what one value is: a trial, or a host where
    hosts were taken together. `relation` says whether both sides are one machine. `tests` metrics were tested
    together, and `p` is this one's corrected for that, None where there is no test.
    """

    metric: Metric
    margin: float
    counts: tuple[int, int]
    noun: str = "trial"
    relation: str = ""
    tests: int = 1
    p: float | None = None
    origin: str = ""  # whose the margin is, where neither the user nor the program has set it

    @property
    def needed(self) -> int:
        """The values a side must have before anything is said."""
        return FEWEST_HOSTS if self.noun == "host" else FEWEST_TRIALS

    def against(self) -> str:
        """Return the counts in words: ``8 against 10 trials``."""
        return f"{self.counts[0]} against {self.counts[1]} {self.noun}s"

    def context(self) -> str:
        """Return what is said after every interval: how many, where, and what does not matter."""
        margin = f"margin ±{share_text(self.margin)}"
        return ", ".join(part for part in (self.against(), self.relation, margin, self.origin) if part)


def weighed(ratio: Ratio, weighing: Weighing) -> tuple[Verdict, str, str]:
    """Return the verdict on `ratio`, the sentence that says it, and the reason for it."""
    alone = verdict_of(ratio, weighing.metric.better, weighing.margin)
    if min(weighing.counts) < weighing.needed:
        return Verdict.UNDECIDED, _undecided(ratio, weighing), _too_few(alone, weighing)
    if ratio.low is None or ratio.high is None:
        return Verdict.UNDECIDED, f"undecided: {ratio.reason}", ratio.reason
    if alone in {Verdict.BETTER, Verdict.WORSE} and weighing.p is not None and weighing.p >= ERROR:
        reason = f"beyond the margin alone, but not after Holm's correction for {weighing.tests} metrics"
        return Verdict.UNDECIDED, _undecided(ratio, weighing), f"{reason} (p = {weighing.p:.2f})"
    if alone is Verdict.UNDECIDED:
        held = f"its interval, {_changes(ratio)}, holds an edge of the margin"
        certain = ": there is a difference, but it may not matter" if ratio.low > 1 or ratio.high < 1 else ""
        return alone, _undecided(ratio, weighing), held + certain
    if alone is Verdict.SAME:
        text = f"no difference larger than {share_text(weighing.margin)} (95 % CI {_changes(ratio)})"
        return alone, f"{text}, {weighing.context()}", "the whole interval lies within the margin"
    return alone, f"{_claim(ratio, weighing.metric)}, {weighing.context()}", "the whole interval lies beyond the margin"


def not_comparable(reasons: str) -> str:
    """Return the sentence for figures of different things."""
    return f"not comparable: {reasons}"


def way_of(metric: Metric, ratio: float) -> str:
    """Return which way `metric` has changed, in one word: faster and slower are said of rates and times alone."""
    up = ratio > 1
    speeds = (metric.kind, metric.better) in {(Kind.RATE, Better.HIGHER), (Kind.TIME, Better.LOWER)}
    if speeds:
        return "faster" if up == (metric.better is Better.HIGHER) else "slower"
    return "higher" if up else "lower"


def _claim(ratio: Ratio, metric: Metric) -> str:
    near, far = sorted((abs((ratio.low or 1) - 1), abs((ratio.high or 1) - 1)))
    interval = f"95 % CI {'–'.join(shares_text(near, far))} %"
    way = way_of(metric, ratio.value)
    said = f"{way} by {share_text(abs(ratio.value - 1))} ({interval})"
    if way in {"faster", "slower"}:
        return said
    return f"{said}, which is {'better' if (ratio.value > 1) == (metric.better is Better.HIGHER) else 'worse'}"


def _changes(ratio: Ratio) -> str:
    """Return the interval as changes: ``−1.2 to +3.4 %``."""
    edges = (ratio.low or 1.0, ratio.high or 1.0)
    shares = [abs(edge - 1) for edge in edges]
    beside = edges[0] > 1 or edges[1] < 1  # else the signs tell them apart
    texts = shares_text(*shares) if beside else [shares_text(share)[0] for share in shares]
    low, high = (_signed(text, edge) for text, edge in zip(texts, edges, strict=True))
    return f"{low} to {high} %"


def _signed(text: str, ratio: float) -> str:
    """Return a change with its sign; none where nothing of it is left to be read."""
    sign = "" if text == "0" else "−" if ratio < 1 else "+"
    return f"over {sign}{text.removeprefix('over ')}" if text.startswith("over ") else f"{sign}{text}"


def forecast(ratio: Ratio, weighing: Weighing) -> int | None:
    """Return about how many more values a side would settle an undecided ratio; None: no number worth waiting for."""
    lacking = weighing.needed - min(weighing.counts)
    if ratio.low is None or verdict_of(ratio, weighing.metric.better, weighing.margin) is not Verdict.UNDECIDED:
        if weighing.p is not None and weighing.p >= ERROR and lacking <= 0:
            return _to_survive(ratio, weighing)
        return max(1, lacking) if lacking > 0 else None
    more = more_trials(ratio, weighing.margin, weighing.counts)
    return None if more is None else max(more, lacking)


def _to_survive(ratio: Ratio, weighing: Weighing) -> int | None:
    """Return the further values with which a difference would outlast the correction for several metrics."""
    return more_trials(ratio, 0.0, weighing.counts, 1 - ERROR / max(1, weighing.tests))


def _undecided(ratio: Ratio, weighing: Weighing) -> str:
    more = forecast(ratio, weighing)
    what = "far more" if more is None else f"about {more} more"
    plural = "" if more == 1 else "s"
    where = lacking_side(more or 0, weighing.counts) or "on each side"
    return f"undecided: {what} {weighing.noun}{plural} {where}, {weighing.context()}"


def lacking_side(more: int, counts: tuple[int, int]) -> str:
    """Return of which side so many more values are needed, where the other has enough of them: ``of the baseline``."""
    here, there = counts
    if not more or here == there or min(counts) + more > max(counts):
        return ""
    return "of this run" if here < there else "of the baseline"


def _too_few(alone: Verdict, weighing: Weighing) -> str:
    far = alone in {Verdict.BETTER, Verdict.WORSE}
    so_far = f"; so far the interval lies beyond {share_text(weighing.margin)}" if far else ""
    return f"n = {weighing.counts[0]} against {weighing.counts[1]}, at least {weighing.needed} each are needed{so_far}"
