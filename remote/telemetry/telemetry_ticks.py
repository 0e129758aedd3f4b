"""Parser of telemetry.sh's output into ticks. The input is untrusted; invalid lines are skipped."""

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from remote.facts.items import number, whole
from remote.telemetry import telemetry_lines as lines
from remote.telemetry.telemetry_lines import NAME, Counters, Process
from remote.telemetry.telemetry_metrics import (
    ALLOWANCE_EVENTS,
    ALLOWANCE_TIME,
    FILESYSTEM_ERRORS,
    FREQUENCY,
    LINK_CHANGES,
    PROCESS_TIME,
    TEMPERATURE,
    THROTTLE_EVENTS,
)
from suites.vocab import Metric, Sample, labels

__all__ = ["Counters", "Process", "Tick", "TickReader"]

MOST_LINES = 4096
"""Largest number of lines per tick."""

LONGEST_LINE = 4096

_MOST_LABELS = 64

_EXCEEDED = (7, 8, 9, 10)
"""Positions in an EBS volume's log page (64-bit numbers) of the microseconds over the volume's IOPS and throughput
limits, then over the instance's (Amazon EBS detailed performance statistics)."""

_EBS_MAGIC = 0x3C23B510


@dataclass(frozen=True, slots=True)
class Tick:
    """Counters read at one time. `uptime` and `epoch` are the host's clocks in seconds, `used` is the CPU time of the
    script in seconds; `epoch` and `used` are None if unknown. `page` is the page size in bytes, `boot` identifies the
    boot. Counters are the kernel's, since boot. `files`, `processes`, `packets_held` and `volumes_held` are read only
    every few ticks."""

    uptime: float
    epoch: float | None = None
    used: float | None = None
    page: int | None = None
    load: float | None = None
    processors: Counters = field(default_factory=dict)
    tasks: Mapping[str, int] = field(default_factory=dict)
    memory: Mapping[str, int] = field(default_factory=dict)
    events: Mapping[str, int] = field(default_factory=dict)
    pressure: Mapping[str, int] = field(default_factory=dict)
    disks: Counters = field(default_factory=dict)
    interfaces: Counters = field(default_factory=dict)
    protocols: Mapping[str, int] = field(default_factory=dict)
    quotas: Counters = field(default_factory=dict)
    boot: str | None = None
    files: Mapping[str, int] = field(default_factory=dict)
    limits: Mapping[str, int] = field(default_factory=dict)
    processes: Mapping[Process, int] | None = None
    packets_held: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    volumes_held: Mapping[str, int] = field(default_factory=dict)

    @property
    def cpu(self) -> tuple[int, ...] | None:
        """The counters of all CPUs together."""
        return self.processors.get("cpu")


@dataclass(slots=True)
class _ScriptReport:
    """What the script reported about itself, its host and the current tick."""

    page: int | None = None
    boot: str | None = None
    disks: frozenset[str] = frozenset()
    own: frozenset[int] = frozenset()
    limits: dict[str, int] = field(default_factory=dict)
    jobs: frozenset[int] | None = None  # PIDs of jobs; None if processes were not read in this tick
    packets: dict[str, Mapping[str, int]] = field(default_factory=dict)
    volumes: dict[str, int] = field(default_factory=dict)

    def take(self, key: str, rest: list[str]) -> None:
        """Record the values `rest` of `key`."""
        match key:
            case "page":
                self.page = lines.page(rest)
            case "boot":
                self.boot = rest[0] if rest and NAME.fullmatch(rest[0][:32]) else None
            case "disks":
                self.disks = frozenset(filter(NAME.fullmatch, rest[:MOST_LINES]))
            case "own":
                self.own = frozenset(pid for text in rest[:8] if (pid := whole(text, 1)) is not None)
            case "limit" if len(rest) == 2 and len(self.limits) < _MOST_LABELS:
                most = whole(rest[1], 1)
                if most is not None:
                    self.limits[rest[0]] = most
            case "ours":
                self.jobs = frozenset(pid for path in rest if (pid := _pid(path)) is not None)
            case "allowance" | "volume" if rest and NAME.fullmatch(rest[0]):
                self._take_allowance(key, rest[0], [part for part in rest[1:] if part])

    def _take_allowance(self, key: str, name: str, parts: list[str]) -> None:
        if key == "allowance" and len(self.packets) < _MOST_LABELS:
            pairs = list(zip(parts[::2], parts[1::2], strict=False))[:16]
            self.packets[name] = lines.named([" ".join(pair) for pair in pairs])
        elif key == "volume" and len(self.volumes) < _MOST_LABELS:
            values = [whole(part, 0, 2**63) or 0 for part in parts]
            if len(values) > max(_EXCEEDED) and values[0] & 0xFFFFFFFF == _EBS_MAGIC:
                self.volumes[name] = sum(values[index] for index in _EXCEEDED)

    def begin(self) -> None:
        """Reset the values of the previous tick."""
        self.jobs, self.packets, self.volumes = None, {}, {}


def _pid(path: str) -> int | None:
    parts = path.split("/")
    return whole(parts[2], 1) if len(parts) == 4 else None


