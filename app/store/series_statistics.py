"""Rows of the statistics of samples, one for each series of a counted trial. The samples of such a trial are final."""

import math
import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Row, Select, insert, select

from app.events import State
from app.sample_statistics import WithinTrial, WithinTrials, within_of
from app.store import packed_samples, run_reader, schema
from app.store.rows import driver_rows
from suites.vocab import Labels

CHUNK = 500
"""Runs in one query; SQLite limits its parameters."""


def keep(connection: Connection, run_id: str, trial: int) -> None:
    """Store the statistics of a trial that has ended."""
    for row in connection.execute(_counted([run_id]).where(schema.series.c.trial == trial)).all():
        _insert(connection, row.id)


def is_incomplete(connection: Connection, run_ids: Sequence[str]) -> bool:
    """Return whether a counted trial of the runs has samples without stored statistics, as in older libraries."""
    return next(_missing(connection, run_ids), None) is not None


def complete(connection: Connection, run_ids: Sequence[str], seconds: float) -> bool:
    """Store those that the runs lack, for at most `seconds`; return whether nothing is left."""
    until = time.monotonic() + seconds
    for series in _missing(connection, run_ids):
        if time.monotonic() > until:
            return False
        _insert(connection, series)
    return True


def read(connection: Connection, run_ids: Sequence[str]) -> WithinTrials:
    """Return the statistics of the counted trials of the runs; those that are not stored are computed."""
    names = {number: metric.name for number, metric in run_reader.metrics_by_id(connection).items()}
    labels = lru_cache(run_reader.read_labels)
    found: dict[tuple[str, int], dict[tuple[str, Labels], WithinTrial]] = {}
    for row in _rows(connection, run_ids):
        one = _statistics(connection, row.id) if row.series is None else _stored(row)
        if one is not None:
            found.setdefault((row.run_id, row.trial), {})[names[row.metric], labels(row.labels)] = one
    return found


def _counted(run_ids: Sequence[str]) -> Select[Any]:
    """Return the query for the series of the counted trials of some runs, with their statistics."""
    series, trials, kept = schema.series.c, schema.trials.c, schema.series_statistics
    query = select(series.id, series.run_id, series.trial, series.metric, series.labels, kept)
    query = query.join(schema.trials, (trials.run_id == series.run_id) & (trials.id == series.trial))
    counted = (trials.state == State.DONE.value) & trials.warm_up.is_(False)
    return query.outerjoin(kept, kept.c.series == series.id).where(series.run_id.in_(run_ids), counted)


def _rows(connection: Connection, run_ids: Sequence[str]) -> Iterator[Row[Any]]:
    for at in range(0, len(run_ids), CHUNK):
        yield from connection.execute(_counted(run_ids[at : at + CHUNK])).all()


def _missing(connection: Connection, run_ids: Sequence[str]) -> Iterator[int]:
    for at in range(0, len(run_ids), CHUNK):
        query = _counted(run_ids[at : at + CHUNK]).where(schema.series_statistics.c.series.is_(None))
        yield from [row.id for row in connection.execute(query)]


def _stored(row: Row[Any]) -> WithinTrial | None:
    return None if row.n is None else WithinTrial(row.n, row.mean, row.variance, row.worth)


def _insert(connection: Connection, series: int) -> None:
    one = _statistics(connection, series)
    names = WithinTrial.__slots__
    row = {"series": series, **({} if one is None else {name: getattr(one, name) for name in names})}
    connection.execute(insert(schema.series_statistics), row)


def _statistics(connection: Connection, series: int) -> WithinTrial | None:
    """Return the statistics of a series; None for fewer than two samples, or if they overflow."""
    one = within_of(_values(connection, series))
    return one if one is not None and math.isfinite(one.variance) else None


def _values(connection: Connection, series: int) -> list[float]:
    """Return the values of a series in order of arrival, without warm-up samples.

    One query per series, so that the index gives the order.
    """
    table = schema.sample_rows.c
    query = select(table.value).where(table.series == series, ~table.warm_up).order_by(table.id)
    loose = [value for (value,) in driver_rows(connection, query)]
    return [*packed_samples.values_of(connection, series), *loose]
