"""What a set of trials says as a baseline: a band for the live curve, a figure for the ratio."""

import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence

from app.records import Band, SampleSeries, TrialRecord
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
        yield Band(run_id, name, metric.name, labels, metric.unit.value, median, low, high, whole)


def _quartiles(values: list[float]) -> tuple[float, float, float]:
    """Return the quartiles, by linear interpolation between the values (R's type 7, numpy's default)."""
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, median, high
