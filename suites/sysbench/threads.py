"""sysbench threads: how fast threads hand a few locks on to each other, which is the scheduler's work."""

from collections.abc import Mapping

from suites.base import Command, Context, Estimate, TrialParser
from suites.checks import CannotTell, Check, Outcome, StepCheck, StepEvidence
from suites.parameters import Parameter, Tuned, Type, Values
from suites.runtime_checks import SHORT_RUNTIME
from suites.sysbench.common import PACKAGES, PERCENTILE, THREADS, TIME, command, tune_common
from suites.sysbench.cpu import EVENTS_PER_SECOND, read_rate
from suites.sysbench.output import (
    LATENCY_MAXIMUM,
    LATENCY_MEAN,
    TOTAL_EVENTS,
    TOTAL_TIME,
    SysbenchOutput,
    SysbenchParser,
    latency_percentile,
    unresolved_note,
)
from suites.thread_checks import CPU_QUOTA, cpus_for
from suites.vocab import Figure, Level, Metric, Resource

THREAD_YIELDS = Parameter(
    name="thread_yields",
    title="Yields",
    type=Type.INTEGER,
    default=1000,
    help="How often an event takes a lock, yields the CPU and lets the lock go.",
    option="--thread-yields",
    minimum=1,
    maximum=10**6,
)

THREAD_LOCKS = Parameter(
    name="thread_locks",
    title="Locks",
    type=Type.INTEGER,
    default=8,
    help="How many locks there are; with fewer locks than threads, threads wait for each other.",
    option="--thread-locks",
    minimum=1,
    maximum=10**6,
)


def _alone(evidence: StepEvidence) -> Outcome | CannotTell | None:
    threads = int(evidence.values["threads"])
    if threads > 1:
        return None
    facts = evidence.context.facts
    cpus = None if facts is None else cpus_for(facts)
    return Outcome(
        "1 thread: it never waits for a lock, nor for another thread.", changes={"threads": max(2, cpus or 2)}
    )


SYSBENCH_THREADS_ALONE = Check(
    id="sysbench-threads-alone",
    level=Level.WARNING,
    title="One thread has nobody to wait for",
    why="The test is of threads that hand locks on to each other; one alone measures the cost of a system call.",
    remedy="Use one thread for each CPU, and more to see what contention costs.",
    source="sysbench 1.0.20, sb_threads.c.",
    needs="The threads.",
    evaluate=_alone,
)


def _conclude(output: SysbenchOutput) -> tuple[list[Figure], list[str]]:
    figures, notes = output.figures(TOTAL_TIME, TOTAL_EVENTS), unresolved_note(output)
    seconds, events = output.numbers.get("total_time"), output.numbers.get("total_events")
    if seconds and events:
        figures.insert(0, Figure(EVENTS_PER_SECOND, events / seconds))
        notes.append(
            f"sysbench prints no rate for this test: events per second is {events:.0f} events in {seconds:g} s."
        )
    return figures, notes


class SysbenchThreads:
    """The thread test. Fixed time, events counted: higher is better."""

    id = "sysbench-threads"
    title = "sysbench threads"
    summary = "Threads that take, yield and release a few locks: the scheduler at work, counted per second."
    resource = Resource.CPU
    tool = "sysbench"
    packages: Mapping[str, str] = PACKAGES
    parameters: tuple[Parameter, ...] = (THREADS, THREAD_YIELDS, THREAD_LOCKS, TIME, PERCENTILE)
    metrics: tuple[Metric, ...] = (
        EVENTS_PER_SECOND,
        LATENCY_MEAN,
        latency_percentile(int(PERCENTILE.default)),
        LATENCY_MAXIMUM,
        TOTAL_TIME,
        TOTAL_EVENTS,
    )
    needs_peer = False
    directory_parameter: str | None = None
    checks: tuple[StepCheck, ...] = (SYSBENCH_THREADS_ALONE, SHORT_RUNTIME, CPU_QUOTA)

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return a thread for every usable CPU, at least two, and a longer run."""
        tuned = tune_common(context.facts)
        if int(tuned["threads"].value if "threads" in tuned else 1) < 2:
            tuned["threads"] = Tuned(2, "Two threads are the fewest that can wait for each other.")
        return tuned

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the one command of a trial."""
        options = [f"--thread-yields={values['thread_yields']}", f"--thread-locks={values['thread_locks']}"]
        return (command("threads", options, values, context),)

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return the run's time."""
        del context  # nothing about the host changes how long it takes
        return Estimate(duration=float(values["time"]))

    def parser(self, values: Values) -> TrialParser:
        """Return a fresh parser; the output says all it needs to know."""
        del values
        return SysbenchParser("threads", read_rate, _conclude)
