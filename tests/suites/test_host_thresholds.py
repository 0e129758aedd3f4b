"""Thresholds that come from the host itself: how long tools start, how much memory is left, a fresh device."""

from dataclasses import replace

import pytest

from suites.base import Context, StepEvidence, Suite, complete_values
from suites.checks import NotChecked
from suites.cp import Cp
from suites.dd.suite import Dd
from suites.facts import Absent, Facts, MemoryFacts, RawDevice, Tool
from suites.fio.suite import Fio
from suites.fio_sweep.suite import FioSweep
from suites.geekbench import GEEKBENCH_MEMORY, Geekbench
from suites.snia.suite import FioSnia
from suites.vocab import Finding, Severity
from tests.disk_host import GIB, disk_host


def slow(tool: str, seconds: float | Absent) -> Facts:
    return replace(disk_host(), tools=(Tool(name=tool, path=f"/bin/{tool}", start_up=seconds),))


def finding(suite: Suite, facts: Facts, check: str, **given: object) -> Finding | None:
    step = StepEvidence("step", suite, complete_values(suite, given), Context(facts), "web-1")
    (chosen,) = [each for each in suite.checks if each.id == check]
    shown = chosen.finding(step)
    assert not isinstance(shown, NotChecked)
    return shown


@pytest.mark.parametrize(
    ("suite", "tool", "given"),
    [
        (Cp(), "cp", {"directory": "/srv", "size": 2 * GIB}),
        (Dd(), "dd", {"directory": "/srv", "block_size": "1m", "count": 2048}),
    ],
)
def test_a_host_that_starts_tools_slowly_wants_longer_copies(suite: Suite, tool: str, given: dict[str, object]) -> None:
    assert finding(suite, slow(tool, 0.002), "short-runtime", **given) is None
    assert finding(suite, slow(tool, Absent("it is not timed")), "short-runtime", **given) is None
    found = finding(suite, slow(tool, 0.1), "short-runtime", **given)
    assert found is not None
    assert f"Starting {tool} alone took 0.1 s here." in found.measured
    assert finding(suite, slow(tool, 0.1), "short-runtime", **{**given, **found.changes}) is None


@pytest.mark.parametrize(("available", "warned"), [(10**9, True), (2 * 10**9, False)])
def test_geekbench_wants_some_memory(available: int, *, warned: bool) -> None:
    facts = replace(disk_host(), memory=MemoryFacts(available=available))
    assert (finding(Geekbench(), facts, "geekbench-little-memory") is not None) is warned


def test_memory_that_is_not_known_is_not_judged() -> None:
    step = StepEvidence("s", Geekbench(), complete_values(Geekbench(), {}), Context(disk_host()), "h")
    assert isinstance(GEEKBENCH_MEMORY.finding(step), NotChecked)
    assert isinstance(GEEKBENCH_MEMORY.finding(replace(step, context=Context())), NotChecked)


def device(*, written: bool, node: str = "/dev/nvme0n1") -> Facts:
    return replace(disk_host(), devices=(RawDevice(path="/dev/x", node=node, written=written),))


def test_writing_to_a_fresh_device_is_warned_of() -> None:
    given = {"device": "/dev/x", "rw": "randwrite"}
    found = finding(Fio(), device(written=False), "fresh-device", **given)
    assert found is not None
    assert found.severity is Severity.WARNING
    assert finding(Fio(), device(written=True), "fresh-device", **given) is None
    assert finding(Fio(), device(written=False), "fresh-device", device="/dev/x", rw="read") is None
    assert finding(Fio(), device(written=False, node="/dev/sda"), "fresh-device", **given) is None  # it rotates


@pytest.mark.parametrize("suite", [Fio(), FioSweep(), FioSnia()], ids=lambda suite: suite.id)
@pytest.mark.parametrize(
    ("used", "warned"), [(92.0, True), (75.0, False), (Absent("smartctl is not installed"), False)]
)
def test_a_worn_drive_is_told(suite: Suite, used: float | Absent, *, warned: bool) -> None:
    facts = replace(disk_host(), devices=(RawDevice(path="/dev/x", node="/dev/nvme0n1", endurance_used=used),))
    found = finding(suite, facts, "device-worn", device="/dev/x")
    assert (found is not None) is warned
    assert found is None or "92 % of its rated writes" in found.measured
