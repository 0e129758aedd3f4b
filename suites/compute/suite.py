"""compute: floating-point and integer operations a second with 1 to all threads, a figure every second."""

from collections.abc import Mapping
from dataclasses import replace

from suites.base import Command, Context, Estimate, TrialParser
from suites.checks import StepCheck
from suites.compute.output import METRICS, ComputeReader
from suites.facts import Absent, Facts
from suites.parameters import Choice, Parameter, Tuned, Type, Values
from suites.peak import peak_of
from suites.probe.checks import NO_COMPILER
from suites.probe.output import ProbeParser
from suites.probe.probe import (
    BUILD,
    PACKAGES,
    SWEEP,
    THREADS,
    needed_programs,
    probe_commands,
    sweep_counts,
    thread_words,
)
from suites.programs import Program
from suites.runtime_checks import SHORT_RUNTIME
from suites.thread_checks import CPU_QUOTA, MORE_THREADS_THAN_CPUS
from suites.vocab import Metric, Resource

OPERATION = Parameter(
    name="operation",
    title="Operations",
    type=Type.CHOICE,
    default="both",
    help="Multiplications and additions of doubles (GFLOPS); additions and exclusive-ors of 32-bit integers (GIOPS).",
    option="--kind",
    choices=(
        Choice("both", "Floating point, then integer"),
        Choice("float", "Floating point"),
        Choice("integer", "Integer"),
    ),
)

TIME = Parameter(
    name="time",
    title="Time",
    type=Type.DURATION,
    default=10.0,
    help="How long each thread count is measured, for each kind of operation. Every second gives a sample.",
    option="--time",
    unit="s",
    minimum=1,
    maximum=86400,
    whole=True,
)


class Compute:
    """The processor's arithmetic. Fixed time, operations counted: higher is better."""

    id = "compute"
    title = "Compute"
    summary = "GFLOPS and GIOPS in registers, with 1, 2, 4 to all threads, beside the processor's theoretical peak."
    resource = Resource.CPU
    tool = "compute"
    packages: Mapping[str, str] = PACKAGES
    parameters: tuple[Parameter, ...] = (OPERATION, TIME, THREADS, replace(SWEEP, default="doubling"), BUILD)
    metrics: tuple[Metric, ...] = METRICS
    needs_peer = False
    directory_parameter: str | None = None
    checks: tuple[StepCheck, ...] = (SHORT_RUNTIME, NO_COMPILER, MORE_THREADS_THAN_CPUS, CPU_QUOTA)

    def needs_tool(self, values: Values) -> bool:
        """Return False: the probe is our own."""
        del values
        return False

    def programs(self, values: Values, facts: Facts | None) -> tuple[Program, ...]:
        """Return a compiler where the probe is built on the host."""
        return needed_programs("compute", values, facts)

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return nothing: the defaults measure 1, 2, 4 to all threads on any host."""
        del context
        return {}

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the build and one run of the probe. The theoretical peak goes along, to stand in the output."""
        words = ["--time", str(int(values["time"])), *thread_words(values, context)]
        if values["operation"] != "both":
            words += ["--kind", str(values["operation"])]
        peak = peak_of(context.facts)
        if not isinstance(peak, Absent):
            words += ["--peak", peak.words()]
        return probe_commands("compute", words, values, context)

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return the time of every thread count and kind of operation."""
        counts = sweep_counts(values, context)
        kinds = 2 if values["operation"] == "both" else 1
        return Estimate(None if counts is None else kinds * len(counts) * float(values["time"]))

    def parser(self, values: Values) -> TrialParser:
        """Return a fresh parser; the output says all it needs to know."""
        del values
        return ProbeParser("compute", ComputeReader())
