"""A library of a newer Benchwright is read as long as it says that it can be, and never written to."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from app.baselines.baselines import bands, pin
from app.events import RunStarted, SettingRestored, State
from app.questions import RefusingAsker
from app.runs.control import Control
from app.services import Workstation
from app.store.errors import ReadOnlyError, StoreError
from app.store.schema import FORMAT, READ_FORMAT
from app.store.store import Store
from tests.app import run_events
from tests.app.stores import RUN, record, store
from tests.program import BAD_INPUT, benchwright

__all__ = ["store"]  # a fixture

NEWER = f"read-only: its format 20 is newer than {FORMAT}, the newest"


def make_newer(path: Path, read_format: int | None) -> bytes:
    """Make the library what a Benchwright of format 20 would have made of it; return the file."""
    connection = sqlite3.connect(path)
    connection.execute("ALTER TABLE runs ADD COLUMN weather TEXT")
    connection.execute("CREATE TABLE tides (id INTEGER PRIMARY KEY, height REAL)")
    if read_format is None:
        connection.execute("DROP TABLE formats")
    else:
        connection.execute("UPDATE formats SET read_format = ?", (read_format,))
    connection.execute("PRAGMA user_version = 20")
    connection.commit()
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return path.read_bytes()


@pytest.fixture
def newer(store: Store) -> Store:
    """Return a newer library that this Benchwright can read."""
    for number in (1, 2):
        run_id = f"2026112{number}-141530-k3f9"
        record(store, run_id, run_events.run_events(run_id, started=f"2026-11-2{number}T14:15:30+00:00"))
    pin(store, "20261121", "good")
    store.close()
    make_newer(store.path, READ_FORMAT)
    return Store(store.path)


def test_a_library_says_what_reads_it(store: Store) -> None:
    assert store.runs() == []
    connection = sqlite3.connect(store.path)
    assert connection.execute("SELECT read_format FROM formats").fetchall() == [(READ_FORMAT,)]
    connection.close()


def test_a_library_that_does_not_say_what_reads_it_is_written_as_before(store: Store) -> None:
    record(store, RUN, run_events.run_events(RUN))
    connection = sqlite3.connect(store.path)
    connection.execute("DROP TABLE formats")
    connection.close()
    again = Store(store.path)
    assert again.read_only() is None
    assert pin(again, RUN, "good") == 1


def test_a_newer_store_that_can_be_read_is_read(newer: Store) -> None:
    refusal = newer.read_only()
    assert refusal is not None
    assert NEWER in refusal.message
    assert str(newer.path) in refusal.message
    assert "--store" in refusal.remedy
    assert [line.baseline for line in newer.runs()] == [None, "good"]
    assert newer.load("good").summary.state is State.DONE
    assert len(newer.samples("20261122")[1]) == 5
    assert newer.output("20261122", 1) == {"stdout": b"fio: trial 1\n"}
    assert all(bands(newer, [run_events.STEP], ["web-1"], {}).values())


WRITES: dict[str, Callable[[Store], object]] = {
    "record": lambda store: record(store, RUN, [RunStarted(RUN, run_events.plan(), "2026")]),
    "delete": lambda store: store.delete("20261122"),
    "pin": lambda store: pin(store, "20261122", "better"),
    "unpin": lambda store: store.unpin("good"),
    "take over": lambda store: store.take_over("20261122"),
    "forget": lambda store: store.forget("20261122", "given up"),
    "note a command": lambda store: store.begin_action("web-1", "install fio", "true"),
    "note what is put back": lambda store: store.put_back("20261122", SettingRestored("web-1", "/x", "2026")),
    "forget a directory": lambda store: store.forget_workspace("nonce"),
    "forget calibrations": lambda store: store.forget_calibrations("web-1"),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_nothing_is_written_to_a_newer_store(newer: Store, write: Callable[[Store], object]) -> None:
    before = newer.path.read_bytes()
    with pytest.raises(ReadOnlyError, match=NEWER):
        write(newer)
    assert len(newer.runs()) == 2
    newer.close()
    assert newer.path.read_bytes() == before


def test_runs_without_an_end_stay_as_they_are_in_a_newer_store(store: Store) -> None:
    record(store, RUN, [RunStarted(RUN, run_events.plan(), "2026")])
    store.close()
    before = make_newer(store.path, READ_FORMAT)
    assert Store(store.path).mark_interrupted() == []
    assert store.path.read_bytes() == before


@pytest.mark.parametrize(("read_format", "shown"), [(20, ""), (19, r" \(readable from format 19\)"), (None, "")])
def test_a_newer_store_that_takes_more_to_read_is_refused(store: Store, read_format: int | None, shown: str) -> None:
    record(store, RUN, run_events.run_events(RUN))
    store.close()
    before = make_newer(store.path, read_format)
    with pytest.raises(
        StoreError, match=f"has format 20{shown}; this Benchwright supports formats up to {FORMAT}"
    ) as reported:
        Store(store.path).runs()
    assert "--store" in reported.value.remedy
    assert store.path.read_bytes() == before


def test_views_of_a_newer_benchwright_are_no_foreign_code(store: Store) -> None:
    record(store, RUN, run_events.run_events(RUN))
    store.close()
    make_newer(store.path, READ_FORMAT)
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute("CREATE VIEW results_tides AS SELECT height FROM tides")
    with pytest.raises(StoreError, match=f"has format 20; this Benchwright supports formats up to {FORMAT}"):
        Store(store.path).runs()


def test_a_store_that_becomes_newer_while_it_is_open_is_not_written_to_any_more(store: Store) -> None:
    """Another window, of a newer Benchwright, may convert the library while this one is open."""
    with store.recorder(RUN) as recorder:
        recorder.record(RunStarted(RUN, run_events.plan(), "2026"))
        make_newer(store.path, READ_FORMAT)
        with pytest.raises(ReadOnlyError, match=NEWER):
            store.pin("good", [(RUN, "")])
        assert store.read_only() is not None
    assert len(store.runs()) == 1


def test_measuring_is_refused_before_a_host_is_contacted(newer: Store, tmp_path: Path) -> None:
    workstation = Workstation(newer.path, tmp_path / "hosts.toml")
    for begun in (
        workstation.run(run_events.plan(), RefusingAsker(), Control()),
        workstation.install("no-such-host", "true", RefusingAsker()),
    ):
        with pytest.raises(ReadOnlyError, match=NEWER):
            next(begun)
    with pytest.raises(ReadOnlyError, match=NEWER):
        workstation.restore("no-such-host", RefusingAsker())
    with pytest.raises(ReadOnlyError, match=NEWER):
        workstation.remove_leftovers("no-such-host", RefusingAsker(), ["x"])
    assert [run.id[6:8] for run in workstation.runs()] == ["22", "21"]
    assert workstation.read_only() is not None
    workstation.close()


def test_the_command_line_reads_a_newer_library_and_measures_nothing(newer: Store, tmp_path: Path) -> None:
    before = newer.path.read_bytes()
    listed = benchwright("--store", str(newer.path), "list")
    assert (listed.status, listed.out.count("141530-k3f9")) == (0, 2)
    refused = benchwright("--store", str(newer.path), "quick", "no-such-host", "--output", str(tmp_path / "reports"))
    assert refused.status == BAD_INPUT
    assert NEWER in refused.err
    assert not (tmp_path / "reports").exists()
    assert newer.path.read_bytes() == before
