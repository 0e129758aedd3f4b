"""The block suite: its commands, what it warns of, and what is read from its probe."""

from dataclasses import replace
from typing import Any

import pytest

from suites.base import Context, complete_values, tuned_values
from suites.errors import ParameterError
from suites.facts import Facts
from suites.memory_blocks import LATENCY, MemoryBlocks
from suites.outputs import ParsedTrial
from suites.vocab import Severity, labels
from tests.messages import messages
from tests.suites.captured_outputs import capture, series
from tests.suites.host_facts import GIB, MIB, applied, evidence, host, raised, silent

MESSAGES = messages("suites", "test_memory_blocks")

SUITE = MemoryBlocks()
DEFAULTS = complete_values(SUITE, {})


def server(**given: Any) -> Facts:
    facts = host(gcc="gcc 12.2.0", **given)
    return replace(facts, system=replace(facts.system, architecture="x86_64"))


def parsed(name: str) -> ParsedTrial:
    return capture(f"memory-blocks/1/{name}").parse(SUITE.parser(DEFAULTS))


def line(context: Context, **given: Any) -> str:
    return " ".join(SUITE.commands(complete_values(SUITE, given), context)[-1].argv)


def test_the_command_is_what_an_expert_types() -> None:
    assert line(Context(server())) == (
        "./blocks --blocks 1,1024,65536,1048576 --memory 67108864 --chase 67108864 --time 1 --threads 1 --sweep single"
    )
    given = {"operations": "copy", "patterns": "random", "blocks": "4k", "threads": 0, "time": 0.5, "sweep": "every"}
    assert line(Context(server(cpus=4)), **given) == (
        "./blocks --blocks 4096 --operations copy --patterns random --memory 67108864 --chase 67108864 --time 0.5 "
        "--threads 4 --sweep every"
    )


@pytest.mark.parametrize(
    ("text", "sizes"), [("1 B, 1 KiB", "1,1024"), ("64k,64 KiB , 1MB", "65536,1000000"), ("3", "3"), ("100 b", "100")]
)
def test_block_sizes_are_free(text: str, sizes: str) -> None:
    assert f"--blocks {sizes} " in line(Context(), blocks=text)


@pytest.mark.parametrize(
    "text", ["0", "1 KiB,", "-1", "1;2", "1.5 KiB", "large", "1 KiB $(reboot)", ",".join("1" * 65)]
)
def test_other_words_are_refused(text: str) -> None:
    with pytest.raises(ParameterError):
        complete_values(SUITE, {"blocks": text})


def test_memory_is_four_times_the_cache() -> None:
    tuned = SUITE.tune(Context(server(cache=32 * MIB)))
    assert (tuned["memory"].value, tuned["largest_set"].value) == (128 * MIB, 128 * MIB)
    assert "4 times the 32 MiB" in tuned["memory"].why
    assert SUITE.tune(Context(server(cache=GIB, available=100 * GIB)))["largest_set"].value == GIB
    assert SUITE.tune(Context(server(cache=256 * MIB, available=GIB)))["memory"].value == 256 * MIB


def test_the_estimate_counts_every_combination() -> None:
    one = SUITE.estimate(
        complete_values(SUITE, {"operations": "copy", "patterns": "random", "blocks": "1k"}), Context()
    )
    most = SUITE.estimate(complete_values(SUITE, {"operations": "copy", "patterns": "random"}), Context())
    assert one.duration is not None
    assert most.duration is not None
    assert most.duration > one.duration + 3
    assert SUITE.estimate(complete_values(SUITE, {"threads": 0}), Context()).duration is None


def test_it_brings_its_tool() -> None:
    assert SUITE.program not in SUITE.programs(DEFAULTS, None)


@pytest.mark.parametrize("facts", [server(), server(cpus=1), server(cpus=192, cache=768 * MIB, available=700 * GIB)])
def test_tuned_values_on_a_quiet_host_raise_nothing(facts: Facts) -> None:
    context = Context(facts)
    step = evidence(SUITE, context, **tuned_values(SUITE, context))
    assert raised(step) == {}
    assert silent(step) == set()


def test_memory_within_the_cache_is_warned_about() -> None:
    step = evidence(SUITE, Context(server(cache=32 * MIB)), memory="16 MiB")
    finding = raised(step)["blocks-in-cache"]
    assert finding.severity is Severity.WARNING
    assert finding.measured == MESSAGES["the_blocks_lie_in_16_mib_0_5"]
    assert "blocks-in-cache" not in raised(applied(step, "blocks-in-cache"))


