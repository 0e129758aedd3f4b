"""The queue of host-runs: transactions, two deliveries, kill -9, a frozen worker, a killed server, roles, upgrades."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from procrastinate import utils
from procrastinate.schema import SchemaManager
from sqlalchemy import Connection

from app.fleet import job_queue, queue_worker
from app.fleet.job_queue import HostRunJob, JobQueue
from app.library_location import ServerUrl, location_of
from app.store.errors import StoreError, StoreLostError
from app.store.roles import ROLES_SQL
from app.store.store import Store
from app.store.workers import workers_alive
from tests.app.fleet import queue_process
from tests.app.fleet.queue_process import CLAIMS, run_claimed, shorten_intervals
from tests.app.stores import library_on, opened, postgresql, url
from tests.app.stores import store_on_server as store
from tests.postgresql import Server, programs
from tests.processes import until

__all__ = ["postgresql", "store", "url"]  # fixtures

pytestmark = pytest.mark.skipif(programs() is None, reason="PostgreSQL is not installed")

SCRIPT = Path(queue_process.__file__)


@pytest.fixture(autouse=True)
def _short_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HEARTBEAT", "HEARTBEAT_TIMEOUT", "POLL"):
        monkeypatch.setattr(queue_worker, name, getattr(queue_worker, name))  # put back at the end
    shorten_intervals()


@pytest.fixture
def queue(url: ServerUrl) -> JobQueue:
    """Give a queue that is ready for workers."""
    return prepared(url)


def prepared(url: ServerUrl) -> JobQueue:
    made = JobQueue(url)
    made.prepare()
    rows(url, CLAIMS)
    return made


def rows(url: ServerUrl, statement: str, *values: object) -> list[tuple[Any, ...]]:
    options = "-csearch_path=public,benchwright_queue"
    with psycopg.connect(url.for_libpq, autocommit=True, options=options) as connection:
        cursor = connection.execute(statement.encode(), values or None)
        return cursor.fetchall() if cursor.description else []


def jobs(count: int) -> list[HostRunJob]:
    return [HostRunJob("nightly", number, 1) for number in range(count)]


def defer(queue: JobQueue, store: Store, added: Sequence[HostRunJob]) -> None:
    with store.database.writing() as connection:
        queue.defer(connection, added)


def claims(url: ServerUrl) -> dict[int, bool]:
    """Return the claimed host-runs, and whether each has ended."""
    return dict(rows(url, "SELECT number, ended FROM claims"))


def queued(url: ServerUrl) -> list[tuple[Any, ...]]:
    return rows(url, "SELECT args, status::text FROM benchwright_queue.procrastinate_jobs")


@contextmanager
def working(queue: JobQueue, handle: Callable[[HostRunJob], object], at_once: int = 2) -> Iterator[threading.Thread]:
    """Run a worker in a thread, and stop it with the block."""
    stop = threading.Event()
    thread = threading.Thread(target=queue.work, args=(handle, at_once, stop))
    thread.start()
    try:
        yield thread
    finally:
        stop.set()
        thread.join(90)
        assert not thread.is_alive()


@contextmanager
def process(url: ServerUrl, seconds: float = 0.0, delay: float = 0.0) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a worker in a process of its own, and end it with the block."""
    environment = os.environ | {"PYTHONPATH": str(Path(job_queue.__file__).parents[2])}
    with subprocess.Popen([sys.executable, SCRIPT, str(url), str(seconds), str(delay)], env=environment) as started:
        try:
            yield started
        finally:
            started.kill()


# Delivery


def test_jobs_arrive_once_their_transaction_commits(queue: JobQueue, store: Store) -> None:
    received: list[HostRunJob] = []

    def path_of(connection: Connection) -> object:
        return connection.exec_driver_sql("SHOW search_path").scalar_one()

    with working(queue, received.append, at_once=1):
        with suppress(ZeroDivisionError), store.database.writing() as connection:
            queue.defer(connection, [HostRunJob("rolled back", 1, 1)])
            _ = 1 / 0
        with store.database.writing() as connection:
            queue.defer(connection, [])
            queue.defer(connection, jobs(3))
            assert path_of(connection) == "benchwright"
            time.sleep(1.0)
            assert received == []
        until(lambda: len(received) == 3)
    assert received == jobs(3)  # in order
    with store.database.reading() as connection:
        assert path_of(connection) == "benchwright"


