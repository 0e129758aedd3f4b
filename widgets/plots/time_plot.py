"""One plot of series over time, live or stored, beside a baseline."""

from collections.abc import Hashable
from math import log10

from PySide6.QtCore import QEvent
from PySide6.QtGui import QColor, QShowEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.records import Band
from app.wording import direction_text, quantity
from suites.units import Display, Unit, unit
from suites.vocab import Better
from widgets.plots.axis import TimeAxis
from widgets.plots.curve import Curve
from widgets.plots.head import Entry, Legend, PlotHead
from widgets.plots.labels import Label
from widgets.plots.layers import Mark, Stripe
from widgets.plots.lines import Line, Scaling, extent, stripe_of
from widgets.plots.plot_menu import PlotMenu
from widgets.plots.prefix import prefix
from widgets.plots.redraw import Redraw
from widgets.plots.series import SeriesBuffer
from widgets.plots.time_window import TimeWindow
from widgets.plots.view import PlotView
from widgets.theme import in_force, palette

NAMED_AT_CURVE = 4
"""Up to so many curves are named where they end; more get a legend."""

_SMOOTH = 1500
"""Points in all, up to which lines are drawn smooth; beyond, that costs twice as much."""

_FAINT, _FAINT_DARK = 110, 140
_NAME_LIMIT = 60
_NOTE_LIMIT = 120


