"""A library that is cut off at its end: what is before the cut is saved, and the cut file stays as it is."""

import os
import shutil
import sqlite3
import stat
from pathlib import Path

import pytest

from app.events import OutputRead, RunEnded, RunStarted, SampleRead, State, TrialStarted
from app.store.errors import StoreError
from app.store.salvage import Salvaged, salvage, saved_text
from app.store.store import Store
from suites.vocab import Sample
from tests.app import run_events
from tests.app.run_events import IOPS

COUNT = 20


def run_ids() -> list[str]:
    return [f"20261120-1415{number:02d}-cut{chr(ord('a') + number)}" for number in range(COUNT)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a library of twenty runs, closed."""
    store = Store(tmp_path_factory.mktemp("whole") / "runs.sqlite3")
    for number, run_id in enumerate(run_ids()):
        with store.recorder(run_id) as recorder:
            recorder.record(RunStarted(run_id, run_events.plan(), f"2026-11-20T14:15:{number:02d}+00:00"))
            recorder.record(TrialStarted(run_events.trial(1), None))
            for second in range(100):
                recorder.record(SampleRead(1, Sample(float(second), IOPS, float(second))))
            recorder.record(OutputRead(1, "stdout", b"%02d" % number * 18000))
            recorder.record(RunEnded(run_id, State.DONE))
    store.close()
    connection = sqlite3.connect(store.path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return store.path


def cut(whole: Path, folder: Path, share: float, more: int = 0) -> Path:
    """Return a copy that holds `share` of the library, and `more` bytes."""
    path = folder / "cut.sqlite3"
    shutil.copyfile(whole, path)
    os.truncate(path, int(whole.stat().st_size * share) // 4096 * 4096 + more)
    return path


def saved(path: Path, target: Path) -> Salvaged:
    """Salvage, and see that the damaged file is as it was and that the new one is sound."""
    before, moment = path.read_bytes(), path.stat().st_mtime_ns
    found = salvage(path, target)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (before, moment)
    assert sorted(one.name for one in path.parent.iterdir()) == ["cut.sqlite3", target.name]
    connection = sqlite3.connect(target)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    store = Store(target)
    assert [store.load(run.id).summary.state for run in store.runs()] == [State.DONE] * found.runs
    store.close()
    return found


@pytest.mark.quick(3)
@pytest.mark.parametrize(("share", "least"), [(0.99, 20), (0.9, 15), (0.5, 7)])
@pytest.mark.parametrize("more", [0, 1000])
def test_what_is_before_the_cut_is_saved(whole: Path, tmp_path: Path, share: float, least: int, more: int) -> None:
    found = saved(cut(whole, tmp_path, share, more), tmp_path / "new.sqlite3")
    assert found.runs >= least
    assert found.runs + len(found.lost) <= COUNT
    shown, doubt = saved_text(found, tmp_path / "new.sqlite3")
    assert f"{1 - share:.0%} of it is missing" in shown
    assert "Check each run" in doubt


@pytest.mark.parametrize("share", [0.1, 0.02])
def test_where_too_little_is_left_nothing_is_written(whole: Path, tmp_path: Path, share: float) -> None:
    path = cut(whole, tmp_path, share, 17)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="cannot be salvaged"):
        salvage(path, tmp_path / "new.sqlite3")
    assert path.read_bytes() == before
    assert not (tmp_path / "new.sqlite3").exists()


@pytest.mark.parametrize("size", [0, 16, 99, 100, 511, 3000])
def test_less_than_a_page_is_refused_by_name(whole: Path, tmp_path: Path, size: int) -> None:
    path = cut(whole, tmp_path, 0.0, size)
    with pytest.raises(StoreError, match=r"cut\.sqlite3"):
        salvage(path, tmp_path / "new.sqlite3")
    assert path.stat().st_size == size
    assert not (tmp_path / "new.sqlite3").exists()


def test_a_library_of_which_the_log_is_left_is_saved_whole(tmp_path: Path) -> None:
    """Emptied while it was open: everything since it was made may still be in the log."""
    path = tmp_path / "cut.sqlite3"
    other = sqlite3.connect(path)  # keeps the log from being tidied up
    other.execute("PRAGMA auto_vacuum = FULL")
    other.execute("PRAGMA journal_mode = WAL")
    other.execute("SELECT count(*) FROM sqlite_master").fetchall()
    store = Store(path)
    with store.recorder(run_ids()[0]) as recorder:
        recorder.record(RunStarted(run_ids()[0], run_events.plan(), "2026-11-20T14:15:00+00:00"))
        recorder.record(RunEnded(run_ids()[0], State.DONE))
        os.truncate(path, 0)
        found = salvage(path, tmp_path / "new.sqlite3")
        assert path.stat().st_size == 0
        with pytest.raises(StoreError, match="was emptied"):
            recorder.verify()
    other.close()
    assert found.runs == 1


def test_a_pipe_or_a_device_is_no_library(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        with pytest.raises(StoreError, match=r"it is a (pipe|device|directory)"):
            salvage(path, tmp_path / "new.sqlite3")
    assert not (tmp_path / "new.sqlite3").exists()