def test_two_workers_share_jobs_and_claim_what_arrives_twice_once(
    queue: JobQueue, store: Store, url: ServerUrl
) -> None:
    received: list[tuple[int, int]] = []

    def handle(worker: int, job: HostRunJob) -> None:
        received.append((worker, job.number))
        run_claimed(url, 0.05, 0.0, job)

    with working(queue, partial(handle, 1), 8), working(queue, partial(handle, 2), 8):
        defer(queue, store, jobs(40))
        defer(queue, store, jobs(40))
        until(lambda: len(received) == 80 and queued(url) == [])
    assert claims(url) == dict.fromkeys(range(40), True)
    assert {worker for worker, _ in received} == {1, 2}


def test_as_many_jobs_run_at_once_as_requested(queue: JobQueue, store: Store, url: ServerUrl) -> None:
    together = threading.Barrier(20)  # more threads than the pool of an event loop has on two processors
    with working(queue, lambda _job: together.wait(30), at_once=20):
        defer(queue, store, jobs(20))
        until(lambda: queued(url) == [])
    assert not together.broken


def test_a_job_that_fails_or_is_malformed_is_dropped(
    queue: JobQueue, store: Store, url: ServerUrl, caplog: pytest.LogCaptureFixture
) -> None:
    received: list[int] = []

    def handle(job: HostRunJob) -> None:
        received.append(job.number)
        if job.number == 0:
            raise StoreError("The claim failed.")

    insert = """INSERT INTO benchwright_queue.procrastinate_jobs (queue_name, task_name, args)
        VALUES ('host_runs', 'host_runs', %s)"""
    for content in ('{"study": 1, "number": 2, "epoch": 3}', "{}", '{"study": "s", "number": true, "epoch": 1e400}'):
        with suppress(psycopg.DataError):
            rows(url, insert, content)
    rows(url, insert.replace("'host_runs', %s", "'another', %s"), "{}")
    defer(queue, store, jobs(2))
    with working(queue, handle):
        until(lambda: queued(url) == [])
    assert sorted(received) == [0, 1]
    assert "The claim failed." in caplog.text


# Faults


def test_a_job_of_a_killed_worker_is_delivered_again_but_not_claimed_twice(
    queue: JobQueue, store: Store, url: ServerUrl
) -> None:
    with process(url, seconds=60) as running, process(url, delay=60) as claiming:
        defer(queue, store, jobs(4))
        until(lambda: len(claims(url)) == 2 and len([1 for _, status in queued(url) if status == "doing"]) == 4)
        for killed in (running, claiming):
            killed.kill()
            killed.wait()
    received: list[int] = []

    def handle(job: HostRunJob) -> None:
        received.append(job.number)
        run_claimed(url, 0.0, 0.0, job)

    with working(queue, handle):
        until(lambda: queued(url) == [])
    assert sorted(received) == [0, 1, 2, 3]
    assert sorted(claims(url).values()) == [False, False, True, True]  # a claimed one waits for its lease to expire


def test_a_frozen_worker_continues_beside_the_one_that_got_its_jobs(
    queue: JobQueue, store: Store, url: ServerUrl
) -> None:
    with process(url, seconds=1.0) as frozen:
        defer(queue, store, jobs(2))
        until(lambda: len(claims(url)) == 2)
        frozen.send_signal(signal.SIGSTOP)
        received: list[int] = []
        with working(queue, lambda job: received.append(job.number)):
            until(lambda: sorted(received) == [0, 1])
        frozen.send_signal(signal.SIGCONT)
        until(lambda: claims(url) == {0: True, 1: True})
        defer(queue, store, [HostRunJob("nightly", 9, 1)])
        until(lambda: claims(url).get(9) is True)
        assert queued(url) == []
        assert frozen.poll() is None


