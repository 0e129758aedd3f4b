"""sysbench memory: bandwidth of writing or reading blocks of memory."""

import re
from collections.abc import Sequence
from math import inf

from suites.base import QUICK_SECONDS, Command, Context, Estimate, QuickStep, StepEvidence, Suite, TestedTool, Workload
from suites.checks import Check, CheckOutcome, NotChecked
from suites.equivalents import Traits
from suites.facts import Facts
from suites.memory_sizes import CACHE_FACTOR, UNKNOWN_CACHE_SIZE, available_memory, memory_outcome, memory_too_small
from suites.output_reading import StatedLine
from suites.outputs import OutputFormat, TrialParser
from suites.parameters import Choice, Parameter, Tuned, Type, Value, Values, format_size, size_word
from suites.quantities import count_text, quantity
from suites.runtime_checks import SHORT_RUNTIME
from suites.sysbench.output import (
    LATENCIES,
    PERCENTILE,
    SYSBENCH,
    THREADS,
    TIME,
    TOTAL_TIME,
    SysbenchOutput,
    SysbenchParser,
    command,
    requested_rate,
    sysbench_syntax,
    tune_common,
    unresolved_note,
)
from suites.sysbench.output_formats import sysbench_format
from suites.thread_checks import MORE_THREADS_THAN_CPUS
from suites.units import Unit
from suites.vocab import Better, Figure, Labels, Metric, MetricKind, Resource, Sample, Severity, labels

# Block size of sysbench's memory test, and the memory it takes.


LARGEST_BLOCK = 2**40

AMPLE_TOTAL = 100 * 2**40
"""More than any host moves in the tuned run time: 3.4 TiB/s for 30 s."""

COMFORTABLE_MEMORY = 8 * 2**30
"""Total block size beyond which sysbench takes many seconds to fill the blocks before it starts."""

FILL_RATE = 2.0**30
"""Bytes per second at which sysbench fills its blocks before it starts, one after the other.

Measured with sysbench 1.0.20 on a virtual machine: 0.8 GiB/s (2 x 128 MiB) to 1.7 GiB/s (2 x 4 GiB).
"""


def footprint(values: Values) -> int:
    """Return the bytes of all blocks: one shared by all threads, or one for each."""
    blocks = int(values["threads"]) if values["scope"] == "local" else 1
    return int(values["block_size"]) * blocks


