"""What is known to fool people about any test between two hosts."""

from suites.checks import CannotTell, Check, Outcome, StepEvidence
from suites.facts import known
from suites.iperf3.link import is_loopback
from suites.vocab import Level


def _same_host(evidence: StepEvidence) -> Outcome | CannotTell | None:
    context = evidence.context
    address = str(evidence.values["address"]) or context.peer_address or ""
    if is_loopback(address):
        return Outcome(measured=f"The address of the peer is {address}.")
    if context.facts is None or context.peer_facts is None:
        return CannotTell("The facts of both ends have not been read.")
    ours, theirs = known(context.facts.system.boot_id), known(context.peer_facts.system.boot_id)
    if ours is not None and theirs is not None:
        return Outcome(measured="Client and server report the same boot of one kernel.") if ours == theirs else None
    if context.facts.host == context.peer_facts.host:
        return Outcome(measured=f"Client and server both run on {context.facts.host}.")
    return CannotTell("Whether both ends are one host is not known: a boot id is missing.")


SAME_HOST = Check(
    id="same-host-peer",
    level=Level.WARNING,
    title="Both ends run on one host",
    why="The data never leaves the host: this measures its loopback, memory and CPU, not a network.",
    remedy="Choose another host as the peer.",
    source="ip(7): loopback traffic does not reach a device.",
    needs="The address of the peer; the boot ids of both ends.",
    evaluate=_same_host,
)
