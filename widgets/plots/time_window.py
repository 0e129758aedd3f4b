"""What stacked plots share: time range with its history, crosshair, selected span, phases and marks."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from widgets.plots import scale
from widgets.plots.timeline import PlotMark, TimeMap, TimePhase

FIRST = 10.0
"""Seconds shown while the length of a trial is unknown."""

LEAST = 1.0
"""Least seconds of the whole range: a failed run may have no time at all."""

_MOST_ZOOMS = 50
"""Most zooms that can be gone back."""


@dataclass(frozen=True, slots=True)
class Zoom:
    """A part of the time range; `low` and `high` are the values shown in the plot `plot`, where a box was drawn."""

    start: float
    end: float
    plot: object | None = None
    low: float = 0.0
    high: float = 0.0


class TimeWindow(QObject):
    """A time range that grows with new samples, the zoomed part of it, a crosshair and a selected span."""

    changed = Signal()
    cursor_moved = Signal()
    selection_changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._whole = (0.0, FIRST)
        self._zoom: Zoom | None = None
        self._back: list[Zoom | None] = []
        self._forward: list[Zoom | None] = []
        self._follows = True
        self.cursor: float | None = None
        self.selection: tuple[float, float] | None = None
        self.time_map = TimeMap()
        self.phases: tuple[TimePhase, ...] = ()
        self.marks: tuple[PlotMark, ...] = ()

    @property
    def shown(self) -> tuple[float, float]:
        """The shown start and end in seconds."""
        return (self._zoom.start, self._zoom.end) if self._zoom is not None else self._whole

    @property
    def zoom(self) -> Zoom | None:
        """The zoomed part, or None."""
        return self._zoom

    @property
    def zoomed(self) -> bool:
        """Whether the user has zoomed."""
        return self._zoom is not None

    def set_axis(self, time_map: TimeMap, phases: Sequence[TimePhase], marks: Sequence[PlotMark]) -> None:
        """Set the map from the clock to the axis, and the phases and marks on it."""
        made = time_map, tuple(phases), tuple(marks)
        if made != (self.time_map, self.phases, self.marks):
            self.time_map, self.phases, self.marks = made
            self.changed.emit()

    def set_range(self, start: float, end: float, *, follow: bool = True) -> None:
        """Show this range unless the user has zoomed; with `follow`, extend it with new samples."""
        self._follows = follow
        whole = (start, max(end, start + LEAST))
        if whole != self._whole:
            self._whole = whole
            self.changed.emit()

    def reach(self, time: float) -> None:
        """Extend the range to `time`."""
        if self._follows and time > self._whole[1]:
            self._whole = (self._whole[0], scale.later(time))
            self.changed.emit()

    def zoom_to(
        self, start: float, end: float, plot: object | None = None, low: float = 0.0, high: float = 0.0
    ) -> None:
        """Show only this part, and of `plot` only the values from `low` to `high`, until show_all()."""
        if end - start > 1e-6:
            self._go(Zoom(start, end, plot, low, high))

    def zoom_by(self, time: float, factor: float) -> None:
        """Scale the shown range by `factor` around `time`, within the whole range."""
        start, end = self.shown
        low, high = self._whole
        chosen = max(low, time - (time - start) * factor), min(high, time + (end - time) * factor)
        if chosen == self._whole:
            self.show_all()
        else:
            self.zoom_to(*chosen)

    def pan(self, share: float) -> None:
        """Move the zoomed part by `share` of its length, within the whole range."""
        if self._zoom is None:
            return
        start, end = self.shown
        move = share * (end - start)
        move = max(self._whole[0] - start, min(self._whole[1] - end, move))
        self.zoom_to(start + move, end + move)

    def show_all(self) -> None:
        """Show the whole range and follow new samples."""
        self._go(None)

    def go_back(self) -> None:
        """Show the part that was shown before."""
        if self._back:
            self._forward.append(self._zoom)
            self._set_zoom(self._back.pop())

    def go_forward(self) -> None:
        """Show the part that was shown before the last go_back()."""
        if self._forward:
            self._back.append(self._zoom)
            self._set_zoom(self._forward.pop())

    def forget(self) -> None:
        """Show the whole of another axis: history, selection and crosshair refer to the former one."""
        self._back.clear()
        self._forward.clear()
        self.select(None)
        self.move_cursor(None)
        self._set_zoom(None)

    def move_cursor(self, time: float | None) -> None:
        """Move the crosshair to `time`, or hide it."""
        if time != self.cursor:
            self.cursor = time
            self.cursor_moved.emit()

    def select(self, selection: tuple[float, float] | None) -> None:
        """Select a span for statistics, or none."""
        chosen = None if selection is None or selection[0] == selection[1] else (min(selection), max(selection))
        if chosen != self.selection:
            self.selection = chosen
            self.selection_changed.emit()
            self.changed.emit()

    def to_mark(self, step: int) -> PlotMark | None:
        """Move the crosshair to the next mark (`step` 1) or the one before (-1), and return it."""
        here = self.cursor if self.cursor is not None else (-1e18 if step > 0 else 1e18)
        ordered = sorted(self.marks, key=lambda mark: step * mark.time)
        found = next((mark for mark in ordered if step * (mark.time - here) > 1e-9), None)
        if found is not None:
            start, end = self.shown
            if not start <= found.time <= end:
                self.show_all()
            self.move_cursor(found.time)
        return found

    def phase_at(self, time: float) -> TimePhase | None:
        """Return the trial's phase at `time`, or None."""
        return next((one for one in self.phases if one.key is not None and one.start <= time <= one.end), None)

    def _go(self, zoom: Zoom | None) -> None:
        if zoom != self._zoom:
            self._back = [*self._back[-_MOST_ZOOMS:], self._zoom]
            self._forward.clear()
            self._set_zoom(zoom)

    def _set_zoom(self, zoom: Zoom | None) -> None:
        if zoom != self._zoom:
            self._zoom = zoom
            self.changed.emit()
