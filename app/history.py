"""History: a metric of hosts over all comparable runs, its change points, and the differences at each."""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.change_points import LevelChange, LevelChanges, change_points
from app.comparison.comparability import Difference, Profile, Weight, differences
from app.comparison.estimates import FEWEST_HOSTS, geometric_mean_of, median_of
from app.json_converter import Json, publish, published
from app.plans.plan import Plan, Step, host_label
from app.records import HistoryRow
from app.verdict.stored import computed_trust
from suites.errors import BenchwrightError, UnitError
from suites.facts import Facts
from suites.quantities import count_text, metric_text, share_text
from suites.units import convert
from suites.verdict import Trust, worst
from suites.vocab import Labels, Metric

if TYPE_CHECKING:
    from app.store import Store

MOST_COMPUTED = 100
"""Newest runs without a stored verdict whose verdict a history computes, each in some 30 ms; it leaves out the rest."""

FALSE_ALARMS = (
    "false alarms in series of 60 results without a change: 2 % if independent, up to 16 % at an autocorrelation of "
    "0.3, up to 24 % at 0.6 (simulated for this project)"
)


class HistoryError(BenchwrightError):
    """No result matches the query."""


@dataclass(frozen=True, slots=True)
class HistoryPoint:
    """One run: the median of its trials, or over several hosts the geometric mean of their medians.

    `n` counts these. `low` and `high` are the 95 % interval of that value (app.comparison.estimates), the range of
    the trials or hosts if there are too few for an interval, and None for a single trial.
    """

    run: str
    started: str
    value: float
    n: int
    low: float | None = None
    high: float | None = None
    interval: bool = False
    hosts: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    trust: Trust | None = None  # the lowest of its hosts; invalid results are excluded


@dataclass(frozen=True, slots=True)
class AnnotatedChange:
    """A change of the level, the runs before and after, and their differences."""

    change: LevelChange
    before: HistoryPoint
    after: HistoryPoint
    differences: tuple[Difference, ...]

    @property
    def text(self) -> str:
        """The change and its differences in a line."""
        way = "rose" if self.change.ratio > 1 else "fell"
        found = ", ".join(each.text for each in self.differences) or "no known difference of the host"
        return f"{way} by {share_text(abs(self.change.ratio - 1))}: {found}"


