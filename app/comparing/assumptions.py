"""What an interval supposes of its trials, checked: enough of them, independent, of one kind, taking turns, no tail."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from app.comparing.intervals import FEWEST_TRIALS, Ratio
from app.wording import duration_text, figure_text, ratio_text
from suites.vocab import Metric

if TYPE_CHECKING:
    import numpy as np

    Numbers = np.ndarray[Any, np.dtype[np.float64]]

CORRELATION_FROM = 12
"""Trials from which a correlation between neighbours can be seen at all: at a coefficient of 0.7 in 56 % of cases,
with 20 trials in 88 % (simulated for this project)."""

SIGNIFICANT = 0.05
"""The p-value of the permutation test below which neighbouring trials are said to hang together."""

RESAMPLES = 999
"""Permutations that are drawn: with the trials' own order, a p-value in steps of a thousandth."""

TWO_LEVELS = 0.9
TWO_LEVELS_OF_FEW = 0.95
FEW = 10
"""The share of the variance that lies between the two parts of trials that are called two levels, and the higher one
asked of fewer than FEW. Trials of one normal spread reach it in 2 % of cases or fewer, two levels eight standard
deviations apart in 50 % of cases with six trials and in 90 % with ten (simulated for this project)."""

DRIFT_AFTER = timedelta(minutes=10)
"""How long one side may be measured after the other before a drift of the host is a likely explanation."""


@dataclass(frozen=True, slots=True)
class Caveat:
    """What weakens a verdict. `id` names it for programs."""

    id: str
    text: str


def correlation_p(values: Sequence[float]) -> float | None:
    """Return the p-value of the correlation between neighbouring trials, in the order in which they ran.

    A permutation test of the first autocorrelation (scipy.stats.permutation_test): no shape of the spread is
    supposed. None for fewer than CORRELATION_FROM trials, or for trials that are all alike.
    """
    import numpy as np

    trials = np.asarray(values, dtype=float)
    if len(trials) < CORRELATION_FROM or not trials.var():
        return None
    if _neighbours(trials) < 1 / math.sqrt(len(trials)):  # far below what any test at 5 % would call correlated
        return 1.0
    from scipy import stats

    found = stats.permutation_test(
        (trials,),
        _neighbours,
        permutation_type="pairings",
        alternative="greater",
        n_resamples=RESAMPLES,
        vectorized=True,
        rng=1,  # the same trials give the same answer
    )
    return float(found.pvalue)


def _neighbours(trials: "Numbers", axis: int = -1) -> "Numbers":
    """Return the first autocorrelation along the last axis."""
    apart = trials - trials.mean(axis=axis, keepdims=True)
    shared: Numbers = (apart[..., 1:] * apart[..., :-1]).sum(axis=axis) / (apart**2).sum(axis=axis)
    return shared


def two_levels(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the two levels the trials fall on, or None where they do not.

    Otsu's criterion (1979): of all ways to cut the sorted trials in two, the one that puts the largest share of the
    variance between the parts. Each part has two trials at least: one odd trial is no level.
    """
    import numpy as np

    trials = np.sort(np.asarray(values, dtype=float))
    count = len(trials)
    whole = float(((trials - trials.mean()) ** 2).sum())
    if count < FEWEST_TRIALS or whole <= 0:
        return None
    below = np.arange(2, count - 1)
    sums = np.cumsum(trials)
    low = sums[below - 1] / below
    high = (sums[-1] - sums[below - 1]) / (count - below)
    shares = below * (count - below) / count * (high - low) ** 2 / whole
    best = int(np.argmax(shares))
    if shares[best] <= (TWO_LEVELS_OF_FEW if count < FEW else TWO_LEVELS):
        return None
    return float(low[best]), float(high[best])


def drift(ours: Sequence[str], baseline: Sequence[str]) -> timedelta | None:
    """Return how far one side was measured after the other, where they did not take turns; else None.

    The two are lists of moments at which trials began, in ISO 8601. A moment that cannot be read tells nothing.
    """
    one, other = _moments(ours), _moments(baseline)
    if not one or not other:
        return None
    first, second = sorted((one, other), key=lambda moments: moments[0])
    if second[0] <= first[-1]:
        return None
    apart = second[-1] - first[0]
    return apart if apart > DRIFT_AFTER else None


def _moments(texts: Sequence[str]) -> list[datetime]:
    found = []
    for text in texts:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            continue
        found.append(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    return sorted(found)


def of_spread(values: Sequence[float], whose: str, written: Sequence[str] = ()) -> Iterator[Caveat]:
    """Yield what is wrong with the trials of one side, in the order in which they ran; `whose` names the side.

    `written` are the values as a person reads them, in the same order.
    """
    p = correlation_p(values)
    if p is not None and p < SIGNIFICANT:
        yield Caveat(
            "correlated",
            f"neighbouring trials of {whose} hang together (p = {p:.3f}), so the interval is too narrow",
        )
    levels = two_levels(values)
    if levels is not None:
        texts = [_nearest(level, values, written) for level in levels]
        yield Caveat("two-levels", f"the trials of {whose} fall on two levels, about {texts[0]} and {texts[1]}")


def _nearest(level: float, values: Sequence[float], written: Sequence[str]) -> str:
    """Return the trial nearest to `level` as a person reads it."""
    if not written:
        return f"{level:.4g}"
    return written[min(range(len(values)), key=lambda index: abs(values[index] - level))]


def of_order(ours: Sequence[str], baseline: Sequence[str]) -> Iterator[Caveat]:
    """Yield that one side ran after the other, if it did."""
    apart = drift(ours, baseline)
    if apart is not None:
        took = duration_text(apart.total_seconds())
        text = f"one side ran after the other ({took} in all), so a drift of the host would look like a difference"
        yield Caveat("drift", text)


def of_centres(
    metric: Metric, ratio: Ratio, medians: tuple[float, float], centres: tuple[float, float], margin: float
) -> Iterator[Caveat]:
    """Yield that the medians tell another story than the geometric means, of which the ratio is; this side first.

    Medians are what tables show. They do where they stand the other way round, or beyond the interval, and lie
    further from the ratio than what does not matter.
    """
    shown = medians[0] / medians[1]
    if abs(math.log(shown / ratio.value)) <= math.log1p(margin):
        return
    if math.log(shown) * math.log(ratio.value) < 0:
        where = "the other way round"
    elif ratio.low is not None and ratio.high is not None and not ratio.low <= shown <= ratio.high:
        where = "beyond the interval"
    else:
        return
    times = ratio_text(shown, metric.better).partition(",")[0]
    ours, theirs = (figure_text(metric, centre) for centre in centres)
    yield Caveat(
        "medians",
        f"the medians stand {where}, at {times}: few or odd trials pull the geometric means that the ratio is of, "
        f"{ours} against {theirs}",
    )
