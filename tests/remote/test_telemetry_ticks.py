"""Telemetry's text becomes samples: captured lines give known rates, damaged ones give none, and nothing crashes."""

import math
import re
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remote.telemetry import telemetry_metrics
from remote.telemetry.telemetry_rates import cpu_use, samples, seconds_between
from remote.telemetry.telemetry_ticks import Tick, TickReader
from suites.units import Unit
from suites.vocab import Labels, Metric, Sample

MARK = "0123456789abcdef"
CAPTURED = (Path(__file__).parent.parent / "data" / "telemetry" / "debian12-vm.txt").read_bytes()

_DEFINED = vars(telemetry_metrics).values()
TELEMETRY_METRICS = [
    metric
    for found in _DEFINED
    for metric in (found.values() if isinstance(found, dict) else [found])
    if isinstance(metric, Metric)
]


def ticks_of(output: bytes) -> list[Tick]:
    return list(TickReader(MARK).feed(output))


def tick(
    uptime: float,
    *lines: str,
    epoch: str = "",
    page: str = "KernelPageSize:        4 kB",
    disks: str = "sda nvme0n1 dm-0 loop0 md0 zram0 ",
) -> bytes:
    head = [f"@@{MARK} page {page}", f"@@{MARK} disks {disks}", f"@@{MARK} tick 0 {uptime} {epoch}"]
    return "\n".join([*head, *lines, f"@@{MARK} end", ""]).encode()


def between(before: Iterable[str], after: Iterable[str], seconds: float = 2.0) -> dict[tuple[str, Labels], float]:
    old, new = ticks_of(tick(100.0, *before) + tick(100.0 + seconds, *after))
    return {(sample.metric.name, sample.labels): sample.value for sample in samples(old, new, cpu_use(old, new))}


def check(found: Iterable[Sample]) -> None:
    for sample in found:
        assert sample.metric in TELEMETRY_METRICS
        assert math.isfinite(sample.value)
        assert sample.value >= 0
        if sample.metric.unit is Unit.PERCENT:
            assert sample.value <= 100.0


def test_every_metric_has_a_name_of_its_own() -> None:
    assert len({metric.name for metric in TELEMETRY_METRICS}) == len(TELEMETRY_METRICS)


def test_a_captured_host_gives_every_metric() -> None:
    first, second, third = ticks_of(CAPTURED)[:3]
    found = samples(first, second, cpu_use(first, second))
    names = {sample.metric.name for sample in found}
    assert {"cpu_steal", "core_busiest", "core_busy", "tasks_running", "cgroup_throttled"} <= names
    assert {"disk_queue", "disk_read_merges", "network_drops", "network_retransmits", "page_faults"} <= names
    assert {sample.time for sample in found} == {second.uptime}
    check(found)
    written = sum(
        sample.value * seconds_between(old, new)
        for old, new in ((first, second), (second, third))
        for sample in samples(old, new, cpu_use(old, new))
        if sample.metric.name == "disk_write_rate"
    )
    assert written == pytest.approx((459284312 - 459283928) * 512)
    shares = [sample.value for sample in found if sample.metric.name.startswith("cpu_")]
    assert sum(shares) == pytest.approx(100.0)


def test_the_first_tick_has_levels_only() -> None:
    first = ticks_of(CAPTURED)[0]
    names = {sample.metric.name for sample in samples(first, first, cpu_use(first, first))}
    assert names == {
        "load_1_minute", "memory_available", "memory_cached", "memory_dirty", "tasks_running", "tasks_blocked",
    }  # fmt: skip


def test_processor_time_is_shared_out() -> None:
    found = between(["/proc/stat:cpu  100 10 50 1000 20 1 2 5 0 0"], ["/proc/stat:cpu  160 20 70 1080 30 4 9 15 99 99"])
    total = 60 + 10 + 20 + 80 + 10 + 3 + 7 + 10
    assert found["cpu_user", ()] == pytest.approx(100 * 70 / total)
    assert found["cpu_system", ()] == pytest.approx(100 * 30 / total)
    assert found["cpu_iowait", ()] == pytest.approx(100 * 10 / total)
    assert found["cpu_steal", ()] == pytest.approx(100 * 10 / total)
    assert found["cpu_idle", ()] == pytest.approx(100 * 80 / total)


