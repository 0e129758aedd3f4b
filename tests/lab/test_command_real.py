"""A command of the user's own over SSH: its time agrees with a clock by hand, and what is made is cleaned up."""

import json
import shutil
import subprocess
import time
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest

from app.events import State, TrialEnded
from app.plans.plan import Plan, Repetition, make_step
from app.runs.control import Control
from tests.lab.probe_runs import run_once, workstation_in
from tests.lab_sshd import AnsweringAsker, LabHost
from tests.messages import messages
from tests.suites.captured_outputs import figures

pytestmark = pytest.mark.usefixtures("few_programs")

MESSAGES = messages("lab", "test_command_real")


def run(folder: Path, **given: str | int) -> TrialEnded:
    """Run one trial on the lab host."""
    with workstation_in(folder) as workstation:
        return run_once(workstation, "command", "lab", peer=None, **given)[0]


@pytest.mark.slow
@pytest.mark.alone
def test_its_time_is_that_of_a_clock_by_hand(lab_host: LabHost, tmp_path: Path) -> None:
    lab_host.add_to_home()
    before = time.monotonic()
    subprocess.run(["sleep", "0.4"], check=True)
    by_hand = time.monotonic() - before
    ended = run(tmp_path, command="sleep 0.4")
    assert (ended.state, ended.reason) == (State.DONE, "")
    assert figures(ended.parsed)["wall_time"] == pytest.approx(by_hand, abs=0.1)


@pytest.mark.slow
def test_its_own_figure_leads_and_its_surroundings_are_as_asked(lab_host: LabHost, tmp_path: Path) -> None:
    lab_host.add_to_home()
    ended = run(  # noqa: S604 (the suite's own parameter; the shell is the lab host's)
        tmp_path,
        command='echo "score = $SCORE"; cat made; exit 3',
        shell="yes",
        environment="SCORE=41.5",
        prepare=f"sh -c 'pwd; echo yes > {tmp_path}/made'",
        working_directory=str(tmp_path),
        clean_up=f"rm {tmp_path}/made",
        accepted="0 3",
        figure="pattern",
        pattern="score = ([0-9.]+)",
        metric="Score",
        unit="MiB/s",
    )
    assert (ended.state, ended.reason) == (State.DONE, "")
    assert ended.parsed.figures[0].metric.title == "Score"
    assert ended.parsed.figures[0].value == 41.5
    assert not (tmp_path / "made").exists()


@pytest.mark.slow
def test_what_was_prepared_is_cleaned_up_after_a_failure_too(lab_host: LabHost, tmp_path: Path) -> None:
    lab_host.add_to_home()
    ended = run(tmp_path, command="false", prepare=f"touch {tmp_path}/made", clean_up=f"rm {tmp_path}/made")
    assert ended.state is State.FAILED
    assert ended.reason.count("exit status 1") == 1
    assert not (tmp_path / "made").exists()


@pytest.mark.slow
def test_a_cleaning_up_that_fails_is_told(lab_host: LabHost, tmp_path: Path) -> None:
    lab_host.add_to_home()
    with workstation_in(tmp_path) as workstation:
        ended, _ = run_once(workstation, "command", "lab", command="true", clean_up="sh -c 'echo no; exit 4'")
        record = workstation.load("last")
    assert ended.state is State.DONE
    assert MESSAGES["could_not_clean_up_on_lab_sh"] in record.reason


@pytest.mark.slow
def test_what_runs_before_each_trial_may_fail(lab_host: LabHost, tmp_path: Path) -> None:
    lab_host.add_to_home()
    ended = run(tmp_path, command="cat made", before="touch made", figure="time")
    assert (ended.state, ended.reason) == (State.DONE, "")
    failed = run(tmp_path, command="true", before="ls /nowhere/at/all")
    assert failed.state is State.FAILED
    assert MESSAGES["what_runs_before_each_trial"] in failed.reason
    assert "/nowhere/at/all" in failed.reason


@pytest.mark.slow
def test_a_time_limit_ends_it_on_the_host(lab_host: LabHost, tmp_path: Path) -> None:
    lab_host.add_to_home()
    ended = run(tmp_path, command="sleep 60", timeout=1)
    assert ended.state is State.FAILED
    assert MESSAGES["longer_than_its_time_limit"] in ended.reason


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.skipif(shutil.which("hyperfine") is None, reason="hyperfine is not installed")
def test_a_scan_has_the_times_of_hyperfine_and_little_overhead(lab_host: LabHost, tmp_path: Path) -> None:
    lab_host.add_to_home()
    step = make_step("command", {"command": "sleep {n}", "scan": "n=0.1,0.2"})
    plan = Plan("scan", ("lab",), (step,), repetition=Repetition(trials=6, warm_ups=1))
    with workstation_in(tmp_path) as workstation:
        for event in workstation.run(plan, AnsweringAsker(), Control()):
            assert not isinstance(event, TrialEnded) or event.state is State.DONE
        ours = json.loads(workstation.export_hyperfine(["last"], tmp_path / "ours.json").read_text())["results"]
        trials = workstation.load("last").trials
    words = ["hyperfine", "-N", "-w1", "-r6", "--export-json", str(tmp_path / "theirs.json"), "-L", "n", "0.1,0.2"]
    subprocess.run([*words, "sleep {n}"], check=True, capture_output=True)
    theirs = json.loads((tmp_path / "theirs.json").read_text())["results"]
    assert [each["command"] for each in ours] == [each["command"] for each in theirs] == ["sleep 0.1", "sleep 0.2"]
    assert [each["parameters"] for each in ours] == [each["parameters"] for each in theirs]
    for one, other in zip(ours, theirs, strict=True):
        assert set(one) <= set(other)
        assert len(one["times"]) == len(other["times"]) == 6
        assert one["min"] == pytest.approx(other["min"], rel=0.05)
    began = [datetime.fromisoformat(trial.trial.started) for trial in trials]
    gaps = [(after - before).total_seconds() - 0.3 for before, after in pairwise(began)]
    assert min(gaps) / 2 < 0.2, "two commands a trial"
