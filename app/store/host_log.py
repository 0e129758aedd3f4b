"""What was done to hosts: the settings that runs changed, and the commands that users agreed to."""

from sqlalchemy import Connection, insert, select, update

from app.events import HostChange, HostChanged, HostPutBack
from app.moments import now
from app.records import ChangeRecord, HostAction
from app.store import schema
from app.store.rows import storable

OUTPUT_LIMIT = 2**20
"""Bytes of a command's output that are kept: a package manager prints some tens of kilobytes."""


def write_change(connection: Connection, run_id: str, event: HostChanged | HostPutBack) -> None:
    """Note that the run changed a setting, or what became of one it had changed."""
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
        connection.execute(insert(table).values(storable(row)))
        return
    whose = event.run or run_id
    same = (table.c.run_id == whose) & (table.c.host == event.host) & (table.c.path == event.path)
    outcome = {"problem": event.problem, "put_back": None if event.pending else event.at}
    connection.execute(update(table).where(same & table.c.before.is_not(None)).values(storable(outcome)))


def changes_of(connection: Connection, run_id: str) -> tuple[ChangeRecord, ...]:
    """Return the settings that the run changed, in the order in which it did."""
    table = schema.changes
    query = select(table).where(table.c.run_id == run_id).order_by(table.c.id)
    return tuple(
        ChangeRecord(
            run_id,
            HostChange(row.host, row.what, row.path, row.before, row.during, row.trial),
            row.changed,
            row.put_back,
            row.problem,
        )
        for row in connection.execute(query)
    )


def pending(connection: Connection, host: str | None) -> list[ChangeRecord]:
    """Return the settings that were changed, on `host` or anywhere, and not put back, the oldest first."""
    table = schema.changes.c
    left = table.before.is_not(None) & table.put_back.is_(None)
    query = select(table.run_id).where(left).order_by(table.id)
    runs = dict.fromkeys(connection.execute(query).scalars())
    found = [change for run in runs for change in changes_of(connection, run)]
    return [change for change in found if change.pending and host in {None, change.change.host}]


def begin_action(connection: Connection, host: str, what: str, command: str) -> int:
    """Note what is about to be done to a host; return its number."""
    row = {"host": host, "what": what, "command": command, "started": now(), "output": b""}
    return connection.execute(insert(schema.host_log).values(storable(row))).lastrowid


def end_action(connection: Connection, number: int, exit_status: int | None, output: bytes, reason: str) -> None:
    """Note how it ended."""
    row = {"ended": now(), "exit_status": exit_status, "output": output[:OUTPUT_LIMIT], "reason": reason}
    table = schema.host_log
    connection.execute(update(table).where(table.c.id == number).values(storable(row)))


def actions(connection: Connection, host: str) -> list[HostAction]:
    """Return what was done to `host`, the newest first."""
    table = schema.host_log
    query = select(table).where(table.c.host == host).order_by(table.c.id.desc())
    return [
        HostAction(
            row.id, row.host, row.what, row.command, row.started, row.ended, row.exit_status, row.output, row.reason
        )
        for row in connection.execute(query)
    ]
