"""Drawing of the 95 % interval after each trial against the precision goal."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from app.events import Decision, PolicyDecided
from app.runs.messages import forecast_text
from suites.quantities import first_upper, metric_text
from widgets.parts.text import set_tool_tip
from widgets.theme import palette

WIDEST = 4.0
"""Largest half height of the drawing, as a multiple of the goal: the first intervals would dwarf the others."""

SINGLE = 0.05
"""Least half height of the drawing without a goal."""


@dataclass(frozen=True, slots=True)
class IntervalPoint:
    """Interval after `trials` trials: its edges and centre as relative deviations from the reference."""

    trials: int
    low: float
    value: float
    high: float


@dataclass(frozen=True, slots=True)
class IntervalCurve:
    """Intervals in order of trials. `wanted` is the goal (relative half width, None without one), `last` the expected
    last trial, `reach` the half height of the drawing."""

    points: tuple[IntervalPoint, ...]
    wanted: float | None
    last: int
    reach: float


def interval_curve(decisions: Sequence[Decision]) -> IntervalCurve | None:
    """Return the intervals of a step's decisions, or None before the first interval.

    The reference is the latest centre, or 1 for a ratio: the goal is an interval within `wanted` of it, or a ratio
    whose interval is entirely beyond 1 ± `wanted`.
    """
    complete = [one for one in decisions if one.low is not None and one.high is not None and one.value]
    if not complete:
        return None
    latest = complete[-1]
    reference = 1.0 if latest.of_ratio else latest.value or 1.0
    points = tuple(
        IntervalPoint(
            one.trials,
            (one.low or 0.0) / reference - 1,
            (one.value or 0.0) / reference - 1,
            (one.high or 0.0) / reference - 1,
        )
        for one in complete
    )
    now = max(abs(points[-1].low), abs(points[-1].high))
    furthest = max(max(abs(point.low), abs(point.high)) for point in points)
    wanted = latest.wanted
    reach = min(furthest, max(WIDEST * wanted, 2 * now)) if wanted else max(furthest, SINGLE)
    return IntervalCurve(
        points, wanted, latest.trials + (latest.more or 0), max(reach, 1.3 * (wanted or 0.0)) or SINGLE
    )


def decisions_text(last: PolicyDecided) -> str:
    """Return the last decision on a step: its figure, the reason and the forecast."""
    figure = "" if last.metric is None else f": {metric_text(last.metric, last.labels)}"
    title = "Ratio to the baseline" if last.decision.of_ratio else "95 % interval so far"
    forecast = first_upper(forecast_text(last.decision))
    return f"{title}{figure}. {first_upper(last.decision.reason)}. {forecast}".strip()


WIDTH, HEIGHT = 128, 40
_BAND = 38
"""Alpha (of 255) of the shaded goal."""


class IntervalView(QWidget):
    """One vertical line per trial for its interval; the goal is shaded. Hidden without an interval."""

    def __init__(self) -> None:
        super().__init__()
        self._curve: IntervalCurve | None = None
        self._has_room = True
        self.setFixedSize(QSize(WIDTH, HEIGHT))
        self.show_decisions(())

    def show_decisions(self, decided: Sequence[PolicyDecided]) -> None:
        """Draw the intervals of the decisions on a step so far, in order of time."""
        last = decided[-1] if decided else None
        same = [one.decision for one in decided if last is not None and one.labels == last.labels]
        self._curve = interval_curve(same)
        self._update_visibility()
        if last is not None:
            text = decisions_text(last)
            kind = "sequential" if last.decision.of_ratio else "95 %"
            set_tool_tip(self, f"{text}\nVertical lines: the {kind} interval after each trial. Shaded: the goal.")
            self.setAccessibleName(text)
        self.update()

    def set_room(self, *, has_room: bool) -> None:
        """Set whether there is room for the drawing."""
        self._has_room = has_room
        self._update_visibility()

    def _update_visibility(self) -> None:
        self.setVisible(self._has_room and self._curve is not None)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the intervals, the newest in the accent colour."""
        curve = self._curve
        if curve is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = QRectF(self.rect()).adjusted(6, 3, -6, -3)
        self._draw_ground(painter, area, curve)
        for number, point in enumerate(curve.points):
            newest = number == len(curve.points) - 1
            colour = QColor(palette().accent if newest else palette().muted)
            painter.setPen(QPen(colour, 2.0 if newest else 1.2))
            x = _x(area, curve, point.trials)
            painter.drawLine(QPointF(x, _y(area, curve, point.low)), QPointF(x, _y(area, curve, point.high)))
            painter.setBrush(colour)
            painter.drawEllipse(QPointF(x, _y(area, curve, point.value)), 2.2, 2.2)

    def _draw_ground(self, painter: QPainter, area: QRectF, curve: IntervalCurve) -> None:
        if curve.wanted:
            band = QColor(palette().baseline)
            band.setAlpha(_BAND)
            top, foot = _y(area, curve, curve.wanted), _y(area, curve, -curve.wanted)
            painter.fillRect(QRectF(area.left(), top, area.width(), foot - top), band)
        painter.setPen(QPen(QColor(palette().line), 1))
        painter.drawLine(QPointF(area.left(), area.center().y()), QPointF(area.right(), area.center().y()))
        if curve.last > curve.points[-1].trials:
            painter.setPen(QPen(QColor(palette().baseline), 1, Qt.PenStyle.DashLine))
            x = _x(area, curve, curve.last)
            painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))


def _x(area: QRectF, curve: IntervalCurve, trials: int) -> float:
    first = curve.points[0].trials
    return area.left() + area.width() * (trials - first) / max(1, curve.last - first)


def _y(area: QRectF, curve: IntervalCurve, share: float) -> float:
    within = max(-curve.reach, min(curve.reach, share))
    return area.center().y() - within / curve.reach * area.height() / 2
