"""Checks of a thread count against the CPUs a host has and those its cgroup grants."""

import math

from suites.checks import CannotTell, Check, Outcome, StepEvidence
from suites.facts import Facts, known
from suites.parameters import Value
from suites.vocab import Level

FACTS_NOT_READ = CannotTell("The host's facts have not been read.")


def cpus_for(facts: Facts) -> int | None:
    """Return how many threads can really run at once: usable CPUs, fewer where a cgroup's quota grants fewer."""
    usable, quota = known(facts.cpu.usable), known(facts.cpu.quota)
    if usable is None:
        return None
    return usable if quota is None else max(1, min(usable, math.floor(quota)))


def _more_threads_than_cpus(evidence: StepEvidence) -> Outcome | CannotTell | None:
    if evidence.context.facts is None:
        return FACTS_NOT_READ
    usable = known(evidence.context.facts.cpu.usable)
    if usable is None:
        return CannotTell("The number of usable CPUs is not known.")
    threads = int(evidence.values["threads"])
    if threads <= usable:
        return None
    return Outcome(measured=f"{threads} threads on {usable} usable CPUs.", changes={"threads": usable})


def _cpu_quota(evidence: StepEvidence) -> Outcome | CannotTell | None:
    if evidence.context.facts is None:
        return FACTS_NOT_READ
    quota = known(evidence.context.facts.cpu.quota)
    threads = int(evidence.values["threads"])
    if quota is None or threads <= quota:
        return None
    changes: dict[str, Value] = {} if threads == 1 else {"threads": max(1, math.floor(quota))}
    return Outcome(
        measured=f"{threads} threads; the cgroup grants {quota:g} CPUs.",
        remedy=None if changes else "Measure outside this cgroup, or read the figure as that of its share of one CPU.",
        changes=changes,
    )


MORE_THREADS_THAN_CPUS = Check(
    id="more-threads-than-cpus",
    level=Level.WARNING,
    title="More threads than CPUs",
    why="Threads that wait for a CPU raise the latency and measure the scheduler; the throughput does not grow.",
    remedy="Use one thread for each usable CPU.",
    source="sysbench manual, --threads; sched_getaffinity(2).",
    needs="The threads; the CPUs that this user may run on.",
    evaluate=_more_threads_than_cpus,
)

CPU_QUOTA = Check(
    id="cpu-quota",
    level=Level.WARNING,
    title="The CPU quota throttles the threads",
    why="The kernel stops all threads for the rest of each period once the quota is used up: the figure is the "
    "quota's, not the processor's, and latencies show the pauses.",
    remedy="Use no more threads than the quota grants CPUs.",
    source="Linux documentation, CFS bandwidth control (cpu.max, cpu.cfs_quota_us).",
    needs="The threads; the CPUs that the cgroup grants.",
    evaluate=_cpu_quota,
)
