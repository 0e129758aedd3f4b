"""Plots of the HTML report as plain coordinates in an SVG view box."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.report_image.panels import Panel
from suites.quantities import figure_text, metric_text, scale
from suites.vocab import Metric

WIDTH, HEIGHT = 760, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 96, 12, 12, 28
MOST_POINTS = 600
"""Points of a curve; of more samples, the least and greatest of each interval are drawn."""

MOST_DOTS = 200
"""Points of a plot that show their value under the pointer."""


@dataclass(frozen=True, slots=True)
class SvgCurve:
    """A curve: its points as in ``points``, and the dots that show their value."""

    name: str
    number: int
    points: str
    dots: tuple[tuple[float, float, str], ...]


@dataclass(frozen=True, slots=True)
class SvgPlot:
    """A plot: ticks are position and text; `names` are the distinct ones of its curves, with their number."""

    title: str
    over: str
    curves: tuple[SvgCurve, ...]
    across: tuple[tuple[float, str], ...]
    up: tuple[tuple[float, str], ...]
    names: tuple[tuple[str, int], ...] = ()
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT
    bottom: int = HEIGHT - _BOTTOM


def svg_plot(panel: Panel) -> SvgPlot | None:
    """Return the plot of a panel; None if nothing in it is finite."""
    colours = list(dict.fromkeys(curve.colour for curve in panel.curves))
    curves = [
        (curve.name, colours.index(curve.colour) % 6, _finite(zip(curve.times, curve.values, strict=True)))
        for curve in panel.curves
    ]
    curves = [(name, number, points) for name, number, points in curves if points]
    if not curves:
        return None
    xs = [x for _, _, points in curves for x, _ in points]
    ys = [y for _, _, points in curves for _, y in points]
    across, up = _ticks(min(xs), panel.end or max(xs)), _ticks(min(0.0, *ys), panel.top or max(ys))
    x_ends, y_ends = (min(xs), max(*xs, across[-1])), (up[0], max(*ys, up[-1]))

    def place(x: float, y: float) -> tuple[float, float]:
        left = _LEFT + (x - x_ends[0]) / ((x_ends[1] - x_ends[0]) or 1.0) * (WIDTH - _LEFT - _RIGHT)
        top = HEIGHT - _BOTTOM - (y - y_ends[0]) / ((y_ends[1] - y_ends[0]) or 1.0) * (HEIGHT - _TOP - _BOTTOM)
        return round(left, 1), round(top, 1)

    every = max(1, math.ceil(len(xs) / MOST_DOTS))
    drawn = tuple(
        SvgCurve(
            name,
            number,
            " ".join(f"{left},{top}" for left, top in (place(x, y) for x, y in _thinned(points))),
            tuple((*place(x, y), _text(name, panel.metric, x, y)) for x, y in points[::every]),
        )
        for name, number, points in curves
    )
    shown = panel.ticks or tuple((each, f"{each:g}") for each in across)
    unit = scale(panel.metric, up[-1])
    suffix = f" ({unit.suffix})" if unit.suffix not in {"", "/s"} else ""
    return SvgPlot(
        f"{metric_text(panel.metric)}{suffix}",
        panel.over,
        drawn,
        tuple((place(x, y_ends[0])[0], text) for x, text in shown if x_ends[0] <= x <= x_ends[1]),
        tuple((place(x_ends[0], y)[1], f"{y / unit.divisor:.10g}") for y in up),
        tuple(dict.fromkeys((name, number) for name, number, _ in curves)),
    )


def _finite(points: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    return [(x, y) for x, y in points if math.isfinite(x) and math.isfinite(y)]


def _text(name: str, metric: Metric, x: float, y: float) -> str:
    return f"{name}, {x:g}: {figure_text(metric, y)}"


def _ticks(low: float, high: float) -> Sequence[float]:
    from matplotlib.ticker import MaxNLocator

    found = MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high if high > low else low + 1.0)
    return [float(each) for each in found]


def _thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return at most MOST_POINTS points with the extremes of each interval."""
    if len(points) <= MOST_POINTS:
        return list(points)
    size = math.ceil(2 * len(points) / MOST_POINTS)
    found = []
    for start in range(0, len(points), size):
        part = points[start : start + size]
        ends = {min(part, key=lambda one: one[1]), max(part, key=lambda one: one[1])}
        found += sorted(ends)
    return found
