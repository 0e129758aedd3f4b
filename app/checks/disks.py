"""Checks of what lies between a directory and its disk: file systems that change data, layers, schedulers."""

from suites.base import device_of
from suites.checks import CannotTell, Check, Outcome, StepEvidence
from suites.disk import directory_of, works_in_directory
from suites.facts import Absent, BlockDevice, Directory, Facts, FileSystem, known
from suites.vocab import Level, Resource

COPYING_KINDS = frozenset({"btrfs", "bcachefs"})
"""File systems that write changed data elsewhere unless they are told not to (chattr(1), C)."""

COMPRESSING = ("compress", "compress-force", "compression")
"""Mount options of btrfs, f2fs and bcachefs that compress data."""


def disk_below(evidence: StepEvidence) -> BlockDevice | CannotTell:
    """Return the whole disk that a step works on, in its directory or raw, or why it is not known."""
    facts = evidence.context.facts
    if facts is None:
        return CannotTell("The host's facts have not been read.")
    raw = device_of(evidence.suite, evidence.values)
    name = _node(facts, raw) if raw else _below(evidence)
    if isinstance(name, CannotTell):
        return name
    found = facts.block_device(name)
    parent = None if found is None else known(found.parent)
    whole = found if parent is None or not raw else facts.block_device(parent)
    return whole or CannotTell(f"Nothing was read about the device {name}.")


def _node(facts: Facts, path: str) -> str | CannotTell:
    found = facts.device(path)
    node = None if found is None else known(found.node)
    return node.rpartition("/")[2] if node else CannotTell(f"Nothing was read about {path} on this host.")


def _below(evidence: StepEvidence) -> str | CannotTell:
    directory = directory_of(evidence)
    if isinstance(directory, CannotTell):
        return directory
    if isinstance(directory.device, Absent):
        return CannotTell(f"The disk below {directory.path} is not known: {directory.device.reason}.")
    return directory.device


def _directory(evidence: StepEvidence) -> Directory | None:
    """Return what is known of the step's directory; where nothing is, other checks say so."""
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


def _zfs(evidence: StepEvidence) -> Outcome | None:
    directory = _directory(evidence)
    if directory is None or known(directory.kind) != "zfs":
        return None
    return Outcome(f"{directory.path} is on zfs.")


def _compression(evidence: StepEvidence) -> Outcome | None:
    directory = _directory(evidence)
    if directory is None:
        return None
    option = next((found for found in _options(evidence, directory) if found.partition("=")[0] in COMPRESSING), None)
    set_there = "c" in (known(directory.attributes) or "")
    if option is None and not set_there:
        return None
    how = f"it is mounted with {option}" if option else "it has the attribute c (compressed)"
    return Outcome(f"{directory.path} is on {known(directory.kind) or 'a file system'}, and {how}.")


def _copy_on_write(evidence: StepEvidence) -> Outcome | None:
    directory = _directory(evidence)
    if directory is None or known(directory.kind) not in COPYING_KINDS:
        return None
    if "nodatacow" in _options(evidence, directory) or "C" in (known(directory.attributes) or ""):
        return None
    return Outcome(f"{directory.path} is on {known(directory.kind)} without NOCOW.")


def _discard(evidence: StepEvidence) -> Outcome | None:
    directory = _directory(evidence)
    options = [] if directory is None else _options(evidence, directory)
    found = next((option for option in options if option in {"discard", "discard=sync"}), None)
    return None if directory is None or found is None else Outcome(f"{directory.path} is mounted with {found}.")


def _encrypted(evidence: StepEvidence) -> Outcome | None:
    found = next((device for device in _layers(evidence) if known(device.kind) == "crypt"), None)
    return None if found is None else Outcome(f"{found.name} below it is dm-crypt (LUKS).")


def _thin(evidence: StepEvidence) -> Outcome | None:
    found = next((device for device in _layers(evidence) if known(device.kind) == "thin-pool"), None)
    return None if found is None else Outcome(f"It lies on a thin volume, in the pool {found.name}.")


def _file_backed(evidence: StepEvidence) -> Outcome | None:
    layers = _layers(evidence)
    found = next((device for device in layers if device.name.startswith("loop")), None)
    return None if found is None else Outcome(f"{found.name} below it is a file of another file system.")


def _low_latency(evidence: StepEvidence) -> Outcome | None:
    if evidence.suite.resource is not Resource.DISK:
        return None
    disk = disk_below(evidence)
    if isinstance(disk, CannotTell) or disk.low_latency is not True:
        return None  # where nothing is known of the disk, others say so
    return Outcome(f"{disk.name} is scheduled by {known(disk.scheduler) or 'BFQ'} with low_latency.")


