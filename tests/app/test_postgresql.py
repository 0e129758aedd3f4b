"""A library in PostgreSQL: many writers, lost connections, a killed server, roles, copies, and no password anywhere."""

import os
import select
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from app.events import (
    FindingRaised,
    OutputRead,
    RunEnded,
    RunStarted,
    SampleRead,
    State,
    TrialStarted,
)
from app.fleet_study import HostRunState
from app.library_location import LocationError, ServerUrl, location_of
from app.services import Workstation
from app.store import ownership, schema
from app.store.errors import ReadOnlyError, StoreBusyError, StoreError, StoreLostError
from app.store.library_merge import Merged
from app.store.recorder import Recorder
from app.store.retention import Deleted
from app.store.roles import ROLES_SQL
from app.store.run_transfer import Exported
from app.store.server_errors import translated
from app.store.store import Store
from suites.vocab import Sample
from tests.app import run_events
from tests.app.fleet import studies
from tests.app.stores import RUN, execute, library_on, opened, postgresql, record, url
from tests.app.stores import store_on_server as store
from tests.app.test_store_crash import SCRIPT
from tests.messages import messages
from tests.postgresql import OWNER, Server, programs
from tests.program import benchwright

__all__ = ["postgresql", "store", "url"]  # fixtures

MESSAGES = messages("app-store", "test_postgresql")

pytestmark = pytest.mark.skipif(programs() is None, reason="PostgreSQL is not installed")


@contextmanager
def own_server(*, durable: bool) -> Iterator[Server]:
    server = Server(durable=durable)
    try:
        yield server
    finally:
        server.close()


# Location


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://anna@db/bench", "postgresql+psycopg://anna@db/bench"),
        ("postgresql+psycopg://anna:s%40crt@db:5433/bench?sslmode=require", "postgresql+psycopg://anna@db:5433/bench?sslmode=require"),
        ("postgres:///bench?host=/run/postgresql", "postgresql+psycopg:///bench?host=/run/postgresql"),
        ("postgresql://db/bench?password=s%40crt&sslpassword=s%40crt", "postgresql+psycopg://db/bench"),
        ("postgresql://h1:1,h2:2/bench?target_session_attrs=read-write", "postgresql+psycopg://h1:1,h2:2/bench?target_session_attrs=read-write"),
    ],
)  # fmt: skip
def test_a_url_is_shown_without_its_secrets(text: str, shown: str) -> None:
    found = location_of(text)
    assert str(found) == shown
    assert "crt" not in repr(found)
    assert location_of(str(found)) == found


@pytest.mark.parametrize(
    "text", ["mysql://u:s3cret@h/d", "postgresql://u:s3cret@x@h/d", "postgresql://u:s3cret@h/d e", "postgresql://h/d?s3cret",
             "postgresql://u:s3cret@h/%ff", "postgresql://u:s3cret@h/%00", "postgresql://u:s3cret@h:99999/d", "postgresql://u:s3cret@h:x/d",
             "postgresql://u:x@s3cret/y@h/d", "postgresql://u:s3cret/y@h/d", "postgresql://u:x@y?s3cret=1@h/d"]
)  # fmt: skip
def test_a_malformed_url_is_not_repeated(text: str) -> None:
    with pytest.raises(LocationError) as refused:
        location_of(text)
    assert "s3cret" not in str(refused.value)
    done = benchwright("--store", text, "list")
    assert done.status == 2
    assert "s3cret" not in done.out + done.err


# Opening


def test_a_server_that_does_not_run_is_named_with_what_to_do(store: Store) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(StoreLostError, match=f"127.0.0.1:{port}/none failed: .*refused") as lost:
        Store(location_of(f"postgresql://127.0.0.1:{port}/none")).runs()
    assert "pg_isready" in lost.value.remedy


NAMED = "b/e?n#c%h @:é'\""
"""A name of a database, and of a role, with what a URL uses itself."""


