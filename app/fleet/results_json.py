"""The public JSON of the results of fleet studies, and of proposals for the next."""

from typing import Annotated, TypedDict

from app.fleet.changes import FleetChange, FleetChanges, changes_lines
from app.fleet.fleet_json import StudyJson, study_to_json
from app.fleet.lemons import Lemon, LemonKind, TwoPopulations
from app.fleet.levels import TITLES, FleetLevel, FleetLevels
from app.fleet.moments import MomentEffect
from app.fleet.planner import FleetGoal
from app.fleet.proposals import Proposals
from app.fleet.results import FleetResults
from app.fleet.study import FleetMetric
from suites.vocab import Better

RESULTS_FORMAT = "benchwright-fleet-results/1"

PROPOSALS_FORMAT = "benchwright-fleet-propose/1"


class LevelJson(TypedDict):
    """A variance level. CoV and its interval are shares; None where the level was not repeated, for `reason`."""

    level: str
    n: int
    cov: float | None
    low: float | None
    high: float | None
    share: float | None
    reason: str


class MomentJson(TypedDict):
    """A session in which all hosts differ: the ratio to the others, with its 95 % interval.

    `group` is empty, or the group that it is of, if moments differ between groups.
    """

    session: str
    group: str
    ratio: float
    low: float
    high: float
    p: float


class FleetMetricJson(TypedDict):
    """A metric of a step: the trials by group, host and session, its variance by level, shared moments."""

    step: str
    metric: str
    labels: dict[str, str]
    unit: str
    better: Better
    margin: float
    values: dict[str, dict[str, dict[str, list[float]]]]
    levels: list[LevelJson] | None
    moments: list[MomentJson]


class OutlierJson(TypedDict):
    """An instance that differs from the others of its group; a lemon if it is worse. `p` has Holm's correction."""

    host: str
    group: str
    step: str
    metric: str
    labels: dict[str, str]
    kind: LemonKind
    lemon: bool
    ratio: float
    low: float
    high: float
    p: float
    sessions: int
    trials: int
    median: float


class PopulationsJson(TypedDict):
    """A group whose hosts are on two levels."""

    group: str
    step: str
    metric: str
    labels: dict[str, str]
    low: float
    high: float
    low_hosts: list[str]
    high_hosts: list[str]


class FleetChangeJson(TypedDict):
    """The ratio of a group, or of a host of it, to the earlier study; `host` is empty for the group.

    `changed`: a change beyond the margin is shown. `p` has Holm's correction. `reason` is why it was not tested;
    without values to compare the ratio is None.
    """

    group: str
    host: str
    step: str
    metric: str
    labels: dict[str, str]
    ratio: float | None
    low: float | None
    high: float | None
    p: float
    changed: bool
    reason: str


class MovedHostJson(TypedDict):
    """A host that is in another group than in the earlier study."""

    host: str
    group_before: str
    group: str


class FleetChangesJson(TypedDict):
    """What changed since an earlier study, with the lines that say so."""

    since: str
    every: list[FleetChangeJson]
    new_hosts: list[str]
    gone_hosts: list[str]
    moved_hosts: list[MovedHostJson]
    new_lemons: list[str]
    healed_lemons: list[str]
    lines: list[str]


class FleetResultsJson(TypedDict):
    """The results of a study; `changes` are None without an earlier study."""

    format: Annotated[str, RESULTS_FORMAT]
    study: StudyJson
    metrics: list[FleetMetricJson]
    outliers: list[OutlierJson]
    populations: list[PopulationsJson]
    untested: list[str]
    tests: int
    notes: list[str]
    changes: FleetChangesJson | None


class FleetDesignJson(TypedDict):
    """A design of the next study: what it shows as a share, and `cautious` by the upper limits of the variance."""

    instances: int
    sessions: int
    trials: int
    shown: float
    cautious: float | None
    hours: float
    cost: float | None


class ProposalsJson(TypedDict):
    """Designs of the next study for a metric of a step, the cheapest first; `wanted` is a share."""

    format: Annotated[str, PROPOSALS_FORMAT]
    step: str
    metric: str
    goal: FleetGoal
    wanted: float
    designs: list[FleetDesignJson]
    notes: list[str]


