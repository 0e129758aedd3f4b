"""Plot of series over time, live or stored, with baselines."""

from collections.abc import Hashable, Sequence
from math import log10

import numpy as np
from PySide6.QtCore import QEvent
from PySide6.QtGui import QColor, QShowEvent
from PySide6.QtWidgets import QWidget

from app.records import Band
from suites.quantities import count_text, direction_text, quantity
from suites.units import Display, Unit, unit
from suites.vocab import Better
from widgets.parts.boxes import column_in, fill
from widgets.parts.controls import pop_up
from widgets.plots.accessible import announce
from widgets.plots.annotations import Annotations, Level, toned
from widgets.plots.axis import TimeAxis, prefix
from widgets.plots.heat import HeatGrid
from widgets.plots.layers import Label, Stripe
from widgets.plots.lines import AxisScaling, CurveItem, Piece, PlotLine, extent
from widgets.plots.plot_header import Legend, LegendEntry, PlotHead
from widgets.plots.plot_menu import PlotMenu
from widgets.plots.redraw import Redraw
from widgets.plots.scale import Range
from widgets.plots.series import SeriesBuffer
from widgets.plots.time_window import TimeWindow
from widgets.plots.timeline import PhaseKind, PlotMark, TimePhase
from widgets.plots.view import PlotView
from widgets.theme import in_force, palette

NAMED_AT_CURVE = 4
"""Up to this many curves are labelled at their ends; more get a legend."""

_SMOOTH = 1500
"""Total number of points up to which lines are antialiased; beyond, that doubles the cost."""

_SELDOM = 1.0
"""Longest pause in seconds between redraws while points arrive."""

_NAME_LIMIT = 60
_NOTE_LIMIT = 120


