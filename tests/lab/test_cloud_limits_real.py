"""Stated limits with real tools: the verdict of fio over sshd, on a disk that holds the limit of its volume."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from app.plans.plan import Plan, Repetition, make_step
from app.runs.control import Control
from suites.verdict import Limiter
from tests.lab.staging import NotStagedError, Stage
from tests.lab_sshd import AnsweringAsker, LabHost

pytestmark = [
    pytest.mark.slow,
    pytest.mark.alone,
    pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed"),
]

IOPS = 400


def test_the_verdict_names_the_share_of_the_volume(tmp_path: Path, start_lab_host: Callable[[], LabHost]) -> None:
    with Stage(tmp_path, start_lab_host) as stage:
        try:
            disk = stage.slow_disk(2**28)
        except NotStagedError as error:
            pytest.skip(str(error))
        name, _ = stage.host()
        disk.limit(iops=IOPS)
        file = tmp_path / "volume.json"
        file.write_text(json.dumps({"Volumes": [{"VolumeId": "vol-0a1b", "Iops": IOPS}]}))
        stage.workstation.cloud_limits.add(name, file, disk.device.removeprefix("/dev/"))
        given = {"directory": str(disk.folder), "size": 64 * 2**20, "rw": "randread", "runtime": 10, "iodepth": 16}
        step = make_step("fio", {**given, "ioengine": "libaio", "direct": True})
        plan = Plan("limit", (name,), (step,), repetition=Repetition(1))
        for _event in stage.workstation.run(plan, AnsweringAsker(), Control()):
            pass
        record = stage.workstation.load("last")
    assert record.verdict is not None
    assert record.verdict.limited_by is Limiter.PROVISIONED
    (limit,) = (one.measured for one in record.findings if one.id == "limited-by")
    share, _, rest = limit.partition(" % of the IOPS of vol-0a1b, 400/s")
    assert rest, limit
    assert float(share.rpartition(" ")[2]) == pytest.approx(100, abs=5)
