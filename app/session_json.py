"""The public JSON of session series."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, TypedDict

from app.json_converter import Json, publish, published
from app.session_series import SessionRun, SessionSeries
from app.session_text import held_back, status_text

FORMAT = "benchwright-sessions/1"

publish(SessionRun, "run number state=status started ended due left=detached")


class SeriesJson(TypedDict):
    """A series. Times are UTC, ISO 8601; `every` and `late` are in seconds."""

    id: str
    name: str
    hosts: list[str]
    plan_hash: str
    sessions: int
    every: float
    done: int
    created: str
    ended: str | None
    next: int | None
    due: str | None
    late: float
    state: str
    by_hand: str
    runs: list[Annotated[Json, SessionRun]]


class SessionsJson(TypedDict):
    """The series of a library."""

    format: Annotated[str, FORMAT]
    series: list[SeriesJson]


def sessions_to_json(found: Iterable[SessionSeries]) -> SessionsJson:
    """Return the public JSON of series."""
    return {"format": FORMAT, "series": [series_to_json(one) for one in found]}


def series_to_json(series: SessionSeries) -> SeriesJson:
    """Return the public JSON of a series."""
    now = datetime.now(UTC)
    return {
        "id": series.id,
        "name": series.plan.name,
        "hosts": list(series.plan.hosts),
        "plan_hash": series.plan.hash(),
        "sessions": series.total,
        "every": series.plan.repetition.every,
        "done": series.done,
        "created": series.created,
        "ended": series.ended,
        "next": None if series.over else series.next_number,
        "due": None if series.due is None else series.due.isoformat(timespec="milliseconds"),
        "late": max(0.0, -(series.due_in(now) or 0.0)),
        "state": status_text(series, now),
        "by_hand": held_back(series),
        "runs": [published(run) for run in series.runs],
    }
