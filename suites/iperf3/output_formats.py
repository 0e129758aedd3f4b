"""How the output of iperf3 and iperf 2 is recognised, and the options that it states."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from suites.base import Suite
from suites.iperf3.output import LARGEST
from suites.iperf3.text import RECEIVE, SEND, THROUGHPUT
from suites.output_reading import StatedLine, by_parser, stated_by_command
from suites.outputs import OutputFormat, ParsedTrial, ToolOutput, parse_whole
from suites.parameters import Value, Values
from suites.strict_json import object_in, read_json

_ROW = r"\[ {0,3}(?:\d{1,6}|SUM)\](?:\[[TR]X-[CS]\])? +\d+\.\d+- *\d+\.\d+ +sec +"
_FIRST = re.compile(r"Connecting to host \S+, port \d{1,5}|Server listening on \d{1,5}(?: |$)")
_LINE = re.compile(rf"\[ ID\](?:\[Role\])? Interval +Transfer|{_ROW}")
_BANNER = re.compile(r"Client connecting to \S+, (?:TCP|UDP) port \d|Server listening on (?:TCP|UDP) port \d")

_STATED = (
    StatedLine("direction", re.compile(r"\s*(Reverse mode), remote host"), lambda _text: RECEIVE),
    StatedLine("direction", re.compile(r"\[ ID\](\[Role\])"), lambda _text: "both"),
    StatedLine("protocol", re.compile(r".*(Total Datagrams|, UDP port|on UDP port)"), lambda _text: "udp"),
    StatedLine("protocol", re.compile(rf"{_ROW}.*?/sec +([\d.]+ ms) +\d+/ *\d+ \("), lambda _text: "udp"),
    StatedLine("streams", re.compile(r"Starting Test: protocol: \w+, (\d{1,4}) streams")),
    StatedLine("omit", re.compile(r"Starting Test: .*omitting (\d{1,9}) seconds")),
    StatedLine("time", re.compile(r"Starting Test: .*, (\d{1,9}) second test")),
)


def iperf_formats(suite: Suite) -> tuple[OutputFormat, ...]:
    """Return the formats of iperf3, and the text of iperf 2, which `suite` reads."""
    text = by_parser(suite, _STATED, inferred=_inferred)

    def read_document(output: str, command: str | None) -> Iterable[ToolOutput]:
        parsed = parse_whole(suite.parser({}), output.encode())
        content = read_json(output)
        test = object_in(object_in(content, "start"), "test_start")
        both = any(name.endswith("_bidir_reverse") for name in object_in(content, "end"))
        stated = {**(stated_by_command(suite, command) or {}), **_stated_in_json(test, both=both)}
        if parsed.figures:
            yield ToolOutput(suite.id, parsed, stated, seconds=_number(test.get("duration")) or None)

    return (
        OutputFormat(
            title="iperf3 JSON",
            keys=frozenset({"start", "intervals", "end"}),
            read=read_document,
            free_text=frozenset({"title", "extra_data"}),
        ),
        OutputFormat(title="iperf3 text", first=_FIRST, line=_LINE, read=text),
        OutputFormat(title="iperf 2 text", first=_BANNER, line=_BANNER, read=text),
    )


DEFAULT_RATE = 2**20
"""Bit/s of UDP without -b."""

_NEAR = 1.02
"""Factor by which a rate that was sent may differ from the requested one."""


def _inferred(parsed: ParsedTrial, stated: Values) -> dict[str, Value]:
    """Return the runtime, the time of the last interval, and whether UDP was sent at the default rate."""
    last = max((sample.time for sample in parsed.samples), default=0.0)
    found: dict[str, Value] = {"time": float(round(last))} if last >= 1 else {}
    rates = [one.value for one in parsed.figures if one.metric is THROUGHPUT]
    if stated.get("protocol") == "udp" and rates:
        found["bitrate"] = _megabits(max(rates) if max(rates) < DEFAULT_RATE * _NEAR else 0.0)
    return found


def _megabits(rate: float) -> float:
    """Return a requested rate in Mbit/s as iperf3 takes it; the default is 1 Mbit/s of 2^20 bits."""
    return 1.0 if DEFAULT_RATE / _NEAR < rate < DEFAULT_RATE * _NEAR else rate / 1e6


def _stated_in_json(test: Mapping[str, Any], *, both: bool) -> dict[str, Value]:
    """Return the options that iperf3 repeats in `test_start`, which lacks --bidir; `both`: it measured both ways."""
    udp = test.get("protocol") == "UDP"
    found: dict[str, Value] = {"protocol": "udp" if udp else "tcp"}
    found["direction"] = "both" if both else RECEIVE if _number(test.get("reverse")) else SEND
    for name, key in (("streams", "num_streams"), ("time", "duration"), ("omit", "omit")):
        value = _number(test.get(key))
        if value is not None:
            found[name] = int(value) if name == "streams" else value
    rate = _number(test.get("target_bitrate"))
    if rate is not None:
        found["bitrate" if udp else "tcp_rate"] = _megabits(rate)
    return found


def _number(value: object) -> float | None:
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= LARGEST
    return float(value) if good and isinstance(value, int | float) else None
