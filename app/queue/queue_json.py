"""The public JSON of the queue, and of detached runs."""

from collections.abc import Iterable, Sequence
from typing import Annotated, NotRequired, TypedDict

from app.detached_runs import DetachedRun
from app.queue.entries import EntryState, QueuePlace

FORMAT = "benchwright-queue/1"


class TrialUnderWay(TypedDict):
    """A trial under way in a detached run."""

    id: int
    step: str
    host: str


class DetachedJson(TypedDict):
    """A detached run. `trial` is the first of `trials`, as there was only one once."""

    run: str
    name: str
    hosts: list[str]
    since: str
    by_choice: bool
    trial: TrialUnderWay | None
    trials: list[TrialUnderWay]


class PlaceJson(TypedDict):
    """An entry of the queue. `ends` is in seconds since the epoch, `process` the PID of its owner."""

    id: str
    name: str
    hosts: list[str]
    machines: list[str]
    plan_hash: str
    library: str
    state: EntryState
    waits: str
    run: str | None
    done: str | None
    ends: float | None
    series: str | None
    process: int | None


class QueueJson(TypedDict):
    """The queue; with the detached runs of the library where it is listed."""

    format: Annotated[str, FORMAT]
    entries: list[PlaceJson]
    detached: NotRequired[list[DetachedJson]]


def queue_to_json(places: Iterable[QueuePlace], detached: Sequence[DetachedRun] | None) -> QueueJson:
    """Return the public JSON of the queue, and of detached runs."""
    found: QueueJson = {"format": FORMAT, "entries": [place_to_json(place) for place in places]}
    return found if detached is None else {**found, "detached": [detached_to_json(run) for run in detached]}


def place_to_json(place: QueuePlace) -> PlaceJson:
    """Return the public JSON of an entry."""
    entry = place.entry
    return {
        "id": entry.id,
        "name": entry.plan.name,
        "hosts": list(entry.plan.hosts),
        "machines": [machine.name for machine in entry.machines],
        "plan_hash": entry.plan.hash(),
        "library": entry.library,
        "state": entry.state,
        "waits": place.waits,
        "run": entry.run or None,
        "done": entry.done or None,
        "ends": entry.ends,
        "series": entry.session_series or None,
        "process": None if entry.owner is None else entry.owner.pid,
    }


def detached_to_json(detached: DetachedRun) -> DetachedJson:
    """Return the public JSON of a detached run."""
    trials: list[TrialUnderWay] = [
        {"id": one.trial.id, "step": one.trial.step, "host": one.trial.host} for one in detached.under_way
    ]
    return {
        "run": detached.id,
        "name": detached.record.summary.name,
        "hosts": list(detached.hosts),
        "since": detached.since,
        "by_choice": detached.by_choice,
        "trial": next(iter(trials), None),
        "trials": trials,
    }
