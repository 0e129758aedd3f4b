"""What is known to fool people about STREAM."""

from suites.checks import CannotTell, Check, Outcome, StepEvidence
from suites.parameters import format_size
from suites.probe.checks import NO_COMPILER, memory_outcome
from suites.stream.parameters import ARRAYS, CACHE_FACTOR, fitting_array, own_kernels
from suites.thread_checks import CPU_QUOTA, FACTS_NOT_READ, MORE_THREADS_THAN_CPUS
from suites.vocab import Level


def _array_in_cache(evidence: StepEvidence) -> Outcome | CannotTell | None:
    facts, values = evidence.context.facts, evidence.values
    if not own_kernels(values):
        return None
    if facts is None:
        return FACTS_NOT_READ
    cache = facts.last_level_cache()
    if cache is None:
        return CannotTell("The size of the last-level cache is not known.")
    size = int(values["array_size"])
    if size >= CACHE_FACTOR * cache:
        return None
    better = fitting_array(facts).value
    return Outcome(
        f"Each array has {format_size(size)}: {size / cache:.2g} times the {format_size(cache)} of last-level cache.",
        changes={"array_size": better} if int(better) > size else {},
    )


def _too_small(evidence: StepEvidence) -> Outcome | CannotTell | None:
    if not own_kernels(evidence.values):
        return None
    size = int(evidence.values["array_size"])
    better = fitting_array(evidence.context.facts).value
    changes = {"array_size": better} if int(better) < size else {}
    return memory_outcome(evidence, ARRAYS * size, "The three arrays take", changes)


def _foreign_program(evidence: StepEvidence) -> Outcome | None:
    if own_kernels(evidence.values):
        return None
    facts = evidence.context.facts
    cache = None if facts is None else facts.last_level_cache()
    wanted = "" if cache is None else f": at least {format_size(CACHE_FACTOR * cache)} on this host"
    return Outcome(f"{evidence.values['program']} has the array size it was built with{wanted}.")


STREAM_ARRAY_IN_CACHE = Check(
    id="stream-array-in-cache",
    level=Level.WARNING,
    title="The arrays do not measure memory",
    why="Arrays that the caches hold, wholly or in part, measure the caches: 4 MB arrays gave 190 GB/s where memory "
    "gives 40.",
    remedy="Use arrays of at least four times the last-level cache of all sockets.",
    source="STREAM 5.10, the rules in its source.",
    needs="The array size; the host's last-level cache.",
    evaluate=_array_in_cache,
)

STREAM_MEMORY_TOO_SMALL = Check(
    id="memory-too-small",
    level=Level.ERROR,
    title="The arrays do not fit into memory",
    why="The host would swap, or the kernel would end the probe or something else on the host.",
    remedy="Use smaller arrays.",
    source="/proc/meminfo, MemAvailable; the cgroup's memory limit.",
    needs="What the step takes; the host's available memory and its cgroup's limit.",
    evaluate=_too_small,
)

STREAM_FOREIGN_PROGRAM = Check(
    id="stream-own-array",
    level=Level.INFO,
    title="The array size of this program is its own",
    why="It was fixed when the program was built. Arrays within the cache measure the cache.",
    remedy="Read its “Array size” after the run; build it with -DSTREAM_ARRAY_SIZE where it is too small.",
    source="STREAM 5.10, the rules in its source.",
    needs="The program; the host's last-level cache.",
    evaluate=_foreign_program,
)

STREAM_CHECKS = (
    STREAM_ARRAY_IN_CACHE,
    STREAM_MEMORY_TOO_SMALL,
    STREAM_FOREIGN_PROGRAM,
    NO_COMPILER,
    MORE_THREADS_THAN_CPUS,
    CPU_QUOTA,
)
