"""Time range and crosshair shared by stacked plots."""

from PySide6.QtCore import QObject, Signal

from widgets.plots import scale

FIRST = 10.0
"""Seconds shown while the length of a trial is unknown."""


class TimeWindow(QObject):
    """A time range that grows with new samples, the zoomed part of it, and a crosshair."""

    changed = Signal()
    cursor_moved = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._whole = (0.0, FIRST)
        self._zoom: tuple[float, float] | None = None
        self._follows = True
        self.cursor: float | None = None

    @property
    def shown(self) -> tuple[float, float]:
        """The shown start and end in seconds."""
        return self._zoom or self._whole

    @property
    def zoomed(self) -> bool:
        """Whether the user has zoomed."""
        return self._zoom is not None

    def set_range(self, start: float, end: float, *, follow: bool = True) -> None:
        """Show this range unless the user has zoomed; with `follow`, extend it with new samples."""
        self._follows = follow
        whole = (start, max(end, start + 1e-3))
        if whole != self._whole:
            self._whole = whole
            self.changed.emit()

    def reach(self, time: float) -> None:
        """Extend the range to `time`."""
        if self._follows and time > self._whole[1]:
            self._whole = (self._whole[0], scale.later(time))
            self.changed.emit()

    def zoom_to(self, start: float, end: float) -> None:
        """Show only this part, until show_all()."""
        if end - start > 1e-6 and (start, end) != self._zoom:
            self._zoom = (start, end)
            self.changed.emit()

    def zoom_by(self, time: float, factor: float) -> None:
        """Scale the shown range by `factor` around `time`, within the whole range."""
        start, end = self.shown
        low, high = self._whole
        chosen = max(low, time - (time - start) * factor), min(high, time + (end - time) * factor)
        if chosen == self._whole:
            self.show_all()
        else:
            self.zoom_to(*chosen)

    def show_all(self) -> None:
        """Show the whole range and follow new samples."""
        if self._zoom is not None:
            self._zoom = None
            self.changed.emit()

    def move_cursor(self, time: float | None) -> None:
        """Move the crosshair to `time`, or hide it."""
        if time != self.cursor:
            self.cursor = time
            self.cursor_moved.emit()
