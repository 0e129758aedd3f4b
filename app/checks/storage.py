"""Checks of a step's directory: its kind, access, safety and free space."""

from app.checks.storage_layers import LAYER_CHECKS
from app.plans.context import work_directory
from remote.jobs.workspace import unsafe_text
from suites.base import StepEvidence
from suites.checks import Check, CheckOutcome, NotChecked
from suites.disk import GIB, MEMORY_KINDS, NETWORK_KINDS, best_directory, directory_of, works_in_directory
from suites.facts import known
from suites.parameters import Value
from suites.quantities import quantity
from suites.vocab import Severity

LAYERED_KINDS = frozenset({"overlay", "aufs", "fuse.fuse-overlayfs"})

FUSE = "fuse"
"""Prefix of the type of a FUSE file system: fuse, fuseblk, fuse.NAME."""


def _move_remedy(evidence: StepEvidence) -> dict[str, Value]:
    """Return the change that moves the step to the directory with the most free space; empty if it is there."""
    parameter = evidence.suite.directory_parameter
    found = best_directory(evidence.context.facts)
    if parameter is None or found is None or found.path == evidence.values[parameter]:
        return {}
    return {parameter: found.path}


def _not_a_disk(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    if not works_in_directory(evidence):
        return None
    directory = directory_of(evidence)
    if isinstance(directory, NotChecked):
        return directory
    kind = known(directory.kind)
    if kind is None:
        return NotChecked(f"The file system of {directory.path} is unknown.")
    upper = known(directory.upper)
    if upper in MEMORY_KINDS:
        kind = f"an {kind} on {upper}"
        return CheckOutcome(f"{directory.path} is on {kind}: its files are in memory.", changes=_move_remedy(evidence))
    return _indirect_storage(evidence, directory.path, kind)


def _indirect_storage(evidence: StepEvidence, path: str, kind: str) -> CheckOutcome | None:
    if kind in MEMORY_KINDS:
        return CheckOutcome(f"{path} is on {kind}: its files are in memory.", changes=_move_remedy(evidence))
    if kind in NETWORK_KINDS:
        why = "The figure includes the network, the server, and the caches of both."
        return CheckOutcome(f"{path} is on {kind}: its files are on a server.", why=why, severity=Severity.INFO)
    if kind.startswith(FUSE) and kind not in LAYERED_KINDS:
        why = (
            "A process in user space serves each request, with caches of its own: direct I/O may not reach a disk, and "
        )
        why += "the figure includes that process."
        return CheckOutcome(f"{path} is on {kind}, a FUSE file system.", why=why, changes=_move_remedy(evidence))
    if kind in LAYERED_KINDS:
        why = "The container's overlay file system is part of every figure."
        remedy = "Use a volume of the container, or quote the figure as the overlay's."
        return CheckOutcome(f"{path} is on {kind}, a container layer.", why=why, remedy=remedy, severity=Severity.INFO)
    return None


def _not_writable(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    if not works_in_directory(evidence):
        return None
    directory = directory_of(evidence)
    if isinstance(directory, NotChecked):
        return None  # not-a-disk reports it
    if directory.writable is False:
        return CheckOutcome(f"{_user(evidence)} cannot write to {directory.path}.", changes=_move_remedy(evidence))
    if directory.fault is not None:
        return CheckOutcome(f"{directory.path}: {directory.fault}.", changes=_move_remedy(evidence))
    return None if known(directory.writable) else NotChecked(f"Write access to {directory.path} was not tested.")


def _user(evidence: StepEvidence) -> str:
    facts = evidence.context.facts
    name = None if facts is None else known(facts.system.user)
    return f"The user {name}" if name else "The user"


def _unsafe(evidence: StepEvidence) -> CheckOutcome | None:
    facts = evidence.context.facts
    if facts is None:
        return None
    path = work_directory(evidence.suite, evidence.values, facts)
    found = facts.directory(path)
    words = unsafe_text(str(found.guard)) if found is not None and found.unsafe else None
    if words is None:
        return None  # safe or not tested: the run checks again on the host
    return CheckOutcome(f"{words[0]}.", remedy=words[1], changes=_move_remedy(evidence))


NOT_A_DISK = Check(
    id="not-a-disk",
    severity=Severity.WARNING,
    title="Not directly on a local disk",
    why="The figure is that of memory. Direct I/O does not help: since Linux 6.6 tmpfs accepts it without a device.",
    remedy="Choose a directory on the disk to measure.",
    source="statfs(2) and /proc/self/mountinfo on the host.",
    needs="The directory's file system.",
    evaluate=_not_a_disk,
)

DIRECTORY_NOT_WRITABLE = Check(
    id="directory-not-writable",
    severity=Severity.ERROR,
    blocks=True,
    title="Directory is not writable",
    why="The tool cannot create its files there.",
    remedy="Choose a directory that this user can write to.",
    source="access(2) on the host, for this user.",
    needs="access(2) as this user, called when the host's facts were read.",
    evaluate=_not_writable,
)

DIRECTORY_UNSAFE = Check(
    id="directory-unsafe",
    severity=Severity.ERROR,
    blocks=True,
    title="Other accounts can replace test files",
    why="Another account on the host could replace the programs of the test, which run as this user. Benchwright does "
    "not run there.",
    remedy="Choose a directory in which no other account can replace files, such as /var/tmp.",
    source="Owner, mode and ACL of the directory and its parents, read on the host (stat(1), ls(1)).",
    needs="The test's directory, checked when the host's facts were read.",
    evaluate=_unsafe,
)

MARGIN = GIB
"""Bytes that should stay free: below this, logs and package managers begin to fail."""


def _needed_and_free(evidence: StepEvidence) -> tuple[int, int, str] | NotChecked | None:
    """Return the bytes that the step needs, the bytes free for it, and the path; None if it needs none."""
    need = evidence.suite.estimate(evidence.values, evidence.context).space
    need -= _existing(evidence) if need else 0
    if need <= 0:
        return None
    directory = directory_of(evidence)
    if isinstance(directory, NotChecked):
        return directory
    free = known(directory.free)
    if free is None:
        return NotChecked(f"Free space in {directory.path} is unknown.")
    return need, free - _occupied_before(evidence, known(directory.mount)), directory.path


def _existing(evidence: StepEvidence) -> int:
    """Return the bytes of the step's files that need no space in its directory: they exist, or are elsewhere."""
    facts, own = evidence.context.facts, directory_of(evidence)
    if facts is None or isinstance(own, NotChecked):
        return 0
    there = 0
    for path, size in evidence.suite.files(evidence.values, evidence.context).items():
        found, system = facts.directory(path), facts.file_system_of(path)
        elsewhere = system is not None and known(own.mount) not in {None, system.mount}
        there += size if elsewhere else min(size, (known(found.file) or 0) if found else 0)
    return there


def _occupied_before(evidence: StepEvidence, mount: str | None) -> int:
    """Return the bytes that files of earlier steps still occupy on the same file system."""
    if not evidence.earlier_files_stay or mount is None:
        return 0
    taken = 0
    for step in evidence.earlier:
        directory = directory_of(step)
        if not isinstance(directory, NotChecked) and known(directory.mount) == mount:
            taken += step.suite.estimate(step.values, step.context).space
    return taken


def _no_space(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    found = _needed_and_free(evidence)
    if found is None or isinstance(found, NotChecked):
        return found
    need, free, path = found
    if need <= free:
        return None
    return CheckOutcome(f"The files need {quantity(need)}; {_free(evidence, free)} in {path}.")


def _free(evidence: StepEvidence, free: int) -> str:
    shown = f"{quantity(max(0, free))} is free"
    return f"{shown} besides files of earlier steps" if evidence.earlier_files_stay and evidence.earlier else shown


def _low_space(evidence: StepEvidence) -> CheckOutcome | None:
    found = _needed_and_free(evidence)
    if found is None or isinstance(found, NotChecked):  # no-space reports it
        return None
    need, free, path = found
    if need > free or free - need >= MARGIN:
        return None
    return CheckOutcome(f"The files need {quantity(need)} and leave {quantity(free - need)} free in {path}.")


NO_SPACE = Check(
    id="no-space",
    severity=Severity.ERROR,
    blocks=True,
    title="Not enough free space",
    why="The tool fails with “No space left on device”, and so may other programs on that file system.",
    remedy="Choose a smaller size, or a directory with more free space.",
    source="statvfs(3) on the host, for this user.",
    needs="What the step writes; free space, and what earlier steps leave there.",
    evaluate=_no_space,
)

LOW_SPACE = Check(
    id="low-space",
    severity=Severity.WARNING,
    title="File system will be nearly full",
    why="Other programs may fail, and nearly full file systems and SSDs write more slowly.",
    remedy="Choose a smaller size, or a directory with more free space.",
    source="statvfs(3) on the host, for this user; SNIA Solid State Storage Performance Test Specification.",
    needs="What the step writes; free space.",
    evaluate=_low_space,
)

STEP_CHECKS = (DIRECTORY_NOT_WRITABLE, DIRECTORY_UNSAFE, NOT_A_DISK, NO_SPACE, LOW_SPACE, *LAYER_CHECKS)
