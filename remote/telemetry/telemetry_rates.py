"""Convert telemetry ticks to samples: counters become rates; a counter that decreased yields none."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from remote.telemetry import telemetry_metrics as metrics
from remote.telemetry.telemetry_lines import MOST_CORES, Tree
from remote.telemetry.telemetry_ticks import Counters, Tick
from suites.vocab import Labels, Metric, Sample, labels

SECTOR = 512
"""Bytes: the unit of /proc/diskstats, independent of the device's sector size."""

MOST_WATTS = 2000.0
"""More than three times the TDP of any processor package: 500 W (AMD EPYC 9965, Intel Xeon 6980P)."""

CLOCK_STEP = 0.05
"""Largest difference in seconds between the two clocks over one interval; more is a step of the wall clock."""


@dataclass(frozen=True, slots=True)
class CpuUse:
    """CPU ticks between two ticks: of the process tree under test, of others, and outside the container.

    None if not counted. `other` leaves out this telemetry; interrupts and kernel threads, which may work for the test;
    and other jobs of Benchwright. The script does not read these, and then it is None.
    """

    tool: int | None = None
    other: float | None = None
    outside: float | None = None


def seconds_between(before: Tick, after: Tick) -> float:
    """Return the seconds between two ticks.

    /proc/uptime has a resolution of 10 ms, 1 % of a 1 s interval, so the finer wall clock is used unless it was set.
    """
    by_uptime = after.uptime - before.uptime
    if before.epoch is not None and after.epoch is not None:
        by_epoch = after.epoch - before.epoch
        if abs(by_epoch - by_uptime) < CLOCK_STEP:
            return by_epoch
    return by_uptime


def samples(before: Tick, after: Tick, use: CpuUse) -> tuple[Sample, ...]:
    """Return the samples of `after`; rates and `use` are over the time since `before`."""
    found = [*_levels(after)]
    seconds = seconds_between(before, after)
    if seconds > 0:
        found += _cpu(before, after)
        found += _cores(before, after)
        found += _quota(before, after, seconds)
        found += _flows(before, after, seconds)
        found += _disks(before.disks, after, seconds)
        found += _interfaces(before.interfaces, after, seconds)
        found += _protocols(before, after, seconds)
        found += _power(before, after, seconds)
        found += _tool(before, after, seconds, use)
    return tuple(found)


def _levels(tick: Tick) -> Iterator[Sample]:
    if tick.load is not None:
        yield Sample(tick.uptime, metrics.LOAD, tick.load)
    for name, metric in (("procs_running", metrics.TASKS_RUNNING), ("procs_blocked", metrics.TASKS_BLOCKED)):
        if name in tick.tasks:
            yield Sample(tick.uptime, metric, float(tick.tasks[name]))
    for name, metric in metrics.MEMORY.items():
        if name in tick.memory:
            yield Sample(tick.uptime, metric, float(tick.memory[name] * 1024))


def _cpu(before: Tick, after: Tick) -> Iterator[Sample]:
    if before.cpu is None or after.cpu is None:
        return
    user, nice, system, idle, iowait, irq, softirq, steal = (
        new - old for old, new in zip(before.cpu, after.cpu, strict=True)
    )
    parts = (
        (metrics.CPU_USER, user + nice),
        (metrics.CPU_SYSTEM, system + irq + softirq),
        (metrics.CPU_IOWAIT, iowait),
        (metrics.CPU_STEAL, steal),
        (metrics.CPU_IDLE, idle),
    )
    total = sum(ticks for _, ticks in parts)
    if total > 0 and all(ticks >= 0 for _, ticks in parts):
        for metric, ticks in parts:
            yield Sample(after.uptime, metric, 100.0 * ticks / total)


def _cores(before: Tick, after: Tick) -> Iterator[Sample]:
    """Yield the busy share of each CPU and of the busiest one."""
    shares: dict[str, float] = {}
    for name, counters in after.processors.items():
        grown = [new - old for old, new in zip(before.processors.get(name, ()), counters, strict=False)]
        total = sum(grown)
        if name != "cpu" and total > 0 and min(grown) >= 0:
            _, _, _, idle, iowait, _, _, steal = grown
            shares[name.removeprefix("cpu")] = 100.0 * (total - idle - iowait - steal) / total
    if shares:
        yield Sample(after.uptime, metrics.CORE_BUSIEST, max(shares.values()))
    for name, share in shares.items() if len(shares) <= MOST_CORES else ():
        yield Sample(after.uptime, metrics.CORE_BUSY, share, labels(cpu=name))


