"""flent: series of latency and throughput under load, from its data file (.flent, .flent.gz)."""

import math
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from suites.base import StepEvidence
from suites.checks import Check, CheckOutcome
from suites.output_times import ISO, start_in
from suites.outputs import OutputFormat, ToolOutput
from suites.parameters import Parameter, Type, Value
from suites.programs import Program
from suites.read_only.base import MOST_FIGURES, ReadOnlySuite, name_of, numbers_in, time_metric, tool_output
from suites.strict_json import object_in, read_json
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind, Resource, labels

LATENCY = time_metric("latency_p50", "Median latency", 50, Unit.MILLISECOND)
LATENCY_P99 = time_metric("latency_p99", "Latency p99", 99, Unit.MILLISECOND)
LATENCY_MEAN = time_metric("latency_mean", "Mean latency", unit=Unit.MILLISECOND)
THROUGHPUT = Metric("throughput", "Mean throughput", Unit.MBIT_PER_SECOND, Better.HIGHER, MetricKind.RATE)

_BEGUN = start_in(rf'"TIME"\s*:\s*"{ISO}"')
_MBITS = re.compile(r"M(?:bit|bits|Bits|bits)/s")
_NAMES = ((re.compile(r"Ping\b.*"), "ms"), (re.compile(r"TCP (?:up|down)load\b.*|TCP totals"), "Mbits/s"))
"""Units of the series whose files state none (flent before 1.0)."""

SHORT = 30

LENGTH = Parameter(
    name="time", title="Length", type=Type.NUMBER, default=0.0, help="Seconds of load; 0 if not known.", unit="s",
    minimum=0,
)  # fmt: skip
TEST = Parameter(name="test", title="Test", type=Type.TEXT, default="", help="Name of the test, such as rrul.")


def _short(evidence: StepEvidence) -> CheckOutcome | None:
    seconds = float(evidence.values["time"])
    return CheckOutcome(f"{seconds:g} s.") if 0 < seconds < SHORT else None


class Flent(ReadOnlySuite):
    """The series of a test of flent."""

    id = "flent"
    title = "flent"
    summary = "Latency and throughput of concurrent flows over time, such as the RRUL test."
    resource = Resource.NETWORK
    program = Program("flent", ("flent",))
    parameters = (LENGTH, TEST)
    metrics = (THROUGHPUT, LATENCY, LATENCY_P99, LATENCY_MEAN)
    checks = (
        Check(
            id="flent-short",
            title="Test is short for queues to fill",
            why="TCP ramps up for seconds, and a slow queue discipline reacts after more: the latency is too low.",
            remedy="Set --length to 60 s, flent's default.",
            source="flent, --length.",
            evaluate=_short,
            needs="The length of the test.",
        ),
    )

    @property
    def output_formats(self) -> tuple[OutputFormat, ...]:
        """The data file, unpacked."""
        keys, free_text = (
            frozenset({"metadata", "results", "x_values"}),
            frozenset({"TITLE", "NOTE", "LOCAL_HOST", "HOST"}),
        )
        return (OutputFormat(title="flent", keys=keys, read=self._read, free_text=free_text, begun=_BEGUN),)

    def _read(self, text: str, _command: str | None) -> Iterator[ToolOutput]:
        content = read_json(text)
        about = object_in(content, "metadata")
        units = object_in(about, "SERIES_META")
        figures: list[Figure] = []
        for name, found in object_in(content, "results").items():
            values = numbers_in(found)
            if values and len(figures) < MOST_FIGURES:
                figures += _figures(name_of(name), _unit(name, units), values)
        if not figures:
            return
        length = next(iter(numbers_in([about.get("LENGTH")])), 0.0)
        stated: dict[str, Value] = {"time": length, "test": name_of(about.get("NAME", ""))}
        yield tool_output(self.id, figures, stated, name=name_of(about.get("TITLE", "")))


def _unit(name: str, units: Mapping[str, Any]) -> str:
    given = object_in(units, name).get("UNITS")
    if isinstance(given, str):
        return given
    return next((unit for pattern, unit in _NAMES if pattern.fullmatch(name)), "")


def _figures(name: str, unit: str, values: Sequence[float]) -> Iterator[Figure]:
    """Yield the figures of a series; none if its unit is neither of latency nor of throughput."""
    at = labels(series=name)
    if unit == "ms":
        ordered = sorted(values)
        yield Figure(LATENCY, statistics.median(values), at)
        yield Figure(LATENCY_P99, ordered[math.ceil(0.99 * len(ordered)) - 1], at)
        yield Figure(LATENCY_MEAN, statistics.fmean(values), at)
    elif _MBITS.fullmatch(unit):
        yield Figure(THROUGHPUT, statistics.fmean(values), at)
