"""Plot of a metric over all comparable runs: a dot per run with its interval, levels and change points."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen

from app.history import History, HistoryPoint
from suites.quantities import count_text, figure_text, range_text, scale
from suites.verdict import NOT_JUDGED, Trust
from widgets.library.run_rows import local_time, run_start
from widgets.plots.accessible import announce
from widgets.plots.drawn_plot import DrawnPlot, SheetRow
from widgets.plots.scale import Range, fitted, plain, tick_step, ticks
from widgets.theme import figure_font, palette

_LEFT = 58
_RIGHT = 14
_TOP = 20
_FOOTER = 22
_DOT = 3.5
_NEAR = 9
"""Hover radius of a dot in pixels."""
_DATE = 92
_MARK = 6
_DAY = len("2026-01-31")


def hollow(point: HistoryPoint) -> bool:
    """Whether the run is drawn as a ring: its result is doubtful or invalid."""
    return point.trust is not None and point.trust.in_doubt


def date_texts(starts: Sequence[str]) -> list[str]:
    """Return a label of each start, in order: its day in local time; its time where the label before has its day."""
    moments = [local_time(start) for start in starts]
    days = [moment[:_DAY] for moment in moments]
    repeated = [number > 0 and days[number - 1] == day for number, day in enumerate(days)]
    return [moment[_DAY:].strip() if again else day for moment, day, again in zip(moments, days, repeated, strict=True)]


class HistoryPlot(DrawnPlot):
    """Runs in order of time at equal distances. A click or Enter emits the run."""

    run_chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._history: History | None = None
        self._current = ""
        self._at: int | None = None
        self.setMinimumSize(QSize(240, 140))

    def show_history(self, history: History, current: str) -> None:
        """Show a history; highlight the run `current`."""
        self._history, self._current = history, current
        self._at = next((index for index, point in enumerate(history.points) if point.run == current), None)
        self.setAccessibleName(f"History: {history.title}")
        self.update()

    def plot_description(self) -> str:
        """Return the number of runs, what changed, and the run at the keyboard's position."""
        if (history := self._history) is None:
            return ""
        texts = [f"{run_start(marked.after)} {marked.text}" for marked in history.marked]
        marks = "; ".join([*texts, *(f"drift {drift.text}" for drift in history.drifts)])
        here = "" if self._at is None else self.details(history.points[self._at]).replace("\n", ", ")
        return f"{count_text(len(history.points), 'run')}. {marks or 'No change detected.'} {here}".strip()

    def data_rows(self) -> Sequence[SheetRow]:
        """Return a row for each run, values in the unit of the metric."""
        if self._history is None:
            return []
        unit = f"[{self._history.metric.unit.value}]"
        changes: dict[str, list[str]] = {}
        for marked in self._history.marked:
            changes.setdefault(marked.after.run, []).append(marked.text)
        head = ("run", "started", f"value {unit}", f"low {unit}", f"high {unit}", "n", "undated", "verdict", "change")
        rows = [
            (each.run, each.started, each.value, each.low, each.high, each.n, "yes" if each.undated else "",
             str(each.trust or NOT_JUDGED), "; ".join(changes.get(each.run, ())))
            for each in self._history.points
        ]  # fmt: skip
        return [head, *rows]

    def text_at(self, position: QPointF) -> str:
        """Return the details of the run at `position`, or an empty string."""
        found = self.point_at(position)
        return self.details(found) if found else ""

    def point_at(self, position: QPointF) -> HistoryPoint | None:
        """Return the run under the pointer, or None."""
        history = self._history
        if history is None or not history.points:
            return None
        near = min(range(len(history.points)), key=lambda index: abs(self._x(index) - position.x()))
        reach = max(_NEAR, self._step() / 2)
        return history.points[near] if abs(self._x(near) - position.x()) <= reach else None

    def details(self, point: HistoryPoint) -> str:
        """Return start, value, interval, changes and id of a run, one per line."""
        if self._history is None:
            return ""
        metric = self._history.metric
        lines = [run_start(point), figure_text(metric, point.value)]
        if point.low is not None and point.high is not None:
            kind = "95 % interval" if point.interval else "range"
            noun = "hosts" if len(point.hosts) > 1 else "trials"
            lines.append(f"{range_text(metric, point.low, point.high, value=point.value)} ({kind} of {point.n} {noun})")
        if point.trust is not Trust.VALID:
            lines.append(f"Verdict: {point.trust or NOT_JUDGED}")
        if point.run in self._history.outliers:
            lines.append("Treated as an outlier")
        lines += [marked.text for marked in self._history.marked if marked.after.run == point.run]
        return "\n".join([*lines, point.run])

    # Input

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Emit the run under the pointer."""
        found = self.point_at(event.position())
        if found is not None and event.button() is Qt.MouseButton.LeftButton:
            self.run_chosen.emit(found.run)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move between runs with Left and Right; emit the current one on Enter."""
        steps = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
        history, key = self._history, Qt.Key(event.key())
        if history is None or not history.points:
            super().keyPressEvent(event)
        elif key in steps:
            last = len(history.points) - 1
            self._at = min(last, max(0, (last if self._at is None else self._at) + steps[key]))
            announce(self)
            self.update()
        elif key in {Qt.Key.Key_Return, Qt.Key.Key_Enter} and self._at is not None:
            self.run_chosen.emit(history.points[self._at].run)
        else:
            super().keyPressEvent(event)

    # Drawing

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw axes, levels, marks and dots."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), QColor(palette().surface))
        if self._history is None or not self._history.points:
            return
        bounds = self._bounds(self._history)
        self._draw_axes(painter, self._history, bounds)
        self._draw_marks(painter, self._history, bounds)
        self._draw_points(painter, self._history, bounds)
        self.draw_focus(painter)

    def _area(self) -> QRectF:
        return QRectF(_LEFT, _TOP, max(1, self.width() - _LEFT - _RIGHT), max(1, self.height() - _TOP - _FOOTER))

    def _step(self) -> float:
        count = len(self._history.points) if self._history is not None else 1
        return self._area().width() / max(1, count)

    def _x(self, index: float) -> float:
        return self._area().left() + (index + 0.5) * self._step()

    def _y(self, value: float, bounds: Range) -> float:
        area = self._area()
        return area.bottom() - (value - bounds.low) / bounds.span * area.height()

    def _bounds(self, history: History) -> Range:
        lows = [point.value if point.low is None else point.low for point in history.points]
        highs = [point.value if point.high is None else point.high for point in history.points]
        return fitted(min(lows), max(highs))

    def _draw_axes(self, painter: QPainter, history: History, bounds: Range) -> None:
        colours, area = palette(), self._area()
        divisor, suffix = scale(history.metric, bounds.high)
        low, high = bounds.low / divisor, bounds.high / divisor
        wanted = max(2, int(area.height() / 32))
        step = tick_step(high - low, wanted)
        painter.setFont(figure_font(8.5))
        for value in ticks(low, high, wanted):
            y = self._y(value * divisor, bounds)
            painter.setPen(QPen(QColor(colours.line), 1))
            painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
            painter.setPen(QColor(colours.muted))
            right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(QRectF(0, y - 8, _LEFT - 6, 16), int(right), plain(value, step))
        painter.drawText(QRectF(4, 1, _LEFT + 120, _TOP - 2), int(Qt.AlignmentFlag.AlignVCenter), suffix)
        self._draw_dates(painter, history, area)

    def _draw_dates(self, painter: QPainter, history: History, area: QRectF) -> None:
        every = max(1, round(_DATE * 1.3 / max(self._step(), 0.01)))
        shown = range(0, len(history.points), every)
        texts = date_texts([history.points[index].started for index in shown])
        for index, text in zip(shown, texts, strict=True):
            middle = min(max(self._x(index), _DATE / 2), self.width() - _DATE / 2)
            box = QRectF(middle - _DATE / 2, area.bottom() + 3, _DATE, _FOOTER - 4)
            painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), text)

    def _draw_marks(self, painter: QPainter, history: History, bounds: Range) -> None:
        colours, area = palette(), self._area()
        if history.marked or history.drifts:
            painter.setPen(QPen(QColor(colours.baseline), 1.4))
            for start, end, first, last in history.found.levels:
                left, right = QPointF(self._x(start - 0.5), self._y(first, bounds)), self._x(end - 0.5)
                painter.drawLine(left, QPointF(right, self._y(last, bounds)))
        for number, marked in enumerate(history.marked, 1):
            x = self._x(marked.change.index - 0.5)
            colour = QColor(colours.muted if marked.within else colours.warning)
            painter.setFont(figure_font(8.5, bold=not marked.within))
            painter.setPen(QPen(colour, 1, Qt.PenStyle.DotLine))
            painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))
            painter.setPen(colour)
            painter.drawText(QRectF(x - 20, 1, 40, _TOP - 2), int(Qt.AlignmentFlag.AlignCenter), f"▼{number}")

    def _draw_points(self, painter: QPainter, history: History, bounds: Range) -> None:
        colour, text = QColor(palette().accent), QColor(palette().text)
        size = _DOT if self._step() > 5 else 1.8
        for index, point in enumerate(history.points):
            x, y = self._x(index), self._y(point.value, bounds)
            painter.setPen(QPen(colour, 1))
            if point.low is not None and point.high is not None:
                painter.drawLine(QPointF(x, self._y(point.low, bounds)), QPointF(x, self._y(point.high, bounds)))
            own = point.run == self._current
            fill = text if own else colour
            if hollow(point):
                painter.setPen(QPen(fill, 1.4))
                fill = QColor(palette().surface)
            painter.setBrush(fill)
            painter.drawEllipse(QPointF(x, y), size + own, size + own)
            if index == self._at and self.hasFocus():
                painter.setPen(QPen(text, 1))
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.drawEllipse(QPointF(x, y), size + _MARK / 2, size + _MARK / 2)
