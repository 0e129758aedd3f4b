"""The presets of known commands run for real over SSH: every figure is found in the output of the installed tool."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from app.events import State
from app.plans.plan import Repetition, make_step
from app.plans.presets import Filled, fill, filled_preset, preset
from app.runs.control import Control
from tests.lab.probe_runs import workstation_in
from tests.lab_sshd import AnsweringAsker, LabHost

PROGRAMS = ("7z", "openssl", "zstd", "gcc", "hackbench", "cyclictest", "perf", "numactl", "sysbench")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not all(map(shutil.which, PROGRAMS)), reason="a tool is not installed"),
]

SHORTER = {
    "7z b": "7z b -md18", "-seconds 5": "-seconds 1", "-i5": "-i1", "-D 10": "-D 1", "-l 1000": "-l 50",
    "-l 200000": "-l 2000", "--time=5": "--time=1", "256M": "1M", "seq 300": "seq 3",
}  # fmt: skip
"""What makes a command take seconds."""


def figures_of(folder: Path, filled: Filled) -> dict[str, dict[str, float]]:
    """Run each step of a preset once, shortened; return its figures by step."""
    plan = filled.plan
    steps = []
    for step in plan.steps:
        values = dict(step.values)
        for text in ("command", "prepare"):
            for long, short in SHORTER.items():
                values[text] = str(values[text]).replace(long, short)
        steps.append(make_step(step.suite_id, values, name=step.name))
    plan = replace(plan, steps=tuple(steps), repetition=Repetition(trials=1))
    with workstation_in(folder) as workstation:
        list(workstation.run(plan, AnsweringAsker(), Control()))
        trials = workstation.load("last").trials
    assert [(trial.trial.step, trial.state, trial.reason) for trial in trials] == [
        (step.name, State.DONE, "") for step in steps
    ]
    return {trial.trial.step: {figure.metric.title: figure.value for figure in trial.figures} for trial in trials}


def test_applications(lab_host: LabHost, tmp_path: Path) -> None:
    lab_host.add_to_home()
    found = figures_of(
        tmp_path, filled_preset("cpu-applications", ["lab"], {"encoder": "libx264"} if shutil.which("ffmpeg") else {})
    )
    by_hand = subprocess.run(["7z", "b", "-md18"], capture_output=True, text=True, check=True).stdout
    rating = float(next(line.split()[-1] for line in by_hand.splitlines() if line.startswith("Tot:")))
    assert 0.3 < found["7-Zip (compress-7zip)"]["7-Zip total rating, MIPS"] / rating < 3
    assert found["OpenSSL RSA-2048 signatures, one thread (openssl)"]["RSA-2048 signatures"] > 10
    assert found["OpenSSL AES-256-GCM, one thread (openssl)"]["AES-256-GCM, 16 KiB blocks"] > 1000
    assert found["zstd -3, one thread (compress-zstd)"]["zstd -3 compression"] > 1
    assert found["gcc -O2, all CPUs (timed compilation)"]["Wall time"] > 0.1


def test_system(lab_host: LabHost, tmp_path: Path) -> None:
    lab_host.add_to_home()
    found = figures_of(tmp_path, filled_preset("system-latency", ["lab"]))
    assert found["cyclictest, p99"]["Wake-up latency p99"] > 0
    assert found["cyclictest, maximum"]["Wake-up latency maximum"] > 0
    assert found["hackbench, 10 groups"]["hackbench time"] > 0
    assert found["perf bench sched pipe"]["Pipe round trips"] > 0


def test_nodes(lab_host: LabHost, tmp_path: Path) -> None:
    lab_host.add_to_home()
    one_node = fill(preset("numa-matrix"), ["lab"], {"nodes": "0"})  # its question asks for two
    assert figures_of(tmp_path, one_node)["NUMA read bandwidth"]["Read bandwidth"] > 100