@pytest.mark.parametrize("form", ["names", "socket", "socket as host", "IPv6", "several hosts", "another time zone"])
def test_each_form_of_a_url_reaches_its_library(
    postgresql: Server, url: ServerUrl, store: Store, form: str, tmp_path: Path
) -> None:
    record(store, RUN, run_events.run_events(RUN))
    name, port = url.url.rpartition("/")[2], postgresql.port
    host = f"127.0.0.1:{port}"
    folder, special = postgresql.folder, quote(NAMED, safe="")
    text = {
        "names": f"{special}@{host}/{special}",
        "socket": f"{OWNER}@/{name}?host={folder}&port={port}",
        "socket as host": f"{OWNER}@{quote(str(folder), safe='')}:{port}/{name}",
        "IPv6": f"{OWNER}@[::1]:{port}/{name}",
        "several hosts": f"{OWNER}@127.0.0.1:1,{host}/{name}",
        "another time zone": f"{OWNER}@{host}/{name}?options=-c%20timezone%3DAsia/Kolkata%20-c%20datestyle%3DGerman",
    }[form]
    if form == "IPv6" and not has_ipv6():
        pytest.skip("no IPv6 on this computer")
    if form == "names":
        quoted = NAMED.replace('"', '""')
        store.close()
        postgresql.execute(f'CREATE ROLE "{quoted}" LOGIN SUPERUSER')
        postgresql.execute(f'CREATE DATABASE "{quoted}" TEMPLATE {name}')
    given = location_of(f"postgresql://{text}")
    try:
        with closing(Workstation(given, tmp_path / "hosts.toml")) as workstation:
            assert [(row.id, row.started) for row in workstation.runs()] == [(RUN, "2026-11-20T14:15:30+00:00")]
        done = benchwright("--store", str(given), "list", "--json")
        assert (done.status, RUN in done.out) == (0, True), done.err
    finally:
        if form == "names":
            postgresql.execute(f'DROP DATABASE "{quoted}" WITH (FORCE)')
            postgresql.execute(f'DROP ROLE "{quoted}"')


def has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


def test_a_schema_of_another_program_is_refused_and_unchanged(postgresql: Server) -> None:
    postgresql.execute("CREATE DATABASE foreign_one")
    postgresql.execute("CREATE SCHEMA benchwright", "foreign_one")
    postgresql.execute("CREATE TABLE benchwright.theirs (a int)", "foreign_one")
    with pytest.raises(StoreError, match="tables of another program"):
        Store(location_of(postgresql.url("foreign_one"))).runs()
    with postgresql.connect("foreign_one") as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'benchwright'").fetchall()
    assert tables == [("theirs",)]
    postgresql.execute("DROP DATABASE foreign_one")


def test_several_processes_create_one_library(postgresql: Server) -> None:
    postgresql.execute("CREATE DATABASE created_once")
    stores = [Store(location_of(postgresql.url("created_once"))) for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(Store.runs, stores)) == [[]] * 6
    for one in stores:
        one.close()
    postgresql.execute("DROP DATABASE created_once")


def test_a_newer_library_is_read_only_or_refused(store: Store, url: ServerUrl) -> None:
    record(store, RUN, run_events.run_events(RUN))
    execute(store, "UPDATE formats SET format = ?", schema.FORMAT + 1)
    with pytest.raises(ReadOnlyError, match="its format"):  # converted by another while it is open
        store.pin("name", [(RUN, "")])
    for newer in opened(url):
        assert isinstance(newer.read_only(), ReadOnlyError)
        assert newer.load(RUN).summary.state is State.DONE
        with pytest.raises(ReadOnlyError):
            newer.delete(RUN)
    execute(store, "UPDATE formats SET read_format = ?", schema.FORMAT + 1)
    for newer in opened(url):
        with pytest.raises(StoreError, match="supports formats up to"):
            newer.runs()


def test_what_is_only_of_a_file_is_refused_with_what_to_use(store: Store, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="not a file") as refused:
        list(store.back_up(tmp_path / "backup.sqlite3"))
    assert (
        "pg_dump --format=custom --schema=benchwright --schema=results --file=FILE 'postgresql://"
        in refused.value.remedy
    )
    assert list(tmp_path.iterdir()) == []


# Many writers


def test_versions_of_a_baseline_are_numbered_once_by_many_writers(store: Store, url: ServerUrl) -> None:
    record(store, RUN, run_events.run_events(RUN))
    stores = [Store(url) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda one: [one.pin("nightly", [(RUN, "")]) for _ in range(5)], stores))
    assert sorted(version for own in found for version in own) == list(range(1, 41))
    for one in stores:
        one.close()


def test_rows_that_all_runs_share_are_stored_once(store: Store, url: ServerUrl) -> None:
    stores = [Store(url) for _ in range(8)]
    runs = [f"20261120-141530-{letter * 4}" for letter in "abcdefgh"]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda one, run: record(one, run, run_events.run_events(run)), stores, runs))
    assert {row.state for row in store.runs()} == {State.DONE}
    for table, columns in (("metrics", "name"), ("configurations", "digest")):
        ((rows, different),) = execute(store, f"SELECT count(*), count(DISTINCT {columns}) FROM {table}")
        assert rows == different > 0
    for one in stores:
        one.close()


