"""Fleet studies in the library: begin, find, pause, end and extend them."""

import logging
import secrets
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import Connection, Select, func, insert, select, update

from app.events import State
from app.fleet_study import (
    MOST_HOST_RUNS,
    MOST_HOSTS,
    STUDY_INITIAL,
    FleetHost,
    FleetPlan,
    FleetStudy,
    HostRun,
    HostRunState,
    Topology,
)
from app.formats import (
    FormatError,
    fleet_plan_from_json,
    fleet_plan_to_json,
    host_address_from_json,
    host_attributes_from_json,
    read_json,
)
from app.host_attributes import HostAddress, HostAttributes
from app.json_converter import published, short
from app.store import host_runs, ownership, schema
from app.store.dialects import dialect_of
from app.store.errors import NoStudyError, StoreError
from app.store.rows import check_types, storable, to_text
from app.user_texts import CONTROL
from suites.errors import BenchwrightError
from suites.quantities import count_text

log = logging.getLogger(__name__)

_ID_LENGTH = 5


def begin(connection: Connection, plan: FleetPlan, *, by_workers: bool) -> FleetStudy:
    """Store a new study of `plan` with all of its host-runs, which wait; return it."""
    name = STUDY_INITIAL + "".join(secrets.choice(ownership.READABLE) for _ in range(_ID_LENGTH))
    created = dialect_of(connection).moment(connection)
    row = {"id": name, "plan": to_text(fleet_plan_to_json(plan)), "created": created, "by_workers": by_workers}
    connection.execute(insert(schema.fleet_studies), row)
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
    dues = [
        (first + timedelta(seconds=session * every)).isoformat(timespec="milliseconds")
        for session in range(plan.sessions)
    ]
    rows = []
    for one in new:
        due = dues[one.session - 1]
        rows.append({**host_runs.row_of(replace(one, due=max(due, one.due), changed=created)), "study": study})
    if rows:
        connection.execute(insert(schema.host_runs), rows)


def all_studies(connection: Connection) -> list[FleetStudy]:
    """Return every study, the newest first; a damaged one is left out and logged."""
    return list(_studies(connection, select(schema.fleet_studies)))


def find(connection: Connection, word: str) -> FleetStudy:
    """Return the study by its id, the newest by its name, or the newest for “last”. Raises NoStudyError without one."""
    table = schema.fleet_studies
    found = next(_studies(connection, select(table).where(table.c.id == word)), None)
    if found is None:
        every = all_studies(connection)
        found = next((one for one in every if word in {one.name, "last"}), None)
    if found is None:
        raise NoStudyError(f"There is no fleet study “{word[:60]}”.", host_runs.LIST)
    return found


def _studies(connection: Connection, query: Select[Any]) -> Iterator[FleetStudy]:
    table = schema.fleet_studies.c
    rows = [dict(row) for row in connection.execute(query.order_by(table.created.desc(), table.id)).mappings()]
    counts = host_runs.counts_of(connection, [row["id"] for row in rows])
    for row in rows:
        try:
            yield read(connection, row, counts[row["id"]])
        except (BenchwrightError, ValueError):
            log.warning("the fleet study %s cannot be read", short(row["id"]), exc_info=True)


def read(connection: Connection, row: Mapping[str, Any], counts: Mapping[str, int] | None = None) -> FleetStudy:
    """Return a study from its row. Raises FormatError or ValueError for what another program has written."""
    check_types(schema.fleet_studies, row)
    if counts is None:
        counts = host_runs.counts_of(connection, [row["id"]])[row["id"]]
    states = Counter({HostRunState(state): count for state, count in counts.items()})
    if states.total() > MOST_HOST_RUNS:
        raise FormatError(f"It has {states.total():,} host-runs.")
    hosts, replaced = _hosts(connection, row["id"])
    plan = fleet_plan_from_json(read_json(row["plan"], "The fleet plan"), hosts)
    moments = row["created"], row["ended"], row["paused"], row["stopped"]
    return FleetStudy(row["id"], plan.plan.name, plan, *moments, bool(row["by_workers"]), states, replaced)


