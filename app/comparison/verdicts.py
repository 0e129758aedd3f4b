"""The verdict on a ratio to the baseline, and its caveats: assumptions on the trials that do not hold."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from app.change_points import change_point
from app.comparison.estimates import ERROR, FEWEST_HOSTS, FEWEST_TRIALS, Ratio, margin_edges, more_trials
from app.numeric import Numbers, np, stats
from suites.quantities import MOST_TIMES, duration_text, figure_text, share_text, shares_text, times_text
from suites.vocab import Better, Metric, MetricKind

CORRELATION_FROM = 12
"""Fewest trials to test for autocorrelation: a coefficient of 0.7 is detected in 56 % of cases, with 20 trials in
88 % (simulated for this project)."""

SIGNIFICANT = 0.05
"""The p-value of the permutation test below which trials are reported as autocorrelated."""

RESAMPLES = 999
"""Permutations of the test: with the observed order, p-values in steps of 0.001."""

TWO_LEVELS = 0.9
TWO_LEVELS_OF_FEW = 0.95
FEW = 10
"""Share of the variance between two groups of trials above which they are bimodal, and the higher threshold for fewer
than FEW trials. Normal trials exceed it in at most 2 % of cases, two levels eight standard deviations apart in 50 % of
cases with six trials and in 90 % with ten (simulated for this project)."""

DRIFT_AFTER = timedelta(minutes=10)
"""Shortest time from the first to the last trial of two consecutive sides for a drift caveat."""


@dataclass(frozen=True, slots=True)
class Caveat:
    """A reason to doubt a verdict. `id` is for programs."""

    id: str
    text: str


def correlation_p(values: Sequence[float]) -> float | None:
    """Return the p-value of the first autocorrelation of the trials, in the order in which they ran.

    A permutation test (scipy.stats.permutation_test), free of assumptions on the distribution. None for fewer than
    CORRELATION_FROM trials, or identical trials.
    """
    trials = np.asarray(values, dtype=float)
    if len(trials) < CORRELATION_FROM or not trials.var():
        return None
    if _autocorrelation(trials) < 1 / math.sqrt(len(trials)):  # far from significant: skip the costly test
        return 1.0
    found = stats.permutation_test(
        (trials,),
        _autocorrelation,
        permutation_type="pairings",
        alternative="greater",
        n_resamples=RESAMPLES,
        vectorized=True,
        rng=1,  # reproducible
    )
    return float(found.pvalue)


def _autocorrelation(trials: Numbers, axis: int = -1) -> Numbers:
    """Return the first autocorrelation along the last axis."""
    deviations = trials - trials.mean(axis=axis, keepdims=True)
    found: Numbers = (deviations[..., 1:] * deviations[..., :-1]).sum(axis=axis) / (deviations**2).sum(axis=axis)
    return found


def two_levels(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the two levels of bimodal trials, or None if they are not bimodal.

    Otsu's criterion (1979): the cut of the sorted trials with the largest share of the variance between its two
    parts. Each part has at least two trials, so that a single outlier is not a level.
    """
    trials = np.sort(np.asarray(values, dtype=float))
    count = len(trials)
    whole = float(((trials - trials.mean()) ** 2).sum())
    if count < FEWEST_TRIALS or whole <= 0:
        return None
    cut = change_point(trials, 2)
    low, high = float(trials[:cut].mean()), float(trials[cut:].mean())
    share = cut * (count - cut) / count * (high - low) ** 2 / whole
    return None if share <= (TWO_LEVELS_OF_FEW if count < FEW else TWO_LEVELS) else (low, high)


def drift(ours: Sequence[str], baseline: Sequence[str]) -> timedelta | None:
    """Return the time from the first to the last trial if the sides ran one after the other; None if interleaved.

    The arguments are start times of trials in ISO 8601; unreadable ones are ignored. None up to DRIFT_AFTER.
    """
    one, other = _starts(ours), _starts(baseline)
    if not one or not other:
        return None
    first, second = sorted((one, other), key=lambda starts: starts[0])
    if second[0] <= first[-1]:
        return None
    duration = second[-1] - first[0]
    return duration if duration > DRIFT_AFTER else None


