"""What is known to fool people about sysbench's CPU test."""

from suites.checks import CannotTell, Check, Outcome, StepEvidence
from suites.parameters import Value
from suites.runtime_checks import SHORT_RUNTIME
from suites.thread_checks import CPU_QUOTA, MORE_THREADS_THAN_CPUS, cpus_for
from suites.vocab import Level

DEFAULT_PRIME_LIMIT = 10000
DEFAULT_EVENTS = 10_000  # of sysbench 0.4
TUNED_PRIME_LIMIT = 20000


def _defaults(evidence: StepEvidence) -> Outcome | CannotTell | None:
    facts, values = evidence.context.facts, evidence.values
    cpus = None if facts is None else cpus_for(facts)
    limit, events, threads = int(values["cpu_max_prime"]), int(values["events"]), int(values["threads"])
    low_limit = limit <= DEFAULT_PRIME_LIMIT
    words, changes = [f"cpu_max_prime is {limit:,}"] if low_limit else [], dict[str, Value]()
    if low_limit:
        changes["cpu_max_prime"] = TUNED_PRIME_LIMIT
    if threads == 1 and cpus is not None and cpus > 1:
        words.append(f"1 thread on a host with {cpus} CPUs to run on")
        changes["threads"] = cpus
    if low_limit and 0 < events <= DEFAULT_EVENTS:
        words.append(f"the run ends after {events:,} events, within seconds")
        changes["events"] = 0
    if changes:
        level = Level.INFO if len(changes) == 1 else None  # one of them alone may well be the question
        return Outcome(measured="; ".join(words) + ".", level=level, changes=changes)
    return CannotTell("The number of usable CPUs is not known.") if cpus is None and threads == 1 else None


SYSBENCH_CPU_DEFAULTS = Check(
    id="sysbench-cpu-defaults",
    level=Level.WARNING,
    title="sysbench's defaults measure little of this host",
    why="One thread measures one CPU and says nothing of the others; a low prime limit and a fixed small number of "
    "events measure start-up and timing as much as the processor. With them, published ratios between the "
    "same machines spread from 1.8 to 25.",
    remedy=f"Use one thread for each CPU and a prime limit of {TUNED_PRIME_LIMIT:,}; keep one thread only where the "
    "speed of one CPU is the question.",
    source="AWS re:Invent 2013 ENT305, Benchmarking EC2: never publish sysbench's defaults.",
    needs="The threads, the prime limit and the events; the CPUs that this user may run on.",
    evaluate=_defaults,
)

CPU_CHECKS = (SYSBENCH_CPU_DEFAULTS, SHORT_RUNTIME, MORE_THREADS_THAN_CPUS, CPU_QUOTA)
