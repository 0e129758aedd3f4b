"""Parsers of the /proc and /sys lines that telemetry.sh prints; lines in an unknown format are skipped."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from remote.facts.items import whole
from remote.questions import plain

MOST_DISKS = 32
MOST_INTERFACES = 32
MOST_CORES = 16
"""Largest number of CPUs with a series each; on larger hosts only the busiest CPU is reported."""

MOST_PROCESSES = 1000
"""Fewer than the 1,024 that the program lists: its own and its parents are left out of the list."""

MOST_FILES = 128

_LOGICAL = re.compile(r"(loop|ram|zram|sr|fd|dm-|md)[0-9]+$")
"""Devices in /sys/block that are not disks, or whose I/O is also counted at the disks below them."""

_TIMES = re.compile(r"([0-9]{1,9})m([0-9]{1,2}\.[0-9]{1,6})s")

NAME = re.compile(r"[A-Za-z0-9_.@!-]{1,32}")
"""Allowed names of devices and interfaces: they become labels."""

_CORE = re.compile(r"cpu[0-9]{1,5}")
_PF_KTHREAD = 0x00200000
"""Flag of a kernel thread (kernel, include/linux/sched.h), whose work may be on behalf of the test."""

_PROCESS = re.compile(r"([0-9]{1,9}) \((.{0,64})\) [A-Za-z]((?: -?[0-9]{1,19}){19})")

Counters = Mapping[str, tuple[int, ...]]


class Process(NamedTuple):
    """One process: PID, start time in clock ticks since boot, and `comm` name."""

    pid: int
    began: int
    name: str


def page(words: list[str]) -> int | None:
    """Return the page size in bytes from the words of ``KernelPageSize:  4 kB``."""
    kib = next((value for word in words if (value := whole(word, 1, 2**14)) is not None), None)
    return None if kib is None or words[-1] != "kB" else kib * 1024


def _numbers(texts: list[str]) -> tuple[int, ...]:
    """Return the leading integers of `texts`."""
    found = []
    for text in texts:
        value = whole(text)
        if value is None:
            break
        found.append(value)
    return tuple(found)


def used(lines: list[str]) -> float | None:
    """Return the CPU seconds that the shell's `times` printed: user and system, shell and children."""
    found = [pair for line in lines for pair in _TIMES.findall(line)]
    return sum(int(minutes) * 60 + float(seconds) for minutes, seconds in found) if len(found) == 4 else None


def processors(lines: list[str]) -> Counters:
    """Return user, nice, system, idle, iowait, irq, softirq, steal (proc(5)); user and nice include the guest times.

    The key ``cpu`` is the total, ``cpu0`` and so on the single CPUs.
    """
    found: dict[str, tuple[int, ...]] = {}
    for line in lines:
        name, *texts = line.split() or [""]
        counters = _numbers(texts)[:8]
        if (name == "cpu" or _CORE.fullmatch(name)) and len(counters) == 8:
            found[name] = counters
    return found


def named(lines: list[str]) -> Mapping[str, int]:
    """Return ``name value`` and ``name: value kB`` lines."""
    found: dict[str, int] = {}
    for line in lines:
        name, *texts = line.replace(":", " ", 1).split() or [""]
        value = whole(texts[0]) if texts else None
        if value is not None:
            found[name] = value
    return found


def pressure(found: Mapping[str, list[str]]) -> Mapping[str, int]:
    """Return the PSI ``some`` totals in microseconds by resource (kernel, accounting/psi)."""
    totals: dict[str, int] = {}
    for resource in ("cpu", "memory", "io"):
        for line in found.get(f"/proc/pressure/{resource}", []):
            match = re.search(r"^some .*total=([0-9]{1,18})$", line)
            if match:
                totals[resource] = int(match[1])
    return totals


def disks(lines: list[str], whole_disks: frozenset[str], loops: Sequence[str] = ()) -> Counters:
    """Return the first eleven counters of whole disks and of `loops` (kernel, admin-guide/iostats).

    These are I/Os, merges, sectors and ms of reads, then of writes; I/Os in flight, ms busy, and weighted ms busy.
    """
    found: dict[str, tuple[int, ...]] = {}
    for line in lines:
        words = line.split()
        name = words[2] if len(words) >= 14 else ""
        counters = _numbers(words[3:14])
        wanted = name in whole_disks and (name in loops or not _LOGICAL.match(name))
        if wanted and len(counters) == 11 and len(found) < MOST_DISKS:
            found[name] = counters
    return found


