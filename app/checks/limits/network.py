"""Limits of the network: the link, shaping, the TCP window, loss on the path, the receiver, the client's CPU."""

import math
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, replace

from app.checks.evidence import at_peer, contention, seconds_of, share, total, workers_of, workload_of
from app.checks.limits.cpu import HALF_BUSY, LOST, lost, quota
from app.checks.limits.hypothesis import FULL, Hypothesis, flat_text, objections, spread
from app.checks.network import LOSS, busiest, link_of, one_way, speed_of, throughput, within_host
from suites.checks import NotChecked
from suites.evidence import HostWatch, TrialEvidence
from suites.quantities import quantity, share_text
from suites.units import Unit, convert
from suites.verdict import Limiter
from suites.vocab import Resource, Sample

FLAT_LINK = 0.05
"""Spread of a shaped rate: iperf3 counts blocks of 128 KiB, 1 % of a second at 100 Mbit/s, and TCP's congestion window
oscillates. Measured on a token bucket (tbf) at 100 Mbit/s: 2 to 5 % with cubic, reno and bbr; free, 6 to 13 %."""

GRAINY = 0.15
"""Spread up to which the blocks that iperf3 counts may hide a flat rate, which the interface's counters show."""

WINDOW_USED = 0.7
"""Bytes in flight (rate × round trip, Little’s law) relative to the window from which it is the limit: round trips
are mean values."""

SELF_LIMITED = range(2**20, 2**26)
"""Bytes in flight of one connection at which the kernel's default buffers (tcp_rmem, tcp_wmem) may end the window."""

LONG = 1e-3
"""Seconds of round trip from which a window or single losses limit TCP; below, it recovers within a millisecond."""

SENT_AGAIN, MUCH_SENT_AGAIN = 0.001, 0.005
"""Shares of segments sent again that limit TCP over a long round trip, and over any."""

SEGMENT = 1448
"""Bytes of data of a full segment on Ethernet."""

CONSTANT = 1.22
"""Rate = CONSTANT × segment / (round trip × √loss) (Mathis et al., 1997)."""

IN_BURSTS = 3.0
"""Bytes in flight relative to those that random loss permits from which the loss was not random. Measured: 7.4 at a
queue that overflows, 0.8 and 0.9 at random loss."""


@dataclass(frozen=True, slots=True)
class Connection:
    """The figures of a trial between two hosts: bits per second, seconds, shares. None: unknown."""

    rate: float
    speed: float | None
    link: str
    cpu: dict[str, float]
    round_trip: float | None
    window: float | None
    samples: tuple[Sample, ...]
    crowded: bool

    @property
    def not_idle(self) -> tuple[str, ...]:
        """Why the CPU of an end may be the limit; empty if it is not."""
        return objections(
            (len(self.cpu) < 2, "the CPU use of both ends is not known"),
            (len(self.cpu) > 1 and max(self.cpu.values()) >= HALF_BUSY, "an end used its CPU"),
            (self.crowded, "an end waited for a CPU that others had"),
        )


def network(trial: TrialEvidence) -> Iterator[Hypothesis]:
    """Yield the limits of a network test, their causes first."""
    rate = throughput(trial)
    if trial.suite.resource is not Resource.NETWORK or rate is None:
        return
    path = _path(trial, rate)
    yield from _ends(trial, path)
    if within_host(trial):
        return
    way = one_way(trial) or rate
    if path.speed is not None:
        counter = "" if way > path.speed else f"{share_text(way / path.speed)} of {path.link}’s " + quantity(
            path.speed, Unit.BITS_PER_SECOND
        )  # fmt: skip
        yield Hypothesis(Limiter.LINK, share(way, path.speed), counter, "Use a faster link.")
    yield from _lost_datagrams(trial)
    if trial.values.get("protocol", "tcp") == "tcp":
        yield from _window(trial, path)
        yield from _shaped(trial, path)
        yield from _lost_segments(trial, path)


def _path(trial: TrialEvidence, rate: float) -> Connection:
    link = link_of(trial)
    speed = link if isinstance(link, NotChecked) else speed_of(link)
    trip, window = (_middle(trial, name) for name in ("tcp_round_trip", "congestion_window"))
    both = [contention(one) for one in (trial, at_peer(trial)) if one is not None]
    return Connection(
        rate, None if isinstance(speed, NotChecked) else speed, "" if isinstance(link, NotChecked) else link.name,
        _cpu_of_ends(trial), trip, window, trial.headline_series(),
        any(beside is not None and beside.lost >= LOST for beside in both),
    )  # fmt: skip


