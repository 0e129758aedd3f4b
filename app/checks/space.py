"""Checks of the space that a step's files need."""

from suites.checks import CannotTell, Check, Outcome, StepEvidence
from suites.disk import GIB, amount, directory_of
from suites.facts import known
from suites.vocab import Level

MARGIN = GIB
"""Bytes that should stay free on a host that others use too: below it logs and package managers begin to fail."""


def _need_and_room(evidence: StepEvidence) -> tuple[int, int, str] | CannotTell | None:
    """Return the bytes the step needs, those that are free for it, and where; None where it needs none."""
    need = evidence.suite.estimate(evidence.values, evidence.context).space
    if not need:
        return None
    directory = directory_of(evidence)
    if isinstance(directory, CannotTell):
        return directory
    free = known(directory.free)
    if free is None:
        return CannotTell(f"How much space is free in {directory.path} is not known.")
    return need, free - _taken_before(evidence, known(directory.mount)), directory.path


def _taken_before(evidence: StepEvidence, mount: str | None) -> int:
    """Return the bytes that files of earlier steps still take on the same file system."""
    if not evidence.earlier_files_stay or mount is None:
        return 0
    taken = 0
    for step in evidence.earlier:
        directory = directory_of(step)
        if not isinstance(directory, CannotTell) and known(directory.mount) == mount:
            taken += step.suite.estimate(step.values, step.context).space
    return taken


def _no_space(evidence: StepEvidence) -> Outcome | CannotTell | None:
    found = _need_and_room(evidence)
    if found is None or isinstance(found, CannotTell):
        return found
    need, free, path = found
    if need <= free:
        return None
    return Outcome(f"The files take {amount(need)}; {_free(evidence, free)} in {path}.")


def _free(evidence: StepEvidence, free: int) -> str:
    shown = f"{amount(max(0, free))} are free"
    return f"{shown} beside those of earlier steps" if evidence.earlier_files_stay and evidence.earlier else shown


def _low_space(evidence: StepEvidence) -> Outcome | None:
    found = _need_and_room(evidence)
    if found is None or isinstance(found, CannotTell):  # the check above says so already
        return None
    need, free, path = found
    if need > free or free - need >= MARGIN:
        return None
    return Outcome(f"The files take {amount(need)} and leave {amount(free - need)} free in {path}.")


NO_SPACE = Check(
    id="no-space",
    level=Level.ERROR,
    title="Not enough free space",
    why="The tool fails with “No space left on device”, and so may everything else on that file system.",
    remedy="Choose a smaller size, or a directory with more room.",
    source="statvfs(3) on the host, for this user.",
    needs="What the step writes; the free space of its file system, and what earlier steps leave there.",
    evaluate=_no_space,
)

LOW_SPACE = Check(
    id="low-space",
    level=Level.WARNING,
    title="The disk will be nearly full",
    why="Other programs on the host may fail, and nearly full file systems and solid-state disks write more slowly.",
    remedy="Choose a smaller size, or a directory with more room.",
    source="statvfs(3) on the host, for this user; SNIA Solid State Storage Performance Test Specification.",
    needs="What the step writes; the free space of its file system.",
    evaluate=_low_space,
)
