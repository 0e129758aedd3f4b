"""The sides of a comparison: groups of runs, and matching of their steps and hosts."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter

from app.comparison.comparability import Profile
from app.comparison.comparison import CompareError
from app.events import State
from app.plans.duet import on_first_half
from app.plans.plan import Order, Plan, Repetition, Step
from app.records import Published, RunRecord, RunSummary, TrialRecord
from app.summary import MetricSummary
from suites.evidence import STOPPED
from suites.quantities import count_text
from suites.units import convert
from suites.verdict import Trust, Verdict, least_trusted, worst
from suites.vocab import Labels, Metric

Key = tuple[str, Labels]
"""Key of a metric within a cell: its name and labels."""


@dataclass(frozen=True, slots=True)
class StepHosts:
    """A cell of a comparison: a step of one side on a host, or on several pooled hosts."""

    step: Step = field(hash=False)  # its values are a mapping
    hosts: tuple[str, ...]

    @property
    def host(self) -> str:
        """The host, or the number of hosts."""
        return self.hosts[0] if len(self.hosts) == 1 else f"{len(self.hosts)} hosts"


@dataclass(frozen=True, slots=True)
class Counted:
    """A counted trial (done, not a warm-up) and its run."""

    run: RunRecord
    record: TrialRecord
    verdict: Verdict | None = None  # on its step and host

    @property
    def key(self) -> tuple[str, int]:
        """Run id and trial id, unique over runs."""
        return self.run.summary.id, self.record.trial.id


@dataclass(frozen=True, slots=True)
class Censored:
    """The trials of a cell that failed, and all that were begun."""

    failed: int
    total: int

    @property
    def share(self) -> float:
        """The share of failed trials."""
        return self.failed / self.total if self.total else 0.0

    @property
    def text(self) -> str:
        """The share as text: ``28 of 40 trials failed``."""
        return f"{self.failed} of {count_text(self.total, 'trial')} failed"


class Side:
    """One side of a comparison: runs whose steps are matched by name, else by fingerprint."""

    def __init__(self, runs: Sequence[RunRecord]) -> None:
        self.runs = tuple(runs)
        steps: list[Step] = []
        own: list[dict[str, Step]] = []
        for run in self.runs:
            matched = paired_steps(steps, run.plan.steps)
            taken = {step.name for step in matched.values()}
            new = [step for step in run.plan.steps if step.name not in taken]
            steps += new
            own.append(matched | {step.name: step for step in new})
        self.steps = tuple(steps)
        self.hosts = tuple(dict.fromkeys(host for run in self.runs for host in run.plan.hosts))
        self._run_steps = tuple(own)

    @property
    def summary(self) -> RunSummary:
        """The summary of the run, or of a group with the ids of its runs and parts of runs."""
        first = self.runs[0].summary
        if len(self.runs) == 1:
            return first
        summaries = [run.summary for run in self.runs]
        earliest = min(summaries, key=lambda summary: summary.started)
        return replace(
            first,
            id=",".join(summary.id for summary in summaries),
            name=" + ".join(dict.fromkeys(summary.name for summary in summaries)),
            hosts=self.hosts,
            steps=tuple(step.name for step in self.steps),
            state=next((summary.state for summary in summaries if summary.state is not State.DONE), State.DONE),
            started=earliest.started,
            imported=earliest.imported,
            ended=max((summary.ended for summary in summaries if summary.ended is not None), default=None),
            trials=sum(summary.trials for summary in summaries),
            baseline=None,
            trust=_worst(summary.trust for summary in summaries),
            limited_by="",
            suites=tuple(dict.fromkeys(suite for summary in summaries for suite in summary.suites)),
            session=None,
            chosen_steps=_chosen([(summary.chosen_steps, summary.steps) for summary in summaries]),
            chosen_hosts=_chosen([(summary.chosen_hosts, summary.hosts) for summary in summaries]),
        )

    @property
    def published(self) -> Published | None:
        """The source of a published table, None for measured runs."""
        return next((run.published for run in self.runs if run.published is not None), None)

    def steps_by_run(self, step: Step) -> Iterator[tuple[RunRecord, Step]]:
        """Yield the runs that have the side's `step`, each with its own version of the step."""
        for run, own in zip(self.runs, self._run_steps, strict=True):
            if step.name in own:
                yield run, own[step.name]

    def trials(self, cell: StepHosts) -> list[Counted]:
        """Return the counted trials of a cell in order of their start; invalid ones only if there is no other."""
        found = [one for host in dict.fromkeys(cell.hosts) for one in self._counted.get((cell.step.name, host), ())]
        ordered = [counted for _, counted in sorted(found, key=lambda one: (one[1].record.trial.started, one[0]))]
        valid = [one for one in ordered if one.verdict is None or one.verdict.trust is not Trust.INVALID]
        return valid or ordered

    def invalid(self) -> set[tuple[str, int]]:
        """Return run and id of the trials that do not count, because others of their cells are not invalid."""
        every = {one.key for found in self._counted.values() for _, one in found}
        return every - {one.key for cell in step_hosts(self) for one in self.trials(cell)}

    def verdict(self, cell: StepHosts) -> Verdict | None:
        """Return the least trusted verdict on the counted trials of a cell; None without one."""
        return least_trusted(one.verdict for one in self.trials(cell) if one.verdict is not None)

    @cached_property
    def _counted(self) -> dict[tuple[str, str], list[tuple[int, Counted]]]:
        """The counted trials by step and host, each with its position; built in one pass over all trials."""
        found: dict[tuple[str, str], list[tuple[int, Counted]]] = {}
        number = itertools.count()
        for run, own in zip(self.runs, self._run_steps, strict=True):
            verdicts = {(verdict.step, verdict.host): verdict for verdict in run.verdicts}
            for name, step in own.items():
                for record in run.trials_of(step.name):
                    counted = Counted(run, record, verdicts.get((step.name, record.trial.host)))
                    found.setdefault((name, record.trial.host), []).append((next(number), counted))
        return found

    def figures(self, cell: StepHosts) -> dict[Key, MetricSummary]:
        """Return every metric of a cell over its counted trials, in the unit of its first."""
        verdict, on_first = self.verdict(cell), self.on_first(cell)
        gathered: dict[Key, list[tuple[float, str, tuple[str, int], Metric]]] = {}
        for counted in self.trials(cell):
            for figure in counted.record.figures:
                found = gathered.setdefault((figure.metric.name, figure.labels), [])
                found.append((figure.value, counted.record.trial.host, counted.key, figure.metric))
        return {
            (name, labels): MetricSummary(
                cell.step.name,
                cell.host,
                entries[0][3],
                labels,
                tuple(convert(value, metric.unit, entries[0][3].unit) for value, _, _, metric in entries),
                tuple(host for _, host, _, _ in entries),
                tuple(key for _, _, key, _ in entries),
                verdict,
                tuple(on_first.get(key) for _, _, key, _ in entries) if on_first else (),
            )
            for (name, labels), entries in gathered.items()
        }

    @property
    def repetitions(self) -> list[Repetition]:
        """The repetition of each run."""
        return [run.plan.repetition for run in self.runs]

    def moments(self, cell: StepHosts) -> list[str]:
        """Return the start times of the counted trials of a cell, UTC, ISO 8601."""
        return [counted.record.trial.started for counted in self.trials(cell)]

    def starts(self, cell: StepHosts) -> dict[str, list[str]]:
        """Return the start times of the counted trials of a cell by run, UTC, ISO 8601."""
        found: dict[str, list[str]] = {}
        for counted in self.trials(cell):
            found.setdefault(counted.run.summary.id, []).append(counted.record.trial.started)
        return found

    def rounds(self, cell: StepHosts) -> dict[tuple[str, int], int]:
        """Return the round of each counted trial of a cell (run id, trial id) of one run, if its plan has rounds."""
        if len(self.runs) > 1 or self.runs[0].plan.order is Order.BLOCK:
            return {}
        return {counted.key: counted.record.trial.number for counted in self.trials(cell)}

    def on_first(self, cell: StepHosts) -> dict[tuple[str, int], bool]:
        """Return whether each counted trial of a cell (run id, trial id) that is of a duet was on the first half."""
        return {
            one.key: on_first_half(one.run.plan, one.record.trial.step, one.record.trial.number)
            for one in self.trials(cell)
            if one.run.plan.order is Order.DUET and not one.run.parts
        }

    def halves(self, cell: StepHosts) -> dict[tuple[str, int], bool]:
        """Return on_first() if all runs are duets, else nothing."""
        return self.on_first(cell) if all(run.plan.order is Order.DUET for run in self.runs) else {}

    def censored(self, cell: StepHosts) -> Censored:
        """Return how many trials of a cell failed, without trials that a user stopped, warm-ups and invalid runs."""
        counted = {(one.run.summary.id, one.record.trial.host) for one in self.trials(cell)}
        every = (one for host in cell.hosts for _, one in self._counted.get((cell.step.name, host), ()))
        invalid = {(one.run.summary.id, one.record.trial.host) for one in every} - counted
        failed = sum(
            count
            for (step, host, run), count in self._failed.items()
            if step == cell.step.name and host in cell.hosts and (run, host) not in invalid
        )
        return Censored(failed, failed + len(self.trials(cell)))

    @cached_property
    def _failed(self) -> dict[tuple[str, str, str], int]:
        """The number of failed trials by step, host and run."""
        found: dict[tuple[str, str, str], int] = {}
        for run, own in zip(self.runs, self._run_steps, strict=True):
            names = {step.name: name for name, step in own.items()}
            for record in run.trials:
                if record.trial.step in names and _has_failed(record):
                    key = names[record.trial.step], record.trial.host, run.summary.id
                    found[key] = found.get(key, 0) + 1
        return found

    def profile(self, cell: StepHosts) -> Profile:
        """Return the properties that decide comparability of the cell."""
        runs = list(self.steps_by_run(cell.step))
        trials = self.trials(cell)
        versions = {counted.record.trial.tool_version for counted in trials}
        counted_hosts = {counted.record.trial.host for counted in trials}
        hosts = tuple(host for host in cell.hosts if host in counted_hosts) or cell.hosts
        facts = (run.facts_before.get(host) for run, _ in runs for host in hosts)
        verdict = self.verdict(cell)
        return Profile(
            steps=_distinct(own for _, own in runs),
            hosts=hosts,
            versions=frozenset() if None in versions else frozenset(map(str, versions)),
            facts=tuple(found for found in facts if found is not None),
            repetitions=tuple(run.plan.repetition for run, _ in runs),
            programs=frozenset(run.program_version for run, _ in runs if run.program_version),
            invalid=verdict.text if verdict is not None and verdict.trust is Trust.INVALID else "",
        )