def _cpu_of_ends(trial: TrialEvidence) -> dict[str, float]:
    """Return the use of one CPU by each end’s tool as it reports it, else by its busiest thread (iperf3 3.12 -R)."""
    watches = {"client": trial.watch, "server": trial.peer_watch}
    threads = {end: watch.mean("tool_busiest_thread") for end, watch in watches.items() if watch is not None}
    cpu = {end: use / 100 for end, use in threads.items() if use is not None}
    for figure in trial.all_of("cpu_utilization"):
        end, use = dict(figure.labels).get("side", ""), figure.value / 100
        # From 3.16 on, iperf3 has a thread for each stream.
        cpu[end] = use if use <= 1.05 else cpu.get(end, use / (workers_of(trial) or 1))
    return cpu


def _middle(trial: TrialEvidence, metric: str) -> float | None:
    """Return the figure of a metric of TCP, else the median of its samples; in seconds or bytes."""
    found = trial.all_of(metric) or [one for one in trial.samples if one.metric.name == metric and not one.warm_up]
    if not found:
        return None
    unit = Unit.BYTE if metric == "congestion_window" else Unit.SECOND
    return statistics.median(convert(one.value, one.metric.unit, unit) for one in found)


def _ends(trial: TrialEvidence, path: Connection) -> Iterator[Hypothesis]:
    """Yield the CPU of each end, and the quota and the other processes of the peer."""
    receives = trial.values.get("direction") == "send"
    then = "Run several at once on different ports, or a multi-threaded version (3.16)."
    limiters = {"client": Limiter.CLIENT, "server": Limiter.RECEIVER if receives else Limiter.TOOL}
    for end, use in path.cpu.items():
        counter = f"the {end}’s {trial.suite.tool} used {share_text(min(1.0, use))} of a CPU"
        yield Hypothesis(limiters.get(end, Limiter.TOOL), share(use, 1.0), counter, then)
    peer = at_peer(trial)
    for one in () if peer is None else (*quota(peer), *lost(peer)):
        limiter = Limiter.RECEIVER if receives and one.limiter is Limiter.QUOTA else one.limiter
        against = tuple(f"on the peer, {text}" for text in one.against)
        yield replace(one, limiter=limiter, counter=f"on the peer, {one.counter}", against=against)


def _lost_datagrams(trial: TrialEvidence) -> Iterator[Hypothesis]:
    """Yield UDP loss: at the receiver as far as its buffer overflowed (RcvbufErrors), on the path otherwise."""
    worst = max(trial.all_of("lost"), key=lambda figure: figure.value, default=None)
    if worst is None or worst.value < LOSS:
        return
    lost, sent = worst.value, trial.value("datagrams", **dict(worst.labels)) or 0.0
    receiver = trial.watch if dict(worst.labels).get("direction") == "receive" else trial.peer_watch
    dropped = None if receiver is None else total(receiver, "network_datagrams_dropped")
    counter, missing = f"{lost:.3g} % of the datagrams were lost", lost / 100 * sent
    at_end = None if dropped is None or not missing else min(1.0, dropped / missing)
    if at_end is None and sent:
        counter += "; the receiver’s drops were not counted"
    elif dropped is not None and sent:
        counter += f", {min(dropped, missing):.0f} of {missing:.0f} in the receiver’s buffer"
    then = "Use a larger socket buffer (window), or lower the rate until the loss ends."
    yield Hypothesis(Limiter.RECEIVER, at_end, counter, then, (), HALF_BUSY)
    then = "Lower the requested rate until the loss ends to find the capacity of the path."
    against = objections(
        (at_end is not None and at_end >= HALF_BUSY, "most were dropped by the receiver"),
        (at_end is None, "the receiver may have dropped them"),
    )
    yield Hypothesis(Limiter.LOSS, min(1.0, lost / 100), counter, then, against, LOSS / 100)


def _per_stream(trial: TrialEvidence, given: float) -> float:
    return given / ((workers_of(trial) or 1) * (2 if trial.values.get("direction") == "both" else 1))


def _in_flight(trial: TrialEvidence, path: Connection) -> float | None:
    """Return the bytes in flight of one connection: rate × round trip, else at most the congestion window."""
    if path.round_trip is not None:
        return _per_stream(trial, path.rate / 8 * path.round_trip)
    return None if path.window is None else _per_stream(trial, path.window)


