"""Dot plot of the trials of each run on a shared axis, with their means."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen

from app.comparison.comparison import ComparisonRow, run_letter
from app.events import State
from app.records import RunRecord, TrialRecord
from suites.quantities import figure_text, metric_text, scale
from suites.units import Unit
from suites.vocab import Labels, Metric
from widgets.compare.cells import draw_mark, run_colour
from widgets.compare.compare_rows import Compared
from widgets.parts.text import visible
from widgets.plots.drawn_plot import DrawnPlot, SheetRow
from widgets.plots.scale import fitted, plain, tick_step, ticks
from widgets.theme import SPACE, TextSize, figure_font, palette, text_font


@dataclass(frozen=True, slots=True)
class Dot:
    """One trial's value. `left_out` is the reason why it does not count, or empty."""

    value: float
    number: int
    left_out: str = ""


@dataclass(frozen=True, slots=True)
class RunLane:
    """Trials of one run and the mean of the counted ones."""

    number: int
    dots: tuple[Dot, ...]
    value: float | None

    @property
    def letter(self) -> str:
        """The letter of the run."""
        return run_letter(self.number)


def lanes_of(compared: Compared, row: ComparisonRow) -> list[RunLane]:
    """Return a lane for each run, baseline first; empty for a run with another unit."""
    return [_lane(compared.records[number], row, number) for number in range(len(row.sides))]


def _lane(record: RunRecord, row: ComparisonRow, number: int) -> RunLane:
    side = row.sides[number]
    if side is not None and side.metric.unit is not row.metric.unit:
        return RunLane(number, (), None)
    step, host = (row.step, row.host) if side is None else (side.step, side.host)
    hosts = {host} if side is None else {host, *side.hosts}
    trials = [trial for trial in record.trials if trial.trial.step == step and trial.trial.host in hosts]
    dots = tuple(dot for trial in trials for dot in _dots(trial, row))
    return RunLane(number, dots, None if side is None else side.value)


def _dots(trial: TrialRecord, row: ComparisonRow) -> Iterator[Dot]:
    for figure in trial.figures:
        if _key(figure.metric, figure.labels) == _key(row.metric, row.labels):
            yield Dot(figure.value, trial.trial.number, _exclusion_reason(trial))


def _exclusion_reason(trial: TrialRecord) -> str:
    if trial.trial.warm_up:
        return f"{trial.trial.kind}, not counted"
    if trial.state is not State.DONE:
        return f"{trial.state.text}, not counted" + (f": {trial.reason}" if trial.reason else "")
    return ""


def _key(metric: Metric, labelled: Labels) -> tuple[str, Labels, Unit]:
    return metric.name, labelled, metric.unit


_LANE = 15
_LEFT = 40
_RIGHT = 14
_AXIS = 22
_TITLE = 22
_DOT = 3.5
_MEAN = 15
_NEAR = 8
"""Hover radius of a dot in pixels."""

_TICK = 52
_BAND = 38


@dataclass(frozen=True, slots=True)
class _DotAxis:
    low: float
    high: float
    area: QRectF

    def x(self, value: float) -> float:
        return self.area.left() + (value - self.low) / (self.high - self.low) * self.area.width()


