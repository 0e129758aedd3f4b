"""A library with 10 M samples: size, opening, filter, reading, import, views, beside plain SQLite tables and DuckDB."""

import importlib
import importlib.util
import random
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert

from app.events import RunEnded, RunStarted, State, TelemetryRead, TrialEnded, TrialStarted
from app.library_location import Location
from app.run_filter import parse_filter
from app.run_matching import matcher
from app.services import Workstation
from app.store import schema
from app.store.store import Store
from suites.outputs import ParsedTrial
from suites.vocab import Figure, Sample
from tests.app import run_events
from tests.app.run_events import CPU_BUSY, IOPS, READ
from tests.perf.host import move_home
from tests.perf.large_library import START, make_library
from tests.perf.library_20000 import TYPED
from tests.perf.outcome import Met, Outcome, seconds_line, timed

RUNS = 1_000
SERIES, TICKS = 40, 250
"""Telemetry of each run: its samples are SERIES x TICKS."""

MOVED = 20
READ_RUNS = 100
REPEATS = 5
COLUMNS = "run TEXT, host TEXT, metric TEXT, time_s DOUBLE, value DOUBLE"
MEAN = "SELECT avg(value) FROM {} WHERE metric = 'share7'"


def run() -> list[Outcome]:
    """Return the figures of a library with RUNS x SERIES x TICKS samples in runs of their own."""
    with tempfile.TemporaryDirectory() as folder:
        move_home(Path(folder) / "home")
        return list(_measured(Path(folder)))


def _measured(folder: Path) -> Iterator[Outcome]:
    path, total = folder / "samples.sqlite3", RUNS * SERIES * TICKS
    make_library(path, 1_000)
    without = path.stat().st_size
    add_samples(path)
    yield _figure("bytes a sample", (path.stat().st_size - without) / total)
    yield _line("opened and list read", [timed(lambda: _open(path)) for _ in range(REPEATS)], 1.0)
    with closing(Workstation(path, folder / "hosts.toml")) as workstation:
        library = workstation.library()
        select_rows = matcher(parse_filter(TYPED), library, workstation.metric_values, datetime.now(UTC))
        yield _line(f"filter “{TYPED}”", [timed(lambda: select_rows(library.rows)) for _ in range(REPEATS)], 0.1)
        runs = [row.id for row in library.rows if row.id.endswith("-smpl")]
        bundle = folder / "bundle.sqlite3"
        list(workstation.export_library(runs[:MOVED], bundle))
        for one in runs[:MOVED]:
            workstation.delete(one)
        seconds = timed(lambda: list(workstation.import_runs(bundle)))
        yield _figure("imported, samples a second", MOVED * SERIES * TICKS / seconds)
        seconds = timed(lambda: [workstation.telemetry(one) for one in runs[:READ_RUNS]])
        yield _figure("read as objects, samples a second", READ_RUNS * SERIES * TICKS / seconds)
    with closing(sqlite3.connect(path)) as connection:
        query = f"{MEAN.format('results_samples')} AND run = ?"
        times = [timed(lambda: connection.execute(query, (runs[5],)).fetchall()) for _ in range(REPEATS)]
        yield _line("mean of a metric of one run by its view", times, 0.1)
        found, seconds = _queried(connection, "results_samples")
        yield _figure("mean of a metric of all runs by the view, s", seconds)
        yield from _beside(folder, connection, total, found)


def _beside(folder: Path, connection: sqlite3.Connection, total: int, expected: float) -> Iterator[Outcome]:
    """Yield the same of plain tables that have a row for each sample: SQLite's, and DuckDB's if it is installed."""
    rows = "SELECT run, host, metric, time_s, value FROM results_samples WHERE kind = 'telemetry'"
    plain = folder / "plain.sqlite3"
    connection.execute("ATTACH ? AS plain", (str(plain),))
    connection.execute(f"CREATE TABLE plain.samples ({COLUMNS})")
    seconds = timed(lambda: connection.execute(f"INSERT INTO plain.samples {rows}"))
    connection.commit()
    yield _figure("plain SQLite table, bytes a sample", plain.stat().st_size / total)
    yield _figure("plain SQLite table, filled from the view, samples a second", total / seconds)
    found, seconds = _queried(connection, "plain.samples")
    _agree(found, expected)
    yield _figure("plain SQLite table, mean of a metric of all runs, s", seconds)
    connection.execute("DETACH plain")
    if not has_duckdb():
        yield Outcome("10 M samples, DuckDB", "–", "not measured: pip install duckdb", "", Met.UNDECIDED)
    else:
        yield from _in_duckdb(folder, plain, total, expected)


def has_duckdb() -> bool:
    """Return whether DuckDB is installed."""
    return importlib.util.find_spec("duckdb") is not None


