"""Checks of the file system, the mount options and the block devices below a step's storage."""

import re
from dataclasses import dataclass

from suites.base import StepEvidence
from suites.checks import FACTS_NOT_READ, Check, CheckOutcome, NotChecked
from suites.disk import LOOP, MEMORY_KINDS, NETWORK_KINDS, directory_of, works_in_directory
from suites.facts import Absent, BlockDevice, Directory, Facts, FileSystem, known
from suites.vocab import Resource, Severity

COPYING_KINDS = frozenset({"btrfs", "bcachefs"})
"""Copy-on-write file systems, unless disabled per directory (chattr(1), C)."""

COMPRESSING = ("compress", "compress-force", "compression")
"""Mount options of btrfs, f2fs and bcachefs that compress data."""


def whole_disk(evidence: StepEvidence) -> BlockDevice | NotChecked:
    """Return the whole disk below a step's directory or raw device, or why it is unknown."""
    facts = evidence.context.facts
    if facts is None:
        return FACTS_NOT_READ
    raw = evidence.suite.device(evidence.values)
    name = _node(facts, raw) if raw else _below(evidence)
    if isinstance(name, NotChecked):
        return name
    found = facts.block_device(name)
    parent = None if found is None else known(found.parent)
    whole = found if parent is None or not raw else facts.block_device(parent)
    return whole or NotChecked(f"Nothing was read about the device {name}.")


def _node(facts: Facts, path: str) -> str | NotChecked:
    found = facts.device(path)
    node = None if found is None else known(found.node)
    return node.rpartition("/")[2] if node else NotChecked(f"Nothing was read about {path} on this host.")


def _below(evidence: StepEvidence) -> str | NotChecked:
    directory = directory_of(evidence)
    if isinstance(directory, NotChecked):
        return directory
    if isinstance(directory.device, Absent):
        return NotChecked(f"The disk below {directory.path} is unknown: {directory.device.reason}.")
    return directory.device


def _directory(evidence: StepEvidence) -> Directory | None:
    """Return the facts of the step's directory; None if unknown, which other checks report."""
    found = directory_of(evidence) if works_in_directory(evidence) else None
    return found if isinstance(found, Directory) else None


def _mounted(evidence: StepEvidence, directory: Directory) -> FileSystem | None:
    facts, mount = evidence.context.facts, known(directory.mount)
    if facts is None or mount is None:
        return None
    return next((found for found in facts.file_systems if found.mount == mount), None)


def _options(evidence: StepEvidence, directory: Directory) -> list[str]:
    mounted = _mounted(evidence, directory)
    options = None if mounted is None else known(mounted.options)
    return [] if options is None else options.split(",")


def _layers(evidence: StepEvidence) -> tuple[BlockDevice, ...]:
    directory, facts = _directory(evidence), evidence.context.facts
    return () if directory is None or facts is None else facts.layers(directory)


def _zfs(evidence: StepEvidence) -> CheckOutcome | None:
    directory = _directory(evidence)
    if directory is None or known(directory.kind) != "zfs":
        return None
    return CheckOutcome(f"{directory.path} is on zfs.")


def _compression(evidence: StepEvidence) -> CheckOutcome | None:
    directory = _directory(evidence)
    if directory is None:
        return None
    option = next((found for found in _options(evidence, directory) if found.partition("=")[0] in COMPRESSING), None)
    set_there = "c" in (known(directory.attributes) or "")
    if option is None and not set_there:
        return None
    how = f"mounted with {option}" if option else "with the attribute c (compressed)"
    return CheckOutcome(f"{directory.path} is on {known(directory.kind) or 'a file system'} {how}.")


def _copy_on_write(evidence: StepEvidence) -> CheckOutcome | None:
    directory = _directory(evidence)
    if directory is None or known(directory.kind) not in COPYING_KINDS:
        return None
    if "nodatacow" in _options(evidence, directory) or "C" in (known(directory.attributes) or ""):
        return None
    return CheckOutcome(f"{directory.path} is on {known(directory.kind)} without NOCOW.")


