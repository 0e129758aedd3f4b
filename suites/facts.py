"""Host facts: every fact with its unit, or absent with the reason."""

import math
import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Absent:
    """A fact that could not be read, and why. Never zero, never a guess."""

    reason: str


def known(fact: "T | Absent") -> "T | None":
    """Return the fact's value, or None if it is absent."""
    return None if isinstance(fact, Absent) else fact


NOT_READ = Absent("not read")

NO_CPU_LIMIT = Absent("no cgroup limits the CPU time")
NO_MEMORY_LIMIT = Absent("no cgroup limits the memory")

NONE = frozenset({NO_CPU_LIMIT.reason, NO_MEMORY_LIMIT.reason})
"""Reasons which state that the host has none, not that a fact was not read: they differ from a value."""

MOST_LAYERS = 8
"""Maximum depth of stacked block devices that is followed."""


def fact(unit: str = "") -> Any:
    """Declare a fact in `unit`; absent until it is read."""
    return field(default=NOT_READ, metadata={"unit": unit})


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemFacts:
    """The operating system and its platform."""

    host_name: str | Absent = fact()
    kernel: str | Absent = fact()
    architecture: str | Absent = fact()
    distribution: str | Absent = fact()
    distribution_id: str | Absent = fact()
    distribution_version: str | Absent = fact()
    distribution_like: str | Absent = fact()  # the distributions it derives from, separated by blanks
    virtualisation: str | Absent = fact()
    container: str | Absent = fact()
    boot_id: str | Absent = fact()
    uptime: float | Absent = fact("s")
    load_1_minute: float | Absent = fact("1")
    clock_source: str | Absent = fact()  # what the kernel reads the time from, such as tsc
    clock_offset: float | Absent = fact("s")  # host minus workstation, at the middle of the shortest round trip
    clock_offset_uncertainty: float | Absent = fact("s")  # half of that round trip
    user: str | Absent = fact()
    command_line: str | Absent = fact()  # the kernel's
    workstation_address: str | Absent = fact()  # the client's address as this host sees it
    io_uring_disabled: int | Absent = fact("1")  # 0: permitted to all, 1: to root and one group, 2: to none


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudFacts:
    """Reply of the cloud's metadata service, if one answers within 300 ms."""

    provider: str | Absent = fact()
    instance_type: str | Absent = fact()
    instance_id: str | Absent = fact()
    region: str | Absent = fact()
    baseline: str | Absent = fact()  # of a burstable instance of Oracle: its share of a CPU, as BASELINE_1_8


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudLimit:
    """A limit of the instance, or of a volume, as the user's cloud CLI states it.

    The volume is the disk `device` or, without it, the one whose serial number is the id `volume` (EBS).
    """

    name: str
    value: float
    unit: str  # 1/s, B/s or bit/s
    device: str = ""
    instance_type: str = ""
    volume: str = ""

    @property
    def disk(self) -> str:
        """Its disk: ``nvme1n1``, or ``vol-0a1b, by serial number``; empty for one of the instance."""
        return self.device or (f"{self.volume}, by serial number" if self.volume else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    """One CPU cache. `shared_by` is the number of logical CPUs per instance, `instances` the number of instances."""

    level: int
    kind: str
    size: int | Absent = fact("B")
    shared_by: int | Absent = fact("1")
    instances: int | Absent = fact("1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    """A physical core: those of its logical CPUs (SMT siblings) that may be used, its NUMA node and its package."""

    cpus: tuple[int, ...]
    node: int
    package: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuFacts:
    """The processors. `usable` is the CPU affinity of this user, without the quota."""

    model: str | Absent = fact()
    microcode: str | Absent = fact()  # its version, as the kernel prints it
    emulated: bool | Absent = fact()  # translated by QEMU (TCG) or Rosetta, not run by a CPU
    mitigations: tuple[str, ...] | Absent = fact()  # vulnerability and the kernel's mitigation, as "mds: Vulnerable"
    sockets: int | Absent = fact("1")
    cores: int | Absent = fact("1")
    threads: int | Absent = fact("1")
    offline: int | Absent = fact("1")  # CPUs that are there and switched off
    usable: int | Absent = fact("1")
    layout: tuple[Core, ...] | Absent = fact()  # the cores with a CPU that this user may use, by node and package
    flags: tuple[str, ...] | Absent = fact()
    governor: str | Absent = fact()
    energy_preference: str | Absent = fact()  # energy preference of the processor, such as balance_performance
    energy_counters: tuple[str, ...] | Absent = fact()  # domains of powercap: package-0, core, dram, psys
    boost: bool | Absent = fact()  # turbo: may exceed the base frequency
    hyperthreading: str | Absent = fact()  # as the kernel prints it: on, off, forceoff, notsupported, notimplemented
    frequency_maximum: float | Absent = fact("MHz")
    frequency_guest: float | Absent = fact("MHz")  # cpu MHz of /proc/cpuinfo in a virtual machine, to 10 MHz
    caches: tuple[Cache, ...] | Absent = fact()
    numa_nodes: int | Absent = fact("1")
    numa_balancing: bool | Absent = fact()  # automatic NUMA balancing
    quota: float | Absent = fact("1")  # CPUs a cgroup grants


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFacts:
    """Memory, in bytes. `limit` is the cgroup's."""

    total: int | Absent = fact("B")
    available: int | Absent = fact("B")
    swap_total: int | Absent = fact("B")
    swap_used: int | Absent = fact("B")
    page_size: int | Absent = fact("B")
    huge_page_size: int | Absent = fact("B")
    huge_pages: int | Absent = fact("1")
    transparent_huge_pages: str | Absent = fact()
    limit: int | Absent = fact("B")


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockDevice:
    """One block device: a disk, a partition or a stacked device."""

    name: str
    kind: str | Absent = fact()
    size: int | Absent = fact("B")
    model: str | Absent = fact()
    serial: str | Absent = fact()
    rotational: bool | Absent = fact()
    scheduler: str | Absent = fact()
    readahead: int | Absent = fact("B")
    queue_depth: int | Absent = fact("1")
    sector: int | Absent = fact("B")  # the logical sector size
    low_latency: bool | Absent = fact()  # the BFQ scheduler favours interactive programs
    parent: str | Absent = fact()
    backing_file: str | Absent = fact()  # of a loop device


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSystem:
    """One mounted file system that holds data."""

    mount: str
    kind: str | Absent = fact()
    source: str | Absent = fact()
    options: str | Absent = fact()
    size: int | Absent = fact("B")
    free: int | Absent = fact("B")  # for this user


SAFE = "safe"
"""Result of guard.sh for a directory in which no other account can replace anything."""


class DirectoryFault(StrEnum):
    """Why a directory cannot be used at all: the reasons of resources/facts.sh."""

    MISSING = "there is no such directory"
    NO_DIRECTORY = "it is not a directory"
    DENIED = "permission denied"


_FAULTS = {fault.value: fault for fault in DirectoryFault}


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """One directory a disk test may write in, and what was found by trying."""

    path: str
    mount: str | Absent = fact()
    kind: str | Absent = fact()  # the file system's type
    upper: str | Absent = fact()  # of an overlay: the type of the file system that stores its changes
    device: str | Absent = fact()  # the whole disk below it, such as vda
    volume: str | Absent = fact()  # the block device that is mounted, such as vda1 or dm-0
    attributes: str | Absent = fact()  # attributes as lsattr prints them: C is no copy on write, c compressed
    free: int | Absent = fact("B")
    writable: bool | Absent = fact()
    direct: bool | Absent = fact()  # O_DIRECT accepted
    file: int | Absent = fact("B")  # bytes allocated to the file at this path, where it is one
    guard: str | Absent = fact()  # SAFE, or the complaint of guard.sh: other accounts may replace its content

    @property
    def fault(self) -> DirectoryFault | None:
        """Why it cannot be used at all. JSON and stored facts have only the reason of the absent facts for it."""
        return _FAULTS.get(self.mount.reason) if isinstance(self.mount, Absent) else None

    @property
    def unsafe(self) -> bool:
        """Whether other accounts are known to be able to replace its content."""
        return not isinstance(self.guard, Absent) and self.guard != SAFE


@dataclass(frozen=True, slots=True, kw_only=True)
class RawDevice:
    """One block device that a test is to use as a whole: its identity and its users. Complete only as root.

    `path` is as requested, `node` the kernel's own. `uses` are lines of device.sh, such as ``mount sdb1 /data``;
    `signatures` the file systems and tables found on it and its partitions, such as ``sdb1 ext4``. `state` is the whole
    answer; the host compares it right before a test to detect any change.
    """

    path: str
    node: str | Absent = fact()
    kind: str | Absent = fact()
    size: int | Absent = fact("B")
    model: str | Absent = fact()
    serial: str | Absent = fact()
    by_id: tuple[str, ...] | Absent = fact()
    backing_file: str | Absent = fact()
    read_only: bool | Absent = fact()
    readable: bool | Absent = fact()  # for this user
    writable: bool | Absent = fact()
    uses: tuple[str, ...] | Absent = fact()
    signatures: tuple[str, ...] | Absent = fact()
    free: bool | Absent = fact()  # the kernel grants exclusive use (O_EXCL)
    written: bool | Absent = fact()  # its first and last MiB hold something other than zeros
    endurance_used: float | Absent = fact("%")  # of the drive's rating, as SMART reports it
    lifetime_written: int | Absent = fact("B")  # over its whole life, as SMART reports it
    state: str | Absent = field(default=NOT_READ, metadata={"unit": "", "internal": True})

    @property
    def number(self) -> str:
        """The kernel's number of the device, as ``MAJOR:MINOR``; empty if not read."""
        found = None if isinstance(self.state, Absent) else re.search(r"^number (\d+:\d+)$", self.state, re.MULTILINE)
        return found[1] if found else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """One network interface."""

    name: str
    speed: int | Absent = fact("bit/s")
    mtu: int | Absent = fact("B")
    state: str | Absent = fact()
    driver: str | Absent = fact()
    addresses: tuple[str, ...] | Absent = fact()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One benchmark tool: its version as printed, or absent because it is not installed."""

    name: str
    version: str | Absent = fact()
    path: str | Absent = fact()
    start_up: float | Absent = fact("s")  # to start it, print its version, and end
    engines: tuple[str, ...] | Absent = fact()  # I/O engines that fio was built with


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLoad:
    """CPU use of all processes of one name, in CPUs. SHORT_LIVED, OUTSIDE and HIDDEN are unexplained use."""

    name: str
    cpus: float | Absent = fact("1")


SHORT_LIVED = "short-lived processes"
OUTSIDE = "outside this container"
HIDDEN = "hidden processes"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskLoad:
    """Use of one disk by others: `requests` at least, and at most `own_requests` more, which may be Benchwright's."""

    name: str
    read: float | Absent = fact("B/s")
    written: float | Absent = fact("B/s")
    requests: float | Absent = fact("1/s")
    own_requests: float | Absent = fact("1/s")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeMeasurements:
    """Short measurements made while reading facts, so that checks need not rely on constants."""

    urandom_rate: float | Absent = fact("B/s")
    watched: float | Absent = fact("s")  # the time in which the use by others was counted
    foreign_cpu: float | Absent = fact("1")  # share of all CPUs used by others meanwhile
    foreign_processes: tuple[ProcessLoad, ...] | Absent = fact()  # the largest
    foreign_disks: tuple[DiskLoad, ...] | Absent = fact()


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All facts of one host at one time. `read_at` is UTC, ISO 8601."""

    host: str
    read_at: str
    system: SystemFacts = field(default_factory=SystemFacts)
    cloud: CloudFacts = field(default_factory=CloudFacts)
    cpu: CpuFacts = field(default_factory=CpuFacts)
    memory: MemoryFacts = field(default_factory=MemoryFacts)
    measured: ProbeMeasurements = field(default_factory=ProbeMeasurements)
    block_devices: tuple[BlockDevice, ...] = ()
    file_systems: tuple[FileSystem, ...] = ()
    directories: tuple[Directory, ...] = ()
    devices: tuple[RawDevice, ...] = ()
    interfaces: tuple[Interface, ...] = ()
    tools: tuple[Tool, ...] = ()
    cloud_limits: tuple[CloudLimit, ...] = ()

    def tool(self, name: str) -> Tool:
        """Return the tool `name`; absent if it was not searched for."""
        for tool in self.tools:
            if tool.name == name:
                return tool
        return Tool(name=name)

    def directory(self, path: str) -> Directory | None:
        """Return the facts of the directory `path`, or None if it was not examined."""
        wanted = path.rstrip("/") or "/"
        return next((found for found in self.directories if found.path == wanted), None)

    def device(self, path: str) -> RawDevice | None:
        """Return the facts of the device at `path`, or None if it was not examined."""
        return next((found for found in self.devices if found.path == path), None)

    def block_device(self, name: str) -> BlockDevice | None:
        """Return the block device `name`, or None."""
        return next((device for device in self.block_devices if device.name == name), None)

    def layers(self, directory: Directory) -> tuple[BlockDevice, ...]:
        """Return the block devices below a directory, the mounted one first, as long as each has a single parent."""
        found: list[BlockDevice] = []
        name = known(directory.volume)
        while name is not None and len(found) < MOST_LAYERS:
            device = self.block_device(name)
            if device is None:
                break
            found.append(device)
            name = known(device.parent)
        return tuple(found)

    def file_system_of(self, path: str) -> FileSystem | None:
        """Return the file system with the longest mount path above `path`, or None if none is known."""
        above = [system for system in self.file_systems if f"{path}/".startswith(f"{system.mount.rstrip('/')}/")]
        return max(above, key=lambda found: len(found.mount), default=None)

    def last_level_cache(self) -> int | None:
        """Return the bytes of last-level cache of all sockets, each shared cache counted once, or None."""
        caches = known(self.cpu.caches)
        if not caches:
            return None
        level = max(cache.level for cache in caches)
        sizes = [
            size * (known(cache.instances) or 1)
            for cache in caches
            if cache.level == level and (size := known(cache.size)) is not None
        ]
        return sum(sizes) or None

    def memory_for_cache(self) -> int | None:
        """Return the bytes available to a page cache: memory, or less if a cgroup limits it."""
        total, limit = known(self.memory.total), known(self.memory.limit)
        given = [size for size in (total, limit) if size is not None]
        return min(given) if given else None


def cpus_for(facts: Facts) -> int | None:
    """Return the number of threads that can run at once: usable CPUs, fewer if a cgroup quota grants fewer."""
    usable, quota = known(facts.cpu.usable), known(facts.cpu.quota)
    if usable is None:
        return None
    return usable if quota is None else max(1, min(usable, math.floor(quota)))


def virtualisation_of(facts: Facts) -> str | None:
    """Return the container, such as ``docker``, else the virtualisation, such as ``kvm``; None without any."""
    found = (known(facts.system.container), known(facts.system.virtualisation))
    return next((one for one in found if one and one != "none"), None)
