"""mtr: loss, latency and jitter of a network path, for the destination and for each hop."""

import ipaddress
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from suites.base import Command, Context, Effect, EffectKind, Estimate, StepCheck, StepEvidence, Suite, TestedTool
from suites.checks import Check, CheckOutcome, blocking_check
from suites.command_line import CommandSyntax, Respelled, Words
from suites.line_parser import LineParser
from suites.output_reading import StatedLine, by_parser
from suites.outputs import OutputFormat, ParsedTrial, ToolOutput
from suites.parameters import Choice, Parameter, Tuned, Type, Values, count_parameter, text_parameter
from suites.peer import ADDRESS_PATTERN
from suites.ping import LOST
from suites.programs import Program, same_package_name
from suites.strict_json import read_json
from suites.tool_messages import exit_notes, printable_message
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind, Resource, Severity, labels


def _time(name: str, title: str, percentile: float | None = None) -> Metric:
    return Metric(name, title, Unit.MILLISECOND, Better.LOWER, MetricKind.TIME, percentile)


MEAN = _time("round_trip_mean", "Round trip, mean")
SHORTEST = _time("round_trip_min", "Shortest round trip", 0)
LONGEST = _time("round_trip_max", "Longest round trip", 100)
JITTER = _time("jitter", "Jitter, mean")
HOPS = Metric("hops", "Hops", Unit.ONE, Better.LOWER, MetricKind.COUNT)
METRICS = (MEAN, LOST, JITTER, LONGEST, SHORTEST, HOPS)

_KEYS: Mapping[str, Metric] = {"Avg": MEAN, "Loss%": LOST, "Javg": JITTER, "Wrst": LONGEST, "Best": SHORTEST}
"""Keys of a hop in the report with the fields LSBAWM."""

UNKNOWN = "???"
MOST_HOPS = 64
LONGEST_REPORT = 256 * 1024

_FAILURE = re.compile(r"mtr(?:-packet)?: .+|.*: (?:command )?not found")


@dataclass(slots=True)
class MtrParser(LineParser):
    """Parser of one JSON report. Every hop has its figures; those of the destination have no label."""

    unfinished = (re.compile(r"[\s}\]]+"), _FAILURE)
    _text: list[str] = field(default_factory=list)
    _size: int = 0

    def _read(self, line: str) -> None:
        if not self._text and _FAILURE.fullmatch(line):
            self._fail(line)
        elif (self._text or line.startswith("{")) and self._size < LONGEST_REPORT:
            self._size += len(line)
            self._text.append(line)

    def _result(self, exit_status: int | None) -> ParsedTrial:
        notes = [f"mtr failed: {_explained(words)}" for words in self._failures]
        figures: list[Figure] = []
        remarks: list[str] = []
        try:
            target, hops = _report("\n".join(self._text))
        except ValueError as error:
            if not notes:
                notes.append(
                    f"mtr was cut off: {printable_message(str(error))}." if self._text else "No report of mtr."
                )
        else:
            last = str(hops[-1].get("host"))
            reached = last != UNKNOWN and (last == target or not _is_address(target))
            figures, remarks = _path(hops, reached=reached)
            if not reached:
                notes.append(
                    f"{printable_message(target)} did not answer; the last hop is {printable_message(last)}. "
                    "A firewall may drop the packets: set the protocol to TCP and a port that it permits."
                )
        notes += exit_notes("mtr", exit_status)
        return ParsedTrial(tuple(figures), (), (*notes, *remarks), not notes)


def _explained(words: str) -> str:
    if "open" in words and "socket" in words.lower():
        return f"{words.rstrip('.')}. mtr-packet needs cap_net_raw: run as root, or setcap cap_net_raw+ep on it."
    return f"{words.rstrip('.')}."


def _report(text: str) -> tuple[str, list[dict[str, Any]]]:
    """Return the target and the hops of a report; raise ValueError for another or an incomplete one."""
    found = read_json(text)
    report = found.get("report") if isinstance(found, dict) else None
    hops = report.get("hubs") if isinstance(report, dict) else None
    about = report.get("mtr") if isinstance(report, dict) else None
    if not isinstance(hops, list) or not isinstance(about, dict) or not all(isinstance(one, dict) for one in hops):
        raise ValueError("it has no report")
    if not hops:
        raise ValueError("the path has no hops")
    return str(about.get("dst", "")), hops[:MOST_HOPS]


