"""Reads what our own STREAM kernels print, and what John McCalpin's program does: whichever of the two it is."""

from collections.abc import Iterable

from suites.base import Parsed
from suites.probe.output import Head, ProbeParser, Record
from suites.stream.metrics import BANDWIDTH, KERNELS, Rates, Sweep
from suites.stream.original import OriginalParser
from suites.vocab import Figure, Sample, labels


class StreamReader:
    """What the records of our own probe mean."""

    def __init__(self) -> None:
        self._measured: dict[int, dict[str, Rates]] = {}
        self._valid: set[int] = set()
        self._invalid: set[int] = set()

    def take(self, record: Record) -> list[Sample]:
        """Take a record; an iteration's rates are samples, the first iteration's warm-up."""
        threads = record.count("threads")
        if threads is None:
            return []
        if record.kind == "live":
            return _live(record, threads)
        if record.kind == "result":
            self._take_result(record, threads)
        elif record.kind == "valid":
            self._valid.add(threads)
        elif record.kind == "invalid":
            self._invalid.add(threads)
        return []

    def conclude(self, head: Head) -> tuple[list[Figure], list[str]]:
        """Return the figures of all thread counts whose arrays were right."""
        del head
        right = self._valid - self._invalid
        sweep = Sweep({threads: rates for threads, rates in self._measured.items() if threads in right})
        wrong = [
            f"With {threads} threads the arrays were wrong at the end: there is no figure."
            for threads in sorted(self._invalid)
        ]
        return sweep.figures(), [*wrong, *sweep.notes()]

    def _take_result(self, record: Record, threads: int) -> None:
        kernel, best, worst = record.words.get("kernel", ""), record.number("best"), record.number("worst")
        if kernel in KERNELS and best and worst is not None:
            self._measured.setdefault(threads, {})[kernel] = Rates(best, worst, record.number("ticks"))


def _live(record: Record, threads: int) -> list[Sample]:
    time, iteration = record.number("time"), record.count("iteration")
    if time is None or iteration is None:
        return []
    rates = {metric: record.number(name) for name, metric in KERNELS.items()}
    marks, first = labels(threads=str(threads)), iteration == 0
    samples = [Sample(time, metric, rate, marks, first) for metric, rate in rates.items() if rate]
    triad = rates[KERNELS["triad"]]
    if first or not triad:  # the curve of the whole sweep has no warm-up in its middle: it begins anew for each count
        return samples
    return [Sample(time, BANDWIDTH, triad), *samples]


class StreamParser:
    """One trial's parser. The output itself tells whose program printed it."""

    def __init__(self) -> None:
        self._ours = ProbeParser("stream", StreamReader())
        self._original = OriginalParser()

    def feed(self, data: bytes, stream: str = "stdout") -> Iterable[Sample]:
        """Take the next bytes; return the samples they complete. The original prints none."""
        self._original.feed(data, stream)
        return self._ours.feed(data, stream)

    def finish(self, exit_status: int | None = None) -> Parsed:
        """Say what the whole output means."""
        chosen = self._original if self._original.recognised else self._ours
        return chosen.finish(exit_status)
