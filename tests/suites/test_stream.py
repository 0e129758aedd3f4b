"""The STREAM suite: its commands, what it tunes, and what it warns of."""

from dataclasses import replace

import pytest

from suites.base import Context, Purpose, complete_values, tuned_values
from suites.facts import Facts
from suites.programs import COMPILER
from suites.stream.suite import Stream
from suites.vocab import Severity
from tests.messages import messages
from tests.suites.host_facts import GIB, MIB, applied, evidence, host, raised, silent

MESSAGES = messages("suites", "test_stream")

SUITE = Stream()
DEFAULTS = complete_values(SUITE, {})


def x86(**given: object) -> Facts:
    facts = host(**given)  # type: ignore[arg-type]  # each has a type of its own
    return replace(facts, system=replace(facts.system, architecture="x86_64"))


def lines(context: Context, **given: object) -> list[str]:
    return [" ".join(command.argv) for command in SUITE.commands(complete_values(SUITE, given), context)]


def test_the_probe_is_built_on_the_host_and_run_once() -> None:
    build, run = SUITE.commands(
        complete_values(SUITE, {"array_size": "128 MiB", "build": "host"}), Context(x86(cpus=4, gcc="gcc 12.2.0"))
    )
    assert (build.purpose, run.purpose) == (Purpose.PREPARE, Purpose.MEASURE)
    assert build.argv == (
        "gcc", "-std=gnu11", "-O3", "-pthread", "-march=native",
        '-DBUILD="-std=gnu11 -O3 -pthread -march=native"', "-o", "stream", "stream.c",
    )  # fmt: skip
    assert [file.name for file in build.files] == ["stream.c", "probe.h"]
    assert " ".join(run.argv) == "./stream --elements 16777216 --times 10 --threads 4 --sweep every"


@pytest.mark.parametrize("tools", [{}, {"gcc": "gcc 12.2.0"}], ids=["no compiler", "compiler"])
@pytest.mark.parametrize("architecture", ["x86_64", "aarch64"])
def test_the_shipped_one_runs_wherever_it_can(architecture: str, tools: dict[str, str]) -> None:
    facts = host(cpus=4, **tools)  # type: ignore[arg-type]  # tools alone
    facts = replace(facts, system=replace(facts.system, architecture=architecture))
    (run,) = SUITE.commands(DEFAULTS, Context(facts))
    (file,) = run.files
    assert (file.name, file.executable, file.resource) == ("stream", True, f"probes/bin/{architecture}/stream")
    assert SUITE.programs(DEFAULTS, facts) == ()


def test_a_build_here_is_for_what_the_host_promises() -> None:
    facts = x86(cpus=4)
    facts = replace(
        facts, cpu=replace(facts.cpu, flags=("fpu", "cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"))
    )
    (run,) = SUITE.commands(complete_values(SUITE, {"build": "here"}), Context(facts))
    (file,) = run.files
    assert (file.name, file.executable) == ("stream", True)
    assert file.build is not None
    assert file.build.architecture == "x86_64"
    assert file.build.options[:4] == ("-std=gnu11", "-O3", "-pthread", "-march=x86-64-v2")
    assert file.build.options[-1] == '-DBUILD="-std=gnu11 -O3 -pthread -march=x86-64-v2 -static"'


@pytest.mark.parametrize(
    ("architecture", "option"), [("aarch64", "-mcpu=native"), ("riscv64", None), ("x86_64", "-march=native")]
)
def test_the_build_is_for_the_hosts_own_processor(architecture: str, option: str | None) -> None:
    facts = host(gcc="gcc 12.2.0")
    facts = replace(facts, system=replace(facts.system, architecture=architecture))
    build = SUITE.commands(complete_values(SUITE, {"build": "host"}), Context(facts))[0].argv
    assert build[1:4] == ("-std=gnu11", "-O3", "-pthread")
    assert (option in build) == (option is not None)


def test_the_users_own_program_runs_once_for_each_thread_count() -> None:
    assert lines(Context(x86(cpus=4)), program="/opt/stream", sweep="doubling") == [
        "env OMP_NUM_THREADS=1 /opt/stream",
        "env OMP_NUM_THREADS=2 /opt/stream",
        "env OMP_NUM_THREADS=4 /opt/stream",
    ]
    assert lines(Context(), program="/opt/stream") == ["/opt/stream"]


def test_threads_keep_within_the_quota_and_the_probe_counts_where_nothing_is_known() -> None:
    assert "--threads 2" in lines(Context(x86(cpus=64, quota=2.5, gcc="12")))[-1]
    assert "--threads 0" in lines(Context())[-1]
    assert "--threads 3" in lines(Context(x86(cpus=64)), threads=3)[-1]


def test_no_tool_need_be_installed() -> None:
    assert SUITE.program not in SUITE.programs(DEFAULTS, None)


def test_the_arrays_are_four_times_the_cache() -> None:
    tuned = SUITE.tune(Context(x86(cpus=8, cache=32 * MIB)))
    assert tuned["array_size"].value == 128 * MIB
    assert MESSAGES["4_times_the_32_mib_of_last"] in tuned["array_size"].why
    assert "sweep" not in tuned


def test_the_arrays_of_a_large_cache_are_rounded_up() -> None:
    assert tuned_values(SUITE, Context(x86(cache=33 * MIB + 1)))["array_size"] == 133 * MIB


