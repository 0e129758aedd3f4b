"""Names beside the ends of up to four curves; a legend in one line for more."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyqtgraph as pg
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from widgets.theme import figure_font, palette

LABEL_WIDTH = 104
_SWATCH = 10


@dataclass(frozen=True, slots=True)
class Label:
    """A name beside the end of its curve, at `value` in the view's coordinates."""

    value: float
    text: str
    colour: QColor
    dashed: bool = False


class CurveLabels(pg.GraphicsWidget):
    """The column right of the plot in which up to four curves are named where they end."""

    def __init__(self, box: pg.ViewBox) -> None:
        super().__init__()
        self._box = box
        self._labels: tuple[Label, ...] = ()
        self.setFixedWidth(LABEL_WIDTH)  # with or without names, so that plots above each other share one axis
        box.sigRangeChanged.connect(self._moved)

    def set_labels(self, labels: Sequence[Label]) -> None:
        """Name these curves."""
        if tuple(labels) == self._labels:
            return
        self._labels = tuple(labels)
        self.update()

    def _moved(self, *_what: object) -> None:
        self.update()

    def paint(self, painter: QPainter, _option: QStyleOptionGraphicsItem, _widget: QWidget | None = None) -> None:
        """Draw each name, pushed apart where curves end close together."""
        font = figure_font(8.5)
        painter.setFont(font)
        metrics = QFontMetricsF(font)
        ordered = sorted(self._labels, key=lambda label: -label.value)
        height = float(self.size().height())
        distance = min(metrics.height(), height / max(1, len(ordered)))  # in a low plot they stand closer
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
    """Return ascending `rows` moved as little as keeps them `distance` apart and inside `height`."""
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
