"""rrul: round trips by ICMP and UDP while TCP streams of four DSCP classes load the network both ways."""

import re
from collections.abc import Mapping
from dataclasses import replace

from suites.base import Command, Context, Estimate, TestedTool, complete_values
from suites.command_line import CommandSyntax
from suites.facts import Facts
from suites.host_files import HostFile
from suites.iperf3.suite import IPERF3, Iperf3
from suites.line_parser import LineParser
from suites.net_blocks.suite import PROGRAM, SOURCES
from suites.outputs import ParsedTrial, TrialParser
from suites.parameters import Values
from suites.peer import SAME_HOST, PeerSuite, peer_address, port_text
from suites.ping import METRICS, PING_CHECKS, RAMP, SPARE, UnderLoadParser, ping_words, probe_timing
from suites.ping import PARAMETERS as OF_LATENCY
from suites.probe import needed_programs, probe_end
from suites.programs import COMPILER, Program
from suites.vocab import Figure, Resource, Sample

CLASSES: Mapping[str, str] = {"BE": "0x00", "BK": "0x20", "CS5": "0xa0", "EF": "0xb8"}
"""Classes of RRUL with the TOS byte of their DSCP (CS0, CS1, CS5, EF), as in flent's rrul.conf."""

UDP: Mapping[str, str] = {"BE": "UDP", "BK": "UDP BK", "EF": "UDP EF"}
"""Classes of the UDP round trips of RRUL, and their labels."""

_TAGGED = re.compile(r"(\*|(?:UDP-)?(?:BE|BK|CS5|EF))(?: (.*))?")


def _marked(figure: Figure, name: str) -> Figure:
    return replace(figure, labels=tuple(sorted((*figure.labels, ("class", name)))))


class RrulParser(LineParser):
    """Parser of one trial: each class as a latency under load; UDP without loads of its own."""

    def __init__(self, interval: float) -> None:
        super().__init__()
        self._classes = {name: UnderLoadParser(interval) for name in CLASSES}
        self._classes |= {name: UnderLoadParser(interval, loads=False) for name in UDP.values()}

    def _read(self, line: str) -> None:
        match = _TAGGED.fullmatch(line)
        if match is None:
            if line:
                self._fail(line)
            return
        tag = UDP.get(match[1].removeprefix("UDP-"), "") if match[1].startswith("UDP-") else match[1]
        for name, parser in self._classes.items():
            if tag in {"*", name}:
                found = parser.feed((match[2] or "").encode() + b"\n")
                self._samples += [_marked_sample(sample, name) for sample in found]

    def _result(self, exit_status: int | None) -> ParsedTrial:
        parsed = {name: parser.finish(exit_status) for name, parser in self._classes.items()}
        figures = [_marked(figure, name) for name, one in parsed.items() for figure in one.figures]
        kinds = list(dict.fromkeys(figure.metric.name for figure in figures))
        ordered = sorted(figures, key=lambda figure: kinds.index(figure.metric.name))
        complete = all(one.complete for one in parsed.values())
        notes = [*self._failures]
        for name, one in parsed.items():
            notes += [f"{name}: {note}" for note in one.notes if not complete or name == "BE" or "Fewer" in note]
        return ParsedTrial(tuple(ordered), tuple(self._samples), tuple(dict.fromkeys(notes)), complete)


def _marked_sample(sample: Sample, name: str) -> Sample:
    return replace(sample, labels=tuple(sorted((*sample.labels, ("class", name)))))


PARAMETERS = tuple(
    known for known in OF_LATENCY if known.name in {"time", "interval", "congestion", "address"}
) + tuple(replace(known, applies=lambda _values: True) for known in OF_LATENCY if known.name == "build")

_LOAD = Iperf3()


class Rrul(PeerSuite):
    """Realtime Response Under Load: four TCP streams each way, in four classes, with ICMP and UDP beside."""

    id = "rrul"
    title = "RRUL: latency under mixed load"
    summary = "Round trips by ICMP and UDP in DSCP classes, idle and under a TCP stream of each class both ways."
    resource = Resource.NETWORK
    tried = TestedTool(
        "iperf3 3.12, ping of iputils 20221126 and Benchwright’s own probe, run for real on links whose queue is known",
        "every round trip by ping, every second by the probe",
        "flent’s rrul with iperf3, ping -Q and our UDP probe in place of netperf",
    )
    program = IPERF3
    other_programs = (COMPILER,)
    parameters = PARAMETERS
    main_parameters = ("time", "interval", "congestion", "address")
    syntax = CommandSyntax(("rrul.sh",), unshown=frozenset(known.name for known in PARAMETERS))
    metrics = METRICS
    several_limits = (
        "the trial measures an idle and a full link, each with its own limit.",
        "Run iperf3 to the same peer to measure the link's throughput and its limit.",
    )
    checks = (SAME_HOST, *(check for check in PING_CHECKS if check.id in {"few-round-trips", "iperf3-bidir-too-old"}))

    def programs(self, values: Values, facts: Facts | None) -> tuple[Program, ...]:
        """Return iperf3, and a compiler if the probe is built on an end."""
        return (IPERF3, *needed_programs(PROGRAM, values, facts))

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the five server ends, then the script with one ping and one load for each class."""
        seconds, meeting = int(values["time"]), context.meeting
        ports = (0,) * 7 if meeting is None else (meeting.port, meeting.second_port, *meeting.more_ports)
        nonces = (HostFile("nonce", text=(meeting.nonce if meeting else "drawn right before the test") + "\n"),)
        script = HostFile("rrul.sh", resource="rrul.sh")
        served: list[Command] = []
        own: list[Command] = []
        files: tuple[HostFile, ...] = ()
        probes: dict[str, str] = {}
        for name, port in zip(UDP, (ports[0], *ports[5:]), strict=False):
            tos = int(CLASSES[name], 16)
            marked = ("--tos", str(tos)) if tos else ()
            meet = ("--port", port_text({"port": port}, context), "--nonce-file", "nonce", *marked)
            served += probe_end(
                PROGRAM, ("--serve", *meet), values, context.peer_facts, sources=SOURCES, files=nonces, serves=True
            )
            words = ("--connect", peer_address(values, context), *meet, *probe_timing(values))
            own += probe_end(PROGRAM, words, values, context.facts, sources=SOURCES, files=(*nonces, script))
            run = own.pop()
            probes[name], files = " ".join(run.argv), run.files
        classes: list[str] = []
        for (name, mark), port in zip(CLASSES.items(), ports[1:], strict=False):
            given = {"direction": "both", "port": port, "time": seconds + RAMP + SPARE}
            given |= {"congestion": values["congestion"], "address": values["address"]}
            serve, client = _LOAD.commands(complete_values(_LOAD, given), context)
            served.append(serve)
            load = " ".join((*client.argv, "-S", mark))
            classes += [name, ping_words(values, context, mark), load, probes.get(name, "")]
        start = ("sh", "rrul.sh", str(RAMP), str(seconds + RAMP), *classes)
        return (*dict.fromkeys((*served, *own)), Command(start, files=files))

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return the time of both phases; the load's volume is unlimited."""
        return Estimate(2 * (float(values["time"]) + RAMP) + SPARE, network=None)

    def parser(self, values: Values) -> TrialParser:
        """Return a new parser, which places each ping by its number and the interval."""
        return RrulParser(float(values.get("interval", 0.2)))
