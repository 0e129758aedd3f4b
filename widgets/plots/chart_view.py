"""Widget that draws a chart (title, legend, axes, series) and copies it as picture or data."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
)

from app.chart import Chart, ChartAxis, ChartMark, ChartSeries, HeatCell, chart_table
from suites.quantities import decimals
from widgets.parts.text import visible
from widgets.plots.axis import tick_font, value_width
from widgets.plots.drawn_plot import DrawnPlot, SheetRow
from widgets.plots.scale import logarithmic_ticks, plain, tick_step, ticks
from widgets.theme import SPACE, TextSize, palette, series_colour, text_font

_ACROSS, _UPWARD = 3.4, 2.4
"""Distance between ticks in heights of their labels."""


@dataclass(frozen=True, slots=True)
class AxisSpan:
    """One axis on the screen: values `low` to `high` map to the pixels `start` to `end`."""

    axis: ChartAxis
    low: float
    high: float
    start: float
    end: float

    def pixel(self, value: float) -> float:
        """Return the pixel of `value`, at most one axis length before `start` or beyond `end`."""
        if self.axis.logarithmic:
            value = max(value, self.low / 10)
            part = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            part = (value - self.low) / (self.high - self.low)
        return self.start + min(max(part, -1.0), 2.0) * (self.end - self.start)

    def ticks(self) -> list[tuple[float, str]]:
        """Return the values of the ticks with their labels."""
        if self.axis.names:
            return [(float(index), name) for index, name in enumerate(self.axis.names)]
        divisor, _ = self.axis.scale(self.high)
        low, high = self.low / divisor, self.high / divisor
        distance = (_ACROSS if self.end > self.start else _UPWARD) * QFontMetricsF(tick_font()).height()
        wanted = max(2, int(abs(self.end - self.start) / distance))
        if self.axis.logarithmic:
            return [(value * divisor, f"{value:g}") for value in logarithmic_ticks(low, high, wanted)]
        step = tick_step(high - low, wanted)
        return [(value * divisor, plain(value, step)) for value in ticks(low, high, wanted)]


@dataclass(frozen=True, slots=True)
class Frame:
    """The axes of a chart within an area of the screen."""

    area: QRectF
    x: AxisSpan
    y: AxisSpan

    def point(self, x: float, y: float) -> QPointF:
        """Return the position of a point in pixels."""
        return QPointF(self.x.pixel(x), self.y.pixel(y))


def frame_of(chart: Chart, area: QRectF) -> Frame:
    """Return the axes of `chart` in `area`: y values upwards, named rows downwards."""
    across = AxisSpan(chart.x, *chart.span(chart.x), area.left(), area.right())
    ends = (area.top(), area.bottom()) if chart.y.names else (area.bottom(), area.top())
    return Frame(area, across, AxisSpan(chart.y, *chart.span(chart.y), *ends))


_RIGHT = 12
_DOT = 3.5
_RADII = {ChartMark.DOTS: _DOT, ChartMark.POINTS: 1.5}
_ROW = 22
"""Height of a named row in pixels."""

_WIDEST = 0.45
"""Largest share of the width for the names of rows."""

_NEAR = 9
"""Distance in pixels within which the pointer reads a point."""

_KEY = 22
"""Width in pixels of the mark of a legend entry with the gap after it."""

_SHADE = 45
_LIGHTEST = 0.08
"""Alpha (0 to 1) of the lightest cell of a heat map."""


def _row() -> float:
    """Return the height in pixels of a line of text: a legend's; a title has a fifth more, a foot twice as much."""
    return QFontMetricsF(text_font(TextSize.SMALL)).height() + 3


