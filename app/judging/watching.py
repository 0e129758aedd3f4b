"""Watches the trials of a run as they go: what the checks of during find is an event as soon as it is true."""

import logging
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from app.checks.during import DURING_CHECKS
from app.checks.during_words import RUNNING
from app.events import (
    Event,
    FactsRead,
    FindingRaised,
    Moment,
    RunAttached,
    RunStarted,
    SampleRead,
    TelemetryRead,
    Trial,
    TrialAttached,
    TrialEnded,
    TrialStarted,
)
from app.plans.context import step_context
from app.plans.plan import Plan
from app.records import RunRecord
from suites.checks import Outcome, TrialCheck
from suites.evidence import HostWatch, Point, TrialEvidence
from suites.facts import Facts
from suites.vocab import Finding, Labels, Level, Sample

log = logging.getLogger(__name__)

EVERY = 5.0
"""Seconds between two looks at a trial, at first."""

SELDOM = 1 / 30
"""The share of a trial's time so far that passes between two looks, where that is longer: what a look costs grows with
the trial, and all looks at an hour of it together cost no more than a few seconds."""

MARGIN = 5.0
"""Seconds of telemetry before a trial that are kept: its first rates reach back there."""


@dataclass(slots=True)
class _Open:
    """A trial under way: what has come of it and of its host so far, and what was said of it."""

    trial: Trial
    expected: float | None
    samples: list[Sample] = field(default_factory=list)
    series: dict[tuple[str, Labels], list[Point]] = field(default_factory=dict)
    told: dict[str, Level] = field(default_factory=dict)
    next: float = EVERY

    @property
    def began(self) -> float:
        return self.trial.clock or 0.0

    def watch(self, samples: Iterable[Sample]) -> None:
        for sample in samples:
            self.series.setdefault((sample.metric.name, sample.labels), []).append((sample.time, sample.value))


@dataclass(slots=True)
class Watching:
    """Follows the events of one run. Everything happens in the thread that takes the events, never in a window's.

    `facts` are those of the hosts of a run that goes on, `told` the findings that its trials were told of before; of a
    new one they are read and none. Warm-ups are not watched.
    """

    facts: dict[str, Facts] = field(default_factory=dict)
    told: Iterable[FindingRaised] = ()
    checks: tuple[TrialCheck, ...] = DURING_CHECKS
    _plan: Plan | None = None
    _before: dict[str, deque[Sample]] = field(default_factory=dict)  # the last seconds of each host
    _open: dict[int, _Open] = field(default_factory=dict)

    def follow(self, events: Iterator[Event]) -> Iterator[Event]:
        """Yield `events`, and behind each what it proves of a trial under way."""
        for event in events:
            self._take(event)
            yield event
            if isinstance(event, TelemetryRead):
                yield from self._looked(event)

    def _take(self, event: Event) -> None:
        match event:
            case RunStarted(plan=plan) | RunAttached(plan=plan):
                self._plan = plan
            case FactsRead(host=host, moment=Moment.BEFORE, facts=facts):
                self.facts[host] = facts
            case TrialStarted(trial=trial, expected=expected) if trial.clock is not None:
                self._begin(trial, expected, ())
            case TrialAttached(trial=trial, expected=expected, samples=samples) if trial.clock is not None:
                self._begin(trial, expected, samples)
            case SampleRead(trial=number, sample=sample) if number in self._open:
                self._open[number].samples.append(sample)
            case TelemetryRead(host=host, samples=samples):
                self._keep(host, samples)
            case TrialEnded(trial=number):
                self._open.pop(number, None)

    def _begin(self, trial: Trial, expected: float | None, samples: tuple[Sample, ...]) -> None:
        if trial.warm_up:
            return
        opened = self._open[trial.id] = _Open(trial, expected, list(samples))
        opened.told |= {one.finding.id: one.finding.level for one in self.told if one.trial == trial.id}
        opened.watch(self._before.get(trial.host, ()))

    def _keep(self, host: str, samples: tuple[Sample, ...]) -> None:
        for trial in self._open.values():
            if trial.trial.host == host:
                trial.watch(samples)
        kept = self._before.setdefault(host, deque())
        kept.extend(samples)
        while kept and kept[0].time < kept[-1].time - MARGIN:
            kept.popleft()

    def _looked(self, event: TelemetryRead) -> Iterator[Event]:
        now = max(sample.time for sample in event.samples) if event.samples else 0.0
        for trial in tuple(self._open.values()):
            if trial.trial.host == event.host and now - trial.began >= trial.next:
                trial.next = now - trial.began + max(EVERY, SELDOM * (now - trial.began))
                yield from self._said(trial, now)

    def _said(self, trial: _Open, now: float) -> Iterator[Event]:
        """Yield what is true now and was not yet told, or is graver than it was."""
        if self._plan is None:
            return
        evidence = self._evidence(self._plan, trial, now)
        for check in self.checks:
            finding = _found(check, evidence)
            told = trial.told.get(check.id)
            if finding is None or (told is not None and finding.level.rank <= told.rank):
                continue
            trial.told[check.id] = finding.level
            yield FindingRaised(finding, trial.trial.id)

    def _evidence(self, plan: Plan, trial: _Open, now: float) -> TrialEvidence:
        own = trial.trial
        step = plan.step(own.step)
        return TrialEvidence(
            name=step.name,
            suite=step.suite,
            values=step.whole_values(),
            context=step_context(step, own.host, self.facts),
            host=own.host,
            id=own.id,
            number=own.number,
            state=RUNNING,
            exit_status=None,
            samples=tuple(trial.samples),
            commands=own.commands,
            expected=trial.expected,
            duration=now - trial.began,
            watch=self._watch(trial, now),
            peer=step.peer,
        )

    def _watch(self, trial: _Open, now: float) -> HostWatch:
        points = {key: tuple(given) for key, given in trial.series.items()}
        return HostWatch(trial.trial.host, trial.began, now, points, self.facts.get(trial.trial.host))


def _found(check: TrialCheck, evidence: TrialEvidence) -> Finding | None:
    try:
        outcome = check.evaluate(evidence)
    except Exception:  # a defect of a check must not cost what is being measured
        log.exception("the check %s cannot be made now", check.id)
        return None
    return check.worded(outcome, evidence) if isinstance(outcome, Outcome) else None


def watching_again(record: RunRecord) -> Watching:
    """Return what watches a run that goes on, of which `record` is stored."""
    raised_in = record.finding_trials or (None,) * len(record.findings)
    told = tuple(FindingRaised(finding, trial) for finding, trial in zip(record.findings, raised_in, strict=True))
    return Watching(dict(record.facts_before), told)
