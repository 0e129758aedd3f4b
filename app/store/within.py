"""How the samples within each trial spread, read as numbers alone: a comparison may hold a million of them."""

from collections.abc import Sequence

from sqlalchemy import Connection, select

from app.comparing.levels import Within, WithinTrials, within_of
from app.store import schema
from app.store.reading import read_labels
from suites.vocab import Labels


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
    for number, (trial, key) in described.items():
        one = within_of(_values(connection, number))
        if one is not None:
            found.setdefault(trial, {})[key] = one
    return found


def _values(connection: Connection, series: int) -> list[float]:
    """Return the values of a series in the order in which they came.

    One after the other, so that the index gives them in order; by the driver's own cursor, since a row object for
    each of a million samples would take longer than all the rest.
    """
    rows = connection.connection.cursor()
    rows.execute("SELECT value FROM samples WHERE series = ? AND NOT warm_up ORDER BY id", (series,))
    values = [value for (value,) in rows.fetchall()]
    rows.close()
    return values
