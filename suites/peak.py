"""The theoretical peak of a processor in floating-point operations, and the assumptions it rests on."""

from dataclasses import dataclass

from suites.facts import Absent, Facts, known


@dataclass(frozen=True, slots=True)
class VectorUnit:
    """What a processor with these flags can do at most: `operations` on doubles a core and cycle, and why."""

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
    """The peak of `cores` cores, each of `core` GFLOPS, with the formula it comes from."""

    core: float
    cores: int
    formula: str

    def gflops(self, threads: int) -> float:
        """Return the peak of `threads` threads: those beyond the cores add nothing."""
        return self.core * min(threads, self.cores)

    def words(self) -> str:
        """Return the peak in one line, as it stands in a command and in the output."""
        return f"{self.core:g} GFLOPS a core, {self.cores} cores: {self.formula}"


def peak_of(facts: Facts | None) -> Peak | Absent:
    """Return the host's peak, or why there is none: frequency, flags and cores have to be known."""
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
