"""Rows of changed host settings, host actions, workspaces and jobs."""

import json
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, Row, Select, insert, select, update

from app.detached_runs import StoredJob, StoredWorkspace
from app.events import HostChange, HostChanged, SettingRestored, State
from app.records import OUTPUT_LIMIT, ChangeRecord, HostAction
from app.store import schema
from app.store.dialects import insertion_order
from app.store.rows import inserted_id, storable
from app.timestamps import now
from remote.jobs.job_record import JobStart
from remote.jobs.workspace import Workspace
from suites.base import Purpose


def write_change(connection: Connection, run_id: str, event: HostChanged | SettingRestored) -> None:
    """Record that the run changed a setting, or the outcome of restoring one."""
    table = schema.changes
    if isinstance(event, HostChanged):
        change = event.change
        row = {
            "run_id": run_id,
            "host": change.host,
            "trial": change.trial,
            "what": change.what,
            "path": change.path,
            "before": change.before,
            "during": change.during,
            "changed": event.at,
        }
        connection.execute(insert(table), storable(row))
        return
    owning_run = event.run or run_id
    same = (table.c.run_id == owning_run) & (table.c.host == event.host) & (table.c.path == event.path)
    outcome = {"problem": event.problem, "put_back": None if event.pending else event.at}
    connection.execute(update(table).where(same & table.c.before.is_not(None)).values(storable(outcome)))


def changes_of(connection: Connection, run_id: str) -> tuple[ChangeRecord, ...]:
    """Return the settings that the run changed, in order."""
    table = schema.changes
    query: Select[Any] = select(table).where(table.c.run_id == run_id).order_by(table.c.id)
    return changes(connection.execute(query))


def changes(rows: Iterable[Row[Any]]) -> tuple[ChangeRecord, ...]:
    """Return the settings of some rows."""
    return tuple(
        ChangeRecord(
            row.run_id,
            HostChange(row.host, row.what, row.path, row.before, row.during, row.trial),
            row.changed,
            row.put_back,
            row.problem,
        )
        for row in rows
    )


def pending(connection: Connection, host: str | None) -> list[ChangeRecord]:
    """Return the changed settings not restored, on `host` or all hosts, oldest first."""
    table = schema.changes.c
    pending_rows = table.before.is_not(None) & table.put_back.is_(None)
    query = select(table.run_id).where(pending_rows).order_by(table.id)
    runs = dict.fromkeys(connection.execute(query).scalars())
    found = [change for run in runs for change in changes_of(connection, run)]
    return [change for change in found if change.pending and host in {None, change.change.host}]


def begin_action(connection: Connection, host: str, what: str, command: str) -> int:
    """Record an action on a host before it starts; return its number."""
    row = {"host": host, "what": what, "command": command, "started": now(), "output": b""}
    return inserted_id(connection, schema.host_log, storable(row))


def end_action(connection: Connection, number: int, exit_status: int | None, output: bytes, reason: str) -> None:
    """Record the end of an action."""
    row = {"ended": now(), "exit_status": exit_status, "output": output[:OUTPUT_LIMIT], "reason": reason}
    table = schema.host_log
    connection.execute(update(table).where(table.c.id == number).values(storable(row)))


def actions(connection: Connection, host: str) -> list[HostAction]:
    """Return the actions on `host`, newest first."""
    table = schema.host_log
    query = select(table).where(table.c.host == host).order_by(table.c.id.desc())
    return [
        HostAction(
            row.id, row.host, row.what, row.command, row.started, row.ended, row.exit_status, row.output, row.reason
        )
        for row in connection.execute(query)
    ]


def is_attachable(connection: Connection, run_id: str) -> bool:
    """Return whether the run can be attached: it was detached, may have directories on hosts, or has a done trial."""
    table = schema.trials.c
    done = select(table.id).where(table.run_id == run_id, table.state == State.DONE.value)
    return stays_detached(connection, run_id) or connection.execute(done).first() is not None


def stays_detached(connection: Connection, run_id: str) -> bool:
    """Return whether the user detached the run, or it may have directories on hosts."""
    table = schema.runs.c
    if connection.execute(select(table.left_at).where(table.id == run_id)).scalar() is not None:
        return True
    return bool(workspaces(connection, run_id))


def workspaces(connection: Connection, run_id: str | None = None) -> tuple[StoredWorkspace, ...]:
    """Return the directories that the run, or any run, may still have on hosts, in order of creation."""
    table = schema.workspaces
    query = select(table).order_by(table.c.used, insertion_order(table))  # those of one step may be of one moment
    if run_id is not None:
        query = query.where(table.c.run_id == run_id)
    return tuple(
        StoredWorkspace(
            row.run_id, row.step, row.host, row.where, row.on_peer, Workspace(row.path, row.nonce, row.identity)
        )
        for row in connection.execute(query)
    )


def jobs(connection: Connection, run_id: str) -> tuple[StoredJob, ...]:
    """Return the commands of the run in planned order."""
    table = schema.jobs
    query = select(table).where(table.c.run_id == run_id).order_by(insertion_order(table))
    identities = {used.workspace.nonce: used.workspace.identity for used in workspaces(connection, run_id)}
    return tuple(_job(row, identities.get(row.nonce, "")) for row in connection.execute(query))


def _job(row: Row[Any], identity: str) -> StoredJob:
    began = None
    if row.pid is not None:
        began = JobStart(row.pid, row.job_group, row.leader_started, row.boot_id, row.clock, row.epoch)
    workspace = Workspace(row.path, row.nonce, identity)
    before = {str(stream): int(count) for stream, count in json.loads(row.before).items()}
    return StoredJob(row.trial, Purpose(row.purpose), row.number, row.where, workspace, row.directory, before, began)
