"""The pilot of a sample size: variance components of stored runs, and how long their trials and sessions took."""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from app.comparison.comparison import CompareError
from app.comparison.power import SampleDesign
from app.comparison.sides import Counted, Key, Side, StepHosts, refuse_duets, refuse_repeated
from app.comparison.variance import HOST, RUN, VarianceComponent, components_of
from app.margins import Margin, Margins
from app.plans.plan import DAY, Plan, Policy, Step, host_label
from app.plans.validation import validate
from app.records import RunRecord
from app.sample_size.designs import Effort, NoiseEstimate
from app.summary import MetricSummary, headline_metrics
from suites.quantities import count_text, label_text
from suites.verdict import Trust
from suites.vocab import Labels, Metric


@dataclass(frozen=True, slots=True)
class PilotQuery:
    """Which metric of the runs: its step, name and labels; empty or None for the first and its headline metric."""

    step: str = ""
    metric: str = ""
    labels: Labels | None = None


@dataclass(frozen=True, slots=True)
class Pilot:
    """The noise of a metric in stored runs, `effort` as they took, and the `plan` of the first run, with its `step`.

    `components` are those of trials, sessions and hosts. `tested` are the metrics that compare() tests together, this
    one included. `excluded` names what does not count: invalid results, and hosts with identical trials.
    """

    metric: Metric
    labels: Labels
    step: Step
    plan: Plan
    components: tuple[VarianceComponent, ...]
    effort: Effort
    margin: Margin
    tested: int = 1
    excluded: tuple[str, ...] = ()

    @property
    def noise(self) -> NoiseEstimate:
        """The variances and their upper limits."""
        return NoiseEstimate.of(self.components)

    def component(self, name: str) -> VarianceComponent:
        """Return the component of a level."""
        return next(one for one in self.components if one.name == name)

    @property
    def hosts_include_sessions(self) -> bool:
        """Whether the variation between sessions is part of that between hosts, as each host has one session."""
        return self.component(RUN).variance is None and self.component(HOST).variance is not None


def pilot_of(groups: Sequence[Sequence[RunRecord]], query: PilotQuery, margins: Margins) -> Pilot:
    """Return the pilot of some groups of runs, each of which may have a mean of its own.

    Runs of a group whose step has other parameters count as a group of their own. Raises CompareError if no valid trial
    has the metric, if a value is not above zero, if no session has two trials, or if all trials are identical; and if
    a run counts twice or is a duet.
    """
    refuse_unusable(groups)
    sides = [side for group in groups for side in _of_same_step(Side(group), query.step)]
    if not sides:
        steps = dict.fromkeys(step.name for group in groups for step in Side(group).steps)
        raise CompareError(f"These runs have no step “{query.step[:60]}”.", f"Name one of: {', '.join(steps)}.")
    excluded = tuple(_invalid_text(cell) for cell in sides if cell.invalid)
    cells = [cell for cell in sides if not cell.invalid]
    if not cells:
        raise CompareError("Every result of these runs is invalid.", "Select runs with a valid result.")
    metric, labels = _chosen(cells[0], query)
    components, constant = _components(cells, metric, labels)
    first = cells[0].side.runs[0].plan
    margin = margins.of(metric, [run.plan.repetition for cell in cells for run in cell.side.runs])
    tested = _tested(cells[0], metric)
    return Pilot(
        metric, labels, cells[0].cell.step, first, components, effort_of(cells), margin, tested, excluded + constant
    )


def refuse_unusable(groups: Sequence[Sequence[RunRecord]]) -> None:
    """Raise CompareError for a run that is there twice, and for a duet: no metric of theirs has a sample size."""
    sides = [Side(group) for group in groups]
    refuse_repeated(sides)
    refuse_duets(sides)


@dataclass(frozen=True, slots=True)
class _Cell:
    """The step of a side on all of its hosts."""

    side: Side
    cell: StepHosts

    @property
    def invalid(self) -> bool:
        verdict = self.side.verdict(self.cell)
        return verdict is not None and verdict.trust is Trust.INVALID

    @property
    def trials(self) -> list[Counted]:
        return self.side.trials(self.cell)

    @property
    def figures(self) -> dict[Key, MetricSummary]:
        return self.side.figures(self.cell)


def _of_same_step(side: Side, name: str) -> Iterator[_Cell]:
    """Yield the step of a side in each of its versions, with the runs of that version."""
    step = next((step for step in side.steps if not name or step.name == name), None)
    if step is None:
        return
    versions: dict[str, list[RunRecord]] = {}
    for run, own in side.steps_by_run(step):
        versions.setdefault(own.fingerprint(), []).append(run)
    for runs in versions.values():
        part = Side(runs)
        own = next((each for each in part.steps if each.name == step.name), part.steps[0])
        yield _Cell(part, StepHosts(own, part.hosts))