def refuse_repeated(sides: Iterable[Side]) -> None:
    """Raise CompareError if a step of a run on a host is on several sides, or twice on one: it would count twice.

    So would imports of the same output.
    """
    runs = [run for side in sides for run in side.runs]
    there = [(run.summary.id, step.name, host) for run in runs for step in run.plan.steps for host in run.plan.hosts]
    if len(set(there)) < len(there):
        raise CompareError("A run cannot be compared with itself.", "Name each run once.")
    refuse_copies(runs)


def refuse_copies(runs: Iterable[RunRecord]) -> None:
    """Raise CompareError if runs were imported from the same bytes: they are one measurement."""
    first: dict[tuple[object, ...], str] = {}
    for run in runs:
        for step in run.plan.steps if run.read_from is not None else ():
            other = first.setdefault((run.measurement, step.name), run.summary.id)
            if other != run.summary.id:
                raise CompareError(
                    f"Runs {other} and {run.summary.id} were imported from the same output: they are one run.",
                    "Name one of them.",
                )


def refuse_duets(sides: Iterable[Side]) -> None:
    """Raise CompareError for a duet: its pairs cancel noise that its trials have."""
    duet = next((run.summary.id for side in sides for run in side.runs if run.plan.order is Order.DUET), None)
    if duet is not None:
        raise CompareError(
            f"Run {duet} is a duet: its trials are analysed in pairs.",
            f"Compare its steps: benchwright compare {duet}; more pairs narrow its interval.",
        )


