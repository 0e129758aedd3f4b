"""Checks of a network trial: the link it used, retransmissions, drops and loss."""

from app.checks.evidence import HALF, NOT_WATCHED, share, times_text, total, watched, workload_of
from app.plans.plan import host_label
from suites.base import own_directories
from suites.checks import CheckOutcome, NotChecked, after_check, during_check
from suites.disk import NETWORK_KINDS
from suites.evidence import HostWatch, TrialCheck, TrialEvidence
from suites.facts import Facts, Interface, known
from suites.quantities import quantity, share_text
from suites.units import Unit
from suites.verdict import Trust
from suites.vocab import Resource, Severity

LOOPBACK = ("127.", "::1", "localhost")


def within_host(trial: TrialEvidence) -> bool:
    """Return whether both ends are on one host, with no link between them."""
    address = trial.context.peer_address or ""
    return trial.peer == trial.host or address.startswith(LOOPBACK)


def throughput(trial: TrialEvidence) -> float | None:
    """Return the received bits per second, the sum of all directions; None if unknown."""
    figures = trial.all_of("throughput")
    received = [figure.value for figure in figures if dict(figure.labels).get("end") == "receiver"]
    return sum(received) if received else figures[0].value if figures else None


def one_way(trial: TrialEvidence) -> float | None:
    """Return the rate of the faster direction: a full-duplex link has its speed each way."""
    received = [one.value for one in trial.all_of("throughput") if dict(one.labels).get("end") == "receiver"]
    return max(received) if received else throughput(trial)


def carried(watch: HostWatch, interface: str) -> float | None:
    """Return the bytes that an interface sent and received in the measured time."""
    found = [watch.total(metric, interface=interface) for metric in ("network_received", "network_sent")]
    given = [value for value in found if value is not None]
    return sum(given) if given else None


def busiest(watch: HostWatch) -> str | None:
    """Return the interface with the most traffic, loopback excluded; None if none is watched."""
    names = {dict(at).get("interface", "") for at in watch.labels_of("network_sent")} - {"lo", ""}
    totals = {name: carried(watch, name) or 0.0 for name in names}
    return max(sorted(totals), key=lambda name: totals[name], default=None)


ON_PATH = 0.1
"""The share of the test's bytes that an interface on its path carries at least: the members of a bond share them."""


def used_interfaces(trial: TrialEvidence, watch: HostWatch) -> tuple[str, ...]:
    """Return the interfaces that the trial may use: those that carried its bytes; all with traffic if none are known.

    A test of another resource uses the network for a peer on another host or a network file system alone.
    """
    names = sorted({dict(at).get("interface", "") for at in watch.labels_of("network_sent")} - {""})
    if trial.suite.resource is Resource.NETWORK and within_host(trial):
        return tuple(name for name in names if name == "lo")
    others = tuple(name for name in names if name != "lo")
    if trial.suite.resource is not Resource.NETWORK:
        to_peer = bool(trial.context.peer_address) and not within_host(trial)
        return others if to_peer or on_network_file_system(trial) else ()
    rate = throughput(trial)
    if rate is None:
        return others
    least = ON_PATH * rate / 8 * (workload_of(trial).seconds or watch.seconds)
    return tuple(name for name in others if (carried(watch, name) or 0.0) >= least)


def on_network_file_system(trial: TrialEvidence) -> bool:
    """Return whether the files of a test are on another machine."""
    facts = trial.context.facts
    paths = () if facts is None else own_directories(trial.suite, trial.values)
    found = [facts.directory(path) for path in paths if facts is not None]
    return any(one is not None and known(one.kind) in NETWORK_KINDS for one in found)


def link_of(trial: TrialEvidence) -> Interface | NotChecked:
    """Return the interface that the trial used, or why it is unknown."""
    if trial.suite.resource is not Resource.NETWORK:
        return NotChecked("Not a network test.")
    if within_host(trial):
        return NotChecked("Both ends are on one host.")
    facts = trial.context.facts
    if facts is None or trial.watch is None:
        return NOT_WATCHED
    name = busiest(trial.watch)
    found = next((one for one in facts.interfaces if one.name == name), None)
    return found or NotChecked("The interface used is unknown.")


def speed_of(link: Interface) -> float | NotChecked:
    """Return the speed of a link in bits per second, or that it reports none."""
    speed = known(link.speed)
    return float(speed) if speed else NotChecked(f"{link.name} reports no speed (usual on VMs).")


