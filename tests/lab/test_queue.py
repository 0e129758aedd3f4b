"""Several runs at once over a real sshd: side by side on different machines, one after another on a shared one."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from app.checks.run_findings import STREAMS_HERE
from app.events import Event, Progress, State
from app.plans.plan import LOCAL, Plan, Repetition, make_step
from app.plans.plan_file import write_plan
from app.records import RunRecord
from app.runs.control import Control
from app.services import Workstation
from tests.lab.machines import StartMachine
from tests.lab.survival import run
from tests.messages import messages

pytestmark = pytest.mark.usefixtures("few_programs")

MESSAGES = messages("lab", "test_queue")


def plan_on(*hosts: str, seconds: float = 2.0, name: str = "") -> Plan:
    step = make_step("command", {"command": f"sleep {seconds}"})
    return Plan(name or f"sleep on {hosts[0]}", hosts, (step,), repetition=Repetition(trials=1))


PROGRAM = [sys.executable, "-m", "app"]


def start_files(tmp_path: Path, plans: Sequence[Plan], *more: str) -> subprocess.Popen[str]:
    """Run the plans with the real program; its output is not a terminal."""
    files = [tmp_path / f"{number}.toml" for number in range(len(plans))]
    for plan, file in zip(plans, files, strict=True):
        write_plan(plan, file)
    words = [*PROGRAM, "--store", str(tmp_path / "runs.sqlite3"), "run", "--yes", *more, *map(str, files)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run_files(tmp_path: Path, plans: Sequence[Plan], *more: str) -> tuple[int, str, str]:
    """Run the plans to the end; return the exit status, the output and the error output."""
    with start_files(tmp_path, plans, *more) as process:
        output, errors = process.communicate(timeout=120)
    return process.returncode, output, errors


def records(tmp_path: Path, plans: Sequence[Plan]) -> list[RunRecord]:
    """Return the run of each plan."""
    workstation = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml")
    runs = {run.name: run.id for run in workstation.runs()}
    loaded = [workstation.load(runs[plan.name]) for plan in plans]
    workstation.close()
    return loaded


def span(record: RunRecord) -> tuple[str, str]:
    """Return when the first trial of a run began and the last ended."""
    ends = [trial.ended for trial in record.trials if trial.ended is not None]
    return min(trial.trial.started for trial in record.trials), max(ends)


def overlap(one: RunRecord, other: RunRecord) -> bool:
    return span(one)[0] < span(other)[1] and span(other)[0] < span(one)[1]


@pytest.mark.slow
def test_runs_on_different_machines_go_side_by_side(tmp_path: Path, start_machine: StartMachine) -> None:
    for alias in ("one", "two", "three"):
        start_machine(alias)
    plans = [plan_on("one"), plan_on("two"), plan_on("three"), plan_on("one", "two", name="both")]
    plans.append(plan_on(LOCAL))
    status, _, errors = run_files(tmp_path, plans)
    assert status == 0, errors
    one, two, three, both, local = records(tmp_path, plans)
    assert overlap(one, two)
    assert overlap(one, three)
    assert overlap(two, three)
    assert not any(overlap(both, other) for other in (one, two))
    assert MESSAGES["waits_for_one"] in errors
    assert STREAMS_HERE.id in [finding.id for finding in local.findings]
    assert STREAMS_HERE.id not in [finding.id for finding in one.findings]
    assert json.loads((Path.home() / "state/benchwright/queue.json").read_text())["entries"] == []


@pytest.mark.slow
def test_two_names_of_one_machine_are_one_and_a_failed_run_blocks_nothing(
    tmp_path: Path, start_machine: StartMachine
) -> None:
    start_machine("one")
    start_machine("inside-one", like="one")  # its leases are not visible in the other container
    plans = [plan_on("one"), plan_on("inside-one"), plan_on("nowhere.invalid")]
    status, output, _ = run_files(tmp_path, plans, "--json")
    assert status == 1
    first, second, _ = records(tmp_path, plans)
    assert not overlap(first, second)
    assert [each["state"] for each in json.loads(output)] == ["done", "done", "failed"]


@pytest.mark.slow
def test_ctrl_c_stops_every_run_in_order(tmp_path: Path, start_machine: StartMachine) -> None:
    for alias in ("one", "two"):
        start_machine(alias)
    plans = [plan_on("one", seconds=600), plan_on("two", seconds=600), plan_on("one", name="third")]
    process = start_files(tmp_path, plans)
    assert process.stderr is not None
    seen = []
    for line in process.stderr:
        seen.append(line)
        if sum("0 of 1 trial" in earlier for earlier in seen) == 2:
            break
    listed = subprocess.run([*PROGRAM, "queue", "--json"], capture_output=True, text=True, check=True, timeout=60)
    states = {entry["name"]: entry["state"] for entry in json.loads(listed.stdout)["entries"]}
    assert states == {"sleep on one": "running", "sleep on two": "running", "third": "waiting"}
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert [record.summary.state for record in records(tmp_path, plans[:2])] == [State.PARTIAL, State.PARTIAL]
    assert MESSAGES["not_started"] in errors


@pytest.mark.slow
def test_the_time_left_counts_what_passes_between_trials(workstation: Workstation) -> None:
    plan = Plan("gaps", (LOCAL,), (make_step("command", {"command": "sleep 0.3"}),), repetition=Repetition(trials=4))
    seen: list[tuple[float, Progress]] = []

    def note(event: Event, _control: Control) -> None:
        if isinstance(event, Progress):
            seen.append((time.monotonic(), event))

    run(workstation, plan, note)
    (began, _), (then, first) = seen[:2]
    assert first.remaining is not None
    assert 0.3 * 3 + 0.2 < first.remaining < 3 * (then - began)
