"""The library of the real program breaks in mid-run: damaged, copied over, on a full disk or a read-only one."""

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

from tests.lab.broken_libraries import assert_nothing_runs, assert_readable, library, plan, running
from tests.loop_devices import loops_to_itself
from tests.messages import messages
from tests.program import BAD_INPUT, DONE, FAILED, benchwright
from tests.small_disk import fill, small_disk

pytestmark = pytest.mark.usefixtures("few_programs")

MESSAGES = messages("lab", "test_library_broken")

__all__ = ["library", "small_disk"]


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
CASES = [(name, by) for name in BREAKS for by in ("INT", "TERM", "HUP", "end")]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "by"), CASES)
def test_a_run_is_read_completely_from_the_named_file(library: Path, tmp_path: Path, name: str, by: str) -> None:
    last = by == "end"
    with running(library, plan(tmp_path, seconds=3 if last else 30, trials=2)) as run:
        run.measures(trial=2 if last else 1)
        BREAKS[name](library)
        if last:
            run.until(lambda: "paused: " in run.shown_text or run.process.poll() is not None)
            if run.process.poll() is None:
                run.press()
        else:
            time.sleep(0.3)
            run.press(signal.Signals[f"SIG{by}"])
        status = run.status()
    there = sorted(library.parent.glob("runs-*.sqlite3"))
    where = there[0] if there else library
    assert (f"Run saved to {where} and verified" in run.shown_text) == bool(there), run.shown_text
    assert "Free space" not in run.shown_text
    complete = "2 of 2 trials done" in run.shown_text  # else the pause came first, and Ctrl+C stopped the trial
    state = "done" if complete else "detached" if by == "HUP" else "partial"
    record = assert_readable(where, state)
    assert record["trials"][0]["state"] == ("done" if last else "running" if by == "HUP" else state)
    assert status == (DONE if complete else FAILED), run.shown_text
    if by == "HUP":
        assert benchwright("--store", where, "attach", "--stop").status == FAILED
        assert_readable(where, "partial")
    with closing(sqlite3.connect(where)) as connection:
        ((printed,),) = connection.execute("SELECT data FROM output WHERE stream = 'stdout' ORDER BY id LIMIT 1")
    assert printed.startswith(b"line 1 of the output\n")
    assert_nothing_runs()


@pytest.mark.slow
@pytest.mark.parametrize("restored", [True, False], ids=["copied over", "emptied"])
def test_an_overwritten_library_pauses_the_run_and_is_not_changed(
    library: Path, tmp_path: Path, *, restored: bool
) -> None:
    other = tmp_path / "other.sqlite3"
    assert benchwright("--store", other, "run", plan(tmp_path, seconds=1, trials=1)).status == DONE
    copy = [str(other) if restored else "/dev/null", str(library)]
    with running(library, plan(tmp_path, seconds=30)) as run:
        run.measures()
        subprocess.run(["cp", *copy], check=True)
        left = library.read_bytes()
        run.expect("paused: ", within=10)
        assert "was overwritten" in run.shown_text or "was emptied" in run.shown_text
        assert library.read_bytes() == left
        run.press()
        assert run.status() == FAILED, run.shown_text
    assert MESSAGES["nothing_in_it_was_changed"] not in run.shown_text
    assert library.read_bytes() == left == (other.read_bytes() if restored else b"")
    (saved,) = library.parent.glob("runs-*.sqlite3")
    assert f"Run saved to {saved} and verified" in run.shown_text
    assert_readable(saved, "partial")
    if restored:
        assert_readable(library, "done")
    assert_nothing_runs()


# A full disk


@pytest.mark.slow
def test_a_run_on_a_full_disk_is_saved_where_there_is_room(small_disk: Path, tmp_path: Path) -> None:
    library = small_disk / "runs.sqlite3"
    with running(library, plan(tmp_path, seconds=30)) as run:
        run.measures()
        fill(small_disk)
        run.expect("Ctrl+C ends the run: the run is saved to a new file if another disk has space.")
        assert "paused: No space left" in run.shown_text
        run.press()
        assert run.status(20) == FAILED, run.shown_text
    (saved,) = (Path(os.environ["XDG_DATA_HOME"]) / "benchwright").glob("runs-*.sqlite3")
    assert f"Run saved to {saved} and verified." in run.shown_text
    record = assert_readable(saved, "partial")
    assert [trial["reason"] for trial in record["trials"]] == ["Stopped by you."]
    assert_nothing_runs()


@pytest.mark.slow
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
        assert run.status(30) == BAD_INPUT, run.shown_text
    assert MESSAGES["could_not_be_saved_to"] in run.shown_text
    assert run.shown_text.count("no space left") >= 3
    assert "is stored up to" in run.shown_text
    assert "and verified" not in run.shown_text
    assert list(small_disk.rglob("runs-*")) == []
    assert_nothing_runs()
    ballast.unlink()
    (line,) = [line for _, line in run.lines if "attach" in line]
    words = line.rpartition("with: benchwright ")[2].split()
    assert benchwright(*words).status == FAILED
    record = assert_readable(library, "partial")
    assert [trial["state"] for trial in record["trials"]] == ["partial"]


@pytest.mark.slow
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
            assert run.status(20) == FAILED, run.shown_text
    finally:
        subprocess.run(["umount", "-l", str(mount)], check=True)
    (saved,) = (Path(os.environ["XDG_DATA_HOME"]) / "benchwright").glob("runs-*.sqlite3")
    assert f"Run saved to {saved} and verified." in run.shown_text
    assert_readable(saved, "partial")
