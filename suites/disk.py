"""Helpers and checks shared by the disk suites: directories, devices below them, plausible rates."""

from collections.abc import Callable, Mapping, Sequence

from suites.base import Context, StepCheck, StepEvidence, Suite
from suites.checks import FACTS_NOT_READ, Check, CheckOutcome, NotChecked
from suites.facts import NOT_READ, BlockDevice, Directory, Facts, known
from suites.parameters import Parameter, Type, Value, Values
from suites.quantities import quantity
from suites.units import Unit
from suites.vocab import Severity

KIB, MIB, GIB = 2**10, 2**20, 2**30

SECTOR = 512
"""Bytes. The smallest unit of direct I/O on any device; many require 4 KiB (open(2), O_DIRECT)."""

MEMORY_KINDS = frozenset({"tmpfs", "ramfs", "devtmpfs", "hugetlbfs"})
"""File systems in memory."""

NETWORK_KINDS = frozenset({"nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "ceph", "glusterfs", "fuse.sshfs"})
"""File systems on another machine."""

LOOP = "loop"
"""Kernel name of loop devices, which are files of another file system: loop0, loop1."""

SOLID_STATE_RATE = 1e9
"""B/s. Round figure for solid-state and cloud volumes: SATA devices reach half of it, NVMe two to seven times."""

ROTATING_RATE = 200e6
"""B/s. Sequential rate of one rotating disk at best."""

DIRECTORY = Parameter(
    name="directory",
    title="Directory",
    type=Type.TEXT,
    default="/var/tmp",  # noqa: S108 (the step's own private directory, mode 0700, is made in it)
    help="Absolute path on the disk to measure. Files go into a private directory below it, removed after the run.",
    pattern=r"/.*",
    identity=False,
)


def best_directory(facts: Facts | None) -> Directory | None:
    """Return the writable directory with the most free space on a local disk, or None.

    A network file system is used only if there is no other; a memory file system never.
    """
    candidates = [
        found
        for found in (() if facts is None else facts.directories)
        if found.writable is True and not found.unsafe and known(found.kind) not in MEMORY_KINDS
    ]
    return max(candidates, key=_merit, default=None)


def _merit(directory: Directory) -> tuple[bool, int]:
    return known(directory.kind) not in NETWORK_KINDS, known(directory.free) or 0


def directory_of(evidence: StepEvidence) -> Directory | NotChecked:
    """Return the facts of the directory the step writes in, or why there are none.

    For a directory that was not tried: the facts of the file system with the longest matching mount path.
    """
    parameter, facts = evidence.suite.directory_parameter, evidence.context.facts
    if parameter is None or evidence.suite.device(evidence.values):
        return NotChecked("The test writes no files.")
    if facts is None:
        return FACTS_NOT_READ
    path = str(evidence.values[parameter])
    found = facts.directory(path) or _untried(facts, path)
    return found or NotChecked(f"No facts of {path} on this host.")


def _untried(facts: Facts, path: str) -> Directory | None:
    system = facts.file_system_of(path)
    if system is None:
        return None
    tried = next((found for found in facts.directories if known(found.mount) == system.mount), None)
    device, volume = (NOT_READ, NOT_READ) if tried is None else (tried.device, tried.volume)
    return Directory(path=path, mount=system.mount, kind=system.kind, free=system.free, device=device, volume=volume)


def cache_for(evidence: StepEvidence, size: int) -> int | NotChecked | None:
    """Return the bytes of the page cache that keeps much of `size` bytes; None if they are far more than memory."""
    facts = evidence.context.facts
    memory = None if facts is None else facts.memory_for_cache()
    if memory is None:
        return NotChecked("The host's memory is not known.")
    return memory if size < CACHE_FACTOR * memory else None


def works_in_directory(evidence: StepEvidence) -> bool:
    """Whether the step creates files in a directory, not on a raw device."""
    return evidence.suite.directory_parameter is not None and not evidence.suite.device(evidence.values)


def is_rotating(context: Context, path: str) -> bool:
    """Whether the disk below `path` is known to rotate. Virtual disks often report rotational without rotating."""
    facts = context.facts
    found = None if facts is None else facts.directory(path)
    name = None if found is None else known(found.device)
    device = None if facts is None or name is None else facts.block_device(name)
    if facts is None or device is None or device.name.startswith(("vd", "xvd")):
        return False
    return device.rotational is True and known(facts.system.virtualisation) in {None, "", "none"}


def disk_under(evidence: StepEvidence) -> BlockDevice | None:
    """Return the whole disk below the step's directory or partition, or its raw device; None if not known."""
    facts, raw = evidence.context.facts, evidence.suite.device(evidence.values)
    if facts is None:
        return None
    if raw:
        return _of_partition(facts, facts.block_device(_node(facts, raw)))
    found = directory_of(evidence)
    name = None if isinstance(found, NotChecked) else known(found.device)
    return None if name is None else facts.block_device(name)


def _node(facts: Facts, raw: str) -> str:
    """Return the kernel's name of a raw device, whatever the path that names it."""
    device = facts.device(raw)
    node = None if device is None else known(device.node)
    return (node or raw).removeprefix("/dev/")


def _of_partition(facts: Facts, device: BlockDevice | None) -> BlockDevice | None:
    parent = known(device.parent) if device is not None and known(device.kind) == "part" else None
    return device if parent is None else facts.block_device(parent)


def accepts_direct(evidence: StepEvidence) -> bool:
    """Whether O_DIRECT is not known to fail in the step's directory."""
    found = directory_of(evidence)
    return isinstance(found, NotChecked) or found.direct is not False


def free_bytes(evidence: StepEvidence) -> int | None:
    """Return the free bytes of the step's directory, or None if not known."""
    found = directory_of(evidence)
    return None if isinstance(found, NotChecked) else known(found.free)


DIRECT_TOTAL = 2 * GIB
"""Bytes of all files with direct I/O, at least: more than a drive's DRAM, and written within 35 s even at 64 MB/s."""


def room_for(most: int, directory: Directory, share: int = 10) -> int:
    """Return `most` bytes, or the `share`-th part of the directory's free space if that is less."""
    free = known(directory.free)
    return most if free is None else min(most, free // share)


def whole_mebibytes(size: float) -> int:
    """Return `size` rounded down to whole MiB, at least one."""
    return max(MIB, int(size) // MIB * MIB)


def covered(size: int, facts: Facts | None, directory: Directory) -> str:
    """Return in words what share of its volume `size` bytes cover; nothing where the volume's size is not known."""
    system = None if facts is None else facts.file_system_of(directory.path)
    whole = None if system is None else known(system.size)
    return f" ({100 * size / whole:.2g} % of the volume)" if whole else ""


def lowest_device(suite: Suite, values: Values, facts: Facts) -> str | None:
    """Return the kernel's name of the whole disk or loop device that a step uses; None if not known."""
    raw = suite.device(values)
    if raw:
        name: str | None = _node(facts, raw)
    else:
        directory = facts.directory(str(values.get(suite.directory_parameter or "", "")))
        name = None if directory is None else known(directory.device)
        if directory is not None and name is None:  # a loop device has no disk of its own, but its name identifies it
            lowest = facts.layers(directory)[-1:]
            return next((each.name for each in lowest if each.name.startswith(LOOP)), None)
    while name and (block := facts.block_device(name)) is not None and (parent := known(block.parent)):
        name = parent
    return name


# Checks of any disk test, with shared texts; each suite supplies the condition.


Evaluate = Callable[[StepEvidence], CheckOutcome | NotChecked | None]

CACHE_FACTOR = 2
"""Multiple of the memory size below which much of the files is cached."""


def page_cache(evaluate: Evaluate) -> StepCheck:
    """Return the check that the page cache does not replace the disk."""
    return Check(
        id="page-cache",
        severity=Severity.WARNING,
        title="Page cache will serve the I/O",
        why="Files that fit into memory stay in the page cache: many I/Os never reach the device, and the figure "
        "can be a hundred times too high.",
        remedy="Use direct I/O, or files of at least twice the memory.",
        source="fio manual, direct and invalidate; a storage engineer's series (853,333 IOPS cached, 8,767 direct).",
        needs="Direct I/O, flushing, file size; the host's memory.",
        evaluate=evaluate,
    )


def unflushed_write(evaluate: Evaluate) -> StepCheck:
    """Return the check that written data reaches the disk while the clock runs."""
    return Check(
        id="unflushed-write",
        severity=Severity.WARNING,
        title="No flush to the disk",
        why="A buffered write ends when the data is in the page cache; writeback follows after the clock stops. "
        "Example (another host): 6.1 to 6.5 GB/s unflushed, 2.4 to 2.6 GB/s flushed.",
        remedy="Flush before the clock stops, or use direct I/O.",
        source="dd manual, conv=fdatasync and oflag=direct; fio manual, end_fsync.",
        needs="Pattern, direct I/O, flushing.",
        evaluate=evaluate,
    )


def direct_refused(asked: Callable[[Values], bool], instead: Mapping[str, Value]) -> StepCheck:
    """Return the check that the directory accepts direct I/O where it is `asked` for; `instead` turns it off."""

    def evaluate(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
        if not asked(evidence.values):
            return None
        directory = directory_of(evidence)
        if isinstance(directory, NotChecked):
            return directory
        accepted = known(directory.direct)
        if accepted is None:
            return NotChecked(f"{directory.path} was not tried with direct I/O.")
        kind = known(directory.kind) or "its file system"
        return (
            None
            if accepted
            else CheckOutcome(f"{directory.path} is on {kind}, which refused O_DIRECT.", changes=instead)
        )

    return Check(
        id="direct-refused",
        severity=Severity.ERROR,
        blocks=True,
        title="O_DIRECT is refused",
        why="The tool exits at once with “Invalid argument” and measures nothing.",
        remedy="Choose a directory on another file system, or turn direct I/O off and avoid the page cache "
        "another way.",
        source="open(2), O_DIRECT; tried on the host when its facts were read.",
        needs="Whether O_DIRECT worked in the directory when the host's facts were read.",
        evaluate=evaluate,
    )


def _block_size(values: Values) -> tuple[int, ...]:
    return (int(values["block_size"]),)


def unaligned_direct(
    asked: Callable[[Values], bool], blocks: Callable[[Values], Sequence[int]] = _block_size
) -> StepCheck:
    """Return the check that `blocks` of direct I/O, where it is `asked` for, are whole sectors."""

    def evaluate(evidence: StepEvidence) -> CheckOutcome | None:
        disk, sizes = disk_under(evidence), blocks(evidence.values)
        sector = (None if disk is None else known(disk.sector)) or SECTOR
        block = next((size for size in sizes if size % sector), None)
        if not asked(evidence.values) or block is None:
            return None
        text = f"{SECTOR} B" if disk is None else f"the {sector} B sector of {disk.name}"
        page = max(sector, 4 * KIB)
        changes = (
            {"block_size": min(256 * MIB, -(-block // page) * page)} if sizes == _block_size(evidence.values) else {}
        )
        return CheckOutcome(f"The block size is {block} B, not a multiple of {text}.", changes=changes)

    return Check(
        id="unaligned-direct",
        severity=Severity.ERROR,
        blocks=True,
        title="Block size not sector-aligned",
        why="The first request fails with “Invalid argument” and ends the test.",
        remedy="Set the block size to a multiple of the device's sector, preferably of 4 KiB.",
        source="open(2), O_DIRECT; fio and elbencho refuse it, sysbench 1.0.20 and ioping 1.3 fail (tried).",
        needs="Direct I/O and block size; the sector size of the disk.",
        evaluate=evaluate,
    )


def short_runtime(evaluate: Evaluate, remedy: str) -> StepCheck:
    """Return the check that a disk test runs long enough."""
    return Check(
        id="short-runtime",
        severity=Severity.WARNING,
        title="Runtime too short",
        why="Device caches, burst credits, start-up and a single disturbance dominate a short run.",
        remedy=remedy,
        source="a storage engineer's fio series (a first run of 3 ms showed 85,333 IOPS while the device was idle).",
        needs="Runtime, or size and plausible rate of the disk.",
        evaluate=evaluate,
    )


RARE_FLUSH = 1.0
"""Seconds between two flushes, at a plausible rate of the disk, from which writes count as unflushed."""

_PLAUSIBLE_WRITES = 50_000
"""Writes per second of a solid-state volume through the page cache."""


def flushed_in_time(requests: int, block: int, size: int) -> bool:
    """Return whether a flush after every `requests` blocks bounds the rate of writes to files of `size` bytes.

    Between flushes further apart than the files are large, the same blocks are overwritten in the page cache.
    """
    seconds = max(requests * block / SOLID_STATE_RATE, requests / _PLAUSIBLE_WRITES)
    return 0 < requests * block < size and seconds < RARE_FLUSH


def throughput_ceiling(evaluate: Evaluate) -> StepCheck:
    """Return the check that an IOPS test does not reach the throughput limit first."""
    return Check(
        id="throughput-ceiling",
        severity=Severity.INFO,
        title="Throughput limit may precede IOPS limit",
        why="Volumes and the network in front of them limit both. Example (another host): 55 of 62.5 MB/s reached with "
        "16 KiB blocks, the provisioned IOPS never.",
        remedy="Use 4 KiB blocks to measure IOPS.",
        source="a consultancy's test of provisioned IOPS (88 % of the network, 2012).",
        needs="Pattern and block size.",
        evaluate=evaluate,
    )


SHARE_OF_STARTING = 0.01
"""Maximum share of the tool's start-up in a figure."""


def least_seconds(evidence: StepEvidence, least: float) -> tuple[float, str]:
    """Return the seconds below which a timed copy is too short, and the reason if start-up on the host determines it.

    `least` is the constant minimum; where start-up was timed on the host, it may be at most 1 % of the figure.
    """
    facts = evidence.context.facts
    started = None if facts is None else known(facts.tool(evidence.suite.tool).start_up)
    if started is None or started / SHARE_OF_STARTING <= least:
        return least, ""
    return started / SHARE_OF_STARTING, f" Starting {evidence.suite.tool} alone took {started:.2g} s here."


def roughly(seconds: float) -> str:
    """Return `seconds` with one significant digit, never in exponent notation."""
    return f"{seconds:.1g}" if seconds < 1 else f"{seconds:.0f}"


def seconds_of_copy(evidence: StepEvidence, size: int) -> tuple[float, str]:
    """Return the seconds of a copy of `size` bytes, measured or at a plausible rate, and a clause that says which."""
    if evidence.measured_seconds is not None:
        return evidence.measured_seconds, f"took {quantity(evidence.measured_seconds, Unit.SECOND)}"
    rate, basis = plausible_rate(evidence)
    return size / rate, f"take {roughly(size / rate)} s {basis}"


def plausible_rate(evidence: StepEvidence) -> tuple[float, str]:
    """Return the plausible B/s of the disk below the step's directory, and the reason."""
    parameter = evidence.suite.directory_parameter if works_in_directory(evidence) else None
    rotating = parameter is not None and is_rotating(evidence.context, str(evidence.values[parameter]))
    if rotating:
        return ROTATING_RATE, f"at the {quantity(ROTATING_RATE, Unit.BYTES_PER_SECOND)} of a rotating disk"
    return SOLID_STATE_RATE, f"at the {quantity(SOLID_STATE_RATE, Unit.BYTES_PER_SECOND)} of a solid-state volume"
