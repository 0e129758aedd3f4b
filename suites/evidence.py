"""Evidence of checks: a host before a run; a trial, its host's telemetry, and all trials of a step after it."""

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Self, TypeAlias

from suites.base import Command, Context, StepEvidence, Suite
from suites.checks import Check
from suites.facts import Facts
from suites.parameters import Values
from suites.verdict import Goal
from suites.vocab import Figure, Finding, Labels, Sample, labels

Point = tuple[float, float]
"""A time on the host's monotonic clock, in seconds, and the value at that time."""

DONE = "done"
"""State of a trial that ran to its end."""


@dataclass(frozen=True, slots=True)
class HostEvidence:
    """Evidence of a host for checks before the run, independent of its steps."""

    host: str
    facts: Facts | None
    steps: tuple[StepEvidence, ...] = ()
    tuned: frozenset[str] = frozenset()
    """Names of the settings that the plan changes on the host while it runs, such as ``governor``."""
    live: bool = False
    """Whether the background load is that of now, rather than that before a test."""
    name: None = None


@dataclass(frozen=True, slots=True)
class Interval:
    """The seconds in which a trial's tool counted, on the host's monotonic clock; `origin` is the tool's time 0."""

    origin: float
    start: float
    end: float


def measured_interval(
    counted: tuple[float, float] | None, clock: float, ended: float, origin: float | None = None
) -> Interval:
    """Return the measured interval of a trial whose command ran from `clock` to `ended`.

    `counted` is in the tool's time, None for the whole command. Without `origin` the command ends with the measurement.
    """
    if counted is None:
        return Interval(clock, clock, ended)
    latest = max(clock, ended - counted[1])
    zero = latest if origin is None else min(max(clock, origin), latest)
    return Interval(zero, min(zero + counted[0], ended), min(zero + counted[1], ended))


STOPPED = "Stopped by you."
"""Reason of a trial or run that the user stopped."""

LONGEST_INTERVAL = 10.0
"""Seconds between samples of telemetry, at most."""


