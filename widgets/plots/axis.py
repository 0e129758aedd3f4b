"""Plot axes: time, values with SI prefixes, labels."""

from math import log10

import pyqtgraph as pg
from PySide6.QtCore import QRectF

from suites.units import Display, Unit, display
from widgets.plots import scale
from widgets.plots.scale import Range
from widgets.theme import figure_font, palette

_COUNTED_BELOW = 10_000.0
"""Rates of events up to this have no prefix, as in the tools' output."""


def prefix(greatest: float, unit: Unit) -> Display:
    """Return the prefix for values up to `greatest` in `unit`."""
    if unit is Unit.PER_SECOND and abs(greatest) <= _COUNTED_BELOW:
        return Display(1.0, "/s")
    return display(greatest, unit)


VALUE_WIDTH = 52
TIME_HEIGHT = 20
_TICK_PIXELS = 34
_DECADE_PIXELS = 20
_OVERHANG = 24
"""Pixels by which the outermost tick labels may extend beyond the axis."""
_CLOCK_PIXELS = 90
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
        self.setTickFont(figure_font(8.5))


class ValueAxis(_Axis):
    """Vertical axis in the unit of a Display. In a logarithmic range the view's coordinates are decimal logarithms."""

    def __init__(self) -> None:
        super().__init__("left")
        self._display = Display(1.0, "")
        self._logarithmic = False
        self._unit = Unit.ONE
        self._blank = True
        self.setWidth(VALUE_WIDTH)

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
        wanted = max(2, int(size / (_DECADE_PIXELS if self._logarithmic else _TICK_PIXELS)))
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
        self.show_values(shown=True)

    @property
    def head(self) -> str:
        """The head of the axis's column in a table."""
        return "time [s]"

    def text(self, value: float, step: float) -> str:
        """Return the time `value` (s) for the crosshair, with the decimals that `step` needs."""
        return scale.clock(value, step)

    def cell(self, value: float) -> str:
        """Return the time `value` (s) for a table."""
        return f"{value:.9g}"

    def show_values(self, *, shown: bool) -> None:
        """Show the tick labels or, between plots that share the axis, the grid alone."""
        self.setStyle(showValues=shown)
        self.setHeight(TIME_HEIGHT if shown else 4)

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:  # noqa: N803 (pyqtgraph's names)
        """Return the times of the ticks."""
        found = scale.clock_ticks(minVal, maxVal, max(2, int(size / _CLOCK_PIXELS))) if maxVal > minVal else []
        step = found[1] - found[0] if len(found) > 1 else 1.0
        return [(step, found)]

    def tickStrings(self, values: list[float], _scale: float, spacing: float) -> list[str]:
        """Return the times as 0:41 or 1:02:03."""
        return [scale.clock(value, spacing) for value in values]


def _with_unit(value: float, unit: Unit) -> str:
    shown = prefix(value * (1 + 1e-9), unit)
    return f"{value / shown.divisor:.4g} {shown.suffix}".rstrip()


_LETTER = 7
"""Width of a character of a tick label in pixels, with spacing."""


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
        found: list[float] = []
        taken = float("-inf")
        for position, text in self._ticks:
            half = _LETTER * (len(text) + 1) / 2
            if minVal <= position <= maxVal and (position - minVal) * scale - half >= taken:
                found.append(position)
                taken = (position - minVal) * scale + half
        return [(1.0, found)]

    def tickStrings(self, values: list[float], _scale: float, _spacing: float) -> list[str]:
        """Return the labels at `values`."""
        return [self.cell(value) for value in values]