def _hosts(connection: Connection, study: str) -> tuple[tuple[FleetHost, ...], tuple[FleetHost, ...]]:
    """Return the hosts of a study, and those that were replaced. Raises FormatError and ValueError."""
    table = schema.fleet_hosts
    query = select(table.c.host, table.c.group_name, table.c.attributes, table.c.address, table.c.removed)
    query = query.where(table.c.study == study).order_by(table.c.place)
    rows = connection.execute(query.limit(2 * MOST_HOSTS + 1)).mappings().all()
    read = cache(_attributes)  # those of one group are often the same
    found: list[FleetHost] = []
    replaced: list[FleetHost] = []
    for row in rows:
        check_types(table, dict(row))
        attributes = read(row["attributes"])
        if CONTROL.search(row["host"]) or CONTROL.search(row["group_name"]):
            raise FormatError("The name of a host or group has a control character.")
        address = None if row["address"] is None else _address(row["address"])
        kept = found if row["removed"] is None else replaced
        kept.append(FleetHost(row["host"], row["group_name"], attributes, address))
    if max(len(found), len(replaced)) > MOST_HOSTS:
        raise FormatError(f"It has more than {MOST_HOSTS:,} hosts.")
    return tuple(found), tuple(replaced)


def _address(text: str) -> HostAddress:
    found = host_address_from_json(read_json(text, "The address"))
    if any(CONTROL.search(value) for value in astuple(found) if isinstance(value, str)):
        raise FormatError("An address has a control character.")
    return found


def _attributes(text: str) -> HostAttributes:
    found = host_attributes_from_json(read_json(text, "The attributes"))
    if any(CONTROL.search(value) for value in (*astuple(found), *found.groups) if isinstance(value, str)):
        raise FormatError("An attribute has a control character.")
    return found


# What the user changes


def pause(connection: Connection, word: str, *, paused: bool) -> FleetStudy:
    """Pause a study, so that nothing more starts, or resume it; return it. Host-runs under way continue."""
    study, table = find(connection, word), schema.fleet_studies
    moment = dialect_of(connection).moment(connection) if paused else None
    connection.execute(update(table).where(table.c.id == study.id).values(paused=moment))
    return replace(study, paused=moment)


def end(connection: Connection, word: str, *, stop: bool = False) -> FleetStudy:
    """End a study: what waits, also for a worker, is skipped; host-runs under way continue, unless `stop`. Return it.

    Whoever carries them finds the request to stop when it next looks at the study.
    """
    study, table = find(connection, word), schema.fleet_studies
    moment = dialect_of(connection).moment(connection)
    own = schema.host_runs.c
    unbegun = own.state.in_([HostRunState.WAITING.value, HostRunState.READY.value])
    skipped = {
        "state": HostRunState.SKIPPED.value,
        "reason": host_runs.ENDED,
        "changed": moment,
        "epoch": own.epoch + 1,
    }
    before = own.study == study.id, own.state == HostRunState.SKIPPED.value
    connection.execute(update(schema.host_runs).where(*before).values(epoch=own.epoch + 1))  # undone no more
    connection.execute(update(schema.host_runs).where(own.study == study.id, unbegun).values(skipped))
    ended = {"ended": study.ended or moment, "stopped": moment if stop else study.stopped}
    connection.execute(update(table).where(table.c.id == study.id).values(ended))
    return find(connection, study.id)


def again(
    connection: Connection,
    word: str,
    hosts: Sequence[str],
    states: Sequence[HostRunState],
    numbers: Collection[int] = (),
) -> list[HostRun]:
    """Let the host-runs in `states` of `hosts`, or with `numbers`, wait again, in an ended study too; return them.

    Without either all of them. With either also those that are done and whose run was deleted.

    One whose run has not ended, or was completed meanwhile, is under way again without a carrier: release() returns it
    to be attached, or settles it by its run.
    """
    study = find(connection, word)
    moment = dialect_of(connection).moment(connection)
    found = _chosen(connection, study, hosts, numbers, states)
    if hosts or numbers:
        stored = {one.number for one in host_runs.measured(connection, study.id)}
        done = _chosen(connection, study, hosts, numbers, [HostRunState.DONE])
        found += [replace(one, run="") for one in done if one.number not in stored]
    chosen = [replace(one, reason="", attempts=0) for one in found]
    unended = {one.number for one in host_runs.with_run(connection, study.id, states, [State.RUNNING, State.DONE])}
    attached = [replace(one, state=HostRunState.RUNNING, worker="") for one in chosen if one.number in unended]
    waiting = [
        replace(one, state=HostRunState.WAITING, due=max(one.due, moment))
        for one in chosen
        if one.number not in unended
    ]
    _write_changed(connection, study, waiting, moment)
    host_runs.write(connection, study.id, *(replace(one, epoch=one.epoch + 1) for one in attached))
    if chosen:
        _reopen(connection, study)
    return [*attached, *waiting]


