"""SPEC CPU: its commands, what it warns of, and what is read from results written after its documentation."""

import math
from dataclasses import replace
from statistics import geometric_mean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.base import Context, complete_values, tuned_values
from suites.errors import ParameterError
from suites.facts import Facts, Tool
from suites.outputs import ParsedTrial
from suites.speccpu import UNOFFICIAL, SpecCpu, SpecCpuParser
from suites.vocab import Severity
from tests.messages import messages
from tests.suites.captured_outputs import capture, figures
from tests.suites.host_facts import GIB, applied, evidence, host, raised, silent

MESSAGES = messages("suites", "test_speccpu")

SUITE = SpecCpu()
DEFAULTS = complete_values(SUITE, {})
THERE = {"folder": "/opt/cpu2017", "config": "mine.cfg"}
PIECES = [
    b'"Selected Results Table"\n',
    b'Benchmark,"Base # Copies","Base Run Time","Base Rate","Base Selected","Base Status"\n',
    b"500.perlbench_r,4,412.5,15.4,1,S\n",
    b"500.perlbench_r,4,412.5,0.0,1,S\n",
    b"500.perlbench_r,4," + b"9" * 400 + b",1,1,S\n",
    b"SPECrate2017_int_base,15.8,,15.8\n",
    b"valid,1\n",
    b'"unbalanced\n',
    b"ERROR: \x1b[2J\n",
    b"\xff\xfe\x00",
]


def installed(folder: str, **given: Any) -> Facts:
    facts = host(**given)
    return replace(facts, tools=(Tool(name="speccpu", path=folder),))


def parsed(name: str) -> ParsedTrial:
    return capture(f"speccpu/documented/{name}").parse(SpecCpuParser())


def run_words(**given: Any) -> list[str]:
    return list(SUITE.commands(complete_values(SUITE, {**THERE, **given}), Context())[1].argv)


def test_a_rate_run_of_2017_is_what_an_expert_types() -> None:
    assert run_words(threads=8, iterations=1) == [
        "sh", "-c", 'cd -- "$1" && . ./shrc && shift && exec "$@"', "speccpu", "/opt/cpu2017", "runcpu",
        "--config=mine.cfg", "--noreportable", "--iterations=1", "--tune=base", "--size=ref", "--output_format=csv",
        "--copies=8", "intrate",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("given_values", "tail"),
    [
        ({"mode": "speed", "suite": "fp"}, ["--output_format=csv", "fpspeed"]),
        ({"generation": "2006", "threads": 4}, ["--output_format=csv", "--rate", "4", "int"]),
        ({"generation": "2006", "mode": "speed", "suite": "fp"}, ["--output_format=csv", "fp"]),
    ],
)
def test_other_runs(given_values: dict[str, object], tail: list[str]) -> None:
    assert run_words(**given_values)[-len(tail) :] == tail


def test_429_mcf_is_left_out_by_naming_the_others() -> None:
    words = run_words(generation="2006", without_mcf=True)
    assert words[-11:][0] == "400.perlbench"
    assert "429.mcf" not in words
    assert run_words(generation="2017", without_mcf=True)[-1] == "intrate"


def test_only_results_of_this_run_are_read() -> None:
    mark, _run, read = SUITE.commands(complete_values(SUITE, THERE), Context())
    assert mark.argv == ("touch", "started")
    assert " ".join(read.argv) == "find /opt/cpu2017/result -name *.csv -newer started -exec cat {} +"


@pytest.mark.parametrize("config", ["../x.cfg", "a b", "-x", "a/b", "$(reboot)"])
def test_a_config_that_is_no_name_is_refused(config: str) -> None:
    with pytest.raises(ParameterError):
        complete_values(SUITE, {"config": config})


def test_copies_are_tuned_to_cpus_and_memory() -> None:
    assert tuned_values(SUITE, Context(installed("/opt/cpu2017", cpus=8, available=100 * GIB)))["threads"] == 8
    assert tuned_values(SUITE, Context(installed("/opt/cpu2017", cpus=8, available=5 * GIB)))["threads"] == 2
    assert tuned_values(SUITE, Context(installed("/spec/cpu2006")))["generation"] == "2006"
    assert set(SUITE.tune(Context())) == {"iterations"}


def test_it_brings_its_tool() -> None:
    assert SUITE.program not in SUITE.programs(DEFAULTS, None)


