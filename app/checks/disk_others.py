"""Check of a disk trial: whether other processes used the disk."""

from collections.abc import Mapping
from dataclasses import replace

from app.checks.evidence import (
    HALF,
    MIXED,
    OWN_RATE,
    READ,
    WRITE,
    as_measured,
    directions,
    disk_and_watch,
    issued,
    moves_bytes,
    seconds_of,
    watched_disks,
    workload_of,
)
from suites.base import own_directories
from suites.checks import CheckOutcome, NotChecked, after_check
from suites.disk import lowest_device
from suites.evidence import HostWatch, TrialEvidence
from suites.facts import known
from suites.quantities import quantity
from suites.units import Unit
from suites.verdict import Trust
from suites.vocab import Resource

FOREIGN = 0.05
"""Others' bytes at the disk, relative to the tool's, from which they are reported."""

LARGE_WRITE = 64 * 2**10
"""Bytes of a write from which the journal's share of it is negligible."""

IN_MEMORY = 1e5
"""B/s of a database at its disk below which it works in memory, and others on the disk do not slow it down."""

COMMITTED = 3
"""Bytes at the disk for each byte that a database writes, at most: its log and the journal of the file system."""

JOURNAL_BLOCK = 4096
"""Bytes that the journal of a file system of IN_PLACE adds to one small direct write without a sync, at most."""

IN_PLACE = frozenset({"ext2", "ext3", "ext4", "xfs"})

LEAST_FOREIGN = 2e6
"""B/s of others below which they are logs and metadata."""


def _others(trial: TrialEvidence) -> CheckOutcome | NotChecked | None:
    """Report I/O of other processes on the disk, in the directions in which it is certain."""
    trial = as_measured(trial)
    if trial.done and trial.suite.uses_server:
        return _beside_server(trial)
    if trial.suite.resource is not Resource.DISK or not trial.done or not moves_bytes(trial):
        return None
    watched, seconds = disk_and_watch(trial), seconds_of(trial)
    if isinstance(watched, NotChecked) or not seconds:
        return watched if isinstance(watched, NotChecked) else None
    disk, watch = watched
    tool = sum(did.size or 0.0 for one in directions(trial) if (did := issued(trial, one)) is not None) / seconds
    found = _foreign(disk, {one: _foreign_rate(trial, disk, watch, one) for one in (READ, WRITE)}, tool)
    disks = watched_disks(trial)
    if found is None or isinstance(disks, NotChecked) or len(disks) == 1:
        return found
    moved = {one: [watch.mean_within(f"disk_{way}_rate", device=one) or 0.0 for way in (READ, WRITE)] for one in disks}
    each = ", ".join(f"{quantity(sum(rates), Unit.BYTES_PER_SECOND)} at {one}" for one, rates in moved.items())
    return replace(found, measured=f"{found.measured} In all {each}.")


def _beside_server(trial: TrialEvidence) -> CheckOutcome | None:
    """Report I/O of others on the disk of a database server that belongs to the test, and is counted with it."""
    facts, watch = trial.context.facts, trial.watch
    if facts is None or watch is None or trial.values.get("server") != "own":
        return None
    disk = lowest_device(trial.suite, trial.values, facts) or ""
    rates, own = {}, {one: watch.mean_within(OWN_RATE[one]) for one in OWN_RATE}
    for operation, rate in own.items():
        whole, journal = watch.mean_within(f"disk_{operation}_rate", device=disk), 1 if operation == READ else COMMITTED
        if whole is not None and rate is not None:
            rates[operation] = whole - journal * rate - (_flushed_rate(watch) if operation == WRITE else 0.0)
    tool = sum(rate or 0.0 for rate in own.values())
    return _foreign(disk, rates, tool) if tool >= IN_MEMORY else None


def _flushed_rate(watch: HostWatch) -> float:
    """Return the rate at which pages were written that were dirty before the trial."""
    dirty = watch.values("memory_dirty")
    return max(0.0, dirty[0] - dirty[-1]) / watch.seconds if len(dirty) > 1 and watch.seconds else 0.0


def _foreign(disk: str, rates: Mapping[str, float | None], tool: float) -> CheckOutcome | None:
    """Return the rates of others at a disk that are worth a report beside the rate of the test."""
    parts = []
    for operation, rate in rates.items():
        if rate is not None and rate >= max(LEAST_FOREIGN, FOREIGN * tool):
            parts.append(
                (rate, f"{quantity(rate, Unit.BYTES_PER_SECOND)} {'read' if operation == READ else 'written'}")
            )
    if not parts:
        return None
    far = sum(rate for rate, _ in parts) >= HALF * tool
    return CheckOutcome(
        f"Other processes on {disk}: {', '.join(text for _, text in parts)}; the tool moved "
        f"{quantity(tool, Unit.BYTES_PER_SECOND)}.",
        trust=Trust.DOUBTFUL if far else None,
    )


def _foreign_rate(trial: TrialEvidence, disk: str, watch: HostWatch, operation: str) -> float | None:
    """Return the rate of others' I/O at the disk in B/s; None where the counters do not separate it from the tool's.

    The tool's own small or synchronous writes cause journal writes. Pages that were dirty before the trial, and are
    written during it, are not others'.
    """
    whole, own = watch.mean_within(f"disk_{operation}_rate", device=disk), watch.mean_within(OWN_RATE[operation])
    did, seconds = issued(trial, operation), seconds_of(trial)
    uses = did is not None or issued(trial, MIXED) is not None
    if whole is None or (own is None and (uses or (operation == READ and workload_of(trial).buffered))):
        return None
    journal = _journal_rate(trial) if operation == WRITE and uses else 0.0
    if journal is None:
        return None
    flushed = _flushed_rate(watch) if operation == WRITE else 0.0
    asked = 0.0 if did is None or not seconds or workload_of(trial).buffered else (did.size or 0.0) / seconds
    return whole - max(own or 0.0, asked) - flushed - journal


def _journal_rate(trial: TrialEvidence) -> float | None:
    """Return at most what a journal adds to the tool’s writes in B/s: next to nothing to large ones; None if unknown.

    Pages of buffered writes are counted when they become dirty, and a file system that copies on write may write many
    blocks for one.
    """
    did, workload, seconds = issued(trial, WRITE) or issued(trial, MIXED), workload_of(trial), seconds_of(trial)
    if did is None or not did.size or not did.ios or not seconds or workload.writes_per_sync or workload.buffered:
        return None
    if did.size >= LARGE_WRITE * did.ios:
        return 0.0
    facts = trial.context.facts
    found = [None if facts is None else facts.directory(path) for path in own_directories(trial.suite, trial.values)]
    in_place = trial.suite.device(trial.values) or (
        found and all(one is not None and known(one.kind) in IN_PLACE for one in found)
    )
    return JOURNAL_BLOCK * did.ios / seconds if in_place else None


OTHERS_ON_THE_DISK = after_check(
    id="others-on-the-disk",
    title="Other processes used the disk",
    why="They took a part of its bandwidth and added latency: the figure is what was left.",
    remedy="Find them (iotop, pidstat -d), stop them, and run it again.",
    source="The disk’s counters (/proc/diskstats) minus those of the test’s own processes (/proc/PID/io).",
    evaluate=_others,
    needs="the kernel’s counters of the disk, and the tool’s own bytes or its directions",
)
