"""Plots of a trial: which series go into which plot, and their layout."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QSplitter, QTabBar

from app.checks.starts import start_of, start_text
from app.records import Band
from suites.errors import UnitError, UnknownSuiteError
from suites.facts import known
from suites.quantities import label_text
from suites.units import Unit, convert
from suites.vocab import Better, Labels, Metric, MetricKind, Resource
from widgets.live.headline import band_for, headline_metric
from widgets.live.model import LiveSeries, RunModel, SeriesKey, StepKey, TrialView
from widgets.live.sweep_plots import SweepPlots
from widgets.parts.boxes import FittedWidget, column_in, fill
from widgets.plots.stack import PlotStack
from widgets.plots.time_plot import TimePlot
from widgets.plots.time_window import FIRST
from widgets.theme import SPACE, series_colour

HEADLINE = "headline"
LATENCY = "latency"

_HOST = {
    "cpu": ("Host: CPU", 50),
    "disk": ("Host: disk", 60),
    "network": ("Host: network", 70),
    "memory": ("Host: memory", 80),
    "swap": ("Host: swap", 81),
    "pressure": ("Host: pressure (PSI)", 82),
    "load": ("Host: load", 83),
    "core": ("Host: CPU per core", 51),
    "clock": ("Host: CPU frequency", 52),
    "temperature": ("Host: temperature, share of limit", 53),
    "cgroup": ("Host: CPU throttled (cgroup)", 54),
    "tasks": ("Host: tasks", 84),
    "page": ("Host: major page faults", 85),
}
"""Title and rank of a host plot, by the first word of its metrics' names."""

_EXTRA = {
    ("disk", Unit.PERCENT): " busy",
    ("disk", Unit.PER_SECOND): " I/Os",
    ("disk", Unit.ONE): " queue",
    ("network", Unit.PER_SECOND): " drops",
}
_OTHER_RANK = 20
_MEAN = "_mean"
"""Suffix of means, hidden at first: the percentiles show more."""

_REDUNDANT = ("idle", "segments")
"""Suffixes of host metrics that follow from the others."""

_COUNTED = frozenset({"process", "allowance", "link", "filesystem", "throttle", "out"})
"""Host metrics that are nearly always zero: findings report them, no plot shows them."""

_PEER = 100
"""Ranks of the peer's plots after those of the host."""

_WATCHED = {
    Resource.CPU: {"cpu"},
    Resource.MEMORY: {"cpu"},
    Resource.DISK: {"cpu", "disk"},
    Resource.NETWORK: {"cpu", "network"},
    Resource.APPLICATION: {"cpu", "disk"},
}
"""Host plots shown at first, by the resource that the suite loads."""


COLOURS = 6
_PERCENTILES = (50.0, 95.0, 99.0, 99.9, 99.999, 100.0)
"""Upper limits of the percentiles of each colour: a percentile has the same colour in every plot."""


@dataclass(frozen=True, slots=True)
class Group:
    """One plot: its name, title, unit and order (lowest `rank` on top)."""

    name: str
    title: str
    unit: Unit
    rank: int
    better: Better | None = None
    may_be_logarithmic: bool = False
    stretch: int = 2
    shown: bool = True
    of_host: bool = False


def of_test(series: LiveSeries, headline: Metric | None) -> Group:
    """Return the plot for a series of the test."""
    metric = series.metric
    if headline is not None and metric.name in {headline.name, headline.name.removeprefix("total_")}:
        return Group(HEADLINE, headline.title, headline.unit, 0, headline.better, stretch=4)
    if metric.percentile is not None and _same_dimension(metric.unit, Unit.SECOND):
        return Group(LATENCY, "Latency", metric.unit, 10, Better.LOWER, may_be_logarithmic=True, stretch=3)
    another_time = metric.kind is MetricKind.TIME and not metric.name.endswith(_MEAN)
    return Group(metric.name, metric.title, metric.unit, _OTHER_RANK, metric.better, shown=another_time)