def test_what_is_missing_is_said() -> None:
    assert raised(evidence(SUITE, Context(host())))["speccpu-nowhere"].severity is Severity.ERROR
    assert "config" in raised(evidence(SUITE, Context(host()), folder="/x"))["speccpu-nowhere"].measured
    step = evidence(SUITE, Context(installed("/opt/cpu2017")), config="mine.cfg")
    assert raised(applied(step, "speccpu-nowhere")) == {}
    assert "speccpu-nowhere" in silent(evidence(SUITE, Context()))


def test_too_little_memory_for_the_copies_is_an_error() -> None:
    step = evidence(SUITE, Context(host(cpus=8, available=9 * GIB)), **THERE, threads=8)
    finding = raised(step)["memory-too-small"]
    assert (finding.measured, finding.changes) == (MESSAGES["spec_wants_16_gib_9_gib_are"], {"threads": 4})
    assert raised(applied(step, "memory-too-small")) == {}


def test_of_2006_429_mcf_is_left_out_with_a_word() -> None:
    step = evidence(SUITE, Context(host(cpus=8, available=9 * GIB)), **THERE, threads=8, generation="2006")
    assert raised(step)["memory-too-small"].changes == {"without_mcf": True}
    after = raised(applied(step, "memory-too-small"))
    assert set(after) == {"speccpu-without-mcf"}
    assert after["speccpu-without-mcf"].severity is Severity.INFO


def test_a_speed_run_wants_memory_too() -> None:
    finding = raised(evidence(SUITE, Context(host(available=9 * GIB)), **THERE, mode="speed"))["memory-too-small"]
    assert (finding.measured, finding.changes) == (MESSAGES["spec_wants_16_gib_9_gib_are"], {})


def test_the_composite_leads_and_every_benchmark_follows() -> None:
    found = parsed("intrate2017")
    assert (found.complete, found.notes, found.tool_version) == (True, (UNOFFICIAL,), "SPEC CPU2017")
    by_name = figures(found)
    assert by_name["composite SPECrate2017_int_base"] == 15.883012
    assert by_name["base_ratio 525.x264_r"] == 30.2
    assert by_name["base_run_time 500.perlbench_r"] == 412.5
    assert sum(name.startswith("base_ratio") for name in by_name) == 10
    assert found.figures[0].metric == SUITE.metrics[0]


def test_without_a_composite_of_specs_the_mean_is_our_own_and_said_to_be() -> None:
    found = parsed("int2006_subset")
    assert found.complete
    assert figures(found)["base_ratio 401.bzip2"] == 23.0, "the median of three iterations"
    mean = geometric_mean([32.5, 23.0, 31.6, 27.6])
    assert figures(found)["composite geometric mean of 4"] == pytest.approx(mean)
    assert MESSAGES["spec_gives_no_composite_of"] in found.notes[1]


def test_a_benchmark_that_failed_has_no_figure() -> None:
    found = parsed("failed2017")
    assert not found.complete
    assert found.notes[0] == "505.mcf_r has no result (RE)."
    assert "base_ratio 505.mcf_r" not in figures(found)


@pytest.mark.parametrize(
    ("shown", "status", "words"),
    [
        (b"speccpu: 1: cd: can't cd to /nowhere\n", 2, "can't cd to /nowhere"),
        (b"ERROR: config file 'none.cfg' not found\n", 1, "config file 'none.cfg' not found"),
        (b"", 0, "left no result"),
    ],
)
def test_what_gives_no_result_is_explained(shown: bytes, status: int, words: str) -> None:
    parser = SpecCpuParser()
    parser.feed(shown, "stderr")
    found = parser.finish(status)
    assert not found.complete
    assert words in " ".join(found.notes)


@given(data=st.one_of(st.binary(max_size=400), st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join)))
def test_any_bytes_are_accepted(data: bytes) -> None:
    parser = SpecCpuParser()
    assert list(parser.feed(data)) == []
    assert all(math.isfinite(figure.value) and figure.value > 0 for figure in parser.finish().figures)


def test_an_output_cut_before_its_end_is_never_complete() -> None:
    data = capture("speccpu/documented/intrate2017").stdout
    for length in range(0, data.index(b'"Run number:"'), 31):
        parser = SpecCpuParser()
        parser.feed(data[:length])
        assert not parser.finish().complete
