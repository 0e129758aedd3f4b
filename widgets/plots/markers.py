"""Shapes on curves and in legends, which identify a series without its colour."""

from PySide6.QtCore import QPointF
from PySide6.QtGui import QColor, QPainter, QPolygonF

from widgets.theme import SERIES, series_index

_SIZE = 2.8
"""Half the height of a shape in pixels."""

_OUTLINES: tuple[tuple[tuple[float, float], ...], ...] = (
    (),  # a circle
    ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    ((0.0, -1.2), (1.1, 0.9), (-1.1, 0.9)),
    ((0.0, -1.3), (1.1, 0.0), (0.0, 1.3), (-1.1, 0.0)),
    ((0.0, 1.2), (1.1, -0.9), (-1.1, -0.9)),
    ((-1.2, -0.5), (1.2, -0.5), (1.2, 0.5), (-1.2, 0.5)),
)
"""Shapes of the first six series: circle, square, triangle, diamond, triangle on its tip, bar."""


def shape_of(colour: QColor) -> int:
    """Return the shape of the series that has `colour`, another one where hues repeat; a circle for other colours."""
    index = series_index(colour) or 0
    return (index + index // len(SERIES)) % len(_OUTLINES)


def draw_shape(painter: QPainter, shape: int, place: QPointF) -> None:
    """Draw a shape around `place` with the painter's brush."""
    outline = _OUTLINES[shape]
    if outline:
        painter.drawPolygon(QPolygonF([place + QPointF(x * _SIZE, y * _SIZE) for x, y in outline]))
    else:
        painter.drawEllipse(place, 0.8 * _SIZE, 0.8 * _SIZE)
