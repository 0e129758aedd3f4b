"""The shape of a rate over a trial: flat, decay, rise, dip, peak, telegraph, periodic stall, step or burst."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from app.numeric import Numbers, np

FEWEST = 20
"""Fewest samples to distinguish a shape from noise."""

LEAST_EFFECT = 0.07
"""Least difference of two levels, relative to the median, that is reported."""

WHOLE_EVENTS = LEAST_EFFECT / 2
"""Greatest share of a sample that one counted event may be; else samples are averaged."""

MIN_ERRORS = 4.6
"""Least size of an effect in standard errors of the noise, whose long-run variance allows for autocorrelation; the cut
is searched, so the 2 of a test chosen beforehand would find one in most series."""

TREND_ERRORS = 4.8
"""The same of a line or curve, which is chosen from several."""

SEPARATION = 2.0
"""Least difference of two levels in standard deviations of the samples."""

CLEAR = 4.5
"""Difference of two levels in standard deviations that no autocorrelation explains."""

BIMODAL = 0.85
"""Least share of the variance between two levels that alternate (Otsu); of normal noise it is 0.64."""

BIAS = 0.5
"""Standard errors added to the estimated autocorrelation."""

OUTLIER = 4.0
"""Standard deviations from its neighbours from which a single sample is an outlier, which has no shape."""

MOST_POINTS = 600
"""Points to which a longer series is averaged for its levels: the search is quadratic."""

BURST_PART = 0.4
"""Greatest share of a trial that a burst at its start may last; a later drop is a step."""

EDGE = 3
"""Fewest samples of a first or last level, so that slow start and a partial last interval are no levels."""

RARE = 0.25
"""Greatest share of the time of the rarer level for it to be a dip or peak; more is two levels that alternate."""

FEWEST_STALLS = 4
"""Fewest regular stalls for a period; three suffice in up to SHORT samples."""

SHORT = 70
"""Samples up to which three stalls show a period."""

SILENT = 0.1
"""Relative rate of a single sample below which it is a stall and not an outlier."""

SLICE = 0.15
"""Seconds that a stall lasts at least: a rate that is granted in slices of 0.1 s has one less in some seconds."""

LASTING = 0.9
"""Least share of the samples of a rate that alternates whose neighbours are at the same level."""

TRANSITION = 0.1
"""Greatest share of a trial that a change from one level to another may take."""

EXCEPTION = 0.2
"""Greatest share of the time at a level in brief spans that are no change of level."""

NEAR = 20
"""Samples on both sides of a change whose noise counts for it, where it is more than that of the whole."""

SETTLED = 0.7
"""Share of a trial within which a decay or rise must end to have settled."""

LEAST_START = 0.008
"""Least relative effect on the mean of a rate that differs at its start."""


class ShapeKind(StrEnum):
    """The form of a rate over time."""

    DECAY = "decay"
    RISE = "rise"
    DIP = "dip"
    PEAK = "peak"
    TELEGRAPH = "telegraph"
    STALL = "periodic stall"
    STEP_DOWN = "step down"
    STEP_UP = "step up"
    BURST = "burst"


_AT_THE_START = {ShapeKind.DECAY, ShapeKind.RISE, ShapeKind.STEP_UP, ShapeKind.BURST}


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a series from `since` to `until` seconds with its mean `level`."""

    since: float
    until: float
    level: float


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a rate series.

    `level` is the main level: of a burst, step, decay or rise the last one, of the others the rate outside the
    disturbance. `other` is the level of the disturbance, or the first one. `spans` are the disturbed parts; of a step
    or burst the first level; of a decay or rise the change, whose end is that of the series if it did not level off.
    `period` and `length` are those of a stall or telegraph, in seconds. `worst` is the lowest sample and its time.
    `effect` is the relative difference of the mean of the series from the main level.
    """

    kind: ShapeKind
    level: float
    other: float
    spans: tuple[Span, ...]
    worst: tuple[float, float]
    effect: float
    end: float
    period: float = 0.0
    length: float = 0.0
    settled: bool = True


def shape_of(
    times: Sequence[float], values: Sequence[float], expected: float = 0.0, event: float = 0.0
) -> Shape | None:
    """Return the shape of a rate; None if it is flat, has fewer than FEWEST samples or is 0.

    `times` are the ends of the samples' intervals in seconds, `expected` the planned seconds of a running trial,
    `event` the rate of one counted event a second: of 7 or 8 events in a sample, the difference is chance.

    Regular stalls are searched in the samples; then levels by optimal partitioning with a penalty from the long-run
    variance (Killick 2012), without single outliers; a line or an exponential that fits better than levels is a decay
    or a rise.
    """
    at, raw = np.asarray(times, dtype=float), np.asarray(values, dtype=float)
    middle = float(np.median(raw)) if len(raw) else 0.0
    scale = middle if middle > 0 else float(raw.mean()) if len(raw) else 0.0
    if len(raw) < FEWEST or scale <= 0 or not np.isfinite(raw).all():
        return None
    steps = np.diff(at)
    if steps.min() < 0 or not np.median(steps) > 0:
        return None  # timestamps without an order
    width = math.ceil(event / float(np.median(steps)) / (WHOLE_EVENTS * scale))
    if width > 1:
        at, raw = at[: len(at) // width * width][width - 1 :: width], _averaged(raw, width)
        if len(raw) < FEWEST:
            return None
    series = _Series(at, raw, raw / scale, scale, max(expected, float(at[-1])))
    found = _stalls(series) or _levels(series, series.relative)
    early = found is not None and found.kind in _AT_THE_START and abs(found.effect) < LEAST_START
    return None if early else found


@dataclass(frozen=True, slots=True)
class _Series:
    """Times, values, and values relative to `scale`; `whole` is the length of the trial in seconds."""

    at: "Numbers"
    raw: "Numbers"
    relative: "Numbers"
    scale: float
    whole: float

    @property
    def interval(self) -> float:
        """Return the usual distance of two samples in seconds."""
        return float(np.median(np.diff(self.at)))

    def shape(
        self,
        kind: ShapeKind,
        levels: tuple[float, float],
        spans: Sequence[Span],
        repeated: tuple[float, float] = (0.0, 0.0),
        *,
        settled: bool = True,
    ) -> Shape:
        """Return a shape from relative levels; `repeated` are its period and length."""
        level, other = levels
        lowest = int(self.raw.argmin())
        return Shape(
            kind,
            level * self.scale,
            other * self.scale,
            tuple(Span(one.since, one.until, one.level * self.scale) for one in spans),
            worst=(float(self.at[lowest]), float(self.raw[lowest])),
            effect=float(self.relative.mean()) / level - 1 if level else math.inf,
            end=float(self.at[-1]),
            period=repeated[0],
            length=repeated[1],
            settled=settled,
        )


@dataclass(frozen=True, slots=True)
class _Points:
    """A series without outliers, averaged to at most MOST_POINTS: values, ends of their intervals, samples a point.

    `white` is the variance of the noise, `noise` its long-run variance.
    """

    values: "Numbers"
    ends: "Numbers"
    width: int
    interval: float
    white: float
    noise: float

    @classmethod
    def of(cls, series: _Series, rates: Numbers) -> "_Points":
        """Return the points of the relative `rates` of a series."""
        clean = _without_outliers(rates)
        width = -(-len(clean) // MOST_POINTS)
        cut = len(clean) // width * width
        values = _averaged(clean, width)
        return cls(values, series.at[:cut][width - 1 :: width], width, series.interval * width, *_variances(values))

    @property
    def fewest(self) -> int:
        """Return the fewest points of a level."""
        return EDGE if self.width == 1 else 1

    def span(self, start: int, end: int) -> Span:
        """Return the points from `start` to before `end`."""
        level = float(self.values[start:end].mean())
        return Span(float(self.ends[start]) - self.interval, float(self.ends[end - 1]), level)


def _averaged(values: Numbers, width: int) -> Numbers:
    """Return the means of each `width` values, without an incomplete rest."""
    means: Numbers = values[: len(values) // width * width].reshape(-1, width).mean(axis=1)
    return means


def _stalls(series: _Series) -> Shape | None:
    """Return short drops at equal distances; None if there are too few or their distances differ."""
    values = series.relative
    around = _running_median(values, 11)
    rest = values - around
    spread = 1.4826 * min(float(np.median(np.abs(rest))), float(np.median(rest[rest >= 0])))
    runs = _runs(rest < -max(LEAST_EFFECT, MIN_ERRORS * spread))
    deficits = [float(-rest[start:end].sum()) for start, end in runs]
    runs = [run for run, one in zip(runs, deficits, strict=True) if one >= 0.3 * max(deficits)]
    if len(runs) < (3 if len(values) <= SHORT else FEWEST_STALLS):
        return None
    lost = np.array([float(-rest[start:end].sum()) for start, end in runs])
    centres = np.array([float(np.average(np.arange(start, end), weights=-rest[start:end])) for start, end in runs])
    numbers = np.arange(len(runs), dtype=float)
    period, first = (float(one) for one in np.polyfit(numbers, centres, 1))
    regular = float(np.abs(centres - first - period * numbers).max()) <= max(1.0, 0.06 * period)
    everywhere = max(centres[0], len(values) - 1 - centres[-1]) <= 1.5 * period
    alike = float(np.median(lost)) >= 0.5 * float(lost.max()) and 2 * len(runs) >= len(deficits)
    brief = max(end - start for start, end in runs) <= RARE * period + 1
    level, dt = float(np.median(around)), series.interval
    if not (regular and everywhere and alike and brief) or period < 2 or level <= 0:
        return None
    length = float(lost.mean()) / level * dt
    rates = values.copy()
    for start, end in runs:
        rates[start:end] = around[start:end]
    changed = _levels(series, rates) if length < 2 * SLICE else None
    if length < SLICE or changed is not None:
        return changed
    deepest = float(np.mean([values[start:end].min() for start, end in runs]))
    spans = [
        Span(float(series.at[start]) - dt, float(series.at[end - 1]), float(values[start:end].mean()))
        for start, end in runs
    ]
    return series.shape(ShapeKind.STALL, (level, deepest), spans, (period * dt, length))


def _levels(series: _Series, rates: Numbers) -> Shape | None:
    """Return the shape from the levels of the relative `rates` of the series."""
    points = _Points.of(series, rates)
    alternating = _telegraph(series, points)
    if alternating is not None:
        return alternating
    bounds = _merged(points, _partition(points.values, MIN_ERRORS**2 * points.white, points.fewest))
    spans = [points.span(*_trimmed(points, bounds, place)) for place in range(len(bounds) - 1)]
    trend = _trend(points, series)
    if len(spans) == 1:
        return None if trend is None else trend[1]
    sudden = _without_transition(series, spans)
    if trend is not None and _monotone(spans):
        rest = points.values - np.repeat([one.level for one in spans], np.diff(bounds))
        if trend[0] <= float(rest @ rest) * (1 if len(sudden) == 2 else 1.3):
            return trend[1]
    return _named(series, sudden)


def _telegraph(series: _Series, points: _Points) -> Shape | None:
    """Return two levels that alternate; None unless they explain BIMODAL of the variance."""
    count, ordered = len(points.values), np.sort(points.values)
    below, sums = np.arange(1, count), np.cumsum(ordered)[:-1]
    low, high = sums / below, (ordered.sum() - sums) / (count - below)
    between = below * (count - below) * (high - low) ** 2 / count
    cut = int(between.argmax())
    if between[cut] < (BIMODAL + 1 / count) * count * float(ordered.var()) or high[cut] - low[cut] < LEAST_EFFECT:
        return None
    flags = _running_median((points.values > ordered[cut]).astype(float), 3) > 0.5
    lows, highs = _runs(~flags), _runs(flags)
    if _exceptions([points.span(*run) for run in lows]) or _exceptions([points.span(*run) for run in highs]):
        return None
    lasting = float((flags == (points.values > ordered[cut])).mean()) >= LASTING
    if len(lows) + len(highs) < 4 or not RARE < float(flags.mean()) < 1 - RARE or not lasting:
        return None
    runs = sorted(lows + highs)
    period = 2 * (runs[-1][0] - runs[0][1]) / (len(runs) - 2) * points.interval
    levels = float(points.values[flags].mean()), float(points.values[~flags].mean())
    length = float((~flags).sum()) / len(lows) * points.interval
    return series.shape(ShapeKind.TELEGRAPH, levels, [points.span(*run) for run in lows], (period, length))


def _trend(points: _Points, series: _Series) -> tuple[float, Shape] | None:
    """Return the best line or exponential with its squared error; None if it is small or within the noise.

    An exponential, or a line with a level part before or after it, has the best of several lengths.
    """
    values, count = points.values, len(points.values)
    at, mean = np.arange(count, dtype=float), float(points.values.mean())
    curves = [at, *(np.exp(-at / (part * count)) for part in (0.05, 0.1, 0.15, 0.2, 0.3, 0.5))]
    for part in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
        curves += [np.minimum(at, part * count), np.maximum(at, part * count)]
    off = np.array(curves) - np.mean(curves, axis=1)[:, None]
    fits = (off @ values / (off**2).sum(axis=1))[:, None] * off + mean
    residuals = ((values - fits) ** 2).sum(axis=1)
    best = int(residuals.argmin())
    fitted, residual = fits[best], float(residuals[best])
    first, last = float(fitted[0]), float(fitted[-1])
    noise = max(points.noise, _long_run_variance(values - fitted))
    least = max(LEAST_EFFECT, (1.25 * SEPARATION + 40 / count) * math.sqrt(residual / count))
    if abs(last - first) < least or count * float(values.var()) - residual < TREND_ERRORS**2 * noise:
        return None
    settled = int((np.abs(fitted - last) <= 0.1 * abs(last - first)).argmax())
    early = float(np.median(values[: max(EDGE, settled // 2)]))
    if abs(early - last) < 0.3 * abs(last - first):
        return None  # a few outliers at the start
    lasting = settled < SETTLED * count
    level = float(values[settled:].mean()) if lasting else last
    change = Span(float(points.ends[0]) - points.interval, float(points.ends[settled if lasting else -1]), first)
    kind = ShapeKind.RISE if last > first else ShapeKind.DECAY
    return residual, series.shape(kind, (level, first), [change], settled=lasting)


def _named(series: _Series, spans: list[Span]) -> Shape:
    """Return the shape of two or more levels."""
    first, last = spans[0], spans[-1]
    if len(spans) == 2:
        drop = ShapeKind.BURST if first.until <= BURST_PART * series.whole else ShapeKind.STEP_DOWN
        kind = ShapeKind.STEP_UP if last.level > first.level else drop
        return series.shape(kind, (last.level, first.level), [first])
    if _monotone(spans):
        kind = ShapeKind.RISE if last.level > first.level else ShapeKind.DECAY
        return series.shape(kind, (last.level, first.level), [Span(first.since, spans[-2].until, first.level)])
    border = _border(spans)
    low = [one for one in spans if one.level <= border]
    high = [one for one in spans if one.level > border]
    few = [*_exceptions(low), *_exceptions(high)] if len(_joined(spans, border)) > 3 else []
    rest = _joined([one for one in spans if one not in few], border)
    if len(rest) < len(spans):
        return _named(series, rest)
    part = _time(low) / (_time(low) + _time(high))
    if len(spans) > 3 and RARE < part < 1 - RARE:
        period = 2 * (last.since - first.until) / (len(spans) - 2)
        return series.shape(ShapeKind.TELEGRAPH, (_mean(high), _mean(low)), low, (period, _time(low) / len(low)))
    if part <= 0.5:
        return series.shape(ShapeKind.DIP, (_mean(high), _mean(low)), low)
    return series.shape(ShapeKind.PEAK, (_mean(low), _mean(high)), high)


# Parts of the search


def _without_transition(series: _Series, spans: list[Span]) -> list[Span]:
    """Return the first and last of three levels in order, if the one between them is brief: a change takes a moment."""
    if len(spans) != 3 or not _monotone(spans):
        return spans
    between = spans[1].until - spans[1].since
    return [spans[0], spans[2]] if between <= max(EDGE * series.interval, TRANSITION * series.whole) else spans


def _exceptions(spans: list[Span]) -> list[Span]:
    """Return the brief ones of several spans at one level, of which one has most of the time."""
    if not spans:
        return []
    longest = max(spans, key=lambda one: one.until - one.since)
    rest = [one for one in spans if one is not longest]
    return rest if _time(rest) <= EXCEPTION * _time(spans) else []


def _joined(spans: Sequence[Span], border: float) -> list[Span]:
    """Return the spans, with neighbours on the same side of `border` joined."""
    sides = (list(group) for _, group in itertools.groupby(spans, key=lambda one: one.level > border))
    return [Span(one[0].since, one[-1].until, _mean(one)) for one in sides]


def _running_median(values: Numbers, width: int) -> Numbers:
    half = width // 2
    padded = np.concatenate((values[half:0:-1], values, values[-2 : -half - 2 : -1]))
    return np.median(np.lib.stride_tricks.sliding_window_view(padded, width), axis=1)


def _runs(flags: "np.ndarray[Any, Any]") -> list[tuple[int, int]]:
    """Return start and end of each run of true flags."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flags.astype(np.int8), [0])))).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def _without_outliers(values: Numbers) -> Numbers:
    """Return the values with single outliers, the first and last included, replaced by their neighbours' median."""
    rest = values - _running_median(values, 5)
    spread = 1.8 * float(np.median(np.abs(rest)))  # a median of five is closer to its samples than the level
    clean = values.copy()
    for start, end in _runs(np.abs(rest) > max(OUTLIER * spread, LEAST_EFFECT / 2)):
        edge = start == 0 or end == len(values)
        if end - start == 1 and (edge or values[start] > SILENT):
            clean[start] = np.median(np.concatenate((values[max(0, start - 3) : start], values[end : end + 3])))
    return clean