def skip(connection: Connection, word: str, hosts: Sequence[str], numbers: Collection[int] = ()) -> list[HostRun]:
    """Skip the waiting host-runs of `hosts`, or those with `numbers`; return them."""
    study = find(connection, word)
    moment = dialect_of(connection).moment(connection)
    chosen = _chosen(connection, study, hosts, numbers, [HostRunState.WAITING])
    skipped = [replace(one, state=HostRunState.SKIPPED, reason="skipped") for one in chosen]
    found = _write_changed(connection, study, skipped, moment)
    host_runs.end_if_over(connection, study.id, moment)
    return found


def unskip(connection: Connection, word: str, skipped: Sequence[HostRun]) -> list[HostRun]:
    """Let the host-runs that skip() returned wait again, unless they have changed since; return those.

    The end of the study by end(), and another host in place of theirs, change them.
    """
    study = find(connection, word)
    moment = dialect_of(connection).moment(connection)
    epochs = {one.number: one.epoch for one in host_runs.host_runs(connection, study.id, [HostRunState.SKIPPED])}
    chosen = [one for one in skipped if epochs.get(one.number) == one.epoch]
    waiting = [replace(one, state=HostRunState.WAITING, reason="") for one in chosen]
    found = _write_changed(connection, study, waiting, moment)
    if found:
        _reopen(connection, study)
    return found


def _reopen(connection: Connection, study: FleetStudy) -> None:
    """Open a study, given as it was before; raise StoreError while what was under way is being stopped."""
    under_way = sum(count for state, count in study.counts.items() if state.active)
    if study.stopped is not None and under_way:
        raise StoreError(
            f"{study.id} is being stopped: {count_text(under_way, 'host-run')} under way.",
            f"Wait for their end; if no process runs the study: benchwright fleet resume {study.id}",
        )
    own = update(schema.fleet_studies).where(schema.fleet_studies.c.id == study.id)
    connection.execute(own.values(ended=None, stopped=None))


def _chosen(
    connection: Connection,
    study: FleetStudy,
    hosts: Sequence[str],
    numbers: Collection[int],
    states: Sequence[HostRunState],
) -> list[HostRun]:
    """Return the host-runs in `states` of `hosts`, or with `numbers` (all without either), not of replaced hosts.

    Raises StoreError for an unknown host, and for one that was replaced.
    """
    every, gone, wanted = host_runs.host_runs(connection, study.id), _replacements(connection, study), set(numbers)
    known = {host for one in every for host in one.hosts}
    if unknown := [host for host in hosts if host not in known]:
        raise StoreError(f"{study.id} has no host {', '.join(unknown)[:120]}.", "List them: benchwright fleet show")
    _refuse_replaced(gone, hosts)
    return [
        one
        for one in every
        if one.state in states
        and not set(one.hosts) & gone.keys()
        and (not hosts or set(one.hosts) & set(hosts))
        and (not wanted or one.number in wanted)
    ]


def _replacements(connection: Connection, study: FleetStudy) -> Mapping[str, str]:
    """Return the hosts of a study that were replaced, each with the host in its place."""
    table = schema.fleet_hosts.c
    query = select(table.host, table.replaced_by).where(table.study == study.id, table.removed.is_not(None))
    return {host: new or "" for host, new in connection.execute(query)}


def _refuse_replaced(gone: Mapping[str, str], hosts: Iterable[str]) -> None:
    """Raise StoreError if one of `hosts` was replaced: the host in its place has its sessions."""
    if old := next((host for host in hosts if host in gone), None):
        new = old
        for _ in gone:  # which may have been replaced, too
            new = gone.get(new, new)
        raise StoreError(f"{old[:60]} was replaced by {new[:60]}.", f"Choose {new[:60]}, which has its sessions.")


