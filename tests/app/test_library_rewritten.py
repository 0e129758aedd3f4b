"""A library that was emptied while a run is recorded: the run is written anew from memory, row by row as it was."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from app.events import (
    Event,
    FactsRead,
    FindingRaised,
    HostChange,
    HostChanged,
    JobBegan,
    JobPlanned,
    Moment,
    OutputRead,
    RunDetached,
    RunEnded,
    SampleRead,
    State,
    TelemetryRead,
    TrialAttached,
    TrialEnded,
    TrialStarted,
    VerdictReached,
    WorkspaceUsed,
)
from app.store import run_connection
from app.store.errors import StoreError
from app.store.full_disk import move_to_new_file
from app.store.recorder import Recorder
from app.store.store import Store
from remote.jobs.workspace import Workspace
from suites.base import Purpose
from suites.outputs import ParsedTrial
from suites.verdict import Trust, Verdict
from suites.vocab import Figure
from tests.app import run_events
from tests.app.test_detached_runs import BEGAN, RUN, SAMPLES, WORKSPACE, begun
from tests.messages import messages

SUMMARIES = ("run_summaries", "run_metrics", "configurations", "configuration_values")

MESSAGES = messages("app", "test_library_rewritten")

OTHER = Workspace("/var/tmp/benchwright-fedcba9876543210", "fedcba9876543210")
CHANGED = HostChanged(HostChange("web-1", "governor", "/sys/governor", "powersave", "performance"), "2026-11-22T14:15Z")


def first_trial() -> Iterator[Event]:
    """Yield a run whose first trial has ended and whose second is under way on its host."""
    yield from begun()
    yield FactsRead("web-1", Moment.BEFORE, run_events.facts("web-1"))
    yield CHANGED
    yield TelemetryRead("web-1", SAMPLES)
    yield FindingRaised(run_events.FINDING, 1)
    yield TrialEnded(
        1, State.DONE, 0, ParsedTrial((Figure(run_events.IOPS, 1002.0, run_events.READ),), SAMPLES, ("a note",))
    )
    yield VerdictReached(Verdict(next(iter(Trust)), None, "fine", (run_events.FINDING,), "random read", "web-1"))
    yield WorkspaceUsed("random read", "web-1", "web-2", True, OTHER)
    yield JobPlanned(2, Purpose.MEASURE, 0, "web-1", OTHER, "measure2-cb4d4c86", {"stdout": 0, "stderr": 0})
    yield JobBegan("measure2-cb4d4c86", BEGAN)
    yield TrialStarted(run_events.trial(2), 10.0)
    yield OutputRead(2, "stdout", b"three\n")
    for sample in SAMPLES:
        yield SampleRead(2, sample)


NUMBERED = {"findings", "figures", "series", "sample_rows", "output", "changes", "verdicts", "metrics"}


def rows(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return every row of a library but for numbers that only tell rows apart, and when it was last recorded."""
    found = {}
    with closing(sqlite3.connect(path)) as connection:
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            named = [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]
            numbered = table in {
                "findings",
                "figures",
                "series",
                "sample_rows",
                "output",
                "changes",
                "verdicts",
                "metrics",
            }
            wanted = [name for name in named if name != "touched" and not (numbered and name in {"id", "series"})]
            words = ", ".join(f'"{name}"' for name in wanted)
            found[table] = sorted(connection.execute(f"SELECT {words} FROM {table}").fetchall(), key=repr)
        found["output"] = output(connection)
    return found


def output(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
    """Return all that was printed, whatever the pieces in which it was stored."""
    printed: dict[tuple[Any, ...], bytes] = {}
    for run, trial, stream, data in connection.execute("SELECT run_id, trial, stream, data FROM output ORDER BY id"):
        printed[run, trial, stream] = printed.get((run, trial, stream), b"") + data
    return sorted((*key, data) for key, data in printed.items())


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "runs.sqlite3")


def recording(store: Store, *, attached: bool) -> Recorder:
    """Return a recorder of the run under way: the one that began it, or one that has taken it over."""
    recorder = store.recorder(RUN)
    for event in first_trial():
        recorder.record(event)
    recorder.flush()
    if not attached:
        return recorder
    recorder.record(RunDetached(RUN))
    recorder.close()
    recorder = store.recorder(RUN, store.take_over(RUN))
    recorder.record(TrialAttached(run_events.trial(2), 10.0, SAMPLES))
    recorder.record(OutputRead(2, "stdout", b"four\n"))
    recorder.flush()
    return recorder


@pytest.mark.parametrize("attached", [False, True], ids=["new run", "attached run"])
def test_a_run_whose_library_was_emptied_is_saved_row_by_row(store: Store, *, attached: bool) -> None:
    with recording(store, attached=attached) as recorder:
        before = rows(store.path)
        os.truncate(store.path, 0)
        assert recorder.save_as(store.path.with_name("saved.sqlite3")) == MESSAGES["the_other_runs_of_the"]
        after = rows(recorder.path)
        for found in (before, after):
            for computed in ("series_statistics", *SUMMARIES):
                found.pop(computed)  # again when needed, or when the run ends
        assert {table: len(found) for table, found in after.items()} == {
            table: len(found) for table, found in before.items()
        }
        assert after == before
        assert len(before["jobs"]) == len(before["workspaces"]) == len(before["trials"]) == 2
        recorder.record(TrialEnded(2, State.PARTIAL, None, ParsedTrial((), SAMPLES), "stopped"))
        recorder.record(RunEnded(RUN, State.PARTIAL, "stopped"))
        recorder.verify()
    saved = Store(recorder.path).load(RUN)
    assert [trial.state for trial in saved.trials] == [State.DONE, State.PARTIAL]
    assert saved.summary.state is State.PARTIAL


