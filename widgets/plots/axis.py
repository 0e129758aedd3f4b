"""The two axes of a plot: figures in a prefix that fits, and a clock. Drawn text is plain, never markup."""

from math import log10

import pyqtgraph as pg
from PySide6.QtCore import QRectF

from suites.units import Display, Unit
from widgets.plots import scale
from widgets.plots.prefix import prefix
from widgets.plots.scale import Range
from widgets.theme import figure_font, palette

VALUE_WIDTH = 52
TIME_HEIGHT = 20
_TICK_PIXELS = 34
_DECADE_PIXELS = 20
_OVERHANG = 24
"""Pixels by which the outermost figures may stand beyond the ends of their axis."""
_CLOCK_PIXELS = 90
_GRID = 255
"""Of 255: the grid's colour is faint already."""


class _Axis(pg.AxisItem):
    """What both have in common: a faint grid, no title, no prefix of pyqtgraph's own."""

    def __init__(self, orientation: str) -> None:
        super().__init__(orientation, maxTickLength=0)
        self.enableAutoSIPrefix(enable=False)
        self.setStyle(tickTextOffset=6, tickAlpha=_GRID, hideOverlappingLabels=False, autoExpandTextSpace=False)
        self.setGrid(_GRID)
        self.setZValue(-1000)  # ViewBox itself lies at -100
        self.restyle()

    def boundingRect(self) -> QRectF:
        """Return where it draws: with a grid, pyqtgraph leaves no room for the figures at the ends."""
        return super().boundingRect().adjusted(-_OVERHANG, -_OVERHANG, _OVERHANG, _OVERHANG)

    def restyle(self) -> None:
        """Take the colours in force."""
        colours = palette()
        self.setPen(pg.mkPen(colours.line))
        self.setTickPen(pg.mkPen(colours.raised))
        self.setTextPen(pg.mkPen(colours.muted))
        self.setTickFont(figure_font(8.5))


class ValueAxis(_Axis):
    """The upright axis, in the unit of `display`. In a logarithmic range the view's coordinates are powers of ten."""

    def __init__(self) -> None:
        super().__init__("left")
        self._display = Display(1.0, "")
        self._logarithmic = False
        self._unit = Unit.ONE
        self._blank = True
        self.setWidth(VALUE_WIDTH)

    def set_blank(self, *, blank: bool) -> None:
        """Show no figures while there is nothing to measure with them."""
        if blank != self._blank:
            self._blank = blank
            self.picture = None
            self.update()

    def set_scale(self, display: Display, bounds: Range, unit: Unit) -> None:
        """Show figures divided by the display's divisor; on a logarithmic axis each has its own prefix of `unit`."""
        if (display, bounds.logarithmic, unit) != (self._display, self._logarithmic, self._unit):
            self._display, self._logarithmic, self._unit = display, bounds.logarithmic, unit
            self.picture = None
            self.update()

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:  # noqa: N803 (pyqtgraph's names)
        """Return where the ticks stand, in the view's coordinates."""
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
        """Return the figures at the ticks."""
        if self._logarithmic:
            return [_with_unit(10**value, self._unit) for value in values]
        divisor = self._display.divisor
        return [scale.plain(value / divisor, spacing) for value in values]


class TimeAxis(_Axis):
    """The level axis: seconds since the tool's start, as a clock shows them."""

    def __init__(self) -> None:
        super().__init__("bottom")
        self.show_values(shown=True)

    @property
    def head(self) -> str:
        """The head of the axis's column in a table."""
        return "time [s]"

    def words(self, place: float, step: float) -> str:
        """Return the moment at `place` for the crosshair; `step` decides how finely."""
        return scale.clock(place, step)

    def cell(self, place: float) -> str:
        """Return the moment at `place` as it stands in a table."""
        return f"{place:.9g}"

    def show_values(self, *, shown: bool) -> None:
        """Show the figures or, between plots that share the axis, the grid alone."""
        self.setStyle(showValues=shown)
        self.setHeight(TIME_HEIGHT if shown else 4)

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:  # noqa: N803 (pyqtgraph's names)
        """Return the moments at which ticks stand."""
        found = scale.clock_ticks(minVal, maxVal, max(2, int(size / _CLOCK_PIXELS))) if maxVal > minVal else []
        step = found[1] - found[0] if len(found) > 1 else 1.0
        return [(step, found)]

    def tickStrings(self, values: list[float], _scale: float, spacing: float) -> list[str]:
        """Return the moments as a clock shows them."""
        return [scale.clock(value, spacing) for value in values]


def _with_unit(value: float, unit: Unit) -> str:
    shown = prefix(value * (1 + 1e-9), unit)
    return f"{value / shown.divisor:.4g} {shown.suffix}".rstrip()