@dataclass(frozen=True, slots=True)
class History:
    """The points in order of time. `left_out` has the excluded runs with reasons."""

    hosts: tuple[str, ...]
    step: Step
    metric: Metric
    labels: Labels
    points: tuple[HistoryPoint, ...]
    found: LevelChanges
    marked: tuple[AnnotatedChange, ...]
    left_out: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The metric and the hosts in a line."""
        return f"{metric_text(self.metric, self.labels)}, {self.step.name} on {', '.join(map(host_label, self.hosts))}"


@dataclass(frozen=True, slots=True)
class HistoryQuery:
    """The selection of a history; empty fields take the value of the newest run."""

    hosts: tuple[str, ...]
    metric: str
    step: str = ""
    labels: Labels | None = None


FactsOf = Callable[[str, Sequence[str]], tuple[Facts, ...]]


def read_history(store: "Store", wanted: HistoryQuery) -> History:
    """Return the history of a metric of hosts. Raises HistoryError if no result matches."""
    with store.history(wanted.hosts, wanted.metric) as (rows, plans, facts_of):
        unjudged = list(dict.fromkeys(row.run for row in reversed(rows) if not row.trust))
        trusts = computed_trust(store, unjudged[:MOST_COMPUTED])
        judged = [row._replace(trust=row.trust or trusts.get((row.run, row.step, row.host), "")) for row in rows]
        return history_of(wanted, judged, plans, facts_of, frozenset(unjudged[MOST_COMPUTED:]))


def history_of(
    wanted: HistoryQuery,
    rows: Sequence[HistoryRow],
    plans: Mapping[str, Plan],
    facts_of: FactsOf,
    unjudged: frozenset[str] = frozenset(),
) -> History:
    """Return the history in `rows`, which are of one metric name and in order of time, without the runs `unjudged`.

    Invalid results are excluded and named. The newest run is the reference: runs with another suite or other identity
    parameters are excluded and counted.
    Other tool versions are included; a version change at a change point is among its differences.
    """
    fitting = _fitting(wanted, rows)
    older = len({row.run for row in fitting} & unjudged)
    fitting = [row for row in fitting if row.run not in unjudged]
    invalid = dict.fromkeys(
        f"{row.run} ({row.step} on {host_label(row.host)})" for row in fitting if row.trust == Trust.INVALID
    )
    counted = [row for row in fitting if row.trust != Trust.INVALID] or fitting
    # The first row of the newest run: the headline metric comes first.
    newest = next(row for row in counted if row.run == counted[-1].run)
    step = _step(plans, newest)
    obstacles: dict[tuple[str, str], str] = {}
    by_run: dict[str, list[HistoryRow]] = {}
    reasons: dict[str, set[str]] = {}
    for row in fitting:
        if row.labels != newest.labels or row.trust == Trust.INVALID:
            continue
        key = (row.plan, row.step)
        if key not in obstacles:
            obstacles[key] = _obstacle(_step(plans, row), step)
        one = _in_unit(row, newest.metric)
        if obstacles[key] or one is None:
            reasons.setdefault(obstacles[key] or f"unit {row.metric.unit.value}", set()).add(row.run)
        else:
            by_run.setdefault(row.run, []).append(one)
    points = tuple(_points(by_run))
    left_out = [f"invalid: {', '.join(invalid)}"] if invalid else []
    left_out += [f"{count_text(older, 'older run')} without a verdict"] if older else []
    left_out += [f"{count_text(len(runs), 'run')} of {reason}" for reason, runs in reasons.items()]
    metric, labels = newest.metric, newest.labels
    if not points or any(point.value <= 0 for point in points):
        left_out += ["no change points: a value is not above zero"] if points else []
        return History(wanted.hosts, step, metric, labels, points, LevelChanges(()), (), tuple(left_out))
    found = change_points([point.value for point in points])
    marked = tuple(_marked(change, points, step, facts_of) for change in found.changes)
    return History(wanted.hosts, step, metric, labels, points, found, marked, tuple(left_out))


def _fitting(wanted: HistoryQuery, rows: Sequence[HistoryRow]) -> list[HistoryRow]:
    """Return the rows of the wanted step and labels. Raises HistoryError if there are none."""
    fitting = [row for row in rows if wanted.step in {"", row.step} and wanted.labels in {None, row.labels}]
    if not fitting:
        raise HistoryError(
            f"There is no metric “{wanted.metric[:60]}” of {', '.join(wanted.hosts)[:120]}.",
            "“benchwright show RUN --json” lists the metrics; --step and --label select one.",
        )
    return fitting


def _step(plans: Mapping[str, Plan], row: HistoryRow) -> Step:
    return plans[row.plan].step(row.step)


def _in_unit(row: HistoryRow, metric: Metric) -> HistoryRow | None:
    """Return a row converted to the unit of `metric`; None if the units cannot be converted."""
    if row.metric.unit is metric.unit:
        return row
    try:
        return row._replace(value=convert(row.value, row.metric.unit, metric.unit), metric=metric)
    except UnitError:
        return None


def _obstacle(step: Step, reference: Step) -> str:
    """Return why a step is not comparable with the reference, or an empty string."""
    if step.fingerprint() == reference.fingerprint():
        return ""
    found = differences(Profile((step,), ()), Profile((reference,), ()))
    return "; ".join(each.text for each in found if each.weight is Weight.FATAL) or "other parameters"


def _points(by_run: Mapping[str, Sequence[HistoryRow]]) -> Iterator[HistoryPoint]:
    for run, rows in by_run.items():
        hosts: dict[str, list[float]] = {}
        for row in rows:
            hosts.setdefault(row.host, []).append(row.value)
        values = [row.value for row in rows] if len(hosts) == 1 else [statistics.median(own) for own in hosts.values()]
        versions = tuple(sorted({row.version for row in rows if row.version is not None}))
        low, high, interval = _reach(values, several=len(hosts) > 1)
        value = statistics.median(values)
        if len(hosts) > 1 and min(values) > 0:
            value = statistics.geometric_mean(values)
        levels = tuple(Trust(row.trust) for row in rows if row.trust in set(Trust))
        trust = worst(levels) if levels else None
        yield HistoryPoint(run, rows[0].started, value, len(values), low, high, interval, tuple(hosts), versions, trust)


def _reach(values: Sequence[float], *, several: bool) -> tuple[float | None, float | None, bool]:
    """Return low, high and whether they are an interval, else the range; `several`: the values are of hosts."""
    if len(values) < 2:
        return None, None, False
    enough = len(values) >= FEWEST_HOSTS and min(values) > 0
    found = median_of(values) if not several else geometric_mean_of(values) if enough else None
    if found is not None and found.low is not None and found.high is not None:
        return found.low, found.high, True
    return min(values), max(values), False


def _marked(change: LevelChange, points: Sequence[HistoryPoint], step: Step, facts_of: FactsOf) -> AnnotatedChange:
    before, after = points[change.index - 1], points[change.index]
    profiles = [
        Profile((step,), point.hosts, frozenset(point.versions), facts_of(point.run, point.hosts))
        for point in (after, before)
    ]
    found = differences(profiles[0], profiles[1])
    # Without values on both sides: an unknown version, which is not a change.
    changed = tuple(each for each in found if each.weight is not Weight.HARMLESS and (each.ours or each.baseline))
    return AnnotatedChange(change, before, after, changed)


FORMAT = "benchwright-history/1"

publish(HistoryPoint, "run started value n low high interval hosts tool_versions=versions trust")
publish(
    AnnotatedChange,
    "run=after.run before=before.run started=after.started ratio=change.ratio level_before=change.before "
    "level_after=change.after p=change.p text differences",
)
publish(
    History,
    "hosts step=step.name suite=step.suite_id metric=metric.name unit=metric.unit better=metric.better labels points "
    "changes=marked claimed=found.claimed correlation=found.autocorrelation left_out",
)


def history_to_json(history: History) -> Json:
    """Return the public JSON of a history."""
    found = {"format": FORMAT, **published(history), "false_alarms": FALSE_ALARMS}
    for each in (difference for change in found["changes"] for difference in change["differences"]):
        each["before"] = each.pop("baseline")
    return found


SHOWN = 40
"""Most runs in the terminal's table; --json has all."""


def notes_of(found: History) -> list[str]:
    """Return the notes on a history: exclusions, autocorrelation, false-alarm rates."""
    notes = [f"Excluded: {reason}." for reason in found.left_out]
    if unjudged := sum(point.trust is None for point in found.points):
        notes.append(f"Counted without a verdict: {count_text(unjudged, 'result')}.")
    if not found.found.claimed:
        notes.append(
            f"Results are autocorrelated ({found.found.autocorrelation:.2f}): the change points are no evidence."
        )
    return [*notes, f"A change point needs p < 0.001, a change of 5 % and four runs on each side; {FALSE_ALARMS}."]