def test_disks_are_counted_once_and_in_bytes() -> None:
    before = [
        "/proc/diskstats:   8       0 sda 100 0 1000 9 200 0 5000 9 0 400 9 0 0 0 0 0 0",
        "/proc/diskstats:   8       1 sda1 100 0 1000 9 200 0 5000 9 0 400 9 0 0 0 0 0 0",
        "/proc/diskstats: 253       0 dm-0 1 0 1 9 2 0 5 9 0 4 9 0 0 0 0 0 0",
        "/proc/diskstats:   7       0 loop0 1 0 1 9 2 0 5 9 0 4 9 0 0 0 0 0 0",
    ]
    after = [
        "/proc/diskstats:   8       0 sda 150 4 3000 9 230 6 9000 9 0 900 3009 0 0 0 0 0 0",
        "/proc/diskstats:   8       1 sda1 150 0 3000 9 230 0 9000 9 0 900 9 0 0 0 0 0 0",
        "/proc/diskstats: 253       0 dm-0 9 0 9 9 9 0 9 9 0 9 9 0 0 0 0 0 0",
        "/proc/diskstats:   7       0 loop0 9 0 9 9 9 0 9 9 0 9 9 0 0 0 0 0 0",
    ]
    disk = (("device", "sda"),)
    assert between(before, after) == {
        ("disk_read_ios", disk): 25.0,
        ("disk_read_rate", disk): 1000 * 512,
        ("disk_write_ios", disk): 15.0,
        ("disk_write_rate", disk): 2000 * 512,
        ("disk_read_merges", disk): 2.0,
        ("disk_write_merges", disk): 3.0,
        ("disk_queue", disk): 1.5,
        ("disk_busy", disk): 25.0,
    }


def test_of_loop_devices_only_those_that_are_asked_for_are_counted() -> None:
    lines = [f"/proc/diskstats:   7 {number} loop{number} 1 0 8 9 2 0 16 9 0 4 9 0 0 0 0 0 0" for number in range(3)]
    reported = tick(100.0, *lines, disks="loop0 loop1 loop2 ")
    assert next(TickReader(MARK).feed(reported)).disks == {}
    assert list(next(TickReader(MARK, ("loop1", "loop9")).feed(reported)).disks) == ["loop1"]


def test_each_processor_is_told_and_the_busiest_of_them() -> None:
    before = [f"/proc/stat:cpu{number} 0 0 0 0 0 0 0 0" for number in range(2)]
    after = ["/proc/stat:cpu0 90 0 5 3 0 0 0 2 0 0", "/proc/stat:cpu1 10 0 0 70 20 0 0 0 0 0"]
    first, second = (("cpu", "0"),), (("cpu", "1"),)
    assert between(before, after) == {
        ("core_busiest", ()): 95.0,
        ("core_busy", first): 95.0,
        ("core_busy", second): 10.0,
    }
    idle, busy = (
        [f"/proc/stat:cpu{number} {given * number} 0 0 {given * 100} 0 0 0 0" for number in range(40)]
        for given in (0, 1)
    )
    assert set(between(idle, busy)) == {("core_busiest", ())}


def test_a_quota_is_told_by_the_group_it_held_back_most() -> None:
    group, above = "/sys/fs/cgroup/cpu/a:b/cpu.stat", "/sys/fs/cgroup/cpu/cpu.stat"
    before = [
        f"{path}:{name} 0" for path in (group, above) for name in ("nr_periods", "nr_throttled", "throttled_time")
    ]
    after = [f"{group}:nr_periods 20", f"{group}:nr_throttled 5", f"{group}:throttled_time 500000000"]
    after += [f"{above}:nr_periods 0", f"{above}:nr_throttled 0", f"{above}:throttled_time 0"]
    assert between(before, after) == {("cgroup_throttled", ()): 25.0, ("cgroup_throttled_periods", ()): 25.0}
    newer = [line.replace("throttled_time 500000000", "throttled_usec 500000") for line in after[:3]]
    older = [line.replace("throttled_time", "throttled_usec") for line in before[:3]]
    assert between(older, newer) == {("cgroup_throttled", ()): 25.0, ("cgroup_throttled_periods", ()): 25.0}