def _variances(values: Numbers) -> tuple[float, float]:
    """Return the variance of the noise and its long-run variance, by first and second differences.

    Their medians ignore levels. The long-run variance is that of an AR(1) process.
    """
    steps = [values[lag:] - values[:-lag] for lag in (1, 2)]
    one, two = (1.4826 * float(np.median(np.abs(step - np.median(step)))) for step in steps)
    one = one or float(np.std(steps[0])) / 2
    found = (two / one) ** 2 - 1 if one else 0.0
    white = max(one**2 / 2 / (1 - min(0.6, max(0.0, found))), 1e-8)
    correlation = min(0.7, max(0.1, found + BIAS / math.sqrt(len(values))))
    return white, white * (1 + correlation) / (1 - correlation)


def _long_run_variance(rest: Numbers) -> float:
    """Return the long-run variance of residuals by their first autocorrelation, corrected for its bias."""
    whole = float(rest @ rest)
    found = float(rest[1:] @ rest[:-1]) / whole if whole else 0.0
    correlation = min(0.7, max(0.0, found + (1 + 3 * max(found, 0.0)) / len(rest)))
    return whole / len(rest) * (1 + correlation) / (1 - correlation)


def _partition(values: Numbers, penalty: float, fewest: int) -> list[int]:
    """Return the bounds of the levels with the least squared error plus `penalty` a level (optimal partitioning)."""
    count = len(values)
    sums = np.concatenate(([0.0], np.cumsum(values)))
    squares = np.concatenate(([0.0], np.cumsum(values**2)))
    best = np.full(count + 1, math.inf)
    best[0] = -penalty
    last = np.zeros(count + 1, dtype=int)
    for end in range(fewest, count + 1):
        starts = np.arange(end - fewest + 1)
        cost = squares[end] - squares[starts] - (sums[end] - sums[starts]) ** 2 / (end - starts)
        whole = best[starts] + cost + penalty
        last[end] = int(whole.argmin())
        best[end] = whole[last[end]]
    bounds = [count]
    while bounds[0]:
        bounds.insert(0, int(last[bounds[0]]))
    return bounds


