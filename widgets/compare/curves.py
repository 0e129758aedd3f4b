"""Samples over time of the trials of a comparison's row, read when the row is selected. No Qt."""

from collections.abc import Iterator
from dataclasses import dataclass

from app.comparison.comparison import ComparisonRow
from app.natural_order import natural_key
from app.services import Workstation
from app.summary import MetricSummary
from suites.errors import UnknownSuiteError
from suites.units import Unit
from suites.vocab import Labels, Metric, Sample
from widgets.compare.compare_rows import Compared
from widgets.live.model import LiveSeries

FAINT_LIMIT = 12
"""Trials of a run drawn faintly behind the representative one; no others are read."""

_TIMES = {Unit.SECOND, Unit.MILLISECOND, Unit.MICROSECOND, Unit.NANOSECOND}

TrialKey = tuple[str, int]
"""The id of a run and of one of its trials."""


@dataclass(frozen=True, slots=True)
class Curve:
    """Samples of one trial of the run `number`; `front` if it is the one closest to the run's median."""

    number: int
    series: LiveSeries
    front: bool


@dataclass(frozen=True, slots=True)
class RowCurves:
    """Curves of one metric in the order of their runs, the front one of each run last."""

    metric: Metric
    labels: Labels
    curves: tuple[Curve, ...]


def read_curves(workstation: Workstation, compared: Compared, row: ComparisonRow) -> RowCurves | None:
    """Return the curves of the row's metric, or of the step's headline metric if it has no samples; None for none."""
    sides = [_side(compared, row, number) for number in range(len(row.sides))]
    chosen = [{} if side is None else _chosen(side) for side in sides]
    metrics = list(_candidates(compared, row))
    keys = [key for side in chosen for key in side]
    samples = workstation.trial_samples(keys, {metric.name for metric in metrics})
    for metric in metrics:
        curves = []
        for number, distances in enumerate(chosen):
            found = {key: series for key in distances if (series := _series(samples[key], metric, row.labels))}
            front = min(found, key=distances.__getitem__, default=None)
            curves += [Curve(number, series, front=False) for key, series in found.items() if key != front]
            curves += [Curve(number, found[front], front=True)] if front is not None else []
        if curves:
            return RowCurves(metric, row.labels, tuple(curves))
    return None


def _side(compared: Compared, row: ComparisonRow, number: int) -> MetricSummary | None:
    """Return a run's side of the row, else of another metric of its step and host."""
    here = (one for one in compared.comparison.rows if (one.step, one.host) == (row.step, row.host))
    return next((side for one in (row, *here) if (side := one.sides[number]) is not None), None)


def _chosen(side: MetricSummary) -> dict[TrialKey, float]:
    """Return the trials to draw and the distance of each from the median, in order of host and start."""
    median = side.median
    distances = {
        key: abs(side.values[index] - median)
        for _, found in sorted(side.by_host().items(), key=lambda each: natural_key(each[0]))
        for index in found
        for key in (side.trials[index],)
    }
    nearest = min(distances, key=distances.__getitem__)
    drawn = {nearest, *[key for key in distances if key != nearest][-FAINT_LIMIT:]}
    return {key: distance for key, distance in distances.items() if key in drawn}


def _candidates(compared: Compared, row: ComparisonRow) -> Iterator[Metric]:
    yield row.metric
    step = compared.step(row.step)
    if step is None:
        return
    try:
        yield step.headline
    except UnknownSuiteError:
        return


def _series(samples: tuple[Sample, ...], metric: Metric, labels: Labels) -> LiveSeries | None:
    """Return the samples of a metric, of the same unit or a time; None without any."""
    found: LiveSeries | None = None
    for sample in samples:
        if (sample.metric.name, sample.labels) == (metric.name, labels):
            found = found or LiveSeries(sample.metric, labels)
            found.take(sample)
    return found if found is not None and _drawable(found.metric.unit, metric.unit) else None


def _drawable(one: Unit, other: Unit) -> bool:
    return one is other or {one, other} <= _TIMES
