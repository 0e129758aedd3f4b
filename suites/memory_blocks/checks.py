"""What is known to fool people about memory by blocks."""

from suites.checks import CannotTell, Check, Outcome, StepEvidence
from suites.memory_blocks.parameters import LARGEST_BLOCK, block_sizes, fitting_memory, footprint
from suites.parameters import Value, format_size
from suites.probe.checks import NO_COMPILER, memory_outcome
from suites.probe.probe import most_threads
from suites.sysbench.memory_size import CACHE_FACTOR
from suites.thread_checks import CPU_QUOTA, FACTS_NOT_READ, MORE_THREADS_THAN_CPUS
from suites.vocab import Level


def _in_cache(evidence: StepEvidence) -> Outcome | CannotTell | None:
    facts, memory = evidence.context.facts, int(evidence.values["memory"])
    if facts is None:
        return FACTS_NOT_READ
    cache = facts.last_level_cache()
    if cache is None:
        return CannotTell("The size of the last-level cache is not known.")
    if memory >= CACHE_FACTOR * cache:
        return None
    better = int(fitting_memory(facts).value)
    changes: dict[str, Value] = {"memory": better} if better > memory else {}
    return Outcome(
        f"The blocks lie in {format_size(memory)}: {memory / cache:.2g} times the {format_size(cache)} of last-level "
        "cache.",
        changes=changes,
    )


def _too_small(evidence: StepEvidence) -> Outcome | CannotTell | None:
    threads = most_threads(evidence.values, evidence.context) or 1
    needed = footprint(evidence.values, threads)
    better = int(fitting_memory(evidence.context.facts).value)
    changes: dict[str, Value] = {
        name: better for name in ("memory", "largest_set") if int(evidence.values[name]) > better
    }
    return memory_outcome(evidence, needed, "Source and target take", changes)


def _block_refused(evidence: StepEvidence) -> Outcome | None:
    largest = max(block_sizes(evidence.values))
    return Outcome(f"{format_size(largest)} is among the block sizes.") if largest > LARGEST_BLOCK else None


BLOCKS_IN_CACHE = Check(
    id="blocks-in-cache",
    level=Level.WARNING,
    title="The blocks do not come from memory",
    why="What the caches hold, wholly or in part, is measured at their speed.",
    remedy="Go through at least four times the last-level cache.",
    source="STREAM 5.10, the rules in its source.",
    needs="The memory gone through; the host's last-level cache.",
    evaluate=_in_cache,
)

BLOCKS_TOO_SMALL = Check(
    id="memory-too-small",
    level=Level.ERROR,
    title="The blocks do not fit into memory",
    why="The host would swap, or the kernel would end the probe or something else on the host.",
    remedy="Use less memory.",
    source="/proc/meminfo, MemAvailable; the cgroup's memory limit.",
    needs="What the step takes; the host's available memory and its cgroup's limit.",
    evaluate=_too_small,
)

BLOCKS_REFUSED = Check(
    id="blocks-refused",
    level=Level.ERROR,
    title="The probe refuses this block size",
    why="With it the test does not start.",
    remedy=f"Use blocks of at most {format_size(LARGEST_BLOCK)}.",
    source="resources/probes/blocks.c.",
    needs="The block sizes.",
    evaluate=_block_refused,
)

BLOCKS_CHECKS = (
    BLOCKS_IN_CACHE,
    BLOCKS_TOO_SMALL,
    BLOCKS_REFUSED,
    NO_COMPILER,
    MORE_THREADS_THAN_CPUS,
    CPU_QUOTA,
)
