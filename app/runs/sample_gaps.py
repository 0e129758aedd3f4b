"""Samples that are missing in a trial: counted by the interval at which the others arrived."""

import itertools
import statistics
from collections import defaultdict

from app.wording import duration_text
from suites.base import Parsed
from suites.vocab import Labels

FEWEST = 8
"""Samples of a series below which its interval is not known."""

REGULAR = 0.9
"""The share of the distances between samples that must be one interval, within NEAR of it, to call a series regular."""

NEAR = 0.25


def _times(parsed: Parsed) -> list[float]:
    """Return the times of the longest series, in order, in seconds."""
    series: defaultdict[tuple[str, Labels], set[float]] = defaultdict(set)
    for sample in parsed.samples:
        series[sample.metric.name, sample.labels].add(sample.time)
    longest = max(series.values(), key=len, default=set[float]())
    return sorted(longest)


def _interval(times: list[float]) -> float | None:
    """Return the seconds between two samples, None where they are too few or arrive irregularly."""
    if len(times) < FEWEST:
        return None
    distances = [later - earlier for earlier, later in itertools.pairwise(times)]
    interval = statistics.median(distances)
    near = sum(abs(distance - interval) <= NEAR * interval for distance in distances)
    return interval if near >= REGULAR * len(distances) else None


def samples_of(parsed: Parsed, seconds: float) -> tuple[int, int | None]:
    """Return how many samples of the longest series arrived, and how many `seconds` give, None where not known."""
    times = _times(parsed)
    interval = _interval(times)
    return len(times), None if interval is None else round(seconds / interval)


def gap_note(parsed: Parsed) -> str:
    """Return a note on samples that are missing between others, empty where none are."""
    times = _times(parsed)
    interval = _interval(times)
    if interval is None:
        return ""
    missing = sum(round((later - earlier) / interval) - 1 for earlier, later in itertools.pairwise(times))
    if missing <= 0:
        return ""
    plural, of_all = "" if missing == 1 else "s", len(times) + missing
    return f"{missing} sample{plural} missing: {len(times)} of {of_all}, one every {duration_text(interval)}."
