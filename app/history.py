"""History: a metric of hosts over all comparable runs, its steps and drifts, and what differs at each step."""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, TypedDict

from app.centres import Centre, centre_over
from app.change_points import FEWEST_RESULTS, MOST_RESULTS, Drift, LevelChange, LevelChanges, change_points
from app.comparison.comparability import Difference, Profile, Weight, differences
from app.comparison.estimates import FEWEST_HOSTS, FEWEST_TRIALS, Ratio, margin_edges
from app.comparison.sentences import amount_text, change_text, interval_text
from app.json_converter import Json, publish, published
from app.margins import DEFAULT_MARGIN, DEFAULTS, Margins
from app.plans.duet import halves_of_trials
from app.plans.plan import ELSEWHERE, Plan, Step, host_label
from app.records import HistoryRow, start_text
from app.verdict.stored import computed_trust
from suites.errors import BenchwrightError, UnitError
from suites.facts import Facts
from suites.quantities import count_text, exact_share_text, figure_text, listed, metric_text
from suites.units import convert
from suites.verdict import Trust, worst
from suites.vocab import Labels, Metric

if TYPE_CHECKING:
    from app.store.store import Store

MOST_COMPUTED = 100
"""Newest runs without a stored verdict whose verdict a history computes, each in some 30 ms; it leaves out the rest."""

FALSE_ALARMS = (
    "false changes in histories of 20 to 200 runs without a change: in 1 % if independent, at most 5 % at an "
    "autocorrelation of 0.3, up to 20 % at 0.6 (simulated for this project)"
)


class HistoryError(BenchwrightError):
    """No result matches the query."""


