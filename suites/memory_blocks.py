"""memory-blocks: bandwidth of copies, reads and writes by block size and order; latency by working set."""

from collections.abc import Mapping
from dataclasses import replace

from suites import probe
from suites.base import Command, Context, Estimate, StepEvidence, Suite, TestedTool
from suites.checks import Check, CheckOutcome, NotChecked
from suites.command_line import CommandSyntax
from suites.equivalents import (
    MEMORY_QUESTION,
    THREADS_MAPPING,
    Bias,
    Equivalent,
    MetricMapping,
    ParameterMapping,
    Traits,
    all_threads,
    at_least_a_second,
    backwards,
    mapped,
    only_size,
    power_of_two,
    tool_difference,
)
from suites.facts import Facts
from suites.memory_sizes import NO_HUGE_PAGES, cache_for, memory_outcome, memory_too_small, size_beyond_cache
from suites.outputs import TrialParser
from suites.parameters import (
    Choice,
    Parameter,
    Tuned,
    Type,
    Value,
    Values,
    format_size,
    parse_sizes,
    sizes_text,
    text_parameter,
)
from suites.programs import COMPILER, Program, bundled
from suites.quantities import quantity
from suites.thread_checks import MORE_THREADS_THAN_CPUS
from suites.units import Unit
from suites.vocab import Better, Figure, Labels, Metric, MetricKind, Resource, Sample, Severity, labels

# Parser of the block probe: rates by operation, order, block size and threads; latencies by working set.


THROUGHPUT = Metric("throughput", "Throughput", Unit.MB_PER_SECOND, Better.HIGHER, MetricKind.RATE)
OPERATION_TIME = Metric("operation_time", "Time of an operation", Unit.NANOSECOND, Better.LOWER, MetricKind.TIME)
LATENCY = Metric("memory_latency", "Memory latency", Unit.NANOSECOND, Better.LOWER, MetricKind.TIME)

METRICS = (THROUGHPUT, OPERATION_TIME, LATENCY)

_OPERATIONS = frozenset({"copy", "read", "write"})
_PATTERNS = frozenset({"sequential", "random"})


class BlocksReader:
    """Reader of the block probe's records."""

    def __init__(self, head: Metric = THROUGHPUT) -> None:
        self._head = head
        self._rates: dict[Labels, tuple[float, float]] = {}
        self._latencies: dict[int, float] = {}

    def take(self, record: probe.Record) -> list[Sample]:
        """Parse a record; the rate of one second, or the latency of a working set, is a sample."""
        if record.kind == "chase":
            return self._take_latency(record)
        figure_labels, rate, each = _figure_labels(record), record.number("rate"), record.number("each")
        if figure_labels is None or not rate or not each:
            return []
        if record.kind == "live":
            time = record.number("time")
            if time is not None:
                return [
                    Sample(time, THROUGHPUT, rate, figure_labels),
                    Sample(time, OPERATION_TIME, each, figure_labels),
                ]
        elif record.kind == "result":
            self._rates[figure_labels] = (rate, each)
        return []

    def _take_latency(self, record: probe.Record) -> list[Sample]:
        time, size, latency = record.number("time"), record.count("set"), record.number("ns")
        if time is None or not size or not latency:
            return []
        self._latencies[size] = latency
        return [Sample(time, LATENCY, latency, labels(working_set=quantity(size)))]

    def conclude(self, head: probe.OutputHeader) -> tuple[list[Figure], list[str]]:
        """Return the rates, the highest first and the others in order of measurement, then the latencies.

        Where latency is the question it comes first, that of the largest set before the others.
        """
        order = list(self._rates)
        if order:
            best = max(order, key=lambda figure_labels: self._rates[figure_labels][0])
            order.remove(best)
            order.insert(0, best)
        figures = [Figure(THROUGHPUT, self._rates[figure_labels][0], figure_labels) for figure_labels in order]
        figures += [Figure(OPERATION_TIME, self._rates[figure_labels][1], figure_labels) for figure_labels in order]
        figures += [
            Figure(LATENCY, latency, labels(working_set=quantity(size)))
            for size, latency in sorted(self._latencies.items())
        ]
        if self._head is LATENCY and self._latencies:
            figures.sort(key=lambda one: one.metric is not LATENCY)
            figures.insert(0, figures.pop(len(self._latencies) - 1))
        return figures, self._notes(head)

    def _notes(self, head: probe.OutputHeader) -> list[str]:
        if not self._latencies:
            return []
        least, most = min(self._latencies), max(self._latencies)
        near, far = (f"{self._latencies[size]:.3g} ns in a working set of {quantity(size)}" for size in (least, most))
        notes = [f"Latency: {near}, {far}."]
        if "[never]" in head.words.get("huge-pages", ""):
            notes.append("The kernel provides no huge pages: latencies of large sets include page-table walks.")
        return notes


