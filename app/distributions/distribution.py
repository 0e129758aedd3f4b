"""Distribution of one metric on each side of a comparison: ECDF, histogram, percentiles, shift; and its public JSON."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, TypedDict

from app.distributions.percentiles import (
    METHODS,
    Percentile,
    QuantileShift,
    TrialValues,
    ValueLevel,
    percentiles,
    shifts,
    trial_values,
)
from app.json_converter import Json, publish, published
from app.numeric import Numbers, np
from suites.quantities import metric_text
from suites.verdict import Trust
from suites.vocab import Better, Labels, Metric

MOST_STEPS = 200
"""Most points of an ECDF."""

BINS = 30
"""Bins of a histogram."""

DECADE = 10.0
"""Values that span more than this factor are binned by their logarithms: latencies have long tails."""


@dataclass(frozen=True, slots=True)
class EcdfStep:
    """The share of values at or below `value`: the mean of the trials, the lowest of them and the highest."""

    value: float
    share: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class HistogramBin:
    """The share of values from `start` up to `end`: the mean of the trials, the lowest of them and the highest."""

    start: float
    end: float
    share: float
    low: float
    high: float


def ecdf(trials: Sequence[TrialValues]) -> tuple[EcdfStep, ...]:
    """Return the ECDF of a side, the mean of those of its trials."""
    if not trials:
        return ()
    every = np.unique(np.concatenate([trial.values for trial in trials]))
    if len(every) > MOST_STEPS:
        indices = np.unique(np.linspace(0, len(every) - 1, MOST_STEPS).round().astype(int))
        every = every[indices]
    shares = np.array([trial.share_up_to(every) for trial in trials])
    columns = zip(every, shares.mean(axis=0), shares.min(axis=0), shares.max(axis=0), strict=True)
    return tuple(EcdfStep(*(float(value) for value in column)) for column in columns)


def edges_of(sides: Sequence[Sequence[TrialValues]]) -> Numbers:
    """Return common bin edges for the values of all sides."""
    values = [trial.values for side in sides for trial in side]
    low, high = min(float(one[0]) for one in values), max(float(one[-1]) for one in values)
    if low > 0 and high / low > DECADE:
        return np.geomspace(low, np.nextafter(high, math.inf), BINS + 1)
    if low == high:
        return np.array([low, np.nextafter(high, math.inf)])
    return np.linspace(low, np.nextafter(high, math.inf), BINS + 1)


def histogram(trials: Sequence[TrialValues], edges: Numbers) -> tuple[HistogramBin, ...]:
    """Return the share of a side's values in each bin between `edges`."""
    if not trials:
        return ()
    below = np.nextafter(edges, -math.inf)
    below[-1] = edges[-1]
    shares = np.array([np.diff(trial.share_up_to(below)) for trial in trials])
    columns = zip(edges[:-1], edges[1:], shares.mean(axis=0), shares.min(axis=0), shares.max(axis=0), strict=True)
    return tuple(HistogramBin(*(float(value) for value in column)) for column in columns)


DESCRIPTIVE = (
    "samples and requests within a trial are autocorrelated: descriptive only, no verdict uses them; "
    "ECDF and histogram are equally weighted means over the trials"
)


@dataclass(frozen=True, slots=True)
class WorstSample:
    """The worst sample of a trial; `time` is in seconds since the tool's start. `trial` is the trial's id, `number` its
    number among those of its step and host."""

    run: str
    trial: int
    number: int
    host: str
    value: float
    time: float


@dataclass(frozen=True, slots=True)
class SideDistribution:
    """One side: `n` trials with `count` values in total. `shift` is empty for the baseline or too few values."""

    run: str
    n: int
    count: int
    percentiles: tuple[Percentile, ...] = ()
    ecdf: tuple[EcdfStep, ...] = ()
    histogram: tuple[HistogramBin, ...] = ()
    worst: tuple[WorstSample, ...] = ()
    shift: tuple[QuantileShift, ...] = ()
    reason: str = ""
    trust: Trust | None = None


@dataclass(frozen=True, slots=True)
class Distribution:
    """The distribution of one metric of one step on one host; `sides` has one entry a side, the baseline first."""

    step: str
    host: str
    metric: Metric
    labels: Labels
    source: ValueLevel
    sides: tuple[SideDistribution, ...]

    @property
    def title(self) -> str:
        """The title of the values; request values are of all requests, not of one percentile."""
        if self.source is not ValueLevel.REQUESTS:
            return metric_text(self.metric, self.labels)
        whole = replace(self.metric, title=f"{self.metric.title.partition(',')[0]} of all requests")
        return metric_text(whole, self.labels)

    @property
    def method(self) -> str:
        """The method of the percentiles and their intervals."""
        return f"{METHODS[self.source]}; {DESCRIPTIVE}"


@dataclass(frozen=True, slots=True)
class DistributionKey:
    """The key of a distribution: a metric of a step on a host, and the level of its values."""

    step: str
    host: str
    metric: Metric
    labels: Labels
    source: ValueLevel


@dataclass(frozen=True, slots=True)
class SideValues:
    """The values of one side; `refused` is the reason not to compare it with the baseline."""

    run: str
    trials: Sequence[TrialValues]
    refused: str = ""
    trust: Trust | None = None


def distribution(what: DistributionKey, given: Sequence[SideValues]) -> Distribution:
    """Return the distribution of each side, and the shift of each against the first."""
    shaped = [_shaped(side.trials, what.source) for side in given]
    measured = [trials for trials in shaped if trials]
    edges = edges_of(measured) if measured else None
    sides = []
    for number, side in enumerate(given):
        trials = side.trials
        shift = shifts(trials, given[0].trials, what.source) if number and not side.refused else ()
        sides.append(
            SideDistribution(
                side.run,
                len(trials),
                sum(trial.n for trial in trials),
                percentiles(trials, what.source, what.metric.percentile) if trials else (),
                ecdf(shaped[number]),
                () if edges is None else histogram(shaped[number], edges),
                tuple(_worst(trials, what.metric)),
                shift,
                side.refused or ("" if trials else "not measured"),
                side.trust,
            )
        )
    return Distribution(what.step, what.host, what.metric, what.labels, what.source, tuple(sides))


def _shaped(trials: Sequence[TrialValues], source: ValueLevel) -> Sequence[TrialValues]:
    """Return the trials, pooled into one if each has a single value."""
    if source is not ValueLevel.TRIALS or not trials:
        return trials
    return [trial_values("", 0, "", [float(value) for trial in trials for value in trial.values])]


def _worst(trials: Sequence[TrialValues], metric: Metric) -> list[WorstSample]:
    """Return the worst sample of each trial, the worst of all first."""
    found = [
        WorstSample(trial.run, trial.trial, trial.number, trial.host, trial.worst.value, trial.worst.time)
        for trial in trials
        if trial.worst is not None
    ]
    return sorted(found, key=lambda one: one.value, reverse=metric.better is Better.LOWER)


FORMAT = "benchwright-distribution/1"

publish(Distribution, "step host metric=metric.name unit=metric.unit better=metric.better labels source method sides")


class DistributionsJson(TypedDict):
    """Distributions of a metric, one for each step, host and labels."""

    format: Annotated[str, FORMAT]
    distributions: list[Annotated[Json, Distribution]]


def distributions_to_json(found: list[Distribution]) -> DistributionsJson:
    """Return the public JSON of distributions."""
    return {"format": FORMAT, "distributions": [published(one) for one in found]}
