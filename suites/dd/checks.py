"""Checks of a dd step."""

from suites import disk
from suites.base import StepEvidence
from suites.checks import Check, CheckOutcome, NotChecked
from suites.dd.parameters import PREPARED, TUNED_BLOCK, URANDOM, copied, reads, writes
from suites.facts import known
from suites.parameters import Value, Values
from suites.quantities import quantity
from suites.runtime_checks import FAR_TOO_SHORT
from suites.units import Unit
from suites.vocab import Severity

SHORTEST = 1.0
"""Seconds: dd reports progress once a second at most. One copy that ran elsewhere has less to show: FAR_TOO_SHORT."""

ENOUGH = 4.0
"""Seconds that the remedy aims at."""

SMALL_BLOCK = 64 * disk.KIB

DEFAULT_BLOCK = 512
"""Bytes of a block without bs."""


def _direct(values: Values) -> bool:
    return (values["flush"] if writes(values) else values["read"]) == "direct"


def _cached_io(values: Values) -> bool:
    """Whether the page cache may serve the I/O while the clock runs."""
    return values["flush"] == "none" if writes(values) else values["read"] == "cached"


def _each_block_is_safe(values: Values) -> bool:
    """Whether each block waits for stable storage, which takes about a millisecond whatever its size."""
    return writes(values) and values["flush"] == "dsync"


def _past_memory(evidence: StepEvidence) -> dict[str, Value]:
    if writes(evidence.values):
        return {"flush": "direct" if disk.accepts_direct(evidence) else "fdatasync"}
    return {"read": "direct"} if disk.accepts_direct(evidence) else {}


