"""latency-under-load: round trips of the idle network, then while iperf3 loads it: the difference is the queue."""

from collections.abc import Mapping
from types import MappingProxyType

from suites.base import Command, Context, Effect, Estimate, TrialParser, complete_values
from suites.checks import StepCheck
from suites.facts import Facts
from suites.host_files import HostFile
from suites.iperf3.suite import PACKAGES, Iperf3
from suites.net_blocks.suite import PROGRAM, SOURCES
from suites.parameters import Parameter, Tuned, Values
from suites.peer import address_effects, peer_address, port_word
from suites.ping.checks import PING_CHECKS
from suites.ping.output import METRICS, UnderLoadParser
from suites.ping.parameters import LOAD, PARAMETERS, PROBE
from suites.probe.probe import needed_programs, probe_end
from suites.programs import Program
from suites.vocab import Metric, Resource

RAMP = 2
"""Seconds of load before round trips count: TCP finds its rate and fills the queue in a second or two."""

SPARE = 2
"""Seconds that the load goes on longer, so that the last round trip, too, meets it."""

_LOAD = Iperf3()


class LatencyUnderLoad:
    """What the network's queues cost whoever waits for an answer while somebody else sends."""

    id = "latency-under-load"
    title = "Latency under load"
    summary = "Round trips while the network is idle, then while iperf3 fills it. The difference is the bufferbloat."
    resource = Resource.NETWORK
    tool = "iperf3"
    packages: Mapping[str, str] = MappingProxyType(dict(PACKAGES))
    parameters: tuple[Parameter, ...] = PARAMETERS
    metrics: tuple[Metric, ...] = METRICS
    needs_peer = True
    directory_parameter: str | None = None
    checks: tuple[StepCheck, ...] = PING_CHECKS

    def programs(self, values: Values, facts: Facts | None) -> tuple[Program, ...]:
        """Return a compiler where the probe is built on an end."""
        return needed_programs(PROGRAM, values, facts) if values["method"] == PROBE else ()

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return the streams and the UDP rate that fill the slower interface."""
        found = _LOAD.tune(context)
        return {name: found[name] for name in ("streams", "bitrate") if name in found}

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the server ends of the load and, where it times the round trips, of our probe; then both phases."""
        load = {name: values[name] for name in LOAD} | {"port": values["port"]}
        seconds = int(values["time"])
        serve, client = _LOAD.commands(complete_values(_LOAD, load | {"time": seconds + RAMP + SPARE}), context)
        script = HostFile("under-load.sh", resource="under-load.sh")
        probed = values["method"] == PROBE
        start = ("sh", "under-load.sh", str(RAMP), str(seconds + RAMP))
        if not probed:
            ping = _ping(values, context)
            return serve, Command((*start, ping, ping, *client.argv), files=(script,))
        nonce = "drawn right before the test" if context.meeting is None else context.meeting.nonce
        nonces = (HostFile("nonce", text=nonce + "\n"),)
        meeting = ("--port", _second_port(context), "--nonce-file", "nonce")
        there = probe_end(
            PROGRAM, ("--serve", *meeting), values, context.peer_facts, sources=SOURCES, files=nonces, serves=True
        )
        words = ("--connect", peer_address(values, context), *meeting, *_timing(values))
        *build, run = probe_end(PROGRAM, words, values, context.facts, sources=SOURCES, files=(*nonces, script))
        own = Command((*start, " ".join(run.argv), "", *client.argv), files=run.files)
        return (*there, serve, *build, own)

    def effects(self, values: Values) -> tuple[Effect, ...]:
        """Return the address that the user named."""
        return address_effects(values)

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return the time of both phases; the load takes what the network carries."""
        del context  # nothing about the hosts changes what is asked for
        return Estimate(2 * float(values["time"]) + RAMP + SPARE, network=None)

    def parser(self, values: Values) -> TrialParser:
        """Return a fresh parser, which places each ping by its number and the interval."""
        return UnderLoadParser(float(values.get("interval", 0.2)))


def _ping(values: Values, context: Context) -> str:
    count = max(1, round(float(values["time"]) / float(values["interval"])))
    return f"ping -n -i {float(values['interval']):g} -c {count} {peer_address(values, context)}"


def _timing(values: Values) -> tuple[str, ...]:
    """Return the probe's options: 64 B by UDP, once for each phase; what is left out covers the ramp of the load."""
    times = ("--time", str(int(values["time"])), "--omit", str(RAMP), "--interval", f"{float(values['interval']):g}")
    return "--protocols", "udp", "--tests", "latency", "--blocks", "64,64", *times


def _second_port(context: Context) -> str:
    return port_word({"port": 0 if context.meeting is None else context.meeting.second_port}, context)