def _figure_labels(record: probe.Record) -> Labels | None:
    """Return the labels of a rate, or None if the record has no known ones."""
    threads, block = record.count("threads"), record.count("block")
    operation, pattern = record.words.get("operation", ""), record.words.get("pattern", "")
    if not threads or not block or operation not in _OPERATIONS or pattern not in _PATTERNS:
        return None
    return labels(operation=operation, pattern=pattern, block=format_size(block), threads=str(threads))


# Parameters of the block test, and its memory size.


MIB, GIB = 2**20, 2**30

LARGEST_BLOCK = 4 * GIB
"""Limit of the probe."""

LARGEST_SET = GIB
"""Bytes of the largest set tested by default: building a longer pointer chain takes many seconds."""

_SIZE = r"\s*[1-9]\d{0,11}\s*(?:[kKmMgG]i?)?[bB]?\s*"

OPERATIONS = Parameter(
    name="operations",
    title="Operations",
    default="all",
    help="Copy blocks (a copied byte counts once), read them, or write them.",
    option="--operations",
    choices=(
        Choice("all", "Copy, read and write"),
        *(Choice(name, name.capitalize()) for name in ("copy", "read", "write")),
    ),
)

PATTERNS = Parameter(
    name="patterns",
    title="Order",
    default="both",
    help="Access the blocks in address order or at random.",
    option="--patterns",
    choices=(Choice("both", "Sequential, then random"), Choice("sequential", "Sequential"), Choice("random", "Random")),
)

BLOCKS = text_parameter(
    name="blocks",
    title="Block sizes",
    default="1 B, 1 KiB, 64 KiB, 1 MiB",
    help="Sizes such as “1 B, 4 KiB”. Below 64 KiB the cost of the call weighs as much as the block.",
    option="--blocks",
    pattern=rf"{_SIZE}(?:,{_SIZE}){{0,63}}",
)

TIME = Parameter(
    name="time",
    title="Time",
    type=Type.DURATION,
    default=1.0,
    help="Runtime of each combination of operation, order, block size and threads.",
    option="--time",
    unit="s",
    minimum=0.1,
    maximum=86400,
)

MEMORY = Parameter(
    name="memory",
    title="Memory",
    type=Type.SIZE,
    default=64 * MIB,
    help="Memory that all threads share as source; the target takes as much again.",
    option="--memory",
    unit="B",
    minimum=MIB,
    maximum=2**40,
)

LARGEST_WORKING_SET = Parameter(
    name="largest_set",
    title="Latency up to",
    type=Type.SIZE,
    default=64 * MIB,
    help="Largest working set for the latency test, in steps from 4 KiB; 0 skips it.",
    option="--chase",
    unit="B",
    minimum=0,
    maximum=2**40,
)

BLOCK_THREADS = replace(probe.THREADS, default=1, help="Number of threads; 0 is one per usable CPU.")
BLOCK_SWEEP = replace(probe.SWEEP, default="single")

PARAMETERS = (
    OPERATIONS,
    PATTERNS,
    BLOCKS,
    MEMORY,
    LARGEST_WORKING_SET,
    BLOCK_THREADS,
    BLOCK_SWEEP,
    TIME,
    probe.BUILD_ON_HOST,
)


