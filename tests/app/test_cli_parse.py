"""The verb parse: captured outputs of every suite's tool, whole, cut off, failed, and what is none."""

from pathlib import Path

import pytest

from app.parse import parse_output
from suites.registry import SUITES
from suites.registry import suite as suite_of
from suites.units import Unit
from tests.messages import messages
from tests.program import BAD_INPUT, DONE, FAILED, benchwright
from tests.suites.captured_outputs import DATA, WHOLE

MESSAGES = messages("app-command-line", "test_cli_parse")


def test_every_suite_has_its_captured_output() -> None:
    assert set(WHOLE) == {suite.id for suite in SUITES}


@pytest.mark.parametrize("suite", WHOLE)
def test_a_whole_output_gives_its_figures(suite: str) -> None:
    ran = benchwright("parse", suite, WHOLE[suite], "--json")
    assert (ran.status, ran.err) == (DONE, "")
    assert set(ran.json) == {"metrics", "samples", "notes"}
    for metric in ran.json["metrics"]:
        assert set(metric) == {"name", "value", "unit", "better", "labels"}
        assert metric["better"] in {"higher", "lower"}
    for sample in ran.json["samples"]:
        assert set(sample) == {"time", "name", "value", "unit", "labels", "warm_up"}
    assert ran.json["metrics"]
    assert ran.json["samples"] or suite_of(suite).tried.live == "no"
    assert {entry["unit"] for entry in ran.json["metrics"] + ran.json["samples"]} <= set(Unit)


@pytest.mark.parametrize("suite", WHOLE)
def test_half_an_output_says_so_and_fails(suite: str) -> None:
    whole = WHOLE[suite].read_bytes()
    parsed = parse_output(suite, whole[: len(whole) // 2])
    assert not parsed.complete
    assert parsed.notes


def test_half_an_output_fails_on_the_command_line() -> None:
    whole = WHOLE["fio"].read_bytes()
    ran = benchwright("parse", "fio", "-", "--json", stdin=whole[: len(whole) // 2])
    assert ran.status == FAILED
    assert ran.json["notes"]


def test_standard_input_is_read_and_a_table_printed() -> None:
    ran = benchwright("parse", "sysbench-cpu", "-", stdin=WHOLE["sysbench-cpu"].read_bytes())
    assert ran.status == DONE
    assert "Events per second" in ran.out
    assert "↑ higher" in ran.out


def test_a_terminal_of_another_time_gets_question_marks() -> None:
    output = WHOLE["sysbench-cpu"].read_bytes()
    ran = benchwright("parse", "sysbench-cpu", "-", stdin=output, PYTHONIOENCODING="latin-1")
    assert ran.status == DONE
    assert "? higher" in ran.out


@pytest.mark.parametrize(
    ("suite", "output", "shown"),
    [
        ("fio", "fio/3.33/missing_directory", "No such file or directory"),
        ("sysbench-cpu", "sysbench/1.0.20/cpu_bad_option", "invalid option"),
        ("iperf3", "iperf3/3.12/fail_refused", "Connection refused"),
        ("dd", "dd/9.1/enospc", "No space left on device"),
    ],
)
def test_a_tool_that_failed_says_what_it_said(suite: str, output: str, shown: str) -> None:
    mixed = (DATA / f"{output}.stdout").read_bytes() + (DATA / f"{output}.stderr").read_bytes()
    ran = benchwright("parse", suite, "-", "--json", stdin=mixed)
    assert ran.status == FAILED
    assert shown in " ".join(ran.json["notes"])


@pytest.mark.parametrize("output", [b"", b"\x00\xff\x1b[31m{{{" * 1000, b"\n" * 5000])
@pytest.mark.parametrize("suite", ["fio", "dd"])
def test_garbage_is_no_measurement(suite: str, output: bytes) -> None:
    ran = benchwright("parse", suite, "-", stdin=output)
    assert ran.status == FAILED
    assert "Note: " in ran.out


@pytest.mark.parametrize(
    ("suite", "output", "note"),
    [
        ("sysbench-cpu", "fio", "Not output of sysbench, but of fio: use suite fio."),
        ("iperf3", "dd", "Not output of iperf3, but of dd: use suite dd."),
        ("fio", "sysbench-memory", "Not output of fio, but of sysbench: use suite sysbench-memory."),
    ],
)
def test_the_output_of_another_tool_is_told_for_what_it_is(suite: str, output: str, note: str) -> None:
    parsed = parse_output(suite, WHOLE[output].read_bytes())
    assert (parsed.notes, parsed.figures, parsed.complete) == ((note,), (), False)


def test_an_empty_output_was_not_cut_off() -> None:
    ran = benchwright("parse", "sysbench-cpu", "-", stdin=b"\r\n")
    assert ran.status == FAILED
    assert ran.out.splitlines() == [MESSAGES["there_is_no_figure_in_it"], "Note: The output is empty."]


def test_an_unknown_suite_and_a_missing_file_are_bad_input(tmp_path: Path) -> None:
    unknown = benchwright("parse", "bonnie", "-")
    assert (unknown.status, unknown.out) == (BAD_INPUT, "")
    assert "bonnie" in unknown.err
    assert "sysbench-cpu" in unknown.err
    missing = benchwright("parse", "fio", tmp_path / "nothing")
    assert (missing.status, missing.out) == (BAD_INPUT, "")
    assert "nothing" in missing.err
