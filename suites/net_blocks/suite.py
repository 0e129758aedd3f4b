"""net-blocks: throughput and round trips between two hosts by buffer size, protocol and flows, by our own probe."""

from collections.abc import Mapping

from suites.base import Command, Context, Effect, Estimate, TrialParser
from suites.checks import StepCheck
from suites.facts import Facts
from suites.host_files import HostFile
from suites.iperf3.link import largest_packet
from suites.net_blocks.checks import NET_BLOCKS_CHECKS, UDP_HEADERS
from suites.net_blocks.output import METRICS, NetBlocksReader
from suites.net_blocks.parameters import DATAGRAM, PARAMETERS, uses_udp
from suites.parameters import Parameter, Tuned, Values, parse_size
from suites.peer import address_effects, peer_address, port_word
from suites.probe.output import ProbeParser
from suites.probe.probe import PACKAGES, needed_programs, probe_end, sweep_counts, thread_words
from suites.programs import Program
from suites.vocab import Metric, Resource

PROGRAM = "netblocks"

SOURCES = ("flows.h", "sockets.h")

TUNED_OMIT = 1.0

AROUND = 0.7
"""Seconds that each combination takes beside its time: opening flows, and waiting until no datagram is under way."""


class NetBlocks:
    """The network by buffers. The host asks; the server end on the peer serves this one client, then ends."""

    id = "net-blocks"
    title = "Network blocks"
    summary = "Throughput up and down and round trips of 1 B to 1 MiB or any size, over TCP and UDP, in 1 to N flows."
    resource = Resource.NETWORK
    tool = PROGRAM
    packages: Mapping[str, str] = PACKAGES
    parameters: tuple[Parameter, ...] = PARAMETERS
    metrics: tuple[Metric, ...] = METRICS
    needs_peer = True
    directory_parameter: str | None = None
    checks: tuple[StepCheck, ...] = NET_BLOCKS_CHECKS

    def needs_tool(self, values: Values) -> bool:
        """Return False: the probe is our own."""
        del values
        return False

    def programs(self, values: Values, facts: Facts | None) -> tuple[Program, ...]:
        """Return a compiler where the probe is built on an end."""
        return needed_programs(PROGRAM, values, facts)

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return measurements without TCP's slow start, and datagrams that one packet holds."""
        tuned = {"omit": Tuned(TUNED_OMIT, f"TCP's slow start falls into the first {TUNED_OMIT:g} s.")}
        packet = largest_packet(context)
        if packet is not None and UDP_HEADERS < packet < DATAGRAM + UDP_HEADERS:
            why = f"The largest MTU is {packet} B, which holds {packet - UDP_HEADERS} B beside the headers."
            tuned["datagram"] = Tuned(packet - UDP_HEADERS, why)
        return tuned

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the builds at both ends, the server end for the peer, and the client.

        Both are given a nonce in a file that only this account can read: nobody else is served.
        """
        nonce = "drawn right before the test" if context.meeting is None else context.meeting.nonce
        files = (HostFile("nonce", text=nonce + "\n"),)
        meeting = ("--port", port_word(values, context), "--nonce-file", "nonce")
        server = ("--serve", *meeting)
        client = ("--connect", peer_address(values, context), *meeting, *_asked(values), *thread_words(values, context))
        return (
            *probe_end(PROGRAM, server, values, context.peer_facts, sources=SOURCES, files=files, serves=True),
            *probe_end(PROGRAM, client, values, context.facts, sources=SOURCES, files=files),
        )

    def effects(self, values: Values) -> tuple[Effect, ...]:
        """Return the address that the user named."""
        return address_effects(values)

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return the time of all combinations; how much they carry depends on what is measured."""
        counts = sweep_counts(values, context)
        if counts is None:
            return Estimate(None, network=None)
        tests = {"all": 3, "upload,download": 2}.get(str(values["tests"]), 1)
        protocols = 2 if values["protocol"] == "both" else 1
        each = float(values["time"]) + float(values["omit"]) + AROUND
        return Estimate(tests * protocols * len(_sizes(values)) * len(counts) * each, network=None)

    def parser(self, values: Values) -> TrialParser:
        """Return a fresh parser; the output says all else it needs to know."""
        return ProbeParser(PROGRAM, NetBlocksReader(int(values.get("datagram", DATAGRAM))))


def _sizes(values: Values) -> tuple[int, ...]:
    """Return the buffer sizes in bytes, each once, in the order given."""
    return tuple(dict.fromkeys(parse_size(word) for word in str(values["buffers"]).split(",")))


def _asked(values: Values) -> list[str]:
    """Return the options that say what is measured; those that change nothing are left out."""
    words = ["--blocks", ",".join(map(str, _sizes(values)))]
    if values["protocol"] != "both":
        words += ["--protocols", str(values["protocol"])]
    if values["tests"] != "all":
        words += ["--tests", str(values["tests"])]
    if uses_udp(values):
        words += ["--datagram", str(values["datagram"])]
        words += ["--rate", str(values["rate"])] if values["rate"] else []
    if not values["nodelay"]:
        words += ["--nodelay", "0"]
    words += ["--time", f"{float(values['time']):g}"]
    return words + (["--omit", f"{float(values['omit']):g}"] if values["omit"] else [])
