"""Session series in the library: which exist, which run is a session of which, and who starts the next one."""

import json
import logging
import secrets
from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection, delete, insert, select, update

from app.events import PlannedSession, State
from app.formats import FormatError, plan_from_json, plan_to_json
from app.plans.plan import Plan
from app.session_series import SessionRun, SessionSeries
from app.store import ownership, schema
from app.store.dialects import dialect_of
from app.store.errors import StoreError
from app.store.rows import to_text
from app.timestamps import now, seconds_between

log = logging.getLogger(__name__)

CLAIM_TIMEOUT = 60.0
"""Seconds within which the run that claimed a session has to be stored; a process that ended before has not run it."""

_ID_LENGTH = 5
_LIST = "List the series with: benchwright sessions"


def begin(connection: Connection, plan: Plan) -> SessionSeries:
    """Store a new series of `plan` and return it."""
    made = SessionSeries("s" + "".join(secrets.choice(ownership.READABLE) for _ in range(_ID_LENGTH)), plan, now())
    row = {"id": made.id, "plan": to_text(plan_to_json(plan)), "sessions": made.total, "created": made.created}
    connection.execute(insert(schema.session_series), row)
    return made


def all_series(connection: Connection) -> list[SessionSeries]:
    """Return every series, the newest first; a damaged one is left out and logged."""
    table, runs = schema.session_series.c, schema.runs.c
    detached = set(ownership.unrecorded_runs(connection))
    columns = (runs.session_series, runs.id, runs.session, runs.state, runs.started, runs.ended, runs.session_due)
    chosen = select(*columns).where(runs.session_series.is_not(None)).order_by(runs.started, runs.id)
    of_series: dict[str, list[SessionRun]] = {}
    for series, run, number, state, started, ended, due in connection.execute(chosen):
        one = SessionRun(run, number, State(state), started, ended, due, run in detached)
        of_series.setdefault(series, []).append(one)
    found = []
    query = select(table.id, table.plan, table.created, table.ended).order_by(table.created.desc(), table.id)
    for series, plan, created, ended in connection.execute(query):
        try:
            read = plan_from_json(json.loads(plan))
        except (FormatError, ValueError):
            log.warning("the session series %s cannot be read", series, exc_info=True)
            continue
        found.append(SessionSeries(series, read, created, ended, tuple(of_series.get(series, ()))))
    return found


def find(connection: Connection, word: str) -> SessionSeries:
    """Return the series by its id or an unambiguous name; raise StoreError if there is none or several."""
    every = all_series(connection)
    found = [one for one in every if one.id == word] or [one for one in every if one.plan.name == word]
    if len(found) == 1:
        return found[0]
    if found:
        raise StoreError(f"Several series are named “{word[:60]}”: {', '.join(one.id for one in found)}.", _LIST)
    raise StoreError(f"There is no session series “{word[:60]}”.", _LIST)


def claim(connection: Connection, word: str, run_id: str) -> tuple[SessionSeries, PlannedSession]:
    """Give the next session of a series to the run `run_id`, which no other process then starts.

    Raises StoreError if the series is over, or if one of its sessions is under way or about to start.
    """
    series = find(connection, word)
    if series.over:
        raise StoreError(f"The series {series.id} is over: {series.done} of {series.total} sessions done.", _LIST)
    if (running := series.under_way) is not None:
        how = f"Attach it with: benchwright attach {running.run}" if running.detached else "Wait until it ends."
        raise StoreError(f"Session {running.number} of {series.id} is under way: run {running.run}.", how)
    table = schema.session_series
    own = table.c.id == series.id
    claimant, claimed = connection.execute(select(table.c.claim, table.c.claimed).where(own)).one()
    moment = dialect_of(connection).moment(connection)
    if (
        claimant is not None
        and abs(seconds_between(claimed, moment)) < CLAIM_TIMEOUT
        and not _stored(connection, claimant)
    ):
        raise StoreError(f"Another Benchwright starts session {series.next_number} of {series.id}.", _LIST)
    connection.execute(update(table).where(own).values(claim=run_id, claimed=moment))
    return series, series.planned()


def release(connection: Connection, run_id: str) -> None:
    """Record that the run which claimed a session is over: end a complete series, delete one without any run."""
    table = schema.session_series
    word = connection.execute(select(table.c.id).where(table.c.claim == run_id)).scalar()
    if word is None:
        return
    connection.execute(update(table).where(table.c.id == word).values(claim=None, claimed=None))
    series = find(connection, word)
    if not series.runs:
        connection.execute(delete(table).where(table.c.id == word))
    elif series.done >= series.total:
        end(connection, word)


def end(connection: Connection, word: str) -> SessionSeries:
    """End a series: no session follows; return it. Its runs are kept. Raises StoreError if there is none."""
    series = find(connection, word)
    if series.ended is not None:
        return series
    moment, table = now(), schema.session_series
    connection.execute(update(table).where(table.c.id == series.id).values(ended=moment))
    return replace(series, ended=moment)


def sessions_of(connection: Connection, run_id: str) -> Sequence[str]:
    """Return the done sessions of the same plan as the run `run_id`, itself included, the oldest first.

    These are the runs of its series on the same hosts, else the runs whose plan has the same session_key().
    """
    runs = schema.runs.c
    columns = (runs.session_series, runs.hosts, runs.steps, runs.plan)
    series, hosts, steps, plan = connection.execute(select(*columns).where(runs.id == run_id)).one()
    binned = select(schema.annotations.c.run_id).where(schema.annotations.c.binned.is_not(None))
    counted = (runs.state == State.DONE.value) & runs.id.not_in(binned)
    done = select(runs.id, runs.plan).where(counted | (runs.id == run_id))
    done = done.order_by(runs.started, runs.id)
    if series is not None:
        return [run for run, _ in connection.execute(done.where(runs.session_series == series, runs.hosts == hosts))]
    key = _session_key(plan)
    like = connection.execute(done.where(runs.hosts == hosts, runs.steps == steps))
    return [run for run, text in like if run == run_id or (key is not None and _session_key(text) == key)]


def _session_key(text: str) -> str | None:
    """Return the session_key() of a stored plan; None if it is malformed."""
    try:
        return plan_from_json(json.loads(text)).session_key()
    except (FormatError, ValueError):
        return None


def _stored(connection: Connection, run_id: str) -> bool:
    return connection.execute(select(schema.runs.c.id).where(schema.runs.c.id == run_id)).first() is not None