def _path(hops: list[dict[str, Any]], *, reached: bool) -> tuple[list[Figure], list[str]]:
    """Return the figures of the destination, then of each hop on the way, and a remark on loss that does not go on."""
    named = [f"{number} {printable_message(str(hop.get('host')), 60)}" for number, hop in enumerate(hops, 1)]
    figures = [*_figures(hops[-1], ""), Figure(HOPS, float(len(hops)))] if reached else []
    for name, hop in zip(named, hops[:-1] if reached else hops, strict=False):
        figures += _figures(hop, name)
    lost = [hop.get("Loss%") for hop in hops]
    limited = [
        f"{name} ({share:g} %)"
        for number, (name, share) in enumerate(zip(named, lost, strict=True))
        if isinstance(share, int | float)
        and 0 < share < 100
        and any(isinstance(later, int | float) and later < share / 2 for later in lost[number + 1 :])
    ]
    if not limited:
        return figures, []
    why = "a router limits its ICMP replies; the path does not lose these packets."
    return figures, [f"Loss at hop {', '.join(limited[:5])} does not go on to later hops: {why}"]


def _figures(hop: Mapping[str, Any], name: str) -> list[Figure]:
    """Return the figures of a hop; of one that never answered, only the loss."""
    marks = labels(hop=name) if name else ()
    silent = hop.get("Loss%") == 100
    found = ((metric, hop.get(key)) for key, metric in _KEYS.items())
    return [
        Figure(metric, float(value), marks)
        for metric, value in found
        if isinstance(value, int | float) and value >= 0 and (metric is LOST or not silent)
    ]


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


TARGET = text_parameter(
    name="target",
    title="Destination",
    help="Host name or address to which the path is measured, as seen from the host.",
    pattern=ADDRESS_PATTERN,
)

PARAMETERS = (
    TARGET,
    count_parameter(
        name="cycles",
        title="report-cycles",
        default=10,
        help="Packets sent to each hop.",
        option="-c, --report-cycles",
        maximum=100_000,
    ),
    Parameter(
        name="interval",
        type=Type.NUMBER,
        default=1.0,
        help="Seconds between two packets to a hop; below 1 s requires root.",
        option="-i, --interval",
        unit="s",
        minimum=0.1,
        maximum=60,
    ),
    Parameter(
        name="protocol",
        title="Protocol",
        default="icmp",
        help="ICMP echo, UDP, or TCP SYN to a port: what a firewall on the way permits.",
        option="--udp, --tcp",
        choices=(Choice("icmp", "ICMP echo"), Choice("udp", "UDP"), Choice("tcp", "TCP SYN")),
    ),
    count_parameter(
        name="port",
        title="port",
        default=80,
        help="Port of TCP.",
        option="-P, --port",
        maximum=65535,
        applies=lambda values: values["protocol"] == "tcp",
    ),
)

ENOUGH_CYCLES = 100


def _no_target(evidence: StepEvidence) -> CheckOutcome | None:
    return None if evidence.values["target"] else CheckOutcome("No destination is set.")


def _few_packets(evidence: StepEvidence) -> CheckOutcome | None:
    cycles = int(evidence.values["cycles"])
    if cycles >= ENOUGH_CYCLES:
        return None
    return CheckOutcome(f"{cycles} packets: one lost is {100 / cycles:.3g} %.", changes={"cycles": ENOUGH_CYCLES})


CHECKS: tuple[StepCheck, ...] = (
    blocking_check(
        id="mtr-no-target",
        title="Destination missing",
        why="mtr needs the host to which the path leads.",
        remedy="Set the destination.",
        source="The step's parameters.",
        needs="The destination.",
        evaluate=_no_target,
    ),
    Check(
        id="mtr-few-packets",
        severity=Severity.INFO,
        title="Few packets for a loss rate",
        why="Loss of a percent or less is not seen: without a lost packet among n, up to 3/n may be lost (95 %).",
        remedy=f"Set report-cycles to {ENOUGH_CYCLES} or more.",
        source="The rule of three (Hanley, Lippman-Hand, 1983).",
        needs="report-cycles.",
        evaluate=_few_packets,
    ),
)

MTR = Program("mtr", ("mtr",), {**same_package_name("mtr"), "apt": "mtr-tiny"})


_VALUED = frozenset(option for known in PARAMETERS for option in (*known.option.split(", "), "-o"))


