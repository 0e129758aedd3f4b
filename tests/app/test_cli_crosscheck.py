"""What “second-opinion”, “agree” and “calibrate” say without measuring anything."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from app.cli.main import benchwright
from app.store.store import Store
from tests.app import run_events
from tests.app.test_calibration import calibration
from tests.messages import messages

MESSAGES = messages("app-command-line", "test_cli_crosscheck")

RUN = "20261120-141530-k3f9"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return a library with a run of fio on web-1."""
    path = tmp_path / "runs.sqlite3"
    made = Store(path)
    with made.recorder(RUN) as recorder:
        for event in run_events.run_events(RUN, (1000.0, 1001.0, 999.0)):
            recorder.record(event)
    made.keep_calibration(replace(calibration("web-1", suite="fio", run=RUN), fingerprint={}))
    made.close()
    return path


def call(store: Path, *words: str) -> Result:
    return CliRunner().invoke(benchwright, ["--store", str(store), *words])


def test_without_run_the_plan_is_shown_and_nothing_runs(store: Path) -> None:
    shown = call(store, "second-opinion", RUN, "--with", "ioping")
    assert shown.exit_code == 0
    assert "ioping checks fio" in shown.stdout
    assert MESSAGES["rw_randread_becomes"] in shown.stdout
    document = json.loads(call(store, "second-opinion", RUN, "--with", "ioping", "--json").stdout)
    assert [step["suite"] for step in document["plan"]["steps"]] == ["fio", "ioping"]
    assert len(Store(store).runs()) == 1


def test_a_tool_that_cannot_check_it_and_a_run_of_one_tool_are_refused(store: Path) -> None:
    refused = call(store, "second-opinion", RUN, "--with", "stream")
    assert refused.exit_code == 2
    assert MESSAGES["sysbench_fileio_dd_ioping"] in refused.stderr
    alone = call(store, "agree", RUN)
    assert alone.exit_code == 2
    assert "no equivalent tools" in alone.stderr


def test_calibrations_are_listed_and_forgotten(store: Path) -> None:
    shown = call(store, "calibrate", "web-1", "--list", "--margin", "3").stdout
    assert "I/O operations (read)" in shown
    assert "3 %: 6 trials" in shown
    (listed,) = json.loads(call(store, "calibrate", "web-1", "--list", "--json", "--margin", "iops=2").stdout)
    assert [(one["metric"], one["margin"]) for one in listed["sessions"]] == [("iops", 0.02), ("latency_p99", 0.10)]
    assert listed["sessions"][0]["session_cov"] is None
    assert call(store, "calibrate", "web-1", "--forget").stdout == "Calibrations deleted: 1\n"
    assert json.loads(call(store, "calibrate", "web-1", "--forget", "--json").stdout) == {"host": "web-1", "deleted": 0}
    assert call(store, "calibrate", "web-1", "--list").stdout == MESSAGES["there_is_no_calibration"]


def test_what_sets_nothing_is_refused(store: Path) -> None:
    assert "is not NAME=VALUE" in call(store, "calibrate", "local", "--set", "time").stderr
