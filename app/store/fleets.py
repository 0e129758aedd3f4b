"""Fleet studies in the library: begin, find, pause, end and extend them."""

import json
import logging
import secrets
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Select, func, insert, select, update

from app.fleet_study import FleetHost, FleetPlan, FleetStudy, HostRun, HostRunState
from app.formats import (
    FormatError,
    fleet_plan_from_json,
    fleet_plan_to_json,
    host_address_from_json,
    host_attributes_from_json,
)
from app.json_converter import published
from app.store import host_runs, ownership, schema
from app.store.dialects import dialect_of
from app.store.errors import StoreError
from app.store.rows import storable, to_text

log = logging.getLogger(__name__)

_ID_LENGTH = 5


def begin(connection: Connection, plan: FleetPlan, *, by_workers: bool) -> FleetStudy:
    """Store a new study of `plan` with all of its host-runs, which wait; return it."""
    name = "f" + "".join(secrets.choice(ownership.READABLE) for _ in range(_ID_LENGTH))
    created = dialect_of(connection).moment(connection)
    row = {"id": name, "plan": to_text(fleet_plan_to_json(plan)), "created": created, "by_workers": by_workers}
    connection.execute(insert(schema.fleet_studies).values(row))
    _insert_hosts(connection, name, plan.hosts, 0)
    _insert_host_runs(connection, name, plan.host_runs(), created, plan)
    return find(connection, name)


def _insert_hosts(
    connection: Connection, study: str, hosts: Sequence[FleetHost], first: int, added: str | None = None
) -> None:
    rows = [
        {
            "study": study,
            "host": host.name,
            "place": first + place,
            "group_name": host.group,
            "attributes": to_text(published(host.attributes)),
            "address": None if host.address is None else to_text(published(host.address)),
            "added": added,
        }
        for place, host in enumerate(hosts)
    ]
    connection.execute(insert(schema.fleet_hosts), list(map(storable, rows)))


def _insert_host_runs(
    connection: Connection, study: str, new: Iterable[HostRun], created: str, plan: FleetPlan
) -> None:
    every, first = plan.plan.repetition.every, datetime.fromisoformat(created)
    rows = []
    for one in new:
        due = (first + timedelta(seconds=(one.session - 1) * every)).isoformat(timespec="milliseconds")
        row = asdict(replace(one, due=max(due, one.due), changed=created))
        rows.append(storable({**row, "study": study, "group_name": row.pop("group")}))
    if rows:
        connection.execute(insert(schema.host_runs), rows)


def all_studies(connection: Connection) -> list[FleetStudy]:
    """Return every study, the newest first; a damaged one is left out and logged."""
    return list(_studies(connection, select(schema.fleet_studies)))


def find(connection: Connection, word: str) -> FleetStudy:
    """Return the study by its id, the newest by its name, or the newest for “last”. Raises StoreError without one."""
    table = schema.fleet_studies
    found = next(_studies(connection, select(table).where(table.c.id == word)), None)
    if found is None:
        every = all_studies(connection)
        found = next((one for one in every if word in {one.name, "last"}), None)
    if found is None:
        raise StoreError(f"There is no fleet study “{word[:60]}”.", host_runs.LIST)
    return found


def _studies(connection: Connection, query: Select[Any]) -> Iterator[FleetStudy]:
    table = schema.fleet_studies.c
    rows = connection.execute(query.order_by(table.created.desc(), table.id)).all()
    counts = host_runs.counts_of(connection, [row.id for row in rows])
    hosts = _hosts(connection, [row.id for row in rows])
    for row in rows:
        try:
            plan = fleet_plan_from_json(json.loads(row.plan), tuple(hosts[row.id]))
        except (FormatError, ValueError):
            log.warning("the fleet study %s cannot be read", row.id, exc_info=True)
            continue
        yield FleetStudy(
            row.id, plan.plan.name, plan, row.created, row.ended, row.paused, bool(row.by_workers), counts[row.id]
        )


def _hosts(connection: Connection, studies: Sequence[str]) -> Mapping[str, list[FleetHost]]:
    """Return the hosts of studies, without those that were removed."""
    table = schema.fleet_hosts.c
    found: dict[str, list[FleetHost]] = defaultdict(list)
    query = select(table.study, table.host, table.group_name, table.attributes, table.address)
    query = query.where(table.study.in_(studies), table.removed.is_(None)).order_by(table.study, table.place)
    for study, host, group, attributes, address in connection.execute(query):
        stated = host_attributes_from_json(json.loads(attributes))
        reached = None if address is None else host_address_from_json(json.loads(address))
        found[study].append(FleetHost(host, group, stated, reached))
    return found


# What the user changes


def pause(connection: Connection, word: str, *, paused: bool) -> FleetStudy:
    """Pause a study, so that nothing more starts, or resume it; return it. Host-runs under way continue."""
    study, table = find(connection, word), schema.fleet_studies
    moment = dialect_of(connection).moment(connection) if paused else None
    connection.execute(update(table).where(table.c.id == study.id).values(paused=moment))
    return replace(study, paused=moment)


def end(connection: Connection, word: str) -> FleetStudy:
    """End a study: what waits is skipped; host-runs under way continue. Return it."""
    study, table = find(connection, word), schema.fleet_studies
    moment = dialect_of(connection).moment(connection)
    for one in host_runs.host_runs(connection, study.id, [HostRunState.WAITING]):
        host_runs.write(
            connection, study.id, replace(one, state=HostRunState.SKIPPED, reason="the study was ended", changed=moment)
        )
    connection.execute(update(table).where(table.c.id == study.id).values(ended=study.ended or moment))
    return find(connection, study.id)