def _quota(before: Tick, after: Tick, seconds: float) -> Iterator[Sample]:
    """Yield throttled time and periods: the highest among the cgroup of the test and its parents."""
    throttled_time, throttled_periods = [], []
    for group, counters in after.quotas.items():
        old = before.quotas.get(group)
        if old is not None and all(one >= other for one, other in zip(counters, old, strict=True)):
            periods, throttled, microseconds = (one - other for one, other in zip(counters, old, strict=True))
            throttled_time.append(min(100.0, microseconds / 1e6 / seconds * 100.0))
            throttled_periods.append(min(100.0, 100.0 * throttled / periods) if periods else 0.0)
    if throttled_time:
        yield Sample(after.uptime, metrics.QUOTA_TIME, max(throttled_time))
        yield Sample(after.uptime, metrics.QUOTA_PERIODS, max(throttled_periods))


def _flows(before: Tick, after: Tick, seconds: float) -> Iterator[Sample]:
    """Yield pressure in percent of the time, page faults, OOM kills, and swapping in bytes/s."""
    for resource, metric in metrics.PRESSURE.items():
        waited = after.pressure.get(resource, 0) - before.pressure.get(resource, 0)
        if resource in before.pressure and resource in after.pressure and waited >= 0:
            yield Sample(after.uptime, metric, min(100.0, waited / 1e6 / seconds * 100.0))
    faults, kills = (_grown(before.events, after.events, name) for name in ("pgmajfault", "oom_kill"))
    if faults is not None:
        yield Sample(after.uptime, metrics.PAGE_FAULTS, faults / seconds)
    if kills is not None:
        yield Sample(after.uptime, metrics.OUT_OF_MEMORY, float(kills))
    for name, metric in metrics.SWAP.items() if after.page is not None else ():
        pages = _grown(before.events, after.events, name)
        if pages is not None and after.page is not None:
            yield Sample(after.uptime, metric, pages * after.page / seconds)


def _grown(before: Mapping[str, int], after: Mapping[str, int], name: str) -> int | None:
    """Return the increase of the counter `name`; None if it decreased or is missing in a tick."""
    if name not in before or name not in after or after[name] < before[name]:
        return None
    return after[name] - before[name]


def _disks(before: Counters, after: Tick, seconds: float) -> Iterator[Sample]:
    for name, counters in after.disks.items():
        if name not in before:
            continue
        label = labels(device=name)
        grown = [new - old for old, new in zip(before[name], counters, strict=True)]
        reads, reads_merged, read, _, writes, writes_merged, written, _, _, busy, weighted = grown
        yield from _rate(after, metrics.DISK_READ_IOS, reads, seconds, label)
        yield from _rate(after, metrics.DISK_READ_RATE, read * SECTOR, seconds, label)
        yield from _rate(after, metrics.DISK_READ_MERGES, reads_merged, seconds, label)
        yield from _rate(after, metrics.DISK_WRITE_IOS, writes, seconds, label)
        yield from _rate(after, metrics.DISK_WRITE_RATE, written * SECTOR, seconds, label)
        yield from _rate(after, metrics.DISK_WRITE_MERGES, writes_merged, seconds, label)
        yield from _rate(after, metrics.DISK_QUEUE, weighted, seconds * 1000, label)
        if busy >= 0:
            yield Sample(after.uptime, metrics.DISK_BUSY, min(100.0, busy / 1000 / seconds * 100.0), label)


def _interfaces(before: Counters, after: Tick, seconds: float) -> Iterator[Sample]:
    for name, counters in after.interfaces.items():
        if name in before:
            wanted = (metrics.NETWORK_RECEIVED, metrics.NETWORK_SENT, metrics.NETWORK_DROPS, metrics.NETWORK_ERRORS)
            for metric, old, new in zip(wanted, before[name], counters, strict=False):
                yield from _rate(after, metric, new - old, seconds, labels(interface=name))


def _protocols(before: Tick, after: Tick, seconds: float) -> Iterator[Sample]:
    counters = (
        ("Tcp OutSegs", metrics.TCP_SEGMENTS),
        ("Tcp RetransSegs", metrics.TCP_RETRANSMITS),
        ("Udp RcvbufErrors", metrics.UDP_DROPS),
    )
    for name, metric in counters:
        grown = _grown(before.protocols, after.protocols, name)
        if grown is not None:
            yield Sample(after.uptime, metric, grown / seconds)


def _power(before: Tick, after: Tick, seconds: float) -> Iterator[Sample]:
    """Yield the mean watts of each energy counter, unless it may have wrapped more than once (kernel, powercap).

    A counter that is lower by more than a wrap explains began again, as after a suspension.
    """
    for path, counter in after.energy.items():
        old, new = before.files.get(path), after.files.get(path)
        if old is None or new is None or counter.most < MOST_WATTS * 1e6 * seconds:
            continue
        grown = new - old if new >= old else counter.most - old + new
        if new < old and grown > MOST_WATTS * 1e6 * seconds:
            continue  # it began again at 0
        yield from _rate(after, metrics.POWER, grown, seconds * 1e6, labels(zone=counter.zone, domain=counter.name))


