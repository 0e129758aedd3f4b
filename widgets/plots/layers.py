"""Layers of a plot beside the curves: baseline bands, warm-ups, marks, labels, crosshair."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QGraphicsItem, QStyleOptionGraphicsItem, QWidget

from widgets.theme import figure_font, palette

LABEL_WIDTH = 104
_SWATCH = 10


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
        self.setFixedWidth(LABEL_WIDTH)  # even without labels, so that stacked plots share one time axis
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
        font = figure_font(8.5)
        painter.setFont(font)
        metrics = QFontMetricsF(font)
        ordered = sorted(self._labels, key=lambda label: -label.value)
        height = float(self.size().height())
        distance = min(metrics.height(), height / max(1, len(ordered)))  # in a low plot they overlap
        rows = spread([self._row(label) for label in ordered], distance, height)
        for label, row in zip(ordered, rows, strict=True):
            painter.setPen(QPen(label.colour, 1, Qt.PenStyle.DashLine if label.dashed else Qt.PenStyle.SolidLine))
            for line in (0, 1):
                painter.drawLine(QPointF(4, row + line), QPointF(4 + _SWATCH, row + line))
            painter.setPen(QColor(palette().text))
            left = 4 + _SWATCH + 4
            text = metrics.elidedText(label.text, Qt.TextElideMode.ElideRight, LABEL_WIDTH - left)
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
_NAMED_FROM = 80
"""Height in pixels from which a warm-up is labelled: in a low plot the label would cover the curves."""


@dataclass(frozen=True, slots=True)
class Stripe:
    """Baseline band in the view's coordinates: its range and its median."""

    low: float
    high: float
    median: float


@dataclass(frozen=True, slots=True)
class PlotMark:
    """Text of a finding at a time."""

    time: float
    text: str


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
    """Layer behind the curves: shaded warm-ups and grey baseline bands."""

    def __init__(self, box: pg.ViewBox) -> None:
        super().__init__(box, -10)
        self.stripes: tuple[Stripe, ...] = ()
        self.warm_ups: tuple[tuple[float, float], ...] = ()

    def paint(self, painter: QPainter, _option: QStyleOptionGraphicsItem, _widget: QWidget | None = None) -> None:
        """Draw the warm-ups, then the bands."""
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
    """Layer over the curves: findings as marks on the time axis, and the range being selected."""

    def __init__(self, box: pg.ViewBox) -> None:
        super().__init__(box, 10)
        self.marks: tuple[PlotMark, ...] = ()
        self.selection: tuple[float, float] | None = None

    def mark_at(self, time: float) -> PlotMark | None:
        """Return the mark under the pointer at `time`."""
        column = self.x(time)
        near = [mark for mark in self.marks if abs(self.x(mark.time) - column) <= _MARK]
        return min(near, key=lambda mark: abs(self.x(mark.time) - column), default=None)

    def paint(self, painter: QPainter, _option: QStyleOptionGraphicsItem, _widget: QWidget | None = None) -> None:
        """Draw the marks and the selected range."""
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
