"""A worker with a scripted run: jobs put back, hosts left to others, studies stopped, workers alive."""

import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from app.events import Event, RunDetached, RunEnded, RunStarted, State
from app.fleet import worker as fleet_worker
from app.fleet.host_run import CarrierServices
from app.fleet.job_queue import HostRunJob, JobQueue
from app.fleet.worker import FleetWorker, WorkerOptions, WorkerReport
from app.fleet_study import FleetHost, FleetPlan, FleetStudy, HostRun, HostRunState
from app.library_location import ServerUrl, location_of
from app.plans.consent import NotAgreedError
from app.plans.plan import Plan, Repetition, make_step
from app.runs.control import Control
from app.services import Workstation
from app.store import host_runs
from app.store.errors import StoreError, StoreLostError, TakenOverError, UnknownOutcomeError
from app.store.store import Store
from app.store.workers import workers_alive
from app.timestamps import now
from remote.errors import ConnectOutcome
from tests.app.stores import postgresql, url
from tests.app.stores import store_on_server as store
from tests.lab_sshd import AnsweringAsker
from tests.postgresql import Server, programs
from tests.processes import until

__all__ = ["postgresql", "store", "url"]  # fixtures

pytestmark = pytest.mark.skipif(programs() is None, reason="PostgreSQL is not installed")

Run = Callable[[Plan, str, Control], Generator[Event]]


@pytest.fixture
def queue(url: ServerUrl) -> JobQueue:
    """Give a queue that is ready for workers."""
    made = JobQueue(url)
    made.prepare()
    return made


@pytest.fixture
def study(store: Store, queue: JobQueue) -> FleetStudy:
    """Give a study of one host-run for workers."""
    plan = Plan("short", (), (make_step("sysbench-cpu", {"time": 1}),), repetition=Repetition(trials=1))
    return store.begin_fleet_study(FleetPlan(plan, (FleetHost("web-1", "g"),)), by_workers=True)


def only(store: Store, study: FleetStudy) -> HostRun:
    (found,) = store.host_runs_of(study.id)
    return found


def jobs(url: ServerUrl) -> int:
    with psycopg.connect(url.for_libpq) as connection:
        row = connection.execute("SELECT count(*) FROM benchwright_queue.procrastinate_jobs").fetchone()
    assert row is not None
    return int(row[0])


def alive(store: Store) -> int:
    with store.database.reading() as connection:
        return workers_alive(connection)


def ended(
    store: Store, run: str, plan: Plan, state: State, reason: str, *, unreached: ConnectOutcome | None = None
) -> Generator[Event]:
    """Record a run that measured nothing."""
    with store.recorder(run) as recorder:
        for event in (RunStarted(run, plan, now()), RunEnded(run, state, reason, unreached=unreached)):
            recorder.record(event)
            yield event


SILENT = WorkerReport()


def made_worker(store: Store, queue: JobQueue, run: Run, report: WorkerReport = SILENT) -> FleetWorker:
    def attach(_run: str, _control: Control) -> Generator[Event]:
        raise AssertionError
        yield

    numbers = iter(range(1, 100))
    services = CarrierServices(store, run, attach, lambda: f"20261120-141530-{next(numbers):04}")
    return FleetWorker(services, queue, lambda _hosts: None, WorkerOptions(), report)


@contextmanager
def at_work(worker: FleetWorker) -> Iterator[None]:
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        yield
    finally:
        worker.stop()
        thread.join()


def test_a_stopped_worker_puts_its_job_back(store: Store, queue: JobQueue, study: FleetStudy, url: ServerUrl) -> None:
    worker = made_worker(store, queue, lambda plan, run, _: ended(store, run, plan, State.DONE, ""))
    worker._release(study)
    assert jobs(url) == 1
    worker.stop()
    worker._handle(HostRunJob(study.id, 1, only(store, study).epoch))
    assert only(store, study).state is HostRunState.READY
    assert jobs(url) == 2


