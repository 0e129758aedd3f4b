"""Go benchmarks: the lines of go test -bench."""

import re
import statistics
from collections.abc import Iterator
from dataclasses import replace

from suites.base import StepEvidence
from suites.checks import Check, CheckOutcome
from suites.outputs import OutputFormat, ToolOutput
from suites.parameters import Parameter, Type
from suites.programs import Program
from suites.read_only.base import (
    MOST_FIGURES,
    RUN_CHECKS,
    RUNS,
    SPREAD,
    ReadOnlySuite,
    spread_of,
    time_metric,
    tool_output,
)
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind, Resource

PER_OPERATION = time_metric("time", "Time per operation", unit=Unit.NANOSECOND)
BYTES = Metric("allocated", "Bytes allocated per operation", Unit.BYTE, Better.LOWER, MetricKind.COUNT)
ALLOCATIONS = Metric("allocations", "Allocations per operation", Unit.ONE, Better.LOWER, MetricKind.COUNT)
BANDWIDTH = Metric("bandwidth", "Throughput", Unit.MB_PER_SECOND, Better.HIGHER, MetricKind.RATE)

_UNITS = {"ns/op": PER_OPERATION, "B/op": BYTES, "allocs/op": ALLOCATIONS, "MB/s": BANDWIDTH}
"""Units that testing.B prints; MB/s is 10^6 bytes per second (package testing)."""

_BENCHMARK = re.compile(r"(Benchmark\S{1,200}?)(?:-(\d{1,5}))?\s+(\d{1,12})\s+(\d{1,18}(?:\.\d{1,9})?) ns/op(\s.*)?$")
_BEGIN = re.compile(r"Benchmark\S{1,200}\s+\d{1,12}\s+\d{1,18}(?:\.\d{1,9})?(?: ns/op|$)")
_VALUE = re.compile(r"(\d{1,18}(?:\.\d{1,9})?) (\S{1,20})")
_FAILED = re.compile(r"(?:--- )?FAIL\b|panic: ")
_HEAD = re.compile(r"goos: \w+$")

ITERATIONS = Parameter(
    name="iterations",
    title="Iterations",
    type=Type.INTEGER,
    default=0,
    help="Operations that were timed (b.N); 0 if not known.",
    minimum=0,
)
CPUS = Parameter(name="threads", title="GOMAXPROCS", type=Type.INTEGER, default=1, help="GOMAXPROCS.", minimum=1)


def _once(evidence: StepEvidence) -> CheckOutcome | None:
    return CheckOutcome("Iterations: 1.") if evidence.values["iterations"] == 1 else None


class GoBenchmark(ReadOnlySuite):
    """The time of an operation of a Go benchmark."""

    id = "go-bench"
    title = "Go benchmark"
    summary = "Time and allocations of an operation (go test -bench)."
    resource = Resource.CPU
    program = Program("Go", ("go",))
    parameters = (RUNS, SPREAD, ITERATIONS, CPUS)
    metrics = (PER_OPERATION, BYTES, ALLOCATIONS, BANDWIDTH)
    checks = (
        *RUN_CHECKS,
        Check(
            id="one-iteration",
            title="Operation was timed once",
            why="One operation includes cold caches and the first allocations.",
            remedy="Set -benchtime to ten times the time of an operation or more.",
            source="Go, package testing: Benchmarks.",
            evaluate=_once,
            needs="The number of iterations.",
        ),
    )

    @property
    def output_formats(self) -> tuple[OutputFormat, ...]:
        """The lines that testing prints, with or without their head."""
        return (OutputFormat(title="Go benchmark", first=_HEAD, line=_BEGIN, read=self._read),)

    def _read(self, text: str, _command: str | None) -> Iterator[ToolOutput]:
        """Yield each benchmark: of several runs (-count) the median, as benchstat computes it."""
        found: dict[tuple[str, int], list[tuple[int, dict[Metric, float]]]] = {}
        others: dict[str, dict[str, None]] = {}
        failed = any(_FAILED.match(line) for line in text.splitlines())
        for line in text.splitlines():
            if (match := _BENCHMARK.match(line.strip())) and len(found) < MOST_FIGURES:
                values = {PER_OPERATION: float(match[4])}
                for value, unit in _VALUE.findall(match[5] or ""):
                    if unit in _UNITS:
                        values[_UNITS[unit]] = float(value)
                    else:
                        others.setdefault(match[1], {})[unit] = None
                found.setdefault((match[1], int(match[2] or 1)), []).append((int(match[3]), values))
        for (name, threads), runs in found.items():
            of_metric = {metric: [values[metric] for _n, values in runs if metric in values] for metric in self.metrics}
            figures = [Figure(metric, statistics.median(values)) for metric, values in of_metric.items() if values]
            stated = {
                "runs": len(runs), "iterations": min(count for count, _values in runs), "threads": threads,
                "spread": spread_of(of_metric[PER_OPERATION]),
            }  # fmt: skip
            problems = ("go test reports a failure.",) if failed else ()
            output = tool_output(self.id, figures, stated, name=name, problems=problems)
            own = (f"Units of its own, not read: {', '.join(others[name])}.",) if name in others else ()
            yield replace(output, parsed=replace(output.parsed, notes=(*output.parsed.notes, *own)))
