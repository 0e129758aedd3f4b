"""compute: floating-point and integer operations per second with 1 to all threads."""

import math
from collections.abc import Mapping
from dataclasses import replace

from suites import probe
from suites.base import Command, Context, Estimate, Suite, TestedTool, complete_values
from suites.command_line import CommandSyntax
from suites.equivalents import CPU_QUESTION, THREADS_MAPPING, Equivalent, MetricMapping, ParameterMapping
from suites.facts import Absent, Facts, known
from suites.outputs import TrialParser
from suites.parameters import Choice, Parameter, Tuned, Type, Values, runtime_parameter
from suites.programs import COMPILER, Program, bundled
from suites.runtime_checks import SHORT_RUNTIME, TRUSTED
from suites.sweep import Peak, knee_note, peak_of
from suites.thread_checks import MORE_THREADS_THAN_CPUS
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind, Resource, Sample, labels

# Parser of the compute probe: operations per second, each second and as a whole, by kind and threads.


FLOAT = Metric("floating_point_rate", "Floating point", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)
INTEGER = Metric("integer_rate", "Integer", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)
FLOAT_BY_THREADS = Metric(
    "floating_point_rate_by_threads", "Floating point by threads", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE
)
INTEGER_BY_THREADS = Metric(
    "integer_rate_by_threads", "Integer by threads", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE
)
PEAK_SHARE = Metric("peak_share", "Share of the theoretical peak", Unit.PERCENT, Better.HIGHER, MetricKind.SHARE)
VARIATION = Metric("variation", "Variation of one-second samples (CoV)", Unit.PERCENT, Better.LOWER, MetricKind.SHARE)

METRICS = (FLOAT, INTEGER, FLOAT_BY_THREADS, INTEGER_BY_THREADS, PEAK_SHARE, VARIATION)

KINDS: Mapping[str, tuple[Metric, Metric]] = {
    "float": (FLOAT, FLOAT_BY_THREADS),
    "integer": (INTEGER, INTEGER_BY_THREADS),
}
"""Metrics of the best thread count and of each thread count, by operation of the probe."""

GIGA = 1e9
"""The probe prints 10^9 operations per second; figures are operations per second."""

IMPOSSIBLE_SHARE = 102.0
"""Percent of the peak beyond which the assumed peak is wrong; the tolerance covers the accuracy of clock frequencies.
"""

LEAST_TIME, LONGEST_TRIAL = 10.0, 180.0
"""Least seconds of a thread count, and those of a tuned trial if that allows more."""

FEWEST_FOR_VARIATION = 3
"""Samples below which no deviation is reported."""


class ComputeReader:
    """Reader of the compute probe's records."""

    def __init__(self) -> None:
        self._rates: dict[str, dict[int, float]] = {}
        self._variations: list[Figure] = []

    def take(self, record: probe.Record) -> list[Sample]:
        """Parse a record; the rate of one second is a sample."""
        kind, threads, rate = record.words.get("kind", ""), record.count("threads"), record.number("rate")
        if kind not in KINDS or not threads or rate is None:
            return []
        if record.kind == "live":
            time = record.number("time")
            whole, by_threads = KINDS[kind]
            figure_labels = labels(threads=str(threads))
            each = GIGA * rate
            return [] if time is None else [Sample(time, one, each, figure_labels) for one in (whole, by_threads)]
        if record.kind == "result" and rate > 0:
            self._rates.setdefault(kind, {})[threads] = rate
            self._take_variation(record, kind, threads, rate)
        return []

    def _take_variation(self, record: probe.Record, kind: str, threads: int, rate: float) -> None:
        variance, samples = record.number("variance"), record.count("samples")
        if variance is not None and samples is not None and samples >= FEWEST_FOR_VARIATION:
            deviation = math.sqrt(variance * samples / (samples - 1))
            figure_labels = labels(kind=kind, threads=str(threads))
            self._variations.append(Figure(VARIATION, 100 * deviation / rate, figure_labels))

    def conclude(self, head: probe.OutputHeader) -> tuple[list[Figure], list[str]]:
        """Return the best of each kind, then each thread count, then the shares of the peak and the variations."""
        figures = [Figure(KINDS[kind][0], GIGA * max(rates.values())) for kind, rates in self._rates.items()]
        notes: list[str] = []
        for kind, rates in self._rates.items():
            whole, by_threads = KINDS[kind]
            order = sorted(rates.items(), key=lambda found: (-found[1], found[0]))
            figures += [Figure(by_threads, GIGA * rate, labels(threads=str(threads))) for threads, rate in order]
            notes += knee_note(rates, whole.title)
        shares, note = _against_peak(self._rates.get("float", {}), Peak.parse(head.words.get("peak", "")))
        return [*figures, *shares, *self._variations], [*notes, *note]


