"""What the suites of tools that are only read have in common: repeated runs, and the checks of these."""

import statistics
from collections.abc import Mapping, Sequence

from suites.base import Command, Context, Estimate, StepCheck, StepEvidence, Suite
from suites.checks import Check, CheckOutcome
from suites.outputs import ParsedTrial, ToolOutput
from suites.parameters import Parameter, Type, Value, Values
from suites.units import Unit
from suites.vocab import Better, Figure, Labels, Metric, MetricKind, Severity

MOST_FIGURES = 5000
"""Figures of one output that are read."""

MOST_RUNS = 1_000_000
"""Runs of one benchmark that are read."""

SPREAD_PERCENT = 10.0
"""Standard deviation in per cent of the mean from which pyperf calls a benchmark unstable (pyperf check)."""

ENOUGH_RUNS = 6


class ReadOnlySuite(Suite):
    """Base class of the suites of tools that are never run: their parameters are what an output states."""

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return no command: the tool is not run."""
        return ()

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return that nothing runs."""
        return Estimate(duration=None)


RUNS = Parameter(
    name="runs",
    title="Runs",
    type=Type.INTEGER,
    default=0,
    help="Measured runs of the benchmark; 0 if the output does not state it.",
    minimum=0,
    maximum=MOST_RUNS,
)
SPREAD = Parameter(
    name="spread",
    title="Standard deviation",
    type=Type.NUMBER,
    default=0.0,
    help="Standard deviation of the runs in per cent of their mean.",
    unit="%",
    minimum=0,
    maximum=1e9,
)


def _few_runs(evidence: StepEvidence) -> CheckOutcome | None:
    runs = int(evidence.values["runs"])
    if not 0 < runs < ENOUGH_RUNS:
        return None
    return CheckOutcome(f"Runs: {runs}.", severity=Severity.WARNING if runs == 1 else Severity.INFO)


def _unsteady(evidence: StepEvidence) -> CheckOutcome | None:
    spread = float(evidence.values["spread"])
    return CheckOutcome(f"{spread:.3g} % of the mean.") if spread > SPREAD_PERCENT else None


RUN_CHECKS: tuple[StepCheck, ...] = (
    Check(
        id="few-runs",
        title="Few runs",
        why="One run shows no variation: a difference to another one may be noise.",
        remedy=f"Repeat it {ENOUGH_RUNS} times or more.",
        source="Georges, Buytaert, Eeckhout: Statistically Rigorous Java Performance Evaluation (2007).",
        evaluate=_few_runs,
        needs="The number of runs.",
    ),
    Check(
        id="runs-vary",
        title="Runs vary widely",
        why="The mean depends on a few slow runs, and another series gives another one.",
        remedy="Find the cause (background load, CPU clock, caches) and repeat it; compare medians.",
        source="pyperf, pyperf check: a standard deviation above 10 % of the mean.",
        evaluate=_unsteady,
        needs="The times of the runs.",
    ),
)


def spread_of(values: Sequence[float]) -> float:
    """Return the standard deviation of `values` in per cent of their mean; 0 for fewer than two."""
    mean = statistics.fmean(values) if values else 0.0
    return 100 * statistics.stdev(values) / abs(mean) if len(values) > 1 and mean else 0.0


def time_metric(name: str, title: str, percentile: float | None = None, unit: Unit = Unit.SECOND) -> Metric:
    """Return a metric of times, of which less is better."""
    return Metric(name, title, unit, Better.LOWER, MetricKind.TIME, percentile)


MEAN = time_metric("time_mean", "Mean time")
MEDIAN = time_metric("time_median", "Median time", 50)
SHORTEST = time_metric("time_min", "Shortest time", 0)
LONGEST = time_metric("time_max", "Longest time", 100)
DEVIATION = time_metric("time_deviation", "Standard deviation of the time")
TIMES = (MEAN, MEDIAN, SHORTEST, LONGEST, DEVIATION)


def times_figures(values: Sequence[float], at: Labels = ()) -> tuple[Figure, ...]:
    """Return the figures of the times of runs, in seconds; none without times."""
    if not values:
        return ()
    found = (statistics.fmean(values), statistics.median(values), min(values), max(values))
    spread = (Figure(DEVIATION, statistics.stdev(values), at),) if len(values) > 1 else ()
    return (*(Figure(metric, value, at) for metric, value in zip(TIMES, found, strict=False)), *spread)


def is_number(value: object) -> bool:
    """Return whether a value of a document is a number that is not negative."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def numbers_in(found: object) -> list[float]:
    """Return the numbers of a list, without those missing."""
    return [float(one) for one in found[:MOST_RUNS] if is_number(one)] if isinstance(found, list) else []


def name_of(value: object) -> str:
    """Return a text of a document as one printable line."""
    return "".join(filter(str.isprintable, str(value)))[:100]


def tool_output(
    suite_id: str,
    figures: Sequence[Figure],
    stated: Mapping[str, Value],
    *,
    name: str = "",
    problems: Sequence[str] = (),
    version: str | None = None,
) -> ToolOutput:
    """Return one result of an output."""
    parsed = ParsedTrial(tuple(figures), (), tuple(problems), complete=not problems, tool_version=version)
    return ToolOutput(suite_id, parsed, stated, name=name)
