"""What a check of *after* looks at: a trial, the host while it ran, and all trials of a step together."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Self

from suites.base import Command, Context, Suite, metrics_of
from suites.facts import Facts
from suites.parameters import Values
from suites.verdict import Goal
from suites.vocab import Figure, Finding, Labels, Sample, labels

Point = tuple[float, float]
"""A moment on the host's monotonic clock, in seconds, and the value then."""

DONE = "done"
"""The state of a trial that ran to its end."""


@dataclass(frozen=True, slots=True)
class HostWatch:
    """The telemetry of one host around one trial, which was measured from `start` to `end` on the host's own clock.

    A rate or share stands at the end of the interval it is of. `before` and `after` are the host's facts.
    """

    host: str
    start: float
    end: float
    series: Mapping[tuple[str, Labels], tuple[Point, ...]] = field(default_factory=dict)
    before: Facts | None = None
    after: Facts | None = None

    @classmethod
    def of(
        cls,
        host: str,
        samples: Iterable[Sample],
        window: tuple[float, float],
        before: Facts | None = None,
        after: Facts | None = None,
    ) -> Self:
        """Return the watch that `samples` of telemetry make of a trial measured in `window`, from and until when."""
        found: dict[tuple[str, Labels], list[Point]] = defaultdict(list)
        for sample in samples:
            found[sample.metric.name, sample.labels].append((sample.time, sample.value))
        return cls(host, *window, {key: tuple(points) for key, points in found.items()}, before, after)

    @property
    def seconds(self) -> float:
        """How long the trial was measured."""
        return max(0.0, self.end - self.start)

    def labels_of(self, metric: str) -> tuple[Labels, ...]:
        """Return the labels under which `metric` was read, such as one for each disk."""
        return tuple(found for name, found in self.series if name == metric)

    def points(self, metric: str, **labelled: str) -> tuple[Point, ...]:
        """Return the points of one series in the measured window."""
        return self.points_at(metric, labels(**labelled))

    def points_at(self, metric: str, at: Labels) -> tuple[Point, ...]:
        """Return the points of one series in the measured window, by its labels."""
        return tuple(point for point in self.series.get((metric, at), ()) if self.start < point[0] <= self.end)

    def values(self, metric: str, **labelled: str) -> tuple[float, ...]:
        """Return the values of one series in the measured window."""
        return tuple(value for _, value in self.points(metric, **labelled))

    def mean(self, metric: str, **labelled: str) -> float | None:
        """Return the mean of one series over the measured window, each value by how long of it it stands for."""
        weights = [(value, self._within(*span)) for *span, value in self._spans(metric, labels(**labelled))]
        whole = sum(weight for _, weight in weights)
        return sum(value * weight for value, weight in weights) / whole if whole > 0 else None

    def mean_within(self, metric: str, **labelled: str) -> float | None:
        """Return the mean of one series over the intervals that lie in the measured window as a whole.

        What came right before, such as the writing of files, is in none of them.
        """
        spans = self._spans(metric, labels(**labelled))
        inside = [(value, until - since) for since, until, value in spans if since >= self.start and until <= self.end]
        whole = sum(weight for _, weight in inside)
        return sum(value * weight for value, weight in inside) / whole if whole > 0 else None

    def last(self, metric: str, **labelled: str) -> float | None:
        """Return the last value in the measured window."""
        values = self.values(metric, **labelled)
        return values[-1] if values else None

    def highest(self, metric: str, **labelled: str) -> float | None:
        """Return the largest value in the measured window."""
        return max(self.values(metric, **labelled), default=None)

    def total(self, metric: str, **labelled: str) -> float | None:
        """Return what a rate adds up to over the measured window: bytes for bytes a second.

        Every interval that touches the window counts as a whole: what the trial did is in it, and a little of before
        and after may be.
        """
        spans = [span for span in self._spans(metric, labels(**labelled)) if self._within(span[0], span[1]) > 0]
        return sum((until - since) * value for since, until, value in spans) if spans else None

    def _within(self, since: float, until: float) -> float:
        return max(0.0, min(until, self.end) - max(since, self.start))

    def _spans(self, metric: str, at: Labels) -> Iterator[tuple[float, float, float]]:
        """Yield from when until when each value of a series holds; a gap of several intervals stays one."""
        series = self.series.get((metric, at), ())
        usual = min((new - old for (old, _), (new, _) in pairwise(series)), default=1.0)
        last: float | None = None
        for time, value in series:
            yield time - usual if last is None else max(last, time - 2 * usual), time, value
            last = time


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialEvidence:
    """One trial of a step on a host, as it went.

    `state` is “done”, “partial” or “failed”, `reason` why it is not done. `expected` and `duration` are in seconds:
    what was estimated, and what it took. `watch` is None where there was no telemetry.
    """

    name: str
    suite: Suite
    values: Values
    context: Context
    host: str
    id: int = 1
    number: int = 1
    state: str = DONE
    reason: str = ""
    exit_status: int | None = 0
    figures: tuple[Figure, ...] = ()
    samples: tuple[Sample, ...] = ()
    notes: tuple[str, ...] = ()
    commands: tuple[Command, ...] = ()
    expected: float | None = None
    duration: float | None = None
    watch: HostWatch | None = None
    peer: str | None = None

    @property
    def done(self) -> bool:
        """Whether the trial ran to its end."""
        return self.state == DONE

    @property
    def headline(self) -> Figure | None:
        """The figure that stands for the trial: the first of the step's first metric that it has."""
        for metric in metrics_of(self.suite, self.values):
            found = self.all_of(metric.name)
            if found:
                return found[0]
        return self.figures[0] if self.figures else None

    def all_of(self, metric: str) -> tuple[Figure, ...]:
        """Return the figures of one metric, in their order."""
        return tuple(figure for figure in self.figures if figure.metric.name == metric)

    def value(self, metric: str, **labelled: str) -> float | None:
        """Return the figure of one metric under exactly these labels, or None."""
        wanted = labels(**labelled)
        return next((figure.value for figure in self.all_of(metric) if figure.labels == wanted), None)

    def sum_of(self, metric: str) -> float | None:
        """Return the figures of one metric added up over its labels; None where there is none."""
        found = self.all_of(metric)
        return sum(figure.value for figure in found) if found else None

    def series(self, metric: str, at: Labels = ()) -> tuple[Sample, ...]:
        """Return the samples of one metric that count: none of a ramp or warm-up."""
        return tuple(
            sample
            for sample in self.samples
            if sample.metric.name == metric and sample.labels == at and not sample.warm_up
        )