def _page_cache(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    if not _cached_io(evidence.values):
        return None
    size = copied(evidence.values)
    cache = disk.cache_for(evidence, size)
    if cache is None or isinstance(cache, NotChecked):
        return cache
    return CheckOutcome(
        measured=f"{quantity(size)} through the page cache; {quantity(cache)} of memory can hold them"
        + (" in part." if size > cache else "."),
        changes=_past_memory(evidence),
    )


def _read_after_write(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    if not reads(evidence.values) or not _cached_io(evidence.values):
        return None
    size = copied(evidence.values)
    cache = disk.cache_for(evidence, size)
    if cache is None or isinstance(cache, NotChecked):
        return cache
    writers = [step.name for step in evidence.earlier if step.suite.directory_parameter is not None]
    after = f" Earlier steps also use the disk: {', '.join(writers[:3])}." if writers else ""
    return CheckOutcome(
        measured=f"{quantity(size)} are read right after they are written; {quantity(cache)} of memory can cache "
        f"them.{after}",
        changes=_past_memory(evidence),
    )


def _unflushed_write(evidence: StepEvidence) -> CheckOutcome | None:
    values = evidence.values
    if not writes(values) or values["flush"] != "none":
        return None
    return CheckOutcome(
        measured=f"{quantity(copied(values))} are written without conv=fdatasync or oflag=direct.",
        changes={"flush": "fdatasync"},
    )


def _short_runtime(evidence: StepEvidence) -> CheckOutcome | None:
    values = evidence.values
    size = copied(values)
    seconds, clause = disk.seconds_of_copy(evidence, size)
    shortest = SHORTEST if evidence.measured_seconds is None else FAR_TOO_SHORT
    least, started = disk.least_seconds(evidence, shortest)
    flushed = _each_block_is_safe(values)  # no rate of the disk foretells its seconds
    if seconds >= least or (flushed and evidence.measured_seconds is None):
        return None
    block = int(values["block_size"])
    count = int(int(values["count"]) * least / max(seconds, 0.001)) if flushed else -(-_enough(evidence) // block)
    return CheckOutcome(measured=f"{quantity(size)} {clause}.{started}", changes={"count": count})


def _enough(evidence: StepEvidence) -> int:
    """Return the bytes that take long enough on a disk of plausible rate."""
    return int(disk.plausible_rate(evidence)[0] * max(ENOUGH, disk.least_seconds(evidence, SHORTEST)[0]))


def _random_source(evidence: StepEvidence) -> CheckOutcome | None:
    values, facts = evidence.values, evidence.context.facts
    if values["input"] != URANDOM:
        return None
    rate = None if facts is None else known(facts.measured.urandom_rate)
    changes: dict[str, Value] = {"input": PREPARED}
    if rate is None:
        return CheckOutcome("if=/dev/urandom; its rate on this host was not measured.", changes=changes)
    shown = quantity(rate, Unit.BYTES_PER_SECOND)
    slow_disk = (
        disk.is_rotating(evidence.context, str(values["directory"])) and rate > disk.CACHE_FACTOR * disk.ROTATING_RATE
    )
    return CheckOutcome(
        measured=f"/dev/urandom delivers {shown} on this host (measured): the result cannot exceed that.",
        changes=changes,
        severity=Severity.INFO if slow_disk else None,
    )


def _uncached_source(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    if evidence.values["input"] != PREPARED:
        return None
    size, facts = copied(evidence.values), evidence.context.facts
    memory = None if facts is None else facts.memory_for_cache()
    if memory is None:
        return NotChecked("The host's memory is not known.")
    if size <= memory // 2:
        return None
    block = int(evidence.values["block_size"])
    return CheckOutcome(
        f"The source has {quantity(size)}; memory is {quantity(memory)}.",
        changes={"count": max(1, memory // 4 // block)},
    )


def _small_blocks(evidence: StepEvidence) -> CheckOutcome | None:
    values = evidence.values
    block = int(values["block_size"])
    flushed = _each_block_is_safe(values)
    if block >= SMALL_BLOCK or (flushed and block > DEFAULT_BLOCK):
        return None
    if flushed:
        return CheckOutcome(f"bs is {quantity(block)}, each block flushed: quote blocks per second, not bandwidth.")
    return CheckOutcome(
        measured=f"bs is {quantity(block)}.",
        changes={"block_size": TUNED_BLOCK, "count": -(-max(copied(values), _enough(evidence)) // TUNED_BLOCK)},
    )


DD_CHECKS = (
    disk.direct_refused(_direct, {"flush": "fdatasync", "read": "cached"}),
    disk.page_cache(_page_cache),
    Check(
        id="read-after-write",
        title="Page cache will serve the reads",
        why="The file is still in the page cache, so the copy comes from memory. Example (another host): 9.3 GB/s "
        "where the same disk read 0.65 GB/s. A cp of a file just copied does the same.",
        remedy="Read with direct I/O.",
        source="practitioners' notes (a cp took 17 s, then 0.853 s); dd manual, iflag=direct.",
        needs="Read mode and size; the host's memory; the steps before.",
        evaluate=_read_after_write,
    ),
    disk.unflushed_write(_unflushed_write),
    disk.short_runtime(_short_runtime, "Copy more blocks."),
    Check(
        id="random-source",
        title="/dev/urandom may limit the rate",
        why="dd waits for each block of random bytes, which one CPU computes; the rate is the CPU's.",
        remedy="Copy random bytes prepared in a file, or use fio, which fills its buffers with random data beforehand.",
        source="practitioners' notes (12.84 MB/s from /dev/urandom); measured on the host when its facts were read.",
        needs="The input; the rate of /dev/urandom measured on the host.",
        evaluate=_random_source,
    ),
    Check(
        id="uncached-source",
        title="Source does not fit in the page cache",
        why="dd reads what the page cache lost from the disk that it writes to: the rate is that of both.",
        remedy="Copy at most half of the memory.",
        source="proc(5), MemTotal; the kernel's page cache evicts the least recently used pages.",
        needs="The input and the size; the host's memory.",
        evaluate=_uncached_source,
    ),
    Check(
        id="small-blocks",
        title="Block size too small",
        why="dd waits for each block before the next. Example (another host), direct I/O: 10 MB/s with 512 B, "
        "74 MB/s with 4 KiB, 2 GB/s with 1 MiB.",
        remedy="Set bs to 1 MiB.",
        source="dd manual, bs: the default is 512 bytes.",
        needs="Pattern and block size.",
        evaluate=_small_blocks,
    ),
)
