"""How sysbench's output is recognised, and the options that it prints."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from suites.base import Suite
from suites.identities import Ascending, Identities, PrintedLine, Product, in_text
from suites.output_reading import StatedLine, by_parser, measured_seconds, stated_by_command, with_own_texts
from suites.outputs import OPEN_LOOP, OutputFormat, ParsedTrial, ToolOutput
from suites.parameters import Value
from suites.sysbench.output import BEGINNING
from suites.units import Unit, convert

_FIRST = re.compile(r"sysbench \d+\.\d+\S*[ :]")
_LINE = re.compile(
    r"General statistics:|Number of threads: \d+$|Threads fairness:|(?:total time|total number of events):\s+\d|"
    r"(?:approx\. +)?\d+(?:th)? percentile:\s+\d|\[ *\d+s \] (?:thds: \d+ eps|reads|\d)"
)

THREADS_LINE = StatedLine("threads", re.compile(r"Number of threads: (\d{1,6})"))
_PERCENTILE = StatedLine("percentile", re.compile(r"\s*(?:approx\. +)?(\d{1,3})(?:th)? percentile:"))


PERCENTILE_STEP = 0.06
"""Relative width of the steps of the histogram that sysbench reads its percentiles from."""

_N = r"\d{1,18}(?:\.\d{1,9})?"
_CLOCK = 0.003
"""Seconds between sysbench's two readings of its clock: that of the rates, and that of the total time."""


def _rate(result: str, count: str, text: str) -> Product:
    return Product(text=text, result=result, factors=(count,), divisors=("seconds",), unit=Unit.PER_SECOND)


_RATE = re.compile(r"Target transaction rate: (?P<scheduled>\d{1,9})/sec")
_TITLES = {"least": "min", "mean": "avg", "percentile": "the percentile", "most": "max"}

IDENTITIES = Identities(
    (
        PrintedLine(re.compile(rf"\s*(?:events per second|events/s \(eps\)):\s*(?P<rate>{_N})$")),
        PrintedLine(re.compile(rf"\s*(?:total time|time elapsed):\s*(?P<seconds>{_N})s$"), errors={"seconds": _CLOCK}),
        PrintedLine(re.compile(rf"\s*total number of events:\s*(?P<events>{_N})$")),
        PrintedLine(re.compile(r"Number of threads: (?P<threads>\d{1,9})$")),
        PrintedLine(_RATE),
        PrintedLine(re.compile(rf"\s*min:\s*(?P<least>{_N})(?:ms)?$")),
        PrintedLine(re.compile(rf"\s*avg:\s*(?P<mean>{_N})(?:ms)?$")),
        PrintedLine(re.compile(rf"\s*max:\s*(?P<most>{_N})(?:ms)?$")),
        PrintedLine(re.compile(rf"\s*(?:approx\. +)?\d{{1,3}}(?:th)? percentile:\s*(?P<percentile>{_N})(?:ms)?$")),
        PrintedLine(re.compile(rf"\s*sum:\s*(?P<sum>{_N})$")),
        PrintedLine(re.compile(rf"\s*total time taken by event execution:\s*(?P<busy>{_N})s?$")),
        PrintedLine(re.compile(rf"\s*execution time \(avg/stddev\):\s*(?P<each>{_N})/")),
        PrintedLine(
            re.compile(
                rf"(?:Total operations|Operations performed): (?P<operations>\d+) \(\s*(?P<operation_rate>{_N}) "
                r"(?:per second|ops/sec)"
            )
        ),
        PrintedLine(re.compile(rf"(?P<size>{_N}) (?:MiB|MB) transferred \(\s*(?P<bandwidth>{_N}) (?:MiB|MB)/sec")),
        PrintedLine(re.compile(rf"\s*transactions:\s+(?P<transactions>\d+)\s+\(\s*(?P<transaction_rate>{_N}) per sec")),
        PrintedLine(re.compile(rf"\s*queries:\s+(?P<queries>\d+)\s+\(\s*(?P<query_rate>{_N}) per sec")),
        PrintedLine(
            re.compile(r"\s*block size: (?P<block>\d+)(?P<block_unit>[KMG]?)iB$"),
            units={"": (2.0**-20,), "K": (2.0**-10,), "M": (1.0,), "G": (2.0**10,)},
        ),
        PrintedLine(
            re.compile(rf"Block size (?P<file_block>{_N})(?P<file_block_unit>[KMG]?)i?[Bb]\b"),
            units={"": (2.0**-20,), "K": (2.0**-10,), "M": (1.0,), "G": (2.0**10,)},
        ),
        PrintedLine(re.compile(rf"\s*reads/s:\s*(?P<read_rate>{_N})$")),
        PrintedLine(re.compile(rf"\s*writes/s:\s*(?P<write_rate>{_N})$")),
        PrintedLine(re.compile(rf"\s*read, MiB/s:\s*(?P<read_bandwidth>{_N})$")),
        PrintedLine(re.compile(rf"\s*written, MiB/s:\s*(?P<write_bandwidth>{_N})$")),
    ),
    (
        _rate("rate", "events", "events / total time"),
        _rate("operation_rate", "operations", "operations / total time"),
        _rate("transaction_rate", "transactions", "transactions / total time"),
        _rate("query_rate", "queries", "queries / total time"),
        Product(
            text="MiB / total time",
            result="bandwidth", factors=("size",), divisors=("seconds",), unit=Unit.MIB_PER_SECOND,
        ),
        Product(text="operations × block size", result="size", factors=("operations", "block")),
        Product(
            text="reads/s × block size",
            result="read_bandwidth", factors=("read_rate", "file_block"), unit=Unit.MIB_PER_SECOND,
        ),
        Product(
            text="writes/s × block size",
            result="write_bandwidth", factors=("write_rate", "file_block"), unit=Unit.MIB_PER_SECOND,
        ),
        Product(text="events × avg", result="sum", factors=("events", "mean"), unit=Unit.MILLISECOND),
        Product(
            text="execution time × threads",
            result="sum", factors=("each", "threads"), scale=1000, unit=Unit.MILLISECOND, unless="scheduled",
        ),
        Product(
            text="execution time × threads", result="busy", factors=("each", "threads"), unit=Unit.SECOND,
            unless="scheduled",
        ),
        Ascending(("least", "mean", "most"), Unit.MILLISECOND, _TITLES),
        Ascending(("least", "percentile"), Unit.MILLISECOND, _TITLES, slack=PERCENTILE_STEP),
        Ascending(("percentile", "most"), Unit.MILLISECOND, _TITLES, slack=PERCENTILE_STEP),
    ),
)  # fmt: skip
"""Identities of every test of sysbench, 0.4 to 1.0. With --rate, the latencies include the wait for a thread."""


