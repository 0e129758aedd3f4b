"""What a plot shows besides its curves: baseline bands, marks, phases, figures of trials and heat maps."""

from collections.abc import Callable, Container, Hashable, Mapping
from dataclasses import dataclass, field
from math import log10

from PySide6.QtGui import QColor

from app.records import Band
from suites.units import Unit, convert
from widgets.plots.heat import HeatGrid, heat_colour
from widgets.plots.layers import HeatImage, Stripe, TrialLevel
from widgets.plots.lines import PlotLine, stripe_of
from widgets.plots.time_window import TimeWindow
from widgets.plots.timeline import PlotMark, TimePhase
from widgets.plots.view import PlotView
from widgets.theme import palette

_FAINT, _FAINT_DARK = 110, 165

Level = tuple[Hashable, float, float, float]
"""Figure of a whole trial: the curve it belongs to, start and end on the axis, and value."""

ToView = Callable[[float], float]
"""Maps a value to the view's coordinates."""


def toned(colour: QColor, *, faint: bool) -> QColor:
    """Return `colour` as curves are drawn, or `faint` for those in the background."""
    made = QColor(colour)
    made.setAlpha((_FAINT_DARK if palette().dark else _FAINT) if faint else 255)
    return made


@dataclass(slots=True)
class Annotations:
    """Annotations of one plot; those of the shared time axis come from its window.

    `heat` are heat maps with their time 0 on the axis.
    """

    bands: dict[Hashable, Band] = field(default_factory=dict)
    marks: list[PlotMark] = field(default_factory=list)
    phases: tuple[TimePhase, ...] = ()
    levels: tuple[Level, ...] = ()
    heat: tuple[tuple[HeatGrid, float], ...] = ()
    _heat_drawn: tuple[tuple[tuple[HeatGrid, float], ...], int] = ((), 0)

    def clear(self) -> None:
        """Remove everything."""
        self.bands.clear()
        self.marks.clear()
        self.phases, self.levels, self.heat = (), (), ()

    def stripes(self, unit: Unit) -> tuple[Stripe, ...]:
        """Return the baseline bands in `unit`."""
        return tuple(stripe_of(band, unit) for band in self.bands.values())

    def draw(self, view: PlotView, window: TimeWindow, stripes: tuple[Stripe, ...], to_view: ToView) -> None:
        """Draw bands, phases and marks."""
        mapped = tuple(Stripe(*map(to_view, (stripe.low, stripe.high, stripe.median))) for stripe in stripes)
        backdrop, foreground = view.backdrop, view.foreground
        phases = (*window.phases, *self.phases)
        if (mapped, phases) != (backdrop.stripes, backdrop.phases):
            backdrop.stripes, backdrop.phases = mapped, phases
            backdrop.update()
        foreground.set_span(window.selection)
        marks = (*window.marks, *self.marks)
        if marks != foreground.marks:
            foreground.marks = marks
            foreground.update()

    def levels_between(self, start: float, end: float, lines: Container[Hashable]) -> list[float]:
        """Return the figures that are drawn with `lines`, of trials in part between `start` and `end` on the axis."""
        return [value for key, began, ended, value in self.levels if key in lines and began < end and ended > start]

    def level_at(self, line: Hashable, time: float) -> float | None:
        """Return the figure of the trial that was under way at `time` on the axis, or None."""
        return next((value for key, start, end, value in self.levels if key == line and start <= time <= end), None)

    def draw_levels(self, view: PlotView, lines: Mapping[Hashable, PlotLine], to_view: ToView) -> None:
        """Draw the figures of trials in the colours of their curves, fainter than these where there are samples."""
        levels = tuple(
            TrialLevel(start, end, to_view(value), toned(lines[key].colour, faint=bool(lines[key].taken)))
            for key, start, end, value in self.levels
            if key in lines
        )
        if levels != view.backdrop.levels:
            view.backdrop.levels = levels
            view.backdrop.update()

    def draw_heat(self, view: PlotView, unit: Unit, *, logarithmic: bool) -> int:
        """Draw the heat maps and return the most requests of a cell; on a linear axis there are none and 0."""
        heat = self.heat if logarithmic else ()
        most = max((grid.most for grid, _ in heat), default=0)
        state = (heat, heat_colour().rgb())
        if state != self._heat_drawn:
            self._heat_drawn = state
            shift = log10(convert(1.0, Unit.NANOSECOND, unit)) if heat else 0.0
            view.backdrop.heat = tuple(
                HeatImage(grid.start + zero, grid.end + zero, grid.low + shift, grid.high + shift, grid.image(most))
                for grid, zero in heat
            )
            view.backdrop.update()
        return most