def again(connection: Connection, word: str, hosts: Sequence[str], states: Sequence[HostRunState]) -> list[HostRun]:
    """Let the host-runs of `hosts` (all if empty) in `states` wait again, in an ended study too; return them."""
    study = find(connection, word)
    moment = dialect_of(connection).moment(connection)
    chosen = _chosen(connection, study, hosts, states)
    found = [
        replace(one, state=HostRunState.WAITING, reason="", attempts=0, due=max(one.due, moment)) for one in chosen
    ]
    _write_changed(connection, study, found, moment)
    if found:
        own = update(schema.fleet_studies).where(schema.fleet_studies.c.id == study.id)
        connection.execute(own.values(ended=None))
    return found


def skip(connection: Connection, word: str, hosts: Sequence[str]) -> list[HostRun]:
    """Skip the waiting host-runs of `hosts`; return them."""
    study = find(connection, word)
    moment = dialect_of(connection).moment(connection)
    chosen = _chosen(connection, study, hosts, [HostRunState.WAITING])
    found = [replace(one, state=HostRunState.SKIPPED, reason="skipped") for one in chosen]
    _write_changed(connection, study, found, moment)
    host_runs.end_if_over(connection, study.id, moment)
    return found


def _chosen(
    connection: Connection, study: FleetStudy, hosts: Sequence[str], states: Sequence[HostRunState]
) -> list[HostRun]:
    """Return the host-runs of `hosts` (all if empty) in `states`. Raises StoreError for an unknown host."""
    every = host_runs.host_runs(connection, study.id)
    known = {host for one in every for host in one.hosts}
    if unknown := [host for host in hosts if host not in known]:
        raise StoreError(f"{study.id} has no host {', '.join(unknown)[:120]}.", "List them: benchwright fleet show")
    return [one for one in every if one.state in states and (not hosts or set(one.hosts) & set(hosts))]


def _write_changed(connection: Connection, study: FleetStudy, changed: Iterable[HostRun], moment: str) -> None:
    for one in changed:
        host_runs.write(connection, study.id, replace(one, epoch=one.epoch + 1, changed=moment))


def add_hosts(connection: Connection, word: str, hosts: Sequence[FleetHost], replaced: str = "") -> list[HostRun]:
    """Add hosts to a study, or one in place of the host `replaced`; return their new host-runs.

    A new host gets a host-run in every session that is not over for others, in place of those of `replaced` that did
    not end well. Host-runs that ended stay. Raises StoreError for hosts that the study has, and for a mesh or pairs.
    """
    study = find(connection, word)
    _refuse_addition(connection, study, hosts, replaced)
    moment = dialect_of(connection).moment(connection)
    table = schema.fleet_hosts
    every = host_runs.host_runs(connection, study.id)
    sessions = {one.session for one in every if not one.state.over} or {study.plan.sessions}
    if replaced:
        own = update(table).where(table.c.study == study.id, table.c.host == replaced)
        connection.execute(own.values(removed=moment, replaced_by=hosts[0].name))
        sessions = {one.session for one in every if one.host == replaced and one.state is not HostRunState.DONE}
        for one in every:
            if replaced in one.hosts and one.state in {HostRunState.WAITING, HostRunState.FAILED}:
                reason = f"replaced by {hosts[0].name}"
                made = replace(one, state=HostRunState.SKIPPED, reason=reason, epoch=one.epoch + 1, changed=moment)
                host_runs.write(connection, study.id, made)
    places = connection.execute(select(func.max(table.c.place)).where(table.c.study == study.id)).scalar() or 0
    _insert_hosts(connection, study.id, hosts, places + 1, moment)
    last = max((one.number for one in every), default=0)
    added = replace(study.plan, hosts=tuple(hosts))
    chosen = [one for one in added.host_runs() if one.session in sessions]
    made_runs = [replace(one, number=last + number, due=moment) for number, one in enumerate(chosen, 1)]
    _insert_host_runs(connection, study.id, made_runs, study.created, added)
    own_study = update(schema.fleet_studies).where(schema.fleet_studies.c.id == study.id)
    connection.execute(own_study.values(ended=None))
    return made_runs


def _refuse_addition(connection: Connection, study: FleetStudy, hosts: Sequence[FleetHost], replaced: str) -> None:
    table = schema.fleet_hosts.c
    known = set(connection.execute(select(table.host).where(table.study == study.id)).scalars())
    if twice := [host.name for host in hosts if host.name in known]:
        raise StoreError(f"{study.id} has the host {twice[0]} already.", "Let it run again: benchwright fleet retry")
    if replaced and replaced not in known:
        raise StoreError(f"{study.id} has no host {replaced}.", "List them: benchwright fleet show")
    if any(one.peer for one in study.plan.host_runs()) and study.plan.topology.value != "fixed":
        raise StoreError(
            f"{study.id} has network tests in {study.plan.topology}: a new host changes every pair.",
            "Begin a new study with the hosts.",
        )


def studies_of(connection: Connection, run: str) -> list[str]:
    """Return the studies that have the run `run`."""
    table = schema.host_runs.c
    return list(connection.execute(select(table.study).where(table.run == run)).scalars())
