"""What is known of the link between the two ends of an iperf3 test."""

import ipaddress
import math

from suites.base import Context
from suites.facts import Facts, Interface, known
from suites.parameters import Values

STREAM_RATE = 5e9
"""Bits a second: AWS lets one flow between instances have 5 Gbit/s outside a cluster placement group (EC2 user
guide, network bandwidth); many streams of less than that fill a faster interface."""

MOST_STREAMS = 8

WITHIN_THE_HOST = frozenset({"veth", "bridge", "tun"})
"""Drivers of interfaces that end on the host itself and report a speed of their own invention (10 Gbit/s)."""


def is_udp(values: Values) -> bool:
    """Return whether the test is of UDP."""
    return values.get("protocol") == "udp"


def is_tcp(values: Values) -> bool:
    """Return whether the test is of TCP."""
    return not is_udp(values)


def is_paced(values: Values) -> bool:
    """Return whether TCP is held to a rate."""
    return is_tcp(values) and float(values.get("tcp_rate", 0)) > 0


def link_speed(context: Context) -> int | None:
    """Return the bits a second of the slower end's fastest interface, or None where an end's is not known.

    Virtual interfaces often tell no speed; a peer whose facts were not read is taken to be no slower.
    """
    ends = [facts for facts in (context.facts, context.peer_facts) if facts is not None]
    speeds = [max((speed for face in _links(facts) if (speed := known(face.speed))), default=None) for facts in ends]
    found = [speed for speed in speeds if speed is not None]
    return min(found) if found and len(found) == len(speeds) else None


def largest_packet(context: Context) -> int | None:
    """Return the largest MTU in bytes among the host's interfaces, or None where none is known.

    Which interface leads to the peer is not known before the test: the largest is the kindest to it.
    """
    if context.facts is None:
        return None
    return max((mtu for face in _links(context.facts) if (mtu := known(face.mtu))), default=None)


def _links(facts: Facts) -> list[Interface]:
    """Return the interfaces that lead off the host and are not known to be down."""
    return [
        face
        for face in facts.interfaces
        if face.name != "lo" and known(face.state) != "down" and known(face.driver) not in WITHIN_THE_HOST
    ]


def is_loopback(address: str) -> bool:
    """Return whether `address` never leaves the host that uses it."""
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return address.rstrip(".").lower() in {"localhost", "ip6-localhost"}


def tuned_streams(speed: int) -> int:
    """Return how many streams fill an interface of `speed` bits a second."""
    return min(MOST_STREAMS, math.ceil(speed / STREAM_RATE))


def tuned_bitrate(speed: int, streams: int) -> float:
    """Return the Mbit/s for each of `streams` that together ask for 90 % of `speed` bits a second.

    Ethernet, IP and UDP headers take 4 to 5 % of 1500-byte packets: above that, loss is certain.
    """
    return float(math.floor(0.9 * speed / streams / 1e6))
