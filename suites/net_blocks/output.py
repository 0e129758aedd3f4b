"""Parse the output of the network probe: rates and round-trip percentiles."""

from suites.iperf3.link import is_loopback
from suites.parameters import format_size
from suites.probe import OutputHeader, Record
from suites.units import Unit
from suites.vocab import Better, Figure, Labels, Metric, MetricKind, Sample, labels


def _trip(name: str, title: str, percentile: float) -> Metric:
    return Metric(f"round_trip_{name}", title, Unit.MICROSECOND, Better.LOWER, MetricKind.TIME, percentile)


THROUGHPUT = Metric("throughput", "Throughput", Unit.BITS_PER_SECOND, Better.HIGHER, MetricKind.RATE)
P50 = _trip("p50", "Round trip, median", 50)
P90 = _trip("p90", "Round trip, 90th percentile", 90)
P99 = _trip("p99", "Round trip, 99th percentile", 99)
P999 = _trip("p999", "Round trip, 99.9th percentile", 99.9)
LONGEST = _trip("max", "Longest round trip", 100)
TRIPS = Metric("round_trips", "Round trips", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)
LOST = Metric("lost", "Datagrams lost", Unit.PERCENT, Better.LOWER, MetricKind.SHARE, most=100)
CPU = Metric("cpu_utilization", "CPU use of the probe", Unit.PERCENT, Better.LOWER, MetricKind.SHARE)

METRICS = (THROUGHPUT, P50, P90, P99, P999, LONGEST, TRIPS, LOST, CPU)

_TIMES = (("p50", P50, 2), ("p90", P90, 10), ("p99", P99, 100), ("p999", P999, 1000), ("max", LONGEST, 1))
"""Keys of the probe, their metrics, and the round trips that each percentile requires."""

_PROTOCOLS = frozenset({"tcp", "udp"})
_RATES = frozenset({"upload", "download"})


class NetBlocksReader:
    """Reader of the network probe's records. `datagram` is the requested datagram size."""

    def __init__(self, datagram: int) -> None:
        self._datagram = datagram
        self._rates: list[Figure] = []
        self._others: list[Figure] = []
        self._notes: list[str] = []
        self._split: dict[str, int] = {}

    def take(self, record: Record) -> list[Sample]:
        """Parse a record: a second of a rate, or of round trips, is a sample."""
        figure_labels = _figure_labels(record)
        if figure_labels is None or record.kind not in {"live", "result"}:
            return []
        figures = (
            self._trips(record, figure_labels)
            if record.words["test"] == "latency"
            else self._rate(record, figure_labels)
        )
        if record.kind == "live":
            time = record.number("time")
            return (
                [] if time is None else [Sample(time, figure.metric, figure.value, figure_labels) for figure in figures]
            )
        self._add(figures, record, figure_labels)
        return []

    def _add(self, figures: list[Figure], record: Record, figure_labels: Labels) -> None:
        self._rates += [figure for figure in figures if figure.metric is THROUGHPUT]
        self._others += [figure for figure in figures if figure.metric is not THROUGHPUT]
        for word, side in (("local", "client"), ("remote", "server")):
            use = record.number(word)
            if use is not None:
                self._others.append(Figure(CPU, use, tuple(sorted((*figure_labels, ("side", side))))))
        size = record.count("block") or 0
        if record.words["protocol"] == "udp" and size > self._datagram:
            self._split[format_size(size)] = -(-size // self._datagram)

    def _rate(self, record: Record, figure_labels: Labels) -> list[Figure]:
        rate, sent, lost = record.number("rate"), record.count("sent"), record.count("lost")
        figures = []
        if rate or (rate is not None and (sent or record.kind == "live")):
            figures.append(Figure(THROUGHPUT, rate, figure_labels))
        elif rate is not None and record.kind == "result":
            self._notes.append(f"No data arrived in the measured time: {_label_text(figure_labels)}.")
        if sent and lost is not None and lost <= sent:
            figures.append(Figure(LOST, 100 * lost / sent, figure_labels))
        return figures

    def _trips(self, record: Record, figure_labels: Labels) -> list[Figure]:
        count, rate, lost = record.count("trips"), record.number("rate"), record.count("lost")
        figures = [
            Figure(metric, value, figure_labels)
            for word, metric, least in _TIMES
            if (value := record.number(word)) and (count or 0) >= least
        ]
        if count and rate:
            figures.append(Figure(TRIPS, rate, figure_labels))
        if record.kind == "result" and not count:
            self._notes.append(f"No complete buffer came back: {_label_text(figure_labels)}.")
        if record.words["protocol"] == "udp" and count is not None and lost is not None and count + lost:
            figures.append(Figure(LOST, 100 * lost / (count + lost), figure_labels))
        return figures

    def conclude(self, head: OutputHeader) -> tuple[list[Figure], list[str]]:
        """Return the rates, the highest first, then the other figures in order of measurement."""
        best = max(self._rates, key=lambda figure: figure.value, default=None)
        rates = [] if best is None else [best, *(figure for figure in self._rates if figure is not best)]
        return [*rates, *self._others], [*self._notes[:5], *self._transport_notes(head)]

    def _transport_notes(self, head: OutputHeader) -> list[str]:
        notes = []
        if is_loopback(head.words.get("peer", "")):
            notes.append("Both ends used the loopback: figures of one host, not of a network.")
        if head.words.get("nodelay") == "on":
            notes.append("TCP_NODELAY was on (Nagle's algorithm off).")
        elif head.words.get("nodelay") == "off":
            notes.append("TCP_NODELAY was off: Nagle's algorithm delays small writes until acknowledgements arrive.")
        notes += [
            f"UDP: a buffer of {size} is split into {parts} datagrams of at most {self._datagram} B."
            for size, parts in self._split.items()
        ]
        return notes


def _figure_labels(record: Record) -> Labels | None:
    """Return the labels of a figure, or None if the record has no known ones."""
    threads, block = record.count("threads"), record.count("block")
    protocol, test = record.words.get("protocol", ""), record.words.get("test", "")
    if not threads or not block or protocol not in _PROTOCOLS or test not in {*_RATES, "latency"}:
        return None
    shared = labels(protocol=protocol, buffer=format_size(block), threads=str(threads))
    return tuple(sorted((*shared, ("direction", test)))) if test in _RATES else shared


def _label_text(figure_labels: Labels) -> str:
    return ", ".join(f"{name} {value}" for name, value in figure_labels)
