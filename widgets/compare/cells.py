"""Cells of the comparison table: metric over several rows, mark of the run, interval on a shared axis."""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem

from app.comparison.comparison import RelativeFigure
from app.comparison.verdicts import ComparisonVerdict
from suites.quantities import edges_text
from widgets.compare.compare_rows import CompareLine, LineKind
from widgets.parts.table import RowDelegate
from widgets.parts.table_model import ROW, Index
from widgets.theme import SPACE, TextSize, figure_font, palette, series_colour, text_font


def run_colour(number: int) -> QColor:
    """Return the colour of the run `number`; 0 is the baseline. Report images use the same colours."""
    return series_colour(number - 1) if number else QColor(palette().baseline)


_TICKS = (1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 100.0)
"""Candidate ratios of the upper tick; the lower tick is its inverse."""

_WIDEST = math.log(20)
_MAX_INTERVAL_REACH = 2.5
"""Reach of the axis for intervals, as a multiple of the most distant ratio (logarithmic); wider ones are cut off."""

_PADDING = 1.12
_TICK_LEAST = 22
"""Distance in pixels of two labels from which both are legible."""


@dataclass(frozen=True, slots=True)
class RatioScale:
    """Logarithmic axis of ratios, symmetric around 1; `reach` is the natural logarithm of its upper end."""

    reach: float

    def position(self, ratio: float) -> float:
        """Return the position of `ratio` from 0 (left end) to 1 (right end); outside of these if it is off the axis."""
        return 0.5 + math.log(ratio) / (2 * self.reach)

    def tick(self) -> float:
        """Return the round ratio above 1 of the upper tick; the lower tick is its inverse."""
        inside = [tick for tick in _TICKS if math.log(tick) <= self.reach * 0.95]
        return inside[-1] if inside else math.exp(self.reach)


def scale_for(found: Iterable[RelativeFigure], margin: float) -> RatioScale:
    """Return an axis that covers all ratios, the margin, and intervals up to a limit."""
    known = [against for against in found if against.ratio is not None]
    points = max((abs(math.log(against.ratio)) for against in known if against.ratio), default=0.0)
    edges = [abs(math.log(edge)) for against in known for edge in (against.low, against.high) if edge]
    least = max(1.6 * math.log1p(margin), 0.01)
    useful = max(least, points * _MAX_INTERVAL_REACH)
    return RatioScale(min(_WIDEST, max(least, points * _PADDING, min(max(edges, default=0.0) * _PADDING, useful))))


LEAST_AXIS = 48
"""Least width in pixels of the axis beside labels at its ends; without room for it there are no labels."""

_DOT = 4.0
_GAP = 4.0
"""Distance in pixels of a label from the interval and from the edge of the cell."""

_ARROW = 5.0
_BAND = 38
"""Alpha of the margin's shading, of 255."""


class _Cell(RowDelegate):
    """Base of cells with the style's background and custom content."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw the background, then the content."""
        line = index.data(ROW)
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
    """Square in the run's colour and its letter."""

    def draw(self, painter: QPainter, area: QRect, line: CompareLine, index: Index) -> None:
        """Draw the mark of the run."""
        if line.kind is LineKind.HEADING:
            return
        draw_mark(painter, QPointF(area.left() + SPACE[1] + 4, area.center().y() + 0.5), line.number)
        painter.setFont(figure_font(bold=True))
        painter.setPen(QColor(palette().text))
        painter.drawText(area.adjusted(SPACE[1] + 14, 0, 0, 0), int(Qt.AlignmentFlag.AlignVCenter), str(index.data()))


def draw_mark(painter: QPainter, middle: QPointF, number: int) -> None:
    """Draw the square mark of a run; the baseline's is hollow."""
    colour = run_colour(number)
    painter.setPen(QPen(colour, 2))
    painter.setBrush(colour if number else Qt.BrushStyle.NoBrush)
    painter.drawRect(QRectF(middle.x() - 3.5, middle.y() - 3.5, 7, 7))


