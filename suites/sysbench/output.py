"""Parse sysbench's output as it arrives, of both generations (0.4 and 0.5; 1.0 and later)."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from suites.base import Command, Context, RateLimit, version_of
from suites.command_line import CommandSyntax
from suites.facts import Facts, cpus_for
from suites.line_parser import MAXIMUM_FAILURES, LineParser
from suites.outputs import ParsedTrial
from suites.parameters import Tuned, Values, count_parameter, runtime_parameter
from suites.programs import Program, same_package_name
from suites.runtime_checks import TRUSTED
from suites.tool_messages import exit_notes, printable_message
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind, Sample

LATENCY_MEAN = Metric("latency_mean", "Mean latency", Unit.MILLISECOND, Better.LOWER, MetricKind.TIME)
LATENCY_MAXIMUM = Metric(
    "latency_max", "Maximum latency", Unit.MILLISECOND, Better.LOWER, MetricKind.TIME, percentile=100
)
TOTAL_TIME = Metric("total_time", "Total time", Unit.SECOND, Better.LOWER, MetricKind.TIME)
TOTAL_EVENTS = Metric("total_events", "Total events", Unit.ONE, Better.HIGHER, MetricKind.COUNT)

MAXIMUM_SAMPLES = 200_000
"""Limit of samples: more than the longest permitted run (86,400 s) prints."""


def latency_percentile(rank: int) -> Metric:
    """Return the metric of the latency percentile `rank`, set by --percentile."""
    return Metric(f"latency_p{rank}", f"Latency, p{rank}", Unit.MILLISECOND, Better.LOWER, MetricKind.TIME, float(rank))


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
    ("cpu", re.compile(r"Prime[r]? numbers limit: \d+|Doing CPU performance benchmark|CPU speed:")),
    ("memory", re.compile(r"Running memory speed test.*|Doing memory operations speed test")),
    (
        "fileio",
        re.compile(
            r"Extra file open flags: .*|File operations:|"
            r"\s*(?:reads|writes|fsyncs)/s:\s.*|\s*(?:read|written), MiB/s:\s.*"
        ),
    ),
    ("threads", re.compile(r"Doing thread subsystem performance test")),
    ("mutex", re.compile(r"Doing mutex performance test")),
    ("oltp", re.compile(r"SQL statistics:")),
)

BEGINNING = "its beginning is missing"
"""In the note on a summary without a line that names the test."""

_UNNAMED = frozenset({"threads", "mutex"})
"""Tests that sysbench 1.0 does not name in its output."""

_FAILURE = re.compile(
    r"(?:FATAL|PANIC|ALERT): .+|[Ii]nvalid (?:option|value).+|.*: (?:command )?not found|Killed|"
    r"The server did not start: .*|There is no \w+ server here\."
)


@dataclass(slots=True)
class SysbenchOutput:
    """Parsed output so far. `numbers` are by name, as printed; latencies in ms."""

    version: str | None = None
    test: str | None = None
    operation: str | None = None
    rank: int | None = None
    numbers: dict[str, float] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def read(self, line: str) -> None:
        """Parse one line."""
        for name, pattern in _NUMBERS:
            if match := pattern.fullmatch(line.rstrip()):
                self.numbers[name] = float(match[1])
                return
        if match := _PERCENTILE.fullmatch(line.rstrip()):
            self.rank, self.numbers["latency_percentile"] = int(match[1]), float(match[2])
        elif _FAILURE.fullmatch(line.strip()) and len(self.failures) < MAXIMUM_FAILURES:
            self.failures.append(printable_message(line))
        else:
            self._read_heading(line.rstrip())

    def read_unfinished(self, line: str) -> None:
        """Parse an unterminated last line: its numbers may lack digits, so only its text counts."""
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
        """Whether the output is of a version before 1.0."""
        return self.version is not None and self.version.startswith("0.")

    @property
    def idle(self) -> bool:
        """Whether the run did no work: sysbench then prints zeros and exits with status 0."""
        return self.numbers.get("total_events") == 0

    def figures(self, *metrics: Metric) -> list[Figure]:
        """Return the printed numbers of `metrics`, and the latencies.

        A latency printed as 0.00 is below sysbench's resolution of 0.01 ms, not zero: it is omitted.
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


_LIVE = re.compile(r"\[ {0,6}\d{1,6}s ?\] (?:thds|threads): \d{1,6},? (?:tps|eps): ")
"""Begins a live line of rates; one without samples has figures that no host reaches."""

ReadLive = Callable[[str, SysbenchOutput], list[Sample]]
Conclude = Callable[[SysbenchOutput], tuple[list[Figure], list[str]]]


