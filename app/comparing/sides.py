"""One side of a comparison: a run, or several that stand together as a group."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from app.calibration.calibration import Calibration
from app.comparing.gate import Profile
from app.events import State
from app.plans.plan import Step
from app.records import Published, RunRecord, RunSummary, TrialRecord
from app.summary import MetricSummary
from suites.units import convert
from suites.verdict import Trust, worst
from suites.vocab import Labels, Metric

Key = tuple[str, Labels]
"""What figures of one place are told apart by: the metric's name and labels."""


@dataclass(frozen=True, slots=True)
class Place:
    """A step on a host, as one side has it; or on several hosts that are taken together."""

    step: Step = field(hash=False)  # its values are a mapping
    hosts: tuple[str, ...]

    @property
    def host(self) -> str:
        """The host, or how many there are."""
        return self.hosts[0] if len(self.hosts) == 1 else f"{len(self.hosts)} hosts"


@dataclass(frozen=True, slots=True)
class Counted:
    """A trial that counts, and the run it belongs to."""

    run: RunRecord
    record: TrialRecord

    @property
    def key(self) -> tuple[str, int]:
        """What tells the trial apart from those of other runs."""
        return self.run.summary.id, self.record.trial.id


class Side:
    """Runs that stand together. Their steps answer to each other by name, else by what they measure."""

    def __init__(self, runs: Sequence[RunRecord]) -> None:
        self.runs = tuple(runs)
        steps: list[Step] = []
        own: list[dict[str, Step]] = []
        for run in self.runs:
            matched = paired_steps(steps, run.plan.steps)
            answering = {step.name for step in matched.values()}
            new = [step for step in run.plan.steps if step.name not in answering]
            steps += new
            own.append(matched | {step.name: step for step in new})
        self.steps = tuple(steps)
        self.hosts = tuple(dict.fromkeys(host for run in self.runs for host in run.plan.hosts))
        self._own = tuple(own)

    @property
    def summary(self) -> RunSummary:
        """The line of the run; of a group one that names all its runs."""
        first = self.runs[0].summary
        if len(self.runs) == 1:
            return first
        summaries = [run.summary for run in self.runs]
        return replace(
            first,
            id=",".join(summary.id for summary in summaries),
            name=" + ".join(dict.fromkeys(summary.name for summary in summaries)),
            hosts=self.hosts,
            steps=tuple(step.name for step in self.steps),
            state=next((summary.state for summary in summaries if summary.state is not State.DONE), State.DONE),
            started=min(summary.started for summary in summaries),
            ended=max((summary.ended for summary in summaries if summary.ended is not None), default=None),
            trials=sum(summary.trials for summary in summaries),
            baseline=None,
            trust=_worst(summary.trust for summary in summaries),
            limited_by="",
            suites=tuple(dict.fromkeys(suite for summary in summaries for suite in summary.suites)),
        )

    @property
    def published(self) -> Published | None:
        """Where its figures come from, if it is no run of ours but a table that somebody published."""
        return next((run.published for run in self.runs if run.published is not None), None)

    def own_steps(self, step: Step) -> Iterator[tuple[RunRecord, Step]]:
        """Yield the runs that have the side's `step`, each with its own."""
        for run, own in zip(self.runs, self._own, strict=True):
            if step.name in own:
                yield run, own[step.name]

    def trials(self, place: Place) -> list[Counted]:
        """Return the trials of a place that count, in the order in which they ran."""
        found = [one for host in dict.fromkeys(place.hosts) for one in self._counted.get((place.step.name, host), ())]
        return [counted for _, counted in sorted(found, key=lambda one: (one[1].record.trial.started, one[0]))]

    @cached_property
    def _counted(self) -> dict[tuple[str, str], list[tuple[int, Counted]]]:
        """The trials that count by step and host, each with its place among all: every trial is looked at once."""
        found: dict[tuple[str, str], list[tuple[int, Counted]]] = {}
        number = itertools.count()
        for run, own in zip(self.runs, self._own, strict=True):
            for name, step in own.items():
                for record in run.trials_of(step.name):
                    found.setdefault((name, record.trial.host), []).append((next(number), Counted(run, record)))
        return found

    def figures(self, place: Place) -> dict[Key, MetricSummary]:
        """Return every metric of a place over the trials that count."""
        gathered: dict[Key, list[tuple[float, str, tuple[str, int], Metric]]] = {}
        for counted in self.trials(place):
            for figure in counted.record.figures:
                found = gathered.setdefault((figure.metric.name, figure.labels), [])
                found.append((figure.value, counted.record.trial.host, counted.key, figure.metric))
        return {
            (name, labels): MetricSummary(
                place.step.name,
                place.host,
                entries[0][3],
                labels,
                tuple(convert(value, metric.unit, entries[0][3].unit) for value, _, _, metric in entries),
                tuple(host for _, host, _, _ in entries),
                tuple(key for _, _, key, _ in entries),
            )
            for (name, labels), entries in gathered.items()
        }

    def calibrations(self, place: Place) -> list[Calibration | None]:
        """Return the calibration of the place's suite for each of its hosts in each run, None where there is none."""
        return [
            next((one for one in run.calibrations if (one.host, one.suite) == (host, step.suite_id)), None)
            for run, step in self.own_steps(place.step)
            for host in place.hosts
            if host in run.plan.hosts
        ]

    def moments(self, place: Place) -> list[str]:
        """Return when the trials of a place that count began, UTC, ISO 8601."""
        return [counted.record.trial.started for counted in self.trials(place)]

    def profile(self, place: Place) -> Profile:
        """Return what decides whether the place can be compared."""
        runs = list(self.own_steps(place.step))
        versions = {counted.record.trial.tool_version for counted in self.trials(place)}
        facts = (run.facts_before.get(host) for run, _ in runs for host in place.hosts)
        return Profile(
            steps=_each_once(own for _, own in runs),
            hosts=place.hosts,
            versions=frozenset() if None in versions else frozenset(map(str, versions)),
            facts=tuple(found for found in facts if found is not None),
            repetitions=tuple(run.plan.repetition for run, _ in runs),
            programs=frozenset(run.program_version for run, _ in runs if run.program_version),
        )


def _worst(levels: Iterable[str]) -> str:
    """Return the least believable of the levels of some runs; empty where one was never judged."""
    given = list(levels)
    return worst(tuple(Trust(level) for level in given)).value if all(given) else ""


def _each_once(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return the steps that differ: a group of a hundred runs has one step, not a hundred."""
    found: list[Step] = []
    for step in steps:
        if step not in found:
            found.append(step)
    return tuple(found)


def paired_steps(baseline: Iterable[Step], other: Iterable[Step]) -> dict[str, Step]:
    """Return the steps of `other` by the names of the baseline's they answer to."""
    left = list(other)
    found: dict[str, Step] = {}
    for alike in (_same_name, _same_work):
        for step in baseline:
            match = None if step.name in found else next((each for each in left if alike(step, each)), None)
            if match is not None:
                found[step.name] = match
                left.remove(match)
    return found


def _same_name(one: Step, other: Step) -> bool:
    return (one.suite_id, one.name) == (other.suite_id, other.name)


def _same_work(one: Step, other: Step) -> bool:
    return one.suite_id == other.suite_id and one.fingerprint() == other.fingerprint()
