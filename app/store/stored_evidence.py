"""Counts of the evidence of a run, stored when it ends, so that what a damaged library lost is seen as missing."""

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, func, select, true, update

from app.events import State
from app.store import schema
from suites.quantities import count_text, listed

_BY_RUN = (schema.facts, schema.trials, schema.figures, schema.findings, schema.series)
"""Tables whose rows are counted by run."""

_SAMPLES = "samples"

COUNTED_SINCE = 17
"""Format since which evidence is counted when a run ends."""

_UNKNOWN = "unknown"


def write(connection: Connection, runs: Collection[str] | None = None) -> None:
    """Store how much evidence `runs` have, by default those of which it is not known. Runs under way are left out."""
    table = schema.runs
    chosen = table.c.evidence.is_(None) if runs is None else table.c.id.in_(runs)
    ended = select(table.c.id).where(chosen, table.c.state != State.RUNNING.value)
    found = list(connection.execute(ended).scalars())
    counted = _counts(connection, None if runs is None else runs)
    for run in found:
        text = json.dumps(counted.get(run, {}))
        connection.execute(update(table).where(table.c.id == run).values(evidence=text))


def mark_unknown(salvaged: sqlite3.Connection) -> None:
    """Mark all runs of a library before COUNTED_SINCE, saved in parts: which of their evidence is lost is not known."""
    salvaged.execute("ALTER TABLE runs ADD COLUMN evidence TEXT")
    salvaged.execute("UPDATE runs SET evidence = ?", (json.dumps({_UNKNOWN: 1}),))


def missing(connection: Connection, runs: Collection[str] | None = None) -> Mapping[str, str]:
    """Return which evidence is missing, by run, of all ended runs or of `runs`; those that have all of it are left out.

    Of a run that ended before format 17, what was lost before the upgrade is not known. It is seen that a series has
    no samples, and that a host with telemetry has no series.
    """
    table = schema.runs.c
    query = select(table.id, table.evidence).where(table.state != State.RUNNING.value, _is_one_of(table.id, runs))
    rows = connection.execute(query).all()
    counted, empty = _counts(connection, runs), _empty_series(connection, runs)
    return {
        run: f"Evidence is missing in the library: {listed(lost, len(lost))}."
        for run, text in rows
        if (lost := list(_lost(_expected(text), counted.get(run, {}), empty.get(run, 0))))
    }


def _lost(expected: Mapping[str, int], found: Mapping[str, int], empty: int) -> Iterator[str]:
    short = {name: (count - found.get(name, 0), count) for name, count in expected.items()}
    if _UNKNOWN in expected:
        yield "unknown parts, as the library was damaged"
        return
    for name, (lost, count) in short.items():
        if lost > 0:
            yield f"{lost:,} of {count:,} {name}"
    if empty and short.get(_SAMPLES, (0, 0))[0] <= 0:
        yield f"the samples of {count_text(empty, 'series', 'series')}"


def _expected(text: str | None) -> dict[str, int]:
    """Return the stored counts; none if they are not known or malformed."""
    try:
        found = json.loads(text or "{}")
        return {str(name): int(count) for name, count in found.items()}
    except (ValueError, TypeError, AttributeError):
        return {}


def _counts(connection: Connection, runs: Collection[str] | None) -> Mapping[str, Counter[str]]:
    """Return the number of rows by run and name of their table, and of samples."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for table in _BY_RUN:
        run = table.c.run_id
        query = select(run, func.count()).where(_is_one_of(run, runs)).group_by(run)
        for row, count in connection.execute(query):
            found[row][table.name] += count
    for query in _sample_counts(runs):
        for row, count in connection.execute(query):
            found[row][_SAMPLES] += int(count)  # PostgreSQL sums to a decimal number
    return found


def _sample_counts(runs: Collection[str] | None) -> Iterator[Select[Any]]:
    series, rows, packed, times = schema.series.c, schema.sample_rows.c, schema.packed_samples.c, schema.sample_times.c
    chosen = _is_one_of(series.run_id, runs)
    yield (
        select(series.run_id, func.count())
        .join(schema.sample_rows, rows.series == series.id)
        .where(chosen)
        .group_by(series.run_id)
    )
    yield (
        select(series.run_id, func.sum(times.n))
        .join(schema.packed_samples, packed.series == series.id)
        .join(schema.sample_times, times.id == packed.times)
        .where(chosen)
        .group_by(series.run_id)
    )


def _empty_series(connection: Connection, runs: Collection[str] | None) -> Mapping[str, int]:
    """Return the number of series without samples by run: a series is stored with its first sample."""
    series = schema.series.c
    having = (select(table.c.series).where(table.c.series == series.id).exists() for table in schema.SAMPLES)
    query = select(series.run_id, func.count()).where(_is_one_of(series.run_id, runs), *(~one for one in having))
    return {str(run): int(count) for run, count in connection.execute(query.group_by(series.run_id))}


def _is_one_of(run: ColumnElement[Any], runs: Collection[str] | None) -> ColumnElement[bool]:
    return true() if runs is None else run.in_(runs)
