"""Several volumes in one fio step over SSH: each gets its load, and the slower one is named."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from app.events import State
from app.plans.plan import Plan, Repetition, make_step
from app.runs.control import Control
from suites.verdict import Limiter
from tests.lab.staging import NotStagedError, Stage
from tests.lab_sshd import AnsweringAsker

pytestmark = [
    pytest.mark.slow,
    pytest.mark.alone,
    pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed"),
]

MIB = 2**20
SLOW, FAST = 300, 900
"""IOPS of the two disks."""

GIVEN = {"rw": "randread", "size": 16 * MIB, "iodepth": 4, "ioengine": "libaio", "direct": True, "runtime": 8}


def by_hand(folders: list[Path]) -> float:
    """Return the IOPS of fio, typed as its manual has it."""
    words = [
        "fio", "--name=hand", f"--directory={':'.join(map(str, folders))}", "--rw=randread", "--bs=4k", "--iodepth=4",
        "--numjobs=2", "--size=16m", "--direct=1", "--ioengine=libaio", "--runtime=8", "--time_based",
        "--group_reporting", "--thread", "--output-format=json",
    ]  # fmt: skip
    done = subprocess.run(words, cwd=folders[0], capture_output=True, text=True, check=True)
    for folder in folders:
        for file in folder.glob("hand.*"):
            file.unlink()
    iops: float = json.loads(done.stdout)["jobs"][0]["read"]["iops"]
    return iops


def test_both_volumes_are_measured_and_the_busier_one_is_named(stage: Stage) -> None:
    try:
        disks = [stage.slow_disk(2**27, iops=SLOW), stage.slow_disk(2**27, iops=FAST, delay=0.002, at_once=8)]
    except NotStagedError as error:
        pytest.skip(str(error))
    name, _ = stage.host()
    folders = [disk.folder for disk in disks]
    hand = by_hand(folders)
    step = make_step("fio", {**GIVEN, "directory": ":".join(map(str, folders)), "numjobs": 2, "block_size": 4096})
    plan = Plan("volumes", (name,), (step,), repetition=Repetition(trials=1))
    for _event in stage.workstation.run(plan, AnsweringAsker(), Control()):
        pass
    record = stage.workstation.load("last")
    assert record.summary.state is State.DONE
    (trial,) = record.trials
    figures = {(one.metric.name, one.labels): one.value for one in trial.figures}
    assert figures["iops", (("operation", "read"),)] == pytest.approx(hand, rel=0.1)
    devices = [disk.device.removeprefix("/dev/") for disk in disks]
    each = [figures["disk_ios", (("disk", device), ("operation", "read"))] for device in devices]
    assert each[1] / each[0] == pytest.approx(FAST / SLOW, rel=0.2)
    assert [each.name for folder in folders for each in folder.iterdir() if "benchwright" in each.name] == []
    assert {one.limited_by for one in record.verdicts} == {Limiter.DEVICE}
    (limit,) = {one.measured for verdict in record.verdicts for one in verdict.findings if one.id == "limited-by"}
    assert re.findall(r"(loop\d+) \d+ % busy", limit) == devices
    rates = [int(text) for text in re.findall(r"with (\d+) I/Os", limit)]
    assert rates == pytest.approx([SLOW, FAST], rel=0.2)
