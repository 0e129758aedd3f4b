"""What the plots of the picture show, as plain data: curves of samples, the baseline, warm-ups."""

import itertools
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from app.baselines.bands import bands_of
from app.events import State
from app.picture.look import BASELINE, series_colour
from app.plans.plan import Step, host_words
from app.records import Band, RunRecord, SampleSeries, TrialRecord
from app.wording import label_text, run_name
from suites.vocab import Kind, Labels, Metric, Sample

COLOURED_TRIALS = 6
"""Up to so many trials of one thing get a colour each."""

GAP = 3.0
"""Samples further apart than so many of their usual distances are not joined: nothing is known between them."""

FEWEST_SAMPLES = 4
"""With fewer samples a trial, a curve shows nothing that its one figure does not."""

Samples = Mapping[str, SampleSeries]
"""The samples of every run by its id."""


@dataclass(frozen=True, slots=True)
class Series:
    """What one colour stands for: a run, a host and labels."""

    run: int
    host: str
    labels: Labels


@dataclass(frozen=True, slots=True)
class Curve:
    """One trial's samples, or one figure a trial as `dots`.

    `faint` curves are the baseline's own, and those of trials that do not count; `dashed` ones have the colour of
    another.
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
    """One plot: curves of one metric over the seconds of a trial, or its figures over the number of the trial.

    `judged` is False where no way is better; `top` and `end` are where the axes end that do not follow the curves.
    Over a label that was swept, `ticks` are the places of its values with their texts, and `knees` places and values.
    """

    metric: Metric
    curves: tuple[Curve, ...]
    bands: tuple[Band, ...] = ()
    over: str = "seconds of the trial"
    judged: bool = True
    top: float | None = None
    end: float | None = None
    ticks: tuple[tuple[float, str], ...] = ()
    knees: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Shown:
    """A step as each of the runs has it, None where one has not; with several runs, the first is the baseline."""

    records: Sequence[RunRecord]
    steps: Sequence[Step | None]
    samples: Samples
    bands: Sequence[Band]

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


def panels(shown: Shown) -> list[Panel]:
    """Return the plots of a step: its headline, and a latency beside it.

    Where its tool printed few samples or none, the plot has a dot for every trial.
    """
    found = [Panel(metric, tuple(_curves(shown, metric)), tuple(_bands(shown, metric))) for metric in _headlines(shown)]
    lengths = [len(curve.times) for panel in found[:1] for curve in panel.curves]
    if lengths and statistics.median(lengths) >= FEWEST_SAMPLES:
        return found
    return list(_dots(shown)) or found


def _headlines(shown: Shown) -> list[Metric]:
    sampled = list(dict.fromkeys(sample.metric for _, _, sample in shown.all_samples()))
    order = [figure.metric.name for _, trial in shown.trials() for figure in trial.figures]
    ranked = sorted(sampled, key=lambda metric: order.index(metric.name) if metric.name in order else len(order))
    latency = [metric for metric in ranked[1:] if metric.kind is Kind.TIME and ranked[0].kind is not Kind.TIME]
    return [*ranked[:1], *latency[:1]]


def _curves(shown: Shown, metric: Metric) -> Iterator[Curve]:
    found: dict[tuple[Series, int], list[Sample]] = {}
    trials: dict[tuple[Series, int], TrialRecord] = {}
    for number, trial, sample in shown.all_samples():
        if sample.metric == metric:
            key = Series(number, trial.trial.host, sample.labels), trial.trial.id
            found.setdefault(key, []).append(sample)
            trials[key] = trial
    colours = _Colours(len(shown.records), list(dict.fromkeys(series for series, _ in found)), len(found))
    for key, values in found.items():
        yield replace(_curve(colours, key[0], trials[key], values), trial=(key[0].run, key[1]))


def _dots(shown: Shown) -> Iterator[Panel]:
    """Yield the first figure of every trial over its number; nothing where there is one trial alone."""
    found: dict[Series, dict[int, float]] = {}
    metric: Metric | None = None
    for number, trial in shown.trials():
        for figure in trial.figures[:1]:
            if trial.state is State.DONE and not trial.trial.warm_up and metric in {None, figure.metric}:
                metric = figure.metric
                found.setdefault(Series(number, trial.trial.host, figure.labels), {})[trial.trial.number] = figure.value
    if metric is None or sum(map(len, found.values())) < 2:
        return
    colours = _Colours(len(shown.records), list(found), sum(map(len, found.values())), by_trial=False)
    curves = tuple(
        Curve(
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
    """Yield the bands as lines at the baseline's figure: dots are no samples, whose spread is another."""
    for band in bands:
        if band.figure is not None:
            yield replace(band, low=band.figure, median=band.figure, high=band.figure)


