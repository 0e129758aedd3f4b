"""What lies behind and over the curves: shaded warm-ups, the baseline's band, marks of findings, the crosshair."""

from dataclasses import dataclass

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QGraphicsItem, QStyleOptionGraphicsItem, QWidget

from widgets.theme import figure_font, palette

_MARK = 9
_NAMED_FROM = 80
"""Pixels of height from which a shade is named: in a low plot the word would stand on the curves."""


@dataclass(frozen=True, slots=True)
class Stripe:
    """The baseline in the view's coordinates: the range from `low` to `high` and its median."""

    low: float
    high: float
    median: float


@dataclass(frozen=True, slots=True)
class Mark:
    """A finding at a moment, in words."""

    time: float
    text: str


class _Layer(QGraphicsItem):
    """Something drawn over the whole view, in pixels of it."""

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

    def _moved(self, *_what: object) -> None:
        self.prepareGeometryChange()
        self.update()


class Backdrop(_Layer):
    """Behind the curves: shaded warm-ups, and the baseline in grey."""

    def __init__(self, box: pg.ViewBox) -> None:
        super().__init__(box, -10)
        self.stripes: tuple[Stripe, ...] = ()
        self.warm_ups: tuple[tuple[float, float], ...] = ()

    def paint(self, painter: QPainter, _option: QStyleOptionGraphicsItem, _widget: QWidget | None = None) -> None:
        """Draw the shades, then the bands."""
        for start, end in self.warm_ups:
            self._draw_warm_up(painter, start, end)
        colour = QColor(palette().baseline)
        for stripe in self.stripes:
            colour.setAlpha(60)
            top, bottom = self.y(stripe.high), self.y(stripe.low)
            painter.fillRect(QRectF(0, top, self._box.width(), max(bottom - top, 1.0)), colour)
            colour.setAlpha(255)
            painter.setPen(QPen(colour, 1, Qt.PenStyle.DashLine))
            row = self.y(stripe.median)
            painter.drawLine(QPointF(0, row), QPointF(self._box.width(), row))

    def _draw_warm_up(self, painter: QPainter, start: float, end: float) -> None:
        colours = palette()
        left, right = self.x(start), self.x(end)
        area = QRectF(left, 0, right - left, self._box.height())
        painter.fillRect(area, QColor(colours.raised))
        painter.setFont(figure_font(8))
        painter.setPen(QColor(colours.muted))
        fits = QFontMetricsF(painter.font()).horizontalAdvance("warm-up") + 8 < area.width()
        if fits and area.height() >= _NAMED_FROM:
            painter.drawText(
                area.adjusted(4, 2, 0, 0), Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop, "warm-up"
            )


class Foreground(_Layer):
    """Over the curves: findings as marks on the time axis, and the range being dragged open."""

    def __init__(self, box: pg.ViewBox) -> None:
        super().__init__(box, 10)
        self.marks: tuple[Mark, ...] = ()
        self.selection: tuple[float, float] | None = None

    def mark_at(self, time: float) -> Mark | None:
        """Return the mark under the pointer at `time`."""
        column = self.x(time)
        near = [mark for mark in self.marks if abs(self.x(mark.time) - column) <= _MARK]
        return min(near, key=lambda mark: abs(self.x(mark.time) - column), default=None)

    def paint(self, painter: QPainter, _option: QStyleOptionGraphicsItem, _widget: QWidget | None = None) -> None:
        """Draw the marks and the range."""
        colours = palette()
        height = float(self._box.height())
        colour = QColor(colours.warning)
        for mark in self.marks:
            column = round(self.x(mark.time)) + 0.5
            painter.setPen(QPen(colour, 1, Qt.PenStyle.DotLine))
            painter.drawLine(QPointF(column, 0), QPointF(column, height - _MARK))
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(colour)
            foot = [QPointF(column, height - _MARK), QPointF(column + 5, height), QPointF(column - 5, height)]
            painter.drawPolygon(QPolygonF(foot))
        if self.selection is not None:
            start, end = sorted(self.x(time) for time in self.selection)
            shade = QColor(colours.accent)
            shade.setAlpha(40)
            painter.fillRect(QRectF(start, 0, end - start, height), shade)


class Cursor(QGraphicsItem):
    """The crosshair's upright line: one pixel wide, so that moving it redraws next to nothing."""

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