class MetricCell(_Cell):
    """Title of the metric over several rows; the heading of a step in bold."""

    def draw(self, painter: QPainter, area: QRect, line: CompareLine, index: Index) -> None:
        """Draw the title."""
        inside = area.adjusted(SPACE[1], 3, -SPACE[0], 0)
        painter.setPen(QColor(palette().text))
        if line.row is None:
            painter.setFont(text_font(TextSize.BODY, bold=True))
            shown = QFontMetricsF(painter.font()).elidedText(
                str(index.data()), Qt.TextElideMode.ElideRight, inside.width()
            )
            painter.drawText(inside, int(Qt.AlignmentFlag.AlignVCenter), shown)
            return
        if line.kind is not LineKind.BASELINE:
            return
        painter.setFont(text_font(TextSize.BODY))
        flags = int(Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        painter.drawText(inside, flags, str(index.data()))


_HEAD = re.compile(r"([^,:]+)(?:[,:] [+−]?[\d.,]+(?: %|x))?")
"""The verdict, and its change if a number follows."""


class VerdictCell(RowDelegate):
    """Verdict with its mark; where its change does not fit, without it: the rest of a number is misleading."""

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        """Leave out a change that would be cut."""
        super().initStyleOption(option, index)
        style = option.widget.style()
        beside = 2 * (style.pixelMetric(QStyle.PixelMetric.PM_FocusFrameHMargin, option, option.widget) + 1)
        room = style.subElementRect(QStyle.SubElement.SE_ItemViewItemText, option, option.widget).width() - beside
        metrics = QFontMetricsF(option.font)
        option.text = fitted_verdict(option.text, lambda text: metrics.horizontalAdvance(text) <= room)


def fitted_verdict(text: str, fits: Callable[[str], bool]) -> str:
    """Return the line of a verdict, or only its head or word if the line would be cut in a number."""
    head = _HEAD.match(text)
    if head is None or fits(text) or fits(f"{head[0]}…"):
        return text
    return head[0] if fits(head[0]) else head[1]


class IntervalCell(_Cell):
    """Ratio as a dot and its 95 % interval as a line, on an axis shared by all rows.

    `label` is the width in pixels of the widest label of an end.
    """

    scale = RatioScale(0.1)
    margin = 0.05
    label = 0.0

    def show_ratios(self, found: Sequence[RelativeFigure], margin: float) -> None:
        """Take the axis for `found` and `margin`, and the room that the labels need."""
        self.scale, self.margin = scale_for(found, margin), margin
        metrics = QFontMetricsF(_label_font())
        texts = {text for one in found for text in _ends(one)}
        self.label = max(map(metrics.horizontalAdvance, texts), default=0.0)

    @property
    def labelled_width(self) -> int:
        """The least width in pixels in which the ends are labelled."""
        return math.ceil(2 * self._inset + LEAST_AXIS)

    @property
    def _inset(self) -> float:
        return self.label + _DOT + 2 * _GAP

    def axis(self, area: QRect) -> tuple[QRectF, bool]:
        """Return the axis in a cell, and whether the labels have room at its ends."""
        labelled = area.width() >= self.labelled_width
        inset = self._inset if labelled else SPACE[1]
        return QRectF(area).adjusted(inset, 0, -inset, 0), labelled

    def draw(self, painter: QPainter, area: QRect, line: CompareLine, index: Index) -> None:
        """Draw the axis and the interval of the row."""
        del index
        axis, labelled = self.axis(area)
        if line.kind is LineKind.HEADING:
            self._draw_ticks(painter, axis, QRectF(area))
            return
        self._draw_ground(painter, axis, line)
        if line.against is None:
            return
        if line.against.ratio is not None and line.against.verdict is not ComparisonVerdict.NOT_COMPARABLE:
            self._draw_interval(painter, axis, line.against, line.number)
            if labelled:
                self._write_ends(painter, axis, line.against)

    def _x(self, axis: QRectF, ratio: float) -> float:
        return axis.left() + min(1.0, max(0.0, self.scale.position(ratio))) * axis.width()

    def _draw_ground(self, painter: QPainter, axis: QRectF, line: CompareLine) -> None:
        own = [one.margin for one in (line.row.against if line.row else ()) if one.margin is not None]
        margin = max(own, default=self.margin)
        colours = palette()
        shade = QColor(colours.baseline)
        shade.setAlpha(_BAND)
        left, right = self._x(axis, max(1e-9, 1 - margin)), self._x(axis, 1 + margin)
        painter.fillRect(QRectF(left, axis.top(), right - left, axis.height()), shade)
        painter.setPen(QPen(QColor(colours.baseline), 1))
        middle = round(self._x(axis, 1.0)) + 0.5
        painter.drawLine(QPointF(middle, axis.top()), QPointF(middle, axis.bottom() + 1))

    def _draw_ticks(self, painter: QPainter, axis: QRectF, area: QRectF) -> None:
        painter.setFont(_label_font())
        painter.setPen(QColor(palette().muted))
        tick = self.scale.tick()
        crowded = self._x(axis, tick) - self._x(axis, 1.0) < _TICK_LEAST
        for ratio in (1 / tick, tick) if crowded else (1 / tick, 1.0, tick):
            text = f"{ratio:.2f}".rstrip("0").rstrip(".")
            half = painter.fontMetrics().horizontalAdvance(text) / 2 + 1
            x = min(max(self._x(axis, ratio), area.left() + half), area.right() - half)
            box = QRectF(x - half, axis.top(), 2 * half, axis.height())
            painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), text)

    def _draw_interval(self, painter: QPainter, axis: QRectF, against: RelativeFigure, number: int) -> None:
        colour, y = run_colour(number), axis.center().y()
        painter.setPen(QPen(colour, 1.6))
        if against.low is not None and against.high is not None:
            low, high = self._x(axis, against.low), self._x(axis, against.high)
            painter.drawLine(QPointF(low, y), QPointF(high, y))
            for edge, x, outwards in ((against.low, low, -1), (against.high, high, 1)):
                if 0 <= self.scale.position(edge) <= 1:
                    painter.drawLine(QPointF(x, y - 3.5), QPointF(x, y + 3.5))
                else:
                    _draw_arrow(painter, QPointF(x, y), outwards)
        ratio = against.ratio or 1.0
        position = self.scale.position(ratio)
        if 0 <= position <= 1:
            painter.setBrush(colour if against.low is not None else QColor(palette().surface))  # hollow: no interval
            painter.drawEllipse(QPointF(self._x(axis, ratio), y), _DOT, _DOT)
        elif against.low is None:
            _draw_arrow(painter, QPointF(self._x(axis, ratio), y), 1 if position > 1 else -1)

    def _write_ends(self, painter: QPainter, axis: QRectF, against: RelativeFigure) -> None:
        if against.low is None or against.high is None:
            return
        painter.setFont(_label_font())
        painter.setPen(QColor(palette().muted))
        ends, width = _ends(against), self.label
        left = min(self._x(axis, against.low), self._x(axis, against.ratio or 1.0) - _DOT) - _GAP
        right = max(self._x(axis, against.high), self._x(axis, against.ratio or 1.0) + _DOT) + _GAP
        for text, box, side in (
            (ends[0], QRectF(left - width, axis.top(), width, axis.height()), Qt.AlignmentFlag.AlignRight),
            (ends[1], QRectF(right, axis.top(), width, axis.height()), Qt.AlignmentFlag.AlignLeft),
        ):
            painter.drawText(box, int(side | Qt.AlignmentFlag.AlignVCenter), text)


def _label_font() -> QFont:
    return figure_font(text_font(TextSize.SMALL).pointSizeF() * 0.95)


def _ends(against: RelativeFigure) -> tuple[str, ...]:
    """Return the ends of the interval as text; empty without one, or if it is not drawn."""
    if against.low is None or against.high is None or against.verdict is ComparisonVerdict.NOT_COMPARABLE:
        return ()
    return edges_text(against.low, against.high)


def _draw_arrow(painter: QPainter, tip: QPointF, outwards: int) -> None:
    """Draw an arrow head for a value off the axis."""
    back = tip.x() - outwards * _ARROW
    painter.setBrush(painter.pen().color())
    painter.drawPolygon(QPolygonF([tip, QPointF(back, tip.y() - _ARROW), QPointF(back, tip.y() + _ARROW)]))
