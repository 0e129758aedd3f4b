"""Change points in a series of results; not claimed if the results are autocorrelated."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from app.numeric import Numbers, np, special

MOST_P = 0.001
"""The p-value below which two levels differ, as in otava. It is the p-value of the best cut, not of one chosen
beforehand, so false alarms are more frequent: in 5 % of series of 60 independent results without a change, in 21 % at
an autocorrelation of 0.3 (simulated for this project; with LEAST_CHANGE fewer, see the help)."""

LEAST_CHANGE = 0.05
"""The smallest relative change that is marked."""

MOST_AUTOCORRELATION = 0.3
"""The first autocorrelation above which no changes are claimed: false alarms then occur in one of two
histories (0.64 of 60 results at 0.6, simulated for this project)."""

FEWEST_RESULTS = 4
"""Fewest results on each side of a change."""


@dataclass(frozen=True, slots=True)
class LevelChange:
    """A change of level between the results `index` - 1 and `index`.

    `before` and `after` are the geometric means of the adjacent segments, `p` the p-value of the test between them.
    """

    index: int
    before: float
    after: float
    p: float

    @property
    def ratio(self) -> float:
        """The level after by the level before."""
        return self.after / self.before


@dataclass(frozen=True, slots=True)
class LevelChanges:
    """The changes in a series of results. `autocorrelation` is the first one within the segments, None with too few
    results; `claimed` is False if it is too high for change points to be evidence."""

    changes: tuple[LevelChange, ...]
    autocorrelation: float | None = None

    @property
    def claimed(self) -> bool:
        """Whether the autocorrelation is low enough to claim the changes."""
        return self.autocorrelation is None or self.autocorrelation <= MOST_AUTOCORRELATION


def change_points(values: Sequence[float]) -> LevelChanges:
    """Return the change points of `values`, all above zero and in order of time.

    Binary segmentation by least squares on the logarithms: cut each segment where its parts differ most while
    Student's t-test of the cut is below MOST_P and the levels differ by LEAST_CHANGE. Then test every cut again between
    its final neighbours and remove the weakest until all pass (as otava, Hunter 2023). A change needs FEWEST_RESULTS
    results on both sides.
    """
    logs = np.log(np.asarray(values, dtype=float))
    cuts = _split(logs, 0, len(logs))
    while cuts:
        tested = _tested(logs, cuts)
        weakest = max(tested, key=lambda change: change.p)
        small = [change for change in tested if not _is_large(change)]
        if weakest.p < MOST_P and not small:
            return LevelChanges(tuple(tested), _autocorrelation(logs, cuts))
        cuts.remove((small[0] if small else weakest).index)
    return LevelChanges((), _autocorrelation(logs, []))


def change_point(values: Numbers, fewest: int = 3) -> int:
    """Return the index of the single change point of the mean by least squares, `fewest` values from each end.

    Uses cumulative sums, O(n). A search for any number of changes (ruptures, PELT) takes ten thousand times as long.
    """
    count = len(values)
    cuts = np.arange(fewest, count - fewest + 1)
    sums = np.cumsum(values)
    before = sums[cuts - 1] / cuts
    after = (sums[-1] - sums[cuts - 1]) / (count - cuts)
    return int(cuts[np.argmax(cuts * (count - cuts) * (before - after) ** 2)])


def _split(logs: Numbers, start: int, end: int) -> list[int]:
    """Return the cuts within a segment, in order.

    Without a cut, try its overlapping halves: a rise that falls back is not visible in the whole segment.
    """
    cut = _best(logs, start, end)
    if cut is not None:
        return [*_split(logs, start, cut), cut, *_split(logs, cut, end)]
    length = end - start
    if length < 8 * FEWEST_RESULTS:
        return []
    for first in (start, start + length // 4, start + length // 2):
        cut = _best(logs, first, min(end, first + length // 2))
        if cut is not None:
            return [*_split(logs, start, cut), cut, *_split(logs, cut, end)]
    return []


def _best(logs: Numbers, start: int, end: int) -> int | None:
    """Return the cut that explains most of the variance of a segment, or None if it is not significant."""
    part = logs[start:end]
    if len(part) < 2 * FEWEST_RESULTS:
        return None
    change = _change(logs, start, start + change_point(part, FEWEST_RESULTS), end)
    return change.index if change.p < MOST_P and _is_large(change) else None


def _is_large(change: LevelChange) -> bool:
    return abs(math.log(change.ratio)) >= math.log1p(LEAST_CHANGE)


def _tested(logs: Numbers, cuts: Sequence[int]) -> list[LevelChange]:
    edges = [0, *cuts, len(logs)]
    return [_change(logs, *edges[number : number + 3]) for number in range(len(cuts))]


def _change(logs: Numbers, start: int, index: int, end: int) -> LevelChange:
    """Return the change at `index`, tested between the adjacent segments (Student's t-test, pooled variance)."""
    before, after = logs[start:index], logs[index:end]
    freedom = len(before) + len(after) - 2
    difference = float(after.mean() - before.mean())
    rest = float(((before - before.mean()) ** 2).sum() + ((after - after.mean()) ** 2).sum())
    error = math.sqrt(rest / freedom * (1 / len(before) + 1 / len(after)))
    p = 2 * float(special.stdtr(freedom, -abs(difference) / error)) if error > 1e-15 else float(difference == 0)
    return LevelChange(index, math.exp(float(before.mean())), math.exp(float(after.mean())), p)


def _autocorrelation(logs: Numbers, cuts: Sequence[int]) -> float | None:
    """Return the first autocorrelation of the residuals after subtracting the mean of each segment."""
    edges = [0, *cuts, len(logs)]
    residuals = np.concatenate(
        [logs[start:end] - logs[start:end].mean() for start, end in itertools.pairwise(edges) if end > start] or [logs]
    )
    whole = float(residuals @ residuals)
    if len(residuals) < 2 * FEWEST_RESULTS or whole <= 1e-20:
        return None
    return float(residuals[1:] @ residuals[:-1]) / whole
