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


def by_hand(folders: list[Path], *where: str) -> float:
    """Return the IOPS of fio, typed as its manual has it."""
    words = [
        "fio", "--name=hand", *where, "--rw=randread", "--bs=4k", "--iodepth=4",
        "--numjobs=2", "--size=16m", "--direct=1", "--ioengine=libaio", "--runtime=8", "--time_based",
        "--group_reporting", "--thread", "--output-format=json",
    ]  # fmt: skip
    done = subprocess.run(words, cwd=folders[0], capture_output=True, text=True, check=True)
    for folder in folders:
        for file in folder.glob("hand.*"):
            file.unlink()
    iops: float = json.loads(done.stdout)["jobs"][0]["read"]["iops"]
    return iops


@pytest.mark.parametrize("raw", [False, True])
def test_both_volumes_are_measured_and_the_busier_one_is_named(stage: Stage, *, raw: bool) -> None:
    """Each directory gets its jobs, and each job uses all devices in turn: the slower one sets the pace."""
    try:
        disks = [stage.slow_disk(2**27, iops=SLOW), stage.slow_disk(2**27, iops=FAST, delay=0.002, at_once=8)]
    except NotStagedError as error:
        pytest.skip(str(error))
    name, _ = stage.host()
    folders, paths = [disk.folder for disk in disks], [disk.device for disk in disks]
    text = ":".join(paths) if raw else ":".join(map(str, folders))
    where = [f"--filename={text}", "--offset_increment=8m"] if raw else [f"--directory={text}"]
    step = make_step(
        "fio", {**GIVEN, "device" if raw else "directory": text, "numjobs": 2, "block_size": 4096, "randrepeat": False}
    )
    plan = Plan("volumes", (name,), (step,), repetition=Repetition(trials=1))
    hand = by_hand(folders, *where)
    for _event in stage.workstation.run(plan, AnsweringAsker(), Control()):
        pass
    record = stage.workstation.load("last")
    assert record.summary.state is State.DONE
    (trial,) = record.trials
    figures = {(one.metric.name, one.labels): one.value for one in trial.figures}
    assert figures["iops", (("operation", "read"),)] == pytest.approx(hand, rel=0.1)
    devices = [path.removeprefix("/dev/") for path in paths]
    each = [figures["disk_ios", (("disk", device), ("operation", "read"))] for device in devices]
    assert each[1] / each[0] == pytest.approx(1 if raw else FAST / SLOW, rel=0.2)
    assert [each.name for folder in folders for each in folder.iterdir() if "benchwright" in each.name] == []
    assert {one.limited_by for one in record.verdicts} == {Limiter.DEVICE}
    found = {one.id: one.measured for verdict in record.verdicts for one in verdict.findings}
    assert not {"others-on-the-disk", "not-from-the-device"} & set(found)
    assert re.findall(r"(loop\d+) \d+ % busy", found["limited-by"]) == devices
    rates = [int(text) for text in re.findall(r"with (\d+) I/Os", found["limited-by"])]
    assert rates == pytest.approx([SLOW, SLOW if raw else FAST], rel=0.2)
