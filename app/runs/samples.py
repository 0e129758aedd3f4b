"""Samples of a trial: detection of an unsteady start (MSER-5, change point) and of gaps."""

import itertools
import math
import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from app.change_points import change_point
from app.checks import run_findings
from app.checks.run_findings import FindingScope, finding_of
from suites.base import ParsedTrial, Suite
from suites.evidence import series_of
from suites.quantities import duration_text, figure_text, metric_text, share_text
from suites.vocab import Figure, Finding, Labels, Sample

if TYPE_CHECKING:
    import numpy as np

    Numbers = np.ndarray[Any, np.dtype[np.float64]]

BATCH = 5
"""Samples per batch of MSER-5."""

TOLERANCE = 1.1
"""Factor on the smallest error within which a cut counts as equally good: the minimum itself is subject to chance."""

MIN_SAMPLES = 20
"""Samples below which a start cannot be distinguished from the rest."""

MIN_DIFFERENCE = 5.0
"""Standard errors by which the start must differ from the rest, in effective samples. False positives in steady
trials of 60 s: 3 % with lag-1 autocorrelation 0.8, none without (simulated for this project)."""

MIN_CHANGE = 0.005
"""Relative change of the figure below which an unsteady start is not reported."""


@dataclass(frozen=True, slots=True)
class Start:
    """Start of a trial that differs from its rest: its end in seconds, the mean of all samples, the mean without it."""

    until: float
    whole: float
    rest: float

    @property
    def change(self) -> float:
        """Relative change of the figure without the start."""
        return self.rest / self.whole - 1


def mser5(values: "Numbers") -> int:
    """Return the number of initial samples to truncate by MSER-5 (White 1997), 0 for none.

    Of all cuts in the first half, in batches of five, choose the first whose standard error of the mean is within
    TOLERANCE of the smallest: a later cut discards more than it gains. With a slow start of 20 of 120 s, the bias of
    the mean falls from 6.6 % to 0.4 % (simulated for this project). Changes at the end are not detected.
    """
    import numpy as np

    count = len(values) // BATCH
    if count < 4:
        return 0
    means = values[: count * BATCH].reshape(count, BATCH).mean(axis=1)
    rest = np.arange(count, count - count // 2 - 1, -1)  # batches that remain, for each cut
    sums = np.cumsum(means[::-1])[::-1][: len(rest)]
    squares = np.cumsum(means[::-1] ** 2)[::-1][: len(rest)]
    errors = (squares - sums**2 / rest) / rest**2  # variance of the mean, up to a constant
    return int(np.argmax(errors <= TOLERANCE * errors.min())) * BATCH


def start_of(times: "Sequence[float] | Numbers", values: "Sequence[float] | Numbers") -> Start | None:
    """Return the start that differs from the rest, or None. `times` are in seconds.

    Tries MSER-5, then a change point. The start must differ by MIN_DIFFERENCE standard errors, change the figure by
    MIN_CHANGE, and be no longer than the rest.
    """
    import numpy as np

    samples = np.asarray(values, dtype=float)
    whole = float(samples.mean()) if len(samples) else 0.0
    if len(samples) < MIN_SAMPLES or not whole:
        return None
    for find in (mser5, change_point):
        cut = find(samples)
        rest = samples[cut:]
        if 0 < cut <= len(samples) // 2 and _distance(samples[:cut], rest) >= MIN_DIFFERENCE:
            found = Start(float(times[cut - 1]), whole, float(rest.mean()))
            return found if abs(found.change) >= MIN_CHANGE else None
    return None


def _distance(start: "Numbers", rest: "Numbers") -> float:
    """Return the difference of the means in standard errors, with the autocorrelation of the rest for both."""
    from app.comparison.estimates import within_of

    within = within_of(rest)
    if within is None:
        return 0.0
    worth = within.worth / within.n
    error = math.sqrt(within.variance * (1 / within.worth + 1 / max(1.0, len(start) * worth)))
    difference = abs(float(start.mean()) - within.mean)
    return difference / error if error else math.inf if difference else 0.0


def start_text(start: Start) -> str:
    """Return the effect of the start: ``without the first 20 s the figure changes by +3 %``."""
    sign = "+" if start.change > 0 else "−"
    change = f"{sign}{share_text(abs(start.change))}"
    return f"without the first {duration_text(start.until)} the figure changes by {change}"


def start_findings(
    suite: Suite, figures: Sequence[Figure], samples: Sequence[Sample], headline: str, scope: FindingScope
) -> Iterator[Finding]:
    """Yield a finding for each series of the metric `headline` whose start differs from its rest."""
    judged: set[Labels] = set()
    for figure in figures:
        own = series_of(suite, samples, headline, figure.labels) if figure.metric.name == headline else ()
        if not own or own[0].labels in judged:
            continue
        judged.add(own[0].labels)
        start = start_of([sample.time for sample in own], [sample.value for sample in own])
        if start is not None:
            yield _finding(figure, start, scope)


def _finding(figure: Figure, start: Start, scope: FindingScope) -> Finding:
    means = f"{figure_text(figure.metric, start.whole)} with it, {figure_text(figure.metric, start.rest)} without"
    return finding_of(
        run_findings.UNSTEADY_START,
        scope,
        f"{metric_text(figure.metric, figure.labels)}: {start_text(start)} ({means}).",
    )


# Missing samples, counted from the median interval of the others

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
