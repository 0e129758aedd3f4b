"""How cells of the comparison are drawn: the metric over several lines, the run's mark, the interval as a figure."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app.comparing.compare import Against, Verdict
from app.wording import edges_text
from widgets.compare.compare_lines import CompareLine, Part
from widgets.compare.compare_model import CompareModel
from widgets.compare.ratio_scale import RatioScale
from widgets.compare.run_colour import run_colour
from widgets.theme import SPACE, TextSize, figure_font, palette, text_font

Index = QModelIndex | QPersistentModelIndex

LABELLED_FROM = 108
"""Pixels of width from which the ends of an interval are written beside it."""

_LABEL = 28
_DOT = 4.0
_ARROW = 5.0
_BAND = 38
"""Of 255: how strongly the margin is shaded."""


class _Cell(QStyledItemDelegate):
    """A cell whose ground is the style's own and whose content is drawn here."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw the ground, then the content."""
        line = index.data(CompareModel.LINE)
        ground = QStyleOptionViewItem(option)
        self.initStyleOption(ground, index)
        ground.text = ""
        style = ground.widget.style()
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, ground, painter, ground.widget)
        if isinstance(line, CompareLine):
            painter.save()
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            self.draw(painter, option.rect, line, index)
            painter.restore()

    def draw(self, painter: QPainter, area: QRect, line: CompareLine, index: Index) -> None:
        """Draw the content of the cell."""
        raise NotImplementedError


class RunCell(_Cell):
    """A square in the run's colour, and its letter."""

    def draw(self, painter: QPainter, area: QRect, line: CompareLine, index: Index) -> None:
        """Draw the mark of the run."""
        if line.part is Part.HEADING:
            return
        draw_mark(painter, QPointF(area.left() + SPACE[1] + 4, area.center().y() + 0.5), line.number)
        painter.setFont(figure_font(bold=True))
        painter.setPen(QColor(palette().text))
        painter.drawText(area.adjusted(SPACE[1] + 14, 0, 0, 0), int(Qt.AlignmentFlag.AlignVCenter), str(index.data()))


def draw_mark(painter: QPainter, middle: QPointF, number: int) -> None:
    """Draw the small square that stands for a run; the baseline's is hollow."""
    colour = run_colour(number)
    painter.setPen(QPen(colour, 2))
    painter.setBrush(colour if number else Qt.BrushStyle.NoBrush)
    painter.drawRect(QRectF(middle.x() - 3.5, middle.y() - 3.5, 7, 7))


