"""Packed samples: JSON lists of the times and values of an ended run's series, in place of a row for each sample.

Recorders append rows, since a commit adds one sample or few to each series. Lists take 15 bytes for a sample of
telemetry, rows 38, as series measured at the same moments share their times. Other programs read them by sql_views.
"""

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select, true

from app.events import State
from app.store import schema
from app.store.rows import inserted_id

LENGTH = 1_000
"""Samples in a list at most: a query that selects one value of a list skips those before it."""

LONGEST = 32 * LENGTH
"""Characters of a list at most; the longest number takes 24."""

STEP = 25_000
"""Ids of rows packed in one transaction: up to a quarter of a second, for which recorders wait to write."""


@dataclass(slots=True)
class _Chunk:
    """Consecutive samples of a series, either all of its warm-up or none."""

    series: int
    warm_up: bool
    times: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)


def pack(connection: Connection, run_id: str) -> int:
    """Pack the next samples of a run, at most STEP; return their number, 0 if none is left or the run has not ended."""
    runs, series, rows = schema.runs.c, schema.series, schema.sample_rows
    if connection.execute(select(runs.state).where(runs.id == run_id)).scalar() in {None, State.RUNNING.value}:
        return 0
    oldest = select(func.min(rows.c.id)).where(rows.c.series == series.c.id).scalar_subquery()  # by the index
    first = connection.execute(select(func.min(oldest)).select_from(series).where(series.c.run_id == run_id)).scalar()
    if first is None:
        return 0
    within = rows.c.id.between(first, first + STEP - 1)
    columns = (rows.c.series, rows.c.time, rows.c.value, rows.c.warm_up, series.c.trial, series.c.host)
    query = select(*columns).join(series, series.c.id == rows.c.series).where(series.c.run_id == run_id, within)
    found = connection.execute(query.order_by(rows.c.id)).all()
    _insert(connection, run_id, _chunks(found, _packed(connection, run_id)))
    own = rows.c.series.in_(select(series.c.id).where(series.c.run_id == run_id))
    connection.execute(delete(rows).where(within, own))
    return len(found)


def unpacked_runs(connection: Connection) -> list[str]:
    """Return the ended runs with samples in rows, the newest first: of older libraries, or of a killed recorder."""
    runs, series = schema.runs.c, schema.series.c
    number = select(schema.sample_rows.c.series).distinct()
    having = select(series.run_id).where(series.id.in_(number)).distinct()
    query = select(runs.id).where(runs.state != State.RUNNING.value, runs.id.in_(having))
    return list(connection.execute(query.order_by(runs.started.desc(), runs.id.desc())).scalars())


Owner = tuple[int | None, str | None]
"""The trial or the host of a series."""


def _packed(connection: Connection, run_id: str) -> dict[Owner, int]:
    """Return the number of packed samples of each trial and host."""
    series, packed, times = schema.series.c, schema.packed_samples.c, schema.sample_times.c
    query = (
        select(series.trial, series.host, func.sum(times.n))
        .join(schema.packed_samples, packed.series == series.id)
        .join(schema.sample_times, times.id == packed.times)
        .where(series.run_id == run_id)
        .group_by(series.trial, series.host)
    )
    return {(trial, host): int(number) for trial, host, number in connection.execute(query)}


def _chunks(rows: Any, packed: dict[Owner, int]) -> list[_Chunk]:
    """Return the samples of `rows`, in order of arrival, by series; `packed` are the numbers of earlier ones."""
    found: list[_Chunk] = []
    last: dict[int, _Chunk] = {}
    for series, time, value, warm_up, trial, host in rows:
        chunk = last.get(series)
        if chunk is None or chunk.warm_up != warm_up or len(chunk.times) == LENGTH:
            chunk = last[series] = _Chunk(series, warm_up)
            found.append(chunk)
        position = packed[trial, host] = packed.get((trial, host), 0) + 1
        chunk.times.append(float(time))
        chunk.values.append(float(value))
        chunk.positions.append(position)
    return found


def _insert(connection: Connection, run_id: str, chunks: list[_Chunk]) -> None:
    times: dict[str, int] = {}
    rows = []
    for chunk in chunks:
        text = _encoded(chunk.times)
        if text not in times:
            row = {"run_id": run_id, **times_row(chunk.times)}
            times[text] = inserted_id(connection, schema.sample_times, row)
        rows.append(
            {
                "series": chunk.series,
                "times": times[text],
                "warm_up": chunk.warm_up,
                "value_list": _encoded(chunk.values),
                "position_list": _encoded(_strides(chunk.positions)),
            }
        )
    connection.execute(insert(schema.packed_samples), rows)


