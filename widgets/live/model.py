"""State of a run as the window shows it, folded from events. No Qt."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np

from app.events import (
    Activity,
    Event,
    FactsRead,
    FindingRaised,
    LibraryChanged,
    LimitSeen,
    LinkChanged,
    LinkState,
    Moment,
    PlannedSession,
    PolicyDecided,
    Progress,
    RunAttached,
    RunDetached,
    RunEnded,
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
from app.plans.plan import Order, Plan
from app.runs.messages import NOT_HEARD
from app.verdict.listing import current_findings
from suites.facts import Facts
from suites.quantities import duration_text
from suites.verdict import Limiter, Verdict
from suites.vocab import Figure, Finding, Labels, Metric, Sample
from widgets.plots.series import Numbers, SeriesBuffer
from widgets.plots.timeline import MarkKind, PlotMark

StepKey = tuple[str, str]
"""A step's name and a host."""

SeriesKey = tuple[str, Labels]
"""A metric's name and the labels of one of its series."""


TELEMETRY_CAPACITY = 16_384
"""Most points of a series of telemetry: of an eight-hour run, the first hours are thinned. The store has all."""

GAP = 5.0
"""Seconds without telemetry after which its curves have a gap."""


class LivePhase(StrEnum):
    """State of a run as shown."""

    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    DONE = "done"
    PARTIAL = "stopped"
    FAILED = "failed"
    DETACHED = "detached"

    @property
    def over(self) -> bool:
        """Whether no more events come."""
        return self in {LivePhase.DONE, LivePhase.PARTIAL, LivePhase.FAILED, LivePhase.DETACHED}


@dataclass(slots=True)
class LiveSeries:
    """Samples of one metric and set of labels. Those up to `warm_up_until` (seconds) do not count."""

    metric: Metric
    labels: Labels
    buffer: SeriesBuffer = field(default_factory=SeriesBuffer)
    warm_up_until: float | None = None

    def take(self, sample: Sample) -> None:
        """Add a sample."""
        self.buffer.append(sample.time, sample.value)
        if sample.warm_up:
            self.warm_up_until = max(sample.time, self.warm_up_until or sample.time)

    def break_curve(self, time: float) -> None:
        """Break the curve if the last sample is more than GAP before `time`."""
        times = self.buffer.times()
        if len(times) and time - times[-1] > GAP:
            self.buffer.append((float(times[-1]) + time) / 2, math.nan)

    def finite(self) -> Numbers:
        """Return every value, warm-up included, in order of time."""
        values = self.buffer.values()
        return values[np.isfinite(values)]

    def counted(self) -> Numbers:
        """Return the values that count, in order of time."""
        return self.counted_pairs()[1]

    def counted_pairs(self) -> tuple[Numbers, Numbers]:
        """Return the times and values of the samples that count."""
        times, values = self.buffer.times(), self.buffer.values()
        after = times > self.warm_up_until if self.warm_up_until is not None else np.ones(len(times), dtype=bool)
        wanted = after & np.isfinite(values)
        return times[wanted], values[wanted]


@dataclass(slots=True)
class TrialView:
    """One trial with its series and outcome. `began` is the workstation's monotonic clock."""

    trial: Trial
    expected: float | None = None
    began: float | None = None
    session: PlannedSession | None = None  # the session of a series that the run is
    ended: TrialEnded | None = None
    seconds: float | None = None  # duration, once it has ended
    series: dict[SeriesKey, LiveSeries] = field(default_factory=dict)
    origin: float | None = None  # the tool's time 0 on the host's clock, as far as known

    @property
    def zero(self) -> float | None:
        """Time 0 of its samples on the host's clock: the tool's, else the start of its command."""
        return self.trial.clock if self.origin is None else self.origin

    @property
    def step_key(self) -> StepKey:
        """The step and the host."""
        return self.trial.step, self.trial.host

    @property
    def counts(self) -> bool:
        """Whether its figures count: it is done and not a warm-up."""
        return self.ended is not None and self.ended.state is State.DONE and not self.trial.warm_up

    @property
    def never_began(self) -> bool:
        """Whether it ended without a command: its host was not reached, or the trial was refused."""
        return self.ended is not None and self.trial.clock is None and not self.series

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The tool's own figures, once it has ended."""
        return self.ended.parsed.figures if self.ended is not None else ()

    def take(self, sample: Sample) -> None:
        """Add a sample of the test."""
        key = (sample.metric.name, sample.labels)
        found = self.series.get(key)
        if found is None:
            found = self.series[key] = LiveSeries(sample.metric, sample.labels)
        found.take(sample)

    def exclude(self, samples: Iterable[Sample]) -> None:
        """Mark the samples that the parser excluded at the end: steady state is known only then."""
        for sample in samples:
            series = self.series.get((sample.metric.name, sample.labels)) if sample.warm_up else None
            if series is not None:
                series.warm_up_until = max(sample.time, series.warm_up_until or sample.time)

    def warm_up_until(self) -> float | None:
        """Return the time of the last excluded sample, or None."""
        ends = [series.warm_up_until for series in self.series.values() if series.warm_up_until is not None]
        return max(ends, default=None)

    def latest(self) -> float:
        """Return the time of the last sample, 0 before the first."""
        ends = [float(series.buffer.times()[-1]) for series in self.series.values() if len(series.buffer)]
        return max(ends, default=0.0)


