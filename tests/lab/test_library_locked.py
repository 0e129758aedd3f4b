"""Another program holds the lock of the real program's library in mid-run, at a stop, and while it is read."""

import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from app.services import Workstation
from tests.lab.broken_libraries import assert_nothing_runs, assert_readable, library, locked, plan, running
from tests.messages import messages
from tests.program import BAD_INPUT, DONE, FAILED, benchwright

MESSAGES = messages("lab", "test_library_locked")

__all__ = ["library"]


def made_library(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(Workstation(path, path.with_name("hosts.toml"))) as made:
        assert made.runs() == []


@pytest.mark.slow
def test_a_library_in_use_pauses_the_run_and_loses_nothing(library: Path, tmp_path: Path) -> None:
    with running(library, plan(tmp_path, seconds=4, trials=2)) as run:
        run.measures()
        with locked(library):
            began = time.monotonic()
            run.expect(f"paused: The library {library} is locked by another program.")
            assert time.monotonic() - began > 3
            run.expect(
                "Ctrl+C ends the run: if the library is still locked 12 s later, the run is saved to a new file."
            )
        run.expect("library unlocked: run resumed")
        assert run.status() == DONE
    record = assert_readable(library, "done")
    assert [trial["state"] for trial in record["trials"]] == ["done", "done"]
    for trial in (1, 2):
        pieces = run.rows("SELECT data FROM output WHERE trial = ? AND stream = 'stdout' ORDER BY id", trial)
        printed = b"".join(data for (data,) in pieces)
        assert printed == b"".join(b"line %d of the output\n" % number for number in range(1, 41))


@pytest.mark.slow
def test_a_stop_ends_though_the_library_is_in_use(library: Path, tmp_path: Path) -> None:
    with running(library, plan(tmp_path, seconds=60)) as run:
        run.measures()
        with locked(library):
            run.press()
            status = run.status()
        assert status == FAILED, run.shown_text
    saved = run.saved()
    assert f"Run saved to {saved} and verified." in run.shown_text
    assert MESSAGES["in_use_by_another_program"] in run.shown_text
    record = assert_readable(saved, "partial")
    assert [trial["reason"] for trial in record["trials"]] == ["Stopped by you."]
    assert_nothing_runs()


@pytest.mark.slow
def test_a_stop_waits_for_a_library_that_becomes_free(library: Path, tmp_path: Path) -> None:
    with running(library, plan(tmp_path, seconds=60)) as run:
        run.measures()
        with locked(library):
            run.press()
            time.sleep(3)
        assert run.status() == FAILED, run.shown_text
    assert list(library.parent.glob("runs-*")) == []
    record = assert_readable(library, "partial")
    assert [trial["reason"] for trial in record["trials"]] == ["Stopped by you."]


@pytest.mark.slow
def test_a_second_interrupt_says_how_long_the_stop_may_take(library: Path, tmp_path: Path) -> None:
    with running(library, plan(tmp_path, seconds=60)) as run:
        run.measures()
        with locked(library):
            time.sleep(1)
            run.press()
            time.sleep(3)
            run.press()
            run.expect("Still stopping: at most")
            run.status()
    record = assert_readable(run.saved(), "partial")
    assert f"Run saved to {run.saved()} and verified." in run.shown_text
    assert [trial["reason"] for trial in record["trials"]] == ["Stopped by you."]


@pytest.mark.slow
def test_two_interrupts_store_that_the_run_was_stopped(library: Path, tmp_path: Path) -> None:
    with running(library, plan(tmp_path, seconds=60)) as run:
        run.measures()
        run.press()
        run.expect("Stopping")
        run.press()
        run.status()
    record = assert_readable(library, "partial")
    assert [trial["reason"] for trial in record["trials"]] == ["Stopped by you."]
    assert "see the log" not in run.shown_text


@pytest.mark.slow
def test_a_run_begins_and_ends_in_a_library_in_use(library: Path, tmp_path: Path) -> None:
    made = plan(tmp_path, seconds=3, trials=1)
    made_library(library)
    with locked(library), running(library, made) as run:
        run.expect("locked by another program")
        run.press()
        assert run.status() == FAILED, run.shown_text
    with running(library, made) as run:
        run.measures()
        with locked(library):
            run.expect("paused: ")
            time.sleep(3)
        assert run.status() == DONE, run.shown_text
    assert_readable(library, "done")


@pytest.mark.parametrize(
    "how", [pytest.param("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE", marks=pytest.mark.slow), "BEGIN IMMEDIATE"]
)
def test_reading_reports_within_seconds_that_the_library_is_in_use(library: Path, how: str) -> None:
    made_library(library)
    with closing(sqlite3.connect(library, isolation_level=None)) as other:
        other.executescript(how)
        other.execute("SELECT 1 FROM runs").fetchall()
        for verb in (["list"], ["show", "last"], ["attach", "--list"]):
            began = time.monotonic()
            ran = benchwright("--store", library, *verb)
            assert time.monotonic() - began < 60  # 6 where nothing else uses the computer
            if "EXCLUSIVE" in how:
                assert ran.status == BAD_INPUT
                assert MESSAGES["is_in_use_by_another_program"] in ran.err


@pytest.mark.slow
def test_attaching_to_a_run_in_a_library_in_use_says_so(library: Path, tmp_path: Path) -> None:
    with running(library, plan(tmp_path, seconds=4, trials=1)) as run:
        run.measures()
        run.press(signal.SIGHUP)
        run.status()
    with locked(library):
        began = time.monotonic()
        ran = benchwright("--store", library, "attach", "last")
        assert (ran.status, time.monotonic() - began < 12) == (BAD_INPUT, True), ran.err
        assert MESSAGES["is_in_use_by_another_program"] in ran.err
    assert benchwright("--store", library, "attach", "last").status == DONE
    record = assert_readable(library, "done")
    assert [trial["state"] for trial in record["trials"]] == ["done"]
