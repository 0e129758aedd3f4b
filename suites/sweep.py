"""Sweeps over a setting such as threads: the measured values and the knee of the curve."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from suites.facts import Absent, Facts, known

KNEE_SHARE = 0.95
"""Share of the best that defines the knee: the lowest setting to reach it. A gain below 5 % is within the noise of the
tests here: trials of one host differ by 1 to 5 %."""

FEWEST_POINTS = 3
"""Minimum number of values for a curve to have a knee."""


def thread_counts(most: int, sweep: str) -> tuple[int, ...]:
    """Return the thread counts of a sweep up to `most`, which is always included.

    `sweep` is "every" (1, 2, 3 ..), "doubling" (1, 2, 4 ..) or "single" (`most` alone), as in probe.h.
    """
    if sweep == "every":
        return tuple(range(1, most + 1))
    if sweep == "doubling":
        return (*(1 << power for power in range(most.bit_length()) if 1 << power < most), most)
    return (most,)


def knee(values: Mapping[int, float]) -> int | None:
    """Return the lowest setting whose value reaches KNEE_SHARE of the best, None without a curve or if all are zero.

    `values` are of a metric where higher is better, by thread count or another setting.
    """
    if len(values) < FEWEST_POINTS:
        return None
    best = max(values.values())
    if best <= 0:  # no work was done
        return None
    return min(threads for threads, value in values.items() if value >= KNEE_SHARE * best)


def knee_note(values: Mapping[int, float], what: str) -> list[str]:
    """Return the note about the knee of `what`, if there is one."""
    found = knee(values)
    if found is None:
        return []
    share = values[found] / max(values.values())
    if found == max(values):
        return [f"No knee: {what} still grows at {found} threads."]
    threads = "1 thread gives" if found == 1 else f"{found} threads give"
    return [f"Knee of {what} at {found}: {threads} {share:.0%} of the best; more threads add little."]


def depth_knee_note(values: Mapping[int, float], what: str) -> list[str]:
    """Return the note about the knee of `what` over the I/Os in flight."""
    found = knee(values)
    if found is None:
        return []
    if found == max(values):
        return [f"{what}: no knee, still growing with {found} in flight."]
    share = values[found] / max(values.values())
    return [f"{what}: knee at {found} in flight, with {share:.0%} of the best; more add little."]


# The theoretical peak of a processor in floating-point operations, and its assumptions.


@dataclass(frozen=True, slots=True)
class VectorUnit:
    """Peak of a processor with these flags: `operations` on doubles per core and cycle, and the assumption."""

    flags: frozenset[str]
    operations: int
    assumed: str


VECTOR_UNITS = (
    VectorUnit(frozenset({"avx512f"}), 32, "avx512f: two FMA units of 8 doubles assumed"),
    VectorUnit(frozenset({"avx2", "fma"}), 16, "avx2 and fma: two FMA units of 4 doubles assumed"),
    VectorUnit(frozenset({"avx"}), 8, "avx: one addition and one multiplication of 4 doubles assumed"),
    VectorUnit(frozenset({"sse2"}), 4, "sse2: one addition and one multiplication of 2 doubles assumed"),
    VectorUnit(frozenset({"asimd"}), 8, "neon: two FMA units of 2 doubles assumed"),
)
"""By flags of /proc/cpuinfo, the widest first. The counts are those of the optimisation manuals of Intel, AMD and Arm
for server cores; a processor with one such unit, or with units of half the width, has half the peak."""


@dataclass(frozen=True, slots=True)
class Peak:
    """Peak of `cores` cores, each of `core` GFLOPS, with its formula."""

    core: float
    cores: int
    formula: str

    def gflops(self, threads: int) -> float:
        """Return the peak of `threads` threads: those beyond the cores add nothing."""
        return self.core * min(threads, self.cores)

    def words(self) -> str:
        """Return the peak as an argument of the probe, which prints it for parse()."""
        return f"core={self.core:g} cores={self.cores} {self.formula}"

    @classmethod
    def parse(cls, words: str) -> Self | None:
        """Return the peak that the probe printed, None for none."""
        match = _PEAK.fullmatch(words)
        return cls(float(match[1]), int(match[2]), match[3]) if match and float(match[1]) and int(match[2]) else None


_PEAK = re.compile(r"(?:core=)?(\d{1,9}(?:\.\d{1,9})?)(?: GFLOPS a core,)? (?:cores=)?(\d{1,6})(?: cores:)? (.+)")
"""The fields of words(); outputs of earlier versions have ``83.2 GFLOPS a core, 2 cores:`` for them."""


def peak_of(facts: Facts | None) -> Peak | Absent:
    """Return the host's peak, or why it is not known: it needs frequency, flags and cores."""
    if facts is None:
        return Absent("the host's facts have not been read")
    frequency, flags, cores = facts.cpu.frequency_maximum, known(facts.cpu.flags), known(facts.cpu.cores)
    if isinstance(frequency, Absent):
        return Absent(f"the frequency is not known, {frequency.reason}")
    unit = next((unit for unit in VECTOR_UNITS if unit.flags <= set(flags or ())), None)
    if unit is None or cores is None:
        return Absent("the vector units are not known" if unit is None else "the number of cores is not known")
    formula = f"{frequency / 1000:g} GHz x {unit.operations} a cycle ({unit.assumed})"
    return Peak(frequency / 1000 * unit.operations, cores, formula)
