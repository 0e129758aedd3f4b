"""Rows of the comparison table: a heading for each step and host, then each metric with its runs. No Qt."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum

from app.comparison.comparison import Comparison, ComparisonRow, RelativeFigure, run_letter
from app.comparison.criteria import DEFAULT_CRITERIA, ComparisonCriteria
from app.comparison.verdicts import verdict_text
from app.distributions.studies import StudyKind, missing_for
from app.plans.plan import Step, host_label
from app.records import RunRecord
from app.services import Workstation
from app.summary import MetricSummary
from suites.errors import BenchwrightError
from suites.facts import known
from suites.quantities import metric_text
from widgets.jobs import collection_paused
from widgets.parts.names import step_host_label


@dataclass(frozen=True, slots=True, eq=False)  # equality of a thousand records takes seconds
class Compared:
    """A comparison with the record of each run, or group of runs as one, baseline first."""

    comparison: Comparison
    records: tuple[RunRecord, ...]
    missing: Mapping[StudyKind, str] = field(default_factory=dict)
    """What the studies without data need."""

    def step(self, name: str) -> Step | None:
        """Return the step `name` of the first run that has one."""
        return next((step for record in self.records for step in record.plan.steps if step.name == name), None)


def read_runs(
    workstation: Workstation, runs: Sequence[str], criteria: ComparisonCriteria = DEFAULT_CRITERIA
) -> Compared:
    """Read and compare runs or groups of runs, without their samples."""
    with collection_paused():
        comparison, records = workstation.compared(runs, criteria)
        return Compared(comparison, records, missing_for(records))


def remaining(workstation: Workstation, runs: Sequence[str]) -> list[str]:
    """Return those of `runs` that can be read."""
    found = []
    for run in runs:
        with suppress(BenchwrightError):
            workstation.joined_record(run)
            found.append(run)
    return found


class LineKind(Enum):
    """Kind of a line."""

    HEADING = "heading"
    BASELINE = "baseline"
    RUN = "run"


@dataclass(frozen=True, slots=True)
class CompareLine:
    """A heading, or the values of the run `number` in a row; 0 is the baseline.

    `named` is whether its metric has the name of its step and host, which are not in the heading.
    """

    kind: LineKind
    heading: str = ""
    row: ComparisonRow | None = None
    number: int = 0
    named: bool = False

    @property
    def side(self) -> MetricSummary | None:
        """The run's own value, or None."""
        return None if self.row is None else self.row.sides[self.number]

    @property
    def against(self) -> RelativeFigure | None:
        """The result against the baseline; None for the baseline and for a heading."""
        return self.row.against[self.number - 1] if self.row is not None and self.number else None


class Grouping(Enum):
    """What the rows of the table are grouped by."""

    STEP = "step and host"
    HOST = "host"
    TYPE = "instance type"
    METRIC = "metric"


def lines_of(
    compared: Compared, *, everything: bool, grouping: Grouping = Grouping.STEP, by_effect: bool = False
) -> list[CompareLine]:
    """Return the lines of a comparison: all metrics, or only those with a verdict, in groups with a heading.

    With `by_effect`, the groups and rows with the largest ratio, in either direction, come first.
    """
    groups: dict[str, list[ComparisonRow]] = {}
    headings = _headings(compared) if grouping is Grouping.STEP else {}
    for row in compared.comparison.rows:
        if everything or row.tested:
            name = headings[row.step, row.host] if headings else _group_of(compared, row, grouping)
            groups.setdefault(name, []).append(row)
    ordered = {name: sorted(rows, key=_effect if by_effect else _untested) for name, rows in groups.items()}
    names = sorted(ordered, key=lambda name: _effect(ordered[name][0])) if by_effect else list(ordered)
    several = grouping is not Grouping.STEP
    lines: list[CompareLine] = []
    for name in names:
        lines.append(CompareLine(LineKind.HEADING, name))
        for row in ordered[name]:
            lines += _lines_of_row(row, named=several)
    return lines


def _untested(row: ComparisonRow) -> bool:
    return not row.tested


def _effect(row: ComparisonRow) -> float:
    """Return the negative distance of the largest ratio of a row from 1, on a logarithmic scale."""
    ratios = [against.ratio for against in row.against if against.ratio]
    return -max((abs(math.log(ratio)) for ratio in ratios if ratio > 0), default=0.0)


def _headings(compared: Compared) -> dict[tuple[str, str], str]:
    found = _by_step_host(compared.comparison.rows)
    return {(step, host): _heading(step, host, rows) for (step, host), rows in found.items()}


def _group_of(compared: Compared, row: ComparisonRow, grouping: Grouping) -> str:
    if grouping is Grouping.HOST:
        return host_label(row.host)
    if grouping is Grouping.METRIC:
        return metric_text(row.metric, row.labels)
    facts = (record.facts_before.get(row.host) for record in compared.records)
    types = [known(one.cloud.instance_type) for one in facts if one is not None]
    return next((name for name in types if name), "Instance type unknown")


def folded(compared: Compared) -> int:
    """Return the number of metrics that are hidden without `everything`."""
    return sum(not row.tested for row in compared.comparison.rows)


def rows_for_text(compared: Compared) -> Iterator[Sequence[str | float | None]]:
    """Yield the whole comparison for a spreadsheet, header first; values unrounded, units in a column."""
    yield (
        "step", "host", "metric", "unit", "better", "run", "run id", "value", "median", "lowest", "highest", "n",
        "trust", "ratio", "interval low", "interval high", "margin", "verdict", "reason",
    )  # fmt: skip
    comparison = compared.comparison
    for row in comparison.rows:
        for number, side in enumerate(row.sides):
            against = row.against[number - 1] if number else None
            host = row.host if side is None else side.host
            own: tuple[str | float | None, ...] = (None, None, None, None, 0, "")
            if side is not None:
                own = (side.value, side.median, side.minimum, side.maximum, side.n, str(side.trust or ""))
            verdict: tuple[str | float | None, ...] = ("", "", "", "", "baseline", "")
            if against is not None:
                margin = comparison.margin_of(row, against)
                text = verdict_text(against.verdict, margin)
                verdict = (against.ratio, against.low, against.high, margin, text, against.reason)
            metric = (metric_text(row.metric, row.labels), row.metric.unit.value, row.metric.better.value)
            yield (row.step, host, *metric, run_letter(number), comparison.runs[number].id, *own, *verdict)


def _by_step_host(rows: Sequence[ComparisonRow]) -> dict[tuple[str, str], list[ComparisonRow]]:
    found: dict[tuple[str, str], list[ComparisonRow]] = {}
    for row in rows:
        found.setdefault((row.step, row.host), []).append(row)
    return found


def _heading(step: str, host: str, rows: Sequence[ComparisonRow]) -> str:
    """Return step and host of the baseline, and the other hosts that are compared with it."""
    hosts = dict.fromkeys(side.host for row in rows for side in row.sides if side is not None)
    others = [step_host_label(None, other) for other in hosts if other != host]
    paired = any(against.pairs == "hosts" for row in rows for against in row.against)
    against_others = f", against {', '.join(others)}" if others else ""
    return f"{step_host_label(step, host)}{', paired' if paired else ''}{against_others}"


def _lines_of_row(row: ComparisonRow, *, named: bool) -> Iterator[CompareLine]:
    yield CompareLine(LineKind.BASELINE, row=row, named=named)
    for number in range(1, len(row.sides)):
        yield CompareLine(LineKind.RUN, row=row, number=number, named=named)
