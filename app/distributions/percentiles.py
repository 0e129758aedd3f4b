"""Values of trials, their percentiles with intervals, and the shift between two sides at each percentile."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from app.centres import CONFIDENCE, student
from app.comparison.estimates import FEWEST_TRIALS, ratio_of, welch
from app.numeric import Numbers, np, special, stats


class ValueLevel(StrEnum):
    """The level of one value of a distribution: a request, a sample within a trial, or a trial."""

    REQUESTS = "requests"
    SAMPLES = "samples"
    TRIALS = "trials"


SHARES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)
"""The shown percentiles, if supports_quantile()."""

DECILES = tuple(tenth / 10 for tenth in range(1, 10))
"""The quantiles of the shift function (Doksum 1974)."""


@dataclass(frozen=True, slots=True)
class TimedValue:
    """A value with its time in seconds since the tool's start."""

    value: float
    time: float


@dataclass(frozen=True, slots=True, eq=False)
class TrialValues:
    """The values of one trial in rising order, each as often as `counts` says (None: once).

    `run` and `trial` are ids, `number` is the displayed number of the trial; `worst` is its worst sample, if any.
    """

    run: str
    trial: int
    host: str
    values: "Numbers"
    counts: Numbers | None = None
    worst: TimedValue | None = None
    number: int = 0

    @property
    def n(self) -> int:
        """The number of values."""
        return len(self.values) if self.counts is None else int(self.counts.sum())

    def quantile(self, share: float) -> float:
        """Return the quantile at `share` (0 to 1): Harrell-Davis, or fio's method for counted values."""
        if self.counts is None:
            return harrell_davis(self.values, share)
        so_far = np.cumsum(self.counts)  # fio: the first bin at which the cumulative share is reached
        return float(self.values[min(int(np.searchsorted(so_far, share * so_far[-1])), len(self.values) - 1)])

    def share_up_to(self, edges: Numbers) -> Numbers:
        """Return the share of the values at or below each of `edges`."""
        indices = np.searchsorted(self.values, edges, side="right")
        if self.counts is None:
            return np.asarray(indices / len(self.values), dtype=float)
        so_far = np.concatenate([[0.0], np.cumsum(self.counts)])
        return np.asarray(so_far[indices] / so_far[-1], dtype=float)


def trial_values(
    run: str, trial: int, host: str, values: Sequence[float], worst: TimedValue | None = None
) -> TrialValues:
    """Return the sorted values of a trial."""
    return TrialValues(run, trial, host, np.sort(np.asarray(values, dtype=float)), None, worst)


def counted_values(run: str, trial: int, host: str, bins: Mapping[float, float]) -> TrialValues:
    """Return the values of a trial from a histogram; `bins` has the count of each value."""
    ordered = sorted(bins)
    counts = np.array([bins[value] for value in ordered], dtype=float)
    return TrialValues(run, trial, host, np.array(ordered, dtype=float), counts)


def harrell_davis(ordered: Numbers, share: float) -> float:
    """Return the quantile at `share` of sorted values: a weighted mean of all order statistics (Harrell and Davis
    1982), with less variance than one of them."""
    quantile: Any = stats.quantile  # the stubs lack this method
    return float(quantile(ordered, share, method="harrell-davis"))


def weights_of(count: int, share: float) -> Numbers:
    """Return the Harrell-Davis weights of the order statistics of `count` values.

    For the bootstrap: scipy.stats.quantile recomputes the weights for each draw, 100 times as slow.
    """
    steps = np.arange(count + 1) / count
    return np.asarray(np.diff(special.betainc((count + 1) * share, (count + 1) * (1 - share), steps)), dtype=float)


def supports_quantile(share: float, count: int) -> bool:
    """Return whether `count` values suffice for the quantile at `share`: at least one is beyond it.

    A p99 of fewer than 100 values would be their maximum.
    """
    return round(count * min(share, 1 - share), 9) >= 1