def results_to_json(found: FleetResults, since: str = "", changes: FleetChanges | None = None) -> FleetResultsJson:
    """Return the public JSON of the results of a study, with the changes since the study `since`."""
    return {
        "format": RESULTS_FORMAT,
        "study": study_to_json(found.study),
        "metrics": [_metric(one, levels) for one, levels in zip(found.metrics, found.levels, strict=True)],
        "outliers": list(map(_outlier, found.search.outliers)),
        "populations": list(map(_populations, found.search.populations)),
        "untested": list(found.search.untested),
        "tests": found.search.tests,
        "notes": list(found.notes),
        "changes": None if changes is None else _changes(since, changes),
    }


def _changes(since: str, found: FleetChanges) -> FleetChangesJson:
    return {
        "since": since,
        "every": list(map(_change, found.every)),
        "new_hosts": list(found.new_hosts),
        "gone_hosts": list(found.gone_hosts),
        "moved_hosts": [
            {"host": host, "group_before": before, "group": group} for host, before, group in found.moved_hosts
        ],
        "new_lemons": list(dict.fromkeys(one.host for one in found.new_lemons)),
        "healed_lemons": list(dict.fromkeys(one.host for one in found.healed_lemons)),
        "lines": changes_lines(found),
    }


def _change(one: FleetChange) -> FleetChangeJson:
    return {
        "group": one.group,
        "host": one.host,
        "step": one.step,
        "metric": one.metric.name,
        "labels": dict(one.labels),
        "ratio": None if one.ratio.reason else one.ratio.value,
        "low": one.ratio.low,
        "high": one.ratio.high,
        "p": one.p_adjusted,
        "changed": one.changed,
        "reason": one.differs or one.reason,
    }


def _metric(one: FleetMetric, levels: FleetLevels | None) -> FleetMetricJson:
    return {
        "step": one.step,
        "metric": one.metric.name,
        "labels": dict(one.labels),
        "unit": one.metric.unit,
        "better": one.metric.better,
        "margin": one.margin,
        "values": {
            group: {host: {name: list(values) for name, values in own.items()} for host, own in hosts.items()}
            for group, hosts in one.groups.items()
        },
        "levels": None if levels is None else list(map(_level, levels.levels)),
        "moments": [] if levels is None else list(map(_moment, levels.shared_moments)),
    }


def _level(level: FleetLevel) -> LevelJson:
    return {
        "level": TITLES[level.name],
        "n": level.n,
        "cov": level.cov,
        "low": level.low,
        "high": level.high,
        "share": level.share,
        "reason": level.reason,
    }


def _moment(one: MomentEffect) -> MomentJson:
    return {
        "session": one.session,
        "group": one.group,
        "ratio": one.ratio,
        "low": one.low,
        "high": one.high,
        "p": one.p_adjusted,
    }


def _outlier(one: Lemon) -> OutlierJson:
    return {
        "host": one.host,
        "group": one.group,
        "step": one.step,
        "metric": one.metric.name,
        "labels": dict(one.labels),
        "kind": one.kind,
        "lemon": one.is_worse,
        "ratio": one.ratio,
        "low": one.low,
        "high": one.high,
        "p": one.p_adjusted,
        "sessions": one.sessions,
        "trials": one.trials,
        "median": one.median,
    }


def _populations(one: TwoPopulations) -> PopulationsJson:
    return {
        "group": one.group,
        "step": one.step,
        "metric": one.metric.name,
        "labels": dict(one.labels),
        "low": one.low,
        "high": one.high,
        "low_hosts": list(one.low_hosts),
        "high_hosts": list(one.high_hosts),
    }


def proposals_to_json(found: Proposals) -> ProposalsJson:
    """Return the public JSON of proposed designs."""
    return {
        "format": PROPOSALS_FORMAT,
        "step": found.one.step,
        "metric": found.one.metric.name,
        "goal": found.request.goal,
        "wanted": found.request.wanted,
        "designs": [
            {
                "instances": each.design.hosts,
                "sessions": each.design.sessions,
                "trials": each.design.trials,
                "shown": each.shown,
                "cautious": each.cautious,
                "hours": each.hours,
                "cost": each.cost,
            }
            for each in found.designs
        ],
        "notes": found.notes,
    }