def _merged(points: _Points, bounds: list[int]) -> list[int]:
    """Return the bounds without changes that are small, within the noise, or rest on too few samples."""
    values, bounds = points.values, list(bounds)
    while len(bounds) > 2:
        counts = np.diff(bounds)
        means = np.array([float(values[start:end].mean()) for start, end in itertools.pairwise(bounds)])
        weak = _weak_bound(values, bounds, means) if points.width == 1 else None
        if weak is not None:
            bounds.pop(weak)
            continue
        rest = values - np.repeat(means, counts)
        around = [rest[max(0, bound - NEAR) : bound + NEAR] for bound in bounds[1:-1]]
        local = np.maximum(1.0, [float(part @ part) / len(part) / (float(rest.var()) or 1.0) for part in around])
        noise = local * max(points.noise, _long_run_variance(rest))
        deviation = np.sqrt(local) * float(rest.std())
        fewer = np.minimum(counts[1:], counts[:-1])
        errors = (1 + 1 / fewer) * np.sqrt(noise * (1 / counts[1:] + 1 / counts[:-1]))
        significant = np.minimum(CLEAR * deviation, MIN_ERRORS * errors)
        least = np.maximum(LEAST_EFFECT * np.maximum(1.0, np.minimum(means[1:], means[:-1])), SEPARATION * deviation)
        steps = np.abs(np.diff(means)) / np.maximum(least, significant)
        if steps.min() >= 1:
            break
        bounds.pop(int(steps.argmin()) + 1)
    return bounds