@dataclass(frozen=True, slots=True)
class HistoryPoint:
    """One run: the geometric mean of its trials, or over several hosts that of their geometric means.

    A value that is not above zero gives the arithmetic mean. `n` counts the trials or hosts. `low` and `high` are
    Student's 95 % interval on the logarithms, the range if there are too few for an interval, and None for a single
    trial.
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
    undated: bool = False  # `started` is the time of its import: its output does not state when it was measured

    def start_text(self, moment: str) -> str:
        """Return the start as `moment` is written; that of an import is marked."""
        return start_text(moment, undated=self.undated)

    @property
    def utc_text(self) -> str:
        """The start in UTC to the minute: ``2026-11-27 14:05``."""
        return self.start_text(self.started[:16].replace("T", " "))


@dataclass(frozen=True, slots=True)
class AnnotatedChange:
    """A step of the level, the runs before and after, and their differences.

    `first` and `last` are the 95 % interval of the run `after`. `within` says that the step is within the margin.
    """

    change: LevelChange
    before: HistoryPoint
    after: HistoryPoint
    differences: tuple[Difference, ...]
    first: HistoryPoint
    last: HistoryPoint
    within: bool

    @property
    def ratio(self) -> Ratio:
        """The level after by the level before, with its 95 % interval."""
        return Ratio(self.change.ratio, self.change.low, self.change.high)

    @property
    def cause(self) -> str:
        """The differences in a line."""
        return ", ".join(each.text for each in self.differences) or "no known difference of the host"

    @property
    def text(self) -> str:
        """The step, what qualifies it, and the differences in a line."""
        return f"{', '.join([change_text(self.ratio), *self.qualifiers])}: {self.cause}"

    @property
    def qualifiers(self) -> list[str]:
        """Whether the step is within the margin, and whether its outliers make it not significant."""
        unsure = [] if self.change.significant else ["not significant with its outliers"]
        return ["within the margin", *unsure] if self.within else unsure


@dataclass(frozen=True, slots=True)
class AnnotatedDrift:
    """A drift from the run `first` to the run `last`; `within` says that it is within the margin in total."""

    drift: Drift
    first: HistoryPoint
    last: HistoryPoint
    within: bool

    @property
    def text(self) -> str:
        """The drift by run and in total in a line."""
        rate = Ratio(1 + self.drift.rate, 1 + self.drift.low, 1 + self.drift.high)
        total = change_text(Ratio(self.drift.ratio))
        runs = count_text(self.drift.end - self.drift.start, "run")
        return f"{change_text(rate)} per run, {total} over {runs}{', within the margin' if self.within else ''}"


@dataclass(frozen=True, slots=True)
class History:
    """The points in order of time, and the steps and drifts. `left_out` has the excluded runs with reasons.

    `outliers` are the runs that were winsorised in the search; levels, ratios and intervals include them.
    """

    hosts: tuple[str, ...]
    step: Step
    metric: Metric
    labels: Labels
    points: tuple[HistoryPoint, ...]
    margin: float = DEFAULT_MARGIN
    found: LevelChanges = LevelChanges()
    marked: tuple[AnnotatedChange, ...] = ()
    drifts: tuple[AnnotatedDrift, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def outliers(self) -> tuple[str, ...]:
        """The runs that were treated as outliers in the search for changes."""
        return tuple(self.points[index].run for index in self.found.outliers)

    @property
    def title(self) -> str:
        """The metric and the hosts in a line."""
        return f"{metric_text(self.metric, self.labels)}, {self.step.name} on {', '.join(map(host_label, self.hosts))}"


@dataclass(frozen=True, slots=True)
class HistoryQuery:
    """The selection of a history; empty fields take the value of the newest run.

    Several `hosts` are a group: runs without a result of one of them are excluded.
    `margins` are those up to which steps and drifts are marked as within the margin.
    """

    hosts: tuple[str, ...]
    metric: str
    step: str = ""
    labels: Labels | None = None
    margins: Margins = DEFAULTS


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

    Invalid results are excluded and named. The newest run with all hosts is the reference: runs with another suite
    or other identity parameters are excluded and counted.
    Other tool versions are included; a version change at a change point is among its differences.
    """
    fitting = _fitting(wanted, rows)
    older = len({row.run for row in fitting} & unjudged)
    fitting = [row for row in fitting if row.run not in unjudged]
    invalid = dict.fromkeys(
        f"{row.run} ({row.step} on {host_label(row.host)})" for row in fitting if row.trust == Trust.INVALID
    )
    counted = [row for row in fitting if row.trust != Trust.INVALID]
    named = {row.run for row in fitting if row.trust == Trust.INVALID}
    newest = _newest(counted or fitting, wanted.hosts)
    by_run, reasons = _by_run([row for row in counted if row.labels == newest.labels], newest, plans)
    by_run, partial = _of_all_hosts(by_run, wanted.hosts, named)
    left_out = [f"invalid: {', '.join(invalid)}"] if invalid else []
    left_out += [f"{count_text(older, 'older run')} without a verdict"] if older else []
    left_out += [
        f"{count_text(len(runs), 'run')} of {reason}" for reason, found in reasons.items() if (runs := found - named)
    ]
    left_out += partial
    points, margin = tuple(_points(by_run, plans)), wanted.margins.of(newest.metric).share
    found = History(wanted.hosts, _step(plans, newest), newest.metric, newest.labels, points, margin)
    if any(point.value <= 0 for point in points):
        left_out.append("no change points: a value is not above zero")
    elif points:
        found = _with_changes(found, facts_of)
    return replace(found, left_out=tuple(left_out))


def _by_run(
    rows: Sequence[HistoryRow], newest: HistoryRow, plans: Mapping[str, Plan]
) -> tuple[dict[str, list[HistoryRow]], dict[str, set[str]]]:
    """Return the comparable rows of each run in the unit of `newest`, and the other runs by why they are not."""
    obstacles: dict[tuple[str, str], str] = {}
    by_run: dict[str, list[HistoryRow]] = {}
    reasons: dict[str, set[str]] = {}
    for row in rows:
        key = (row.plan, row.step)
        if key not in obstacles:
            obstacles[key] = _obstacle(_step(plans, row), _step(plans, newest))
        one = _in_unit(row, newest.metric)
        if obstacles[key] or one is None:
            reasons.setdefault(obstacles[key] or f"unit {row.metric.unit.value}", set()).add(row.run)
        else:
            by_run.setdefault(row.run, []).append(one)
    return by_run, reasons


def _of_all_hosts(
    by_run: Mapping[str, list[HistoryRow]], hosts: Sequence[str], invalid: Collection[str]
) -> tuple[dict[str, list[HistoryRow]], list[str]]:
    """Return the runs with results of all `hosts`, and why the others are excluded; `invalid` runs are named before.

    The mean of a part of the hosts has another level: hosts that alternate would hide a step of one of them.
    """
    without: dict[tuple[str, ...], set[str]] = {}
    for run, rows in by_run.items():
        if absent := tuple(host for host in dict.fromkeys(hosts) if host not in {row.host for row in rows}):
            without.setdefault(absent, set()).add(run)
    partial = set().union(*without.values())
    left_out = [
        f"{count_text(len(runs), 'run')} without a result of {listed([host_label(host) for host in absent], FEW)}"
        for absent, found in without.items()
        if (runs := found.difference(invalid))
    ]
    return {run: rows for run, rows in by_run.items() if run not in partial}, left_out


