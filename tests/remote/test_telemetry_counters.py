"""What telemetry looks at now and then: growth since the last look, and none made up where there was none."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from remote.local import LocalSession
from remote.telemetry.telemetry import Telemetry
from remote.telemetry.telemetry_growth import GrowthWatch
from remote.telemetry.telemetry_lines import MOST_PROCESSES
from remote.telemetry.telemetry_rates import CpuUse, cpu_use
from remote.telemetry.telemetry_ticks import TickReader
from suites.vocab import Labels, Sample

MARK = "0123456789abcdef"
FREQUENCY = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq"
THROTTLED = "/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count"
PACKAGE = "/sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count"
HEAT = "/sys/class/hwmon/hwmon2/temp1_input"
Found = dict[tuple[str, Labels], float]


def looked(*ticks: list[str]) -> list[Found]:
    """Return the samples of each tick; a line that begins with ``@`` is one of the script's own."""
    output = ""
    for number, lines in enumerate(ticks):
        marked = [f"@@{MARK} {line[1:]}" if line.startswith("@") else line for line in lines]
        output += "\n".join([f"@@{MARK} tick {number} {100.0 + 5 * number} ", *marked, f"@@{MARK} end", ""])
    watch, found = GrowthWatch(), list(TickReader(MARK).feed(output.encode()))
    uses = [CpuUse(), *(cpu_use(before, after) for before, after in pairwise(found))]
    return [_by_name(watch.feed(tick, use)) for tick, use in zip(found, uses, strict=True)]


def _by_name(given: Iterator[Sample]) -> Found:
    return {(sample.metric.name, sample.labels): sample.value for sample in given}


def process(pid: int, name: str, ticks: int, *, flags: int = 4194304, began: int = 7) -> str:
    return f"/proc/{pid}/stat:{pid} ({name}) R 1 {pid} {pid} 0 -1 {flags} 0 0 0 0 {ticks} 0 0 0 20 0 1 0 {began} 99 9"


def test_clocks_and_heat_are_levels() -> None:
    first, second = looked(
        [f"@limit {HEAT} 100000", f"{FREQUENCY}:2400000", f"{HEAT}:81000"], [f"{FREQUENCY}:1200000", f"{HEAT}:130000"]
    )
    assert first == {("clock_frequency", ()): 2.4e9, ("temperature_of_limit", ()): 81.0}
    assert second == {("clock_frequency", ()): 1.2e9, ("temperature_of_limit", ()): 100.0}


def test_counters_are_told_by_their_growth_since_the_last_look() -> None:
    link, errors = "/sys/class/net/eth0/carrier_changes", "/sys/fs/ext4/vda/errors_count"
    first, nothing, second = looked(
        [f"{THROTTLED}:5", f"{PACKAGE}:9", f"{link}:2", f"{errors}:1"],
        [],
        [f"{THROTTLED}:7", f"{PACKAGE}:10", f"{link}:4", f"{errors}:0"],
    )
    assert first == nothing == {}
    assert second == {("throttle_events", ()): 3.0, ("link_changes", (("interface", "eth0"),)): 2.0}


def test_others_are_named_with_the_time_they_took() -> None:
    first, second, third = looked(
        ["@own 9 8 7", "@ours /proc/20/environ", process(10, "backup", 500), process(20, "fio", 900)],
        ["@ours /proc/20/environ", process(10, "backup", 700), process(20, "fio", 1400), process(9, "sh", 5000)],
        ["@ours ", process(11, "a b) c", 350), process(10, "backup", 701), process(10, "kworker", 999, flags=0x208040)],
    )
    assert first == {}
    assert second == {("process_time", (("process", "backup"),)): 2.0}
    assert third == {("process_time", (("process", "a b) c"),)): 2.5}  # it had run before: up to a second is not known


