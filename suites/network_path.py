"""The network path from the host to its server end, and the ports where both ends meet."""

import secrets
from collections.abc import Collection
from dataclasses import dataclass

PORTS = range(20000, 30000)
"""Ports for server ends: below Linux's ephemeral range (32768 and up)."""

NONCE_BYTES = 16


@dataclass(frozen=True, slots=True)
class NetworkPath:
    """Route from the host to its server end. Unread parts are empty or None.

    `gateway` is the first router; empty if the address is in the host's own subnet (`on_link`). `mtu` is in bytes, of
    the route if it has one, else of the interface. `carried` is the size of the largest packets that arrived, of the
    interface's MTU and 1500 B, tried for an MTU beyond 1500 B.
    """

    address: str = ""
    source: str = ""
    interface: str = ""
    gateway: str = ""
    on_link: bool | None = None
    mtu: int | None = None
    carried: int | None = None
    same_host: bool | None = None

    def words(self, host: str, peer: str) -> str:
        """Return the path as text: ``web-1 (10.0.0.2, eth0, MTU 1500 B) to db-1 (10.0.0.3): same subnet, …``."""
        here = [self.source, self.interface, f"MTU {self.mtu} B" if self.mtu else "MTU not known"]
        subnet = {True: "same subnet", False: f"via router {self.gateway}", None: "route not known"}[self.on_link]
        if self.interface == "lo":
            subnet = "over the loopback"
        ends = {True: "one host", False: "two hosts", None: "not known whether two hosts"}[self.same_host]
        there = f" ({self.address})" if self.address else ""
        return f"{host} ({', '.join(filter(None, here))}) to {peer}{there}: {subnet}, {ends}."


@dataclass(frozen=True, slots=True)
class Rendezvous:
    """Ports of the server end that were free, and a nonce known only to both ends."""

    port: int
    nonce: str
    second_port: int = 0
    more_ports: tuple[int, ...] = ()


def draw_meeting(used: Collection[int]) -> Rendezvous | None:
    """Return random ports that are not in `used`, two and up to five more, and a nonce; None if there are none."""
    free = [port for port in PORTS if port not in used]
    if len(free) < 2:
        return None
    port, second, *more = secrets.SystemRandom().sample(free, min(len(free), 7))
    return Rendezvous(port, secrets.token_hex(NONCE_BYTES), second, tuple(more))