def _newest(rows: Sequence[HistoryRow], hosts: Sequence[str]) -> HistoryRow:
    """Return the first row, which is the headline metric, of the newest run with all hosts, or else of the newest."""
    on: dict[str, set[str]] = {}
    for row in rows:
        on.setdefault(row.run, set()).add(row.host)
    complete = [run for run, found in on.items() if found.issuperset(hosts)]
    run = complete[-1] if complete else rows[-1].run
    return next(row for row in rows if row.run == run)


def _with_changes(history: History, facts_of: FactsOf) -> History:
    """Return `history` with the steps and drifts of its points."""
    points, margin = history.points, history.margin
    found = change_points([point.value for point in points])
    marked = tuple(_marked(change, points, history.step, facts_of, margin) for change in found.changes)
    drifts = tuple(
        AnnotatedDrift(one, points[one.start], points[one.end - 1], _within(one.ratio, margin)) for one in found.drifts
    )
    return replace(history, found=found, marked=marked, drifts=drifts)


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


def _points(by_run: Mapping[str, Sequence[HistoryRow]], plans: Mapping[str, Plan]) -> Iterator[HistoryPoint]:
    for run, rows in by_run.items():
        by_host: dict[str, list[HistoryRow]] = {}
        for row in rows:
            by_host.setdefault(row.host, []).append(row)
        hosts = {host: _centre(own, plans) for host, own in by_host.items()}
        centre, values, fewest = hosts[rows[0].host], tuple(row.value for row in rows), FEWEST_TRIALS
        if len(hosts) > 1:
            values, fewest = tuple(one.value for one in hosts.values()), FEWEST_HOSTS
            centre = centre_over(values)
        versions = tuple(sorted({row.version for row in rows if row.version is not None}))
        levels = tuple(Trust(row.trust) for row in rows if row.trust in set(Trust))
        trust = worst(levels) if levels else None
        low, high, interval = _reach(values, centre, fewest)
        yield HistoryPoint(
            run,
            rows[0].started,
            centre.value,
            len(values),
            low,
            high,
            interval,
            tuple(hosts),
            versions,
            trust,
            rows[0].undated,
        )


def _centre(rows: Sequence[HistoryRow], plans: Mapping[str, Plan]) -> Centre:
    """Return the mean of the trials of a run on one host."""
    halves = halves_of_trials(plans[rows[0].plan], rows[0].step, (row.number for row in rows))
    return centre_over([row.value for row in rows], halves)


def _reach(values: Sequence[float], centre: Centre, fewest: int) -> tuple[float | None, float | None, bool]:
    """Return low, high and whether they are an interval, else the range; an interval needs `fewest` values."""
    if len(values) < 2:
        return None, None, False
    if len(values) < fewest or centre.low is None:
        return min(values), max(values), False
    return centre.low, centre.high, True


def _within(ratio: float, margin: float) -> bool:
    low, high = margin_edges(margin)
    return low <= math.log(ratio) <= high


def _marked(
    change: LevelChange, points: Sequence[HistoryPoint], step: Step, facts_of: FactsOf, margin: float
) -> AnnotatedChange:
    before, after = points[change.index - 1], points[change.index]
    profiles = [
        Profile((step,), point.hosts, frozenset(point.versions), facts_of(point.run, point.hosts))
        for point in (after, before)
    ]
    found = differences(profiles[0], profiles[1])
    # Without values on both sides: an unknown version, which is not a change.
    changed = tuple(each for each in found if each.weight is not Weight.HARMLESS and (each.ours or each.baseline))
    ends = points[change.first], points[change.last]
    return AnnotatedChange(change, before, after, changed, *ends, _within(change.ratio, margin))


FORMAT = "benchwright-history/2"

