"""Fleet studies with their hosts and host-runs: copied from one library to another, deleted and restored."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from app.fleet_study import FleetStudy, HostRun, HostRunState
from app.json_converter import short
from app.store import fleets, host_runs, schema
from app.store.dialects import dialect_of
from app.store.errors import StoreError
from app.store.rows import check_types
from suites.errors import BenchwrightError
from suites.quantities import count_text, listed


def copy_missing(old: Connection, new: Connection) -> tuple[list[str], list[str]]:
    """Copy the fleet studies that a library lacks; return what was added, and what was not with the reason.

    A host-run that is under way elsewhere waits in the copy: its run is not copied before it ends. Where there are no
    workers, the user resumes a study that they carried.
    """
    added, refused = [], []
    table = schema.fleet_studies
    stored = {row.id: row.plan for row in new.execute(select(table.c.id, table.c.plan))}
    for row in old.execute(select(table).order_by(table.c.created)).mappings().all():
        name = f"fleet study {short(row['id'])}"
        try:
            hosts, runs = _content(old, row)
        except (BenchwrightError, ValueError):
            refused.append(f"{name}: malformed")
            continue
        if row["id"] not in stored:
            by_workers = row["by_workers"] and dialect_of(new).has_workers
            new.execute(insert(table).values({**row, "by_workers": by_workers}))
            _insert(new, row["id"], hosts, runs)
            added.append(name)
        elif stored[row["id"]] != row["plan"]:
            refused.append(f"{name}: this library has another plan for it")
        elif runs != list(map(_copied, host_runs.host_runs(new, row["id"]))):
            refused.append(f"{name}: this library has other host-runs of it")
    return added, refused


def _content(old: Connection, row: Any) -> tuple[list[dict[str, Any]], list[HostRun]]:
    """Return the rows of hosts and the host-runs of a study. Raises StoreError, FormatError or ValueError."""
    study = fleets.read(old, row)
    table = schema.fleet_hosts
    hosts = [dict(found) for found in old.execute(select(table).where(table.c.study == study.id)).mappings()]
    for found in hosts:
        check_types(table, found)
    runs = list(map(_copied, host_runs.host_runs(old, study.id)))
    for keys in ([found["host"] for found in hosts], [one.number for one in runs]):
        if len(keys) != len(set(keys)):
            raise ValueError("duplicate")
    return hosts, runs


def _copied(one: HostRun) -> HostRun:
    """Return a host-run as it is in a copy."""
    return replace(one, state=HostRunState.WAITING, run="", worker="", reason="") if one.state.active else one


def _insert(new: Connection, study: str, hosts: list[dict[str, Any]], runs: list[HostRun]) -> None:
    if hosts:
        new.execute(insert(schema.fleet_hosts), hosts)
    if runs:
        new.execute(insert(schema.host_runs), [{**host_runs.row_of(one), "study": study} for one in runs])


@dataclass(frozen=True, slots=True)
class DeletedStudy:
    """A study that was deleted, and what its tables had of it by column, for restore_study()."""

    study: FleetStudy
    row: Mapping[str, Any]
    hosts: list[dict[str, Any]]
    host_runs: list[HostRun]


def delete_study(connection: Connection, word: str) -> DeletedStudy:
    """Delete a study that is over; its runs stay.

    Raises StoreError for one that is not over, and for a name that several studies have.
    """
    study, table = fleets.find(connection, word), schema.fleet_studies
    same = [one.id for one in fleets.all_studies(connection) if one.name == word]
    if word == study.name and len(same) > 1:
        raise StoreError(f"{len(same)} studies are called “{word[:60]}”: {listed(same, 5)}.", "Name one by its id.")
    if not study.over:
        end = f"End it first: benchwright fleet end {study.id}, with --stop also what is under way."
        settle = f"Wait for their end; if no process runs the study: benchwright fleet resume {study.id}"
        raise StoreError(
            f"{study.id} is not over: {count_text(study.left, 'host-run')} left.",
            end if study.ended is None else settle,
        )
    row = connection.execute(select(table).where(table.c.id == study.id)).mappings().one()
    own = select(schema.fleet_hosts).where(schema.fleet_hosts.c.study == study.id)
    hosts = [dict(found) for found in connection.execute(own).mappings()]
    deleted = DeletedStudy(study, dict(row), hosts, host_runs.host_runs(connection, study.id))
    connection.execute(delete(table).where(table.c.id == study.id))
    return deleted


def restore_study(connection: Connection, deleted: DeletedStudy) -> None:
    """Store a deleted study again. Raises StoreError if the library has it, such as from another library."""
    table = schema.fleet_studies
    if connection.execute(select(table.c.id).where(table.c.id == deleted.study.id)).first() is not None:
        raise StoreError(f"{deleted.study.id} is in the library already.", host_runs.LIST)
    connection.execute(insert(table).values(deleted.row))
    _insert(connection, deleted.study.id, deleted.hosts, deleted.host_runs)
