"""Caveats on trials: autocorrelation, two levels, and drift of sides that were not interleaved."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from app.change_points import change_point
from app.comparison.estimates import FEWEST_TRIALS
from app.numeric import Numbers, np, stats
from suites.quantities import duration_text

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


THIS_RUN, THE_BASELINE = "this run", "the baseline"
"""Names of the two sides of a ratio in a caveat."""


@dataclass(frozen=True, slots=True)
class Caveat:
    """A reason to doubt a verdict. `id` is for programs. `side` is the one that it is about; empty for both."""

    id: str
    text: str
    side: str = ""


def correlation_p(values: Sequence[float]) -> float | None:
    """Return the p-value of the first autocorrelation of the trials, in the order in which they ran.

    A permutation test (scipy.stats.permutation_test), free of assumptions on the distribution. None for fewer than
    CORRELATION_FROM trials, or identical trials.
    """
    trials = np.asarray(values, dtype=float)
    trials = trials / _scale(trials)
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


def _scale(trials: Numbers) -> float:
    """Return the largest trial, by which all are divided: squares of extreme values overflow."""
    return float(np.abs(trials).max(initial=0.0)) or 1.0


def two_levels(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the two levels of bimodal trials, or None if they are not bimodal.

    Otsu's criterion (1979): the cut of the sorted trials with the largest share of the variance between its two
    parts. Each part has at least two trials, so that a single outlier is not a level.
    """
    trials = np.sort(np.asarray(values, dtype=float))
    scale = _scale(trials)
    trials /= scale
    count = len(trials)
    whole = float(((trials - trials.mean()) ** 2).sum())
    if count < FEWEST_TRIALS or whole <= 0:
        return None
    cut = change_point(trials, 2)
    low, high = float(trials[:cut].mean()), float(trials[cut:].mean())
    share = cut * (count - cut) / count * (high - low) ** 2 / whole
    return None if share <= (TWO_LEVELS_OF_FEW if count < FEW else TWO_LEVELS) else (low * scale, high * scale)


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


def of_spread(
    values: Sequence[float], side_name: str, text_of: Callable[[float], str] = "{:.4g}".format
) -> Iterator[Caveat]:
    """Yield the caveats on the trials of one side, given in the order in which they ran; `side_name` names the side.

    `text_of` returns a value as text.
    """
    p = correlation_p(values)
    if p is not None and p < SIGNIFICANT:
        text = f"trials of {side_name} are autocorrelated (p = {p:.3f}): the interval is too narrow"
        yield Caveat("correlated", text, side_name)
    levels = two_levels(values)
    if levels is not None:
        texts = [text_of(min(values, key=lambda value: abs(value - level))) for level in levels]
        yield Caveat("two-levels", f"trials of {side_name} are bimodal: about {texts[0]} and {texts[1]}", side_name)


def of_blocks(ours: Mapping[str, Sequence[str]], baseline: Mapping[str, Sequence[str]]) -> Iterator[Caveat]:
    """Yield the caveat on sides of the same sessions if one of them ran first in all; arguments are starts by session.

    Repeating a session does not remove what the first step leaves behind.
    """
    shared = [(_starts(ours[run]), _starts(baseline[run])) for run in ours.keys() & baseline.keys()]
    if len(shared) < 2 or not all(one and other for one, other in shared):
        return
    for first, is_first in (
        (THIS_RUN, all(one[-1] < other[0] for one, other in shared)),
        (THE_BASELINE, all(other[-1] < one[0] for one, other in shared)),
    ):
        if is_first:
            text = f"{first} ran first in all {len(shared)} sessions: its effect on caches, credits or heat is included"
            yield Caveat("same-order", f"{text}; run the steps interleaved", first)


def of_order(ours: Sequence[str], baseline: Sequence[str]) -> Iterator[Caveat]:
    """Yield the drift caveat if one side ran after the other."""
    duration = drift(ours, baseline)
    if duration is not None:
        span = duration_text(duration.total_seconds())
        text = f"sides not interleaved ({span} in total): drift of the host would look like a difference"
        yield Caveat("drift", text)
