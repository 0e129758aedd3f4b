"""sysbench cpu: how often per second the host finds all primes up to a limit."""

import re

from suites.base import (
    QUICK_SECONDS,
    Command,
    Context,
    QuickStep,
    StepEvidence,
    Suite,
    TestedTool,
    Workload,
    tuned_values,
)
from suites.checks import Check, CheckOutcome, NotChecked
from suites.facts import cpus_for
from suites.output_reading import StatedLine
from suites.outputs import OutputFormat, TrialParser
from suites.parameters import Parameter, Tuned, Type, Value, Values
from suites.runtime_checks import SHORT_RUNTIME
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
    latency_percentile,
    requested_rate,
    sysbench_syntax,
    tune_common,
    unresolved_note,
)
from suites.sysbench.output_formats import sysbench_format
from suites.thread_checks import MORE_THREADS_THAN_CPUS
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind, Resource, Sample, Severity

# Checks of sysbench's CPU test.


DEFAULT_PRIME_LIMIT = 10000
DEFAULT_EVENTS = 10_000  # of sysbench 0.4
TUNED_PRIME_LIMIT = 20000


def _defaults(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    facts, values = evidence.context.facts, evidence.values
    cpus = None if facts is None else cpus_for(facts)
    limit, events, threads = int(values["cpu_max_prime"]), int(values["events"]), int(values["threads"])
    low_limit = limit <= DEFAULT_PRIME_LIMIT
    words, changes = [f"cpu-max-prime is {limit:,}"] if low_limit else [], dict[str, Value]()
    if low_limit:
        changes["cpu_max_prime"] = TUNED_PRIME_LIMIT
    beside_all = any(one.suite is evidence.suite and int(one.values["threads"]) > 1 for one in evidence.earlier)
    if threads == 1 and cpus is not None and cpus > 1 and not beside_all:
        words.append(f"1 thread on a host with {cpus} usable CPUs")
        changes["threads"] = cpus
    if low_limit and 0 < events <= DEFAULT_EVENTS:
        words.append(f"events ends the run after {events:,}, within seconds")
        changes["events"] = 0
    if changes:
        level = Severity.INFO if len(changes) == 1 else None  # a single thread may be intended
        return CheckOutcome(measured="; ".join(words) + ".", severity=level, changes=changes)
    return NotChecked("The number of usable CPUs is not known.") if cpus is None and threads == 1 else None


SYSBENCH_CPU_DEFAULTS = Check(
    id="sysbench-cpu-defaults",
    title="sysbench runs with its defaults",
    why="One thread measures one CPU; a low prime limit and a small fixed number of events measure start-up and "
    "timing as much as the processor. With the defaults, published ratios between the same machines spread from 1.8 "
    "to 25.",
    remedy=f"Use one thread per CPU and cpu-max-prime {TUNED_PRIME_LIMIT:,}; keep one thread only to measure the "
    "speed of a single CPU.",
    source="AWS re:Invent 2013 ENT305, Benchmarking EC2: never publish sysbench's defaults.",
    needs="threads, cpu-max-prime and events; the CPUs usable by this user.",
    evaluate=_defaults,
)

CPU_CHECKS = (SYSBENCH_CPU_DEFAULTS, SHORT_RUNTIME, MORE_THREADS_THAN_CPUS)


EVENTS_PER_SECOND = Metric("events_per_second", "Events per second", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)

CPU_MAX_PRIME = Parameter(
    name="cpu_max_prime",
    type=Type.INTEGER,
    default=10000,
    help="Each event searches all primes up to this number; figures of different limits are not comparable.",
    option="--cpu-max-prime",
    minimum=3,
    maximum=10**7,  # an event then lasts seconds, and the time limit does not interrupt an event
)

EVENTS = Parameter(
    name="events",
    type=Type.INTEGER,
    default=0,
    help="End the run after this many events, even before time; 0 disables the limit.",
    option="--events",
    minimum=0,
    maximum=2**31 - 1,
)

_LIVE = re.compile(
    r"\[ {0,6}(\d{1,6})s \] thds: \d{1,6} eps: (\d{1,15}\.\d{1,4}) lat \(ms,(\d{1,3})%\): (\d{1,12}\.\d{1,4}).{0,80}"
)


def read_rate(line: str, _output: SysbenchOutput) -> list[Sample]:
    """Return the rate and latency in a line of ``--report-interval``, as printed by tests that count events."""
    match = _LIVE.fullmatch(line.strip())
    if match is None:
        return []
    time, rate, rank, latency = float(match[1]), float(match[2]), int(match[3]), float(match[4])
    samples = [Sample(time, EVENTS_PER_SECOND, rate)]
    if latency > 0 and 1 <= rank <= 100:
        samples.append(Sample(time, latency_percentile(rank), latency))
    return samples


def _conclude(output: SysbenchOutput) -> tuple[list[Figure], list[str]]:
    figures = output.figures(EVENTS_PER_SECOND, TOTAL_TIME, TOTAL_EVENTS)
    notes = unresolved_note(output)
    total_time, total_events = output.numbers.get("total_time"), output.numbers.get("total_events")
    if output.old and "events_per_second" not in output.numbers and total_time and total_events:
        figures.insert(0, Figure(EVENTS_PER_SECOND, total_events / total_time))
        notes.append(
            f"sysbench {output.version} prints no rate: events per second is {total_events:.0f} events in "
            f"{total_time:g} s. Its figures differ by some percent from those of 1.0 on the same machine; do not "
            "compare them."
        )
    return figures, notes


class SysbenchCpu(Suite):
    """CPU benchmark. Fixed time, work counted: higher is better."""

    id = "sysbench-cpu"
    title = "sysbench CPU"
    summary = "Integer arithmetic on one or all CPUs: primes by trial division, counted per second."
    resource = Resource.CPU
    tried = TestedTool(
        "sysbench 1.0.20 run for real; 0.4.12 from a captured output",
        "every second with 1.0, not with 0.4",
        "the two generations are never compared",
    )
    program = SYSBENCH
    parameters = (CPU_MAX_PRIME, THREADS, TIME, EVENTS, PERCENTILE)
    syntax = sysbench_syntax("cpu")
    metrics = (EVENTS_PER_SECOND, *LATENCIES, TOTAL_TIME, TOTAL_EVENTS)
    checks = CPU_CHECKS
    calibrates = True

    def workload(self, values: Values) -> Workload:
        """Return the expected work: one event per thread at a time, until time or the event limit."""
        seconds = None if values["events"] else float(values["time"])
        rate = requested_rate(values, EVENTS_PER_SECOND.name)
        return Workload(seconds=seconds, concurrency=int(values["threads"]) or None, rate_limit=rate)

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return one thread per usable CPU, a longer run, and longer events."""
        tuned = tune_common(context.facts)
        tuned["cpu_max_prime"] = Tuned(
            TUNED_PRIME_LIMIT,
            f"cpu-max-prime {TUNED_PRIME_LIMIT:,} makes an event about 2.6 times as long as the default of 10,000 "
            "(0.54 ms for 0.21 ms on a current server), so that start-up and timing weigh less.",
        )
        return tuned

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the one command of a trial."""
        options = [f"--cpu-max-prime={values['cpu_max_prime']}"]
        return (command("cpu", options, values, context, events=int(values["events"])),)

    def parser(self, values: Values) -> TrialParser:
        """Return a new parser."""
        return SysbenchParser("cpu", read_rate, _conclude)

    @property
    def output_formats(self) -> tuple[OutputFormat, ...]:
        """The formats of the test's output."""
        limit = StatedLine("cpu_max_prime", re.compile(r"Primer? numbers limit: (\d{1,9})"))
        line = r"CPU speed:|events per second:\s+\d|Primer? numbers limit"
        unstated = {"cpu_max_prime": (DEFAULT_PRIME_LIMIT, TUNED_PRIME_LIMIT)}
        return (sysbench_format(self, line, (limit,), unstated=unstated),)

    def quick_steps(self, context: Context) -> tuple[QuickStep, ...]:
        """Return a run with a thread per CPU, and one with a single thread where there are several CPUs."""
        threads = int(tuned_values(self, context)["threads"])
        alone: QuickStep = ("cpu 1 thread", {"time": QUICK_SECONDS, "threads": 1})
        return (alone,) if threads == 1 else ((f"cpu {threads} threads", {"time": QUICK_SECONDS}), alone)
