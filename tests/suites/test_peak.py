"""The theoretical peak: what it is made of, and that it is missing where something is not known."""

from dataclasses import replace

import pytest

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
