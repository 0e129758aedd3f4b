"""Change points in a series of results: steps and drifts on the logarithms, with a penalty calibrated by simulation."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from app.centres import student
from app.numeric import Numbers, np

FEWEST_RESULTS = 4
"""Fewest results on each side of a change: fewer are outliers."""

FEWEST_DRIFTING = 8
"""Fewest results of a segment that drifts."""

MOST_RESULTS = 1000
"""Newest results that are searched, in some 0.3 s; the time grows with the square of their number."""

MOST_PARTS = 20
"""Most steps and drifts in a series."""

CORRELATION = 0.3
"""The autocorrelation of results for which the penalty is calibrated; independent results raise fewer false alarms."""

OUTLIER = 2.5
"""Distance from the running median, in standard deviations, to which a result is moved (winsorised)."""

_LEAST_NOISE = 1e-6
"""A bound on the relative noise: results that are equal differ by rounding."""

_CORRELATIONS = (0.05, 0.1, 0.15, 0.2, 0.25, CORRELATION, 0.4, 0.5, 0.6, 0.7, 0.8)

_LIKELIHOOD = 7.35
"""The likelihood ratio of a 95 % interval of the position of a change (Hansen 2000, Econometrica 68:575, table 1)."""


@dataclass(frozen=True, slots=True)
class LevelChange:
    """A step between the results `index` - 1 and `index`.

    `before` and `after` are the levels beside it: the geometric means of the segments, or where they drift the fitted
    values at the step. `low` and `high` are the 95 % interval of the ratio, `first` and `last` that of the index.
    Levels and ratio include outliers, so the interval of a step that is found without them may contain 1.
    """

    index: int
    before: float
    after: float
    low: float
    high: float
    first: int
    last: int

    @property
    def ratio(self) -> float:
        """The level after by the level before."""
        return self.after / self.before

    @property
    def significant(self) -> bool:
        """Whether the interval of the ratio excludes 1, outliers included."""
        return self.low > 1 or self.high < 1


@dataclass(frozen=True, slots=True)
class Drift:
    """A steady change from result `start` to result `end` - 1, besides any steps between them.

    `rate` is the relative change per result, `low` and `high` its 95 % interval.
    """

    start: int
    end: int
    rate: float
    low: float
    high: float

    @property
    def ratio(self) -> float:
        """The ratio of the last level to the first, without steps."""
        return (1 + self.rate) ** (self.end - self.start - 1)


@dataclass(frozen=True, slots=True)
class LevelChanges:
    """The steps and drifts of a series, and the levels: (start, end, at the start, at the end) of each segment.

    `outliers` are the indices of the results that were winsorised for the search.
    """

    changes: tuple[LevelChange, ...] = ()
    drifts: tuple[Drift, ...] = ()
    levels: tuple[tuple[int, int, float, float], ...] = ()
    outliers: tuple[int, ...] = ()


def change_points(values: Sequence[float]) -> LevelChanges:
    """Return the steps and drifts of `values`, all above zero and in order of time.

    The logarithms are divided into segments, each of one level or on a line, or all on lines of one slope. The number
    m of steps and slopes minimises n log(RSS) + m penalty(n), where RSS is the least sum of squares for m (dynamic
    programming, Auger and Lawrence 1989). Outliers are winsorised for the search only: levels, ratios and their
    intervals are estimated from the results as measured. The noise is estimated together with the changes, so the
    result does not depend on its size, nor do changes pass for noise.

    Compared with ruptures 1.1.10 (PELT, min_size 4, penalty calibrated to 5 % at an autocorrelation of 0.3, 25 series):
    with the costs l2 and normal it finds single steps as often, but divides every trend of 0.3 % per result into steps
    and adds steps to 60 to 84 % of steps on a trend (here 2 %); with the cost rank it finds no five steps of 4 %. It
    has no wheels for Python 3.14, and takes 1.5 s to import.

    The margin is no matter here: a step of 4 % among results that vary by 1 % is real.
    """
    count = len(values)
    if count < 2 * FEWEST_RESULTS:
        return LevelChanges()
    skipped = max(0, count - MOST_RESULTS)
    logs = np.log(np.asarray(values[skipped:], dtype=float))
    moved = _winsorised(logs)
    return _fit(moved).changes(logs, moved != logs, skipped)


def _inflation(correlation: float) -> float:
    """Return the variance of a mean of autocorrelated results (AR(1)) by that of independent ones."""
    return (1 + correlation) / (1 - correlation)


def penalty(count: int, correlation: float = CORRELATION) -> float:
    """Return the penalty of a step or slope in a series of `count` results.

    With it a step or drift is claimed in 3.3 to 4.6 % of series of 20 to 200 results without changes at an
    autocorrelation of CORRELATION (2,000 series each, 300 of 200 results, simulated for this project). For other
    autocorrelations it is scaled by the variance of a mean.
    """
    return (13.5 + 1.2 * math.log(count) - 30 / count) * _inflation(correlation) / _inflation(CORRELATION)


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


def _winsorised(logs: Numbers) -> Numbers:
    """Return `logs` moved to within OUTLIER standard deviations of the median of seven.

    Four results in a row, FEWEST_RESULTS, are the majority of seven and remain; three are not. The standard
    deviation is that of the differences by their median absolute deviation, which steps do not raise.
    """
    steps = np.diff(logs)
    noise = 1.4826 * float(np.median(np.abs(steps - np.median(steps)))) / math.sqrt(2)
    if not noise:
        return logs
    reach = FEWEST_RESULTS - 1
    padded = np.pad(logs, reach, constant_values=np.nan)
    middle = np.nanmedian(np.lib.stride_tricks.sliding_window_view(padded, 2 * reach + 1), axis=1)
    return np.clip(logs, middle - OUTLIER * noise, middle + OUTLIER * noise)


class _Sums:
    """Sums of squares of residuals of any segments of a series, from cumulative sums; `start` and `end` broadcast."""

    def __init__(self, logs: Numbers) -> None:
        self.count = len(logs)
        times = np.arange(self.count) - (self.count - 1) / 2
        values = logs - logs.mean()
        parts = (values, values**2, times, times**2, times * values)
        self._sums = [np.concatenate([[0.0], np.cumsum(part)]) for part in parts]

    def both(self, start: Any, end: Any) -> tuple[Numbers, Numbers]:
        """Return the residuals about the mean, and about the line (infinite for fewer than FEWEST_DRIFTING)."""
        size = np.asarray(end - start, dtype=float)
        value, squares, time, times, products = (part[end] - part[start] for part in self._sums)
        level = np.maximum(squares - value**2 / size, 0)
        common = products - time * value / size
        line = np.maximum(level - common**2 / np.maximum(times - time**2 / size, 1e-9), 0)
        return level, np.where(size >= FEWEST_DRIFTING, line, np.inf)


class _Segment(NamedTuple):
    start: int
    end: int
    line: bool = False


@dataclass(frozen=True, slots=True)
class _Model:
    """Segments with lines of their own, or with a common slope (`shared`); a part is a step or a slope."""

    rss: float
    parts: int
    segments: tuple[_Segment, ...]
    shared: bool = False
    slope: float = 0.0

    def criterion(self, count: int, correlation: float = CORRELATION) -> float:
        """Return n log(RSS) with the penalty."""
        return count * math.log(max(self.rss, count * _LEAST_NOISE**2)) + self.parts * penalty(count, correlation)


def _fit(logs: Numbers) -> "_Fit":
    """Return the fit of the model with the lowest criterion, at an autocorrelation that suits its residuals.

    It is CORRELATION unless the estimate is two standard errors below, or one above.
    """
    models, error = _models(logs), 1 / math.sqrt(len(logs))
    for correlation in _CORRELATIONS:
        fit = _Fit(logs, min(models, key=lambda model: model.criterion(len(logs), correlation)), correlation)
        if fit.correlation + (2 * error if correlation < CORRELATION else -error) <= correlation:
            break
    return fit


def _models(logs: Numbers) -> list[_Model]:
    """Return for each number of parts the models with the least squares: with lines, and with a common slope."""
    times, count = np.arange(len(logs)), len(logs)
    own = found = _layers(_Sums(logs))
    lowest = math.inf
    while True:  # each pass lowers the criterion, or is the last
        common = [_common_slope(logs, model) for model in found]
        best = min(common, key=lambda model: model.criterion(count))
        if best.criterion(count) >= lowest - 1e-9:
            return [*own, *common]
        lowest = best.criterion(count)
        found = _layers(_Sums(logs - best.slope * times), lines=False)


def _common_slope(logs: Numbers, model: _Model) -> _Model:
    """Return the model of the same segments with one slope, by least squares."""
    times, values = np.arange(len(logs), dtype=float), logs.copy()
    for one in model.segments:
        part = slice(one.start, one.end)
        times[part] -= times[part].mean()
        values[part] -= values[part].mean()
    slope = float(times @ values / (times @ times))
    rest = values - slope * times
    segments = tuple(_Segment(one.start, one.end) for one in model.segments)
    return _Model(float(rest @ rest), len(segments), segments, shared=True, slope=slope)


def _layers(sums: _Sums, *, lines: bool = True) -> list[_Model]:
    """Return the segments with the least squares for 0, 1, ... parts (dynamic programming)."""
    count = sums.count
    most = min(MOST_PARTS, count // FEWEST_RESULTS)
    costs = np.full((most + 1, count + 1), np.inf)
    origins = np.zeros((most + 1, count + 1), dtype=int)  # -1 - start for a line
    rows = np.arange(most)
    for end in range(FEWEST_RESULTS, count + 1):
        starts = np.arange(end - FEWEST_RESULTS + 1)
        level, line = sums.both(starts, end)
        costs[0, end] = level[0]
        totals = costs[:-1, starts] + level
        if lines:
            sloped = np.full_like(totals, np.inf)
            sloped[1:] = costs[:-2, starts] + line
            sloped[0, 0] = line[0]
            straight = sloped < totals
            totals = np.where(straight, sloped, totals)
        chosen = totals.argmin(axis=1)
        costs[1:, end] = totals[rows, chosen]
        origins[1:, end] = np.where(straight[rows, chosen], -1 - chosen, chosen) if lines else chosen
    reached = np.flatnonzero(np.isfinite(costs[:, count])).tolist()
    return [_Model(float(costs[parts, count]), parts, _traced(origins, parts)) for parts in reached]


def _traced(origins: Numbers, parts: int) -> tuple[_Segment, ...]:
    """Return the segments that lead to the last result with `parts` parts."""
    end, found = origins.shape[1] - 1, []
    while end:
        origin = int(origins[parts, end])
        start, line = (-1 - origin, True) if origin < 0 else (origin, False)
        found.append(_Segment(start, end, line))
        parts, end = parts - 1 - line, start
    return tuple(reversed(found))


class _Fit:
    """The least-squares fit of a model, with intervals.

    The variance is that of the residuals, inflated to that of means of results with an autocorrelation of at least
    CORRELATION. This also widens the intervals for the choice of the largest steps. It is common to all segments but
    those with `outliers`, which have their own (Welch).
    """

    def __init__(self, logs: Numbers, model: _Model, correlation: float, outliers: Numbers | None = None) -> None:
        count, segments = len(logs), model.segments
        self._model, self._segments, self._assumed = model, segments, correlation
        sloped = [number for number, one in enumerate(segments) if model.shared or one.line]
        self._columns = {number: len(segments) + (0 if model.shared else at) for at, number in enumerate(sloped)}
        self._width = len(segments) + len(set(self._columns.values()))
        design = np.array([self._row(number, at) for number, one in enumerate(segments) for at in range(*one[:2])])
        self._weights = np.linalg.pinv(design)
        self._estimate = self._weights @ logs
        rest = logs - design @ self._estimate
        first = float(rest[1:] @ rest[:-1]) / max(float(rest @ rest), count * _LEAST_NOISE**2)
        self.correlation = first + (1 + 3 * first) * self._width / count  # corrected for the bias of a fitted mean
        leverage = np.sum(design * self._weights.T, axis=1)
        self._variances = [self._variance(rest, leverage, group) for group in self._groups(outliers, count)]
        self._sums = _Sums(logs - model.slope * np.arange(count))

    def changes(self, logs: Numbers, outliers: Numbers, skipped: int) -> LevelChanges:
        """Return the claimed steps, the drifts, and the levels, with indices raised by `skipped`.

        Levels, ratios and their intervals are estimated from `logs`, the results as measured. A step is claimed if its
        interval excludes 1 without outliers, and either with them or if they are the minority on both sides.
        """
        segments = self._segments
        found = _Fit(logs, self._model, self._assumed, outliers)
        few = [2 * int(outliers[one.start : one.end].sum()) < one.end - one.start for one in segments]
        sound = found.significant() | {number for number in range(1, len(segments)) if few[number - 1] and few[number]}
        claimed = sorted(self.significant() & sound)
        steps = [found.step(number, skipped, self._position(number)) for number in claimed]
        levels = [
            (one.start + skipped, one.end + skipped, found.level(number, one.start), found.level(number, one.end - 1))
            for number, one in enumerate(segments)
        ]
        spans = {column: segments[number][:2] for number, column in self._columns.items()}
        if self._model.shared:
            spans = {len(segments): (0, segments[-1].end)}
        drifts = [found.drift(column, start + skipped, end + skipped) for column, (start, end) in spans.items()]
        moved = (np.flatnonzero(outliers) + skipped).tolist()
        return LevelChanges(tuple(steps), tuple(drifts), tuple(levels), tuple(moved))

    def significant(self) -> set[int]:
        """Return the segments before which there is a step whose interval excludes 1."""
        ratios = {number: self._ratio(number) for number in range(1, len(self._segments))}
        return {number for number, (low, high) in ratios.items() if low > 1 or high < 1}

    def step(self, number: int, skipped: int, position: tuple[int, int]) -> LevelChange:
        """Return the step before segment `number`; `position` is the interval of its index."""
        index = self._segments[number].start
        before, after = (self.level(each, index - 0.5) for each in (number - 1, number))
        first, last = (each + skipped for each in position)
        return LevelChange(index + skipped, before, after, *self._ratio(number), first, last)

    def level(self, number: int, at: float) -> float:
        """Return the fitted value of segment `number` at the index `at`."""
        return math.exp(float(self._row(number, at) @ self._estimate))

    def drift(self, column: int, start: int, end: int) -> Drift:
        """Return the drift whose slope is in `column` of the design."""
        contrast = np.zeros(self._width)
        contrast[column] = 1
        low, high = self._interval(contrast)
        return Drift(start, end, math.expm1(float(self._estimate[column])), low - 1, high - 1)

    def _groups(self, outliers: Numbers | None, count: int) -> list[Any]:
        """Return the results of a common variance: each segment with outliers, and the others together."""
        rest, groups = np.ones(count, dtype=bool), list[Any]()
        for one in self._segments:
            if outliers is not None and outliers[one.start : one.end].any():
                rest[one.start : one.end] = False
                groups.append(np.arange(one.start, one.end))
        return [group for group in (np.flatnonzero(rest), *groups) if len(group)]

    def _variance(self, rest: Numbers, leverage: Numbers, group: Any) -> tuple[Any, float, float]:
        """Return a group, the inflated variance of its residuals, and their degrees of freedom."""
        freedom = max(1.0, len(group) - float(leverage[group].sum()))
        squares = max(float(rest[group] @ rest[group]), len(group) * _LEAST_NOISE**2)
        return group, squares / freedom * _inflation(max(self._assumed, CORRELATION)), freedom

    def _row(self, number: int, at: float) -> Numbers:
        """Return the row of the design of a result, or of a point between two."""
        row = np.zeros(self._width)
        row[number] = 1
        if number in self._columns:
            row[self._columns[number]] = at
        return row

    def _interval(self, contrast: Numbers) -> tuple[float, float]:
        """Return the 95 % interval of exp(contrast of the estimate); of several variances by Satterthwaite (1946)."""
        middle, weights = float(contrast @ self._estimate), contrast @ self._weights
        parts = [(float(weights[group] @ weights[group]) * noise, free) for group, noise, free in self._variances]
        square = sum(part for part, _ in parts)
        freedom = square**2 / sum(part**2 / free for part, free in parts)
        reach = student(freedom) * math.sqrt(square)
        return math.exp(max(-700.0, middle - reach)), math.exp(min(700.0, middle + reach))

    def _ratio(self, number: int) -> tuple[float, float]:
        """Return the 95 % interval of the ratio of the levels beside the step before segment `number`."""
        at = self._segments[number].start - 0.5
        return self._interval(self._row(number, at) - self._row(number - 1, at))

    def _position(self, number: int) -> tuple[int, int]:
        """Return the 95 % interval of the index of a step: the cuts whose likelihood ratio is at most _LIKELIHOOD."""
        before, after = self._segments[number - 1], self._segments[number]
        cuts = np.arange(before.start + FEWEST_RESULTS, after.end - FEWEST_RESULTS + 1)
        rss = self._sums.both(before.start, cuts)[before.line] + self._sums.both(cuts, after.end)[after.line]
        ((_, noise, _),) = self._variances
        fitting = cuts[rss <= rss[after.start - cuts[0]] + _LIKELIHOOD * noise]
        return int(fitting[0]), int(fitting[-1])