def of_host(series: LiveSeries, resource: Resource | None, *, peer: bool = False) -> Group | None:
    """Return the plot for a series of telemetry of the host or its `peer`, or None if it is not drawn."""
    metric = series.metric
    part = metric.name.partition("_")[0]
    if metric.name.endswith(_REDUNDANT) or part in _COUNTED:
        return None
    title, rank = _HOST.get(part, (f"Host: {part}", 90))
    watched = resource is None or part in _WATCHED[resource]
    name = f"host {part} {metric.unit.value}"
    extra = _EXTRA.get((part, metric.unit), "")
    group = Group(name, title + extra, metric.unit, rank, stretch=2, shown=watched and not extra, of_host=True)
    if not peer:
        return group
    title = group.title.replace("Host", "Peer", 1)
    return replace(group, name=f"peer {name}", title=title, rank=rank + _PEER, shown=part == "cpu")


def series_title(series: LiveSeries, group: Group) -> str:
    """Return the name of a series within its plot."""
    metric = series.metric
    labelled = label_text(series.labels)
    if group.name == LATENCY:
        name = "max" if metric.percentile == 100 else f"p{metric.percentile:g}"
        return f"{name} {labelled}".strip()
    if group.of_host:
        return f"{_short_name(metric)} {labelled}".strip()
    return labelled or ("total" if metric.name.startswith("total_") else metric.title)


def style(series: LiveSeries, group: Group, operations: list[Labels], number: int) -> tuple[int, bool]:
    """Return the index of the colour and whether the line is dashed.

    Latencies have a colour per percentile, dashed from the second operation on; `operations` collects those seen.
    Other series are coloured by their `number` in the plot: six colours, then the same ones dashed.
    """
    if group.name != LATENCY:
        return number, number >= COLOURS
    if series.labels not in operations:
        operations.append(series.labels)
    percentile = series.metric.percentile or 0.0
    colour = next(index for index, known in enumerate(_PERCENTILES) if percentile <= known)
    return colour, operations.index(series.labels) > 0


def fits(series: LiveSeries, unit: Unit) -> bool:
    """Return whether `series` can be drawn in a plot of `unit`."""
    return _same_dimension(series.metric.unit, unit)


def factor(series: LiveSeries, unit: Unit) -> float:
    """Return the factor that converts `series` to `unit`."""
    return convert(1.0, series.metric.unit, unit)


def _short_name(metric: Metric) -> str:
    """Return the short name of a host metric in its plot: ``user`` for ``cpu_user``."""
    name = metric.name.partition("_")[2].removesuffix("_rate").removesuffix("_ios")
    return name.replace("_", " ") or metric.title


def _same_dimension(one: Unit, other: Unit) -> bool:
    try:
        convert(1.0, one, other)
    except UnitError:
        return False
    return True


FEW_SIMILAR = 2
"""Up to this many disks or interfaces are all drawn; of more, only active ones."""

FAINT_LIMIT = 12
"""Most other trials drawn behind the one in front; the table lists all."""

NEW_AT_ONCE = 1
"""Plots made per turn of the event loop: each takes 50 ms."""