def tuned_block(cache: int, threads: int, available: int | None) -> int:
    """Return the block size, a power of two, that measures memory rather than `cache` bytes of cache.

    Four times the cache, unless the blocks of all `threads` would then take more than half the available memory or too
    long to fill. The result is still four times the cache in all, if memory permits.
    """
    wanted = power_at_least(CACHE_FACTOR * cache)
    room = max(COMFORTABLE_MEMORY, 2 * wanted)
    if available is not None:
        room = min(room, available // 2)
    return min(wanted, power_at_most(max(room // threads, 64 * 1024)))


def power_at_least(size: int) -> int:
    """Return the smallest power of two that is at least `size`."""
    return 1 << max(size - 1, 0).bit_length()


def power_at_most(size: int) -> int:
    """Return the largest power of two that is at most `size` (which is at least 1)."""
    return 1 << (size.bit_length() - 1)


# Checks of sysbench's memory test.


QUICK_BLOCK = 256 * 2**20
"""Bytes up to which the blocks of a quick run are those of a long one: dozens end in its time."""

FEW_BLOCKS = 20
"""Blocks of a trial below which the figure is coarse: a thread that is done waits for the last block of the others."""

CALL_OVERHEAD_BLOCK = 64 * 1024
"""Bytes: one operation costs about 80 ns besides its block (0.61 of 130 ns at 1 KiB), 4 % of the 2 us of 64 KiB."""

FAST_THREAD = 32.0 * 2**30
"""Bytes per second of one thread with large blocks (27 to 32 GiB/s measured on a server of 2025)."""

SMALL_BLOCK_THREAD = 8.0 * 2**30
"""The same with blocks of 1 KiB (7.3 to 7.8 GiB/s measured)."""

FASTEST_HOST = 2.0**40
"""Approximate bytes per second of all threads of the fastest two-socket servers."""

LONG_ENOUGH = 60.0
"""Seconds: a run of this length on such a host is not spoiled by ending early."""


def _block_refused(evidence: StepEvidence) -> CheckOutcome | None:
    block = int(evidence.values["block_size"])
    if block.bit_count() == 1:
        return None
    return CheckOutcome(
        measured=f"memory-block-size is {format_size(block)}.",
        changes={"block_size": min(power_at_least(block), LARGEST_BLOCK)},
    )


def _block(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    values, facts = evidence.values, evidence.context.facts
    block, taken = int(values["block_size"]), footprint(values)
    if values["operation"] == "none":
        return None
    cache = None if facts is None else facts.last_level_cache()
    if block < CALL_OVERHEAD_BLOCK:
        there = "" if cache is None else f"; the host's last-level cache holds {format_size(cache)}"
        return CheckOutcome(
            measured=f"memory-block-size is {format_size(block)}{there}.",
            why="A block this small measures the cost of each operation, not memory: 1 KiB blocks read 4 to 5 "
            "times less than large ones on the same host.",
            changes=_better_block(evidence, cache),
        )
    if cache is None:
        return NotChecked("The size of the last-level cache is not known.")
    if taken >= CACHE_FACTOR * cache:
        return None
    return CheckOutcome(
        measured=f"{format_size(taken)} of blocks for {format_size(cache)} of last-level cache: "
        f"{taken / cache:.2g} times its size.",
        changes=_better_block(evidence, cache),
    )


def _better_block(evidence: StepEvidence, cache: int | None) -> dict[str, Value]:
    """Return the block size that measures memory, and a total size that does not end the run at once."""
    facts, values = evidence.context.facts, evidence.values
    threads = int(values["threads"]) if values["scope"] == "local" else 1
    available = available_memory(facts)
    better = tuned_block(UNKNOWN_CACHE_SIZE // CACHE_FACTOR if cache is None else cache, threads, available)
    if better <= int(values["block_size"]):
        return {}
    if _seconds_to_total(values, better) < float(values["time"]):
        return {"block_size": better, "total_size": AMPLE_TOTAL}
    return {"block_size": better}


def _rate(values: Values, block: int) -> float:
    """Return the bytes per second that a current server moves in blocks of `block` bytes."""
    thread = SMALL_BLOCK_THREAD if block < CALL_OVERHEAD_BLOCK else FAST_THREAD
    return min(FASTEST_HOST, int(values["threads"]) * thread)


def _seconds_to_total(values: Values, block: int) -> float:
    return int(values["total_size"]) / _rate(values, block)


def _total(evidence: StepEvidence) -> CheckOutcome | None:
    values = evidence.values
    total, threads, block = int(values["total_size"]), int(values["threads"]), int(values["block_size"])
    if total < block * threads:
        return CheckOutcome(
            measured=f"memory-total-size is {format_size(total)}; {threads} x {format_size(block)} would be one "
            "block per thread.",
            why="sysbench then moves nothing, prints 0.00 MiB/sec and exits with status 0.",
            severity=Severity.ERROR,
            changes={"total_size": AMPLE_TOTAL},
        )
    seconds, asked = _seconds_to_total(values, block), float(values["time"])
    ran = evidence.measured_seconds
    if max(seconds, ran or 0.0) >= min(LONG_ENOUGH, 0.95 * asked):
        return None
    return CheckOutcome(
        measured=f"memory-total-size is {format_size(total)}, time is {asked:g} s: at the "
        f"{quantity(_rate(values, block), Unit.BYTES_PER_SECOND)} of a current server with so many threads ({threads}) "
        f"it would take {seconds:.2g} s.",
        changes={"total_size": AMPLE_TOTAL},
    )


def _shared(evidence: StepEvidence) -> CheckOutcome | None:
    values = evidence.values
    if values["scope"] != "global" or values["operation"] != "write" or int(values["threads"]) == 1:
        return None
    return CheckOutcome(
        measured=f"scope is global: {values['threads']} threads write one block of "
        f"{format_size(int(values['block_size']))}.",
        changes={"scope": "local"},
    )


def _too_small(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    taken = footprint(evidence.values)
    blocks = max(1, taken // int(evidence.values["block_size"]))
    available = available_memory(evidence.context.facts) or 0
    better = power_at_most(max(8, available // 2 // blocks))
    return memory_outcome(evidence, taken, "The blocks take", {"block_size": better})


SYSBENCH_MEMORY_BLOCK_REFUSED = Check(
    id="sysbench-memory-block-refused",
    severity=Severity.ERROR,
    blocks=True,
    title="Block size not a power of two",
    why="sysbench refuses any other block size and the test does not start.",
    remedy="Use the next power of two.",
    source="sysbench 1.0.20: “Invalid value for memory-block-size”.",
    needs="Block size.",
    evaluate=_block_refused,
)

SYSBENCH_MEMORY_BLOCK = Check(
    id="sysbench-memory-block",
    title="Caches serve the blocks",
    why="Blocks in the caches, even in part, are measured at cache speed: 1 MiB blocks read 76 GiB/s where "
    "memory gives 27.",
    remedy="Use blocks of at least four times the last-level cache.",
    source="sysbench pull request #417 and issue #254; the rule is STREAM's.",
    needs="Block size and operation; the host's last-level cache.",
    evaluate=_block,
)

SYSBENCH_MEMORY_TOTAL = Check(
    id="sysbench-memory-total",
    title="Total size ends the run early",
    why="A run that ends early is too short, and its length depends on the measured host.",
    remedy=f"Set memory-total-size to {format_size(AMPLE_TOTAL)}, so that time ends the run.",
    source="sysbench issue #545; sysbench manual, --memory-total-size.",
    needs="Total size, threads, time.",
    evaluate=_total,
)

SYSBENCH_MEMORY_SHARED = Check(
    id="sysbench-memory-shared",
    severity=Severity.INFO,
    title="All threads write one block",
    why="Threads contend for its cache lines: 2 threads wrote 13 GiB/s into one large block and 44 GiB/s into "
    "two on the same host.",
    remedy="Set memory-scope to local, unless sharing is under test.",
    source="sysbench manual, --memory-scope; measured with sysbench 1.0.20.",
    needs="Scope, operation, threads.",
    evaluate=_shared,
)

MEMORY_CHECKS = (
    SYSBENCH_MEMORY_BLOCK_REFUSED,
    SYSBENCH_MEMORY_BLOCK,
    SYSBENCH_MEMORY_TOTAL,
    SYSBENCH_MEMORY_SHARED,
    memory_too_small("Blocks", "Use smaller blocks, fewer threads or one shared block.", _too_small),
    SHORT_RUNTIME,
    MORE_THREADS_THAN_CPUS,
)


THROUGHPUT = Metric("throughput", "Throughput", Unit.MIB_PER_SECOND, Better.HIGHER, MetricKind.RATE)
OPERATIONS_PER_SECOND = Metric(
    "operations_per_second", "Operations per second", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE
)

BLOCK_SIZE = Parameter(
    name="block_size",
    type=Type.SIZE,
    default=1024,
    help="Bytes of each operation, a power of two; below the cache size it measures the caches.",
    option="--memory-block-size",
    unit="B",
    minimum=8,
    maximum=LARGEST_BLOCK,
)

TOTAL_SIZE = Parameter(
    name="total_size",
    type=Type.SIZE,
    default=100 * 2**30,
    help="End the run after moving this much, even before time.",
    option="--memory-total-size",
    unit="B",
    minimum=1024,  # 0 is unlimited in 1.0.20 and no work at all in older versions
    maximum=2**50,
)

OPERATION = Parameter(
    name="operation",
    default="write",
    help="Write, read, or run only the loop to measure its own cost.",
    option="--memory-oper",
    choices=(Choice("write", "Write"), Choice("read", "Read"), Choice("none", "none: the loop alone")),
)

ACCESS_MODE = Parameter(
    name="access_mode",
    default="seq",
    help="Access the block in address order or at random.",
    option="--memory-access-mode",
    choices=(Choice("seq", "Sequential"), Choice("rnd", "Random")),
)

SCOPE = Parameter(
    name="scope",
    default="global",
    help="One block shared by all threads, or one block per thread.",
    option="--memory-scope",
    choices=(Choice("global", "global: one shared block"), Choice("local", "local: one block per thread")),
)

_SUFFIXES = "KMG"
"""sysbench's suffixes of powers of 1024; G is the largest that all versions accept."""

_LIVE = re.compile(r"\[ {0,6}(\d{1,6})s \] (\d{1,15}\.\d{1,4}) MiB/sec,?")


SMALL_BLOCK = 64 * 1024
"""Block size below which the call costs about as much as moving the bytes."""


class SysbenchMemory(Suite):
    """Memory bandwidth. Fixed time, bytes counted: higher is better."""

    id = "sysbench-memory"
    title = "sysbench memory"
    summary = "Memory bandwidth of block reads or writes, sequential or random."
    resource = Resource.MEMORY
    tried = TestedTool(
        "sysbench 1.0.20 run for real; 0.4.12 from a captured output", "every second with 1.0, not with 0.4"
    )
    program = SYSBENCH
    parameters = (BLOCK_SIZE, TOTAL_SIZE, OPERATION, ACCESS_MODE, SCOPE, THREADS, TIME, PERCENTILE)
    main_parameters = ("operation", "access_mode", "block_size", "total_size", "threads", "time")
    syntax = sysbench_syntax("memory")
    metrics = (THROUGHPUT, OPERATIONS_PER_SECOND, *LATENCIES, TOTAL_TIME)
    checks = MEMORY_CHECKS

    def workload(self, values: Values) -> Workload:
        """Return the calls as the tool's limit if the blocks are small; a sequential pass only moves memory.

        Measured with two threads of 1.0.20: 78 GB/s in the caches, 14 GB/s beyond.
        """
        block = int(values["block_size"])
        if values["operation"] == "none":
            return Workload(tool_limit=("memory-oper=none: an empty loop, which moves no bytes.", "Use read or write."))
        calls = f"blocks of {quantity(block)}: each costs a call.", "Use blocks of 1 MiB or more."
        return Workload(
            tool_limit=calls if block < SMALL_BLOCK else None,
            moves_memory=values["access_mode"] == "seq",
            rate_limit=requested_rate(values, OPERATIONS_PER_SECOND.name),
        )

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return blocks beyond all caches, one per thread, and a total size that lets time end the run."""
        tuned = tune_common(context.facts)
        threads = int(tuned["threads"].value) if "threads" in tuned else 1
        tuned["block_size"] = _tune_block(context, threads)
        tuned["total_size"] = Tuned(
            AMPLE_TOTAL,
            f"{format_size(AMPLE_TOTAL)} cannot be reached in {tuned['time'].value:g} s, so time ends the run; "
            "the default of 100 GiB takes 3.3 s at 30 GiB/s.",
        )
        if threads > 1:
            tuned["scope"] = Tuned(
                "local",
                f"One block for each of the {threads} threads; in a shared block they contend for cache lines (2 "
                "threads wrote 13 GiB/s shared and 44 GiB/s separately on one server).",
            )
        return tuned

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the one command of a trial."""
        options = [
            f"--memory-block-size={size_word(int(values['block_size']), _SUFFIXES)}",
            f"--memory-total-size={size_word(int(values['total_size']), _SUFFIXES)}",
            f"--memory-oper={values['operation']}",
            f"--memory-access-mode={values['access_mode']}",
            f"--memory-scope={values['scope']}",
        ]
        return (command("memory", options, values, context),)

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return the run's time and that of filling the blocks before it; a small total may end it sooner."""
        return Estimate(duration=float(values["time"]) + footprint(values) / FILL_RATE)

    @property
    def output_formats(self) -> tuple[OutputFormat, ...]:
        """The formats of the test's output."""
        stated = (
            StatedLine("block_size", re.compile(r"\s*(?:block size|Memory block size): (\d{1,12}[KMG]?)(?:iB|B)?$")),
            StatedLine("total_size", re.compile(r"\s*(?:total size|Memory transfer size): (\d{1,12}[KMG]?)(?:iB|B)?$")),
            StatedLine("operation", re.compile(r"\s*(?:operation|Memory operations type): (read|write|none)$")),
            StatedLine("scope", re.compile(r"\s*(?:scope|Memory scope type): (global|local)$")),
        )
        line = r"\d+\.\d+ (?:MiB|MB) transferred|Total operations: \d|\[ *\d+s \] \d+\.\d+ MiB/sec"
        unstated: dict[str, tuple[Value, ...]] = {
            "access_mode": ("seq", "rnd"),
            "block_size": (BLOCK_SIZE.default, UNKNOWN_CACHE_SIZE),
        }
        return (sysbench_format(self, line, stated, unstated=unstated),)

    def parser(self, values: Values) -> TrialParser:
        """Return a new parser. The operation is read from the output, and from `values` until it is seen."""
        asked = values.get("operation", OPERATION.default)
        return SysbenchParser(
            "memory", lambda line, output: _read_live(line, output, asked), lambda output: _conclude(output, asked)
        )

    def traits(self, values: Values, facts: Facts | None) -> Traits:
        """Return the traits of a step for cross-checks."""
        threads = int(values["threads"])
        return Traits(
            operation=str(values["operation"]),
            pattern="sequential" if values["access_mode"] == "seq" else "random",
            threads=threads,
            working_set=(threads if values["scope"] == "local" else 1) * int(values["block_size"]),
            seconds=float(values["time"]),
        )

    def quick_steps(self, context: Context) -> tuple[QuickStep, ...]:
        """Return a run of sequential writes; large blocks are only four times the cache in all, so that more end."""
        tuned = self.tune(context)
        block, threads = int(tuned["block_size"].value), int(tuned["threads"].value) if "threads" in tuned else 1
        cache = None if context.facts is None else context.facts.last_level_cache()
        least = power_at_least(CACHE_FACTOR * (cache or UNKNOWN_CACHE_SIZE) // threads)
        return (("memory write", {"time": QUICK_SECONDS, "block_size": min(block, max(least, QUICK_BLOCK))}),)


def _tune_block(context: Context, threads: int) -> Tuned:
    facts = context.facts
    cache = None if facts is None else facts.last_level_cache()
    available = available_memory(facts)
    if cache is None:
        block = tuned_block(UNKNOWN_CACHE_SIZE // CACHE_FACTOR, threads, available)
        return Tuned(block, f"The cache sizes are not known; {format_size(block)} exceeds most caches.")
    block = tuned_block(cache, threads, available)
    return Tuned(
        block,
        f"{threads} x {format_size(block)} is {block * threads / cache:.3g} times the {format_size(cache)} of "
        "last-level cache, so that memory is measured; the default of 1 KiB measures the cost of the loop.",
    )


def _blocks(figures: Sequence[Figure]) -> float:
    """Return the number of blocks that a trial moved; infinity if it is not known, or none."""
    values = {figure.metric: figure.value for figure in figures}
    return values.get(OPERATIONS_PER_SECOND, 0.0) * values.get(TOTAL_TIME, 0.0) or inf


def _operation(output: SysbenchOutput, asked: Value) -> str:
    return output.operation or str(asked)


def _labels(output: SysbenchOutput, asked: Value) -> Labels:
    return labels(operation=_operation(output, asked))


def _read_live(line: str, output: SysbenchOutput, asked: Value) -> list[Sample]:
    match = _LIVE.fullmatch(line.strip())
    if match is None or _operation(output, asked) == "none":  # none moves no bytes, whatever is printed
        return []
    return [Sample(float(match[1]), THROUGHPUT, float(match[2]), _labels(output, asked))]


def _conclude(output: SysbenchOutput, asked: Value) -> tuple[list[Figure], list[str]]:
    marks = _labels(output, asked)
    figures = [
        Figure(figure.metric, figure.value, marks)
        for figure in output.figures(THROUGHPUT, OPERATIONS_PER_SECOND, TOTAL_TIME)
    ]
    notes = unresolved_note(output)
    if _operation(output, asked) == "none":
        notes.append("memory-oper none moves no bytes: no throughput.")
    elif (blocks := _blocks(figures)) < FEW_BLOCKS:
        notes.append(f"Only {count_text(round(blocks), 'block')} moved: throughput is resolved to {1 / blocks:.0%}.")
    if output.old:
        notes.append(f"sysbench {output.version} prints MB/sec for 2^20 bytes per second: read as MiB/s.")
    return figures, notes
