"""UnixBench: its commands, what it warns of, and what is read from the reports of two versions."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.base import Context, Purpose, complete_values, tuned_values
from suites.facts import Facts, Tool
from suites.outputs import ParsedTrial
from suites.unixbench import UnixBench, UnixBenchParser
from suites.vocab import Severity
from tests.messages import messages
from tests.suites.captured_outputs import capture, figures
from tests.suites.host_facts import applied, evidence, host, raised, silent

MESSAGES = messages("suites", "test_unixbench")

SUITE = UnixBench()
DEFAULTS = complete_values(SUITE, {})
INDEX = capture("unixbench/6.0.0/index_c1")
PIECES = [
    b"2 CPUs in system; running 1 parallel copy of tests\n",
    b"8 CPUs in system; running 8 parallel copies of tests\n",
    b"System Benchmarks Index Values               BASELINE       RESULT    INDEX\n",
    b"Dhrystone 2 using register variables         116700.0   78087436.4   6691.3\n",
    b"Dhrystone 2 using register variables       78087436.4 lps   (10.0 s, 1 samples)\n",
    b"System Benchmarks Index Score                                        1036.8\n",
    b"System Benchmarks Index Score                                        " + b"9" * 400 + b"\n",
    b"Run: \x1b[2J\n",
    b"\xff\xfe",
]


def found_at(folder: str, **given: Any) -> Facts:
    facts = host(**given)
    return replace(facts, tools=(Tool(name="unixbench", path=folder),))


def parsed(name: str) -> ParsedTrial:
    return capture(f"unixbench/{name}").parse(UnixBenchParser())


def words(context: Context, **given: Any) -> list[str]:
    return list(SUITE.commands(complete_values(SUITE, given), context)[-1].argv[3:])


def test_the_run_is_what_an_expert_types() -> None:
    (command,) = SUITE.commands(complete_values(SUITE, {"folder": "/opt/UnixBench"}), Context(host(cpus=8)))
    assert command.argv[:3] == (
        "sh",
        "-c",
        'here=$PWD && cd -- "$1" && shift && UB_RESULTDIR=$here UB_TMPDIR=$here exec ./Run "$@"',
    )
    assert command.argv[3:] == ("unixbench", "/opt/UnixBench", "-i", "10", "-c", "1", "-c", "8", "index")


@pytest.mark.parametrize(
    ("given_values", "cpus", "tail"),
    [
        ({"copies": "single"}, 8, ["-c", "1", "index"]),
        ({"copies": "all", "workload": "dhrystone"}, 8, ["-c", "8", "dhry2reg"]),
        ({"workload": "processor"}, 1, ["-c", "1", "dhry2reg", "whetstone-double"]),
        ({}, None, ["index"]),
    ],
)
def test_copies_and_tests_are_chosen(given_values: dict[str, object], cpus: int | None, tail: list[str]) -> None:
    assert words(Context(host(cpus=cpus)), folder="/x", **given_values)[4:] == tail


def test_an_archive_is_copied_unpacked_and_built_first() -> None:
    commands = SUITE.commands(complete_values(SUITE, {"archive": "/home/ada/unixbench.tar.gz"}), Context(host()))
    assert [command.purpose for command in commands] == [Purpose.PREPARE] * 3 + [Purpose.MEASURE]
    (file,) = commands[0].files
    assert (file.name, file.local) == ("unixbench-archive", "/home/ada/unixbench.tar.gz")
    assert commands[2].argv == ("make", "-C", "unixbench", "all")
    assert commands[3].argv[4] == "unixbench"


def test_a_folder_that_was_found_is_used() -> None:
    assert tuned_values(SUITE, Context(found_at("/opt/UnixBench")))["folder"] == "/opt/UnixBench"
    assert SUITE.tune(Context(host())) == {}


def test_the_estimate_is_what_was_measured() -> None:
    context = Context(host(cpus=2))
    one = complete_values(SUITE, {"iterations": 1, "copies": "single"})
    assert SUITE.estimate(one, context).duration == pytest.approx(409)
    assert SUITE.estimate(DEFAULTS, context).duration == pytest.approx(2 * 29 * 60, rel=0.02)
    assert SUITE.estimate({**one, "workload": "dhrystone"}, context).duration == 13


def test_it_brings_its_tool() -> None:
    assert SUITE.program not in SUITE.programs(DEFAULTS, None)


def test_nothing_to_run_is_an_error_mended_by_what_was_found() -> None:
    finding = raised(evidence(SUITE, Context(host())))["unixbench-nowhere"]
    assert (finding.severity, finding.changes) == (Severity.ERROR, {})
    step = evidence(SUITE, Context(found_at("/opt/UnixBench")))
    assert "unixbench-nowhere" not in raised(applied(step, "unixbench-nowhere"))
    assert "unixbench-nowhere" in silent(evidence(SUITE, Context()))


def test_more_than_sixteen_copies_are_doubted() -> None:
    step = evidence(SUITE, Context(host(cpus=32)), folder="/x")
    assert raised(step)["unixbench-sixteen"].measured == "32 copies for 32 CPUs."
    assert "unixbench-sixteen" not in raised(evidence(SUITE, Context(host(cpus=32)), folder="/x", copies="single"))
    assert "unixbench-sixteen" not in raised(evidence(SUITE, Context(host(cpus=16)), folder="/x"))


def test_the_index_leads_and_its_parts_stand_beside_it() -> None:
    found = parsed("6.0.0/index_c1")
    assert (found.complete, found.notes, found.tool_version) == (True, (), "UnixBench 6.0.0")
    by_name = figures(found)
    assert found.figures[0].metric == SUITE.metrics[0]
    assert by_name["index 1"] == 1036.8
    assert by_name["part_index 1 Dhrystone 2 using register variables"] == 6691.3
    assert by_name["loops 1 Dhrystone 2 using register variables"] == 78087436.4
    assert by_name["whetstone 1 Double-Precision Whetstone"] == 6148.7
    assert by_name["file_copy 1 File Copy 4096 bufsize 8000 maxblocks"] == 1800600.0
    assert by_name["scripts 1 Shell Scripts (8 concurrent)"] == 978.6
    assert sum(name.startswith("part_index") for name in by_name) == 12


def test_the_index_alone_can_be_asked_for() -> None:
    parser = SUITE.parser(complete_values(SUITE, {"parts": False}))
    assert figures(INDEX.parse(parser)) == {"index 1": 1036.8}


def test_a_partial_index_is_read() -> None:
    found = parsed("5.1.3/dhry2reg_c1")
    assert (found.complete, found.tool_version) == (True, "UnixBench 5.1.3")
    assert figures(found)["index 1"] == 6715.7


def test_an_empty_section_is_a_failure_whatever_the_exit_status() -> None:
    found = parsed("5.1.3/dhry2reg_c32")
    assert not found.complete
    assert found.figures == ()
    assert MESSAGES["with_32_copies_unixbench_5_1"] in found.notes[0]


def test_a_patched_build_is_recognised() -> None:
    parser = UnixBenchParser()
    parser.feed(INDEX.stdout.replace(b"running 1 parallel copy", b"running 32 parallel copies"))
    found = parser.finish(0)
    assert found.complete
    assert found.notes == (MESSAGES["this_build_runs_more_than_16"],)


def test_two_passes_show_what_does_not_scale() -> None:
    second = INDEX.stdout.replace(b"running 1 parallel copy", b"running 4 parallel copies")
    second = second.replace(b"   6691.3", b"  26000.0").replace(b"      1036.8", b"      2100.0")
    parser = UnixBenchParser()
    parser.feed(INDEX.stdout)
    parser.feed(second[second.index(b"2 CPUs in system") :])
    found = parser.finish(0)
    assert found.complete
    assert [figure.labels for figure in found.figures[:2]] == [(("copies", "4"),), (("copies", "1"),)]
    assert MESSAGES["from_1_to_4_copies_the_index"] in found.notes[0]


@pytest.mark.parametrize(
    ("shown", "status", "words_of_it"),
    [
        (b"unixbench: 1: cd: can't cd to /nowhere\n", 2, "can't cd to /nowhere"),
        (b"no UnixBench in this archive\n", 1, "no UnixBench in this archive"),
        (b"make: *** [Makefile:129: pgms/dhry2] Error 127\n", 2, "make: *** [Makefile:129"),
        (b"", 0, "cut off before its report"),
    ],
)
def test_what_gives_no_report_is_explained(shown: bytes, status: int, words_of_it: str) -> None:
    parser = UnixBenchParser()
    parser.feed(shown, "stderr")
    found = parser.finish(status)
    assert not found.complete
    assert words_of_it in " ".join(found.notes)


@given(data=st.one_of(st.binary(max_size=400), st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join)))
def test_any_bytes_are_accepted(data: bytes) -> None:
    parser = UnixBenchParser()
    assert list(parser.feed(data)) == []
    assert all(figure.value >= 0 for figure in parser.finish().figures)


def test_an_output_cut_anywhere_is_never_complete() -> None:
    data = INDEX.stdout.rstrip()
    for length in range(0, len(data), 13):
        parser = UnixBenchParser()
        parser.feed(data[:length])
        assert not parser.finish().complete