_COUNTED = re.compile(r"\s--(?:events|max-requests)=[1-9]")
"""The option of a test that may end after a number of events, whatever its time."""

_LIVE_TIME = re.compile(r"\[ *(\d{1,9})s *\] (?:thds|threads): ")
_EVENTS = re.compile(r"\] thds: \d+ eps: ")
_LAST = re.compile(r"execution time \(avg/stddev\): ")
_NAMING = re.compile(f"Prime numbers limit: |{_LAST.pattern}")
_SUMMARY_ALONE = (
    "The general statistics do not name the test of sysbench. Give the command line or the first lines with them."
)
_UNNAMED = "Live lines of events do not name the test of sysbench. Give the command line or the first lines with them."


def _runtime(parsed: ParsedTrial, stated: Mapping[str, Value]) -> dict[str, Value]:
    """Return the runtime, in whole seconds as sysbench takes it; none if the total size ended the memory test."""
    seconds = measured_seconds(parsed)
    total = int(stated.get("total_size", 0))
    moved = sum(
        convert(one.value, one.metric.unit, Unit.BYTES_PER_SECOND) * (seconds or 0.0)
        for one in parsed.figures
        if one.metric.name == "throughput"
    )
    if seconds is None or 0 < 0.99 * total <= moved:
        return {}
    return {"time": float(max(1, int(seconds)))}


def sysbench_format(
    suite: Suite,
    line: str,
    stated: Sequence[StatedLine],
    *,
    unstated: Mapping[str, tuple[Value, ...]] | None = None,
    assumed: Mapping[str, Value] | None = None,
    words: Sequence[StatedLine] = (),
) -> OutputFormat:
    """Return the format of one of sysbench's tests; `line` is a pattern of the lines that only this test prints."""
    own_line = re.compile(f"{_FIRST.pattern}|{_LINE.pattern}|{line}")
    reader = by_parser(
        suite,
        (THREADS_LINE, _PERCENTILE, *stated),
        unstated={"threads": (1, 16), **(unstated or {})},
        assumed=assumed,
        words=words,
        inferred=_runtime,
        clock=_LIVE_TIME,
        end=(_LAST, own_line),
        contradictions=in_text(IDENTITIES),
    )

    def read(text: str, command: str | None) -> Iterator[ToolOutput]:
        is_named = stated_by_command(suite, command) is not None
        for one, own in with_own_texts(reader(text, command), text):
            named = is_named or _NAMING.search(own) or not _EVENTS.search(own)
            rate = _RATE.search(own)
            wait = "" if rate is None else f"{OPEN_LOOP}with --rate={rate[1]}, latencies include the wait for a thread."
            waits = (wait,) if wait else ()
            limit = {} if rate is None else {"rate": float(rate[1])}
            parsed = replace(one.parsed, notes=(*one.parsed.notes, *waits))
            ran = _runtime(parsed, {}) if _COUNTED.search(command or "") else {}
            undecided = one.undecided if named else _UNNAMED
            if not parsed.figures and any(BEGINNING in note for note in parsed.notes):
                undecided = _SUMMARY_ALONE
            yield replace(one, parsed=parsed, stated={**one.stated, **ran, **limit}, undecided=undecided)

    return OutputFormat(title=suite.title, first=_FIRST, line=re.compile(f"{_LINE.pattern}|{line}"), read=read)
