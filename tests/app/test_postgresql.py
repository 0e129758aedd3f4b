"""A library in PostgreSQL: many writers, old formats, roles, and no password anywhere."""

import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import pytest

from app.events import State
from app.fleet_study import HostRunState
from app.library_location import LocationError, ServerUrl, location_of
from app.services import Workstation
from app.store import ownership, schema
from app.store.errors import ReadOnlyError, StoreBusyError, StoreError, StoreLostError
from app.store.roles import ROLES_SQL
from app.store.store import Store
from tests.app import run_events
from tests.app.fleet import studies
from tests.app.server_faults import as_role, begun
from tests.app.stores import RUN, execute, opened, postgresql, record, url
from tests.app.stores import store_on_server as store
from tests.messages import messages
from tests.postgresql import OWNER, Server
from tests.program import benchwright

__all__ = ["postgresql", "store", "url"]  # fixtures

MESSAGES = messages("app-store", "test_postgresql")


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


@pytest.mark.quick(2)
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