class SysbenchParser(LineParser):
    """Parser of one trial: the shared parts; `read_live` and `conclude` are each test's own."""

    def __init__(self, test: str, read_live: ReadLive, conclude: Conclude, *, seconds: float = math.inf) -> None:
        """Parse the test `test`; `seconds` is its time limit, infinite for a test that has none."""
        self._test = test
        self._seconds = seconds
        self._read_live = read_live
        self._conclude = conclude
        super().__init__()
        self._output = SysbenchOutput()
        self._unread = ""

    def _result(self, exit_status: int | None) -> ParsedTrial:
        origin = self._other_origin()
        if origin is not None:
            note = f"Not the output of sysbench's {self._test} test: it is {origin}."
            return ParsedTrial(samples=tuple(self._samples), notes=(note,), complete=False)
        figures, notes = ([], []) if self._output.idle else self._conclude(self._output)
        if self._unread:
            notes = [*notes, f"Not read, and left out of the live figures: “{self._unread}”."]
        troubles = self._troubles(exit_status)
        return ParsedTrial(tuple(figures), tuple(self._samples), (*troubles, *notes), complete=not troubles)

    def _other_origin(self) -> str | None:
        """Return which tool or test printed the output, or None if it is this test's as far as known."""
        output = self._output
        if output.test == self._test:
            return None
        if output.test:
            return f"of sysbench's {output.test} test"
        if "finished" not in output.numbers:
            return None
        if self._test not in _UNNAMED or output.version is None:
            return f"of another test, or {BEGINNING}"
        # The mutex test has one event per thread and no time limit. On a busy host the threads test may count no
        # more events than that, but only after its whole time.
        one_each = output.numbers.get("total_events") == output.numbers.get("threads")
        found = "mutex" if one_each and output.numbers.get("total_time", 0) < self._seconds else "threads"
        return None if found == self._test else f"of sysbench's {found} test"

    def _read(self, line: str) -> None:
        samples = self._read_live(line, self._output)
        if not samples and _LIVE.match(line.strip()):
            self._unread = self._unread or printable_message(line.strip(), 80)
        elif not samples:
            self._output.read(line)
        elif len(self._samples) < MAXIMUM_SAMPLES and (not self._samples or samples[0].time > self._samples[-1].time):
            self._samples += samples

    def _read_unfinished(self, line: str) -> None:
        self._output.read_unfinished(line)

    def _troubles(self, exit_status: int | None) -> list[str]:
        """Report the failures in order of importance; nothing if there are none."""
        output = self._output
        troubles = [f"sysbench failed: {words}" for words in output.failures]
        if output.idle:
            troubles.append(
                "sysbench counted 0 events: no figure. Causes: a total size below block size times threads, or "
                "an event longer than the run."
            )
        elif "finished" not in output.numbers and not output.failures:
            last = f" The live figures up to {self._samples[-1].time:g} s are kept." if self._samples else ""
            troubles.append(f"sysbench was cut off: it printed no complete summary.{last}")
        troubles += exit_notes("sysbench", exit_status)
        return troubles


def unresolved_note(output: SysbenchOutput) -> list[str]:
    """Return the note about omitted latencies, if there are any."""
    if not output.unresolved:
        return []
    return ["Latencies that sysbench prints as 0.00 ms are below its resolution of 0.01 ms and omitted."]


# Shared by the sysbench tests: common parameters, and the command line of each generation.


SYSBENCH = Program("sysbench", ("sysbench",), same_package_name("sysbench"), timed=True, supplementary=True)

UNLIMITED_REQUESTS = 2**31 - 1
"""sysbench 0.4 runs no request at all with 0, which 0.5 and 1.0 treat as unlimited."""

THREADS = count_parameter(name="threads", default=1, help="Number of threads.", option="--threads", maximum=4096)

TIME = runtime_parameter(default=10.0, help="Duration of the test.", option="--time")

PERCENTILE = count_parameter(
    name="percentile",
    default=95,
    help="The latency percentile that sysbench reports; it reports only one.",
    option="--percentile",
    unit="%",
    maximum=100,
)

LATENCIES = (LATENCY_MEAN, latency_percentile(int(PERCENTILE.default)), LATENCY_MAXIMUM)


def requested_rate(values: Values, metric: str) -> RateLimit | None:
    """Return the rate of events that --rate requested of a test, whose `metric` counts them; None if it did not.

    It is no parameter: only the output of a test that ran elsewhere states it.
    """
    rate = float(values.get("rate") or 0)
    return RateLimit(metric, rate) if rate else None


def is_old(context: Context) -> bool:
    """Return whether the host's sysbench has the syntax of before 1.0; if not known, it has not."""
    version = version_of(context.facts, "sysbench")
    return version is not None and version < (1,)


ALIASES = {"--num-threads": "--threads", "--max-time": "--time", "--max-requests": "--events"}
"""Options of versions before 1.0 and their names since."""


def sysbench_syntax(test: str) -> CommandSyntax:
    """Return the syntax of ``sysbench TEST --name=value run``."""
    return CommandSyntax(("sysbench",), operand=test, aliases={**ALIASES, f"--test={test}": test})


def command(test: str, options: list[str], values: Values, context: Context, events: int = 0) -> Command:
    """Return the command that runs `test`; `events` 0 means that only time ends it.

    Syntax: `sysbench --help` of 1.0.20 and 0.4.12. Versions before 1.0 have no --report-interval.
    """
    threads, seconds, percentile = int(values["threads"]), int(values["time"]), int(values["percentile"])
    if is_old(context):
        words = [f"--test={test}", *options, f"--num-threads={threads}", f"--max-time={seconds}"]
        words += [f"--max-requests={events or UNLIMITED_REQUESTS}", f"--percentile={percentile}"]
        return Command(("sysbench", *words, "run"))
    words = [test, *options, f"--threads={threads}", f"--time={seconds}"]
    words += [f"--events={events}"] if events else []
    words += [f"--percentile={percentile}", "--report-interval=1"]
    return Command(("sysbench", *words, "run"))


def tune_common(facts: Facts | None) -> dict[str, Tuned]:
    """Return the tuned threads (if the CPUs are known) and time."""
    tuned = {
        "time": Tuned(TRUSTED, f"{TRUSTED:g} s give {TRUSTED:g} samples of one second; the tool's default gives 10.")
    }
    cpus = None if facts is None else cpus_for(facts)
    if cpus == 1:
        tuned["threads"] = Tuned(1, "The host has 1 usable CPU.")
    elif cpus is not None:
        why = f"The host has {cpus} usable CPUs; the default of 1 thread measures one of them."
        tuned["threads"] = Tuned(cpus, why)
    return tuned
