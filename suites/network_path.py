"""The way that a network test goes from the host to its server end, and where both ends meet."""

import secrets
from collections.abc import Collection
from dataclasses import dataclass

PORTS = range(20000, 30000)
"""Ports that server ends are given: below those that Linux gives to connections (32768 and up)."""

NONCE_BYTES = 16


@dataclass(frozen=True, slots=True)
class NetworkPath:
    """How the host reaches its server end. What could not be read is empty or None.

    `gateway` is the first router; empty where the address is in the host's own subnet, as `on_link` then says. `mtu` is
    in bytes, of the route where it has one of its own, else of the interface.
    """

    address: str = ""
    source: str = ""
    interface: str = ""
    gateway: str = ""
    on_link: bool | None = None
    mtu: int | None = None
    same_host: bool | None = None

    def words(self, host: str, peer: str) -> str:
        """Return the path in words: ``web-1 (10.0.0.2, eth0, MTU 1500 B) to db-1 (10.0.0.3): same subnet, …``."""
        here = [self.source, self.interface, f"MTU {self.mtu} B" if self.mtu else "MTU not known"]
        subnet = {True: "same subnet", False: f"by the router {self.gateway}", None: "route not known"}[self.on_link]
        if self.interface == "lo":
            subnet = "over the loopback"
        ends = {True: "one host", False: "two hosts", None: "whether these are two hosts is not known"}[self.same_host]
        there = f" ({self.address})" if self.address else ""
        return f"{host} ({', '.join(filter(None, here))}) to {peer}{there}: {subnet}, {ends}."


@dataclass(frozen=True, slots=True)
class Meeting:
    """Where both ends of a test meet: ports of the server end that were free, and a nonce that only they know."""

    port: int
    nonce: str
    second_port: int = 0


def draw_meeting(used: Collection[int]) -> Meeting | None:
    """Return a meeting at two ports drawn from those that are not `used`; None where there are none."""
    free = [port for port in PORTS if port not in used]
    if len(free) < 2:
        return None
    port = secrets.choice(free)
    second = secrets.choice([other for other in free if other != port])
    return Meeting(port, secrets.token_hex(NONCE_BYTES), second)