def test_a_process_with_the_id_of_another_is_another() -> None:
    _, second = looked(["@ours ", process(10, "old", 90_000, began=5)], ["@ours ", process(10, "new", 300, began=9)])
    assert second == {("process_time", (("process", "new"),)): 2.0}


def test_of_more_processes_than_are_listed_no_growth_is_made_up() -> None:
    """As those with the lowest PIDs end, others take their lines, which had run for long."""
    listed = [process(pid, "worker", 90_000) for pid in range(10, 10 + MOST_PROCESSES)]
    long_there, new = process(5000, "old", 80_000), process(5001, "new", 300, began=10_200)
    _, second = looked(["@ours ", *listed], ["@ours ", *listed[2:], long_there, new])
    assert second == {("process_time", (("process", "new"),)): 3.0}


def test_all_the_time_of_a_process_that_began_since_the_last_look_is_named() -> None:
    _, second = looked(["@ours "], ["@ours ", process(10, "hog", 120, began=10_150)])
    assert second == {("process_time", (("process", "hog"),)): 1.2}


def test_what_a_cloud_holds_back_is_told_where_it_says_so() -> None:
    magic = 0x3C23B510
    volume = f"@volume nvme1n1 {magic} 1 2 3 4 5 6 {{}} 0 0 0 12"
    allowed = "@allowance eth0  bw_in_allowance_exceeded: {} conntrack_allowance_exceeded: 0 "
    first, second, third = looked(
        [volume.format(1_000_000), allowed.format(4)],
        [volume.format(3_500_000), allowed.format(9)],
        ["@volume nvme1n1 1 2 3 4 5 6 7 9 0 0 0 12", "@allowance eth0  no stats available"],
    )
    interface = ("interface", "eth0")
    assert first == third == {}
    assert second == {
        ("allowance_exceeded", (("allowance", "bw_in"), interface)): 5.0,
        ("allowance_exceeded", (("allowance", "conntrack"), interface)): 0.0,
        ("allowance_exceeded_time", (("device", "nvme1n1"),)): 2.5,
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "script", [pytest.param(False, id="program"), pytest.param(True, id="script", marks=pytest.mark.slow)]
)
def test_a_busy_neighbour_is_seen_and_neither_this_program_nor_a_job_of_the_run_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, script: bool
) -> None:
    monkeypatch.setattr("remote.telemetry.telemetry.RARELY", 2.0)
    shell = shutil.which("sh")
    assert shell is not None
    loop, lease = tmp_path / "neighbour", tmp_path / "lease"
    loop.write_text("while :; do :; done\n")
    lease.mkdir()
    (lease / "run=mine").touch()
    jobs = {
        "theirs": {}, "ours": {"BENCHWRIGHT_JOB": "nonce/measure", "BENCHWRIGHT_RUN": "mine"},
        "another": {"BENCHWRIGHT_JOB": "other/measure", "BENCHWRIGHT_RUN": "other"},
    }  # fmt: skip
    clean = {name: value for name, value in os.environ.items() if not name.startswith("BENCHWRIGHT_")}
    session = LocalSession("testhost")
    with contextlib.ExitStack() as stack:
        for name, marked in jobs.items():
            (tmp_path / name).symlink_to(shell)
            process = stack.enter_context(subprocess.Popen([tmp_path / name, loop], env=clean | marked))
            stack.callback(process.kill)
        stack.callback(session.close)
        telemetry = Telemetry.start(session, interval=0.4, script=script, lease=str(lease))
        stack.callback(telemetry.stop)
        assert _named(telemetry) == {"theirs", "another"}


ETHTOOL = """#!/bin/sh
echo "NIC statistics:
     tx_packets: 5
     bw_in_allowance_exceeded: $(cat {counter})
     pps_allowance_exceeded: 0"
echo 7 >{counter}
"""