ZFS_CACHE = Check(
    id="zfs-cache",
    level=Level.WARNING,
    title="ZFS answers from its own cache",
    why="ZFS keeps what was read and written in its ARC, which may take half the memory, and before 2.3 it accepts "
    "O_DIRECT without heeding it: reads come from memory whatever the tool asks for. It compresses zeros away, too.",
    remedy="Measure a data set with primarycache=metadata and compression=off, or files of at least twice the memory.",
    source="OpenZFS, Module parameters and the direct property (2.3); KDiskMark issue 148.",
    needs="The directory's file system.",
    evaluate=_zfs,
)

COMPRESSION = Check(
    id="compressing-file-system",
    level=Level.INFO,
    title="The file system compresses",
    why="What can be compressed takes less of the disk and looks faster than the disk is; zeros hardly reach it. "
    "Random data cost the CPU an attempt.",
    remedy="Measure with random data, and in a directory that is not compressed where the disk is the question.",
    source="btrfs(5), compression; chattr(1), c; KDiskMark issue 136.",
    needs="The directory's mount options and attributes.",
    evaluate=_compression,
)

COPY_ON_WRITE = Check(
    id="copy-on-write",
    level=Level.INFO,
    title="Overwriting writes elsewhere",
    why="The file system puts each changed block in a new place, with a checksum and its own records: random writes "
    "are slower than the disk, and the file falls to pieces from trial to trial.",
    remedy="Measure in a directory with chattr +C where the disk is the question; leave it where the file system is.",
    source="btrfs(5), nodatacow; KDiskMark, which offers a NOCOW directory.",
    needs="The directory's file system, mount options and attributes.",
    evaluate=_copy_on_write,
)

DISCARD = Check(
    id="discard-mount",
    level=Level.INFO,
    title="Deleting tells the device at once",
    why="With the option discard each deletion sends TRIM commands, which some devices answer slowly: files of one "
    "trial that are removed slow down the next.",
    remedy="Mount without discard and let fstrim do it from time to time, or pause between trials.",
    source="PerfSpect's insights; fstrim(8), mount(8).",
    needs="The directory's mount options.",
    evaluate=_discard,
)

ENCRYPTED = Check(
    id="encrypted-disk",
    level=Level.INFO,
    title="The disk is encrypted by the host",
    why="Each byte passes the processor: a fast device is limited by it, and figures compare badly with those of the "
    "bare device.",
    remedy="Say so beside the figure; “cryptsetup benchmark” tells what the processor manages.",
    source="KDiskMark issue 143; cryptsetup(8).",
    needs="The devices below the directory.",
    evaluate=_encrypted,
)

THIN_VOLUME = Check(
    id="thin-volume",
    level=Level.WARNING,
    title="The volume is filled as it is written",
    why="A thin volume takes space from its pool at the first write of each block, which is slow; blocks that were "
    "never written are read as zeros without asking the disk. Neither is how it will be once it is full.",
    remedy="Fill the volume first, twice its capacity for a solid-state disk; the second pass is what is meant.",
    source="lvmthin(7); SNIA Solid State Storage Performance Test Specification, preconditioning.",
    needs="The devices below the directory.",
    evaluate=_thin,
)

FILE_BACKED = Check(
    id="file-backed-disk",
    level=Level.WARNING,
    title="The disk is a file",
    why="A loop device lies in a file of another file system, and is cached there once more: memory answers even to "
    "direct I/O, and a sparse file is read without a disk.",
    remedy="Choose a directory on a disk; or losetup --direct-io=on, and a file that was written in full.",
    source="losetup(8), --direct-io; elbencho, which warns of sparse files.",
    needs="The devices below the directory.",
    evaluate=_file_backed,
)

BFQ_LOW_LATENCY = Check(
    id="bfq-low-latency",
    level=Level.WARNING,
    title="The scheduler favours others",
    why="BFQ's low_latency gives interactive programs the disk for seconds at a time and holds back a steady load, "
    "which is what a benchmark looks like.",
    remedy="Set low_latency to 0, or the scheduler to none or mq-deadline for the run (--tune scheduler=none).",
    source="Phoronix Test Suite, perf_tips; Linux documentation, BFQ.",
    needs="The scheduler of the disk below and its low_latency.",
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
    BFQ_LOW_LATENCY,
)
