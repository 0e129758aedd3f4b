"""Samples of ended runs are packed: read as they were recorded, in steps that nothing can cut in half."""

import json
import os
import random
import shutil
import sqlite3
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from sqlalchemy import Connection

from app.events import (
    Event,
    RunDetached,
    RunEnded,
    RunStarted,
    SampleRead,
    State,
    TelemetryRead,
    TrialEnded,
    TrialStarted,
)
from app.store import packed_samples, recorder
from app.store.errors import StoreError
from app.store.run_connection import read_back
from app.store.salvage import salvage
from app.store.schema import READ_FORMAT
from app.store.store import Store
from suites.outputs import ParsedTrial
from suites.vocab import Figure, Sample
from tests.app import run_events
from tests.app.run_events import CPU_BUSY, IOPS, P99, READ
from tests.app.stores import RUN, record, store
from tests.messages import messages
from tests.program import benchwright
from tests.small_disk import fill, small_disk

__all__ = ["small_disk", "store"]  # fixtures

MESSAGES = messages("app-store", "test_packed_samples")

STORES = Path(__file__).parents[1] / "data" / "store"

Read = tuple[Mapping[int, tuple[Sample, ...]], Mapping[str, tuple[Sample, ...]]]


def numbers(chance: random.Random) -> Iterator[float]:
    """Yield numbers of any size, whose shortest text has any length."""
    yield from (0.0, -0.0, 5e-324, 1.7976931348623157e120, 0.1 + 0.2, 1e22, 123456789.0, -1.5)
    while True:
        value = struct.unpack("<d", chance.randbytes(8))[0]
        yield value if abs(value) < 1e120 else chance.random()


def irregular_samples(count: int, seed: int = 1) -> list[Sample]:
    """Return samples of several series in no regular order, at times that go back, with warm-up in between."""
    chance = random.Random(seed)
    value = numbers(chance)
    kinds = [(IOPS, READ), (IOPS, ()), (P99, READ), (CPU_BUSY, ())]
    found = []
    for at in range(count):
        metric, labels = chance.choice(kinds)
        time = chance.choice((float(at), chance.uniform(0, 9)))
        found.append(Sample(time, metric, next(value), labels, at % 11 < 3))
    return found


def events(count: int = 300, run: str = RUN) -> Iterator[Event]:
    """Yield a run with irregular samples in two trials and the telemetry of two hosts."""
    yield RunStarted(run, run_events.plan(trials=2), "2026-11-20T14:15:30+00:00")
    for number in (1, 2):
        yield TrialStarted(run_events.trial(number), 10.0)
        for at, sample in enumerate(irregular_samples(count, number)):
            yield SampleRead(number, sample)
            ticks = [Sample(1000.5 + at, metric, at * 0.1 + size) for size, metric in enumerate((CPU_BUSY, IOPS))]
            yield TelemetryRead(f"web-{1 + at % 2}", tuple(ticks[: 1 + at % 3]))
        yield TrialEnded(number, State.DONE, 0, ParsedTrial((Figure(IOPS, 1.0, READ),)))
    yield RunEnded(run, State.DONE)


def read(store: Store, run: str = RUN) -> Read:
    return store.samples(run), store.telemetry(run)


def bits(found: Read) -> object:
    """Return what was read with the bits of its numbers: 0.0 equals -0.0 otherwise."""
    return [
        [(owner, [(struct.pack("<2d", one.time, one.value), one) for one in samples]) for owner, samples in of.items()]
        for of in found
    ]


def rows(path: Path, table: str) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


