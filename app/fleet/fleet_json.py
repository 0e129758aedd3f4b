"""The public JSON of fleet studies, their host-runs and their estimate."""

from collections.abc import Iterable
from typing import Annotated, TypedDict

from app.fleet.board import Board, BoardRow
from app.fleet.estimate import FleetEstimate
from app.fleet.lemons import Lemon, LemonKind, TwoPopulations
from app.fleet.levels import TITLES, FleetLevel, FleetLevels
from app.fleet.moments import MomentEffect
from app.fleet.results import FleetResults
from app.fleet.study import FleetMetric
from app.fleet_study import FleetStudy, HostRun, HostRunState
from app.formats import FleetPlanJson, fleet_plan_to_json
from app.host_attributes import HostAttributes
from app.json_converter import Json, published
from suites.vocab import Better, Severity

BOARD_FORMAT = "benchwright-fleet-board/1"

RESULTS_FORMAT = "benchwright-fleet-results/1"


class StudyJson(TypedDict):
    """A study with the number of its host-runs by state. Times are UTC, ISO 8601."""

    id: str
    name: str
    created: str
    ended: str | None
    paused: str | None
    by_workers: bool
    groups: dict[str, int]
    sessions: int
    host_runs: dict[HostRunState, int]


class HostJson(TypedDict):
    """A host of a study."""

    name: str
    group: str
    attributes: HostAttributes


class RowJson(TypedDict):
    """A host of a study, or a pair: its host-runs, and the trials of the board's figure. `off` is a share: 0.05 is 5 %
    above the median of the group."""

    title: str
    group: str
    state: HostRunState
    doing: str
    finding: str
    severity: Severity | None
    value: float | None
    values: list[float]
    off: float | None
    apart: bool
    host_runs: list[HostRun]


class BoardJson(TypedDict):
    """A study with its plan, hosts and board. The values are those of a metric of a step."""

    format: Annotated[str, BOARD_FORMAT]
    study: StudyJson
    plan: FleetPlanJson
    hosts: list[HostJson]
    step: str | None
    metric: str | None
    labels: dict[str, str]
    unit: str | None
    medians: dict[str, float]
    rows: list[RowJson]


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
    """A session in which all hosts differ: the ratio to the others, with its 95 % interval."""

    session: str
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


class FleetResultsJson(TypedDict):
    """The results of a study."""

    format: Annotated[str, RESULTS_FORMAT]
    study: StudyJson
    metrics: list[FleetMetricJson]
    outliers: list[OutlierJson]
    populations: list[PopulationsJson]
    untested: list[str]
    tests: int
    notes: list[str]


EstimateJson = Annotated[Json, FleetEstimate]


def study_to_json(study: FleetStudy) -> StudyJson:
    """Return the public JSON of a study without its hosts."""
    return {
        "id": study.id,
        "name": study.name,
        "created": study.created,
        "ended": study.ended,
        "paused": study.paused,
        "by_workers": study.by_workers,
        "groups": {group: len(names) for group, names in study.plan.groups.items()},
        "sessions": study.plan.sessions,
        "host_runs": {state: count for state, count in study.counts.items() if count},
    }


def board_to_json(board: Board) -> BoardJson:
    """Return the public JSON of a board."""
    figure = board.figure
    return {
        "format": BOARD_FORMAT,
        "study": study_to_json(board.study),
        "plan": fleet_plan_to_json(board.study.plan),
        "hosts": [
            {"name": host.name, "group": host.group, "attributes": published(host.attributes)}
            for host in board.study.plan.hosts
        ],
        "step": None if figure is None else figure[0],
        "metric": None if figure is None else figure[1].name,
        "labels": {} if figure is None else dict(figure[2]),
        "unit": None if figure is None else figure[1].unit,
        "medians": dict(board.medians),
        "rows": list(_rows(board.rows)),
    }


def _rows(rows: Iterable[BoardRow]) -> Iterable[RowJson]:
    for row in rows:
        yield {
            "title": row.title,
            "group": row.group,
            "state": row.state,
            "doing": row.doing,
            "finding": row.finding,
            "severity": None if row.progress is None else row.progress.severity,
            "value": row.value,
            "values": list(row.values),
            "off": row.off,
            "apart": row.apart,
            "host_runs": [published(one) for one in row.host_runs],
        }


def estimate_to_json(found: FleetEstimate) -> EstimateJson:
    """Return the public JSON of an estimate. Times are in seconds, volumes in bytes, prices by currency."""
    result: EstimateJson = published(found)
    return result


def results_to_json(found: FleetResults) -> FleetResultsJson:
    """Return the public JSON of the results of a study."""
    return {
        "format": RESULTS_FORMAT,
        "study": study_to_json(found.study),
        "metrics": [_metric(one, levels) for one, levels in zip(found.metrics, found.levels, strict=True)],
        "outliers": list(map(_outlier, found.search.outliers)),
        "populations": list(map(_populations, found.search.populations)),
        "untested": list(found.search.untested),
        "tests": found.search.tests,
        "notes": list(found.notes),
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
    return {"session": one.session, "ratio": one.ratio, "low": one.low, "high": one.high, "p": one.p_adjusted}


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
