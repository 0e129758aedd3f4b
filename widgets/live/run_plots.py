"""Plots of a step on a host: all its trials on one time axis, or overlaid from their starts."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

import numpy as np
from PySide6.QtCore import QTimer

from app.records import Band
from suites.errors import UnknownSuiteError
from suites.facts import known
from suites.vocab import Labels, Metric, Resource
from widgets.live.baseline_ratio import band_for
from widgets.live.headline import headline_metric
from widgets.live.heat_maps import HeatMaps, OutputReader
from widgets.live.model import LiveSeries, RunModel, SeriesKey, StepKey, TrialView
from widgets.live.plot_groups import HEADLINE, LATENCY, Group, factor, fits, of_host, of_test, series_title, style
from widgets.live.run_timeline import RunTimeline, overlay_marks, overlay_phases, run_marks, timeline_of, trial_marks
from widgets.plots.annotations import Level
from widgets.plots.lines import Piece
from widgets.plots.stack import PlotStack
from widgets.plots.time_plot import TimePlot
from widgets.plots.time_window import FIRST
from widgets.plots.timeline import PlotMark, TimeMap
from widgets.theme import series_colour

FEW_SIMILAR = 2
"""Up to this many disks or interfaces are all drawn; of more, only active ones."""

FAINT_LIMIT = 12
"""Most other trials drawn behind the one in front; the table lists all."""

NEW_AT_ONCE = 1
"""Plots made per turn of the event loop: each takes 50 ms."""


LineKey = tuple[str, SeriesKey]
"""“test”, “host” or “peer”, and the series."""


@dataclass(frozen=True, slots=True)
class StepShown:
    """What the plots show: a step on a host, the trial in front, and the baselines."""

    model: RunModel
    step_key: StepKey
    front: TrialView | None
    bands: tuple[Band, ...]
    metric: Metric | None
    resource: Resource | None
    device: str | None
    peer: str | None


class RunPlots(PlotStack):
    """Plots of a step. `sync` adds new series; the buffers are shared with the model, not copied.

    With `overlay` the trial in front is drawn from its own time 0, other trials faint behind it; otherwise all trials
    are on one axis.
    """

    def __init__(self, output: OutputReader | None = None) -> None:
        """`output` reads the stored output of trials for their latency heat maps; without it, there are none."""
        super().__init__()
        self.overlay = False
        self._heat = HeatMaps(output, self)
        self._heat.changed.connect(self.sync)
        self._shown: StepShown | None = None
        self._operations: list[Labels] = []
        self._starts: dict[int, list[PlotMark]] = {}
        self._budget = 0
        self._more = QTimer(self, singleShot=True, interval=0)
        self._more.timeout.connect(self.sync)
        self.chooser.toggled.connect(self.sync)

    def show_step(self, model: RunModel, step_key: StepKey, front: TrialView | None, bands: Sequence[Band]) -> None:
        """Show a step with the trial `front`, or empty plots of a step that has not run yet."""
        before = self._shown
        same = before is not None and before.model is model and before.step_key == step_key
        peer = model.plan.step(step_key[0]).peer
        self._shown = StepShown(
            model, step_key, front, tuple(bands), headline_metric(model, step_key), _resource(model, step_key),
            _device(model, step_key), peer,
        )  # fmt: skip
        self.strip.set_front(None if front is None else front.trial.id)
        if not same:
            self._starts.clear()
            self.clear()
            self.window_of_time.forget()
        if not same or self.overlay or before is None or before.bands != tuple(bands):
            self._restart()
        self.sync()

    def set_overlay(self, *, overlay: bool) -> None:
        """Overlay the trials, or show them one after the other."""
        if overlay is not self.overlay:
            self.overlay = overlay
            self.window_of_time.forget()
            self._restart()
            self.sync()

    def _restart(self) -> None:
        """Draw every series anew."""
        for plot in self.plots.values():
            plot.clear()
        self._operations = []
        shown = self._shown
        if shown is None or shown.metric is None:
            return
        self._plot(of_test(LiveSeries(shown.metric, ()), shown.metric))

    @property
    def drawing(self) -> bool:
        """Whether plots for new series are still to be made."""
        return self._more.isActive()

    def sync(self) -> None:
        """Draw what has arrived. New plots are made one per turn of the event loop, so the window stays responsive."""
        shown = self._shown
        if shown is None:
            return
        self._budget = NEW_AT_ONCE
        self._heat.sync(shown.model, shown.step_key)
        timeline = None if self.overlay else timeline_of(shown.model, shown.step_key)
        if timeline is not None:
            self._sync_timeline(shown, timeline)
        elif self.overlay and shown.front is not None:
            self._sync_overlay(shown, shown.front)
        else:
            self.window_of_time.set_axis(TimeMap(), (), ())
            self.window_of_time.set_range(0.0, FIRST)
        for plot in self.plots.values():
            plot.look()

    def _sync_timeline(self, shown: StepShown, timeline: RunTimeline) -> None:
        pieces: dict[SeriesKey, list[Piece]] = {}
        series: dict[SeriesKey, LiveSeries] = {}
        marks = []
        for place in timeline.places:
            zero = timeline.shown_zero(place)
            for key, one in place.view.series.items():
                series.setdefault(key, one)
                pieces.setdefault(key, []).append(Piece(one.buffer, -zero))
            marks += self._trial_marks(place.view, zero)
        for key, one in series.items():
            self._draw(("test", key), one, of_test(one, shown.metric), tuple(pieces[key]))
        to_axis = timeline.time_map.to_axis
        self._show_levels(shown, [(at.view, to_axis(at.zero), to_axis(at.end)) for at in timeline.places])
        if timeline.by_clock:
            spans = [(span.start - span.shown, span.start, span.end) for span in timeline.time_map.spans]
            self._draw_hosts(shown, timeline.places[0].view, spans)
        zeros = {place.view.trial.id: timeline.shown_zero(place) for place in timeline.places}
        self._show_heat(zeros)
        marks += run_marks(shown.model, shown.step_key, timeline)
        self.window_of_time.set_axis(timeline.time_map, timeline.phases, marks)
        self.window_of_time.set_range(0.0, timeline.end, follow=not shown.model.phase.over)

    def _sync_overlay(self, shown: StepShown, view: TrialView) -> None:
        for key, series in view.series.items():
            self._draw(("test", key), series, of_test(series, shown.metric), (Piece(series.buffer),))
        self._draw_earlier(shown)
        others = (other for other in shown.model.trials_at(shown.step_key) if not other.series)
        self._show_levels(shown, [(other, 0.0, other.seconds or FIRST) for other in others])
        self._show_heat({view.trial.id: 0.0})
        if view.zero is not None:
            self._draw_hosts(shown, view, [(view.zero, -np.inf, np.inf)])
        marks = [*self._trial_marks(view, 0.0), *overlay_marks(shown.model, view)]
        self.window_of_time.set_axis(TimeMap(), overlay_phases(view), marks)
        if view.ended is not None:
            self.window_of_time.set_range(0.0, view.latest() or view.seconds or FIRST, follow=False)
        else:
            self.window_of_time.set_range(0.0, FIRST if view.expected is None else view.expected * 1.05 + 1)

    def _show_levels(self, shown: StepShown, trials: Iterable[tuple[TrialView, float, float]]) -> None:
        """Draw the figure of each counted trial from its start to its end on the axis, also of a tool without samples.

        A drift from trial to trial shows.
        """
        if shown.metric is None or (plot := self.plots.get(HEADLINE)) is None:
            return
        levels = list[Level]()
        for view, start, end in trials:
            for figure in view.figures if view.counts else ():
                if figure.metric == shown.metric:
                    key = ("test", (figure.metric.name, figure.labels))
                    if key not in plot.lines:
                        series = LiveSeries(figure.metric, figure.labels)
                        self._draw(key, series, of_test(series, shown.metric), ())
                    levels.append((key, start, end, figure.value))
        plot.set_levels(levels)

    def _show_heat(self, zeros: Mapping[int, float]) -> None:
        """Draw the heat maps of the trials that are shown, by time 0 of each on the axis."""
        if (plot := self.plots.get(LATENCY)) is not None:
            grids = self._heat.grids
            plot.set_heat([(grids[trial], zero) for trial, zero in zeros.items() if trial in grids])

    def _trial_marks(self, view: TrialView, zero: float) -> list[PlotMark]:
        """Return the marks of a trial; those of an ended one are found once."""
        found = self._starts.get(id(view))
        if found is None:
            metric = None if self._shown is None else self._shown.metric
            found = list(trial_marks(view, metric))
            if view.ended is not None:
                self._starts[id(view)] = found
        return [replace(mark, time=mark.time + zero) for mark in found]

    def _draw_hosts(self, shown: StepShown, view: TrialView, spans: Sequence[tuple[float, float, float]]) -> None:
        """Draw the telemetry of the host and its peer; `spans` are offset, start and end on the host's clock."""
        for source, host, shift in _watched_hosts(shown, view):
            watched = shown.model.telemetry.get(host, {})
            alike = Counter(id(series.metric) for series in watched.values())
            moved = [(offset + shift, start + shift, end + shift) for offset, start, end in spans]
            for key, series in watched.items():
                if alike[id(series.metric)] <= FEW_SIMILAR or self._matters(series, shown.device):
                    group = of_host(series, shown.resource, peer=source == "peer")
                    self._draw((source, key), series, group, tuple(Piece(series.buffer, *span) for span in moved))

    def _matters(self, series: LiveSeries, device: str | None) -> bool:
        """Return whether a disk or interface is active, or holds the test's files."""
        return ("device", device) in series.labels or bool(np.nanmax(series.buffer.values(), initial=0.0) > 0)

    def _draw(self, key: LineKey, series: LiveSeries, group: Group | None, pieces: tuple[Piece, ...]) -> None:
        if group is None or self._shown is None:
            return
        plot = self.plots.get(group.name)
        if plot is not None and key in plot.lines:
            plot.set_pieces(key, pieces)
            return
        if plot is None:
            if not self.wanted(group.name, group.title, group.rank, shown=group.shown):
                return
            if not self._budget:
                self._more.start()
                return
            self._budget -= 1
            plot = self._plot(group)
        if not fits(series, plot.unit):
            return
        number = sum(not line.faint for line in plot.lines.values())
        colour, dashed = style(series, group, self._operations, number)
        plot.add_series(
            key, series_title(series, group), series_colour(colour), buffer=series.buffer,
            factor=factor(series, plot.unit), dashed=dashed,
        )  # fmt: skip
        plot.set_pieces(key, pieces)
        if group.name == HEADLINE or not group.shown:
            plot.set_band(key, band_for(self._shown.bands, series.metric, series.labels))

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

    def _draw_earlier(self, shown: StepShown) -> None:
        """Draw the headline series of the last FAINT_LIMIT other counted trials, in the colours of those in front."""
        plot, name = self.plots[HEADLINE], "" if shown.metric is None else shown.metric.name
        colours = {key[1][1]: line.colour for key, line in plot.lines.items() if _is_test(key) and key[1][0] == name}
        others = [view for view in shown.model.trials_at(shown.step_key) if view is not shown.front and view.counts]
        for other in others[-FAINT_LIMIT:]:
            for (of, labels), series in other.series.items():
                key = (other.trial.id, labels)
                if of == name and labels in colours and key not in plot.lines:
                    title = f"trial {other.trial.number}"
                    plot.add_series(key, title, colours[labels], buffer=series.buffer, faint=True)


def _is_test(key: Hashable) -> TypeGuard[LineKey]:
    return isinstance(key, tuple) and key[0] == "test"


def _watched_hosts(shown: StepShown, view: TrialView) -> Iterator[tuple[str, str, float]]:
    """Yield the host and its peer, if that is another, with the peer's clock minus the host's."""
    yield "host", view.trial.host, 0.0
    clock, peer_clock = view.trial.clock, view.trial.peer_clock
    if clock is not None and peer_clock is not None and shown.peer not in {None, view.trial.host}:
        yield "peer", shown.peer or "", peer_clock - clock


def _resource(model: RunModel, step_key: StepKey) -> Resource | None:
    try:
        return model.plan.step(step_key[0]).suite.resource
    except UnknownSuiteError:
        return None


def _device(model: RunModel, step_key: StepKey) -> str | None:
    """Return the disk that holds the step's files on the host, or None if unknown."""
    step, facts = model.plan.step(step_key[0]).on(step_key[1]), model.facts.get(step_key[1])
    try:
        parameter = step.suite.directory_parameter
    except UnknownSuiteError:
        return None
    directory = facts.directory(str(step.values.get(parameter, ""))) if facts is not None and parameter else None
    return known(directory.device) if directory is not None else None