def _discard(evidence: StepEvidence) -> CheckOutcome | None:
    if not _deletes(evidence) or any(map(_deletes, evidence.earlier)):
        return None
    directory = _directory(evidence)
    options = [] if directory is None else _options(evidence, directory)
    found = next((option for option in options if option in {"discard", "discard=sync"}), None)
    return None if directory is None or found is None else CheckOutcome(f"{directory.path} is mounted with {found}.")


def _deletes(evidence: StepEvidence) -> bool:
    """Return whether each trial writes files that are deleted after it, not files made once for all trials."""
    estimate = evidence.suite.estimate(evidence.values, evidence.context)
    return works_in_directory(evidence) and bool(estimate.written and estimate.space > estimate.prepared)


def _encrypted(evidence: StepEvidence) -> CheckOutcome | None:
    found = next((device for device in _layers(evidence) if known(device.kind) == "crypt"), None)
    return None if found is None else CheckOutcome(f"The directory is on the dm-crypt (LUKS) device {found.name}.")


def _thin(evidence: StepEvidence) -> CheckOutcome | None:
    found = next((device for device in _layers(evidence) if known(device.kind) == "thin-pool"), None)
    return None if found is None else CheckOutcome(f"The directory is on a thin volume in the pool {found.name}.")


def _file_backed(evidence: StepEvidence) -> CheckOutcome | None:
    facts, below = evidence.context.facts, _devices_below(evidence)
    name = next((name for name, _ in below if name.startswith(LOOP)), None)
    if name is None or facts is None:
        return None
    subject = "device is" if evidence.suite.device(evidence.values) else "directory is on"
    on = f"The {subject} {name}, a loop device over"
    found = facts.block_device(name)
    kind = None if found is None else _kind_below(evidence, found)
    if kind in MEMORY_KINDS:
        why = "The backing file is in memory: the figure is that of memory, with direct I/O as well."
        return CheckOutcome(f"{on} a file on {kind}.", why=why)
    return CheckOutcome(f"{on} a file{f' on {kind}' if kind else ''}.")


def _kind_below(evidence: StepEvidence, loop: BlockDevice) -> str | None:
    """Return the file system type of a loop device's backing file, None if not known."""
    facts, path = evidence.context.facts, known(loop.backing_file)
    system = None if facts is None or path is None else facts.file_system_of(path)
    return None if system is None else known(system.kind)


@dataclass(frozen=True, slots=True)
class _Substitute:
    """A kind of block device that answers in place of a disk: what it is, and what that does."""

    name: str
    what: str
    why: str


_MEMORY = "The device is in memory: the figure is that of memory and CPU, not of a disk."
_CACHE = "A cache answers part of the I/Os: the figure depends on what it holds, and its writes may not have reached "
_CACHE += "the disk."

_SUBSTITUTES = (
    _Substitute(r"zram\d+", "zram: compressed memory", _MEMORY),
    _Substitute(r"ram\d+", "brd: a RAM disk", _MEMORY),
    _Substitute(r"nullb\d+", "null_blk: it stores nothing", "The figure is that of the kernel's block layer alone."),
    _Substitute(r"bcache\d+", "bcache: a cache in front of a disk", _CACHE),
    _Substitute(r"cache", "dm-cache: a cache in front of a disk", _CACHE),
    _Substitute(
        r"vdo",
        "VDO: deduplicated and compressed",
        "Repeated and compressible data is not stored: it looks faster than the disk, random data slower.",
    ),
)
"""By kernel name or device-mapper kind."""


def _substitute(evidence: StepEvidence) -> CheckOutcome | None:
    for name, kind in _devices_below(evidence):
        found = next((each for each in _SUBSTITUTES if re.fullmatch(each.name, name) or each.name == kind), None)
        if found is not None:
            return CheckOutcome(f"{name} is {found.what}.", why=found.why)
    return None