def test_what_is_lost_on_the_way_is_counted() -> None:
    names = ["/proc/net/snmp:Tcp: OutSegs RetransSegs", "/proc/net/snmp:Udp: InDatagrams RcvbufErrors"]
    before = [names[0], "/proc/net/snmp:Tcp: 1000 10", names[1], "/proc/net/snmp:Udp: 5 0"]
    after = [names[0], "/proc/net/snmp:Tcp: 1400 12", names[1], "/proc/net/snmp:Udp: 9 8"]
    assert between(before, after) == {
        ("network_segments", ()): 200.0,
        ("network_retransmits", ()): 1.0,
        ("network_datagrams_dropped", ()): 4.0,
    }


def test_interfaces_are_kept_apart_and_idle_ones_left_out() -> None:
    before = [
        "/proc/net/dev:  eth0: 1000 9 0 0 0 0 0 0 500 9 0 0 0 0 0 0",
        "/proc/net/dev:    lo:7 9 0 0 0 0 0 0 7 9 0 0 0 0 0 0",
        "/proc/net/dev:  ifb0: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0",
    ]
    after = [
        "/proc/net/dev:  eth0: 3000 9 1 2 0 0 0 0 900 9 3 4 0 0 0 0",
        "/proc/net/dev:    lo:9 9 0 0 0 0 0 0 9 9 0 0 0 0 0 0",
        "/proc/net/dev:  ifb0: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0",
    ]
    ethernet, loopback = (("interface", "eth0"),), (("interface", "lo"),)
    assert between(before, after) == {
        ("network_received", ethernet): 1000.0,
        ("network_sent", ethernet): 200.0,
        ("network_errors", ethernet): 2.0,
        ("network_drops", ethernet): 3.0,
        ("network_received", loopback): 1.0,
        ("network_sent", loopback): 1.0,
        ("network_errors", loopback): 0.0,
        ("network_drops", loopback): 0.0,
    }


def test_swapping_is_in_bytes_and_absent_without_a_page_size() -> None:
    before, after = (
        ["/proc/vmstat:pswpin 10", "/proc/vmstat:pswpout 0"],
        ["/proc/vmstat:pswpin 20", "/proc/vmstat:pswpout 2"],
    )
    assert between(before, after) == {("swap_in", ()): 5 * 4096, ("swap_out", ()): 4096}
    old, new = ticks_of(tick(1.0, *before, page="") + tick(2.0, *after, page=""))
    assert samples(old, new, cpu_use(old, new)) == ()


def test_faults_and_kills_are_counted() -> None:
    before, after = (
        ["/proc/vmstat:pgmajfault 10", "/proc/vmstat:oom_kill 1"],
        ["/proc/vmstat:pgmajfault 30", "/proc/vmstat:oom_kill 2"],
    )
    assert between(before, after) == {("page_faults", ()): 10.0, ("out_of_memory_kills", ()): 1.0}


def test_waiting_is_a_share_of_the_time() -> None:
    some = "/proc/pressure/io:some avg10=0.00 avg60=0.00 avg300=0.00 total=%d"
    assert between([some % 1_000_000], [some % 1_500_000]) == {("pressure_io", ()): 25.0}


def test_a_counter_that_fell_gives_no_rate() -> None:
    before = ["/proc/net/dev: eth0: 3000 9 0 0 0 0 0 0 900 9 0 0", "/proc/stat:cpu  9 9 9 9 9 9 9 9"]
    after = ["/proc/net/dev: eth0: 10 9 0 0 0 0 0 0 1000 9", "/proc/stat:cpu  99 9 9 99 8 9 9 9"]
    assert between(before, after) == {("network_sent", (("interface", "eth0"),)): 50.0}


def test_time_comes_from_the_finer_clock_unless_it_was_set() -> None:
    first, second, third = ticks_of(
        tick(10.0, epoch="1000.001") + tick(11.0, epoch="1001.004") + tick(12.01, epoch="5000.0")
    )
    assert seconds_between(first, second) == pytest.approx(1.003)
    assert seconds_between(second, third) == pytest.approx(1.01)


