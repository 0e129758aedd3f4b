"""Verdicts on ratios: the claim that the interval and its level of replication support, as a sentence."""

import math
from dataclasses import dataclass
from enum import StrEnum

from app.comparison.estimates import (
    CONFIDENCE,
    ERROR,
    FEWEST_HOSTS,
    FEWEST_TRIALS,
    Ratio,
    margin_edges,
    more_trials,
)
from suites.quantities import MOST_TIMES, count_text, decimals, share_text, shares_text
from suites.vocab import Better, Metric, MetricKind

FEWEST_SESSIONS = 3
"""Sessions that a claim beyond single sessions needs on each side. With 3 % between sessions and 1 % within, intervals
of 3 sessions against 3 cover the true ratio in 96 % of cases, those of the trials of one session against one in 17 %
(simulated for this project)."""

FEWEST_EXACT = 3
"""Fewest identical trials of a counter without variance on each side: two can agree by rounding."""


class Level(StrEnum):
    """The level of the values of a ratio: trials of a session (a run), means of sessions, or means of hosts."""

    TRIAL = "trial"
    SESSION = "session"
    HOST = "host"


OF_TRIALS = frozenset({"rounds", "duets"})
"""Names of the pairs of single trials."""

FEWEST = {Level.TRIAL: FEWEST_TRIALS, Level.SESSION: FEWEST_SESSIONS, Level.HOST: FEWEST_HOSTS}
"""Fewest values on each side, or fewest pairs, that a verdict needs."""


class Scope(StrEnum):
    """What a claim may speak of.

    ACROSS: the level is replicated. BETWEEN_SESSIONS: a side has a single session, whose moment the claim cannot leave
    out. WITHIN_SESSION: both sides are steps of one session on one host and share its moment.
    """

    ACROSS = ""
    BETWEEN_SESSIONS = "between these two sessions"
    WITHIN_SESSION = "within one session"


class ComparisonVerdict(StrEnum):
    """The verdict on a metric of two sides. SAME: the interval is entirely within the margin.

    DIFFERS and AGREES are what single sessions can show. NOT_TESTED: the metric is descriptive, outside the family of
    tests.
    """

    BETTER = "better"
    WORSE = "worse"
    SAME = "same"
    DIFFERS = "differs between sessions"
    AGREES = "agrees between sessions"
    UNDECIDED = "undecided"
    NOT_TESTED = "not tested"
    NOT_COMPARABLE = "not comparable"


DIFFERENT = frozenset({ComparisonVerdict.BETTER, ComparisonVerdict.WORSE, ComparisonVerdict.DIFFERS})
"""The verdicts that claim a difference beyond the margin."""

EQUIVALENT = frozenset({ComparisonVerdict.SAME, ComparisonVerdict.AGREES})
"""The verdicts that claim that a difference is smaller than the margin."""


def verdict_of(ratio: Ratio, better: Better, margin: float) -> ComparisonVerdict:
    """Return the verdict by the interval: entirely beyond the margin, entirely within it, or undecided.

    The margin is a change of the baseline (margin_edges).
    """
    if ratio.low is None or ratio.high is None:
        return ComparisonVerdict.UNDECIDED
    return _verdict_on(math.log(ratio.low), math.log(ratio.high), better, margin)


def _verdict_on(low: float, high: float, better: Better, margin: float) -> ComparisonVerdict:
    """Return the verdict on an interval of logarithms."""
    least, most = margin_edges(margin)
    if low > most or high < least:
        return ComparisonVerdict.BETTER if (low > most) == (better is Better.HIGHER) else ComparisonVerdict.WORSE
    return ComparisonVerdict.SAME if least <= low and high <= most else ComparisonVerdict.UNDECIDED


def verdict_text(verdict: ComparisonVerdict, margin: float) -> str:
    """Return the verdict as text; SAME names the margin."""
    return f"smaller than the {share_text(margin)} margin" if verdict is ComparisonVerdict.SAME else verdict.value


