"""Every format a store was ever written in can still be read."""

import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from app.events import FindingRaised, HostChange, RunEnded, State, TrialEnded, VerdictReached
from app.store.store import Store
from suites.verdict import Limiter, Trust, Verdict
from suites.vocab import Figure
from tests.app import run_events
from tests.app.fleet.studies import fleet_plan, numbered
from tests.app.test_calibration import calibration

STORES = Path(__file__).parents[1] / "data" / "store"


def test_format_1_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite3"
    shutil.copy(STORES / "format-1.sqlite3", path)
    store = Store(path)
    assert [(line.id, line.state, line.trials, line.headline, line.baseline) for line in store.runs()] == [
        ("20261120-141530-k3f9", State.DONE, 3, "1100 IOPS", None),
        ("20261119-141530-k3f9", State.DONE, 3, "1000 IOPS", "before the upgrade"),
    ]
    found = store.load("before the upgrade")
    assert found.plan == run_events.plan(trials=3)
    assert found.facts_before == {"web-1": run_events.facts("web-1")}
    assert found.findings == (run_events.FINDING,)
    assert found.trials[2].figures[0] == Figure(run_events.IOPS, 990.0, run_events.READ)
    assert found.trials[0].trial == run_events.trial(1)
    assert store.samples("before the upgrade")[1] == tuple(run_events.samples(1000.0))
    assert store.output("before the upgrade", 3) == {"stdout": b"fio: trial 3\n"}
    assert len(store.telemetry("before the upgrade")["web-1"]) == 3


