"""STREAM's metrics, and the figures of a sweep over thread counts."""

from collections.abc import Mapping
from dataclasses import dataclass

from suites.sweep import knee_note
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind, labels

BANDWIDTH = Metric("bandwidth", "Best bandwidth (triad)", Unit.MB_PER_SECOND, Better.HIGHER, MetricKind.RATE)
KERNELS: Mapping[str, Metric] = {
    name: Metric(name, name.capitalize(), Unit.MB_PER_SECOND, Better.HIGHER, MetricKind.RATE)
    for name in ("triad", "add", "scale", "copy")
}
SPREAD = Metric("spread", "Spread of the times", Unit.PERCENT, Better.LOWER, MetricKind.SHARE)

METRICS = (BANDWIDTH, *KERNELS.values(), SPREAD)

FEWEST_TICKS = 20
"""Minimum clock steps of a kernel: STREAM's own rule."""


@dataclass(frozen=True, slots=True)
class Rates:
    """One kernel at one thread count: the best and worst rate in MB/s, and the clock steps of the best time."""

    best: float
    worst: float
    ticks: float | None = None


@dataclass(slots=True)
class Sweep:
    """The kernels of all measured thread counts. A count with wrong arrays has no figure."""

    rates: dict[int, dict[str, Rates]]

    def figures(self) -> list[Figure]:
        """Return the best triad of all, then each kernel by threads, the best thread count first."""
        triads = self.triads()
        if not triads:
            return []
        figures = [Figure(BANDWIDTH, max(triads.values()))]
        order = sorted(triads, key=lambda threads: (-triads[threads], threads))
        for name, metric in KERNELS.items():
            figures += [
                Figure(metric, self.rates[threads][name].best, labels(threads=str(threads)))
                for threads in order
                if name in self.rates[threads]
            ]
        for threads in order:
            for name, rates in self.rates[threads].items():
                if rates.worst > 0:
                    spread = 100 * (rates.best / rates.worst - 1)
                    figures.append(Figure(SPREAD, spread, labels(threads=str(threads), kernel=name)))
        return figures

    def triads(self) -> dict[int, float]:
        """Return the best triad by thread count."""
        return {threads: found["triad"].best for threads, found in self.rates.items() if "triad" in found}

    def notes(self) -> list[str]:
        """Return the notes of the sweep: its knee, and times too short for the clock."""
        notes = knee_note(self.triads(), "triad")
        ticks = [rates.ticks for found in self.rates.values() for rates in found.values() if rates.ticks is not None]
        if ticks and min(ticks) < FEWEST_TICKS:
            notes.append(
                f"A kernel lasted only {min(ticks):.3g} steps of the clock; STREAM requires {FEWEST_TICKS}. Use "
                "larger arrays."
            )
        return notes
