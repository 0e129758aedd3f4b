"""Host-runs of fleet studies in the library: start, claim, settle and release them. Epochs fence each change."""

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, func, select, update

from app.events import State
from app.fleet_study import FleetPlan, FleetStudy, HostRun, HostRunState
from app.store import ownership, schema
from app.store.dialects import dialect_of
from app.store.errors import StoreError, TakenOverError
from app.store.rows import storable
from app.timestamps import seconds_between

log = logging.getLogger(__name__)

START_TIMEOUT = 60.0
"""Seconds within which the run of a started host-run has to be stored; its process has ended otherwise."""

QUEUE_TIMEOUT = 600.0
"""Seconds after which a READY host-run waits anew: its job in the queue may be lost. A late job has an old epoch."""

Choose = Callable[[Iterator[HostRun], Sequence[HostRun], FleetPlan], Sequence[HostRun]]
"""Returns which of the waiting host-runs start beside those under way."""

LIST = "List the studies with: benchwright fleet"
_PAGE = 500
"""Waiting host-runs read at a time."""


def host_runs(
    connection: Connection, study: str, states: Iterable[HostRunState] = tuple(HostRunState)
) -> list[HostRun]:
    """Return the host-runs of a study in these states, in the order of start."""
    table = schema.host_runs
    query = select(table).where(table.c.study == study, table.c.state.in_([state.value for state in states]))
    return [_host_run(row) for row in connection.execute(query.order_by(table.c.number))]


def _host_run(row: Row[Any]) -> HostRun:
    return HostRun(
        row.number, row.session, row.host, row.group_name, row.peer, row.due, HostRunState(row.state), row.epoch,
        row.run, row.attempts, row.worker, row.changed, row.reason,
    )  # fmt: skip


def counts_of(connection: Connection, studies: Sequence[str]) -> Mapping[str, Counter[HostRunState]]:
    """Return the number of host-runs of studies by state."""
    table = schema.host_runs.c
    found: dict[str, Counter[HostRunState]] = defaultdict(Counter)
    query = select(table.study, table.state, func.count()).where(table.study.in_(studies))
    for study, state, count in connection.execute(query.group_by(table.study, table.state)):
        found[study][HostRunState(state)] = count
    return found


def _waiting(connection: Connection, study: str, moment: str) -> Iterator[HostRun]:
    """Yield the host-runs that wait and are due at `moment`, in the order of start."""
    table, last = schema.host_runs, 0
    query = select(table).where(
        table.c.study == study, table.c.state == HostRunState.WAITING.value, table.c.due <= moment
    )
    while rows := connection.execute(query.where(table.c.number > last).order_by(table.c.number).limit(_PAGE)).all():
        yield from map(_host_run, rows)
        last = rows[-1].number


def start(connection: Connection, study: FleetStudy, choose: Choose, worker: str) -> list[HostRun]:
    """Start the host-runs that `choose` returns, unless the study is paused or ended; return them.

    They are then RUNNING, carried by `worker`, or READY for any worker if that is empty.
    """
    studies = schema.fleet_studies
    row = connection.execute(select(studies.c.ended, studies.c.paused).where(studies.c.id == study.id)).one()
    if row.ended is not None or row.paused is not None:
        return []
    moment = dialect_of(connection).moment(connection)
    under_way = host_runs(connection, study.id, [state for state in HostRunState if state.active])
    started = []
    for one in choose(_waiting(connection, study.id, moment), under_way, study.plan):
        state = HostRunState.RUNNING if worker else HostRunState.READY
        attempts = one.attempts + bool(worker)
        made = replace(
            one, state=state, epoch=one.epoch + 1, worker=worker, changed=moment, attempts=attempts, run="", reason=""
        )
        write(connection, study.id, made)
        started.append(made)
    return started


def claim(connection: Connection, study: str, number: int, epoch: int, worker: str) -> HostRun:
    """Make `worker` the carrier of a READY host-run, or of one that continues its run. Raises TakenOverError.

    The claim has the next epoch: a second delivery of the same job has an old one.
    """
    one = _of_epoch(connection, study, number, epoch)
    if not one.state.active or (one.state is HostRunState.RUNNING and one.worker):
        raise _taken_over(one)
    moment = dialect_of(connection).moment(connection)
    made = replace(
        one, state=HostRunState.RUNNING, epoch=epoch + 1, worker=worker, changed=moment, attempts=one.attempts + 1
    )
    write(connection, study, made)
    return made


def set_run(connection: Connection, study: str, one: HostRun, run: str) -> HostRun:
    """Set the run of a host-run before it begins. Raises TakenOverError for an old epoch."""
    _of_epoch(connection, study, one.number, one.epoch)
    made = replace(one, run=run, changed=dialect_of(connection).moment(connection))
    write(connection, study, made)
    return made


