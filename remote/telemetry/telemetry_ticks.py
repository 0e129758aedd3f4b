"""The lines telemetry.sh prints, gathered into ticks. Any bytes are accepted; what does not fit is left out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from remote.facts.values import number, whole
from remote.telemetry import telemetry_lines as lines
from remote.telemetry.telemetry_lines import NAME, Counters, Process

__all__ = ["Counters", "Process", "Tick", "TickReader"]

MOST_LINES = 4096
"""Lines of one tick: more is not our script's work."""

LONGEST_LINE = 4096

_MOST_LABELS = 64

_EXCEEDED = (7, 8, 9, 10)
"""Which of the eight-byte numbers of an EBS volume's log page tell for how many microseconds it was held back: its
own I/Os and throughput, then the instance's (Amazon EBS detailed performance statistics)."""

_EBS_MAGIC = 0x3C23B510


@dataclass(frozen=True, slots=True)
class Tick:
    """What was read at one moment. `uptime` and `epoch` are the host's clocks in seconds, `used` the processor
    seconds the script itself has taken so far; both of the latter are None where the host does not tell.
    `page` is the size of a page in bytes, `boot` tells one boot of the host from another. Counters are the
    kernel's own, since boot. `files`, `processes` and what is held back are looked at now and then only."""

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
        """The counters of all processors together."""
        return self.processors.get("cpu")


@dataclass(slots=True)
class _Told:
    """What the script has said about itself and its host, and on single ticks."""

    page: int | None = None
    boot: str | None = None
    disks: frozenset[str] = frozenset()
    own: frozenset[int] = frozenset()
    limits: dict[str, int] = field(default_factory=dict)
    ours: frozenset[int] | None = None  # pids of jobs; None where processes were not looked at
    packets: dict[str, Mapping[str, int]] = field(default_factory=dict)
    volumes: dict[str, int] = field(default_factory=dict)

    def take(self, word: str, rest: list[str]) -> None:
        """Note what stands behind `word`."""
        match word:
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
                self.ours = frozenset(pid for path in rest if (pid := _pid(path)) is not None)
            case "allowance" | "volume" if rest and NAME.fullmatch(rest[0]):
                self._held_back(word, rest[0], [part for part in rest[1:] if part])

    def _held_back(self, word: str, name: str, parts: list[str]) -> None:
        if word == "allowance" and len(self.packets) < _MOST_LABELS:
            pairs = list(zip(parts[::2], parts[1::2], strict=False))[:16]
            self.packets[name] = lines.named([" ".join(pair) for pair in pairs])
        elif word == "volume" and len(self.volumes) < _MOST_LABELS:
            given = [whole(part, 0, 2**63) or 0 for part in parts]
            if len(given) > max(_EXCEEDED) and given[0] & 0xFFFFFFFF == _EBS_MAGIC:
                self.volumes[name] = sum(given[place] for place in _EXCEEDED)

    def begin(self) -> None:
        """Forget what was said of the tick before."""
        self.ours, self.packets, self.volumes = None, {}, {}


def _pid(path: str) -> int | None:
    parts = path.split("/")
    return whole(parts[2], 1) if len(parts) == 4 else None


class TickReader:
    """Cuts arriving bytes into ticks."""

    def __init__(self, mark: str, loops: Sequence[str] = ()) -> None:
        """Read what stands behind `mark`; of loop devices, only the `loops` that were asked for."""
        self._start = f"@@{mark} ".encode()
        self._loops = tuple(loops)
        self._pending = b""
        self._head: list[str] | None = None
        self._lines: list[str] = []
        self._told = _Told()

    def feed(self, data: bytes) -> Iterator[Tick]:
        """Yield the ticks that `data` completes."""
        *given, rest = (self._pending + data).split(b"\n")
        self._pending = rest[-LONGEST_LINE:]
        for line in given:
            yield from self._line(line[:LONGEST_LINE])

    def _line(self, line: bytes) -> Iterator[Tick]:
        if not line.startswith(self._start):
            if self._head is not None and len(self._lines) < MOST_LINES:
                self._lines.append(line.decode("utf-8", "replace"))
            return
        word, *rest = line[len(self._start) :].decode("utf-8", "replace").split(" ") or [""]
        if word == "tick":
            self._head, self._lines = rest, []
            self._told.begin()
        elif word == "end" and self._head is not None:
            head, self._head = self._head, None
            yield from self._tick(head)
        else:
            self._told.take(word, rest)

    def _tick(self, head: list[str]) -> Iterator[Tick]:
        uptime = number(head[1], 0.0, 1e11) if len(head) == 3 else None
        if uptime is None:
            return
        found = self._by_file()
        told, stat = self._told, found.get("/proc/stat", [])
        loads = found.get("/proc/loadavg", [""])[0].split(" ")
        yield Tick(
            uptime=uptime,
            epoch=number(head[2], 0.0, 1e11),
            used=lines.used(found.get("times", [])),
            page=told.page,
            load=number(loads[0], 0.0, 1e7),
            processors=lines.processors(stat),
            tasks=lines.named([line for line in stat if line.startswith("procs_")]),
            memory=lines.named(found.get("/proc/meminfo", [])),
            events=lines.named(found.get("/proc/vmstat", [])),
            pressure=lines.pressure(found),
            disks=lines.disks(found.get("/proc/diskstats", []), told.disks, self._loops),
            interfaces=lines.interfaces(found.get("/proc/net/dev", [])),
            protocols=lines.protocols(found.get("/proc/net/snmp", [])),
            quotas=lines.quotas(found),
            boot=told.boot,
            files=lines.single(found),
            limits=dict(told.limits),
            processes=None if told.ours is None else lines.processes(found, told.own | told.ours),
            packets_held=dict(told.packets),
            volumes_held=dict(told.volumes),
        )

    def _by_file(self) -> dict[str, list[str]]:
        """Return the lines of the tick by the file they are of; what `times` printed stands under its name."""
        found: dict[str, list[str]] = {}
        for line in self._lines:
            path, text = "times", line
            if line.startswith(("/proc/", "/sys/")):
                head, stat, rest = line.partition("/cpu.stat:")  # a control group's name may have a colon
                path, _, text = (head + stat[:-1], "", rest) if stat else line.partition(":")
            found.setdefault(path, []).append(text)
        return found
