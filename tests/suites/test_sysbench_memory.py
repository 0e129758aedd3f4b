"""sysbench memory: its commands, its tuning, and what is read from the real tool's output."""

from dataclasses import replace

import pytest

from suites.base import Context, complete_values, tuned_values
from suites.facts import Facts
from suites.outputs import ParsedTrial
from suites.sysbench.memory import SysbenchMemory, footprint, tuned_block
from tests.messages import messages
from tests.suites.captured_outputs import capture, figures, series
from tests.suites.host_facts import GIB, MIB, host, limited

MESSAGES = messages("suites", "test_sysbench_memory")

SUITE = SysbenchMemory()
DEFAULTS = complete_values(SUITE, {})


def parsed(name: str, **given: object) -> ParsedTrial:
    return capture(f"sysbench/{name}").parse(SUITE.parser(complete_values(SUITE, given)))


def test_the_defaults_are_the_tools_own() -> None:
    """They are those that `sysbench memory help` of 1.0.20 prints in brackets."""
    assert {name: DEFAULTS[name] for name in ("block_size", "total_size", "operation", "access_mode", "scope")} == {
        "block_size": 1024,
        "total_size": 100 * GIB,
        "operation": "write",
        "access_mode": "seq",
        "scope": "global",
    }


def test_the_command_is_what_an_expert_types() -> None:
    given = {"block_size": "128 MiB", "total_size": "100 TiB", "scope": "local", "threads": 2, "time": 3}
    (command,) = SUITE.commands(complete_values(SUITE, given), Context())
    assert " ".join(command.argv) == (
        "sysbench memory --memory-block-size=128M --memory-total-size=102400G --memory-oper=write "
        "--memory-access-mode=seq --memory-scope=local --threads=2 --time=3 --percentile=95 --report-interval=1 run"
    )


def test_older_versions_get_their_own_syntax() -> None:
    (command,) = SUITE.commands(DEFAULTS, Context(host(sysbench="sysbench 0.4.12")))
    assert command.argv[:2] == ("sysbench", "--test=memory")
    assert {"--num-threads=1", "--max-time=10", "--memory-block-size=1K"} <= set(command.argv)
    assert "--report-interval=1" not in command.argv


def test_a_size_that_no_suffix_divides_is_written_in_bytes() -> None:
    (command,) = SUITE.commands(complete_values(SUITE, {"block_size": 512}), Context())
    assert "--memory-block-size=512" in command.argv


def test_tuned_blocks_exceed_the_caches_fourfold_and_say_so() -> None:
    context = Context(host(cpus=8, cache=32 * MIB))
    tuned = tuned_values(SUITE, context)
    assert (tuned["block_size"], tuned["scope"], tuned["threads"]) == (128 * MIB, "local", 8)
    why = SUITE.tune(context)["block_size"].why
    assert "8 x 128 MiB" in why
    assert MESSAGES["32_mib_of_last_level_cache"] in why


@pytest.mark.parametrize(
    ("facts", "block"),
    [
        (host(cpus=2, cache=33 * MIB), 256 * MIB),  # the next power of two above four times the cache
        (host(cpus=2, cache=32 * MIB, available=300 * MIB), 64 * MIB),  # half of what is available, for two
        (limited(host(cpus=2, cache=32 * MIB), 300 * MIB), 64 * MIB),  # a cgroup's limit counts as well
        (host(cpus=96, cache=72 * MIB, available=180 * GIB), 64 * MIB),  # 6 GiB in all are filled within seconds
        (host(cpus=2, cache=None), 256 * MIB),
        (host(cpus=2, cache=None, available=None), 256 * MIB),
    ],
)
def test_tuned_blocks_keep_within_memory(facts: Facts, block: int) -> None:
    tuned = tuned_values(SUITE, Context(facts))
    assert tuned["block_size"] == block


@pytest.mark.parametrize("threads", [1, 2, 3, 7, 48, 96, 256, 448])
@pytest.mark.parametrize("cache", [MIB, 33 * MIB, 768 * MIB, 3 * GIB])
def test_all_tuned_blocks_together_exceed_the_caches_fourfold(threads: int, cache: int) -> None:
    block = tuned_block(cache, threads, 10**13)
    assert block * threads >= 4 * cache
    assert block.bit_count() == 1


