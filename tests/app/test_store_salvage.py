"""A damaged library keeps its every byte, and what can be read of it is saved into a new one."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.baselines.baselines import pin
from app.cli.main import benchwright
from app.events import OutputRead, RunEnded, RunStarted, State
from app.store.errors import StoreError, StoreFullError
from app.store.salvage import salvage, saved_text
from app.store.store import Store
from suites.vocab import Figure
from tests.app import run_events
from tests.app.run_events import IOPS
from tests.small_disk import fill, small_disk

__all__ = ["small_disk"]  # a fixture

RUNS = [f"20261120-14153{number}-sal{number}" for number in range(4)]


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Return a library of four runs, closed."""
    store = Store(tmp_path / "runs.sqlite3")
    for number, run_id in enumerate(RUNS):
        with store.recorder(run_id) as recorder:
            recorder.record(RunStarted(run_id, run_events.plan(), f"2026-11-20T14:15:3{number}+00:00"))
            for event in run_events.trial_events(run_events.trial(1), [Figure(IOPS, 100.0 + number)]):
                recorder.record(event)
            recorder.record(OutputRead(1, "stdout", b"%d" % number * 9000))
            recorder.record(RunEnded(run_id, State.DONE))
    pin(store, RUNS[0], "first")
    store.close()
    connection = sqlite3.connect(store.path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return store.path


def page_size(path: Path) -> int:
    return int.from_bytes(path.read_bytes()[16:18], "big")


def damage(path: Path, page: int) -> bytes:
    """Overwrite a page, counted from 1; return the file as it is now."""
    size = page_size(path)
    content = bytearray(path.read_bytes())
    content[(page - 1) * size : page * size] = b"\xa5" * size
    path.write_bytes(content)
    return bytes(content)


def check(path: Path) -> None:
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()


def test_a_whole_library_is_saved_whole(library: Path, tmp_path: Path) -> None:
    saved = salvage(library, tmp_path / "new.sqlite3")
    assert (saved.runs, saved.incomplete) == (4, ())
    old, new = Store(library), Store(tmp_path / "new.sqlite3")
    assert new.runs() == old.runs()
    assert [new.load(run) for run in RUNS] == [old.load(run) for run in RUNS]
    assert new.output(RUNS[2], 1) == old.output(RUNS[2], 1)
    assert new.load("first") == old.load(RUNS[0])


def test_any_damaged_page_leaves_the_rest_readable_and_the_file_unchanged(library: Path, tmp_path: Path) -> None:
    whole = library.read_bytes()
    full = refused = tried = 0
    for page in range(2, len(whole) // page_size(library) + 1, 3):  # one in three, for time
        library.write_bytes(whole)
        content = damage(library, page)
        tried += 1
        target = tmp_path / f"new-{page}.sqlite3"
        try:
            saved = salvage(library, target)
        except StoreError:
            refused += 1
            assert not target.exists()
            continue
        finally:
            assert library.read_bytes() == content
        check(target)
        summaries = Store(target).runs()
        assert len(summaries) == saved.runs
        assert [summary.state for summary in summaries] == [State.DONE] * saved.runs
        full += saved.runs == len(RUNS)
    assert full > 0.8 * tried  # only the pages of the runs themselves cost whole runs
    assert refused < 0.1 * tried  # and only those that say what there is cost everything


def test_what_was_written_last_is_saved_too(library: Path, tmp_path: Path) -> None:
    """It may still be in the file beside it, where the program was killed."""
    connection = sqlite3.connect(library)
    connection.execute("UPDATE runs SET name = 'late'")
    connection.commit()
    assert library.with_name("runs.sqlite3-wal").stat().st_size > 0
    salvage(library, tmp_path / "new.sqlite3")
    connection.close()
    assert {summary.name for summary in Store(tmp_path / "new.sqlite3").runs()} == {"late"}


def test_what_cannot_be_read_at_all_is_said_and_nothing_is_left(library: Path, tmp_path: Path) -> None:
    damage(library, 1)
    with pytest.raises(StoreError, match="cannot be salvaged"):
        salvage(library, tmp_path / "new.sqlite3")
    assert not (tmp_path / "new.sqlite3").exists()


def test_a_full_disk_is_no_damage(library: Path, small_disk: Path) -> None:
    ballast, target, full = fill(small_disk), small_disk / "new.sqlite3", 0
    for size in range(2**21 - 2**16, 0, -(2**16)):
        os.truncate(ballast, size)
        try:
            saved = salvage(library, target)
        except StoreFullError as error:
            full += str(target) in error.message
            assert [path.name for path in small_disk.iterdir()] == ["ballast"]
        else:
            break
    assert full > 1
    assert (saved.runs, saved.incomplete, saved.lost) == (len(RUNS), (), ())
    check(target)


def test_no_file_is_overwritten(library: Path) -> None:
    content = library.read_bytes()
    with pytest.raises(StoreError, match="exists already"):
        salvage(library, library)
    assert library.read_bytes() == content


def test_a_library_that_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No such file"):
        salvage(tmp_path / "none.sqlite3", tmp_path / "new.sqlite3")


@pytest.mark.parametrize("text", ["CREATE VIEW results_runs AS SELEC", "CREATE TRIGGER t AFTR"])
def test_a_damaged_text_of_a_view_or_trigger_costs_no_row(library: Path, tmp_path: Path, text: str) -> None:
    with closing(sqlite3.connect(library)) as raw:
        raw.execute("CREATE TRIGGER t AFTER DELETE ON runs BEGIN SELECT 1; END")
        raw.execute("PRAGMA writable_schema = ON")
        raw.execute("UPDATE sqlite_master SET sql = ? WHERE type = lower(?) LIMIT 1", (text, text.split()[1]))
        raw.commit()
    saved = salvage(library, tmp_path / "new.sqlite3")
    assert (saved.runs, saved.whole) == (len(RUNS), True)
    check(tmp_path / "new.sqlite3")


@pytest.mark.quick(1)
@pytest.mark.parametrize("name", ["runs", "trials", "output", "runs_by_start"])
def test_bytes_damaged_in_the_text_of_a_table_cost_no_row(library: Path, tmp_path: Path, name: str) -> None:
    with closing(sqlite3.connect(library)) as raw:
        ((text,),) = raw.execute("SELECT sql FROM sqlite_master WHERE name = ?", (name,)).fetchall()
    old = Store(library)
    whole = [(old.load(run), old.output(run, 1)) for run in RUNS]
    old.close()
    content = library.read_bytes()
    for number, (at, bit) in enumerate([(3, 0x15), (16, 0x15), (40, 0x01), (40, 0x80)]):
        start = content.index(text.encode()) + at
        flipped = bytes(each ^ bit for each in content[start : start + 4])
        damaged = content[:start] + flipped + content[start + 4 :]
        library.write_bytes(damaged)
        target = tmp_path / f"new-{number}.sqlite3"
        saved = salvage(library, target)
        assert (saved.runs, saved.whole, saved.mended) == (len(RUNS), True, (name,)), (at, bit)
        assert name in saved_text(saved, tmp_path)[0]
        assert library.read_bytes() == damaged
        check(target)
        new = Store(target)
        assert [(new.load(run), new.output(run, 1)) for run in RUNS] == whole
        new.close()


def test_what_is_missing_or_newer_is_no_success(library: Path, tmp_path: Path) -> None:
    """The status of the command is 1 for a loss, which names what is not known; a newer library is not copied."""
    content = library.read_bytes()
    library.write_bytes(content[: -page_size(library)])
    ran = CliRunner().invoke(benchwright, ["salvage", str(library), str(tmp_path / "cut.sqlite3")])
    assert ran.exit_code == 1
    assert "more runs" in ran.output
    for newer in ("PRAGMA user_version = 999", "UPDATE formats SET read_format = 999"):
        library.write_bytes(content)
        with closing(sqlite3.connect(library)) as raw:
            raw.execute(newer)
            raw.commit()
        with pytest.raises(StoreError, match="format 999"):
            salvage(library, tmp_path / "newer.sqlite3")
    assert not (tmp_path / "newer.sqlite3").exists()
