"""Presets run for real, over SSH: every step ends well, and their verdicts answer the questions."""

import json
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import geometric_mean

import pytest

from app.comparison.estimates import FEWEST_TRIALS
from app.events import State
from app.plans.context import step_context
from app.plans.plan import Plan, Repetition, Step, make_step
from app.plans.presets import filled_preset
from app.questions import RefusingAsker
from app.records import RunRecord
from app.runs.control import Control
from suites.facts import Facts
from suites.parameters import Value
from suites.verdict import Trust
from tests.lab.probe_runs import workstation_in
from tests.lab_sshd import AnsweringAsker, LabHost

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not all(map(shutil.which, ("fio", "sysbench", "iperf3", "gcc"))), reason="a tool is not installed"
    ),
]

MIB = 2**20

SHORTER: dict[str, dict[str, Value]] = {
    "sysbench-cpu": {"time": 2.0},
    "stream": {"times": 10, "array_size": 16 * MIB},
    "fio": {"runtime": 3.0, "ramp_time": 0.0, "size": 64 * MIB},
    "iperf3": {"time": 2.0, "omit": 0.0},
    "iperf3-udp": {"time": 1.0},
    "latency-under-load": {"time": 2.0},
    "rrul": {"time": 2.0},
    "compute": {"time": 1.0},
    "memory-blocks": {"time": 0.2, "memory": 16 * MIB, "largest_set": MIB},
    "net-blocks": {"time": 0.2, "omit": 0.0},
}
"""What makes a step take seconds: nothing else of it is changed."""


def shorter(step: Step) -> dict[str, Value]:
    """Return the values of `step` that make it take seconds."""
    if step.suite_id != "fio-job":
        return SHORTER[step.suite_id]
    job = str(step.values["job"])
    for line, shorter_line in (("size=1g", "size=16m"), ("runtime=30", "runtime=2"), ("ramp_time=5\n", "")):
        assert line in job
        job = job.replace(line, shorter_line)
    return {"job": job}


def ran(folder: Path, name: str, answers: Mapping[str, str], trials: int = 1) -> tuple[Plan, RunRecord]:
    """Run the preset `name` on the lab's host, tuned to it and shortened; return the plan and the run."""
    with workstation_in(folder) as workstation:
        filled = filled_preset(name, ["lab"], answers)
        facts: dict[str, Facts] = {"lab": workstation.facts("lab", RefusingAsker())}
        tuned = filled.tuned(facts)
        steps = tuple(
            make_step(step.suite_id, {**step.values, **shorter(step)}, name=step.name, peer=step.peer)
            for step in tuned.steps
        )
        plan = replace(tuned, steps=steps, repetition=Repetition(trials=trials))
        assert all(step.suite.commands(step.values, step_context(step, "lab", facts)) for step in steps)
        for _event in workstation.run(plan, AnsweringAsker(), Control()):  # a file on a second volume is asked about
            pass
        return plan, workstation.load("last")


def outcomes(record: RunRecord) -> list[str]:
    """Return the outcome of each step's goals: met, missed, or not sure."""
    reported = [finding for verdict in record.verdicts if verdict.step for finding in verdict.findings]
    return [
        finding.measured.rpartition(" (95 % CI")[0].rpartition(": ")[2] for finding in reported if finding.id == "goal"
    ]


@pytest.mark.parametrize(
    ("name", "answers"),
    [
        ("healthy-instance", {}),
        ("healthy-instance", {"peer": "lab"}),
        ("cloud-check", {"peer": "lab"}),
        ("integer-load", {}),
        ("t2-micro", {"peer": "lab", "seconds": "10 s"}),
    ],
)
def test_every_step_ends_well(lab_host: LabHost, tmp_path: Path, name: str, answers: dict[str, str]) -> None:
    lab_host.add_to_home("lab")
    plan, record = ran(tmp_path, name, answers)
    assert [(trial.trial.step, trial.state, trial.reason) for trial in record.trials] == [
        (step.name, State.DONE, "") for step in plan.steps
    ]
    for step in plan.steps:
        verdict = record.verdict_on(step.name, "lab")
        assert verdict is not None
        assert verdict.summary


