"""One curve, one pixel wide: wider ones cost five times as much."""

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from widgets.plots.series import Numbers

SPARSE = 120
"""A curve of fewer points shows each of them as a dot: a single sample would be invisible otherwise."""

_DOT = 3.5


class Curve(pg.PlotCurveItem):
    """A line through points; a gap where a value is missing."""

    def __init__(self, colour: QColor, *, dots: bool = True, dashed: bool = False) -> None:
        super().__init__(connect="finite", skipFiniteCheck=True, antialias=False)
        self.setAcceptHoverEvents(False)
        self._dots = dots
        self._style = Qt.PenStyle.DashLine if dashed else Qt.PenStyle.SolidLine
        self.set_colour(colour)

    def set_colour(self, colour: QColor) -> None:
        """Draw in `colour`."""
        self.setPen(pg.mkPen(colour, width=1, style=self._style))

    def set_points(self, times: Numbers, values: Numbers, *, smooth: bool) -> None:
        """Draw these points; `smooth` only where there are few."""
        self.setData(times, values, antialias=smooth)

    def pixelPadding(self) -> float:
        """Leave room for the dots around the outermost points."""
        return _DOT

    def paint(self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget) -> None:
        """Draw the line, and the points where they are few."""
        super().paint(painter, option, widget)
        if not self._dots or self.xData is None or not 0 < len(self.xData) <= SPARSE:
            return
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self.opts["pen"].color(), _DOT, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
        there = np.isfinite(self.yData)
        places = zip(self.xData[there], self.yData[there], strict=True)
        pixels = painter.worldTransform()
        painter.resetTransform()  # round dots whatever the two scales are
        painter.drawPoints(QPolygonF([pixels.map(QPointF(x, y)) for x, y in places]))
        painter.setWorldTransform(pixels)
