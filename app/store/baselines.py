"""Baselines in the store: pinned, found, removed."""

from collections import defaultdict
from collections.abc import Sequence

from sqlalchemy import Connection, delete, func, insert, select

from app.baselines.baselines import TOO_OLD, Baseline, check_name, part_of, split_name
from app.baselines.reference import Reference
from app.baselines.references import from_text, to_text
from app.moments import now
from app.store import schema
from app.store.errors import StoreError


def pin(
    connection: Connection,
    name: str,
    parts: Sequence[str] = (),
    *,
    reference: Reference | None = None,
    oldest: float | None = None,
) -> int:
    """Pin what `parts` say, or a table, as the next version of the baseline `name`; return the version."""
    chosen, table = check_name(name), schema.baselines
    newest = connection.execute(select(func.max(table.c.version)).where(table.c.name == chosen)).scalar() or 0
    number = connection.execute(
        insert(table).values(
            name=chosen,
            version=newest + 1,
            pinned=now(),
            oldest=oldest,
            size=len(parts),
            reference=None if reference is None else to_text(reference),
        )
    ).inserted_primary_key
    rows = [
        {"baseline": number[0] if number else None, "run_id": run, "part": part}
        for run, part in (part_of(word) for word in parts)
    ]
    if rows:
        connection.execute(insert(schema.baseline_parts), rows)
    return newest + 1


def remove(connection: Connection, word: str) -> int:
    """Remove a baseline, or one version of it; return how many versions went. Raises StoreError where there is none."""
    table = schema.baselines.c
    name, version = split_name(word)
    whole = connection.execute(delete(schema.baselines).where(table.name == word)).rowcount
    if not whole and version is not None:
        chosen = (table.name == name) & (table.version == version)
        whole = connection.execute(delete(schema.baselines).where(chosen)).rowcount
    if not whole:
        raise StoreError(f"No baseline is named “{word[:80]}”.", "“benchwright baseline list” shows those there are.")
    return whole


def baselines(connection: Connection) -> list[Baseline]:
    """Return every version of every baseline, the newest pinned first."""
    table, parts, runs = schema.baselines.c, schema.baseline_parts.c, schema.runs.c
    latest = connection.execute(select(table.name, func.max(table.version).label("newest")).group_by(table.name))
    newest = {row.name: row.newest for row in latest}
    words: dict[int, list[str]] = defaultdict(list)
    begun: dict[int, str] = {}
    query = select(parts.baseline, parts.run_id, parts.part, runs.started).join(schema.runs, runs.id == parts.run_id)
    for number, run, part, started in connection.execute(query.order_by(parts.id)):
        words[number].append(f"{run}{part}")
        begun[number] = max(begun.get(number, ""), started)
    found = []
    for row in connection.execute(select(schema.baselines).order_by(table.id.desc())):
        reference = None if row.reference is None else from_text(row.reference)
        measured = begun.get(row.id, "") if reference is None else reference.measured
        oldest = TOO_OLD if row.oldest is None else row.oldest
        latest = newest[row.name] == row.version
        parts_of = tuple(words[row.id])
        found.append(
            Baseline(row.name, row.version, row.pinned, parts_of, row.size, reference, measured, oldest, latest)
        )
    return found


def forget_empty(connection: Connection) -> None:
    """Remove the versions whose runs have all been deleted."""
    held = select(schema.baseline_parts.c.baseline)
    empty = schema.baselines.c.reference.is_(None) & schema.baselines.c.id.not_in(held)
    connection.execute(delete(schema.baselines).where(empty))


def run_named(connection: Connection, word: str) -> str | None:
    """Return the id of the run that is the whole of the baseline `word`; None where there is no such baseline.

    Raises StoreError for a baseline that is no single run.
    """
    name, version = split_name(word)
    fitting = [
        one
        for one in baselines(connection)
        if (one.name == word and one.newest) or (one.name == name and one.version == version)
    ]
    if not fitting:
        return None
    one = fitting[0]
    if one.kind == "run" and one.parts == one.runs:
        return one.runs[0]
    raise StoreError(f"The baseline “{one.name}” is no single run.", f"Write {one.word} where several runs may stand.")