@dataclass(frozen=True, slots=True)
class OwnNoise:
    """How a suite's leading figure varies on a quiet host: its coefficient of variation, and the day it was found."""

    cov: float
    day: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOutcomeEvidence:
    """All trials of a step on a host, whatever their state; warm-ups are left out.

    `planned` is how many were to be made, None where time or the figures decide. `findings` are what was found of
    the step and the host before and during the run. `own_noise` is how the suite varies on the host by itself, where
    that was calibrated.
    """

    name: str
    suite: Suite
    values: Values
    context: Context
    host: str
    trials: tuple[TrialEvidence, ...] = ()
    planned: int | None = None
    goals: tuple[Goal, ...] = ()
    findings: tuple[Finding, ...] = ()
    own_noise: OwnNoise | None = None

    @property
    def done(self) -> tuple[TrialEvidence, ...]:
        """The trials that ran to their end."""
        return tuple(trial for trial in self.trials if trial.done)

    def over_trials(self, metric: str, at: Labels = ()) -> tuple[float, ...]:
        """Return the figure of every trial that was done and has it, in the order in which they ran."""
        return tuple(figure.value for trial in self.done for figure in trial.all_of(metric) if figure.labels == at)

    @property
    def headline(self) -> Figure | None:
        """The figure that stands for the step: the first trial's that has one; its value is that trial's."""
        return next((trial.headline for trial in self.done if trial.headline is not None), None)
