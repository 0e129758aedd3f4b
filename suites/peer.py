"""Network tests between a host and a peer: the address and the port of the peer."""

import re

from suites.base import Context, Effect, EffectKind, StepEvidence, Suite
from suites.checks import Check, CheckOutcome, NotChecked
from suites.facts import known
from suites.iperf3.link import end_mtus, is_loopback
from suites.parameters import Values, text_parameter

ADDRESS_PATTERN = r"[A-Za-z0-9:][A-Za-z0-9.:%_-]{0,252}"
"""A host name, IPv4 or IPv6 address; never an option, never a shell metacharacter."""

ADDRESS = text_parameter(
    name="address",
    title="Peer address",
    help="Host name or address of the peer as seen from the host; empty: Benchwright finds it.",
    option="-c",
    pattern=ADDRESS_PATTERN,
    identity=False,
)


def peer_address(values: Values, context: Context) -> str:
    """Return the address the client connects to, or a placeholder if not known."""
    for candidate in (str(values["address"]), context.peer_address or ""):
        if re.fullmatch(ADDRESS_PATTERN, candidate):
            return candidate
    return f"<address of {context.peer_facts.host if context.peer_facts else 'the peer'}>"


class PeerSuite(Suite):
    """Base class of the suites that measure between the host and a peer."""

    needs_peer = True

    def effects(self, values: Values) -> tuple[Effect, ...]:
        """Return the effect of an address set in the step: the traffic goes there, whoever owns it."""
        address = str(values["address"])
        return (Effect(EffectKind.SENDS, address, ADDRESS.title),) if address else ()


def port_text(values: Values, context: Context) -> str:
    """Return the port of both ends: the one given, else the free one that was picked, else a placeholder."""
    if values["port"]:
        return str(values["port"])
    return "<a free port>" if context.meeting is None else str(context.meeting.port)


# Checks of any test between two hosts.


def _same_host(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    context = evidence.context
    address = str(evidence.values["address"]) or context.peer_address or ""
    if is_loopback(address):
        return CheckOutcome(measured=f"The address of the peer is {address}.")
    if context.facts is None or context.peer_facts is None:
        return NotChecked("The facts of both ends have not been read.")
    ours, theirs = known(context.facts.system.boot_id), known(context.peer_facts.system.boot_id)
    if ours is not None and theirs is not None:
        return CheckOutcome(measured="Client and server report the same boot id.") if ours == theirs else None
    if context.facts.host == context.peer_facts.host:
        return CheckOutcome(measured=f"Client and server both run on {context.facts.host}.")
    return NotChecked("Not known whether both ends are one host: a boot id is missing.")


SAME_HOST = Check(
    id="same-host-peer",
    title="Both ends are on one host",
    why="The data never leaves the host: the figure measures loopback, memory and CPU, not a network.",
    remedy="Choose another host as the peer.",
    source="ip(7): loopback traffic does not reach a device.",
    needs="The peer's address; the boot ids of both ends.",
    evaluate=_same_host,
)


def _other_mtu(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    context = evidence.context
    address = str(evidence.values["address"]) or context.peer_address or ""
    if is_loopback(address) or context.facts is None or context.peer_facts is None:
        return None  # same-host-peer reports it
    ours, theirs = end_mtus(context.facts, ""), end_mtus(context.peer_facts, address)
    if not ours or not theirs:
        return NotChecked("The MTU of an end's interfaces is not known.")
    if ours & theirs:
        return None
    return CheckOutcome(f"MTU {_bytes(ours)} on {context.facts.host}, {_bytes(theirs)} on {context.peer_facts.host}.")


def _bytes(sizes: frozenset[int]) -> str:
    return f"{' or '.join(map(str, sorted(sizes)))} B"


OTHER_MTU = Check(
    id="mtu-differs",
    title="MTU differs between the ends",
    why="TCP uses the smaller segment size, so the larger MTU is not measured. Without a router between them, larger "
    "packets of the other end are dropped: connections stall and datagrams are lost.",
    remedy="Set the same MTU at both ends (ip link set dev eth0 mtu 9000) and on every switch between them.",
    source="RFC 9293, 3.7.1 (MSS); RFC 4821 (black holes of path MTU discovery).",
    needs="The MTU of both ends' interfaces.",
    evaluate=_other_mtu,
)
