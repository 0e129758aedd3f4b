"""Sweeps: figures of one metric as points over the one label that changes, such as threads or queue depth.

A suite says nothing about sweeps beyond its labels. Where figures of one metric differ only in a label whose values
are numbers or sizes, they are the points of a `Curve`: STREAM over `threads`, memory latency over `working_set`, fio
over `depth`. Everything that draws or fits such data reads it from here:

    for curve in curves(record, "stream", "web-1"):
        [(point.x, point.values) for point in curve.points]      # every trial that counts, in the metric's unit

`chosen` picks of several labels the one a picture should have along its foot.
"""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.records import RunRecord
from suites.parameters import parse_size
from suites.sweep import knee
from suites.units import Unit
from suites.vocab import Better, Figure, Labels, Metric

FEWEST_POINTS = 2
"""Values of a label below which there is no curve."""

MOST_POINTS = 512
"""Values of a label beyond which it is no setting that was swept; the rest would only cost time."""


@dataclass(frozen=True, slots=True)
class Point:
    """What was measured at one value of the label: one value of the metric for each trial.

    `x` is the label as a number, bytes where it is a size; `text` is the label as the suite wrote it.
    """

    x: float
    text: str
    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median of the trials."""
        return statistics.median(self.values)

    @property
    def low(self) -> float:
        """The lowest trial."""
        return min(self.values)

    @property
    def high(self) -> float:
        """The highest trial."""
        return max(self.values)


@dataclass(frozen=True, slots=True)
class Curve:
    """A metric over the values of one label, in rising order; `rest` are the labels that stay the same.

    `sizes` tells that the label's values are sizes in bytes.
    """

    metric: Metric
    label: str
    rest: Labels
    points: tuple[Point, ...]
    sizes: bool = False

    @property
    def knee(self) -> Point | None:
        """The point from which more of the label gives hardly more; None where less is better or points are few.

        I/Os of more bytes each are fewer a second: over sizes such a rate falls, and has no knee.
        """
        if self.metric.better is not Better.HIGHER or (self.sizes and self.metric.unit is Unit.PER_SECOND):
            return None
        found = knee({number: point.median for number, point in enumerate(self.points)})
        return None if found is None else self.points[found]

    @property
    def growing(self) -> bool:
        """Whether the metric still grows at the last point, so that its knee lies beyond what was measured."""
        return self.knee is not None and self.knee is self.points[-1]

    def at(self, x: float) -> Point | None:
        """Return the point at `x`, or None."""
        return next((point for point in self.points if point.x == x), None)


def curves(record: RunRecord, step: str, host: str | None = None) -> tuple[Curve, ...]:
    """Return the curves of a step of `record` (on `host`) over each label that was swept, from the trials that count.

    A figure stands in one curve for each label that was swept: IOPS over depth for each block size, and IOPS over
    block size for each depth.
    """
    trials = record.trials_of(step, host)
    return curves_of([figure for trial in trials for figure in trial.figures])


def curves_of(figures: Iterable[Figure]) -> tuple[Curve, ...]:
    """Return the curves that `figures` make, of one trial or of several, in the order of the figures."""
    by_metric: dict[Metric, list[Figure]] = {}
    for figure in figures:
        by_metric.setdefault(figure.metric, []).append(figure)
    return tuple(
        curve for metric, found in by_metric.items() for name in _swept(found) for curve in _over(metric, name, found)
    )


def chosen(found: Sequence[Curve]) -> str | None:
    """Return the label that `found` should be drawn over: the one with the most values, the first of equals."""
    reach: dict[str, int] = {}
    for curve in found:
        reach[curve.label] = max(reach.get(curve.label, 0), len(curve.points))
    return max(reach, key=lambda label: reach[label]) if reach else None


def number_of(text: str) -> float | None:
    """Return a label's value as a number, bytes for a size; None where it is neither."""
    try:
        return float(parse_size(text))
    except ValueError:
        return None


def _swept(figures: Sequence[Figure]) -> list[str]:
    """Return the labels that all of `figures` have, as numbers, and in which they differ."""
    values: dict[str, set[str]] = {}
    for figure in figures:
        for name, value in figure.labels:
            values.setdefault(name, set()).add(value)
    shared = {name for figure in figures[:1] for name, _ in figure.labels}
    for figure in figures:
        shared &= {name for name, _ in figure.labels}
    return [
        name
        for name, found in values.items()
        if name in shared
        and FEWEST_POINTS <= len(found) <= MOST_POINTS
        and all(number_of(value) is not None for value in found)
    ]


def _over(metric: Metric, name: str, figures: Sequence[Figure]) -> list[Curve]:
    grouped: dict[Labels, dict[str, list[float]]] = {}
    for figure in figures:
        rest = tuple(pair for pair in figure.labels if pair[0] != name)
        text = dict(figure.labels)[name]
        grouped.setdefault(rest, {}).setdefault(text, []).append(figure.value)
    return [
        Curve(metric, name, rest, _points(values), sizes=any(not text.isdigit() for text in values))
        for rest, values in grouped.items()
        if len(values) >= FEWEST_POINTS
    ]


def _points(values: dict[str, list[float]]) -> tuple[Point, ...]:
    points = [Point(number_of(text) or 0.0, text, tuple(found)) for text, found in values.items()]
    return tuple(sorted(points, key=lambda point: point.x))
