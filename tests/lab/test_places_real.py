"""Places of single hosts with real tools: two hosts of one plan, each with its own directory on a disk of its own."""

import shutil
from pathlib import Path

import pytest

from app.events import State
from app.plans.plan import Plan, Repetition, make_step
from app.runs.control import Control
from tests.lab.staging import NotStagedError, Stage
from tests.lab_sshd import AnsweringAsker

pytestmark = [pytest.mark.slow, pytest.mark.alone]

MIB = 2**20
SLOW, FAST = 300, 900
"""IOPS of the two disks."""


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_each_host_measures_its_own_directory(stage: Stage) -> None:
    try:
        disks = [stage.slow_disk(2**27, iops=iops) for iops in (SLOW, FAST)]
    except NotStagedError as error:
        pytest.skip(str(error))
    hosts = [stage.host()[0] for _ in disks]
    given = {
        "directory": {host: str(disk.folder) for host, disk in zip(hosts, disks, strict=True)},
        "rw": "randread", "size": 16 * MIB, "iodepth": 4, "ioengine": "libaio", "direct": True, "runtime": 4,
    }  # fmt: skip
    plan = Plan("places", tuple(hosts), (make_step("fio", given),), repetition=Repetition(trials=1))
    for _event in stage.workstation.run(plan, AnsweringAsker(), Control()):
        pass
    record = stage.workstation.load("last")
    assert record.summary.state is State.DONE
    found = [
        next(one.value for one in record.trials_of("fio", host)[0].figures if one.metric.name == "iops")
        for host in hosts
    ]
    assert found == pytest.approx([SLOW, FAST], rel=0.1)
    assert record.verdicts
    assert [Path(str(one.values["directory"])) for host in hosts for one in record.plan.steps_on(host)] == [
        disk.folder for disk in disks
    ]
