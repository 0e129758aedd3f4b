"""A run as the window shows it, folded from its events one by one. No Qt: it is tested without a screen."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from app.events import (
    Activity,
    Event,
    FactsRead,
    FindingRaised,
    LibraryChanged,
    LinkChanged,
    Moment,
    PolicyDecided,
    Progress,
    RunAttached,
    RunEnded,
    RunLeft,
    RunStarted,
    SampleRead,
    State,
    TelemetryRead,
    Trial,
    TrialAttached,
    TrialEnded,
    TrialStarted,
    VerdictReached,
)
from app.hosts.link_words import LinkState
from app.plans.plan import Plan
from suites.facts import Facts
from suites.verdict import Verdict
from suites.vocab import Figure, Finding, Labels, Metric, Sample
from widgets.plots.series import Numbers, SeriesBuffer

Place = tuple[str, str]
"""A step's name and a host."""

SeriesKey = tuple[str, Labels]
"""A metric's name and the labels that tell its series apart."""


GAP = 5.0
"""Seconds without a look at the host after which its curves have a gap: nothing is known of that time."""


class Phase(StrEnum):
    """How the run stands, as the page shows it."""

    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    DONE = "done"
    PARTIAL = "stopped"
    FAILED = "failed"
    LEFT = "detached"

    @property
    def over(self) -> bool:
        """Whether nothing more will come."""
        return self in {Phase.DONE, Phase.PARTIAL, Phase.FAILED, Phase.LEFT}


@dataclass(slots=True)
class Series:
    """The samples of one metric. Those up to `warm_up_until` do not count."""

    metric: Metric
    labels: Labels
    buffer: SeriesBuffer = field(default_factory=SeriesBuffer)
    warm_up_until: float | None = None

    def take(self, sample: Sample) -> None:
        """Add a sample."""
        self.buffer.append(sample.time, sample.value)
        if sample.warm_up:
            self.warm_up_until = max(sample.time, self.warm_up_until or sample.time)

    def leave_gap(self, time: float) -> None:
        """Break the curve where nothing was known for a while before `time`."""
        times = self.buffer.times()
        if len(times) and time - times[-1] > GAP:
            self.buffer.append((float(times[-1]) + time) / 2, math.nan)

    def counted(self) -> Numbers:
        """Return the values that count, in the order of time."""
        return self.counted_pairs()[1]

    def counted_pairs(self) -> tuple[Numbers, Numbers]:
        """Return the times and values of the samples that count."""
        times, values = self.buffer.times(), self.buffer.values()
        after = times > self.warm_up_until if self.warm_up_until is not None else np.ones(len(times), dtype=bool)
        wanted = after & np.isfinite(values)
        return times[wanted], values[wanted]


@dataclass(slots=True)
class TrialView:
    """One trial: what ran, its series so far, and how it ended. `began` is the workstation's monotonic clock."""

    trial: Trial
    expected: float | None = None
    began: float | None = None
    ended: TrialEnded | None = None
    seconds: float | None = None  # how long it took, once it has ended
    series: dict[SeriesKey, Series] = field(default_factory=dict)
    marks: list[tuple[float, str]] = field(default_factory=list)

    @property
    def place(self) -> Place:
        """The step and the host."""
        return self.trial.step, self.trial.host

    @property
    def counts(self) -> bool:
        """Whether its figures count: it is done and no warm-up."""
        return self.ended is not None and self.ended.state is State.DONE and not self.trial.warm_up

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The tool's own figures, once it has ended."""
        return self.ended.parsed.figures if self.ended is not None else ()

    def take(self, sample: Sample) -> None:
        """Add a sample of the test."""
        key = (sample.metric.name, sample.labels)
        found = self.series.get(key)
        if found is None:
            found = self.series[key] = Series(sample.metric, sample.labels)
        found.take(sample)

    def leave_out(self, samples: Iterable[Sample]) -> None:
        """Take the parser's last word on which samples do not count: a steady state is known only at its end."""
        for sample in samples:
            series = self.series.get((sample.metric.name, sample.labels)) if sample.warm_up else None
            if series is not None:
                series.warm_up_until = max(sample.time, series.warm_up_until or sample.time)

    def warm_up_until(self) -> float | None:
        """Return the time of the last sample that does not count, or None."""
        ends = [series.warm_up_until for series in self.series.values() if series.warm_up_until is not None]
        return max(ends, default=None)

    def latest(self) -> float:
        """Return the time of the last sample, 0 before the first."""
        ends = [float(series.buffer.times()[-1]) for series in self.series.values() if len(series.buffer)]
        return max(ends, default=0.0)


