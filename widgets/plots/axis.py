"""Plot axes: time, values with SI prefixes, labels."""

from math import log10

import pyqtgraph as pg
from PySide6.QtCore import QRectF
from PySide6.QtGui import QFont, QFontMetricsF

from suites.units import Display, Unit, display
from widgets.plots import scale
from widgets.plots.scale import Range
from widgets.plots.timeline import TimeMap
from widgets.theme import SPACE, TextSize, figure_font, palette, text_font

_COUNTED_BELOW = 10_000.0
"""Rates of events up to this have no prefix, as in the tools' output."""


def prefix(greatest: float, unit: Unit) -> Display:
    """Return the prefix for values up to `greatest` in `unit`."""
    if unit is Unit.PER_SECOND and abs(greatest) <= _COUNTED_BELOW:
        return Display(1.0, "/s")
    return display(greatest, unit)


_WIDEST_TICK = "888.8 ms"
_WIDEST_TIME = "88:88:88"
_TICK_ROWS, _DECADE_ROWS = 2.4, 1.4
"""Distance of tick labels in heights of their text."""

_OVERHANG = 24
"""Pixels by which the outermost tick labels may extend beyond the axis."""


def tick_font() -> QFont:
    """Return the font of tick labels, which follows the text size."""
    return figure_font(text_font(TextSize.SMALL).pointSizeF() * 0.95)


def value_width() -> int:
    """Return the width of a value axis in pixels: its widest label and a margin."""
    return round(QFontMetricsF(tick_font()).horizontalAdvance(_WIDEST_TICK)) + SPACE[1]


def time_height() -> int:
    """Return the height of a time axis in pixels."""
    return round(QFontMetricsF(tick_font()).height()) + SPACE[0]


_GRID = 255
"""Alpha of the grid (of 255): its colour is faint already."""


class _Axis(pg.AxisItem):
    """Base of the axes: a faint grid, no title, no automatic SI prefix."""

    def __init__(self, orientation: str) -> None:
        super().__init__(orientation, maxTickLength=0)
        self.enableAutoSIPrefix(enable=False)
        self.setStyle(tickTextOffset=6, tickAlpha=_GRID, hideOverlappingLabels=False, autoExpandTextSpace=False)
        self.setGrid(_GRID)
        self.setZValue(-1000)  # below the ViewBox, whose z value is -100
        self.restyle()

    def boundingRect(self) -> QRectF:
        """Return the area drawn: with a grid, pyqtgraph leaves no room for the tick labels at the ends."""
        return super().boundingRect().adjusted(-_OVERHANG, -_OVERHANG, _OVERHANG, _OVERHANG)

    def restyle(self) -> None:
        """Apply the current colours."""
        colours = palette()
        self.setPen(pg.mkPen(colours.line))
        self.setTickPen(pg.mkPen(colours.raised))
        self.setTextPen(pg.mkPen(colours.muted))
        self.setTickFont(tick_font())


class ValueAxis(_Axis):
    """Vertical axis in the unit of a Display. In a logarithmic range the view's coordinates are decimal logarithms."""

    def __init__(self) -> None:
        super().__init__("left")
        self._display = Display(1.0, "")
        self._logarithmic = False
        self._unit = Unit.ONE
        self._blank = True
        self.setWidth(value_width())

    def restyle(self) -> None:
        """Apply the current colours and text size."""
        super().restyle()
        self.setWidth(value_width())

    def set_blank(self, *, blank: bool) -> None:
        """Hide the tick labels while there are no values."""
        if blank != self._blank:
            self._blank = blank
            self.picture = None
            self.update()

    def set_scale(self, display: Display, bounds: Range, unit: Unit) -> None:
        """Set the divisor, range and unit; on a logarithmic axis each tick has its own prefix of `unit`."""
        if (display, bounds.logarithmic, unit) != (self._display, self._logarithmic, self._unit):
            self._display, self._logarithmic, self._unit = display, bounds.logarithmic, unit
            self.picture = None
            self.update()

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:  # noqa: N803 (pyqtgraph's names)
        """Return the ticks in the view's coordinates."""
        if self._blank:
            return []
        row = QFontMetricsF(tick_font()).height() * (_DECADE_ROWS if self._logarithmic else _TICK_ROWS)
        wanted = max(2, int(size / row))
        divisor = self._display.divisor
        if self._logarithmic:
            return [(1.0, [log10(value) for value in scale.logarithmic_ticks(10**minVal, 10**maxVal, wanted)])]
        low, high = minVal / divisor, maxVal / divisor
        step = scale.tick_step(high - low, wanted) if high > low else 1.0
        return [(step, [value * divisor for value in scale.ticks(low, high, wanted)])]

    def tickStrings(self, values: list[float], _scale: float, spacing: float) -> list[str]:
        """Return the tick labels."""
        if self._logarithmic:
            return [_with_unit(10**value, self._unit) for value in values]
        divisor = self._display.divisor
        return [scale.plain(value / divisor, spacing) for value in values]