def only_link(facts: Facts | None) -> Interface | None:
    """Return the only interface that reports a speed, for traffic whose interface is unknown; None if several do."""
    interfaces = () if facts is None else facts.interfaces
    given = [one for one in interfaces if one.name != "lo" and known(one.speed) is not None]
    return given[0] if len(given) == 1 else None


SENT_AGAIN, MUCH_SENT_AGAIN = 0.001, 0.05
"""Shares of retransmitted segments from which they are a note, and a warning. TCP on a healthy link loses about one
segment in a hundred to the queue while it probes for the rate."""

FOR_A_SHARE = 1000
"""Fewest segments for a share."""

DROPPED = 100
"""Fewest drops that are reported: every test loses a few packets at its start."""


@watched
def _sent_again(trial: TrialEvidence, watch: HostWatch) -> CheckOutcome | NotChecked | None:
    if trial.suite.resource is not Resource.NETWORK or trial.values.get("protocol") == "udp":
        return None
    sender = trial.peer_watch if trial.values.get("direction") == "receive" else watch
    if sender is None:
        return NotChecked("The sending host was not watched.")
    again, sent = sender.total("network_retransmits"), sender.total("network_segments")
    if again is None or sent is None:
        return NotChecked("No TCP retransmission counters.")
    part = share(again, sent)
    if part is None and sent >= FOR_A_SHARE:
        return NotChecked("More retransmissions than segments were counted.")
    if part is None or sent < FOR_A_SHARE or part < SENT_AGAIN:
        return None
    return CheckOutcome(
        f"TCP retransmitted {again:.0f} of {sent:.0f} segments ({share_text(part)}).",
        severity=Severity.WARNING if part >= MUCH_SENT_AGAIN else Severity.INFO,
    )


@watched
def _dropped(trial: TrialEvidence, watch: HostWatch) -> CheckOutcome | NotChecked | None:
    if trial.suite.resource is not Resource.NETWORK:
        return None
    used = used_interfaces(trial, watch)
    packets, damaged = (total(watch, name, used) for name in ("network_drops", "network_errors"))
    tcp = trial.values.get("protocol") == "tcp"  # receivers of other programs dropped these datagrams
    datagrams = None if tcp else total(watch, "network_datagrams_dropped")
    if packets is None and datagrams is None:
        return NotChecked("No drop counters.")
    counts = {
        "packets dropped at an interface": packets,
        "interface errors": damaged,
        "UDP datagrams dropped (receive buffer full)": datagrams,
    }
    found = [f"{count:.0f} {what}" for what, count in counts.items() if count is not None and count >= DROPPED]
    return CheckOutcome(f"{', '.join(found)}.") if found else None


@watched
def _link_down(trial: TrialEvidence, watch: HostWatch) -> CheckOutcome | NotChecked | None:
    used = used_interfaces(trial, watch)
    changes = {name: sum(watch.values("link_changes", interface=name)) for name in used}
    changed = [f"{name} {times_text(count)}" for name, count in changes.items() if count > 0]
    if not changed:
        return None
    return CheckOutcome(
        f"Link state changed: {', '.join(changed)}.",
        severity=Severity.ERROR if trial.suite.resource is Resource.NETWORK else Severity.INFO,
    )


LINK_SHARE = 0.97
"""Greatest share of a link's speed available to payload: Ethernet, IP and TCP headers take 3 to 6 % of 1500-byte
frames, 1 % of 9000-byte ones (check M26)."""


def over(value: float, ceiling: float) -> bool:
    """Return whether `value` exceeds `ceiling` by more than rounding."""
    return value > ceiling * 1.001


def _over_link(trial: TrialEvidence) -> CheckOutcome | NotChecked | None:
    if trial.suite.resource is not Resource.NETWORK or not trial.done:
        return None
    link = link_of(trial)
    if isinstance(link, NotChecked):
        return link
    speed, rate = speed_of(link), one_way(trial)
    if isinstance(speed, NotChecked):
        return speed
    if rate is None or not over(rate, LINK_SHARE * speed):
        return None
    return CheckOutcome(
        f"{quantity(rate, Unit.BITS_PER_SECOND)} of payload over {link.name}, a link of "
        f"{quantity(speed, Unit.BITS_PER_SECOND)} (at most {share_text(LINK_SHARE)} is payload)."
    )


LOSS = 1.0
"""Per cent of lost packets from which the loss is reported."""


def _loss(trial: TrialEvidence) -> CheckOutcome | None:
    worst = max(trial.all_of("lost"), key=lambda figure: figure.value, default=None)
    if worst is None or worst.value < LOSS or not trial.done:
        return None
    return CheckOutcome(f"{worst.metric.title}: {worst.value:.3g} %.")