@dataclass(frozen=True, slots=True)
class VerdictEvidence:
    """The inputs of a verdict besides the ratio.

    `counts` are the numbers of values of this side and the baseline at `level`, in pairs if `pairs` names these.
    `relation` is the text of relation(). `tests` ratios are tested together; `p` and `p_same` are the p-values of a
    ratio beyond and within the margin, corrected for that; None without a test. `barred` is why there is no claim
    whatever the ratio: an invalid side, too many failed trials. `untested` is why the metric is descriptive; empty
    if it is tested.
    """

    metric: Metric
    margin: float
    counts: tuple[int, int]
    level: Level = Level.TRIAL
    pairs: str = ""
    scope: Scope = Scope.ACROSS
    relation: str = ""
    tests: int = 1
    p: float | None = None
    p_same: float | None = None
    origin: str = ""  # of the margin
    barred: str = ""
    untested: str = ""

    @property
    def needed(self) -> int:
        """The further values on each side without which there is no verdict; 0 if there are enough."""
        if self.scope is Scope.BETWEEN_SESSIONS and self.level is Level.SESSION:
            return 0
        return max(0, FEWEST[self.level] - min(self.counts))

    def against(self) -> str:
        """Return the counts as text: ``8 against 10 trials``, ``10 pairs of hosts``, ``8 rounds``."""
        if self.pairs:
            return f"{self.counts[0]} {'' if self.pairs in OF_TRIALS else 'pairs of '}{self.pairs}"
        return f"{self.counts[0]} against {count_text(self.counts[1], self.level)}"

    def context(self, *, margin: bool = True) -> str:
        """Return the text behind every interval: counts, relation, margin and its origin."""
        origin = f" ({self.origin})" if self.origin else ""
        width = f"margin ±{share_text(self.margin)}{origin}" if margin else ""
        return ", ".join(part for part in (self.against(), self.relation, width) if part)


def decide(ratio: Ratio, evidence: VerdictEvidence) -> tuple[ComparisonVerdict, str, str]:
    """Return the verdict on `ratio`, its sentence, and its reason."""
    if evidence.untested:
        text = f"{change_text(ratio)}, not tested ({evidence.untested}), {evidence.context()}"
        return ComparisonVerdict.NOT_TESTED, text, evidence.untested
    alone = verdict_of(ratio, evidence.metric.better, evidence.margin)
    reason = _obstacle(ratio, alone, evidence)
    if reason:
        return ComparisonVerdict.UNDECIDED, _undecided(ratio, evidence), reason
    single = evidence.scope is Scope.BETWEEN_SESSIONS
    scope = f"{evidence.scope}: " if evidence.scope else ""
    beyond_these = f"; a claim beyond these sessions needs {FEWEST_SESSIONS} sessions on each side" if single else ""
    if alone is ComparisonVerdict.SAME:
        text = f"{scope}{change_text(ratio)}, {verdict_text(alone, evidence.margin)}, {evidence.context(margin=False)}"
        reason = f"the interval is entirely within the margin{beyond_these}"
        return ComparisonVerdict.AGREES if single else ComparisonVerdict.SAME, text, reason
    text = f"{scope}{claim_text(ratio, evidence.metric)}, {evidence.context()}"
    reason = f"the interval is entirely beyond the margin{beyond_these}"
    return ComparisonVerdict.DIFFERS if single else alone, text, reason


def _obstacle(ratio: Ratio, alone: ComparisonVerdict, evidence: VerdictEvidence) -> str:
    """Return why there is no claim; empty for one."""
    if evidence.barred:
        return evidence.barred
    if evidence.needed:
        return _too_few(alone, evidence)
    if ratio.low is None or ratio.high is None:
        return ratio.reason
    if alone is ComparisonVerdict.UNDECIDED:
        sign = ratio.low > 1 or ratio.high < 1
        certain = ": a difference exists, but it may be within the margin" if sign else ""
        return f"the interval, {interval_text(ratio)}, crosses an edge of the margin{certain}"
    p = evidence.p_same if alone is ComparisonVerdict.SAME else evidence.p
    if p is not None and p >= ERROR:
        where = "within" if alone is ComparisonVerdict.SAME else "beyond"
        reason = f"{where} the margin alone, but not after Holm's correction for {count_text(evidence.tests, 'ratio')}"
        return f"{reason} (p = {p:.2f})"
    return ""


