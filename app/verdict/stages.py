"""Stages that add findings and limits during trials and verdicts of steps and run to the events of a run."""

import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from app.checks.catalogue import DURING_CHECKS
from app.checks.evidence import RUNNING
from app.checks.limits import LIMITED_BY
from app.detached_runs import DetachedRun
from app.events import (
    Event,
    FactsRead,
    FindingRaised,
    LimitSeen,
    Moment,
    RunAttached,
    RunEnded,
    RunStarted,
    SampleRead,
    State,
    StepEnded,
    TelemetryRead,
    Trial,
    TrialAttached,
    TrialEnded,
    TrialStarted,
    VerdictReached,
)
from app.plans.context import step_context
from app.plans.duet import facts_seen
from app.plans.plan import Plan
from app.records import RunRecord, SampleSeries
from app.runs.schedule import StepKey
from app.verdict.steps import common_limiter, new_findings, run_verdict
from app.verdict.stored import (
    MARGIN,
    Telemetry,
    is_uncounted,
    step_keys,
    step_verdicts,
    trials_and_windows,
    without_tree,
)
from suites.checks import CheckOutcome
from suites.evidence import HostWatch, Point, TrialCheck, TrialEvidence
from suites.facts import Facts
from suites.verdict import Limiter
from suites.vocab import Labels, Sample, Severity

log = logging.getLogger(__name__)

CHECK_INTERVAL = 5.0
"""Seconds between checks of a running trial, at least."""

CHECK_SHARE = 1 / 30
"""Share of a trial's runtime so far between checks, if longer than CHECK_INTERVAL: the cost of a check grows with the
trial, and all checks of a one-hour trial together take a few seconds."""


@dataclass(slots=True)
class _Open:
    """A running trial: its samples, its host's telemetry, and the severity of findings already raised."""

    trial: Trial
    expected: float | None
    samples: list[Sample] = field(default_factory=list)
    series: dict[tuple[str, Labels], list[Point]] = field(default_factory=dict)
    peer_series: dict[tuple[str, Labels], list[Point]] = field(default_factory=dict)
    raised: dict[str, Severity] = field(default_factory=dict)
    unnamed: set[str] = field(default_factory=set)  # checks whose finding lacks names
    uncounted: bool = False
    attached: bool = False  # its first samples and telemetry are not here
    origin: float | None = None
    next: float = CHECK_INTERVAL

    @property
    def began(self) -> float:
        return self.trial.clock or 0.0

    @property
    def start(self) -> float:
        """The start of the measured interval as far as known: preparation and ramp do not count."""
        ramp = max((sample.time for sample in self.samples if sample.warm_up), default=0.0)
        return max(self.began, (self.began if self.origin is None else self.origin) + ramp)

    def watch(self, samples: Iterable[Sample]) -> None:
        for sample in without_tree(samples) if self.uncounted else samples:
            self.series.setdefault((sample.metric.name, sample.labels), []).append((sample.time, sample.value))

    def watch_peer(self, samples: Iterable[Sample]) -> None:
        """Add telemetry of the peer, on the host's clock."""
        shift = self.began - (self.trial.peer_clock or 0.0)
        for sample in samples:
            key = sample.metric.name, sample.labels
            self.peer_series.setdefault(key, []).append((sample.time + shift, sample.value))


