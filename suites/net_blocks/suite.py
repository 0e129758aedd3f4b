"""net-blocks: throughput and round trips between two hosts by buffer size, protocol and flows."""

from collections.abc import Mapping, Sequence

from suites.base import Command, Context, Estimate, TestedTool
from suites.command_line import CommandSyntax, Respelled
from suites.equivalents import (
    Equivalent,
    MetricMapping,
    ParameterMapping,
    Traits,
    all_threads,
    at_least_a_second,
    backwards,
    mapped,
    only_size,
    pattern_text,
)
from suites.facts import Facts
from suites.host_files import HostFile
from suites.iperf3.link import UDP_HEADERS, largest_packet
from suites.net_blocks.checks import NET_BLOCKS_CHECKS
from suites.net_blocks.output import METRICS, NetBlocksReader
from suites.net_blocks.parameters import DATAGRAM, PARAMETERS, uses_udp
from suites.outputs import TrialParser
from suites.parameters import Tuned, Value, Values, format_size, parse_sizes, sizes_text
from suites.peer import PeerSuite, peer_address, port_text
from suites.probe import ProbeParser, needed_programs, probe_end, sweep_counts, thread_arguments
from suites.programs import COMPILER, Program, bundled
from suites.vocab import Resource

PROGRAM = "netblocks"

SOURCES = ("flows.h", "sockets.h")

TUNED_OMIT = 1.0

AROUND = 0.7
"""Seconds of each combination besides its time: opening flows, and waiting until no datagram is in flight."""


def _buffer_of_length(value: Value, values: Values, _facts: Facts | None) -> Value | None:
    """Return iperf3’s length as a list of one size; its default is 128 KiB over TCP (iperf3(1))."""
    if not value:
        return "128 KiB" if values["protocol"] == "tcp" else None
    return format_size(int(value))


_DIRECTION: Mapping[Value, Value] = {"send": "upload", "receive": "download", "both": "upload,download"}
_PROTOCOL = mapped({"tcp": "tcp", "udp": "udp"})


def _valued_flags(words: Sequence[str]) -> list[str]:
    """Return the words with the value of --nodelay behind an equals sign."""
    found: list[str] = []
    for word in words:
        if found and found[-1] == "--nodelay":
            found[-1] = Respelled(f"--nodelay={word}", f"--nodelay {word}")
        else:
            found.append(word)
    return found


def _of_each_stream(value: Value, values: Values, facts: Facts | None) -> Value | None:
    """Return the UDP rate of each stream; net-blocks limits all of them together."""
    streams = all_threads(values["threads"], values, facts)
    return None if streams is None else int(value) / streams


def _of_all_streams(value: Value, values: Values, _facts: Facts | None) -> Value | None:
    return round(float(value) * int(values["streams"]))


