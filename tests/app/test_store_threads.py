"""The library is written and read by several threads at once."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from sqlalchemy import Connection

from app.events import RunEnded, RunStarted, SampleRead, State
from app.store.library_file import patiently
from app.store.store import Store
from suites.vocab import Sample
from tests.app import run_events
from tests.app.run_events import IOPS
from tests.app.stores import RUN, any_store, postgresql, record, store_in_both

__all__ = ["any_store", "postgresql", "store_in_both"]  # a fixture


def test_threads_write_and_read_at_once(store: Store) -> None:
    failures: list[BaseException] = []

    def write(number: int) -> None:
        try:
            run_id = f"2026112{number}-141530-aaaa"
            record(store, run_id, run_events.run_events(run_id, (1000.0,) * 5))
            store.runs()
        except BaseException as error:  # noqa: BLE001 (handed to the test below)
            failures.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert [line.trials for line in store.runs()] == [5, 5, 5, 5]


def test_one_recorder_takes_events_from_several_threads(store: Store) -> None:
    with store.recorder(RUN) as recorder:
        recorder.record(RunStarted(RUN, run_events.plan(), "2026"))

        def write(trial: int) -> None:
            for number in range(500):
                recorder.record(SampleRead(trial, Sample(float(number), IOPS, 1.0)))

        threads = [threading.Thread(target=write, args=(trial,)) for trial in (1, 2, 3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        recorder.record(RunEnded(RUN, State.DONE))
    assert {trial: len(found) for trial, found in store.samples(RUN).items()} == {1: 500, 2: 500, 3: 500}


def test_threads_that_write_to_a_file_take_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """None asks SQLite for its lock while another has it: whoever asks first would get it, not who waits longest."""
    database, wait, asking, most = Store(tmp_path / "runs.sqlite3").database, patiently, [0], [0]

    def noted(work: Callable[[], object], patience: float) -> object:
        if getattr(work, "__name__", "") != "begin":
            return wait(work, patience)
        asking[0] += 1
        most[0] = max(most[0], asking[0])
        try:
            return wait(work, patience)
        finally:
            asking[0] -= 1

    monkeypatch.setattr("app.store.file_database.patiently", noted)

    def write(_number: int) -> None:
        for _ in range(4):
            with database.writing(patience=60.0):
                time.sleep(0.01)

    with ThreadPoolExecutor(12) as pool:
        list(pool.map(write, range(12)))
    assert most == [1]


def test_a_commit_lately_shows_that_a_library_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database, tried = Store(tmp_path / "runs.sqlite3").database, list[float]()
    writing = database.writing

    def noted(patience: float) -> AbstractContextManager[Connection]:
        tried.append(patience)
        return writing(patience)

    monkeypatch.setattr(database, "writing", noted)
    assert database.read_only(lately=60.0) is None
    assert len(tried) == 1, "nothing was committed before"
    assert database.read_only(lately=60.0) is None
    assert len(tried) == 1
    assert database.read_only() is None
    assert len(tried) == 2
