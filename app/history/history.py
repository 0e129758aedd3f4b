"""A metric of a host, or of several, over all comparable runs: its points, where its level changed, and beside what."""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from app.comparing.centre import geometric_mean_of, median_of
from app.comparing.gate import Difference, Profile, Weight, differences
from app.comparing.intervals import FEWEST_HOSTS
from app.history.change_points import Change, Found, change_points
from app.plans.plan import Plan, Step, host_words
from app.wording import metric_text, share_text
from suites.errors import BenchwrightError, UnitError
from suites.facts import Facts
from suites.units import convert
from suites.vocab import Labels, Metric

FALSE_ALARMS = (
    "of 60 independent results without any change 2 % have one marked, where neighbours hang together with 0.3 up to "
    "16 %, with 0.6 up to 24 % (simulated for this project)"
)


class HistoryRow(NamedTuple):
    """One figure of a trial that counts."""

    run: str
    started: str
    plan: str  # its hash: equal plans have equal ones
    host: str
    step: str
    version: str | None
    metric: Metric
    labels: Labels
    value: float


class HistoryError(BenchwrightError):
    """There is no such history."""


@dataclass(frozen=True, slots=True)
class Point:
    """One run: the median of its trials, or over several hosts the geometric mean of their medians.

    `n` counts these. `low` and `high` are the 95 % interval of that very value (app.comparing.centre), the range of
    the trials or hosts where these are too few for one, and None for a single trial.
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


@dataclass(frozen=True, slots=True)
class Marked:
    """A change of the level, the runs on both sides of it, and what of their facts differs."""

    change: Change
    before: Point
    after: Point
    differences: tuple[Difference, ...]

    @property
    def text(self) -> str:
        """What changed, in a line."""
        way = "rose" if self.change.ratio > 1 else "fell"
        said = ", ".join(each.text for each in self.differences) or "nothing that is known of the host differs"
        return f"{way} by {share_text(abs(self.change.ratio - 1))}: {said}"


@dataclass(frozen=True, slots=True)
class History:
    """The points in order of time. `left_out` says which runs are not among them, and why."""

    hosts: tuple[str, ...]
    step: Step
    metric: Metric
    labels: Labels
    points: tuple[Point, ...]
    found: Found
    marked: tuple[Marked, ...]
    left_out: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The metric and the hosts in a line."""
        return f"{metric_text(self.metric, self.labels)}, {self.step.name} on {', '.join(map(host_words, self.hosts))}"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which history: empty words mean what the newest run has."""

    hosts: tuple[str, ...]
    metric: str
    step: str = ""
    labels: Labels | None = None


FactsOf = Callable[[str, Sequence[str]], tuple[Facts, ...]]


def history_of(wanted: Wanted, rows: Sequence[HistoryRow], plans: Mapping[str, Plan], facts_of: FactsOf) -> History:
    """Return the history in `rows`, which are of one metric's name and in order of time.

    The newest run says which test it is: runs of another suite or of other parameters that decide what is measured
    are left out, and counted. A new version of the tool stays, and is named where the level changes beside it.
    """
    fitting = [row for row in rows if wanted.step in {"", row.step} and wanted.labels in {None, row.labels}]
    if not fitting:
        raise HistoryError(
            f"There is no figure “{wanted.metric[:60]}” of {', '.join(wanted.hosts)[:120]}.",
            "“benchwright show RUN --json” has the names of metrics; --step and --label choose among them.",
        )
    # Of the newest run the first: a suite's leading figure comes first.
    newest = next(row for row in fitting if row.run == fitting[-1].run)
    step = _step(plans, newest)
    alike: dict[tuple[str, str], str] = {}
    by_run: dict[str, list[HistoryRow]] = {}
    reasons: dict[str, set[str]] = {}
    for row in fitting:
        if row.labels != newest.labels:
            continue
        key = (row.plan, row.step)
        if key not in alike:
            alike[key] = _obstacle(_step(plans, row), step)
        one = _in_unit(row, newest.metric)
        if alike[key] or one is None:
            reasons.setdefault(alike[key] or f"unit {row.metric.unit.value}", set()).add(row.run)
        else:
            by_run.setdefault(row.run, []).append(one)
    points = tuple(_points(by_run))
    left_out = [f"{len(runs)} run{'s' if len(runs) > 1 else ''} of {reason}" for reason, runs in reasons.items()]
    metric, labels = newest.metric, newest.labels
    if any(point.value <= 0 for point in points):
        left_out.append("changes are not looked for: a figure is not above zero")
        return History(wanted.hosts, step, metric, labels, points, Found(()), (), tuple(left_out))
    found = change_points([point.value for point in points])
    marked = tuple(_marked(change, points, step, facts_of) for change in found.changes)
    return History(wanted.hosts, step, metric, labels, points, found, marked, tuple(left_out))


def _step(plans: Mapping[str, Plan], row: HistoryRow) -> Step:
    return plans[row.plan].step(row.step)


def _in_unit(row: HistoryRow, metric: Metric) -> HistoryRow | None:
    """Return a figure in the unit of `metric`; None where it is in one of another kind."""
    if row.metric.unit is metric.unit:
        return row
    try:
        return row._replace(value=convert(row.value, row.metric.unit, metric.unit), metric=metric)
    except UnitError:
        return None


def _obstacle(step: Step, reference: Step) -> str:
    """Return why a step measures something else than the newest, or an empty string."""
    if step.fingerprint() == reference.fingerprint():
        return ""
    found = differences(Profile((step,), ()), Profile((reference,), ()))
    return "; ".join(each.text for each in found if each.weight is Weight.FATAL) or "other parameters"


def _points(by_run: Mapping[str, Sequence[HistoryRow]]) -> Iterator[Point]:
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
        yield Point(run, rows[0].started, value, len(values), low, high, interval, tuple(hosts), versions)


def _reach(values: Sequence[float], *, several: bool) -> tuple[float | None, float | None, bool]:
    """Return the interval of a point, or the range where its values are too few for one; `several` hosts or trials."""
    if len(values) < 2:
        return None, None, False
    enough = len(values) >= FEWEST_HOSTS and min(values) > 0
    found = median_of(values) if not several else geometric_mean_of(values) if enough else None
    if found is not None and found.low is not None and found.high is not None:
        return found.low, found.high, True
    return min(values), max(values), False


def _marked(change: Change, points: Sequence[Point], step: Step, facts_of: FactsOf) -> Marked:
    before, after = points[change.place - 1], points[change.place]
    profiles = [
        Profile((step,), point.hosts, frozenset(point.versions), facts_of(point.run, point.hosts))
        for point in (after, before)
    ]
    found = differences(profiles[0], profiles[1])
    # That a version is not known on both sides is no change.
    told = tuple(each for each in found if each.weight is not Weight.HARMLESS and (each.ours or each.baseline))
    return Marked(change, before, after, told)
