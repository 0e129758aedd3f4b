"""Every format a store was ever written in can still be read."""

import shutil
from pathlib import Path

from app.events import HostChange, State, VerdictReached
from app.store import Store
from suites.verdict import Limiter, Trust, Verdict
from suites.vocab import Figure
from tests.app import recorded
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
    assert found.plan == recorded.plan(trials=3)
    assert found.facts_before == {"web-1": recorded.facts("web-1")}
    assert found.findings == (recorded.FINDING,)
    assert found.trials[2].figures[0] == Figure(recorded.IOPS, 990.0, recorded.READ)
    assert found.trials[0].trial == recorded.trial(1)
    assert store.samples("before the upgrade")[1] == tuple(recorded.samples(1000.0))
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
    assert store.load("before the upgrade").trials[2].figures[0] == Figure(recorded.IOPS, 990.0, recorded.READ)


def test_a_store_of_format_5_takes_calibrations(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite3"
    shutil.copy(STORES / "format-5.sqlite3", path)
    store = Store(path)
    run = store.load("20261122-141530-k3f9")
    assert [one.level for one in run.verdicts] == [Trust.CAVEATS, Trust.CAVEATS]
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
    verdict = Verdict(Trust.CAVEATS, Limiter.DEVICE, "Valid with caveats.", (recorded.FINDING,), "random read", "web-1")
    whole = Verdict(Trust.CAVEATS, None, "Valid with caveats.")
    with store.recorder("20261122-141530-k3f9") as recorder:
        for event in recorded.run_events("20261122-141530-k3f9"):
            recorder.record(event)
        recorder.record(VerdictReached(verdict))
        recorder.record(VerdictReached(whole))
    assert Store(path).load("20261122-141530-k3f9").verdicts == (verdict, whole)
    assert [line.trust for line in store.runs()] == ["", "valid with caveats"]