class ChartView(DrawnPlot):
    """Widget of one chart."""

    def __init__(self) -> None:
        super().__init__()
        self.chart: Chart | None = None

    def show_chart(self, chart: Chart | None) -> None:
        """Show `chart`, or nothing."""
        self.chart = chart
        rows = len(chart.y.names) if chart is not None else 0
        self.setMinimumSize(QSize(220, round(4.2 * _row()) + max(70, _ROW * rows)))
        self.setAccessibleName(chart.title if chart is not None else "")
        self.update()

    def plot_description(self) -> str:
        """Return the axes, the series with their last points, and the note."""
        if self.chart is None:
            return ""
        axes = " by ".join(filter(None, (self.chart.y.title, self.chart.x.title)))
        drawn = [series for series in self.chart.series if len(series.xs)]
        lasts = [_point_text(self.chart, series, len(series.xs) - 1).replace("\n", ", ") for series in drawn]
        return "; ".join(filter(None, [axes, *lasts, self.chart.note]))

    def data_rows(self) -> Sequence[SheetRow]:
        """Return the chart's data."""
        return [] if self.chart is None else chart_table(self.chart)

    def text_at(self, position: QPointF) -> str:
        """Return the text of the point or cell at `position`, or an empty string."""
        if self.chart is None:
            return ""
        frame = self._frame(self.chart)
        cell = _cell_at(self.chart, frame, position)
        if cell is not None:
            return _cell_text(self.chart, cell)
        found = [
            ((frame.point(x, y) - position).manhattanLength(), series, index)
            for series in self.chart.series
            for index, (x, y) in enumerate(zip(series.xs, series.ys, strict=True))
            if series.mark is not ChartMark.BARS
        ]
        near = min(found, default=(_NEAR + 1, None, 0), key=lambda each: each[0])
        return "" if near[1] is None or near[0] > _NEAR else _point_text(self.chart, near[1], near[2])

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the chart."""
        if self.chart is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        frame = self._frame(self.chart)
        painter.fillRect(frame.area, QColor(palette().surface))
        self._draw_texts(painter, self.chart, frame)
        _draw_axes(painter, frame, self._names_end())
        painter.save()
        painter.setClipRect(frame.area.adjusted(-_DOT, -_DOT, _DOT, _DOT))
        for series in self.chart.series:
            _draw_series(painter, frame, series)
        painter.restore()
        self.draw_focus(painter)

    def _names_end(self) -> float:
        """Return the width in pixels of the row names or the y axis's tick labels."""
        if self.chart is None or not self.chart.y.names:
            return value_width()
        metrics = QFontMetricsF(text_font(TextSize.SMALL))
        widest = max(metrics.horizontalAdvance(name) for name in self.chart.y.names)
        return min(widest + SPACE[2], _WIDEST * self.width())

    def _frame(self, chart: Chart) -> Frame:
        left = self._names_end()
        top = (1.2 + max((row + 1 for _, row, _ in self._keys(chart)), default=0)) * _row()
        area = QRectF(left, top, max(20.0, self.width() - left - _RIGHT), max(20.0, self.height() - top - 2 * _row()))
        return frame_of(chart, area)

    def _draw_texts(self, painter: QPainter, chart: Chart, frame: Frame) -> None:
        painter.setFont(text_font(TextSize.SMALL, bold=True))
        painter.setPen(QColor(palette().text))
        unit, fonts = _titled("", frame.y), painter.fontMetrics()
        room = self.width() - fonts.horizontalAdvance(unit)
        title = fonts.elidedText(visible(chart.title), Qt.TextElideMode.ElideMiddle, room)
        painter.drawText(QRectF(0, 0, self.width(), 1.2 * _row()), int(Qt.AlignmentFlag.AlignVCenter), f"{title}{unit}")
        painter.setFont(text_font(TextSize.SMALL))
        painter.setPen(QColor(palette().muted))
        below = QRectF(0, self.height() - _row(), self.width() - _RIGHT, _row())
        painter.drawText(below, int(Qt.AlignmentFlag.AlignRight), _titled(chart.x.title, frame.x))
        for series, row, left in self._keys(chart):
            _draw_key(painter, series, left, (1.7 + row) * _row(), self.width())

    def _keys(self, chart: Chart) -> Iterator[tuple[ChartSeries, int, float]]:
        """Yield the entries of the legend with their rows and left edges; one that does not fit begins a row."""
        left, row, fonts = 0.0, 0, QFontMetricsF(text_font(TextSize.SMALL))
        for series in chart.series:
            if series.name:
                wide = _KEY + fonts.horizontalAdvance(visible(series.name))
                if left and left + wide > self.width():
                    left, row = 0.0, row + 1
                yield series, row, left
                left += wide + SPACE[3]


def _titled(title: str, direction: AxisSpan) -> str:
    _, suffix = direction.axis.scale(direction.high)
    return f"{title} [{suffix}]" if suffix else title


def _point_text(chart: Chart, series: ChartSeries, index: int) -> str:
    parts = [series.name] if series.name else []
    for axis, value in ((chart.x, series.xs[index]), (chart.y, series.ys[index])):
        divisor, suffix = axis.scale(chart.span(axis)[1])
        figure = axis.names[round(value)] if axis.names else f"{_number(axis, value / divisor)} {suffix}".strip()
        parts.append(f"{axis.title}: {figure}" if axis.title and not axis.names else figure)
    return "\n".join(parts)


def _number(axis: ChartAxis, value: float) -> str:
    """Return a measured value with three significant digits; a swept one without trailing zeros."""
    measured = axis.metric is not None or axis.share
    return f"{value:.{decimals(value)}f}" if measured else f"{value:.4g}"


def _cell_at(chart: Chart, frame: Frame, position: QPointF) -> HeatCell | None:
    """Return the cell of a heat map at `position`, or None."""
    cells = (cell for series in chart.series for cell in series.cells)
    return next(
        (
            cell
            for cell in cells
            if QRectF(frame.point(cell.left, cell.high), frame.point(cell.right, cell.low)).contains(position)
        ),
        None,
    )


def _cell_text(chart: Chart, cell: HeatCell) -> str:
    divisor, suffix = chart.y.scale(cell.high)
    return (
        f"{cell.count} from {cell.low / divisor:.3g} to {cell.high / divisor:.3g} {suffix}\n"
        f"{chart.x.title} {cell.left:.3g} to {cell.right:.3g}"
    )


