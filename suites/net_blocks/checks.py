"""What is known to fool people about the network probe."""

from dataclasses import replace

from suites.checks import CannotTell, Check, Outcome, StepEvidence
from suites.iperf3.link import is_loopback, largest_packet
from suites.net_blocks.parameters import LARGEST_BUFFER, uses_udp
from suites.parameters import parse_size
from suites.peer_checks import SAME_HOST
from suites.probe.checks import NO_COMPILER
from suites.vocab import Level

UDP_HEADERS = 28  # bytes: 20 of IPv4 and 8 of UDP


def _fragments(evidence: StepEvidence) -> Outcome | CannotTell | None:
    values = evidence.values
    if not uses_udp(values) or is_loopback(str(values["address"]) or evidence.context.peer_address or ""):
        return None
    packet = largest_packet(evidence.context)
    if packet is None:
        return CannotTell("The MTU of the host's interfaces is not known.")
    if int(values["datagram"]) <= packet - UDP_HEADERS:
        return None
    return Outcome(
        f"datagram is {values['datagram']} B; the largest MTU is {packet} B, which holds {packet - UDP_HEADERS} B.",
        changes={"datagram": packet - UDP_HEADERS},
    )


def _refused(evidence: StepEvidence) -> Outcome | None:
    largest = max(parse_size(word) for word in str(evidence.values["buffers"]).split(","))
    if largest <= LARGEST_BUFFER:
        return None
    return Outcome(f"A buffer has {largest} B; the probe takes up to {LARGEST_BUFFER} B.")


def _no_compiler_at_peer(evidence: StepEvidence) -> Outcome | CannotTell | None:
    context = evidence.context
    found = NO_COMPILER.evaluate(replace(evidence, context=replace(context, facts=context.peer_facts)))
    if isinstance(found, CannotTell):
        return CannotTell(f"Of the peer: {found.because}")
    return None if found is None else replace(found, measured=f"On the peer: {found.measured}")


NET_BLOCKS_CHECKS = (
    SAME_HOST,
    Check(
        id="net-blocks-fragments",
        level=Level.WARNING,
        title="Datagrams are larger than a packet",
        why="Each datagram travels in several fragments, and one lost fragment loses it whole: loss is overstated.",
        remedy="Let a datagram be no larger than what one packet holds.",
        source="RFC 8085, 3.2.",
        needs="The protocol and the block size; the MTU of the interfaces.",
        evaluate=_fragments,
    ),
    Check(
        id="net-blocks-refused",
        level=Level.ERROR,
        title="The probe refuses a buffer size",
        why="With a larger buffer the test does not start.",
        remedy="Leave it out; a network carries megabytes as it carries more.",
        source="resources/probes/netblocks.c.",
        needs="The block sizes.",
        evaluate=_refused,
    ),
    NO_COMPILER,
    replace(NO_COMPILER, id="probe-no-compiler-peer", evaluate=_no_compiler_at_peer),
)
