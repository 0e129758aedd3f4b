"""Detached runs: what the store knows of them, of their commands and of their directories."""

import json
from typing import Any

from sqlalchemy import Connection, Row, literal_column, select

from app.events import State
from app.runs.left import LeftRun, StoredJob, StoredWorkspace
from app.store import reading, schema
from remote.jobs.job_record import Began
from remote.jobs.workspace import Workspace
from suites.base import Purpose


def is_attachable(connection: Connection, run_id: str) -> bool:
    """Return whether the run can be gone on with: something of it may be on a host, or some of it was measured."""
    table = schema.trials.c
    done = select(table.id).where(table.run_id == run_id, table.state == State.DONE.value)
    return is_kept(connection, run_id) or connection.execute(done).first() is not None


def is_kept(connection: Connection, run_id: str) -> bool:
    """Return whether something of the run may still be on a host, or the user means to go on with it."""
    table = schema.runs.c
    if connection.execute(select(table.left_at).where(table.id == run_id)).scalar() is not None:
        return True
    return bool(workspaces(connection, run_id))


def left_run(connection: Connection, run_id: str) -> LeftRun:
    """Return what is known of the run."""
    table = schema.runs.c
    query = select(table.started, table.touched, table.left_at).where(table.id == run_id)
    started, touched, left_at = connection.execute(query).one()
    return LeftRun(
        record=reading.record(connection, run_id),
        since=left_at or touched or started,
        by_choice=left_at is not None,
        jobs=_jobs(connection, run_id),
        workspaces=workspaces(connection, run_id),
    )


def output_in_order(connection: Connection, run_id: str, trial: int) -> tuple[tuple[str, bytes], ...]:
    """Return the raw output of a trial as it came, each piece with its stream."""
    table = schema.output.c
    query = select(table.stream, table.data).where(table.run_id == run_id, table.trial == trial).order_by(table.id)
    return tuple((stream, data) for stream, data in connection.execute(query))


def workspaces(connection: Connection, run_id: str | None = None) -> tuple[StoredWorkspace, ...]:
    """Return the directories that the run, or any, may still have on hosts, in the order in which they were made."""
    table = schema.workspaces
    query = select(table).order_by(table.c.used)
    if run_id is not None:
        query = query.where(table.c.run_id == run_id)
    return tuple(
        StoredWorkspace(
            row.run_id, row.step, row.host, row.where, row.on_peer, Workspace(row.path, row.nonce, row.identity)
        )
        for row in connection.execute(query)
    )


def _jobs(connection: Connection, run_id: str) -> tuple[StoredJob, ...]:
    """Return the commands of the run in the order in which they were planned."""
    table = schema.jobs
    query = select(table).where(table.c.run_id == run_id).order_by(literal_column("rowid"))
    identities = {used.workspace.nonce: used.workspace.identity for used in workspaces(connection, run_id)}
    return tuple(_job(row, identities.get(row.nonce, "")) for row in connection.execute(query))


def _job(row: Row[Any], identity: str) -> StoredJob:
    began = None
    if row.pid is not None:
        began = Began(row.pid, row.job_group, row.leader_started, row.boot_id, row.clock, row.epoch)
    workspace = Workspace(row.path, row.nonce, identity)
    before = {str(stream): int(count) for stream, count in json.loads(row.before).items()}
    return StoredJob(row.trial, Purpose(row.purpose), row.number, row.where, workspace, row.directory, before, began)