def decide_exact(sides: tuple[float, float], evidence: VerdictEvidence) -> tuple[ComparisonVerdict, str, str]:
    """Return the verdict on figures that are identical in every trial of a side, its sentence, and its reason."""
    ours, theirs = sides
    reason = "exact: identical in every trial of a side"
    if ours == theirs:
        verdict, text = ComparisonVerdict.SAME, "identical in every trial"
    elif min(sides) <= 0:
        better = (ours > theirs) == (evidence.metric.better is Better.HIGHER)
        verdict = ComparisonVerdict.BETTER if better else ComparisonVerdict.WORSE
        text = f"{ours:g} against {theirs:g} in every trial, which is {verdict}"
    else:
        ratio = Ratio(ours / theirs)
        log = math.log(ratio.value)
        verdict = _verdict_on(log, log, evidence.metric.better, evidence.margin)
        same = verdict is ComparisonVerdict.SAME
        change = change_text(ratio) if same else claim_text(ratio, evidence.metric)
        text = f"in every trial {change}{f', {verdict_text(verdict, evidence.margin)}' if same else ''}"
    if evidence.untested:
        verdict, reason = ComparisonVerdict.NOT_TESTED, evidence.untested
    return verdict, f"{text}, {evidence.context()}", reason


def not_comparable(reasons: str) -> str:
    """Return the sentence for results that are not comparable."""
    return f"not comparable: {reasons}"


FACTORS_FROM = 2.0
"""Ratio from which (and below its inverse) a change is written as a factor: 2.4x higher, not 140 % higher."""


def claim_text(ratio: Ratio, metric: Metric) -> str:
    """Return a difference with its interval: ``20 % faster (95 % CI 19–21 %)``.

    Rates are faster or slower, times take more or less time, and all others, percentiles included, are higher or lower,
    with the better direction.
    """
    up, factor = ratio.value > 1, not 1 / FACTORS_FROM < ratio.value < FACTORS_FROM
    is_time = (metric.kind, metric.better, metric.percentile) == (MetricKind.TIME, Better.LOWER, None)
    if is_time and not (up and factor):
        times = f"{_factor(max(ratio.value, 1 / ratio.value))} {'slower' if up else 'faster'}"
        amount, interval = _amounts(ratio, factor=False)
        interval = f"{times}, 95 % CI {interval}" if interval else times
        return f"takes {amount} {'more' if up else 'less'} time ({interval})"
    amount, interval = _amounts(ratio, factor=factor)
    behind = f" (95 % CI {interval})" if interval else ""
    if is_time:
        return f"takes {amount} as long{behind}"
    if (metric.kind, metric.better) == (MetricKind.RATE, Better.HIGHER):
        return f"{amount} {'faster' if up else 'slower'}{behind}"
    good = up == (metric.better is Better.HIGHER)
    return f"{amount} {'higher' if up else 'lower'}{behind}, which is {'better' if good else 'worse'}"


def _amounts(ratio: Ratio, *, factor: bool) -> tuple[str, str]:
    """Return a change and its interval without sign, as shares or as factors; the interval is empty without one."""
    edges = [] if ratio.low is None or ratio.high is None else [ratio.low, ratio.high]
    if factor:
        first, *ends = (value if ratio.value > 1 else 1 / value for value in (ratio.value, *edges))
        return _factor(first), "–".join(map(_factor, sorted(ends)))
    shares = shares_text(*sorted(abs(edge - 1) for edge in edges))
    return share_text(abs(ratio.value - 1)), f"{'–'.join(shares)} %" if edges else ""


def _factor(value: float) -> str:
    """Return a factor with two digits: ``2.4x``, ``13x``."""
    if value > MOST_TIMES:
        return f"over {MOST_TIMES:,.0f}x"
    return f"{value:.2f}x" if value < FACTORS_FROM else f"{value:.1f}x" if value < 10 else f"{value:.0f}x"


def change_text(ratio: Ratio) -> str:
    """Return a change with its sign and its interval: ``+1.4 % (95 % CI +0.9 to +1.9 %)``."""
    if ratio.low is None or ratio.high is None:
        return signed_share(ratio.value)
    half = 50 * (ratio.high - ratio.low)
    supported = round(ratio.value, 2 + decimals(half, half))  # to the digits of the interval
    value = _times(ratio.value) if _in_factors(ratio) else signed_share(supported)
    return f"{value} (95 % CI {interval_text(ratio)})"


def signed_share(ratio: float) -> str:
    """Return a ratio as a change: ``+1.4 %``, ``−8 %``; as a factor from FACTORS_FROM: ``2.4x``."""
    if not 1 / FACTORS_FROM < ratio < FACTORS_FROM:
        return _times(ratio)
    return f"{_signed(share_text(abs(ratio - 1)).removesuffix(' %'), ratio)} %"


