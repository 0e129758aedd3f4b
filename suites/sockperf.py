"""sockperf: percentiles of round trips between two hosts, one message at a time or under a load of a given rate."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from suites.base import Command, Context, Estimate, Purpose, RateLimit, StepCheck, StepEvidence, TestedTool, Workload
from suites.checks import Check, CheckOutcome, NotChecked
from suites.command_line import CommandSyntax
from suites.equivalents import (
    Equivalent,
    MetricMapping,
    ParameterMapping,
    Traits,
    at_least_a_second,
    mapped,
    only_size,
    pattern_text,
)
from suites.facts import Facts, known
from suites.line_parser import LineParser
from suites.net_blocks.output import LONGEST, P50, P90, P99, P999
from suites.output_reading import StatedLine, by_parser
from suites.outputs import OutputFormat, ParsedTrial
from suites.parameters import (
    Choice,
    Parameter,
    Tuned,
    Type,
    Value,
    Values,
    count_parameter,
    flag_parameter,
    format_size,
    port_parameter,
    runtime_parameter,
)
from suites.peer import ADDRESS, SAME_HOST, PeerSuite, peer_address, port_text
from suites.programs import Program, same_package_name
from suites.runtime_checks import SHORT_RUNTIME, TRUSTED
from suites.tool_messages import exit_notes
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind, Resource, Severity


def _time(name: str, title: str, percentile: float | None = None) -> Metric:
    return Metric(name, title, Unit.MICROSECOND, Better.LOWER, MetricKind.TIME, percentile)


def _count(name: str, title: str) -> Metric:
    return Metric(name, title, Unit.ONE, Better.LOWER, MetricKind.COUNT)


P9999 = _time("round_trip_p9999", "Round trip, 99.99th percentile", 99.99)
MEAN = _time("round_trip_mean", "Round trip, mean")
ROUND_TRIPS = (P50, P90, P99, P999, P9999, LONGEST, MEAN)
HALVES = tuple(
    _time(f"half_{one.name}", re.sub("[Rr]ound trip", "half round trip", one.title).capitalize(), one.percentile)
    for one in ROUND_TRIPS
)
"""What sockperf calls latency: the time of each round trip by two."""

MESSAGES = Metric("messages", "Messages sent per second", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)
COUNTS = (
    _count("dropped", "Messages dropped"),
    _count("duplicated", "Messages duplicated"),
    _count("out_of_order", "Messages out of order"),
)

_N = r"(\d{1,15}(?:\.\d{1,6})?)"
_COLOUR = re.compile(r"\x1b\[[\d;]{0,10}m")
_TOTAL = re.compile(rf"\[Total Run\] RunTime={_N} sec; Warm up time={_N} msec; .*")
_VALID = re.compile(rf"\[Valid Duration\] RunTime={_N} sec; SentMessages={_N}; ReceivedMessages={_N}")
_LOST = re.compile(rf"# dropped messages = {_N}; # duplicated messages = {_N}; # out-of-order messages = {_N}")
_SUMMARY = re.compile(rf"Summary: (Latency|Round trip) is {_N} usec")
_OBSERVATION = re.compile(rf"---> (?:percentile *{_N}|<(MAX|MIN)> observation) *= *{_N}")
_FAILURE = re.compile(
    r"No messages were received from the server.*|No messages were sent|No valid observations found.*|"
    r"Test end before test start.*|ERROR: .+|.*: (?:command )?not found"
)
_ENDED_BY = re.compile(r"Test end \(interrupted by (.+)\)")  # the first one: sockperf then interrupts its own threads


ENOUGH_OF_IT = 0.7
"""Least share of the time that observations cover: the first second of a slow start is left out, not more."""


@dataclass(slots=True)
class SockperfParser(LineParser):
    """Parser of one run. sockperf exits with 0 also if no server answered, and colours its output."""

    unfinished = (_FAILURE,)
    _observations: dict[float, float] = field(default_factory=dict)  # us by percentile; 0 is the shortest
    _counts: tuple[float, ...] = ()
    _total: tuple[float, ...] = ()
    _valid: tuple[float, ...] = ()
    _mean: tuple[str, float] | None = None
    _ended_by: str = ""

    def _read(self, line: str) -> None:
        line = _COLOUR.sub("", line).strip().removeprefix("sockperf: ")
        if match := _OBSERVATION.fullmatch(line):
            percentile = float(match[1]) if match[1] else {"MAX": 100.0, "MIN": 0.0}[match[2]]
            if percentile <= 100:
                self._observations[percentile] = float(match[3])
        elif match := _SUMMARY.fullmatch(line):
            self._mean = match[1], float(match[2])
        elif match := _TOTAL.fullmatch(line):
            self._total = tuple(map(float, match.groups()))
        elif match := _VALID.fullmatch(line):
            self._valid = tuple(map(float, match.groups()))
        elif match := _LOST.fullmatch(line):
            self._counts = tuple(map(float, match.groups()))
        elif match := _ENDED_BY.fullmatch(line):
            self._ended_by = self._ended_by or match[1]
        elif _FAILURE.fullmatch(line):
            self._fail(line)

    def _result(self, exit_status: int | None) -> ParsedTrial:
        notes = [f"sockperf failed: {words}" for words in self._failures]
        if self._ended_by not in {"", "timer"}:
            notes.append(f"sockperf was ended by {self._ended_by}.")
        if self._stalled():
            notes.append(
                f"sockperf stopped after {self._valid[0]:.3g} of {self._measurable():.3g} s: a message was lost, and "
                "ping-pong waits for each reply. Use under-load or TCP on a network that loses packets."
            )
        if not (self._valid and self._counts and self._mean and 0.0 in self._observations) and not notes:
            notes.append("sockperf was cut off: it printed no complete statistics.")
        notes += exit_notes("sockperf", exit_status)
        remarks = []
        if self._counts and self._counts[0]:
            remarks.append(f"{self._counts[0]:.0f} replies never arrived: they are in no percentile.")
        return ParsedTrial(tuple(self._figures()), (), (*notes, *remarks), not notes)

    def _stalled(self) -> bool:
        """Return whether a ping-pong ended long before its time."""
        if not (self._valid and self._total) or self._valid[1] != self._valid[2]:
            return False
        return self._valid[0] < ENOUGH_OF_IT * self._measurable()

    def _measurable(self) -> float:
        """Return the seconds between warm-up and end; 3.7 counts the warm-up as part of the time."""
        seconds, warm_up = self._total
        return seconds - warm_up / 1000

    def _figures(self) -> list[Figure]:
        """Return the figures; of a percentile only with an observation beyond it."""
        if not (self._valid and self._mean):
            return []
        seconds, sent, observed = self._valid
        figures = []
        for one in ROUND_TRIPS if self._mean[0] == "Round trip" else HALVES:
            percentile = one.percentile
            value = self._mean[1] if percentile is None else self._observations.get(percentile)
            if value and (percentile in {None, 100} or observed * (100 - (percentile or 0)) >= 100 - 1e-6):
                figures.append(Figure(one, value))
        if seconds:
            figures.append(Figure(MESSAGES, sent / seconds))
        return figures + [Figure(one, count) for one, count in zip(COUNTS, self._counts, strict=False)]


PING_PONG, UNDER_LOAD = "ping-pong", "under-load"


def _under_load(values: Values) -> bool:
    return values.get("mode") == UNDER_LOAD


MODE = Parameter(
    name="mode",
    title="Mode",
    default=PING_PONG,
    help="ping-pong sends a message when the reply to the last one has arrived; under-load sends at a rate, whether "
    "or not replies arrive.",
    choices=(
        Choice(PING_PONG, "ping-pong: one message at a time"),
        Choice(UNDER_LOAD, "under-load: at a rate of messages"),
    ),
)

PARAMETERS = (
    MODE,
    Parameter(
        name="protocol",
        title="Protocol",
        default="udp",
        help="UDP, or one TCP connection without Nagle's delay.",
        option="--tcp",
        choices=(Choice("udp", "UDP"), Choice("tcp", "TCP")),
    ),
    runtime_parameter(
        default=1.0, help="Duration of the test; its first 0.4 s are a warm-up.", option="-t, --time", maximum=3600
    ),
    Parameter(
        name="size",
        title="msg-size",
        type=Type.SIZE,
        default=14,
        help="Bytes of each message; the reply has as many.",
        option="-m, --msg-size",
        unit="B",
        minimum=14,
        maximum=65507,
    ),
    count_parameter(
        name="rate",
        title="mps",
        default=10_000,
        help="Messages per second.",
        option="--mps",
        unit="1/s",
        maximum=10_000_000,
        applies=_under_load,
    ),
    count_parameter(
        name="reply_every",
        default=100,
        help="The server replies to every N-th message only: these are measured, the others are load.",
        option="--reply-every",
        maximum=1_000_000,
        applies=_under_load,
    ),
    flag_parameter(
        name="full_rtt",
        title="full-rtt",
        help="Figures are round trips. Without it they are half of each, which sockperf calls latency.",
        option="--full-rtt",
    ),
    port_parameter(
        default=11111, help="Port of the server end; 0 picks a free one right before the test.", option="-p, --port"
    ),
    ADDRESS,
)


def _observations(values: Values) -> float | None:
    """Return the number of observations under load; unknown in ping-pong, where the round trip decides."""
    if not _under_load(values):
        return None
    return float(values["time"]) * int(values["rate"]) / int(values["reply_every"])


FEWEST = 1000
"""Observations that put ten beyond the p99."""


def _few(evidence: StepEvidence) -> CheckOutcome | None:
    values = evidence.values
    observed = _observations(values)
    if observed is None or observed >= FEWEST:
        return None
    shown = f"{float(values['time']):g} s x {values['rate']}/s, one reply in {values['reply_every']}: {observed:.0f}."
    return CheckOutcome(shown, changes={"time": float(-(-FEWEST * int(values["reply_every"]) // int(values["rate"])))})


def _half(evidence: StepEvidence) -> CheckOutcome | None:
    return None if evidence.values["full_rtt"] else CheckOutcome("full-rtt is off.", changes={"full_rtt": True})


RECORDED = 600_000 * 16
"""Bytes of memory for each second of ping-pong: two times of each of 600,000 possible messages (295 MB in 30 s)."""


def _much_memory(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    facts, values = evidence.context.facts, evidence.values
    if _under_load(values):
        return None
    available = None if facts is None else known(facts.memory.available)
    if available is None:
        return NotChecked("The available memory is not known.")
    needed = float(values["time"]) * RECORDED
    if needed <= available:
        return None
    shown = f"{format_size(int(needed))} for {float(values['time']):g} s; {format_size(available)} are available."
    return CheckOutcome(shown, changes={"time": TRUSTED})


CHECKS: tuple[StepCheck, ...] = (
    SAME_HOST,
    SHORT_RUNTIME,
    Check(
        id="sockperf-memory",
        severity=Severity.ERROR,
        blocks=True,
        title="Times do not fit into memory",
        why="Before it starts, sockperf allocates the times of all messages that could be sent: 10 MB per second of "
        "ping-pong. The host swaps, or the kernel ends a process.",
        remedy="Set a shorter time, and repeat trials instead.",
        source="sockperf 3.7, measured; packet.cpp, PacketTimes.",
        needs="time; the available memory.",
        evaluate=_much_memory,
    ),
    Check(
        id="sockperf-few-observations",
        severity=Severity.INFO,
        title="Few observations for percentiles",
        why=f"Only messages with a reply are measured. With fewer than {FEWEST:,} of them, less than ten are beyond "
        "the p99, and p99.9 is the slowest one.",
        remedy="Increase time, or lower reply-every.",
        source="sockperf README, under-load; the definition of a percentile.",
        needs="time, mps and reply-every.",
        evaluate=_few,
    ),
    Check(
        id="sockperf-half",
        severity=Severity.INFO,
        title="Half of each round trip is shown",
        why="Half a round trip is the time of one way only if both ways take equally long; ping and net-blocks show "
        "whole round trips.",
        remedy="Set full-rtt.",
        source="sockperf README, --full-rtt.",
        needs="full-rtt.",
        evaluate=_half,
    ),
)

SOCKPERF = Program("sockperf", ("sockperf",), same_package_name("sockperf"), supplementary=True)


def _one_buffer(value: Value, _values: Values, _facts: Facts | None) -> Value | None:
    return format_size(int(value))


_MODES: Mapping[Value, Value] = {PING_PONG: "latency"}


def _mode(counts: str) -> str:
    """Return the mode of the messages sent and received: in ping-pong, each waits for the reply to the one before."""
    sent, received = (int(word) for word in re.findall(r"\d+", counts))
    return "ping-pong" if sent - received <= 1 else "under-load"


_STATED = (
    StatedLine("protocol", re.compile(r"\[ *\d+\] IP = \S+ +PORT = +\d+ +# (UDP|TCP)"), str.lower),
    StatedLine("port", re.compile(r"\[ *\d+\] IP = \S+ +PORT = +(\d{1,5})")),
    StatedLine("address", re.compile(r"\[ *\d+\] IP = (\S{1,60}) +PORT")),
    StatedLine(
        "time",
        re.compile(r"(?:sockperf: )?\[Total Run\] RunTime=(\d{1,7}(?:\.\d+)?) sec"),
        lambda seconds: float(max(1, round(float(seconds)))),
    ),
    StatedLine(
        "mode", re.compile(r"(?:sockperf: )?\[Total Run\] .*SentMessages=(\d{1,15}; ReceivedMessages=\d{1,15})"), _mode
    ),
    StatedLine(
        "full_rtt", re.compile(r"(?:sockperf: )?Summary: (Latency|Round trip) is"), lambda kind: kind == "Round trip"
    ),
)


class Sockperf(PeerSuite):
    """sockperf ping-pong or under-load. The host is the client; the server runs on the peer."""

    id = "sockperf"
    title = "sockperf"
    summary = "Percentiles of round trips of messages between two hosts, over UDP or TCP, idle or under load."
    resource = Resource.NETWORK
    tried = TestedTool(
        "sockperf 3.7 run for real; outputs of 3.6 captured", "no", "half round trips without --full-rtt"
    )
    program = SOCKPERF
    parameters = PARAMETERS
    main_parameters = ("mode", "protocol", "time", "size", "rate", "full_rtt")
    syntax = CommandSyntax(aliases={"pp": PING_PONG, "ul": UNDER_LOAD, "--pps": "--mps"}, choices=("mode", "protocol"))
    metrics = (*ROUND_TRIPS, *HALVES, MESSAGES, *COUNTS)
    parser_type = SockperfParser
    checks = CHECKS
    equivalents = (
        Equivalent(
            "net-blocks",
            "How long does a message take to the peer and back?",
            (
                ParameterMapping("mode", "tests", mapped(_MODES), mapped({"latency": PING_PONG}), required=True),
                ParameterMapping("protocol", "protocol", backward=mapped({"tcp": "tcp", "udp": "udp"}), required=True),
                ParameterMapping("size", "buffers", _one_buffer, only_size),
                ParameterMapping("time", "time", at_least_a_second, at_least_a_second),
                ParameterMapping("address", "address"),
            ),
            tuple(MetricMapping((one.name,), (one.name,)) for one in (P50, P90, P99, P999, LONGEST)),
            fixed=(("sweep", "single"),),
            fixed_backward=(("full_rtt", True),),
        ),
    )

    @property
    def output_formats(self) -> tuple[OutputFormat, ...]:
        """The formats of sockperf's output."""
        first = re.compile(r"sockperf: (?:\x1b\S*)?== version #")
        read = by_parser(self, _STATED, unstated={"time": (1.0, TRUSTED)})
        line = re.compile(r"sockperf(?:\[\w+\])?: |\[(?:Total Run|Valid Duration)\] RunTime=")
        return (OutputFormat(title="sockperf", first=first, line=line, read=read),)

    def metrics_of(self, values: Values) -> tuple[Metric, ...]:
        """Return the round trips or their halves, then the counts."""
        return (*(ROUND_TRIPS if values["full_rtt"] else HALVES), MESSAGES, *COUNTS)

    def workload(self, values: Values) -> Workload:
        """Return the time after the warm-up; under load the rate is given."""
        rate = RateLimit(MESSAGES.name, float(values["rate"])) if _under_load(values) else None
        return Workload(seconds=float(values["time"]), ramp=WARM_UP, rate_limit=rate, concurrency=None if rate else 1)

    def traits(self, values: Values, facts: Facts | None) -> Traits:
        """Return the traits of a step for cross-checks."""
        protocol = pattern_text(str(values["protocol"]))
        return Traits(pattern=protocol, block=int(values["size"]), seconds=float(values["time"]))

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return enough time for the tail, whole round trips and a free port."""
        return {
            "time": Tuned(TRUSTED, f"{TRUSTED:g} s of messages put several beyond p99.9; the tool's default is 1 s."),
            "full_rtt": Tuned(True, "What is measured is the round trip; its half is one way only if both are equal."),
            "port": Tuned(0, "A free port on the peer; if a firewall restricts ports, set one that it permits."),
        }

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the server, for the peer, and the client."""
        port = port_text(values, context)
        tcp = ("--tcp",) if values["protocol"] == "tcp" else ()
        words = ["sockperf", str(values["mode"]), "-i", peer_address(values, context), "-p", port, *tcp]
        words += ["-t", str(int(values["time"])), "-m", str(values["size"])]
        if _under_load(values):
            words += ["--mps", str(values["rate"]), "--reply-every", str(values["reply_every"])]
        words += ["--full-rtt"] if values["full_rtt"] else []
        return (
            Command(("sockperf", "server", "-p", port, *tcp), Purpose.SERVE, on_peer=True),
            Command(tuple(words)),
        )

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return the time with its warm-up; under load, the bytes of the messages."""
        seconds = float(values["time"]) + START
        load = int(values["rate"]) * int(values["size"]) * float(values["time"])
        return Estimate(seconds, network=int(load) if _under_load(values) else None)


WARM_UP = 0.45
"""Seconds that do not count: the first 400 ms and the last 50 ms (sockperf defs.h)."""

START = 1.0
"""Seconds in which sockperf fills its table of times, and warms up where its version does so before the time."""