def _window(trial: TrialEvidence, path: Connection) -> Iterator[Hypothesis]:
    """Yield the requested window over the round trip: 64 KiB over 20 ms are 26 Mbit/s.

    Where the round trip is unknown, the window is the limit if TCP's congestion control permits more than it.
    """
    window, flying = workload_of(trial).window, _in_flight(trial, path)
    if window is None or flying is None or not path.rate:
        return
    # The kernel doubles the buffer for its own records, and may use the half for data.
    trip = path.round_trip or window / _per_stream(trial, path.rate / 8)
    counter = (
        f"{quantity(min(flying, float(window)))} in flight over a round trip of {quantity(trip, Unit.SECOND)}"
        f"{'' if path.round_trip else ' (calculated)'}, with a window of {quantity(float(window))}"
    )
    against = (*objections((trip < LONG / 4, "the round trip is short")), *path.not_idle)
    then = "Leave window at 0, or set it to the rate times the round trip."
    yield Hypothesis(Limiter.WINDOW, min(1.0, flying / window), counter, then, against, WINDOW_USED)


def _shaped(trial: TrialEvidence, path: Connection) -> Iterator[Hypothesis]:
    """Yield a rate limit on the path: a flat rate that neither end, the link, the window nor loss explains.

    A single stream on bare metal is as flat, but keeps a CPU or the link busy.
    """
    values, what = [one.value for one in path.samples], "the rate"
    found = spread(values)
    # What arrives is even where the sender's traffic is not: it sends some segments again.
    watch = (None if trial.values.get("direction") == "receive" else trial.peer_watch) or trial.watch
    link = None if watch is None else busiest(watch)
    if found is not None and FLAT_LINK <= found < GRAINY and watch is not None and link is not None:
        both = [watch.values(metric, interface=link) for metric in ("network_sent", "network_received")]
        values, what = list(max(both, key=sum)[1:]), f"traffic on {link}"
        found = spread(values)
    if found is None:
        return
    flying = _in_flight(trial, path)
    short = path.round_trip is not None and path.round_trip < 5 * LONG
    again = _again(trial)  # then the path, not the window, ended its growth
    window = flying is not None and int(flying) in SELF_LIMITED and not again and not short
    against = path.not_idle + objections(
        (path.speed is not None and (one_way(trial) or path.rate) >= FULL * path.speed, "the link is full"),
        (flying is None and not again, "the bytes in flight are not known"),
        (window, "the TCP window may be the limit"),
    )
    ends = ", ".join(f"{end} {share_text(use)}" for end, use in path.cpu.items())
    counter = flat_text(what, values, found) + (f"; CPU of the ends: {ends}" if ends else "")
    then = f"Run it with {4 * (workers_of(trial) or 1)} streams: the same rate confirms it."
    used = 1.0 if found < FLAT_LINK else 0.0
    yield Hypothesis(Limiter.SHAPED, used, counter, then, against)


def _again(trial: TrialEvidence) -> float | None:
    """Return the share of segments that the sending end sent again: as its tool counts, else the whole host."""
    again, rate, seconds = trial.sum_of("retransmits"), throughput(trial), seconds_of(trial)
    if again is not None and rate and seconds:
        return share(again, rate * seconds / 8 / SEGMENT)
    sender: HostWatch | None = trial.peer_watch if trial.values.get("direction") == "receive" else trial.watch
    if sender is None:
        return None
    return share(sender.total("network_retransmits"), sender.total("network_segments"))


def _lost_segments(trial: TrialEvidence, path: Connection) -> Iterator[Hypothesis]:
    """Yield segments lost at random: the rate is at least half of what TCP reaches at this loss (Mathis et al.).

    A rate or, where the round trip is unknown, a congestion window far beyond that shows that they were lost in bursts,
    as at a full queue, and did not limit the rate. Without either, many lost segments are the limit.
    """
    again, trip = _again(trial), path.round_trip
    if not again:
        return
    long = trip is not None and trip >= LONG
    found, permitted = spread([one.value for one in path.samples]), CONSTANT * SEGMENT / math.sqrt(again)
    flying = _in_flight(trial, path)
    part = 1.0 if flying is None else flying / permitted
    against = (
        *objections((again < (SENT_AGAIN if long else MUCH_SENT_AGAIN), "few segments were sent again")),
        *path.not_idle,
        *objections(
            (found is None or found < FLAT_LINK, "the rate is flat, the losses may be its consequence"),
            (part > IN_BURSTS, f"{part:.0f} times the bytes in flight that random loss permits"),
        ),
    )
    counter = f"{share_text(again)} of the segments were sent again"
    counter += "" if path.not_idle else ", the ends’ CPUs were idle"
    if trip:
        reached = quantity(permitted * 8 / trip * (workers_of(trial) or 1), Unit.BITS_PER_SECOND)
        counter += f"; at a round trip of {quantity(trip, Unit.SECOND)} TCP reaches about {reached}"
    then = "Find the queue or cable that drops them; a test without loss shows the capacity."
    yield Hypothesis(Limiter.LOSS, min(1.0, part) if trip else 1.0, counter, then, against, HALF_BUSY)