class TrialPlots(PlotStack):
    """Plots of one trial. `sync` adds new series; the buffers are shared with the model, not copied."""

    def __init__(self) -> None:
        super().__init__()
        self._model: RunModel | None = None
        self._step_key: StepKey | None = None
        self._view: TrialView | None = None
        self._headline: Metric | None = None
        self._resource: Resource | None = None
        self._device: str | None = None
        self._bands: tuple[Band, ...] = ()
        self._drawn: set[tuple[str, SeriesKey]] = set()
        self._operations: list[Labels] = []
        self._marks = 0
        self._peer: str | None = None
        self._ended = False
        self._budget = 0
        self._more = QTimer(self, singleShot=True, interval=0)
        self._more.timeout.connect(self.sync)

    def show_trial(self, model: RunModel, step_key: StepKey, view: TrialView | None, bands: Sequence[Band]) -> None:
        """Show `view`, or empty plots of a step that has not run yet."""
        if step_key != self._step_key or model is not self._model:
            self.clear()
        for plot in self.plots.values():
            plot.clear()
        self._model, self._step_key, self._view, self._bands = model, step_key, view, tuple(bands)
        self._headline = headline_metric(model, step_key)
        self._resource = _resource(model, step_key)
        self._device = _device(model, step_key)
        self._peer = model.plan.step(step_key[0]).peer
        self._drawn, self._operations, self._marks, self._ended = set(), [], 0, False
        self.window_of_time.show_all()
        expected = view.expected if view is not None else None
        self.window_of_time.set_range(0.0, FIRST if expected is None else expected * 1.05 + 1)
        if self._headline is not None:
            headline = LiveSeries(self._headline, ())
            self._plot(of_test(headline, self._headline))
            self._draw_earlier(step_key, view)
        self.sync()

    @property
    def drawing(self) -> bool:
        """Whether plots for new series are still to be made."""
        return self._more.isActive()

    def sync(self) -> None:
        """Draw what has arrived. New plots are made one per turn of the event loop, so the window stays responsive."""
        view = self._view
        if view is None or self._model is None:
            return
        self._budget = NEW_AT_ONCE
        for key, series in view.series.items():
            self._draw(("test", key), series, of_test(series, self._headline), 0.0)
        for source, host, zero in self._watched_hosts(view):
            self._draw_host(source, host, zero)
        self._draw_warm_up(view)
        for time, text in view.marks[self._marks :]:
            for plot in self.plots.values():
                plot.mark_finding(time, text)
        self._marks = len(view.marks)
        if view.ended is not None and not self._ended:
            self._ended = True
            self._mark_starts(view)
            self.window_of_time.set_range(0.0, view.latest() or view.seconds or FIRST, follow=False)
        for plot in self.plots.values():
            plot.look()

    def _watched_hosts(self, view: TrialView) -> Iterator[tuple[str, str, float]]:
        """Yield the host and its peer, if that is another, with time 0 of the trial on the clock of each."""
        zero, clock, peer_clock = view.zero, view.trial.clock, view.trial.peer_clock
        if zero is not None:
            yield "host", view.trial.host, zero
        if zero is not None and clock is not None and peer_clock is not None and self._peer != view.trial.host:
            yield "peer", self._peer or "", zero - clock + peer_clock

    def _draw_host(self, source: str, host: str, zero: float) -> None:
        """Draw new series of a host; move the others if the tool's time 0 was determined more exactly."""
        watched = self._model.telemetry.get(host, {}) if self._model is not None else {}
        alike = Counter(id(series.metric) for series in watched.values())
        for key, series in watched.items():
            if (source, key) in self._drawn:
                continue
            if alike[id(series.metric)] <= FEW_SIMILAR or self._matters(series):
                self._draw((source, key), series, of_host(series, self._resource, peer=source == "peer"), zero)
        for plot in self.plots.values():
            for drawn, line in plot.lines.items():
                if isinstance(drawn, tuple) and drawn[0] == source and line.offset != zero:
                    line.offset = zero
                    plot.touch()

    def _matters(self, series: LiveSeries) -> bool:
        """Return whether a disk or interface is active, or holds the test's files."""
        return ("device", self._device) in series.labels or bool(np.nanmax(series.buffer.values(), initial=0.0) > 0)

    def _draw(self, key: tuple[str, SeriesKey], series: LiveSeries, group: Group | None, offset: float) -> None:
        if key in self._drawn or group is None:
            return
        if group.name not in self.plots:
            if not self._budget:
                self._more.start()
                return
            self._budget -= 1
        self._drawn.add(key)
        plot = self._plot(group)
        if not fits(series, plot.unit):
            return
        number = sum(not line.faint for line in plot.lines.values())
        colour, dashed = style(series, group, self._operations, number)
        plot.add_series(
            key,
            series_title(series, group),
            series_colour(colour),
            buffer=series.buffer,
            offset=offset,
            factor=factor(series, plot.unit),
            dashed=dashed,
        )
        if group.name == HEADLINE or not group.shown:
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

    def _draw_earlier(self, step_key: StepKey, view: TrialView | None) -> None:
        """Draw the headline series of the last FAINT_LIMIT other counted trials."""
        if self._model is None or self._headline is None:
            return
        others = [other for other in self._model.trials_at(step_key) if other is not view and other.counts]
        for other in others[-FAINT_LIMIT:]:
            found = [series for (name, _), series in other.series.items() if name == self._headline.name]
            for index, series in enumerate(found):
                key = (other.trial.id, series.labels)
                title = f"trial {other.trial.number}"
                self.plots[HEADLINE].add_series(key, title, series_colour(index), buffer=series.buffer, faint=True)

    def _mark_starts(self, view: TrialView) -> None:
        """Mark the end of a start-up phase that differs from the rest of the headline series; no sample is excluded."""
        for series in view.series.values():
            if self._headline is not None and series.metric.name == self._headline.name and not view.trial.warm_up:
                start = start_of(*series.counted_pairs())
                if start is not None:
                    text = f"{series_title(series, of_test(series, self._headline))}: {start_text(start)}"
                    self.plots[HEADLINE].mark_finding(start.until, text)

    def _draw_warm_up(self, view: TrialView) -> None:
        end = view.latest() if view.trial.warm_up else view.warm_up_until()
        if end:
            for plot in self.plots.values():
                plot.mark_warm_up(end)


