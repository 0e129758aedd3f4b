"""Checks of the directory that a step writes in."""

from app.plans.context import work_directory
from remote.jobs.workspace import unsafe_words
from suites.checks import CannotTell, Check, Outcome, StepEvidence
from suites.disk import MEMORY_KINDS, NETWORK_KINDS, best_directory, directory_of, works_in_directory
from suites.facts import Absent, known
from suites.parameters import Value
from suites.vocab import Level

LAYERED_KINDS = frozenset({"overlay", "aufs", "fuse.fuse-overlayfs"})


UNUSABLE = ("there is no such directory", "it is not a directory", "permission denied")
"""The reasons for which the probe (facts.sh) reads nothing about a directory that no tool can use either."""


def _elsewhere(evidence: StepEvidence) -> dict[str, Value]:
    """Return the change that moves the step to the directory with the most room, where there is another."""
    parameter = evidence.suite.directory_parameter
    found = best_directory(evidence.context.facts)
    if parameter is None or found is None or found.path == evidence.values[parameter]:
        return {}
    return {parameter: found.path}


def _not_a_disk(evidence: StepEvidence) -> Outcome | CannotTell | None:
    if not works_in_directory(evidence):
        return None
    directory = directory_of(evidence)
    if isinstance(directory, CannotTell):
        return directory
    kind = known(directory.kind)
    if kind is None:
        return CannotTell(f"The file system of {directory.path} is not known.")
    return _what_lies_below(evidence, directory.path, kind)


def _what_lies_below(evidence: StepEvidence, path: str, kind: str) -> Outcome | None:
    if kind in MEMORY_KINDS:
        return Outcome(f"{path} is on {kind}: its files lie in memory.", changes=_elsewhere(evidence))
    if kind in NETWORK_KINDS:
        why = "The figure is that of the network, of the server and of both their caches as well as of a disk."
        return Outcome(f"{path} is on {kind}: its files lie on another machine.", why=why, level=Level.INFO)
    if kind in LAYERED_KINDS:
        why = "The layer of a container lies over the disk and takes part in every figure."
        remedy = "Measure in a volume of the container, or say that its layer is meant."
        return Outcome(f"{path} is on {kind}: a container's layer.", why=why, remedy=remedy, level=Level.INFO)
    return None


def _not_writable(evidence: StepEvidence) -> Outcome | CannotTell | None:
    if not works_in_directory(evidence):
        return None
    directory = directory_of(evidence)
    if isinstance(directory, CannotTell):
        return None  # the check above says so already
    if directory.writable is False:
        return Outcome(f"{_user(evidence)} may not write in {directory.path} (tried).", changes=_elsewhere(evidence))
    if isinstance(directory.mount, Absent) and directory.mount.reason in UNUSABLE:
        return Outcome(f"{directory.path}: {directory.mount.reason}.", changes=_elsewhere(evidence))
    return None if known(directory.writable) else CannotTell(f"Whether {directory.path} is writable was not tried.")


def _user(evidence: StepEvidence) -> str:
    facts = evidence.context.facts
    name = None if facts is None else known(facts.system.user)
    return f"The user {name}" if name else "The user"


def _unsafe(evidence: StepEvidence) -> Outcome | None:
    facts = evidence.context.facts
    if facts is None:
        return None
    path = work_directory(evidence.suite, evidence.values, facts)
    found = facts.directory(path)
    words = unsafe_words(str(found.guard)) if found is not None and found.unsafe else None
    if words is None:
        return None  # it is safe, or was not tried: the run asks the host again
    return Outcome(f"{words[0]}.", remedy=words[1], changes=_elsewhere(evidence))


NOT_A_DISK = Check(
    id="not-a-disk",
    level=Level.WARNING,
    title="There is no disk below",
    why="The figure is that of memory. Direct I/O does not help: since Linux 6.6 tmpfs accepts it without a device.",
    remedy="Choose a directory on the disk to measure.",
    source="statfs(2) and /proc/self/mountinfo on the host.",
    needs="The directory's file system.",
    evaluate=_not_a_disk,
)

DIRECTORY_NOT_WRITABLE = Check(
    id="directory-not-writable",
    level=Level.ERROR,
    title="The directory cannot be written",
    why="The tool cannot make its files there and measures nothing.",
    remedy="Choose a directory that this user may write in.",
    source="access(2) on the host, for this user.",
    needs="The directory, tried as this user when the host's facts were read.",
    evaluate=_not_writable,
)

DIRECTORY_UNSAFE = Check(
    id="directory-unsafe",
    level=Level.ERROR,
    title="Other accounts can replace the test’s files",
    why="Another account of the host could replace the programs of the test, which then run as this user. Benchwright "
    "runs nothing there.",
    remedy="Choose a directory in which no other account may replace files, such as /var/tmp.",
    source="Owner, mode and ACL of the directory and of all above it, read on the host (stat(1), ls(1)).",
    needs="The directory that the test runs in, looked at when the host's facts were read.",
    evaluate=_unsafe,
)