def _components(
    cells: Sequence[_Cell], metric: Metric, labels: Labels
) -> tuple[tuple[VarianceComponent, ...], tuple[str, ...]]:
    """Return the components of a metric, and the hosts of groups whose trials are all identical, which are left out.

    Identical trials are a reading too coarse for their noise, not a host without noise: of a session of these only the
    mean counts.
    """
    key = metric.name, labels
    found = [(cell, figures[key]) for cell in cells if key in (figures := cell.figures)]
    if min(min(one.values) for _, one in found) <= 0:
        raise CompareError(f"{metric.title} is not above zero in every trial.", "Choose another metric.")
    groups, constant = [], []
    for cell, one in found:
        hosts = list(zip(one.by_host(), one.nested, strict=True))
        coarse = [host for host, runs in hosts if _is_constant([value for run in runs for value in run])]
        varied = [runs for host, runs in hosts if host not in coarse]
        groups.append([[run[:1] if _is_constant(run) else run for run in runs] for runs in varied])
        constant += [_constant_text(cell, one, host) for host in coarse]
    if not any(groups):
        raise CompareError(
            f"All trials have the same {metric.title}: its noise is not known.", "Choose another metric."
        )
    components = components_of(groups)
    if components[0].variance is None:
        raise CompareError(
            "No session has two different trials: the variation between trials is not known.",
            "Repeat a run with 6 trials, or choose another metric.",
        )
    return components, tuple(constant)


def _is_constant(values: Sequence[float]) -> bool:
    return len(values) > 1 and len(set(values)) == 1


def _constant_text(cell: _Cell, summary: MetricSummary, host: str) -> str:
    runs = ",".join(run for on, run in summary.session_means if on == host)
    return f"{runs}: {cell.cell.step.name} on {host_label(host)} does not count, all of its trials are identical"


def _invalid_text(cell: _Cell) -> str:
    return f"{cell.side.summary.id}: {cell.cell.step.name} does not count, its verdict is invalid"


def _tested(cell: _Cell, metric: Metric) -> int:
    """Return how many metrics compare() tests by default, and this one."""
    figures = cell.figures
    tested = headline_metrics(cell.cell.step, [one.metric for one in figures.values()]) | {metric.name}
    return sum(name in tested for name, _ in figures)


def _chosen(cell: _Cell, query: PilotQuery) -> tuple[Metric, Labels]:
    """Return the metric of the query, with its first labels unless they are given."""
    figures = cell.figures
    if not figures:
        raise CompareError("These runs have no counted trial.", "Select runs with results.")
    metrics = [summary.metric for summary in figures.values()]
    headline = headline_metrics(cell.cell.step, metrics)
    heads = [metric for metric in metrics if metric.name in headline]
    name = query.metric or min(heads, key=lambda metric: metric.percentile is not None).name
    labels = [own for found, own in figures if found == name]
    if not labels:
        known = ", ".join(dict.fromkeys(metric.name for metric in metrics))
        raise CompareError(f"No metric {name[:60]} in these runs.", f"Name one of: {known}.")
    if query.labels is not None and query.labels not in labels:
        known = "; ".join(label_text(one) for one in labels)
        raise CompareError(f"{name} has no label {label_text(query.labels)[:60]}.", f"Its labels: {known}.")
    chosen = labels[0] if query.labels is None else query.labels
    return figures[name, chosen].metric, chosen


def effort_of(cells: Sequence[_Cell]) -> Effort:
    """Return the median seconds of a trial, pause included, and of a session without its counted trials.

    The latter are the start and the end of a run, and its warm-up trials.
    """
    trials = [seconds for cell in cells for one in cell.trials if (seconds := _taken(one)) is not None]
    trial = statistics.median(trials) if trials else 0.0
    runs = {run.summary.id: run for cell in cells for run in cell.side.runs}.values()
    setups = [seconds for run in runs if (seconds := _setup(run)) is not None]
    given = cells[0].side.runs[0].plan.repetition
    warm_ups = given.warm_ups * trial
    every = given.every if given.sessions > 1 else DAY
    return Effort(trial, (statistics.median(setups) if setups else 0.0) + warm_ups, every)


def _taken(one: Counted) -> float | None:
    """Return the seconds of a trial from its set-up to its end, and of the pause after it."""
    seconds = _seconds(one.record.trial.started, one.record.ended)
    return None if seconds is None else seconds + one.run.plan.repetition.pause


def _setup(run: RunRecord) -> float | None:
    """Return the seconds of a run before its first trial and after its last."""
    ended = [one.ended for one in run.trials if one.ended]
    started = [one.trial.started for one in run.trials]
    if not started or not ended:
        return None
    before, after = _seconds(run.summary.started, min(started)), _seconds(max(ended), run.summary.ended)
    return None if before is None or after is None else before + after


def _seconds(start: str, end: str | None) -> float | None:
    if end is None:
        return None
    return max(0.0, (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds())


def missing_hosts_text(plan: Plan, design: SampleDesign) -> str:
    """Return how many hosts a plan lacks for a design; empty if none."""
    missing = design.hosts - len(plan.hosts)
    need = f"the design has {design.hosts} on each side"
    return f"Add {count_text(missing, 'host')} to the plan: {need}." if missing > 0 else ""


def plan_of(pilot: Pilot, design: SampleDesign, every: float) -> Plan:
    """Return the plan of the pilot's step with the repetition of a design, on at most as many of its hosts.

    Raises PlanError, for sessions too close to each other.
    """
    plan, sessions = pilot.plan, design.sessions
    step = replace(pilot.step, values=pilot.step.whole_values())  # that of an older plan may lack some
    repetition = replace(
        plan.repetition,
        policy=Policy.FIXED,
        trials=design.trials,
        sessions=sessions,
        every=every if sessions > 1 else DAY,
    )
    changed = replace(
        plan,
        hosts=plan.hosts[: design.hosts],
        steps=(step,),
        repetition=repetition,
        goals=tuple(goal for goal in plan.goals if goal.step == step.name),
        acknowledged=tuple(one for one in plan.acknowledged if one.step in {None, step.name}),
        changed=tuple(one for one in plan.changed if one.step == step.name),
    )
    return validate(changed, usable_goals=False)
