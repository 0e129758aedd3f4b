"""What was read off a host: every fact with its unit, or absent with the reason why."""

import re
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Absent:
    """A fact that could not be read, and why. Never a zero, never a guess."""

    reason: str


def known(fact: "T | Absent") -> "T | None":
    """Return the fact's value, or None where it is absent."""
    return None if isinstance(fact, Absent) else fact


NOT_READ = Absent("not read")

MOST_LAYERS = 8
"""Devices built on devices on devices: how far down is looked."""


def fact(unit: str = "") -> Any:
    """Declare a fact measured in `unit`; until read it is absent."""
    return field(default=NOT_READ, metadata={"unit": unit})


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemFacts:
    """The operating system and what it runs on."""

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
    clock_offset: float | Absent = fact("s")  # host minus workstation, by the middle of the round trip
    user: str | Absent = fact()
    workstation_address: str | Absent = fact()  # the client's address as this host sees it
    io_uring_disabled: int | Absent = fact("1")  # 0: for nobody, 1: for all but root and one group, 2: for everybody


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudFacts:
    """What the cloud's metadata service tells, where one answers within 300 ms."""

    provider: str | Absent = fact()
    instance_type: str | Absent = fact()
    instance_id: str | Absent = fact()
    region: str | Absent = fact()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    """One CPU cache. `shared_by` is how many logical CPUs share one instance, `instances` how many there are."""

    level: int
    kind: str
    size: int | Absent = fact("B")
    shared_by: int | Absent = fact("1")
    instances: int | Absent = fact("1")


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuFacts:
    """The processors. `usable` is what this user may run on: affinity, not the quota."""

    model: str | Absent = fact()
    sockets: int | Absent = fact("1")
    cores: int | Absent = fact("1")
    threads: int | Absent = fact("1")
    offline: int | Absent = fact("1")  # CPUs that are there and switched off
    usable: int | Absent = fact("1")
    flags: tuple[str, ...] | Absent = fact()
    governor: str | Absent = fact()
    energy_preference: str | Absent = fact()  # what the processor is told to prefer, such as balance_performance
    boost: bool | Absent = fact()  # may it go above its base frequency
    hyperthreading: str | Absent = fact()  # the kernel's word: on, off, forceoff, notsupported, notimplemented
    frequency_maximum: float | Absent = fact("MHz")
    caches: tuple[Cache, ...] | Absent = fact()
    numa_nodes: int | Absent = fact("1")
    numa_balancing: bool | Absent = fact()  # the kernel moves pages to the node that uses them
    quota: float | Absent = fact("1")  # CPUs a cgroup grants


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFacts:
    """Memory, in bytes. `limit` is a cgroup's."""

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
    """One block device: a disk, a partition or a device built on others."""

    name: str
    kind: str | Absent = fact()
    size: int | Absent = fact("B")
    model: str | Absent = fact()
    rotational: bool | Absent = fact()
    scheduler: str | Absent = fact()
    readahead: int | Absent = fact("B")
    queue_depth: int | Absent = fact("1")
    sector: int | Absent = fact("B")  # the smallest block that it takes
    low_latency: bool | Absent = fact()  # the BFQ scheduler favours interactive programs
    parent: str | Absent = fact()


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
"""What guard.sh says of a directory in which no other account may replace anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """One directory a disk test may write in, and what was found by trying."""

    path: str
    mount: str | Absent = fact()
    kind: str | Absent = fact()  # the file system's type
    device: str | Absent = fact()  # the whole disk below it, such as vda
    volume: str | Absent = fact()  # the block device that is mounted, such as vda1 or dm-0
    attributes: str | Absent = fact()  # its letters as lsattr prints them: C is no copy on write, c compressed
    free: int | Absent = fact("B")
    writable: bool | Absent = fact()
    direct: bool | Absent = fact()  # O_DIRECT accepted
    guard: str | Absent = fact()  # SAFE, or the complaint of guard.sh: other accounts may replace what is in it

    @property
    def unsafe(self) -> bool:
        """Whether other accounts are known to be able to replace what is in it."""
        return not isinstance(self.guard, Absent) and self.guard != SAFE


@dataclass(frozen=True, slots=True, kw_only=True)
class RawDevice:
    """One block device that a test is to use as a whole: which one it is, and who uses it. More is seen as root.

    `path` is as it was asked for, `node` the kernel's own. `uses` are lines of device.sh, such as ``mount sdb1 /data``;
    `signatures` the file systems and tables found on it and its partitions, such as ``sdb1 ext4``. `state` is the whole
    answer, by which the host tells right before a test whether anything has changed.
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
    free: bool | Absent = fact()  # the kernel grants it to somebody alone (O_EXCL)
    written: bool | Absent = fact()  # its first and last MiB hold something other than zeros
    endurance_used: float | Absent = fact("%")  # of what the drive is rated for, as SMART tells it
    lifetime_written: int | Absent = fact("B")  # in its whole life, as SMART tells it
    state: str | Absent = field(default=NOT_READ, metadata={"unit": "", "internal": True})

    @property
    def number(self) -> str:
        """The kernel's number of the device, as ``MAJOR:MINOR``; empty where it was not read."""
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
    """One benchmark tool: its version as it names itself, or absent because it is not installed."""

    name: str
    version: str | Absent = fact()
    path: str | Absent = fact()
    start_up: float | Absent = fact("s")  # to start it, have it print its version, and end
    engines: tuple[str, ...] | Absent = fact()  # the ways of doing I/O that fio was built with


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Short measurements the probe takes, so that warnings need not rest on constants."""

    urandom_rate: float | Absent = fact("B/s")
    foreign_cpu: float | Absent = fact("1")  # the share of all CPUs that others used while the probe slept


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Everything read off one host at one moment. `read_at` is UTC, ISO 8601."""

    host: str
    read_at: str
    system: SystemFacts = field(default_factory=SystemFacts)
    cloud: CloudFacts = field(default_factory=CloudFacts)
    cpu: CpuFacts = field(default_factory=CpuFacts)
    memory: MemoryFacts = field(default_factory=MemoryFacts)
    measured: Measured = field(default_factory=Measured)
    block_devices: tuple[BlockDevice, ...] = ()
    file_systems: tuple[FileSystem, ...] = ()
    directories: tuple[Directory, ...] = ()
    devices: tuple[RawDevice, ...] = ()
    interfaces: tuple[Interface, ...] = ()
    tools: tuple[Tool, ...] = ()

    def tool(self, name: str) -> Tool:
        """Return the tool `name`; one the probe never looked for is absent too."""
        for tool in self.tools:
            if tool.name == name:
                return tool
        return Tool(name=name)

    def directory(self, path: str) -> Directory | None:
        """Return what was found about the directory `path`, or None where the probe did not look."""
        wanted = path.rstrip("/") or "/"
        return next((found for found in self.directories if found.path == wanted), None)

    def device(self, path: str) -> RawDevice | None:
        """Return what was found about the device at `path`, or None where the probe did not look."""
        return next((found for found in self.devices if found.path == path), None)

    def block_device(self, name: str) -> BlockDevice | None:
        """Return the block device `name`, or None."""
        return next((device for device in self.block_devices if device.name == name), None)

    def layers(self, directory: Directory) -> tuple[BlockDevice, ...]:
        """Return the block devices below a directory, the mounted one first, as far as one lies on one other."""
        found: list[BlockDevice] = []
        name = known(directory.volume)
        while name is not None and len(found) < MOST_LAYERS:
            device = self.block_device(name)
            if device is None:
                break
            found.append(device)
            name = known(device.parent)
        return tuple(found)

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
        """Return the bytes that can hold a page cache: memory, or less where a cgroup limits it."""
        total, limit = known(self.memory.total), known(self.memory.limit)
        given = [size for size in (total, limit) if size is not None]
        return min(given) if given else None
