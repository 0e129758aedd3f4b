"""Workers that take host-runs from the queue in the database of a library, by their heartbeats."""

from datetime import timedelta

from sqlalchemy import Connection, column, func, select, table

from app.store.roles import QUEUE_SCHEMA

ALIVE = 30.0
"""Seconds after its last heartbeat for which a worker counts as alive; see app/fleet/queue_worker.py."""


def workers_alive(connection: Connection) -> int:
    """Return how many workers are alive; 0 without a queue, or for a role that may not read it."""
    usable = f"SELECT coalesce(has_schema_privilege(to_regnamespace('{QUEUE_SCHEMA}'), 'USAGE'), false)"
    if not connection.exec_driver_sql(usable).scalar_one():
        return 0
    alive = select(func.count()).select_from(table("procrastinate_workers", schema=QUEUE_SCHEMA))
    recent = column("last_heartbeat") > func.now() - timedelta(seconds=ALIVE)
    return int(connection.execute(alive.where(recent)).scalar_one())