@dataclass(frozen=True, slots=True)
class HostWatch:
    """Telemetry of one host around one trial, whose tool counted from `start` to `end` on the host's own clock.

    A rate or share is stamped with the end of its interval. `before` and `after` are the host's facts.
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
        *,
        shift: float = 0.0,
    ) -> Self:
        """Return the watch of telemetry `samples` for a trial measured in `window` (start, end).

        `shift` is added to the samples' times: the peer's clock differs from the host's.
        """
        found: dict[tuple[str, Labels], list[Point]] = defaultdict(list)
        for sample in samples:
            found[sample.metric.name, sample.labels].append((sample.time + shift, sample.value))
        return cls(host, *window, {key: tuple(points) for key, points in found.items()}, before, after)

    @property
    def seconds(self) -> float:
        """Duration of the measured window."""
        return max(0.0, self.end - self.start)

    @property
    def interval(self) -> float:
        """Usual seconds between samples; LONGEST_INTERVAL if there is one only, 0 without any."""
        times = self._times
        gaps = [new - old for old, new in pairwise(times)]
        return statistics.median(gaps) if gaps else LONGEST_INTERVAL if times else 0.0

    @property
    def counted(self) -> float:
        """Seconds of the measured window that samples cover; one after a gap covers the usual interval only."""
        usual = self.interval
        return sum(
            self._within(last if time - last <= 2 * usual else time - usual, time)
            for last, time in pairwise([-math.inf, *self._times])
        )

    @property
    def _times(self) -> list[float]:
        """Times of the series that was sampled most often."""
        return sorted({time for time, _ in max(self.series.values(), key=len, default=())})

    def labels_of(self, metric: str) -> tuple[Labels, ...]:
        """Return the labels under which `metric` was sampled, such as one per disk."""
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
        """Return the mean of one series over the measured window, weighted by the time each value covers."""
        weights = [(value, self._within(*span)) for *span, value in self._spans(metric, labels(**labelled))]
        whole = sum(weight for _, weight in weights)
        return sum(value * weight for value, weight in weights) / whole if whole > 0 else None

    def covered(self, metric: str, **labelled: str) -> float:
        """Return the share of the measured window that a series covers, its last value as long as the one before."""
        spans = [(since, until) for since, until, _ in self._spans(metric, labels(**labelled))]
        if not spans or not self.seconds:
            return 0.0
        since, until = spans[-1]
        return sum(self._within(*span) for span in (*spans, (until, 2 * until - since))) / self.seconds

    def mean_within(self, metric: str, **labelled: str) -> float | None:
        """Return the mean of one series over the intervals completely inside the measured window.

        This excludes earlier activity, such as the layout of files.
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
        """Return the integral of a rate over the measured window: bytes for bytes per second.

        Intervals that overlap the window count as a whole, so a little activity before and after may be included.
        """
        spans = [span for span in self._spans(metric, labels(**labelled)) if self._within(span[0], span[1]) > 0]
        return sum((until - since) * value for since, until, value in spans) if spans else None

    def amounts(self, metric: str, every: float) -> dict[Labels, float]:
        """Return by labels what falls in the measured window of amounts that each arose since the previous reading.

        One that found nothing has no points: two readings are taken to be as far apart as the nearest, or `every`
        seconds if there is one only. What was not read yet at the end is taken to go on as before.
        """
        series = {at: points for (name, at), points in self.series.items() if name == metric}
        times = sorted({time for points in series.values() for time, _ in points})
        every = min((new - old for old, new in pairwise(times)), default=every)
        since = {time: max(last, time - every) for last, time in pairwise([-math.inf, *times])}
        unread = self.end - max(times, default=self.end)
        read = self.seconds - unread if 0.0 < unread <= min(every, self.seconds) else self.seconds
        return {
            at: sum(value * self._within(since[time], time) / (time - since[time]) for time, value in points)
            * (self.seconds / read if read else 0.0)
            for at, points in series.items()
        }

    def _within(self, since: float, until: float) -> float:
        return max(0.0, min(until, self.end) - max(since, self.start))

    def _spans(self, metric: str, at: Labels) -> Iterator[tuple[float, float, float]]:
        """Yield start, end and value of each point of a series; each covers at most twice the usual interval."""
        series = self.series.get((metric, at), ())
        usual = min((new - old for (old, _), (new, _) in pairwise(series)), default=1.0)
        last: float | None = None
        for time, value in series:
            yield time - usual if last is None else max(last, time - 2 * usual), time, value
            last = time


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialEvidence:
    """One trial of a step on a host.

    `state` is “done”, “partial” or “failed”, `reason` why it is not done. `expected` and `duration` are the estimated
    and actual seconds. `watch` is None without telemetry, `peer_watch` also without a measured peer: another host's
    telemetry on the host's clock, aligned to about a tenth of a second. `interruption` is why telemetry may have a gap.
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
    peer_watch: HostWatch | None = None
    interruption: str = ""
    elsewhere: bool = False  # read from an output of a tool that ran elsewhere; `reason` is why it is incomplete
    uncounted: bool = False  # of a duet: the telemetry counts the partner's process tree

    @property
    def done(self) -> bool:
        """Whether the trial ran to its end."""
        return self.state == DONE

    @property
    def headline(self) -> Figure | None:
        """The trial's headline figure: the first of the step's first metric that it has."""
        for metric in self.suite.metrics_of(self.values):
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

    def latency(self, statistic: str, at: Labels) -> Figure | None:
        """Return a latency such as “mean” or “p99” as the application waits, else as the tool counts it, or None."""
        named = (f"total_latency_{statistic}", f"latency_{statistic}", f"sync_latency_{statistic}")
        return next((one for name in named for one in self.all_of(name) if one.labels == at), None)

    def as_named(self, metric: str) -> tuple[Figure, ...]:
        """Return the figures of a metric as a user names it: a latency is that of whole requests, if counted."""
        whole = {one.labels: one for one in self.all_of(f"total_{metric}")} if metric.startswith("latency_") else {}
        return tuple(({one.labels: one for one in self.all_of(metric)} | whole).values())

    def sum_of(self, metric: str) -> float | None:
        """Return the sum of one metric over its labels; None if it has no figure."""
        found = self.all_of(metric)
        return sum(figure.value for figure in found) if found else None

    def series(self, metric: str, at: Labels = ()) -> tuple[Sample, ...]:
        """Return the samples of one metric without ramp and warm-up."""
        return tuple(
            sample
            for sample in self.samples
            if sample.metric.name == metric and sample.labels == at and not sample.warm_up
        )

    def headline_series(self) -> tuple[Sample, ...]:
        """Return the samples of the headline's quantity without ramp and warm-up; while running, of the first metric.

        Where no sample has the headline's labels, those counted at the other end stand for it; of a sweep, those of
        the point whose figure is the headline's.
        """
        figure = self.headline
        if figure is not None:
            value, unit = figure.value, figure.metric.unit
            same = (one.labels for one in self.figures if one.value == value and one.metric.unit is unit)
            found = (series_of(self.suite, self.samples, figure.metric.name, at) for at in (figure.labels, *same))
            return next(filter(None, found), ())
        for metric in self.suite.metrics_of(self.values):
            first = next((one for one in self.samples if one.metric.name == metric.name), None)
            if first is not None:
                return self.series(metric.name, first.labels)
        return ()


def series_of(suite: Suite, samples: Iterable[Sample], metric: str, at: Labels) -> tuple[Sample, ...]:
    """Return the samples of a figure's quantity without ramp and warm-up: under its labels, else of the other end."""
    found: dict[Labels, list[Sample]] = {}
    for sample in samples:
        if sample.metric.name == metric and not sample.warm_up:
            found.setdefault(sample.labels, []).append(sample)
    own = found.get(at) or next((found[one] for one in found if _quantity(suite, one) == _quantity(suite, at)), ())
    return tuple(own)