def test_two_volumes_are_told_apart_and_left_as_they_were(lab_host: LabHost, tmp_path: Path) -> None:
    lab_host.add_to_home("lab")
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    _plan, record = ran(tmp_path, "two-volumes", {"first": str(first), "second": str(second)})
    (trial,) = record.trials
    assert (trial.state, trial.reason) == (State.DONE, "")
    rates = {value for one in trial.figures if one.metric.name == "iops" for _name, value in one.labels}
    assert rates == {"first alone", "second alone", "first of both", "second of both", "read"}
    assert [list(folder.iterdir()) for folder in (first, second)] == [[], []]


def yabs_by_hand(folder: Path) -> dict[str, float]:
    """Return a row of the JSON of yabs.sh, from its own commands with a smaller file and a shorter time."""
    given = "--ioengine=libaio --iodepth=64 --numjobs=2 --size=64M --gtod_reduce=1 --direct=1 --minimal"
    file = f"--filename={folder / 'test.fio'}"
    subprocess.run(["fio", "--name=setup", "--rw=read", "--bs=64k", *given.split(), file, "--runtime=1"], check=True,
                   capture_output=True)  # fmt: skip
    mixed = "--name=rand_rw_4k --rw=randrw --rwmixread=50 --bs=4k --runtime=3 --time_based --group_reporting"
    done = subprocess.run(["fio", *mixed.split(), *given.split(), file], check=True, capture_output=True, text=True)
    terse = done.stdout.split(";")
    fields = {"speed_r": 6, "iops_r": 7, "speed_w": 47, "iops_w": 48}  # as awk counts in yabs.sh, from 0
    found = {name: float(terse[number]) for name, number in fields.items()}
    return {**found, "speed_rw": found["speed_r"] + found["speed_w"], "iops_rw": found["iops_r"] + found["iops_w"]}


@pytest.mark.alone
def test_a_yabs_result_of_the_same_volume_is_near_one(lab_host: LabHost, tmp_path: Path) -> None:
    lab_host.add_to_home("lab")
    ratios: list[float] = []
    with workstation_in(tmp_path / "library") as workstation:
        plan = filled_preset("cloud-check", ["lab"]).plan
        (step,) = (one for one in plan.steps if one.name == "disk, mixed 4k")
        step = make_step("fio", {**step.values, **shorter(step), "directory": str(tmp_path)}, name=step.name)
        for number in range(4):
            row = {"bs": "4k", **yabs_by_hand(tmp_path)}
            file = tmp_path / f"yabs-{number}.json"
            file.write_text(json.dumps({"version": "v2023-04-23", "fio": [row]}))
            workstation.import_baseline(file)
            list(workstation.run(replace(plan, steps=(step,)), AnsweringAsker(), Control()))
            compared = workstation.compare([f"baseline:yabs-{number}", "last"])
            found = {one.metric.name: one.against[0].ratio for one in compared.rows}
            assert found.keys() >= {"total_iops", "total_bandwidth", "iops", "bandwidth"}
            ratios.append(found["total_iops"] or 0.0)
    assert 0.5 < geometric_mean(ratios) < 2, ratios


@pytest.mark.parametrize(("asked", "outcome"), [("50", "met"), ("5000000", "missed")])
def test_provisioned_iops_are_judged(lab_host: LabHost, tmp_path: Path, asked: str, outcome: str) -> None:
    lab_host.add_to_home("lab")
    _plan, record = ran(tmp_path, "provisioned-iops", {"iops": asked}, FEWEST_TRIALS)
    assert outcomes(record) == [outcome, outcome]


@pytest.mark.parametrize(("asked", "outcome"), [("10", "met"), ("90000000", "missed")])
def test_the_memory_is_judged_by_what_was_asked(lab_host: LabHost, tmp_path: Path, asked: str, outcome: str) -> None:
    lab_host.add_to_home("lab")
    _plan, record = ran(tmp_path, "memory-bandwidth", {"bandwidth": asked}, FEWEST_TRIALS)
    verdict = record.verdict_on("STREAM", "lab")
    assert verdict is not None
    assert verdict.trust is not Trust.INVALID
    assert outcomes(record) == [outcome]
