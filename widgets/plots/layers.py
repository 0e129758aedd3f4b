"""Layers of a plot beside the curves: phases, heat maps, baseline bands, marks, labels, crosshair."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFontMetricsF, QImage, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QGraphicsItem, QStyleOptionGraphicsItem, QWidget

from widgets.plots.axis import tick_font
from widgets.plots.markers import draw_shape, shape_of
from widgets.plots.timeline import MarkKind, PhaseKind, PlotMark, TimePhase
from widgets.theme import TextSize, palette, text_font

_WIDEST_LABEL = "p99.9 read, jobs"
_SWATCH = 14


def label_width() -> int:
    """Return the width of the labels of curves in pixels."""
    return round(QFontMetricsF(tick_font()).horizontalAdvance(_WIDEST_LABEL)) + _SWATCH


@dataclass(frozen=True, slots=True)
class Label:
    """Label at the end of a curve, at `value` in the view's coordinates."""

    value: float
    text: str
    colour: QColor
    dashed: bool = False


class CurveLabels(pg.GraphicsWidget):
    """Column right of the plot with the labels of up to four curves."""

    def __init__(self, box: pg.ViewBox) -> None:
        super().__init__()
        self._box = box
        self._labels: tuple[Label, ...] = ()
        self.setFixedWidth(label_width())  # even without labels, so that stacked plots share one time axis
        box.sigRangeChanged.connect(self._moved)

    def set_labels(self, labels: Sequence[Label]) -> None:
        """Show these labels."""
        if tuple(labels) == self._labels:
            return
        self._labels = tuple(labels)
        self.update()

    def _moved(self, *_args: object) -> None:
        self.update()

    def paint(self, painter: QPainter, _option: QStyleOptionGraphicsItem, _widget: QWidget | None = None) -> None:
        """Draw the labels, moved apart where curves end close together."""
        font = tick_font()
        painter.setFont(font)
        metrics = QFontMetricsF(font)
        height = float(self.size().height())
        fit = len(self._labels) * metrics.height() <= height
        grey = QColor(palette().baseline)  # the head names baselines too
        ordered = sorted((one for one in self._labels if fit or one.colour != grey), key=lambda label: -label.value)
        distance = min(metrics.height(), height / max(1, len(ordered)))  # in a low plot they overlap
        rows = spread([self._row(label) for label in ordered], distance, height)
        for label, row in zip(ordered, rows, strict=True):
            painter.setPen(QPen(label.colour, 1, Qt.PenStyle.DashLine if label.dashed else Qt.PenStyle.SolidLine))
            for line in (0, 1):
                painter.drawLine(QPointF(4, row + line), QPointF(4 + _SWATCH, row + line))
            if not label.dashed:
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(label.colour)
                draw_shape(painter, shape_of(label.colour), QPointF(4 + _SWATCH / 2, row + 0.5))
            painter.setPen(QColor(palette().text))
            left = 4 + _SWATCH + 4
            text = metrics.elidedText(label.text, Qt.TextElideMode.ElideRight, self.size().width() - left)
            painter.drawText(QPointF(left, row + metrics.ascent() / 2 - 1), text)

    def _row(self, label: Label) -> float:
        _, (low, high) = self._box.viewRange()
        return (high - label.value) / (high - low) * float(self._box.height())


def spread(rows: Sequence[float], distance: float, height: float) -> list[float]:
    """Return ascending `rows` moved to be at least `distance` apart and within `height`."""
    half = distance / 2
    placed: list[float] = []
    for row in rows:
        least = placed[-1] + distance if placed else half
        placed.append(max(row, least))
    limit = height - half
    for index in range(len(placed) - 1, -1, -1):
        placed[index] = min(placed[index], limit)
        limit = placed[index] - distance
    return placed


_MARK = 9
_LINED = (MarkKind.FINDING, MarkKind.LINK)
"""Kinds of marks with a line over the curves; others, at the ends of trials, are in the strip above the plots."""


@dataclass(frozen=True, slots=True)
class Stripe:
    """Baseline band in the view's coordinates: its range and its median."""

    low: float
    high: float
    median: float