def _quantity(suite: Suite, at: Labels) -> Labels:
    return tuple(pair for pair in at if pair[0] != suite.counting_label)


@dataclass(frozen=True, slots=True)
class HostNoise:
    """Variation of a suite's headline metric on a quiet host: coefficient of variation, and day of calibration."""

    cov: float
    day: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOutcomeEvidence:
    """All trials of a step on a host in any state, without warm-ups.

    `planned` is the number of trials to make, None if time or precision decides. `findings` are those of the step and
    the host before and during the run. `host_noise` is the suite's variation on the host, if it was calibrated.
    `elsewhere`: read from the output of a tool that ran elsewhere.
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
    host_noise: HostNoise | None = None
    elsewhere: bool = False

    @property
    def done(self) -> tuple[TrialEvidence, ...]:
        """The trials that ran to their end."""
        return tuple(trial for trial in self.trials if trial.done)

    def over_trials(self, metric: str, at: Labels = ()) -> tuple[float, ...]:
        """Return the figure of every completed trial that has it, in the order of the trials."""
        return tuple(figure.value for trial in self.done for figure in trial.all_of(metric) if figure.labels == at)

    def halves_over(self, metric: str, at: Labels = ()) -> tuple[bool, ...]:
        """Return whether each figure of over_trials() was measured on the first half of the CPUs; empty without duets.

        The telemetry of a duet follows the side on the second half.
        """
        if not any(trial.uncounted for trial in self.trials):
            return ()
        return tuple(trial.uncounted for trial in self.done for figure in trial.all_of(metric) if figure.labels == at)

    @property
    def headline(self) -> Figure | None:
        """The step's headline figure: that of the first trial that has one, with that trial's value."""
        return next((trial.headline for trial in self.done if trial.headline is not None), None)


HostCheck: TypeAlias = Check[HostEvidence]
"""A check of a host before the run."""

TrialCheck: TypeAlias = Check[TrialEvidence]
"""A check of one trial after it."""

OutcomeCheck: TypeAlias = Check[StepOutcomeEvidence]
"""A check of all trials of a step on a host after them."""
