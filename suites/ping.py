"""latency-under-load: round trips of the idle network, then under iperf3 load; the difference is queueing delay."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from suites.base import Command, Context, Estimate, StepCheck, StepEvidence, TestedTool, complete_values
from suites.checks import Check, CheckOutcome, NotChecked
from suites.command_line import Respelled
from suites.facts import Facts
from suites.host_files import HostFile
from suites.iperf3.checks import IPERF3_CHECKS
from suites.iperf3.output import Iperf3Parser
from suites.iperf3.suite import IPERF3, Iperf3
from suites.iperf3.suite import PARAMETERS as LOAD_PARAMETERS
from suites.iperf3.syntax import IPERF3_SYNTAX
from suites.iperf3.text import THROUGHPUT
from suites.line_parser import LineParser
from suites.net_blocks.checks import NET_BLOCKS_CHECKS
from suites.net_blocks.suite import PROGRAM, SOURCES
from suites.outputs import ParsedTrial, TrialParser
from suites.parameters import Choice, Parameter, Tuned, Type, Values, runtime_parameter
from suites.peer import SAME_HOST, PeerSuite, peer_address, port_text
from suites.probe import BUILD, Record, needed_programs, probe_end, read_record
from suites.programs import COMPILER, Program
from suites.tool_messages import exit_notes
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind, Resource, Sample, Severity, labels

# Parser of the round trips of an idle and of a loaded network, by ping or the probe, and of the load's report.


def _time(name: str, title: str, percentile: float | None = None) -> Metric:
    return Metric(name, title, Unit.MILLISECOND, Better.LOWER, MetricKind.TIME, percentile)


INCREASE = _time("latency_increase", "Increase of the median under load")
INCREASE_P99 = _time("latency_increase_p99", "Increase of the 99th percentile under load")
P99 = _time("latency_p99", "99th percentile of round trips", 99)
LONGEST = _time("latency_max", "Longest round trip", 100)
ROUND_TRIP = _time("round_trip", "Round trip")  # of a whole phase, its median
LOST = Metric("lost", "Round trips lost", Unit.PERCENT, Better.LOWER, MetricKind.SHARE, most=100)

METRICS = (ROUND_TRIP, INCREASE, INCREASE_P99, P99, LONGEST, LOST, THROUGHPUT)

IDLE, LOADED = "idle", "loaded"
FEWEST_FOR_P99 = 100
MAXIMUM_SAMPLES = 500_000

_PHASE = re.compile(r"phase (idle|ramp|loaded) (\d{1,12}\.\d{1,6})")
_REPLY = re.compile(r"\d{1,6} bytes from .{1,300}: (?:icmp_)?seq=(\d{1,9}) ttl=\d{1,3} time=(\d{1,9}(?:\.\d{1,6})?) ms")
_COUNTS = re.compile(r"(\d{1,9}) packets transmitted, (\d{1,9}) (?:packets )?received,.*")
_IGNORED_LINES = re.compile(
    r"PING .*|--- .* statistics ---|rtt .*|round-trip .*|# .*|done|\d{1,6} bytes from .*(?:DUP|truncated).*"
)
_ERROR = re.compile(r"(?:error|ping:|.*: (?:\d+: )?(?:ping|./netblocks|netblocks):) (?P<words>.+)")


@dataclass(slots=True)
class _Phase:
    """Round trips of one phase. The probe reports percentiles, ping every round trip."""

    trips: list[float] = field(default_factory=list)
    sent: int = 0
    returned: int = 0
    reported: dict[str, float] = field(default_factory=dict)

    def values(self) -> dict[str, float]:
        """Return the median, p99 and maximum in ms, as far as there are enough round trips for each."""
        if self.reported:
            return self.reported
        found = {"p50": nearest_rank(self.trips, 0.5), "max": max(self.trips)} if self.trips else {}
        return found | ({"p99": nearest_rank(self.trips, 0.99)} if len(self.trips) >= FEWEST_FOR_P99 else {})


class UnderLoadParser(LineParser):
    """Parser of one trial. `interval` is the seconds between two pings, which print their number but no time.

    Without `loads` the output has only the round trips: other commands load the network.
    """

    def __init__(self, interval: float, *, loads: bool = True) -> None:
        self._interval, self._loads = interval, loads
        super().__init__()
        self._load = Iperf3Parser()
        self._phases = {IDLE: _Phase(), LOADED: _Phase()}
        self._starts: dict[str, float] = {}
        self._phase = ""
        self._results = 0

    def _result(self, exit_status: int | None) -> ParsedTrial:
        load, loading = self._load.finish(None), "ramp" in self._starts
        idle, loaded = (self._phases[name].values() for name in (IDLE, LOADED))
        troubles = [_explained(words) for words in self._failures]
        for name, values in ((IDLE, idle), (LOADED, loaded)):
            if not values and not troubles and (loading or name == IDLE):
                troubles.append(f"No round trip completed while the network was {name}.")
        load_complete = load.complete or not self._loads
        if loading and not load_complete:
            troubles.append("The load broke off: no increase under load.")
        troubles += exit_notes("The test", exit_status)
        complete = bool(idle and loaded) and load_complete and not troubles
        figures = [*self._medians(), *(_increases(idle, loaded) if load_complete else ()), *self._others()]
        figures += [figure for figure in load.figures if figure.metric is THROUGHPUT]
        notes = [*troubles, *(load.notes if loading and self._loads else ())]
        if complete and self._loads:
            notes.append(grade_note(loaded["p50"] - idle["p50"]))
        if complete and not ("p99" in idle and "p99" in loaded):
            notes.append(f"Fewer than {FEWEST_FOR_P99} round trips in a phase: no 99th percentile.")
        if not complete and not notes:
            notes.append("The output ends before the test did.")
        return ParsedTrial(tuple(figures), tuple(self._samples), tuple(notes), complete)

    def _medians(self) -> list[Figure]:
        """Return the median of each phase; the loaded one first, because it is the headline."""
        found = ((name, self._phases[name].values()) for name in (LOADED, IDLE))
        return [Figure(ROUND_TRIP, values["p50"], labels(phase=name)) for name, values in found if "p50" in values]

    def _others(self) -> list[Figure]:
        figures = []
        for name, phase in self._phases.items():
            mark, values = labels(phase=name), phase.values()
            figures += [
                Figure(metric, values[word], mark)
                for word, metric in (("p99", P99), ("max", LONGEST))
                if word in values
            ]
            if phase.sent and phase.returned <= phase.sent:
                figures.append(Figure(LOST, 100 * (1 - phase.returned / phase.sent), mark))
        return figures

    def _read(self, line: str) -> None:
        if len(self._samples) < MAXIMUM_SAMPLES:
            self._samples += self._samples_in(line)

    def _samples_in(self, line: str) -> list[Sample]:
        if match := _PHASE.fullmatch(line):
            self._phase = match[1]
            self._starts.setdefault(self._phase, float(match[2]))
        elif match := _REPLY.match(line):
            return self._take_reply(int(match[1]), float(match[2]))
        elif match := _COUNTS.fullmatch(line):
            if phase := self._phases.get(self._phase):
                phase.sent, phase.returned = int(match[1]), int(match[2])
        elif line.startswith(("live ", "result ")) and (record := read_record(line)) is not None:
            return self._take_record(record)
        elif match := _ERROR.fullmatch(line):
            self._fail(line)
        elif not _IGNORED_LINES.fullmatch(line):
            return self._take_load(line)
        return []

    def _take_load(self, line: str) -> list[Sample]:
        """Parse a line of iperf3; its samples start with the load."""
        begun = self._since("ramp")
        samples = self._load.feed(line.encode() + b"\n")
        return [replace(sample, time=sample.time + begun) for sample in samples if sample.metric is THROUGHPUT]

    def _take_reply(self, number: int, round_trip: float) -> list[Sample]:
        phase = self._phases.get(self._phase)
        if phase is None:
            return []
        phase.trips.append(round_trip)
        time = self._since(self._phase) + max(0, number - 1) * self._interval
        return [Sample(time, ROUND_TRIP, round_trip, labels(phase=self._phase))]

    def _take_record(self, record: Record) -> list[Sample]:
        """Parse a line of the probe, which times the idle network first, then the loaded one; microseconds."""
        name = IDLE if self._results == 0 else LOADED
        if record.kind == "result":
            self._results += 1
            trips, lost = record.count("trips") or 0, record.count("lost") or 0
            words = {"p50": 1, "p99": FEWEST_FOR_P99, "max": 1}
            values = {word: record.number(word) for word, least in words.items() if trips >= least}
            self._phases[name] = _Phase(
                sent=trips + lost,
                returned=trips,
                reported={word: value / 1000 for word, value in values.items() if value is not None},
            )
            return []
        time, median = record.number("time"), record.number("p50")
        return [] if time is None or not median else [Sample(time, ROUND_TRIP, median / 1000, labels(phase=name))]

    def _since(self, phase: str) -> float:
        first = min(self._starts.values(), default=0.0)
        return round(max(0.0, self._starts.get(phase, first) - first), 2)


def _explained(words: str) -> str:
    if "ping: not found" in words or "ping: command not found" in words:
        return "ping is not installed on this host: install it, or set the method to Benchwright's probe."
    if "ping: " in words and "not permitted" in words:
        return "This account may not send ICMP on the host: set the method to Benchwright's probe."
    return f"{words.rstrip('.')}."


GRADES = ((5, "A+"), (30, "A"), (60, "B"), (200, "C"), (400, "D"), (math.inf, "F"))
"""Upper bounds in ms of the increase under load, and the grade (DSLReports, Bufferbloat Grades, FAQ 17930)."""


def grade_note(increase: float) -> str:
    """Return the bufferbloat grade of an increase of the median round trip in ms."""
    below = [bound for bound, _grade in GRADES if increase >= bound]
    bound, grade = GRADES[len(below)]
    limit = f"below {bound:g} ms" if bound < math.inf else f"{below[-1]:g} ms or more"
    return f"Bufferbloat grade {grade} (DSLReports: {limit}): {increase:+.3g} ms under load."


def _increases(idle: dict[str, float], loaded: dict[str, float]) -> list[Figure]:
    pairs = ((INCREASE, "p50"), (INCREASE_P99, "p99"))
    return [Figure(metric, loaded[word] - idle[word]) for metric, word in pairs if word in idle and word in loaded]


def nearest_rank(values: Sequence[float], share: float) -> float:
    """Return the nearest-rank percentile: the smallest value that at least that share does not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