METHODS = {
    ValueLevel.REQUESTS: (
        "percentile of each trial's requests from fio's histogram; one trial is one value: geometric mean of the "
        "trials with Student's t interval on their logarithms, and the shift with Welch's"
    ),
    ValueLevel.SAMPLES: (
        "Harrell-Davis percentile of each trial's samples; one trial is one value: geometric mean of the trials with "
        "Student's t interval on their logarithms, and the shift with Welch's"
    ),
    ValueLevel.TRIALS: (
        "Harrell-Davis percentile of the trials' figures; interval from order statistics, of the shift by bootstrap of "
        "the trials of each side"
    ),
}
"""The methods. The bootstrap of whole trials covers worse: its 95 % interval contains the true value in 82 % of cases
with five trials, in 90 % with ten; Student's in 95 % (simulated for this project)."""

RESAMPLES = 2000
"""Bootstrap samples: the edges of an interval then vary by less than a tenth of its width."""

_SEED = 20_140_101
"""Fixed seed of the bootstrap, for reproducible results."""


@dataclass(frozen=True, slots=True)
class Percentile:
    """A percentile (0 to 100) with its 95 % interval; the bounds are None with too few trials.

    `pooled` is the percentile of the counted requests of all trials together, None without counted requests.
    """

    percentile: float
    value: float
    low: float | None = None
    high: float | None = None
    pooled: float | None = None


@dataclass(frozen=True, slots=True)
class QuantileShift:
    """The shift of a side against the baseline at one percentile: `difference` in the metric's unit, and `ratio`.

    The 95 % intervals are pointwise, not simultaneous.
    """

    percentile: float
    difference: float
    low: float | None = None
    high: float | None = None
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None


def percentiles(trials: Sequence[TrialValues], source: ValueLevel, own: float | None = None) -> tuple[Percentile, ...]:
    """Return the percentiles of a side: means of those of each trial, or percentiles of the trials.

    `own` is the percentile of the metric; that of requests is shown beside SHARES.
    """
    shares = sorted({*SHARES, *([round(own / 100, 9)] if own is not None and source is ValueLevel.REQUESTS else [])})
    if source is ValueLevel.TRIALS:
        values = [float(value) for trial in trials for value in trial.values]
        return tuple(_of_figures(values, share) for share in shares if supports_quantile(share, len(values)))
    fewest = min((trial.n for trial in trials), default=0)
    whole = pooled(trials) if source is ValueLevel.REQUESTS and len(trials) > 1 else None
    return tuple(
        replace(
            _of_trials(_rounded(share), [trial.quantile(share) for trial in trials]),
            pooled=None if whole is None else whole.quantile(share),
        )
        for share in shares
        if supports_quantile(share, fewest)
    )


def pooled(trials: Sequence[TrialValues]) -> TrialValues:
    """Return the counted values of all trials as those of one: their histograms added."""
    values = np.concatenate([trial.values for trial in trials])
    counts = np.concatenate([np.ones(trial.n) if trial.counts is None else trial.counts for trial in trials])
    bins, places = np.unique(values, return_inverse=True)
    return TrialValues("", 0, "", bins, np.asarray(np.bincount(places, weights=counts), dtype=float))


def _of_figures(values: Sequence[float], share: float) -> Percentile:
    """Return the percentile of the trials' figures.

    For bimodal trials the Harrell-Davis estimate can be between the levels, outside the interval of order statistics:
    the interval is then extended to the estimate, which does not reduce its coverage.
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    test: Any = stats.quantile_test(ordered, p=share)  # the stubs lack confidence_interval
    found = test.confidence_interval(confidence_level=CONFIDENCE)
    value = harrell_davis(ordered, share)
    low = min(value, float(found.low)) if math.isfinite(found.low) else None
    high = max(value, float(found.high)) if math.isfinite(found.high) else None
    return Percentile(_rounded(share), value, low, high)


def _of_trials(percentile: float, values: Sequence[float]) -> Percentile:
    """Return the mean of one value a trial: geometric if all are above zero."""
    logarithmic = min(values) > 0
    scaled = [math.log(value) for value in values] if logarithmic else list(values)
    middle = statistics.fmean(scaled)
    reach = _reach(scaled)
    back = math.exp if logarithmic else float
    edges = (None, None) if reach is None else (back(middle - reach), back(middle + reach))
    return Percentile(round(percentile, 6), back(middle), *edges)


def _reach(values: Sequence[float]) -> float | None:
    """Return the half width of Student's interval of a mean; None for one value."""
    if len(values) < 2:
        return None
    return student(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))


