"""Data of the plots of a report: samples, figures of trials, sweeps, and the load of the hosts."""

import itertools
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from app.baselines.baselines import bands_of_group
from app.comparison.comparison import run_name
from app.events import State
from app.plans.plan import Step, host_label
from app.records import Band, RunRecord, SampleSeries, TrialRecord
from app.report_image.sheet import BASELINE, SERIES, series_colour
from app.scaling.sweeps import SweepCurve, SweepPanel, curves, panels_of, target_of
from remote.telemetry.telemetry_metrics import CPU_IDLE
from suites.evidence import Interval
from suites.quantities import label_text
from suites.units import Unit
from suites.vocab import Better, Labels, Metric, MetricKind, Sample

COLOURED_TRIALS = 6
"""Most trials of a series that have a colour each."""

GAP = 3.0
"""Samples farther apart than this many median intervals are not joined by a line."""

FEWEST_SAMPLES = 4
"""Fewest samples of a trial for a curve; with fewer, its figure is a dot."""

Samples = Mapping[str, SampleSeries]
"""The samples of every run by its id."""


@dataclass(frozen=True, slots=True)
class CurveKey:
    """A series with one colour: a run, a host and labels."""

    run: int
    host: str
    labels: Labels


@dataclass(frozen=True, slots=True)
class PlotCurve:
    """The samples of a trial, or as `dots` one figure for each trial.

    `faint` curves are those of the baseline, and of trials that are not counted; `dashed` ones reuse a colour.
    """

    name: str
    colour: str
    times: tuple[float, ...]
    values: tuple[float, ...]
    warm_up: float = 0.0
    faint: bool = False
    dots: bool = False
    dashed: bool = False
    trial: tuple[int, int] | None = None  # the number of its run and its id


@dataclass(frozen=True, slots=True)
class Panel:
    """A plot: curves of one metric over the seconds of a trial, or its figures over the number of the trial.

    `directed` is False if no direction is better; `top` and `end` are fixed ends of the axes. Over a swept label,
    `ticks` are positions and texts of its values, and `knees` positions and values.
    """

    metric: Metric
    curves: tuple[PlotCurve, ...]
    bands: tuple[Band, ...] = ()
    over: str = "seconds of the trial"
    directed: bool = True
    top: float | None = None
    end: float | None = None
    ticks: tuple[tuple[float, str], ...] = ()
    knees: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class ReportStep:
    """A step in each of the runs, None for a run without it; with several runs, the first is the baseline."""

    records: Sequence[RunRecord]
    steps: Sequence[Step | None]
    samples: Samples
    bands: Sequence[Band]

    @property
    def names(self) -> frozenset[str]:
        """The names of the step in the runs that have it."""
        return frozenset(step.name for step in self.steps if step is not None)

    def trials(self) -> Iterator[tuple[int, TrialRecord]]:
        """Yield every trial of the step with the number of its run."""
        for number, (record, step) in enumerate(zip(self.records, self.steps, strict=True)):
            for trial in record.trials:
                if step is not None and trial.trial.step == step.name:
                    yield number, trial

    def all_samples(self) -> Iterator[tuple[int, TrialRecord, Sample]]:
        """Yield every sample of the step with its trial and the number of its run."""
        for number, trial in self.trials():
            for sample in self.samples.get(self.records[number].summary.id, {}).get(trial.trial.id, ()):
                yield number, trial, sample


def panels(shown: ReportStep) -> list[Panel]:
    """Return the plots of a step: its headline metric, and a latency.

    With fewer than FEWEST_SAMPLES samples, the plot has a dot for each trial. One sample of one trial has no plot.
    """
    found = [Panel(metric, tuple(_curves(shown, metric)), tuple(_bands(shown, metric))) for metric in _headlines(shown)]
    lengths = [len(curve.times) for panel in found[:1] for curve in panel.curves]
    if lengths and statistics.median(lengths) >= FEWEST_SAMPLES:
        return found
    return list(_dots(shown)) or [panel for panel in found if any(len(curve.times) > 1 for curve in panel.curves)]


