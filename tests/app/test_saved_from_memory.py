"""A library that was emptied while a run is recorded: the run is written anew from memory, row by row as it was."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
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
    RunEnded,
    RunLeft,
    SampleRead,
    State,
    TelemetryRead,
    TrialAttached,
    TrialEnded,
    TrialStarted,
    VerdictReached,
    WorkspaceUsed,
)
from app.store import Recorder, Store, held
from app.store.rescue import rescue
from remote.jobs.workspace import Workspace
from suites.base import Parsed, Purpose
from suites.verdict import Trust, Verdict
from suites.vocab import Figure
from tests.app import recorded
from tests.app.test_left_runs import BEGAN, RUN, SAMPLES, WORKSPACE, begun

OTHER = Workspace("/var/tmp/benchwright-fedcba9876543210", "fedcba9876543210")
CHANGED = HostChanged(HostChange("web-1", "governor", "/sys/governor", "powersave", "performance"), "2026-11-22T14:15Z")


def first_trial() -> Iterator[Event]:
    """Yield a run whose first trial has ended and whose second is under way on its host."""
    yield from begun()
    yield FactsRead("web-1", Moment.BEFORE, recorded.facts("web-1"))
    yield CHANGED
    yield TelemetryRead("web-1", SAMPLES)
    yield FindingRaised(recorded.FINDING, 1)
    yield TrialEnded(1, State.DONE, 0, Parsed((Figure(recorded.IOPS, 1002.0, recorded.READ),), SAMPLES, ("a note",)))
    yield VerdictReached(Verdict(next(iter(Trust)), None, "fine", (recorded.FINDING,), "random read", "web-1"))
    yield WorkspaceUsed("random read", "web-1", "web-2", True, OTHER)
    yield JobPlanned(2, Purpose.MEASURE, 0, "web-1", OTHER, "measure2-cb4d4c86", {"stdout": 0, "stderr": 0})
    yield JobBegan("measure2-cb4d4c86", BEGAN)
    yield TrialStarted(recorded.trial(2), 10.0)
    yield OutputRead(2, "stdout", b"three\n")
    for sample in SAMPLES:
        yield SampleRead(2, sample)


def rows(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return every row of a library but for numbers that only tell rows apart, and when it was last recorded."""
    found = {}
    with closing(sqlite3.connect(path)) as connection:
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            named = [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]
            numbered = table in {"findings", "figures", "series", "samples", "output", "changes", "verdicts", "metrics"}
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
    recorder.record(RunLeft(RUN))
    recorder.close()
    recorder = store.recorder(RUN, store.take_over(RUN))
    recorder.record(TrialAttached(recorded.trial(2), 10.0, SAMPLES))
    recorder.record(OutputRead(2, "stdout", b"four\n"))
    recorder.flush()
    return recorder


@pytest.mark.parametrize("attached", [False, True], ids=["new run", "attached run"])
def test_a_run_whose_library_was_emptied_is_saved_row_by_row(store: Store, *, attached: bool) -> None:
    with recording(store, attached=attached) as recorder:
        before = rows(store.path)
        os.truncate(store.path, 0)
        assert recorder.save_as(store.path.with_name("saved.sqlite3")) == "The other runs of the library are not in it."
        after = rows(recorder.path)
        assert {table: len(found) for table, found in after.items()} == {
            table: len(found) for table, found in before.items()
        }
        assert after == before
        assert len(before["jobs"]) == len(before["workspaces"]) == len(before["trials"]) == 2
        recorder.record(TrialEnded(2, State.PARTIAL, None, Parsed((), SAMPLES), "stopped"))
        recorder.record(RunEnded(RUN, State.PARTIAL, "stopped"))
        recorder.verify()
    saved = Store(recorder.path).load(RUN)
    assert [trial.state for trial in saved.trials] == [State.DONE, State.PARTIAL]
    assert saved.summary.state is State.PARTIAL


@pytest.mark.parametrize("attached", [False, True], ids=["new run", "attached run"])
def test_a_run_that_is_let_go_of_is_attachable_from_its_new_file(store: Store, *, attached: bool) -> None:
    with recording(store, attached=attached) as recorder:
        os.truncate(store.path, 0)
        rescue(recorder)
        recorder.record(RunLeft(RUN))
        recorder.verify()
    new = Store(recorder.path)
    (left,) = new.left_runs()
    assert [one.trial.id for one in left.under_way] == [2]
    assert [(job.trial, job.began) for job in left.jobs] == [(1, BEGAN), (2, BEGAN)]
    assert [used.workspace for used in left.workspaces] == [WORKSPACE, OTHER]
    assert [change.pending for change in left.record.changes] == [True]
    printed = [(2, "stdout", b"three\n"), *([(2, "stdout", b"four\n")] if attached else [])]
    assert [(2, *one) for one in new.output_in_order(RUN, 2)] == printed
    assert new.take_over(RUN).epoch == (2 if attached else 1)


def test_what_was_too_much_to_be_held_is_said(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held, "MOST", 1000)
    with recording(store, attached=True) as recorder:
        os.truncate(store.path, 0)
        missing = recorder.save_as(store.path.with_name("saved.sqlite3"))
        assert missing.endswith("Some samples and output of this run are missing.")
        assert len(Store(recorder.path).load(RUN).trials) == 2
