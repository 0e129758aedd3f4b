"""The plots of one trial: its series, earlier trials behind them, the baseline beneath, the host below."""

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QTimer

from app.records import Band
from app.runs.unsteady_start import start_of, start_text
from suites.errors import UnknownSuiteError
from suites.facts import known
from suites.vocab import Labels, Metric, Resource
from widgets.live import groups
from widgets.live.groups import LEADING, Group
from widgets.live.headline import band_for, headline_metric
from widgets.live.model import Place, RunModel, Series, SeriesKey, TrialView
from widgets.plots.stack import PlotStack
from widgets.plots.time_plot import TimePlot
from widgets.plots.time_window import FIRST
from widgets.theme import series_colour

FEW_ALIKE = 2
"""Disks or interfaces of a host that are all drawn; of more, only those that do something."""

FAINT_LIMIT = 12
"""Other trials drawn behind the one in front; the table lists all of them."""

NEW_AT_ONCE = 1
"""Plots made before the window looks at its other events: each takes a twentieth of a second."""


class TrialPlots(PlotStack):
    """Shows one trial of a run. `sync` adds what has appeared since; buffers are shared, nothing is copied."""

    def __init__(self) -> None:
        super().__init__()
        self._model: RunModel | None = None
        self._place: Place | None = None
        self._view: TrialView | None = None
        self._leading: Metric | None = None
        self._resource: Resource | None = None
        self._device: str | None = None
        self._bands: tuple[Band, ...] = ()
        self._drawn: set[tuple[str, SeriesKey]] = set()
        self._operations: list[Labels] = []
        self._marks = 0
        self._ended = False
        self._room = 0
        self._more = QTimer(self, singleShot=True, interval=0)
        self._more.timeout.connect(self.sync)

    def show_trial(self, model: RunModel, place: Place, view: TrialView | None, bands: Sequence[Band]) -> None:
        """Show `view`, or the empty plots of a place where nothing has run yet."""
        if place != self._place or model is not self._model:
            self.clear()
        for plot in self.plots.values():
            plot.clear()
        self._model, self._place, self._view, self._bands = model, place, view, tuple(bands)
        self._leading = headline_metric(model, place)
        self._resource = _resource(model, place)
        self._device = _device(model, place)
        self._drawn, self._operations, self._marks, self._ended = set(), [], 0, False
        self.window_of_time.show_all()
        expected = view.expected if view is not None else None
        self.window_of_time.set_range(0.0, FIRST if expected is None else expected * 1.05 + 1)
        if self._leading is not None:
            leading = Series(self._leading, ())
            self._plot(groups.of_test(leading, self._leading))
            self._draw_earlier(place, view)
        self.sync()

    @property
    def drawing(self) -> bool:
        """Whether plots are still to be made for what has arrived."""
        return self._more.isActive()

    def sync(self) -> None:
        """Draw what has arrived. New plots are made one after the other, so that nobody has to wait for all of them."""
        view = self._view
        if view is None or self._model is None:
            return
        self._room = NEW_AT_ONCE
        for key, series in view.series.items():
            self._draw(("test", key), series, groups.of_test(series, self._leading), 0.0)
        self._draw_host(view)
        self._draw_warm_up(view)
        for time, text in view.marks[self._marks :]:
            for plot in self.plots.values():
                plot.mark_finding(time, text)
        self._marks = len(view.marks)
        if view.ended is not None and not self._ended:
            self._ended = True
            self._mark_starts(view)
            self.window_of_time.set_range(0.0, max(view.latest(), view.seconds or 0.0) or FIRST, follow=False)
        self.look()

    def _draw_host(self, view: TrialView) -> None:
        if self._model is None or view.trial.clock is None:
            return
        watched = self._model.telemetry.get(view.trial.host, {})
        for key, series in watched.items():
            alike = sum(other.metric is series.metric for other in watched.values())
            if ("host", key) not in self._drawn and (alike <= FEW_ALIKE or self._matters(series)):
                self._draw(("host", key), series, groups.of_host(series, self._resource), view.trial.clock)

    def _matters(self, series: Series) -> bool:
        """Whether one of many disks or interfaces does anything, or holds the test's files."""
        return ("device", self._device) in series.labels or bool(np.nanmax(series.buffer.values(), initial=0.0) > 0)

    def _draw(self, key: tuple[str, SeriesKey], series: Series, group: Group | None, offset: float) -> None:
        if key in self._drawn or group is None:
            return
        if group.name not in self.plots:
            if not self._room:
                self._more.start()
                return
            self._room -= 1
        self._drawn.add(key)
        plot = self._plot(group)
        if not groups.fits(series, plot.unit):
            return
        number = sum(not line.faint for line in plot.lines.values())
        colour, dashed = groups.style(series, group, self._operations, number)
        plot.add_series(
            key,
            groups.series_title(series, group),
            series_colour(colour),
            buffer=series.buffer,
            offset=offset,
            factor=groups.factor(series, plot.unit),
            dashed=dashed,
        )
        if group.name == LEADING or not group.shown:
            plot.set_band(key, band_for(self._bands, series.metric, series.labels))

    def _plot(self, group: Group) -> TimePlot:
        known = self.plots.get(group.name)
        if known is not None:
            return known
        return self.add_plot(
            group.name,
            group.title,
            group.unit,
            rank=group.rank,
            better=group.better,
            may_be_logarithmic=group.may_be_logarithmic,
            stretch=group.stretch,
            shown=group.shown,
        )

    def _draw_earlier(self, place: Place, view: TrialView | None) -> None:
        """Draw the leading series of the other trials that count, the latest FAINT_LIMIT of them."""
        if self._model is None or self._leading is None:
            return
        others = [other for other in self._model.trials_at(place) if other is not view and other.counts]
        for other in others[-FAINT_LIMIT:]:
            found = [series for (name, _), series in other.series.items() if name == self._leading.name]
            for index, series in enumerate(found):
                key = (other.trial.id, series.labels)
                title = f"trial {other.trial.number}"
                self.plots[LEADING].add_series(key, title, series_colour(index), buffer=series.buffer, faint=True)

    def _mark_starts(self, view: TrialView) -> None:
        """Mark where the start of a leading series ends that differs from its rest; nothing is left out of it."""
        for series in view.series.values():
            if self._leading is not None and series.metric.name == self._leading.name and not view.trial.warm_up:
                start = start_of(*series.counted_pairs())
                if start is not None:
                    text = f"{groups.series_title(series, groups.of_test(series, self._leading))}: {start_text(start)}"
                    self.plots[LEADING].mark_finding(start.until, text)

    def _draw_warm_up(self, view: TrialView) -> None:
        end = view.latest() if view.trial.warm_up else view.warm_up_until()
        if end:
            for plot in self.plots.values():
                plot.mark_warm_up(0.0, end)


def _resource(model: RunModel, place: Place) -> Resource | None:
    try:
        return model.plan.step(place[0]).suite.resource
    except UnknownSuiteError:
        return None


def _device(model: RunModel, place: Place) -> str | None:
    """Return the disk that holds the step's files on the host, where it is known."""
    step, facts = model.plan.step(place[0]), model.facts.get(place[1])
    try:
        parameter = step.suite.directory_parameter
    except UnknownSuiteError:
        return None
    directory = facts.directory(str(step.values.get(parameter, ""))) if facts is not None and parameter else None
    return known(directory.device) if directory is not None else None
