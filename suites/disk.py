"""What the disk suites share: where files go, what lies under them, and how fast such things can be."""

from suites.base import Context, Suite, device_of
from suites.checks import CannotTell, StepEvidence
from suites.facts import BlockDevice, Directory, Facts, known
from suites.parameters import Parameter, Type, Values
from suites.units import Unit, display

KIB, MIB, GIB = 2**10, 2**20, 2**30

SECTOR = 512
"""Bytes. No device takes direct I/O in smaller steps; many want 4 KiB (open(2), O_DIRECT)."""

MEMORY_KINDS = frozenset({"tmpfs", "ramfs", "devtmpfs", "hugetlbfs"})
"""File systems whose files lie in memory."""

NETWORK_KINDS = frozenset({"nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "ceph", "glusterfs", "fuse.sshfs"})
"""File systems whose files lie on another machine."""

LOOP = "loop"
"""What the kernel calls devices that are files of another file system: loop0, loop1."""

SOLID_STATE_RATE = 1e9
"""B/s. A round figure for solid-state and cloud volumes: SATA devices do half of it, NVMe two to seven times."""

ROTATING_RATE = 200e6
"""B/s. What one rotating disk reads or writes in sequence at best."""

DIRECTORY = Parameter(
    name="directory",
    title="Directory",
    type=Type.TEXT,
    default="/var/tmp",  # noqa: S108 (the step's own private directory, mode 0700, is made in it)
    help="An absolute path on the disk to measure. Files go into a private directory made there and removed after.",
    pattern=r"/.*",
    identity=False,
)


def amount(size: float, unit: Unit = Unit.BYTE) -> str:
    """Return `size` with three digits in the unit in which it reads best: ``23.5 GiB``, ``460 MB/s``."""
    divisor, suffix = display(size, unit)
    return f"{float(f'{size / divisor:.3g}'):g} {suffix}"


def best_directory(facts: Facts | None) -> Directory | None:
    """Return the writable directory with the most free space on a disk of the host's own, or None.

    One on a network is taken only where there is no other; memory never.
    """
    candidates = [
        found
        for found in (() if facts is None else facts.directories)
        if found.writable is True and not found.unsafe and known(found.kind) not in MEMORY_KINDS
    ]
    return max(candidates, key=_merit, default=None)


def _merit(directory: Directory) -> tuple[bool, int]:
    return known(directory.kind) not in NETWORK_KINDS, known(directory.free) or 0


def directory_of(evidence: StepEvidence) -> Directory | CannotTell:
    """Return what is known of the directory the step writes in, or why nothing is.

    Of one that was not tried, what the file systems tell: the one with the longest mount path above it.
    """
    parameter, facts = evidence.suite.directory_parameter, evidence.context.facts
    if parameter is None or device_of(evidence.suite, evidence.values):
        return CannotTell("The test writes no files.")
    if facts is None:
        return CannotTell("The host's facts have not been read.")
    path = str(evidence.values[parameter])
    found = facts.directory(path) or _untried(facts, path)
    return found or CannotTell(f"Nothing was read about {path} on this host.")


def _untried(facts: Facts, path: str) -> Directory | None:
    above = [system for system in facts.file_systems if f"{path}/".startswith(f"{system.mount.rstrip('/')}/")]
    system = max(above, key=lambda found: len(found.mount), default=None)
    if system is None:
        return None
    return Directory(path=path, mount=system.mount, kind=system.kind, free=system.free)


def cache_of(evidence: StepEvidence) -> int | CannotTell:
    """Return the bytes of memory that can hold a page cache on the host, or why that is not known."""
    facts = evidence.context.facts
    memory = None if facts is None else facts.memory_for_cache()
    return CannotTell("The host's memory is not known.") if memory is None else memory


def works_in_directory(evidence: StepEvidence) -> bool:
    """Whether the step makes files in a directory; not where it works on a raw device."""
    return evidence.suite.directory_parameter is not None and not device_of(evidence.suite, evidence.values)


def is_rotating(context: Context, path: str) -> bool:
    """Whether the disk below `path` is known to rotate. Virtual disks often say so and never do."""
    facts = context.facts
    found = None if facts is None else facts.directory(path)
    name = None if found is None else known(found.device)
    device = None if facts is None or name is None else facts.block_device(name)
    if facts is None or device is None or device.name.startswith(("vd", "xvd")):
        return False
    return device.rotational is True and known(facts.system.virtualisation) in {None, "", "none"}


def disk_under(evidence: StepEvidence) -> BlockDevice | None:
    """Return the whole disk below the step's directory, or None where it is not known."""
    facts, found = evidence.context.facts, directory_of(evidence)
    name = None if isinstance(found, CannotTell) else known(found.device)
    return None if facts is None or name is None else facts.block_device(name)


def accepts_direct(evidence: StepEvidence) -> bool:
    """Whether nothing is known against O_DIRECT in the step's directory."""
    found = directory_of(evidence)
    return isinstance(found, CannotTell) or found.direct is not False


def room_in(evidence: StepEvidence) -> int | None:
    """Return the bytes free in the step's directory, or None where that is not known."""
    found = directory_of(evidence)
    return None if isinstance(found, CannotTell) else known(found.free)


def whole_mebibytes(size: float) -> int:
    """Return `size` rounded down to whole MiB, at least one."""
    return max(MIB, int(size) // MIB * MIB)


def lowest_device(suite: Suite, values: Values, facts: Facts) -> str | None:
    """Return the kernel's name of the whole disk, or loop device, that a step works on; None where none is known."""
    raw = device_of(suite, values)
    if raw:
        device = facts.device(raw)
        node = known(device.node) if device is not None else None
        name: str | None = (node or raw).removeprefix("/dev/")
    else:
        directory = facts.directory(str(values.get(suite.directory_parameter or "", "")))
        name = None if directory is None else known(directory.device)
        if directory is not None and name is None:  # a file of another file system is no disk, but it has a name
            lowest = facts.layers(directory)[-1:]
            return next((each.name for each in lowest if each.name.startswith(LOOP)), None)
    while name and (block := facts.block_device(name)) is not None and (parent := known(block.parent)):
        name = parent
    return name
