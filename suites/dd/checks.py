"""What is known to fool people about dd."""

from suites.checks import CannotTell, Check, Outcome, StepEvidence
from suites.dd.parameters import TUNED_BLOCK, URANDOM, ZERO, copied, reads, writes
from suites.disk import KIB, ROTATING_RATE, accepts_direct, amount, cache_of, is_rotating
from suites.disk_checks import (
    CACHE_FACTOR,
    direct_refused,
    least_seconds,
    page_cache,
    plausible_rate,
    roughly,
    short_runtime,
    unflushed_write,
)
from suites.facts import known
from suites.parameters import Value, Values
from suites.units import Unit
from suites.vocab import Level

SHORTEST = 1.0
"""Seconds: dd's own report has no finer sample than one a second."""

ENOUGH = 4.0
"""Seconds that the remedy aims at."""

SMALL_BLOCK = 64 * KIB


def _direct(values: Values) -> bool:
    return (values["flush"] if writes(values) else values["read"]) == "direct"


def _through_memory(values: Values) -> bool:
    """Whether the page cache can answer for the disk while the clock runs."""
    return values["flush"] == "none" if writes(values) else values["read"] == "cached"


def _each_block_is_safe(values: Values) -> bool:
    """Whether each block waits for the device, which takes a millisecond or so however small it is."""
    return writes(values) and values["flush"] == "dsync"


def _past_memory(evidence: StepEvidence) -> dict[str, Value]:
    if writes(evidence.values):
        return {"flush": "direct" if accepts_direct(evidence) else "fdatasync"}
    return {"read": "direct"} if accepts_direct(evidence) else {}


def _page_cache(evidence: StepEvidence) -> Outcome | CannotTell | None:
    if not _through_memory(evidence.values):
        return None
    cache = cache_of(evidence)
    if isinstance(cache, CannotTell):
        return cache
    size = copied(evidence.values)
    if size >= CACHE_FACTOR * cache:
        return None
    return Outcome(
        measured=f"{amount(size)} through the page cache; {amount(cache)} of memory can hold them"
        + (" in part." if size > cache else "."),
        changes=_past_memory(evidence),
    )


def _read_after_write(evidence: StepEvidence) -> Outcome | CannotTell | None:
    if not reads(evidence.values) or not _through_memory(evidence.values):
        return None
    cache = cache_of(evidence)
    if isinstance(cache, CannotTell):
        return cache
    size = copied(evidence.values)
    if size >= CACHE_FACTOR * cache:
        return None
    writers = [step.name for step in evidence.earlier if step.suite.directory_parameter is not None]
    after = f" The disk was also in use by {', '.join(writers[:3])} before." if writers else ""
    return Outcome(
        measured=f"The {amount(size)} are read right after they were written, and {amount(cache)} of memory keep them."
        f"{after}",
        changes=_past_memory(evidence),
    )


def _unflushed_write(evidence: StepEvidence) -> Outcome | None:
    values = evidence.values
    if not writes(values) or values["flush"] != "none":
        return None
    return Outcome(
        measured=f"{amount(copied(values))} are written with neither conv=fdatasync nor oflag=direct.",
        changes={"flush": "fdatasync"},
    )


def _short_runtime(evidence: StepEvidence) -> Outcome | None:
    values = evidence.values
    size = copied(values)
    rate, words = plausible_rate(evidence)
    least, started = least_seconds(evidence, SHORTEST)
    if _each_block_is_safe(values) or size / rate >= least:
        return None
    block = int(values["block_size"])
    return Outcome(
        measured=f"{amount(size)} take {roughly(size / rate)} s {words}.{started}",
        changes={"count": -(-_enough(evidence) // block)},
    )


def _enough(evidence: StepEvidence) -> int:
    """Return the bytes that take long enough on a disk of plausible speed."""
    return int(plausible_rate(evidence)[0] * max(ENOUGH, least_seconds(evidence, SHORTEST)[0]))


def _random_source(evidence: StepEvidence) -> Outcome | None:
    values, facts = evidence.values, evidence.context.facts
    if values["input"] != URANDOM:
        return None
    rate = None if facts is None else known(facts.measured.urandom_rate)
    changes: dict[str, Value] = {"input": ZERO}
    if rate is None:
        return Outcome("The input is /dev/urandom; how fast it is on this host was not measured.", changes=changes)
    shown = amount(rate, Unit.BYTES_PER_SECOND)
    slow_disk = is_rotating(evidence.context, str(values["directory"])) and rate > CACHE_FACTOR * ROTATING_RATE
    return Outcome(
        measured=f"/dev/urandom gives {shown} on this host (measured): no disk can appear faster.",
        changes=changes,
        level=Level.INFO if slow_disk else None,
    )


def _zero_source(evidence: StepEvidence) -> Outcome | None:
    return Outcome("The input is /dev/zero.") if evidence.values["input"] == ZERO else None


def _small_blocks(evidence: StepEvidence) -> Outcome | None:
    values = evidence.values
    block = int(values["block_size"])
    if block >= SMALL_BLOCK or _each_block_is_safe(values):
        return None
    return Outcome(
        measured=f"bs is {amount(block)}.",
        changes={"block_size": TUNED_BLOCK, "count": -(-max(copied(values), _enough(evidence)) // TUNED_BLOCK)},
    )


DD_CHECKS = (
    direct_refused(_direct, {"flush": "fdatasync", "read": "cached"}),
    page_cache(_page_cache),
    Check(
        id="read-after-write",
        level=Level.WARNING,
        title="It reads what was just written",
        why="What was written last is still in memory, so the copy comes from there: 9.3 GB/s where the same disk read "
        "0.65 GB/s. A cp of a file that was just copied does the same.",
        remedy="Read with direct I/O.",
        source="practitioners' notes (a cp took 17 s, then 0.853 s); dd manual, iflag=direct.",
        needs="How the file is read and its size; the host's memory; the steps before.",
        evaluate=_read_after_write,
    ),
    unflushed_write(_unflushed_write),
    short_runtime(_short_runtime, "Copy more blocks."),
    Check(
        id="random-source",
        level=Level.WARNING,
        title="The random source is measured, not the disk",
        why="dd waits for each block of random bytes, which one CPU has to compute; the rate is that of the CPU.",
        remedy="Write zeros and mind compression, or use fio, which fills its buffers with random data beforehand.",
        source="practitioners' notes (12.84 MB/s from /dev/urandom); measured on the host when its facts were read.",
        needs="The input; the rate of /dev/urandom measured on the host.",
        evaluate=_random_source,
    ),
    Check(
        id="zero-source",
        level=Level.INFO,
        title="Zeros compress",
        why="A device or file system that compresses or deduplicates stores zeros without writing them, and looks "
        "faster than it is. On others it makes no difference.",
        remedy="Where that may be, use fio: its buffers hold random data.",
        source="zfs and btrfs manuals, compression.",
        needs="What is written.",
        evaluate=_zero_source,
    ),
    Check(
        id="small-blocks",
        level=Level.WARNING,
        title="Small blocks measure the calls",
        why="dd waits for each block before the next. Measured on one disk with direct I/O: 10 MB/s in blocks of "
        "512 B, 74 MB/s of 4 KiB, 2 GB/s of 1 MiB.",
        remedy="Use blocks of 1 MiB.",
        source="dd manual, bs: the default is 512 bytes.",
        needs="The pattern and the block size.",
        evaluate=_small_blocks,
    ),
)
