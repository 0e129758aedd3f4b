"""The distribution of one metric on each side of a comparison, and how far the sides are apart at each percentile."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.distributions.percentiles import METHODS, Percentile, Shift, percentiles, shifts
from app.distributions.shapes import Bin, Step, ecdf, edges_of, histogram
from app.distributions.values import Source, TrialValues, trial_values
from app.wording import metric_text
from suites.vocab import Better, Labels, Metric

DESCRIPTIVE = (
    "samples and requests within a trial follow one another: they describe, and no verdict rests on them; "
    "ECDF and histogram are means over the trials, each trial weighing alike"
)


@dataclass(frozen=True, slots=True)
class Worst:
    """The worst sample of a trial and when it came: seconds since the tool's start. `trial` is the trial's id,
    `number` how it is counted among those of its step and host."""

    run: str
    trial: int
    number: int
    host: str
    value: float
    time: float


@dataclass(frozen=True, slots=True)
class SideDistribution:
    """One side: `n` trials with `count` values in all. `shift` is empty for the baseline and what has no answer."""

    run: str
    n: int
    count: int
    percentiles: tuple[Percentile, ...] = ()
    ecdf: tuple[Step, ...] = ()
    histogram: tuple[Bin, ...] = ()
    worst: tuple[Worst, ...] = ()
    shift: tuple[Shift, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Distribution:
    """The distribution of one metric of one step on one host; `sides` has one entry a side, the baseline first."""

    step: str
    host: str
    metric: Metric
    labels: Labels
    source: Source
    sides: tuple[SideDistribution, ...]

    @property
    def title(self) -> str:
        """What the values are: of requests not one percentile, but all of them."""
        if self.source is not Source.REQUESTS:
            return metric_text(self.metric, self.labels)
        whole = replace(self.metric, title=f"{self.metric.title.partition(',')[0]} of all requests")
        return metric_text(whole, self.labels)

    @property
    def method(self) -> str:
        """How the percentiles and their intervals come about."""
        return f"{METHODS[self.source]}; {DESCRIPTIVE}"


@dataclass(frozen=True, slots=True)
class Described:
    """What a distribution is of: a metric of a step on a host, and what its values are."""

    step: str
    host: str
    metric: Metric
    labels: Labels
    source: Source


@dataclass(frozen=True, slots=True)
class Given:
    """What is known of one side before it is described; `refused` says why it is not held against the baseline."""

    run: str
    trials: Sequence[TrialValues]
    refused: str = ""


def distribution(what: Described, given: Sequence[Given]) -> Distribution:
    """Return the distribution of each side, and the shift of each against the first."""
    shaped = [_shaped(side.trials, what.source) for side in given]
    measured = [trials for trials in shaped if trials]
    edges = edges_of(measured) if measured else None
    sides = []
    for number, side in enumerate(given):
        trials = side.trials
        apart = shifts(trials, given[0].trials, what.source) if number and not side.refused else ()
        sides.append(
            SideDistribution(
                side.run,
                len(trials),
                sum(trial.n for trial in trials),
                percentiles(trials, what.source) if trials else (),
                ecdf(shaped[number]),
                () if edges is None else histogram(shaped[number], edges),
                tuple(_worst(trials, what.metric)),
                apart,
                side.refused or ("" if trials else "not measured"),
            )
        )
    return Distribution(what.step, what.host, what.metric, what.labels, what.source, tuple(sides))


def _shaped(trials: Sequence[TrialValues], source: Source) -> Sequence[TrialValues]:
    """Return what makes the shape: the trials, or where each is one value, all of them together."""
    if source is not Source.TRIALS or not trials:
        return trials
    return [trial_values("", 0, "", [float(value) for trial in trials for value in trial.values])]


def _worst(trials: Sequence[TrialValues], metric: Metric) -> list[Worst]:
    """Return the worst sample of each trial, the worst of all first."""
    found = [
        Worst(trial.run, trial.trial, trial.number, trial.host, trial.worst.value, trial.worst.time)
        for trial in trials
        if trial.worst is not None
    ]
    return sorted(found, key=lambda one: one.value, reverse=metric.better is Better.LOWER)
