"""Burst meter with real tools: fio on a disk whose token bucket is of known size."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from app.events import State
from app.plans.plan import make_step
from app.plans.presets import filled_preset
from app.runs.control import Control
from tests.lab.staging import NotStagedError, Stage
from tests.lab_sshd import AnsweringAsker, LabHost

pytestmark = [pytest.mark.slow, pytest.mark.alone]

SIZE, BASE, DELAY, AT_ONCE = 16_000, 400, 0.002, 4
"""I/Os in the bucket and a second, and the service time of which the burst rate follows."""


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_fio_measures_a_bucket_of_known_size(tmp_path: Path, start_lab_host: Callable[[], LabHost]) -> None:
    with Stage(tmp_path, start_lab_host) as stage:
        try:
            disk = stage.slow_disk(2**28)
        except NotStagedError as error:
            pytest.skip(str(error))
        name, _ = stage.host()
        disk.limit(delay=DELAY, at_once=AT_ONCE, iops=BASE, burst=SIZE)
        filled = filled_preset("burst-volume", [name], {"directory": str(disk.folder), "time": "30 s"}).plan
        (step,) = filled.steps
        given = {**step.values, "size": 64 * 2**20, "ioengine": "libaio", "direct": True}
        steps = (make_step(step.suite_id, given, name=step.name),)
        plan = replace(filled, steps=steps, repetition=replace(filled.repetition, pause=20.0))
        for _event in stage.workstation.run(plan, AnsweringAsker(), Control()):
            pass
        assert stage.workstation.load("last").summary.state is State.DONE
        (found,) = stage.workstation.analyses.bursts("last")
    assert [one.reason for one in found.drains] == [""] * 3
    assert found.base is not None
    assert found.size is not None
    assert found.refill is not None
    measured = found.base.value, found.size.value, found.refill.value
    assert measured == pytest.approx((BASE, SIZE, BASE), rel=0.05), found