@pytest.fixture
def two_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have two workers alive, which try again at once."""
    for name in ("CONNECT_RETRY", "REFUSED_RETRY"):
        monkeypatch.setattr(f"app.fleet.host_run.{name}", -1.0)
    monkeypatch.setattr(fleet_worker, "PASS_ON", -1.0)
    monkeypatch.setattr(fleet_worker, "workers_alive", lambda _connection: 2)


@pytest.mark.usefixtures("two_alive")
def test_a_host_that_was_not_reached_is_left_to_other_workers(store: Store, queue: JobQueue, study: FleetStudy) -> None:
    tried: list[str] = []

    def run(plan: Plan, run: str, _control: Control) -> Generator[Event]:
        tried.append(run)
        yield from ended(store, run, plan, State.FAILED, "web-1: host key", unreached=ConnectOutcome.KEY_UNKNOWN)

    worker, other = (made_worker(store, queue, run) for _ in range(2))
    assert handled(worker, store, study).attempts == len(tried) == 1
    for _ in range(fleet_worker.MOST_PASSES):
        worker._released(study)
        assert handled(worker, store, study).attempts == len(tried) == 1
    assert handled(other, store, study).attempts == len(tried) == 2
    assert handled(worker, store, study).state is HostRunState.FAILED
    assert [run.id for run in store.runs()] == [only(store, study).run] == [tried[-1]]


def refused_login(store: Store, run: str, plan: Plan) -> Generator[Event]:
    return ended(store, run, plan, State.FAILED, "no key", unreached=ConnectOutcome.AUTH_REFUSED)


def refused_consent(_store: Store, _run: str, _plan: Plan) -> Generator[Event]:
    raise NotAgreedError("Consent was refused.")
    yield


@pytest.mark.usefixtures("two_alive")
@pytest.mark.parametrize("refused", [refused_login, refused_consent])
def test_what_a_worker_may_not_carry_waits_for_one_that_is_busy(
    store: Store, queue: JobQueue, refused: Callable[[Store, str, Plan], Generator[Event]]
) -> None:
    plan = Plan("short", (), (make_step("sysbench-cpu", {"time": 1}),), repetition=Repetition(trials=1))
    study = store.begin_fleet_study(FleetPlan(plan, (FleetHost("web-1", "g"),), retries=0), by_workers=True)
    worker = made_worker(store, queue, lambda plan, run, _: refused(store, run, plan))
    for _ in range(3 * fleet_worker.MOST_PASSES):
        found = handled(worker, store, study)
        assert (found.state.over, found.attempts) == (False, 1)
    able = made_worker(store, queue, lambda plan, run, _: ended(store, run, plan, State.DONE, ""))
    assert handled(able, store, study).state is HostRunState.DONE


def test_a_worker_that_just_started_expects_others(store: Store, queue: JobQueue, study: FleetStudy) -> None:
    with at_work(made_worker(store, queue, lambda plan, run, _: refused_consent(store, run, plan))):
        until(lambda: only(store, study).attempts == 1 and not only(store, study).state.active)
        found = only(store, study)
    assert (found.state, found.worker in found.reason) == (HostRunState.WAITING, True)


@pytest.mark.usefixtures("two_alive")
def test_what_no_worker_may_carry_fails_once_each_has_tried(store: Store, queue: JobQueue, study: FleetStudy) -> None:
    workers = [made_worker(store, queue, lambda plan, run, _: refused_consent(store, run, plan)) for _ in range(2)]
    for _ in range(2 * fleet_worker.MOST_PASSES + 3):
        for worker in workers:
            if not store.find_fleet_study(study.id).over:
                handled(worker, store, study)
    found = only(store, study)
    assert found.state is HostRunState.FAILED
    assert found.worker in found.reason
    assert "--yes" in found.reason
    assert f"benchwright fleet retry {study.id} web-1" in found.reason


def handled(worker: FleetWorker, store: Store, study: FleetStudy) -> HostRun:
    """Let a worker handle the job of the only host-run; return that."""
    worker._release(store.find_fleet_study(study.id))
    worker._handle(HostRunJob(study.id, 1, only(store, study).epoch))
    return only(store, study)


def test_workers_of_one_host_name_and_process_id_have_names_of_their_own(
    store: Store, queue: JobQueue, study: FleetStudy
) -> None:
    one, other = (
        made_worker(store, queue, lambda plan, run, _: ended(store, run, plan, State.DONE, "")) for _ in range(2)
    )
    one._release(study)
    job = HostRunJob(study.id, 1, only(store, study).epoch)
    claimed = store.claim_host_run(study.id, 1, job.epoch, one._name)
    with pytest.raises(TakenOverError):  # though it does not know whether its claim succeeded
        store.claim_host_run(study.id, 1, job.epoch, other._name, again=True)
    assert store.claim_host_run(study.id, 1, job.epoch, one._name, again=True) == claimed


def test_a_claim_whose_commit_is_not_confirmed_is_kept(
    store: Store, queue: JobQueue, study: FleetStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_worker, "RETRY_AFTER", 0.01)
    original, claims = Store.claim_host_run, list[HostRun]()

    def claim(*arguments: Any, **named: Any) -> HostRun:
        claims.append(original(*arguments, **named))
        if len(claims) == 1:
            raise UnknownOutcomeError("The connection ended.")
        return claims[-1]

    monkeypatch.setattr(Store, "claim_host_run", claim)
    worker = made_worker(store, queue, lambda plan, run, _: ended(store, run, plan, State.DONE, ""))
    worker._release(study)
    worker._handle(HostRunJob(study.id, 1, only(store, study).epoch))
    found = only(store, study)
    assert claims[0] == claims[1]
    assert (found.state, found.attempts) == (HostRunState.DONE, 1)


def test_a_host_key_that_the_only_worker_does_not_accept_is_not_tried_again(
    store: Store, queue: JobQueue, study: FleetStudy
) -> None:
    def run(plan: Plan, run: str, _control: Control) -> Generator[Event]:
        yield from ended(store, run, plan, State.FAILED, "host key", unreached=ConnectOutcome.KEY_CHANGED)

    worker = made_worker(store, queue, run)
    worker._release(study)
    worker._handle(HostRunJob(study.id, 1, only(store, study).epoch))
    found = only(store, study)
    assert (found.state, found.attempts) == (HostRunState.FAILED, 1)
    assert f"benchwright fleet retry {study.id} web-1" in found.reason


def test_a_host_run_that_was_released_while_it_began_is_detached_for_another(
    store: Store, queue: JobQueue, study: FleetStudy
) -> None:
    seen: list[bool] = []

    def run(plan: Plan, run: str, control: Control) -> Generator[Event]:
        with store.recorder(run) as recorder:
            recorder.record(RunStarted(run, plan, now()))
            with store.database.writing() as connection:  # as release() of another worker does after an outage
                found = only(store, study)
                host_runs.write(connection, study.id, replace(found, epoch=found.epoch + 1, worker=""))
            worker._handle(HostRunJob(study.id, 1, found.epoch + 1))  # which this worker carries
            yield RunStarted(run, plan, now())
            seen.append(control.detached)
            recorder.record(RunDetached(run))
            yield RunDetached(run)

    worker = made_worker(store, queue, run)
    worker._release(study)
    worker._handle(HostRunJob(study.id, 1, only(store, study).epoch))
    assert seen == [True]
    found = only(store, study)
    assert (found.state, found.worker) == (HostRunState.RUNNING, "")
    assert [one.id for one in store.runs()] == [found.run]


def test_a_study_is_stopped_on_a_worker(
    store: Store, queue: JobQueue, study: FleetStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_worker, "LOOK_EVERY", 0.1)
    begun = threading.Event()

    def run(plan: Plan, run: str, control: Control) -> Generator[Event]:
        begun.set()
        control.wait(30.0)
        state, reason = (State.PARTIAL, "stopped") if control.stopped else (State.DONE, "")
        yield from ended(store, run, plan, state, reason)

    with at_work(made_worker(store, queue, run)):
        assert begun.wait(30.0)
        assert alive(store) == 1
        assert store.end_fleet_study(study.id, stop=True).stopped is not None
        until(lambda: store.find_fleet_study(study.id).over)
    found = only(store, study)
    assert (found.state, found.reason) == (HostRunState.SKIPPED, host_runs.ENDED)
    assert alive(store) == 0


def test_the_run_of_a_host_that_is_replaced_is_stopped_on_a_worker(
    store: Store, queue: JobQueue, study: FleetStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_worker, "LOOK_EVERY", 0.1)
    begun, stopped = threading.Event(), list[bool]()

    def run(plan: Plan, run: str, control: Control) -> Generator[Event]:
        if plan.hosts == ("web-1",):
            begun.set()
            control.wait(30.0)
            stopped.append(control.stopped)
        yield from ended(store, run, plan, State.DONE, "")

    with at_work(made_worker(store, queue, run)):
        assert begun.wait(30.0)
        store.add_fleet_hosts(study.id, [FleetHost("web-2", "g")], "web-1")
        until(lambda: store.find_fleet_study(study.id).over)
        until(lambda: bool(stopped))
    assert stopped == [True]
    assert [one.state for one in store.host_runs_of(study.id)] == [HostRunState.SKIPPED, HostRunState.DONE]


def test_a_worker_that_just_reached_the_library_judges_no_other(
    store: Store, queue: JobQueue, study: FleetStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.store.host_runs.START_TIMEOUT", -1.0)  # as after an outage of the library
    worker = made_worker(store, queue, lambda plan, run, _: ended(store, run, plan, State.DONE, ""))
    store.start_host_runs(study, lambda waiting, _under_way, _plan: list(waiting), "ann@desk (process 1)")
    worker._release(study)
    assert only(store, study).state is HostRunState.RUNNING
    monkeypatch.setattr(fleet_worker, "SEEN_FOR", 0.0)
    worker._release(study)
    worker._release(study)
    assert only(store, study).state is not HostRunState.RUNNING


def test_a_library_in_a_file_has_no_workers(tmp_path: Path) -> None:
    workstation = Workstation(tmp_path / "library.db", tmp_path / "hosts.toml")
    for refused in (
        workstation.workers_alive,
        workstation.prepare_queue,
        partial(workstation.fleet_worker, AnsweringAsker(), WorkerOptions(), WorkerReport()),
    ):
        with pytest.raises(StoreError, match="is a file: workers share one in PostgreSQL"):
            refused()
    assert not (tmp_path / "library.db").exists()


def test_a_queue_is_prepared_with_its_library_before_a_worker_starts(postgresql: Server, tmp_path: Path) -> None:
    postgresql.execute("CREATE DATABASE bare")
    workstation = Workstation(location_of(postgresql.url("bare")), tmp_path / "hosts.toml")
    try:
        with pytest.raises(StoreError) as refused:
            workstation.fleet_worker(AnsweringAsker(), WorkerOptions(), WorkerReport())
        assert "worker --prepare" in refused.value.remedy
        postgresql.execute("DROP SCHEMA benchwright CASCADE", "bare")
        workstation.close()
        workstation.prepare_queue()
        postgresql.execute("SELECT * FROM benchwright.runs, benchwright_queue.procrastinate_jobs", "bare")
        workstation.fleet_worker(AnsweringAsker(), WorkerOptions(), WorkerReport())
    finally:
        workstation.close()
        postgresql.execute("DROP DATABASE bare WITH (FORCE)")


class Noted(WorkerReport):
    """Notes what a worker reports."""

    def __init__(self) -> None:
        self.states: list[tuple[HostRunState, str]] = []
        self.problems: list[str] = []

    def settled(self, study: FleetStudy, one: HostRun, state: HostRunState, reason: str) -> None:
        """Note the state and the reason."""
        assert (one.host, study.total) == ("web-1", 1)
        self.states.append((state, reason))

    def library(self, problem: str) -> None:
        """Note the problem."""
        self.problems.append(problem)


def test_a_worker_reports_why_a_host_run_is_not_carried(store: Store, queue: JobQueue, study: FleetStudy) -> None:
    noted = Noted()
    worker = made_worker(store, queue, lambda plan, run, _: refused_consent(store, run, plan), noted)
    found = handled(worker, store, study)
    assert noted.states == [(HostRunState.FAILED, found.reason)]


def test_a_worker_reports_an_outage_of_the_library_once_and_its_end(
    store: Store, queue: JobQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_worker, "LOOK_EVERY", 0.02)
    noted, looks = Noted(), list[int]()
    original = Store.fleet_studies

    def fleet_studies(self: Store) -> list[FleetStudy]:
        looks.append(1)
        if 2 < len(looks) < 6:
            raise StoreLostError("The connection failed.")
        return original(self)

    monkeypatch.setattr(Store, "fleet_studies", fleet_studies)
    with at_work(made_worker(store, queue, lambda plan, run, _: ended(store, run, plan, State.DONE, ""), noted)):
        until(lambda: len(looks) > 7)
    assert noted.problems == ["The connection failed.", ""]
