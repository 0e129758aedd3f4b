"""iperf3-udp: the highest UDP rate within a limit of loss, searched from 90 % of the TCP rate."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from suites.base import Command, Context, Estimate, Purpose, StepEvidence, TestedTool
from suites.checks import Check, CheckOutcome
from suites.command_line import Respelled
from suites.host_files import HostFile
from suites.iperf3.checks import IPERF3_CHECKS
from suites.iperf3.output import Iperf3Parser
from suites.iperf3.suite import IPERF3, Iperf3
from suites.iperf3.suite import PARAMETERS as OF_IPERF3
from suites.iperf3.syntax import IPERF3_SYNTAX
from suites.iperf3.text import JITTER, LOST, RECEIVER, THROUGHPUT
from suites.line_parser import LineParser
from suites.outputs import ParsedTrial
from suites.parameters import Parameter, Tuned, Type, Values
from suites.peer import PeerSuite, peer_address, port_text
from suites.quantities import quantity
from suites.tool_messages import exit_notes
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind, Resource, labels

UDP_RATE = Metric("udp_rate", "UDP rate within the loss limit", Unit.BITS_PER_SECOND, Better.HIGHER, MetricKind.RATE)
TCP_RATE = Metric("tcp_rate", "TCP throughput before it", Unit.BITS_PER_SECOND, Better.HIGHER, MetricKind.RATE)

_SECTION = re.compile(r"search (\d{1,12}\.\d{1,6}) (tcp|\d{1,12})")
_FOUND = re.compile(r"search found (\d{1,12})")

MOST_RATES = 10
"""Rates that udp-rate.sh tries at most, beside TCP."""


@dataclass(slots=True)
class _Section:
    """One test of the search; `offered` is the UDP rate in kbit/s, empty for TCP."""

    offered: str
    start: float
    parser: Iperf3Parser = field(default_factory=Iperf3Parser)


class UdpRateParser(LineParser):
    """Parser of one trial: iperf3's report of each rate."""

    def __init__(self) -> None:
        super().__init__()
        self._sections: list[_Section] = []
        self._found: str | None = None

    def _read(self, line: str) -> None:
        if match := _SECTION.fullmatch(line):
            if len(self._sections) <= MOST_RATES:
                self._sections.append(_Section(match[2] if match[2] != "tcp" else "", float(match[1])))
        elif match := _FOUND.fullmatch(line):
            self._found = match[1]
        elif self._sections:
            section = self._sections[-1]
            begun = round(max(0.0, section.start - self._sections[0].start), 2)
            found = section.parser.feed(line.encode() + b"\n")
            rates = [sample for sample in found if sample.metric is THROUGHPUT]
            self._samples += [replace(sample, time=sample.time + begun) for sample in rates]

    def _read_unfinished(self, line: str) -> None:
        """Skip an unterminated line: it may lack digits."""

    def _result(self, exit_status: int | None) -> ParsedTrial:
        read = [(section.offered, section.parser.finish(None)) for section in self._sections]
        figures: list[Figure] = []
        for offered, parsed in read:
            received = [one for one in parsed.figures if parsed.complete and dict(one.labels).get("end") == RECEIVER]
            if not offered:
                figures += [Figure(TCP_RATE, one.value) for one in received]
                continue
            if offered == self._found:
                figures[:0] = [Figure(UDP_RATE, one.value) for one in received]
            mark = labels(offered_kbit=offered)
            figures += [Figure(THROUGHPUT, one.value, mark) for one in received]
            others = [one for one in parsed.figures if parsed.complete and one.metric in {LOST, JITTER}]
            figures += [Figure(one.metric, one.value, mark) for one in others]
        notes = [note for _, parsed in read if not parsed.complete for note in parsed.notes]
        lowest = min((int(offered) for offered, _ in read if offered), default=0)
        if self._found == "0" and lowest:
            rate = quantity(lowest * 1000.0, Unit.BITS_PER_SECOND)
            notes.append(f"Loss exceeds the limit down to {rate}: its cause is not the rate.")
        elif self._found is None and not notes:
            notes.append("The search ended early.")
        notes += exit_notes("The search", exit_status)
        complete = bool(figures) and figures[0].metric is UDP_RATE and not exit_status
        return ParsedTrial(tuple(figures), tuple(self._samples), tuple(notes), complete)


