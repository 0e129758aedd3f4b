"""How sure a step is so far: the interval as it shrinks from trial to trial, and what is still to come."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from app.events import PolicyDecided
from app.runs.decision_words import forecast_text
from app.wording import metric_text
from widgets.live.interval_shape import Shape, shape_of
from widgets.parts.one_line import OneLine
from widgets.parts.text import set_tool_tip
from widgets.theme import SPACE, TextSize, palette, text_font

HEIGHT = 44
_BAND = 38
"""Of 255: how strongly what is wanted is shaded."""


class IntervalView(QWidget):
    """One upright line a trial, from edge to edge of the interval; shaded is how far it may reach."""

    def __init__(self) -> None:
        super().__init__()
        self._shape: Shape | None = None
        self.setMinimumSize(QSize(80, HEIGHT))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_shape(self, shape: Shape | None) -> None:
        """Draw `shape`."""
        self._shape = shape
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the intervals, the newest strongest."""
        shape = self._shape
        if shape is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = QRectF(self.rect()).adjusted(6, 3, -6, -3)
        self._draw_ground(painter, area, shape)
        for number, stand in enumerate(shape.stands):
            newest = number == len(shape.stands) - 1
            colour = QColor(palette().accent if newest else palette().muted)
            painter.setPen(QPen(colour, 2.0 if newest else 1.2))
            x = _x(area, shape, stand.trials)
            painter.drawLine(QPointF(x, _y(area, shape, stand.low)), QPointF(x, _y(area, shape, stand.high)))
            painter.setBrush(colour)
            painter.drawEllipse(QPointF(x, _y(area, shape, stand.value)), 2.2, 2.2)

    def _draw_ground(self, painter: QPainter, area: QRectF, shape: Shape) -> None:
        if shape.wanted:
            band = QColor(palette().baseline)
            band.setAlpha(_BAND)
            top, foot = _y(area, shape, shape.wanted), _y(area, shape, -shape.wanted)
            painter.fillRect(QRectF(area.left(), top, area.width(), foot - top), band)
        painter.setPen(QPen(QColor(palette().line), 1))
        painter.drawLine(QPointF(area.left(), area.center().y()), QPointF(area.right(), area.center().y()))
        if shape.last > shape.stands[-1].trials:
            painter.setPen(QPen(QColor(palette().baseline), 1, Qt.PenStyle.DashLine))
            x = _x(area, shape, shape.last)
            painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))


def _x(area: QRectF, shape: Shape, trials: int) -> float:
    first = shape.stands[0].trials
    return area.left() + area.width() * (trials - first) / max(1, shape.last - first)


def _y(area: QRectF, shape: Shape, share: float) -> float:
    within = max(-shape.reach, min(shape.reach, share))
    return area.center().y() - within / shape.reach * area.height() / 2


class RepetitionStrip(QWidget):
    """What the trials of a step say about going on. Hidden while there is nothing to say."""

    def __init__(self) -> None:
        super().__init__()
        self.caption = OneLine(text_font(TextSize.SMALL), "muted")
        self.reason = OneLine(text_font(TextSize.BODY))
        self.ahead = OneLine(text_font(TextSize.SMALL), "muted")
        self.view = IntervalView()
        words = QVBoxLayout()
        words.setSpacing(0)
        for line in (self.caption, self.reason, self.ahead):
            words.addWidget(line)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE[3])
        row.addLayout(words, 3)
        row.addWidget(self.view, 2, Qt.AlignmentFlag.AlignVCenter)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.show_decisions(())

    def show_decisions(self, decided: Sequence[PolicyDecided]) -> None:
        """Show what was decided of a place so far, the newest last."""
        last = decided[-1] if decided else None
        same = [one.decision for one in decided if last is not None and one.labels == last.labels]
        shape = shape_of(same)
        self.setVisible(shape is not None or (last is not None and last.decision.wanted is not None))
        if last is None:
            return
        figure = "" if last.metric is None else f": {metric_text(last.metric, last.labels)}"
        what = "Ratio to the baseline" if last.decision.of_ratio else "How sure it is"
        self.caption.set_text(f"{what}{figure}")
        self.reason.set_text(_first_upper(last.decision.reason))
        self.ahead.set_text(_first_upper(forecast_text(last.decision)))
        self.view.setVisible(shape is not None)
        self.view.show_shape(shape)
        told = f"{self.caption.text()}. {self.reason.text()}. {self.ahead.text()}".strip()
        set_tool_tip(self, f"{told}\nOne upright line a trial: the 95 % interval after it. Shaded: what is wanted.")
        self.setAccessibleName(told)


def _first_upper(text: str) -> str:
    return text[:1].upper() + text[1:]