class TickReader:
    """Incremental parser of ticks."""

    def __init__(self, mark: str, loops: Sequence[str] = ()) -> None:
        """Parse lines that start with `mark`; of loop devices, include only `loops`."""
        self._start = f"@@{mark} ".encode()
        self._loops = tuple(loops)
        self._pending = b""
        self._head: list[str] | None = None
        self._lines: list[str] = []
        self._report = _ScriptReport()

    def feed(self, data: bytes) -> Iterator[Tick]:
        """Yield the ticks that `data` completes."""
        *complete, rest = (self._pending + data).split(b"\n")
        self._pending = rest[-LONGEST_LINE:]
        for line in complete:
            yield from self._line(line[:LONGEST_LINE])

    def _line(self, line: bytes) -> Iterator[Tick]:
        if not line.startswith(self._start):
            if self._head is not None and len(self._lines) < MOST_LINES:
                self._lines.append(line.decode("utf-8", "replace"))
            return
        key, *rest = line[len(self._start) :].decode("utf-8", "replace").split(" ") or [""]
        if key == "tick":
            self._head, self._lines = rest, []
            self._report.begin()
        elif key == "end" and self._head is not None:
            head, self._head = self._head, None
            yield from self._tick(head)
        else:
            self._report.take(key, rest)

    def _tick(self, head: list[str]) -> Iterator[Tick]:
        uptime = number(head[1], 0.0, 1e11) if len(head) == 3 else None
        if uptime is None:
            return
        found = self._by_file()
        report, stat = self._report, found.get("/proc/stat", [])
        loads = found.get("/proc/loadavg", [""])[0].split(" ")
        yield Tick(
            uptime=uptime,
            epoch=number(head[2], 0.0, 1e11),
            used=lines.used(found.get("times", [])),
            page=report.page,
            load=number(loads[0], 0.0, 1e7),
            processors=lines.processors(stat),
            tasks=lines.named([line for line in stat if line.startswith("procs_")]),
            memory=lines.named(found.get("/proc/meminfo", [])),
            events=lines.named(found.get("/proc/vmstat", [])),
            pressure=lines.pressure(found),
            disks=lines.disks(found.get("/proc/diskstats", []), report.disks, self._loops),
            interfaces=lines.interfaces(found.get("/proc/net/dev", [])),
            protocols=lines.protocols(found.get("/proc/net/snmp", [])),
            quotas=lines.quotas(found),
            boot=report.boot,
            files=lines.single(found),
            limits=dict(report.limits),
            processes=None if report.jobs is None else lines.processes(found, report.own | report.jobs),
            packets_held=dict(report.packets),
            volumes_held=dict(report.volumes),
        )

    def _by_file(self) -> dict[str, list[str]]:
        """Return the lines of the tick by file; the output of the shell's `times` has the key ``times``."""
        found: dict[str, list[str]] = {}
        for line in self._lines:
            path, text = "times", line
            if line.startswith(("/proc/", "/sys/")):
                head, stat, rest = line.partition("/cpu.stat:")  # a cgroup name may contain a colon
                path, _, text = (head + stat[:-1], "", rest) if stat else line.partition(":")
            found.setdefault(path, []).append(text)
        return found


# Samples of what telemetry reads every few seconds only: frequencies, sensors, processes, allowances, errors.


TICKS_PER_SECOND = 100
"""USER_HZ, the unit of CPU time in /proc; 100 on all supported architectures."""

UNSEEN = 100
"""CPU ticks below which telemetry.sh does not report a process."""

WORTH_NAMING = 0.05
"""Smallest CPU time in seconds since the previous sample for a process to be reported."""

MOST_NAMED = 5
"""Processes per sample: those with the most CPU time."""

_COUNTED: tuple[tuple[re.Pattern[str], Metric, str], ...] = (
    (re.compile(r"/sys/devices/system/cpu/cpu[0-9]+/thermal_throttle/[a-z]+_throttle_count"), THROTTLE_EVENTS, ""),
    (re.compile(r"/sys/class/net/([^/]{1,32})/carrier_changes"), LINK_CHANGES, "interface"),
    (re.compile(r"/sys/fs/ext4/([^/]{1,32})/errors_count"), FILESYSTEM_ERRORS, "device"),
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
    _files: dict[str, int] = field(default_factory=dict)
    _packets: dict[tuple[str, str], int] = field(default_factory=dict)
    _volumes: dict[str, int] = field(default_factory=dict)

    def feed(self, tick: Tick) -> Iterator[Sample]:
        """Yield the samples of the counters that `tick` contains."""
        yield from _frequency_and_temperature(tick)
        yield from self._growth(tick)
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
                    tick.uptime, ALLOWANCE_EVENTS, float(value - before), labels(interface=link, allowance=kind)
                )
        for volume, microseconds in tick.volumes_held.items():
            before = self._volumes.get(volume)
            if before is not None and microseconds >= before:
                yield Sample(tick.uptime, ALLOWANCE_TIME, (microseconds - before) / 1e6, labels(device=volume))
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
        """Yield the CPU seconds of other processes by program name."""
        before, self._processes = self._processes, processes
        if before is None:
            return
        here = os.getpid() if tick.boot is not None and tick.boot == _local_boot_id() else None
        taken: Counter[str] = Counter()
        for process, ticks in processes.items():
            if process.pid != here and process.name:
                taken[process.name] += max(0, ticks - before.get(process, UNSEEN))
        for name, ticks in taken.most_common(MOST_NAMED):
            seconds = ticks / TICKS_PER_SECOND
            if seconds >= WORTH_NAMING:
                yield Sample(tick.uptime, PROCESS_TIME, seconds, labels(process=name))


def _frequency_and_temperature(tick: Tick) -> Iterator[Sample]:
    """Yield the mean frequency of the sampled CPUs, and the highest temperature as a share of its limit."""
    clocks = [value * 1000.0 for path, value in tick.files.items() if path.endswith("/scaling_cur_freq")]
    if clocks:
        yield Sample(tick.uptime, FREQUENCY, sum(clocks) / len(clocks))
    heat = [tick.files[path] / most for path, most in tick.limits.items() if path in tick.files]
    if heat:
        yield Sample(tick.uptime, TEMPERATURE, min(100.0, 100.0 * max(0.0, *heat)))