# Parameters: the method of timing round trips, and the load.


PING, PROBE = "ping", "probe"

LOAD = ("protocol", "direction", "streams", "bitrate", "window", "congestion", "address")
"""Parameters of iperf3 that define the load."""


def _uses_probe(values: Values) -> bool:
    return values.get("method") == PROBE


def _of_load(name: str) -> Parameter:
    return next(parameter for parameter in LOAD_PARAMETERS if parameter.name == name)


METHOD = Parameter(
    name="method",
    title="Method",
    default=PING,
    help="ping sends ICMP; the probe sends 64 B of UDP, for hosts without ping or networks that drop ICMP.",
    choices=(Choice(PING, "ping (ICMP)"), Choice(PROBE, "Benchwright's probe (UDP)")),
)

TIME = runtime_parameter(
    title="Phase time", default=30.0, help="Measured time with the network idle, and again under load.", maximum=3600
)

INTERVAL = Parameter(
    name="interval",
    title="Interval",
    type=Type.NUMBER,
    default=0.2,
    help="Seconds between two round trips; older versions of ping require root below 0.2 s.",
    option="-i",
    unit="s",
    minimum=0.01,
    maximum=10,
)

PORT = replace(
    _of_load("port"), default=0, help="Port of iperf3's server end; 0 picks a free one right before the test."
)