def footprint(values: Values, threads: int) -> int:
    """Return the maximum memory of the test in bytes: source and target of all threads, or the largest working set."""
    part = max(int(values["memory"]) // threads, *parse_sizes(values["blocks"]))
    return max(2 * part * threads, int(values["largest_set"]))


def fitting_memory(facts: Facts | None) -> Tuned:
    """Return the memory to use: four times the cache, at most a quarter of the available memory."""
    return size_beyond_cache(facts, 2, ", so that memory is measured")


# Checks of a memory-blocks step.


def _in_cache(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    memory = int(evidence.values["memory"])
    cache = cache_for(evidence, memory)
    if cache is None or isinstance(cache, NotChecked):
        return cache
    better = int(fitting_memory(evidence.context.facts).value)
    changes: dict[str, Value] = {"memory": better} if better > memory else {}
    return CheckOutcome(
        f"The blocks span {format_size(memory)}: {memory / cache:.2g} times the {format_size(cache)} of "
        "last-level cache.",
        changes=changes,
    )


def _too_small(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    threads = probe.most_threads(evidence.values, evidence.context) or 1
    needed = footprint(evidence.values, threads)
    better = int(fitting_memory(evidence.context.facts).value)
    changes: dict[str, Value] = {
        name: better for name in ("memory", "largest_set") if int(evidence.values[name]) > better
    }
    return memory_outcome(evidence, needed, "Source and target take", changes)


def _block_refused(evidence: StepEvidence) -> CheckOutcome | None:
    largest = max(parse_sizes(evidence.values["blocks"]))
    return CheckOutcome(f"{format_size(largest)} is among the block sizes.") if largest > LARGEST_BLOCK else None


BLOCKS_IN_CACHE = Check(
    id="blocks-in-cache",
    title="Caches serve the blocks",
    why="Blocks in the caches, even in part, are measured at cache speed.",
    remedy="Set memory to at least four times the last-level cache.",
    source="STREAM 5.10, the rules in its source.",
    needs="memory; the host's last-level cache.",
    evaluate=_in_cache,
)

BLOCKS_REFUSED = Check(
    id="blocks-refused",
    severity=Severity.ERROR,
    blocks=True,
    title="Block size too large",
    why="The probe refuses it and the test does not start.",
    remedy=f"Use blocks of at most {format_size(LARGEST_BLOCK)}.",
    source="resources/probes/blocks.c.",
    needs="The block sizes.",
    evaluate=_block_refused,
)

BLOCKS_CHECKS = (
    BLOCKS_IN_CACHE,
    memory_too_small("Blocks", "Use less memory.", _too_small),
    BLOCKS_REFUSED,
    NO_HUGE_PAGES,
    probe.NO_COMPILER,
    MORE_THREADS_THAN_CPUS,
)


TOUCH_RATE = 1e9
"""Approximate B/s at which a thread first touches memory: the kernel clears each page."""

CHASE_SECONDS = 0.25
"""Maximum seconds of pointer chasing per working set, after its chain was built (see blocks.c)."""

SMALLEST_SET = 4096


_OPERATION = mapped({"read": "read", "write": "write"})
_PATTERN: Mapping[Value, Value] = {"sequential": "seq", "random": "rnd"}


def _block_of_each_thread(value: Value, values: Values, facts: Facts | None) -> Value | None:
    """Return the power of two nearest to each thread's part of the memory."""
    threads = all_threads(values["threads"], values, facts)
    return power_of_two(int(value) // int(threads or 1), values, facts)


def _memory_of_blocks(value: Value, values: Values, _facts: Facts | None) -> Value | None:
    """Return the bytes of the blocks of all threads, which share one unless each has its own."""
    return int(value) * (int(values["threads"]) if values["scope"] == "local" else 1)


class MemoryBlocks(Suite):
    """Memory bandwidth by block size. Fixed time, operations counted: higher throughput, lower latency are better."""

    id = "memory-blocks"
    title = "Memory blocks"
    summary = (
        "Bandwidth of copies, reads and writes in blocks of 1 B to 1 MiB or any size; latency of each cache level."
    )
    resource = Resource.MEMORY
    tried = TestedTool(
        "Benchwright’s own probe, built by gcc 12.2, run for real, in agreement with numpy",
        "every second",
        "true latency by working set",
    )
    program = bundled("blocks")
    other_programs = (COMPILER,)
    parameters = PARAMETERS
    main_parameters = ("operations", "patterns", "blocks", "memory", "threads", "time")
    syntax = CommandSyntax(("blocks",), texts={"blocks": sizes_text})
    metrics = METRICS
    sweeps = True
    checks = BLOCKS_CHECKS
    equivalents = (
        Equivalent(
            "stream",
            MEMORY_QUESTION,
            (THREADS_MAPPING, ParameterMapping("memory", "array_size")),
            (
                MetricMapping(
                    ("throughput",),
                    ("copy",),
                    0.5,
                    "STREAM counts a copied byte twice (read and written), the probe once, so its figure is "
                    "doubled here",
                ),
            ),
            fixed=(("sweep", "single"),),
            fixed_backward=(
                ("operations", "copy"), ("patterns", "sequential"), ("blocks", "1 MiB"), ("largest_set", 0),
                ("sweep", "single"), ("time", 5.0),
            ),
            reasons=tool_difference(
                "STREAM reports the best of its passes, the probe the mean over the whole time.", Bias.OTHER
            ),
        ),
        Equivalent(
            "sysbench-memory",
            MEMORY_QUESTION,
            (
                ParameterMapping("operations", "operation", _OPERATION, _OPERATION),
                ParameterMapping("patterns", "access_mode", mapped(_PATTERN), backwards(_PATTERN)),
                ParameterMapping("memory", "block_size", _block_of_each_thread, _memory_of_blocks),
                THREADS_MAPPING,
                ParameterMapping("time", "time", at_least_a_second, at_least_a_second),
            ),
            (MetricMapping(("throughput",), ("throughput",)),),
            fixed=(("total_size", 2**50), ("scope", "local")),
            fixed_backward=(("blocks", "64 KiB"), ("largest_set", 0), ("sweep", "single")),
            reasons=tool_difference(
                "The loops differ: the probe’s is vectorised; sysbench’s goes word by word and is limited by the "
                "loop, not by memory.",
                Bias.DECLARING,
            ),
        ),
    )  # fmt: skip

    def programs(self, values: Values, facts: Facts | None) -> tuple[Program, ...]:
        """Return a compiler if the probe is built on the host."""
        return probe.needed_programs("blocks", values, facts)

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return memory beyond all caches, and working sets up to as much."""
        memory = fitting_memory(context.facts)
        largest = min(int(memory.value), LARGEST_SET)
        why = f"Up to {format_size(largest)}, so that the last step shows memory beyond all caches."
        return {"memory": memory, "largest_set": Tuned(largest, why)}

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the build and one run of the probe."""
        options = ["--blocks", ",".join(map(str, parse_sizes(values["blocks"])))]
        if values["operations"] != "all":
            options += ["--operations", str(values["operations"])]
        if values["patterns"] != "both":
            options += ["--patterns", str(values["patterns"])]
        options += ["--memory", str(values["memory"]), "--chase", str(values["largest_set"])]
        options += ["--time", f"{float(values['time']):g}", *probe.thread_arguments(values, context)]
        return probe.probe_commands("blocks", options, values, context)

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return the time of all combinations, of touching their memory, and of the latencies."""
        counts = probe.sweep_counts(values, context)
        if counts is None:
            return Estimate(None)
        operations = 3 if values["operations"] == "all" else 1
        patterns = 2 if values["patterns"] == "both" else 1
        memory, blocks = int(values["memory"]), len(str(values["blocks"]).split(","))
        each = sum(float(values["time"]) + 2 * memory / TOUCH_RATE / min(threads, 4) for threads in counts)
        sets = 2 * max(0, (int(values["largest_set"]) // SMALLEST_SET).bit_length())
        latency = sets * CHASE_SECONDS + int(values["largest_set"]) / TOUCH_RATE
        return Estimate(operations * patterns * blocks * each + latency)

    def parser(self, values: Values) -> TrialParser:
        """Return a new parser."""
        return probe.ProbeParser("blocks", BlocksReader(self.metrics_of(values)[0]))

    def metrics_of(self, values: Values) -> tuple[Metric, ...]:
        """Return the metrics, the headline first: of random reads alone it is the latency, where that is measured."""
        of_latency = (values["operations"], values["patterns"]) == ("read", "random") and int(values["largest_set"])
        return (LATENCY, THROUGHPUT, OPERATION_TIME) if of_latency else METRICS

    def traits(self, values: Values, facts: Facts | None) -> Traits:
        """Return the traits of a step for cross-checks."""
        chosen, pattern = str(values["operations"]), str(values["patterns"])
        copies = 1 if chosen in {"read", "write"} else 2
        return Traits(
            operation={"all": None, "copy": "read and write"}.get(chosen, chosen),
            pattern=None if pattern == "both" else pattern,
            block=only_size(values["blocks"], values, facts),
            threads=all_threads(values["threads"], values, facts),
            working_set=copies * int(values["memory"]),
            seconds=float(values["time"]),
        )
