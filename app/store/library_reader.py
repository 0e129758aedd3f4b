"""The list of runs from their summaries, their annotations, and the saved searches."""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, Select, delete, insert, select

from app.events import State
from app.library_rows import (
    LONGEST_NAME,
    LONGEST_NOTE,
    LONGEST_TAG,
    MOST_TAGS,
    NO_ANNOTATION,
    Annotation,
    Configuration,
    LibraryRow,
    LibraryRows,
    ParameterValue,
)
from app.natural_order import natural_key
from app.records import RunSummary
from app.store import ownership, run_locks, run_reader, schema
from app.store.errors import StoreError, no_run
from app.store.rows import driver_rows, recalls, storable, to_text
from app.user_texts import checked_text
from suites.vocab import Metric

CHUNK = 500
"""Runs in one query; SQLite limits its parameters."""

Found = TypeVar("Found")

STATES = {state.value: state for state in State}


def library(connection: Connection) -> LibraryRows:
    """Return every run, newest first, and the saved searches."""
    reader = _RowReader(connection)
    rows = reader.summarised()
    missing = [run for run in connection.execute(select(schema.runs.c.id)).scalars() if run not in rows]
    changing = [run for run, row in rows.items() if row.summary.state is State.RUNNING] + list(reader.running)
    for run, summary in _summaries(connection, [*missing, *dict.fromkeys(changing)]).items():
        rows[run] = reader.current(rows.get(run), summary)
    newest = sorted(rows.values(), key=lambda row: (row.summary.started, row.id), reverse=True)
    metrics = {metric.name: metric for metric in reader.metrics.values()}
    return LibraryRows(tuple(newest), reader.every_configuration, metrics, searches(connection), len(missing))


def metric_values(connection: Connection, name: str) -> Mapping[str, tuple[float, ...]]:
    """Return the values of a metric by run, in the order of its steps."""
    wanted = [number for number, metric in run_reader.metrics_by_id(connection).items() if metric.name == name]
    table = schema.run_metrics.c
    query = select(table.run_id, table.value).where(table.metric.in_(wanted)).order_by(table.id)
    found: dict[str, list[float]] = defaultdict(list)
    for run, value in connection.execute(query):
        found[run].append(value)
    return {run: tuple(values) for run, values in found.items()}


def annotate(connection: Connection, changed: Mapping[str, Annotation]) -> Mapping[str, Annotation]:
    """Replace the annotations of runs; return the former ones.

    Raises StoreError for a run that does not exist, or a new text as checked_text().
    """
    table = schema.annotations
    former = _annotations(connection, table.c.run_id.in_(list(changed)) if len(changed) <= CHUNK else None)
    for run, given in changed.items():
        one = _checked(given, former.get(run, NO_ANNOTATION))
        if connection.execute(select(schema.runs.c.id).where(schema.runs.c.id == run)).first() is None:
            raise no_run(run)
        connection.execute(delete(table).where(table.c.run_id == run))
        if one != NO_ANNOTATION:
            row = {"run_id": run, "name": one.name, "note": one.note, "tags": to_text(one.tags), "binned": one.binned}
            connection.execute(insert(table), storable(row))
    return {run: former.get(run, NO_ANNOTATION) for run in changed}


def _checked(given: Annotation, former: Annotation) -> Annotation:
    """Return an annotation as it is stored; what was stored before stays."""
    name, note, tags = given.name, given.note, given.tags
    if name != former.name:
        name = checked_text("The name", name, LONGEST_NAME, StoreError)
    if note != former.note:
        note = checked_text("The note", note, LONGEST_NOTE, StoreError, lines=True)
    if tags != former.tags:
        tags = tuple(tag if tag in former.tags else checked_text("A tag", tag, LONGEST_TAG, StoreError) for tag in tags)
        if len(tags) > MOST_TAGS:
            raise StoreError(f"A run has at most {MOST_TAGS} tags: nothing was stored.", "Remove some.")
    return replace(given, name=name, note=note, tags=tags)


def searches(connection: Connection) -> Mapping[str, str]:
    """Return the saved searches by name."""
    table = schema.saved_searches.c
    found = _pairs(connection, select(table.name, table.search))
    return {name: found[name] for name in sorted(found, key=natural_key)}


def save_search(connection: Connection, name: str, search: str) -> str:
    """Store a search under a name; an empty one deletes it. Return the former search, empty if there was none."""
    former, table = searches(connection).get(name, ""), schema.saved_searches
    connection.execute(delete(table).where(table.c.name == name))
    if search:
        connection.execute(insert(table), storable({"name": name, "search": search}))
    return former


def _summaries(connection: Connection, runs: Sequence[str]) -> Mapping[str, RunSummary]:
    """Return the summaries of runs from their own rows."""
    found: list[RunSummary] = []
    for at in range(0, len(runs), CHUNK):
        found += run_reader.summaries(connection, runs[at : at + CHUNK])
    return {one.id: one for one in found}


