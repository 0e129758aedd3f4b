"""The library of the real program breaks in mid-run: damaged, copied over, on a full disk, or locked by another."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.lab.broken_libraries import assert_readable, locked, plan, running
from tests.loop_devices import loops_to_itself
from tests.processes import processes_with
from tests.program import BAD_INPUT, DONE, FAILED, benchwright
from tests.small_disk import fill, small_disk

__all__ = ["small_disk"]


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Return where the library is, in a folder of its own, that is not made yet."""
    (tmp_path / "lib").mkdir()
    return tmp_path / "lib/runs.sqlite3"


def jobs_of(home: Path) -> list[int]:
    return sorted(set(processes_with("BENCHWRIGHT_JOB=")) & set(processes_with(f"HOME={home}\0")))


def assert_nothing_runs() -> None:
    assert jobs_of(Path(os.environ["HOME"])) == []


def cut(share: float) -> Callable[[Path], None]:
    def break_(path: Path) -> None:
        os.truncate(path, int(path.stat().st_size * share) // 4096 * 4096)

    return break_


def copy_over(path: Path) -> None:
    """Copy another library over this one, as cp does."""
    other = path.with_name("other")
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE theirs (x)")
        connection.executemany("INSERT INTO theirs VALUES (?)", [("theirs" * 500,)] * 60)
        connection.commit()
    shutil.copyfile(other, path)
    other.unlink()


def garbage_header(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(os.urandom(100))


def cut_log(path: Path) -> None:
    log = path.with_name(f"{path.name}-wal")
    os.truncate(log, log.stat().st_size // 2)


BREAKS = {"30 %": cut(0.3), "60 %": cut(0.6), "copied over": copy_over, "header": garbage_header, "log": cut_log}
FAST = (("60 %", "INT"), ("copied over", "INT"))
CASES = [(name, by) for name in BREAKS for by in ("INT", "TERM", "HUP", "end")]


@pytest.mark.parametrize(
    ("name", "by"),
    [case if case in FAST else pytest.param(*case, marks=pytest.mark.slow) for case in CASES],
)
def test_a_run_is_read_whole_from_the_file_that_is_named(library: Path, tmp_path: Path, name: str, by: str) -> None:
    last = by == "end"
    with running(library, plan(tmp_path, seconds=3 if last else 30, trials=2)) as run:
        run.measures(trial=2 if last else 1)
        BREAKS[name](library)
        if last:
            run.until(lambda: "paused: " in run.said or run.process.poll() is not None)
            if run.process.poll() is None:
                run.press()
        else:
            time.sleep(0.3)
            run.press(signal.Signals[f"SIG{by}"])
        status = run.status()
    there = sorted(library.parent.glob("runs-*.sqlite3"))
    where = there[0] if there else library
    assert (f"The run is in {where} now, and was read back" in run.said) == bool(there), run.said
    assert "Free some space" not in run.said
    state = "done" if last else "running" if by == "HUP" else "partial"
    record = assert_readable(where, state)
    assert record["trials"][0]["state"] == ("done" if last else state)
    assert status == (DONE if last else FAILED), run.said
    if by == "HUP":
        assert benchwright("--store", where, "attach", "--stop").status == FAILED
        assert_readable(where, "partial")
    with closing(sqlite3.connect(where)) as connection:
        ((printed,),) = connection.execute("SELECT data FROM output WHERE stream = 'stdout' ORDER BY id LIMIT 1")
    assert printed.startswith(b"line 1 of the output\n")
    assert_nothing_runs()


# A full disk


def test_a_run_on_a_full_disk_is_saved_where_there_is_room(small_disk: Path, tmp_path: Path) -> None:
    library = small_disk / "runs.sqlite3"
    with running(library, plan(tmp_path, seconds=30)) as run:
        run.measures()
        fill(small_disk)
        run.expect("Ctrl+C ends the run: the run is saved to a new file if another disk has room.")
        assert "paused: No space is left" in run.said
        run.press()
        assert run.status(20) == FAILED, run.said
    (saved,) = (Path(os.environ["XDG_DATA_HOME"]) / "benchwright").glob("runs-*.sqlite3")
    assert f"The run is in {saved} now, and was read back." in run.said
    record = assert_readable(saved, "partial")
    assert [trial["reason"] for trial in record["trials"]] == ["Stopped by you."]
    assert_nothing_runs()


def test_a_run_for_which_no_disk_has_room_stays_and_is_ended_later(small_disk: Path, tmp_path: Path) -> None:
    made = plan(tmp_path, seconds=30)
    library = small_disk / "lib/runs.sqlite3"
    for name in ("lib", "data", "tmp"):
        (small_disk / name).mkdir()
    program = f"import tempfile; tempfile.tempdir = '{small_disk}/tmp'; from app.__main__ import main; main()"
    with running(library, made, sys.executable, "-c", program, XDG_DATA_HOME=str(small_disk / "data")) as run:
        run.measures()
        ballast = fill(small_disk)
        run.expect("Ctrl+C ends the run: ")
        run.press()
        assert run.status(30) == BAD_INPUT, run.said
    assert "could not be saved to another file" in run.said
    assert run.said.count("no space is left") >= 3
    assert "is stored up to" in run.said
    assert "was read back" not in run.said
    assert list(small_disk.rglob("runs-*")) == []
    assert_nothing_runs()
    ballast.unlink()
    (line,) = [line for _, line in run.lines if "attach" in line]
    words = line.rpartition("with: benchwright ")[2].split()
    assert benchwright(*words).status == FAILED
    record = assert_readable(library, "partial")
    assert [trial["state"] for trial in record["trials"]] == ["partial"]


def test_a_disk_that_becomes_read_only_pauses_the_run(tmp_path: Path) -> None:
    """As ext4 does where it finds an error: what was opened for writing cannot be written any more."""
    if os.geteuid() != 0:
        pytest.skip("mounting a file system needs root")
    mount, image = tmp_path / "mounted", tmp_path / "disk.img"
    mount.mkdir()
    image.touch()
    os.truncate(image, 16 * 2**20)
    subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True)
    with loops_to_itself():
        words = ["mount", "-o", "loop,errors=remount-ro", str(image), str(mount)]
        if subprocess.run(words, capture_output=True, check=False).returncode:
            pytest.skip("loop devices cannot be mounted here")
    try:
        device = subprocess.run(["findmnt", "-no", "SOURCE", str(mount)], capture_output=True, text=True, check=True)
        fault = Path("/sys/fs/ext4") / Path(device.stdout.strip()).name / "trigger_fs_error"
        if not fault.exists():
            pytest.skip("this kernel makes no file system fail")
        with running(mount / "runs.sqlite3", plan(tmp_path, seconds=30)) as run:
            run.measures()
            fault.write_text("1")
            run.expect("cannot be written: its file system is read-only")
            run.expect("Ctrl+C ends the run: the run is saved to a new file.")
            run.press()
            assert run.status(20) == FAILED, run.said
    finally:
        subprocess.run(["umount", "-l", str(mount)], check=True)
    (saved,) = (Path(os.environ["XDG_DATA_HOME"]) / "benchwright").glob("runs-*.sqlite3")
    assert f"The run is in {saved} now, and was read back." in run.said
    assert_readable(saved, "partial")


# Locked by another program


def test_a_library_in_use_pauses_the_run_and_loses_nothing(library: Path, tmp_path: Path) -> None:
    with running(library, plan(tmp_path, seconds=4, trials=2)) as run:
        run.measures()
        with locked(library):
            began = time.monotonic()
            run.expect(f"paused: The library {library} is in use by another program.", within=20)
            assert time.monotonic() - began > 3
            run.expect(
                "Ctrl+C ends the run: if the library is still in use 12 s later, the run is saved to a new file."
            )
        run.expect("the library is free again: the run goes on")
        assert run.status() == DONE
    record = assert_readable(library, "done")
    assert [trial["state"] for trial in record["trials"]] == ["done", "done"]
    for trial in (1, 2):
        pieces = run.rows("SELECT data FROM output WHERE trial = ? AND stream = 'stdout' ORDER BY id", trial)
        printed = b"".join(data for (data,) in pieces)
        assert printed == b"".join(b"line %d of the output\n" % number for number in range(1, 41))


def test_a_stop_ends_though_the_library_is_in_use(library: Path, tmp_path: Path) -> None:
    with running(library, plan(tmp_path, seconds=60)) as run:
        run.measures()
        with locked(library):
            time.sleep(1)
            pressed = run.press()
            status = run.status(40)
            assert time.monotonic() - pressed < 30, run.said  # 15 where nothing else uses the computer
        assert status == FAILED, run.said
    saved = run.saved()
    assert f"The run is in {saved} now, and was read back." in run.said
    assert "in use by another program" in run.said
    record = assert_readable(saved, "partial")
    assert [trial["reason"] for trial in record["trials"]] == ["Stopped by you."]
    assert_nothing_runs()


def test_a_stop_waits_for_a_library_that_becomes_free(library: Path, tmp_path: Path) -> None:
    with running(library, plan(tmp_path, seconds=60)) as run:
        run.measures()
        with locked(library):
            run.press()
            time.sleep(3)
        assert run.status(20) == FAILED, run.said
    assert list(library.parent.glob("runs-*")) == []
    record = assert_readable(library, "partial")
    assert [trial["reason"] for trial in record["trials"]] == ["Stopped by you."]


def test_a_second_interrupt_says_how_long_the_stop_may_take(library: Path, tmp_path: Path) -> None:
    with running(library, plan(tmp_path, seconds=60)) as run:
        run.measures()
        with locked(library):
            time.sleep(1)
            run.press()
            time.sleep(3)
            run.press()
            run.expect("Still stopping: at most")
            run.status(30)
    record = assert_readable(run.saved(), "partial")
    assert f"The run is in {run.saved()} now, and was read back." in run.said
    assert [trial["reason"] for trial in record["trials"]] == ["Stopped by you."]


def test_two_interrupts_store_that_the_run_was_stopped(library: Path, tmp_path: Path) -> None:
    with running(library, plan(tmp_path, seconds=60)) as run:
        run.measures()
        run.press()
        run.expect("Stopping")
        run.press()
        run.status(20)
    record = assert_readable(library, "partial")
    assert [trial["reason"] for trial in record["trials"]] == ["Stopped by you."]
    assert "see the log" not in run.said


@pytest.mark.slow
def test_a_run_begins_and_ends_in_a_library_in_use(library: Path, tmp_path: Path) -> None:
    made = plan(tmp_path, seconds=3, trials=1)
    assert benchwright("--store", library, "list").status == DONE
    with locked(library), running(library, made) as run:
        run.expect("in use by another program", within=30)
        run.press()
        assert run.status(40) == FAILED, run.said
    with running(library, made) as run:
        run.measures()
        with locked(library):
            run.expect("paused: ", within=30)
            time.sleep(3)
        assert run.status() == DONE, run.said
    assert_readable(library, "done")


@pytest.mark.parametrize("how", ["PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE", "BEGIN IMMEDIATE"])
def test_reading_says_within_seconds_that_the_library_is_in_use(library: Path, how: str) -> None:
    assert benchwright("--store", library, "list").status == DONE
    with closing(sqlite3.connect(library, isolation_level=None)) as other:
        other.executescript(how)
        other.execute("SELECT 1 FROM runs").fetchall()
        for verb in (["list"], ["show", "last"], ["attach", "--list"]):
            began = time.monotonic()
            ran = benchwright("--store", library, *verb)
            assert time.monotonic() - began < 20  # 6 where nothing else uses the computer
            if "EXCLUSIVE" in how:
                assert ran.status == BAD_INPUT
                assert "is in use by another program" in ran.err


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
        assert "is in use by another program" in ran.err
    assert benchwright("--store", library, "attach", "last").status == DONE
    record = assert_readable(library, "done")
    assert [trial["state"] for trial in record["trials"]] == ["done"]
