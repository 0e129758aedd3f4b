"""Limits of memory: swap, and the bandwidth of memory beyond the caches."""

from collections.abc import Iterator

from app.checks.evidence import IO_RESOURCES, cpus_of, share, workload_of
from app.checks.host import SWAPPED_IN
from app.checks.limits.cpu import RUNNING, fits_caches, use_of
from app.checks.limits.hypothesis import UNCOUNTED, Hypothesis, objections
from suites.evidence import TrialEvidence
from suites.memory_sizes import CACHE_FACTOR
from suites.quantities import count_text, quantity, share_text
from suites.units import Unit
from suites.verdict import Limiter
from suites.vocab import Resource

FAULTS = 10.0
"""Major page faults of the test per second below which it did not wait for its own pages."""

STALLED = 0.2
"""The share of the time without a CPU, or waiting for memory (PSI), from which swap limits the test."""


def swap(trial: TrialEvidence) -> Iterator[Hypothesis]:
    """Yield swapping: pages swapped in, and the share of the time lost by it (kernel, accounting/psi)."""
    watch, use = trial.watch, use_of(trial)
    came = None if watch is None else watch.total("swap_in")
    if watch is None or came is None or came < SWAPPED_IN or not watch.seconds:
        return
    pressure, faults, demand = watch.mean("pressure_memory"), watch.mean("tool_major_faults"), use.demand
    io = trial.suite.resource in IO_RESOURCES
    idle = 1 - demand if demand is not None and not io and not trial.suite.uses_server else 0.0
    waited = max(idle, (pressure or 0.0) / 100)
    others = objections(
        (faults is None, "the test’s own page faults were not counted"),
        (faults is not None and faults < FAULTS, "the test had few major page faults"),
    )
    counter = (
        f"{quantity(came / watch.seconds, Unit.BYTES_PER_SECOND)} swapped in; the test waited "
        f"{share_text(min(1.0, waited))} of the time"
    )
    then = "Use a working set that fits into memory."
    yield Hypothesis(Limiter.SWAP, min(1.0, waited), counter, then, others, STALLED)


def tool_limit(trial: TrialEvidence) -> Iterator[Hypothesis]:
    """Yield the limit that the step's values set to its tool, such as a call for each small block."""
    limit = workload_of(trial).tool_limit
    if limit is not None:
        yield Hypothesis(Limiter.TOOL, 1.0, limit[0].rstrip("."), limit[1])


def bandwidth(trial: TrialEvidence) -> Iterator[Hypothesis]:
    """Yield memory bandwidth, or the CPUs, of a memory test on all CPUs.

    Loops that only move memory are limited by it beyond the caches (STREAM’s rule: four times their size). Other loops
    on all CPUs may be limited by their instructions or by latency: the counters do not tell which.
    """
    use, facts = use_of(trial), trial.context.facts
    usable, part = use.usable, share(use.running, use.usable)
    traits = trial.suite.traits(trial.values, facts)
    size, threads, cpus = traits.working_set, traits.threads or 0, cpus_of(trial) or 0
    cache = None if facts is None else facts.last_level_cache()
    if trial.suite.resource is not Resource.MEMORY or usable is None:
        return
    if size is None or cache is None or part is None:
        return
    counter = f"{share_text(part)} of {count_text(usable, 'CPU')} in use; the working set of {quantity(size)}"
    fits, uncounted = fits_caches(trial), objections((use.test is None, UNCOUNTED))
    text = f"{counter} {'fits in' if fits else 'exceeds'} the caches ({quantity(cache)})"
    if fits:
        then = "Use a working set of four times the caches to measure memory."
        yield Hypothesis(Limiter.CPU, part, text, then, uncounted, RUNNING)
        return
    against = objections(
        (size < CACHE_FACTOR * cache, "the working set is less than four times the caches"),
        (not workload_of(trial).moves_memory, "its loop may compute longer than it waits for memory"),
        (
            0 < threads < cpus,
            f"{count_text(threads, 'thread')} on {count_text(cpus, 'CPU')} may not saturate the memory",
        ),
    )
    then = "Run it with half the threads: the same rate confirms it."
    if threads == 1:
        then = "Run it with a working set of 1 MiB: a higher rate confirms it."
    yield Hypothesis(Limiter.MEMORY_BANDWIDTH, part, text, then, (*uncounted, *against), RUNNING)
