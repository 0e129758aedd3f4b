"""Plots of a sweep: each metric by queue depth, size, rate and so on."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from PySide6.QtWidgets import QWidget

from app.scaling.scaling import ScalingAnalysis, scaling_charts
from app.scaling.sweeps import SweepPanel, curves_of, panels_of, target_of
from app.services import Workstation
from suites.quantities import metric_text
from suites.vocab import Figure
from widgets.jobs import BackgroundJob
from widgets.live.model import RunModel, StepKey, TrialView
from widgets.parts.boxes import column_in, fill, scrolled
from widgets.plots.axis import LabelAxis
from widgets.plots.chart_view import ChartView
from widgets.plots.time_plot import TimePlot
from widgets.plots.time_window import TimeWindow
from widgets.theme import SPACE, series_colour


def sweep_of(model: RunModel, step_key: StepKey, front: TrialView | None) -> tuple[SweepPanel, ...]:
    """Return the plots of the sweep of a step; none without a sweep.

    With a counted trial in front they cover all counted trials; otherwise that trial alone, by the medians of its
    samples while it runs.
    """
    if front is None:
        return ()
    target = target_of(model.plan.step(step_key[0]))
    if front.counts:
        every = [figure for view in model.trials_at(step_key) if view.counts for figure in view.figures]
        return panels_of(curves_of(every), target)
    return panels_of(curves_of(front.figures or list(_so_far(front))), target)


def _so_far(view: TrialView) -> Iterator[Figure]:
    """Yield the median so far of every series that may belong to a sweep."""
    seen = [Figure(series.metric, 0.0, series.labels) for series in view.series.values() if series.labels]
    metrics = {curve.metric for curve in curves_of(seen)}
    for series in list(view.series.values()):
        if series.metric in metrics and len(values := series.counted()):
            yield Figure(series.metric, float(np.median(values)), series.labels)


_COLOURS = 6
_MARGIN = 0.04
"""Margin beyond the outermost points, as a share of the axis."""


class SweepPlots(QWidget):
    """Plots of a sweep, one above the other. Its owner shows and hides it."""

    def __init__(self, workstation: Workstation | None = None) -> None:
        """`workstation` fits the model of a stored sweep."""
        super().__init__()
        self.plots: list[TimePlot] = []
        self.charts: list[ChartView] = []
        self._workstation = workstation
        self._scaling_of: tuple[str, StepKey] | None = None
        self._axes: list[LabelAxis] = []
        self._panels: tuple[SweepPanel, ...] = ()
        inner = QWidget()
        self._column = column_in(inner, SPACE[0], (SPACE[1], 0, 0, 0))
        fill(column_in(self), scrolled(inner))
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

    def show_scaling(self, model: RunModel, step_key: StepKey) -> None:
        """Show the fitted model of a finished sweep in place of the plots of its metrics; it is read once."""
        if self._workstation is None or not self._panels or not model.phase.over or not model.run_id:
            self._show_charts(())
            self._scaling_of = None
            return
        if self._scaling_of == (model.run_id, step_key):
            return
        self._scaling_of = asked = model.run_id, step_key
        analyses, run_id = self._workstation.analyses, model.run_id

        def read() -> list[ScalingAnalysis]:
            return [one for one in analyses.scaling(run_id) if (one.step, one.host) == step_key]

        def show(found: list[ScalingAnalysis]) -> None:
            if self._scaling_of == asked:
                self._show_charts(found)

        BackgroundJob(read, self).start(show, lambda _error: None)

    def _show_charts(self, found: Sequence[ScalingAnalysis]) -> None:
        for view in self.charts:
            self._column.removeWidget(view)
            view.hide()
            view.deleteLater()
        self.charts = []
        for one in found:
            measured, *rest = scaling_charts(one)
            title = metric_text(one.curve.metric, one.curve.rest)  # the page names step and host
            for chart in (replace(measured, title=title), *rest):
                view = ChartView()
                view.show_chart(chart)
                self._column.insertWidget(len(self.charts), view, 1)
                self.charts.append(view)
        fitted = {panel.title for panel in self._panels if panel.metric in {one.curve.metric for one in found}}
        for plot in self.plots:
            plot.setVisible(plot.title not in fitted)

    def _rebuild(self) -> None:
        self._show_charts(())
        self._scaling_of = None
        for plot in self.plots:
            self._column.removeWidget(plot)
            plot.hide()
            plot.deleteLater()
        self._axes = [LabelAxis() for _ in self._panels]
        shared: dict[str, TimeWindow] = {}
        self.plots = []
        for panel, axis in zip(self._panels, self._axes, strict=True):
            window = shared.setdefault(panel.label, TimeWindow(self))
            plot = TimePlot(
                panel.title, panel.metric.unit, better=panel.metric.better, window=window, axis=axis, parent=self,
                may_be_logarithmic=len(panel.metrics) > 1,
            )  # fmt: skip
            self.plots.append(plot)
            self._column.addWidget(plot, 1)


def _fill(plot: TimePlot, axis: LabelAxis, panel: SweepPanel) -> None:
    """Draw the curves of `panel` and mark its knees."""
    plot.clear()
    ticks = panel.ticks()
    axis.set_ticks(ticks, panel.x_title)
    low, high = ticks[0][0], ticks[-1][0]
    margin = _MARGIN * (high - low) or 1.0
    plot.window_of_time.set_range(low - margin, high + margin, follow=False)
    for number, curve in enumerate(panel.curves):
        key = (curve.metric.name, curve.rest)
        name = panel.name(curve) or curve.metric.title
        buffer = plot.add_series(key, name, series_colour(number), dashed=number >= _COLOURS)
        for point in curve.points:
            buffer.append(panel.position(point.x), point.value)
    for time, _, text in panel.knees():
        plot.mark_finding(time, text)
