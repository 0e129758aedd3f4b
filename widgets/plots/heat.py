"""Heat maps of latency beneath the curves of a plot, and their colour key."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QImage, QLinearGradient, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from suites.vocab import LatencySlice
from widgets.parts.text import set_tool_tip
from widgets.plots.axis import tick_font
from widgets.theme import SPACE, palette

ROWS_A_DECADE = 10
"""Ranges of latency per decade: narrow enough to separate two modes, wide enough to see."""

MOST_COLUMNS = 600
"""Most intervals of a trial; more are merged."""

_LEAST, _MOST = 0.10, 0.85
"""Opacity of a single request and of the most in one cell."""


@dataclass(frozen=True, slots=True, eq=False)
class HeatGrid:
    """Requests of a trial by latency: `counts` has a row per range of latency, the lowest first, from 10 to the power
    of `low` ns on, and a column per interval from `start` to `end` (s)."""

    start: float
    end: float
    low: float
    counts: NDArray[np.int64]

    @property
    def high(self) -> float:
        """The logarithm of the upper edge of the highest row."""
        return self.low + len(self.counts) / ROWS_A_DECADE

    @property
    def most(self) -> int:
        """The most requests of a cell."""
        return int(self.counts.max(initial=0))

    def image(self, most: int) -> QImage:
        """Return one pixel per cell, its opacity by the logarithm of its count against `most`."""
        shade = np.log1p(self.counts[::-1]) / math.log1p(max(1, most))
        alpha = np.where(self.counts[::-1] > 0, 255 * (_LEAST + (_MOST - _LEAST) * shade), 0)
        pixels = np.zeros((*alpha.shape, 4), dtype=np.uint8)
        colour = heat_colour()
        pixels[..., 0], pixels[..., 1], pixels[..., 2] = colour.blue(), colour.green(), colour.red()
        pixels[..., 3] = alpha.astype(np.uint8)
        rows, columns = alpha.shape
        return QImage(pixels.tobytes(), columns, rows, 4 * columns, QImage.Format.Format_ARGB32).copy()


def grid_of(slices: Sequence[LatencySlice]) -> HeatGrid | None:
    """Return the requests of all operations of `slices` together; None without any.

    A column is as long as the median slice; a longer slice is spread evenly over its columns.
    """
    filled = [one for one in slices if one.bins]
    if not filled:
        return None
    start, end = min(one.start for one in filled), max(one.end for one in filled)
    length = max(median(one.end - one.start for one in filled), (end - start) / MOST_COLUMNS, 1e-9)
    columns = max(1, round((end - start) / length))
    cells: dict[tuple[int, int], int] = {}
    for one in filled:
        first = min(columns - 1, round((one.start - start) / length))
        covered = range(first, min(columns, max(first + 1, round((one.end - start) / length))))
        for latency, count in one.bins.items():
            row = math.floor(ROWS_A_DECADE * math.log10(max(1, latency)))
            for column in covered:
                cells[row, column] = cells.get((row, column), 0) + max(1, round(count / len(covered)))
    lowest, highest = min(row for row, _ in cells), max(row for row, _ in cells)
    counts = np.zeros((highest - lowest + 1, columns), dtype=np.int64)
    for (row, column), count in cells.items():
        counts[row - lowest, column] = count
    return HeatGrid(start, end, lowest / ROWS_A_DECADE, counts)


def heat_colour() -> QColor:
    """Return the colour of heat maps: grey, which no curve has."""
    return QColor(palette().muted)


class HeatKey(QWidget):
    """Colour key of a heat map: from one request in a cell to the most. Hidden without a heat map."""

    def __init__(self) -> None:
        super().__init__()
        self._most = 0
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        set_tool_tip(self, "Heat map: requests per interval and range of latency, on a logarithmic scale")
        self.hide()

    def set_most(self, most: int) -> None:
        """Set the most requests of a cell; 0 hides the key."""
        if most != self._most:
            self._most = most
            self.setAccessibleName(f"Heat map: 1 to {most:,} requests per cell")
            self.updateGeometry()
            self.update()
        self.setVisible(bool(most))

    def sizeHint(self) -> QSize:
        """Return the width of the gradient and its two numbers."""
        metrics = QFontMetricsF(tick_font())
        return QSize(
            round(60 + metrics.horizontalAdvance(f"1{self._most:,} I/Os") + 3 * SPACE[0]), round(metrics.height())
        )

    def minimumSizeHint(self) -> QSize:
        """Return the size hint: a cut key would mislead."""
        return self.sizeHint()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the gradient between its numbers."""
        painter = QPainter(self)
        painter.setFont(tick_font())
        metrics = QFontMetricsF(tick_font())
        left = metrics.horizontalAdvance("1") + SPACE[0]
        bar = QRectF(left, self.height() / 2 - 5, 60, 10)
        gradient = QLinearGradient(bar.topLeft(), bar.topRight())
        for place, opacity in ((0.0, _LEAST), (1.0, _MOST)):
            colour = heat_colour()
            colour.setAlphaF(opacity)
            gradient.setColorAt(place, colour)
        painter.fillRect(bar, gradient)
        painter.setPen(QColor(palette().muted))
        middle = int(Qt.AlignmentFlag.AlignVCenter)
        painter.drawText(QRectF(0, 0, left, self.height()), middle, "1")
        painter.drawText(QRectF(bar.right() + SPACE[0], 0, self.width(), self.height()), middle, f"{self._most:,} I/Os")