PARAMETERS = (METHOD, TIME, INTERVAL, *(_of_load(name) for name in LOAD), PORT, replace(BUILD, applies=_uses_probe))


# Checks of a latency-under-load step.


def _few_round_trips(evidence: StepEvidence) -> CheckOutcome | None:
    seconds, interval = float(evidence.values["time"]), float(evidence.values["interval"])
    trips = round(seconds / interval)
    if trips >= FEWEST_FOR_P99:
        return None
    return CheckOutcome(
        f"{seconds:g} s at one every {interval:g} s are {trips} round trips in each phase.",
        changes={"time": float(math.ceil(FEWEST_FOR_P99 * interval))},
    )


def _for_probe(check: StepCheck) -> StepCheck:
    """Return `check`, disabled if ping times the round trips."""

    def evaluate(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
        return check.evaluate(evidence) if evidence.values["method"] == PROBE else None

    return replace(check, evaluate=evaluate)


PING_CHECKS: tuple[StepCheck, ...] = (
    SAME_HOST,
    Check(
        id="few-round-trips",
        severity=Severity.INFO,
        title="Too few round trips for a p99",
        why="With fewer than a hundred round trips, the p99 is the slowest one.",
        remedy="Increase the phase time or shorten the interval.",
        source="The definition of a percentile.",
        needs="Phase time and interval.",
        evaluate=_few_round_trips,
    ),
    *(check for check in IPERF3_CHECKS if check.id in {"udp-default-rate", "iperf3-bidir-too-old"}),
    *(_for_probe(check) for check in NET_BLOCKS_CHECKS if check.id.startswith("probe-no-compiler")),
)


RAMP = 2
"""Seconds of load before round trips count: TCP ramps up and fills the queue in a second or two."""

SPARE = 2
"""Extra seconds of load, so that it covers the last round trip."""

_LOAD = Iperf3()


def _phase_words(words: Sequence[str]) -> list[str]:
    """Return the arguments of the script with the phase time and the interval of ping as options."""
    ramp, end, *rest = words if len(words) > 1 else ("", "", *words)
    option = re.compile(r" (?:-i|--interval) ([0-9.]+)")
    shortened = [option.sub("", word) for word in rest]
    intervals = [
        Respelled(f"--ping-interval={found[1]}", found[0][1:]) for word in rest if (found := option.search(word))
    ]
    timed = ramp.isdecimal() and end.isdecimal()
    phase = [Respelled(f"--phase={int(end) - int(ramp)}", f"{ramp} {end}")] if timed else [ramp, end]
    return [*phase, *intervals, *IPERF3_SYNTAX.normalised(shortened)]


class LatencyUnderLoad(PeerSuite):
    """Queueing delay of a network under load (bufferbloat)."""

    id = "latency-under-load"
    title = "Latency under load"
    summary = "Round trips on the idle network, then while iperf3 loads it. The difference is bufferbloat."
    resource = Resource.NETWORK
    tried = TestedTool(
        "ping of iputils 20221126 and Benchwright’s own probe, with iperf3 3.12, run for real on links whose queue "
        "is known; busybox 1.35’s ping from a captured output",
        "every round trip by ping, every second by the probe",
        "ping prints no times: a round trip is placed by its number and the interval",
    )
    program = IPERF3
    other_programs = (COMPILER,)
    parameters = PARAMETERS
    main_parameters = ("method", "time", "protocol", "direction", "streams", "bitrate")
    syntax = replace(
        IPERF3_SYNTAX,
        programs=("under-load.sh",),
        choices=("method", "protocol", "direction"),
        extra={"--udp-rate": "bitrate", "--ping-interval": "interval", "--phase": "time"},
        invisible=frozenset({"bitrate", "interval"}),
        normalised=_phase_words,
    )
    metrics = METRICS
    several_limits = (
        "the trial measures an idle and a full link, each with its own limit.",
        "Run iperf3 to the same peer to measure the link's throughput and its limit.",
    )
    checks = PING_CHECKS

    def programs(self, values: Values, facts: Facts | None) -> tuple[Program, ...]:
        """Return iperf3, and a compiler if the probe is built on an end."""
        return (IPERF3, *(needed_programs(PROGRAM, values, facts) if values["method"] == PROBE else ()))

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return the streams and the UDP rate that saturate the slower interface."""
        found = _LOAD.tune(context)
        return {name: found[name] for name in ("streams", "bitrate") if name in found}

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the server ends of the load and, with that method, of the probe; then both phases."""
        load = {name: values[name] for name in LOAD} | {"port": values["port"]}
        seconds = int(values["time"])
        serve, client = _LOAD.commands(complete_values(_LOAD, load | {"time": seconds + RAMP + SPARE}), context)
        script = HostFile("under-load.sh", resource="under-load.sh")
        probed = values["method"] == PROBE
        start = ("sh", "under-load.sh", str(RAMP), str(seconds + RAMP))
        if not probed:
            ping = ping_words(values, context)
            return serve, Command((*start, ping, ping, *client.argv), files=(script,))
        nonce = "drawn right before the test" if context.meeting is None else context.meeting.nonce
        nonces = (HostFile("nonce", text=nonce + "\n"),)
        meeting = ("--port", _second_port(context), "--nonce-file", "nonce")
        there = probe_end(
            PROGRAM, ("--serve", *meeting), values, context.peer_facts, sources=SOURCES, files=nonces, serves=True
        )
        words = ("--connect", peer_address(values, context), *meeting, *probe_timing(values))
        *build, run = probe_end(PROGRAM, words, values, context.facts, sources=SOURCES, files=(*nonces, script))
        own = Command((*start, " ".join(run.argv), "", *client.argv), files=run.files)
        return (*there, serve, *build, own)

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return the time of both phases; the load's volume is unlimited."""
        return Estimate(2 * float(values["time"]) + RAMP + SPARE, network=None)

    def parser(self, values: Values) -> TrialParser:
        """Return a new parser, which places each ping by its number and the interval."""
        return UnderLoadParser(float(values.get("interval", 0.2)))


def ping_words(values: Values, context: Context, tos: str = "") -> str:
    """Return the ping of one phase, with the TOS byte `tos`."""
    count = max(1, round(float(values["time"]) / float(values["interval"])))
    mark = f"-Q {tos} " if tos else ""
    return f"ping -n {mark}-i {float(values['interval']):g} -c {count} {peer_address(values, context)}"


def probe_timing(values: Values) -> tuple[str, ...]:
    """Return the probe's options: 64 B by UDP, once per phase; the omitted time covers the ramp of the load."""
    times = ("--time", str(int(values["time"])), "--omit", str(RAMP), "--interval", f"{float(values['interval']):g}")
    return "--protocols", "udp", "--tests", "latency", "--blocks", "64,64", *times


def _second_port(context: Context) -> str:
    return port_text({"port": 0 if context.meeting is None else context.meeting.second_port}, context)