@pytest.mark.slow
def test_workers_outlast_a_server_that_is_killed_and_comes_back(tmp_path: Path) -> None:
    server = Server(durable=True)
    try:
        server.make_template()
        url = server.library()
        queue, store = prepared(url), Store(url)
        handle = partial(run_claimed, url, 0.5, 0.0)
        with process(url, seconds=0.5) as one, process(url, seconds=0.5) as two, working(queue, handle) as thread:
            until(lambda: rows(url, "SELECT count(*) FROM procrastinate_workers") == [(3,)], 90)
            defer(queue, store, jobs(30))
            until(lambda: len(claims(url)) >= 8, 90)
            for down in (0.0, 12.0):  # longer than a connection is waited for
                server.kill()
                time.sleep(down)
                server.start()
            until(lambda: claims(url) == dict.fromkeys(range(30), True), 90)
            until(lambda: queued(url) == [], 90)
            defer(queue, store, [HostRunJob("nightly", 99, 1)])
            until(lambda: claims(url).get(99) is True, 90)
            assert (one.poll(), two.poll(), thread.is_alive()) == (None, None, True)
        store.close()
    finally:
        server.close()


@pytest.mark.slow
def test_a_worker_with_a_long_job_gets_others_after_an_outage_and_stops_during_one() -> None:
    server = Server()
    try:
        server.make_template()
        url = server.library()
        queue, store, ended = prepared(url), Store(url), threading.Event()
        received: list[int] = []

        def handle(job: HostRunJob) -> None:
            received.append(job.number)
            if job.number == 0:
                ended.wait(300)

        with working(queue, handle):
            defer(queue, store, jobs(1))
            until(lambda: received == [0])
            server.kill()
            time.sleep(7.0)  # longer than a connection is waited for
            server.start()
            defer(queue, store, [HostRunJob("nightly", 1, 1)])
            until(lambda: 1 in received, 90)
            server.kill()
            ended.set()
            began = time.monotonic()
        assert time.monotonic() - began < 60
        store.close()
    finally:
        server.close()


def test_a_job_whose_fetch_was_lost_with_the_connection_is_delivered(
    queue: JobQueue, store: Store, url: ServerUrl
) -> None:
    received: list[int] = []
    with working(queue, lambda job: received.append(job.number)):
        until(lambda: rows(url, "SELECT 1 FROM benchwright_queue.procrastinate_workers") != [])
        content = '{"study": "nightly", "number": 5, "epoch": 1}'
        insert = """INSERT INTO procrastinate_jobs (queue_name, task_name, args, status, worker_id)
            SELECT 'host_runs', 'host_runs', %s, 'doing', max(id) FROM procrastinate_workers"""
        rows(url, insert, content)
        until(lambda: received == [5])
        until(lambda: queued(url) == [])