@dataclass(slots=True)
class RunModel:
    """State of one run. `now` is always the workstation's monotonic clock in seconds."""

    plan: Plan
    phase: LivePhase = LivePhase.STARTING
    run_id: str = ""
    stored: bool = False  # whether the library holds what was measured
    unstored: str = ""  # why the library cannot be written, or empty
    reason: str = ""
    problems: tuple[str, ...] = ()  # the sentences of the reason
    activity: str = ""
    measures: bool = False  # the activity is a measurement: the trial it begins has no number yet
    waits_for: str = ""  # why the run waits for a host in use, or empty
    began: float | None = None
    session: PlannedSession | None = None  # the session of a series that the run is
    over_at: float | None = None
    trials: dict[int, TrialView] = field(default_factory=dict)
    current: TrialView | None = None  # the latest trial that began
    facts: dict[str, Facts] = field(default_factory=dict)
    raised: list[Finding] = field(default_factory=list)
    telemetry: dict[str, dict[SeriesKey, LiveSeries]] = field(default_factory=dict)
    links: dict[str, LinkChanged] = field(default_factory=dict)  # hosts whose connection is broken
    marks: dict[str, list[PlotMark]] = field(default_factory=dict)  # by host, on its clock: findings, lost connections
    telemetry_cost: Mapping[str, float] = field(default_factory=dict)
    telemetry_program: Mapping[str, str] = field(default_factory=dict)
    progress: Progress | None = None
    decisions: dict[StepKey, list[PolicyDecided]] = field(default_factory=dict)
    limits: dict[StepKey, Limiter] = field(default_factory=dict)  # of the trials so far
    verdicts: dict[StepKey | None, Verdict] = field(default_factory=dict)  # None: of the whole run
    _progress_at: float = 0.0
    _findings: tuple[Finding, ...] | None = None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings that hold so far, computed again only after another finding or verdict."""
        if self._findings is None:
            self._findings = current_findings(self.raised, self.verdicts.values())
        return self._findings

    def fold(self, event: Event, now: float) -> None:
        """Apply the next event. Raw output is not part of the model."""
        match event:
            case SampleRead() if event.trial in self.trials:
                self.trials[event.trial].take(event.sample)
                self.trials[event.trial].origin = event.origin
            case TelemetryRead():
                self._add_telemetry(event)
            case TrialStarted():
                view = self.trials[event.trial.id] = TrialView(event.trial, event.expected, now)
                if event.trial.clock is not None:  # otherwise it never began
                    self.current = view
            case TrialAttached():
                self._attach_trial(event, now)
            case TrialEnded() if event.trial in self.trials:
                self._end_trial(event, now)
            case FindingRaised():
                self._add_finding(event)
            case _:
                self._fold_run(event, now)

    def stopping(self) -> None:
        """Mark the run as being stopped by the user."""
        if not self.phase.over:
            self.phase = LivePhase.STOPPING

    def fail(self, reason: str, now: float) -> None:
        """Mark the run as failed, if it has no end yet."""
        if not self.phase.over:
            self.phase, self.reason, self.over_at = LivePhase.FAILED, reason, now

    def step_keys(self) -> tuple[StepKey, ...]:
        """Return every step on every host, in the order of the plan."""
        return tuple((step.name, host) for step in self.plan.steps for host in self.plan.hosts)

    def trials_at(self, step_key: StepKey) -> list[TrialView]:
        """Return the trials of a step on a host so far, including warm-ups."""
        return [view for view in self.trials.values() if view.step_key == step_key]

    def running_at(self, step_key: StepKey) -> TrialView | None:
        """Return the trial under way, or None."""
        return next((view for view in self.trials.values() if view.step_key == step_key and view.ended is None), None)

    def under_way(self, step_key: StepKey | None = None) -> TrialView | None:
        """Return the trial of a step that is under way, else the latest one of the run."""
        return (None if step_key is None else self.running_at(step_key)) or self.current

    def is_under_way(self, step_key: StepKey) -> bool:
        """Return whether the current trial is of a step on a host, or of its partner in a duet."""
        if self.current is None:
            return False
        return self.current.step_key == step_key or (
            self.plan.order is Order.DUET and self.current.trial.host == step_key[1]
        )

    def elapsed(self, now: float) -> float:
        """Return the seconds since the run began."""
        return 0.0 if self.began is None else (self.over_at or now) - self.began

    def remaining(self, now: float) -> float | None:
        """Return the expected remaining seconds, negative when overdue; None if unknown: while a host is lost."""
        lost = any(link.state in NOT_HEARD for link in self.links.values())
        if lost or self.progress is None or self.progress.remaining is None:
            return None
        return self.progress.remaining - (now - self._progress_at)

    def _fold_run(self, event: Event, now: float) -> None:
        match event:
            case RunStarted():
                self.run_id, self.began, self.session = event.run_id, now, event.session
                self.phase = LivePhase.RUNNING if self.phase is LivePhase.STARTING else self.phase
            case Activity():
                self.activity, self.waits_for, self.measures = event.text, event.waits_for, event.measures
            case FactsRead(moment=Moment.BEFORE):
                self.facts[event.host] = event.facts
            case Progress():
                self.progress, self._progress_at = event, now
            case PolicyDecided():
                self.decisions.setdefault((event.step, event.host), []).append(event)
            case LimitSeen(step=step, host=host, limiter=limiter):
                self.limits[step, host] = limiter
            case VerdictReached(verdict=verdict):
                step_key = None if verdict.step is None or verdict.host is None else (verdict.step, verdict.host)
                self.verdicts[step_key] = verdict
                self._findings = None
            case RunEnded():
                self._end(event, now)
            case RunAttached() | RunDetached() | LinkChanged() | LibraryChanged():
                self._fold_survival(event, now)

    def _fold_survival(self, event: RunAttached | RunDetached | LinkChanged | LibraryChanged, now: float) -> None:
        match event:
            case LibraryChanged(problem=problem):
                self.unstored = problem
            case RunAttached():
                self.began = now - event.age
            case RunDetached():
                self.phase, self.over_at, self.activity = LivePhase.DETACHED, now, ""
                self.stored = not self.unstored
                self.links.clear()
            case LinkChanged():
                self._fold_link(event, now)

    def _fold_link(self, event: LinkChanged, now: float) -> None:
        marks, before = self.marks.setdefault(event.host, []), self.links.get(event.host)
        lost = next((number for number, mark in reversed(list(enumerate(marks))) if mark.kind is MarkKind.LINK), None)
        if event.state is LinkState.BACK and before is not None and lost is not None:
            text = f"reconnected after {duration_text(round(now - before.since))}"
            marks[lost] = replace(marks[lost], text=text)
        elif event.state is not LinkState.BACK and before is None and (clock := self.clock_of(event.host)) is not None:
            marks.append(PlotMark(clock, f"connection {event.state.value}", MarkKind.LINK))
        if event.state is LinkState.BACK and not event.restarted:
            self.links.pop(event.host, None)
        else:
            self.links[event.host] = event

    def clock_of(self, host: str) -> float | None:
        """Return the latest time known of a host's monotonic clock: of its telemetry or its samples."""
        watched = self.telemetry.get(host, {}).values()
        found = [float(series.buffer.times()[-1]) for series in watched if len(series.buffer)]
        views = [view for view in self.trials.values() if view.trial.host == host]
        found += [view.zero + view.latest() for view in views if view.zero is not None]
        return max(found, default=None)

    def _attach_trial(self, event: TrialAttached, now: float) -> None:
        """Continue a detached trial with the samples read so far."""
        self.current = self.trials[event.trial.id] = TrialView(event.trial, event.expected)
        for sample in event.samples:
            self.current.take(sample)
        self.current.began = now - self.current.latest()

    def _end_trial(self, event: TrialEnded, now: float) -> None:
        view = self.trials[event.trial]
        view.ended, view.origin = event, view.origin if event.origin is None else event.origin
        view.seconds = None if view.began is None else now - view.began
        view.exclude(event.parsed.samples)
        if view is self.current:  # the trial of a host with a lost connection may still be under way
            self.current = next((other for other in self.trials.values() if other.ended is None), view)

    def _add_finding(self, event: FindingRaised) -> None:
        self.raised.append(event.finding)
        self._findings = None
        if event.clock is not None and event.finding.host is not None:
            text = f"{event.finding.title}: {event.finding.measured}"
            self.marks.setdefault(event.finding.host, []).append(PlotMark(event.clock, text))

    def _add_telemetry(self, event: TelemetryRead) -> None:
        watched = self.telemetry.setdefault(event.host, {})
        for sample in event.samples:
            key = (sample.metric.name, sample.labels)
            if key not in watched:
                watched[key] = LiveSeries(sample.metric, sample.labels, SeriesBuffer(TELEMETRY_CAPACITY))
            watched[key].break_curve(sample.time)
            watched[key].take(sample)

    def _end(self, event: RunEnded, now: float) -> None:
        ends = {State.DONE: LivePhase.DONE, State.PARTIAL: LivePhase.PARTIAL}
        self.phase, self.stored = ends.get(event.state, LivePhase.FAILED), True
        self.telemetry_cost, self.telemetry_program = event.telemetry_cost, event.telemetry_program
        self.reason, self.over_at, self.activity = event.reason, now, ""
        self.problems = event.problems or (event.reason,)