def times_row(times: list[float]) -> dict[str, Any]:
    """Return the columns of a list of times."""
    return {"n": len(times), "first": min(times), "last": max(times), "time_list": _encoded(times)}


def _encoded(numbers: object) -> str:
    """Return a list as JSON; each number is the shortest text that is read back as the same bits."""
    return json.dumps(numbers, allow_nan=False, separators=(",", ":"))


def _strides(positions: list[int]) -> list[int]:
    """Return first position, distance and number, for each sequence of positions at equal distances."""
    found: list[int] = []
    for position in positions:
        if found and found[-1] == 1:
            found[-2:] = [position - found[-3], 2]
        elif found and position == found[-3] + found[-2] * found[-1]:
            found[-1] += 1
        else:
            found += [position, 1, 1]
    return found


def _loaded(text: str, kind: type) -> list[Any]:
    """Return a JSON list of numbers of one kind; raise ValueError if it is malformed."""
    try:
        found = json.loads(text, parse_int=kind) if len(text) <= LONGEST else None
    except RecursionError:
        found = None
    if not isinstance(found, list) or set(map(type, found)) - {kind}:
        raise ValueError("a list of samples is malformed")
    return found


def decoded(text: str) -> list[float]:
    """Return the numbers of a list; raise ValueError if it is malformed, also for infinities."""
    found = _loaded(text, float)
    if not all(map(math.isfinite, found)):
        raise ValueError("a sample is not a finite number")
    return found


def _positions(text: str, number: int) -> list[int]:
    """Return the positions of `number` samples among those of their trial or host; raise ValueError if malformed."""
    found = _loaded(text, int)
    sizes = found[2::3]
    if sum(sizes) != number or min(sizes, default=0) < 1:
        raise ValueError("the positions of samples are malformed")
    strides = zip(found[::3], found[1::3], sizes, strict=True)
    return [first + distance * at for first, distance, size in strides for at in range(size)]


@dataclass(frozen=True, slots=True)
class PackedSeries:
    """Packed samples of a series in order of arrival, and their positions among those of their trial or host."""

    series: int
    warm_up: bool
    times: list[float]
    values: list[float]
    positions: list[int]


def read(
    connection: Connection, run_id: str, chosen: ColumnElement[bool], window: tuple[float, float] | None = None
) -> Iterator[PackedSeries]:
    """Yield the packed samples of the `chosen` series of a run; with a `window` of time, at least those within it.

    Raises ValueError if they are malformed.
    """
    series, packed, times = schema.series, schema.packed_samples, schema.sample_times
    of_run = (
        (times.c.run_id == run_id)
        if window is None
        else ((times.c.run_id == run_id) & (times.c.last >= window[0]) & (times.c.first <= window[1]))
    )
    of_series = (series.c.run_id == run_id) & chosen
    joined = packed.join(series, series.c.id == packed.c.series)
    used = select(packed.c.times).select_from(joined).where(of_series)
    lists = select(times.c.id, times.c.time_list).where(of_run, times.c.id.in_(used))
    moments = {number: decoded(text) for number, text in connection.execute(lists)}
    columns = (packed.c.series, packed.c.times, packed.c.warm_up, packed.c.value_list, packed.c.position_list)
    joined = joined.join(times, times.c.id == packed.c.times)
    query = select(*columns).select_from(joined).where(of_series, of_run).order_by(packed.c.id)
    for number, at, warm_up, value_list, position_list in connection.execute(query):
        values = decoded(value_list)
        if len(values) != len(moments[at]):
            raise ValueError("samples are missing in a list")
        yield PackedSeries(number, warm_up, moments[at], values, _positions(position_list, len(values)))


def values_of(connection: Connection, series: int) -> list[float]:
    """Return the packed values of a series in order of arrival, without warm-up. Raises ValueError if malformed."""
    table = schema.packed_samples.c
    query = select(table.value_list).where(table.series == series, table.warm_up.is_(False)).order_by(table.id)
    return [value for text in connection.execute(query).scalars() for value in decoded(text)]


def count(connection: Connection, run_id: str) -> Mapping[int | None, int]:
    """Return the number of packed samples by trial (None: telemetry), read whole. Raises ValueError if malformed."""
    table = schema.series.c
    query = select(table.id, table.trial).where(table.run_id == run_id)
    trials = {row.id: row.trial for row in connection.execute(query)}
    found: Counter[int | None] = Counter()
    for chunk in read(connection, run_id, true()):
        found[trials[chunk.series]] += len(chunk.values)
    return found
