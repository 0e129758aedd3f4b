"""Percentiles over trials with their intervals, and the shift between two sides at each of them."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from app.comparing.intervals import CONFIDENCE, FEWEST_TRIALS, ratio_of, student
from app.distributions.values import DECILES, SHARES, Source, TrialValues, carried, harrell_davis, weights_of

if TYPE_CHECKING:
    from app.distributions.values import Numbers

METHODS = {
    Source.REQUESTS: (
        "percentile of each trial's requests by fio's own histogram; one trial is one value: geometric mean of the "
        "trials with Student's t interval on their logarithms, and the shift with Welch's"
    ),
    Source.SAMPLES: (
        "Harrell-Davis percentile of each trial's samples; one trial is one value: geometric mean of the trials with "
        "Student's t interval on their logarithms, and the shift with Welch's"
    ),
    Source.TRIALS: (
        "Harrell-Davis percentile of the trials' figures; interval from order statistics, and of the shift from "
        "resampling the trials of each side"
    ),
}
"""How the percentiles come about. Resampling whole trials would be the other way: of five trials its 95 % interval
holds the truth in 82 % of cases, of ten in 90 %, Student's in 95 % (simulated for this project)."""

RESAMPLES = 2000
"""Draws of a bootstrap: the edges of its interval then move by less than a tenth of its width."""

_SEED = 20_140_101
"""Of the draws, so that the same runs always give the same figures."""


@dataclass(frozen=True, slots=True)
class Percentile:
    """A percentile (0 to 100) with its 95 % interval; the edges are None where so few trials carry none."""

    percentile: float
    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Shift:
    """How far a side lies from the baseline at one percentile: `difference` in the metric's unit, and as `ratio`.

    Each interval holds at 95 % by itself, not all of them together.
    """

    percentile: float
    difference: float
    low: float | None = None
    high: float | None = None
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None


def percentiles(trials: Sequence[TrialValues], source: Source) -> tuple[Percentile, ...]:
    """Return the percentiles that the values carry: those of each trial taken together, or of the trials."""
    if source is Source.TRIALS:
        values = [float(value) for trial in trials for value in trial.values]
        return tuple(_of_figures(values, share) for share in SHARES if carried(share, len(values)))
    fewest = min((trial.n for trial in trials), default=0)
    return tuple(
        _of_trials(100 * share, [trial.quantile(share) for trial in trials])
        for share in SHARES
        if carried(share, fewest)
    )


def _of_figures(values: Sequence[float], share: float) -> Percentile:
    """Return the percentile of the trials' figures.

    Of trials that fall on two levels Harrell and Davis's estimate may lie between these, beyond the order statistics
    that bound the interval: it then reaches to the estimate, which makes it hold the truth no less often.
    """
    import numpy as np
    from scipy import stats

    ordered = np.sort(np.asarray(values, dtype=float))
    test: Any = stats.quantile_test(ordered, p=share)  # its stubs know nothing of its interval
    found = test.confidence_interval(confidence_level=CONFIDENCE)
    value = harrell_davis(ordered, share)
    low = min(value, float(found.low)) if math.isfinite(found.low) else None
    high = max(value, float(found.high)) if math.isfinite(found.high) else None
    return Percentile(_rounded(share), value, low, high)


def _of_trials(percentile: float, values: Sequence[float]) -> Percentile:
    """Return the middle of one value a trial: geometric where all are above zero, as ratios are taken."""
    logarithmic = min(values) > 0
    scaled = [math.log(value) for value in values] if logarithmic else list(values)
    middle = statistics.fmean(scaled)
    reach = _reach(scaled)
    back = math.exp if logarithmic else float
    edges = (None, None) if reach is None else (back(middle - reach), back(middle + reach))
    return Percentile(round(percentile, 6), back(middle), *edges)


def _reach(values: Sequence[float]) -> float | None:
    """Return half the width of Student's interval of a mean; None for one value."""
    if len(values) < 2:
        return None
    return student(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))


def shifts(ours: Sequence[TrialValues], baseline: Sequence[TrialValues], source: Source) -> tuple[Shift, ...]:
    """Return how far one side lies from the baseline at each decile (Doksum 1974), as far as the values carry them.

    Of values within trials, each trial gives one value at each decile, and Welch's interval tells how sure the
    difference of their means is. Of trials alone, the percentiles of both sides are held against each other; the
    interval is from resampling the trials of each (percentile bootstrap, Wilcox 1995).
    """
    if not (ours and baseline):
        return ()
    if source is Source.TRIALS:
        sides = [[float(value) for trial in side for value in trial.values] for side in (ours, baseline)]
        count = min(map(len, sides))
        return tuple(_resampled(share, sides[0], sides[1]) for share in DECILES if carried(share, count))
    fewest = min(trial.n for side in (ours, baseline) for trial in side)
    return tuple(
        _of_means(share, *([trial.quantile(share) for trial in side] for side in (ours, baseline)))
        for share in DECILES
        if carried(share, fewest)
    )


def _of_means(share: float, ours: Sequence[float], baseline: Sequence[float]) -> Shift:
    difference = statistics.fmean(ours) - statistics.fmean(baseline)
    low, high = _welch(ours, baseline)
    ratio = ratio_of(ours, baseline)
    if isinstance(ratio, str):
        return Shift(_rounded(share), difference, low, high)
    return Shift(_rounded(share), difference, low, high, ratio.value, ratio.low, ratio.high)


def _welch(ours: Sequence[float], baseline: Sequence[float]) -> tuple[float | None, float | None]:
    from scipy import stats

    if min(len(ours), len(baseline)) < 2 or not (statistics.variance(ours) or statistics.variance(baseline)):
        return None, None
    found = stats.ttest_ind(ours, baseline, equal_var=False).confidence_interval(CONFIDENCE)
    return float(found.low), float(found.high)


def _resampled(share: float, ours: Sequence[float], baseline: Sequence[float]) -> Shift:
    import numpy as np

    middles = [harrell_davis(np.sort(np.asarray(side, dtype=float)), share) for side in (ours, baseline)]
    difference = middles[0] - middles[1]
    positive = min(*ours, *baseline) > 0
    ratio = middles[0] / middles[1] if positive else None
    if min(len(ours), len(baseline)) < FEWEST_TRIALS:
        return Shift(_rounded(share), difference, ratio=ratio)
    drawn = [_draws(side, share, _SEED + number) for number, side in enumerate((ours, baseline))]
    low, high = _edges(drawn[0] - drawn[1])
    if not positive:
        return Shift(_rounded(share), difference, low, high)
    return Shift(_rounded(share), difference, low, high, ratio, *_edges(drawn[0] / drawn[1]))


def _draws(values: Sequence[float], share: float, seed: int) -> "Numbers":
    """Return the quantile of many draws of as many trials, each drawn with all others put back."""
    import numpy as np

    rng, count = np.random.default_rng(seed), len(values)
    drawn = np.sort(rng.choice(np.asarray(values, dtype=float), size=(RESAMPLES, count)), axis=1)
    return np.asarray(drawn @ weights_of(count, share), dtype=float)


def _edges(drawn: "Numbers") -> tuple[float, float]:
    import numpy as np

    low, high = np.quantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def _rounded(share: float) -> float:
    return round(100 * share, 6)
