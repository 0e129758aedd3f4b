"""How much a finding matters: a drawn mark and a word first, a colour second."""

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QWidget

from suites.vocab import Finding, Level
from widgets.parts.text import Tone
from widgets.theme import palette

WORDS = {Level.ERROR: "Error", Level.WARNING: "Warning", Level.INFO: "Note"}
TONES = {Level.ERROR: Tone.ERROR, Level.WARNING: Tone.WARNING, Level.INFO: Tone.INFO}


def summary(findings: tuple[Finding, ...] | list[Finding]) -> str:
    """Return how many findings of each level there are, in words: ``1 error, 2 warnings``."""
    counts = [(level, sum(finding.level is level for finding in findings)) for level in reversed(Level)]
    return ", ".join(f"{count} {WORDS[level].lower()}{'s' if count > 1 else ''}" for level, count in counts if count)


class SeverityMark(QWidget):
    """A filled circle with a cross, a triangle with a bar, or a ring with an i: told apart without colour."""

    def __init__(self, level: Level, size: int = 16, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._level = level
        self.setFixedSize(QSize(size, size))
        self.setAccessibleName(WORDS[level])

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the mark."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.scale(self.width() / 16, self.height() / 16)
        draw_mark(painter, self._level)


def draw_mark(painter: QPainter, level: Level) -> None:
    """Draw the mark of `level` into the square from (0, 0) to (16, 16)."""
    colours = palette()
    colour = QColor(getattr(colours, TONES[level].value))
    inside = QPen(QColor(colours.surface), 1.8, c=Qt.PenCapStyle.RoundCap)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    if level is Level.ERROR:
        painter.drawEllipse(QRectF(1, 1, 14, 14))
        painter.setPen(inside)
        painter.drawLine(QPointF(5.4, 5.4), QPointF(10.6, 10.6))
        painter.drawLine(QPointF(10.6, 5.4), QPointF(5.4, 10.6))
    elif level is Level.WARNING:
        painter.drawPolygon(QPolygonF([QPointF(8, 1), QPointF(15.5, 14.5), QPointF(0.5, 14.5)]))
        painter.setPen(inside)
        painter.drawLine(QPointF(8, 6), QPointF(8, 9.4))
        painter.drawPoint(QPointF(8, 12.2))
    else:
        painter.setPen(QPen(colour, 1.4))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawEllipse(QRectF(1.7, 1.7, 12.6, 12.6))
        painter.setPen(QPen(colour, 1.8, c=Qt.PenCapStyle.RoundCap))
        painter.drawLine(QPointF(8, 7.4), QPointF(8, 11.4))
        painter.drawPoint(QPointF(8, 4.8))
