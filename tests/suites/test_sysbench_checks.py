"""What is known to fool people about sysbench is said with its evidence, and never where there is nothing to say."""

import pytest

from suites.base import Context, Suite, tuned_values
from suites.facts import Facts
from suites.sysbench.cpu import SysbenchCpu
from suites.sysbench.memory import SysbenchMemory
from suites.vocab import Severity
from tests.messages import messages
from tests.suites.host_facts import GIB, MIB, applied, evidence, host, limited, raised, silent

MESSAGES = messages("suites", "test_sysbench_checks")

CPU, MEMORY = SysbenchCpu(), SysbenchMemory()


@pytest.mark.parametrize("suite", [CPU, MEMORY], ids=lambda suite: suite.id)
@pytest.mark.parametrize(
    "facts",
    [
        host(),
        host(cpus=1),
        host(cpus=2, cache=32 * MIB, available=900 * MIB),
        host(cpus=192, cache=768 * MIB, available=700 * GIB),
        host(cpus=64, quota=2),
    ],
    ids=["8 CPUs", "1 CPU", "small", "large", "container"],
)
def test_tuned_values_on_a_quiet_host_raise_nothing(suite: Suite, facts: Facts) -> None:
    context = Context(facts)
    step = evidence(suite, context, **tuned_values(suite, context))
    assert raised(step) == {}
    assert silent(step) == set()


def test_the_cpu_defaults_are_warned_about_with_the_hosts_cpus() -> None:
    step = evidence(CPU, Context(host(cpus=8)))
    finding = raised(step)["sysbench-cpu-defaults"]
    assert finding.severity is Severity.WARNING
    assert finding.measured == MESSAGES["cpu_max_prime_is_10_000_1"]
    assert finding.changes == {"cpu_max_prime": 20000, "threads": 8}
    assert "sysbench-cpu-defaults" not in raised(applied(step, "sysbench-cpu-defaults"))


def test_the_events_of_the_old_default_are_warned_about() -> None:
    finding = raised(evidence(CPU, Context(host(cpus=8)), threads=8, events=10000))["sysbench-cpu-defaults"]
    assert finding.severity is Severity.WARNING
    assert "after 10,000" in finding.measured
    assert finding.changes == {"cpu_max_prime": 20000, "events": 0}


def test_the_prime_limit_alone_is_worth_a_hint_only() -> None:
    finding = raised(evidence(CPU, Context(host(cpus=8)), threads=8))["sysbench-cpu-defaults"]
    assert (finding.severity, finding.changes) == (Severity.INFO, {"cpu_max_prime": 20000})


def test_unknown_cpus_are_not_guessed() -> None:
    step = evidence(CPU, Context(host(cpus=None)), cpu_max_prime=20000)
    assert raised(step) == {}
    assert silent(step) == {"sysbench-cpu-defaults", "more-threads-than-cpus"}
    assert "cpu-quota" in silent(evidence(CPU, Context()))


@pytest.mark.parametrize("suite", [CPU, MEMORY], ids=lambda suite: suite.id)
@pytest.mark.parametrize(("time", "level"), [(2, Severity.WARNING), (5, Severity.INFO), (9, Severity.INFO)])
def test_a_short_run_is_said_to_be_short(suite: Suite, time: int, level: Severity) -> None:
    step = evidence(suite, Context(host()), time=time)
    finding = raised(step)["short-runtime"]
    assert (finding.title, finding.severity) == ("Runtime too short", level)
    assert finding.measured.startswith(f"time is {time} s")
    assert "short-runtime" not in raised(applied(step, "short-runtime"))


def test_the_tools_own_run_time_is_not_short() -> None:
    assert "short-runtime" not in raised(evidence(CPU, Context(host())))


def test_more_threads_than_cpus() -> None:
    step = evidence(CPU, Context(host(cpus=8)), threads=9)
    assert raised(step)["more-threads-than-cpus"].measured == MESSAGES["9_threads_on_8_usable_cpus"]
    assert "more-threads-than-cpus" not in raised(applied(step, "more-threads-than-cpus"))


def test_threads_above_the_quota() -> None:
    step = evidence(CPU, Context(host(cpus=8, quota=2.5)), threads=4)
    assert raised(step)["cpu-quota"].measured == MESSAGES["4_threads_the_cgroup_grants"]
    assert raised(step)["cpu-quota"].changes == {"threads": 2}
    assert "cpu-quota" not in raised(applied(step, "cpu-quota"))