publish(HistoryPoint, "run started value n low high interval hosts tool_versions=versions trust undated")
publish(
    AnnotatedChange,
    "run=after.run before=before.run started=after.started earliest=first.run latest=last.run ratio=change.ratio "
    "ratio_low=change.low ratio_high=change.high significant=change.significant level_before=change.before "
    "level_after=change.after within_margin=within text differences",
)
publish(
    AnnotatedDrift,
    "run=first.run last=last.run rate=drift.rate rate_low=drift.low rate_high=drift.high ratio=drift.ratio "
    "within_margin=within text",
)
publish(
    History,
    "hosts step=step.name suite=step.suite_id metric=metric.name unit=metric.unit better=metric.better labels margin "
    "points changes=marked drifts outliers left_out",
)


class HistoryDifference(TypedDict):
    """A difference between the runs before and after a change."""

    what: str
    run: str
    before: str
    weight: Weight


class HistoryChangeKeys(TypedDict):
    """Keys of a change beside those of AnnotatedChange."""

    differences: list[HistoryDifference]


class HistoryKeys(TypedDict):
    """Keys of a history beside those of History."""

    format: Annotated[str, FORMAT]
    changes: list[Annotated[Json, AnnotatedChange, HistoryChangeKeys]]
    false_alarms: str


HistoryJson = Annotated[Json, History, HistoryKeys]


def history_to_json(history: History) -> HistoryJson:
    """Return the public JSON of a history."""
    found = {"format": FORMAT, **published(history), "false_alarms": FALSE_ALARMS}
    for each in (difference for change in found["changes"] for difference in change["differences"]):
        each["before"] = each.pop("baseline")
    return found


FEW = 5
"""Most hosts that a note names."""

SHOWN = 10
"""Newest runs in the terminal's table without --all, and most outliers that the note names."""


def change_columns(found: History) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of the table of steps: when, run, levels, change, what differs."""
    rows = [
        [
            marked.after.utc_text,
            marked.after.run,
            " → ".join(figure_text(found.metric, level) for level in (marked.change.before, marked.change.after)),
            amount_text(marked.ratio, claimed=False),
            interval_text(marked.ratio),
            f"{marked.cause} ({', '.join(marked.qualifiers)})" if marked.qualifiers else marked.cause,
        ]
        for marked in found.marked
    ]
    return ["Since (UTC)", "Run", "Level", "Change", "95 % interval", "What differs"], rows


def summary_of(found: History) -> str:
    """Return the number of steps and drifts, how many are within the margin, and the steps that are not significant."""
    count = len(found.points)
    if not count and len(found.hosts) > 1:
        return "No run has a counted result of all hosts. Show one host at a time."
    if count < 2 * FEWEST_RESULTS:
        return f"Change detection needs {2 * FEWEST_RESULTS} runs; there are {count}."
    claimed = [each for each in found.marked if each.change.significant]
    parts = [count_text(len(claimed), "step")] if claimed else []
    parts += [count_text(len(found.drifts), "drift")] if found.drifts else []
    within = sum(each.within for each in claimed) + sum(each.within for each in found.drifts)
    small = f"; {within} within the margin of {exact_share_text(found.margin)}" if within else ""
    if unsure := len(found.marked) - len(claimed):
        small += f"; {count_text(unsure, 'step')} not significant with the outliers"
    return f"{' and '.join(parts) or 'No change detected'} in {count_text(count, 'run')}{small}."


def notes_of(found: History) -> list[str]:
    """Return the notes on a history: outliers, exclusions, results without a verdict, method and false-alarm rates."""
    notes = [f"Excluded: {reason}." for reason in found.left_out]
    if outliers := found.outliers:
        kind = "outliers" if len(outliers) > 1 else "an outlier"
        named = listed(outliers, SHOWN)
        notes.append(
            f"{count_text(len(outliers), 'run')} treated as {kind}: {named}; levels and intervals include all."
        )
    if undated := sum(point.undated for point in found.points):
        notes.append(f"Ordered by import time: {count_text(undated, 'run')} whose outputs do not state their time.")
    if ELSEWHERE in found.hosts:
        notes.append("No host was given at the import: the results may be of different hosts.")
    if unjudged := sum(point.trust is None for point in found.points):
        notes.append(f"Counted without a verdict: {count_text(unjudged, 'result')}.")
    if len(found.points) > MOST_RESULTS:
        notes.append(f"Changes are searched in the newest {MOST_RESULTS} runs.")
    return [*notes, f"A step needs {FEWEST_RESULTS} runs on each side; {FALSE_ALARMS}."]
