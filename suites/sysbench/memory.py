"""sysbench memory: how fast the host's threads write or read blocks of memory."""

import re
from collections.abc import Mapping

from suites.base import Command, Context, Estimate, TrialParser
from suites.checks import StepCheck
from suites.parameters import Choice, Parameter, Tuned, Type, Value, Values, format_size, size_word
from suites.sysbench.common import PACKAGES, PERCENTILE, THREADS, TIME, command, tune_common
from suites.sysbench.memory_checks import MEMORY_CHECKS
from suites.sysbench.memory_size import (
    AMPLE_TOTAL,
    CACHE_FACTOR,
    FILL_RATE,
    LARGEST_BLOCK,
    UNKNOWN_CACHE_BLOCK,
    available_memory,
    footprint,
    tuned_block,
)
from suites.sysbench.output import (
    LATENCY_MAXIMUM,
    LATENCY_MEAN,
    TOTAL_TIME,
    SysbenchOutput,
    SysbenchParser,
    latency_percentile,
    unresolved_note,
)
from suites.units import Unit
from suites.vocab import Better, Figure, Kind, Labels, Metric, Resource, Sample, labels

THROUGHPUT = Metric("throughput", "Throughput", Unit.MIB_PER_SECOND, Better.HIGHER, Kind.RATE)
OPERATIONS_PER_SECOND = Metric(
    "operations_per_second", "Operations per second", Unit.PER_SECOND, Better.HIGHER, Kind.RATE
)

BLOCK_SIZE = Parameter(
    name="block_size",
    title="Block size",
    type=Type.SIZE,
    default=1024,
    help="The memory each operation goes through, a power of two; below the caches' size it measures the caches.",
    option="--memory-block-size",
    unit="B",
    minimum=8,
    maximum=LARGEST_BLOCK,
)

TOTAL_SIZE = Parameter(
    name="total_size",
    title="Total size",
    type=Type.SIZE,
    default=100 * 2**30,
    help="End the run once so much was moved, even before its time is up.",
    option="--memory-total-size",
    unit="B",
    minimum=1024,  # 0 is unlimited to 1.0.20 and nothing at all to older versions
    maximum=2**50,
)

OPERATION = Parameter(
    name="operation",
    title="Operation",
    type=Type.CHOICE,
    default="write",
    help="Write to memory, read from it, or only go round the loop to see what that costs.",
    option="--memory-oper",
    choices=(Choice("write", "Write"), Choice("read", "Read"), Choice("none", "None: the loop alone")),
)

ACCESS_MODE = Parameter(
    name="access_mode",
    title="Access mode",
    type=Type.CHOICE,
    default="seq",
    help="Go through the block in order, or to random places in it.",
    option="--memory-access-mode",
    choices=(Choice("seq", "Sequential"), Choice("rnd", "Random")),
)

SCOPE = Parameter(
    name="scope",
    title="Scope",
    type=Type.CHOICE,
    default="global",
    help="One block that all threads share, or a block for each thread.",
    option="--memory-scope",
    choices=(Choice("global", "Global: one shared block"), Choice("local", "Local: a block for each thread")),
)

_SUFFIXES = "KMG"
"""Powers of 1024 to sysbench; G is the largest that all versions know."""

_LIVE = re.compile(r"\[ {0,6}(\d{1,6})s \] (\d{1,15}\.\d{1,4}) MiB/sec,?")


class SysbenchMemory:
    """The memory test. Fixed time, bytes counted: higher is better."""

    id = "sysbench-memory"
    title = "sysbench memory"
    summary = "Writes or reads blocks of memory, in order or at random, and counts the bytes."
    resource = Resource.MEMORY
    tool = "sysbench"
    packages: Mapping[str, str] = PACKAGES
    parameters: tuple[Parameter, ...] = (
        BLOCK_SIZE,
        TOTAL_SIZE,
        OPERATION,
        ACCESS_MODE,
        SCOPE,
        THREADS,
        TIME,
        PERCENTILE,
    )
    metrics: tuple[Metric, ...] = (
        THROUGHPUT,
        OPERATIONS_PER_SECOND,
        LATENCY_MEAN,
        latency_percentile(int(PERCENTILE.default)),
        LATENCY_MAXIMUM,
        TOTAL_TIME,
    )
    needs_peer = False
    directory_parameter: str | None = None
    checks: tuple[StepCheck, ...] = MEMORY_CHECKS

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return blocks that no cache holds, one for each thread, and a total that leaves it to time to end the run."""
        tuned = tune_common(context.facts)
        threads = int(tuned["threads"].value) if "threads" in tuned else 1
        tuned["block_size"] = _tune_block(context, threads)
        tuned["total_size"] = Tuned(
            AMPLE_TOTAL,
            f"{format_size(AMPLE_TOTAL)} cannot be reached in {tuned['time'].value:g} s, so time ends the run; "
            "the tool's 100 GiB are moved in 3.3 s at 30 GiB/s.",
        )
        if threads > 1:
            tuned["scope"] = Tuned(
                "local",
                f"Each of the {threads} threads has its own block; in one shared block they take its cache lines "
                "from each other (2 threads wrote 13 GiB/s shared and 44 GiB/s apart on one server).",
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
        del context  # nothing about the host changes how long it takes
        return Estimate(duration=float(values["time"]) + footprint(values) / FILL_RATE)

    def parser(self, values: Values) -> TrialParser:
        """Return a fresh parser. The operation is read from the output, and from `values` until it is seen."""
        asked = values.get("operation", OPERATION.default)
        return SysbenchParser(
            "memory",
            lambda line, output: _read_live(line, output, asked),
            lambda output: _conclude(output, asked),
        )


def _tune_block(context: Context, threads: int) -> Tuned:
    facts = context.facts
    cache = None if facts is None else facts.last_level_cache()
    available = None if facts is None else available_memory(facts)
    if cache is None:
        block = tuned_block(UNKNOWN_CACHE_BLOCK // CACHE_FACTOR, threads, available)
        return Tuned(block, f"The cache sizes are not known; {format_size(block)} is more than most caches hold.")
    block = tuned_block(cache, threads, available)
    return Tuned(
        block,
        f"{threads} x {format_size(block)} is {block * threads / cache:.3g} times the {format_size(cache)} of "
        "last-level cache, so that memory is measured; the tool's 1 KiB measures the cost of its own loop.",
    )


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
        notes.append("The operation “none” moves no bytes: there is no throughput.")
    if output.old:
        notes.append(f"sysbench {output.version} writes MB/sec for 2^20 bytes a second: shown as MiB/s.")
    return figures, notes
