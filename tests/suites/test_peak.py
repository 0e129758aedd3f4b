"""The theoretical peak: what it is made of, and that it is missing where something is not known."""

from dataclasses import replace

import pytest

from suites.base import Context, complete_values
from suites.compute import Compute
from suites.facts import Absent, Facts
from suites.sweep import Peak, peak_of
from tests.messages import messages
from tests.suites.host_facts import host

MESSAGES = messages("suites", "test_peak")


def processor(flags: tuple[str, ...] | Absent, frequency: float | Absent = 2600.0, cores: int | Absent = 4) -> Facts:
    facts = host()
    return replace(facts, cpu=replace(facts.cpu, flags=flags, frequency_maximum=frequency, cores=cores))


@pytest.mark.parametrize(
    ("flags", "core"),
    [
        (("sse2", "avx", "avx2", "fma", "avx512f"), 83.2),
        (("sse2", "avx", "avx2", "fma"), 41.6),
        (("sse2", "avx", "avx2"), 20.8),
        (("sse2",), 10.4),
        (("fp", "asimd"), 20.8),
    ],
)
def test_the_widest_unit_counts(flags: tuple[str, ...], core: float) -> None:
    peak = peak_of(processor(flags))
    assert isinstance(peak, Peak)
    assert peak.core == pytest.approx(core)


def test_the_formula_is_shown_with_its_assumption() -> None:
    peak = peak_of(processor(("avx512f",)))
    assert isinstance(peak, Peak)
    assert peak.words() == (MESSAGES["83_2_gflops_a_core_4_cores_2"])


def test_what_the_probe_prints_is_read_back_and_so_is_what_earlier_versions_had_it_print() -> None:
    peak = Peak(83.2, 4, "2.6 GHz x 32 a cycle")
    assert Peak.parse(peak.words()) == peak
    assert Peak.parse("83.2 GFLOPS a core, 4 cores: 2.6 GHz x 32 a cycle") == peak
    assert Peak.parse("core=0 cores=4 unknown") is None


def test_threads_beyond_the_cores_add_nothing() -> None:
    peak = Peak(10.0, 4, "")
    assert [peak.gflops(threads) for threads in (1, 4, 8)] == [10.0, 40.0, 40.0]


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (None, "the host's facts have not been read"),
        (processor(("avx2", "fma"), Absent("no cpufreq in /sys")), "the frequency is not known, no cpufreq in /sys"),
        (processor(()), "the vector units are not known"),
        (processor(Absent("no cpuinfo")), "the vector units are not known"),
        (processor(("sse2",), cores=Absent("not told")), "the number of cores is not known"),
    ],
)
def test_what_is_not_known_makes_no_peak(facts: Facts | None, reason: str) -> None:
    assert peak_of(facts) == Absent(reason)


AVX2 = ("avx2", "fma")
AVX512 = (*AVX2, "avx512f")
AMD = (*AVX512, "sse4a")
HIDDEN = Absent("no cpufreq in /sys (virtual machine)")


