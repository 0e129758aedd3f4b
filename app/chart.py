"""A chart as plain data: what window and picture draw alike, and what a spreadsheet takes."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.wording import scale
from suites.vocab import Metric


class Mark(StrEnum):
    """How a series is drawn.

    LINE joins its points, STEPS holds each value until the next, BARS stand from point to point, DOTS are points,
    HEAT fills cells, the heavier the stronger.
    Where a series has `low` and `high`, lines and steps lie in a shade, bars and dots have whiskers.
    """

    LINE = "line"
    STEPS = "steps"
    BARS = "bars"
    DOTS = "dots"
    HEAT = "heat"


@dataclass(frozen=True, slots=True)
class Cell:
    """A field of a heat map, from `left` to `right` and `low` to `high`; its `weight` is from 0 to 1."""

    left: float
    right: float
    low: float
    high: float
    weight: float
    count: int


@dataclass(frozen=True, slots=True)
class Series:
    """One thing in one colour: `colour` counts as runs do, None is the grey of what only guides the eye.

    `low` and `high` bound each point, None where that is not known: up and down, or with `across` left and right.
    Of BARS, point n stands from x[n] to x[n + 1], so that the last has no height of its own.
    """

    name: str
    xs: tuple[float, ...]
    ys: tuple[float, ...]
    mark: Mark = Mark.LINE
    colour: int | None = 0
    low: tuple[float | None, ...] = ()
    high: tuple[float | None, ...] = ()
    across: bool = False
    dashed: bool = False
    cells: tuple[Cell, ...] = ()

    def whiskers(self) -> list[tuple[float, float, float, float]]:
        """Return x, y, low and high of every point whose bounds are known."""
        return [
            (x, y, low, high)
            for x, y, low, high in zip(self.xs, self.ys, self.low, self.high, strict=False)
            if low is not None and high is not None
        ]


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis: `metric` gives it a unit, `share` percent; `names` put a word at 0, 1, 2 .. instead of figures."""

    title: str
    metric: Metric | None = None
    share: bool = False
    logarithmic: bool = False
    from_zero: bool = False
    names: tuple[str, ...] = ()

    def scale(self, largest: float) -> tuple[float, str]:
        """Return by what its figures are divided, and the unit they then have."""
        if self.share:
            return 0.01, "%"
        if self.metric is None:
            return 1.0, ""
        shown = scale(self.metric, largest)
        return shown.divisor, shown.suffix


@dataclass(frozen=True, slots=True)
class Chart:
    """A title, two axes, what is drawn between them, and words below that say what it is."""

    title: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    note: str = ""

    def span(self, axis: Axis) -> tuple[float, float]:
        """Return the least and the largest figure along one of its two axes."""
        across = axis is self.x
        return bounds(_figures(self.series, across=across), axis)


def _figures(series: Iterable[Series], *, across: bool) -> list[float]:
    found: list[float] = []
    for one in series:
        found += one.xs if across else one.ys
        if one.across == across:
            found += [edge for edge in (*one.low, *one.high) if edge is not None]
        for cell in one.cells:
            found += (cell.left, cell.right) if across else (cell.low, cell.high)
    return [value for value in found if math.isfinite(value)]


def bounds(values: Sequence[float], axis: Axis) -> tuple[float, float]:
    """Return where an axis begins and ends so that it holds `values` with a little room."""
    if axis.names:
        return -0.5, len(axis.names) - 0.5
    if axis.logarithmic:
        positive = [value for value in values if value > 0] or [1.0]
        low, high = min(positive), max(positive)
        room = max(1.05, (high / low) ** 0.04)
        return low / room, high * room
    low, high = min(values, default=0.0), max(values, default=1.0)
    if axis.from_zero:
        low, high = min(low, 0.0), max(high, 0.0)
    room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return (low if axis.from_zero and not low else low - room), high + room


def chart_table(chart: Chart) -> list[list[str]]:
    """Return the chart as rows for a spreadsheet: one for each point, in the units of its axes."""
    rows = [["series", chart.x.title, chart.y.title, "low", "high"]]
    for one in chart.series:
        lows = one.low or (None,) * len(one.xs)
        highs = one.high or (None,) * len(one.xs)
        for x, y, low, high in zip(one.xs, one.ys, lows, highs, strict=True):
            rows.append([one.name, *(_cell(axis, value) for axis, value in ((chart.x, x), (chart.y, y))),
                         *("" if edge is None else f"{edge:.9g}" for edge in (low, high))])  # fmt: skip
        rows += [
            [f"{cell.count}", *(f"{value:.9g}" for value in (cell.left, cell.low, cell.low, cell.high))]
            for cell in one.cells
        ]
    return rows


def _cell(axis: Axis, value: float) -> str:
    return axis.names[round(value)] if axis.names else f"{value:.9g}"
