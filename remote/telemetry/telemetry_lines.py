"""The lines of /proc and /sys that telemetry.sh prints, each file's to its counters; what does not fit is left out."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from remote.facts.values import whole
from remote.plain import plain

MOST_DISKS = 32
MOST_INTERFACES = 32
MOST_CORES = 16
"""Processors up to which each has a series of its own; of more, the busiest alone is told."""

MOST_PROCESSES = 1024
MOST_FILES = 128

_LOGICAL = re.compile(r"(loop|ram|zram|sr|fd|dm-|md)[0-9]+$")
"""Devices in /sys/block that are no disks, or whose I/O is counted again at the disks below them."""

_TIMES = re.compile(r"([0-9]{1,9})m([0-9]{1,2}\.[0-9]{1,6})s")

NAME = re.compile(r"[A-Za-z0-9_.@!-]{1,32}")
"""What a device or interface may be called: it becomes a label."""

_CORE = re.compile(r"cpu[0-9]{1,5}")
_OF_THE_KERNEL = 0x00200000
"""PF_KTHREAD (kernel, include/linux/sched.h): a thread of the kernel, which works for whoever asks it to."""

_PROCESS = re.compile(r"([0-9]{1,9}) \((.{0,64})\) [A-Za-z]((?: -?[0-9]{1,19}){19})")

Counters = Mapping[str, tuple[int, ...]]


class Process(NamedTuple):
    """One process: its id, when it began in ticks since boot, and its name as the kernel has it."""

    pid: int
    began: int
    name: str


def page(words: list[str]) -> int | None:
    """Return the bytes of a page in the words of ``KernelPageSize:  4 kB``."""
    kib = next((value for word in words if (value := whole(word, 1, 2**14)) is not None), None)
    return None if kib is None or words[-1] != "kB" else kib * 1024


def _numbers(texts: list[str]) -> tuple[int, ...]:
    """Return the counters in `texts` up to the first that is none."""
    found = []
    for text in texts:
        value = whole(text)
        if value is None:
            break
        found.append(value)
    return tuple(found)


def used(lines: list[str]) -> float | None:
    """Return the seconds that `times` printed: user and system, of the shell and of its children."""
    found = [pair for line in lines for pair in _TIMES.findall(line)]
    return sum(int(minutes) * 60 + float(seconds) for minutes, seconds in found) if len(found) == 4 else None


def processors(lines: list[str]) -> Counters:
    """Return user, nice, system, idle, iowait, irq, softirq, steal (proc(5)); guests are within user and nice.

    All together stand under ``cpu``, each under ``cpu0`` and so on.
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
    """Return the microseconds in which some task waited, by resource."""
    totals: dict[str, int] = {}
    for resource in ("cpu", "memory", "io"):
        for line in found.get(f"/proc/pressure/{resource}", []):
            told = re.search(r"^some .*total=([0-9]{1,18})$", line)
            if told:
                totals[resource] = int(told[1])
    return totals


def disks(lines: list[str], whole_disks: frozenset[str], loops: Sequence[str] = ()) -> Counters:
    """Return the first eleven counters of whole disks, and of `loops` (kernel, admin-guide/iostats): I/Os, merges,
    sectors and ms of reads, then of writes, I/Os in flight, ms busy, and ms busy weighted by how many were in flight.
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
    """Return bytes received and sent of the interfaces that ever carried any, then packets dropped and damaged, each
    of both ways together; the last two are missing where the kernel's line is short."""
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


def quotas(found: Mapping[str, list[str]]) -> Counters:
    """Return, of each control group with a cpu.stat, its periods, those in which a quota was used up, and for how many
    microseconds tasks were then kept from a processor (sched-bwc; cgroup v1 counts nanoseconds)."""
    told: dict[str, tuple[int, ...]] = {}
    for path, lines in found.items():
        values = named(lines) if path.endswith("/cpu.stat") else {}
        kept = values.get("throttled_usec", values.get("throttled_time", -1000) // 1000)
        if "nr_periods" in values and "nr_throttled" in values and kept >= 0:
            told[path] = (values["nr_periods"], values["nr_throttled"], kept)
    return told


def single(found: Mapping[str, list[str]]) -> Mapping[str, int]:
    """Return the files of /sys that hold one number each."""
    told: dict[str, int] = {}
    for path, lines in found.items():
        value = whole(lines[0]) if path.startswith("/sys/") and len(lines) == 1 else None
        if value is not None and len(told) < MOST_FILES:
            told[path] = value
    return told


def processes(found: Mapping[str, list[str]], without: frozenset[int]) -> Mapping[Process, int]:
    """Return the ticks of processor time that each program has used, but for those `without` and the kernel's own."""
    told: dict[Process, int] = {}
    for path, lines in found.items():
        match = _PROCESS.match(lines[0]) if path.endswith("/stat") and path != "/proc/stat" else None
        if match is None or int(match[1]) in without or len(told) >= MOST_PROCESSES:
            continue
        rest = [int(word) for word in match[3].split()]
        if not rest[5] & _OF_THE_KERNEL:
            told[Process(int(match[1]), rest[18], plain(match[2], 32))] = max(0, rest[10]) + max(0, rest[11])
    return told
