"""Where on the screen a chart's figures lie: its area, its axes, its ticks. No drawing."""

import math
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF

from app.chart import Axis, Chart
from widgets.plots.scale import logarithmic_ticks, plain, tick_step, ticks

_ACROSS, _UPWARD = 46, 34
"""Pixels from tick to tick."""


@dataclass(frozen=True, slots=True)
class Direction:
    """One axis as it lies on the screen: figures from `low` to `high` stand between two pixels."""

    axis: Axis
    low: float
    high: float
    start: float
    end: float

    def place(self, value: float) -> float:
        """Return the pixel at which `value` stands; what lies beyond an end stands there."""
        if self.axis.logarithmic:
            value = max(value, self.low / 10)
            part = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            part = (value - self.low) / (self.high - self.low)
        return self.start + min(max(part, -1.0), 2.0) * (self.end - self.start)

    def ticks(self) -> list[tuple[float, str]]:
        """Return the figures at which ticks stand, each with its text."""
        if self.axis.names:
            return [(float(place), name) for place, name in enumerate(self.axis.names)]
        divisor, _ = self.axis.scale(self.high)
        low, high = self.low / divisor, self.high / divisor
        wanted = max(2, int(abs(self.end - self.start) / (_ACROSS if self.end > self.start else _UPWARD)))
        if self.axis.logarithmic:
            return [(value * divisor, f"{value:g}") for value in logarithmic_ticks(low, high, wanted)]
        step = tick_step(high - low, wanted)
        return [(value * divisor, plain(value, step)) for value in ticks(low, high, wanted)]


@dataclass(frozen=True, slots=True)
class Frame:
    """A chart within an area of the screen."""

    area: QRectF
    x: Direction
    y: Direction

    def point(self, x: float, y: float) -> QPointF:
        """Return where a point stands."""
        return QPointF(self.x.place(x), self.y.place(y))


def frame_of(chart: Chart, area: QRectF) -> Frame:
    """Return how `chart` lies in `area`: upward from its foot, but named rows downward from its head."""
    across = Direction(chart.x, *chart.span(chart.x), area.left(), area.right())
    ends = (area.top(), area.bottom()) if chart.y.names else (area.bottom(), area.top())
    return Frame(area, across, Direction(chart.y, *chart.span(chart.y), *ends))
