"""Lines of a plot: curves, decimation, extent and axis scaling."""

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from app.records import Band
from suites.units import Unit, convert
from suites.units import unit as unit_of
from widgets.plots import scale
from widgets.plots.layers import Stripe
from widgets.plots.markers import draw_shape, shape_of
from widgets.plots.scale import Range
from widgets.plots.series import SUMMARY, Numbers, SeriesBuffer


def decimate(buffer: SeriesBuffer, first: int, last: int, edges: Numbers) -> tuple[Numbers, Numbers]:
    """Return the points `first` to `last` of `buffer`, at most two for each column of pixels between `edges` (times).

    Each column keeps its minimum and maximum, so that no peak is lost; times are exact to one column. pyqtgraph's own
    downsampling does nothing below 10,000 points, where drawing already costs 13 ms a frame.
    """
    columns = len(edges) - 1
    if last - first <= 2 * columns:
        return buffer.times()[first:last], buffer.values()[first:last]
    if last - first > _SUMMARY_COLUMNS * SUMMARY * columns:
        chosen = slice(first // SUMMARY, -(-last // SUMMARY))
        times, lows, highs = (numbers[chosen] for numbers in buffer.summary())
    else:
        times, lows = buffer.times()[first:last], buffer.values()[first:last]
        highs = lows
    # reduceat needs increasing starts: columns without a point are left out.
    starts = np.searchsorted(times, edges)
    starts = np.concatenate([[0], starts[starts < len(times)]])
    starts = starts[np.append(True, starts[1:] > starts[:-1])]
    thinned: Numbers = np.empty(2 * len(starts))
    thinned[0::2] = np.fmin.reduceat(lows, starts)
    thinned[1::2] = np.fmax.reduceat(highs, starts)
    return np.repeat(times[starts], 2), thinned


_SUMMARY_COLUMNS = 4
"""Summaries per column of pixels from which they are drawn in place of the points: their edges are off by a quarter."""


SPARSE = 40
"""Up to this many points each has a shape: a single sample would be invisible otherwise."""

_SHAPES = 9
"""Shapes on a longer curve."""

_DOT = 4.0


class CurveItem(pg.PlotCurveItem):
    """Line through points, with gaps at missing values; `marked` with the shape of its colour."""

    def __init__(self, colour: QColor, *, marked: bool = True, dashed: bool = False) -> None:
        super().__init__(connect="finite", skipFiniteCheck=True, antialias=False)
        self.setAcceptHoverEvents(False)
        self._marked = marked
        self._style = Qt.PenStyle.DashLine if dashed else Qt.PenStyle.SolidLine
        self.set_colour(colour)

    def set_colour(self, colour: QColor) -> None:
        """Draw in `colour`."""
        self.setPen(pg.mkPen(colour, width=1, style=self._style))

    def pixelPadding(self) -> float:
        """Leave room for the shapes around the outermost points."""
        return _DOT

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget) -> None:
        """Draw the line and its shapes."""
        super().paint(painter, option, widget)
        if not self._marked or self.xData is None or not len(self.xData):
            return
        colour = self.opts["pen"].color()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour)
        pixels, shape = painter.worldTransform(), shape_of(colour)
        painter.resetTransform()  # in pixels: the scales of the axes would distort the shapes
        for index in self._shaped():
            draw_shape(painter, shape, pixels.map(QPointF(self.xData[index], self.yData[index])))
        painter.setWorldTransform(pixels)

    def _shaped(self) -> list[int]:
        """Return the indices of the points with a shape: all of a few, else about as many at equal distances."""
        finite = np.flatnonzero(np.isfinite(self.yData))
        if len(finite) <= SPARSE:
            return [int(index) for index in finite]
        chosen = np.linspace(0, len(finite) - 1, 2 * _SHAPES + 1, dtype=int)[1::2]
        return [int(index) for index in finite[chosen]]


_NO_NUMBERS: Numbers = np.empty(0)
_GAP: Numbers = np.array([math.nan])
_LEAVE_LOGARITHMIC = 0.3
"""Share of LOGARITHMIC_FROM below which a logarithmic axis becomes linear again (hysteresis)."""


@dataclass(frozen=True, slots=True)
class Piece:
    """The part of a buffer from `start` to `end`, drawn `offset` seconds earlier than its times."""

    buffer: SeriesBuffer
    offset: float = 0.0
    start: float = -math.inf
    end: float = math.inf

    def points(self, start: float, end: float) -> tuple[Numbers, Numbers]:
        """Return the points from `start` to `end` of the axis, with one on either side within the piece."""
        first, last = self._reach(start, end)
        return self.buffer.times()[first:last] - self.offset, self.buffer.values()[first:last]

    def decimated(self, start: float, end: float, columns: int) -> tuple[Numbers, Numbers]:
        """Return the points() decimated to `columns` of pixels."""
        first, last = self._reach(start, end)
        edges = np.linspace(start + self.offset, end + self.offset, columns + 1)
        times, values = decimate(self.buffer, first, last, edges)
        return times - self.offset, values

    def _reach(self, start: float, end: float) -> tuple[int, int]:
        """Return the first point to draw from `start` to `end` of the axis, and the one after the last."""
        times = self.buffer.times()
        least, first = np.searchsorted(times, np.array([self.start, start + self.offset]))
        most, last = np.searchsorted(times, np.array([self.end, end + self.offset]), side="right")
        return max(int(least), int(first) - 1), min(int(most), int(last) + 1)

    def latest(self) -> float | None:
        """Return the time of its last point on the axis, or None."""
        times = self.buffer.times()
        last = int(np.searchsorted(times, self.end)) - 1
        return float(times[last]) - self.offset if last >= 0 and times[last] >= self.start else None