@dataclass(frozen=True, slots=True)
class TrialLevel:
    """The figure of a whole trial, as a line from its start to its end; in the view's coordinates when drawn."""

    start: float
    end: float
    value: float
    colour: QColor


@dataclass(frozen=True, slots=True)
class HeatImage:
    """Heat map of a trial, in the view's coordinates: one pixel per interval and range of values."""

    start: float
    end: float
    low: float
    high: float
    image: QImage


class _Layer(QGraphicsItem):
    """Item drawn over the whole view, in its pixels."""

    def __init__(self, box: pg.ViewBox, depth: float) -> None:
        super().__init__(box)
        self._box = box
        self.setZValue(depth)
        box.sigRangeChanged.connect(self._moved)
        box.sigResized.connect(self._moved)

    def boundingRect(self) -> QRectF:
        """Return the whole view."""
        return QRectF(self._box.rect())

    def x(self, time: float) -> float:  # type: ignore[override]  # a layer stays at the view's origin
        """Return the pixel column of `time`."""
        (start, end), _ = self._box.viewRange()
        return (time - start) / (end - start) * float(self._box.width())

    def y(self, value: float) -> float:  # type: ignore[override]  # as above
        """Return the pixel row of `value`."""
        _, (low, high) = self._box.viewRange()
        return (high - value) / (high - low) * float(self._box.height())

    def _moved(self, *_args: object) -> None:
        self.prepareGeometryChange()
        self.update()


class Backdrop(_Layer):
    """Layer behind the curves: phases of the time axis, heat maps, figures of trials and grey baseline bands."""

    def __init__(self, box: pg.ViewBox) -> None:
        super().__init__(box, -10)
        self.stripes: tuple[Stripe, ...] = ()
        self.phases: tuple[TimePhase, ...] = ()
        self.heat: tuple[HeatImage, ...] = ()
        self.levels: tuple[TrialLevel, ...] = ()
        self.blank = False

    def set_blank(self, *, blank: bool) -> None:
        """Set whether to say that there is nothing to draw."""
        if blank is not self.blank:
            self.blank = blank
            self.update()

    def paint(self, painter: QPainter, _option: QStyleOptionGraphicsItem, _widget: QWidget | None = None) -> None:
        """Draw the phases, the heat maps, the figures, then the bands."""
        height = float(self._box.height())
        for phase in self.phases:
            left, right = self.x(phase.start), self.x(phase.end)
            if right > 0 and left < self._box.width():
                draw_phase(painter, phase.kind, QRectF(left, 0, right - left, height))
        for heat in self.heat:
            top, bottom = self.y(heat.high), self.y(heat.low)
            area = QRectF(self.x(heat.start), top, self.x(heat.end) - self.x(heat.start), bottom - top)
            painter.drawImage(area, heat.image)
        for level in self.levels:
            painter.setPen(QPen(level.colour, 3, Qt.PenStyle.SolidLine, Qt.PenCapStyle.FlatCap))
            row = self.y(level.value)
            painter.drawLine(QPointF(self.x(level.start), row), QPointF(self.x(level.end), row))
        colour = QColor(palette().baseline)
        for stripe in self.stripes:
            colour.setAlpha(60)
            top, bottom = self.y(stripe.high), self.y(stripe.low)
            painter.fillRect(QRectF(0, top, self._box.width(), max(bottom - top, 1.0)), colour)
            colour.setAlpha(255)
            painter.setPen(QPen(colour, 1, Qt.PenStyle.DashLine))
            row = self.y(stripe.median)
            painter.drawLine(QPointF(0, row), QPointF(self._box.width(), row))
        if self.blank:
            painter.setPen(QColor(palette().muted))
            painter.setFont(text_font(TextSize.SMALL))
            area = QRectF(0, 0, self._box.width(), height)
            painter.drawText(area, int(Qt.AlignmentFlag.AlignCenter), "no samples")


