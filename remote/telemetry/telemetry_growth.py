"""Samples of what is read every few seconds only: frequencies, sensors, processes, allowances, errors."""

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from remote.telemetry import telemetry_metrics as metrics
from remote.telemetry.telemetry_lines import MOST_PROCESSES
from remote.telemetry.telemetry_rates import TICKS_PER_SECOND, CpuUse
from remote.telemetry.telemetry_ticks import Process, Tick
from suites.facts import HIDDEN, OUTSIDE, SHORT_LIVED
from suites.vocab import Metric, Sample, labels

UNSEEN = 100
"""CPU ticks below which telemetry.sh does not report a process."""

WORTH_NAMING = 0.05
"""Smallest CPU time in seconds since the previous sample for a process to be reported."""

MOST_NAMED = 5
"""Processes per sample: those with the most CPU time."""

UNEXPLAINED_SHARE, UNEXPLAINED_OF_TOOL = 0.05, 0.03
"""Smallest unexplained CPU time to report: as a share of one core, and of the test's CPU time, because the kernel
samples the host's CPU time but measures that of processes."""

_COUNTED: tuple[tuple[re.Pattern[str], Metric, str], ...] = (
    (
        re.compile(r"/sys/devices/system/cpu/cpu[0-9]+/thermal_throttle/[a-z]+_throttle_count"),
        metrics.THROTTLE_EVENTS,
        "",
    ),
    (re.compile(r"/sys/class/net/([^/]{1,32})/carrier_changes"), metrics.LINK_CHANGES, "interface"),
    (re.compile(r"/sys/fs/ext4/([^/]{1,32})/errors_count"), metrics.FILESYSTEM_ERRORS, "device"),
)
"""Counters in /sys: path, metric of the increase, and the label of the path's group."""


@cache
def _local_boot_id() -> str:
    """Return this computer's boot id, or an empty string if it cannot be read."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return ""


@dataclass(slots=True)
class GrowthWatch:
    """Increases of counters that are read only every few ticks. The first reading yields levels only."""

    _processes: Mapping[Process, int] | None = None
    _read_at: float = 0.0  # of the processes
    _other: float = 0.0  # CPU ticks of others since then
    _tool: float = 0.0
    _outside: float | None = None  # of the container
    _files: dict[str, int] = field(default_factory=dict)
    _packets: dict[tuple[str, str], int] = field(default_factory=dict)
    _volumes: dict[str, int] = field(default_factory=dict)

    def feed(self, tick: Tick, use: CpuUse) -> Iterator[Sample]:
        """Yield the samples of the counters that `tick` contains; `use` is the CPU time since the previous tick."""
        yield from _levels(tick)
        yield from self._growth(tick)
        self._other += use.other or 0.0
        self._tool += use.tool or 0.0
        if use.outside is not None:
            self._outside = (self._outside or 0.0) + use.outside
        if tick.processes is not None:
            yield from self._others(tick, tick.processes)
        yield from self._allowances(tick)

    def _allowances(self, tick: Tick) -> Iterator[Sample]:
        """Yield the packets of interfaces and the seconds of volumes over their cloud allowance."""
        packets = {
            (link, name): value for link, counters in tick.packets_held.items() for name, value in counters.items()
        }
        for (link, name), value in packets.items():
            before = self._packets.get((link, name))
            if before is not None and value >= before:
                kind = name.removesuffix("_allowance_exceeded")[:32]
                yield Sample(
                    tick.uptime, metrics.ALLOWANCE_EVENTS, float(value - before), labels(interface=link, allowance=kind)
                )
        for volume, microseconds in tick.volumes_held.items():
            before = self._volumes.get(volume)
            if before is not None and microseconds >= before:
                yield Sample(tick.uptime, metrics.ALLOWANCE_TIME, (microseconds - before) / 1e6, labels(device=volume))
        self._packets |= packets
        self._volumes |= tick.volumes_held

    def _growth(self, tick: Tick) -> Iterator[Sample]:
        """Yield the increases of the counters in /sys, summed over all CPUs."""
        grown: Counter[tuple[Metric, str, str]] = Counter()
        for path, value in tick.files.items():
            for pattern, metric, label in _COUNTED:
                match = pattern.fullmatch(path)
                before = self._files.get(path)
                if match and before is not None and value >= before:
                    grown[metric, label, match[1] if label else ""] += value - before
            self._files[path] = value
        for (metric, label, named), count in grown.items():
            yield Sample(tick.uptime, metric, float(count), labels(**{label: named}) if label else ())

    def _others(self, tick: Tick, processes: Mapping[Process, int]) -> Iterator[Sample]:
        """Yield the CPU seconds of other processes by program name, then those that no process explains."""
        before, self._processes = self._processes, processes
        other, outside, tool, since = self._other, self._outside, self._tool, self._read_at
        self._other, self._outside, self._tool, self._read_at = 0.0, None, 0.0, tick.uptime
        if before is None:
            return
        here = os.getpid() if tick.boot is not None and tick.boot == _local_boot_id() else None
        cut = max(len(before), len(processes)) >= MOST_PROCESSES
        taken: Counter[str] = Counter()
        for process, ticks in processes.items():
            new = process.began >= since * TICKS_PER_SECOND
            if cut and process not in before and not new:
                continue  # it was not listed for want of room
            other -= max(0, ticks - before.get(process, 0))
            if process.pid != here and process.name:
                taken[process.name] += max(0, ticks - before.get(process, 0 if new else UNSEEN))
        for name, ticks in taken.most_common(MOST_NAMED):
            seconds = ticks / TICKS_PER_SECOND
            if seconds >= WORTH_NAMING:
                yield Sample(tick.uptime, metrics.PROCESS_TIME, seconds, labels(process=name))
        least = max(UNEXPLAINED_SHARE * (tick.uptime - since) * TICKS_PER_SECOND, UNEXPLAINED_OF_TOOL * tool)
        for name, rest in _unexplained(tick, other, outside) if not cut else ():
            if rest >= least > 0:
                yield Sample(tick.uptime, metrics.PROCESS_TIME, rest / TICKS_PER_SECOND, labels(process=name))


def _unexplained(tick: Tick, ticks: float, outside: float | None) -> Iterator[tuple[str, float]]:
    """Yield where the CPU `ticks` that no process explains were used; `outside` the container, None if not counted."""
    if not tick.contained:
        yield HIDDEN if tick.hidden else SHORT_LIVED, ticks
    elif outside is None:
        yield OUTSIDE, ticks
    else:
        yield OUTSIDE, min(ticks, outside)
        yield SHORT_LIVED, ticks - outside


def _levels(tick: Tick) -> Iterator[Sample]:
    """Yield the mean frequency of CPUs, the highest temperature as a share of its limit, and the power of the host."""
    clocks = [value * 1000.0 for path, value in tick.files.items() if path.endswith("/scaling_cur_freq")]
    if clocks:
        yield Sample(tick.uptime, metrics.FREQUENCY, sum(clocks) / len(clocks))
    heat = [tick.files[path] / most for path, most in tick.limits.items() if path in tick.files]
    if heat:
        yield Sample(tick.uptime, metrics.TEMPERATURE, min(100.0, 100.0 * max(0.0, *heat)))
    for path, averaged in tick.meters.items():
        if path in tick.files:
            at = {"zone": path.split("/")[4], "domain": "server"} | ({"averaged_ms": str(averaged)} if averaged else {})
            yield Sample(tick.uptime, metrics.POWER, tick.files[path] / 1e6, labels(**at))
