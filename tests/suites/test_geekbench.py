"""Geekbench: that nothing is uploaded unasked, and what is read from outputs written after its documentation."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.base import Context, Purpose, complete_values, tuned_values
from suites.facts import Facts, Tool
from suites.geekbench import Geekbench, GeekbenchParser
from suites.outputs import ParsedTrial
from suites.vocab import Severity
from tests.suites.captured_outputs import capture, figures
from tests.suites.host_facts import applied, evidence, host, raised, silent

SUITE = Geekbench()
DEFAULTS = complete_values(SUITE, {})
PIECES = [
    b"Geekbench 6.3.0 Pro : https://www.geekbench.com/\n",
    b"Single-Core\n",
    b"  Clang                          1588        7.82 Klines/sec\n",
    b"  Single-Core Score             1353\n",
    b"    Integer Score               " + b"9" * 400 + b"\n",
    b"    Integer Score               1320\n",
    b"Error: \x1b[2J\n",
    b"\xff\xfe",
]


def installed(folder: str) -> Facts:
    return replace(host(), tools=(Tool(name="geekbench", path=folder),))


def parsed(name: str) -> ParsedTrial:
    return capture(f"geekbench/documented/{name}").parse(GeekbenchParser())


def test_it_asks_for_the_licence_and_runs_without_uploading() -> None:
    ask, run = SUITE.commands(complete_values(SUITE, {"folder": "/opt/Geekbench-6/"}), Context())
    assert (ask.purpose, run.purpose) == (Purpose.PREPARE, Purpose.MEASURE)
    assert ask.argv[3:] == ("geekbench", "/opt/Geekbench-6/geekbench6")
    assert run.argv == ("/opt/Geekbench-6/geekbench6", "--no-upload")


def test_it_uploads_only_if_told_to() -> None:
    given_values = complete_values(SUITE, {"folder": "/opt/gb", "upload": True, "program": "geekbench5"})
    (run,) = SUITE.commands(given_values, Context())
    assert run.argv == ("/opt/gb/geekbench5",)


@pytest.mark.parametrize(
    ("header", "allowed"),
    [
        ("Geekbench 6.3.0 Pro : https://www.geekbench.com/", True),
        ("Geekbench 6.2.2 Corporate : https://www.geekbench.com/", True),
        ("Geekbench 6.3.0 Tryout : https://www.geekbench.com/", False),
        ("Geekbench 6.0.3 Preview : https://www.geekbench.com/", False),
        ("Geekbench 6 requires the internet and automatically uploads test results.", False),
        ("sorry", False),
    ],
)
def test_without_a_licence_it_is_not_run(tmp_path: Path, header: str, allowed: bool) -> None:  # noqa: FBT001 (pytest hands it over)
    program = tmp_path / "geekbench6"
    program.write_text(f'#!/bin/sh\n[ "$*" = --sysinfo ] && echo "{header}"\n')
    program.chmod(0o755)
    ask, _run = SUITE.commands(complete_values(SUITE, {"folder": str(tmp_path)}), Context())
    done = subprocess.run(ask.argv, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == allowed
    assert header in done.stdout


def test_the_folder_that_was_found_is_used() -> None:
    assert tuned_values(SUITE, Context(installed("/opt/Geekbench-6")))["folder"] == "/opt/Geekbench-6"
    assert SUITE.tune(Context(host())) == {}


def test_it_brings_its_tool() -> None:
    assert SUITE.program not in SUITE.programs(DEFAULTS, None)


def test_what_is_missing_or_public_is_said() -> None:
    assert raised(evidence(SUITE, Context(host())))["geekbench-nowhere"].severity is Severity.ERROR
    step = evidence(SUITE, Context(installed("/opt/Geekbench-6")))
    assert raised(applied(step, "geekbench-nowhere")) == {}
    assert "geekbench-nowhere" in silent(evidence(SUITE, Context()))
    step = evidence(SUITE, Context(host()), folder="/x", upload=True)
    assert raised(step)["geekbench-uploads"].severity is Severity.WARNING
    assert raised(applied(step, "geekbench-uploads")) == {}


def test_scores_sections_and_workloads_are_read() -> None:
    found = parsed("geekbench6")
    assert (found.complete, found.notes, found.tool_version) == (True, (), "Geekbench 6.3.0")
    by_name = figures(found)
    assert (by_name["multi_core"], by_name["single_core"]) == (4012, 1353)
    assert (by_name["integer single"], by_name["integer multi"]) == (1320, 3890)
    assert by_name["floating_point multi"] == 4207
    assert by_name["workload single Clang"] == 1588
    assert by_name["workload multi Clang"] == 1588 * 3 + 17
    assert sum(name.startswith("workload") for name in by_name) == 12
    assert found.figures[0].metric == SUITE.metrics[0]


def test_version_5_has_a_crypto_section_too() -> None:
    by_name = figures(parsed("geekbench5"))
    assert (by_name["crypto single"], by_name["crypto multi"]) == (1811, 6411)
    assert by_name["workload single AES-XTS"] == 1811


def test_a_link_is_no_score() -> None:
    found = parsed("tryout")
    assert not found.complete
    assert found.figures == ()
    assert "has no Pro licence" in found.notes[0]


@given(data=st.one_of(st.binary(max_size=400), st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join)))
def test_any_bytes_are_accepted(data: bytes) -> None:
    parser = GeekbenchParser()
    assert list(parser.feed(data)) == []
    assert all(figure.value > 0 for figure in parser.finish().figures)


def test_an_output_cut_before_both_scores_is_never_complete() -> None:
    data = capture("geekbench/documented/geekbench6").stdout
    for length in range(0, data.index(b"  Multi-Core Score"), 7):
        parser = GeekbenchParser()
        parser.feed(data[:length])
        assert not parser.finish().complete
