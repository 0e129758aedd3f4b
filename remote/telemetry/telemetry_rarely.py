"""What telemetry looks at every few seconds only, into samples: clocks, sensors, processes, allowances, errors."""

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

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
from remote.telemetry.telemetry_ticks import Process, Tick
from suites.vocab import Metric, Sample, labels

TICKS_PER_SECOND = 100
"""USER_HZ, in which the kernel tells processor time to programs; 100 on every Linux that Benchwright measures."""

UNSEEN = 100
"""Ticks of processor time up to which a process is not looked at (telemetry.sh)."""

WORTH_NAMING = 0.05
"""Seconds of processor time since the last look below which a process is left out."""

MOST_NAMED = 5
"""Processes that are named at one look: those that took most."""

_COUNTED: tuple[tuple[re.Pattern[str], Metric, str], ...] = (
    (re.compile(r"/sys/devices/system/cpu/cpu[0-9]+/thermal_throttle/[a-z]+_throttle_count"), THROTTLE_EVENTS, ""),
    (re.compile(r"/sys/class/net/([^/]{1,32})/carrier_changes"), LINK_CHANGES, "interface"),
    (re.compile(r"/sys/fs/ext4/([^/]{1,32})/errors_count"), FILESYSTEM_ERRORS, "device"),
)
"""Files of /sys whose number grows, the metric of its growth, and the label that a part of the path is."""


@cache
def _boot_here() -> str:
    """Return what tells this computer's boot from others, empty where it does not say."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return ""


@dataclass(slots=True)
class RareWatch:
    """Remembers the last look, so that growth can be told from it. The first look tells levels alone."""

    _processes: Mapping[Process, int] | None = None
    _files: dict[str, int] = field(default_factory=dict)
    _packets: dict[tuple[str, str], int] = field(default_factory=dict)
    _volumes: dict[str, int] = field(default_factory=dict)

    def feed(self, tick: Tick) -> Iterator[Sample]:
        """Yield the samples of what `tick` has looked at; none where it has looked at nothing of these."""
        yield from _clocks(tick)
        yield from self._growth(tick)
        if tick.processes is not None:
            yield from self._others(tick, tick.processes)
        yield from self._held_back(tick)

    def _held_back(self, tick: Tick) -> Iterator[Sample]:
        """Yield what a cloud has held back since the last look: packets of interfaces, seconds of volumes."""
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
        """Yield by how much the counters of /sys have grown, those of all processors together."""
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
        """Yield the processor seconds that others have taken, by the name of the program."""
        before, self._processes = self._processes, processes
        if before is None:
            return
        here = os.getpid() if tick.boot is not None and tick.boot == _boot_here() else None
        taken: Counter[str] = Counter()
        for process, ticks in processes.items():
            if process.pid != here and process.name:
                taken[process.name] += max(0, ticks - before.get(process, UNSEEN))
        for name, ticks in taken.most_common(MOST_NAMED):
            seconds = ticks / TICKS_PER_SECOND
            if seconds >= WORTH_NAMING:
                yield Sample(tick.uptime, PROCESS_TIME, seconds, labels(process=name))


def _clocks(tick: Tick) -> Iterator[Sample]:
    """Yield the mean clock of the processors that were looked at, and how near the hottest is to its limit."""
    clocks = [value * 1000.0 for path, value in tick.files.items() if path.endswith("/scaling_cur_freq")]
    if clocks:
        yield Sample(tick.uptime, FREQUENCY, sum(clocks) / len(clocks))
    heat = [tick.files[path] / most for path, most in tick.limits.items() if path in tick.files]
    if heat:
        yield Sample(tick.uptime, TEMPERATURE, min(100.0, 100.0 * max(0.0, *heat)))
