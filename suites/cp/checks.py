"""What is known to fool people about a timed copy."""

import math

from suites.checks import CannotTell, Check, Outcome, StepEvidence
from suites.cp.parameters import cold, flushed
from suites.disk import MEMORY_KINDS, MIB, NETWORK_KINDS, amount, cache_of, directory_of
from suites.disk_checks import CACHE_FACTOR, least_seconds, plausible_rate, roughly, short_runtime, unflushed_write
from suites.facts import known
from suites.vocab import Level

SHORTEST = 1.0
"""Seconds: a thousand steps of the clock."""

ENOUGH = 4.0
"""Seconds that the remedy aims at."""

SHARING_KINDS = frozenset({"btrfs", "xfs", "bcachefs", "zfs", "ocfs2"})
"""File systems that can let two files share their blocks (ioctl_ficlonerange(2), zfs block cloning)."""


def _source_cached(evidence: StepEvidence) -> Outcome | CannotTell | None:
    if cold(evidence.values):
        return None
    cache = cache_of(evidence)
    if isinstance(cache, CannotTell):
        return cache
    size = int(evidence.values["size"])
    if size >= CACHE_FACTOR * cache:
        return None
    return Outcome(
        f"The {amount(size)} were just written, or copied before; {amount(cache)} of memory keep them.",
        changes={"read": "cold"},
    )


def _unflushed(evidence: StepEvidence) -> Outcome | None:
    if flushed(evidence.values):
        return None
    size = amount(int(evidence.values["size"]))
    return Outcome(f"cp ends when the {size} are in memory; no sync follows.", changes={"flush": "sync"})


def _reflink(evidence: StepEvidence) -> Outcome | CannotTell | None:
    if evidence.values["reflink"] == "never":
        return None
    directory = directory_of(evidence)
    if isinstance(directory, CannotTell):
        return directory
    kind = known(directory.kind)
    if kind is None:
        return CannotTell(f"The file system of {directory.path} is not known.")
    if kind not in SHARING_KINDS | NETWORK_KINDS:
        return None
    who = "its server can copy by itself" if kind in NETWORK_KINDS else "its files can share blocks"
    return Outcome(f"{directory.path} is on {kind}: {who}.", changes={"reflink": "never"})


def _cold_in_memory(evidence: StepEvidence) -> Outcome | CannotTell | None:
    if not cold(evidence.values):
        return None
    directory = directory_of(evidence)
    if isinstance(directory, CannotTell):
        return directory
    kind = known(directory.kind)
    return Outcome(f"{directory.path} is on {kind}, which is memory.") if kind in MEMORY_KINDS else None


def _short(evidence: StepEvidence) -> Outcome | None:
    size = int(evidence.values["size"])
    rate, words = plausible_rate(evidence)
    least, started = least_seconds(evidence, SHORTEST)
    if size / rate >= least:
        return None
    enough = math.ceil(rate * max(ENOUGH, least) / MIB) * MIB
    return Outcome(f"{amount(size)} take {roughly(size / rate)} s {words}.{started}", changes={"size": enough})


CP_CHECKS = (
    Check(
        id="source-in-memory",
        level=Level.WARNING,
        title="The source comes from memory",
        why="What was just written or copied is still in memory, so nothing is read from the disk: a cp took 17 s "
        "(59 MB/s), the same cp again 0.853 s (1,200 MB/s).",
        remedy="Drop the source from memory before each copy.",
        source="practitioners' notes (cp of one file twice, and of a copy to a third); posix_fadvise(2).",
        needs="How the source is read and its size; the host's memory.",
        evaluate=_source_cached,
    ),
    Check(
        id="cannot-be-cold",
        level=Level.WARNING,
        title="The source cannot leave memory",
        why="The file lies in memory and nowhere else, so that the copy is one from memory to memory.",
        remedy="Choose a directory on a disk.",
        source="tmpfs(5).",
        needs="How the source is read; the directory's file system.",
        evaluate=_cold_in_memory,
    ),
    unflushed_write(_unflushed),
    Check(
        id="reflink",
        level=Level.WARNING,
        title="The copy may copy nothing",
        why="cp of coreutils 9 lets the copy share its source's blocks, or asks the server to copy: it ends at once, "
        "and neither disk nor network moved the bytes.",
        remedy="Use --reflink=never.",
        source="coreutils NEWS 9.0: cp defaults to --reflink=auto and uses copy_file_range(2).",
        needs="--reflink; the directory's file system.",
        evaluate=_reflink,
    ),
    short_runtime(_short, "Copy a larger file."),
)
