"""A library into which another program writes while a run is recorded: that is noticed, and the file is left alone."""

import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from app.events import OutputRead, RunEnded, RunStarted, State
from app.store.errors import DamagedError, StoreError, StoreLostError
from app.store.full_disk import move_to_new_file
from app.store.recorder import Recorder
from app.store.store import Store
from tests.app import run_events

RUN = "20261120-141530-over"
EARLIER = "20261119-141530-befo"
OTHER = "20261118-141530-othe"


def write_run(path: Path, run_id: str) -> None:
    store = Store(path)
    with store.recorder(run_id) as recorder:
        recorder.record(RunStarted(run_id, run_events.plan(), "2026-11-20T14:15:30+00:00"))
        recorder.record(OutputRead(1, "stdout", os.urandom(50_000)))
        recorder.record(RunEnded(run_id, State.DONE))
    store.close()


def copy_over(source: Path, target: Path) -> None:
    """Copy as cp does, in another process: a descriptor closed in this one would give up SQLite's locks."""
    subprocess.run(["cp", str(source), str(target)], check=True)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Return a library of an earlier run; beside it are copies of it and of another one, which holds as much."""
    (tmp_path / "lib").mkdir()
    write_run(tmp_path / "lib/runs.sqlite3", EARLIER)
    write_run(tmp_path / "other.sqlite3", OTHER)
    return tmp_path / "lib/runs.sqlite3"


@pytest.fixture
def earlier(tmp_path: Path, library: Path) -> Path:
    return Path(shutil.copyfile(library, tmp_path / "earlier.sqlite3"))


def recording(store: Store) -> Recorder:
    """Return a recorder whose run is in the file and, after that, in its log."""
    recorder = store.recorder(RUN)
    recorder.record(RunStarted(RUN, run_events.plan(), "2026-11-20T14:15:30+00:00"))
    recorder.record(OutputRead(1, "stdout", os.urandom(50_000)))
    recorder.flush()
    elsewhere(store.path, "PRAGMA wal_checkpoint(RESTART)")
    write_more(recorder)
    return recorder


def write_more(recorder: Recorder) -> None:
    recorder.record(OutputRead(1, "stdout", b"more\n" * 100))
    recorder.flush()


def elsewhere(path: Path, *statements: str) -> None:
    """Run SQL in another process."""
    program = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], timeout=30, isolation_level=None)\n"
        "for one in sys.argv[2:]: c.execute(one).fetchall()"
    )
    subprocess.run([sys.executable, "-c", program, str(path), *statements], check=True)


def assert_restored(path: Path, run_id: str) -> None:
    """Assert that nothing of the run is beside the restored library, which is sound and holds what it held."""
    assert [one.name for one in path.parent.glob(f"{path.name}?*")] == []
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    store = Store(path)
    assert [run.id for run in store.runs()] == [run_id]
    store.close()


@pytest.mark.parametrize("restored", ["other", "earlier"])
def test_a_library_that_is_copied_over_stays_as_the_copy(
    library: Path, earlier: Path, tmp_path: Path, restored: str
) -> None:
    store = Store(library)
    recorder = recording(store)
    copy_over(tmp_path / f"{restored}.sqlite3", library)
    before = digest(tmp_path / f"{restored}.sqlite3")
    with pytest.raises(DamagedError, match="overwritten or truncated by another program"):
        write_more(recorder)
    assert not library.with_name("runs.sqlite3-wal").exists()  # SQLite would read it into the copy
    move_to_new_file(recorder)
    saved = recorder.path
    recorder.close()
    store.close()
    assert digest(library) == before
    assert_restored(library, OTHER if restored == "other" else EARLIER)
    rescued = Store(saved)
    assert len(rescued.output(RUN, 1)["stdout"]) == 51_000
    rescued.close()


@pytest.mark.parametrize(("size", "kind"), [(0, StoreLostError), (8 * 4096, DamagedError)])
def test_a_library_that_is_cut_off_is_not_written_to(library: Path, size: int, kind: type[StoreError]) -> None:
    store = Store(library)
    recorder = recording(store)
    recorder.record(OutputRead(1, "stderr", os.urandom(300_000)))
    recorder.flush()
    os.truncate(library, size)
    before = digest(library)
    with pytest.raises(kind):
        write_more(recorder)
    move_to_new_file(recorder)
    recorder.close()
    store.close()
    assert digest(library) == before
    assert library.stat().st_size == size


def test_a_log_that_could_not_be_rescued_is_kept_and_not_written_into_the_copy(library: Path, tmp_path: Path) -> None:
    store = Store(library)
    recorder = recording(store)
    copy_over(tmp_path / "other.sqlite3", library)
    for _ in range(2):
        with pytest.raises(DamagedError):
            write_more(recorder)
    with pytest.raises(DamagedError):
        recorder.close()
    store.close()
    assert digest(library) == digest(tmp_path / "other.sqlite3")
    (log,) = library.parent.glob("*-wal-of-lost-*")
    assert log.stat().st_size
    log.unlink()
    next(library.parent.glob("*-shm-of-lost-*")).unlink()
    assert_restored(library, OTHER)


def test_what_is_copied_over_behind_the_last_commit_is_not_written_to(library: Path, tmp_path: Path) -> None:
    store = Store(library)
    recorder = recording(store)
    copy_over(tmp_path / "other.sqlite3", library)
    recorder.close()
    store.close()
    assert digest(library) == digest(tmp_path / "other.sqlite3")


def test_a_run_continues_when_the_same_content_is_restored(library: Path, tmp_path: Path) -> None:
    store = Store(library)
    recorder = recording(store)
    copy_over(library, tmp_path / "same")
    copy_over(tmp_path / "other.sqlite3", library)
    with pytest.raises(DamagedError):
        write_more(recorder)
    copy_over(tmp_path / "same", library)
    try:
        recorder.flush()
    except StoreLostError:  # its log was moved away from beside the copy
        recorder.flush()
    recorder.close()
    assert recorder.path == library
    assert len(store.output(RUN, 1)["stdout"]) == 51_000
    store.close()
    with closing(sqlite3.connect(library)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def delete(path: Path) -> None:
    elsewhere(path, "PRAGMA foreign_keys = ON", "DELETE FROM runs WHERE id LIKE '%befo'")


HARMLESS: list[Callable[[Path], None]] = [
    os.utime,
    lambda path: path.chmod(0o640),
    lambda path: elsewhere(path, "PRAGMA wal_checkpoint(PASSIVE)"),
    lambda path: elsewhere(path, "PRAGMA wal_checkpoint(TRUNCATE)"),
    lambda path: elsewhere(path, "CREATE TABLE x AS SELECT randomblob(9000000)", "DROP TABLE x"),
    lambda path: elsewhere(path, "VACUUM", "PRAGMA wal_checkpoint(RESTART)"),
    delete,
    lambda path: write_run(path, OTHER),
]


def test_what_other_programs_do_through_sqlite_raises_no_alarm(library: Path) -> None:
    store = Store(library)
    recorder = recording(store)
    for act in HARMLESS:
        act(library)
        write_more(recorder)
    recorder.record(RunEnded(RUN, State.DONE))
    recorder.close()
    assert recorder.path == library
    assert {run.id for run in store.runs()} == {RUN, OTHER}
    assert len(store.output(RUN, 1)["stdout"]) == 50_500 + 500 * len(HARMLESS)
    store.close()


def test_checkpoints_under_way_raise_no_alarm(library: Path) -> None:
    """Another program writes and checkpoints without a pause, and is killed in the middle."""
    store = Store(library)
    recorder = recording(store)
    program = (
        "import sqlite3, sys\n"
        "c = sqlite3.connect(sys.argv[1], timeout=30, isolation_level=None)\n"
        "c.execute('CREATE TABLE IF NOT EXISTS x (y)')\n"
        "while True:\n"
        "    c.execute('INSERT INTO x VALUES (randomblob(300000))')\n"
        "    c.execute('PRAGMA wal_checkpoint(PASSIVE)').fetchall()\n"
        "    c.execute('DELETE FROM x')\n"
    )
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", program, str(library)]) as other:
            for _ in range(40):
                write_more(recorder)
            other.kill()
    recorder.close()
    assert recorder.path == library
    assert len(store.output(RUN, 1)["stdout"]) == 50_500 + 500 * 120
    store.close()
