"""sysbench threads: scheduler performance of threads that pass a few locks to each other."""

from suites.base import Command, Context, StepEvidence, Suite, TestedTool, Workload
from suites.checks import Check, CheckOutcome, NotChecked
from suites.facts import cpus_for
from suites.outputs import OutputFormat, TrialParser
from suites.parameters import Tuned, Values, count_parameter
from suites.runtime_checks import SHORT_RUNTIME
from suites.sysbench.cpu import EVENTS_PER_SECOND, read_rate
from suites.sysbench.output import (
    LATENCIES,
    PERCENTILE,
    SYSBENCH,
    THREADS,
    TIME,
    TOTAL_EVENTS,
    TOTAL_TIME,
    SysbenchOutput,
    SysbenchParser,
    command,
    requested_rate,
    sysbench_syntax,
    tune_common,
    unresolved_note,
)
from suites.sysbench.output_formats import sysbench_format
from suites.vocab import Figure, Resource

THREAD_YIELDS = count_parameter(
    name="thread_yields",
    default=1000,
    help="Times that an event takes a lock, yields the CPU and releases the lock.",
    option="--thread-yields",
    maximum=10**6,
)

THREAD_LOCKS = count_parameter(
    name="thread_locks",
    default=8,
    help="Number of locks; with fewer locks than threads, threads contend.",
    option="--thread-locks",
    maximum=10**6,
)


def _single_thread(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    threads = int(evidence.values["threads"])
    if threads > 1:
        return None
    facts = evidence.context.facts
    cpus = None if facts is None else cpus_for(facts)
    return CheckOutcome("1 thread: no contention, no scheduling.", changes={"threads": max(2, cpus or 2)})


SYSBENCH_THREADS_ALONE = Check(
    id="sysbench-threads-alone",
    title="One thread has no contention",
    why="The test measures threads that pass locks to each other; one alone measures the cost of a system call.",
    remedy="Use one thread per CPU, and more to measure contention.",
    source="sysbench 1.0.20, sb_threads.c.",
    needs="Threads.",
    evaluate=_single_thread,
)


def _conclude(output: SysbenchOutput) -> tuple[list[Figure], list[str]]:
    figures, notes = output.figures(TOTAL_TIME, TOTAL_EVENTS), unresolved_note(output)
    seconds, events = output.numbers.get("total_time"), output.numbers.get("total_events")
    if events and events == output.numbers.get("threads"):
        notes.append(
            "Only one event per thread was counted: the rate is coarse. sysbench does not name its test in the output; "
            "its mutex test would look the same."
        )
    if seconds and events:
        figures.insert(0, Figure(EVENTS_PER_SECOND, events / seconds))
        notes.append(
            f"sysbench prints no rate for this test: events per second is {events:.0f} events in {seconds:g} s."
        )
    return figures, notes


class SysbenchThreads(Suite):
    """Thread scheduling. Fixed time, events counted: higher is better."""

    id = "sysbench-threads"
    title = "sysbench threads"
    summary = "Threads that take, yield and release a few locks: scheduler performance, counted per second."
    resource = Resource.CPU
    tried = TestedTool(
        "sysbench 1.0.20 run for real; 0.4.12 from a captured output",
        "every second with 1.0, not with 0.4",
        "the rate is events by time: sysbench prints none",
    )
    program = SYSBENCH
    parameters = (THREADS, THREAD_YIELDS, THREAD_LOCKS, TIME, PERCENTILE)
    syntax = sysbench_syntax("threads")
    metrics = (EVENTS_PER_SECOND, *LATENCIES, TOTAL_TIME, TOTAL_EVENTS)
    usual_cov = 0.10
    checks = (SYSBENCH_THREADS_ALONE, SHORT_RUNTIME)

    def workload(self, values: Values) -> Workload:
        """Return the expected work: one event per thread at a time."""
        rate = requested_rate(values, EVENTS_PER_SECOND.name)
        return Workload(seconds=float(values["time"]), concurrency=int(values["threads"]) or None, rate_limit=rate)

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return one thread per usable CPU, at least two, and a longer run."""
        tuned = tune_common(context.facts)
        if int(tuned["threads"].value if "threads" in tuned else 1) < 2:
            tuned["threads"] = Tuned(2, "Two threads are the minimum for contention.")
        return tuned

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the one command of a trial."""
        options = [f"--thread-yields={values['thread_yields']}", f"--thread-locks={values['thread_locks']}"]
        return (command("threads", options, values, context),)

    @property
    def output_formats(self) -> tuple[OutputFormat, ...]:
        """The formats of the test's output; 1.0 does not print its options."""
        return (sysbench_format(self, "Doing thread subsystem performance test", ()),)

    def parser(self, values: Values) -> TrialParser:
        """Return a new parser."""
        return SysbenchParser("threads", read_rate, _conclude, seconds=float(values["time"]))
