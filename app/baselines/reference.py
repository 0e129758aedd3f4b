"""Published tables as a side of a comparison: figures, source and doubts."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from statistics import geometric_mean

from app.comparison.caveats import Caveat
from app.comparison.comparability import Difference
from app.comparison.comparison import RelativeFigure
from app.comparison.estimates import ratio_of
from app.comparison.sides import Side
from app.comparison.verdicts import ComparisonVerdict
from app.events import State, Trial
from app.plans.plan import Plan, Repetition, Step, make_step
from app.records import Published, RunRecord, RunSummary, TrialRecord
from suites.errors import BenchwrightError, UnitError
from suites.facts import Absent, CloudFacts, CpuFacts, Facts, SystemFacts
from suites.parameters import Value
from suites.quantities import decimals
from suites.registry import suite as find_suite
from suites.units import Unit, convert
from suites.vocab import Better, Figure, Labels, Metric, MetricKind


class ReferenceTableError(BenchwrightError):
    """An invalid reference table."""


@dataclass(frozen=True, slots=True)
class ReferenceFigure:
    """One figure of a table. `suite` is empty, and `low`, `high` and `n` are None, if the table does not give them.

    `parameters` are texts of the suite's parameters: the figure is one of steps with these values only.
    """

    metric: str
    unit: Unit
    value: float
    labels: Labels = ()
    suite: str = ""
    low: float | None = None
    high: float | None = None
    n: int | None = None
    doubt: str = ""
    parameters: Labels = ()

    def fits(self, step: Step) -> bool:
        """Return whether the step has the suite and the parameters of the figure."""
        if self.suite not in {"", step.suite_id}:
            return False
        values = step.whole_values() if self.parameters else {}
        return all(values.get(name) == value for name, value in self.values().items())

    def values(self) -> dict[str, Value]:
        """Return `parameters` as the suite's values; raise for an unknown parameter or an invalid value."""
        known = {each.name: each for each in find_suite(self.suite).parameters} if self.parameters else {}
        if unknown := [name for name, _ in self.parameters if name not in known]:
            raise ReferenceTableError(f"{self.suite} has no parameter “{unknown[0]}”.")
        return {name: known[name].parse(text) for name, text in self.parameters}


@dataclass(frozen=True, slots=True)
class Reference:
    """A published table. `universe` describes its machine: ``kernel``, ``instance_type``, ``distribution``, ``cpu``;
    `measured` is a date, or empty."""

    name: str
    title: str
    figures: tuple[ReferenceFigure, ...]
    source: str = ""
    doubts: tuple[str, ...] = ()
    measured: str = ""
    universe: dict[str, str] = field(default_factory=dict, hash=False)

    def of(self, step: Step) -> tuple[ReferenceFigure, ...]:
        """Return the figures of steps such as this one."""
        return tuple(figure for figure in self.figures if figure.fits(step))

    @property
    def steps(self) -> tuple[Step, ...]:
        """A step for each suite with the same parameters; other parameters have the tools' defaults."""
        found = {(figure.suite, figure.parameters): figure.values() for figure in self.figures if figure.suite}
        several = Counter(suite for suite, _ in found)
        return tuple(
            make_step(suite, values, name=suite if several[suite] == 1 else f"{suite} {number}")
            for number, ((suite, _), values) in enumerate(found.items(), 1)
        )


UNIVERSE = ("instance_type", "kernel", "distribution", "cpu")
"""The keys that describe the machine of a table."""


def facts_of(reference: Reference) -> Facts:
    """Return the machine of a table as facts, for comparability."""
    machine = reference.universe
    absent = Absent("not published")
    system = SystemFacts(kernel=machine.get("kernel", absent), distribution=machine.get("distribution", absent))
    cloud = CloudFacts(instance_type=machine.get("instance_type", absent))
    cpu = CpuFacts(model=machine.get("cpu", absent))
    return Facts(host=reference.name, read_at=reference.measured, system=system, cloud=cloud, cpu=cpu)


def as_run(reference: Reference, word: str, like: Sequence[RunRecord]) -> RunRecord:
    """Return a table as a run with one trial of each step of the runs `like` that it has figures for.

    Figures are matched by suite, parameters where the table gives them, metric and labels.
    """
    steps = Side(like).steps if like else reference.steps
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
    """Return the source and the doubts of a table."""
    doubts = {(figure.metric, figure.labels): figure.doubt for figure in reference.figures if figure.doubt}
    return Published(reference.source or "not given", reference.doubts, doubts)


def _repetition(like: Sequence[RunRecord]) -> Repetition:
    """Return the repetition of the runs: that of a table is unknown, so it must not be a difference."""
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
    for figure in reference.of(step):
        metric = metrics.get((step.suite_id, figure.metric)) or own.get(figure.metric)
        if metric is None and figure.suite:
            metric = Metric(figure.metric, figure.metric, figure.unit, Better.HIGHER, MetricKind.RATE)
        if metric is None:
            continue
        try:
            yield Figure(metric, convert(figure.value, figure.unit, metric.unit), figure.labels)
        except UnitError:  # keep it: the comparison reports the different units
            yield Figure(replace(metric, unit=figure.unit), figure.value, figure.labels)


def step_metrics(step: Step) -> Sequence[Metric]:
    """Return the metrics of a step's suite; empty if this version does not have it."""
    try:
        return step.suite.metrics_of(step.whole_values())
    except BenchwrightError:
        return ()


def _trial(number: int, reference: Reference, step: Step, figures: tuple[Figure, ...]) -> TrialRecord:
    trial = Trial(number, reference.name, step.name, 1, False, (), reference.measured, None, None)
    return TrialRecord(trial, State.DONE, None, None, figures)


NO_SPREAD = "reference, no spread known"


def against_published(
    published: Published,
    metric: Metric,
    labels: Labels,
    sides: tuple[Sequence[float], Sequence[float]],
    differences: tuple[Difference, ...],
) -> RelativeFigure:
    """Return the ratio of two sides, one of them a published figure; without an interval there is no verdict.

    `sides` are the values of this side and of the baseline, one of them a single published value.
    """
    caveats = tuple(_caveats(published, metric, labels))
    ratio = ratio_of(*sides)
    if isinstance(ratio, str):
        return RelativeFigure(
            ComparisonVerdict.UNDECIDED, ratio, text=f"{NO_SPREAD}: {ratio}", caveats=caveats, differences=differences
        )
    places = 2 if 0.1 <= ratio.value < 10 else decimals(ratio.value)
    centres = geometric_mean(sides[0]), geometric_mean(sides[1])
    text = f"{NO_SPREAD}: ratio only, {ratio.value:.{places}f}x"
    return RelativeFigure(
        ComparisonVerdict.UNDECIDED,
        "published figures have no variance: no interval",
        ratio.value,
        text=text,
        caveats=caveats,
        differences=differences,
        centres=centres,
    )


def _caveats(published: Published, metric: Metric, labels: Labels) -> Iterator[Caveat]:
    if doubt := published.of.get((metric.name, labels)):
        yield Caveat("doubtful-figure", doubt)
    yield Caveat("reference", f"source: {published.source}")
    for doubt in published.doubts:
        yield Caveat("reference", doubt)