def _rate(tick: Tick, metric: Metric, difference: int, seconds: float, label: Labels) -> Iterator[Sample]:
    if difference >= 0:
        yield Sample(tick.uptime, metric, difference / seconds, label)


# The process tree under test


TICKS_PER_SECOND = 100
"""USER_HZ, the unit of CPU time in /proc; 100 on all supported architectures."""

_TREE_RATES = (
    ("read", metrics.TOOL_READ_RATE),
    ("written", metrics.TOOL_WRITE_RATE),
    ("reads", metrics.TOOL_READ_CALLS),
    ("writes", metrics.TOOL_WRITE_CALLS),
    ("major", metrics.TOOL_MAJOR_FAULTS),
    ("minor", metrics.TOOL_MINOR_FAULTS),
    ("slices", metrics.TOOL_SWITCHES),
)


def _tool(before: Tick, after: Tick, seconds: float, use: CpuUse) -> Iterator[Sample]:
    """Yield what the test's own processes used between two ticks of the same job, and what others used."""
    yield from _cpu_shares(before, after, use)
    if after.tree is None:
        return
    counters = after.tree.counters
    for name, metric in (("memory", metrics.TOOL_MEMORY), ("threads", metrics.TOOL_THREADS)):
        if name in counters:
            yield Sample(after.uptime, metric, float(counters[name]))
    old = _same_job(before.tree, after.tree)
    if old is None:
        return
    for name, metric in _TREE_RATES:
        grown = _grown(old, counters, name)
        if grown is not None:
            yield Sample(after.uptime, metric, grown / seconds)
    waited = _grown(old, counters, "wait")
    if waited is not None:
        yield Sample(after.uptime, metrics.TOOL_WAITING, waited / 1e9 / seconds)
    if "busiest" in counters:
        yield Sample(after.uptime, metrics.TOOL_BUSIEST_THREAD, min(100.0, counters["busiest"] / 1e7 / seconds))


def _cpu_shares(before: Tick, after: Tick, use: CpuUse) -> Iterator[Sample]:
    """Yield the shares of all CPUs of this telemetry, of the test and of others."""
    host = _host_ticks(before, after)
    if host is None:
        return
    old, new = _same_job(before.tree, after.tree) or {}, after.tree.counters if after.tree else {}
    found = (
        (metrics.TELEMETRY_CPU, _telemetry_ticks(before, after)),
        (metrics.TOOL_CPU_USER, _grown(old, new, "user")),
        (metrics.TOOL_CPU_SYSTEM, _grown(old, new, "system")),
        (metrics.OTHER_CPU, use.other),
    )
    for metric, ticks in found:
        if ticks is not None:
            yield Sample(after.uptime, metric, min(100.0, 100.0 * ticks / host))


def _same_job(before: Tree | None, after: Tree | None) -> Mapping[str, int] | None:
    """Return the counters of `before` if both belong to the same job."""
    if before is None or after is None or before.leader != after.leader:
        return None
    return before.counters


def _host_ticks(before: Tick, after: Tick) -> int | None:
    """Return the CPU ticks of all CPUs together between two ticks, idle ones included."""
    if before.cpu is None or after.cpu is None:
        return None
    total = sum(after.cpu) - sum(before.cpu)
    return total if total > 0 else None


def _telemetry_ticks(before: Tick, after: Tick) -> float | None:
    if before.used is None or after.used is None or after.used < before.used:
        return None
    return (after.used - before.used) * TICKS_PER_SECOND


def cpu_use(before: Tick, after: Tick) -> CpuUse:
    """Return the CPU time used between two ticks, by whom."""
    old, new = _same_job(before.tree, after.tree) or {}, after.tree.counters if after.tree else {}
    parts = [_grown(old, new, name) for name in ("user", "system")]
    tool = None if parts[0] is None or parts[1] is None else parts[0] + parts[1]
    if before.cpu is None or after.cpu is None:
        return CpuUse(tool)
    busy = sum(after.cpu[:3]) - sum(before.cpu[:3])
    other = outside = None
    if tool is not None and after.beside:
        beside = sum(_grown(before.beside, after.beside, name) or 0 for name in ("kernel", "jobs"))
        other = max(0.0, busy - tool - beside - (_telemetry_ticks(before, after) or 0.0))
    if before.inside is not None and after.inside is not None and after.inside >= before.inside:
        outside = max(0.0, busy - (after.inside - before.inside) * TICKS_PER_SECOND / 1e6)
    return CpuUse(tool, other, outside)
