"""What is known to fool people about sysbench is said with its evidence, and never where there is nothing to say."""

import pytest

from suites.base import Context, Suite, tuned_values
from suites.facts import Facts
from suites.sysbench.cpu import SysbenchCpu
from suites.sysbench.memory import SysbenchMemory
from suites.vocab import Level
from tests.suites.host_facts import GIB, MIB, applied, evidence, host, limited, silent, spoken

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
    assert spoken(step) == {}
    assert silent(step) == set()


def test_the_cpu_defaults_are_warned_about_with_the_hosts_cpus() -> None:
    step = evidence(CPU, Context(host(cpus=8)))
    finding = spoken(step)["sysbench-cpu-defaults"]
    assert finding.level is Level.WARNING
    assert finding.measured == "cpu_max_prime is 10,000; 1 thread on a host with 8 CPUs to run on."
    assert finding.changes == {"cpu_max_prime": 20000, "threads": 8}
    assert "sysbench-cpu-defaults" not in spoken(applied(step, "sysbench-cpu-defaults"))


def test_the_events_of_the_old_default_are_warned_about() -> None:
    finding = spoken(evidence(CPU, Context(host(cpus=8)), threads=8, events=10000))["sysbench-cpu-defaults"]
    assert finding.level is Level.WARNING
    assert "10,000 events" in finding.measured
    assert finding.changes == {"cpu_max_prime": 20000, "events": 0}


def test_the_prime_limit_alone_is_worth_a_hint_only() -> None:
    finding = spoken(evidence(CPU, Context(host(cpus=8)), threads=8))["sysbench-cpu-defaults"]
    assert (finding.level, finding.changes) == (Level.INFO, {"cpu_max_prime": 20000})


def test_unknown_cpus_are_not_guessed() -> None:
    step = evidence(CPU, Context(host(cpus=None)), cpu_max_prime=20000)
    assert spoken(step) == {}
    assert silent(step) == {"sysbench-cpu-defaults", "more-threads-than-cpus"}
    assert "cpu-quota" in silent(evidence(CPU, Context()))


@pytest.mark.parametrize("suite", [CPU, MEMORY], ids=lambda suite: suite.id)
@pytest.mark.parametrize(("time", "level"), [(2, Level.WARNING), (5, Level.INFO), (9, Level.INFO)])
def test_a_short_run_is_said_to_be_short(suite: Suite, time: int, level: Level) -> None:
    step = evidence(suite, Context(host()), time=time)
    finding = spoken(step)["short-runtime"]
    assert (finding.title, finding.level) == ("Too short to trust", level)
    assert finding.measured.startswith(f"time is {time} s")
    assert "short-runtime" not in spoken(applied(step, "short-runtime"))


def test_the_tools_own_run_time_is_not_short() -> None:
    assert "short-runtime" not in spoken(evidence(CPU, Context(host())))


def test_more_threads_than_cpus() -> None:
    step = evidence(CPU, Context(host(cpus=8)), threads=9)
    assert spoken(step)["more-threads-than-cpus"].measured == "9 threads on 8 usable CPUs."
    assert "more-threads-than-cpus" not in spoken(applied(step, "more-threads-than-cpus"))


def test_threads_above_the_quota() -> None:
    step = evidence(CPU, Context(host(cpus=8, quota=2.5)), threads=4)
    assert spoken(step)["cpu-quota"].measured == "4 threads; the cgroup grants 2.5 CPUs."
    assert spoken(step)["cpu-quota"].changes == {"threads": 2}
    assert "cpu-quota" not in spoken(applied(step, "cpu-quota"))


def test_a_quota_below_one_cpu_has_no_remedy_in_threads() -> None:
    finding = spoken(evidence(CPU, Context(host(cpus=8, quota=0.5)), threads=1))["cpu-quota"]
    assert finding.changes == {}
    assert "outside this cgroup" in finding.remedy


def test_the_default_block_measures_its_loop() -> None:
    step = evidence(MEMORY, Context(host(cache=32 * MIB)))
    finding = spoken(step)["sysbench-memory-block"]
    assert finding.level is Level.WARNING
    assert finding.measured == "block_size is 1 KiB; the host's last-level cache holds 32 MiB."
    assert "4 to 5 times" in finding.why
    assert spoken(applied(step, "sysbench-memory-block")) == {}


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
    assert spoken(step)["sysbench-memory-block"].measured == measured
    assert "sysbench-memory-block" not in spoken(applied(step, "sysbench-memory-block"))


def test_an_unknown_cache_is_not_guessed() -> None:
    context = Context(host(cache=None))
    assert "sysbench-memory-block" in silent(evidence(MEMORY, context, block_size="1 MiB"))
    step = evidence(MEMORY, context)  # 1 KiB measures its loop whatever the cache
    assert spoken(step)["sysbench-memory-block"].changes["block_size"] == 256 * MIB


def test_the_loop_alone_has_no_block_to_speak_of() -> None:
    assert "sysbench-memory-block" not in spoken(evidence(MEMORY, Context(host()), operation="none"))


def test_a_block_that_is_no_power_of_two_is_refused() -> None:
    step = evidence(MEMORY, Context(host()), block_size="96 MiB")
    finding = spoken(step)["sysbench-memory-block-refused"]
    assert (finding.level, finding.changes) == (Level.ERROR, {"block_size": 128 * MIB})


def test_a_total_that_no_thread_can_start_on_is_an_error() -> None:
    step = evidence(MEMORY, Context(host()), block_size="1 GiB", total_size="3 GiB", threads=4)
    finding = spoken(step)["sysbench-memory-total"]
    assert finding.level is Level.ERROR
    assert "0.00 MiB/sec" in finding.why
    assert "sysbench-memory-total" not in spoken(applied(step, "sysbench-memory-total"))


def test_a_total_that_ends_the_run_early_is_warned_about() -> None:
    step = evidence(MEMORY, Context(host()), block_size="128 MiB")
    finding = spoken(step)["sysbench-memory-total"]
    assert finding.level is Level.WARNING
    assert "100 GiB: moved in 3.1 s" in finding.measured
    assert "sysbench-memory-total" not in spoken(applied(step, "sysbench-memory-total"))


def test_the_default_total_lasts_for_the_default_block() -> None:
    assert "sysbench-memory-total" not in spoken(evidence(MEMORY, Context(host())))


def test_threads_that_write_one_block() -> None:
    step = evidence(MEMORY, Context(host()), threads=4, block_size="128 MiB")
    assert spoken(step)["sysbench-memory-shared"].level is Level.INFO
    assert spoken(step)["sysbench-memory-shared"].changes == {"scope": "local"}
    assert "sysbench-memory-shared" not in spoken(evidence(MEMORY, Context(host()), threads=4, operation="read"))


@pytest.mark.parametrize("facts", [host(available=GIB), limited(host(), GIB)])
def test_blocks_that_do_not_fit_into_memory_are_an_error(facts: Facts) -> None:
    step = evidence(MEMORY, Context(facts), block_size="512 MiB", threads=4, scope="local")
    finding = spoken(step)["memory-too-small"]
    assert finding.level is Level.ERROR
    assert finding.measured == "The blocks take 2 GiB; 1 GiB are available."
    assert "memory-too-small" not in spoken(applied(step, "memory-too-small"))


def test_unknown_memory_is_not_guessed() -> None:
    assert "memory-too-small" in silent(evidence(MEMORY, Context(host(available=None)), block_size="512 GiB"))
