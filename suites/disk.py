"""What the disk suites share: where files go, what lies under them, and how fast such things can be."""

from suites.base import Context
from suites.checks import CannotTell, StepEvidence
from suites.facts import Directory, Facts, known
from suites.parameters import Parameter, Type
from suites.units import Unit, display

KIB, MIB, GIB = 2**10, 2**20, 2**30

MEMORY_KINDS = frozenset({"tmpfs", "ramfs", "devtmpfs", "hugetlbfs"})
"""File systems whose files lie in memory."""

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
    """Return the writable directory with the most free space that does not lie in memory, or None."""
    candidates = [
        found
        for found in (() if facts is None else facts.directories)
        if found.writable is True and known(found.kind) not in MEMORY_KINDS
    ]
    return max(candidates, key=lambda found: known(found.free) or 0, default=None)


def directory_of(evidence: StepEvidence) -> Directory | CannotTell:
    """Return what is known of the directory the step writes in, or why nothing is."""
    parameter, facts = evidence.suite.directory_parameter, evidence.context.facts
    if parameter is None:
        return CannotTell("The test writes no files.")
    if facts is None:
        return CannotTell("The host's facts have not been read.")
    path = str(evidence.values[parameter])
    return facts.directory(path) or CannotTell(f"Nothing was read about {path} on this host.")


def cache_of(evidence: StepEvidence) -> int | CannotTell:
    """Return the bytes of memory that can hold a page cache on the host, or why that is not known."""
    facts = evidence.context.facts
    memory = None if facts is None else facts.memory_for_cache()
    return CannotTell("The host's memory is not known.") if memory is None else memory


def is_rotating(context: Context, path: str) -> bool:
    """Whether the disk below `path` is known to rotate."""
    facts = context.facts
    found = None if facts is None else facts.directory(path)
    name = None if found is None else known(found.device)
    device = None if facts is None or name is None else facts.block_device(name)
    return device is not None and device.rotational is True


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
