"""Sparklines in the cells of tables."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF

from widgets.theme import palette

DOT = 2.5
"""Radius in pixels of the dot at a value."""


def paint_sparkline(
    painter: QPainter,
    cell: QRect,
    values: Sequence[float],
    at: int | None = None,
    *,
    scale: tuple[float, float] | None = None,
    level: float | None = None,
    selected: bool = False,
) -> None:
    """Draw `values` in a cell, with a dot at the value number `at`, and a line at `level`.

    `scale` are the values of the lower and the upper edge, beyond which values are drawn at the edge; by default the
    lowest and the highest value.
    """
    box = QRectF(cell).adjusted(6, 5, -6, -5)
    low, high = scale or (min(values), max(values))
    step, height = box.width() / max(1, len(values) - 1), (high - low) or 1.0

    def point(number: int, value: float) -> QPointF:
        share = min(1.0, max(0.0, (value - low) / height))
        return QPointF(box.left() + number * step, box.bottom() - share * box.height())

    points = [point(number, value) for number, value in enumerate(values)]
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    if level is not None:
        painter.setPen(QPen(QColor(palette().border), 1.0))
        painter.drawLine(QPointF(box.left(), point(0, level).y()), QPointF(box.right(), point(0, level).y()))
    painter.setPen(QPen(QColor(palette().text if selected else palette().muted), 1.4))
    painter.drawPolyline(QPolygonF(points))
    if at is not None:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(palette().info))
        painter.drawEllipse(points[at], DOT, DOT)
    painter.restore()
