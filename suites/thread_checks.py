"""Checks of a thread count against the CPUs a host has and those its cgroup grants."""

import math

from suites.base import StepEvidence
from suites.checks import FACTS_NOT_READ, Check, CheckOutcome, NotChecked
from suites.facts import known
from suites.quantities import count_text


def _more_threads_than_cpus(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    if evidence.context.facts is None:
        return FACTS_NOT_READ
    usable = known(evidence.context.facts.cpu.usable)
    if usable is None:
        return NotChecked("The number of usable CPUs is not known.")
    threads = int(evidence.values["threads"])
    if threads <= usable:
        return None
    return CheckOutcome(f"{threads} threads on {count_text(usable, 'usable CPU')}.", changes={"threads": usable})


def _threads(evidence: StepEvidence) -> int | None:
    """Return the threads of a step, as its traits or its parameter give them; None if not known."""
    found = evidence.suite.traits(evidence.values, evidence.context.facts).threads
    given = evidence.values.get("threads")
    return found if found is not None or given is None else int(given)


def _cpu_quota(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    threads = _threads(evidence)
    if threads is None:
        return None
    if evidence.context.facts is None:
        return FACTS_NOT_READ
    quota = known(evidence.context.facts.cpu.quota)
    if quota is None or threads <= quota:
        return None
    chosen = threads > 1 and evidence.values.get("threads") == threads
    return CheckOutcome(
        measured=f"{count_text(threads, 'thread')}; the cgroup grants {count_text(quota, 'CPU')}.",
        remedy=None if chosen else "Measure outside this cgroup, or quote the figure with the quota.",
        changes={"threads": max(1, math.floor(quota))} if chosen else {},
    )


MORE_THREADS_THAN_CPUS = Check(
    id="more-threads-than-cpus",
    title="More threads than CPUs",
    why="Threads that wait for a CPU raise the latency and measure the scheduler; throughput does not grow.",
    remedy="Use one thread per usable CPU.",
    source="sysbench manual, --threads; sched_getaffinity(2).",
    needs="Threads; the CPUs usable by this user.",
    evaluate=_more_threads_than_cpus,
)

CPU_QUOTA = Check(
    id="cpu-quota",
    title="CPU quota below the thread count",
    why="Once the quota is used up the kernel stops all threads for the rest of the period: the figure is the "
    "quota's, not the hardware's, and latencies show the pauses.",
    remedy="Use no more threads than the CPUs of the quota.",
    source="Linux documentation, CFS bandwidth control (cpu.max, cpu.cfs_quota_us).",
    needs="Threads; the CPU quota of the cgroup.",
    evaluate=_cpu_quota,
)
