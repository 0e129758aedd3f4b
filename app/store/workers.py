"""Workers that take host-runs from the queue in the database of a library, by their heartbeats."""

from sqlalchemy import Connection

from app.store.roles import QUEUE_SCHEMA

ALIVE = 30.0
"""Seconds after its last heartbeat for which a worker counts as alive; see app/fleet/queue_worker.py."""


def workers_alive(connection: Connection) -> int:
    """Return how many workers are alive; 0 without a queue, or for a role that may not read it."""
    usable = f"SELECT coalesce(has_schema_privilege(to_regnamespace('{QUEUE_SCHEMA}'), 'USAGE'), false)"
    if not connection.exec_driver_sql(usable).scalar_one():
        return 0
    query = f"SELECT count(*) FROM {QUEUE_SCHEMA}.procrastinate_workers WHERE last_heartbeat > now() - interval '%s s'"  # noqa: S608 (a constant name)
    return int(connection.exec_driver_sql(query % int(ALIVE)).scalar_one())
