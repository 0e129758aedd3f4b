"""A sweep in the window: the rate over what was swept, and the latency beneath, on one foot."""

from collections.abc import Sequence

from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.scaling.sweep_panels import SweepPanel
from widgets.plots.label_axis import LabelAxis
from widgets.plots.time_plot import TimePlot
from widgets.plots.time_window import TimeWindow
from widgets.theme import SPACE, series_colour

_COLOURS = 6
_MARGIN = 0.04
"""Part of the foot that is left free beyond the outermost points."""


class SweepPlots(QWidget):
    """Shows the plots of a sweep. What holds it shows and hides it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.plots: list[TimePlot] = []
        self._axes: list[LabelAxis] = []
        self._panels: tuple[SweepPanel, ...] = ()
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(SPACE[1], 0, 0, 0)
        self._column.setSpacing(SPACE[0])
        self.setAccessibleName("Sweep")
        self.hide()

    def show_panels(self, panels: Sequence[SweepPanel]) -> None:
        """Show these plots, from top to bottom."""
        if tuple(panels) == self._panels:
            return
        fits = [(one.metric, one.label) for one in panels] == [(one.metric, one.label) for one in self._panels]
        self._panels = tuple(panels)
        if not fits:
            self._rebuild()
        for plot, axis, panel in zip(self.plots, self._axes, self._panels, strict=True):
            _fill(plot, axis, panel)

    def _rebuild(self) -> None:
        for plot in self.plots:
            self._column.removeWidget(plot)
            plot.hide()
            plot.deleteLater()
        self._axes = [LabelAxis() for _ in self._panels]
        shared: dict[str, TimeWindow] = {}
        self.plots = []
        for panel, axis in zip(self._panels, self._axes, strict=True):
            window = shared.setdefault(panel.label, TimeWindow(self))
            title = f"{panel.metric.title} by {panel.foot}"
            plot = TimePlot(title, panel.metric.unit, better=panel.metric.better, window=window, axis=axis, parent=self)
            self.plots.append(plot)
            self._column.addWidget(plot, 1)


def _fill(plot: TimePlot, axis: LabelAxis, panel: SweepPanel) -> None:
    """Draw the curves of `panel`, and mark its knees."""
    plot.clear()
    ticks = panel.ticks()
    axis.set_ticks(ticks, panel.foot)
    low, high = ticks[0][0], ticks[-1][0]
    margin = _MARGIN * (high - low) or 1.0
    plot.window_of_time.set_range(low - margin, high + margin, follow=False)
    for number, curve in enumerate(panel.curves):
        key = (curve.metric.name, curve.rest)
        name = panel.name(curve) or curve.metric.title
        buffer = plot.add_series(key, name, series_colour(number), dashed=number >= _COLOURS)
        for point in curve.points:
            buffer.append(panel.place(point.x), point.median)
    for place, _, words in panel.knees():
        plot.mark_finding(place, words)
