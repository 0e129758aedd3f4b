"""Samples of a trial: their number, and the gaps between them."""

import itertools
import statistics
from collections import defaultdict

from suites.outputs import ParsedTrial
from suites.quantities import duration_text
from suites.vocab import Labels

MIN_SERIES = 8
"""Samples of a series below which its interval is not estimated."""

REGULAR = 0.9
"""Share of intervals that must be within NEAR of the median for a series to count as regular."""

NEAR = 0.25
"""Relative deviation from the median interval."""


def _times(parsed: ParsedTrial) -> list[float]:
    """Return the times of the longest series, sorted, in seconds."""
    series: defaultdict[tuple[str, Labels], set[float]] = defaultdict(set)
    for sample in parsed.samples:
        series[sample.metric.name, sample.labels].add(sample.time)
    longest = max(series.values(), key=len, default=set[float]())
    return sorted(longest)


def _interval(times: list[float]) -> float | None:
    """Return the sampling interval in seconds; None with too few samples or an irregular series."""
    if len(times) < MIN_SERIES:
        return None
    distances = [later - earlier for earlier, later in itertools.pairwise(times)]
    interval = statistics.median(distances)
    near = sum(abs(distance - interval) <= NEAR * interval for distance in distances)
    return interval if near >= REGULAR * len(distances) else None


def samples_of(parsed: ParsedTrial, seconds: float) -> tuple[int, int | None]:
    """Return the number of samples of the longest series, and the number expected in `seconds` (None if unknown)."""
    times = _times(parsed)
    interval = _interval(times)
    return len(times), None if interval is None else round(seconds / interval)


def gap_note(parsed: ParsedTrial) -> str:
    """Return a note on gaps between samples, empty if there are none."""
    times = _times(parsed)
    interval = _interval(times)
    if interval is None:
        return ""
    missing = sum(round((later - earlier) / interval) - 1 for earlier, later in itertools.pairwise(times))
    if missing <= 0:
        return ""
    plural, of_all = "" if missing == 1 else "s", len(times) + missing
    return f"{missing} sample{plural} missing: {len(times)} of {of_all}, one every {duration_text(interval)}."
