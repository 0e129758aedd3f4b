"""sysbench cpu: how many times a second the host finds all primes up to a limit."""

import re
from collections.abc import Mapping

from suites.base import Command, Context, Estimate, TrialParser
from suites.checks import StepCheck
from suites.parameters import Parameter, Tuned, Type, Values
from suites.sysbench.common import PACKAGES, PERCENTILE, THREADS, TIME, command, tune_common
from suites.sysbench.cpu_checks import CPU_CHECKS, TUNED_PRIME_LIMIT
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
from suites.units import Unit
from suites.vocab import Better, Figure, Kind, Metric, Resource, Sample

EVENTS_PER_SECOND = Metric("events_per_second", "Events per second", Unit.PER_SECOND, Better.HIGHER, Kind.RATE)

CPU_MAX_PRIME = Parameter(
    name="cpu_max_prime",
    title="Prime limit",
    type=Type.INTEGER,
    default=10000,
    help="Each event looks for all primes up to this number; figures of different limits do not compare.",
    option="--cpu-max-prime",
    minimum=3,
    maximum=10**7,  # an event then lasts seconds; time cannot end a run amid an event
)

EVENTS = Parameter(
    name="events",
    title="Events",
    type=Type.INTEGER,
    default=0,
    help="End the run after so many events, even before its time is up; 0 lets the time decide.",
    option="--events",
    minimum=0,
    maximum=2**31 - 1,
)

_LIVE = re.compile(
    r"\[ {0,6}(\d{1,6})s \] thds: \d{1,6} eps: (\d{1,15}\.\d{1,4}) lat \(ms,(\d{1,3})%\): (\d{1,12}\.\d{1,4}).{0,80}"
)


def read_rate(line: str, _output: SysbenchOutput) -> list[Sample]:
    """Return the rate and latency in a line of ``--report-interval``, as the tests that count events print it."""
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
            f"{total_time:g} s. Its figures are some percent apart from those of 1.0 on the same machine; "
            "do not compare them."
        )
    return figures, notes


class SysbenchCpu:
    """The CPU test. Fixed time, work counted: higher is better."""

    id = "sysbench-cpu"
    title = "sysbench CPU"
    summary = "Integer arithmetic on one or all CPUs: primes by trial division, counted per second."
    resource = Resource.CPU
    tool = "sysbench"
    packages: Mapping[str, str] = PACKAGES
    parameters: tuple[Parameter, ...] = (CPU_MAX_PRIME, THREADS, TIME, EVENTS, PERCENTILE)
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
    checks: tuple[StepCheck, ...] = CPU_CHECKS

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return threads for every usable CPU, a longer run, and events that are worth timing."""
        tuned = tune_common(context.facts)
        tuned["cpu_max_prime"] = Tuned(
            TUNED_PRIME_LIMIT,
            f"A limit of {TUNED_PRIME_LIMIT:,} makes an event about 2.6 times as long as the tool's default of "
            "10,000 (0.54 ms for 0.21 ms on a current server), so that starting and timing it weighs less.",
        )
        return tuned

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the one command of a trial."""
        options = [f"--cpu-max-prime={values['cpu_max_prime']}"]
        return (command("cpu", options, values, context, events=int(values["events"])),)

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return the run's time; a limit of events may end it sooner."""
        del context  # nothing about the host changes how long it takes
        return Estimate(duration=float(values["time"]))

    def parser(self, values: Values) -> TrialParser:
        """Return a fresh parser; the output says all it needs to know."""
        del values
        return SysbenchParser("cpu", read_rate, _conclude)
