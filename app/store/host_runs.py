"""Host-runs of fleet studies in the library: start, claim, settle and release them. Epochs fence each change."""

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from datetime import datetime, timedelta
from typing import Any, get_type_hints

from sqlalchemy import Connection, Row, bindparam, delete, func, select, update

from app.events import State
from app.fleet_study import FleetPlan, FleetStudy, HostRun, HostRunState
from app.json_converter import short
from app.store import ownership, run_reader, schema
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

ENDED = "the study was ended"
"""Reason of host-runs that it skipped."""

LIST = "List the studies with: benchwright fleet"
_PAGE = 2000
"""Waiting host-runs read at a time."""

_STATES = {state.value: state for state in HostRunState}
_FIELDS = tuple(field.name for field in fields(HostRun))
_STATE = _FIELDS.index("state")
_COLUMNS = tuple(schema.host_runs.c["group_name" if name == "group" else name] for name in _FIELDS)
_KINDS = tuple(get_type_hints(HostRun)[name] for name in _FIELDS)
_NAMES = tuple(column.name for column in _COLUMNS)


def host_runs(
    connection: Connection, study: str, states: Iterable[HostRunState] = tuple(HostRunState)
) -> list[HostRun]:
    """Return the host-runs of a study in these states, in the order of start.

    The reason of a skipped one whose run no process stops says how to end its commands.
    """
    table = schema.host_runs
    query = select(*_COLUMNS).where(table.c.study == study, table.c.state.in_([state.value for state in states]))
    found = [_host_run(row) for row in connection.execute(query.order_by(table.c.number))]
    skipped = {one.run for one in found if one.state is HostRunState.SKIPPED and one.run}
    left = skipped.intersection(ownership.unrecorded_runs(connection)) if skipped else skipped
    return [_with_left_run(one) if one.run in left else one for one in found] if left else found


def _with_left_run(one: HostRun) -> HostRun:
    text = f"Commands of run {one.run} may still run on {one.title}: benchwright attach {one.run} --stop"
    return replace(one, reason=f"{one.reason}. {text}")


def measured(connection: Connection, study: str) -> list[HostRun]:
    """Return the host-runs of a study that are done and whose runs are in the library, not in its bin, in order."""
    own, runs = schema.host_runs.c, schema.runs.c
    query = select(runs.id).join_from(schema.runs, schema.host_runs, own.run == runs.id).where(own.study == study)
    stored = set(connection.execute(query.where(runs.id.not_in(run_reader.binned()))).scalars())
    return [one for one in host_runs(connection, study, [HostRunState.DONE]) if one.run in stored]


def _host_run(row: Row[Any]) -> HostRun:
    """Return a host-run from its columns. Raises StoreError for one that another program has written."""
    values = list(row)
    values[_STATE] = _STATES.get(row[_STATE], row[_STATE])
    if not all(map(isinstance, values, _KINDS)):
        raise StoreError(f"Host-run {short(row[0])} of a fleet study is malformed.", LIST)
    return HostRun(*values)


def under_way(connection: Connection, study: str) -> list[HostRun]:
    """Return the host-runs of a study that occupy their hosts."""
    return host_runs(connection, study, [state for state in HostRunState if state.active])


def counts_of(connection: Connection, studies: Sequence[str]) -> Mapping[str, Counter[str]]:
    """Return the number of host-runs of studies by the word of their state."""
    table = schema.host_runs.c
    found: dict[str, Counter[str]] = defaultdict(Counter)
    query = select(table.study, table.state, func.count()).where(table.study.in_(studies))
    for study, state, count in connection.execute(query.group_by(table.study, table.state)):
        found[study][str(state)] = count
    return found


def moments_of(connection: Connection, runs: Collection[str]) -> dict[str, str]:
    """Return the study or series and the session of those of some runs that are sessions, as one text."""
    table, own = schema.host_runs.c, schema.runs.c
    sessions = select(own.id, own.session_series, own.session).where(own.session_series.is_not(None), own.id.in_(runs))
    unsettled = select(table.run, table.study, table.session).where(table.run.in_(runs))
    found = (row for query in (sessions, unsettled) for row in connection.execute(query))
    return {run: f"{study} {session}" for run, study, session in found}


def _record_session(connection: Connection, study: str, one: HostRun) -> None:
    """Record with a run which session of the study it is, for when the study is deleted, and for copies."""
    for table, key in ((schema.runs, schema.runs.c.id), (schema.run_summaries, schema.run_summaries.c.run_id)):
        values = {"session_series": study, "session": one.session, "session_due": table.c.started}
        connection.execute(update(table).where(key == one.run).values(values))