@pytest.mark.parametrize("script", [False, True], ids=["program", "script"])
def test_an_adapter_that_counts_what_was_held_back_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, script: bool
) -> None:
    links = [link.name for link in Path("/sys/class/net").iterdir() if (link / "device").exists()]
    if not links:
        pytest.skip("no interface here has a device")
    counter, program = tmp_path / "counter", tmp_path / "ethtool"
    counter.write_text("3\n")
    program.write_text(ETHTOOL.format(counter=counter))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr("remote.telemetry.telemetry.RARELY", 0.25)
    session = LocalSession("testhost")
    telemetry = Telemetry.start(session, interval=0.05, script=script)
    held: list[Sample] = []
    try:
        for _ in range(100):
            held += [one for one in telemetry.read(timeout=60.0) if one.metric.name == "allowance_exceeded"]
            if held:
                break
    finally:
        telemetry.stop()
        session.close()
    found = {dict(one.labels)["allowance"]: one.value for one in held if dict(one.labels)["interface"] == links[0]}
    assert found["pps"] == 0.0
    assert found["bw_in"] == 0.0  # it said 7 each time that it was looked at after the first


def _named(telemetry: Telemetry) -> set[str]:
    """Return which of the three two readings named, after at most 60 of them."""
    seen: set[str] = set()
    readings = 0
    for _ in range(60):
        given = telemetry.read(timeout=60.0)
        names = {dict(one.labels)["process"] for one in given if one.metric.name == "process_time"}
        seen |= names & {"theirs", "ours", "another"}
        readings += bool(names & {"theirs", "ours", "another"})
        if readings == 2:
            return seen
    pytest.fail("nobody was seen")


def others(namespace: str, *more: str, named: int, tool: int, busy: int = 400, inside: int | None = None) -> Found:
    """Return the samples of 5 s in which the host was busy for `busy` CPU ticks, `named` of them by a visible process.

    They are those of every 5 s: nothing is counted twice.
    """
    ticks = [
        [
            f"@namespace {namespace}",
            *more,
            "@ours ",
            f"@tree 9-7 user {number * tool} system 0",
            "@beside kernel 0 jobs 0",
            f"/proc/stat:cpu  {1000 + busy * number} 0 0 {5000 + 600 * number} 0 0 0 0",
            process(10, "backup", 500 + named * number),
            *([] if inside is None else ["@inside /sys/fs/cgroup/cpu.stat"]),
            *([] if inside is None else [f"/sys/fs/cgroup/cpu.stat:usage_usec {5 + inside * number * 10_000}"]),
        ]
        for number in range(3)
    ]
    _, first, second = looked(*ticks)
    assert first == second
    return first


def test_what_no_process_explains_is_named_by_where_it_may_be() -> None:
    initial, container = "pid:[4026531836]", "pid:[4026532201]"
    backup, rest = ("process_time", (("process", "backup"),)), ("process_time", (("process", "short-lived processes"),))
    outside = ("process_time", (("process", "outside this container"),))
    assert others(initial, named=100, tool=100) == {backup: 1.0, rest: 2.0}
    assert others(container, named=100, tool=100) == {backup: 1.0, outside: 2.0}
    assert others(container, "@hidden", named=100, tool=100) == {backup: 1.0, outside: 2.0}
    hidden = ("process_time", (("process", "hidden processes"),))
    assert others(container, named=100, tool=100, inside=400) == {backup: 1.0, rest: 2.0}
    assert others(container, named=100, tool=100, inside=200) == {backup: 1.0, outside: 2.0}
    assert others(container, named=100, tool=100, inside=300) == {backup: 1.0, outside: 1.0, rest: 1.0}
    assert others(initial, "@hidden", named=100, tool=100) == {backup: 1.0, hidden: 2.0}
    assert others(initial, named=300, tool=100) == {backup: 3.0}
    assert others(initial, named=100, tool=290) == {backup: 1.0}  # 10 of 400 ticks: the kernel's sampling
    assert others(initial, named=100, tool=2000, busy=2150) == {backup: 1.0}  # 50 ticks beside 2000 of the test