def test_two_ticks_of_one_moment_give_no_rate() -> None:
    line = "/proc/net/dev: eth0: 1 9 0 0 0 0 0 0 9 9 0 0"
    assert between([line], [line], seconds=0.0) == {}


def test_the_scripts_own_time_is_read_from_every_shell() -> None:
    for lines in (("0m0.120000s 0m0.030000s", "0m0.250000s 0m0.100000s"), ("0m0.120s 0m0.030s", "0m0.250s 0m0.100s")):
        (found,) = ticks_of(tick(1.0, *lines))
        assert found.used == pytest.approx(0.5)
    (found,) = ticks_of(tick(1.0, "1m2.5s 0m0.5s", "0m0s 0m0.0s"))
    assert found.used is None


def test_bytes_may_arrive_one_by_one() -> None:
    reader = TickReader(MARK)
    found = [one for byte in CAPTURED for one in reader.feed(bytes([byte]))]
    assert found == ticks_of(CAPTURED)


def test_a_greeting_and_a_foreign_mark_are_noise() -> None:
    noise = b"Welcome\n/proc/loadavg:9 9 9\n@@ffff tick 1 1.0 1.0\n@@ffff end\n"
    assert ticks_of(noise + CAPTURED) == ticks_of(CAPTURED)


def test_a_flood_is_bounded() -> None:
    disks = " ".join(f"sd{number}" for number in range(3000))
    lines = [f"/proc/diskstats: 8 0 sd{number} 1 0 1 9 2 0 5 9 0 4 9" for number in range(3000)]
    lines += [f"/proc/net/dev: eth{number}: 1 0 0 0 0 0 0 0 1 0" for number in range(3000)]
    (found,) = ticks_of(tick(1.0, *lines, disks=disks))
    assert len(found.disks) <= 32
    assert len(found.interfaces) <= 32
    reader = TickReader(MARK)
    for _ in range(50):
        assert list(reader.feed(b"x" * 100_000)) == []
    assert len(reader._pending) <= 4096


def test_a_name_that_is_none_is_no_label() -> None:
    line = "/proc/net/dev: et\x1b[31mh: 1 9 0 0 0 0 0 0 9 9 0 0"
    (found,) = ticks_of(tick(1.0, line))
    assert found.interfaces == {}


@given(st.binary(max_size=3000))
def test_any_bytes_are_read(output: bytes) -> None:
    for found in ticks_of(output):
        check(samples(found, found, cpu_use(found, found)))


@given(
    start=st.integers(0, len(CAPTURED)),
    length=st.integers(0, 30),
    patch=st.one_of(st.binary(max_size=30), st.sampled_from([b"9" * 25, b"-5", b"1e9", b"nan", b"\x00"])),
)
def test_damaged_lines_give_no_false_sample(start: int, length: int, patch: bytes) -> None:
    found = ticks_of(CAPTURED[:start] + patch + CAPTURED[start + length :])
    for before, after in pairwise(found):
        check(samples(before, after, cpu_use(before, after)))


def test_the_help_names_every_metric_and_no_other() -> None:
    page = (Path(__file__).parents[2] / "resources" / "help" / "telemetry.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`([a-z0-9_]+)`", row)}
    assert named == {metric.name for metric in TELEMETRY_METRICS}


# The process tree under test, as the program counts it

PROGRAM = (Path(__file__).parent.parent / "data" / "telemetry" / "program-vm.txt").read_bytes()


def test_a_recorded_program_gives_the_tests_own_share() -> None:
    ticks = ticks_of(PROGRAM)
    assert len(ticks) == 7
    rates = [
        {one.metric.name: one.value for one in samples(old, new, cpu_use(old, new))} for old, new in pairwise(ticks)
    ]
    for old, new in pairwise(ticks):
        check(samples(old, new, cpu_use(old, new)))
    shares = [found["tool_cpu_user"] + found["tool_cpu_system"] for found in rates]
    assert ticks[0].cpu is not None
    assert ticks[-1].cpu is not None
    host = sum(ticks[-1].cpu) - sum(ticks[0].cpu)
    assert sum(shares) / len(shares) == pytest.approx(100 * (68 - 4 + 26) / host, rel=0.02)
    seconds = [seconds_between(old, new) for old, new in pairwise(ticks)]
    written = sum(found["tool_write_rate"] * interval for found, interval in zip(rates, seconds, strict=True))
    assert written == pytest.approx(537001984 - 44957696)
    assert rates[-1]["tool_threads"] == 4
    assert rates[-1]["tool_busiest_thread"] == pytest.approx(100.865909 / seconds[-1] / 10, rel=0.01)
    assert rates[-1]["tool_waiting"] == pytest.approx(1.795 / seconds[-1], rel=0.01)
    assert rates[-1]["telemetry_cpu"] < 0.1


