"""What is known to fool people about sysbench's memory test."""

from suites.checks import CannotTell, Check, Outcome, StepEvidence
from suites.parameters import Value, Values, format_size
from suites.runtime_checks import SHORT_RUNTIME
from suites.sysbench.memory_size import (
    AMPLE_TOTAL,
    CACHE_FACTOR,
    LARGEST_BLOCK,
    UNKNOWN_CACHE_BLOCK,
    available_memory,
    footprint,
    power_at_least,
    power_at_most,
    tuned_block,
)
from suites.thread_checks import CPU_QUOTA, FACTS_NOT_READ, MORE_THREADS_THAN_CPUS
from suites.vocab import Level

CALL_OVERHEAD_BLOCK = 64 * 1024
"""Bytes: one operation costs some 80 ns beside its block (0.61 of 130 ns at 1 KiB), 4 % of the 2 us of 64 KiB."""

FAST_THREAD = 32.0 * 2**30
"""Bytes a second that one thread reaches with large blocks (27 to 32 GiB/s measured on a server of 2025)."""

SMALL_BLOCK_THREAD = 8.0 * 2**30
"""The same with blocks of 1 KiB (7.3 to 7.8 GiB/s measured)."""

FASTEST_HOST = 2.0**40
"""Bytes a second that all threads of the fastest two-socket servers reach together, about."""

LONG_ENOUGH = 60.0
"""Seconds: a run that lasts so long on such a host is not spoiled by ending early."""


def _block_refused(evidence: StepEvidence) -> Outcome | None:
    block = int(evidence.values["block_size"])
    if block.bit_count() == 1:
        return None
    return Outcome(
        measured=f"block_size is {format_size(block)}.",
        changes={"block_size": min(power_at_least(block), LARGEST_BLOCK)},
    )


def _block(evidence: StepEvidence) -> Outcome | CannotTell | None:
    values, facts = evidence.values, evidence.context.facts
    block, taken = int(values["block_size"]), footprint(values)
    if values["operation"] == "none":
        return None
    cache = None if facts is None else facts.last_level_cache()
    if block < CALL_OVERHEAD_BLOCK:
        there = "" if cache is None else f"; the host's last-level cache holds {format_size(cache)}"
        return Outcome(
            measured=f"block_size is {format_size(block)}{there}.",
            why="So small a block measures the cost of each operation, not memory: 1 KiB blocks read 4 to 5 times "
            "less than large ones on the same host.",
            changes=_better_block(evidence, cache),
        )
    if cache is None:
        return CannotTell("The size of the last-level cache is not known.")
    if taken >= CACHE_FACTOR * cache:
        return None
    return Outcome(
        measured=f"{format_size(taken)} of blocks for {format_size(cache)} of last-level cache: "
        f"{taken / cache:.2g} times its size.",
        changes=_better_block(evidence, cache),
    )


