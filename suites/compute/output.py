"""Reads what our compute probe prints: operations a second, each second and as a whole, by kind and threads."""

import math
import re
from collections.abc import Mapping

from suites.peak import Peak
from suites.probe.output import Head, Record
from suites.sweep import knee_note
from suites.units import Unit
from suites.vocab import Better, Figure, Kind, Metric, Sample, labels

FLOAT = Metric("floating_point_rate", "Floating point", Unit.PER_SECOND, Better.HIGHER, Kind.RATE)
INTEGER = Metric("integer_rate", "Integer", Unit.PER_SECOND, Better.HIGHER, Kind.RATE)
FLOAT_BY_THREADS = Metric(
    "floating_point_rate_by_threads", "Floating point by threads", Unit.PER_SECOND, Better.HIGHER, Kind.RATE
)
INTEGER_BY_THREADS = Metric("integer_rate_by_threads", "Integer by threads", Unit.PER_SECOND, Better.HIGHER, Kind.RATE)
PEAK_SHARE = Metric("peak_share", "Share of the theoretical peak", Unit.PERCENT, Better.HIGHER, Kind.SHARE)
VARIATION = Metric("variation", "Variation of one-second samples (CoV)", Unit.PERCENT, Better.LOWER, Kind.SHARE)

METRICS = (FLOAT, INTEGER, FLOAT_BY_THREADS, INTEGER_BY_THREADS, PEAK_SHARE, VARIATION)

KINDS: Mapping[str, tuple[Metric, Metric]] = {
    "float": (FLOAT, FLOAT_BY_THREADS),
    "integer": (INTEGER, INTEGER_BY_THREADS),
}
"""By the probe's word: the metric of the best thread count, and that of each."""

_PEAK = re.compile(r"(\d{1,9}(?:\.\d{1,9})?) GFLOPS a core, (\d{1,6}) cores: (.+)")

GIGA = 1e9
"""The probe prints 10^9 operations a second; figures are operations a second."""

IMPOSSIBLE_SHARE = 102.0
"""Percent of the peak beyond which not the measurement but the peak is wrong; clocks are told to a percent or so."""

FEWEST_FOR_VARIATION = 3
"""Samples below which a deviation says nothing."""


class ComputeReader:
    """What the records of the compute probe mean."""

    def __init__(self) -> None:
        self._rates: dict[str, dict[int, float]] = {}
        self._variations: list[Figure] = []

    def take(self, record: Record) -> list[Sample]:
        """Take a record: a second's rate is a sample."""
        kind, threads, rate = record.words.get("kind", ""), record.count("threads"), record.number("rate")
        if kind not in KINDS or not threads or rate is None:
            return []
        if record.kind == "live":
            time = record.number("time")
            whole, by_threads = KINDS[kind]
            marks = labels(threads=str(threads))
            each = GIGA * rate
            return [] if time is None else [Sample(time, whole, each), Sample(time, by_threads, each, marks)]
        if record.kind == "result" and rate > 0:
            self._rates.setdefault(kind, {})[threads] = rate
            self._take_variation(record, kind, threads, rate)
        return []

    def _take_variation(self, record: Record, kind: str, threads: int, rate: float) -> None:
        variance, samples = record.number("variance"), record.count("samples")
        if variance is not None and samples is not None and samples >= FEWEST_FOR_VARIATION:
            deviation = math.sqrt(variance * samples / (samples - 1))
            marks = labels(kind=kind, threads=str(threads))
            self._variations.append(Figure(VARIATION, 100 * deviation / rate, marks))

    def conclude(self, head: Head) -> tuple[list[Figure], list[str]]:
        """Return the best of each kind, then each thread count, then the shares of the peak and the variations."""
        figures = [Figure(KINDS[kind][0], GIGA * max(rates.values())) for kind, rates in self._rates.items()]
        notes: list[str] = []
        for kind, rates in self._rates.items():
            whole, by_threads = KINDS[kind]
            order = sorted(rates.items(), key=lambda found: (-found[1], found[0]))
            figures += [Figure(by_threads, GIGA * rate, labels(threads=str(threads))) for threads, rate in order]
            notes += knee_note(rates, whole.title)
        peak = _read_peak(head)
        shares, note = _against_peak(self._rates.get("float", {}), peak)
        return [*figures, *shares, *self._variations], [*notes, *note]


def _read_peak(head: Head) -> Peak | None:
    match = _PEAK.fullmatch(head.words.get("peak", ""))
    return Peak(float(match[1]), int(match[2]), match[3]) if match and float(match[1]) and int(match[2]) else None


def _against_peak(rates: Mapping[int, float], peak: Peak | None) -> tuple[list[Figure], list[str]]:
    if not rates:
        return [], []
    if peak is None:
        return [], ["There is no theoretical peak to compare with: the host does not tell the processor's frequency."]
    shares = [
        Figure(PEAK_SHARE, 100 * rate / peak.gflops(threads), labels(threads=str(threads)))
        for threads, rate in rates.items()
    ]
    most = max(rates)
    whole = peak.gflops(most)
    cores = min(most, peak.cores)
    note = f"Theoretical peak of {cores} cores: {cores} x {peak.formula} = {whole:.4g} GFLOPS; {most} threads reached "
    notes = [f"{note}{rates[most] / whole:.0%} of it."]
    if max(share.value for share in shares) > IMPOSSIBLE_SHARE:
        notes.append("That is more than can be: the frequency or the units behind the peak are assumed too low.")
    return shares, notes
