"""Reads what our block probe prints: rates by operation, order, block size and threads; latencies by working set."""

from suites.disk import amount
from suites.parameters import format_size
from suites.probe.output import Head, Record
from suites.units import Unit
from suites.vocab import Better, Figure, Kind, Labels, Metric, Sample, labels

THROUGHPUT = Metric("throughput", "Throughput", Unit.MB_PER_SECOND, Better.HIGHER, Kind.RATE)
OPERATION_TIME = Metric("operation_time", "Time of an operation", Unit.NANOSECOND, Better.LOWER, Kind.TIME)
LATENCY = Metric("memory_latency", "Memory latency", Unit.NANOSECOND, Better.LOWER, Kind.TIME)

METRICS = (THROUGHPUT, OPERATION_TIME, LATENCY)

OPERATIONS = frozenset({"copy", "read", "write"})
PATTERNS = frozenset({"sequential", "random"})


class BlocksReader:
    """What the records of the block probe mean."""

    def __init__(self) -> None:
        self._rates: dict[Labels, tuple[float, float]] = {}
        self._latencies: dict[int, float] = {}

    def take(self, record: Record) -> list[Sample]:
        """Take a record: a second's rate, or the latency of a working set, is a sample."""
        if record.kind == "chase":
            return self._take_latency(record)
        marks, rate, each = _marks(record), record.number("rate"), record.number("each")
        if marks is None or not rate or not each:
            return []
        if record.kind == "live":
            time = record.number("time")
            if time is not None:
                return [Sample(time, THROUGHPUT, rate, marks), Sample(time, OPERATION_TIME, each, marks)]
        elif record.kind == "result":
            self._rates[marks] = (rate, each)
        return []

    def _take_latency(self, record: Record) -> list[Sample]:
        time, size, latency = record.number("time"), record.count("set"), record.number("ns")
        if time is None or not size or not latency:
            return []
        self._latencies[size] = latency
        return [Sample(time, LATENCY, latency, labels(working_set=amount(size)))]

    def conclude(self, head: Head) -> tuple[list[Figure], list[str]]:
        """Return the rates, the highest first and the others as they were measured, then the latencies."""
        order = list(self._rates)
        if order:
            best = max(order, key=lambda marks: self._rates[marks][0])
            order.remove(best)
            order.insert(0, best)
        figures = [Figure(THROUGHPUT, self._rates[marks][0], marks) for marks in order]
        figures += [Figure(OPERATION_TIME, self._rates[marks][1], marks) for marks in order]
        figures += [
            Figure(LATENCY, latency, labels(working_set=amount(size)))
            for size, latency in sorted(self._latencies.items())
        ]
        return figures, self._notes(head)

    def _notes(self, head: Head) -> list[str]:
        if not self._latencies:
            return []
        least, most = min(self._latencies), max(self._latencies)
        near, far = (f"{self._latencies[size]:.3g} ns in a working set of {amount(size)}" for size in (least, most))
        notes = [f"Latency: {near}, {far}."]
        if "[never]" in head.words.get("huge-pages", ""):
            notes.append("The kernel gives no large pages: latencies of large sets include walks through page tables.")
        return notes


def _marks(record: Record) -> Labels | None:
    """Return the labels of a rate, or None where the record has none that we know."""
    threads, block = record.count("threads"), record.count("block")
    operation, pattern = record.words.get("operation", ""), record.words.get("pattern", "")
    if not threads or not block or operation not in OPERATIONS or pattern not in PATTERNS:
        return None
    return labels(operation=operation, pattern=pattern, block=format_size(block), threads=str(threads))
