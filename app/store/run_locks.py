"""Locks of runs: what cannot be deleted, and why. Runs of a baseline or an investigation are locked by use."""

import shlex
from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, delete, insert, select

from app.store import investigations, ownership, run_reader, schema
from app.store.errors import StoreError
from app.store.rows import storable
from app.timestamps import now
from app.user_texts import checked_text

LONGEST = 500
"""Longest reason in characters."""


def locks(connection: Connection) -> Mapping[str, str]:
    """Return the reasons of the locks by run."""
    table = schema.locks.c
    return {row.run_id: row.reason for row in connection.execute(select(table.run_id, table.reason))}


def reason_of(connection: Connection, run: str) -> str | None:
    """Return the reason of the lock of a run; None without one."""
    table = schema.locks.c
    return connection.execute(select(table.reason).where(table.run_id == run)).scalar()


def lock(connection: Connection, runs: Sequence[str], reason: str) -> list[str]:
    """Lock runs, or replace the reason; return their ids. Raises StoreError for a run that does not exist."""
    text = checked_text("The reason", reason, LONGEST, StoreError)
    if not text:
        raise StoreError("A lock needs a reason.", f"Give one of at most {LONGEST} characters with --reason.")
    found = list(dict.fromkeys(run_reader.find(connection, run) for run in runs))
    for run in found:
        connection.execute(delete(schema.locks).where(schema.locks.c.run_id == run))
        connection.execute(insert(schema.locks), storable({"run_id": run, "reason": text, "locked": now()}))
    return found


def unlock(connection: Connection, runs: Sequence[str]) -> list[str]:
    """Remove locks; return the runs that had one."""
    found = dict.fromkeys(run_reader.find(connection, run) for run in runs)
    table = schema.locks
    return [run for run in found if connection.execute(delete(table).where(table.c.run_id == run)).rowcount]


def kept(connection: Connection) -> Mapping[str, str]:
    """Return why runs cannot be deleted, by run: locked, pinned, shown by an investigation, or not ended."""
    running = dict.fromkeys(ownership.running(connection), "not ended")
    used = {run: f"investigation {name}" for run, name in _investigated(connection).items()}
    return (
        running | used | _pinned(connection) | {run: f"locked: {reason}" for run, reason in locks(connection).items()}
    )


def _pinned(connection: Connection) -> dict[str, str]:
    """Return the newest baseline that contains a run, by run."""
    table, parts = schema.baselines.c, schema.baseline_parts.c
    query = select(parts.run_id, table.name, table.version).join(schema.baselines, table.id == parts.baseline)
    return {run: f"baseline {name}@{version}" for run, name, version in connection.execute(query.order_by(table.id))}


def _investigated(connection: Connection) -> dict[str, str]:
    """Return the name of the last changed investigation that has a run, by run. Unreadable ones name no runs."""
    return {run: one.name for one in reversed(investigations.investigations(connection)) for run in one.runs}


def refuse_locked(connection: Connection, run: str) -> None:
    """Raise StoreError if a run is locked."""
    reason = reason_of(connection, run)
    if reason is not None:
        raise StoreError(
            f"The run {run} is locked: {reason.rstrip('.')}.",
            f"Choose Unlock in the window's library, or run: benchwright library unlock {run}",
        )


def refuse_kept(connection: Connection, run: str) -> None:
    """Raise StoreError if a run is locked, or part of a baseline or an investigation."""
    refuse_locked(connection, run)
    pinned = _pinned(connection).get(run)
    if pinned is not None:
        name = pinned.removeprefix("baseline ")
        raise StoreError(
            f"The run {run} is part of the {pinned}.",
            f"Choose Unpin in the window's library, or run: benchwright baseline remove {name}",
        )
    used = _investigated(connection).get(run)
    if used is not None:
        remove = f"benchwright investigation remove {shlex.quote(used)} ENTRY"
        raise StoreError(
            f"The run {run} is part of the investigation “{used}”.",
            f"Remove its entries on the window's page Investigations, or run: {remove}",
        )
