"""ping: the statistics that iputils, busybox, BSD, macOS and GNU inetutils print."""

import re
from collections.abc import Iterator

from suites.base import StepEvidence
from suites.checks import Check, CheckOutcome
from suites.identities import Ascending, Identities, PrintedLine, Product, noted
from suites.iperf3.link import is_loopback
from suites.outputs import OutputFormat, ToolOutput
from suites.parameters import Parameter, Type, Value, text_parameter
from suites.programs import Program
from suites.read_only.base import ReadOnlySuite, time_metric, tool_output
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind, Resource

MEAN = time_metric("round_trip_mean", "Mean round trip", unit=Unit.MILLISECOND)
SHORTEST = time_metric("round_trip_min", "Shortest round trip", 0, Unit.MILLISECOND)
LONGEST = time_metric("round_trip_max", "Longest round trip", 100, Unit.MILLISECOND)
DEVIATION = time_metric("round_trip_deviation", "Deviation of the round trips", unit=Unit.MILLISECOND)
LOST = Metric("lost", "ICMP echo packets lost", Unit.PERCENT, Better.LOWER, MetricKind.SHARE, most=100)

_N = r"\d{1,9}(?:[.,]\d{1,6})?"
_HEAD = re.compile(r"PING (?P<target>\S{1,253}) \(.{1,80}\):? \d{1,6}(?:\(\d{1,6}\))? (?:data )?bytes")
_COUNTS = re.compile(
    rf"(?P<sent>\d{{1,9}}) packets transmitted, (?P<returned>\d{{1,9}}) (?:packets )?received,(?P<rest_>.*?)"
    rf"(?P<lost>{_N})% packet loss"
)
_TIMES = re.compile(
    rf"(?:rtt|round-trip) (?:\(ms\)  )?min/avg/max(?:/(?:mdev|stddev|std-dev))? = "
    rf"(?P<min>{_N})/(?P<avg>{_N})/(?P<max>{_N})"
    rf"(?:/(?P<deviation>{_N}))? ms"
)
_LINE = re.compile(
    r"\d{1,9} packets transmitted, \d|(?:rtt|round-trip) .{0,8}min/avg/max|"
    r"\d{1,6} bytes from .{1,300}: (?:icmp_)?seq=\d|--- \S{1,253} ping statistics ---"
)

FEWEST = 20
"""Round trips from which the mean and the longest say more than the first one, which resolves addresses."""

IDENTITIES = Identities(
    (
        PrintedLine(_COUNTS, cut=frozenset({"lost"})),
        PrintedLine(_TIMES, (Ascending(("min", "avg", "max"), Unit.MILLISECOND),)),
    ),
    (Product(text="received packets", result="sent", factors=("returned",), at_most=True, slack=0.0),),
)
"""Identities of the statistics; a packet that comes twice counts once."""

TARGET = text_parameter(name="target", title="Target", help="The host that answers.", default="")
PACKETS = Parameter(
    name="packets", title="Packets", type=Type.INTEGER, default=0, help="Packets sent; 0 if not known.", minimum=0
)


def _few(evidence: StepEvidence) -> CheckOutcome | None:
    packets = int(evidence.values["packets"])
    return CheckOutcome(f"Packets: {packets}.") if 0 < packets < FEWEST else None


def _own_host(evidence: StepEvidence) -> CheckOutcome | None:
    target = str(evidence.values["target"])
    return CheckOutcome(f"The target is {target}.") if target and is_loopback(target) else None


class Ping(ReadOnlySuite):
    """Round trips of ICMP echo requests."""

    id = "ping"
    title = "ping"
    summary = "Round trips and loss of ICMP echo requests."
    resource = Resource.NETWORK
    program = Program("ping", ("ping", "ping6"))
    parameters = (TARGET, PACKETS)
    metrics = (MEAN, SHORTEST, LONGEST, DEVIATION, LOST)
    checks = (
        Check(
            id="ping-few-packets",
            title="Few round trips",
            why="The first round trip may include the look-up of addresses; a rare slow one or a loss needs many.",
            remedy=f"Send {FEWEST} packets or more (-c).",
            source="ping(8), -c.",
            evaluate=_few,
            needs="The number of packets.",
        ),
        Check(
            id="ping-own-host",
            title="Target is the host itself",
            why="The packets never leave the host: the time is that of its kernel.",
            remedy="Choose another host as the target.",
            source="ip(7): loopback traffic does not reach a device.",
            evaluate=_own_host,
            needs="The target.",
        ),
    )

    @property
    def output_formats(self) -> tuple[OutputFormat, ...]:
        """The text of every ping with the two lines of statistics."""
        return (OutputFormat(title="ping", first=_HEAD, line=_LINE, read=self._read),)

    def _read(self, text: str, _command: str | None) -> Iterator[ToolOutput]:
        """Yield the statistics of each target; of an output without a head the target is not known."""
        for part in _parts(text):
            counts, times, head = (_search(pattern, part) for pattern in (_COUNTS, _TIMES, _HEAD))
            if counts is None:
                continue
            sent, returned = int(counts["sent"]), int(counts["returned"])
            stated: dict[str, Value] = {"packets": sent, "target": head["target"] if head else ""}
            figures = [Figure(metric, _number(times[name])) for name, metric in _METRICS if times and times[name]]
            figures += [Figure(LOST, 100 * (sent - returned) / sent)] if 0 < sent >= returned else []
            problems = () if returned else ("No packet came back: no round trip.",)
            output = tool_output(self.id, figures if returned else (), stated, problems=problems)
            yield from noted((output,), IDENTITIES.contradictions(part))


_METRICS = (("avg", MEAN), ("min", SHORTEST), ("max", LONGEST), ("deviation", DEVIATION))


def _parts(text: str) -> Iterator[str]:
    """Yield the lines of each ping: the next begins with its head, or after the times of the one before."""
    part: list[str] = []
    for line in text.splitlines():
        if part and _HEAD.match(line.strip()):
            yield "\n".join(part)
            part = []
        part.append(line)
        if _TIMES.match(line.strip()):
            yield "\n".join(part)
            part = []
    yield "\n".join(part)


def _search(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    return next((match for line in text.splitlines() if (match := pattern.match(line.strip()))), None)


def _number(text: str) -> float:
    return float(text.replace(",", "."))