@dataclass(slots=True)
class PlotLine:
    """One series in a plot, made of pieces in order of time. `factor` converts its values to the plot's unit; a `faint`
    line is in the background."""

    key: Hashable
    title: str
    colour: QColor
    pieces: tuple[Piece, ...]
    curve: CurveItem
    faint: bool = False
    factor: float = 1.0
    dashed: bool = False
    shown: tuple[Numbers, Numbers] = (_NO_NUMBERS, _NO_NUMBERS)

    @property
    def buffer(self) -> SeriesBuffer:
        """The buffer of its last piece, which grows."""
        return self.pieces[-1].buffer

    @property
    def offset(self) -> float:
        """The offset of its last piece."""
        return self.pieces[-1].offset

    @property
    def taken(self) -> int:
        """Number of points ever added to its buffers."""
        return sum(buffer.taken for buffer in {id(piece.buffer): piece.buffer for piece in self.pieces}.values())

    def points(self, start: float = -math.inf, end: float = math.inf) -> tuple[Numbers, Numbers]:
        """Return all points from `start` to `end` of the axis in the plot's unit, with a gap between pieces."""
        parts = [piece.points(start, end) for piece in self.pieces]
        times, values = _joined(parts)
        return times, values * self.factor

    def decimated(self, start: float, end: float, columns: int) -> None:
        """Decimate the points between `start` and `end` to `columns` of pixels."""
        parts = []
        for piece in self.pieces:
            low, high = max(start, piece.start - piece.offset), min(end, piece.end - piece.offset)
            if low < high:
                parts.append(piece.decimated(low, high, max(1, math.ceil(columns * (high - low) / (end - start)))))
        times, values = _joined(parts)
        self.shown = times, values * self.factor if self.factor != 1 else values

    def draw(self, *, logarithmic: bool, smooth: bool) -> None:
        """Draw the decimated points; on a logarithmic axis a value of zero or less is a gap."""
        times, values = self.shown
        if logarithmic:
            values = np.log10(np.where(values > 0, values, np.nan))
        self.curve.setData(times, values, antialias=smooth)

    def at(self, time: float) -> float | None:
        """Return the value nearest to `time`, or None if it is more than 1.5 sample intervals away."""
        near = [found for piece in self.pieces if (found := _nearest(piece, time)) is not None]
        _distance, value = min(near, default=(0.0, math.nan))
        return value * self.factor if math.isfinite(value) else None

    def end(self) -> float | None:
        """Return the last value that is not missing, or None."""
        found = (piece.buffer.last() for piece in reversed(self.pieces))
        return next((last[1] * self.factor for last in found if last is not None), None)

    def latest(self) -> float | None:
        """Return the time of the last point, or None."""
        return max((end for piece in self.pieces if (end := piece.latest()) is not None), default=None)


def _nearest(piece: Piece, time: float) -> tuple[float, float] | None:
    """Return the distance and value of the point of `piece` nearest to `time`, None beyond 1.5 sample intervals."""
    if not piece.start <= time + piece.offset <= piece.end:
        return None
    found = piece.buffer.nearest(time + piece.offset)
    if found is None or not np.isfinite(found[1]):
        return None
    times = piece.buffer.times()
    interval = (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else 1.0
    distance = abs(found[0] - piece.offset - time)
    return (distance, found[1]) if distance <= 1.5 * interval + 1e-9 else None


def _joined(parts: Sequence[tuple[Numbers, Numbers]]) -> tuple[Numbers, Numbers]:
    """Return the points of several parts with a gap between them."""
    if len(parts) == 1:
        return parts[0]
    filled = [part for part in parts if len(part[0])]
    times = [each for times, _ in filled for each in (times, times[-1:])]
    values = [each for _, values in filled for each in (values, _GAP)]
    return (np.concatenate(times), np.concatenate(values)) if filled else (_NO_NUMBERS, _NO_NUMBERS)


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

    def show_box(self, low: float, high: float) -> None:
        """Show the values from `low` to `high`, on the present kind of axis."""
        self.bounds = Range(low, high, logarithmic=self.bounds.logarithmic)

    def _is_logarithmic(self, positive: float, greatest: float) -> bool:
        if self.forced_logarithmic is not None:
            return self.forced_logarithmic
        factor = scale.LOGARITHMIC_FROM * (_LEAVE_LOGARITHMIC if self.bounds.logarithmic else 1.0)
        return self.may_be_logarithmic and greatest / positive > factor


def extent(
    lines: Iterable[PlotLine], stripes: Iterable[Stripe], levels: Iterable[float] = ()
) -> tuple[float, float, float | None] | None:
    """Return the minimum, the maximum and the least value above zero (or None) shown; None without values."""
    shown = [line.shown[1] for line in lines if len(line.shown[1])]
    edges = [*levels, *(edge for stripe in stripes for edge in (stripe.low, stripe.median, stripe.high))]
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