def annotation(connection: Connection, run: str) -> Annotation:
    """Return what the user added to a run. Raises ValueError or TypeError if it is malformed."""
    return _annotations(connection, schema.annotations.c.run_id == run).get(run, NO_ANNOTATION)


def _annotations(connection: Connection, which: ColumnElement[bool] | None = None) -> Mapping[str, Annotation]:
    table = schema.annotations.c
    query = select(table.run_id, table.name, table.note, table.tags, table.binned)
    query = query if which is None else query.where(which)
    return {
        run: Annotation(name, note, tuple(json.loads(tags)), binned)
        for run, name, note, tags, binned in connection.execute(query)
    }


def _configurations(connection: Connection) -> Mapping[int, Configuration]:
    values: dict[int, dict[str, ParameterValue]] = defaultdict(dict)
    table = schema.configuration_values.c
    columns = (table.configuration, table.name, table.token, table.value, table.number)
    for configuration, name, token, value, number in connection.execute(select(*columns).order_by(table.id)):
        values[configuration][name] = ParameterValue(token, value, number)
    every = schema.configurations.c
    query = select(every.id, every.suite, every.fingerprint)
    return {number: Configuration(suite, mark, values[number]) for number, suite, mark in connection.execute(query)}


def _baselines(connection: Connection) -> Mapping[str, tuple[str, ...]]:
    """Return the names of the baselines whose newest version contains a run, the newest first, by run."""
    table, parts = schema.baselines.c, schema.baseline_parts.c
    newest = _pairs(connection, select(table.name, table.id).order_by(table.version))
    names = {number: name for name, number in newest.items()}
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for number, run in connection.execute(select(parts.baseline, parts.run_id).order_by(parts.baseline.desc())):
        if number in names:
            found[run][names[number]] = None
    return {run: tuple(named) for run, named in found.items()}


def _pairs(connection: Connection, query: Select[Any]) -> dict[Any, Any]:
    """Return the rows of a query with two columns; a later row replaces an earlier one."""
    return {key: value for key, value in connection.execute(query).all()}  # noqa: C416 (rows are no tuples to mypy)


def _decoded(read: Callable[[Any], Found]) -> Callable[[str], Found]:
    """Return a cached reader of JSON texts, which many runs share."""
    return lru_cache(4096)(lambda text: read(json.loads(text)))


def _configured(found: Sequence[Configuration]) -> tuple[tuple[Configuration, ...], tuple[str, ...]]:
    """Return configurations with their suites, each suite once."""
    return tuple(found), tuple(dict.fromkeys(one.suite for one in found))


class _RowReader:
    """Reader of rows, with what they have in common read once."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.metrics: Mapping[int, Metric] = run_reader.metrics_by_id(connection)
        self._annotations = _annotations(connection)
        self._baselines = _baselines(connection)
        self._locks = run_locks.locks(connection)
        self._recalls = recalls(connection)
        self.running = frozenset(ownership.running(connection))
        self._imported = run_reader.imported_runs(connection)
        configurations = _configurations(connection)
        self.every_configuration = tuple(configurations.values())
        series = schema.session_series.c
        self._sessions = _pairs(connection, select(series.id, series.sessions))
        self._texts = _decoded(lambda found: tuple(map(str, found)))
        self._configurations = _decoded(lambda found: _configured([configurations[number] for number in found]))

    def summarised(self) -> dict[str, LibraryRow]:
        """Return the rows of the runs that have a summary."""
        return {row[0]: self._row(row) for row in driver_rows(self._connection, select(schema.run_summaries))}

    def current(self, stored: LibraryRow | None, summary: RunSummary) -> LibraryRow:
        """Return the row of a run that is under way, or whose summary an older version did not write."""
        if stored is not None:
            return replace(stored, summary=summary)
        added, pinned = self._annotations.get(summary.id, NO_ANNOTATION), self._baselines.get(summary.id, ())
        return LibraryRow(summary, annotation=added, baselines=pinned, lock=self._locks.get(summary.id, ""))

    def _row(self, row: tuple[Any, ...]) -> LibraryRow:
        (
            run, name, question, plan_hash, hosts, steps, configured, state, started, ended, duration, headline,
            instance, virtualisation, kernel, trials, metric, value, half, trust, limited_by, errors, warnings,
            series, session, due, headline_trials,
        ) = row  # fmt: skip
        added, pinned = self._annotations.get(run, NO_ANNOTATION), self._baselines.get(run, ())
        configurations, suites = self._configurations(configured)
        summary = RunSummary(
            run, added.name or name, question, self._texts(hosts), self._texts(steps), STATES[state], started, ended,
            trials, headline, pinned[0] if pinned else None, suites, False, trust, limited_by,
            run_reader.session_of(series, session, self._sessions.get(series), due), imported=self._imported.get(run),
        )  # fmt: skip
        return LibraryRow(
            summary, plan_hash, added, instance, virtualisation, kernel, self.metrics.get(metric), value, half,
            errors, warnings, duration, pinned, configurations, headline_trials, self._locks.get(run, ""),
            self._recalls.get(run),
        )  # fmt: skip