class _Colours:
    """Gives every curve its name and colour: by trial where there is one series, by series where there are several."""

    def __init__(self, runs: int, series: Sequence[Series], curves: int, *, by_trial: bool = True) -> None:
        self._several_runs = runs > 1
        self._coloured = [each for each in series if not (self._several_runs and each.run == 0)]
        self._hosts = len({each.host for each in series})
        self._labels = len({each.labels for each in series})
        self._curves = curves
        self.by_trial = by_trial and len(series) == 1 and curves <= COLOURED_TRIALS

    def name_of(self, series: Series) -> str:
        """Return what tells the series from the others of its plot."""
        parts = [
            run_name(series.run) if self._several_runs else "",
            host_words(series.host) if self._hosts > 1 else "",
            label_text(series.labels) if self._labels > 1 else "",
        ]
        return ", ".join(part for part in parts if part) or f"{self._curves} trials"

    def colour_of(self, series: Series) -> str:
        """Return the series' colour; the baseline's is grey."""
        return series_colour(self._coloured.index(series)) if series in self._coloured else BASELINE


def _curve(colours: _Colours, series: Series, trial: TrialRecord, samples: Sequence[Sample]) -> Curve:
    number = trial.trial.number
    name = f"trial {number}" if colours.by_trial else colours.name_of(series)
    colour = series_colour(number - 1) if colours.by_trial else colours.colour_of(series)
    counts = trial.state is State.DONE and not trial.trial.warm_up
    if trial.trial.warm_up:
        name = f"warm-up {name}"
    elif not counts:
        name = f"{name}, {trial.state}"
    times, values = with_gaps([sample.time for sample in samples], [sample.value for sample in samples])
    warm_up = max((sample.time for sample in samples if sample.warm_up), default=0.0)
    return Curve(name, colour if counts else BASELINE, times, values, warm_up, faint=colour == BASELINE or not counts)


def with_gaps(times: Sequence[float], values: Sequence[float]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the points in order of time, with a NaN wherever samples are missing, so that no line bridges it."""
    points = sorted(zip(times, values, strict=True))
    steps = [later[0] - earlier[0] for earlier, later in itertools.pairwise(points)]
    usual = statistics.median(steps) if steps else 0.0
    drawn: list[tuple[float, float]] = []
    for index, point in enumerate(points):
        if index and usual and steps[index - 1] > GAP * usual:
            drawn.append((point[0], math.nan))
        drawn.append(point)
    return tuple(x for x, _ in drawn), tuple(y for _, y in drawn)


def _bands(shown: Shown, metric: Metric) -> Iterator[Band]:
    """Yield the baseline's bands: the first run's where there are several, else the pinned one's."""
    if len(shown.records) == 1:
        names = {step.name for step in shown.steps if step is not None}
        chosen = [band for band in shown.bands if not band.step or band.step in names]
    else:
        run, step = shown.records[0], shown.steps[0]
        trials = [] if step is None else run.trials_of(step.name)
        name = run_name(0)
        chosen = list(bands_of(name, run.summary.id, trials, shown.samples.get(run.summary.id, {})))
    newest = {(band.labels, band.host): band for band in reversed(chosen) if band.metric == metric.name}
    yield from (band for band in newest.values() if band.unit == metric.unit.value)