def test_a_wrong_clock_delays_no_job(
    queue: JobQueue, store: Store, url: ServerUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    with process(url, delay=60) as killed:
        defer(queue, store, jobs(1))
        until(lambda: [status for _, status in queued(url)] == ["doing"])
        killed.kill()
    monkeypatch.setattr(utils, "utcnow", lambda: datetime.now(UTC) + timedelta(hours=1))
    received: list[int] = []
    with working(queue, lambda job: received.append(job.number)):
        until(lambda: received == [0])


def test_a_job_arrives_after_the_connection_for_notifications_was_lost(
    queue: JobQueue, store: Store, url: ServerUrl
) -> None:
    listening = "FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"
    received: list[int] = []
    with working(queue, lambda job: received.append(job.number)):
        until(lambda: rows(url, f"SELECT pid {listening}") != [])
        ((pid,),) = rows(url, f"SELECT pid {listening}")
        rows(url, "SELECT pg_terminate_backend(%s)", pid)
        defer(queue, store, jobs(1))
        until(lambda: received == [0], 5)
        until(lambda: [found for (found,) in rows(url, f"SELECT pid {listening}") if found != pid] != [])


# Tables


def test_a_queue_is_prepared_once_by_several(url: ServerUrl) -> None:
    threads = [threading.Thread(target=JobQueue(url).prepare) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (comment,) = rows(url, "SELECT obj_description(to_regnamespace('benchwright_queue'))")
    assert str(comment[0]).startswith("Procrastinate, migration 0")
    elsewhere = (
        "SELECT count(*) FROM pg_class WHERE relname LIKE 'procrastinate%%' AND relnamespace != %s::regnamespace"
    )
    assert rows(url, elsewhere, "benchwright_queue") == [(0,)]


def test_an_older_queue_is_upgraded_and_a_newer_one_refused(store: Store, url: ServerUrl) -> None:
    queue, migrations = JobQueue(url), sorted(Path(SchemaManager.get_migrations_path()).glob("*.sql"))
    comment = "COMMENT ON SCHEMA benchwright_queue IS 'Procrastinate, migration {}'"
    with psycopg.connect(url.for_libpq, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA benchwright_queue")
        connection.execute("SET search_path TO benchwright_queue")
        for path in migrations[:-10]:
            connection.execute(path.read_bytes())
        connection.execute(comment.format(migrations[-11].name).encode())
    with pytest.raises(StoreError, match="has no queue of this version"):
        queue.work(lambda _job: None, 1, threading.Event())
    queue.prepare()
    received: list[int] = []
    defer(queue, store, jobs(1))
    with working(queue, lambda job: received.append(job.number)):
        until(lambda: received == [0])
    rows(url, comment.format("99.00.00_01_later.sql"))
    for call in (queue.prepare, lambda: queue.work(lambda _job: None, 1, threading.Event())):
        with pytest.raises(StoreError, match="is of a newer version"):
            call()


def test_a_writer_uses_the_queue_and_only_the_owner_prepares_it(postgresql: Server) -> None:
    with library_on(postgresql) as url:
        name = url.url.rpartition("/")[2]
        postgresql.execute(ROLES_SQL, name)  # before the queue; its own grants follow
        for role in ("writer", "reader"):
            with suppress(Exception):
                postgresql.execute(f"DROP ROLE queue_{role}")
            postgresql.execute(f"CREATE ROLE queue_{role} LOGIN IN ROLE benchwright_{role}")
        writer, reader = (location_of(postgresql.url(name, f"queue_{role}")) for role in ("writer", "reader"))
        assert isinstance(writer, ServerUrl)
        assert isinstance(reader, ServerUrl)
        for refused in (JobQueue(writer).prepare, partial(JobQueue(writer).work, print, 1, threading.Event())):
            with pytest.raises(StoreError, match="has no queue of this version, or this role may not"):
                refused()
        JobQueue(url).prepare()
        JobQueue(writer).prepare()
        with pytest.raises(StoreError, match="or this role may not use it"):
            JobQueue(reader).work(print, 1, threading.Event())
        for store in opened(writer):
            defer(JobQueue(writer), store, jobs(1))
        assert len(queued(url)) == 1
        postgresql.execute("REVOKE ALL ON SCHEMA benchwright_queue FROM benchwright_writer, benchwright_reader", name)
        with pytest.raises(StoreError, match="or this role may not use it"):
            JobQueue(writer).work(print, 1, threading.Event())
        postgresql.execute(ROLES_SQL, name)
        received: list[int] = []
        for store in opened(writer):
            defer(JobQueue(writer), store, jobs(2)[1:])
            with working(JobQueue(writer), lambda job: received.append(job.number)):
                until(lambda: sorted(received) == [0, 1])
                for own in opened(reader):
                    with own.database.reading() as connection:
                        assert workers_alive(connection) == 1
        assert queued(url) == []


def test_a_queue_that_is_missing_is_reported(url: ServerUrl, store: Store) -> None:
    with pytest.raises(StoreError, match="has no queue of this version"), store.database.writing() as connection:
        JobQueue(url).defer(connection, jobs(1))
    away = location_of("postgresql://nobody@127.0.0.1:1/none")
    assert isinstance(away, ServerUrl)
    with pytest.raises(StoreLostError):
        JobQueue(away).prepare()