@dataclass(slots=True)
class TrialMonitor:
    """Stage of the checks during trials, run in the consumer thread of the events, never in the window's.

    `facts` and `raised` are the stored facts and findings of an attached run, empty for a new one. Warm-ups are not
    checked.
    """

    facts: dict[str, Facts] = field(default_factory=dict)
    raised: Iterable[FindingRaised] = ()
    checks: tuple[TrialCheck, ...] = DURING_CHECKS
    _plan: Plan | None = None
    _before: dict[str, deque[Sample]] = field(default_factory=dict)  # the last seconds of each host
    _open: dict[int, _Open] = field(default_factory=dict)
    _limits: dict[StepKey, Counter[Limiter]] = field(default_factory=dict)  # counted trials by their limit

    def __call__(self, event: Event) -> Iterator[Event]:
        """Yield `event`, then the findings that it adds to running trials, or the limit of the trials so far."""
        self._take(event)
        yield self._timed(event) if isinstance(event, FindingRaised) else event
        match event:
            case TelemetryRead():
                yield from self._check_due(event)
            case TrialEnded(trial=number) if number in self._open:
                yield from self._limit_so_far(self._open.pop(number), event)

    def _timed(self, event: FindingRaised) -> FindingRaised:
        """Return a finding on a trial with the latest time known of its host's clock."""
        known = self._before.get(event.finding.host or "")
        return event if event.trial is None or not known else replace(event, clock=known[-1].time)

    def _take(self, event: Event) -> None:
        match event:
            case RunStarted(plan=plan) | RunAttached(plan=plan):
                self._plan = plan
            case FactsRead(host=host, moment=Moment.BEFORE, facts=facts):
                self.facts[host] = facts
            case TrialStarted(trial=trial, expected=expected) if trial.clock is not None:
                self._begin(trial, expected)
            case TrialAttached(trial=trial, expected=expected, samples=samples) if trial.clock is not None:
                self._begin(trial, expected, samples)
            case SampleRead(trial=number, sample=sample, origin=origin) if number in self._open:
                self._open[number].samples.append(sample)
                self._open[number].origin = origin
            case TelemetryRead(host=host, samples=samples):
                self._add_telemetry(host, samples)

    def _begin(self, trial: Trial, expected: float | None, samples: tuple[Sample, ...] | None = None) -> None:
        if trial.warm_up:
            return
        opened = self._open[trial.id] = _Open(trial, expected, list(samples or ()), attached=samples is not None)
        opened.uncounted = self._plan is not None and is_uncounted(self._plan, trial)
        opened.raised |= {one.finding.id: one.finding.severity for one in self.raised if one.trial == trial.id}
        opened.watch(self._before.get(trial.host, ()))
        if trial.peer_clock is not None:
            opened.watch_peer(self._before.get(self._peer_of(trial), ()))

    def _peer_of(self, trial: Trial) -> str:
        """Return the peer's name if it is another host, else nothing."""
        peer = None if self._plan is None else self._plan.step(trial.step).peer
        return "" if peer is None or peer == trial.host else peer

    def _add_telemetry(self, host: str, samples: tuple[Sample, ...]) -> None:
        for trial in self._open.values():
            if trial.trial.host == host:
                trial.watch(samples)
            elif trial.trial.peer_clock is not None and host == self._peer_of(trial.trial):
                trial.watch_peer(samples)
        recent = self._before.setdefault(host, deque())
        recent.extend(samples)
        while recent and recent[0].time < recent[-1].time - MARGIN:
            recent.popleft()

    def _check_due(self, event: TelemetryRead) -> Iterator[Event]:
        now = max(sample.time for sample in event.samples) if event.samples else 0.0
        for trial in tuple(self._open.values()):
            if trial.trial.host == event.host and now - trial.began >= trial.next:
                trial.next = now - trial.began + max(CHECK_INTERVAL, CHECK_SHARE * (now - trial.began))
                yield from self._new_findings(trial, now)

    def _new_findings(self, trial: _Open, now: float) -> Iterator[Event]:
        """Yield new findings, and those whose severity has risen or that name the cause now."""
        if self._plan is None:
            return
        evidence = self._evidence(self._plan, trial, now)
        for check in self.checks:
            outcome = check.outcome(evidence)
            if not isinstance(outcome, CheckOutcome):
                continue
            finding = check.finding_for(outcome, evidence)
            raised = trial.raised.get(check.id)
            named = check.id in trial.unnamed and not outcome.lacks_names
            if raised is not None and finding.severity.rank <= raised.rank and not named:
                continue
            trial.raised[check.id] = finding.severity
            (trial.unnamed.add if outcome.lacks_names else trial.unnamed.discard)(check.id)
            yield FindingRaised(finding, trial.trial.id, now)

    def _limit_so_far(self, trial: _Open, ended: TrialEnded) -> Iterator[Event]:
        """Yield what limited the counted trials of its step, with that of a trial that has ended."""
        known = self._before.get(trial.trial.host)
        if self._plan is None or not known or trial.attached or trial.uncounted or ended.state is not State.DONE:
            return
        evidence = replace(
            self._evidence(self._plan, trial, known[-1].time if ended.ended_clock is None else ended.ended_clock),
            state=ended.state.value,
            exit_status=ended.exit_status,
            figures=ended.parsed.figures,
            samples=ended.parsed.samples,
        )
        outcome = LIMITED_BY.outcome(evidence)
        if isinstance(outcome, CheckOutcome) and outcome.limiter is not None:
            counts = self._limits.setdefault((trial.trial.step, trial.trial.host), Counter())
            counts[outcome.limiter] += 1
            yield LimitSeen(trial.trial.step, trial.trial.host, common_limiter(counts) or Limiter.UNKNOWN)

    def _evidence(self, plan: Plan, trial: _Open, now: float) -> TrialEvidence:
        own = trial.trial
        step = plan.step(own.step).on(own.host)
        peer = step.peer if trial.peer_series else None
        return TrialEvidence(
            name=step.name,
            suite=step.suite,
            values=step.whole_values(),
            context=step_context(step, own.host, facts_seen(plan, self.facts)),
            host=own.host,
            id=own.id,
            number=own.number,
            state=RUNNING,
            exit_status=None,
            samples=tuple(trial.samples),
            commands=own.commands,
            expected=trial.expected,
            duration=None if trial.attached else now - trial.began,  # its command may have ended before
            uncounted=trial.uncounted,
            watch=self._watch(trial, own.host, trial.series, now),
            peer=step.peer,
            peer_watch=None if peer is None else self._watch(trial, peer, trial.peer_series, now),
        )

    def _watch(
        self, trial: _Open, host: str, series: Mapping[tuple[str, Labels], list[Point]], now: float
    ) -> HostWatch:
        points = {key: tuple(found) for key, found in series.items()}
        return HostWatch(host, min(trial.start, now), now, points, self.facts.get(host))