def _has_failed(record: TrialRecord) -> bool:
    """Return whether a trial failed: not a warm-up, not under way, not stopped by the user."""
    stopped = record.state is State.PARTIAL and record.reason == STOPPED
    return record.state not in {State.DONE, State.RUNNING} and not record.trial.warm_up and not stopped


def _chosen(runs: Sequence[tuple[tuple[str, ...], tuple[str, ...]]]) -> tuple[str, ...]:
    """Return the names selected of some runs, each given by its selected and all its names; empty without a selection.

    Of a run without a selection, all are.
    """
    if not any(chosen for chosen, _ in runs):
        return ()
    return tuple(dict.fromkeys(name for chosen, names in runs for name in chosen or names))


def _worst(levels: Iterable[str]) -> str:
    """Return the lowest trust level of some runs; empty if one of them has none."""
    given = list(levels)
    return worst(tuple(Trust(level) for level in given)).value if all(given) else ""


def _distinct(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return the distinct steps."""
    found: list[Step] = []
    for step in steps:
        if step not in found:
            found.append(step)
    return tuple(found)


_SAME_NAME: Callable[[Step], object] = attrgetter("suite_id", "name")


def _same_work(step: Step) -> object:
    return step.suite_id, step.fingerprint()


def paired_steps(baseline: Iterable[Step], other: Iterable[Step]) -> dict[str, Step]:
    """Return the steps of `other` by the name of the baseline's step: same suite and name, else same fingerprint."""
    unmatched = list(other)
    found: dict[str, Step] = {}
    for identity in _SAME_NAME, _same_work:
        for step in baseline:
            match = (
                None
                if step.name in found
                else next((each for each in unmatched if identity(step) == identity(each)), None)
            )
            if match is not None:
                found[step.name] = match
                unmatched.remove(match)
    return found


def step_hosts(side: Side) -> list[StepHosts]:
    """Return the cells of a side in the order of its plan."""
    return [StepHosts(step, (host,)) for step in side.steps for host in side.hosts]


def cells_of_all(side: Side) -> list[StepHosts]:
    """Return the cells of a side in the order of its plan, each of all hosts."""
    return [StepHosts(step, side.hosts) for step in side.steps]


def paired(baseline: Side | Plan, other: Side | Plan) -> dict[StepHosts, StepHosts]:
    """Return the cells of `other` by the corresponding cell of the baseline.

    Steps correspond by suite and name, else by suite and fingerprint; the only step of one side corresponds to the
    only step of the other. Hosts correspond by name; the remaining hosts of both sides are pooled and correspond.
    """
    steps = matching_steps(baseline, other)
    return {
        StepHosts(step, ours): StepHosts(steps[step.name], theirs)
        for step in baseline.steps
        if step.name in steps
        for ours, theirs in _paired_hosts(baseline.hosts, other.hosts)
    }


def matched_hosts(baseline: Side, other: Side) -> dict[StepHosts, StepHosts]:
    """Return the cells of the hosts that both sides have, as one if several, and those of paired()."""
    shared = tuple(host for host in baseline.hosts if host in other.hosts)
    return (_together(baseline, other, shared, shared) if len(shared) > 1 else {}) | paired(baseline, other)


def all_hosts(baseline: Side, other: Side) -> dict[StepHosts, StepHosts]:
    """Return the cells of all hosts of each side as one."""
    return _together(baseline, other, baseline.hosts, other.hosts)


def _together(
    baseline: Side, other: Side, ours: tuple[str, ...], theirs: tuple[str, ...]
) -> dict[StepHosts, StepHosts]:
    steps = matching_steps(baseline, other)
    return {StepHosts(step, ours): StepHosts(steps[step.name], theirs) for step in baseline.steps if step.name in steps}


def matching_steps(baseline: Side | Plan, other: Side | Plan) -> dict[str, Step]:
    """Return the steps of `other` by the name of the corresponding baseline step."""
    if len(baseline.steps) == len(other.steps) == 1:
        return {baseline.steps[0].name: other.steps[0]}
    return paired_steps(baseline.steps, other.steps)


def _paired_hosts(baseline: Sequence[str], other: Sequence[str]) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    shared: list[tuple[tuple[str, ...], tuple[str, ...]]] = [((host,), (host,)) for host in baseline if host in other]
    rest = tuple(host for host in baseline if host not in other), tuple(host for host in other if host not in baseline)
    return [*shared, rest] if all(rest) else shared
