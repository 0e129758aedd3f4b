"""Who records a run is told by more than its process: by signs of life, and by an epoch that fences its writes."""

import os
import shutil
import sqlite3
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.events import FindingRaised, RunDetached, RunEnded, State, TrialEnded
from app.store import ownership, recorder
from app.store.errors import StoreBusyError, StoreError, TakenOverError
from app.store.ownership import Owner, is_alive, this_process
from app.store.store import Store
from remote.jobs.job_record import JobStart
from suites.outputs import ParsedTrial
from tests.app import run_events
from tests.app.stores import any_store, execute, in_a_file, postgresql, store_in_both
from tests.app.test_detached_runs import RUN, begun
from tests.app.test_detached_runs import record as record_left
from tests.app.test_store_formats import STORES

__all__ = ["any_store", "postgresql", "store_in_both"]  # a fixture


def own(store: Store, **columns: object) -> None:
    """Change who the library says records its runs."""
    names = ", ".join(f"{name} = ?" for name in columns)
    execute(store, f"UPDATE runs SET {names}", *columns.values())


def ago(seconds: float) -> str:
    return (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat()


ELSEWHERE = {"owner_pid": 1, "owner_boot": "another", "owner_space": "pid:[4026532999]", "owner_host": "ann@desk"}
UNREACHABLE = ELSEWHERE | {"owner_host": ""}
"""Where an older Benchwright did not note its computer, nothing is waited for."""


def test_a_process_that_cannot_be_seen_is_neither_alive_nor_dead() -> None:
    us = this_process()
    assert is_alive(us) is True
    assert is_alive(replace(us, started=us.started + 1)) is False
    assert is_alive(replace(us, space="pid:[4026532999]", started=1)) is None
    assert is_alive(replace(us, boot="another")) is None
    assert is_alive(replace(us, space=None)) is True
    assert is_alive(replace(us, space=None, started=1)) is None
    assert is_alive(Owner(0, "", 0)) is False
    assert us.pid == os.getpid()
    assert us.where == ownership.this_computer()


@pytest.mark.parametrize("silent", [3.0, -3.0])
def test_one_that_cannot_be_seen_is_left_alone_while_it_gives_signs_of_life(store: Store, silent: float) -> None:
    record_left(store, begun())
    own(store, **ELSEWHERE, touched=ago(silent))
    assert store.detached_runs() == []
    assert store.mark_interrupted() == []
    assert not store.runs()[0].detached
    for refused in (store.take_over, store.delete, lambda run: store.forget(run, "given up")):
        with pytest.raises(
            StoreError, match=r"in progress: Benchwright on ann@desk \(process 1\) recorded it \d s ago"
        ):
            refused(RUN)
    own(store, touched=ago(ownership.HEARTBEAT_TIMEOUT + 1))
    assert [left.id for left in store.detached_runs()] == [RUN]


def test_a_clock_that_is_wrong_does_not_hide_signs_of_life(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two computers share a home, and their clocks are a minute apart."""
    record_left(store, begun())
    own(store, **ELSEWHERE, touched=ago(60))
    waited: list[float] = []

    def beat_meanwhile(seconds: float) -> None:
        waited.append(seconds)
        own(store, touched=ago(55))

    monkeypatch.setattr(time, "sleep", beat_meanwhile)
    with pytest.raises(StoreError, match="recorded it a moment ago"):
        store.take_over(RUN)
    assert waited == [2 * ownership.HEARTBEAT]
    monkeypatch.setattr(time, "sleep", waited.append)
    assert store.take_over(RUN).unseen


@in_a_file
def test_a_library_that_was_locked_for_long_does_not_hide_signs_of_life(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container on this computer records a run, and could give no sign of life while another program had the lock."""
    record_left(store, begun())
    us = this_process()
    own(store, owner_pid=1, owner_boot=us.boot, owner_space="pid:[4026532999]", owner_host=us.where, touched=ago(60))
    waited: list[float] = []

    def freed_meanwhile(seconds: float) -> None:
        waited.append(seconds)
        if lock.in_transaction:  # nobody waits for a sign of life before one can be given
            assert seconds < 1
            lock.execute("ROLLBACK")
        elif seconds >= ownership.HEARTBEAT:
            own(store, touched=ago(0))

    monkeypatch.setattr(time, "sleep", freed_meanwhile)
    lock = sqlite3.connect(store.path, isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="is in progress"):
        store.take_over(RUN)
    assert sum(waited) >= 2 * ownership.HEARTBEAT
    lock.close()


def test_a_sign_of_life_waits_for_no_lock(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recorder must take events at once while another program has the library locked."""
    monkeypatch.setattr(recorder, "HEARTBEAT", 0.05)
    with store.recorder(RUN) as recording:
        recording.patience = 0.0
        for event in begun():
            recording.record(event)
        monkeypatch.setattr(recording, "_committed", time.monotonic() - 60)
        with store.database.writing():
            time.sleep(0.3)  # it beats in vain
            for _ in range(3):
                began = time.monotonic()
                recording.defer(RunDetached(RUN))
                assert time.monotonic() - began < 2
                with pytest.raises(StoreBusyError, match="locked by another program"):
                    recording.flush()
                assert time.monotonic() - began < 4
        recording.flush()


def test_a_recorder_that_was_replaced_writes_nothing(store: Store) -> None:
    first = store.recorder(RUN)
    for event in begun():
        first.record(event)
    first.flush()
    own(store, **UNREACHABLE, touched=ago(60))
    taken = store.take_over(RUN)
    assert taken.epoch == 1
    before = store.load(RUN)
    with pytest.raises(TakenOverError, match=f"The run {RUN} was taken over by Benchwright on .* no longer records"):
        first.record(TrialEnded(1, State.DONE, 0, ParsedTrial()))
    for event in (FindingRaised(run_events.FINDING), RunDetached(RUN), RunEnded(RUN, State.FAILED)):
        with pytest.raises(TakenOverError):
            first.record(event)
    assert first.taken_over
    first.close()
    after = store.load(RUN)
    assert (after.trials, after.findings, after.reason) == (before.trials, before.findings, before.reason)
    with store.recorder(RUN, taken) as second:
        second.record(RunEnded(RUN, State.PARTIAL, "ended"))
    assert store.load(RUN).reason == "ended"


def test_one_that_was_forgotten_meanwhile_writes_nothing(store: Store) -> None:
    first = store.recorder(RUN)
    for event in begun():
        first.record(event)
    first.flush()
    own(store, **UNREACHABLE, touched=ago(60))
    store.forget(RUN, "given up")
    with pytest.raises(TakenOverError):
        first.record(RunEnded(RUN, State.DONE))
    first.close()
    assert (store.load(RUN).summary.state, store.load(RUN).reason) == (State.PARTIAL, "given up")


def test_one_that_was_marked_as_interrupted_and_lives_says_so(store: Store) -> None:
    """Between its beginning and its first directory on a host, a clock that is wrong may deceive another window."""
    events = [event for event in begun() if "Workspace" not in type(event).__name__]
    first = store.recorder(RUN)
    first.record(events[0])
    own(store, **ELSEWHERE, touched=ago(60))
    assert store.mark_interrupted() == [RUN]
    first.record(FindingRaised(run_events.FINDING))
    assert (store.load(RUN).summary.state, store.load(RUN).reason) == (State.RUNNING, "")
    first.record(RunEnded(RUN, State.DONE))
    first.close()
    assert store.load(RUN).summary.state is State.DONE


def test_a_recorder_with_nothing_to_write_gives_signs_of_life(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "HEARTBEAT", 0.1)
    with store.recorder(RUN) as writing:
        for event in begun():
            writing.record(event)
        own(store, touched=ago(3600))
        deadline = time.monotonic() + 60.0
        while time.monotonic() < deadline:
            ((touched,),) = execute(store, "SELECT touched FROM runs")
            if touched > ago(60):
                return
            time.sleep(0.05)
    pytest.fail("no sign of life")


def test_format_6_is_read_as_it_was_written_and_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite3"
    shutil.copy(STORES / "format-6.sqlite3", path)
    store = Store(path)
    assert [line.state for line in store.runs()] == [State.RUNNING, State.DONE]
    (left,) = store.detached_runs()
    assert isinstance(left.jobs[0].began, JobStart)
    assert store.take_over(RUN).epoch == 1
