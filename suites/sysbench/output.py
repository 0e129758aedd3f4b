"""Reads what sysbench prints, of both generations (0.4 and 0.5; 1.0 and later), as it arrives."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from suites.base import LineSplitter, Parsed
from suites.tool_words import how_it_ended, tool_words
from suites.units import Unit
from suites.vocab import Better, Figure, Kind, Metric, Sample

LATENCY_MEAN = Metric("latency_mean", "Mean latency", Unit.MILLISECOND, Better.LOWER, Kind.TIME)
LATENCY_MAXIMUM = Metric("latency_max", "Maximum latency", Unit.MILLISECOND, Better.LOWER, Kind.TIME, percentile=100)
TOTAL_TIME = Metric("total_time", "Total time", Unit.SECOND, Better.LOWER, Kind.TIME)
TOTAL_EVENTS = Metric("total_events", "Total events", Unit.ONE, Better.HIGHER, Kind.COUNT)

MAXIMUM_SAMPLES = 200_000
"""More than a run of the longest time sysbench is given here (86,400 s) prints; a broken tool prints more."""

MAXIMUM_FAILURES = 5
"""Messages of failure that are repeated in notes."""


def latency_percentile(rank: int) -> Metric:
    """Return the metric of the latency percentile `rank`, the one that --percentile chose."""
    return Metric(f"latency_p{rank}", f"Latency, p{rank}", Unit.MILLISECOND, Better.LOWER, Kind.TIME, float(rank))


_N = r"(\d{1,18}(?:\.\d{1,9})?)"
_NUMBERS = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("events_per_second", rf"\s*(?:events per second|events/s \(eps\)):\s*{_N}"),
        ("threads", rf"Number of threads: {_N}"),
        ("total_time", rf"\s*(?:total time|time elapsed):\s*{_N}s"),
        ("total_events", rf"\s*total number of events:\s*{_N}"),
        ("latency_mean", rf"\s*avg:\s*{_N}(?:ms)?"),
        ("latency_max", rf"\s*max:\s*{_N}(?:ms)?"),
        (
            "operations_per_second",
            rf"(?:Total operations|Operations performed): \d+ \(\s*{_N} (?:per second|ops/sec)\)",
        ),
        ("throughput", rf"[\d.]+ (?:MiB|MB) transferred \(\s*{_N} (?:MiB|MB)/sec\)"),
        ("transactions_per_second", rf"\s*transactions:\s+\d+\s+\(\s*{_N} per sec\.\)"),
        ("queries_per_second", rf"\s*queries:\s+\d+\s+\(\s*{_N} per sec\.\)"),
        ("errors_per_second", rf"\s*ignored errors:\s+\d+\s+\(\s*{_N} per sec\.\)"),
        ("reconnects_per_second", rf"\s*reconnects:\s+\d+\s+\(\s*{_N} per sec\.\)"),
        ("finished", rf"\s*execution time \(avg/stddev\):\s*{_N}/\d+\.\d{{2}}"),
    )
)
_PERCENTILE = re.compile(rf"\s*(?:approx\.\s+)?(\d{{1,3}})(?:th)? percentile:\s*{_N}(?:ms)?")
_VERSION = re.compile(r"sysbench (\d{1,4}\.\d{1,4}(?:\.\d{1,4})?)\b.*")
_OPERATION = re.compile(r"\s*(?:operation|Memory operations type): (read|write|none)")
_TESTS = (
    ("cpu", re.compile(r"Prime[r]? numbers limit: \d+|Doing CPU performance benchmark")),
    ("memory", re.compile(r"Running memory speed test.*|Doing memory operations speed test")),
    ("fileio", re.compile(r"Extra file open flags: .*")),
    ("threads", re.compile(r"Doing thread subsystem performance test")),
    ("mutex", re.compile(r"Doing mutex performance test")),
    ("oltp", re.compile(r"SQL statistics:")),
)

_UNNAMED = frozenset({"threads", "mutex"})
"""Tests that sysbench 1.0 does not name in what it prints."""

_FAILURE = re.compile(
    r"(?:FATAL|PANIC|ALERT): .+|[Ii]nvalid (?:option|value).+|.*: (?:command )?not found|Killed|"
    r"The server did not start: .*|There is no \w+ server here\."
)


@dataclass(slots=True)
class SysbenchOutput:
    """What sysbench has said so far. `numbers` are by name, as printed; latencies in ms."""

    version: str | None = None
    test: str | None = None
    operation: str | None = None
    rank: int | None = None
    numbers: dict[str, float] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def read(self, line: str) -> None:
        """Take one line."""
        for name, pattern in _NUMBERS:
            if match := pattern.fullmatch(line.rstrip()):
                self.numbers[name] = float(match[1])
                return
        if match := _PERCENTILE.fullmatch(line.rstrip()):
            self.rank, self.numbers["latency_percentile"] = int(match[1]), float(match[2])
        elif _FAILURE.fullmatch(line.strip()) and len(self.failures) < MAXIMUM_FAILURES:
            self.failures.append(tool_words(line))
        else:
            self._read_heading(line.rstrip())

    def read_unfinished(self, line: str) -> None:
        """Take a last line that no line break ended: its numbers may lack digits, so only its words count."""
        words = line.strip()
        if _FAILURE.fullmatch(words) or words.startswith("execution time (avg/stddev):"):
            self.read(line)

    def _read_heading(self, line: str) -> None:
        if self.version is None and (match := _VERSION.fullmatch(line)):
            self.version = match[1]
        if match := _OPERATION.fullmatch(line):
            self.operation = match[1]
        for test, pattern in _TESTS:
            if pattern.fullmatch(line):
                self.test = test

    @property
    def old(self) -> bool:
        """Whether the output is of the generation before 1.0."""
        return self.version is not None and self.version.startswith("0.")

    @property
    def idle(self) -> bool:
        """Whether the run did no work at all: sysbench then prints zeros and exit status 0."""
        return self.numbers.get("total_events") == 0

    def figures(self, *metrics: Metric) -> list[Figure]:
        """Return the printed numbers of `metrics`, and the latencies.

        A latency printed as 0.00 is under sysbench's resolution of 0.01 ms, not nothing: it is left out.
        """
        found = [Figure(metric, self.numbers[metric.name]) for metric in metrics if metric.name in self.numbers]
        latencies = [(LATENCY_MEAN, "latency_mean"), (LATENCY_MAXIMUM, "latency_max")]
        if self.rank is not None and 1 <= self.rank <= 100:
            latencies.insert(1, (latency_percentile(self.rank), "latency_percentile"))
        return found + [Figure(metric, value) for metric, name in latencies if (value := self.numbers.get(name, 0)) > 0]

    @property
    def unresolved(self) -> bool:
        """Whether a latency was printed as 0.00 ms."""
        return not self.idle and any(
            self.numbers.get(name) == 0 for name in ("latency_mean", "latency_percentile", "latency_max")
        )


ReadLive = Callable[[str, SysbenchOutput], list[Sample]]
Conclude = Callable[[SysbenchOutput], tuple[list[Figure], list[str]]]


class SysbenchParser:
    """One trial's parser: the parts both tests share; `read_live` and `conclude` are each test's own."""

    def __init__(self, test: str, read_live: ReadLive, conclude: Conclude) -> None:
        self._test = test
        self._read_live = read_live
        self._conclude = conclude
        self._lines = LineSplitter()
        self._output = SysbenchOutput()
        self._samples: list[Sample] = []

    def feed(self, data: bytes, stream: str = "stdout") -> Iterable[Sample]:
        """Take the next bytes; return the samples they complete."""
        before = len(self._samples)
        for line in self._lines.feed(data, stream):
            self._read(line)
        return self._samples[before:]

    def finish(self, exit_status: int | None = None) -> Parsed:
        """Say what the whole output means."""
        for line in self._lines.rest():
            self._output.read_unfinished(line)
        foreign = self._foreign()
        if foreign is not None:
            note = f"This is not the output of sysbench's {self._test} test: it is {foreign}."
            return Parsed(samples=tuple(self._samples), notes=(note,), complete=False)
        figures, notes = ([], []) if self._output.idle else self._conclude(self._output)
        troubles = self._troubles(exit_status)
        return Parsed(tuple(figures), tuple(self._samples), (*troubles, *notes), complete=not troubles)

    def _foreign(self) -> str | None:
        """Return in words whose output this is, or None where it is this test's as far as can be told."""
        output = self._output
        if output.test == self._test:
            return None
        if output.test:
            return f"of sysbench's {output.test} test"
        if "finished" not in output.numbers:
            return None
        if self._test not in _UNNAMED or output.version is None:
            return "of another test, or its beginning is missing"
        # One event for each thread is what the mutex test makes, and no other.
        found = "mutex" if output.numbers.get("total_events") == output.numbers.get("threads") else "threads"
        return None if found == self._test else f"of sysbench's {found} test"

    def _read(self, line: str) -> None:
        samples = self._read_live(line, self._output)
        if not samples:
            self._output.read(line)
        elif len(self._samples) < MAXIMUM_SAMPLES and (not self._samples or samples[0].time > self._samples[-1].time):
            self._samples += samples

    def _troubles(self, exit_status: int | None) -> list[str]:
        """Say what went wrong, in the order a person would ask; nothing where all went well."""
        output = self._output
        troubles = [f"sysbench failed: {words}" for words in output.failures]
        if output.idle:
            troubles.append(
                "sysbench did no work: it counted 0 events, so there is no figure. A total size below block size "
                "times threads does that, and an event that outlasts the run."
            )
        elif "finished" not in output.numbers and not output.failures:
            last = f" The live figures up to {self._samples[-1].time:g} s are kept." if self._samples else ""
            troubles.append(f"sysbench was cut off: it printed no complete summary.{last}")
        if exit_status:
            troubles.append(f"sysbench {how_it_ended(exit_status)}.")
        return troubles


def unresolved_note(output: SysbenchOutput) -> list[str]:
    """Return the note about latencies that are left out, where there are any."""
    if not output.unresolved:
        return []
    return ["Latencies that sysbench prints as 0.00 ms are below its resolution of 0.01 ms and left out."]