class NetBlocks(PeerSuite):
    """Network throughput and round trips by buffer size. The server end on the peer serves only this client."""

    id = "net-blocks"
    title = "Network blocks"
    summary = "Throughput up and down and round trips by buffer size, over TCP and UDP, in 1 to N flows."
    resource = Resource.NETWORK
    tried = TestedTool(
        "Benchwright’s own probe, built by gcc 12.2 on x86-64, run for real on links of known rate and loss; for "
        "aarch64 built, and run in an emulator",
        "every second",
        "both ends are Benchwright’s; the server end serves one client, which knows its nonce, and ends with it",
    )
    program = bundled(PROGRAM)
    other_programs = (COMPILER,)
    parameters = PARAMETERS
    main_parameters = ("protocol", "tests", "buffers", "threads", "time", "rate")
    syntax = CommandSyntax(("netblocks",), texts={"buffers": sizes_text}, normalised=_valued_flags)
    metrics = METRICS
    sweeps = True
    checks = NET_BLOCKS_CHECKS
    equivalents = (
        Equivalent(
            "iperf3",
            "How many bits per second does the network between the two carry?",
            (
                ParameterMapping("protocol", "protocol", _PROTOCOL, _PROTOCOL),
                ParameterMapping("tests", "direction", backwards(_DIRECTION), mapped(_DIRECTION)),
                ParameterMapping("threads", "streams", all_threads),
                ParameterMapping("buffers", "length", only_size, _buffer_of_length),
                ParameterMapping("rate", "bitrate", _of_each_stream, _of_all_streams),
                ParameterMapping("time", "time", at_least_a_second),
                ParameterMapping("omit", "omit"),
                ParameterMapping("address", "address"),
            ),
            (MetricMapping(("throughput",), ("throughput",)),),
            fixed_backward=(("sweep", "single"), ("buffers", "128 KiB")),
            label_texts=(("upload", "send"), ("download", "receive")),
        ),
    )

    def programs(self, values: Values, facts: Facts | None) -> tuple[Program, ...]:
        """Return a compiler if the probe is built on an end."""
        return needed_programs(PROGRAM, values, facts)

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return measurements without TCP slow start, and datagrams that fit one packet."""
        tuned = {"omit": Tuned(TUNED_OMIT, f"TCP slow start falls into the first {TUNED_OMIT:g} s.")}
        packet = largest_packet(context)
        if packet is not None and UDP_HEADERS < packet < DATAGRAM + UDP_HEADERS:
            why = f"The largest MTU is {packet} B, which holds {packet - UDP_HEADERS} B after the headers."
            tuned["datagram"] = Tuned(packet - UDP_HEADERS, why)
        return tuned

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the builds at both ends, the server end for the peer, and the client.

        Both read a nonce from a file that only this account can read: the server refuses other clients.
        """
        nonce = "drawn right before the test" if context.meeting is None else context.meeting.nonce
        files = (HostFile("nonce", text=nonce + "\n"),)
        meeting = ("--port", port_text(values, context), "--nonce-file", "nonce")
        server = ("--serve", *meeting)
        client = (
            "--connect",
            peer_address(values, context),
            *meeting,
            *_measurement_options(values),
            *thread_arguments(values, context),
        )
        return (
            *probe_end(PROGRAM, server, values, context.peer_facts, sources=SOURCES, files=files, serves=True),
            *probe_end(PROGRAM, client, values, context.facts, sources=SOURCES, files=files),
        )

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return the time of all combinations; the volume depends on the result."""
        counts = sweep_counts(values, context)
        if counts is None:
            return Estimate(None, network=None)
        tests = {"all": 3, "upload,download": 2}.get(str(values["tests"]), 1)
        protocols = 2 if values["protocol"] == "both" else 1
        each = float(values["time"]) + float(values["omit"]) + AROUND
        return Estimate(tests * protocols * len(parse_sizes(values["buffers"])) * len(counts) * each, network=None)

    def parser(self, values: Values) -> TrialParser:
        """Return a new parser."""
        return ProbeParser(PROGRAM, NetBlocksReader(int(values.get("datagram", DATAGRAM))))

    def traits(self, values: Values, facts: Facts | None) -> Traits:
        """Return the traits of a step for cross-checks."""
        protocol, tests = str(values["protocol"]), str(values["tests"])
        threads = all_threads(values["threads"], values, facts)
        return Traits(
            operation=tests if tests in {"upload", "download"} else None,
            pattern=None if protocol == "both" else pattern_text(protocol, limits=_limits(values)),
            block=only_size(values["buffers"], values, facts),
            in_flight=threads,
            threads=threads,
            seconds=float(values["time"]),
        )


def _limits(values: Values) -> tuple[str, ...]:
    return (f"{values['rate']} Mbit/s",) if uses_udp(values) and values["rate"] else ()


def _measurement_options(values: Values) -> list[str]:
    """Return the options of the measurement; those at their default are omitted."""
    options = ["--blocks", ",".join(map(str, parse_sizes(values["buffers"])))]
    if values["protocol"] != "both":
        options += ["--protocols", str(values["protocol"])]
    if values["tests"] != "all":
        options += ["--tests", str(values["tests"])]
    if uses_udp(values):
        options += ["--datagram", str(values["datagram"])]
        options += ["--rate", str(values["rate"])] if values["rate"] else []
    if not values["nodelay"]:
        options += ["--nodelay", "0"]
    options += ["--time", f"{float(values['time']):g}"]
    return options + (["--omit", f"{float(values['omit']):g}"] if values["omit"] else [])
