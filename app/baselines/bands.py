"""What a set of trials says as a baseline: a band for the live curve, a figure for the ratio."""

import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from app.baselines.reference import ReferenceFigure
from app.records import Band, SampleSeries, TrialRecord
from suites.units import alike
from suites.vocab import Labels, Metric


def bands_of(name: str, run_id: str, trials: Sequence[TrialRecord], series: SampleSeries) -> Iterator[Band]:
    """Yield a band for every metric of `trials`, which are those of the run `run_id` that count.

    It lies between the quartiles of the samples within the trials, warm-up left out; for a metric that has figures
    alone, between the quartiles of these.
    """
    figures: dict[tuple[Metric, Labels], list[float]] = defaultdict(list)
    samples: dict[tuple[Metric, Labels], list[float]] = defaultdict(list)
    for trial in trials:
        for figure in trial.figures:
            figures[figure.metric, figure.labels].append(figure.value)
        for sample in series.get(trial.trial.id, ()):
            if not sample.warm_up:
                samples[sample.metric, sample.labels].append(sample.value)
    for key in figures | samples:
        metric, labels = key
        low, median, high = _quartiles(samples.get(key) or figures[key])
        whole = statistics.median(figures[key]) if key in figures else None
        trials_behind = len(figures.get(key, ()))
        yield Band(run_id, name, metric.name, labels, metric.unit.value, median, low, high, whole, trials=trials_behind)


def _quartiles(values: list[float]) -> tuple[float, float, float]:
    """Return the quartiles, by linear interpolation between the values (R's type 7, numpy's default)."""
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, median, high


def bands_of_group(
    name: str, word: str, hosts: Sequence[Sequence[TrialRecord]], series: SampleSeries
) -> Iterator[Band]:
    """Yield a band for every metric of several hosts' trials, each host's apart: no level is drowned by a larger one.

    Every host weighs alike, whatever number of trials it has, and within it every trial, whatever number of samples:
    the median and the quartiles are those of the hosts' own medians and quartiles. One host is a plain band.
    """
    each = [{(band.metric, band.labels): band for band in bands_of(name, word, trials, series)} for trials in hosts]
    for key in dict.fromkeys(key for found in each for key in found):
        own = [found[key] for found in each if key in found]
        figures = [band.figure for band in own if band.figure is not None]
        low, median, high = (
            statistics.median(edges) for edges in zip(*((b.low, b.median, b.high) for b in own), strict=True)
        )
        if len(own) > 1:  # hosts differ among themselves as well: the band holds their middle half, too
            lowest, _, highest = _quartiles([band.median for band in own])
            low, high = min(low, lowest), max(high, highest)
        figure = statistics.median(figures) if figures else None
        behind = sum(band.trials for band in own)
        yield replace(own[0], low=low, median=median, high=high, figure=figure, trials=behind)


def medians_text(trials: int, band: Band) -> str:
    """Return of what the ratio of a median of `trials` to a baseline is: without an interval it is no verdict."""
    counts = f"{trials} against {band.trials} trials" if band.trials else "of medians"
    return f"{counts}, no interval"


def bands_of_reference(name: str, figures: Sequence[ReferenceFigure], metrics: Sequence[Metric]) -> Iterator[Band]:
    """Yield what a published table says of `metrics`: a line, and a band only where the table itself tells one.

    What is given in a unit of another kind is left out: it cannot be drawn beside them.
    """
    known = {metric.name: metric for metric in metrics}
    for figure in figures:
        if figure.metric not in known or not alike(figure.unit, known[figure.metric].unit):
            continue
        low, high = (figure.value if edge is None else edge for edge in (figure.low, figure.high))
        yield Band(
            "", name, figure.metric, figure.labels, figure.unit.value, figure.value, low, high, figure.value,
            reference=True,
        )  # fmt: skip