def _weak_bound(values: Numbers, bounds: list[int], means: Numbers) -> int | None:
    """Return the bound to remove of the first level that fewer than EDGE samples support; None if all have them."""
    for place, (start, end) in enumerate(itertools.pairwise(bounds)):
        near = [other for other in (place - 1, place + 1) if 0 <= other < len(means)]
        part = values[start:end]
        for other in near:
            beyond = (part - (means[place] + means[other]) / 2) * (means[place] - means[other]) > 0
            if int(beyond.sum()) < EDGE and float(part.min()) > SILENT:
                closest = min(near, key=lambda one: abs(means[place] - means[one]))
                return max(place, closest)
    return None


def _trimmed(points: _Points, bounds: Sequence[int], place: int) -> tuple[int, int]:
    """Return start and end of a level; one between others without the samples of theirs that a level of EDGE needs."""
    start, end = bounds[place], bounds[place + 1]
    if not 0 < place < len(bounds) - 2 or end - start != EDGE:
        return start, end
    values = points.values
    around = (float(values[bounds[place - 1] : start].mean()), float(values[end : bounds[place + 2]].mean()))
    extreme = max(values[start:end], key=lambda one: abs(one - sum(around) / 2))
    while end - start > 1 and abs(values[start] - around[0]) < abs(values[start] - extreme):
        start += 1
    while end - start > 1 and abs(values[end - 1] - around[1]) < abs(values[end - 1] - extreme):
        end -= 1
    return start, end


def _monotone(spans: Sequence[Span]) -> bool:
    rises = {after.level > before.level for before, after in itertools.pairwise(spans)}
    return len(rises) == 1


def _time(spans: Sequence[Span]) -> float:
    return sum(one.until - one.since for one in spans)


def _mean(spans: Sequence[Span]) -> float:
    return sum(one.level * (one.until - one.since) for one in spans) / _time(spans)


def _border(spans: Sequence[Span]) -> float:
    """Return the border of the two groups of levels with the least variance within them, by time (Otsu)."""
    ordered = sorted(spans, key=lambda one: one.level)

    def between(count: int) -> float:
        low, high = ordered[:count], ordered[count:]
        return _time(low) * _time(high) * (_mean(high) - _mean(low)) ** 2

    count = max(range(1, len(ordered)), key=between)
    return (ordered[count - 1].level + ordered[count].level) / 2