@pytest.mark.parametrize(
    ("given", "needed"),
    [({"memory": "1 GiB"}, "2 GiB"), ({"largest_set": "4 GiB"}, "4 GiB"), ({"blocks": "1 GiB", "threads": 2}, "4 GiB")],
)
def test_what_does_not_fit_is_an_error(given: dict[str, object], needed: str) -> None:
    finding = raised(evidence(SUITE, Context(server(available=GIB, cache=16 * MIB)), **given))["memory-too-small"]
    assert finding.severity is Severity.ERROR
    assert finding.measured == f"Source and target take {needed}; 1 GiB are available."


def test_a_block_that_the_probe_refuses_is_said_before() -> None:
    assert "blocks-refused" in raised(evidence(SUITE, Context(server(available=99 * GIB)), blocks="1, 5 GiB"))


def test_what_is_not_known_is_not_judged() -> None:
    assert silent(evidence(SUITE, Context(server(cache=None, available=None)))) == {
        "blocks-in-cache",
        "memory-too-small",
    }


def test_figures_are_those_of_the_results() -> None:
    found = parsed("all")
    assert found.complete
    rates = {figure.labels: figure.value for figure in found.figures if figure.metric.name == "throughput"}
    assert len(rates) == 3 * 2 * 4
    reported = capture("memory-blocks/1/all").stdout.decode()
    for marks, rate in rates.items():
        assert f" rate {rate:.6f} each" in reported
        assert {name for name, _value in marks} == {"operation", "pattern", "block", "threads"}
    assert found.figures[0].value == max(rates.values())
    assert found.figures[0].metric == SUITE.metrics[0]


def test_operations_are_told_apart_by_their_labels() -> None:
    found = parsed("two_seconds")
    by_threads = {
        dict(figure.labels)["threads"]: figure.value for figure in found.figures if figure.metric.name == "throughput"
    }
    assert by_threads == {"1": 17651.994660, "2": 30138.384338}
    marks = labels(operation="copy", pattern="random", block="64 KiB", threads="1")
    (each,) = (f.value for f in found.figures if f.metric.name == "operation_time" and f.labels == marks)
    assert each == 3712.668243
    assert found.notes == ()


def test_latencies_show_the_steps_of_the_caches() -> None:
    found = parsed("all")
    steps = {dict(f.labels)["working_set"]: f.value for f in found.figures if f.metric.name == "memory_latency"}
    assert list(steps)[:3] == ["4 KiB", "6 KiB", "8 KiB"]
    assert list(steps)[-1] == "128 MiB"
    assert steps["32 KiB"] < steps["512 KiB"] / 2 < steps["128 MiB"] / 8
    assert "Latency: " in found.notes[0]


def test_of_random_reads_alone_the_latency_leads_that_of_memory_first() -> None:
    reads = complete_values(SUITE, {"operations": "read", "patterns": "random"})
    assert SUITE.metrics_of(reads)[0] is LATENCY
    first, second, *_ = capture("memory-blocks/1/all").parse(SUITE.parser(reads)).figures
    assert (first.metric, first.labels) == (LATENCY, labels(working_set="128 MiB"))
    assert (second.metric, second.labels) == (LATENCY, labels(working_set="4 KiB"))
    assert SUITE.metrics_of({**reads, "largest_set": 0})[0] is SUITE.metrics[0]
    assert SUITE.metrics_of(DEFAULTS)[0] is SUITE.metrics[0]


def test_missing_large_pages_are_said() -> None:
    parser = SUITE.parser(DEFAULTS)
    parser.feed(
        b"# benchwright-blocks 1\n# huge-pages always madvise [never]\nchase time 1.0 set 4096 steps 9 ns 1.5\ndone\n"
    )
    assert parser.finish(0).notes[1].startswith(MESSAGES["the_kernel_gives_no_large"])


def test_every_second_is_a_sample() -> None:
    samples = parsed("two_seconds").samples
    marks = {"operation": "copy", "pattern": "random", "block": "64 KiB"}
    assert series(samples, "throughput", threads="1", **marks) == [(1.05, 15363.057650), (2.071, 19915.206839)]
    assert len(series(samples, "operation_time", threads="2", **marks)) == 2
    assert len(series(parsed("latency_only_small").samples, "memory_latency")) == 9


@pytest.mark.parametrize(
    ("name", "words"),
    [("bad_block", "blocks failed: --blocks takes a whole number"), ("sigterm", "blocks was ended by SIGTERM")],
)
def test_a_failure_is_named_and_gives_no_figure(name: str, words: str) -> None:
    found = parsed(name)
    assert not found.complete
    assert found.figures == ()
    assert words in " ".join(found.notes)
