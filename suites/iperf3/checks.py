"""Checks of an iperf3 step."""

from suites.base import StepEvidence, version_of
from suites.checks import Check, CheckOutcome, NotChecked
from suites.iperf3.link import (
    UDP_HEADERS,
    is_loopback,
    is_paced,
    is_udp,
    largest_packet,
    link_speed,
    tuned_bitrate,
    tuned_streams,
)
from suites.peer import OTHER_MTU, SAME_HOST
from suites.runtime_checks import SHORT_RUNTIME
from suites.vocab import Severity

DEFAULT_UDP_RATE = 1.0
SLOW_START_MATTERS = 30.0
"""Seconds: slow start of a second or two is some percent of a shorter run."""

MULTITHREADED = (3, 16)
BIDIRECTIONAL = (3, 7)
UDP_LENGTHS = (16, 65507)


def _udp_default_rate(evidence: StepEvidence) -> CheckOutcome | None:
    values = evidence.values
    if not is_udp(values) or float(values["bitrate"]) != DEFAULT_UDP_RATE:
        return None
    speed = link_speed(evidence.context)
    link = "" if speed is None else f"; the slower interface does {speed / 1e9:g} Gbit/s"
    return CheckOutcome(
        measured=f"bitrate is {DEFAULT_UDP_RATE:g} Mbit/s, the default{link}.",
        changes={} if speed is None else {"bitrate": tuned_bitrate(speed, int(values["streams"]))},
    )


LARGEST_FRAME = 9216
"""Bytes of the largest payload of jumbo frames in use."""

USUAL_PACKET = 1500
"""Bytes of the MTU of Ethernet."""

_IP_HEADER = 20
"""Bytes of IPv4's header, which each fragment has."""