def _starts(texts: Sequence[str]) -> list[datetime]:
    found = []
    for text in texts:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            continue
        found.append(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    return sorted(found)


def of_spread(values: Sequence[float], side_name: str, written: Sequence[str] = ()) -> Iterator[Caveat]:
    """Yield the caveats on the trials of one side, given in the order in which they ran; `side_name` names the side.

    `written` are the formatted values, in the same order.
    """
    p = correlation_p(values)
    if p is not None and p < SIGNIFICANT:
        yield Caveat(
            "correlated", f"trials of {side_name} are autocorrelated (p = {p:.3f}): the interval is too narrow"
        )
    levels = two_levels(values)
    if levels is not None:
        texts = [_nearest(level, values, written) for level in levels]
        yield Caveat("two-levels", f"trials of {side_name} are bimodal: about {texts[0]} and {texts[1]}")


def _nearest(level: float, values: Sequence[float], written: Sequence[str]) -> str:
    """Return the formatted value of the trial nearest to `level`."""
    if not written:
        return f"{level:.4g}"
    return written[min(range(len(values)), key=lambda index: abs(values[index] - level))]


def of_order(ours: Sequence[str], baseline: Sequence[str]) -> Iterator[Caveat]:
    """Yield the drift caveat if one side ran after the other."""
    duration = drift(ours, baseline)
    if duration is not None:
        span = duration_text(duration.total_seconds())
        text = f"sides not interleaved ({span} in total): drift of the host would look like a difference"
        yield Caveat("drift", text)


def of_centres(
    metric: Metric, ratio: Ratio, medians: tuple[float, float], centres: tuple[float, float], margin: float
) -> Iterator[Caveat]:
    """Yield a caveat if the medians, which tables show, contradict the ratio of geometric means; this side first.

    They contradict it if their ratio is farther from it than the margin, and is on the other side of 1 or outside
    the interval.
    """
    shown = medians[0] / medians[1]
    if abs(math.log(shown / ratio.value)) <= math.log1p(margin):
        return
    if math.log(shown) * math.log(ratio.value) < 0:
        where = "points the other way"
    elif ratio.low is not None and ratio.high is not None and not ratio.low <= shown <= ratio.high:
        where = "is outside the interval"
    else:
        return
    times = times_text(shown)
    ours, theirs = (figure_text(metric, centre) for centre in centres)
    yield Caveat(
        "medians",
        f"the ratio of the medians, {times}, {where}: outliers pull the geometric means, {ours} against {theirs}",
    )


class ComparisonVerdict(StrEnum):
    """The verdict on a metric of two runs. SAME: the interval is entirely within the margin."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "same"
    UNDECIDED = "undecided"
    NOT_COMPARABLE = "not comparable"


def verdict_of(ratio: Ratio, better: Better, margin: float) -> ComparisonVerdict:
    """Return the verdict by the interval: entirely beyond the margin, entirely within it, or undecided.

    The margin is a change of the baseline (margin_edges).
    """
    if ratio.low is None or ratio.high is None:
        return ComparisonVerdict.UNDECIDED
    least, most = margin_edges(margin)
    low, high = math.log(ratio.low), math.log(ratio.high)
    if low > most or high < least:
        return ComparisonVerdict.BETTER if (low > most) == (better is Better.HIGHER) else ComparisonVerdict.WORSE
    return ComparisonVerdict.SAME if least <= low and high <= most else ComparisonVerdict.UNDECIDED


def verdict_text(verdict: ComparisonVerdict, margin: float) -> str:
    """Return the verdict as text; SAME names the margin, within which a difference remains possible."""
    return f"no difference larger than {share_text(margin)}" if verdict is ComparisonVerdict.SAME else verdict.value


@dataclass(frozen=True, slots=True)
class VerdictEvidence:
    """The inputs of a verdict besides the ratio.

    `counts` are the numbers of values of this side and the baseline, `noun` the unit of replication: trial, or host
    if hosts are pooled. `relation` is the text of relation(). `tests` metrics were tested together; `p` is the
    p-value corrected for that, None without a test.
    """

    metric: Metric
    margin: float
    counts: tuple[int, int]
    noun: str = "trial"
    relation: str = ""
    tests: int = 1
    p: float | None = None
    origin: str = ""  # the calibration that set the margin

    @property
    def needed(self) -> int:
        """The fewest values on each side for a verdict."""
        return FEWEST_HOSTS if self.noun == "host" else FEWEST_TRIALS

    def against(self) -> str:
        """Return the counts as text: ``8 against 10 trials``."""
        return f"{self.counts[0]} against {self.counts[1]} {self.noun}s"

    def context(self) -> str:
        """Return the text behind every interval: counts, relation, margin and its origin."""
        margin = f"margin ±{share_text(self.margin)}"
        return ", ".join(part for part in (self.against(), self.relation, margin, self.origin) if part)


def decide(ratio: Ratio, evidence: VerdictEvidence) -> tuple[ComparisonVerdict, str, str]:
    """Return the verdict on `ratio`, its sentence, and its reason."""
    alone = verdict_of(ratio, evidence.metric.better, evidence.margin)
    if min(evidence.counts) < evidence.needed:
        return ComparisonVerdict.UNDECIDED, _undecided(ratio, evidence), _too_few(alone, evidence)
    if ratio.low is None or ratio.high is None:
        return ComparisonVerdict.UNDECIDED, f"undecided: {ratio.reason}", ratio.reason
    if alone in {ComparisonVerdict.BETTER, ComparisonVerdict.WORSE} and evidence.p is not None and evidence.p >= ERROR:
        reason = f"beyond the margin, but not significant after Holm's correction for {evidence.tests} metrics"
        return ComparisonVerdict.UNDECIDED, _undecided(ratio, evidence), f"{reason} (p = {evidence.p:.2f})"
    if alone is ComparisonVerdict.UNDECIDED:
        across = f"the interval, {_changes(ratio)}, crosses an edge of the margin"
        certain = ": a difference exists, but it may be within the margin" if ratio.low > 1 or ratio.high < 1 else ""
        return alone, _undecided(ratio, evidence), across + certain
    if alone is ComparisonVerdict.SAME:
        text = f"no difference larger than {share_text(evidence.margin)} (95 % CI {_changes(ratio)})"
        return alone, f"{text}, {evidence.context()}", "the interval is entirely within the margin"
    return (
        alone,
        f"{_claim(ratio, evidence.metric)}, {evidence.context()}",
        "the interval is entirely beyond the margin",
    )


def not_comparable(reasons: str) -> str:
    """Return the sentence for results that are not comparable."""
    return f"not comparable: {reasons}"


def direction_word(metric: Metric, ratio: float) -> str:
    """Return the direction of change in one word: faster or slower for rates and times, else higher or lower."""
    up = ratio > 1
    speeds = (metric.kind, metric.better) in {(MetricKind.RATE, Better.HIGHER), (MetricKind.TIME, Better.LOWER)}
    if speeds:
        return "faster" if up == (metric.better is Better.HIGHER) else "slower"
    return "higher" if up else "lower"


def _claim(ratio: Ratio, metric: Metric) -> str:
    near, far = sorted((abs((ratio.low or 1) - 1), abs((ratio.high or 1) - 1)))
    interval = f"95 % CI {'–'.join(shares_text(near, far))} %"
    way = direction_word(metric, ratio.value)
    claim = f"{way} by {share_text(abs(ratio.value - 1))} ({interval})"
    if way in {"faster", "slower"}:
        return claim
    return f"{claim}, which is {'better' if (ratio.value > 1) == (metric.better is Better.HIGHER) else 'worse'}"


def _changes(ratio: Ratio) -> str:
    """Return the interval as changes: ``−1.2 to +3.4 %``."""
    edges = (ratio.low or 1.0, ratio.high or 1.0)
    shares = [abs(edge - 1) for edge in edges]
    one_sided = edges[0] > 1 or edges[1] < 1  # else the signs distinguish them
    texts = shares_text(*shares) if one_sided else [shares_text(share)[0] for share in shares]
    low, high = (_signed(text, edge) for text, edge in zip(texts, edges, strict=True))
    return f"{low} to {high} %"


def _signed(text: str, ratio: float) -> str:
    """Return a change with its sign; without one if it rounds to 0."""
    sign = "" if text == "0" else "−" if ratio < 1 else "+"
    return f"over {sign}{100 * MOST_TIMES:,.0f}" if ratio > 1 + MOST_TIMES else f"{sign}{text}"


def forecast(ratio: Ratio, evidence: VerdictEvidence) -> int | None:
    """Estimate the further values on each side that would settle an undecided ratio; None if too many."""
    needed_values = evidence.needed - min(evidence.counts)
    if (
        ratio.low is None
        or verdict_of(ratio, evidence.metric.better, evidence.margin) is not ComparisonVerdict.UNDECIDED
    ):
        if evidence.p is not None and evidence.p >= ERROR and needed_values <= 0:
            return _to_survive(ratio, evidence)
        return max(1, needed_values) if needed_values > 0 else None
    more = more_trials(ratio, evidence.margin, evidence.counts)
    return None if more is None else max(more, needed_values)


def _to_survive(ratio: Ratio, evidence: VerdictEvidence) -> int | None:
    """Estimate the further values with which a difference stays significant after Holm's correction."""
    return more_trials(ratio, 0.0, evidence.counts, 1 - ERROR / max(1, evidence.tests))


def _undecided(ratio: Ratio, evidence: VerdictEvidence) -> str:
    more = forecast(ratio, evidence)
    amount = "far more" if more is None else f"at least {more} more"
    plural = "" if more == 1 else "s"
    where = insufficient_side(more or 0, evidence.counts) or "on each side"
    return f"undecided: {amount} {evidence.noun}{plural} {where}, {evidence.context()}"


def insufficient_side(more: int, counts: tuple[int, int]) -> str:
    """Return the side that alone needs further values: ``of the baseline``; empty if both do."""
    here, there = counts
    if not more or here == there or min(counts) + more > max(counts):
        return ""
    return "of this run" if here < there else "of the baseline"


def _too_few(alone: ComparisonVerdict, evidence: VerdictEvidence) -> str:
    far = alone in {ComparisonVerdict.BETTER, ComparisonVerdict.WORSE}
    so_far = f"; so far the interval is beyond {share_text(evidence.margin)}" if far else ""
    return f"n = {evidence.counts[0]} against {evidence.counts[1]}, needs at least {evidence.needed} each{so_far}"