@dataclass(slots=True)
class RunModel:
    """Everything the page shows of one run. `now` is always the workstation's monotonic clock."""

    plan: Plan
    phase: Phase = Phase.STARTING
    run_id: str = ""
    stored: bool = False  # whether its end came with what is stored of it read back
    unstored: str = ""  # why the library takes nothing now
    reason: str = ""
    activity: str = ""
    began: float | None = None
    over_at: float | None = None
    trials: dict[int, TrialView] = field(default_factory=dict)
    current: TrialView | None = None
    facts: dict[str, Facts] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    telemetry: dict[str, dict[SeriesKey, Series]] = field(default_factory=dict)
    links: dict[str, LinkChanged] = field(default_factory=dict)  # hosts whose connection is not as it should be
    telemetry_cost: Mapping[str, float] = field(default_factory=dict)
    progress: Progress | None = None
    decisions: dict[Place, list[PolicyDecided]] = field(default_factory=dict)
    verdicts: dict[Place | None, Verdict] = field(default_factory=dict)  # on each place; None: on the whole run
    _progress_at: float = 0.0

    def fold(self, event: Event, now: float) -> None:
        """Take the next event. Raw output is shown elsewhere and leaves no trace here."""
        match event:
            case SampleRead() if event.trial in self.trials:
                self.trials[event.trial].take(event.sample)
            case TelemetryRead():
                self._watch(event)
            case TrialStarted():
                self.current = TrialView(event.trial, event.expected, now)
                self.trials[event.trial.id] = self.current
            case TrialAttached():
                self._take_up(event, now)
            case TrialEnded() if event.trial in self.trials:
                self._end_trial(event, now)
            case FindingRaised():
                self._raise(event)
            case _:
                self._fold_run(event, now)

    def stopping(self) -> None:
        """The user wants the run to end."""
        if not self.phase.over:
            self.phase = Phase.STOPPING

    def fail(self, reason: str, now: float) -> None:
        """The run broke off without an end of its own."""
        if not self.phase.over:
            self.phase, self.reason, self.over_at = Phase.FAILED, reason, now

    def places(self) -> tuple[Place, ...]:
        """Return every step on every host, in the order of the plan."""
        return tuple((step.name, host) for step in self.plan.steps for host in self.plan.hosts)

    def trials_at(self, place: Place) -> list[TrialView]:
        """Return the trials of a step on a host so far, warm-ups among them."""
        return [view for view in self.trials.values() if view.place == place]

    def running_at(self, place: Place) -> TrialView | None:
        """Return the trial that is under way there, or None."""
        return next((view for view in self.trials.values() if view.place == place and view.ended is None), None)

    def elapsed(self, now: float) -> float:
        """Return the seconds since the run began."""
        return 0.0 if self.began is None else (self.over_at or now) - self.began

    def remaining(self, now: float) -> float | None:
        """Return the seconds still expected, below zero where it takes longer than that; None: not known."""
        if self.progress is None or self.progress.remaining is None:
            return None
        return self.progress.remaining - (now - self._progress_at)

    def _fold_run(self, event: Event, now: float) -> None:
        match event:
            case RunStarted():
                self.run_id, self.began = event.run_id, now
                self.phase = Phase.RUNNING if self.phase is Phase.STARTING else self.phase
            case Activity():
                self.activity = event.text
            case FactsRead(moment=Moment.BEFORE):
                self.facts[event.host] = event.facts
            case Progress():
                self.progress, self._progress_at = event, now
            case PolicyDecided():
                self.decisions.setdefault((event.step, event.host), []).append(event)
            case VerdictReached(verdict=verdict):
                place = None if verdict.step is None or verdict.host is None else (verdict.step, verdict.host)
                self.verdicts[place] = verdict
            case RunEnded():
                self._end(event, now)
            case RunAttached() | RunLeft() | LinkChanged() | LibraryChanged():
                self._fold_survival(event, now)

    def _fold_survival(self, event: RunAttached | RunLeft | LinkChanged | LibraryChanged, now: float) -> None:
        match event:
            case LibraryChanged(problem=problem):
                self.unstored = problem
            case RunAttached():
                self.began = now - event.age
            case RunLeft():
                self.phase, self.over_at, self.activity = Phase.LEFT, now, ""
                self.stored = not self.unstored
                self.links.clear()
            case LinkChanged(state=LinkState.BACK, restarted=""):
                self.links.pop(event.host, None)
            case LinkChanged():
                self.links[event.host] = event

    def _take_up(self, event: TrialAttached, now: float) -> None:
        """Go on with a detached trial."""
        self.current = self.trials[event.trial.id] = TrialView(event.trial, event.expected)
        for sample in event.samples:
            self.current.take(sample)
        self.current.began = now - self.current.latest()

    def _end_trial(self, event: TrialEnded, now: float) -> None:
        view = self.trials[event.trial]
        view.ended = event
        view.seconds = None if view.began is None else now - view.began
        view.leave_out(event.parsed.samples)
        if view is self.current:  # another may be under way: that of a host whose connection was lost
            self.current = next((other for other in self.trials.values() if other.ended is None), view)

    def _raise(self, event: FindingRaised) -> None:
        self.findings.append(event.finding)
        view = None if event.trial is None else self.trials.get(event.trial)
        if view is not None and view.ended is None:
            view.marks.append((view.latest(), f"{event.finding.title}: {event.finding.measured}"))

    def _watch(self, event: TelemetryRead) -> None:
        watched = self.telemetry.setdefault(event.host, {})
        for sample in event.samples:
            key = (sample.metric.name, sample.labels)
            if key not in watched:
                watched[key] = Series(sample.metric, sample.labels)
            watched[key].leave_gap(sample.time)
            watched[key].take(sample)

    def _end(self, event: RunEnded, now: float) -> None:
        ends = {State.DONE: Phase.DONE, State.PARTIAL: Phase.PARTIAL}
        self.phase, self.stored = ends.get(event.state, Phase.FAILED), True
        self.reason, self.telemetry_cost, self.over_at, self.activity = event.reason, event.telemetry_cost, now, ""
