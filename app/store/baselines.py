"""Rows of baselines and calibrations."""

import json
from collections import defaultdict
from collections.abc import Collection, Sequence

from sqlalchemy import Connection, delete, func, insert, select

from app.formats import calibration_from_json, calibration_to_json
from app.records import PREFIX, BaselineRow, Calibration, lowest_trust, split_name
from app.store import schema
from app.store.errors import StoreError, no_run
from app.store.rows import inserted_id, storable, to_text
from app.timestamps import now
from suites.verdict import Trust


def pin(
    connection: Connection,
    name: str,
    parts: Sequence[tuple[str, str]] = (),
    *,
    reference: str | None = None,
    oldest: float | None = None,
) -> int:
    """Pin `parts` of runs, or the JSON of a table, as the next version of the baseline `name`; return the version.

    `oldest` is its maximum age in seconds, None for the program's default. Raises StoreError for a run that another
    program has deleted.
    """
    runs = schema.runs.c.id
    wanted = dict.fromkeys(run for run, _ in parts)
    missing = wanted.keys() - set(connection.execute(select(runs).where(runs.in_(wanted))).scalars())
    if missing:
        raise no_run(min(missing))
    table = schema.baselines
    newest = connection.execute(select(func.max(table.c.version)).where(table.c.name == name)).scalar() or 0
    row = {"pinned": now(), "oldest": oldest, "size": len(parts), "reference": reference}
    number = inserted_id(connection, table, {"name": name, "version": newest + 1, **row})
    if parts:
        rows = [{"baseline": number, "run_id": run, "part": part} for run, part in parts]
        connection.execute(insert(schema.baseline_parts), rows)
    return newest + 1


def remove(connection: Connection, word: str) -> int:
    """Remove a baseline, or one version of it; return the number removed. Raises StoreError if there is none."""
    table = schema.baselines.c
    name, version = split_name(word)
    whole = connection.execute(delete(schema.baselines).where(table.name == word)).rowcount
    if not whole and version is not None:
        chosen = (table.name == name) & (table.version == version)
        whole = connection.execute(delete(schema.baselines).where(chosen)).rowcount
    if not whole:
        raise StoreError(f"No baseline is named “{word[:80]}”.", "List them with: benchwright baseline list")
    return whole


def baselines(connection: Connection) -> list[BaselineRow]:
    """Return every version of every baseline, last pinned first."""
    table, parts, runs = schema.baselines.c, schema.baseline_parts.c, schema.runs.c
    newest: dict[str, int] = {}
    pinned: dict[int, list[tuple[str, str]]] = defaultdict(list)
    begun: dict[int, str] = {}
    query = select(parts.baseline, parts.run_id, parts.part, runs.started).join(schema.runs, runs.id == parts.run_id)
    for number, run, part, started in connection.execute(query.order_by(parts.id)):
        pinned[number].append((run, part))
        begun[number] = max(begun.get(number, ""), started)
    trusts = _trusts(connection, {run for own in pinned.values() for run, _ in own})
    rows = connection.execute(select(schema.baselines).order_by(table.id.desc())).all()
    for row in rows:
        newest[row.name] = max(newest.get(row.name, 0), row.version)
    return [
        BaselineRow(
            row.name, row.version, row.pinned, tuple(pinned[row.id]), row.size, begun.get(row.id, ""), row.reference,
            row.oldest, newest[row.name] == row.version, lowest_trust(trusts, pinned[row.id]),
        )
        for row in rows
    ]  # fmt: skip


def _trusts(connection: Connection, runs: Collection[str]) -> dict[tuple[str, str, str], Trust]:
    """Return the trust of each verdict on the steps of the runs, by run, step and host."""
    table = schema.verdicts.c
    query = select(table.run_id, table.step, table.host, table.level).where(
        table.run_id.in_(runs), table.step.is_not(None)
    )
    return {(run, step, host): Trust(level) for run, step, host, level in connection.execute(query) if level in _LEVELS}


_LEVELS = frozenset(Trust)


def forget_empty(connection: Connection) -> None:
    """Remove the versions whose runs have all been deleted."""
    used = select(schema.baseline_parts.c.baseline)
    empty = schema.baselines.c.reference.is_(None) & schema.baselines.c.id.not_in(used)
    connection.execute(delete(schema.baselines).where(empty))


def run_named(connection: Connection, word: str) -> str | None:
    """Return the id of the one run of the baseline NAME or ``baseline:NAME``; None if there is no such baseline.

    Raises StoreError for a baseline that is not exactly one whole run.
    """
    name, version = split_name(word)
    whole = word.removeprefix(PREFIX)
    matches = [
        one
        for one in baselines(connection)
        if (one.name == whole and one.newest) or (one.name == name and one.version == version)
    ]
    if not matches:
        return None
    one = matches[0]
    if one.reference is None and one.size == 1 and len(one.parts) == 1 and not one.parts[0][1]:
        return one.parts[0][0]
    raise StoreError(
        f"The baseline “{one.name}” is not a single run.",
        f"Use {PREFIX}{one.name}@{one.version} where several runs are accepted.",
    )


def keep_calibration(connection: Connection, found: Calibration) -> None:
    """Store a calibration; it supersedes older ones of the same host and suite, which stay stored."""
    row = {"host": found.host, "suite": found.suite, "made": found.made}
    content = to_text(calibration_to_json(found))
    connection.execute(insert(schema.calibrations), storable({**row, "content": content}))


def calibrations(connection: Connection, hosts: Sequence[str] | None = None) -> tuple[Calibration, ...]:
    """Return the calibrations of `hosts`, or all, newest first. Raises FormatError for a damaged one."""
    table = schema.calibrations
    query = select(table.c.content).order_by(table.c.made.desc(), table.c.id.desc())
    if hosts is not None:
        query = query.where(table.c.host.in_(hosts))
    return tuple(calibration_from_json(json.loads(content)) for content in connection.execute(query).scalars())


def forget_calibrations(connection: Connection, host: str) -> int:
    """Delete the calibrations of a host, not their runs; return the number deleted."""
    return connection.execute(delete(schema.calibrations).where(schema.calibrations.c.host == host)).rowcount