def _devices_below(evidence: StepEvidence) -> tuple[tuple[str, str | None], ...]:
    """Return name and kind of the block devices below the step's directory or raw device, the uppermost first."""
    facts, raw = evidence.context.facts, evidence.suite.device(evidence.values)
    if facts is None:
        return ()
    if raw:
        name = _node(facts, raw)
        found = None if isinstance(name, NotChecked) else facts.block_device(name)
        return ((raw if isinstance(name, NotChecked) else name, None if found is None else known(found.kind)),)
    directory = _directory(evidence)
    mounted = None if directory is None else _mounted(evidence, directory)
    source = None if mounted is None else known(mounted.source)
    layers = tuple((device.name, known(device.kind)) for device in _layers(evidence))
    return layers or (((source.rpartition("/")[2], None),) if source is not None and source.startswith("/dev/") else ())


@dataclass(frozen=True, slots=True)
class _Option:
    """A mount option that changes the figure of writes, also of reads, or only of tests whose trials make files: its
    spellings, and what it does."""

    spellings: frozenset[str]
    why: str
    reads: bool = False
    files: bool = False


_OPTIONS = (
    _Option(
        frozenset({"sync"}),
        "Every write waits for the disk, whatever the test asks for: the figure is lower than with the default, async.",
    ),
    _Option(
        frozenset({"dirsync"}),
        "Creating, renaming and deleting a file waits for the disk: tests that make files are slower than by default.",
        files=True,
    ),
    _Option(
        frozenset({"nobarrier", "barrier=0", "barrier=none"}),
        "fsync does not flush the disk's volatile cache: flushed writes look faster than they are, and a power cut "
        "loses them.",
    ),
    _Option(
        frozenset({"data=journal"}),
        "ext4 then ignores O_DIRECT: the page cache serves the I/O. Each block is written twice, to the journal and to "
        "its place.",
        reads=True,
    ),
)  # fmt: skip


def _mount_options(evidence: StepEvidence) -> CheckOutcome | None:
    directory = _directory(evidence)
    if directory is None or known(directory.kind) in NETWORK_KINDS:
        return None  # of a server: sync has another meaning there
    given = set(_options(evidence, directory))
    writes = evidence.suite.estimate(evidence.values, evidence.context).written != 0
    found = [
        option
        for option in _OPTIONS
        if option.spellings & given and (_deletes(evidence) if option.files else writes or option.reads)
    ]
    if not found:
        return None
    named = ", ".join(sorted(min(option.spellings & given) for option in found))
    return CheckOutcome(f"{directory.path} is mounted with {named}.", why=" ".join(option.why for option in found))


def _low_latency(evidence: StepEvidence) -> CheckOutcome | None:
    if evidence.suite.resource is not Resource.DISK:
        return None
    disk = whole_disk(evidence)
    if isinstance(disk, NotChecked) or disk.low_latency is not True:
        return None  # other checks report an unknown disk
    return CheckOutcome(f"{disk.name} uses the scheduler {known(disk.scheduler) or 'BFQ'} with low_latency.")


ZFS_CACHE = Check(
    id="zfs-cache",
    severity=Severity.WARNING,
    title="ZFS ARC will serve reads",
    why="The ARC caches reads and writes in up to half the memory, and ZFS before 2.3 ignores O_DIRECT: reads come "
    "from memory. ZFS also compresses zeros away.",
    remedy="Use a dataset with primarycache=metadata and compression=off, or files of at least twice the memory.",
    source="OpenZFS, Module parameters and the direct property (2.3); KDiskMark issue 148.",
    needs="The directory's file system.",
    evaluate=_zfs,
)

COMPRESSION = Check(
    id="compressing-file-system",
    severity=Severity.INFO,
    title="File system compresses data",
    why="Compressible data looks faster than the disk; zeros hardly reach it. Random data costs the CPU a compression "
    "attempt.",
    remedy="Use random data, and an uncompressed directory to measure the disk.",
    source="btrfs(5), compression; chattr(1), c; KDiskMark issue 136.",
    needs="The directory's mount options and attributes.",
    evaluate=_compression,
)

COPY_ON_WRITE = Check(
    id="copy-on-write",
    severity=Severity.INFO,
    title="File system is copy-on-write",
    why="Each changed block goes to a new location, with a checksum and metadata: random writes are slower than the "
    "disk, and the file fragments from trial to trial.",
    remedy="Use a directory with chattr +C to measure the disk; leave it to measure the file system.",
    source="btrfs(5), nodatacow; KDiskMark, which offers a NOCOW directory.",
    needs="The directory's file system, mount options and attributes.",
    evaluate=_copy_on_write,
)