@pytest.mark.parametrize(
    ("model", "flags", "operations"),
    [
        ("AMD EPYC 9R14", AMD, 16),  # Zen 4: Software Optimization Guide 57647
        ("AMD EPYC 9B14", AMD, 16),
        ("AMD EPYC 9V33X 96-Core Processor", AMD, 16),
        ("AMD EPYC", AMD, 16),  # the name is masked
        ("AMD Ryzen 9 7945HX with Radeon Graphics", AMD, 16),
        ("AMD Ryzen Threadripper PRO 7995WX 96-Cores", AMD, 16),
        ("AMD Ryzen Threadripper PRO 9995WX 96-Cores", (*AMD, "avx_vnni"), 32),
        ("AMD Ryzen AI 9 HX 370 w/ Radeon 890M", (*AMD, "avx_vnni"), 16),
        ("AMD EPYC 7571", (*AVX2, "sse4a"), 8),  # Zen: guide 55723
        ("AMD Ryzen 7 1700 Eight-Core Processor", (*AVX2, "sse4a"), 8),
        ("AMD EPYC 7R32", (*AVX2, "sse4a"), 16),
        ("AMD EPYC 9575F 64-Core Processor", AMD, 32),  # Zen 5: guide 58455
        ("AMD Ryzen 9 9950X 16-Core Processor", AVX512, 32),
        ("AMD EPYC 9654 96-Core Processor", ("avx2", "fma"), 16),  # avx512 masked
        ("AMD EPYC 7763 64-Core Processor", ("avx2", "fma"), 16),
        ("Intel(R) Xeon(R) Silver 4114 CPU @ 2.20GHz", AVX512, 16),  # ARK: 1 AVX-512 FMA unit
        ("Intel(R) Xeon(R) Gold 5122 CPU @ 3.60GHz", AVX512, 32),  # ARK: 2
        ("Intel(R) Xeon(R) Platinum 8380 CPU @ 2.30GHz", AVX512, 32),
        ("11th Gen Intel(R) Core(TM) i7-1165G7 @ 2.80GHz", AVX512, 16),
        ("Intel(R) Core(TM) i5-1035G1 CPU @ 1.00GHz", AVX512, 16),
        ("Intel(R) Xeon(R) E-2336 CPU @ 2.90GHz", AVX512, 16),
        ("Intel(R) Xeon(R) Platinum 8488C", (*AVX512, "avx_vnni"), 32),
        ("Intel(R) N100", AVX2, 8),
        ("Intel(R) Xeon(R) 6780E", AVX2, 8),
        ("Neoverse-N1", ("asimd",), 8),  # Graviton 2, Ampere Altra
        ("Neoverse-V1", ("asimd", "sve"), 16),  # Graviton 3
        ("Neoverse-V2", ("asimd", "sve", "sve2"), 16),  # Graviton 4
        ("Neoverse-N2", ("asimd", "sve", "sve2"), 8),
    ],
)
def test_documented_parts_have_their_width(model: str, flags: tuple[str, ...], operations: int) -> None:
    facts = processor(flags, 2000.0)
    peak = peak_of(replace(facts, cpu=replace(facts.cpu, model=model)))
    assert isinstance(peak, Peak)
    assert peak.core == 2 * operations


@pytest.mark.parametrize(
    ("model", "core", "source"),
    [
        ("AMD EPYC 9755 128-Core Processor", 4.1 * 32, "boost of the model, base 2.7 GHz"),  # AMD: 2.7 and 4.1 GHz
        ("AMD EPYC 9654 96-Core Processor", 3.7 * 16, "boost of the model, base 2.4 GHz"),  # AMD: 2.4 and 3.7 GHz
        ("Intel(R) Xeon(R) Platinum 8480+", 3.8 * 32, "boost of the model, base 2 GHz"),  # ARK: 2.0 and 3.8 GHz
        ("Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz", 2.4 * 32, "base of the model; the boost is higher"),
    ],
)
def test_a_virtual_machine_has_the_frequency_of_its_model(model: str, core: float, source: str) -> None:
    facts = processor(AMD if "AMD" in model else AVX512, HIDDEN)
    peak = peak_of(replace(facts, cpu=replace(facts.cpu, model=model)))
    assert isinstance(peak, Peak)
    assert peak.core == pytest.approx(core)
    assert source in peak.formula


def test_a_guest_of_unnamed_model_has_the_frequency_of_cpuinfo() -> None:
    facts = processor(AVX512, HIDDEN)
    peak = peak_of(replace(facts, cpu=replace(facts.cpu, model="AMD EPYC", frequency_guest=2600.0)))
    assert isinstance(peak, Peak)
    assert peak.core == pytest.approx(2.6 * 32)
    assert "cpu MHz of /proc/cpuinfo" in peak.formula


def test_a_peak_that_is_typed_in_counts() -> None:
    suite = Compute()
    (command,) = suite.commands(complete_values(suite, {"peak": 59.2}), Context(processor(AVX512)))[-1:]
    assert "core=59.2 cores=4 as set" in command.argv
