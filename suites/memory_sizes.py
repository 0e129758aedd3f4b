"""Sizes of buffers against the last-level cache and the available memory of a host."""

from collections.abc import Callable

from suites.base import StepCheck, StepEvidence
from suites.checks import FACTS_NOT_READ, Check, CheckOutcome, NotChecked
from suites.facts import Facts, known
from suites.parameters import Tuned, Value, format_size
from suites.quantities import quantity
from suites.vocab import Severity

MIB = 2**20

CACHE_FACTOR = 4
"""STREAM's rule (its source, 5.10): at least four times the last-level cache, or the cache is measured."""

UNKNOWN_CACHE_SIZE = 256 * MIB
"""Size of a buffer if the cache sizes are not known."""


def available_memory(facts: Facts | None) -> int | None:
    """Return the bytes available for buffers: available memory, or less with a lower cgroup limit."""
    if facts is None:
        return None
    given = [size for size in (known(facts.memory.available), known(facts.memory.limit)) if size is not None]
    return min(given) if given else None


def size_beyond_cache(facts: Facts | None, buffers: int, ending: str, limited: str = "") -> Tuned:
    """Return a size that measures memory: four times the cache, if all `buffers` fit into half the available memory.

    `ending` follows the reason, then `limited` if they do not fit.
    """
    cache = None if facts is None else facts.last_level_cache()
    available = available_memory(facts)
    wanted = UNKNOWN_CACHE_SIZE if cache is None else -(-CACHE_FACTOR * cache // MIB) * MIB
    size = wanted if available is None else min(wanted, max(MIB, available // 2 // buffers // MIB * MIB))
    if cache is None:
        return Tuned(size, f"The cache sizes are not known; {format_size(size)} exceeds most caches.")
    ending += limited if size < wanted else ""
    return Tuned(size, f"{size / cache:.3g} times the {format_size(cache)} of last-level cache{ending}.")


def cache_for(evidence: StepEvidence, size: int) -> int | NotChecked | None:
    """Return the bytes of the last-level cache that serves `size` bytes in part; None if they are far beyond it."""
    facts = evidence.context.facts
    if facts is None:
        return FACTS_NOT_READ
    cache = facts.last_level_cache()
    if cache is None:
        return NotChecked("The size of the last-level cache is not known.")
    return cache if size < CACHE_FACTOR * cache else None


def memory_outcome(
    evidence: StepEvidence, needed: int, what: str, changes: dict[str, Value]
) -> CheckOutcome | NotChecked | None:
    """Return the finding that `needed` bytes do not fit into the host's memory; `changes` would make them fit."""
    if evidence.context.facts is None:
        return FACTS_NOT_READ
    available = available_memory(evidence.context.facts)
    if available is None:
        return NotChecked("The available memory is not known.")
    if needed <= available:
        return None
    return CheckOutcome(f"{what} {quantity(needed)}; {available / 2**30:.3g} GiB are available.", changes=changes)


def memory_too_small(
    what: str, remedy: str, evaluate: Callable[[StepEvidence], CheckOutcome | NotChecked | None]
) -> StepCheck:
    """Return the check that the memory of a step, of `what` it consists, is available."""
    return Check(
        id="memory-too-small",
        of_result=False,
        severity=Severity.ERROR,
        title=f"{what} do not fit into memory",
        why="The host would swap, or the kernel would kill the test or another process.",
        remedy=remedy,
        source="/proc/meminfo, MemAvailable; the cgroup's memory limit.",
        needs="Memory of the step; the host's available memory and cgroup limit.",
        evaluate=evaluate,
    )


def _no_huge_pages(evidence: StepEvidence) -> CheckOutcome | None:
    facts = evidence.context.facts
    if facts is None or known(facts.memory.transparent_huge_pages) != "never":
        return None
    return CheckOutcome(f"transparent_hugepage is never{page_text(facts)}.")


def page_text(facts: Facts) -> str:
    """Return the size of the host's pages as the end of a clause; empty if not known."""
    size = known(facts.memory.page_size)
    return "" if size is None else f", and pages have {format_size(size)}"


NO_HUGE_PAGES = Check(
    id="huge-pages-off",
    title="Transparent huge pages are off",
    why="Large arrays then use small pages: TLB misses are part of the figure, which is lower and varies with the "
    "placement of the pages.",
    remedy="Set /sys/kernel/mm/transparent_hugepage/enabled to madvise or always, or quote the figure with it.",
    source="Linux documentation, Transparent Hugepage Support.",
    needs="transparent_hugepage/enabled.",
    evaluate=_no_huge_pages,
)
"""For tests of memory much larger than the reach of the TLB."""