def _with_target(words: Words) -> list[str]:
    """Return the words with the destination, which is the last and has no option, as one."""
    if words and "".join(words[-2:-1]) not in _VALUED and re.fullmatch(ADDRESS_PATTERN, words[-1]):
        return [*words[:-1], Respelled(f"--target={words[-1]}", words[-1])]
    return list(words)


_CYCLES = StatedLine("cycles", re.compile(r'\s*"tests": "?(\d{1,6})"?,?$'))
_TARGET = StatedLine("target", re.compile(r'\s*"dst": "([^"]{1,200})",?$'))
_HEAD = re.compile(r"(?:HOST: \S+|Host) +(Loss%(?: +[\w%]+)+)$")
_NUMBER = re.compile(r"\d{1,9}(?:\.\d{1,6})?")
_HOP = re.compile(r"\s*\d{1,2}\.(?:\|--| ) ?(?:AS\S+ +)?(\S+) +([\d.]+%?(?: +[\d.]+%?){1,20})$")


class Mtr(Suite):
    """mtr in report mode: a packet to every hop each interval."""

    id = "mtr"
    title = "Path quality (mtr)"
    summary = "Loss, latency and jitter to a destination and to each hop on the way."
    resource = Resource.NETWORK
    tried = TestedTool(
        "mtr 0.95 run for real; outputs of 0.94 captured",
        "no",
        "loss at a hop that does not go on is a limit of ICMP replies",
    )
    program = MTR
    parameters = PARAMETERS
    syntax = CommandSyntax(extra={"--target": "target"}, choices=("protocol",), normalised=_with_target)
    metrics = METRICS
    parser_type = MtrParser
    several_limits = (
        "a packet per interval uses nothing up.",
        "Run iperf3 to a host on the path to measure its limit.",
    )
    checks = CHECKS

    @property
    def output_formats(self) -> tuple[OutputFormat, ...]:
        """The formats of mtr's output."""
        return (
            OutputFormat(title="mtr JSON", keys=frozenset({"report"}), read=by_parser(self, (_CYCLES, _TARGET))),
            OutputFormat(title="mtr text", first=_HEAD, line=_HOP, read=self._read_text),
        )

    def _read_text(self, text: str, command: str | None) -> Iterable[ToolOutput]:
        """Read the report as people see it (mtr -r): its columns are the fields of the JSON."""
        columns: list[str] = []
        hubs: list[dict[str, object]] = []
        for line in text.splitlines():
            if head := _HEAD.match(line):
                columns = head[1].split()
            elif hop := _HOP.match(line):
                cells = [float(cell.rstrip("%")) for cell in hop[2].split() if _NUMBER.fullmatch(cell.rstrip("%"))]
                if len(cells) == len(columns):
                    hubs.append({"host": hop[1], **dict(zip(columns, cells, strict=True))})
        if not hubs:
            return ()
        cycles = max((int(count) for hop in hubs if isinstance(count := hop.get("Snt"), float)), default=0)
        about = {"dst": hubs[-1]["host"], "tests": cycles}
        document = json.dumps({"report": {"mtr": about, "hubs": hubs}}, indent=4)
        return by_parser(self, (_CYCLES, _TARGET))(document, command)

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return enough packets for loss of a few percent."""
        why = "One lost packet is 1 %; with the tool's 10 it is 10 %."
        return {"cycles": Tuned(ENOUGH_CYCLES, why)}

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the one command; without names of hops, whose look-up is not part of the path."""
        words = ["mtr", "--json", "-n", "-o", "LSBAWM", "-c", str(values["cycles"]), "-i", f"{values['interval']:g}"]
        words += {"icmp": [], "udp": ["--udp"], "tcp": ["--tcp", "-P", str(values["port"])]}[str(values["protocol"])]
        return (Command((*words, *filter(None, (str(values["target"]),)))),)

    def effects(self, values: Values) -> tuple[Effect, ...]:
        """Return the destination set by the user."""
        if not values["target"]:
            return ()
        return (Effect(EffectKind.SENDS, str(values["target"]), "a packet to each hop of the path per interval"),)

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return the time of all packets and the wait for the last replies."""
        return Estimate(int(values["cycles"]) * float(values["interval"]) + GRACE)


GRACE = 5.0
"""Seconds that mtr waits for the last replies at most (mtr(8), -G)."""