def _better_block(evidence: StepEvidence, cache: int | None) -> dict[str, Value]:
    """Return the block that measures memory, and a total that does not end its run at once."""
    facts, values = evidence.context.facts, evidence.values
    threads = int(values["threads"]) if values["scope"] == "local" else 1
    available = None if facts is None else available_memory(facts)
    better = tuned_block(UNKNOWN_CACHE_BLOCK // CACHE_FACTOR if cache is None else cache, threads, available)
    if better <= int(values["block_size"]):
        return {}
    if _seconds_to_total(values, better) < float(values["time"]):
        return {"block_size": better, "total_size": AMPLE_TOTAL}
    return {"block_size": better}


def _rate(values: Values, block: int) -> float:
    """Return the bytes a second that a current server moves in blocks of `block` bytes."""
    thread = SMALL_BLOCK_THREAD if block < CALL_OVERHEAD_BLOCK else FAST_THREAD
    return min(FASTEST_HOST, int(values["threads"]) * thread)


def _seconds_to_total(values: Values, block: int) -> float:
    return int(values["total_size"]) / _rate(values, block)


def _total(evidence: StepEvidence) -> Outcome | None:
    values = evidence.values
    total, threads, block = int(values["total_size"]), int(values["threads"]), int(values["block_size"])
    if total < block * threads:
        return Outcome(
            measured=f"total_size is {format_size(total)}; {threads} x {format_size(block)} would be one block for "
            "each thread.",
            why="sysbench then moves nothing, prints 0.00 MiB/sec and ends with exit status 0.",
            level=Level.ERROR,
            changes={"total_size": AMPLE_TOTAL},
        )
    seconds, asked = _seconds_to_total(values, block), float(values["time"])
    if seconds >= min(LONG_ENOUGH, asked):
        return None
    return Outcome(
        measured=f"total_size is {format_size(total)}: moved in {seconds:.2g} s at {_rate(values, block) / 2**30:.3g} "
        f"GiB/s, which a current server reaches with so many threads ({threads}); time is {asked:g} s.",
        changes={"total_size": AMPLE_TOTAL},
    )


def _shared(evidence: StepEvidence) -> Outcome | None:
    values = evidence.values
    if values["scope"] != "global" or values["operation"] != "write" or int(values["threads"]) == 1:
        return None
    return Outcome(
        measured=f"scope is global: {values['threads']} threads write one block of "
        f"{format_size(int(values['block_size']))}.",
        changes={"scope": "local"},
    )


def _too_small(evidence: StepEvidence) -> Outcome | CannotTell | None:
    facts, values = evidence.context.facts, evidence.values
    if facts is None:
        return FACTS_NOT_READ
    available = available_memory(facts)
    if available is None:
        return CannotTell("The available memory is not known.")
    taken = footprint(values)
    if taken <= available:
        return None
    blocks = max(1, taken // int(values["block_size"]))
    return Outcome(
        measured=f"The blocks take {format_size(taken)}; {available / 2**30:.3g} GiB are available.",
        changes={"block_size": power_at_most(max(8, available // 2 // blocks))},
    )


SYSBENCH_MEMORY_BLOCK_REFUSED = Check(
    id="sysbench-memory-block-refused",
    level=Level.ERROR,
    title="sysbench refuses this block size",
    why="The block size has to be a power of two; with any other the test does not start.",
    remedy="Use the next power of two.",
    source="sysbench 1.0.20: “Invalid value for memory-block-size”.",
    needs="The block size.",
    evaluate=_block_refused,
)

SYSBENCH_MEMORY_BLOCK = Check(
    id="sysbench-memory-block",
    level=Level.WARNING,
    title="The block does not measure memory",
    why="Blocks that fit into the caches, wholly or in part, measure the caches: 1 MiB blocks read 76 GiB/s where "
    "memory gives 27.",
    remedy="Use blocks of at least four times the last-level cache.",
    source="sysbench pull request #417 and issue #254; the rule is STREAM's.",
    needs="The block size and the operation; the host's last-level cache.",
    evaluate=_block,
)

SYSBENCH_MEMORY_TOTAL = Check(
    id="sysbench-memory-total",
    level=Level.WARNING,
    title="The total size ends the run, not its time",
    why="A run that ends early is too short to trust, and how short depends on the host that is measured.",
    remedy=f"Raise the total size to {format_size(AMPLE_TOTAL)}, so that time decides.",
    source="sysbench issue #545; sysbench manual, --memory-total-size.",
    needs="The total size, the threads and the time.",
    evaluate=_total,
)

SYSBENCH_MEMORY_SHARED = Check(
    id="sysbench-memory-shared",
    level=Level.INFO,
    title="All threads write one block",
    why="They take its cache lines from each other: 2 threads wrote 13 GiB/s into one large block and 44 GiB/s into "
    "two on the same host.",
    remedy="Give each thread its own block, unless sharing is the question.",
    source="sysbench manual, --memory-scope; measured with sysbench 1.0.20.",
    needs="The scope, the operation and the threads.",
    evaluate=_shared,
)

MEMORY_TOO_SMALL = Check(
    id="memory-too-small",
    level=Level.ERROR,
    title="The blocks do not fit into memory",
    why="The host would swap, or the kernel would end sysbench or something else on the host.",
    remedy="Use smaller blocks, fewer threads or one shared block.",
    source="/proc/meminfo, MemAvailable; the cgroup's memory limit.",
    needs="What the step takes; the host's available memory and its cgroup's limit.",
    evaluate=_too_small,
)

MEMORY_CHECKS = (
    SYSBENCH_MEMORY_BLOCK_REFUSED,
    SYSBENCH_MEMORY_BLOCK,
    SYSBENCH_MEMORY_TOTAL,
    SYSBENCH_MEMORY_SHARED,
    MEMORY_TOO_SMALL,
    SHORT_RUNTIME,
    MORE_THREADS_THAN_CPUS,
    CPU_QUOTA,
)
