"""Lines of a plot: curves, decimation, extent and axis scaling."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from app.records import Band
from suites.units import Unit, convert
from suites.units import unit as unit_of
from widgets.plots import scale
from widgets.plots.layers import Stripe
from widgets.plots.scale import Range
from widgets.plots.series import Numbers, SeriesBuffer


def decimate(times: Numbers, values: Numbers, start: float, end: float, columns: int) -> tuple[Numbers, Numbers]:
    """Return the points between `start` and `end` and one on either side, at most two per pixel column.

    Each column keeps its minimum and maximum, so that no peak is lost; times are exact to one column. pyqtgraph's own
    downsampling does nothing below 10,000 points, where drawing already costs 13 ms a frame.
    """
    first = max(int(np.searchsorted(times, start)) - 1, 0)
    last = min(int(np.searchsorted(times, end, side="right")) + 1, len(times))
    times, values = times[first:last], values[first:last]
    if len(times) <= 2 * columns or end <= start:
        return times, values
    # reduceat needs increasing starts: columns without a point are left out.
    edges = np.searchsorted(times, np.linspace(start, end, columns + 1))
    starts = np.unique(np.concatenate([[0], edges[edges < len(times)]]))
    thinned: Numbers = np.empty(2 * len(starts))
    thinned[0::2] = np.fmin.reduceat(values, starts)
    thinned[1::2] = np.fmax.reduceat(values, starts)
    return np.repeat(times[starts], 2), thinned


SPARSE = 120
"""Up to this many points are also drawn as dots: a single sample would be invisible otherwise."""

_DOT = 3.5


class CurveItem(pg.PlotCurveItem):
    """Line through points, with gaps at missing values."""

    def __init__(self, colour: QColor, *, dots: bool = True, dashed: bool = False) -> None:
        super().__init__(connect="finite", skipFiniteCheck=True, antialias=False)
        self.setAcceptHoverEvents(False)
        self._dots = dots
        self._style = Qt.PenStyle.DashLine if dashed else Qt.PenStyle.SolidLine
        self.set_colour(colour)

    def set_colour(self, colour: QColor) -> None:
        """Draw in `colour`."""
        self.setPen(pg.mkPen(colour, width=1, style=self._style))

    def pixelPadding(self) -> float:
        """Leave room for the dots around the outermost points."""
        return _DOT

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget) -> None:
        """Draw the line, and dots if there are few points."""
        super().paint(painter, option, widget)
        if not self._dots or self.xData is None or not 0 < len(self.xData) <= SPARSE:
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self.opts["pen"].color(), _DOT, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
        finite = np.isfinite(self.yData)
        points = zip(self.xData[finite], self.yData[finite], strict=True)
        pixels = painter.worldTransform()
        painter.resetTransform()  # in pixels: the scales of the axes would make ellipses of the dots
        painter.drawPoints(QPolygonF([pixels.map(QPointF(x, y)) for x, y in points]))
        painter.setWorldTransform(pixels)


_NO_NUMBERS: Numbers = np.empty(0)
_LEAVE_LOGARITHMIC = 0.3
"""Share of LOGARITHMIC_FROM below which a logarithmic axis becomes linear again (hysteresis)."""


@dataclass(slots=True)
class PlotLine:
    """One series in a plot. `offset` is the buffer's time at the plot's zero, `factor` converts its values to the
    plot's unit; a `faint` line is in the background."""

    key: Hashable
    title: str
    colour: QColor
    buffer: SeriesBuffer
    curve: CurveItem
    faint: bool = False
    offset: float = 0.0
    factor: float = 1.0
    dashed: bool = False
    shown: tuple[Numbers, Numbers] = (_NO_NUMBERS, _NO_NUMBERS)

    def decimated(self, start: float, end: float, columns: int) -> None:
        """Decimate the points between `start` and `end` to `columns` of pixels."""
        times, values = decimate(
            self.buffer.times(), self.buffer.values(), start + self.offset, end + self.offset, columns
        )
        self.shown = (
            times - self.offset if self.offset else times,
            values * self.factor if self.factor != 1 else values,
        )

    def draw(self, *, logarithmic: bool, smooth: bool) -> None:
        """Draw the decimated points; on a logarithmic axis a value of zero or less is a gap."""
        times, values = self.shown
        if logarithmic:
            values = np.log10(np.where(values > 0, values, np.nan))
        self.curve.setData(times, values, antialias=smooth)

    def at(self, time: float) -> float | None:
        """Return the value nearest to `time`, or None if it is more than 1.5 sample intervals away."""
        found = self.buffer.nearest(time + self.offset)
        if found is None or not np.isfinite(found[1]):
            return None
        times = self.buffer.times()
        interval = (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else 1.0
        return found[1] * self.factor if abs(found[0] - self.offset - time) <= 1.5 * interval + 1e-9 else None

    def end(self) -> float | None:
        """Return the last value that is not missing, or None."""
        last = self.buffer.last()
        return None if last is None else last[1] * self.factor

    def latest(self) -> float | None:
        """Return the time of the last point, or None."""
        return float(self.buffer.times()[-1]) - self.offset if len(self.buffer) else None


@dataclass(slots=True)
class AxisScaling:
    """Scaling of the value axis. It starts at zero unless `from_zero` is off."""

    from_zero: bool = True
    may_be_logarithmic: bool = False
    forced_logarithmic: bool | None = None
    bounds: Range = field(default_factory=lambda: Range(0.0, 1.0))

    def follow(self, least: float, greatest: float, positive: float | None, *, percent: bool) -> Range:
        """Choose the range for values from `least` to `greatest`; `positive` is the least above zero."""
        if positive is not None and greatest > 0 and self._is_logarithmic(positive, greatest):
            self.bounds = scale.logarithmic(positive, greatest)
        elif not self.from_zero or least < 0:
            self.bounds = scale.fitted(least, greatest)
        elif percent and greatest <= 100:
            self.bounds = Range(0.0, 100.0)
        else:
            self.bounds = scale.from_zero(greatest, self.bounds)
        return self.bounds

    def _is_logarithmic(self, positive: float, greatest: float) -> bool:
        if self.forced_logarithmic is not None:
            return self.forced_logarithmic
        factor = scale.LOGARITHMIC_FROM * (_LEAVE_LOGARITHMIC if self.bounds.logarithmic else 1.0)
        return self.may_be_logarithmic and greatest / positive > factor


def extent(lines: Iterable[PlotLine], stripes: Iterable[Stripe]) -> tuple[float, float, float | None] | None:
    """Return the minimum, the maximum and the least value above zero (or None) shown; None without values."""
    shown = [line.shown[1] for line in lines if len(line.shown[1])]
    edges = [edge for stripe in stripes for edge in (stripe.low, stripe.median, stripe.high)]
    values = np.concatenate([*shown, np.array(edges)])
    values = values[np.isfinite(values)]
    if not len(values):
        return None
    above = values[values > 0]
    return float(values.min()), float(values.max()), float(above.min()) if len(above) else None


def stripe_of(band: Band, unit: Unit) -> Stripe:
    """Return `band` in `unit`."""
    low, high, median = (convert(value, unit_of(band.unit), unit) for value in (band.low, band.high, band.median))
    return Stripe(low, high, median)