@pytest.mark.parametrize(
    ("facts", "block"),
    [
        (host(cpus=2, cache=300 * MIB, available=64 * GIB), GIB),  # not 2 x 2 GiB, of which a few end in six seconds
        (host(cpus=8, cache=32 * MIB, available=64 * GIB), 128 * MIB),  # as tuned
        (host(cpus=1, cache=300 * MIB, available=GIB), 512 * MIB),
    ],
)
def test_quick_blocks_exceed_the_caches_fourfold_in_all(facts: Facts, block: int) -> None:
    ((_name, values),) = SUITE.quick_steps(Context(facts))
    assert values["block_size"] == block


def test_few_blocks_have_a_note_with_the_resolution() -> None:
    whole = capture("sysbench/1.0.20/memory_report_interval")
    coarse = replace(whole, stdout=whole.stdout.replace(b"243.76 per second", b"1.33 per second"))
    (note,) = coarse.parse(SUITE.parser(DEFAULTS)).notes
    assert ("4 blocks" in note, "25%" in note) == (True, True)


def test_one_thread_keeps_the_scope() -> None:
    assert "scope" not in SUITE.tune(Context(host(cpus=1)))


def test_the_estimate_counts_the_filling_of_the_blocks() -> None:
    values = complete_values(SUITE, {"block_size": "1 GiB", "scope": "local", "threads": 4})
    assert footprint(values) == 4 * GIB
    assert SUITE.estimate(values, Context()).duration == pytest.approx(14)


def test_figures_are_those_of_the_summary() -> None:
    found = parsed("1.0.20/memory_report_interval")
    assert found.complete
    assert found.notes == ()
    assert figures(found) == {
        "throughput write": 31201.23,
        "operations_per_second write": 243.76,
        "total_time write": 3.0064,
        "latency_mean write": 8.19,
        "latency_p95 write": 8.90,
        "latency_max write": 14.59,
    }
    assert (found.figures[0].metric, found.figures[0].metric.unit) == (SUITE.metrics[0], "MiB/s")


def test_samples_are_those_of_the_report_lines() -> None:
    found = parsed("1.0.20/memory_report_interval")
    expected = [(1, 30257.45), (2, 31801.04), (3, 31487.17)]
    assert series(found.samples, "throughput", operation="write") == expected


def test_the_operation_is_the_one_that_was_printed() -> None:
    found = parsed("1.0.20/memory_read", operation="write")
    assert figures(found)["throughput read"] == 82330.2
    assert series(found.samples, "throughput", operation="read") == [(1, 82329.55)]


def test_a_latency_below_the_resolution_is_missing_and_said() -> None:
    found = parsed("1.0.20/memory_default")
    assert figures(found)["throughput write"] == 7621.49
    assert "latency_mean write" not in figures(found)
    assert any("0.00 ms" in note for note in found.notes)


def test_the_operation_none_has_no_throughput() -> None:
    found = parsed("1.0.20/memory_none")
    assert found.complete
    assert figures(found)["operations_per_second none"] == 9590194.92
    assert not any("throughput" in name for name in figures(found))
    assert series(found.samples, "throughput") == []
    assert any("moves no bytes" in note for note in found.notes)


def test_the_old_generation_prints_mebibytes_as_megabytes() -> None:
    found = parsed("0.4.12/memory_default")
    assert found.complete
    assert figures(found)["throughput write"] == 6727.48
    assert figures(found)["throughput write"] == pytest.approx(34445709 / 1024 / 5.0001, rel=1e-4)
    assert any("2^20" in note for note in found.notes)


def test_a_run_without_work_is_no_zero() -> None:
    found = parsed("1.0.20/memory_total_too_small")
    assert not found.complete
    assert found.figures == ()
    assert "counted 0 events" in found.notes[0]


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("1.0.20/memory_bad_block", "FATAL: Invalid value for memory-block-size: 96M"),
        ("1.0.20/memory_sigterm", "was cut off"),
        ("1.0.20/cpu_default", "it is of sysbench's cpu test"),
    ],
)
def test_a_failure_is_named_and_gives_no_figure(case: str, words: str) -> None:
    found = parsed(case)
    assert not found.complete
    assert found.figures == ()
    assert words in found.notes[0]


def test_a_run_that_was_stopped_keeps_its_samples() -> None:
    assert series(parsed("1.0.20/memory_sigterm").samples, "throughput") == [(1, 7407.70), (2, 7555.74)]