def interval_text(ratio: Ratio) -> str:
    """Return the interval as changes, ``−1.2 to +3.4 %``, or as factors, ``0.40x to 3.1x``."""
    edges = (ratio.low or 1.0, ratio.high or 1.0)
    if _in_factors(ratio):
        return " to ".join(map(_times, edges))
    shares = [abs(edge - 1) for edge in edges]
    one_sided = edges[0] > 1 or edges[1] < 1  # else the signs distinguish them
    texts = shares_text(*shares) if one_sided else [shares_text(share)[0] for share in shares]
    low, high = (_signed(text, edge) for text, edge in zip(texts, edges, strict=True))
    return f"{low} to {high} %"


def _in_factors(ratio: Ratio) -> bool:
    """Return whether a ratio and its interval are written as factors, because one end is far from 1."""
    ends = (ratio.low or ratio.value, ratio.high or ratio.value)
    return ends[0] <= 1 / FACTORS_FROM or ends[1] >= FACTORS_FROM


def _times(ratio: float) -> str:
    """Return a ratio above or below 1 as a factor: ``2.4x``, ``0.36x``."""
    return _factor(ratio) if ratio >= 1 else f"{ratio:.2f}x" if ratio >= 0.1 else f"{ratio:.2g}x"


def _signed(text: str, ratio: float) -> str:
    """Return a change with its sign; without one if it rounds to 0."""
    return text if text == "0" else f"{'−' if ratio < 1 else '+'}{text}"


def direction_word(metric: Metric, ratio: float) -> str:
    """Return the direction of change in one word: faster or slower for rates, else higher or lower."""
    up = ratio > 1
    if (metric.kind, metric.better) == (MetricKind.RATE, Better.HIGHER):
        return "faster" if up else "slower"
    return "higher" if up else "lower"


def forecast(ratio: Ratio, evidence: VerdictEvidence) -> int | None:
    """Return the least number of further values on each side that would settle an undecided ratio; None if too many.

    For single sessions the values are sessions: more of their trials do not widen the claim.
    """
    if evidence.scope is Scope.BETWEEN_SESSIONS:
        return FEWEST_SESSIONS - 1
    if ratio.low is None:
        return evidence.needed or None
    confidence = CONFIDENCE
    if verdict_of(ratio, evidence.metric.better, evidence.margin) is not ComparisonVerdict.UNDECIDED:
        if evidence.needed:
            return evidence.needed
        confidence = 1 - ERROR / max(1, evidence.tests)  # what Holm's correction asks for at most
    more = more_trials(ratio, evidence.margin, evidence.counts, confidence)
    return None if more is None else max(more, evidence.needed)


def _undecided(ratio: Ratio, evidence: VerdictEvidence) -> str:
    interval = "" if ratio.low is None else f"{change_text(ratio)}, "
    return f"undecided: {interval}{_advice(ratio, evidence)}, {evidence.context()}"


def _advice(ratio: Ratio, evidence: VerdictEvidence) -> str:
    """Return what would settle an undecided ratio."""
    if evidence.barred:
        return "repeat the run"
    single = evidence.scope is Scope.BETWEEN_SESSIONS
    if ratio.low is None and not evidence.needed and not single:
        return ratio.reason
    noun = Level.SESSION if single else evidence.level
    more = forecast(ratio, evidence)
    amount = f"far more {noun}s" if more is None else f"at least {count_text(more, f'more {noun}')}"
    if evidence.pairs:
        return amount
    of_trials = single and evidence.level is Level.TRIAL  # their numbers say nothing of the sessions
    side = "" if of_trials else insufficient_side(more or 0, evidence.counts)
    return f"{amount} {side or 'on each side'}"


def insufficient_side(more: int, counts: tuple[int, int]) -> str:
    """Return the side that alone needs further values: ``of the baseline``; empty if both do."""
    here, there = counts
    if not more or here == there or min(counts) + more > max(counts):
        return ""
    return "of this run" if here < there else "of the baseline"


def _too_few(alone: ComparisonVerdict, evidence: VerdictEvidence) -> str:
    far = alone in {ComparisonVerdict.BETTER, ComparisonVerdict.WORSE}
    so_far = f"; so far the interval is beyond {share_text(evidence.margin)}" if far else ""
    fewest = FEWEST[evidence.level]
    if evidence.pairs:
        return f"n = {evidence.counts[0]} {evidence.pairs}, needs at least {fewest}{so_far}"
    return f"n = {evidence.counts[0]} against {evidence.counts[1]}, needs at least {fewest} each{so_far}"