def _sent_only(trial: TrialEvidence) -> CheckOutcome | None:
    ends = {dict(one.labels).get("end") for one in trial.all_of("throughput")}
    if not trial.done or trial.values.get("protocol") != "udp" or ends != {"sender"}:
        return None
    return CheckOutcome("The output has the rate of the sender, and no report of the receiver.")


def _not_over_the_link(trial: TrialEvidence) -> CheckOutcome | NotChecked | None:
    if trial.suite.resource is not Resource.NETWORK or not trial.done or within_host(trial):
        return None
    watch, rate = trial.watch, throughput(trial)
    link = None if watch is None else busiest(watch)
    if watch is None or link is None or rate is None:
        return NOT_WATCHED
    seconds = workload_of(trial).seconds or watch.seconds
    claimed, got = rate * seconds / 8, carried(watch, link) or 0.0
    if got >= HALF * claimed:
        return None
    return CheckOutcome(
        f"{quantity(claimed)} by the tool; {link}, the busiest interface of {host_label(trial.host)}, carried "
        f"{quantity(got)}."
    )


DATAGRAMS_LOST: TrialCheck = after_check(
    id="datagrams-lost",
    title="Packet loss",
    why="Only what was received is measured. A link or a receiver was too slow, or dropped packets.",
    remedy="Quote what was received; lower a requested rate until the loss ends to find the capacity.",
    source="A university’s network test: 99 Mbit/s sent, 22 % lost.",
    evaluate=_loss,
    needs="the count of received packets",
)


TRIAL_CHECKS: tuple[TrialCheck, ...] = (
    during_check(
        id="link-went-down",
        title="Network link changed state",
        why="No traffic passes while a link is down; the figure includes that time.",
        remedy="Check cable, port and driver (dmesg), then run it again.",
        source="carrier_changes in /sys/class/net.",
        evaluate=_link_down,
        needs="state changes of each interface that the test uses",
    ),
    during_check(
        id="segments-sent-again",
        title="TCP retransmissions",
        why="Segments were lost or late, and TCP slows down with each: the figure reflects the loss as much as the "
        "link.",
        remedy="Find the queue or cable that drops them; fewer streams show whether it is a queue.",
        source="RetransSegs and OutSegs in /proc/net/snmp.",
        evaluate=_sent_again,
        needs=f"the host’s count of segments: {share_text(SENT_AGAIN)}, a warning from {share_text(MUCH_SENT_AGAIN)}",
    ),
    during_check(
        id="packets-dropped",
        title="Host dropped packets",
        why="The packets reached the host, but it or its program was too slow to receive them: the link is not the "
        "limit.",
        remedy="Use larger receive buffers, more streams or a dedicated CPU for the receiver; quote the received rate.",
        source="/proc/net/dev, and RcvbufErrors in /proc/net/snmp.",
        evaluate=_dropped,
        needs=f"the host’s counters of dropped and damaged packets: {DROPPED} or more",
    ),
    after_check(
        id="over-link",
        severity=Severity.ERROR,
        title="Throughput exceeds the link speed",
        why="The data took another path, or was not counted at the receiver.",
        remedy="Check the route (ip route get) and the addresses of both ends.",
        source="Ethernet framing; link speed in /sys/class/net.",
        evaluate=_over_link,
        needs="the throughput, the busiest interface and its speed",
        trust=Trust.INVALID,
    ),
    DATAGRAMS_LOST,
    after_check(
        id="sent-rate-only",
        title="Received rate is unknown",
        why="UDP sends at the requested rate whatever arrives: a sent rate is not that of the network.",
        remedy="Quote the receiver’s report; check that the server runs and that no firewall drops the datagrams.",
        source="iperf 2 manual: the server reports loss and jitter to the client at the end of a UDP test.",
        evaluate=_sent_only,
        needs="the ends of which a UDP test reports the rate",
        trust=Trust.DOUBTFUL,
    ),
    after_check(
        id="not-over-the-link",
        severity=Severity.ERROR,
        title="Traffic bypassed the link",
        why="The data took another path, such as loopback: the figure is not the network’s.",
        remedy="Set the peer’s address to one on the network to measure (ip route get).",
        source="The kernel’s counters (/proc/net/dev) against the tool’s figure.",
        evaluate=_not_over_the_link,
        needs="the throughput, and the kernel’s counters of the interfaces",
        trust=Trust.INVALID,
    ),
)
