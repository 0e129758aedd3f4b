"""How sysbench's output is recognised, and the options that it prints."""

import re
from collections.abc import Mapping, Sequence

from suites.base import Suite
from suites.output_reading import StatedLine, by_parser, measured_seconds
from suites.outputs import OutputFormat, ParsedTrial
from suites.parameters import Value

_FIRST = re.compile(r"sysbench \d+\.\d+\S*[ :]")
_LINE = re.compile(
    r"General statistics:|Number of threads: \d+$|Threads fairness:|(?:total time|total number of events):\s+\d|"
    r"(?:approx\. +)?\d+(?:th)? percentile:\s+\d|\[ *\d+s \] (?:thds: \d+ eps|reads|\d)"
)

THREADS_LINE = StatedLine("threads", re.compile(r"Number of threads: (\d{1,6})"))
_PERCENTILE = StatedLine("percentile", re.compile(r"\s*(?:approx\. +)?(\d{1,3})(?:th)? percentile:"))


def _runtime(parsed: ParsedTrial, _stated: Mapping[str, Value]) -> dict[str, Value]:
    """Return the runtime, in whole seconds as sysbench takes it."""
    seconds = measured_seconds(parsed)
    return {} if seconds is None else {"time": float(max(1, int(seconds)))}


def sysbench_format(
    suite: Suite,
    line: str,
    stated: Sequence[StatedLine],
    *,
    unstated: Mapping[str, tuple[Value, ...]] | None = None,
    assumed: Mapping[str, Value] | None = None,
) -> OutputFormat:
    """Return the format of one of sysbench's tests; `line` is a pattern of the lines that only this test prints."""
    return OutputFormat(
        title=suite.title,
        first=_FIRST,
        line=re.compile(f"{_LINE.pattern}|{line}"),
        read=by_parser(
            suite, (THREADS_LINE, _PERCENTILE, *stated), unstated=unstated, assumed=assumed, inferred=_runtime
        ),
    )