def _fragments(length: int) -> int:
    """Return the IP fragments of a datagram of `length` bytes at the usual MTU."""
    return -(-(length + UDP_HEADERS - _IP_HEADER) // (USUAL_PACKET - _IP_HEADER))


def _udp_fragments(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    values = evidence.values
    length, address = int(values["length"]), str(values["address"]) or evidence.context.peer_address or ""
    if not is_udp(values) or length == 0 or is_loopback(address):
        return None
    packet = largest_packet(evidence.context)
    if packet is None:
        if length > LARGEST_FRAME - UDP_HEADERS:
            return CheckOutcome(f"length is {length} B; no Ethernet frame holds more than {LARGEST_FRAME} B.")
        if length > USUAL_PACKET - UDP_HEADERS:
            return CheckOutcome(
                f"length is {length} B: {_fragments(length)} fragments at the usual MTU of "
                f"{USUAL_PACKET} B; the host's MTU is not known."
            )
        return NotChecked("The MTU of the host's interfaces is not known.")
    if length <= packet - UDP_HEADERS:
        return None
    return CheckOutcome(
        measured=f"length is {length} B; the largest MTU is {packet} B, which holds {packet - UDP_HEADERS} B of data.",
        changes={"length": 0},
    )


def _length_refused(evidence: StepEvidence) -> CheckOutcome | None:
    length = int(evidence.values["length"])
    if not is_udp(evidence.values) or length == 0 or UDP_LENGTHS[0] <= length <= UDP_LENGTHS[1]:
        return None
    return CheckOutcome(measured=f"length is {length} B.", changes={"length": 0})


def _omit_missing(evidence: StepEvidence) -> CheckOutcome | None:
    values = evidence.values
    seconds = float(values["time"])
    if is_udp(values) or float(values["omit"]) > 0 or seconds >= SLOW_START_MATTERS:
        return None
    return CheckOutcome(measured=f"omit is 0 s of {seconds:g} s.", changes={"omit": 2.0})


def _oldest(evidence: StepEvidence) -> tuple[int, ...] | None:
    """Return the older version of iperf3 at the two ends, of those that are known."""
    versions = [version_of(facts, "iperf3") for facts in (evidence.context.facts, evidence.context.peer_facts)]
    return min((version for version in versions if version is not None), default=None)


def _one_core(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    streams = int(evidence.values["streams"])
    if streams == 1:
        return None
    version = _oldest(evidence)
    if version is None:
        return NotChecked("The versions of iperf3 are not known.")
    if version >= MULTITHREADED:
        return None
    return CheckOutcome(measured=f"{streams} streams; iperf3 is {'.'.join(map(str, version))} at one end or both.")


def _bidir_too_old(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    if evidence.values.get("direction", "both") != "both":
        return None
    version = _oldest(evidence)
    if version is None:
        return NotChecked("The versions of iperf3 are not known.")
    if version >= BIDIRECTIONAL:
        return None
    changes = {"direction": "send"} if "direction" in evidence.values else {}
    return CheckOutcome(measured=f"iperf3 is {'.'.join(map(str, version))} at one end.", changes=changes)


FAST_LINK = 25e9
"""Bits per second that one TCP stream with standard frames does not always fill on a current CPU; it fills 10e9."""


def _one_stream(evidence: StepEvidence) -> CheckOutcome | None:
    values, speed = evidence.values, link_speed(evidence.context)
    limited = is_udp(values) or is_paced(values) or int(values["streams"]) > 1
    if limited or speed is None or speed < FAST_LINK or _within_a_host(evidence):
        return None
    return CheckOutcome(f"1 TCP stream on a link of {speed / 1e9:g} Gbit/s.", changes={"streams": tuned_streams(speed)})


def _within_a_host(evidence: StepEvidence) -> bool:
    address = str(evidence.values["address"]) or evidence.context.peer_address or ""
    return is_loopback(address)


IPERF3_CHECKS = (
    SAME_HOST,
    OTHER_MTU,
    Check(
        id="one-stream-fast-link",
        title="One TCP stream on a fast link",
        why="A stream uses one CPU at each end: on a link of 100 Gbit/s one stream reaches 15 to 35 Gbit/s. The figure "
        "is that of the CPUs, not of the link.",
        remedy="Use several streams (and iperf3 3.16 or later) to measure the link; keep one to measure a stream.",
        source="ESnet, Performance Expectations for a 100G Host (2024).",
        needs=f"Protocol, streams and rate; the speed of the interfaces, {FAST_LINK / 1e9:g} Gbit/s or more.",
        evaluate=_one_stream,
    ),
    Check(
        id="udp-default-rate",
        title="UDP at the default 1 Mbit/s",
        why="iperf3 sends UDP at 1 Mbit/s by default; nearly any network carries that, so the figure does not "
        "measure this one.",
        remedy="Set bitrate to 90 % of the measured TCP rate, or run iperf3-udp: it searches for the highest rate with "
        "loss below 0.1 %.",
        source="iperf3 manual, --bitrate.",
        needs="Protocol and bitrate; the speed of the interfaces.",
        evaluate=_udp_default_rate,
    ),
    Check(
        id="udp-fragments",
        title="Datagrams exceed the MTU",
        why="Each datagram is sent in several IP fragments; one lost fragment loses the whole datagram, so loss "
        "is overstated.",
        remedy="Set length to 0: iperf3 then fills one packet.",
        source="iperf3's own warning; RFC 8085, 3.2.",
        needs="Protocol and length; the MTU of the host's interfaces.",
        evaluate=_udp_fragments,
    ),
    Check(
        id="iperf3-length-refused",
        severity=Severity.ERROR,
        blocks=True,
        title="iperf3 refuses this length",
        why="UDP accepts 16 to 65507 bytes; with any other length the test does not start.",
        remedy="Set length to 0.",
        source="iperf3: “block size invalid (minimum = 16 bytes, maximum = 65507 bytes)”.",
        needs="Protocol and length.",
        evaluate=_length_refused,
    ),
    Check(
        id="omit-missing",
        severity=Severity.INFO,
        title="TCP slow start is included",
        why="TCP ramps up for the first second or two, which lowers the mean of a short run.",
        remedy="Set omit to 2 s.",
        source="iperf3 manual, --omit.",
        needs="Protocol, time, omit.",
        evaluate=_omit_missing,
    ),
    Check(
        id="single-stream-old-iperf",
        severity=Severity.INFO,
        title="All streams share one CPU",
        why="Before 3.16, iperf3 runs all streams in one thread: on a fast link that CPU is the limit, and "
        "figures are not comparable with those of newer versions.",
        remedy="Watch that CPU, or install iperf3 3.16 or later at both ends.",
        source="iperf3 release notes, 3.16.",
        needs="Streams; the versions of iperf3 at both ends.",
        evaluate=_one_core,
    ),
    Check(
        id="iperf3-bidir-too-old",
        severity=Severity.ERROR,
        blocks=True,
        title="iperf3 too old for --bidir",
        why="--bidir came with 3.7; an older end refuses the option or the test.",
        remedy="Measure one direction after the other, or install a newer iperf3 at both ends.",
        source="iperf3 release notes, 3.7.",
        needs="Direction; the versions of iperf3 at both ends.",
        evaluate=_bidir_too_old,
    ),
    SHORT_RUNTIME,
)