DISCARD = Check(
    id="discard-mount",
    severity=Severity.INFO,
    title="Mounted with discard (online TRIM)",
    why="Each deletion sends TRIM commands, which some devices handle slowly: deleting the files of one trial slows "
    "down the next. Shown once for tests whose trials delete files.",
    remedy="Mount without discard and run fstrim periodically, or pause between trials.",
    source="PerfSpect's insights; fstrim(8), mount(8).",
    needs="The directory's mount options.",
    evaluate=_discard,
)

ENCRYPTED = Check(
    id="encrypted-disk",
    severity=Severity.INFO,
    title="Disk is encrypted (dm-crypt)",
    why="The CPU encrypts every byte and limits a fast device; figures compare badly with those of the bare device.",
    remedy="Quote the figure as encrypted; “cryptsetup benchmark” shows the CPU's limit.",
    source="KDiskMark issue 143; cryptsetup(8).",
    needs="The block devices below the directory.",
    evaluate=_encrypted,
)

THIN_VOLUME = Check(
    id="thin-volume",
    severity=Severity.WARNING,
    title="Thin-provisioned volume",
    why="The first write of each block allocates it from the pool, which is slow; unwritten blocks read as zeros "
    "without disk I/O. A full volume behaves differently.",
    remedy="Fill the volume first, twice its capacity for an SSD, and measure the second pass.",
    source="lvmthin(7); SNIA Solid State Storage Performance Test Specification, preconditioning.",
    needs="The block devices below the directory.",
    evaluate=_thin,
)

FILE_BACKED = Check(
    id="file-backed-disk",
    severity=Severity.WARNING,
    title="Loop device: disk is a file",
    why="The file system of the backing file caches it again: memory can serve even direct I/O, and a sparse file is "
    "read without disk I/O.",
    remedy="Use a disk, or losetup --direct-io=on with a fully written file.",
    source="losetup(8), --direct-io; elbencho, which warns of sparse files.",
    needs="The block devices below the directory, or the raw device.",
    evaluate=_file_backed,
)

NO_PLAIN_DISK = Check(
    id="substitute-device",
    severity=Severity.WARNING,
    title="Device is not a plain disk",
    why="Memory or a cache answers in place of the disk.",
    remedy="Choose a directory on the disk to measure, or quote the figure with the device's name.",
    source="Linux documentation: zram, brd, null_blk, bcache, device-mapper cache and VDO.",
    needs="The block devices below the directory, or the raw device.",
    evaluate=_substitute,
)

MOUNT_OPTIONS = Check(
    id="mount-options",
    severity=Severity.WARNING,
    title="Mount options change the figure",
    why="sync makes each write wait, dirsync each new file; nobarrier skips flushes; data=journal ignores O_DIRECT and "
    "writes data twice.",
    remedy="Mount the file system with its default options, or quote them with the figure.",
    source="mount(8), sync and dirsync; ext4(5), barrier and data; Linux fs/ext4/file.c, ext4_should_use_dio.",
    needs="The directory's mount options.",
    evaluate=_mount_options,
)

BFQ_LOW_LATENCY = Check(
    id="bfq-low-latency",
    severity=Severity.WARNING,
    title="BFQ low_latency is on",
    why="BFQ gives interactive programs the disk for seconds at a time and throttles a steady load such as a "
    "benchmark.",
    remedy="Set low_latency to 0, or the scheduler to none or mq-deadline for the run (--tune scheduler=none).",
    source="Phoronix Test Suite, perf_tips; Linux documentation, BFQ.",
    needs="The disk's scheduler and its low_latency.",
    evaluate=_low_latency,
)

LAYER_CHECKS = (
    ZFS_CACHE,
    COMPRESSION,
    COPY_ON_WRITE,
    DISCARD,
    ENCRYPTED,
    THIN_VOLUME,
    FILE_BACKED,
    NO_PLAIN_DISK,
    MOUNT_OPTIONS,
    BFQ_LOW_LATENCY,
)
