"""Locked runs and runs of baselines stay; old runs are listed before they are deleted."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.library_rows import Annotation
from app.run_filter import FilterError
from app.services import Workstation
from app.store.errors import StoreError
from suites.errors import BenchwrightError
from tests.messages import messages
from tests.program import BAD_INPUT, DONE, FAILED, benchwright
from tests.widgets.library_runs import Made, record

MESSAGES = messages("app-store", "test_retention")
OLD, PINNED, LOCKED, NEW = (f"2020010{number}-000000-000{number}" for number in range(1, 5))


@pytest.fixture
def workstation(tmp_path: Path) -> Iterator[Workstation]:
    made = Workstation(tmp_path / "library.sqlite3", tmp_path / "hosts.toml")
    record(
        made, *(Made(run, iops=(1.0, 1.1), samples=500, output=bytes(200_000)) for run in (OLD, PINNED, LOCKED, NEW))
    )
    made.pin(PINNED, "nightly")
    made.lock([LOCKED], "evidence of  the outage")
    with made._store.database.writing() as connection:
        for table, key in (("runs", "id"), ("run_summaries", "run_id")):
            connection.exec_driver_sql(
                f"UPDATE {table} SET started = '2020-01-0' || substr({key}, 8, 1) || 'T00:00:00+00:00' "
                f"WHERE {key} != '{NEW}'"
            )
            connection.exec_driver_sql(
                f"UPDATE {table} SET started = '2999-01-01T00:00:00+00:00' WHERE {key} = '{NEW}'"
            )
    yield made
    made.close()


def test_a_locked_run_is_refused_with_its_reason(workstation: Workstation) -> None:
    for refused in (
        lambda: workstation.delete(LOCKED),
        lambda: workstation.annotate({LOCKED: Annotation(binned="2026-01-01T00:00:00+00:00")}),
    ):
        with pytest.raises(StoreError, match=f"{LOCKED} is locked: evidence of the outage"):
            refused()
    workstation.annotate({LOCKED: Annotation(note="annotations do not unlock it")})
    (row,) = workstation.matching("lock:outage")[1]
    assert (row.id, row.lock) == (LOCKED, "evidence of the outage")
    assert workstation.unlock([LOCKED, OLD]) == [LOCKED]
    workstation.delete(LOCKED)
    assert LOCKED not in {one.id for one in workstation.runs()}


def test_a_run_of_a_baseline_is_locked_by_use(workstation: Workstation) -> None:
    with pytest.raises(StoreError, match="is part of the baseline nightly@1"):
        workstation.delete(PINNED)
    workstation.unpin("nightly")
    workstation.delete(PINNED)


@pytest.mark.quick(1)
@pytest.mark.parametrize("reason", ["", "  ", "x" * 501])
def test_a_lock_needs_a_reason(workstation: Workstation, reason: str) -> None:
    with pytest.raises(StoreError, match=r"needs a reason|nothing was stored"):
        workstation.lock([OLD], reason)


def test_a_lock_goes_with_its_run(workstation: Workstation, tmp_path: Path) -> None:
    *_, last = workstation.export_library([LOCKED], tmp_path / "bundle.sqlite3")
    assert last.whole
    other = Workstation(tmp_path / "bundle.sqlite3", tmp_path / "hosts.toml")
    assert [row.lock for row in other.library().rows] == ["evidence of the outage"]
    other.close()


def test_expired_runs_are_those_that_nothing_keeps(workstation: Workstation) -> None:
    rows, kept = workstation.expired("1y")
    assert [row.id for row in rows] == [OLD, PINNED, LOCKED]
    assert kept == {PINNED: "baseline nightly@1", LOCKED: "locked: evidence of the outage"}
    assert workstation.expired("1y", "host:nothing-like-it")[0] == []
    size = workstation.library_path.stat().st_size
    *_, last = workstation.delete_runs([OLD, LOCKED])
    assert (last.runs, [run for run, _ in last.refused]) == ((OLD,), [LOCKED])
    assert last.freed is not None
    assert last.freed > 200_000
    assert workstation.library_path.stat().st_size <= size - 200_000


def test_a_run_that_was_imported_since_is_kept_however_old_it_is(workstation: Workstation) -> None:
    with workstation._store.database.writing() as connection:
        for run, imported in ((OLD, "2999-01-01T00:00:00+00:00"), (LOCKED, "2020-02-01T00:00:00+00:00")):
            connection.exec_driver_sql("UPDATE runs SET imported = ? WHERE id = ?", (imported, run))
    workstation.unlock([LOCKED])
    rows, kept = workstation.expired("1y")
    assert {row.id for row in rows} == {OLD, PINNED, LOCKED}
    assert kept == {PINNED: "baseline nightly@1", OLD: "imported 2999-01-01"}


def test_the_command_lists_first_and_deletes_with_consent(workstation: Workstation, tmp_path: Path) -> None:
    workstation.close()
    words = ("--store", tmp_path / "library.sqlite3", "library", "retain", "--older", "1y")
    listed = benchwright(*words)
    assert listed.status == DONE
    assert "1 run would be deleted, 2 kept. Add --delete to delete." in listed.out
    assert "baseline nightly@1" in listed.out
    declined = benchwright(*words, "--delete", stdin=b"n\n")
    assert declined.status == FAILED
    assert "1 run would be deleted" in benchwright(*words).out
    done = benchwright(*words, "--delete", "--yes")
    assert done.out.splitlines()[-1].startswith("Deleted 1 run; 0.")
    assert done.out.splitlines()[-1].endswith("MB freed.")
    refused = benchwright("--store", tmp_path / "library.sqlite3", "delete", LOCKED)
    assert refused.status == BAD_INPUT
    assert MESSAGES["locked"] in refused.err


@pytest.mark.quick(2)
@pytest.mark.parametrize("older", ["", "1x", "-1d", "1y,0d", "999999999y"])
def test_an_age_that_is_none_is_refused_in_words_of_the_option(workstation: Workstation, older: str) -> None:
    with pytest.raises(BenchwrightError, match="is not an age or a date"):
        workstation.expired(older)
    with pytest.raises(FilterError, match="bin"):
        workstation.expired("1y", "bin:nothing")


def test_runs_without_a_summary_are_read_before_a_filter_chooses_them(workstation: Workstation) -> None:
    with workstation._store.database.writing() as connection:
        connection.exec_driver_sql(f"DELETE FROM run_summaries WHERE run_id = '{OLD}'")
    with pytest.raises(StoreError, match="Summaries"):
        workstation.expired("1y", "-suite:fio")
    workstation.close()
    words = ("--store", workstation.library_path, "library", "retain", "--older", "1y", "-suite:fio")
    assert "0 runs would be deleted" in benchwright(*words).out
