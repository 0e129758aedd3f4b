"""Draws a chart: title, legend, axes, series, and the words below it; copies as picture and as data."""

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import (
    QAction,
    QColor,
    QFontMetricsF,
    QGuiApplication,
    QHelpEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app.chart import Cell, Chart, Mark, Series, chart_table
from widgets.charts.chart_frame import Direction, Frame, frame_of
from widgets.parts.sheet_text import sheet_text
from widgets.parts.text import tool_tip, visible
from widgets.theme import SPACE, TextSize, figure_font, palette, series_colour, text_font

_TITLE, _LEGEND, _FOOT = 22, 18, 36
_LEFT, _RIGHT = 46, 12
_DOT = 3.5
_ROW = 22
"""Pixels of a named row."""

_WIDEST = 0.45
"""The share of the width that the names of rows may take."""

_NEAR = 9
"""Pixels around a point in which the pointer reads it."""

_SHADE = 45
_LIGHTEST = 0.08
"""How dark the lightest field of a heat map is, of one."""


class ChartView(QWidget):
    """Shows one chart. The pointer reads a point, the menu and the usual keys copy."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.chart: Chart | None = None
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMouseTracking(True)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self._offer("Copy picture", "Ctrl+Shift+C").triggered.connect(self.copy_picture)
        self._offer("Copy data", "Ctrl+C").triggered.connect(self.copy_data)

    def show_chart(self, chart: Chart | None) -> None:
        """Show `chart`, or nothing."""
        self.chart = chart
        rows = len(chart.y.names) if chart is not None else 0
        self.setMinimumSize(QSize(220, _TITLE + _LEGEND + _FOOT + max(70, _ROW * rows)))
        self.setAccessibleName(chart.title if chart is not None else "")
        self.setAccessibleDescription(chart.note if chart is not None else "")
        self.update()

    def copy_picture(self) -> None:
        """Put the chart on the clipboard as a picture."""
        QGuiApplication.clipboard().setPixmap(self.grab())

    def copy_data(self) -> None:
        """Put the chart on the clipboard for a spreadsheet."""
        if self.chart is not None:
            QGuiApplication.clipboard().setText(sheet_text(chart_table(self.chart)))

    def words_at(self, position: QPointF) -> str:
        """Return what the point under the pointer is, or an empty string."""
        if self.chart is None:
            return ""
        frame = self._frame(self.chart)
        cell = _cell_at(self.chart, frame, position)
        if cell is not None:
            return _cell_words(self.chart, cell)
        found = [
            ((frame.point(x, y) - position).manhattanLength(), series, index)
            for series in self.chart.series
            for index, (x, y) in enumerate(zip(series.xs, series.ys, strict=True))
            if series.mark is not Mark.BARS
        ]
        near = min(found, default=(_NEAR + 1, None, 0), key=lambda each: each[0])
        return "" if near[1] is None or near[0] > _NEAR else _words(self.chart, near[1], near[2])

    def event(self, event: QEvent) -> bool:
        """Tell in a tool tip what is under the pointer."""
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip:
            words = self.words_at(QPointF(event.pos()))
            QToolTip.showText(event.globalPos(), tool_tip(words) if words else "", self)
            return True
        return super().event(event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the chart."""
        if self.chart is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        frame = self._frame(self.chart)
        painter.fillRect(frame.area, QColor(palette().surface))
        self._draw_words(painter, self.chart, frame)
        _draw_axes(painter, frame, self._names_end())
        painter.save()
        painter.setClipRect(frame.area.adjusted(-_DOT, -_DOT, _DOT, _DOT))
        for series in self.chart.series:
            _draw_series(painter, frame, series)
        painter.restore()
        if self.hasFocus():
            painter.setPen(QColor(palette().accent))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))

    def _offer(self, text: str, keys: str) -> QAction:
        action = QAction(text, self)
        action.setShortcut(QKeySequence(keys))
        action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        self.addAction(action)
        return action

    def _names_end(self) -> float:
        """Return the pixel at which the names of rows end, or the figures of the level axis."""
        if self.chart is None or not self.chart.y.names:
            return _LEFT
        metrics = QFontMetricsF(text_font(TextSize.SMALL))
        widest = max(metrics.horizontalAdvance(name) for name in self.chart.y.names)
        return min(widest + SPACE[2], _WIDEST * self.width())

    def _frame(self, chart: Chart) -> Frame:
        left = self._names_end()
        top = _TITLE + (_LEGEND if any(series.name for series in chart.series) else 0)
        area = QRectF(left, top, max(20.0, self.width() - left - _RIGHT), max(20.0, self.height() - top - _FOOT))
        return frame_of(chart, area)

    def _draw_words(self, painter: QPainter, chart: Chart, frame: Frame) -> None:
        painter.setFont(text_font(TextSize.SMALL, bold=True))
        painter.setPen(QColor(palette().text))
        unit = _titled("", frame.y)
        shown = painter.fontMetrics().elidedText(
            visible(f"{chart.title}{unit}"), Qt.TextElideMode.ElideRight, self.width()
        )
        painter.drawText(QRectF(0, 0, self.width(), _TITLE), int(Qt.AlignmentFlag.AlignVCenter), shown)
        painter.setFont(text_font(TextSize.SMALL))
        painter.setPen(QColor(palette().muted))
        below = QRectF(0, self.height() - _FOOT / 2, self.width() - _RIGHT, _FOOT / 2)
        painter.drawText(below, int(Qt.AlignmentFlag.AlignRight), _titled(chart.x.title, frame.x))
        left = 0.0
        for series in chart.series:
            left = _draw_key(painter, series, left, _TITLE + _LEGEND / 2) if series.name else left


def _titled(title: str, direction: Direction) -> str:
    _, suffix = direction.axis.scale(direction.high)
    return f"{title} [{suffix}]" if suffix else title


