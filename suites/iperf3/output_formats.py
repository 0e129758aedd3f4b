"""How the output of iperf3 and iperf 2 is recognised, and the options that it states."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from suites.base import Suite
from suites.identities import (
    BINARY,
    DECIMAL,
    Identities,
    Member,
    PrintedLine,
    Product,
    Total,
    broken,
    json_numbers,
    negative_members,
    noted,
)
from suites.iperf3.link import is_loopback
from suites.iperf3.output import LARGEST
from suites.iperf3.text import RECEIVE, RECEIVER, SEND, SENDER, THROUGHPUT
from suites.output_reading import StatedLine, by_parser, stated_by_command
from suites.output_times import CLOCK, DATE, ZONE, start_in
from suites.outputs import OutputFormat, ParsedTrial, ToolOutput, parse_whole
from suites.parameters import Value, Values
from suites.quantities import quantity
from suites.strict_json import documents_in, object_in, objects_in, read_json
from suites.units import Unit

_ROW = r"\[[ *]{0,3}(?:\d{1,6}|SUM)\](?:\[[TR]X-[CS]\])? +\d+\.\d+- *\d+\.\d+ +sec +"
_FIRST = re.compile(r"Connecting to host \S+, port \d{1,5}|Server listening on \d{1,5}(?: |$)")
_LINE = re.compile(
    rf"\[ ID\](?:\[Role\])? Interval +Transfer|{_ROW}|\[ {{0,3}}\d{{1,6}}\] Sent \d|CPU Utilization: local/|"
    r"(?:snd|rcv)_tcp_congestion |iperf3: (?:(?:parameter )?error|interrupt) - "
)
_ERROR = re.compile(r"^iperf3: (?:parameter )?error - ([^\n]{1,200})", re.MULTILINE)
_WORDS = (
    r"sec|\d+(?:\.\d+)?|[KMGT]?Bytes(?:/sec)?|[KMGT]?bits/sec|ms|-?\d+/ *\d+|\(\S{1,12}%\)|\(omitted\)|sender|receiver|"
    r"Interval|Transfer|Bitrate|Bandwidth|Retr|Cwnd|Jitter|Lost/Total|Total|Datagrams"
)
_BROKEN = re.compile(rf"(?:{_LINE.pattern})[^\n]{{0,200}}(?<!sender|ceiver)\n(?:(?:{_WORDS})(?: +|$))+")
"""A row or a heading, and the rest of it in the next line."""
_BANNER = re.compile(r"Client connecting to \S+, (?:TCP|UDP) port \d|Server listening on (?:TCP|UDP) port \d")

_STATED = (
    StatedLine("direction", re.compile(r"\s*(Reverse mode), remote host"), lambda _text: RECEIVE),
    StatedLine("direction", re.compile(r"\[ ID\](\[Role\])"), lambda _text: "both"),
    StatedLine("protocol", re.compile(r".*(Total Datagrams|, UDP port|on UDP port)"), lambda _text: "udp"),
    StatedLine("protocol", re.compile(rf"{_ROW}.*?/sec +([\d.]+ ms) +\d+/ *\d+ \("), lambda _text: "udp"),
    StatedLine(
        "address",
        re.compile(r"\[[ *]{0,3}\d{1,6}\] local (\S{1,60}) port \d{1,5} connected (?:to|with) \1 port \d{1,5}"),
        lambda address: address if is_loopback(address) else "localhost",
    ),
    StatedLine("streams", re.compile(r"Starting Test: protocol: \w+, (\d{1,4}) streams")),
    StatedLine(
        "port",
        re.compile(
            r"(?:Connecting to host \S+, port|Client connecting to \S+, (?:TCP|UDP) port|"
            r"Server listening on(?: (?:TCP|UDP) port)?) (\d{1,5})"
        ),
    ),
    StatedLine("omit", re.compile(r"Starting Test: .*omitting (\d{1,9}) seconds")),
    StatedLine("time", re.compile(r"Starting Test: .*, (\d{1,9}) second test")),
)


_N = r"\d{1,18}(?:\.\d{1,9})?"
_RATE = Product(text="bytes / time", result="rate", factors=("size",), divisors=("seconds",), unit=Unit.BITS_PER_SECOND)
_LOSS = Product(text="lost / total datagrams", result="loss", factors=("lost",), divisors=("datagrams",), scale=100,
                unit=Unit.PERCENT)  # fmt: skip
_UNITS = {f"{prefix}Bytes": (8 * BINARY[prefix][0],) for prefix in ("", "K", "M", "G", "T")} | {
    f"{prefix}bits": DECIMAL[prefix] for prefix in ("", "K", "M", "G", "T")
}
"""Factors to bits: iperf means powers of 1024 by bytes, and of 1000 by bits."""

_PRINTED_ROW = re.compile(
    rf"\[[ *]{{0,3}}(?P<stream_>\d{{1,6}}|SUM)\](?P<role_>\[[TR]X-[CS]\])?\s+"
    rf"(?P<start>{_N})-\s*(?P<stop>{_N})\s+sec\s+"
    rf"(?P<size>{_N}) (?P<size_unit>[KMGT]?Bytes)\s+(?P<rate>{_N}) (?P<rate_unit>[KMGT]?(?:bits|Bytes))/sec"
    rf"(?:.{{0,60}}? (?P<lost>\d{{1,18}})/\s*(?P<datagrams>\d{{1,18}}) \((?P<loss>{_N}(?:e[-+]?\d{{1,3}})?)%\))?"
    r"(?:.{0,120}?(?P<end_>sender|receiver))?"
)
_FIRST_ROW = re.compile(f"^{_ROW}", re.MULTILINE)
_STREAM = re.compile(r"\[[ *]{0,3}\d{1,6}\] local .{1,300} connected (?:to|with) ")

_OVERFLOW = re.compile(r"\d/2147483647 \(")
"""A count of datagrams at the limit of 32 bits."""

IDENTITIES = Identities(
    (
        PrintedLine(
            _PRINTED_ROW,
            (_RATE, _LOSS),
            _UNITS,
            cut=frozenset({"loss"}),
            spans={"seconds": ("stop", "start")},
            totals=(
                Total("rate", "stream_", "SUM", ("role_", "start", "stop", "end_"), Unit.BITS_PER_SECOND, slack=0.03),
            ),
            part=_STREAM,
        ),
    )
)
"""Identities of the rows of iperf3 and iperf 2; iperf cuts or rounds the loss, by version."""

_TOTALS = (
    "sum",
    "sum_sent",
    "sum_received",
    "sum_bidir_reverse",
    "sum_sent_bidir_reverse",
    "sum_received_bidir_reverse",
)
_MEMBERS = {
    "size": Member(("bytes",), 8.0),
    "seconds": Member(("seconds",)),
    "rate": Member(("bits_per_second",)),
    "lost": Member(("lost_packets",)),
    "datagrams": Member(("packets",)),
    "loss": Member(("lost_percent",)),
}


def _text_contradictions(text: str) -> Iterable[tuple[str, str]]:
    """Yield what contradicts itself in a text; the report of the other end follows (--get-server-output)."""
    own = text.partition("\nServer output:")[0]
    yield from IDENTITIES.contradictions(own)
    if _OVERFLOW.search(own):
        yield "", "the datagrams are 2147483647, the limit of their counter: so is the loss"


def _document_contradictions(content: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """Yield what contradicts itself in a document of iperf3: in its totals, and between them and the streams."""
    ends = [object_in(content, "end"), *objects_in(content, "intervals")]
    for end in ends:
        for name in _TOTALS:
            total = object_in(end, name)
            words = (*negative_members(total, _MEMBERS), *broken((_RATE, _LOSS), json_numbers(total, _MEMBERS)))
            yield from (("", f"{name}: {each}") for each in words)
    if any(name.endswith("_bidir_reverse") for name in ends[0]):
        return  # the streams of both directions are in one list
    for name, side in (("sum_sent", "sender"), ("sum_received", "receiver")):
        streams = [object_in(one, side) for one in objects_in(ends[0], "streams")]
        yield from _sum_of(object_in(ends[0], name), streams, name)


def _sum_of(total: Mapping[str, Any], streams: list[Mapping[str, Any]], name: str) -> Iterable[tuple[str, str]]:
    rates = [_number(one.get("bits_per_second")) for one in streams]
    printed = _number(total.get("bits_per_second"))
    given = [one for one in rates if one is not None]
    if not printed or len(given) < len(rates) or not given:
        return
    if abs(sum(given) / printed - 1) > _SAME_SUM:
        shown = (quantity(value, Unit.BITS_PER_SECOND) for value in (sum(given), printed))
        yield "", f"{name}: sum of the streams = {', printed: '.join(shown)}"


_SAME_SUM = 0.02
"""Relative difference of a sum and its parts, whose ends are a round trip apart."""


def iperf_formats(suite: Suite) -> tuple[OutputFormat, ...]:
    """Return the formats of iperf3, and the text of iperf 2, which `suite` reads."""
    by_text = by_parser(suite, _STATED, inferred=_inferred, contradictions=_text_contradictions)

    def text(output: str, command: str | None) -> Iterable[ToolOutput]:
        for before, run in _parts(output):
            yield from (replace(one, line=before) for one in read_run(run, command))

    def read_run(output: str, command: str | None) -> Iterable[ToolOutput]:
        direction = _SHOWN.get((stated_by_command(suite, command) or {}).get("direction"), "")
        output = direction + _without_text_beside(output)
        lines = (line for line in output.splitlines() if "(omitted)" not in line)
        rows = [match for line in lines if (match := _PRINTED_ROW.match(line))]
        for one in by_text(output, command):
            timed = _timed(one, rows, counted=_COUNTED.search(command or "") is not None)
            error = None if rows or one.parsed.figures else _ERROR.search(output)
            yield timed if error is None else replace(timed, undecided=f"iperf3 failed: {error[1].strip()}.")

    def read_documents(output: str, command: str | None) -> Iterable[ToolOutput]:
        for content in _tests(output):
            yield from read_document(content, command)

    def read_document(content: Mapping[str, Any], command: str | None) -> Iterable[ToolOutput]:
        parsed = parse_whole(suite.parser({}), json.dumps(content).encode())
        start = object_in(content, "start")
        test = object_in(start, "test_start")
        both = any(name.endswith("_bidir_reverse") for name in object_in(content, "end"))
        stated = {**(stated_by_command(suite, command) or {}), **_stated_in_json(test, both=both)}
        stated |= _port(start)
        for connected in objects_in(start, "connected")[:1]:
            stated |= _own_host(str(connected.get("local_host")), str(connected.get("remote_host")))
        if parsed.figures or "error" in content:
            ran, by_time = _counted_time(test, object_in(content, "end"))
            stated |= by_time
            seconds = ran or _number(test.get("duration"))
            one = ToolOutput(suite.id, parsed, stated, seconds=seconds + _omitted(stated) if seconds else None)
            yield from noted((one,), _document_contradictions(content))

    return (
        OutputFormat(
            title="iperf3 JSON",
            keys=frozenset({"start", "intervals", "end"}),
            parts={"event": _EVENTS},
            joined=True,
            read=read_documents,
            free_text=frozenset({"title", "extra_data"}),
            begun=start_in(r'"timesecs"\s*:\s*(?P<epoch>\d{1,20})\b'),
        ),
        OutputFormat(
            title="iperf3 text",
            first=_FIRST,
            line=_LINE,
            broken=_BROKEN,
            read=text,
            begun=start_in(
                rf"^Time: [A-Z][a-z]{{2}}, (?P<day>\d\d) (?P<month>[A-Z][a-z]{{2}}) (?P<year>\d{{4}}) {CLOCK} {ZONE}"
            ),
        ),
        OutputFormat(
            title="iperf 2 text",
            first=_BANNER,
            line=_BANNER,
            read=text,
            begun=start_in(rf"^\[ *\d{{1,6}}\] local .{{1,300}} on {DATE} {CLOCK}(?: \({ZONE}\))?"),
        ),
    )


_COUNTED = re.compile(r"\s(?:-[46ud1RVJi]*[nkF]|--(?:bytes|num|blockcount|file)[= ])")
"""An option of a test that ends after bytes, blocks or a file: it has no planned time."""


def _counted_time(test: Mapping[str, Any], end: Mapping[str, Any]) -> tuple[float, dict[str, Value]]:
    """Return the seconds that a test ran which ends after bytes, blocks or a file, and its time; else 0 and nothing."""
    of_file = any("diskfile" in one for one in objects_in(end, "streams"))
    if not (of_file or _number(test.get("bytes")) or _number(test.get("blocks"))):
        return 0.0, {}
    ran = max((_number(object_in(end, name).get("seconds")) or 0.0 for name in _TOTALS), default=0.0)
    return ran, {"time": round(ran, 2)} if ran else {}


_EVENTS = frozenset({"start", "interval", "end", "error", "server_output_text", "server_output_json"})
"""Events of --json-stream (iperf 3.17 and later, iperf_api.c)."""


def _tests(output: str) -> Iterable[Mapping[str, Any]]:
    """Yield the document of each test; one for the events of --json-stream, unless theirs was printed too."""
    events: dict[str, Any] = {}
    for document in documents_in(output):
        content = read_json(document)
        if "event" not in content:
            if not _is_of(events, content):
                yield from _of_events(events)
            events = {}
            yield content
            continue
        if content["event"] == "start":
            yield from _of_events(events)
            events = {}
        if content["event"] == "interval":
            events.setdefault("intervals", []).append(content.get("data"))
        else:
            events[content["event"]] = content.get("data")
    yield from _of_events(events)


def _of_events(events: dict[str, Any]) -> Iterable[Mapping[str, Any]]:
    if events:
        yield {"start": {}, "intervals": [], "end": {}, **events}


def _is_of(events: Mapping[str, Any], content: Mapping[str, Any]) -> bool:
    """Return whether events are those of a document: by the cookie that both ends of a test know, else by content."""
    cookies = [object_in(one, "start").get("cookie") for one in (events, content)]
    if None not in cookies:
        return cookies[0] == cookies[1]
    if "end" in events and events["end"] != content.get("end"):
        return False
    known = {json.dumps(one, sort_keys=True) for one in objects_in(content, "intervals")}
    return all(json.dumps(one, sort_keys=True) in known for one in objects_in(events, "intervals"))


_SHOWN: Mapping[Value | None, str] = {
    SEND: "[ ID] Interval           Transfer     Bitrate         Retr\n",
    RECEIVE: "Reverse mode, remote host is sending\n",
}
"""Lines that show whether the client sends, by the direction that its command line states: rows alone do not."""

_SEPARATOR = re.compile(r"(?:- ){3}|Server output:")


_REFUSED = re.compile(r"iperf3: error - (?:the server is busy|unable to connect to server)")
"""An error before a test has begun."""


def _attempts(output: str) -> Iterable[tuple[int, str]]:
    """Yield the parts of a text with rows, and each refused test beside them, with the number of lines before it."""
    before, part = 0, list[str]()
    for line in output.splitlines(keepends=True):
        if _REFUSED.match(line):
            filled = [at for at, each in enumerate(part) if each.strip()]
            begun = filled[-1] if filled and _FIRST.match(part[filled[-1]]) else len(part)
            if any(map(_PRINTED_ROW.match, part[:begun])):
                yield before, "".join(part[:begun])
                before, part = before + begun, part[begun:]
            yield before, "".join((*part, line))
            before, part = before + len(part) + 1, []
        else:
            part.append(line)
    if not before or any(map(_LINE.match, part)):
        yield before, "".join(part)


def _parts(output: str) -> Iterable[tuple[int, str]]:
    return ((start + before, run) for start, attempt in _attempts(output) for before, run in _runs(attempt))


def _runs(output: str) -> Iterable[tuple[int, str]]:
    """Yield the runs in a text, each after what precedes the first row, and the number of lines before it.

    Rows of intervals that begin at 0 again follow no separator and no omitted row.
    """
    row = _FIRST_ROW.search(output)
    head, before = output[: row.start() if row else 0], 0
    run: list[str] = []
    first: dict[str, float] = {}
    sums_up, omitted = False, False
    for line in output.splitlines(keepends=True):
        sums_up = sums_up or _SEPARATOR.match(line) is not None
        match = _PRINTED_ROW.match(line)
        if match and not sums_up and not match["end_"]:
            stream = f"{match['stream_']}{match['role_']}"
            stop = float(match["stop"])
            again = match["start"] == "0.00" and not omitted  # iperf 2, whose summary has no separator, prints 0.0
            if again and 0 < stop <= 1.5 * first.get(stream, 0.0):
                yield before, (head if before else "") + "".join(run)
                before, run, first = before + len(run), [], {}
            first.setdefault(stream, stop - float(match["start"]))
            omitted = "(omitted)" in line
        run.append(line)
    yield before, (head if before else "") + "".join(run)


_WHOLE_ROW = re.compile(
    rf"(?>{_ROW}\S+ [KMGT]?Bytes +\S+ [KMGT]?(?:bits|Bytes)/sec(?: +\d+(?![\d.]))?(?: +[\d.]+ [KMG]?Bytes)?"
    r"(?: +\S+ ms +-?\d+/ *\d+ \([^()]{1,20}\))?(?: +\(omitted\))?(?: +(?:sender|receiver))?)(?= {2,}\S| +\|)"
)
"""A row of iperf3 with other text after it, which may hide that a sender printed it."""


_NEXT_ROW = re.compile(rf"(?<=\S),? +(?={_ROW})")
"""What precedes a row in the line of another one, whose line break was lost."""


def _without_text_beside(output: str) -> str:
    """Return an output with each row in a line of its own."""
    if _BANNER.search(output):  # iperf 2 has more columns
        return output
    output = _NEXT_ROW.sub("\n", output)
    lines = ((line, _WHOLE_ROW.match(line)) for line in output.splitlines())
    return "\n".join(line if row is None else row[0] for line, row in lines) + "\n"


def _port(start: Mapping[str, Any]) -> dict[str, Value]:
    """Return the port of the server, to which the client connects, or at which the server was connected to."""
    accepted = objects_in(start, "connected")[:1] if "accepted_connection" in start else []
    given = accepted[0].get("local_port") if accepted else object_in(start, "connecting_to").get("port")
    port = _number(given)
    return {} if port is None or port > LAST_PORT else {"port": int(port)}


LAST_PORT = 65535


def _own_host(local: str, remote: str) -> dict[str, Value]:
    """Return the address of the peer where both ends have one: then they are on one host."""
    return {"address": remote if is_loopback(remote) else "localhost"} if local == remote else {}


def _omitted(stated: Mapping[str, Value]) -> float:
    """Return the seconds before those that are counted (-O), which the times of the rows lack."""
    omit = stated.get("omit", 0.0)
    return float(omit) if isinstance(omit, int | float) else 0.0


DEFAULT_RATE = 2**20
"""Bit/s of UDP without -b."""

LONGEST = 86_400
"""Seconds of the longest test that a time can be set for (iperf.h, MAX_TIME)."""

_NEAR = 1.02
"""Factor by which a rate that was sent may differ from the requested one."""


def _inferred(parsed: ParsedTrial, stated: Values) -> dict[str, Value]:
    """Return the omitted time, and whether UDP was sent at the default rate."""
    omitted = max((sample.time for sample in parsed.samples if sample.warm_up), default=0.0)
    last = max((sample.time for sample in parsed.samples), default=0.0) - omitted
    found: dict[str, Value] = {"omit": float(round(omitted))} if last >= 1 else {}
    rates = [(dict(one.labels).get("end"), one.value) for one in parsed.figures if one.metric is THROUGHPUT]
    if stated.get("protocol") == "udp" and rates:
        sent = [rate for end, rate in rates if end == SENDER]
        most = max(sent or [rate for _, rate in rates])
        least = 0.0 if sent else DEFAULT_RATE / _NEAR  # a received rate may be lower than the requested one
        found["bitrate"] = _megabits(most if least < most < DEFAULT_RATE * _NEAR else 0.0)
    return found


def _timed(one: ToolOutput, rows: Sequence[re.Match[str]], *, counted: bool) -> ToolOutput:
    """Return a result with the times of its rows; `counted`: bytes, blocks or a file ended it."""
    sent = [float(row["stop"]) for row in rows if row["end_"] != RECEIVER]  # the receiver's are longer
    seconds = max((float(row["stop"]) for row in rows), default=0.0)
    whole = seconds > 0 and one.parsed.complete  # else the rest may be missing in the text only
    ran = max(sent, default=seconds)  # the intervals may be cut, the summary is not
    stated = {"time": _planned_seconds(ran), **one.stated} if ran >= 1 or whole else dict(one.stated)
    if whole and counted:
        stated["time"] = round(seconds, 2)
    return replace(one, stated=stated, seconds=seconds + _omitted(one.stated) if whole else None)


def _planned_seconds(ran: float) -> float:
    """Return the runtime, at most the longest that iperf3 takes (-t 0 runs on): in whole seconds, unless it ended amid
    one, as after bytes, blocks or a file.
    """
    whole = float(min(round(ran), LONGEST))
    return whole if 0.95 * whole <= ran and whole else ran


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