def _resource(model: RunModel, step_key: StepKey) -> Resource | None:
    try:
        return model.plan.step(step_key[0]).suite.resource
    except UnknownSuiteError:
        return None


def _device(model: RunModel, step_key: StepKey) -> str | None:
    """Return the disk that holds the step's files on the host, or None if unknown."""
    step, facts = model.plan.step(step_key[0]), model.facts.get(step_key[1])
    try:
        parameter = step.suite.directory_parameter
    except UnknownSuiteError:
        return None
    directory = facts.directory(str(step.values.get(parameter, ""))) if facts is not None and parameter else None
    return known(directory.device) if directory is not None else None


SIDE_BY_SIDE_FROM = 680
"""Width in pixels from which both kinds of plots are shown side by side."""

_WIDTHS = (520, 400)
_SWEEP, _TIME = 0, 1


class PlotPanes(FittedWidget):
    """Plots over time and, if the step has a sweep, its plots: side by side, or in tabs where narrow."""

    def __init__(self, plots: TrialPlots, sweep: SweepPlots) -> None:
        super().__init__()
        self._plots, self._sweep = plots, sweep
        self.tabs = QTabBar()
        self.tabs.setAccessibleName("Plots")
        self.tabs.addTab("Sweep")
        self.tabs.addTab("Over time")
        self.tabs.setDrawBase(False)
        self.tabs.setExpanding(False)
        self.tabs.currentChanged.connect(self.fit)
        splitter = QSplitter(Qt.Orientation.Horizontal)
        splitter.addWidget(plots)
        splitter.addWidget(sweep)
        splitter.setSizes(_WIDTHS)
        splitter.setChildrenCollapsible(False)
        fill(column_in(self, SPACE[0]), self.tabs, (splitter, 1))
        self.fit()

    def fit(self) -> None:
        """Show the plots there is room for. Call after a sweep has begun or another step is shown."""
        has_sweep = bool(self._sweep.plots)
        side_by_side = self.width() >= SIDE_BY_SIDE_FROM
        self.tabs.setVisible(has_sweep and not side_by_side)
        self._sweep.setVisible(has_sweep and (side_by_side or self.tabs.currentIndex() == _SWEEP))
        self._plots.setVisible(not has_sweep or side_by_side or self.tabs.currentIndex() == _TIME)
