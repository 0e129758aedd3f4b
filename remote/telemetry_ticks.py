"""The lines telemetry.sh prints, gathered into ticks. Any bytes are accepted; what does not fit is left out."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from remote.facts.values import number, whole

MOST_DISKS = 32
MOST_INTERFACES = 32
MOST_LINES = 4096
"""Lines of one tick: more is not our script's work."""

LONGEST_LINE = 4096

_LOGICAL = re.compile(r"(loop|ram|zram|sr|fd|dm-|md)[0-9]+$")
"""Devices in /sys/block that are no disks, or whose I/O is counted again at the disks below them."""

_TIMES = re.compile(r"([0-9]{1,9})m([0-9]{1,2}\.[0-9]{1,6})s")

_NAME = re.compile(r"[A-Za-z0-9_.@!-]{1,32}")
"""What a device or interface may be called: it becomes a label."""

Counters = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Tick:
    """What was read at one moment. `uptime` and `epoch` are the host's clocks in seconds, `used` the processor
    seconds the script itself has taken so far; both of the latter are None where the host does not tell.
    `page` is the size of a page in bytes, `boot` tells one boot of the host from another. Counters are the
    kernel's own, since boot."""

    uptime: float
    epoch: float | None = None
    used: float | None = None
    page: int | None = None
    load: float | None = None
    cpu: tuple[int, ...] | None = None
    memory: Mapping[str, int] = field(default_factory=dict)
    swap: Mapping[str, int] = field(default_factory=dict)
    pressure: Mapping[str, int] = field(default_factory=dict)
    disks: Counters = field(default_factory=dict)
    interfaces: Counters = field(default_factory=dict)
    boot: str | None = None


class TickReader:
    """Cuts arriving bytes into ticks."""

    def __init__(self, mark: str) -> None:
        self._start = f"@@{mark} ".encode()
        self._pending = b""
        self._head: list[str] | None = None
        self._lines: list[str] = []
        self._page: int | None = None
        self._boot: str | None = None
        self._disks: frozenset[str] = frozenset()

    def feed(self, data: bytes) -> Iterator[Tick]:
        """Yield the ticks that `data` completes."""
        *lines, rest = (self._pending + data).split(b"\n")
        self._pending = rest[-LONGEST_LINE:]
        for line in lines:
            yield from self._line(line[:LONGEST_LINE])

    def _line(self, line: bytes) -> Iterator[Tick]:
        if not line.startswith(self._start):
            if self._head is not None and len(self._lines) < MOST_LINES:
                self._lines.append(line.decode("utf-8", "replace"))
            return
        word, *rest = line[len(self._start) :].decode("utf-8", "replace").split(" ") or [""]
        if word == "page":
            self._page = _page(rest)
        elif word == "boot":
            self._boot = rest[0] if rest and _NAME.fullmatch(rest[0][:32]) else None
        elif word == "disks":
            self._disks = frozenset(filter(_NAME.fullmatch, rest[:MOST_LINES]))
        elif word == "tick":
            self._head, self._lines = rest, []
        elif word == "end" and self._head is not None:
            head, self._head = self._head, None
            yield from self._tick(head)

    def _tick(self, head: list[str]) -> Iterator[Tick]:
        uptime = number(head[1], 0.0, 1e11) if len(head) == 3 else None
        if uptime is None:
            return
        found: dict[str, list[str]] = {}
        for line in self._lines:
            path, _, text = line.partition(":") if line.startswith("/proc/") else ("times", "", line)
            found.setdefault(path, []).append(text)
        loads = found.get("/proc/loadavg", [""])[0].split(" ")
        yield Tick(
            uptime=uptime,
            epoch=number(head[2], 0.0, 1e11),
            used=_used(found.get("times", [])),
            page=self._page,
            load=number(loads[0], 0.0, 1e7),
            cpu=_cpu(found.get("/proc/stat", [])),
            memory=_named(found.get("/proc/meminfo", [])),
            swap=_named(found.get("/proc/vmstat", [])),
            pressure=_pressure(found),
            disks=_disks(found.get("/proc/diskstats", []), self._disks),
            interfaces=_interfaces(found.get("/proc/net/dev", [])),
            boot=self._boot,
        )


def _page(words: list[str]) -> int | None:
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


def _used(lines: list[str]) -> float | None:
    """Return the seconds that `times` printed: user and system, of the shell and of its children."""
    found = [pair for line in lines for pair in _TIMES.findall(line)]
    return sum(int(minutes) * 60 + float(seconds) for minutes, seconds in found) if len(found) == 4 else None


def _cpu(lines: list[str]) -> tuple[int, ...] | None:
    """Return user, nice, system, idle, iowait, irq, softirq, steal (proc(5)); guests are within user and nice."""
    for line in lines:
        name, *texts = line.split()
        counters = _numbers(texts)[:8]
        if name == "cpu" and len(counters) == 8:
            return counters
    return None


def _named(lines: list[str]) -> Mapping[str, int]:
    """Return ``name value`` and ``name: value kB`` lines."""
    found: dict[str, int] = {}
    for line in lines:
        name, *texts = line.replace(":", " ", 1).split() or [""]
        value = whole(texts[0]) if texts else None
        if value is not None:
            found[name] = value
    return found


def _pressure(found: Mapping[str, list[str]]) -> Mapping[str, int]:
    """Return the microseconds in which some task waited, by resource."""
    totals: dict[str, int] = {}
    for resource in ("cpu", "memory", "io"):
        for line in found.get(f"/proc/pressure/{resource}", []):
            told = re.search(r"^some .*total=([0-9]{1,18})$", line)
            if told:
                totals[resource] = int(told[1])
    return totals


def _disks(lines: list[str], whole_disks: frozenset[str]) -> Counters:
    """Return reads, sectors read, writes, sectors written, ms busy (kernel, admin-guide/iostats) of whole disks."""
    found: dict[str, tuple[int, ...]] = {}
    for line in lines:
        words = line.split()
        name = words[2] if len(words) >= 14 else ""
        counters = _numbers(words[3:14])
        if name in whole_disks and not _LOGICAL.match(name) and len(counters) == 11 and len(found) < MOST_DISKS:
            found[name] = (counters[0], counters[2], counters[4], counters[6], counters[9])
    return found


def _interfaces(lines: list[str]) -> Counters:
    """Return bytes received and sent of the interfaces that ever carried any."""
    found: dict[str, tuple[int, ...]] = {}
    for line in lines:
        name, _, rest = line.strip().partition(":")
        counters = _numbers(rest.split())
        carried = len(counters) >= 9 and (counters[0] or counters[8])
        if carried and _NAME.fullmatch(name) and len(found) < MOST_INTERFACES:
            found[name] = (counters[0], counters[8])
    return found
