"""What the library keeps of a detached run: enough to find it, and nothing lost by going on."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.events import (
    Event,
    JobBegan,
    JobPlanned,
    OutputRead,
    RunDetached,
    RunEnded,
    RunStarted,
    SampleRead,
    State,
    TrialAttached,
    TrialEnded,
    TrialStarted,
    WorkspaceRemoved,
    WorkspaceUsed,
)
from app.queue.queue_json import detached_to_json
from app.runs.messages import detached_detail
from app.store.errors import StoreError
from app.store.store import Store
from remote.jobs.job_record import JobStart
from remote.jobs.workspace import Workspace
from suites.base import Purpose
from suites.outputs import ParsedTrial
from suites.vocab import Sample
from tests.app import run_events
from tests.app.stores import any_store, postgresql
from tests.app.test_store_formats import STORES

__all__ = ["any_store", "postgresql"]

RUN = "20261122-141530-k3f9"
WORKSPACE = Workspace("/var/tmp/benchwright-0123456789abcdef", "0123456789abcdef")
BEGAN = JobStart(4711, 4708, 123456, "024ac842-200f-484d-8c31-8482df5e9400", 6543.23, 1795190203.67)
PLANNED = JobPlanned(1, Purpose.MEASURE, 0, "web-1", WORKSPACE, "measure1-cb4d4c86", {"stdout": 0, "stderr": 0})
SAMPLES = tuple(Sample(float(second), run_events.IOPS, 1000.0 + second, run_events.READ) for second in range(1, 4))


def begun() -> Iterator[Event]:
    """Yield what happens until a command measures."""
    yield RunStarted(RUN, run_events.plan(trials=2), "2026-11-22T14:15:30+00:00")
    yield WorkspaceUsed("random read", "web-1", "web-1", False, WORKSPACE)
    yield PLANNED
    yield JobBegan("measure1-cb4d4c86", BEGAN)
    yield TrialStarted(run_events.trial(1), 10.0)
    yield OutputRead(1, "stdout", b"one\n")
    yield OutputRead(1, "stderr", b"warning\n")
    yield OutputRead(1, "stdout", b"two\n")
    for sample in SAMPLES[:2]:
        yield SampleRead(1, sample)


def record(store: Store, events: Iterator[Event]) -> None:
    with store.recorder(RUN) as recorder:
        for event in events:
            recorder.record(event)


@pytest.fixture
def store(any_store: Store) -> Store:
    record(any_store, begun())
    return any_store


def test_a_run_with_a_directory_on_a_host_is_left_alone(store: Store) -> None:
    assert store.mark_interrupted() == []
    (left,) = store.detached_runs()
    assert (left.id, left.by_choice, left.hosts) == (RUN, False, ("web-1",))
    assert [one.trial.id for one in left.under_way] == [1]
    (job,) = left.jobs
    assert (job.began, job.directory, job.workspace, job.purpose) == (
        BEGAN,
        PLANNED.directory,
        WORKSPACE,
        Purpose.MEASURE,
    )
    (used,) = left.workspaces
    assert (used.step, used.host, used.where, used.on_peer) == ("random read", "web-1", "web-1", False)
    assert left.record.summary.state is State.RUNNING
    assert store.output_in_order(RUN, 1) == (("stdout", b"one\n"), ("stderr", b"warning\n"), ("stdout", b"two\n"))
    (line,) = store.runs()
    assert (line.detached, line.status) == (True, "detached")


def test_each_trial_under_way_is_named_with_its_host(store: Store) -> None:
    (left,) = store.detached_runs()
    assert detached_detail(left).startswith("disk: 0 trials ended, trial 1 of random read on web-1 was running.")
    with store.recorder(RUN, store.take_over(RUN)) as recorder:
        recorder.record(TrialStarted(run_events.trial(2, host="web-2"), 10.0))
        recorder.record(RunDetached(RUN))
    (left,) = store.detached_runs()
    both = "trial 1 of random read on web-1 and trial 2 of random read on web-2 were running"
    assert f"0 trials ended, {both}" in detached_detail(left)
    listed = detached_to_json(left)
    assert [one["host"] for one in listed["trials"]] == ["web-1", "web-2"]
    assert listed["trial"] == listed["trials"][0]


def test_without_one_there_is_nothing_to_go_on_with(store: Store) -> None:
    with store.recorder(RUN, store.take_over(RUN)) as recorder:
        recorder.record(WorkspaceRemoved(WORKSPACE.nonce))
    assert store.mark_interrupted() == [RUN]
    assert store.detached_runs() == []
    assert store.load(RUN).summary.state is State.PARTIAL


def test_letting_go_is_remembered_even_between_two_trials(store: Store) -> None:
    with store.recorder(RUN, store.take_over(RUN)) as recorder:
        recorder.record(WorkspaceRemoved(WORKSPACE.nonce))
        recorder.record(RunDetached(RUN))
    assert store.mark_interrupted() == []
    (left,) = store.detached_runs()
    assert left.by_choice
    assert left.hosts == ("web-1",)


def test_only_one_takes_it_over(store: Store) -> None:
    with store.recorder(RUN, store.take_over(RUN)):
        with pytest.raises(StoreError, match="is in progress"):
            store.take_over(RUN)
        with pytest.raises(StoreError, match="is in progress"):
            store.forget(RUN, "given up")
        with pytest.raises(StoreError, match="is in progress"):
            store.delete(RUN)
        assert store.detached_runs() == []
    assert [left.id for left in store.detached_runs()] == [RUN]


def test_it_can_be_forgotten_and_its_directory_stays_known(store: Store) -> None:
    with pytest.raises(StoreError, match="is detached"):
        store.delete(RUN)
    assert store.forget("last", "given up") == RUN
    found = store.load(RUN)
    assert (found.summary.state, found.reason) == (State.PARTIAL, "given up")
    assert found.trials[0].state is State.PARTIAL
    with pytest.raises(StoreError, match="has ended"):
        store.forget(RUN, "again")
    store.delete(RUN)
    assert [used.workspace for used in store.workspaces()] == [WORKSPACE]
    store.forget_workspace(WORKSPACE.nonce)
    assert store.workspaces() == ()


def test_going_on_replaces_samples_and_adds_to_output(store: Store) -> None:
    taken = store.take_over(RUN)
    with store.recorder(RUN, taken) as recorder:
        recorder.record(TrialAttached(run_events.trial(1), 10.0, SAMPLES[:2]))
        recorder.record(OutputRead(1, "stdout", b"three\n"))
        recorder.record(SampleRead(1, SAMPLES[2]))
        recorder.record(TrialEnded(1, State.DONE, 0, ParsedTrial((), SAMPLES)))
        recorder.record(RunEnded(RUN, State.DONE))
    assert store.samples(RUN)[1] == SAMPLES
    assert store.output(RUN, 1) == {"stdout": b"one\ntwo\nthree\n", "stderr": b"warning\n"}
    assert store.load(RUN).summary.state is State.DONE
    assert not store.load(RUN).summary.detached


def test_a_command_that_began_untold_is_known_by_its_plan(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs.sqlite3")
    record(store, (event for event in begun() if not isinstance(event, JobBegan)))
    (left,) = store.detached_runs()
    assert [(job.directory, job.began) for job in left.jobs] == [(PLANNED.directory, None)]


def test_format_3_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite3"
    shutil.copy(STORES / "format-3.sqlite3", path)
    store = Store(path)
    store.mark_interrupted()
    (left,) = store.detached_runs()
    assert (left.id, left.by_choice, left.jobs[0].began) == (RUN, True, BEGAN)
    assert store.samples(RUN)[1] == SAMPLES[:2]
    assert len(store.runs()) == 4


@pytest.mark.parametrize("older", ["format-1.sqlite3", "format-2.sqlite3"])
def test_an_older_store_takes_runs_that_are_left(tmp_path: Path, older: str) -> None:
    path = tmp_path / "runs.sqlite3"
    shutil.copy(STORES / older, path)
    store = Store(path)
    assert store.detached_runs() == []
    record(store, begun())
    assert [left.id for left in store.detached_runs()] == [RUN]