def resumed_watching(detached: DetachedRun | None) -> TrialMonitor:
    """Return the stage for a run; for a detached run, with its stored facts and findings."""
    if detached is None:
        return TrialMonitor()
    record = detached.record
    return TrialMonitor(dict(record.facts_before), record.raised)


class Stored(Protocol):
    """Access to the stored part of a run."""

    def stored(self) -> RunRecord:
        """Return the record."""
        ...

    def stored_samples(
        self, trials: Sequence[int], windows: Mapping[str, tuple[float, float]]
    ) -> tuple[SampleSeries, Telemetry]:
        """Return the samples of `trials`, and the telemetry of hosts in windows on their monotonic clocks."""
        ...


class Verdicts:
    """Stage that adds the verdict of each step after its end, and of the run before RunEnded.

    Verdicts use only what is stored, so that recomputing them gives the same result. A step without StepEnded gets
    its verdict at the end of the run.
    """

    def __init__(self, stored: Stored) -> None:
        self._stored = stored

    def __call__(self, event: Event) -> Iterator[Event]:
        """Yield `event` with the verdicts due at it."""
        if isinstance(event, RunEnded):
            yield from _logged(lambda: _at_the_end(self._stored))
        yield event
        if isinstance(event, StepEnded):
            step_key = (event.step, event.host)
            yield from _logged(partial(_of_step_key, self._stored, step_key))


def _logged(compute: Callable[[], Iterator[Event]]) -> tuple[Event, ...]:
    """Return the events of `compute`; none if it fails."""
    try:
        return tuple(compute())
    except Exception:  # a bug in a check or a full disk must not lose the measurement: verdicts can be computed later
        log.exception("the verdict could not be computed")
        return ()


def _of_step_key(stored: Stored, step_key: StepKey, known: RunRecord | None = None) -> Iterator[Event]:
    """Yield the findings of one step that differ from those raised before, then its verdict.

    Only its samples and telemetry are loaded.
    """
    record = known or stored.stored()
    samples, telemetry = stored.stored_samples(*trials_and_windows(record, step_key))
    for step in step_verdicts(record, samples, telemetry, (step_key,)):
        for one in new_findings(step, record.findings):
            yield FindingRaised(one.finding, one.trial, checks=step.verdict.checks)
        yield VerdictReached(step.verdict)


def _at_the_end(stored: Stored) -> Iterator[Event]:
    """Recompute all verdicts, since later events may have added evidence, and raise the findings that changed."""
    record = stored.stored()
    verdicts = []
    for step_key in step_keys(record.plan):
        for event in _of_step_key(stored, step_key, record):
            if isinstance(event, VerdictReached):
                verdicts.append(event.verdict)
            yield event
    whole = run_verdict(verdicts)
    if whole is not None:
        yield VerdictReached(whole)