class TrialDots(DrawnPlot):
    """Lanes of dots on one axis fitted to the data; the tick in a lane is the mean."""

    def __init__(self) -> None:
        super().__init__()
        self._metric: Metric | None = None
        self._labels: Labels = ()
        self._lanes: Sequence[RunLane] = ()
        self._margin = 0.0
        self.setMinimumSize(QSize(200, _TITLE + _AXIS + 2 * _LANE))

    def show_lanes(self, metric: Metric, labelled: Labels, lanes: Sequence[RunLane], margin: float) -> None:
        """Show the trials of `metric`; the margin around the baseline’s value is shaded."""
        self._metric, self._labels, self._lanes, self._margin = metric, labelled, lanes, margin
        self.setMinimumHeight(_TITLE + _AXIS + _LANE * len(lanes))
        self.setAccessibleName(f"Trials: {metric_text(metric, labelled)}")
        self.update()

    def plot_description(self) -> str:
        """Return the values of each run."""
        return "; ".join(self._lane_text(lane) for lane in self._lanes)

    def data_rows(self) -> Sequence[SheetRow]:
        """Return a row for each trial, values in the unit of the metric."""
        if self._metric is None:
            return []
        head = ("run", "trial", f"value [{self._metric.unit.value}]", "left out")
        rows = [(lane.letter, dot.number, dot.value, dot.left_out) for lane in self._lanes for dot in lane.dots]
        return [head, *rows]

    def text_at(self, position: QPointF) -> str:
        """Return the trial at `position`, or an empty string."""
        found = self.dot_at(position)
        return self._dot_text(*found) if found else ""

    def dot_at(self, position: QPointF) -> tuple[RunLane, Dot] | None:
        """Return the trial under the pointer, or None."""
        axis = self._axis()
        if axis is None:
            return None
        for index, lane in enumerate(self._lanes):
            placed = self._placed(axis, lane, self._y(axis, index))
            near = [(dot, point) for dot, point in placed if _distance(point, position) < _NEAR]
            if near:
                return lane, min(near, key=lambda pair: (pair[1] - position).manhattanLength())[0]
        return None

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
        for index, lane in enumerate(self._lanes):
            self._draw_lane(painter, axis, lane, self._y(axis, index))
        self.draw_focus(painter)

    def _axis(self) -> _DotAxis | None:
        values = [dot.value for lane in self._lanes for dot in lane.dots]
        if not values:
            return None
        base = self._lanes[0].value
        edges = [base * (1 - self._margin), base * (1 + self._margin)] if base is not None and base > 0 else []
        bounds = fitted(min([*values, *edges]), max([*values, *edges]))
        height = self.height() - _TITLE - _AXIS
        return _DotAxis(bounds.low, bounds.high, QRectF(_LEFT, _TITLE, max(1, self.width() - _LEFT - _RIGHT), height))

    def _y(self, axis: _DotAxis, index: int) -> float:
        return axis.area.top() + (index + 0.5) * axis.area.height() / max(1, len(self._lanes))

    def _draw_title(self, painter: QPainter, metric: Metric, axis: _DotAxis) -> None:
        suffix = scale(metric, axis.high).suffix
        title = f"Trials: {metric_text(metric, self._labels)}{f' [{suffix}]' if suffix else ''}"
        painter.setFont(text_font(TextSize.SMALL, bold=True))
        painter.setPen(QColor(palette().text))
        area = QRectF(0, 0, self.width(), _TITLE)
        shown = painter.fontMetrics().elidedText(visible(title), Qt.TextElideMode.ElideRight, self.width())
        painter.drawText(area, int(Qt.AlignmentFlag.AlignVCenter), shown)

    def _draw_margin(self, painter: QPainter, axis: _DotAxis) -> None:
        base = self._lanes[0].value
        if base is None or base <= 0:
            return
        shade = QColor(palette().baseline)
        shade.setAlpha(_BAND)
        left, right = axis.x(base * (1 - self._margin)), axis.x(base * (1 + self._margin))
        painter.fillRect(QRectF(left, axis.area.top(), right - left, axis.area.height()), shade)

    def _draw_axis(self, painter: QPainter, metric: Metric, axis: _DotAxis) -> None:
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

    def _draw_lane(self, painter: QPainter, axis: _DotAxis, lane: RunLane, y: float) -> None:
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
        if lane.value is not None:
            painter.setPen(QPen(QColor(colours.text), 1.4))
            x, half = axis.x(lane.value), min(_MEAN, axis.area.height() / len(self._lanes) / 2 - 1)
            painter.drawLine(QPointF(x, y - half), QPointF(x, y + half))

    def _placed(self, axis: _DotAxis, lane: RunLane, y: float) -> list[tuple[Dot, QPointF]]:
        """Return the positions of a lane's dots; overlapping dots move up or down (beeswarm)."""
        height = axis.area.height() / max(1, len(self._lanes)) / 2 - _DOT - 1
        moves = [way * step * 2 * _DOT for step in range(1 + int(height / (2 * _DOT))) for way in (1, -1)]
        last: dict[float, float] = {}  # x of the last dot by its move; those of other moves are apart
        placed: list[tuple[Dot, QPointF]] = []
        for dot in sorted(lane.dots, key=lambda dot: dot.value):
            x = axis.x(dot.value)
            move = next((move for move in moves if x - last.get(move, -math.inf) >= 2 * _DOT - 0.5), 0.0)
            last[move] = x
            placed.append((dot, QPointF(x, y + move)))
        return placed

    def _dot_text(self, lane: RunLane, dot: Dot) -> str:
        if self._metric is None:
            return ""
        text = f"{lane.letter}, trial {dot.number}: {figure_text(self._metric, dot.value)}"
        return f"{text}\n{dot.left_out}" if dot.left_out else text

    def _lane_text(self, lane: RunLane) -> str:
        values = ", ".join(figure_text(self._metric, dot.value) for dot in lane.dots) if self._metric else ""
        return f"{lane.letter}: {values or 'not measured'}"


def _distance(one: QPointF, other: QPointF) -> float:
    return math.hypot(one.x() - other.x(), one.y() - other.y())