_HATCHES = {
    PhaseKind.WARM_UP: Qt.BrushStyle.BDiagPattern,
    PhaseKind.EXCLUDED: Qt.BrushStyle.DiagCrossPattern,
    PhaseKind.OTHER: Qt.BrushStyle.Dense7Pattern,
}


def draw_phase(painter: QPainter, kind: PhaseKind, area: QRectF) -> None:
    """Draw a phase behind curves: a trial by its two edges, what does not count by a hatch, a cut by a double line."""
    colours = palette()
    if kind in _HATCHES:
        painter.fillRect(area, QColor(colours.raised))
        painter.fillRect(area, QBrush(QColor(colours.line), _HATCHES[kind]))
    elif kind is PhaseKind.CUT:
        painter.fillRect(area, QColor(colours.window))
        painter.setPen(QPen(QColor(colours.border), 1, Qt.PenStyle.DotLine))
        for column in (area.left(), area.right()):
            painter.drawLine(QPointF(column, area.top()), QPointF(column, area.bottom()))
    else:
        painter.setPen(QPen(QColor(colours.line), 1))
        for column in (area.left(), area.right()):
            painter.drawLine(QPointF(column, area.top()), QPointF(column, area.bottom()))


class Foreground(_Layer):
    """Layer over the curves: marks on the time axis, the selected span, and the box being drawn."""

    def __init__(self, box: pg.ViewBox) -> None:
        super().__init__(box, 10)
        self.marks: tuple[PlotMark, ...] = ()
        self.box: QRectF | None = None  # being drawn, in pixels
        self.span: tuple[float, float] | None = None

    def set_span(self, span: tuple[float, float] | None) -> None:
        """Set the selected span."""
        if span != self.span:
            self.span = span
            self.update()

    def mark_at(self, time: float) -> PlotMark | None:
        """Return the mark under the pointer at `time`."""
        column = self.x(time)
        near = [mark for mark in self.marks if abs(self.x(mark.time) - column) <= _MARK]
        return min(near, key=lambda mark: abs(self.x(mark.time) - column), default=None)

    def paint(self, painter: QPainter, _option: QStyleOptionGraphicsItem, _widget: QWidget | None = None) -> None:
        """Draw the marks, the span and the box."""
        colours = palette()
        height = float(self._box.height())
        width = self._box.width()
        for mark in self.marks:
            column = round(self.x(mark.time)) + 0.5
            if mark.kind not in _LINED or not 0 <= column <= width:
                continue
            colour = QColor(colours.warning if mark.kind is MarkKind.FINDING else colours.muted)
            painter.setPen(QPen(colour, 1, Qt.PenStyle.DotLine))
            painter.drawLine(QPointF(column, 0), QPointF(column, height - _MARK))
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(colour)
            foot = [QPointF(column, height - _MARK), QPointF(column + 5, height), QPointF(column - 5, height)]
            painter.drawPolygon(QPolygonF(foot))
        if self.span is not None:
            start, end = (self.x(time) for time in self.span)
            self._shade(painter, QRectF(start, 0, end - start, height))
        if self.box is not None:
            self._shade(painter, self.box)

    def _shade(self, painter: QPainter, area: QRectF) -> None:
        shade = QColor(palette().accent)
        painter.setPen(QPen(shade, 1))
        shade.setAlpha(40)
        painter.setBrush(shade)
        painter.drawRect(area)


class Cursor(QGraphicsItem):
    """Vertical line of the crosshair: one pixel wide, so that moving it repaints little."""

    def __init__(self, box: pg.ViewBox) -> None:
        super().__init__(box)
        self._box = box
        self.setZValue(20)
        self.hide()

    def boundingRect(self) -> QRectF:
        """Return one column of pixels."""
        return QRectF(-1, 0, 2, self._box.height())

    def paint(self, painter: QPainter, _option: QStyleOptionGraphicsItem, _widget: QWidget | None = None) -> None:
        """Draw the line."""
        painter.setPen(QPen(QColor(palette().muted), 1))
        painter.drawLine(QPointF(0, 0), QPointF(0, self._box.height()))