def test_one_of_many_claims_a_session_and_one_takes_a_run_over(store: Store, url: ServerUrl) -> None:
    series = store.begin_series(
        replace(run_events.plan(), repetition=replace(run_events.plan().repetition, sessions=3))
    )
    begun(store)
    execute(store, "UPDATE runs SET owner_pid = 0, left_at = '2026-11-20T14:16:30+00:00'")
    seen = store.detached(RUN)
    stores = [Store(url) for _ in range(6)]

    def tried(act: Callable[[], object]) -> bool:
        with suppress(StoreError):
            act()
            return True
        return False

    with ThreadPoolExecutor(6) as pool:
        claimed = list(pool.map(lambda at: tried(lambda: stores[at].claim_session(series.id, f"run-{at}")), range(6)))
        taken = list(pool.map(lambda one: tried(lambda: one.take_over(RUN, seen)), stores))
    assert (claimed.count(True), taken.count(True)) == (1, 1)
    for one in stores:
        one.close()


def test_heartbeats_are_judged_by_the_clock_of_the_server(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A computer whose clock is an hour ahead must not end the runs of others."""
    begun(store)
    execute(store, "UPDATE runs SET owner_boot = 'another', owner_host = 'ann@desk'")
    monkeypatch.setattr("app.timestamps.datetime", AheadClock)
    assert store.mark_interrupted() == []
    with store.database.reading() as connection:
        assert 0 <= ownership.running(connection)[RUN].silent < ownership.HEARTBEAT_TIMEOUT
    ago = f"(clock_timestamp() - interval '{ownership.HEARTBEAT_TIMEOUT + 5} seconds')"
    execute(
        store, f"UPDATE runs SET touched = to_char({ago} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"+00:00\"')"
    )
    assert store.mark_interrupted() == [RUN]


class AheadClock(datetime):
    """The clock of a computer that is an hour ahead."""

    @classmethod
    def now(cls, tz: object = None) -> datetime:  # type: ignore[override]  # noqa: ARG003
        return datetime.now(UTC) + timedelta(hours=1)


def test_a_locked_library_is_waited_for_no_longer_than_asked(store: Store, url: ServerUrl) -> None:
    for other in opened(url):
        with other.database.writing():
            began = time.monotonic()
            with pytest.raises(StoreBusyError, match="locked"), store.database.writing(0.3):
                pass
            assert 0.25 < time.monotonic() - began < 3
            assert store.runs() == []  # readers wait for nobody


def test_recorders_write_side_by_side_with_a_long_copy(store: Store, url: ServerUrl) -> None:
    for other in opened(url):
        with other.database.writing(adding=True):  # as a copy of a large run
            record(store, RUN, run_events.run_events(RUN))
        assert other.load(RUN).summary.state is State.DONE


@contextmanager
def as_role(server: Server, url: ServerUrl, options: str = "") -> Iterator[tuple[str, Store]]:
    """Give a role of its own with the rights of the owner, and its library."""
    role = f"r{url.url.rpartition('/')[2]}"
    server.execute(f"CREATE ROLE {role} LOGIN {options} IN ROLE {OWNER}")
    found = Store(location_of(url.url.replace(f"//{OWNER}@", f"//{role}@")))
    try:
        yield role, found
    finally:
        found.close()
        server.execute(f"DROP ROLE {role}")


def test_recorders_keep_no_connection(postgresql: Server, url: ServerUrl, store: Store) -> None:
    store.runs()
    with as_role(postgresql, url, "CONNECTION LIMIT 1") as (_, own):
        events = run_events.run_events(RUN)
        with own.recorder(RUN) as recorder, own.recorder(RUN.replace("k3f9", "k3f8")) as second:
            for event in events:
                recorder.record(event)
                second.record(event)
                assert len(own.runs()) == 2  # while both record
    assert {row.state for row in store.runs()} == {State.DONE}


def test_a_statement_that_the_server_cancels_is_repeated(postgresql: Server, url: ServerUrl, store: Store) -> None:
    store.runs()
    with as_role(postgresql, url) as (role, own):
        postgresql.execute(f"ALTER ROLE {role} SET statement_timeout = '100ms'")
        with store.database.writing(), pytest.raises(StoreBusyError, match="statement timeout"):
            own.unpin("nightly")
        record(own, RUN, run_events.run_events(RUN))


# Lost connections


def test_a_run_outlasts_a_server_that_is_read_only_for_a_while(
    postgresql: Server, url: ServerUrl, store: Store
) -> None:
    store.runs()
    with as_role(postgresql, url) as (role, own), own.recorder(RUN) as recorder:

        def set_read_only(setting: str) -> None:
            postgresql.execute(f"ALTER ROLE {role} {setting}")
            postgresql.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{role}'")

        begin, *events = run_events.run_events(RUN)
        recorder.record(begin)
        set_read_only("SET default_transaction_read_only = on")
        for event in events:
            recorder.defer(event)
        with pytest.raises(StoreLostError, match="read-only"):
            recorder.flush()
        set_read_only("RESET default_transaction_read_only")
        recorder.flush()
    assert store.load(RUN).summary.state is State.DONE


@pytest.mark.parametrize("code", ["08006", "25006", "25P03", "25P04", "53300", "57P01"])
def test_a_connection_that_the_server_ends_is_lost(code: str) -> None:
    assert isinstance(
        translated(psycopg.errors.lookup(code)("ended"), ServerUrl("postgresql://db/bench")), StoreLostError
    )


def begun(store: Store) -> None:
    """Record the beginning of a run whose process has ended."""
    recorder = store.recorder(RUN)
    recorder.record(RunStarted(RUN, run_events.plan(), "2026-11-20T14:15:30+00:00"))
    recorder.close()


class Proxy:
    """A network between a client and the server that can be cut, also in the middle of a commit."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.cut = threading.Event()
        self.cut_at_commit = threading.Event()
        self.swallow_commit = threading.Event()
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            if self.cut.is_set():
                client.close()
                continue
            server = socket.create_connection(("127.0.0.1", self._target))
            thread = threading.Thread(target=self._forward, args=(client, server))
            self._threads.append(thread)
            thread.start()

    def _forward(self, client: socket.socket, server: socket.socket) -> None:
        with client, server:
            while True:
                ready, _, _ = select.select([client, server], [], [], 0.05)
                if self.cut.is_set():
                    return
                for one in ready:
                    try:
                        data = one.recv(2**16)
                    except OSError:
                        return
                    if not data:
                        return
                    commits = one is client and b"COMMIT\0" in data
                    if commits and self.swallow_commit.is_set():
                        self.cut.set()
                        return
                    (server if one is client else client).sendall(data)
                    if commits and self.cut_at_commit.is_set():
                        server.recv(2**16)  # committed; the client does not hear of it
                        self.cut.set()
                        return

    def close(self) -> None:
        self.cut.set()
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for thread in self._threads:
            thread.join()


@pytest.fixture
def proxy(postgresql: Server) -> Iterator[Proxy]:
    made = Proxy(postgresql.port)
    yield made
    made.close()


def numbered(recorder: Recorder, first: int, last: int) -> None:
    """Record samples and output that show which of them are stored, once or twice."""
    for index in range(first, last):
        recorder.record(SampleRead(1, Sample(float(index), run_events.IOPS, float(index))))
        recorder.record(OutputRead(1, "stdout", b"%08d" % index))


def check_numbered(store: Store, count: int) -> None:
    (samples,) = store.samples(RUN).values()
    assert [sample.value for sample in samples] == [float(index) for index in range(count)]
    assert store.output(RUN, 1)["stdout"] == b"".join(b"%08d" % index for index in range(count))


@pytest.mark.parametrize("lost_part", ["answer", "commit", "all"])
def test_a_cut_during_a_commit_stores_its_events_once(
    proxy: Proxy, url: ServerUrl, store: Store, lost_part: str
) -> None:
    cut = {"answer": proxy.cut_at_commit, "commit": proxy.swallow_commit, "all": proxy.cut}[lost_part]
    through = location_of(url.url.replace(url.url.split("@")[1].split("/")[0], f"127.0.0.1:{proxy.port}"))
    for other in opened(through):
        with other.recorder(RUN) as recorder:
            recorder.patience = 0.0
            recorder.record(RunStarted(RUN, run_events.plan(), "2026-11-20T14:15:30+00:00"))
            recorder.record(TrialStarted(run_events.trial(1), None))
            numbered(recorder, 0, 100)
            cut.set()
            with pytest.raises(StoreLostError) as lost:
                recorder.record(FindingRaised(run_events.FINDING))
            assert (MESSAGES["outcome_unknown"] in str(lost.value)) is (lost_part != "all")
            assert MESSAGES["rest_in_memory"] in str(lost.value)
            assert f"127.0.0.1:{proxy.port}" in str(lost.value)
            numbered_deferred(recorder, 100, 150)
            with pytest.raises(StoreLostError):
                recorder.flush()
            cut.clear()
            proxy.cut.clear()
            recorder.flush()
            recorder.record(RunEnded(RUN, State.DONE))
            recorder.verify()
        check_numbered(store, 150)
        assert [finding.id for finding in store.load(RUN).findings] == [run_events.FINDING.id]


def numbered_deferred(recorder: Recorder, first: int, last: int) -> None:
    for index in range(first, last):
        recorder.defer(SampleRead(1, Sample(float(index), run_events.IOPS, float(index))))
        recorder.defer(OutputRead(1, "stdout", b"%08d" % index))


def test_a_run_that_ends_while_the_server_is_gone_is_saved_to_a_file(
    proxy: Proxy, url: ServerUrl, tmp_path: Path
) -> None:
    through = location_of(url.url.replace(url.url.split("@")[1].split("/")[0], f"127.0.0.1:{proxy.port}"))
    for other in opened(through):
        with other.recorder(RUN) as recorder:
            recorder.patience = 0.0
            recorder.record(RunStarted(RUN, run_events.plan(), "2026-11-20T14:15:30+00:00"))
            recorder.record(TrialStarted(run_events.trial(1), None))
            numbered(recorder, 0, 100)
            recorder.flush()
            proxy.cut.set()
            with pytest.raises(StoreLostError):
                recorder.record(RunEnded(RUN, State.PARTIAL, "stopped"))
            missing = recorder.save_as(tmp_path / "saved.sqlite3")
            assert MESSAGES["others_stay"] in missing
    saved = Store(tmp_path / "saved.sqlite3")
    check_numbered(saved, 100)
    assert saved.load(RUN).reason == "stopped"
    saved.close()


def test_a_killed_server_loses_nothing_acknowledged_and_the_run_goes_on() -> None:
    with own_server(durable=True) as server:
        server.make_template()
        url = server.library()
        acknowledged: list[int] = []
        for store in opened(url):
            with store.recorder(RUN) as recorder:
                recorder.patience = 0.0
                recorder.record(RunStarted(RUN, run_events.plan(), "2026-11-20T14:15:30+00:00"))
                recorder.record(TrialStarted(run_events.trial(1), None))
                index = failures = 0
                for crash in range(2):
                    killer = threading.Timer(0.2 + 0.13 * crash, server.kill)
                    killer.start()
                    while True:
                        numbered_deferred(recorder, index, index + 20)
                        recorder.defer(FindingRaised(replace(run_events.FINDING, id=str(index))))
                        index += 20
                        try:
                            recorder.flush()
                        except StoreLostError:
                            failures += 1
                            break
                        acknowledged.append(index - 20)
                    killer.join()
                    server.start()
                    # What was acknowledged is there before the recorder writes again.
                    stored = {int(finding.id) for finding in store.load(RUN).findings}
                    assert set(acknowledged) <= stored
                    recorder.flush()
                assert failures == 2
                recorder.record(RunEnded(RUN, State.DONE))
                recorder.verify()
            check_numbered(store, index)
            assert [int(finding.id) for finding in store.load(RUN).findings] == list(range(0, index, 20))


def test_two_processes_record_at_once_and_a_killed_one_loses_nothing_acknowledged(store: Store, url: ServerUrl) -> None:
    names = [f"20261120-141530-{letter * 4}" for letter in "abc"]
    folders = os.pathsep.join([str(SCRIPT.parent), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": folders}
    processes = [
        subprocess.Popen(
            [sys.executable, str(SCRIPT), str(url), name, str(count)],
            stdout=subprocess.PIPE, text=True, env=environment,
        )
        for name, count in zip(names, (30, 30, 0), strict=True)
    ]  # fmt: skip
    *finite, endless = processes
    for process in finite:
        process.communicate(timeout=120)
        assert process.returncode == 0
    assert store.mark_interrupted() == []
    with pytest.raises(StoreError, match="in progress"):
        store.delete(names[2])
    endless.send_signal(signal.SIGKILL)
    assert endless.stdout is not None
    lines = [line.split() for line in endless.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
    endless.wait()
    endless.stdout.close()
    assert store.mark_interrupted() == [names[2]]
    for name in names[:2]:
        (samples,) = store.samples(name).values()
        assert [sample.value for sample in samples] == [float(index) for index in range(1500)]
    findings = {int(number) for word, number in lines if word == "finding"}
    assert findings <= {int(finding.id) for finding in store.load(names[2]).findings}
    (samples,) = store.samples(names[2]).values()
    last = max(float(number) for word, number in lines if word == "clock")
    assert last - samples[-1].time < 2.0  # a busy computer doubles the second between writes


# Formats


def test_an_older_library_is_upgraded_by_its_owner_only(postgresql: Server, url: ServerUrl, store: Store) -> None:
    record(store, RUN, run_events.run_events(RUN))
    name = url.url.rpartition("/")[2]
    postgresql.execute(ROLES_SQL, name)
    with suppress(Exception):
        postgresql.execute("DROP ROLE another_writer")
    postgresql.execute("CREATE ROLE another_writer LOGIN IN ROLE benchwright_writer")
    store.close()
    execute(store, "UPDATE formats SET format = ?", schema.FORMAT - 1)
    execute(store, "ALTER TABLE run_summaries DROP COLUMN headline_trials")
    execute(store, "DROP TABLE locks")
    for writer in opened(location_of(postgresql.url(name, "another_writer"))):
        with pytest.raises(StoreError, match=f"has a library of format {schema.FORMAT - 1}, older than") as refused:
            writer.runs()
        assert MESSAGES["ask_the_owner"] in refused.value.remedy
    assert [row.id for row in store.runs()] == [RUN]
    store.lock([RUN], "kept")
    assert execute(store, "SELECT format FROM formats") == [(schema.FORMAT,)]
    assert list(store.complete_summaries()) == []
    for writer in opened(location_of(postgresql.url(name, "another_writer"))):
        assert writer.unlock([RUN]) == [RUN]  # the new table, too


def test_a_writer_runs_fleet_studies(postgresql: Server, url: ServerUrl, store: Store) -> None:
    store.runs()
    name = url.url.rpartition("/")[2]
    postgresql.execute(ROLES_SQL, name)
    with suppress(Exception):
        postgresql.execute("DROP ROLE fleet_writer")
    postgresql.execute("CREATE ROLE fleet_writer LOGIN IN ROLE benchwright_writer")
    for writer in opened(location_of(postgresql.url(name, "fleet_writer"))):
        study = writer.begin_fleet_study(studies.fleet_plan(studies.numbered(2)), by_workers=False)
        (one, _) = writer.start_host_runs(study, lambda waiting, _under_way, _plan: list(waiting), "desk")
        writer.settle_host_run(study.id, one, HostRunState.DONE, reason="")
    assert store.find_fleet_study(study.id).counts == {HostRunState.DONE: 1, HostRunState.RUNNING: 1}


# Transfers


def test_runs_are_merged_exported_and_deleted_as_in_a_file(url: ServerUrl, store: Store, tmp_path: Path) -> None:
    path, out = tmp_path / "first.sqlite3", tmp_path / "out.sqlite3"
    runs = library_of(path, 4)
    merged = benchwright("--store", str(url), "library", "merge", path)
    assert (merged.status, "Merged 4 runs" in merged.out) == (0, True), merged.err
    *_, written = store.export_runs(runs[1:3], out)
    assert written.whole
    for exported in opened(out):
        assert {row.id for row in exported.runs()} == set(runs[1:3])
        assert exported.samples(runs[1]) == store.samples(runs[1])
    with closing(Workstation(url, tmp_path / "hosts.toml")) as workstation:
        with workstation.redacted([runs[2]]) as source:
            report = source.workstation.export_html(source.runs, tmp_path / "report.html", redacted=True)
        assert "web-1" not in report.read_text(encoding="utf-8")
        assert [row.id for row in workstation.matching("rw=randread -tag:old")[1]] == [row.id for row in store.runs()]
    *_, deleted = store.delete_runs(runs)
    assert (set(deleted.runs), {run for run, _ in deleted.refused}) == (set(runs[2:]), set(runs[:2]))
    assert "their space is reused" in deleted.text
    tables = ("series", "packed_samples", "sample_times", "output", "facts")
    for table in tables:
        key = "run_id" if table != "packed_samples" else "(SELECT run_id FROM series WHERE series.id = series)"
        ((left,),) = execute(store, f"SELECT count(*) FROM {table} WHERE {key} NOT IN (SELECT id FROM runs)")
        assert left == 0


# Roles


def test_a_writer_changes_no_table_and_a_reader_nothing(postgresql: Server, url: ServerUrl, store: Store) -> None:
    name = url.url.rpartition("/")[2]
    record(store, RUN, run_events.run_events(RUN))
    sql = benchwright("store", "roles")
    assert sql.status == 0
    for _ in range(2):  # may be run again
        postgresql.execute(sql.out, name)
    for role in ("writer", "reader"):
        with suppress(Exception):
            postgresql.execute(f"DROP ROLE one_{role}")
        postgresql.execute(f"CREATE ROLE one_{role} LOGIN IN ROLE benchwright_{role}")
    for writer in opened(location_of(postgresql.url(name, "one_writer"))):
        assert writer.read_only() is None
        record(writer, "20261121-141530-k3f9", run_events.run_events("20261121-141530-k3f9"))
        writer.pin("nightly", [(RUN, "")])
        writer.unpin("nightly")
        writer.delete("20261121-141530-k3f9")
        with pytest.raises(ReadOnlyError), writer.database.writing() as connection:
            connection.exec_driver_sql("DROP TABLE runs")
    store.lock([RUN], "kept")
    locked = benchwright("--store", postgresql.url(name, "one_reader"), "delete", RUN)
    assert ("read-only for this role" in locked.err, "unlock" in locked.err.lower()) == (True, False)
    store.unlock([RUN])
    for reader in opened(location_of(postgresql.url(name, "one_reader"))):
        assert [row.id for row in reader.runs()] == [RUN]
        refused = reader.read_only()
        assert isinstance(refused, ReadOnlyError)
        assert "store roles" in refused.remedy
        with pytest.raises(ReadOnlyError):
            reader.delete(RUN)
        assert reader.mark_interrupted() == []
        assert reader.load(RUN).trials
    done = benchwright("--store", postgresql.url(name, "one_reader"), "list", "--json")
    assert (done.status, RUN in done.out) == (0, True)
    postgresql.execute("CREATE DATABASE no_library")
    with pytest.raises(StoreError, match="has no library, and this role may not"):
        Store(location_of(postgresql.url("no_library", "one_writer"))).runs()
    postgresql.execute("DROP DATABASE no_library")


def test_a_role_that_may_not_read_is_told_what_to_grant(postgresql: Server, url: ServerUrl, store: Store) -> None:
    name, role = url.url.rpartition("/")[2], "zq role"
    record(store, RUN, run_events.run_events(RUN))
    with suppress(Exception):
        postgresql.execute(f'DROP ROLE "{role}"')
    postgresql.execute(f'CREATE ROLE "{role}" LOGIN')
    own = postgresql.url(name, quote(role))
    for grant in ("", "USAGE ON SCHEMA benchwright", "SELECT ON benchwright.formats, benchwright.runs"):
        postgresql.execute(f'GRANT {grant} TO "{role}"' if grant else "SELECT 1", name)
        with pytest.raises(StoreError, match=f"The role {role} may not read the library") as refused:
            Store(location_of(own)).runs()
        assert f'GRANT benchwright_reader TO "{role}"' in refused.value.remedy
    postgresql.execute(ROLES_SQL, name)
    postgresql.execute(f'GRANT benchwright_reader TO "{role}"')
    for reader in opened(location_of(own)):
        assert [row.id for row in reader.runs()] == [RUN]
        with pytest.raises(ReadOnlyError, match="read-only for this role"):
            reader.delete(RUN)
    postgresql.execute(f"REVOKE CONNECT ON DATABASE {name} FROM PUBLIC")
    with pytest.raises(StoreLostError, match="permission denied for database") as refused:
        Store(location_of(own)).runs()
    assert "GRANT CONNECT" in refused.value.remedy


# Copies


def library_of(path: Path, count: int) -> list[str]:
    """Make a library file with runs, a note, a lock and a baseline; return the runs."""
    store = Store(path)
    runs = [f"202611{day:02}-141530-k3f9" for day in range(1, count + 1)]
    for number, run in enumerate(runs):
        record(
            store,
            run,
            run_events.run_events(run, [1000.0 + number, 1010.5], started=f"2026-11-{number + 1:02}T14:15:30+00:00"),
        )
    store.lock(runs[:1], "kept")
    store.pin("nightly", [(runs[0], ""), (runs[1], "")])
    store.save_search("mine", "host:web-1")
    store.close()
    return runs


def test_a_library_is_copied_to_the_server_and_back_whole(url: ServerUrl, tmp_path: Path) -> None:
    first, back = tmp_path / "first.sqlite3", tmp_path / "back.sqlite3"
    runs = library_of(first, 5)
    one = benchwright("store", "copy", str(first), str(url), runs[3])
    assert (one.status, "Copied 1 run" in one.out) == (0, True)
    whole = benchwright("store", "copy", str(first), str(url))
    assert (whole.status, MESSAGES["four_copied"] in whole.out) == (0, True), whole.out + whole.err
    again = benchwright("store", "copy", str(first), str(url))
    assert (again.status, MESSAGES["none_copied"] in again.out) == (0, True)
    done = benchwright("store", "copy", str(url), str(back))
    assert done.status == 0, done.err
    old, new = Store(first), Store(back)
    for run in runs:
        assert new.load(run) == old.load(run)
        assert new.samples(run) == old.samples(run)
        assert new.telemetry(run) == old.telemetry(run)
        assert new.output(run, 1) == old.output(run, 1)
    assert [(b.name, b.version, b.parts) for b in new.baselines()] == [
        (b.name, b.version, b.parts) for b in old.baselines()
    ]
    assert new.kept() == old.kept()
    old.close()
    new.close()


def test_a_copy_that_differs_is_named_and_left(url: ServerUrl, store: Store, tmp_path: Path) -> None:
    path = tmp_path / "first.sqlite3"
    runs = library_of(path, 3)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE findings SET title = 'bad' || char(0) || 'text'")  # PostgreSQL stores no NUL
    assert benchwright("store", "copy", str(path), str(url)).status == 0
    assert {finding.title for finding in store.load(runs[0]).findings} == {"bad\ufffdtext"}
    execute(store, "UPDATE output SET data = 'changed' WHERE run_id = ?", runs[1])
    done = benchwright("store", "copy", str(path), str(url))
    assert done.status == 1
    assert f"{runs[1]}: The run {runs[1]} of this library differs" in done.out


def test_two_copies_at_once_bring_each_run_once(url: ServerUrl, store: Store, tmp_path: Path) -> None:
    path = tmp_path / "first.sqlite3"
    runs = library_of(path, 12)

    def copy(number: int) -> Merged:
        with closing(Workstation(tmp_path / f"own{number}.sqlite3", tmp_path / "hosts.toml")) as workstation:
            *_, last = workstation.copy_library(path, url)
            return last

    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(copy, range(3)))
    assert [one.text for one in found if not one.whole] == []
    assert sorted(run for one in found for run in one.runs.runs) == runs
    assert {row.id for row in store.runs()} == set(runs)


def test_an_interrupted_copy_leaves_whole_runs_and_goes_on(url: ServerUrl, store: Store, tmp_path: Path) -> None:
    path = tmp_path / "first.sqlite3"
    runs = library_of(path, 6)
    with closing(Workstation(tmp_path / "own.sqlite3", tmp_path / "hosts.toml")) as workstation:
        copying = workstation.copy_library(path, url)
        while next(copying).done < 3:
            pass
        copying.close()
        assert 3 <= len(store.runs()) < 6
        *_, last = workstation.copy_library(path, url)
        assert last.whole
        assert {row.id for row in store.runs()} == set(runs)


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    "cut",
    [
        "target",
        pytest.param("source of a file", marks=pytest.mark.slow),
        "source of a server",
        "source of an export",
        "deletion",
    ],
)
def test_a_cut_ends_a_transfer_at_once_and_names_the_lost_side(
    postgresql: Server, proxy: Proxy, url: ServerUrl, tmp_path: Path, cut: str
) -> None:
    path, out = tmp_path / "first.sqlite3", tmp_path / "out.sqlite3"
    runs = library_of(path, 6)
    through = location_of(url.url.replace(f":{postgresql.port}/", f":{proxy.port}/"))
    with (
        closing(Workstation(tmp_path / "own.sqlite3", tmp_path / "hosts.toml")) as workstation,
        library_on(postgresql) as other,
    ):
        if cut != "target":
            assert list(workstation.copy_library(path, url))[-1].whole
        with closing(Workstation(through, tmp_path / "hosts.toml")) as cut_off:
            works: dict[str, Callable[[], Iterator[Merged | Exported | Deleted]]] = {
                "target": lambda: workstation.copy_library(path, through),
                "source of a file": lambda: workstation.copy_library(through, out),
                "source of a server": lambda: workstation.copy_library(through, other),
                "source of an export": lambda: cut_off.export_library(runs, out),
                "deletion": lambda: cut_off.delete_runs(runs),
            }
            reached: list[int] = []

            def transfer() -> None:
                for part in works[cut]():
                    reached.append(part.done)
                    if part.done == 2:
                        proxy.cut.set()

            with pytest.raises(StoreLostError, match=f"127.0.0.1:{proxy.port}") as lost:
                transfer()
            assert "\n" not in str(lost.value)
            assert max(reached) < 6
            assert cut != "source of an export" or not out.exists()
            proxy.cut.clear()
            *_, last = works[cut]()
            assert last.done == len(runs)


def test_several_judge_a_library_again_at_once_as_one_does(postgresql: Server, url: ServerUrl, tmp_path: Path) -> None:
    """Whatever the isolation that the database has by default: each waits for the lock, then reads."""
    path = tmp_path / "first.sqlite3"
    runs = library_of(path, 4)
    with closing(Workstation(tmp_path / "own.sqlite3", tmp_path / "hosts.toml")) as workstation:
        assert list(workstation.copy_library(path, url))[-1].whole
    name = url.url.rpartition("/")[2]
    postgresql.execute(f"ALTER DATABASE {name} SET default_transaction_isolation = 'repeatable read'")

    def judge(location: Path | ServerUrl) -> list[str]:
        with closing(Workstation(location, tmp_path / "hosts.toml")) as workstation:
            return [one.problem for one in workstation.rejudge(every=True)]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(judge, [url] * 4)) == [[""] * 4] * 4
    assert judge(path) == [""] * 4
    for alone in opened(path):
        for shared in opened(url):
            for table in ("verdicts", "earlier_verdicts", "findings", "recalls"):
                count = f"SELECT count(*) FROM {table}"
                assert execute(shared, count) == execute(alone, count), table
            assert shared.missing_evidence(runs) == {}


def test_pg_dump_and_pg_restore_keep_the_library(
    postgresql: Server, url: ServerUrl, store: Store, tmp_path: Path
) -> None:
    record(store, RUN, run_events.run_events(RUN))
    found = programs()
    assert found is not None
    dump = tmp_path / "library.dump"
    schemas = ["--schema=benchwright", "--schema=results"]
    subprocess.run([found / "pg_dump", "--format=custom", *schemas, f"--file={dump}", url.for_libpq], check=True)
    postgresql.execute("CREATE DATABASE restored")
    into = postgresql.url("restored").replace("+psycopg", "")
    subprocess.run([found / "pg_restore", f"--dbname={into}", dump], check=True)
    for restored in opened(location_of(postgresql.url("restored"))):
        assert restored.load(RUN) == store.load(RUN)
        assert restored.pin("after", [(RUN, "")]) == 1
    postgresql.execute("DROP DATABASE restored WITH (FORCE)")