def test_the_arrays_leave_half_of_the_memory() -> None:
    tuned = SUITE.tune(Context(x86(cache=256 * MIB, available=3 * GIB)))
    assert tuned["array_size"].value == 512 * MIB
    assert "do not fit" in tuned["array_size"].why


def test_an_unknown_cache_is_not_guessed_at_but_left_far_behind() -> None:
    assert SUITE.tune(Context())["array_size"].value == 256 * MIB


def test_many_cpus_are_swept_by_doubling() -> None:
    tuned = SUITE.tune(Context(x86(cpus=96)))
    assert tuned["sweep"].value == "doubling"
    assert "1, 2, 4, 8, 16, 32, 64, 96" in tuned["sweep"].why


def test_the_estimate_is_the_sum_of_the_sweep() -> None:
    one = SUITE.estimate(complete_values(SUITE, {"threads": 1}), Context()).duration
    two = SUITE.estimate(complete_values(SUITE, {"threads": 2}), Context()).duration
    assert one is not None
    assert two == pytest.approx(1.5 * one)
    assert SUITE.estimate(DEFAULTS, Context()).duration is None
    assert SUITE.estimate(complete_values(SUITE, {"program": "/x", "threads": 1}), Context()).duration is None


@pytest.mark.parametrize(
    "facts",
    [x86(gcc="12"), x86(cpus=1, gcc="12"), x86(), x86(cpus=192, cache=768 * MIB, available=700 * GIB, gcc="12")],
    ids=["compiler", "1 CPU", "no compiler", "large"],
)
def test_tuned_values_on_a_quiet_host_raise_nothing(facts: Facts) -> None:
    context = Context(facts)
    step = evidence(SUITE, context, **tuned_values(SUITE, context))
    assert raised(step) == {}
    assert silent(step) == set()


def test_arrays_within_the_cache_are_warned_about() -> None:
    step = evidence(SUITE, Context(x86(cache=32 * MIB, gcc="12")), array_size="4 MiB")
    finding = raised(step)["stream-array-in-cache"]
    assert finding.severity is Severity.WARNING
    assert finding.measured == MESSAGES["each_array_has_4_mib_0_12"]
    assert raised(applied(step, "stream-array-in-cache")) == {}


def test_arrays_that_do_not_fit_are_an_error() -> None:
    step = evidence(SUITE, Context(x86(available=GIB, gcc="12")), array_size="1 GiB")
    finding = raised(step)["memory-too-small"]
    assert finding.measured == MESSAGES["the_three_arrays_take_3_gib"]
    assert "memory-too-small" not in raised(applied(step, "memory-too-small"))


def test_what_is_not_known_is_not_judged() -> None:
    assert silent(evidence(SUITE, Context(x86(cache=None, available=None, gcc="12")))) == {
        "stream-array-in-cache",
        "memory-too-small",
    }
    assert "probe-no-compiler" in silent(evidence(SUITE, Context(), build="shipped"))


@pytest.mark.parametrize("build", ["auto", "host"])
def test_an_architecture_without_a_shipped_one_needs_a_compiler(build: str) -> None:
    facts = replace(host(), system=replace(host().system, architecture="riscv64"))
    assert SUITE.programs(complete_values(SUITE, {"build": build}), facts) == (COMPILER,)
    assert "probe-no-compiler" not in raised(evidence(SUITE, Context(facts), build=build))


@pytest.mark.parametrize("build", ["shipped", "here"])
def test_a_build_that_is_not_made_for_the_architecture_is_moved_to_the_host(build: str) -> None:
    facts = replace(host(), system=replace(host().system, architecture="riscv64"))
    step = evidence(SUITE, Context(facts), build=build)
    finding = raised(step)["probe-no-compiler"]
    assert (finding.severity, finding.measured) == (Severity.ERROR, "The host is riscv64.")
    assert finding.changes == {"build": "host"}
    assert "probe-no-compiler" not in raised(applied(step, "probe-no-compiler"))
    assert "probe-no-compiler" not in raised(evidence(SUITE, Context(x86()), build=build))


def test_an_own_program_on_small_pages_is_noted_and_the_probe_is_not() -> None:
    def of(mode: str, program: str) -> set[str]:
        facts = x86(cache=32 * MIB)
        facts = replace(facts, memory=replace(facts.memory, transparent_huge_pages=mode))
        return set(raised(evidence(SUITE, Context(facts), program=program))) & {
            "stream-small-pages",
            "huge-pages-off",
        }

    assert of("madvise", "/opt/stream") == {"stream-small-pages"}
    assert of("never", "/opt/stream") == of("never", "") == {"huge-pages-off"}
    assert of("always", "/opt/stream") == of("madvise", "") == set()
    for mode, check in (("madvise", "stream-small-pages"), ("never", "huge-pages-off")):
        facts = x86(cache=32 * MIB)
        facts = replace(facts, memory=replace(facts.memory, transparent_huge_pages=mode, page_size=64 * 1024))
        assert "64 KiB" in raised(evidence(SUITE, Context(facts), program="/opt/stream"))[check].measured


def test_the_users_own_program_has_arrays_of_its_own() -> None:
    step = evidence(SUITE, Context(x86(cache=32 * MIB)), program="/opt/stream", array_size="1 MiB")
    assert set(raised(step)) == {"stream-own-array"}
    assert MESSAGES["at_least_128_mib_on_this"] in raised(step)["stream-own-array"].measured
