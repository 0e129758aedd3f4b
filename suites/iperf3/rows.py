"""One row of iperf3's report, an interval or a summary, and what rows mean as samples and figures."""

import re
from dataclasses import dataclass, field

from suites.units import Unit
from suites.vocab import Better, Figure, Kind, Labels, Metric, Sample, labels

THROUGHPUT = Metric("throughput", "Throughput", Unit.BITS_PER_SECOND, Better.HIGHER, Kind.RATE)
RETRANSMITS = Metric("retransmits", "Retransmitted segments", Unit.ONE, Better.LOWER, Kind.COUNT)
JITTER = Metric("jitter", "Jitter", Unit.MILLISECOND, Better.LOWER, Kind.TIME)
LOST = Metric("lost", "Datagrams lost", Unit.PERCENT, Better.LOWER, Kind.SHARE)
DATAGRAMS = Metric("datagrams", "Datagrams", Unit.ONE, Better.HIGHER, Kind.COUNT)
CPU = Metric("cpu_utilization", "CPU use of iperf3", Unit.PERCENT, Better.LOWER, Kind.SHARE)
WINDOW = Metric("congestion_window", "Congestion window", Unit.BYTE, Better.HIGHER, Kind.COUNT)
ROUND_TRIP = Metric("tcp_round_trip", "Round trip as TCP sees it", Unit.MICROSECOND, Better.LOWER, Kind.TIME)

METRICS = (THROUGHPUT, RETRANSMITS, LOST, JITTER, DATAGRAMS, CPU, ROUND_TRIP, WINDOW)

CONGESTION = re.compile(r"[a-z][a-z0-9_-]{0,15}")
"""What a congestion control is called."""

SEND, RECEIVE = "send", "receive"
"""Directions as the client sees them: it sends to the server, or receives from it."""

SENDER, RECEIVER = "sender", "receiver"
"""The end of the connection that counted."""

SHORTEST_INTERVAL = 0.5
"""Seconds: iperf3 ends with a remainder of an interval, whose rate is too coarse to draw beside those of 1 s."""

MAXIMUM_ROWS = 200_000
"""More than two directions print in the longest time iperf3 accepts (86,400 s)."""


@dataclass(frozen=True, slots=True)
class Row:
    """All streams of one direction over one stretch of time, as counted at one end."""

    direction: str
    end: str
    start: float
    stop: float
    rate: float
    retransmits: float | None = None
    jitter: float | None = None
    lost: float | None = None
    datagrams: float | None = None
    window: float | None = None
    round_trip: float | None = None
    omitted: bool = False

    @property
    def labels(self) -> Labels:
        """The labels of the row's rate."""
        return labels(direction=self.direction, end=self.end)


@dataclass(slots=True)
class Intervals:
    """The intervals so far, in order, on one time axis that includes what -O omits."""

    rows: list[Row] = field(default_factory=list)
    _omitted: dict[str, float] = field(default_factory=dict)
    _last: dict[str, float] = field(default_factory=dict)

    def add(self, row: Row) -> list[Sample]:
        """Keep `row` and return its samples.

        An interval that ends no later than the one before is dropped: iperf3 repeats the last one when it breaks off.
        The clock starts again at 0 after the omitted seconds; samples go on where those ended.
        """
        if row.omitted:
            self._omitted[row.direction] = row.stop
            time = row.stop
        else:
            time = row.stop + self._omitted.get(row.direction, 0.0)
        if row.stop <= row.start or time <= self._last.get(row.direction, 0.0) or len(self.rows) >= MAXIMUM_ROWS:
            return []
        self._last[row.direction] = time
        self.rows.append(row)
        return _samples(row, time) if row.stop - row.start >= SHORTEST_INTERVAL else []

    def mean(self) -> list[Figure]:
        """Return the mean rate over the intervals of each direction, weighted by their length; no omitted ones."""
        figures = []
        counted = [row for row in self.rows if not row.omitted]
        for mark in dict.fromkeys(row.labels for row in counted):
            own = [row for row in counted if row.labels == mark]
            seconds = sum(row.stop - row.start for row in own)
            figures.append(Figure(THROUGHPUT, sum(row.rate * (row.stop - row.start) for row in own) / seconds, mark))
        return figures


def _samples(row: Row, time: float) -> list[Sample]:
    found = [Sample(time, THROUGHPUT, row.rate, row.labels, row.omitted)]
    mark = labels(direction=row.direction)
    pairs = (
        (RETRANSMITS, row.retransmits),
        (JITTER, row.jitter),
        (LOST, row.lost),
        (WINDOW, row.window),
        (ROUND_TRIP, row.round_trip),
    )
    for metric, value in pairs:
        if value is not None:
            found.append(Sample(time, metric, value, mark, row.omitted))
    return found


def summary_figures(rows: list[Row]) -> list[Figure]:
    """Return the figures of the summary `rows`, the received rates first: they are the result.

    Retransmits, window and round trip are the sender's to know; jitter, loss and datagrams the receiver's.
    """
    ordered = sorted(rows, key=lambda row: (row.end != RECEIVER, row.direction != SEND))
    figures = [Figure(THROUGHPUT, row.rate, row.labels) for row in ordered]
    for row in ordered:
        mark = labels(direction=row.direction)
        pairs = (
            ((RETRANSMITS, row.retransmits), (WINDOW, row.window), (ROUND_TRIP, row.round_trip))
            if row.end == SENDER
            else ((LOST, row.lost), (JITTER, row.jitter), (DATAGRAMS, row.datagrams))
        )
        figures += [Figure(metric, value, mark) for metric, value in pairs if value is not None]
    return figures
