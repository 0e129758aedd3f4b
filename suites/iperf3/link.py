"""Facts of the link between the two ends of a network test."""

import ipaddress
import math

from suites.base import Context
from suites.facts import Facts, Interface, known
from suites.parameters import Values

STREAM_RATE = 5e9
"""Bits per second: AWS limits a flow between instances to 5 Gbit/s outside a cluster placement group (EC2 user guide,
network bandwidth); several streams below that fill a faster interface."""

MOST_STREAMS = 8

UDP_HEADERS = 28  # bytes: 20 of IPv4 and 8 of UDP

WITHIN_THE_HOST = frozenset({"veth", "bridge", "tun"})
"""Drivers of virtual interfaces that end on the host itself and report a made-up speed (10 Gbit/s)."""


def is_udp(values: Values) -> bool:
    """Return whether the test uses UDP."""
    return values.get("protocol") == "udp"


def is_tcp(values: Values) -> bool:
    """Return whether the test uses TCP."""
    return not is_udp(values)


def is_paced(values: Values) -> bool:
    """Return whether TCP has a rate limit."""
    return is_tcp(values) and float(values.get("tcp_rate", 0)) > 0


def link_speed(context: Context) -> int | None:
    """Return the bits per second of the slower end's fastest interface, or None if an end's is not known.

    Virtual interfaces often report no speed; a peer without facts is assumed to be no slower.
    """
    ends = [facts for facts in (context.facts, context.peer_facts) if facts is not None]
    speeds = [max((speed for face in _links(facts) if (speed := known(face.speed))), default=None) for facts in ends]
    found = [speed for speed in speeds if speed is not None]
    return min(found) if found and len(found) == len(speeds) else None


def largest_packet(context: Context) -> int | None:
    """Return the largest MTU in bytes among the host's interfaces, or None if none is known.

    The interface towards the peer is not known before the test; the largest MTU avoids false warnings.
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


def end_mtus(facts: Facts, address: str) -> frozenset[int]:
    """Return the MTUs in bytes of an end's links; of the one with `address` alone if it is known."""
    own = [face for face in _links(facts) if address and address in (known(face.addresses) or ())]
    return frozenset(mtu for face in own or _links(facts) if (mtu := known(face.mtu)))


def is_loopback(address: str) -> bool:
    """Return whether `address` never leaves the host that uses it."""
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return address.rstrip(".").lower() in {"localhost", "ip6-localhost"}


def tuned_streams(speed: int) -> int:
    """Return the number of streams that fill an interface of `speed` bits per second."""
    return min(MOST_STREAMS, math.ceil(speed / STREAM_RATE))


def tuned_bitrate(speed: int, streams: int) -> float:
    """Return the Mbit/s per stream with which `streams` together use 90 % of `speed` bits per second.

    Ethernet, IP and UDP headers take 4 to 5 % of 1500-byte packets: above that, loss is certain.
    """
    return float(math.floor(0.9 * speed / streams / 1e6))
