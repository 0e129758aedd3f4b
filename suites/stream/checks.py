"""Checks of a STREAM step."""

from suites.base import StepEvidence
from suites.checks import Check, CheckOutcome, NotChecked
from suites.facts import known
from suites.memory_sizes import CACHE_FACTOR, NO_HUGE_PAGES, cache_for, memory_outcome, memory_too_small, page_text
from suites.parameters import format_size
from suites.probe import NO_COMPILER
from suites.stream.parameters import ARRAYS, bundled_kernels, fitting_array
from suites.thread_checks import MORE_THREADS_THAN_CPUS
from suites.vocab import Severity


def _array_in_cache(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    values = evidence.values
    if not bundled_kernels(values):
        return None
    size = int(values["array_size"])
    cache = cache_for(evidence, size)
    if cache is None or isinstance(cache, NotChecked):
        return cache
    better = fitting_array(evidence.context.facts).value
    return CheckOutcome(
        f"Each array has {format_size(size)}: {size / cache:.2g} times the {format_size(cache)} of last-level cache.",
        changes={"array_size": better} if int(better) > size else {},
    )


def _too_small(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    if not bundled_kernels(evidence.values):
        return None
    size = int(evidence.values["array_size"])
    better = fitting_array(evidence.context.facts).value
    changes = {"array_size": better} if int(better) < size else {}
    return memory_outcome(evidence, ARRAYS * size, "The three arrays take", changes)


def _foreign_program(evidence: StepEvidence) -> CheckOutcome | None:
    if bundled_kernels(evidence.values):
        return None
    facts = evidence.context.facts
    cache = None if facts is None else facts.last_level_cache()
    wanted = "" if cache is None else f": at least {format_size(CACHE_FACTOR * cache)} on this host"
    return CheckOutcome(f"{evidence.values['program']} uses the array size it was built with{wanted}.")


STREAM_ARRAY_IN_CACHE = Check(
    id="stream-array-in-cache",
    title="Caches serve the arrays",
    why="Arrays in the caches, even in part, are measured at cache speed. Example (another host): 4 MB arrays gave "
    "190 GB/s where memory gives 40.",
    remedy="Use arrays of at least four times the last-level cache of all sockets.",
    source="STREAM 5.10, the rules in its source.",
    needs="Array size; the host's last-level cache.",
    evaluate=_array_in_cache,
)

STREAM_FOREIGN_PROGRAM = Check(
    id="stream-own-array",
    severity=Severity.INFO,
    title="Array size is fixed by the program",
    why="It is set when the program is built. Arrays within the caches measure the caches.",
    remedy="Read its “Array size” after the run; build it with -DSTREAM_ARRAY_SIZE if it is too small.",
    source="STREAM 5.10, the rules in its source.",
    needs="Program; the host's last-level cache.",
    evaluate=_foreign_program,
)


def _small_pages(evidence: StepEvidence) -> CheckOutcome | None:
    facts = evidence.context.facts
    if facts is None or bundled_kernels(evidence.values) or known(facts.memory.transparent_huge_pages) != "madvise":
        return None  # the bundled probe asks for huge pages
    program = evidence.values["program"]
    return CheckOutcome(f"transparent_hugepage is madvise{page_text(facts)}; {program} does not ask for huge pages.")


STREAM_SMALL_PAGES = Check(
    id="stream-small-pages",
    severity=Severity.INFO,
    title="STREAM without huge pages",
    why="STREAM does not call madvise: TLB misses are part of the figure, which compares badly with hosts of another "
    "setting and with the bundled probe.",
    remedy="Set transparent_hugepage to always for the comparison, or quote the figure with the setting.",
    source="Linux documentation, Transparent Hugepage Support; STREAM 5.10, its source.",
    needs="Program; transparent_hugepage/enabled.",
    evaluate=_small_pages,
)

STREAM_CHECKS = (
    STREAM_ARRAY_IN_CACHE,
    memory_too_small("Arrays", "Use smaller arrays.", _too_small),
    STREAM_FOREIGN_PROGRAM,
    NO_HUGE_PAGES,
    STREAM_SMALL_PAGES,
    NO_COMPILER,
    MORE_THREADS_THAN_CPUS,
)
