"""Checks of a net-blocks step."""

from dataclasses import replace

from suites.base import StepEvidence
from suites.checks import Check, CheckOutcome, NotChecked
from suites.iperf3.link import UDP_HEADERS, is_loopback, largest_packet
from suites.net_blocks.parameters import LARGEST_BUFFER, uses_udp
from suites.parameters import parse_sizes
from suites.peer import OTHER_MTU, SAME_HOST
from suites.probe import NO_COMPILER
from suites.vocab import Severity


def _fragments(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    values = evidence.values
    if not uses_udp(values) or is_loopback(str(values["address"]) or evidence.context.peer_address or ""):
        return None
    packet = largest_packet(evidence.context)
    if packet is None:
        return NotChecked("The MTU of the host's interfaces is not known.")
    if int(values["datagram"]) <= packet - UDP_HEADERS:
        return None
    return CheckOutcome(
        f"datagram is {values['datagram']} B; the largest MTU is {packet} B, which holds {packet - UDP_HEADERS} B.",
        changes={"datagram": packet - UDP_HEADERS},
    )


def _refused(evidence: StepEvidence) -> CheckOutcome | None:
    largest = max(parse_sizes(evidence.values["buffers"]))
    if largest <= LARGEST_BUFFER:
        return None
    return CheckOutcome(f"A buffer has {largest} B; the probe takes up to {LARGEST_BUFFER} B.")


def _no_compiler_at_peer(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    context = evidence.context
    found = NO_COMPILER.evaluate(replace(evidence, context=replace(context, facts=context.peer_facts)))
    if isinstance(found, NotChecked):
        return NotChecked(f"Peer: {found.because}")
    return None if found is None else replace(found, measured=f"Peer: {found.measured}")


NET_BLOCKS_CHECKS = (
    SAME_HOST,
    OTHER_MTU,
    Check(
        id="net-blocks-fragments",
        title="Datagrams exceed the MTU",
        why="Each datagram is sent in several IP fragments; one lost fragment loses the whole datagram, so loss "
        "is overstated.",
        remedy="Set datagram to what one packet holds.",
        source="RFC 8085, 3.2.",
        needs="Protocol and datagram; the MTU of the interfaces.",
        evaluate=_fragments,
    ),
    Check(
        id="net-blocks-refused",
        severity=Severity.ERROR,
        blocks=True,
        title="Buffer size too large",
        why="The probe refuses it and the test does not start.",
        remedy="Remove it.",
        source="resources/probes/netblocks.c.",
        needs="Buffer sizes.",
        evaluate=_refused,
    ),
    NO_COMPILER,
    replace(NO_COMPILER, id="probe-no-compiler-peer", evaluate=_no_compiler_at_peer),
)
