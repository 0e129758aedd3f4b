"""How the samples within each trial spread, read as numbers alone: a comparison may hold a million of them."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, select

from app.levels import Within, WithinTrials, within_of
from app.store import schema
from app.store.reading import read_labels
from suites.vocab import Labels

if TYPE_CHECKING:
    import numpy as np


def within(connection: Connection, run_ids: Sequence[str]) -> WithinTrials:
    """Return what the samples of every trial of some runs say, warm-up left out."""
    series, metrics = schema.series.c, schema.metrics.c
    columns = (series.id, series.run_id, series.trial, metrics.name, series.labels)
    chosen = series.run_id.in_(run_ids) & series.trial.is_not(None)
    found: dict[tuple[str, int], dict[tuple[str, Labels], Within]] = {}
    described = {
        number: ((run, trial), (name, read_labels(labels)))
        for number, run, trial, name, labels in connection.execute(
            select(*columns).join(schema.metrics, metrics.id == series.metric).where(chosen)
        )
    }
    for number, values in _by_series(connection, run_ids):
        one = within_of(values)
        if one is not None and number in described:
            trial, key = described[number]
            found.setdefault(trial, {})[key] = one
    return found


def _by_series(connection: Connection, run_ids: Sequence[str]) -> "Iterator[tuple[int, np.ndarray[Any, Any]]]":
    """Yield the values of each series in the order in which they came."""
    import numpy as np

    marks = ", ".join("?" * len(run_ids))
    # The driver's own cursor: a row object for each of a million samples would take longer than all the rest.
    rows = connection.connection.cursor()
    rows.execute(
        "SELECT samples.series, samples.value FROM series JOIN samples ON samples.series = series.id"  # noqa: S608 (marks)
        f" WHERE series.run_id IN ({marks}) AND series.trial IS NOT NULL AND NOT samples.warm_up"
        " ORDER BY samples.series, samples.id",
        tuple(run_ids),
    )
    table = np.array(rows.fetchall(), dtype=float).reshape(-1, 2)
    rows.close()
    numbers, values = table[:, 0].astype(np.int64), table[:, 1]
    edges = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
    for start, end in pairwise(edges):
        if end > start:
            yield int(numbers[start]), values[start:end]
