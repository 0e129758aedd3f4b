"""Strip above stacked plots: the trials of the time axis by name, and the marks by their glyphs."""

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QHelpEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from widgets.parts.text import tool_tip
from widgets.plots.axis import value_width
from widgets.plots.layers import draw_phase, label_width
from widgets.plots.time_window import TimeWindow
from widgets.plots.timeline import MarkKind, PhaseKind, PlotMark, TimePhase
from widgets.theme import TextSize, palette, text_font

_PADDING = 3
_REACH = 7
"""Pixels around a mark in which the pointer reads it."""


class TimelineStrip(QWidget):
    """Names of trials and other phases, and the marks below them. A click on a trial chooses it, on a mark goes there.

    Its places are those of the plots below: it leaves out the width of their axes and labels.
    """

    trial_chosen = Signal(int)  # key of a phase

    def __init__(self, window: TimeWindow, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._window = window
        self._front: int | None = None
        self.setFont(text_font(TextSize.SMALL))
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setMouseTracking(True)
        self.setAccessibleName("Trials on the time axis")
        window.changed.connect(self._update)
        self._update()

    def set_front(self, key: int | None) -> None:
        """Underline the phase `key`."""
        if key != self._front:
            self._front = key
            self.update()

    def phase_at(self, place: QPointF) -> TimePhase | None:
        """Return the uppermost phase at `place`."""
        if place.y() > self._row():
            return None
        under = (phase for phase in reversed(self._window.phases) if self._area(phase).contains(place))
        return next(under, None)

    def mark_at(self, place: QPointF) -> PlotMark | None:
        """Return the mark nearest to `place`."""
        near = [mark for mark in self._window.marks if abs(self._x(mark.time) - place.x()) <= _REACH]
        return min(near, key=lambda mark: abs(self._x(mark.time) - place.x()), default=None)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the phases, their names and the marks."""
        painter = QPainter(self)
        painter.setClipRect(QRectF(value_width() - _REACH, 0, self._width() + 2 * _REACH, self.height()))
        for phase in self._window.phases:
            area = self._area(phase)
            if area.right() >= value_width() and area.left() <= self.width():
                self._draw_phase(painter, phase, area)
        for mark in self._window.marks:
            self._draw_mark(painter, mark)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Go to a mark, or choose a trial."""
        phase, mark = self.phase_at(event.position()), self.mark_at(event.position())
        if phase is not None and phase.key is not None:
            self.trial_chosen.emit(phase.key)
        elif phase is None and mark is not None:
            self._window.move_cursor(mark.time)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Zoom to a trial."""
        phase = self.phase_at(event.position())
        if phase is not None:
            margin = 0.02 * (phase.end - phase.start)
            self._window.zoom_to(phase.start - margin, phase.end + margin)

    def event(self, event: QEvent) -> bool:
        """Show the whole text of the phase or mark under the pointer."""
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip:
            place = QPointF(event.pos())
            found = self.phase_at(place) or self.mark_at(place)
            text = "" if found is None else found.text
            QToolTip.showText(event.globalPos(), tool_tip(text), self)
            return True
        return super().event(event)

    def _update(self) -> None:
        """Fit the height and the texts to what is shown."""
        rows = 2 if self._window.marks else 1
        self.setFixedHeight(round(rows * self._row()) + 1)
        self.setVisible(any(phase.key is not None for phase in self._window.phases) or bool(self._window.marks))
        named = [phase.text for phase in self._window.phases if phase.key is not None]
        self.setAccessibleDescription("; ".join([*named, *(mark.text for mark in self._window.marks)]))
        self.update()

    def _row(self) -> float:
        return QFontMetricsF(self.font()).height() + _PADDING

    def _width(self) -> float:
        return float(max(1, self.width() - value_width() - label_width()))

    def _x(self, time: float) -> float:
        start, end = self._window.shown
        return value_width() + (time - start) / (end - start) * self._width()

    def _area(self, phase: TimePhase) -> QRectF:
        left = self._x(phase.start)
        return QRectF(left, 0, self._x(phase.end) - left, self._row())

    def _uncovered(self, phase: TimePhase, area: QRectF) -> QRectF:
        """Return the part of the area of a trial that its ramp leaves; the whole area of other phases."""
        if phase.key is None:
            return area
        ramps = (one.end for one in self._window.phases if one.key is None and one.start <= phase.start < one.end)
        left = self._x(max(ramps, default=phase.start))
        return QRectF(left, 0, max(0.0, area.right() - left), area.height())

    def _draw_phase(self, painter: QPainter, phase: TimePhase, area: QRectF) -> None:
        colours = palette()
        if phase.kind is PhaseKind.TRIAL:
            painter.fillRect(area, QColor(colours.surface))
        draw_phase(painter, phase.kind, area)
        in_front = phase.key is not None and phase.key == self._front
        if in_front:
            painter.fillRect(QRectF(area.left(), area.bottom() - 2, area.width(), 2), QColor(colours.accent))
        font = text_font(TextSize.SMALL, bold=in_front)
        painter.setFont(font)
        metrics, name = QFontMetricsF(font), phase.name
        short = name.rpartition(" ")[2] if phase.key is not None else ""
        visible = self._uncovered(phase, area).intersected(QRectF(value_width(), 0, self._width(), area.height()))
        fitting = next((text for text in (name, short) if metrics.horizontalAdvance(text) + 6 <= visible.width()), "")
        painter.setPen(QColor(colours.text if phase.kind is PhaseKind.TRIAL else colours.muted))
        painter.drawText(visible, int(Qt.AlignmentFlag.AlignCenter), fitting)

    def _draw_mark(self, painter: QPainter, mark: PlotMark) -> None:
        colours = palette()
        painter.setFont(text_font(TextSize.SMALL))
        painter.setPen(QPen(QColor(colours.warning if mark.kind is MarkKind.FINDING else colours.muted)))
        area = QRectF(self._x(mark.time) - 10, self._row(), 20, self._row())
        painter.drawText(area, int(Qt.AlignmentFlag.AlignCenter), mark.kind.value)
