"""A published table of figures as something to compare with: what it says, who says so, and what is doubtful in it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from app.comparing.sides import Side
from app.events import State, Trial
from app.plans.plan import Plan, Repetition, Step, make_step
from app.records import Published, RunRecord, RunSummary, TrialRecord
from suites.base import metrics_of
from suites.errors import BenchwrightError, UnitError
from suites.facts import Absent, CloudFacts, CpuFacts, Facts, SystemFacts
from suites.units import Unit, convert
from suites.vocab import Better, Figure, Kind, Labels, Metric


class ReferenceTableError(BenchwrightError):
    """A reference table cannot be read."""


@dataclass(frozen=True, slots=True)
class ReferenceFigure:
    """One figure of a table. `suite` is empty where the table does not say which test it is of; `low`, `high` and `n`
    are None where it does not say how far the figures spread, and of how many."""

    metric: str
    unit: Unit
    value: float
    labels: Labels = ()
    suite: str = ""
    low: float | None = None
    high: float | None = None
    n: int | None = None
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class Reference:
    """A table. `universe` is what is said of the machine behind it: ``kernel``, ``instance_type``, ``distribution``,
    ``cpu``; `measured` a date, or empty."""

    name: str
    title: str
    figures: tuple[ReferenceFigure, ...]
    source: str = ""
    doubts: tuple[str, ...] = ()
    measured: str = ""
    universe: dict[str, str] = field(default_factory=dict, hash=False)

    def of(self, suite_id: str) -> tuple[ReferenceFigure, ...]:
        """Return the figures that may be of a suite."""
        return tuple(figure for figure in self.figures if figure.suite in {"", suite_id})

    @property
    def suites(self) -> tuple[str, ...]:
        """The suites that the table names."""
        return tuple(dict.fromkeys(figure.suite for figure in self.figures if figure.suite))


UNIVERSE = ("instance_type", "kernel", "distribution", "cpu")
"""What a table may say of the machine behind it."""


def facts_of(reference: Reference) -> Facts:
    """Return what a table says of its machine as facts, so that the gate tells what differs."""
    said = reference.universe
    unsaid = Absent("not published")
    system = SystemFacts(kernel=said.get("kernel", unsaid), distribution=said.get("distribution", unsaid))
    cloud = CloudFacts(instance_type=said.get("instance_type", unsaid))
    cpu = CpuFacts(model=said.get("cpu", unsaid))
    return Facts(host=reference.name, read_at=reference.measured, system=system, cloud=cloud, cpu=cpu)


def as_run(reference: Reference, word: str, like: Sequence[RunRecord]) -> RunRecord:
    """Return a table as a run with one trial of each step that the runs `like` have and that it has figures of.

    Which of its figures answer to which of theirs is told by suite, metric and labels alone. Without such runs each
    suite the table names is a step with the tool's own defaults.
    """
    steps = Side(like).steps if like else tuple(make_step(suite, {}) for suite in reference.suites)
    metrics = _metrics(like)
    trials: list[TrialRecord] = []
    used: list[Step] = []
    for step in steps:
        figures = tuple(_figures(reference, step, metrics))
        if figures:
            used.append(step)
            trials.append(_trial(len(trials) + 1, reference, step, figures))
    plan = Plan(reference.title, (reference.name,), tuple(used), repetition=_repetition(like))
    summary = RunSummary(
        word,
        reference.title,
        "",
        (reference.name,),
        tuple(step.name for step in used),
        State.DONE,
        reference.measured,
        None,
        1,
        baseline=reference.name,
        suites=tuple(dict.fromkeys(step.suite_id for step in used)),
    )
    facts = {reference.name: facts_of(reference)}
    return RunRecord(summary, plan, plan.hash(), "", "", facts, {}, tuple(trials), published=published(reference))


def published(reference: Reference) -> Published:
    """Return where a table comes from and what is doubtful in it."""
    doubts = {(figure.metric, figure.labels): figure.doubt for figure in reference.figures if figure.doubt}
    return Published(reference.source or "not said", reference.doubts, doubts)


def _repetition(like: Sequence[RunRecord]) -> Repetition:
    """Return how the runs repeat: of a table nothing is known, and what is not known differs from nothing."""
    return replace(like[0].plan.repetition, trials=1) if like else Repetition(trials=1)


def _metrics(like: Sequence[RunRecord]) -> dict[tuple[str, str], Metric]:
    """Return the metrics of runs by suite and name."""
    return {
        (step.suite_id, figure.metric.name): figure.metric
        for run in like
        for step in run.plan.steps
        for trial in run.trials_of(step.name)
        for figure in trial.figures
    }


def _figures(reference: Reference, step: Step, metrics: dict[tuple[str, str], Metric]) -> Iterator[Figure]:
    own = {metric.name: metric for metric in step_metrics(step)}
    for figure in reference.of(step.suite_id):
        metric = metrics.get((step.suite_id, figure.metric)) or own.get(figure.metric)
        if metric is None and figure.suite:
            metric = Metric(figure.metric, figure.metric, figure.unit, Better.HIGHER, Kind.RATE)
        if metric is None:
            continue
        try:
            yield Figure(metric, convert(figure.value, figure.unit, metric.unit), figure.labels)
        except UnitError:  # a unit of another kind stays as it is: the comparison says that they differ
            yield Figure(replace(metric, unit=figure.unit), figure.value, figure.labels)


def step_metrics(step: Step) -> Sequence[Metric]:
    """Return the metrics of a step's suite; none where this program no longer has it."""
    try:
        return metrics_of(step.suite, step.values)
    except BenchwrightError:
        return ()


def _trial(number: int, reference: Reference, step: Step, figures: tuple[Figure, ...]) -> TrialRecord:
    trial = Trial(number, reference.name, step.name, 1, False, (), reference.measured, None, None)
    return TrialRecord(trial, State.DONE, None, None, figures)