def interfaces(lines: list[str]) -> Counters:
    """Return bytes received and sent, packets dropped and packet errors of the interfaces with traffic.

    Drops and errors are the sum of both directions; they are missing if the kernel's line is short.
    """
    found: dict[str, tuple[int, ...]] = {}
    for line in lines:
        name, _, rest = line.strip().partition(":")
        counters = _numbers(rest.split())
        carried = len(counters) >= 9 and (counters[0] or counters[8])
        if carried and NAME.fullmatch(name) and len(found) < MOST_INTERFACES:
            lost = (counters[3] + counters[11], counters[2] + counters[10]) if len(counters) >= 12 else ()
            found[name] = (counters[0], counters[8], *lost)
    return found


def protocols(lines: list[str]) -> Mapping[str, int]:
    """Return the counters of TCP and UDP by name, such as ``Tcp RetransSegs``: a line of names, then one of values."""
    found: dict[str, int] = {}
    names: dict[str, list[str]] = {}
    for line in lines:
        protocol, *words = line.split()[:40] or [""]
        if protocol not in {"Tcp:", "Udp:"}:
            continue
        if protocol not in names:
            names[protocol] = words
            continue
        for name, text in zip(names[protocol], words, strict=False):
            value = whole(text)
            if value is not None:
                found[f"{protocol[:-1]} {name}"] = value
    return found


@dataclass(frozen=True, slots=True)
class Tree:
    """Totals of the process tree under test. `leader` identifies its job; `counters` has the names of telemetry.c.

    `user` and `system` are CPU ticks; `wait` and `busiest` are nanoseconds, `busiest` of one thread since the previous
    tick. What could not be read is missing.
    """

    leader: str
    counters: Mapping[str, int]


_LEADER = re.compile(r"[0-9]{1,10}-[0-9]{1,20}")


def tree(words: list[str]) -> Tree | None:
    """Return the totals of the process tree under test: its leader, then alternating names and numbers."""
    if not words or not _LEADER.fullmatch(words[0]):
        return None
    pairs = zip(words[1:33:2], words[2:34:2], strict=False)
    values = {name: whole(text, 0, 2**63) for name, text in pairs}
    return Tree(words[0], {name: value for name, value in values.items() if value is not None})


def quotas(found: Mapping[str, list[str]]) -> Counters:
    """Return nr_periods, nr_throttled and throttled microseconds of each cgroup with a cpu.stat.

    Source: kernel, scheduler/sched-bwc; cgroup v1 counts nanoseconds.
    """
    counters: dict[str, tuple[int, ...]] = {}
    for path, lines in found.items():
        values = named(lines) if path.endswith("/cpu.stat") else {}
        throttled = values.get("throttled_usec", values.get("throttled_time", -1000) // 1000)
        if "nr_periods" in values and "nr_throttled" in values and throttled >= 0:
            counters[path] = (values["nr_periods"], values["nr_throttled"], throttled)
    return counters


def group_time(lines: list[str]) -> int | None:
    """Return the CPU microseconds of a cgroup: usage_usec of cpu.stat (v2) or the nanoseconds of cpuacct.usage (v1)."""
    nanoseconds = whole(lines[0]) if len(lines) == 1 else None
    return named(lines).get("usage_usec") if nanoseconds is None else nanoseconds // 1000


def single(found: Mapping[str, list[str]]) -> Mapping[str, int]:
    """Return the values of /sys files with a single number."""
    values: dict[str, int] = {}
    for path, lines in found.items():
        value = whole(lines[0]) if path.startswith("/sys/") and len(lines) == 1 else None
        if value is not None and len(values) < MOST_FILES:
            values[path] = value
    return values


def processes(found: Mapping[str, list[str]], without: frozenset[int]) -> Mapping[Process, int]:
    """Return the CPU ticks (utime + stime) of each process, except PIDs in `without` and kernel threads."""
    ticks: dict[Process, int] = {}
    for path, lines in found.items():
        match = _PROCESS.match(lines[0]) if path.endswith("/stat") and path != "/proc/stat" else None
        if match is None or int(match[1]) in without or len(ticks) >= MOST_PROCESSES:
            continue
        rest = [int(word) for word in match[3].split()]
        if not rest[5] & _PF_KTHREAD:
            ticks[Process(int(match[1]), rest[18], plain(match[2], 32))] = max(0, rest[10]) + max(0, rest[11])
    return ticks