class TimePlot(QWidget):
    """Curves over seconds, or over what another `axis` says.

    `refresh` is the only place that draws; everything else asks for it. Plots above each other share one `window`; a
    plot without one has its own. Each redraws by itself: what arrives for one does not wait for another.
    """

    def __init__(
        self,
        title: str,
        unit: Unit,
        *,
        better: Better | None = None,
        may_be_logarithmic: bool = False,
        window: TimeWindow | None = None,
        axis: TimeAxis | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.title, self.unit = title, unit
        self.scaling = Scaling(may_be_logarithmic=may_be_logarithmic)
        self.window_of_time = window or TimeWindow(self)
        self.lines: dict[Hashable, Line] = {}
        self._better = better
        self._bands: dict[Hashable, Band] = {}
        self._marks: list[Mark] = []
        self._warm_ups: dict[float, float] = {}
        self._redraw = Redraw(self)
        self._redraw.due.connect(self._refresh_if_seen)
        self._stale = True
        self._drawn = 0
        self._build(axis)

    # Content

    def add_series(
        self,
        key: Hashable,
        title: str,
        colour: QColor,
        *,
        buffer: SeriesBuffer | None = None,
        offset: float = 0.0,
        factor: float = 1.0,
        faint: bool = False,
        dashed: bool = False,
    ) -> SeriesBuffer:
        """Add a curve and return the buffer it draws: `buffer`, or a new one.

        `offset` is the buffer's time at this plot's zero, `factor` turns its values into this plot's unit. A `faint`
        curve stands behind the others, without a name; a `dashed` one shares its colour with another.
        """
        curve = Curve(_toned(colour, faint=faint), dots=not faint, dashed=dashed)
        curve.setZValue(-1 if faint else 0)
        kept = buffer if buffer is not None else SeriesBuffer()
        line = Line(key, title, colour, kept, curve, faint, offset, factor, dashed)
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

    def bands(self) -> dict[Hashable, Band]:
        """Return the baseline's bands by the curves they belong to."""
        return dict(self._bands)

    def mark_warm_up(self, start: float, end: float) -> None:
        """Shade the time from `start` to `end`, or lengthen the shade from `start`: its samples do not count."""
        self._warm_ups[start] = end
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

    def look(self) -> None:
        """Ask for a redraw if a buffer has grown since the last one."""
        if self._taken() != self._drawn:
            self.touch()

    def show_time_axis(self, *, shown: bool) -> None:
        """Show the clock below, or leave it to the plot beneath."""
        self.view.time_axis.show_values(shown=shown)

    # Drawing

    def refresh(self) -> None:
        """Draw what there is."""
        self._stale, self._drawn = False, self._taken()
        lines = list(self.lines.values())
        self._reach(lines)
        start, end = self.window_of_time.shown
        stripes = tuple(stripe_of(band, self.unit) for band in self._bands.values())
        columns = max(1, int(self.view.box.width()))
        for line in lines:
            line.decimated(start, end, columns)
        found = extent(lines, stripes)
        if found is not None:
            self.scaling.follow(*found, percent=self.unit is Unit.PERCENT)
        self.view.value_axis.set_blank(blank=found is None)
        self._set_ranges(start, end)
        smooth = sum(len(line.buffer) for line in lines) <= _SMOOTH
        for line in lines:
            line.draw(logarithmic=self.scaling.bounds.logarithmic, smooth=smooth)
        self._draw_layers(stripes)
        self._name_curves(stripes)
        self._write_head()
        self._show_reading()

    def display(self) -> Display:
        """Return the prefix in which the axis is written."""
        return prefix(self.scaling.bounds.high, self.unit)

    def reading(self) -> str:
        """Return all curves at the crosshair in one line, or an empty string."""
        time = self.window_of_time.cursor
        if time is None:
            return ""
        start, end = self.window_of_time.shown
        named = self._named()
        figures = [
            f"{line.title} {self._figure(line, time)}" if len(named) > 1 else self._figure(line, time) for line in named
        ]
        parts = [self.view.time_axis.words(time, (end - start) / 500), *figures]
        parts += [
            f"{self._band_title(key)} {quantity(band.median, unit(band.unit))}" for key, band in self._bands.items()
        ]
        mark = self.view.foreground.mark_at(time)
        return "   ".join([*parts, *([f"▲ {mark.text}"] if mark else [])])

    def _taken(self) -> int:
        return sum(line.buffer.taken for line in self.lines.values())

    def _named(self) -> list[Line]:
        return [line for line in self.lines.values() if not line.faint]

    def _figure(self, line: Line, time: float) -> str:
        value = line.at(time)
        return "no sample" if value is None else quantity(value, self.unit)

    def _build(self, axis: TimeAxis | None) -> None:
        self.head, self.legend, self.view = PlotHead(), Legend(), PlotView(axis=axis)
        self.legend.hide()
        self.setAccessibleName(self.title)
        self.view.setAccessibleName(f"Plot: {self.title}")
        self.head.menu_button.setAccessibleName(f"Menu of the plot {self.title}")
        self.menu = PlotMenu(self)
        self.head.menu_button.clicked.connect(self._open_menu)
        self.view.menu_wanted.connect(self.menu.popup)
        self.view.stepped.connect(self._step)
        self.view.box.sigResized.connect(self._resized)
        window = self.window_of_time
        self.head.everything.clicked.connect(window.show_all)
        self.view.hovered.connect(window.move_cursor)
        self.view.range_chosen.connect(window.zoom_to)
        self.view.zoomed.connect(window.zoom_by)
        self.view.reset.connect(window.show_all)
        window.changed.connect(self.touch)
        window.cursor_moved.connect(self._show_reading)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.head)
        column.addWidget(self.legend)
        column.addWidget(self.view, 1)
        self._set_ranges(*window.shown)
        self._write_head()

    def _open_menu(self) -> None:
        button = self.head.menu_button
        self.menu.popup(button.mapToGlobal(button.rect().bottomLeft()))

    def _resized(self, _box: object) -> None:
        self.touch()

    def _refresh_if_seen(self) -> None:
        if self._stale and self.isVisible():
            self.refresh()

    def _reach(self, lines: list[Line]) -> None:
        ends = [end for line in lines if (end := line.latest()) is not None]
        if ends:
            self.window_of_time.reach(max(ends))

    def _set_ranges(self, start: float, end: float) -> None:
        bounds = self.scaling.bounds
        low, high = self._place(bounds.low), self._place(bounds.high)
        if self.view.box.viewRange() != [[start, end], [low, high]]:
            self.view.box.setRange(xRange=(start, end), yRange=(low, high), padding=0)
        self.view.value_axis.set_scale(self.display(), bounds, self.unit)

    def _place(self, value: float) -> float:
        """Return where `value` stands in the view's coordinates."""
        bounds = self.scaling.bounds
        return log10(max(value, bounds.low)) if bounds.logarithmic else value

    def _draw_layers(self, stripes: tuple[Stripe, ...]) -> None:
        placed = tuple(Stripe(*map(self._place, (stripe.low, stripe.high, stripe.median))) for stripe in stripes)
        backdrop, foreground = self.view.backdrop, self.view.foreground
        warm_ups = tuple(self._warm_ups.items())
        if (placed, warm_ups) != (backdrop.stripes, backdrop.warm_ups):
            backdrop.stripes, backdrop.warm_ups = placed, warm_ups
            backdrop.update()
        if tuple(self._marks) != foreground.marks:
            foreground.marks = tuple(self._marks)
            foreground.update()

    def _name_curves(self, stripes: tuple[Stripe, ...]) -> None:
        named = self._named()
        grey = QColor(palette().baseline)
        labels = [
            Label(self._place(stripe.median), self._band_title(key), grey, dashed=True)
            for key, stripe in zip(self._bands, stripes, strict=True)
        ]
        if 1 < len(named) <= NAMED_AT_CURVE:
            ends = [(line, line.end()) for line in named]
            labels += [
                Label(self._place(end), line.title, line.colour, line.dashed) for line, end in ends if end is not None
            ]
        self.view.labels.set_labels(labels)

    def _band_title(self, key: Hashable) -> str:
        line = self.lines.get(key)
        return f"baseline {line.title}" if line is not None and len(self._bands) > 1 else "baseline"

    def _write_head(self) -> None:
        suffix = "" if self.scaling.bounds.logarithmic else self.display().suffix
        direction = direction_text(self._better) if self._better is not None else ""
        logarithmic = "logarithmic" if self.scaling.bounds.logarithmic else ""
        self.head.write(self.title, suffix, [words for words in (direction, logarithmic) if words])
        self.head.everything.setVisible(self.window_of_time.zoomed)

    # The crosshair

    def _band_words(self) -> str:
        bands = self._bands.values()
        names = "”, “".join(dict.fromkeys(band.name[:_NAME_LIMIT] for band in bands))
        notes = "; ".join(dict.fromkeys(band.note[:_NOTE_LIMIT] for band in bands if band.note))
        shape = "a published figure" if all(band.reference for band in bands) else "median and quartiles"
        return f"grey: baseline “{names}”, {shape}{f'; {notes}' if notes else ''}" if names else ""

    def _step(self, points: int) -> None:
        longest = max(self.lines.values(), key=lambda line: len(line.buffer), default=None)
        if longest is None or not len(longest.buffer):
            return
        start, end = self.window_of_time.shown
        times = longest.buffer.times() - longest.offset
        cursor = self.window_of_time.cursor
        here = int(times.searchsorted(end if cursor is None else cursor))
        there = float(times[min(max(here + points, 0), len(times) - 1)])
        self.window_of_time.move_cursor(min(max(there, start), end))

    def _show_reading(self) -> None:
        time, cursor = self.window_of_time.cursor, self.view.cursor
        start, end = self.window_of_time.shown
        cursor.setVisible(time is not None and start <= time <= end)
        reading = self.reading()
        self.view.setAccessibleDescription(reading)
        named = self._named()
        if len(named) > NAMED_AT_CURVE:
            entries = [
                Entry(line.title, line.colour, line.dashed, "" if time is None else self._figure(line, time))
                for line in named
            ]
            self.legend.set_entries(entries)
            reading = self.view.time_axis.words(time, (end - start) / 500) if time is not None else ""
        else:
            self.legend.set_entries([])
        self.head.reading.set_text(reading or self._band_words())
        if time is not None:
            cursor.setPos(round((time - start) / (end - start) * self.view.box.width()) + 0.5, 0)

    def showEvent(self, event: QShowEvent) -> None:
        """Draw what came while nobody looked."""
        super().showEvent(event)
        self.touch()

    def changeEvent(self, event: QEvent) -> None:
        """Take new colours at once."""
        super().changeEvent(event)
        if event.type() in {QEvent.Type.PaletteChange, QEvent.Type.StyleChange}:
            self.view.restyle()
            for line in self.lines.values():
                line.colour = in_force(line.colour)
                line.curve.set_colour(_toned(line.colour, faint=line.faint))
            self.touch()


def _toned(colour: QColor, *, faint: bool) -> QColor:
    toned = QColor(colour)
    toned.setAlpha((_FAINT_DARK if palette().dark else _FAINT) if faint else 255)
    return toned
