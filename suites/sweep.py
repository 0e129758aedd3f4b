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
class ProcessorModel:
    """Processors whose flags or frequencies do not show their peak, by a pattern of their model name.

    `operations` are those on doubles per core and cycle, None as by the flags; `base` and `boost` are GHz, 0 if the
    pattern is of several.
    """

    name: re.Pattern[str]
    operations: int | None
    assumed: str
    base: float = 0.0
    boost: float = 0.0


def _model(
    name: str, operations: int | None = None, assumed: str = "", base: float = 0.0, boost: float = 0.0
) -> ProcessorModel:
    return ProcessorModel(re.compile(name), operations, assumed, base, boost)


_ZEN4 = "Zen 4: avx512f in two passes through two FMA units of 4 doubles"
_ONE_FMA = "one FMA unit of 8 doubles"
_GENOA, _TURIN = (16, _ZEN4), (32, "Zen 5: two FMA units of 8 doubles")

MODELS = (
    # AMD's data sheets of EPYC 9004, 9005 and 7003: base and maximum boost clock.
    _model(r"EPYC 9654", *_GENOA, 2.4, 3.7),
    _model(r"EPYC 9554", *_GENOA, 3.1, 3.75),
    _model(r"EPYC 9354", *_GENOA, 3.25, 3.8),
    _model(r"EPYC 9754", *_GENOA, 2.25, 3.1),
    _model(r"EPYC 9755", *_TURIN, 2.7, 4.1),
    _model(r"EPYC 9965", *_TURIN, 2.25, 3.7),
    _model(r"EPYC 7763", base=2.45, boost=3.5),
    _model(r"EPYC 7713", base=2.0, boost=3.675),
    # AMD's Software Optimization Guides for Zen 4 (57647) and Zen 5 (58455): width of the floating-point units.
    _model(r"EPYC (?:9\d\d4|9R14|9V\d4|8\d\d4)|Ryzen \d 7[5-9]\d\dX?(?:3D)? ", *_GENOA),
    _model(r"EPYC (?:9\d\d5|9R45|9V45)|Ryzen \d 9[5-9]\d\dX?(?:3D)? ", *_TURIN),
    # Intel ARK, base and maximum turbo frequency.
    _model(r"Xeon\(R\) Platinum 8480\+", base=2.0, boost=3.8),
    _model(r"Xeon\(R\) Platinum 8592\+", base=1.9, boost=3.9),
    _model(r"Xeon\(R\) Platinum 8380 ", base=2.3, boost=3.4),
    # Intel ARK, "# of AVX-512 FMA Units": 1 of Bronze, Silver and Gold 51xx and 52xx of the first two generations.
    _model(r"Xeon\(R\) (?:Bronze 3[12]|Silver 4[12]|Gold 5(?!122|222)[12])\d\d", 16, _ONE_FMA),
    _model(r"Core\(TM\) i[3579]-11\d{3}", 16, _ONE_FMA),
)
"""Processors by model, the first match first."""

_NAMED_BASE = re.compile(r"@ (\d\.\d\d)GHz")
"""The base frequency in the model names of Intel."""


def _frequency(facts: Facts, model: ProcessorModel | None) -> tuple[float, str] | Absent:
    """Return the frequency in GHz and its source: of cpufreq, else of the model, else of /proc/cpuinfo in a guest."""
    maximum, named = facts.cpu.frequency_maximum, _NAMED_BASE.search(known(facts.cpu.model) or "")
    if not isinstance(maximum, Absent):
        return maximum / 1000, ""
    if model is not None and model.boost:
        return model.boost, f"boost of the model, base {model.base:g} GHz"
    if named is not None:
        return float(named[1]), "base of the model; the boost is higher"
    guest = facts.cpu.frequency_guest
    if not isinstance(guest, Absent):
        return guest / 1000, "cpu MHz of /proc/cpuinfo, the base clock in virtual machines; the boost is higher"
    return Absent(f"the frequency is not known, {maximum.reason}")


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
    name = known(facts.cpu.model) or ""
    model = next((model for model in MODELS if model.name.search(f"{name} ")), None)
    frequency, flags, cores = _frequency(facts, model), known(facts.cpu.flags), known(facts.cpu.cores)
    if isinstance(frequency, Absent):
        return frequency
    unit = next((unit for unit in VECTOR_UNITS if unit.flags <= set(flags or ())), None)
    if unit is None or cores is None:
        return Absent("the vector units are not known" if unit is None else "the number of cores is not known")
    operations, assumed = unit.operations, unit.assumed
    if model is not None and model.operations is not None and "avx512f" in (flags or ()):
        operations, assumed = model.operations, model.assumed
    gigahertz, source = frequency
    formula = f"{gigahertz:g} GHz x {operations} a cycle ({'; '.join(filter(None, (assumed, source)))})"
    return Peak(gigahertz * operations, cores, formula)