def runs_under_way(connection: Connection) -> frozenset[str]:
    """Return the runs of the host-runs under way of all studies: their study resumes them."""
    table = schema.host_runs.c
    active = [state.value for state in HostRunState if state.active]
    return frozenset(connection.execute(select(table.run).where(table.state.in_(active), table.run != "")).scalars())


def _waiting(connection: Connection, study: str, moment: str) -> Iterator[HostRun]:
    """Yield the host-runs that wait and are due at `moment`, in the order of start."""
    table, last = schema.host_runs, 0
    query = select(*_COLUMNS).where(
        table.c.study == study, table.c.state == HostRunState.WAITING.value, table.c.due <= moment
    )
    while rows := connection.execute(query.where(table.c.number > last).order_by(table.c.number).limit(_PAGE)).all():
        yield from map(_host_run, rows)
        last = rows[-1].number


def start(connection: Connection, study: FleetStudy, choose: Choose, worker: str) -> list[HostRun]:
    """Start the host-runs that `choose` returns, unless the study is paused or ended; return them.

    They are then RUNNING, carried by `worker`, or READY for any worker if that is empty. Those of a host on which a run
    of the study may still run commands have failed instead.
    """
    studies = schema.fleet_studies
    row = connection.execute(select(studies.c.ended, studies.c.paused).where(studies.c.id == study.id)).one_or_none()
    if row is None or row.ended is not None or row.paused is not None:  # None: deleted meanwhile
        return []
    moment = dialect_of(connection).moment(connection)
    left = with_run(connection, study.id, [HostRunState.FAILED], [State.RUNNING])  # they could not be attached
    occupied = {one.host: one.run for one in left}
    started, refused = list[HostRun](), list[HostRun]()

    def free() -> Iterator[HostRun]:
        for one in _waiting(connection, study.id, moment):
            run = next((occupied[host] for host in one.hosts if host in occupied), "")
            if run:
                reason = f"Not started: commands of run {run} may still run on {one.title}."
                failed = replace(one, state=HostRunState.FAILED, epoch=one.epoch + 1, changed=moment, reason=reason)
                refused.append(failed)
            else:
                yield one

    for one in choose(free(), under_way(connection, study.id), study.plan):
        state = HostRunState.RUNNING if worker else HostRunState.READY
        attempts = one.attempts + bool(worker)
        made = replace(
            one, state=state, epoch=one.epoch + 1, worker=worker, changed=moment, attempts=attempts, run="", reason=""
        )
        started.append(made)
    write(connection, study.id, *started, *refused)
    if refused:
        end_if_over(connection, study.id, moment)
    return started


def with_run(
    connection: Connection, study: str, states: Iterable[HostRunState], run_states: Iterable[State]
) -> list[HostRun]:
    """Return the host-runs of a study in `states` whose run is in `run_states`."""
    table, runs = schema.host_runs.c, schema.runs.c
    query = select(*_COLUMNS).join(schema.runs, runs.id == table.run)
    own = table.study == study, table.state.in_([state.value for state in states])
    query = query.where(*own, runs.state.in_([state.value for state in run_states]))
    return [_host_run(row) for row in connection.execute(query)]


def claim(connection: Connection, study: str, number: int, epoch: int, worker: str, *, again: bool = False) -> HostRun:
    """Make `worker` the carrier of a READY host-run, or of one that continues its run. Raises TakenOverError.

    The claim has the next epoch: a second delivery of the same job has an old one. `again`: whether an earlier claim of
    `worker` succeeded is not known.
    """
    if again:
        with suppress(TakenOverError):
            one = _of_epoch(connection, study, number, epoch + 1)
            if one.worker == worker:
                return one
    one = _of_epoch(connection, study, number, epoch)
    if not one.state.active or (one.state is HostRunState.RUNNING and one.worker):
        raise _taken_over(one)
    moment = dialect_of(connection).moment(connection)
    attempts = one.attempts + (one.state is HostRunState.READY)  # a take-over is none
    made = replace(one, state=HostRunState.RUNNING, epoch=epoch + 1, worker=worker, changed=moment, attempts=attempts)
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
) -> HostRun:
    """Set the state of a host-run that is no longer under way; one that waits again starts in `wait` seconds.

    In a study that was ended it is skipped instead. Return it as written. Raises TakenOverError for an old epoch.
    """
    _of_epoch(connection, study, one.number, one.epoch)
    moment = dialect_of(connection).moment(connection)
    due = (datetime.fromisoformat(moment) + timedelta(seconds=wait)).isoformat(timespec="milliseconds")
    made = replace(one, state=state, reason=reason, due=due if wait else one.due, changed=moment)
    written = _unless_ended(connection, study, made)
    write(connection, study, written)
    if state is HostRunState.DONE:
        _record_session(connection, study, one)
    end_if_over(connection, study, moment)
    return written


