"""Runs between a library in PostgreSQL and files or other servers: merged, copied, exported, deleted, restored."""

import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from app.library_location import ServerUrl, location_of
from app.services import Workstation
from app.store.errors import StoreLostError
from app.store.library_merge import Merged
from app.store.retention import Deleted
from app.store.run_transfer import Exported
from app.store.store import Store
from tests.app import run_events
from tests.app.server_faults import Proxy, proxy
from tests.app.stores import RUN, execute, library_on, opened, postgresql, record, url
from tests.app.stores import store_on_server as store
from tests.messages import messages
from tests.postgresql import Server, programs
from tests.program import benchwright

__all__ = ["postgresql", "proxy", "store", "url"]  # fixtures

MESSAGES = messages("app-store", "test_postgresql_copies")


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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