def test_a_store_of_format_1_takes_what_format_2_added(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite3"
    shutil.copy(STORES / "format-1.sqlite3", path)
    store = Store(path)
    assert store.load("before the upgrade").changes == ()
    assert store.pending_changes() == []
    store.end_action(store.begin_action("web-1", "install fio", "true"), 0, b"", "")
    assert [action.exit_status for action in Store(path).actions("web-1")] == [0]


def test_format_2_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite3"
    shutil.copy(STORES / "format-2.sqlite3", path)
    store = Store(path)
    (changed,) = store.load("20261121-141530-k3f9").changes
    assert changed.change == HostChange(
        "web-1", "I/O scheduler of vdb", "/sys/block/vdb/queue/scheduler", "none", "bfq"
    )
    assert (changed.changed, changed.put_back) == ("2026-11-21T14:15:31.000+00:00", "2026-11-21T14:16:31.000+00:00")
    (installed,) = store.actions("web-1")
    assert (installed.what, installed.exit_status, installed.output) == ("install fio", 0, b"Setting up fio\n")
    assert store.load("before the upgrade").trials[2].figures[0] == Figure(run_events.IOPS, 990.0, run_events.READ)


def test_a_store_of_format_5_takes_calibrations(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite3"
    shutil.copy(STORES / "format-5.sqlite3", path)
    store = Store(path)
    run = store.load("20261122-141530-k3f9")
    assert [one.trust for one in run.verdicts] == [Trust.CAVEATS, Trust.CAVEATS]
    assert (run.calibrations, store.calibrations()) == ((), ())
    store.keep_calibration(calibration(suite=run.plan.steps[0].suite_id))
    assert len(Store(path).load("last").calibrations) == 1


def test_a_store_of_format_4_has_no_verdicts_and_takes_them(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite3"
    shutil.copy(STORES / "format-4.sqlite3", path)
    store = Store(path)
    run = "20261121-141530-k3f9"
    assert store.load(run).verdicts == ()
    assert [(line.trust, line.limited_by) for line in store.runs()] == [("", "")]
    verdict = Verdict(
        Trust.CAVEATS, Limiter.DEVICE, "Valid with caveats.", (run_events.FINDING,), "random read", "web-1"
    )
    whole = Verdict(Trust.CAVEATS, None, "Valid with caveats.")
    with store.recorder("20261122-141530-k3f9") as recorder:
        for event in run_events.run_events("20261122-141530-k3f9"):
            recorder.record(event)
        recorder.record(VerdictReached(verdict))
        recorder.record(VerdictReached(whole))
    assert Store(path).load("20261122-141530-k3f9").verdicts == (verdict, whole)
    assert [line.trust for line in store.runs()] == ["", "valid with caveats"]


def test_a_store_of_format_7_has_trials_without_the_clock_of_their_end(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite3"
    shutil.copy(STORES / "format-7.sqlite3", path)
    (old, *_) = Store(path).load("20261122-141530-k3f9").trials
    assert (old.origin, old.ended_clock) == (None, None)
    with Store(path).recorder("20261123-141530-k3f9") as recorder:
        for event in run_events.run_events("20261123-141530-k3f9"):
            recorder.record(
                replace(event, origin=1001.5, ended_clock=1020.0) if isinstance(event, TrialEnded) else event
            )
    (new, *_) = Store(path).load("20261123-141530-k3f9").trials
    assert (new.origin, new.ended_clock) == (1001.5, 1020.0)


def test_a_store_of_format_8_takes_the_program_of_the_telemetry(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite3"
    shutil.copy(STORES / "format-8.sqlite3", path)
    old = Store(path).load("20261123-141530-k3f9")
    assert (old.trials[0].origin, old.telemetry_program) == (1001.5, {})
    program = {"web-1": "a1" * 32}
    with Store(path).recorder("20261124-141530-k3f9") as recorder:
        for event in run_events.run_events("20261124-141530-k3f9"):
            recorder.record(replace(event, telemetry_program=program) if isinstance(event, RunEnded) else event)
    assert Store(path).load("20261124-141530-k3f9").telemetry_program == program


def test_a_store_of_format_12_has_findings_without_a_time_and_takes_them(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite3"
    shutil.copy(STORES / "format-12.sqlite3", path)
    old = Store(path).load("20261126-141530-k3f9")
    assert [(one.finding.id, one.trial, one.clock) for one in old.raised] == [
        ("page-cache", None, None),
        ("cpu-stolen", 1, None),
    ]
    with Store(path).recorder("20261127-141530-k3f9") as recorder:
        for event in run_events.run_events("20261127-141530-k3f9"):
            recorder.record(replace(event, trial=1, clock=1001.5) if isinstance(event, FindingRaised) else event)
    assert Store(path).load("20261127-141530-k3f9").raised == (FindingRaised(run_events.FINDING, 1, 1001.5),)


def columns(path: Path) -> dict[str, set[str]]:
    """Return the columns of every table of a library."""
    with closing(sqlite3.connect(path)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: {row[1] for row in connection.execute(f"PRAGMA table_info({name})")} for name in tables}


@pytest.mark.parametrize("file", sorted(STORES.glob("format-*.sqlite3")), ids=lambda path: path.stem)
def test_an_upgraded_library_has_the_tables_of_a_new_one(tmp_path: Path, file: Path) -> None:
    old, new = tmp_path / "old.sqlite3", tmp_path / "new.sqlite3"
    shutil.copy(file, old)
    for path in (old, new):
        store = Store(path)
        store.forget_calibrations("nothing")
        store.close()
    assert columns(old) == columns(new)


def test_a_library_of_format_14_has_no_locks_and_takes_them(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite3"
    shutil.copy(STORES / "format-14.sqlite3", path)
    run = "20261127-141530-k3f9"
    (row,) = Store(path).library().rows
    assert (row.id, row.lock, row.annotation.note, row.baselines) == (run, "", "as shipped", ("before the upgrade",))
    assert Store(path).library().searches == {"fast": "iops>1k"}
    assert len(Store(path).samples(run)[1]) > 1
    assert Store(path).lock([run], "kept") == [run]
    assert [one.lock for one in Store(path).library().rows] == ["kept"]


def test_a_store_of_format_17_keeps_its_series_and_takes_fleet_studies(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite3"
    shutil.copy(STORES / "format-17.sqlite3", path)
    store = Store(path)
    (series,) = store.session_series()
    assert store.fleet_studies() == []
    study = store.begin_fleet_study(fleet_plan(numbered(2)), by_workers=False)
    store.close()
    again = Store(path)
    assert again.fleet_studies() == [study]
    assert [one.id for one in again.session_series()] == [series.id]
    assert len(again.load("20261123-141530-k3f9").trials) == 1