@pytest.mark.parametrize("attached", [False, True], ids=["new run", "attached run"])
def test_a_detached_run_can_be_attached_from_its_new_file(store: Store, *, attached: bool) -> None:
    with recording(store, attached=attached) as recorder:
        os.truncate(store.path, 0)
        move_to_new_file(recorder)
        recorder.record(RunDetached(RUN))
        recorder.verify()
    new = Store(recorder.path)
    (left,) = new.detached_runs()
    assert [one.trial.id for one in left.under_way] == [2]
    assert [(job.trial, job.began) for job in left.jobs] == [(1, BEGAN), (2, BEGAN)]
    assert [used.workspace for used in left.workspaces] == [WORKSPACE, OTHER]
    assert [change.pending for change in left.record.changes] == [True]
    printed = [(2, "stdout", b"three\n"), *([(2, "stdout", b"four\n")] if attached else [])]
    assert [(2, *one) for one in new.output_in_order(RUN, 2)] == printed
    assert new.take_over(RUN).epoch == (2 if attached else 1)


def test_what_was_too_much_to_be_held_is_said(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_connection, "MAX_BYTES", 1000)
    with recording(store, attached=True) as recorder:
        os.truncate(store.path, 0)
        missing = recorder.save_as(store.path.with_name("saved.sqlite3"))
        assert missing.endswith(MESSAGES["some_samples_and_output_of"])
        assert len(Store(recorder.path).load(RUN).trials) == 2


ENDING = (
    TrialEnded(2, State.PARTIAL, None, ParsedTrial((), SAMPLES), "stopped"),
    RunEnded(RUN, State.PARTIAL, "stopped"),
)


def cut(path: Path, at: int) -> None:
    os.truncate(path, at)


def cut_log(path: Path, at: int) -> None:
    os.truncate(f"{path}-wal", at)


def garbage(path: Path, at: int) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(os.urandom(4096))


def other_copied_over(path: Path, at: int) -> None:
    """Copy another library over this one, from some page on: in place, as cp does."""
    with closing(sqlite3.connect(f"{path}-other")) as other:
        other.execute("CREATE TABLE theirs (x)")
        other.executemany("INSERT INTO theirs VALUES (?)", [("theirs" * 500,)] * 40)
        other.commit()
    with path.open("r+b") as file, Path(f"{path}-other").open("rb") as theirs:
        file.seek(at)
        file.write(theirs.read())


def grown(store: Store) -> Recorder:
    """Return a recorder of a run whose rows are on many pages, some in the file and some in its log."""
    recorder = store.recorder(RUN)
    for number, event in enumerate(first_trial()):
        recorder.record(event)
        if number == 8:
            recorder.record(OutputRead(1, "stdout", b"line of output\n" * 4000))
            recorder.flush()
            with closing(sqlite3.connect(store.path)) as connection:
                connection.execute("PRAGMA wal_checkpoint(RESTART)")
    recorder.record(OutputRead(2, "stderr", bytes(range(256)) * 100))
    recorder.flush()
    return recorder


def kept(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return all that is stored, which another program finds sound and Benchwright can read."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    store = Store(path)
    assert [run.id for run in store.runs()] == [RUN]
    assert store.load(RUN).trials
    store.close()
    return rows(path)


@pytest.mark.parametrize("every", [29, pytest.param(1, marks=pytest.mark.slow)], ids=["some pages", "all pages"])
@pytest.mark.parametrize(
    "break_", [garbage, *(pytest.param(each, marks=pytest.mark.slow) for each in (cut, cut_log, other_copied_over))]
)
def test_what_is_called_saved_is_whole_wherever_the_library_was_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, break_: Callable[[Path, int], None], every: int
) -> None:
    monkeypatch.setattr("app.store.recorder.now", lambda: "2026-11-22T14:16:00.000+00:00")
    whole = Store(tmp_path / "whole.sqlite3")
    with grown(whole) as recorder:
        for event in ENDING:
            recorder.record(event)
    expected = kept(whole.path)
    whole.close()
    size = whole.path.stat().st_size
    called_whole = 0
    for number, at in enumerate(range(0, size, 4096 * every)):
        store = Store(tmp_path / f"{number}.sqlite3")
        recorder = grown(store)
        break_(store.path, at)
        for event in ENDING:
            with suppress(StoreError):  # it waits then
                recorder.record(event)
        try:
            recorder.flush()
            recorder.verify()
            called_whole += 1
        except StoreError:
            recorder.save_as(tmp_path / f"{number}-saved.sqlite3")
        path = recorder.path
        recorder.close()
        store.close()
        assert kept(path) == expected, at
        assert path.name.endswith("-saved.sqlite3") or path.name == f"{number}.sqlite3"
    assert called_whole < number + 1


def test_nothing_is_left_of_a_copy_that_was_not_sound(store: Store) -> None:
    with grown(store) as recorder:
        garbage(store.path, 5 * 4096)
        target = store.path.with_name("saved.sqlite3")
        target.write_bytes(b"mine")
        with pytest.raises(StoreError, match="exists already"):
            recorder.save_as(target)
        assert target.read_bytes() == b"mine"
        target.unlink()
        recorder.save_as(target)
    neighbours = {path.name for path in store.path.parent.iterdir() if path.name.startswith("saved")}
    assert neighbours == {"saved.sqlite3"}
