"""A plot of trials: one dot is one trial, a run a lane, so that it can be seen what the ratio rests on."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QHelpEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app.wording import figure_text, metric_text, scale
from suites.vocab import Labels, Metric
from widgets.compare.cells import draw_mark
from widgets.compare.run_colour import run_colour
from widgets.compare.trial_lanes import Dot, Lane
from widgets.parts.text import tool_tip, visible
from widgets.plots.scale import fitted, plain, tick_step, ticks
from widgets.theme import SPACE, TextSize, figure_font, palette, text_font

_LANE = 18
_LEFT = 40
_RIGHT = 14
_AXIS = 22
_TITLE = 22
_DOT = 3.5
_MEDIAN = 15
_NEAR = 8
"""Pixels around a dot in which the pointer reads it."""

_TICK = 52
_BAND = 38


@dataclass(frozen=True, slots=True)
class _Axis:
    low: float
    high: float
    area: QRectF

    def x(self, value: float) -> float:
        return self.area.left() + (value - self.low) / (self.high - self.low) * self.area.width()


class TrialDots(QWidget):
    """Draws lanes of dots on one axis, which begins where the figures do. The tick in a lane is the median."""

    def __init__(self) -> None:
        super().__init__()
        self._metric: Metric | None = None
        self._labels: Labels = ()
        self._lanes: Sequence[Lane] = ()
        self._margin = 0.0
        self.setMinimumSize(QSize(200, _TITLE + _AXIS + 2 * _LANE))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMouseTracking(True)

    def show_lanes(self, metric: Metric, labelled: Labels, lanes: Sequence[Lane], margin: float) -> None:
        """Show the trials of `metric`; the margin around the baseline's median is shaded."""
        self._metric, self._labels, self._lanes, self._margin = metric, labelled, lanes, margin
        self.setMinimumHeight(_TITLE + _AXIS + _LANE * len(lanes))
        self.setAccessibleName(f"Trials: {metric_text(metric, labelled)}")
        self.setAccessibleDescription("; ".join(self._lane_words(lane) for lane in lanes))
        self.update()

    def dot_at(self, position: QPointF) -> tuple[Lane, Dot] | None:
        """Return the trial under the pointer, or None."""
        axis = self._axis()
        if axis is None:
            return None
        for place, lane in enumerate(self._lanes):
            placed = self._placed(axis, lane, self._y(axis, place))
            near = [(dot, point) for dot, point in placed if not _apart(point, position.x(), position.y(), _NEAR)]
            if near:
                return lane, min(near, key=lambda pair: (pair[1] - position).manhattanLength())[0]
        return None

    def event(self, event: QEvent) -> bool:
        """Tell in a tool tip which trial is under the pointer."""
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip:
            found = self.dot_at(QPointF(event.pos()))
            QToolTip.showText(event.globalPos(), tool_tip(self._dot_words(*found)) if found else "", self)
            return True
        return super().event(event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the title, the axis and the lanes."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        colours = palette()
        painter.fillRect(self.rect().adjusted(0, _TITLE, 0, 0), QColor(colours.surface))
        axis = self._axis()
        if self._metric is None or axis is None:
            return
        self._draw_title(painter, self._metric, axis)
        self._draw_margin(painter, axis)
        self._draw_axis(painter, self._metric, axis)
        for place, lane in enumerate(self._lanes):
            self._draw_lane(painter, axis, lane, self._y(axis, place))

    def _axis(self) -> _Axis | None:
        values = [dot.value for lane in self._lanes for dot in lane.dots]
        if not values:
            return None
        base = self._lanes[0].median
        edges = [base / (1 + self._margin), base * (1 + self._margin)] if base is not None and base > 0 else []
        bounds = fitted(min([*values, *edges]), max([*values, *edges]))
        height = self.height() - _TITLE - _AXIS
        return _Axis(bounds.low, bounds.high, QRectF(_LEFT, _TITLE, max(1, self.width() - _LEFT - _RIGHT), height))

    def _y(self, axis: _Axis, place: int) -> float:
        return axis.area.top() + (place + 0.5) * axis.area.height() / max(1, len(self._lanes))

    def _draw_title(self, painter: QPainter, metric: Metric, axis: _Axis) -> None:
        suffix = scale(metric, axis.high).suffix
        words = f"Trials: {metric_text(metric, self._labels)}{f' [{suffix}]' if suffix else ''}"
        painter.setFont(text_font(TextSize.SMALL, bold=True))
        painter.setPen(QColor(palette().text))
        area = QRectF(0, 0, self.width(), _TITLE)
        shown = painter.fontMetrics().elidedText(visible(words), Qt.TextElideMode.ElideRight, self.width())
        painter.drawText(area, int(Qt.AlignmentFlag.AlignVCenter), shown)

    def _draw_margin(self, painter: QPainter, axis: _Axis) -> None:
        base = self._lanes[0].median
        if base is None or base <= 0:
            return
        shade = QColor(palette().baseline)
        shade.setAlpha(_BAND)
        left, right = axis.x(base / (1 + self._margin)), axis.x(base * (1 + self._margin))
        painter.fillRect(QRectF(left, axis.area.top(), right - left, axis.area.height()), shade)

    def _draw_axis(self, painter: QPainter, metric: Metric, axis: _Axis) -> None:
        colours = palette()
        divisor = scale(metric, axis.high).divisor
        wanted = max(2, int(axis.area.width() / _TICK))
        low, high = axis.low / divisor, axis.high / divisor
        step = tick_step(high - low, wanted)
        painter.setFont(figure_font(8.5))
        for value in ticks(low, high, wanted):
            x = axis.x(value * divisor)
            painter.setPen(QPen(QColor(colours.line), 1))
            painter.drawLine(QPointF(x, axis.area.top()), QPointF(x, axis.area.bottom()))
            painter.setPen(QColor(colours.muted))
            box = QRectF(x - _TICK / 2, axis.area.bottom() + 2, _TICK, _AXIS - 4)
            painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), plain(value, step))

    def _draw_lane(self, painter: QPainter, axis: _Axis, lane: Lane, y: float) -> None:
        colours = palette()
        draw_mark(painter, QPointF(SPACE[1] + 4, y), lane.number)
        painter.setFont(figure_font(bold=True))
        painter.setPen(QColor(colours.text))
        letter = QRectF(SPACE[1] + 14, y - 10, _LEFT, 20)
        painter.drawText(letter, int(Qt.AlignmentFlag.AlignVCenter), lane.letter)
        if not lane.dots:
            painter.setPen(QColor(colours.muted))
            nothing = QRectF(_LEFT, y - 10, axis.area.width(), 20)
            painter.drawText(nothing, int(Qt.AlignmentFlag.AlignVCenter), "not measured")
            return
        colour = run_colour(lane.number)
        painter.setPen(QPen(colour, 1))
        shade = QColor(colour)
        shade.setAlpha(190)
        for dot, middle in self._placed(axis, lane, y):
            painter.setBrush(Qt.BrushStyle.NoBrush if dot.left_out else shade)
            painter.drawEllipse(middle, _DOT, _DOT)
        if lane.median is not None:
            painter.setPen(QPen(QColor(colours.text), 1.4))
            x, half = axis.x(lane.median), min(_MEDIAN, axis.area.height() / len(self._lanes) / 2 - 1)
            painter.drawLine(QPointF(x, y - half), QPointF(x, y + half))

    def _placed(self, axis: _Axis, lane: Lane, y: float) -> list[tuple[Dot, QPointF]]:
        """Return where the dots of a lane are drawn: one that would lie on another moves up or down."""
        room = axis.area.height() / max(1, len(self._lanes)) / 2 - _DOT - 1
        placed: list[tuple[Dot, QPointF]] = []
        for dot in sorted(lane.dots, key=lambda dot: dot.value):
            x = axis.x(dot.value)
            taken = [point for _, point in placed if abs(point.x() - x) < 2 * _DOT]
            aside = [way * step * 2 * _DOT for step in range(1 + int(room / (2 * _DOT))) for way in (1, -1)]
            free = (move for move in aside if all(_apart(point, x, y + move) for point in taken))
            placed.append((dot, QPointF(x, y + next(free, 0.0))))
        return placed

    def _dot_words(self, lane: Lane, dot: Dot) -> str:
        if self._metric is None:
            return ""
        words = f"{lane.letter}, trial {dot.number}: {figure_text(self._metric, dot.value)}"
        return f"{words}\n{dot.left_out}" if dot.left_out else words

    def _lane_words(self, lane: Lane) -> str:
        values = ", ".join(figure_text(self._metric, dot.value) for dot in lane.dots) if self._metric else ""
        return f"{lane.letter}: {values or 'not measured'}"


def _apart(point: QPointF, x: float, y: float, distance: float = 2 * _DOT - 0.5) -> bool:
    """Return whether `point` is at least `distance` from (x, y)."""
    return math.hypot(point.x() - x, point.y() - y) >= distance