@pytest.fixture
def unpacked(store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Return a library whose run ended without packing, as one whose recorder was killed."""
    with monkeypatch.context() as patched:
        patched.setattr(recorder, "PACKING", -1.0)
        record(store, RUN, events())
    assert rows(store.path, "packed_samples") == 0
    return store


@pytest.mark.parametrize(("length", "step"), [(1_000, 50_000), (7, 40), pytest.param(1, 1, marks=pytest.mark.slow)])
def test_packed_samples_are_the_recorded_ones(
    unpacked: Store, length: int, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed_samples, "LENGTH", length)
    monkeypatch.setattr(packed_samples, "STEP", step)
    before, window = bits(read(unpacked)), unpacked.telemetry(RUN, "web-1", (1010.0, 1015.5))
    with unpacked.database.reading() as connection:
        counted = read_back(connection, RUN)
    within = unpacked.within([RUN])
    assert list(unpacked.pack_samples())[-1] == (1, 1)
    assert rows(unpacked.path, "sample_rows") == 0
    assert bits(read(unpacked)) == before
    assert unpacked.telemetry(RUN, "web-1", (1010.0, 1015.5)) == window != {}
    with unpacked.database.reading() as connection:
        assert read_back(connection, RUN) == counted
    with unpacked.database.writing() as connection:
        connection.exec_driver_sql("DELETE FROM series_statistics")
    assert unpacked.within([RUN]) == within != {}
    assert list(unpacked.pack_samples()) == []


def test_a_run_is_packed_at_its_end(store: Store) -> None:
    record(store, RUN, list(events())[:-1])
    assert (rows(store.path, "packed_samples"), rows(store.path, "sample_rows") > 600) == (0, True)
    record(store, RUN + "x", events(run=RUN + "x"))
    with store.recorder(RUN + "y") as third:
        for event in events(run=RUN + "y"):
            third.record(event)
        third.verify()
    assert list(store.pack_samples()) == []  # the first has not ended
    with store.database.reading() as connection:
        named = "SELECT DISTINCT run_id FROM series JOIN sample_rows ON sample_rows.series = series.id"
        assert connection.exec_driver_sql(named).scalars().all() == [RUN]


@pytest.mark.slow
def test_a_run_under_way_is_not_packed_nor_are_rows_between_its_own(store: Store) -> None:
    other = RUN + "x"
    with store.recorder(RUN) as one, store.recorder(other) as two:
        for first, second in zip(events(100), list(events(100, other))[:-1], strict=False):
            one.record(first)
            one.flush()
            two.record(second)
            two.flush()
        two.record(RunDetached(other))
        with store.database.writing() as connection:
            assert packed_samples.pack(connection, other) == 0
        before = read(store, other)
        one.record(RunEnded(RUN, State.DONE))
    assert read(store, other) == before
    assert read(store) == before
    assert rows(store.path, "packed_samples") > 0 < rows(store.path, "sample_rows")


def test_samples_recorded_after_packing_follow(unpacked: Store) -> None:
    """A recorder elsewhere may go on after its run was marked as interrupted."""
    list(unpacked.pack_samples())
    with unpacked.database.writing() as connection:
        connection.exec_driver_sql(
            "INSERT INTO sample_rows (series, time, value, warm_up) SELECT id, 1.0, 42.0, 0 FROM series WHERE trial = 2"
        )
    before = read(unpacked)
    assert [one.value for one in before[0][2][-2:]] == [42.0, 42.0]
    assert list(unpacked.pack_samples())[-1] == (1, 1)
    assert read(unpacked) == before


@pytest.mark.slow
def test_packed_telemetry_takes_less_than_half_of_the_space(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = [replace(CPU_BUSY, name=f"share{number}") for number in range(20)]
    chance = random.Random(2)
    ticks = [
        TelemetryRead("web-1", tuple(Sample(at + 0.177875, kind, round(chance.random(), 4)) for kind in kinds))
        for at in range(1500)
    ]
    with monkeypatch.context() as patched:
        patched.setattr(recorder, "PACKING", -1.0)
        record(store, RUN, [*list(events(1))[:-1], *ticks, RunEnded(RUN, State.DONE)])
    store.close()
    size = store.path.stat().st_size
    list(store.pack_samples())
    store.close()
    empty = Store(store.path.with_name("empty.sqlite3"))
    assert empty.runs() == []
    empty.close()
    tables = empty.path.stat().st_size
    assert store.path.stat().st_size - tables < (size - tables) * 0.4


def test_deleting_a_packed_run_leaves_nothing(unpacked: Store) -> None:
    list(unpacked.pack_samples())
    unpacked.delete(RUN)
    assert [rows(unpacked.path, name) for name in ("series", "packed_samples", "sample_times")] == [0, 0, 0]


UNPACKED = [path for path in sorted(STORES.glob("format-*.sqlite3")) if int(path.stem.partition("-")[2]) < READ_FORMAT]


@pytest.mark.quick(4)
@pytest.mark.parametrize("file", UNPACKED, ids=lambda path: path.stem)
def test_an_older_library_is_packed_in_steps_and_read_as_before(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "runs.sqlite3"
    shutil.copy(file, path)
    with closing(sqlite3.connect(path)) as connection:
        query = (
            "SELECT time, value, warm_up FROM samples JOIN series ON series.id = series "
            "WHERE run_id = ? AND {} ORDER BY samples.id"
        )
        states = dict(connection.execute("SELECT id, state FROM runs").fetchall())
        tests = {run: connection.execute(query.format("trial = 1"), (run,)).fetchall() for run in states}
        watched = {run: connection.execute(query.format("host IS NOT NULL"), (run,)).fetchall() for run in states}
    store = Store(path)
    monkeypatch.setattr(packed_samples, "STEP", 4)
    before = {run: read(store, run) for run in states}
    for run in states:
        assert [(one.time, one.value, one.warm_up) for one in before[run][0].get(1, ())] == tests[run]
        found = [(one.time, one.value, one.warm_up) for of in before[run][1].values() for one in of]
        assert found == watched[run]
    ended = [run for run, state in states.items() if state != "running" and (tests[run] or watched[run])]
    packing = store.pack_samples()
    assert next(packing) == (0, len(ended)) != (0, 0)
    next(packing)
    packing.close()  # cancelled: the rest stays in rows
    assert {run: read(store, run) for run in states} == before
    *_, (done, total) = store.pack_samples()
    assert done == total > 0
    assert {run: read(store, run) for run in states} == before
    with closing(sqlite3.connect(path)) as connection:
        left = "SELECT count(*) FROM sample_rows JOIN series ON series.id = series JOIN runs ON runs.id = run_id"
        assert connection.execute(f"{left} WHERE state != 'running'").fetchone() == (0,)
        assert connection.execute("SELECT read_format FROM formats").fetchone() == (16,)
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        with pytest.raises(sqlite3.OperationalError, match="no such table: samples"):
            # As an older Benchwright that had it open reads samples: it must not find a run without samples.
            connection.execute("SELECT samples.series, samples.time FROM samples").fetchall()


@pytest.mark.quick(1)
@pytest.mark.parametrize("after", [1, 3, 8])
def test_a_killed_packing_loses_nothing(unpacked: Store, after: int) -> None:
    before = read(unpacked)
    script = Path(__file__).with_name("packing_process.py")
    command = [sys.executable, str(script), str(unpacked.path)]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        for _ in range(after + 1):
            assert process.stdout.readline() == "0 1\n"
        process.kill()
    assert read(unpacked) == before
    assert 0 < rows(unpacked.path, "sample_rows") <= 1600 - 50 * after
    assert list(unpacked.pack_samples())[-1] == (1, 1)
    assert read(unpacked) == before
    with closing(sqlite3.connect(unpacked.path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_recorders_write_between_the_steps(unpacked: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_samples, "STEP", 200)
    before = read(unpacked)
    other = RUN + "x"
    with unpacked.recorder(other) as writer:
        writer.patience = 0.0
        packing = unpacked.pack_samples()
        for number, event in enumerate(events(run=other)):
            writer.record(event)
            if number % 5 == 0:
                writer.flush(0.0)
            if number % 50 == 0:
                next(packing, None)
    assert read(unpacked) == before == read(unpacked, other)
    assert rows(unpacked.path, "sample_rows") == 0


@pytest.mark.slow
def test_a_run_that_ends_leaves_the_library_to_others_for_as_long_as_it_packs(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed_samples, "STEP", 100)
    pack, spans = packed_samples.pack, []

    def timed(connection: Connection, run: str) -> int:
        began = time.monotonic()
        found = pack(connection, run)
        time.sleep(0.05)  # longer than opening the library for the next step takes
        spans.append((began, time.monotonic()))
        return found

    monkeypatch.setattr(packed_samples, "pack", timed)
    record(store, RUN, events())
    assert rows(store.path, "sample_rows") == 0
    assert len(spans) > 5
    for (began, ended), (following, _) in pairwise(spans):
        assert following - ended >= ended - began


def test_two_processes_pack_the_same_runs(unpacked: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_samples, "STEP", 100)
    before = read(unpacked)
    second = Store(unpacked.path)
    one, other = unpacked.pack_samples(), second.pack_samples()
    while (next(one, None), next(other, None)) != (None, None):
        assert read(unpacked) == before
    assert rows(unpacked.path, "sample_rows") == 0
    second.close()


def test_the_command_packs(unpacked: Store) -> None:
    unpacked.close()
    assert benchwright("--store", unpacked.path, "library", "pack").out == "1 run packed.\n"
    assert benchwright("--store", unpacked.path, "library", "pack", "--json").json == {"packed": 0, "left": 0}
    assert rows(unpacked.path, "sample_rows") == 0


@pytest.mark.slow
def test_the_command_names_what_is_left(unpacked: Store) -> None:
    unpacked.close()
    with closing(sqlite3.connect(unpacked.path)) as other:
        other.execute("BEGIN IMMEDIATE")
        ran = benchwright("--store", unpacked.path, "library", "pack")
    assert (ran.status, ran.out) == (1, MESSAGES["what_is_left"] + "\n")


def test_a_full_disk_leaves_samples_in_rows(unpacked: Store, small_disk: Path) -> None:
    unpacked.close()
    with closing(sqlite3.connect(unpacked.path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path = Path(shutil.copy(unpacked.path, small_disk / "runs.sqlite3"))
    store = Store(path)
    before = read(store)
    ballast = fill(small_disk)
    assert list(store.pack_samples()) == [(0, 1)]
    assert read(store) == before
    assert rows(unpacked.path, "packed_samples") == 0
    ballast.unlink()
    assert list(store.pack_samples())[-1] == (1, 1)
    assert read(store) == before
    store.close()


@pytest.mark.parametrize("packs", [False, True])
def test_packed_runs_are_exported_imported_and_salvaged(unpacked: Store, tmp_path: Path, *, packs: bool) -> None:
    before = bits(read(unpacked))
    if packs:
        list(unpacked.pack_samples())
    bundle, target, saved = tmp_path / "bundle.sqlite3", Store(tmp_path / "target.sqlite3"), tmp_path / "saved.sqlite3"
    record(target, RUN + "x", events(20, RUN + "x"))  # its row numbers are taken
    list(unpacked.export_runs([RUN], bundle))
    assert list(target.import_runs(bundle))[-1].runs == (RUN,)
    assert rows(bundle, "sample_rows") == rows(target.path, "sample_rows") == 0
    assert bits(read(target)) == before
    target.close()
    unpacked.close()
    assert salvage(unpacked.path, saved).incomplete == ()
    assert bits(read(Store(saved))) == before


HOSTILE = [
    ("packed_samples", "value_list", "[1.0"),
    ("packed_samples", "value_list", '["1.0"…'),
    ("packed_samples", "value_list", "[true…"),
    ("packed_samples", "value_list", "[NaN…"),
    ("packed_samples", "value_list", "[1e999…"),
    ("packed_samples", "value_list", "[1.0,1.0…"),
    ("packed_samples", "value_list", "{}"),
    ("packed_samples", "value_list", "[" * 5_000),
    ("packed_samples", "position_list", "[1,1,1000000000000]"),
    ("packed_samples", "position_list", "[1,1,2000000,1,1,LESS]"),
    ("packed_samples", "position_list", "[1]"),
    ("packed_samples", "position_list", "[1.5…"),
    ("sample_times", "time_list", "[]"),
    ("sample_times", "time_list", "[-Infinity…"),
    ("sample_times", "time_list", "null"),
]
"""… is the list without its first number, LESS a number with which the sizes have the right sum."""


@pytest.mark.quick(5)
@pytest.mark.parametrize(("table", "column", "text"), HOSTILE, ids=[f"{one[1]} {one[2][:20]}" for one in HOSTILE])
def test_lists_of_a_stranger_are_checked(store: Store, tmp_path: Path, table: str, column: str, text: str) -> None:
    record(store, RUN, events(40))
    with store.database.writing() as connection:
        for number, stored in connection.exec_driver_sql(f"SELECT id, {column} FROM {table}").all():
            first, *rest = json.loads(stored)
            changed = text.replace("…", "".join(f",{one!r}" for one in rest) + "]")
            changed = changed.replace("LESS", str(sum([first, *rest][2::3]) - 2_000_000))
            connection.exec_driver_sql(f"UPDATE {table} SET {column} = ? WHERE id = ?", (changed, number))
    refused(store, tmp_path)


def test_lists_that_are_too_long_are_not_parsed(store: Store, tmp_path: Path) -> None:
    record(store, RUN, events(40))
    numbers = f"[{'1.0,' * 9_999}1.0]"
    with store.database.writing() as connection:
        connection.exec_driver_sql("UPDATE sample_times SET time_list = ?", (numbers,))
        connection.exec_driver_sql(
            "UPDATE packed_samples SET value_list = ?, position_list = '[1,1,10000]'", (numbers,)
        )
    refused(store, tmp_path)


def refused(store: Store, tmp_path: Path) -> None:
    """Check that the samples of a run are neither read nor imported."""
    for use in (store.samples, store.telemetry):
        with pytest.raises(StoreError, match=f"The run {RUN} cannot be read") as caught:
            use(RUN)
        assert len(str(caught.value)) < 300
    store.close()
    target = Store(tmp_path / "target.sqlite3")
    (*_, found) = target.import_runs(store.path)
    assert [run for run, _ in found.refused] == [RUN]
    assert target.runs() == []