def _headlines(shown: ReportStep) -> list[Metric]:
    sampled = list(dict.fromkeys(sample.metric for _, _, sample in shown.all_samples()))
    order = [figure.metric.name for _, trial in shown.trials() for figure in trial.figures]
    ranked = sorted(sampled, key=lambda metric: order.index(metric.name) if metric.name in order else len(order))
    latency = [
        metric for metric in ranked[1:] if metric.kind is MetricKind.TIME and ranked[0].kind is not MetricKind.TIME
    ]
    return [*ranked[:1], *latency[:1]]


def _curves(shown: ReportStep, metric: Metric) -> Iterator[PlotCurve]:
    found: dict[tuple[CurveKey, int], list[Sample]] = {}
    trials: dict[tuple[CurveKey, int], TrialRecord] = {}
    for number, trial, sample in shown.all_samples():
        if sample.metric == metric:
            key = CurveKey(number, trial.trial.host, sample.labels), trial.trial.id
            found.setdefault(key, []).append(sample)
            trials[key] = trial
    colours = _Colours(len(shown.records), list(dict.fromkeys(series for series, _ in found)), len(found))
    for key, values in found.items():
        curve, interval = _curve(colours, key[0], trials[key], values), _interval(shown, key[0].run, trials[key])
        ramp = 0.0 if interval is None else interval.start - interval.origin
        yield replace(curve, warm_up=max(curve.warm_up, ramp), trial=(key[0].run, key[1]))


def _interval(shown: ReportStep, run: int, trial: TrialRecord) -> Interval | None:
    """Return the seconds in which the trial's tool counted."""
    record = shown.records[run]
    return record.interval(trial, shown.samples.get(record.summary.id, {}).get(trial.trial.id, ()))


def _dots(shown: ReportStep) -> Iterator[Panel]:
    """Yield the plot of the first figure of every trial over its number; nothing for a single trial."""
    found: dict[CurveKey, dict[int, float]] = {}
    metric: Metric | None = None
    for number, trial in shown.trials():
        for figure in trial.figures[:1]:
            if trial.state is State.DONE and not trial.trial.warm_up and metric in {None, figure.metric}:
                metric = figure.metric
                found.setdefault(CurveKey(number, trial.trial.host, figure.labels), {})[trial.trial.number] = (
                    figure.value
                )
    if metric is None or sum(map(len, found.values())) < 2:
        return
    colours = _Colours(len(shown.records), list(found), sum(map(len, found.values())), by_trial=False)
    curves = tuple(
        PlotCurve(
            colours.name_of(series) if len(found) > 1 else "",
            colours.colour_of(series),
            tuple(map(float, values)),
            tuple(values.values()),
            dots=True,
        )
        for series, values in found.items()
    )
    yield Panel(metric, curves, tuple(_of_figures(_bands(shown, metric))), "trial")


def _of_figures(bands: Iterable[Band]) -> Iterator[Band]:
    """Yield the bands as lines at the baseline's figure: dots are not samples, whose spread differs."""
    for band in bands:
        if band.figure is not None:
            yield replace(band, low=band.figure, median=band.figure, high=band.figure)


class _Colours:
    """Names and colours of curves: by trial for one series, else by series."""

    def __init__(self, runs: int, series: Sequence[CurveKey], curves: int, *, by_trial: bool = True) -> None:
        self._several_runs = runs > 1
        self._coloured = [each for each in series if not (self._several_runs and each.run == 0)]
        self._hosts = len({each.host for each in series})
        self._labels = len({each.labels for each in series})
        self._curves = curves
        self.by_trial = by_trial and len(series) == 1 and curves <= COLOURED_TRIALS

    def name_of(self, series: CurveKey) -> str:
        """Return the distinguishing name of a series in its plot."""
        parts = [
            run_name(series.run) if self._several_runs else "",
            host_label(series.host) if self._hosts > 1 else "",
            label_text(series.labels) if self._labels > 1 else "",
        ]
        return ", ".join(part for part in parts if part) or f"{self._curves} trials"

    def colour_of(self, series: CurveKey) -> str:
        """Return the series' colour; the baseline's is grey."""
        return series_colour(self._coloured.index(series)) if series in self._coloured else BASELINE


