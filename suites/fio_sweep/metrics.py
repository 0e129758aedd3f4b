"""What a sweep with fio measures: each point, the best of them, the knee, and what a step in depth costs."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from suites.fio.metrics import BANDWIDTH, IOPS, LATENCY_P50, LATENCY_P99, LATENCY_P99_9
from suites.fio_sweep.parameters import SweepPoint
from suites.parameters import format_size
from suites.sweep import FEWEST_POINTS, knee, setting_knee_note
from suites.units import Unit
from suites.vocab import Better, Figure, Kind, Labels, Metric, labels

BY_POINT: Mapping[str, Metric] = {
    metric.name: replace(metric, name=f"{metric.name}_by_point")
    for metric in (IOPS, BANDWIDTH, LATENCY_P50, LATENCY_P99, LATENCY_P99_9)
}
"""The metrics of a point, by the name that fio's own suite has for them."""

KNEE = Metric("knee_in_flight", "I/Os in flight at the knee", Unit.ONE, Better.LOWER, Kind.COUNT)
GAIN = Metric("step_gain", "IOPS against the step before", Unit.ONE, Better.HIGHER, Kind.SHARE)
PRICE = Metric("step_price", "p99 latency against the step before", Unit.ONE, Better.LOWER, Kind.SHARE)

METRICS = (IOPS, BANDWIDTH, *BY_POINT.values(), KNEE, GAIN, PRICE)

TOLD = 6
"""Curves whose steps are told in words; the figures are there for all of them."""

MAXIMUM_STEPS = 8


@dataclass(frozen=True, slots=True)
class Measured:
    """What one point gave: its figures by metric name and operation."""

    point: SweepPoint
    values: Mapping[tuple[str, str], float]

    def of(self, metric: Metric, operation: str) -> float | None:
        """Return the value of a metric, or None."""
        return self.values.get((metric.name, operation))


def point_labels(point: SweepPoint, operation: str) -> Labels:
    """Return the labels that tell a point's figures from those of the others."""
    return labels(block=format_size(point.block), depth=str(point.depth), jobs=str(point.jobs), operation=operation)


def sweep_figures(found: list[Measured]) -> Iterator[Figure]:
    """Yield the best of all points, then each point as it was measured, then knees and prices of steps."""
    operations = list(dict.fromkeys(operation for one in found for _, operation in one.values))
    for metric in (IOPS, BANDWIDTH):
        for operation in operations:
            best = max((one.of(metric, operation) or 0.0 for one in found), default=0.0)
            if best:
                yield Figure(metric, best, labels(operation=operation))
    for name, metric in BY_POINT.items():
        for one in found:
            for operation in operations:
                value = one.values.get((name, operation))
                if value is not None:
                    yield Figure(metric, value, point_labels(one.point, operation))
    for operation in operations:
        for curve in _curves(found, operation):
            yield from _of_curve(curve, operation)


def sweep_notes(found: list[Measured]) -> Iterator[str]:
    """Yield where the best point is, where each curve has its knee, and what each of its steps costs."""
    operations = list(dict.fromkeys(operation for one in found for _, operation in one.values))
    for operation in operations:
        best = max(found, key=lambda one: one.of(IOPS, operation) or 0.0)
        yield f"Most {operation} IOPS: {best.point.words}."
        for curve in _curves(found, operation)[:TOLD]:
            yield from _told(curve, operation)


def _curves(found: list[Measured], operation: str) -> list[list[Measured]]:
    """Return the points of each block size and number of jobs in the order of depth; over jobs where depth is one."""
    grouped: dict[tuple[int, int], list[Measured]] = {}
    several = len({one.point.depth for one in found}) > 1
    for one in found:
        if one.of(IOPS, operation):
            key = (one.point.block, one.point.jobs if several else 0)
            grouped.setdefault(key, []).append(one)
    return [sorted(curve, key=lambda one: one.point) for curve in grouped.values() if len(curve) > 1]


def _in_flight(one: Measured) -> int:
    return one.point.depth * one.point.jobs


def _iops(curve: list[Measured], operation: str) -> dict[int, float]:
    return {_in_flight(one): one.of(IOPS, operation) or 0.0 for one in curve}


def _of_curve(curve: list[Measured], operation: str) -> Iterator[Figure]:
    iops = _iops(curve, operation)
    found = knee(iops)
    if found is not None and found < max(iops):  # else it still grows, and the knee lies beyond
        at = next(one.point for one in curve if _in_flight(one) == found)
        marks = labels(block=format_size(at.block), operation=operation)
        jobs = labels(jobs=str(at.jobs)) if len({one.point.jobs for one in curve}) == 1 else ()
        yield Figure(KNEE, float(found), tuple(sorted((*marks, *jobs))))
    for before, after in itertools.pairwise(curve):
        for metric, of in ((GAIN, IOPS), (PRICE, LATENCY_P99)):
            first, second = before.of(of, operation), after.of(of, operation)
            if first and second:
                yield Figure(metric, second / first, point_labels(after.point, operation))


def _told(curve: list[Measured], operation: str) -> Iterator[str]:
    first = curve[0].point
    over_depth = len({one.point.jobs for one in curve}) == 1
    fixed = f", {first.jobs} {'job' if first.jobs == 1 else 'jobs'}" if over_depth else ""
    what = f"{operation} IOPS in {format_size(first.block)}{fixed}"
    if len(curve) >= FEWEST_POINTS:
        yield from setting_knee_note(_iops(curve, operation), what, "in flight")
    steps = [_step(before, after, operation, over_depth) for before, after in itertools.pairwise(curve)]
    told = [step for step in steps if step][:MAXIMUM_STEPS]
    if told:
        yield f"The price of {'depth' if over_depth else 'jobs'}, {what}: {'; '.join(told)}."


def _step(before: Measured, after: Measured, operation: str, over_depth: bool) -> str:  # noqa: FBT001 (which of two)
    iops = before.of(IOPS, operation), after.of(IOPS, operation)
    tail = before.of(LATENCY_P99, operation), after.of(LATENCY_P99, operation)
    if not (iops[0] and iops[1] and tail[0] and tail[1]):
        return ""
    settings = [one.point.depth if over_depth else one.point.jobs for one in (before, after)]
    return f"{settings[0]} to {settings[1]} gives {iops[1] / iops[0]:.2f}x at {tail[1] / tail[0]:.2f}x the p99"
