"""What is known to fool people about iperf3."""

from suites.base import version_of
from suites.checks import CannotTell, Check, Outcome, StepEvidence
from suites.iperf3.link import is_loopback, is_udp, largest_packet, link_speed, tuned_bitrate
from suites.peer_checks import SAME_HOST
from suites.runtime_checks import SHORT_RUNTIME
from suites.vocab import Level

DEFAULT_UDP_RATE = 1.0
SLOW_START_MATTERS = 30.0
"""Seconds: slow start of a second or two weighs some percent in a shorter run."""

MULTITHREADED = (3, 16)
BIDIRECTIONAL = (3, 7)
UDP_LENGTHS = (16, 65507)
UDP_HEADERS = 28  # bytes: 20 of IPv4 and 8 of UDP


def _udp_default_rate(evidence: StepEvidence) -> Outcome | None:
    values = evidence.values
    if not is_udp(values) or float(values["bitrate"]) != DEFAULT_UDP_RATE:
        return None
    speed = link_speed(evidence.context)
    rate = 0.0 if speed is None else tuned_bitrate(speed, int(values["streams"]))
    link = "" if speed is None else f"; the slower interface does {speed / 1e9:g} Gbit/s"
    return Outcome(
        measured=f"bitrate is {DEFAULT_UDP_RATE:g} Mbit/s, iperf3's default{link}.", changes={"bitrate": rate}
    )


def _udp_fragments(evidence: StepEvidence) -> Outcome | CannotTell | None:
    values = evidence.values
    length, address = int(values["length"]), str(values["address"]) or evidence.context.peer_address or ""
    if not is_udp(values) or length == 0 or is_loopback(address):
        return None
    packet = largest_packet(evidence.context)
    if packet is None:
        return CannotTell("The MTU of the host's interfaces is not known.")
    if length <= packet - UDP_HEADERS:
        return None
    return Outcome(
        measured=f"length is {length} B; the largest MTU is {packet} B, which holds {packet - UDP_HEADERS} B of data.",
        changes={"length": 0},
    )


def _length_refused(evidence: StepEvidence) -> Outcome | None:
    length = int(evidence.values["length"])
    if not is_udp(evidence.values) or length == 0 or UDP_LENGTHS[0] <= length <= UDP_LENGTHS[1]:
        return None
    return Outcome(measured=f"length is {length} B.", changes={"length": 0})


def _omit_missing(evidence: StepEvidence) -> Outcome | None:
    values = evidence.values
    seconds = float(values["time"])
    if is_udp(values) or float(values["omit"]) > 0 or seconds >= SLOW_START_MATTERS:
        return None
    return Outcome(measured=f"omit is 0 s of {seconds:g} s.", changes={"omit": 2.0})


def _oldest(evidence: StepEvidence) -> tuple[int, ...] | None:
    """Return the older version of iperf3 at the two ends, of those that are known."""
    versions = [version_of(facts, "iperf3") for facts in (evidence.context.facts, evidence.context.peer_facts)]
    return min((version for version in versions if version is not None), default=None)


def _one_core(evidence: StepEvidence) -> Outcome | CannotTell | None:
    streams = int(evidence.values["streams"])
    if streams == 1:
        return None
    version = _oldest(evidence)
    if version is None:
        return CannotTell("The versions of iperf3 are not known.")
    if version >= MULTITHREADED:
        return None
    return Outcome(measured=f"{streams} streams; iperf3 is {'.'.join(map(str, version))} at one end or both.")


def _bidir_too_old(evidence: StepEvidence) -> Outcome | CannotTell | None:
    if evidence.values["direction"] != "both":
        return None
    version = _oldest(evidence)
    if version is None:
        return CannotTell("The versions of iperf3 are not known.")
    if version >= BIDIRECTIONAL:
        return None
    return Outcome(measured=f"iperf3 is {'.'.join(map(str, version))} at one end.", changes={"direction": "send"})


IPERF3_CHECKS = (
    SAME_HOST,
    Check(
        id="udp-default-rate",
        level=Level.WARNING,
        title="UDP at its default rate measures the default",
        why="iperf3 sends UDP at 1 Mbit/s unless told otherwise; nearly any network carries that, so the figure says "
        "nothing about this one.",
        remedy="Give the rate that is in question; 0 sends as fast as the host can, and what arrives is the result.",
        source="iperf3 manual, --bitrate.",
        needs="The protocol and the rate; the speed of the interfaces.",
        evaluate=_udp_default_rate,
    ),
    Check(
        id="udp-fragments",
        level=Level.WARNING,
        title="Datagrams are larger than a packet",
        why="Each datagram travels in several fragments, and one lost fragment loses it whole: loss is overstated.",
        remedy="Leave the length to iperf3, which takes what one packet holds.",
        source="iperf3's own warning; RFC 8085, 3.2.",
        needs="The protocol and the length; the MTU of the host's interfaces.",
        evaluate=_udp_fragments,
    ),
    Check(
        id="iperf3-length-refused",
        level=Level.ERROR,
        title="iperf3 refuses this datagram length",
        why="UDP takes 16 to 65507 bytes; with any other length the test does not start.",
        remedy="Leave the length to iperf3.",
        source="iperf3: “block size invalid (minimum = 16 bytes, maximum = 65507 bytes)”.",
        needs="The protocol and the length.",
        evaluate=_length_refused,
    ),
    Check(
        id="omit-missing",
        level=Level.INFO,
        title="TCP's slow start counts",
        why="The first second or two, while TCP finds the rate, pull the mean of a short run down.",
        remedy="Omit the first 2 s.",
        source="iperf3 manual, --omit.",
        needs="The protocol, the time and the omitted seconds.",
        evaluate=_omit_missing,
    ),
    Check(
        id="single-stream-old-iperf",
        level=Level.INFO,
        title="All streams share one CPU",
        why="Before 3.16 iperf3 served all streams in one thread: on a fast link that CPU is the limit, and figures do "
        "not compare with those of newer versions.",
        remedy="Watch that CPU, or install iperf3 3.16 or later at both ends.",
        source="iperf3 release notes, 3.16.",
        needs="The streams; the versions of iperf3 at both ends.",
        evaluate=_one_core,
    ),
    Check(
        id="iperf3-bidir-too-old",
        level=Level.ERROR,
        title="This iperf3 cannot send both ways at once",
        why="--bidir came with 3.7; an older end refuses the option or the test.",
        remedy="Measure one direction after the other, or install a newer iperf3 at both ends.",
        source="iperf3 release notes, 3.7.",
        needs="The direction; the versions of iperf3 at both ends.",
        evaluate=_bidir_too_old,
    ),
    SHORT_RUNTIME,
)
