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


_ZEN4 = "Zen 4: avx512f in two passes through two FMA units of 4 doubles"
_ZEN5 = "Zen 5: two FMA units of 8 doubles"

VECTOR_UNITS = (
    VectorUnit(frozenset({"avx512f", "sse4a", "avx_vnni"}), 32, _ZEN5),
    VectorUnit(frozenset({"avx512f", "sse4a"}), 16, _ZEN4),
    VectorUnit(frozenset({"avx512f"}), 32, "avx512f: two FMA units of 8 doubles assumed"),
    VectorUnit(frozenset({"avx2", "fma"}), 16, "avx2 and fma: two FMA units of 4 doubles assumed"),
    VectorUnit(frozenset({"avx"}), 8, "avx: one addition and one multiplication of 4 doubles assumed"),
    VectorUnit(frozenset({"sse2"}), 4, "sse2: one addition and one multiplication of 2 doubles assumed"),
    VectorUnit(frozenset({"asimd"}), 8, "neon: two FMA units of 2 doubles assumed"),
)
"""By flags of /proc/cpuinfo, the first match first. The counts are those of the optimisation manuals of Intel, AMD and
Arm for server cores; a processor with one such unit, or with units of half the width, has half the peak. Only AMD has
sse4a; of its processors with avx512f, Zen 5 (guide 58455) has AVX-VNNI, and Zen 4 (57647) has not."""


@dataclass(frozen=True, slots=True)
class ProcessorModel:
    """Processors whose flags or frequencies do not show their peak, by a pattern of their model name.

    `operations` are those on doubles per core and cycle with the instructions of `flag`, 0 as by the flags; `base` and
    `boost` are GHz, 0 if the pattern is of several.
    """

    name: re.Pattern[str]
    operations: int
    assumed: str
    flag: str
    base: float
    boost: float


def _model(
    name: str, operations: int = 0, assumed: str = "", flag: str = "avx512f", *, base: float = 0.0, boost: float = 0.0
) -> ProcessorModel:
    return ProcessorModel(re.compile(name), operations, assumed, flag, base, boost)


_HALF = 8, "two FMA units of 2 doubles", "avx2"
_ONE_FMA = 16, "one FMA unit of 8 doubles"
_TURIN = 32, _ZEN5

MODELS = (
    # AMD's data sheets of EPYC 9004, 9005 and 7003: base and maximum boost clock.
    _model(r"EPYC 9654", base=2.4, boost=3.7),
    _model(r"EPYC 9554", base=3.1, boost=3.75),
    _model(r"EPYC 9354", base=3.25, boost=3.8),
    _model(r"EPYC 9754", base=2.25, boost=3.1),
    _model(r"EPYC 9755", *_TURIN, base=2.7, boost=4.1),
    _model(r"EPYC 9965", *_TURIN, base=2.25, boost=3.7),
    _model(r"EPYC 7763", base=2.45, boost=3.5),
    _model(r"EPYC 7713", base=2.0, boost=3.675),
    # AMD's Software Optimization Guides for Zen 5 (58455; its units have half the width in laptops) and Zen (55723).
    _model(r"EPYC 9[\dA-Z]\d5|Ryzen \d 9[5-9]\d\dX?(?:3D)? ", *_TURIN),
    _model(r"Ryzen AI \d", 16, "Zen 5 of laptops: avx512f in two passes through two FMA units of 4 doubles"),
    _model(r"EPYC [37]\d\d1|Ryzen (?:Threadripper|\d) (?:PRO )?[12]\d{3}", *_HALF),
    # Intel ARK, base and maximum turbo frequency.
    _model(r"Xeon\(R\) Platinum 8480\+", base=2.0, boost=3.8),
    _model(r"Xeon\(R\) Platinum 8592\+", base=1.9, boost=3.9),
    _model(r"Xeon\(R\) Platinum 8380 ", base=2.3, boost=3.4),
    # Intel ARK, "# of AVX-512 FMA Units": 1 of Bronze, Silver and Gold 51xx and 52xx of the first two generations; and
    # optimization manual: one in clients of Ice Lake, Tiger Lake and Rocket Lake, two of 128 bits in efficient cores.
    _model(r"Xeon\(R\) (?:Bronze 3[12]|Silver 4[12]|Gold 5(?!122|222)[12])\d\d", *_ONE_FMA),
    _model(r"Core\(TM\) i[3579]-(?:11\d\d|10\d\dN?G)|Xeon\(R\) (?:E-23|W-13|W-11\d)\d\d", *_ONE_FMA),
    _model(r"Intel\(R\) N\d\d|i3-N\d\d\d|Atom\(TM\) x7\d|Xeon\(R\) 6\d{3}E", *_HALF),
    # Arm's Software Optimization Guides of Neoverse V1 and V2 (four pipes of 128 bits); Fujitsu's A64FX manual.
    _model(r"Neoverse-V[12]", 16, "four FMA units of 2 doubles", "asimd"),
    _model(r"A64FX", 32, "two FMA units of 8 doubles", "sve"),
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
    if model is not None and model.operations and model.flag in (flags or ()):
        operations, assumed = model.operations, model.assumed
    gigahertz, source = frequency
    formula = f"{gigahertz:g} GHz x {operations} a cycle ({'; '.join(filter(None, (assumed, source)))})"
    return Peak(gigahertz * operations, cores, formula)
