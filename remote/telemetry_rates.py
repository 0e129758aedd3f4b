"""Two ticks of telemetry into samples: counters become rates, a counter that fell gives none."""

from collections.abc import Iterator

from remote.telemetry_metrics import (
    CPU_IDLE,
    CPU_IOWAIT,
    CPU_STEAL,
    CPU_SYSTEM,
    CPU_USER,
    DISK_BUSY,
    DISK_READ_IOS,
    DISK_READ_RATE,
    DISK_WRITE_IOS,
    DISK_WRITE_RATE,
    LOAD,
    MEMORY,
    NETWORK_RECEIVED,
    NETWORK_SENT,
    PRESSURE,
    SWAP,
)
from remote.telemetry_ticks import Counters, Tick
from suites.vocab import Labels, Metric, Sample, labels

SECTOR = 512
"""Bytes: the unit of /proc/diskstats, whatever the device's own sectors are."""

CLOCK_STEP = 0.05
"""Seconds by which the two clocks may differ over one interval; more means that the wall clock was set."""


def seconds_between(before: Tick, after: Tick) -> float:
    """Return the seconds between two ticks.

    /proc/uptime has hundredths only, 1 % of a second's interval; the wall clock is finer, and used unless it was set.
    """
    by_uptime = after.uptime - before.uptime
    if before.epoch is not None and after.epoch is not None:
        by_epoch = after.epoch - before.epoch
        if abs(by_epoch - by_uptime) < CLOCK_STEP:
            return by_epoch
    return by_uptime


def samples(before: Tick, after: Tick) -> tuple[Sample, ...]:
    """Return the samples of `after`; rates are over the time since `before`."""
    found = [*_levels(after)]
    seconds = seconds_between(before, after)
    if seconds > 0:
        found += _cpu(before, after)
        found += _flows(before, after, seconds)
        found += _disks(before.disks, after, seconds)
        found += _interfaces(before.interfaces, after, seconds)
    return tuple(found)


def _levels(tick: Tick) -> Iterator[Sample]:
    if tick.load is not None:
        yield Sample(tick.uptime, LOAD, tick.load)
    for name, metric in MEMORY.items():
        if name in tick.memory:
            yield Sample(tick.uptime, metric, float(tick.memory[name] * 1024))


def _cpu(before: Tick, after: Tick) -> Iterator[Sample]:
    if before.cpu is None or after.cpu is None:
        return
    user, nice, system, idle, iowait, irq, softirq, steal = (
        new - old for old, new in zip(before.cpu, after.cpu, strict=True)
    )
    parts = (
        (CPU_USER, user + nice),
        (CPU_SYSTEM, system + irq + softirq),
        (CPU_IOWAIT, iowait),
        (CPU_STEAL, steal),
        (CPU_IDLE, idle),
    )
    total = sum(ticks for _, ticks in parts)
    if total > 0 and all(ticks >= 0 for _, ticks in parts):
        for metric, ticks in parts:
            yield Sample(after.uptime, metric, 100.0 * ticks / total)


def _flows(before: Tick, after: Tick, seconds: float) -> Iterator[Sample]:
    """Yield swapping, in bytes a second, and pressure, in per cent of the time."""
    for resource, metric in PRESSURE.items():
        waited = after.pressure.get(resource, 0) - before.pressure.get(resource, 0)
        if resource in before.pressure and resource in after.pressure and waited >= 0:
            yield Sample(after.uptime, metric, min(100.0, waited / 1e6 / seconds * 100.0))
    if after.page is None:
        return
    for name, metric in SWAP.items():
        pages = after.swap.get(name, 0) - before.swap.get(name, 0)
        if name in before.swap and name in after.swap and pages >= 0:
            yield Sample(after.uptime, metric, pages * after.page / seconds)


def _disks(before: Counters, after: Tick, seconds: float) -> Iterator[Sample]:
    for name, counters in after.disks.items():
        if name in before:
            label = labels(device=name)
            reads, sectors_read, writes, sectors_written, busy = (
                new - old for old, new in zip(before[name], counters, strict=True)
            )
            yield from _rate(after, DISK_READ_IOS, reads, seconds, label)
            yield from _rate(after, DISK_READ_RATE, sectors_read * SECTOR, seconds, label)
            yield from _rate(after, DISK_WRITE_IOS, writes, seconds, label)
            yield from _rate(after, DISK_WRITE_RATE, sectors_written * SECTOR, seconds, label)
            if busy >= 0:
                yield Sample(after.uptime, DISK_BUSY, min(100.0, busy / 1000 / seconds * 100.0), label)


def _interfaces(before: Counters, after: Tick, seconds: float) -> Iterator[Sample]:
    for name, (received, sent) in after.interfaces.items():
        if name in before:
            label = labels(interface=name)
            yield from _rate(after, NETWORK_RECEIVED, received - before[name][0], seconds, label)
            yield from _rate(after, NETWORK_SENT, sent - before[name][1], seconds, label)


def _rate(tick: Tick, metric: Metric, difference: int, seconds: float, label: Labels) -> Iterator[Sample]:
    if difference >= 0:
        yield Sample(tick.uptime, metric, difference / seconds, label)