class TimePlot(QWidget):
    """Curves over time in seconds, or over another `axis`.

    Only `refresh` draws; everything else requests it. Stacked plots share one `window`; a plot without one makes its
    own. Each plot redraws independently.
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
        self.scaling = AxisScaling(may_be_logarithmic=may_be_logarithmic)
        self.window_of_time = window or TimeWindow(self)
        self.lines: dict[Hashable, PlotLine] = {}
        self._better = better
        self._notes = Annotations()
        self._redraw = Redraw(self)
        self._redraw.due.connect(self._refresh_if_visible)
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

        `offset` is the buffer's time at this plot's zero, `factor` converts its values to this plot's unit. A `faint`
        curve is drawn behind the others, without a label.
        """
        curve = CurveItem(toned(colour, faint=faint), marked=not faint, dashed=dashed)
        curve.setZValue(-1 if faint else 0)
        drawn = buffer if buffer is not None else SeriesBuffer()
        line = PlotLine(key, title, colour, (Piece(drawn, offset),), curve, faint, factor, dashed)
        self.remove_series(key)
        self.lines[key] = line
        self.view.box.addItem(curve, ignoreBounds=True)
        self.touch()
        return line.buffer

    def set_pieces(self, key: Hashable, pieces: tuple[Piece, ...]) -> None:
        """Draw the curve `key` from these pieces."""
        if pieces != self.lines[key].pieces:
            self.lines[key].pieces = pieces
            self.touch()

    def remove_series(self, key: Hashable) -> None:
        """Remove the curve `key`, if there is one."""
        line = self.lines.pop(key, None)
        if line is not None:
            self.view.box.removeItem(line.curve)
            self.touch()

    def clear(self) -> None:
        """Remove everything but the title."""
        for key in tuple(self.lines):
            self.remove_series(key)
        self._notes.clear()
        self.scaling.bounds = Range(0.0, 1.0)  # other data: the range before is no reason to keep it
        self.touch()

    def append(self, key: Hashable, time: float, value: float) -> None:
        """Add one point to the curve `key`."""
        self.lines[key].buffer.append(time, value)
        self.touch()

    def set_band(self, key: Hashable, band: Band | None) -> None:
        """Set or remove the baseline band of the curve `key`."""
        if band is None:
            self._notes.bands.pop(key, None)
        else:
            self._notes.bands[key] = band
        self.touch()

    def bands(self) -> dict[Hashable, Band]:
        """Return the baseline's bands by the curves they belong to."""
        return dict(self._notes.bands)

    def levels(self) -> Sequence[Level]:
        """Return the figures of whole trials."""
        return self._notes.levels

    def set_levels(self, levels: Sequence[Level]) -> None:
        """Draw figures of whole trials."""
        if tuple(levels) != self._notes.levels:
            self._notes.levels = tuple(levels)
            self.touch()

    def set_heat(self, heat: Sequence[tuple[HeatGrid, float]]) -> None:
        """Draw heat maps of latencies beneath the curves, each with its time 0 on the axis, which is logarithmic."""
        if tuple(heat) != self._notes.heat:
            self._notes.heat = tuple(heat)
            if heat and self.scaling.forced_logarithmic is None:
                self.scaling.forced_logarithmic = True
            self.touch()

    def mark_warm_up(self, end: float) -> None:
        """Shade the warm-up from 0 to `end`."""
        self._notes.phases = (TimePhase(0.0, end, PhaseKind.WARM_UP, "warm-up"),)
        self.touch()

    def mark_finding(self, time: float, text: str) -> None:
        """Mark a finding on the time axis; `text` is shown on hover."""
        self._notes.marks.append(PlotMark(time, text))
        self.touch()

    def touch(self) -> None:
        """Mark the plot as changed and request a redraw."""
        self._stale = True
        if self.isVisible():
            self._redraw.request()

    def look(self) -> None:
        """Request a redraw if a buffer has grown since the last one, seldom where a second is less than a pixel."""
        if self._taken() != self._drawn:
            self._stale = True
            if self.isVisible():
                start, end = self.window_of_time.shown
                self._redraw.request(min(_SELDOM, (end - start) / max(1.0, self.view.box.width())))

    def show_time_axis(self, *, shown: bool) -> None:
        """Show or hide the labels of the time axis."""
        self.view.time_axis.show_values(shown=shown)

    # Drawing

    def refresh(self) -> None:
        """Draw the plot."""
        self._stale, self._drawn = False, self._taken()
        lines = list(self.lines.values())
        self._reach(lines)
        start, end = self.window_of_time.shown
        self.view.time_axis.set_map(self.window_of_time.time_map)
        stripes = self._notes.stripes(self.unit)
        columns = max(1, int(self.view.box.width()))
        for line in lines:
            line.decimated(start, end, columns)
        found = extent(lines, stripes, self._notes.levels_between(start, end, self.lines))
        zoom = self.window_of_time.zoom
        if zoom is not None and zoom.plot is self:
            self.scaling.show_box(zoom.low, zoom.high)
        elif found is not None:
            self.scaling.follow(*found, percent=self.unit is Unit.PERCENT)
        self.view.value_axis.set_blank(blank=found is None)
        self.view.backdrop.set_blank(blank=found is None)
        self._set_ranges(start, end)
        smooth = sum(len(line.shown[0]) for line in lines) <= _SMOOTH
        for line in lines:
            line.draw(logarithmic=self.scaling.bounds.logarithmic, smooth=smooth)
        self._notes.draw(self.view, self.window_of_time, stripes, self._in_view)
        self._notes.draw_levels(self.view, self.lines, self._in_view)
        most = self._notes.draw_heat(self.view, self.unit, logarithmic=self.scaling.bounds.logarithmic)
        self.head.heat_key.set_most(most)
        self._name_curves(stripes)
        self._write_head()
        self._show_reading()

    def display(self) -> Display:
        """Return the prefix of the value axis."""
        return prefix(self.scaling.bounds.high, self.unit)

    def reading(self) -> str:
        """Return the values of all curves at the crosshair in one line, or an empty string."""
        time = self.window_of_time.cursor
        if time is None:
            return ""
        start, end = self.window_of_time.shown
        named = self._named()
        several = len(named) > 1
        figures = [f"{line.title if several else ''} {self._figure(line, time)}".strip() for line in named]
        parts = [self._time_text(time, (end - start) / 500), *figures]
        parts += [
            f"{self._band_title(key)} {quantity(band.median, unit(band.unit), measured=True)}"
            for key, band in self._notes.bands.items()
        ]
        mark = self.view.foreground.mark_at(time)
        return "   ".join([*parts, *([f"{mark.kind} {mark.text}"] if mark else [])])

    def plot_description(self) -> str:
        """Return the plot in words: unit, direction, trials, latest value of each curve, baseline, crosshair."""
        trials = sum(phase.kind is PhaseKind.TRIAL for phase in self.window_of_time.phases)
        ends = [(line.title, self._figure(line, end)) for line in self._named() if (end := line.latest()) is not None]
        levels = self._notes.levels
        without = f"last trial {quantity(levels[-1][-1], self.unit, measured=True)}" if levels else "no samples"
        parts = [
            "" if self._better is None else direction_text(self._better),
            count_text(trials, "trial") if trials else "",
            f"latest {', '.join(' '.join(one) for one in ends)}" if ends else without,
            self._band_text(),
            self.reading(),
        ]
        return "; ".join(filter(None, parts))

    def _time_text(self, time: float, step: float) -> str:
        phase = self.window_of_time.phase_at(time)
        text = self.view.time_axis.text(time, step)
        return f"{text} ({phase.name})" if phase is not None else text

    def _taken(self) -> int:
        return sum(line.taken for line in self.lines.values())

    def _named(self) -> list[PlotLine]:
        return [line for line in self.lines.values() if not line.faint]

    def _figure(self, line: PlotLine, time: float) -> str:
        value = line.at(time)
        if value is None and not line.taken:
            value = self._notes.level_at(line.key, time)
        return "no sample" if value is None else quantity(value, self.unit, measured=True)

    def _build(self, axis: TimeAxis | None) -> None:
        self.head, self.legend, self.view = PlotHead(), Legend(), PlotView(axis=axis)
        self.legend.hide()
        self.setAccessibleName(self.title)
        self.view.setAccessibleName(f"Plot: {self.title}")
        self.view.describe = self.plot_description
        self.head.menu_button.setAccessibleName(f"Menu of the plot {self.title}")
        self.menu = PlotMenu(self, self)
        self.head.menu_button.clicked.connect(self._open_menu)
        self.view.menu_wanted.connect(self.menu.popup)
        self.view.stepped.connect(self._step)
        self.view.box.sigResized.connect(self._resized)
        window = self.window_of_time
        self.head.everything.clicked.connect(window.show_all)
        self.view.hovered.connect(window.move_cursor)
        self.view.box_chosen.connect(self._zoom_to_box)
        self.view.span_chosen.connect(lambda start, end: window.select((start, end)))
        self.view.panned.connect(window.pan)
        self.view.zoomed.connect(window.zoom_by)
        self.view.reset.connect(window.show_all)
        window.changed.connect(self.touch)
        window.cursor_moved.connect(self._show_reading)
        fill(column_in(self, 0), self.head, self.legend, (self.view, 1))
        self._set_ranges(*window.shown)
        self._write_head()

    def _zoom_to_box(self, start: float, end: float, low: float, high: float) -> None:
        """Zoom to a drawn box, or to its time range alone if it is flat."""
        if low < high:
            if self.scaling.bounds.logarithmic:
                low, high = 10**low, 10**high
            self.window_of_time.zoom_to(start, end, self, low, high)
        else:
            self.window_of_time.zoom_to(start, end)

    def set_from_zero(self, *, from_zero: bool) -> None:
        """Start the value axis at zero, or fit it to the data."""
        self.scaling.from_zero = from_zero
        self.touch()

    def _open_menu(self) -> None:
        pop_up(self.menu, self.head.menu_button)

    def _resized(self, _box: object) -> None:
        self.touch()

    def _refresh_if_visible(self) -> None:
        if self._stale and self.isVisible():
            self.refresh()

    def _reach(self, lines: list[PlotLine]) -> None:
        ends = [end for line in lines if (end := line.latest()) is not None]
        if ends:
            self.window_of_time.reach(max(ends))

    def _set_ranges(self, start: float, end: float) -> None:
        bounds = self.scaling.bounds
        low, high = self._in_view(bounds.low), self._in_view(bounds.high)
        if self.view.box.viewRange() != [[start, end], [low, high]]:
            self.view.box.setRange(xRange=(start, end), yRange=(low, high), padding=0)
        self.view.value_axis.set_scale(self.display(), bounds, self.unit)

    def _in_view(self, value: float) -> float:
        """Return `value` in the view's coordinates."""
        bounds = self.scaling.bounds
        return log10(max(value, bounds.low)) if bounds.logarithmic else value

    def _name_curves(self, stripes: tuple[Stripe, ...]) -> None:
        named = self._named()
        grey = QColor(palette().baseline)
        labels = [
            Label(self._in_view(stripe.median), self._band_title(key), grey, dashed=True)
            for key, stripe in zip(self._notes.bands, stripes, strict=True)
        ]
        if len(named) <= NAMED_AT_CURVE and (len(named) > 1 or any(line.title != self.title for line in named)):
            ends = [(line, line.end()) for line in named]
            labels += [
                Label(self._in_view(end), line.title, line.colour, line.dashed) for line, end in ends if end is not None
            ]
        self.view.labels.set_labels(labels)

    def _band_title(self, key: Hashable) -> str:
        line = self.lines.get(key)
        return f"baseline {line.title}" if line is not None and len(self._notes.bands) > 1 else "baseline"

    def _write_head(self) -> None:
        suffix = "" if self.scaling.bounds.logarithmic else self.display().suffix
        direction = direction_text(self._better) if self._better is not None else ""
        logarithmic = "logarithmic" if self.scaling.bounds.logarithmic else ""
        self.head.write(self.title, suffix, [text for text in (direction, logarithmic) if text])
        self.head.everything.setVisible(self.window_of_time.zoomed)

    # The crosshair

    def _band_text(self) -> str:
        bands = self._notes.bands.values()
        names = "”, “".join(dict.fromkeys(band.name[:_NAME_LIMIT] for band in bands))
        notes = "; ".join(dict.fromkeys(band.note[:_NOTE_LIMIT] for band in bands if band.note))
        shape = "a published figure" if all(band.reference for band in bands) else "median and quartiles"
        return f"grey: baseline “{names}”, {shape}{f'; {notes}' if notes else ''}" if names else ""

    def _step(self, points: int, selecting: bool) -> None:  # noqa: FBT001 (a slot takes what its signal sends)
        """Move the crosshair by some points; with `selecting`, extend the selected span to it."""
        start, end = self.window_of_time.shown
        times = max((line.points()[0] for line in self.lines.values()), key=len, default=())
        if not len(times):
            return
        cursor = self.window_of_time.cursor
        index = int(np.searchsorted(times, end if cursor is None else cursor))
        time = min(max(float(times[min(max(index + points, 0), len(times) - 1)]), start), end)
        if selecting:
            chosen = self.window_of_time.selection
            edge = cursor if cursor is not None else end
            fixed = edge if chosen is None else chosen[0] if chosen[1] == cursor else chosen[1]
            self.window_of_time.select((fixed, time))
        self.window_of_time.move_cursor(time)
        announce(self.view)

    def _show_reading(self) -> None:
        time, cursor = self.window_of_time.cursor, self.view.cursor
        start, end = self.window_of_time.shown
        cursor.setVisible(time is not None and start <= time <= end)
        reading = self.reading()
        named = self._named()
        if len(named) > NAMED_AT_CURVE:
            entries = [
                LegendEntry(line.title, line.colour, line.dashed, "" if time is None else self._figure(line, time))
                for line in named
            ]
            self.legend.set_entries(entries)
            reading = self._time_text(time, (end - start) / 500) if time is not None else ""
        else:
            self.legend.set_entries([])
        self.head.show_reading(reading or self._band_text())
        if time is not None:
            cursor.setPos(round((time - start) / (end - start) * self.view.box.width()) + 0.5, 0)

    def showEvent(self, event: QShowEvent) -> None:
        """Draw what has changed while the plot was hidden."""
        super().showEvent(event)
        self.touch()

    def changeEvent(self, event: QEvent) -> None:
        """Apply new colours."""
        super().changeEvent(event)
        if event.type() in {QEvent.Type.PaletteChange, QEvent.Type.StyleChange}:
            self.view.restyle()
            for line in self.lines.values():
                line.colour = in_force(line.colour)
                line.curve.set_colour(toned(line.colour, faint=line.faint))
            self.touch()
