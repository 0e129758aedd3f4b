"""A library on a disk that is full or may not be written: it is read all the same, and deleting makes room."""

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import pytest

from app.events import OutputRead, RunEnded, RunStarted, State
from app.output import WriteError
from app.services import Workstation
from app.store.errors import StoreError, StoreFullError, StoreLostError
from app.store.library_file import for_writing
from app.store.schema import FORMAT
from app.store.store import Store
from tests.app import run_events
from tests.loop_devices import loops_to_itself
from tests.program import BAD_INPUT, DONE, FAILED, benchwright
from tests.small_disk import fill

RUNS = [f"20261120-14153{number}-unw{number}" for number in range(4)]
OUTPUT = 120_000
FORMATS = Path(__file__).parents[1] / "data/store"


@pytest.fixture(params=["tmpfs", pytest.param("ext4", marks=pytest.mark.slow)])
def small_disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """Mount a file system of 2 MiB in memory, or of 8 MiB from a file."""
    mount = tmp_path / "small"
    mount.mkdir()
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    words = ["-t", "tmpfs", "-o", "size=2m", "tmpfs"]
    if request.param == "ext4":
        image = tmp_path / "disk.img"
        image.touch()
        os.truncate(image, 8 * 2**20)
        subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", "-O", "^has_journal", str(image)], check=True)
        words = ["-o", "loop", str(image)]
    with loops_to_itself():
        tried = subprocess.run(["mount", *words, str(mount)], capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {tried.stderr.strip()}")
    yield mount
    subprocess.run(["umount", "-l", str(mount)], check=True)


def write_runs(path: Path) -> None:
    store = Store(path)
    for number, run_id in enumerate(RUNS):
        with store.recorder(run_id) as recorder:
            recorder.record(RunStarted(run_id, run_events.plan(), f"2026-11-20T14:15:3{number}+00:00"))
            recorder.record(OutputRead(1, "stdout", os.urandom(OUTPUT)))
            recorder.record(RunEnded(run_id, State.DONE))
    store.close()


@pytest.fixture
def library(small_disk: Path) -> Path:
    """Return a library of four runs, closed."""
    write_runs(small_disk / "runs.sqlite3")
    return small_disk / "runs.sqlite3"


def free(disk: Path) -> int:
    found = os.statvfs(disk)
    return found.f_bavail * found.f_frsize


def leave_log(library: Path) -> None:
    """Leave the library as a program that was killed does: what it wrote last is in the log."""
    folder = library.parent / "killed"
    folder.mkdir()
    connection = sqlite3.connect(library)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("UPDATE runs SET name = 'late'")
    with suppress(sqlite3.OperationalError):  # an earlier format, which has none
        connection.execute("UPDATE run_summaries SET name = 'late'")
    connection.commit()
    shutil.copyfile(library, folder / "main")
    shutil.copyfile(f"{library}-wal", folder / "wal")
    connection.close()
    (folder / "main").rename(library)
    (folder / "wal").rename(f"{library}-wal")
    Path(f"{library}-shm").unlink(missing_ok=True)
    folder.rmdir()


@pytest.mark.parametrize("log", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_library_on_a_full_disk_is_read(library: Path, *, log: bool) -> None:
    if log:
        leave_log(library)
    fill(library.parent)
    listed = benchwright("--store", library, "list", "--json")
    assert listed.status == DONE, listed.err
    assert [one["id"] for one in listed.json] == RUNS[::-1]
    assert {one["name"] for one in listed.json} == {"late" if log else run_events.plan().name}
    assert benchwright("--store", library, "show", RUNS[0]).status == DONE
    store = Store(library)
    assert len(store.output(RUNS[2], 1)["stdout"]) == OUTPUT
    store.close()


def test_a_window_that_was_open_before_reads_on(library: Path) -> None:
    workstation = Workstation(library)
    assert len(workstation.runs()) == 4
    ballast = fill(library.parent)
    assert len(workstation.runs()) == 4
    assert workstation.load(RUNS[1]).summary.id == RUNS[1]
    with pytest.raises(StoreError, match="No space left"):
        workstation.check_writable()
    ballast.unlink()
    assert workstation.read_only() is None
    workstation.close()


@pytest.mark.parametrize("log", [pytest.param(False, marks=pytest.mark.slow), True])
def test_deleting_makes_room_on_a_full_disk(library: Path, *, log: bool) -> None:
    if log:
        leave_log(library)
    fill(library.parent)
    before = free(library.parent)
    deleted = benchwright("--store", library, "delete", RUNS[1], "--for-good", "--yes")
    assert deleted.status == DONE, deleted.err
    assert free(library.parent) - before >= OUTPUT // 2
    store = Store(library)
    assert [run.id for run in store.runs()] == [RUNS[3], RUNS[2], RUNS[0]]
    assert len(store.output(RUNS[3], 1)["stdout"]) == OUTPUT
    store.close()
    connection = sqlite3.connect(library)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    for name in sorted(library.parent.iterdir()):
        assert name.name in {"runs.sqlite3", "ballast", "lost+found", "runs.sqlite3-wal", "runs.sqlite3-shm"}
    # With room again the library is written as before.
    (library.parent / "ballast").unlink()
    write = Store(library)
    write.delete(RUNS[0])
    assert len(write.runs()) == 2
    write.close()


def test_what_measures_meanwhile_is_not_disturbed(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Room is made by the one program that has the library open alone."""
    monkeypatch.setattr("app.store.full_disk.for_writing", partial(for_writing, timeout=0.2))
    store = Store(library)
    with store.recorder("20261120-141540-busy") as recorder:
        recorder.record(RunStarted("20261120-141540-busy", run_events.plan(), "2026-11-20T14:15:40+00:00"))
        ballast = fill(library.parent)
        with pytest.raises(StoreError):
            store.delete(RUNS[0])
        ballast.unlink()
        recorder.record(RunEnded("20261120-141540-busy", State.DONE))
    assert len(store.runs()) == 5
    store.close()


def test_an_export_to_a_full_disk_reports_it_and_leaves_nothing(library: Path) -> None:
    fill(library.parent)
    workstation = Workstation(library)
    for write in (workstation.export_csv, workstation.export_image):
        with pytest.raises(WriteError, match="no space left"):
            write([RUNS[0]], library.parent / "report")
    workstation.close()
    left = {path.name.removeprefix("runs.sqlite3") for path in library.parent.iterdir()}
    assert left <= {"", "-wal", "-shm", "ballast", "lost+found"}  # SQLite's own, empty, go the next time there is room


@pytest.mark.parametrize("log", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_library_on_a_read_only_disk_is_read_and_not_touched(library: Path, *, log: bool) -> None:
    if log:
        leave_log(library)
    before = {path.name: path.read_bytes() for path in library.parent.iterdir() if path.is_file()}
    subprocess.run(["mount", "-o", "remount,ro", str(library.parent)], check=True)
    listed = benchwright("--store", library, "list", "--json")
    assert listed.status == DONE, listed.err
    assert {one["name"] for one in listed.json} == {"late" if log else run_events.plan().name}
    assert benchwright("--store", library, "show", "last").status == DONE
    report = library.parent.parent / "report.csv"
    assert benchwright("--store", library, "export", "last", "--csv", report).status == DONE
    refused = benchwright("--store", library, "delete", RUNS[0], "--for-good", "--yes")
    assert refused.status == BAD_INPUT
    assert "cannot be written" in refused.err
    workstation = Workstation(library)
    assert len(workstation.runs()) == 4
    assert isinstance(workstation.read_only(), StoreLostError)
    workstation.close()
    assert {path.name: path.read_bytes() for path in library.parent.iterdir() if path.is_file()} == before


def test_a_library_of_an_earlier_format_on_a_full_disk_is_not_half_converted(library: Path) -> None:
    connection = sqlite3.connect(library)
    connection.execute("PRAGMA user_version = 5")
    connection.execute("DROP TABLE formats")
    connection.commit()
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    ballast = fill(library.parent)
    store = Store(library)
    with pytest.raises(StoreFullError):
        store.delete(RUNS[0])
    store.close()
    ballast.unlink()
    assert len(store.runs()) == 4
    store.close()


@pytest.mark.parametrize("log", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.parametrize("number", range(1, FORMAT))
def test_a_library_of_an_earlier_format_on_a_read_only_disk_is_read(
    small_disk: Path, number: int, *, log: bool
) -> None:
    library = small_disk / "runs.sqlite3"
    shutil.copyfile(FORMATS / f"format-{number}.sqlite3", library)
    if log:
        leave_log(library)
    before = library.read_bytes()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with closing(Store(library)) as store:
        runs = store.runs()
        assert runs
        assert all(run.name == "late" for run in runs) or not log
        for run in runs:
            assert store.load(run.id).trials
    assert library.read_bytes() == before


def test_a_full_disk_has_the_status_of_a_failure_and_what_was_written_is_named(
    small_disk: Path, tmp_path: Path
) -> None:
    source, table = tmp_path / "source.sqlite3", tmp_path / "table.csv"
    write_runs(source)
    fill(small_disk)
    backup = benchwright("--store", source, "library", "backup", small_disk / "backup.sqlite3")
    assert (backup.status, "No space left" in backup.err) == (FAILED, True)
    exported = benchwright(
        "--store", source, "export", "last", "--csv", table, "--library", small_disk / "runs.sqlite3"
    )
    assert (exported.status, "No space left" in exported.err) == (FAILED, True)
    assert f"Wrote {table}" in exported.err
    assert table.exists()
    written = benchwright("--store", source, "export", "last", "--csv", small_disk / "table.csv")
    assert (written.status, "no space left" in written.err) == (FAILED, True)
