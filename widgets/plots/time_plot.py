"""One plot of series over time, live or stored, beside a baseline."""

from collections.abc import Hashable

from PySide6.QtCore import QEvent, QPointF, Signal
from PySide6.QtGui import QColor, QShowEvent
from PySide6.QtWidgets import QToolTip, QVBoxLayout, QWidget

from app.records import Band
from app.wording import direction_text, quantity
from suites.units import Display, Unit, display
from suites.vocab import Better
from widgets.plots import scale
from widgets.plots.curve import Curve
from widgets.plots.head import Legend, PlotHead
from widgets.plots.labels import Label
from widgets.plots.layers import Mark, Stripe
from widgets.plots.lines import Line, Scaling, extent, stripe_of
from widgets.plots.redraw import Redraw
from widgets.plots.series import SeriesBuffer
from widgets.plots.view import PlotView
from widgets.text import tool_tip
from widgets.theme import palette

NAMED_AT_CURVE = 4
"""Up to so many curves are named where they end; more get a legend."""

_SMOOTH = 1500
"""Points in all, up to which lines are drawn smooth; beyond, that costs twice as much."""

_FAINT = 110
_COUNTED_BELOW = 10_000.0


class TimePlot(QWidget):
    """Curves over seconds. `refresh` is the only place that draws; everything else asks for it.

    Several plots may share one `redraw`; a plot without one has its own.
    """

    hovered = Signal(object)  # seconds under the pointer, or None
    zoom_changed = Signal(object)  # the (start, end) the user chose, or None for everything

    def __init__(
        self,
        title: str,
        unit: Unit,
        *,
        better: Better | None = None,
        may_be_logarithmic: bool = False,
        redraw: Redraw | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.title, self.unit = title, unit
        self._better = better
        self.scaling = Scaling(may_be_logarithmic=may_be_logarithmic)
        self.lines: dict[Hashable, Line] = {}
        self._bands: dict[Hashable, Band] = {}
        self._marks: list[Mark] = []
        self._warm_ups: list[tuple[float, float]] = []
        self._base = (0.0, 10.0)
        self._zoom: tuple[float, float] | None = None
        self._time: float | None = None
        self._redraw = redraw or Redraw(self)
        self._redraw.due.connect(self._refresh_if_seen)
        self._stale = True
        self._build()

    # Content

    def add_series(
        self,
        key: Hashable,
        title: str,
        colour: QColor,
        *,
        buffer: SeriesBuffer | None = None,
        offset: float = 0.0,
        faint: bool = False,
    ) -> SeriesBuffer:
        """Add a curve and return the buffer it draws: `buffer`, or a new one. A `faint` one stands behind, unnamed."""
        curve = Curve(_toned(colour, faint=faint), dots=not faint)
        curve.setZValue(-1 if faint else 0)
        line = Line(key, title, colour, buffer if buffer is not None else SeriesBuffer(), curve, faint, offset)
        self.remove_series(key)
        self.lines[key] = line
        self.view.box.addItem(curve, ignoreBounds=True)
        self.touch()
        return line.buffer

    def remove_series(self, key: Hashable) -> None:
        """Take the curve `key` away, if there is one."""
        line = self.lines.pop(key, None)
        if line is not None:
            self.view.box.removeItem(line.curve)
            self.touch()

    def clear(self) -> None:
        """Take everything away but the title."""
        for key in tuple(self.lines):
            self.remove_series(key)
        self._bands.clear()
        self._marks.clear()
        self._warm_ups.clear()
        self._time = None
        self.touch()

    def append(self, key: Hashable, time: float, value: float) -> None:
        """Add one point to the curve `key`."""
        self.lines[key].buffer.append(time, value)
        self.touch()

    def set_band(self, key: Hashable, band: Band | None) -> None:
        """Show what a baseline says about the curve `key`, or take it away."""
        if band is None:
            self._bands.pop(key, None)
        else:
            self._bands[key] = band
        self.touch()

    def mark_warm_up(self, start: float, end: float) -> None:
        """Shade the time from `start` to `end`: its samples do not count."""
        self._warm_ups = [known for known in self._warm_ups if known[0] != start] + [(start, end)]
        self.touch()

    def mark_finding(self, time: float, text: str) -> None:
        """Mark a finding on the time axis; its words show on hover."""
        self._marks.append(Mark(time, text))
        self.touch()

    def touch(self) -> None:
        """Say that what is drawn has changed."""
        self._stale = True
        if self.isVisible():
            self._redraw.request()

    # Time

    def set_time_range(self, start: float, end: float) -> None:
        """Show this time, and more as it comes, unless the user has zoomed."""
        self._base = (start, max(end, start + 1e-3))
        self.touch()

    def zoom_to(self, start: float, end: float) -> None:
        """Show this time only, until show_all()."""
        if end - start > 1e-6:
            self._set_zoom((start, end))

    def show_all(self) -> None:
        """Show the whole time again, and follow it."""
        self._set_zoom(None)

    def shown_range(self) -> tuple[float, float]:
        """Return the time shown."""
        return self._zoom or self._base

    def latest(self) -> float | None:
        """Return the time of the last point of all curves, or None."""
        ends = [end for line in self.lines.values() if (end := line.latest()) is not None]
        return max(ends, default=None)

    def show_time_axis(self, *, shown: bool) -> None:
        """Show the clock below, or leave it to the plot beneath."""
        self.view.time_axis.show_values(shown=shown)

    def show_time(self, time: float | None, *, here: bool = True) -> None:
        """Put the crosshair at `time`; `here` says that the pointer is in this plot."""
        self._time = time
        self._show_reading(here=here)

    def bands(self) -> dict[Hashable, Band]:
        """Return the baseline's bands by the curves they belong to."""
        return dict(self._bands)

    # Drawing

    def refresh(self) -> None:
        """Draw what there is."""
        self._stale = False
        start, end = self._follow()
        lines = list(self.lines.values())
        stripes = self._stripes()
        columns = max(1, int(self.view.box.width()))
        for line in lines:
            line.decimated(start, end, columns)
        found = extent(lines, stripes)
        if found is not None:
            self.scaling.follow(*found, percent=self.unit is Unit.PERCENT)
        self._set_ranges(start, end)
        smooth = sum(len(line.shown[0]) for line in lines) <= _SMOOTH
        for line in lines:
            line.draw(logarithmic=self.scaling.bounds.logarithmic, smooth=smooth)
        self._draw_layers(stripes)
        self._name_curves(lines, stripes)
        self._show_reading(here=self.view.underMouse())

    def display(self) -> Display:
        """Return the prefix in which the axis and the crosshair's figures are written."""
        greatest = self.scaling.bounds.high
        if self.unit is Unit.PER_SECOND and greatest < _COUNTED_BELOW:
            return Display(1.0, "/s")
        return display(greatest, self.unit)

    def reading(self) -> str:
        """Return all curves at the crosshair in one line, or an empty string."""
        if self._time is None:
            return ""
        parts = [scale.clock(self._time, (self.shown_range()[1] - self.shown_range()[0]) / 500)]
        named = [line for line in self.lines.values() if not line.faint]
        for line in named:
            value = line.at(self._time)
            words = "no sample" if value is None else quantity(value, self.unit)
            parts.append(f"{line.title} {words}" if len(named) > 1 else words)
        parts.extend(f"{band.name} {quantity(band.median, band.unit)}" for band in self._bands.values())
        mark = self.view.foreground.mark_at(self._time)
        return "   ".join([*parts, *([f"▲ {mark.text}"] if mark else [])])

    def _build(self) -> None:
        from widgets.plots.plot_menu import PlotMenu

        self.head, self.legend, self.view = PlotHead(), Legend(), PlotView()
        self.legend.hide()
        self.setAccessibleName(self.title)
        self.view.setAccessibleName(f"Plot: {self.title}")
        self.head.menu_button.setAccessibleName(f"Menu of the plot {self.title}")
        self.menu = PlotMenu(self)
        self.head.menu_button.clicked.connect(self._open_menu)
        self.head.everything.clicked.connect(self.show_all)
        self.view.menu_wanted.connect(self.menu.popup)
        self.view.hovered.connect(self._hover)
        self.view.stepped.connect(self._step)
        self.view.range_chosen.connect(self.zoom_to)
        self.view.zoomed.connect(self._zoom_by)
        self.view.reset.connect(self.show_all)
        self.view.box.sigResized.connect(self._resized)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.head)
        column.addWidget(self.legend)
        column.addWidget(self.view, 1)
        self._write_head()

    def _open_menu(self) -> None:
        button = self.head.menu_button
        self.menu.popup(button.mapToGlobal(button.rect().bottomLeft()))

    def _resized(self, _box: object) -> None:
        self.touch()

    def _refresh_if_seen(self) -> None:
        if self._stale and self.isVisible():
            self.refresh()

    def _follow(self) -> tuple[float, float]:
        latest = self.latest()
        if latest is not None and latest > self._base[1]:
            self._base = (self._base[0], scale.later(latest))
        return self.shown_range()

    def _stripes(self) -> tuple[Stripe, ...]:
        return tuple(stripe_of(band, self.unit) for band in self._bands.values())

    def _set_ranges(self, start: float, end: float) -> None:
        bounds = self.scaling.bounds
        low, high = (self._place(bounds.low), self._place(bounds.high))
        if self.view.box.viewRange() != [[start, end], [low, high]]:
            self.view.box.setRange(xRange=(start, end), yRange=(low, high), padding=0)
        self.view.value_axis.set_scale(self.display(), bounds)

    def _place(self, value: float) -> float:
        """Return where `value` stands in the view's coordinates."""
        from math import log10

        bounds = self.scaling.bounds
        return log10(max(value, bounds.low)) if bounds.logarithmic else value

    def _draw_layers(self, stripes: tuple[Stripe, ...]) -> None:
        placed = tuple(Stripe(*map(self._place, (stripe.low, stripe.high, stripe.median))) for stripe in stripes)
        backdrop, foreground = self.view.backdrop, self.view.foreground
        if (placed, tuple(self._warm_ups)) != (backdrop.stripes, backdrop.warm_ups):
            backdrop.stripes, backdrop.warm_ups = placed, tuple(self._warm_ups)
            backdrop.update()
        if tuple(self._marks) != foreground.marks:
            foreground.marks = tuple(self._marks)
            foreground.update()

    def _name_curves(self, lines: list[Line], stripes: tuple[Stripe, ...]) -> None:
        named = [line for line in lines if not line.faint]
        grey = QColor(palette().baseline)
        labels = [
            Label(self._place(stripe.median), band.name, grey, dashed=True)
            for band, stripe in zip(self._bands.values(), stripes, strict=True)
        ]
        if 1 < len(named) <= NAMED_AT_CURVE:
            ends = [(line, line.buffer.last()) for line in named]
            labels += [Label(self._place(end[1]), line.title, line.colour) for line, end in ends if end is not None]
        self.view.labels.set_labels(labels)
        many = len(named) > NAMED_AT_CURVE
        self.legend.set_entries([(line.title, line.colour) for line in named] if many else [])
        self._write_head()

    def _write_head(self) -> None:
        suffix = self.display().suffix
        self.head.title.set_text(f"{self.title} [{suffix}]" if suffix else self.title)
        logarithmic = "logarithmic" if self.scaling.bounds.logarithmic else ""
        direction = direction_text(self._better) if self._better is not None else ""
        self.head.note.set_text(" · ".join(words for words in (direction, logarithmic) if words))

    # The crosshair and the zoom

    def _hover(self, time: float | None) -> None:
        self.show_time(time)
        self.hovered.emit(time)

    def _step(self, points: int) -> None:
        start, end = self.shown_range()
        longest = max((line for line in self.lines.values()), key=lambda line: len(line.buffer), default=None)
        if longest is None or not len(longest.buffer):
            return
        times = longest.buffer.times() - longest.offset
        here = int(times.searchsorted(end if self._time is None else self._time))
        there = float(times[min(max(here + points, 0), len(times) - 1)])
        self._hover(min(max(there, start), end))

    def _show_reading(self, *, here: bool) -> None:
        cursor = self.view.cursor
        start, end = self.shown_range()
        cursor.setVisible(self._time is not None and start <= self._time <= end)
        reading = self.reading()
        self.head.reading.set_text(reading)
        self.view.setAccessibleDescription(reading)
        if self._time is None:
            return
        cursor.setPos(round((self._time - start) / (end - start) * self.view.box.width()) + 0.5, 0)
        mark = self.view.foreground.mark_at(self._time)
        if here and mark is not None and self.view.underMouse():
            place = self.view.mapToGlobal(QPointF(self.view.box.sceneBoundingRect().left() + cursor.x(), self.view.height()))
            QToolTip.showText(place.toPoint(), tool_tip(mark.text), self.view)

    def _zoom_by(self, time: float, factor: float) -> None:
        start, end = self.shown_range()
        low, high = self._base
        chosen = max(low, time - (time - start) * factor), min(high, time + (end - time) * factor)
        if chosen == (low, high):
            self.show_all()
        else:
            self.zoom_to(*chosen)

    def _set_zoom(self, zoom: tuple[float, float] | None) -> None:
        if zoom == self._zoom:
            return
        self._zoom = zoom
        self.head.everything.setVisible(zoom is not None)
        self.zoom_changed.emit(zoom)
        self.touch()

    def showEvent(self, event: QShowEvent) -> None:
        """Draw what came while nobody looked."""
        super().showEvent(event)
        self.touch()

    def changeEvent(self, event: QEvent) -> None:
        """Take new colours at once."""
        super().changeEvent(event)
        if event.type() in {QEvent.Type.PaletteChange, QEvent.Type.StyleChange}:
            self.view.restyle()
            self.touch()


def _toned(colour: QColor, *, faint: bool) -> QColor:
    toned = QColor(colour)
    toned.setAlpha(_FAINT if faint else 255)
    return toned
