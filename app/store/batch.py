"""What waits to be written: samples and raw output, gathered so that one transaction takes many."""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Table, delete, insert, select

from app.store import schema
from app.store.read_back import Written
from suites.vocab import Figure, Labels, Metric, Sample


@dataclass(frozen=True, slots=True)
class SeriesKey:
    """What tells the series of one run apart: a trial's own, or a host's telemetry."""

    trial: int | None
    host: str | None
    metric: Metric
    labels: Labels


@dataclass(slots=True)
class Known:
    """The numbers under which metrics and series of one run are in the store, and how much of it was written."""

    metrics: dict[Metric, int] = field(default_factory=dict)
    series: dict[SeriesKey, int] = field(default_factory=dict)
    written: Written = field(default_factory=Written)

    def copy(self) -> "Known":
        """Return a copy, to be thrown away where its transaction fails."""
        return Known(dict(self.metrics), dict(self.series), self.written.copy())


@dataclass(slots=True)
class Batch:
    """Samples and output in the order in which they came."""

    samples: list[tuple[SeriesKey, Sample]] = field(default_factory=list)
    output: list[tuple[int, str, list[bytes]]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.samples or self.output)

    def add_output(self, trial: int, stream: str, data: bytes) -> None:
        """Take the next bytes of a stream; neighbours of one stream become one piece."""
        if self.output and self.output[-1][:2] == (trial, stream):
            self.output[-1][2].append(data)
        else:
            self.output.append((trial, stream, [data]))

    def add_samples(self, trial: int | None, host: str | None, samples: Iterable[Sample]) -> None:
        """Take samples. One that is no finite number says nothing and has no place in the store."""
        self.samples += [
            (SeriesKey(trial, host, sample.metric, sample.labels), sample)
            for sample in samples
            if math.isfinite(sample.value) and math.isfinite(sample.time)
        ]

    def write(self, connection: Connection, run_id: str, known: Known) -> None:
        """Write everything; `known` grows by the metrics and series that are new."""
        if self.output:
            connection.execute(
                insert(schema.output),
                [
                    {"run_id": run_id, "trial": trial, "stream": stream, "data": b"".join(pieces)}
                    for trial, stream, pieces in self.output
                ],
            )
        if self.samples:
            rows = [
                {
                    "series": series_id(connection, run_id, key, known),
                    "time": sample.time,
                    "value": sample.value,
                    "warm_up": sample.warm_up,
                }
                for key, sample in self.samples
            ]
            connection.execute(insert(schema.samples), rows)
        for key, _sample in self.samples:
            known.written.samples[key.trial] += 1
        for trial, _stream, pieces in self.output:
            known.written.add_output(trial, b"".join(pieces))


def write_figures(connection: Connection, run_id: str, trial: int, figures: Iterable[Figure], known: Known) -> None:
    """Write a trial's figures; one that is no finite number is no figure."""
    rows = [
        {
            "run_id": run_id,
            "trial": trial,
            "metric": metric_id(connection, figure.metric, known),
            "labels": json.dumps(figure.labels, ensure_ascii=False),
            "value": figure.value,
        }
        for figure in figures
        if math.isfinite(figure.value)
    ]
    if rows:
        connection.execute(insert(schema.figures), rows)


def forget_samples(connection: Connection, run_id: str, trial: int, known: Known) -> None:
    """Delete a trial's samples, before the whole of them is written anew."""
    table = schema.series
    connection.execute(delete(table).where(table.c.run_id == run_id, table.c.trial == trial))
    for key in [key for key in known.series if key.trial == trial]:
        del known.series[key]
    known.written.samples[trial] = 0


def series_id(connection: Connection, run_id: str, key: SeriesKey, known: Known) -> int:
    """Return the number of a series, which is made where it is new."""
    if key not in known.series:
        values = {
            "run_id": run_id,
            "trial": key.trial,
            "host": key.host,
            "metric": metric_id(connection, key.metric, known),
            "labels": json.dumps(key.labels, ensure_ascii=False),
        }
        known.series[key] = _inserted(connection, schema.series, values)
    return known.series[key]


def metric_id(connection: Connection, metric: Metric, known: Known) -> int:
    """Return the number of a metric, which all runs share and which is made where it is new."""
    if metric not in known.metrics:
        values = {
            "name": metric.name,
            "title": metric.title,
            "unit": metric.unit.value,
            "better": metric.better.value,
            "kind": metric.kind.value,
            "percentile": metric.percentile,
        }
        columns = schema.metrics.c
        same = [columns[name].is_not_distinct_from(value) for name, value in values.items()]
        found = connection.execute(select(columns.id).where(*same)).scalar()
        known.metrics[metric] = _inserted(connection, schema.metrics, values) if found is None else found
    return known.metrics[metric]


def _inserted(connection: Connection, table: Table, values: dict[str, Any]) -> int:
    return int(connection.execute(insert(table).values(values)).inserted_primary_key[0])  # type: ignore[index]  # one row