def _curve(colours: _Colours, series: CurveKey, trial: TrialRecord, samples: Sequence[Sample]) -> PlotCurve:
    number = trial.trial.number
    name = f"trial {number}" if colours.by_trial else colours.name_of(series)
    colour = series_colour(number - 1) if colours.by_trial else colours.colour_of(series)
    counts = trial.state is State.DONE and not trial.trial.warm_up
    if trial.trial.warm_up:
        name = trial.trial.kind if trial.trial.profiled else f"warm-up {name}"
    elif not counts:
        name = f"{name}, {trial.state.text}"
    times, values = with_gaps([sample.time for sample in samples], [sample.value for sample in samples])
    warm_up = max((sample.time for sample in samples if sample.warm_up), default=0.0)
    return PlotCurve(
        name, colour if counts else BASELINE, times, values, warm_up, faint=colour == BASELINE or not counts
    )


def with_gaps(times: Sequence[float], values: Sequence[float]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the points in order of time, with NaN at gaps, which interrupts the line."""
    points = sorted(zip(times, values, strict=True))
    steps = [later[0] - earlier[0] for earlier, later in itertools.pairwise(points)]
    usual = statistics.median(steps) if steps else 0.0
    drawn: list[tuple[float, float]] = []
    for index, point in enumerate(points):
        if index and usual and steps[index - 1] > GAP * usual:
            drawn.append((point[0], math.nan))
        drawn.append(point)
    return tuple(x for x, _ in drawn), tuple(y for _, y in drawn)


def _bands(shown: ReportStep, metric: Metric) -> Iterator[Band]:
    """Yield the bands of the baseline: the first of several runs, else the pinned one."""
    if len(shown.records) == 1:
        chosen = [band for band in shown.bands if not band.step or band.step in shown.names]
    else:
        run, step = shown.records[0], shown.steps[0]
        trials = [] if step is None else run.trials_of(step.name)
        by_host: dict[str, list[TrialRecord]] = {}
        for one in trials:
            by_host.setdefault(one.trial.host, []).append(one)
        series = shown.samples.get(run.summary.id, {})
        chosen = list(bands_of_group(run_name(0), run, list(by_host.values()), series))
    newest = {(band.labels, band.host): band for band in reversed(chosen) if band.metric == metric.name}
    yield from (band for band in newest.values() if band.unit == metric.unit.value)


CPU_BUSY = Metric("cpu_busy", "Host: busy share of all its CPUs", Unit.PERCENT, Better.LOWER, MetricKind.SHARE)
PEER_BUSY = replace(CPU_BUSY, title="Peer: busy share of all its CPUs")

Telemetry = Mapping[str, Mapping[str, tuple[Sample, ...]]]
"""Samples by run and host; their time is the host's monotonic clock."""


def host_panel(shown: ReportStep, telemetry: Telemetry, beside: Panel, *, peer: bool = False) -> Panel | None:
    """Return the CPU load of the hosts, or of the peers, while the trials of `beside` were measured, in its colours.

    Both have the tool's time 0; the seconds that do not count are its warm-up. None without telemetry.
    """
    curves: dict[tuple[int, int], PlotCurve] = {}
    for curve in beside.curves:
        if curve.trial is None or curve.trial in curves:
            continue
        number, trial_id = curve.trial
        record = shown.records[number]
        trial = next(trial for trial in record.trials if trial.trial.id == trial_id)
        interval = _interval(shown, number, trial)
        host, shift = _watched(record, trial, peer=peer)
        watched = telemetry.get(record.summary.id, {}).get(host, ())
        if interval is None or not watched:
            continue
        idle = [
            (sample.time + shift - interval.origin, 100.0 - sample.value)
            for sample in watched
            if sample.metric.name == CPU_IDLE.name and interval.origin <= sample.time + shift <= interval.end
        ]
        times, values = with_gaps([time for time, _ in idle], [value for _, value in idle])
        if times:
            curves[curve.trial] = replace(curve, times=times, values=values)
    if not curves:
        return None
    last = max(max(curve.times) for curve in beside.curves)
    # The top keeps a curve at 100 % visible.
    return Panel(PEER_BUSY if peer else CPU_BUSY, tuple(curves.values()), directed=False, top=105.0, end=last)


def _watched(record: RunRecord, trial: TrialRecord, *, peer: bool) -> tuple[str, float]:
    """Return the trial's host or its peer, and what to add to its clock; an empty name for a peer on the same host."""
    clock, peer_clock = trial.trial.clock, trial.trial.peer_clock
    if not peer:
        return trial.trial.host, 0.0
    host = record.plan.step(trial.trial.step).peer
    if host is None or host == trial.trial.host or clock is None or peer_clock is None:
        return "", 0.0
    return host, clock - peer_clock


def sweep_plots(shown: ReportStep) -> list[Panel]:
    """Return the plots of the sweeps of a step, the rate first; empty without a sweep.

    Each of several runs has its own curves, those of the baseline in grey.
    """
    found: dict[tuple[str, str], list[tuple[int, str, SweepPanel]]] = {}
    for number, host, panel in _panels(shown):
        found.setdefault((panel.metric.name, panel.label), []).append((number, host, panel))
    return [_plot(shown, panels) for panels in found.values()]


def _panels(shown: ReportStep) -> Iterator[tuple[int, str, SweepPanel]]:
    for number, (record, step) in enumerate(zip(shown.records, shown.steps, strict=True)):
        for host in record.summary.hosts if step is not None else ():
            for panel in panels_of(curves(record, step.name, host), target_of(step)) if step is not None else ():
                yield number, host, panel


def _plot(shown: ReportStep, panels: list[tuple[int, str, SweepPanel]]) -> Panel:
    first = panels[0][2]
    logarithmic = any(panel.logarithmic for _, _, panel in panels)
    several_hosts = len({host for _, host, _ in panels}) > 1
    drawn: list[PlotCurve] = []
    for number, host, panel in panels:
        grey = len(shown.records) > 1 and number == 0
        for curve in panel.curves:
            parts = [run_name(number) if len(shown.records) > 1 else "", host_label(host) if several_hosts else ""]
            name = ", ".join(part for part in (*parts, panel.name(curve)) if part)
            index = sum(other.colour != BASELINE for other in drawn)
            colour = BASELINE if grey else series_colour(index)
            one = _sweep_curve(first, curve, name, colour, grey=grey)
            drawn.append(replace(one, dashed=not grey and index >= len(SERIES)))
    ticks = {tick for _, _, panel in panels for tick in panel.ticks()}
    knees = tuple((x, value) for _, _, panel in panels for x, value, _ in panel.knees())
    omitted = sum(panel.others for _, _, panel in panels)
    more = f"; {omitted} more curves are in the table" if omitted else ""
    over = f"{first.x_title}{', log scale' if logarithmic else ''}{more}"
    return Panel(first.metric, tuple(drawn), over=over, ticks=tuple(sorted(ticks)), knees=knees)


def _sweep_curve(panel: SweepPanel, curve: SweepCurve, name: str, colour: str, *, grey: bool) -> PlotCurve:
    xs = tuple(panel.position(point.x) for point in curve.points)
    return PlotCurve(name, colour, xs, tuple(point.value for point in curve.points), faint=grey)
