"""Burst meter with real tools: a disk, a link and CPUs whose token buckets are of known size."""

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from app.bursts import BurstAnalysis
from app.events import State
from app.plans.plan import Plan, make_step
from app.plans.presets import filled_preset
from app.runs.control import Control
from tests.lab.links import TCP_SHARE
from tests.lab.staging import NotStagedError, Stage
from tests.lab_sshd import AnsweringAsker, LabHost

pytestmark = [pytest.mark.slow, pytest.mark.alone]

SIZE, BASE, DELAY, AT_ONCE = 16_000, 400, 0.002, 4
"""I/Os in the bucket and a second, and the service time of which the burst rate follows."""

LINKS = {"send": (100, 500, 400_000_000), "receive": (40, 200, 160_000_000)}
"""Megabits a second of a link's tbf, those of its burst, and the bytes in its bucket, all with the frames' headers; a
sender counts what is in its socket buffers as sent, some 8 MB, so its bucket is larger."""

CREDITS, EARNED, BURST = 16.0, 0.5, 1.6
"""CPU seconds in the bucket and a second, and the CPUs while it has any."""

Made = TypeVar("Made")


def drained(
    stage: Stage, preset: str, host: str, pause: float, answers: dict[str, str], **given: object
) -> BurstAnalysis:
    """Return the bucket that a preset measures with other parameters and a shorter rest."""
    filled: Plan = filled_preset(preset, [host], answers).plan
    (step,) = filled.steps
    own = make_step(step.suite_id, {**step.values, **given}, name=step.name, peer=step.peer)
    plan = replace(filled, steps=(own,), repetition=replace(filled.repetition, pause=pause))
    for _event in stage.workstation.run(plan, AnsweringAsker(), Control()):
        pass
    assert stage.workstation.load("last").summary.state is State.DONE
    (found,) = stage.workstation.analyses.bursts("last")
    assert [one.reason for one in found.drains] == [""] * 3
    return found


@pytest.fixture
def stage(tmp_path: Path, start_lab_host: Callable[[], LabHost]) -> Iterator[Stage]:
    with Stage(tmp_path, start_lab_host) as made:
        yield made


def staged(make: Callable[[], Made]) -> Made:
    """Return what is made; skip the test where it cannot be."""
    try:
        return make()
    except NotStagedError as error:
        pytest.skip(str(error))


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_fio_measures_a_bucket_of_known_size(stage: Stage) -> None:
    disk = staged(lambda: stage.slow_disk(2**28))
    name, _ = stage.host()
    disk.limit(delay=DELAY, at_once=AT_ONCE, iops=BASE, burst=SIZE)
    small = {"size": 64 * 2**20, "ioengine": "libaio", "direct": True}
    found = drained(stage, "burst-volume", name, 20, {"directory": str(disk.folder), "time": "30 s"}, **small)
    assert found.base is not None
    assert found.size is not None
    assert found.refill is not None
    measured = found.base.value, found.size.value, found.refill.value
    assert measured == pytest.approx((BASE, SIZE, BASE), rel=0.05), found


@pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 is not installed")
@pytest.mark.parametrize("direction", ["send", "receive"])
def test_iperf3_measures_the_bucket_of_a_tbf(stage: Stage, direction: str) -> None:
    near, far = staged(stage.links)
    sender = near if direction == "send" else far
    rate, peak, size = LINKS[direction]
    shape = ("rate", f"{rate}mbit", "burst", str(size), "peakrate", f"{peak}mbit", "mtu", "50000", "latency", "20ms")
    sender.run("tc", "qdisc", "replace", "dev", "eth0", "root", "tbf", *shape)
    found = drained(stage, "burst-network", near.alias, 20, {"peer": far.alias, "time": "30 s"}, direction=direction)
    assert found.base is not None
    assert found.size is not None
    assert found.refill is not None
    measured = [one.value / TCP_SHARE for one in (found.base, found.size, found.refill)]
    assert measured == pytest.approx([rate * 1e6, size * 8, rate * 1e6], rel=0.05), found


@pytest.mark.skipif(shutil.which("sysbench") is None, reason="sysbench is not installed")
def test_sysbench_measures_cpu_credits(stage: Stage) -> None:
    name, host = stage.host()
    staged(lambda: stage.limit(host, "cpu", cfs_quota_us=quota(BURST)))
    staged(lambda: stage.limit(host, "cpuacct"))
    with credits_of(*(stage._groups[controller, host.port] for controller in ("cpu", "cpuacct"))):
        found = drained(stage, "burst-cpu", name, 20, {"time": "40 s"}, threads=2)
    assert found.burst is not None
    assert found.base is not None
    assert found.size is not None
    assert found.refill is not None
    shares = (one.value / found.burst.value for one in (found.base, found.size, found.refill))
    assert tuple(shares) == pytest.approx((EARNED / BURST, CREDITS / BURST, EARNED / BURST), rel=0.05), found


@contextmanager
def credits_of(limits: Path, usage: Path) -> Iterator[None]:
    """Hold a group to a token bucket of CPU time, as a hypervisor does a burstable instance."""
    ended = threading.Event()

    def control() -> None:
        tokens, last, used = CREDITS, time.monotonic(), int((usage / "cpuacct.usage").read_text())
        bursts = True
        while not ended.wait(0.01):
            now, taken = time.monotonic(), int((usage / "cpuacct.usage").read_text())
            tokens = min(CREDITS, tokens + EARNED * (now - last) - (taken - used) / 1e9)
            last, used = now, taken
            if tokens <= 0 if bursts else tokens > EARNED:
                bursts = not bursts  # written on a change only: the kernel then grants a new period
                (limits / "cpu.cfs_quota_us").write_text(quota(BURST if bursts else EARNED))

    thread = threading.Thread(target=control)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def quota(cpus: float) -> str:
    """Return so many CPUs as the microseconds of a period."""
    return f"{cpus * 100_000:.0f}"