def _write_changed(connection: Connection, study: FleetStudy, changed: Iterable[HostRun], moment: str) -> list[HostRun]:
    """Write host-runs that were changed, with the next epoch; return them as written."""
    written = [replace(one, epoch=one.epoch + 1, changed=moment) for one in changed]
    host_runs.write(connection, study.id, *written)
    return written


def add_hosts(connection: Connection, word: str, hosts: Sequence[FleetHost], replaced: str = "") -> list[HostRun]:
    """Add hosts to a study, or one in place of the host `replaced`; return their new host-runs.

    A new host gets a host-run in every session that is not over for others, else in the last one. One in place of
    `replaced` gets one for each of its host-runs that did not end well, if it has any: they are skipped, and who
    carries one stops its run. Host-runs that were completed stay. Raises StoreError for hosts that the study has, and
    for a mesh or pairs.
    """
    study = find(connection, word)
    if not hosts or (replaced and len(hosts) > 1):
        raise StoreError(f"{len(hosts)} hosts cannot take the place of {replaced or 'none'}.", "Name one host.")
    _refuse_addition(connection, study, hosts, replaced)
    moment = dialect_of(connection).moment(connection)
    table = schema.fleet_hosts
    every = host_runs.host_runs(connection, study.id)
    sessions = {one.session for one in every if not one.state.over} or {study.plan.sessions}
    if replaced:
        own = update(table).where(table.c.study == study.id, table.c.host == replaced)
        connection.execute(own.values(removed=moment, replaced_by=hosts[0].name))
        unmet = {one.session for one in every if one.host == replaced and one.state is not HostRunState.DONE}
        sessions = unmet or sessions
        reason = f"replaced by {hosts[0].name}"
        unmeasured = [
            replace(one, state=HostRunState.SKIPPED, reason=reason)
            for one in every
            if replaced in one.hosts and one.state is not HostRunState.DONE
        ]
        _write_changed(connection, study, unmeasured, moment)
    places = connection.execute(select(func.max(table.c.place)).where(table.c.study == study.id)).scalar() or 0
    _insert_hosts(connection, study.id, hosts, places + 1, moment)
    last = max((one.number for one in every), default=0)
    added = replace(study.plan, hosts=tuple(hosts))
    chosen = [one for one in added.host_runs() if one.session in sessions]
    made_runs = [replace(one, number=last + number, due=moment) for number, one in enumerate(chosen, 1)]
    _insert_host_runs(connection, study.id, made_runs, study.created, added)
    _reopen(connection, study)
    return made_runs


def _refuse_addition(connection: Connection, study: FleetStudy, hosts: Sequence[FleetHost], replaced: str) -> None:
    table = schema.fleet_hosts.c
    known = set(connection.execute(select(table.host).where(table.study == study.id)).scalars())
    gone = _replacements(connection, study)
    if back := next((host.name for host in hosts if host.name in gone), None):
        new = gone[back]
        raise StoreError(f"{back[:60]} was replaced by {new[:60]} in {study.id}.", "Measure it in a study of its own.")
    if twice := [host.name for host in hosts if host.name in known]:
        again = f"benchwright fleet retry {study.id} {shlex.quote(twice[0])}"
        raise StoreError(f"{study.id} has the host {twice[0]} already.", f"Let it run again: {again}")
    if replaced and replaced not in known:
        raise StoreError(f"{study.id} has no host {replaced}.", f"List them: benchwright fleet show {study.id}")
    _refuse_replaced(gone, [replaced])
    fixed = study.plan.topology is Topology.FIXED
    if fixed and replaced in {step.peer for step in study.plan.network_steps}:
        raise StoreError(
            f"{replaced[:60]} is the peer of the network tests of {study.id}: results with another peer differ.",
            "Begin a new study with another peer.",
        )
    if study.plan.network_steps and not fixed:
        raise StoreError(
            f"{study.id} has network tests in {study.plan.topology}: a new host changes every pair.",
            "Begin a new study with the hosts.",
        )


def studies_of(connection: Connection, run: str) -> list[str]:
    """Return the studies that have the run `run`."""
    table = schema.host_runs.c
    return list(connection.execute(select(table.study).where(table.run == run)).scalars())