def _in_duckdb(folder: Path, plain: Path, total: int, expected: float) -> Iterator[Outcome]:
    """Yield the figures of a DuckDB table."""
    file = folder / "plain.duckdb"
    with duckdb_table(file, plain, "samples") as (connection, filling):
        version = connection.execute("SELECT version()").fetchall()[0][0]
        yield _figure(f"DuckDB {version} table, bytes a sample", file.stat().st_size / total)
        yield _figure("DuckDB table, filled from data frames, samples a second", total / filling)
        found, seconds = _queried(connection, "samples")
        _agree(found, expected)
        yield _figure("DuckDB table, mean of a metric of all runs, s", seconds)


@contextmanager
def duckdb_table(file: Path, plain: Path, table: str) -> Iterator[tuple[Any, float]]:
    """Give a DuckDB database with a table of samples of an SQLite file, and the seconds of filling it.

    It is filled through pandas: its own reader of SQLite is a separate download.
    """
    import pandas as pd

    duckdb = importlib.import_module("duckdb")
    with closing(sqlite3.connect(plain)) as source, closing(duckdb.connect(str(file))) as connection:
        connection.execute(f"CREATE TABLE {table} ({COLUMNS})")
        seconds = 0.0
        for rows in pd.read_sql(f"SELECT * FROM {table}", source, chunksize=500_000):
            connection.register("rows_of_samples", rows)
            seconds += timed(lambda: connection.execute(f"INSERT INTO {table} SELECT * FROM rows_of_samples"))
        connection.execute("CHECKPOINT")
        yield connection, seconds


def _queried(connection: Any, table: str) -> tuple[float, float]:
    """Return the mean, and the seconds that it took."""
    found: list[float] = []
    seconds = timed(lambda: found.append(connection.execute(MEAN.format(table)).fetchall()[0][0]))
    return found[0], seconds


def _agree(found: float, expected: float) -> None:
    if abs(found / expected - 1) > 1e-9:
        raise ValueError(f"another table has a mean of {found}, the library of {expected}")


def _line(what: str, times: list[float], aim: float) -> Outcome:
    return seconds_line(f"10 M samples, {what}", times, aim)


def _figure(what: str, figure: float) -> Outcome:
    return Outcome(f"10 M samples, {what}", f"{figure:,.0f}" if figure > 1000 else f"{figure:.2f}", "", "", Met.MET)


def _open(path: Path) -> None:
    with closing(Workstation(path, path.with_name("hosts.toml"))) as workstation:
        workstation.library()


def add_samples(location: Location) -> None:
    """Record one run with its samples, as they come from a host, and copy its rows."""
    store = Store(location)
    template = "20261126-090000-smpl"
    chance = random.Random(3)
    kinds = [replace(CPU_BUSY, name=f"share{number}", title=f"Share {number}") for number in range(SERIES)]
    with store.recorder(template) as recorder:
        recorder.record(RunStarted(template, run_events.plan(), START.isoformat()))
        recorder.record(TrialStarted(run_events.trial(1), 10.0))
        for tick in range(TICKS):
            time = 8578.177875 + tick + round(chance.uniform(0, 2e-5), 6)
            values = [_value(number, chance) for number in range(SERIES)]
            samples = tuple(Sample(time, kind, value) for kind, value in zip(kinds, values, strict=True))
            recorder.record(TelemetryRead("web-1", samples))
        recorder.record(TrialEnded(1, State.DONE, 0, ParsedTrial((Figure(IOPS, 1000.0, READ),))))
        recorder.record(RunEnded(template, State.DONE))
    with store.database.writing() as connection:
        for copy in range(1, RUNS):
            _copy(connection, template, f"{START - timedelta(hours=copy):%Y%m%d-%H%M%S}-smpl")
    list(store.complete_summaries())
    store.close()


def _value(number: int, chance: random.Random) -> float:
    """Return a value as telemetry has them: shares, whole rates, sizes, and series that rarely change."""
    match number % 4:
        case 0:
            return chance.uniform(0, 100)
        case 1:
            return float(chance.randrange(40_000, 60_000))
        case 2:
            return chance.choice((0.0, 0.0, 0.0, 1.0))
    return chance.randrange(2**34) * 4096 / 1.000013


def _copy(connection: Connection, run: str, new: str) -> None:
    numbers: dict[Any, dict[int, int]] = {schema.series: {}, schema.sample_times: {}}
    for table, query in schema.rows_of_run(run):
        if table is schema.metrics or table is schema.sample_rows:
            continue
        for row in connection.execute(query).mappings().all():
            made = {**row, ("id" if table is schema.runs else "run_id"): new}
            if table is schema.packed_samples:
                del made["run_id"]
                made |= {"series": numbers[schema.series][row["series"]]}
                made |= {"times": numbers[schema.sample_times][row["times"]]}
            if table not in {schema.runs, schema.trials}:
                made.pop("id", None)
            added = connection.execute(insert(table).values(made)).inserted_primary_key
            if table in numbers and added is not None:
                numbers[table][row["id"]] = added[0]