def _words(chart: Chart, series: Series, index: int) -> str:
    parts = [series.name] if series.name else []
    for axis, value in ((chart.x, series.xs[index]), (chart.y, series.ys[index])):
        divisor, suffix = axis.scale(chart.span(axis)[1])
        figure = axis.names[round(value)] if axis.names else f"{value / divisor:.4g} {suffix}".strip()
        parts.append(f"{axis.title}: {figure}" if axis.title and not axis.names else figure)
    return "\n".join(parts)


def _cell_at(chart: Chart, frame: Frame, position: QPointF) -> Cell | None:
    """Return the field of a heat map under the pointer, or None."""
    cells = (cell for series in chart.series for cell in series.cells)
    return next(
        (
            cell
            for cell in cells
            if QRectF(frame.point(cell.left, cell.high), frame.point(cell.right, cell.low)).contains(position)
        ),
        None,
    )


def _cell_words(chart: Chart, cell: Cell) -> str:
    divisor, suffix = chart.y.scale(cell.high)
    return (
        f"{cell.count} from {cell.low / divisor:.3g} to {cell.high / divisor:.3g} {suffix}\n"
        f"{chart.x.title} {cell.left:.3g} to {cell.right:.3g}"
    )


def colour_of(series: Series) -> QColor:
    """Return the colour of a series: of a run, or the grey of the baseline and of what guides the eye."""
    return QColor(palette().baseline) if series.colour is None else series_colour(series.colour)


def _draw_key(painter: QPainter, series: Series, left: float, middle: float) -> float:
    """Draw a line and the name of a series; return where the next begins."""
    painter.setPen(_pen(series, 2))
    if series.mark is Mark.DOTS:
        painter.setBrush(colour_of(series))
        painter.drawEllipse(QPointF(left + 8, middle), _DOT, _DOT)
    else:
        painter.drawLine(QPointF(left, middle), QPointF(left + 16, middle))
    painter.setPen(QColor(palette().text))
    wide = painter.fontMetrics().horizontalAdvance(series.name)
    box = QRectF(left + 22, middle - _LEGEND / 2, wide + 2, _LEGEND)
    painter.drawText(box, int(Qt.AlignmentFlag.AlignVCenter), visible(series.name))
    return left + 22 + wide + SPACE[3]


def _pen(series: Series, width: float = 1) -> QPen:
    pen = QPen(colour_of(series), width)
    if series.dashed:
        pen.setStyle(Qt.PenStyle.DashLine)
    return pen


def _draw_axes(painter: QPainter, frame: Frame, left: float) -> None:
    colours, area = palette(), frame.area
    painter.setFont(figure_font(8.5))
    for value, text in frame.x.ticks():
        x = frame.x.place(value)
        painter.setPen(QPen(QColor(colours.line), 1))
        painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))
        painter.setPen(QColor(colours.muted))
        box = QRectF(x - 40, area.bottom() + 2, 80, _FOOT / 2)
        painter.drawText(box, int(Qt.AlignmentFlag.AlignHCenter), text)
    if frame.y.axis.names:
        painter.setFont(text_font(TextSize.SMALL))
    for value, text in frame.y.ticks():
        y = frame.y.place(value)
        painter.setPen(QPen(QColor(colours.line), 1))
        painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
        painter.setPen(QColor(colours.text if frame.y.axis.names else colours.muted))
        box = QRectF(0, y - 9, left - 6, 18)
        shown = painter.fontMetrics().elidedText(visible(text), Qt.TextElideMode.ElideMiddle, int(box.width()))
        painter.drawText(box, int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter), shown)


def _draw_heat(painter: QPainter, frame: Frame, series: Series) -> None:
    shade = colour_of(series)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    for cell in series.cells:
        shade.setAlphaF(_LIGHTEST + (1 - _LIGHTEST) * cell.weight)
        painter.fillRect(QRectF(frame.point(cell.left, cell.high), frame.point(cell.right, cell.low)), shade)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)


def _draw_series(painter: QPainter, frame: Frame, series: Series) -> None:
    if series.mark is Mark.HEAT:
        _draw_heat(painter, frame, series)
        return
    if series.mark is Mark.DOTS:
        _draw_dots(painter, frame, series)
        return
    stepped = series.mark is not Mark.LINE
    _draw_shade(painter, frame, series, stepped=stepped)
    line = _line(frame, list(zip(series.xs, series.ys, strict=True)), stepped=stepped)
    if series.mark is Mark.BARS:
        _fill(
            painter,
            series,
            [*line, QPointF(line[-1].x(), frame.area.bottom()), QPointF(line[0].x(), frame.area.bottom())],
        )
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(_pen(series))
    painter.drawPolyline(QPolygonF(line))


def _draw_dots(painter: QPainter, frame: Frame, series: Series) -> None:
    painter.setPen(_pen(series, 1.4))
    for x, y, low, high in series.whiskers():
        ends = ((low, y), (high, y)) if series.across else ((x, low), (x, high))
        painter.drawLine(frame.point(*ends[0]), frame.point(*ends[1]))
    painter.setBrush(colour_of(series))
    for x, y in zip(series.xs, series.ys, strict=True):
        painter.drawEllipse(frame.point(x, y), _DOT, _DOT)


def _draw_shade(painter: QPainter, frame: Frame, series: Series, *, stepped: bool) -> None:
    known = series.whiskers()
    if known:
        lower = _line(frame, [(x, low) for x, _, low, _ in known], stepped=stepped)
        upper = _line(frame, [(x, high) for x, _, _, high in known], stepped=stepped)
        _fill(painter, series, [*lower, *reversed(upper)])


def _fill(painter: QPainter, series: Series, edge: list[QPointF]) -> None:
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