def confirm(connection: Connection, study: str, one: HostRun) -> None:
    """Raise TakenOverError if another process has taken the host-run over."""
    _of_epoch(connection, study, one.number, one.epoch)


def settle(
    connection: Connection, study: str, one: HostRun, state: HostRunState, *, reason: str, wait: float = 0.0
) -> None:
    """Set the state of a host-run that is no longer under way; one that waits again starts in `wait` seconds.

    Raises TakenOverError for an old epoch.
    """
    _of_epoch(connection, study, one.number, one.epoch)
    moment = dialect_of(connection).moment(connection)
    due = (datetime.fromisoformat(moment) + timedelta(seconds=wait)).isoformat(timespec="milliseconds")
    due = due if wait else one.due
    write(connection, study, replace(one, state=state, reason=reason, due=due, changed=moment))
    end_if_over(connection, study, moment)


def leave(connection: Connection, study: str, one: HostRun, reason: str) -> None:
    """Record that a host-run has no carrier, and why; its run is detached. Raises TakenOverError for an old epoch."""
    _of_epoch(connection, study, one.number, one.epoch)
    moment = dialect_of(connection).moment(connection)
    write(connection, study, replace(one, worker="", reason=reason, changed=moment))


def release(connection: Connection, study: str) -> list[HostRun]:
    """Release the host-runs whose process has ended; return those that continue a run, for a new carrier.

    One whose run ended is settled; one whose run was not stored within START_TIMEOUT waits again. The next epoch of
    those returned and of those that wait stops the former process.
    """
    moment = dialect_of(connection).moment(connection)
    unrecorded = set(ownership.unrecorded_runs(connection))
    found = []
    for one in host_runs(connection, study, [state for state in HostRunState if state.active]):
        state = _state_of_run(connection, one.run)
        timeout = QUEUE_TIMEOUT if one.state is HostRunState.READY else START_TIMEOUT
        late = abs(seconds_between(one.changed, moment)) > timeout
        freed = replace(one, epoch=one.epoch + 1, worker="", changed=moment)
        if state is None and late:
            write(connection, study, replace(freed, state=HostRunState.WAITING, run="", reason="its process ended"))
        elif one.run in unrecorded and (one.worker or late):
            write(connection, study, freed)
            found.append(freed)
        elif state is not None and state[0] is not State.RUNNING and late:
            _settle_by_run(connection, study, one, *state)
    end_if_over(connection, study, moment)
    return found


def _state_of_run(connection: Connection, run: str) -> tuple[State, str] | None:
    runs = schema.runs.c
    row = connection.execute(select(runs.state, runs.reason).where(runs.id == run)).one_or_none() if run else None
    return None if row is None else (State(row.state), row.reason)


def _settle_by_run(connection: Connection, study: str, one: HostRun, state: State, reason: str) -> None:
    """Settle a host-run whose process ended after its run: one that measured nothing waits again."""
    trials = schema.trials.c
    measured = connection.execute(select(trials.id).where(trials.run_id == one.run).limit(1)).first() is not None
    final = HostRunState.DONE if state is State.DONE else HostRunState.FAILED
    if not measured:
        final, reason = HostRunState.WAITING, f"its process ended: {reason}"
    settle(connection, study, one, final, reason=reason)


def _of_epoch(connection: Connection, study: str, number: int, epoch: int) -> HostRun:
    table = schema.host_runs
    query = select(table).where(table.c.study == study, table.c.number == number).with_for_update()
    row = connection.execute(query).one_or_none()
    if row is None:
        raise StoreError(f"The fleet study {study} has no host-run {number}.", LIST)
    found = _host_run(row)
    if found.epoch != epoch:
        raise _taken_over(found)
    return found


def _taken_over(found: HostRun) -> TakenOverError:
    by = f" by {found.worker}" if found.worker else ""
    return TakenOverError(f"The host-run of {found.title} was taken over{by}.", "It continues there.")


def write(connection: Connection, study: str, one: HostRun) -> None:
    """Write every field of a host-run."""
    row = asdict(one)
    row["group_name"] = row.pop("group")
    table = schema.host_runs
    own = update(table).where(table.c.study == study, table.c.number == one.number)
    connection.execute(own.values(storable({name: value for name, value in row.items() if name != "number"})))


def end_if_over(connection: Connection, study: str, moment: str) -> None:
    """End a study whose host-runs are all over."""
    states, table = counts_of(connection, [study])[study], schema.fleet_studies
    over = all(state.over for state in states)
    own = update(table).where(table.c.id == study)
    if over:
        connection.execute(own.where(table.c.ended.is_(None)).values(ended=moment))