class MetricCell(_Cell):
    """The title over as many lines as it needs. The heading of a step in bold."""

    def draw(self, painter: QPainter, area: QRect, line: CompareLine, index: Index) -> None:
        """Draw the words."""
        inside = area.adjusted(SPACE[1], 3, -SPACE[0], 0)
        painter.setPen(QColor(palette().text))
        if line.row is None:
            painter.setFont(text_font(TextSize.BODY, bold=True))
            shown = QFontMetricsF(painter.font()).elidedText(
                str(index.data()), Qt.TextElideMode.ElideRight, inside.width()
            )
            painter.drawText(inside, int(Qt.AlignmentFlag.AlignVCenter), shown)
            return
        if line.part is not Part.BASELINE:
            return
        painter.setFont(text_font(TextSize.BODY))
        flags = int(Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        painter.drawText(inside, flags, str(index.data()))


class IntervalCell(_Cell):
    """The ratio as a dot and its 95 % interval as a line, on an axis that all lines share."""

    scale = RatioScale(0.1)
    margin = 0.05

    def draw(self, painter: QPainter, area: QRect, line: CompareLine, index: Index) -> None:
        """Draw this line's part of the axis, and the interval."""
        del index  # the line says it all
        labelled = area.width() >= LABELLED_FROM
        inset = _LABEL if labelled else SPACE[1]
        axis = QRectF(area).adjusted(inset, 0, -inset, 0)
        if line.part is Part.HEADING:
            self._draw_ticks(painter, axis)
            return
        self._draw_ground(painter, axis, line)
        if line.against is None:
            return
        if line.against.ratio is not None and line.against.verdict is not Verdict.NOT_COMPARABLE:
            self._draw_interval(painter, axis, line.against, line.number)
            if labelled:
                self._write_ends(painter, axis, line.against)

    def _x(self, axis: QRectF, ratio: float) -> float:
        return axis.left() + min(1.0, max(0.0, self.scale.place(ratio))) * axis.width()

    def _draw_ground(self, painter: QPainter, axis: QRectF, line: CompareLine) -> None:
        own = [one.margin for one in (line.row.against if line.row else ()) if one.margin is not None]
        margin = max(own, default=self.margin)
        colours = palette()
        shade = QColor(colours.baseline)
        shade.setAlpha(_BAND)
        left, right = self._x(axis, 1 / (1 + margin)), self._x(axis, 1 + margin)
        painter.fillRect(QRectF(left, axis.top(), right - left, axis.height()), shade)
        painter.setPen(QPen(QColor(colours.baseline), 1))
        middle = round(self._x(axis, 1.0)) + 0.5
        painter.drawLine(QPointF(middle, axis.top()), QPointF(middle, axis.bottom() + 1))

    def _draw_ticks(self, painter: QPainter, axis: QRectF) -> None:
        painter.setFont(figure_font(text_font(TextSize.SMALL).pointSizeF() * 0.95))
        painter.setPen(QColor(palette().muted))
        tick = self.scale.tick()
        for ratio in (1 / tick, 1.0, tick):
            x = self._x(axis, ratio)
            painter.drawText(
                QRectF(x - 30, axis.top(), 60, axis.height()),
                int(Qt.AlignmentFlag.AlignCenter),
                f"{ratio:.2f}".rstrip("0").rstrip("."),
            )

    def _draw_interval(self, painter: QPainter, axis: QRectF, against: Against, number: int) -> None:
        colour, y = run_colour(number), axis.center().y()
        painter.setPen(QPen(colour, 1.6))
        if against.low is not None and against.high is not None:
            low, high = self._x(axis, against.low), self._x(axis, against.high)
            painter.drawLine(QPointF(low, y), QPointF(high, y))
            for edge, x, outwards in ((against.low, low, -1), (against.high, high, 1)):
                if 0 <= self.scale.place(edge) <= 1:
                    painter.drawLine(QPointF(x, y - 3.5), QPointF(x, y + 3.5))
                else:
                    _draw_arrow(painter, QPointF(x, y), outwards)
        ratio = against.ratio or 1.0
        place = self.scale.place(ratio)
        if 0 <= place <= 1:
            sure = against.low is not None
            painter.setBrush(colour if sure else QColor(palette().surface))
            painter.drawEllipse(QPointF(self._x(axis, ratio), y), _DOT, _DOT)
        elif against.low is None:
            _draw_arrow(painter, QPointF(self._x(axis, ratio), y), 1 if place > 1 else -1)

    def _write_ends(self, painter: QPainter, axis: QRectF, against: Against) -> None:
        if against.low is None or against.high is None:
            return
        painter.setFont(figure_font(text_font(TextSize.SMALL).pointSizeF() * 0.95))
        painter.setPen(QColor(palette().muted))
        ends = edges_text(against.low, against.high)
        left = min(self._x(axis, against.low), self._x(axis, against.ratio or 1.0) - _DOT) - 4
        right = max(self._x(axis, against.high), self._x(axis, against.ratio or 1.0) + _DOT) + 4
        for text, box, side in (
            (
                ends[0],
                QRectF(left - 60, axis.top(), 60, axis.height()),
                Qt.AlignmentFlag.AlignRight,
            ),
            (ends[1], QRectF(right, axis.top(), 60, axis.height()), Qt.AlignmentFlag.AlignLeft),
        ):
            painter.drawText(box, int(side | Qt.AlignmentFlag.AlignVCenter), text)


def _draw_arrow(painter: QPainter, tip: QPointF, outwards: int) -> None:
    """Draw an arrow head where a figure lies beyond the axis."""
    back = tip.x() - outwards * _ARROW
    painter.setBrush(painter.pen().color())
    painter.drawPolygon(QPolygonF([tip, QPointF(back, tip.y() - _ARROW), QPointF(back, tip.y() + _ARROW)]))
