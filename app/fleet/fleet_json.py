"""The public JSON of fleet studies, their host-runs and their estimate."""

from collections.abc import Iterable
from typing import Annotated, TypedDict

from app.fleet.board import Board, BoardRow
from app.fleet.estimate import FleetEstimate
from app.fleet_study import FleetStudy, HostRun, HostRunState
from app.formats import FleetPlanJson, fleet_plan_to_json
from app.host_attributes import HostAttributes
from app.json_converter import Json, published
from suites.vocab import Severity

BOARD_FORMAT = "benchwright-fleet-board/1"


class StudyJson(TypedDict):
    """A study with the number of its host-runs by state. Times are UTC, ISO 8601."""

    id: str
    name: str
    created: str
    ended: str | None
    paused: str | None
    stopped: str | None
    by_workers: bool
    groups: dict[str, int]
    sessions: int
    host_runs: dict[HostRunState, int]


class WatchedStudyJson(StudyJson):
    """A study with when it last changed, if it is open, not paused, and no process runs it."""

    idle_since: str | None


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
    study: WatchedStudyJson
    plan: FleetPlanJson
    hosts: list[HostJson]
    step: str | None
    metric: str | None
    labels: dict[str, str]
    unit: str | None
    medians: dict[str, float]
    rows: list[RowJson]


EstimateJson = Annotated[Json, FleetEstimate]


def study_to_json(study: FleetStudy) -> StudyJson:
    """Return the public JSON of a study without its hosts."""
    return {
        "id": study.id,
        "name": study.name,
        "created": study.created,
        "ended": study.ended,
        "paused": study.paused,
        "stopped": study.stopped,
        "by_workers": study.by_workers,
        "groups": {group: len(names) for group, names in study.plan.groups.items()},
        "sessions": study.plan.sessions,
        "host_runs": {state: count for state, count in study.counts.items() if count},
    }


def watched_study_to_json(study: FleetStudy, idle_since: str | None) -> WatchedStudyJson:
    """Return the public JSON of a study without its hosts, with since when no process runs it."""
    return {**study_to_json(study), "idle_since": idle_since}


def board_to_json(board: Board, idle_since: str | None) -> BoardJson:
    """Return the public JSON of a board."""
    figure = board.figure
    return {
        "format": BOARD_FORMAT,
        "study": watched_study_to_json(board.study, idle_since),
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
