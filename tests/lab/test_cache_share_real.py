"""The share of the I/O that the page cache served, under a memory limit of the host and on devices that are files."""

import re
import shutil
from pathlib import Path

import pytest

from app.checks.before import evaluate
from app.checks.storage_layers import LAYER_CHECKS
from app.plans.plan import LOCAL, Plan, Repetition, make_step
from app.questions import RefusingAsker
from app.records import RunRecord
from app.runs.control import Control
from suites.base import Context, StepEvidence, complete_values
from suites.registry import suite as find_suite
from suites.vocab import Finding
from tests.lab.staging import NotStagedError, Stage
from tests.loop_devices import MakeLoop, make_loop

__all__ = ["make_loop"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.alone,
    pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed"),
]

MIB = 2**20
FILE = 768 * MIB
READS = {"rw": "randread", "size": FILE, "block_size": 64 * 1024, "runtime": 8.0, "ramp_time": 6.0, "ioengine": "psync"}

SHARES = ("not-from-the-device", "partly-cached")


AGAIN = "[again]\nrw=randread\nsize=768m\nbs=64k\nnorandommap\nrandrepeat=0\nruntime=8\nramp_time=8\ntime_based\n"
"""Reads of any block at any time: fio drops no file from the page cache in between."""


def ran(stage: Stage, host: str, suite: str = "fio", **given: object) -> tuple[RunRecord, dict[str, Finding]]:
    """Return the run of one trial on `host`, and what its verdict found."""
    values = {"numjobs": 1, "iodepth": 1, "randrepeat": False, **READS} if suite == "fio" else {}
    step = make_step(suite, {**values, **given})
    plan = Plan("cached", (host,), (step,), repetition=Repetition(1))
    stage.workstation.consents.remember_made(plan)
    for _event in stage.workstation.run(plan, RefusingAsker(), Control()):
        pass
    record = stage.workstation.load("last")
    verdict = record.verdict_on(step.name, host)
    assert verdict is not None, record.reason
    return record, {finding.id: finding for finding in verdict.findings}


def grouped(stage: Stage, memory: int) -> str:
    """Return a host whose processes have so much memory, page cache included; skip where none can be made."""
    try:
        return stage.grouped("memory", limit_in_bytes=str(memory))
    except NotStagedError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("memory", [320 * MIB, 640 * MIB])
def test_the_share_under_a_memory_limit_is_that_of_the_cache_that_fits(stage: Stage, memory: int) -> None:
    record, found = ran(stage, grouped(stage, memory), "fio-job", directory=stage.disk(), job=AGAIN)
    counts = {figure.metric.name: figure.value for figure in record.trials[0].figures}
    (finding,) = (found[name] for name in SHARES if name in found)
    share = re.search(r"\((\d+) %\)", finding.measured)
    assert share is not None, finding.measured
    by_memory = 100 * (1 - memory / FILE)  # of uniformly random reads, those outside of what fits
    assert by_memory - 5 <= int(share[1]) <= by_memory + 25, (finding.measured, counts)


def test_direct_reads_under_a_memory_limit_are_not_cached(stage: Stage) -> None:
    _, found = ran(stage, grouped(stage, 320 * MIB), directory=stage.disk(), direct=True, ioengine="libaio", iodepth=8)
    assert not found.keys() & set(SHARES)


def before(stage: Stage, device: str) -> dict[str, Finding]:
    """Return what the checks find before reads of a raw device, by facts read now."""
    values = {**READS, "size": 16 * MIB, "device": device, "direct": True, "ioengine": "libaio"}
    facts = stage.workstation.facts(LOCAL, RefusingAsker(), devices=(device,))
    suite = find_suite("fio")
    step = StepEvidence("step", suite, complete_values(suite, values), Context(facts), LOCAL)
    return {each.id: each for each in evaluate(LAYER_CHECKS, step) if isinstance(each, Finding)}


def test_a_raw_loop_device_is_a_file(stage: Stage, make_loop: MakeLoop) -> None:
    device = make_loop("loop.img", 64 * MIB)
    found = before(stage, device)["file-backed-disk"]
    assert f"{Path(device).name}, a loop device over a file" in found.measured


def test_a_ram_disk_is_no_disk(stage: Stage) -> None:
    if not Path("/dev/ram0").exists():
        pytest.skip("this kernel has no brd")
    assert "brd: a RAM disk" in before(stage, "/dev/ram0")["substitute-device"].measured