def shifts(
    ours: Sequence[TrialValues], baseline: Sequence[TrialValues], source: ValueLevel
) -> tuple[QuantileShift, ...]:
    """Return the shift of one side against the baseline at each supported decile (Doksum 1974).

    With values within trials, each trial has one value at each decile, and the interval is Welch's of the difference
    of their means. With trials alone, it is the difference of the percentiles of both sides, with an interval by
    percentile bootstrap of the trials (Wilcox 1995).
    """
    if not (ours and baseline):
        return ()
    if source is ValueLevel.TRIALS:
        sides = [[float(value) for trial in side for value in trial.values] for side in (ours, baseline)]
        count = min(map(len, sides))
        return tuple(_resampled(share, sides[0], sides[1]) for share in DECILES if supports_quantile(share, count))
    fewest = min(trial.n for side in (ours, baseline) for trial in side)
    return tuple(
        _of_means(share, *([trial.quantile(share) for trial in side] for side in (ours, baseline)))
        for share in DECILES
        if supports_quantile(share, fewest)
    )


def _of_means(share: float, ours: Sequence[float], baseline: Sequence[float]) -> QuantileShift:
    difference = statistics.fmean(ours) - statistics.fmean(baseline)
    low, high = _interval(difference, ours, baseline)
    ratio = ratio_of(ours, baseline)
    if isinstance(ratio, str):
        return QuantileShift(_rounded(share), difference, low, high)
    return QuantileShift(_rounded(share), difference, low, high, ratio.value, ratio.low, ratio.high)


def _interval(
    difference: float, ours: Sequence[float], baseline: Sequence[float]
) -> tuple[float, float] | tuple[None, None]:
    if min(len(ours), len(baseline)) < 2 or not (statistics.variance(ours) or statistics.variance(baseline)):
        return None, None
    errors = [(statistics.variance(side) / len(side), len(side) - 1) for side in (ours, baseline)]
    low, high, _ = welch(difference, errors)
    return float(low), float(high)


def _resampled(share: float, ours: Sequence[float], baseline: Sequence[float]) -> QuantileShift:
    middles = [harrell_davis(np.sort(np.asarray(side, dtype=float)), share) for side in (ours, baseline)]
    difference = middles[0] - middles[1]
    positive = min(*ours, *baseline) > 0
    ratio = middles[0] / middles[1] if positive else None
    if min(len(ours), len(baseline)) < FEWEST_TRIALS:
        return QuantileShift(_rounded(share), difference, ratio=ratio)
    drawn = [_draws(side, share, _SEED + number) for number, side in enumerate((ours, baseline))]
    low, high = _edges(drawn[0] - drawn[1])
    if not positive:
        return QuantileShift(_rounded(share), difference, low, high)
    return QuantileShift(_rounded(share), difference, low, high, ratio, *_edges(drawn[0] / drawn[1]))


def _draws(values: Sequence[float], share: float, seed: int) -> Numbers:
    """Return the quantile of RESAMPLES bootstrap samples, drawn with replacement."""
    rng, count = np.random.default_rng(seed), len(values)
    drawn = np.sort(rng.choice(np.asarray(values, dtype=float), size=(RESAMPLES, count)), axis=1)
    return np.asarray(drawn @ weights_of(count, share), dtype=float)


def _edges(drawn: Numbers) -> tuple[float, float]:
    low, high = np.quantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def _rounded(share: float) -> float:
    return round(100 * share, 6)