def _of_iperf3(name: str) -> Parameter:
    return next(parameter for parameter in OF_IPERF3 if parameter.name == name)


LOSS = Parameter(
    name="loss",
    title="Loss limit",
    type=Type.NUMBER,
    default=0.1,
    help="The highest loss that a rate may have; 0 searches for the rate without loss (RFC 2544, throughput).",
    option="--loss",
    unit="%",
    minimum=0,
    maximum=50,
)

TIME = replace(_of_iperf3("time"), default=5.0, help="Duration of TCP, and of each UDP rate: 5 to 11 tests.")

PARAMETERS = (
    replace(_of_iperf3("direction"), choices=_of_iperf3("direction").choices[:2], option="-R"),
    LOSS,
    TIME,
    _of_iperf3("streams"),
    replace(_of_iperf3("length"), maximum=65507),
    _of_iperf3("window"),
    replace(_of_iperf3("port"), default=0),
    _of_iperf3("address"),
)


def _search_words(words: Sequence[str]) -> list[str]:
    """Return the script's arguments with the loss limit as an option."""
    limit, *rest = words or ("",)
    return [Respelled(f"--loss={limit}", limit), *IPERF3_SYNTAX.normalised(rest)]


def _too_short(evidence: StepEvidence) -> CheckOutcome | None:
    seconds = float(evidence.values["time"])
    return CheckOutcome(f"time is {seconds:g} s.", changes={"time": TIME.default}) if seconds < SHORTEST else None


SHORTEST = 3.0
"""Seconds: TCP ramps up in the first one or two, and the search starts from its rate."""

_IPERF3 = Iperf3()


class UdpRate(PeerSuite):
    """UDP throughput as RFC 2544 defines it, with a limit of loss: TCP first, then UDP rates by bisection."""

    id = "iperf3-udp"
    title = "UDP rate (iperf3)"
    summary = "The highest UDP rate with loss below 0.1 %: a search from 90 % of the measured TCP rate."
    resource = Resource.NETWORK
    tried = TestedTool(
        "iperf3 3.12 run for real, on links of known rate and loss",
        "after each rate",
        "bracket of 2 %, at most 10 rates; the received rate is the result",
    )
    program = IPERF3
    parameters = PARAMETERS
    main_parameters = ("direction", "loss", "time", "streams", "length", "address")
    syntax = replace(
        IPERF3_SYNTAX,
        programs=("udp-rate.sh",),
        choices=("direction",),
        extra={},
        invisible=frozenset(),
        texts={},
        normalised=_search_words,
    )
    metrics = (UDP_RATE, TCP_RATE, THROUGHPUT, LOST, JITTER)
    parser_type = UdpRateParser
    sweeps = True
    searches = True
    several_limits = (
        "the trial searches over several rates, each with its own limit.",
        "Run iperf3 with UDP at the rate that was found.",
    )
    checks = (
        *(check for check in IPERF3_CHECKS if check.id in {"same-host-peer", "mtu-differs"}),
        Check(
            id="udp-search-short",
            title="Tests too short for the search",
            why="TCP ramps up for the first second or two, so the search starts too low, and a short burst of loss "
            "decides a rate.",
            remedy="Set time to 5 s or more.",
            source="RFC 2544, 24 (trial duration).",
            needs="time.",
            evaluate=_too_short,
        ),
    )

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return the streams that fill the slower interface."""
        found = _IPERF3.tune(context)
        return {name: found[name] for name in ("streams",) if name in found}

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the server, which serves every test of the search, and the search."""
        port = port_text(values, context)
        words = ["iperf3", "-c", peer_address(values, context), "-p", port, "-t", str(int(values["time"]))]
        words += ["-R"] if values["direction"] == "receive" else []
        for option, name in (("-P", "streams"), ("-l", "length"), ("-w", "window")):
            words += [option, str(int(values[name]))] if values[name] != _of_iperf3(name).default else []
        argv = ("sh", "udp-rate.sh", f"{float(values['loss']):g}", *words, "-f", "k")
        return (
            Command(("iperf3", "-s", "-p", port, "--forceflush"), Purpose.SERVE, on_peer=True),
            Command(argv, files=(HostFile("udp-rate.sh", resource="udp-rate.sh"),)),
        )

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return unknown time and volume: the search decides the number of rates."""
        return Estimate(None, network=None)