def _unless_ended(connection: Connection, study: str, one: HostRun) -> HostRun:
    """Return a host-run that waits as skipped if its study was ended: nothing starts it any more."""
    ended = connection.execute(select(schema.fleet_studies.c.ended).where(schema.fleet_studies.c.id == study)).scalar()
    if one.state is not HostRunState.WAITING or ended is None:
        return one
    return replace(one, state=HostRunState.SKIPPED, reason=ENDED)


def leave(connection: Connection, study: str, one: HostRun, reason: str) -> None:
    """Record that a host-run has no carrier, and why; its run is detached. Raises TakenOverError for an old epoch."""
    _of_epoch(connection, study, one.number, one.epoch)
    moment = dialect_of(connection).moment(connection)
    write(connection, study, replace(one, worker="", reason=reason, changed=moment))


def release(connection: Connection, study: str, carried: Collection[int] = ()) -> list[HostRun]:
    """Release the host-runs whose process has ended; return those that continue a run, for a new carrier.

    Those `carried` by this process are left. One whose run ended is settled; one whose run was not stored within
    START_TIMEOUT waits again. A process that claimed a run which another left has START_TIMEOUT to connect and take it
    over. The next epoch of those returned and of those that wait stops the former process.
    """
    moment = dialect_of(connection).moment(connection)
    unrecorded = set(ownership.unrecorded_runs(connection))
    found = []
    for one in under_way(connection, study):
        if one.number in carried:
            continue
        run = _stored_run(connection, one.run)
        touched = one.changed if run is None else max(one.changed, run.touched or "")
        timeout = QUEUE_TIMEOUT if one.state is HostRunState.READY else START_TIMEOUT
        late = abs(seconds_between(touched, moment)) > timeout
        freed = replace(one, epoch=one.epoch + 1, worker="", changed=moment)
        if run is None:
            if late:
                waits = replace(freed, state=HostRunState.WAITING, run="", reason="its process ended")
                write(connection, study, _unless_ended(connection, study, waits))
        elif one.run in unrecorded:
            recorded = one.worker and touched == run.touched  # it was since the claim
            if recorded or late:
                write(connection, study, freed)
                found.append(freed)
        elif run.state != State.RUNNING.value and late:
            _settle_by_run(connection, study, one, State(run.state), run.reason)
    end_if_over(connection, study, moment)
    return found


def _stored_run(connection: Connection, run: str) -> Row[Any, Any, Any] | None:
    """Return the state, reason and last heartbeat of a run; None if it is not stored."""
    runs = schema.runs.c
    query = select(runs.state, runs.reason, runs.touched).where(runs.id == run)
    return connection.execute(query).one_or_none() if run else None


def _settle_by_run(connection: Connection, study: str, one: HostRun, state: State, reason: str) -> None:
    """Settle a host-run whose process ended after its run: one that measured nothing waits again."""
    trials = schema.trials.c
    measured = connection.execute(select(trials.id).where(trials.run_id == one.run).limit(1)).first() is not None
    final = HostRunState.DONE if state is State.DONE else HostRunState.FAILED
    if not measured:
        final, reason = HostRunState.WAITING, f"its process ended: {reason}"
    if not measured and state is State.FAILED:  # by its own process, which records nothing more
        connection.execute(delete(schema.runs).where(schema.runs.c.id == one.run))
    settle(connection, study, one, final, reason=reason)


def _of_epoch(connection: Connection, study: str, number: int, epoch: int) -> HostRun:
    table = schema.host_runs
    query = select(*_COLUMNS).where(table.c.study == study, table.c.number == number).with_for_update()
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


def write(connection: Connection, study: str, *changed: HostRun) -> None:
    """Write every field of host-runs."""
    table = schema.host_runs
    own = update(table).where(table.c.study == study, table.c.number == bindparam("own_number"))
    rows = [{**row_of(one), "own_number": one.number} for one in changed]
    if rows:
        connection.execute(own.values({column.name: bindparam(column.name) for column in _COLUMNS}), rows)


def row_of(one: HostRun) -> dict[str, Any]:
    """Return the columns of a host-run."""
    return storable(dict(zip(_NAMES, (getattr(one, name) for name in _FIELDS), strict=True)))


def end_if_over(connection: Connection, study: str, moment: str) -> None:
    """End a study whose host-runs are all over."""
    states, table = counts_of(connection, [study])[study], schema.fleet_studies
    over = all(state in _STATES and _STATES[state].over for state in states)
    own = update(table).where(table.c.id == study)
    if over:
        connection.execute(own.where(table.c.ended.is_(None)).values(ended=moment))