def tree_tick(uptime: float, tree: str, *lines: str) -> bytes:
    return tick(uptime, f"@@{MARK} tree {tree}", *lines)


def values_between(*ticks: bytes) -> dict[str, float]:
    old, new = ticks_of(b"".join(ticks))
    return {one.metric.name: one.value for one in samples(old, new, cpu_use(old, new))}


CPU_BEFORE, CPU_AFTER = "/proc/stat:cpu  100 0 50 1000 0 5 5 0", "/proc/stat:cpu  200 0 70 1060 0 10 15 0"
BESIDE = f"@@{MARK} beside kernel {{}} jobs 0"


def test_others_are_the_busy_time_without_the_test_interrupts_and_kernel_threads() -> None:
    found = values_between(
        tree_tick(100, "9-7 user 10 system 0", CPU_BEFORE, BESIDE.format(3)),
        tree_tick(102, "9-7 user 70 system 10", CPU_AFTER, BESIDE.format(8)),
    )
    host = 100 + 20 + 60 + 5 + 10
    assert found["tool_cpu_user"] == pytest.approx(100 * 60 / host)
    assert found["tool_cpu_system"] == pytest.approx(100 * 10 / host)
    assert found["other_cpu"] == pytest.approx(100 * (120 - 70 - 5) / host)


def test_the_cpu_time_of_telemetry_is_not_that_of_others() -> None:
    found = values_between(
        tree_tick(100, "9-7 user 10 system 0", CPU_BEFORE, BESIDE.format(3), "0m1.00s 0m1.00s", "0m0.00s 0m0.00s"),
        tree_tick(102, "9-7 user 70 system 10", CPU_AFTER, BESIDE.format(8), "0m1.10s 0m1.05s", "0m0.05s 0m0.00s"),
    )
    assert found["telemetry_cpu"] == pytest.approx(100 * 20 / 195)
    assert found["other_cpu"] == pytest.approx(100 * (120 - 70 - 5 - 20) / 195)


def test_a_tree_that_ended_is_not_that_of_the_next_tick() -> None:
    first, second = ticks_of(tree_tick(100, "9-7 user 10 system 0", CPU_BEFORE, BESIDE.format(3)) + tick(101))
    assert first.tree is not None
    assert first.beside == {"kernel": 3, "jobs": 0}
    assert second.tree is None
    assert second.beside == {}


def test_rates_of_a_test_need_two_ticks_of_its_job() -> None:
    other = values_between(
        tree_tick(100, "9-7 user 10 system 0 memory 5", CPU_BEFORE), tree_tick(102, "11-9 user 70 memory 5", CPU_AFTER)
    )
    assert {name for name in other if name.startswith(("tool", "other"))} == {"tool_memory"}
    script = values_between(
        tree_tick(100, "9-7 user 1 system 0", CPU_BEFORE), tree_tick(102, "9-7 user 7 system 0", CPU_AFTER)
    )
    assert {name for name in script if name.startswith(("tool", "other"))} == {"tool_cpu_user", "tool_cpu_system"}


@pytest.mark.parametrize(
    "tree",
    [
        "",
        "x",
        "9-7",
        "9-7 user",
        "9-7 user -5 system x",
        "9-7 user 99999999999999999999",
        "9-7 " + "a 1 " * 999,
        "1" * 2000,
    ],
)
def test_a_hostile_tree_gives_no_share(tree: str) -> None:
    found = values_between(tree_tick(100, tree, CPU_BEFORE), tree_tick(102, tree, CPU_AFTER))
    assert not {name for name in found if name.startswith(("tool", "other"))}