class TimeAxis(_Axis):
    """Horizontal axis: time since the tool's start, as 0:41 or 1:02:03."""

    def __init__(self) -> None:
        super().__init__("bottom")
        self._map = TimeMap()
        self.show_values(shown=True)

    def set_map(self, time_map: TimeMap) -> None:
        """Set the map from the clock to the axis."""
        if time_map != self._map:
            self._map = time_map
            self.picture = None
            self.update()

    @property
    def head(self) -> str:
        """The head of the axis's column in a table."""
        return "time [s]"

    def text(self, value: float, step: float) -> str:
        """Return the time `value` (s) for the crosshair, with the decimals that `step` needs."""
        return scale.clock(self._map.to_time(value), step)

    def cell(self, value: float) -> str:
        """Return the time `value` (s) for a table."""
        return f"{self._map.to_time(value):.9g}"

    def show_values(self, *, shown: bool) -> None:
        """Show the tick labels or, between plots that share the axis, the grid alone."""
        self.setStyle(showValues=shown)
        self.setHeight(time_height() if shown else time_height() // 2 - 2)

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:  # noqa: N803 (pyqtgraph's names)
        """Return the times of the ticks."""
        least = 1.6 * QFontMetricsF(tick_font()).horizontalAdvance(_WIDEST_TIME)
        wanted = max(2, int(size / least))
        if not maxVal > minVal:
            return [(1.0, [])]
        step = scale.clock_step(maxVal - minVal, wanted)
        if not self._map.cut:
            return [(step, scale.multiples(minVal, maxVal, step))]
        room = 0.7 * least * (maxVal - minVal) / size
        return [(step, _spaced(self._mapped_ticks(minVal, maxVal, step), room))]

    def _mapped_ticks(self, low: float, high: float, step: float) -> list[float]:
        """Return the places of round times within each span that is shown."""
        zero, found = self._map.zero, []
        for span in self._map.spans:
            start, end = max(low, span.shown), min(high, span.shown_end)
            if start < end:
                shift = span.start - zero - span.shown
                found += [time - shift for time in scale.multiples(start + shift, end + shift, step)]
        return found

    def tickStrings(self, values: list[float], _scale: float, spacing: float) -> list[str]:
        """Return the times as 0:41 or 1:02:03."""
        return [scale.clock(self._map.to_time(value), spacing) for value in values]


def _spaced(places: list[float], least: float) -> list[float]:
    """Return `places` without those closer than `least` to the one before."""
    found: list[float] = []
    for place in places:
        if not found or place - found[-1] >= least:
            found.append(place)
    return found


def _with_unit(value: float, unit: Unit) -> str:
    shown = prefix(value * (1 + 1e-9), unit)
    return f"{value / shown.divisor:.4g} {shown.suffix}".rstrip()


class LabelAxis(TimeAxis):
    """Horizontal axis of a sweep: labels the measured points, as many as fit."""

    def __init__(self) -> None:
        super().__init__()
        self._ticks: tuple[tuple[float, str], ...] = ()
        self._name = ""

    def set_ticks(self, ticks: tuple[tuple[float, str], ...], name: str) -> None:
        """Set the positions with their labels, and the axis's name."""
        if (ticks, name) != (self._ticks, self._name):
            self._ticks, self._name = ticks, name
            self.picture = None
            self.update()

    @property
    def head(self) -> str:
        """The head of the axis's column in a table."""
        return self._name

    def text(self, value: float, _step: float) -> str:
        """Return the axis's name and the label nearest to `value`."""
        nearest = min(self._ticks, key=lambda tick: abs(tick[0] - value), default=(0.0, ""))
        return f"{self._name} {nearest[1]}"

    def cell(self, value: float) -> str:
        """Return the label at `value` for a table."""
        return next((text for at, text in self._ticks if abs(at - value) < 1e-9), f"{value:.9g}")

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:  # noqa: N803 (pyqtgraph's names)
        """Return the positions to label, from left to right, without overlapping texts."""
        scale = size / (maxVal - minVal) if maxVal > minVal else 1.0
        metrics = QFontMetricsF(tick_font())
        found: list[float] = []
        taken = float("-inf")
        for position, text in self._ticks:
            half = metrics.horizontalAdvance(f"{text}0") / 2
            if minVal <= position <= maxVal and (position - minVal) * scale - half >= taken:
                found.append(position)
                taken = (position - minVal) * scale + half
        return [(1.0, found)]

    def tickStrings(self, values: list[float], _scale: float, _spacing: float) -> list[str]:
        """Return the labels at `values`."""
        return [self.cell(value) for value in values]
