"""Parser of the output of telemetry.sh and telemetry.c into ticks. It is untrusted; invalid lines are skipped."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from remote.facts.items import number, whole
from remote.telemetry import telemetry_lines as lines
from remote.telemetry.telemetry_lines import NAME, Counters, Process, Tree

__all__ = ["Counters", "Process", "Tick", "TickReader", "Tree"]

MOST_LINES = 4096
"""Largest number of lines per tick."""

LONGEST_LINE = 4096

_MOST_LABELS = 64

_EXCEEDED = (7, 8, 9, 10)
"""Positions in an EBS volume's log page (64-bit numbers) of the microseconds over the volume's IOPS and throughput
limits, then over the instance's (Amazon EBS detailed performance statistics)."""

_EBS_MAGIC = 0x3C23B510

_COLON = re.compile(r"(.*?/(?:cpu\.stat|energy_uj)):(.*)")
"""Files whose path may contain a colon: the names of cgroups and of energy counters."""

_METER = re.compile(r"/sys/class/hwmon/hwmon[0-9]{1,4}/(?:device/)?power[0-9]{1,2}_(?:average|input)")

_INITIAL_NAMESPACE = "pid:[4026531836]"
"""The PID namespace of the host itself (PROC_PID_INIT_INO, include/linux/proc_ns.h)."""


@dataclass(frozen=True, slots=True)
class EnergyCounter:
    """A counter in microjoules that wraps at `most`; `zone` is its directory, as intel-rapl:0:1, `name` its domain."""

    zone: str
    name: str
    most: int


@dataclass(frozen=True, slots=True)
class Tick:
    """Counters read at one time.

    `uptime` and `epoch` are the host's clocks in seconds, `used` is the CPU time of the telemetry in seconds; `epoch`
    and `used` are None if unknown. `page` is the page size in bytes, `boot` identifies the boot. Counters are the
    kernel's, since boot. `energy` are those of `files` that count energy, `meters` those with the
    power of the host, and the ms over which they average it, 0 if unknown; other `files`, `processes`, `packets_held`
    and `volumes_held` are read only every few ticks.

    `tree` is the process tree under test, None if no job runs or its processes are not counted. `beside` are the CPU
    ticks of kernel threads (``kernel``) and of other jobs of Benchwright (``jobs``), empty if not counted.
    `contained`: only the processes of a container are visible, which used `inside` microseconds of CPU time; `hidden`:
    /proc hides those of other accounts.
    """

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
    energy: Mapping[str, EnergyCounter] = field(default_factory=dict)
    meters: Mapping[str, int] = field(default_factory=dict)
    processes: Mapping[Process, int] | None = None
    packets_held: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    volumes_held: Mapping[str, int] = field(default_factory=dict)
    tree: Tree | None = None
    beside: Mapping[str, int] = field(default_factory=dict)
    inside: int | None = None
    contained: bool = False
    hidden: bool = False

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
    energy: dict[str, EnergyCounter] = field(default_factory=dict)
    meters: dict[str, int] = field(default_factory=dict)
    jobs: frozenset[int] | None = None  # PIDs of jobs; None if processes were not read in this tick
    packets: dict[str, Mapping[str, int]] = field(default_factory=dict)
    volumes: dict[str, int] = field(default_factory=dict)
    contained: bool = False
    inside: str = ""  # the file with the CPU time of the container
    hidden: bool = False
    program: bool = False
    tree: Tree | None = None
    beside: Mapping[str, int] = field(default_factory=dict)

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
            case "energy" if len(rest) >= 3 and len(self.energy) < _MOST_LABELS:
                self._take_energy(*rest[:3])
            case "ours":
                self.jobs = frozenset(pid for path in rest if (pid := _pid(path)) is not None)
            case "allowance" | "volume" if rest and NAME.fullmatch(rest[0]):
                self._take_allowance(key, rest[0], [part for part in rest[1:] if part])
            case _:
                self._take_processes(key, rest)

    def _take_processes(self, key: str, rest: list[str]) -> None:
        match key:
            case "namespace" if rest:
                self.contained = bool(rest[0]) and rest[0] != _INITIAL_NAMESPACE
            case "inside" if len(rest) == 1:
                self.inside = rest[0]
            case "meter" if len(rest) == 2 and _METER.fullmatch(rest[0]) and len(self.meters) < _MOST_LABELS:
                self.meters[rest[0]] = whole(rest[1]) or 0
            case "hidden":
                self.hidden = True
            case "program":
                self.program = True
            case "tree":
                self.tree = lines.tree(rest)
            case "beside":
                self.beside = lines.named([" ".join(pair) for pair in zip(rest[:4:2], rest[1:4:2], strict=False)])

    def _take_energy(self, path: str, most: str, name: str) -> None:
        zone, largest = path.removesuffix("/energy_uj").rpartition("/")[2], whole(most, 1)
        if (
            path.endswith("/energy_uj")
            and largest is not None
            and NAME.fullmatch(zone.replace(":", "-"))
            and NAME.fullmatch(name)
        ):
            self.energy[path] = EnergyCounter(zone, name, largest)

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
        self.jobs, self.packets, self.volumes, self.tree, self.beside = None, {}, {}, None, {}


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

    @property
    def program(self) -> bool:
        """Whether the program prints the ticks, not the script."""
        return self._report.program

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
            energy=dict(report.energy),
            meters=dict(report.meters),
            processes=None if report.jobs is None else lines.processes(found, report.own | report.jobs),
            packets_held=dict(report.packets),
            volumes_held=dict(report.volumes),
            tree=report.tree,
            beside=report.beside,
            inside=lines.group_time(found.get(report.inside, [])),
            contained=report.contained,
            hidden=report.hidden,
        )

    def _by_file(self) -> dict[str, list[str]]:
        """Return the lines of the tick by file; the output of the shell's `times` has the key ``times``."""
        found: dict[str, list[str]] = {}
        for line in self._lines:
            path, text = "times", line
            if line.startswith(("/proc/", "/sys/")):
                colon = _COLON.match(line)
                path, _, text = (colon[1], "", colon[2]) if colon else line.partition(":")
            found.setdefault(path, []).append(text)
        return found