def colour_of(series: ChartSeries) -> QColor:
    """Return the colour of a series: that of its run, or grey for baselines and guides."""
    return QColor(palette().baseline) if series.colour is None else series_colour(series.colour)


def _draw_key(painter: QPainter, series: ChartSeries, left: float, middle: float, right: float) -> None:
    """Draw a legend entry from `left` to `right` at most."""
    painter.setPen(_pen(series, 2))
    if radius := _RADII.get(series.mark):
        painter.setBrush(colour_of(series))
        painter.drawEllipse(QPointF(left + 8, middle), radius, radius)
    else:
        painter.drawLine(QPointF(left, middle), QPointF(left + 16, middle))
    painter.setPen(QColor(palette().text))
    box = QRectF(left + _KEY, middle - _row() / 2, max(0.0, right - left - _KEY), _row())
    shown = painter.fontMetrics().elidedText(visible(series.name), Qt.TextElideMode.ElideRight, math.ceil(box.width()))
    painter.drawText(box, int(Qt.AlignmentFlag.AlignVCenter), shown)


def _pen(series: ChartSeries, width: float = 1) -> QPen:
    pen = QPen(colour_of(series), width)
    if series.dashed:
        pen.setStyle(Qt.PenStyle.DashLine)
    return pen


def _draw_axes(painter: QPainter, frame: Frame, left: float) -> None:
    colours, area = palette(), frame.area
    painter.setFont(tick_font())
    for value, text in frame.x.ticks():
        x = frame.x.pixel(value)
        painter.setPen(QPen(QColor(colours.line), 1))
        painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))
        painter.setPen(QColor(colours.muted))
        box = QRectF(x - 40, area.bottom() + 2, 80, _row())
        painter.drawText(box, int(Qt.AlignmentFlag.AlignHCenter), text)
    if frame.y.axis.names:
        painter.setFont(text_font(TextSize.SMALL))
    for value, text in frame.y.ticks():
        y = frame.y.pixel(value)
        painter.setPen(QPen(QColor(colours.line), 1))
        painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
        painter.setPen(QColor(colours.text if frame.y.axis.names else colours.muted))
        box = QRectF(0, y - 9, left - 6, 18)
        shown = painter.fontMetrics().elidedText(visible(text), Qt.TextElideMode.ElideMiddle, int(box.width()))
        painter.drawText(box, int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter), shown)


def _draw_heat(painter: QPainter, frame: Frame, series: ChartSeries) -> None:
    shade = colour_of(series)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    for cell in series.cells:
        shade.setAlphaF(_LIGHTEST + (1 - _LIGHTEST) * cell.weight)
        painter.fillRect(QRectF(frame.point(cell.left, cell.high), frame.point(cell.right, cell.low)), shade)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)


def _draw_series(painter: QPainter, frame: Frame, series: ChartSeries) -> None:
    if series.mark is ChartMark.HEAT:
        _draw_heat(painter, frame, series)
        return
    if radius := _RADII.get(series.mark):
        _draw_dots(painter, frame, series, radius)
        return
    stepped = series.mark is not ChartMark.LINE
    _draw_shade(painter, frame, series, stepped=stepped)
    line = _line(frame, list(zip(series.xs, series.ys, strict=True)), stepped=stepped)
    if series.mark is ChartMark.BARS:
        _fill(
            painter,
            series,
            [*line, QPointF(line[-1].x(), frame.area.bottom()), QPointF(line[0].x(), frame.area.bottom())],
        )
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(_pen(series))
    painter.drawPolyline(QPolygonF(line))


def _draw_dots(painter: QPainter, frame: Frame, series: ChartSeries, radius: float) -> None:
    painter.setPen(_pen(series, 1.4))
    for x, y, low, high in series.whiskers():
        ends = ((low, y), (high, y)) if series.across else ((x, low), (x, high))
        painter.drawLine(frame.point(*ends[0]), frame.point(*ends[1]))
    painter.setBrush(colour_of(series))
    for x, y in zip(series.xs, series.ys, strict=True):
        painter.drawEllipse(frame.point(x, y), radius, radius)


def _draw_shade(painter: QPainter, frame: Frame, series: ChartSeries, *, stepped: bool) -> None:
    known = series.whiskers()
    if known:
        lower = _line(frame, [(x, low) for x, _, low, _ in known], stepped=stepped)
        upper = _line(frame, [(x, high) for x, _, _, high in known], stepped=stepped)
        _fill(painter, series, [*lower, *reversed(upper)])


def _fill(painter: QPainter, series: ChartSeries, edge: list[QPointF]) -> None:
    shade = colour_of(series)
    shade.setAlpha(_SHADE)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(shade)
    painter.drawPolygon(QPolygonF(edge))


def _line(frame: Frame, points: list[tuple[float, float]], *, stepped: bool) -> list[QPointF]:
    """Return a line through `points`; stepped, it holds each value until the next."""
    placed = [frame.point(x, y) for x, y in points]
    if not stepped:
        return placed
    line: list[QPointF] = []
    for point in placed:
        if line:
            line.append(QPointF(point.x(), line[-1].y()))
        line.append(point)
    return line