def _against_peak(rates: Mapping[int, float], peak: Peak | None) -> tuple[list[Figure], list[str]]:
    if not rates:
        return [], []
    if peak is None:
        return [], ["No theoretical peak: the host does not report the processor's frequency."]
    shares = [
        Figure(PEAK_SHARE, 100 * rate / peak.gflops(threads), labels(threads=str(threads)))
        for threads, rate in rates.items()
    ]
    most = max(rates)
    whole = peak.gflops(most)
    cores = min(most, peak.cores)
    note = f"Theoretical peak of {cores} cores: {cores} x {peak.formula} = {whole:.4g} GFLOPS; {most} threads reached "
    notes = [f"{note}{rates[most] / whole:.0%} of it."]
    if max(share.value for share in shares) > IMPOSSIBLE_SHARE:
        notes.append("More than 100 % is impossible: the assumed frequency or number of FMA units is too low.")
    return shares, notes


def _peak(values: Values, context: Context) -> Peak | Absent:
    """Return the peak that the user set, or that of the host."""
    given = float(values.get("peak", 0.0))
    cores = None if context.facts is None else known(context.facts.cpu.cores)
    if given and cores is not None:
        return Peak(given, cores, "as set")
    return peak_of(context.facts)


OPERATION = Parameter(
    name="operation",
    title="Operations",
    default="both",
    help="double: multiply and add (GFLOPS); 32-bit integer: add and xor (GIOPS).",
    option="--kind",
    choices=(
        Choice("both", "Floating point, then integer"),
        Choice("float", "Floating point"),
        Choice("integer", "Integer"),
    ),
)

TIME = runtime_parameter(
    title="Time",
    default=10.0,
    help="Runtime of each thread count and kind of operation. Every second gives a sample.",
    option="--time",
)


PEAK = Parameter(
    name="peak",
    title="Theoretical peak",
    type=Type.NUMBER,
    default=0.0,
    help="Peak of one core in GFLOPS (doubles), if you know it; 0: by frequency, vector units and processor model.",
    unit="GFLOPS",
    minimum=0,
    maximum=10_000,
    identity=False,
    applies=lambda values: values["operation"] != "integer",
)


class Compute(Suite):
    """CPU arithmetic. Fixed time, operations counted: higher is better."""

    id = "compute"
    title = "Compute"
    summary = "GFLOPS and GIOPS in registers with 1, 2, 4 to all threads, next to the theoretical peak."
    resource = Resource.CPU
    tried = TestedTool(
        "Benchwright’s own probe, built by gcc 12.2 on x86-64, run for real; for aarch64 built, and run in an emulator",
        "every second",
        "the theoretical peak needs the processor’s frequency, which virtual machines hide",
    )
    program = bundled("compute")
    other_programs = (COMPILER,)
    parameters = (OPERATION, TIME, probe.THREADS, replace(probe.SWEEP, default="doubling"), probe.BUILD, PEAK)
    syntax = CommandSyntax(("compute",), absent={"operation": "both"})
    metrics = METRICS
    checks = (SHORT_RUNTIME, probe.NO_COMPILER, MORE_THREADS_THAN_CPUS)
    calibrates = True
    equivalents = (
        Equivalent(
            "sysbench-cpu",
            CPU_QUESTION,
            (THREADS_MAPPING, ParameterMapping("time", "time")),
            (MetricMapping(("integer_rate",), ("events_per_second",)),),
            fixed_backward=(("sweep", "single"),),
            incomparable="The two count different work (loop operations, prime searches) in different units: only "
            "scaling with hosts or threads is comparable.",
        ),
    )

    def programs(self, values: Values, facts: Facts | None) -> tuple[Program, ...]:
        """Return a compiler if the probe is built on the host."""
        return probe.needed_programs("compute", values, facts)

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return a time for each thread count that gives enough samples, within a bound for all counts."""
        counts = probe.sweep_counts(complete_values(self, {}), context)
        if counts is None:
            return {}
        points = 2 * len(counts)
        each = max(LEAST_TIME, min(TRUSTED, LONGEST_TRIAL // points))
        return {"time": Tuned(each, f"{points} points of {each:g} s: {each:g} samples of one second each.")}

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the build and one run of the probe; the theoretical peak is passed along and printed in its output."""
        words = ["--time", str(int(values["time"])), *probe.thread_arguments(values, context)]
        if values["operation"] != "both":
            words += ["--kind", str(values["operation"])]
        peak = _peak(values, context)
        if not isinstance(peak, Absent):
            words += ["--peak", peak.words()]
        return probe.probe_commands("compute", words, values, context)

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return the time of all thread counts and kinds of operation."""
        counts = probe.sweep_counts(values, context)
        kinds = 2 if values["operation"] == "both" else 1
        return Estimate(None if counts is None else kinds * len(counts) * float(values["time"]))

    def parser(self, values: Values) -> TrialParser:
        """Return a new parser."""
        return probe.ProbeParser("compute", ComputeReader())