def test_a_quota_below_one_cpu_has_no_remedy_in_threads() -> None:
    finding = raised(evidence(CPU, Context(host(cpus=8, quota=0.5)), threads=1))["cpu-quota"]
    assert finding.changes == {}
    assert "outside this cgroup" in finding.remedy


def test_the_default_block_measures_its_loop() -> None:
    step = evidence(MEMORY, Context(host(cache=32 * MIB)))
    finding = raised(step)["sysbench-memory-block"]
    assert finding.severity is Severity.WARNING
    assert finding.measured == MESSAGES["block_size_is_1_kib_the_host"]
    assert "4 to 5 times" in finding.why
    assert raised(applied(step, "sysbench-memory-block")) == {}


@pytest.mark.parametrize(
    ("given", "measured"),
    [
        ({"block_size": "1 MiB"}, "1 MiB of blocks for 32 MiB of last-level cache: 0.031 times its size."),
        ({"block_size": "64 MiB"}, "64 MiB of blocks for 32 MiB of last-level cache: 2 times its size."),
        (
            {"block_size": "1 MiB", "threads": 8, "scope": "local"},
            "8 MiB of blocks for 32 MiB of last-level cache: 0.25 times its size.",
        ),
    ],
)
def test_a_block_that_caches_hold_measures_them(given: dict[str, object], measured: str) -> None:
    step = evidence(MEMORY, Context(host(cache=32 * MIB)), **given)
    assert raised(step)["sysbench-memory-block"].measured == measured
    assert "sysbench-memory-block" not in raised(applied(step, "sysbench-memory-block"))


def test_an_unknown_cache_is_not_guessed() -> None:
    context = Context(host(cache=None))
    assert "sysbench-memory-block" in silent(evidence(MEMORY, context, block_size="1 MiB"))
    step = evidence(MEMORY, context)  # 1 KiB measures its loop whatever the cache
    assert raised(step)["sysbench-memory-block"].changes["block_size"] == 256 * MIB


def test_the_loop_alone_has_no_block_to_speak_of() -> None:
    assert "sysbench-memory-block" not in raised(evidence(MEMORY, Context(host()), operation="none"))


def test_a_block_that_is_no_power_of_two_is_refused() -> None:
    step = evidence(MEMORY, Context(host()), block_size="96 MiB")
    finding = raised(step)["sysbench-memory-block-refused"]
    assert (finding.severity, finding.changes) == (Severity.ERROR, {"block_size": 128 * MIB})


def test_a_total_that_no_thread_can_start_on_is_an_error() -> None:
    step = evidence(MEMORY, Context(host()), block_size="1 GiB", total_size="3 GiB", threads=4)
    finding = raised(step)["sysbench-memory-total"]
    assert finding.severity is Severity.ERROR
    assert "0.00 MiB/sec" in finding.why
    assert "sysbench-memory-total" not in raised(applied(step, "sysbench-memory-total"))


def test_a_total_that_ends_the_run_early_is_warned_about() -> None:
    step = evidence(MEMORY, Context(host()), block_size="128 MiB")
    finding = raised(step)["sysbench-memory-total"]
    assert finding.severity is Severity.WARNING
    assert "it would take 3.1 s" in finding.measured
    assert "sysbench-memory-total" not in raised(applied(step, "sysbench-memory-total"))


def test_the_default_total_lasts_for_the_default_block() -> None:
    assert "sysbench-memory-total" not in raised(evidence(MEMORY, Context(host())))


def test_threads_that_write_one_block() -> None:
    step = evidence(MEMORY, Context(host()), threads=4, block_size="128 MiB")
    assert raised(step)["sysbench-memory-shared"].severity is Severity.INFO
    assert raised(step)["sysbench-memory-shared"].changes == {"scope": "local"}
    assert "sysbench-memory-shared" not in raised(evidence(MEMORY, Context(host()), threads=4, operation="read"))


@pytest.mark.parametrize("facts", [host(available=GIB), limited(host(), GIB)])
def test_blocks_that_do_not_fit_into_memory_are_an_error(facts: Facts) -> None:
    step = evidence(MEMORY, Context(facts), block_size="512 MiB", threads=4, scope="local")
    finding = raised(step)["memory-too-small"]
    assert finding.severity is Severity.ERROR
    assert finding.measured == MESSAGES["the_blocks_take_2_gib_1_gib"]
    assert "memory-too-small" not in raised(applied(step, "memory-too-small"))


def test_unknown_memory_is_not_guessed() -> None:
    assert "memory-too-small" in silent(evidence(MEMORY, Context(host(available=None)), block_size="512 GiB"))
