"""The verb parse: captured outputs of every suite's tool, whole, cut off, failed, and what is none."""

from pathlib import Path

import pytest

from app.parse import parse_output
from suites.registry import SUITES
from suites.units import Unit
from tests.program import BAD_INPUT, DONE, FAILED, benchwright

DATA = Path(__file__).parent.parent / "data"

WHOLE = {
    "sysbench-cpu": "sysbench/1.0.20/cpu_report_interval.stdout",
    "sysbench-memory": "sysbench/1.0.20/memory_report_interval.stdout",
    "sysbench-threads": "sysbench/1.0.20/threads_report_interval.stdout",
    "sysbench-mutex": "sysbench/1.0.20/mutex_default.stdout",
    "compute": "compute/1/both.stdout",
    "linpack": "linpack/hpcc-1.5.0/openblas.stdout",
    "unixbench": "unixbench/6.0.0/index_c1.stdout",
    "geekbench": "geekbench/documented/geekbench6.stdout",
    "speccpu": "speccpu/documented/intrate2017.stdout",
    "memory-blocks": "memory-blocks/1/all.stdout",
    "latency-under-load": "latency-under-load/1/ping.stdout",
    "net-blocks": "net-blocks/1/all.stdout",
    "stress-ng": "stress-ng/0.15.06/stream_two.stderr",
    "stream": "stream/1/sweep.stdout",
    "fio": "fio/3.33/randrw_libaio_ramp.stdout",
    "fio-sweep": "fio/3.33/sweep.stdout",
    "fio-snia": "fio-snia/3.33/iops.stdout",
    "fio-job": "fio/3.33/randrw_libaio_ramp.stdout",
    "sysbench-fileio": "sysbench/1.0.20/fileio_rndrw.stdout",
    "dd": "dd/9.1/zero_dsync_progress.stderr",
    "cp": "cp/9.1/cold_sync.screen",
    "ioping": "ioping/1.3/direct.stdout",
    "sysbench-oltp": "oltp/sysbench-1.0.20/pg_read_write.stdout",
    "pgbench": "pgbench/15.18/tpcb.screen",
    "command": "command/1/sleep.stderr",
    "iperf3": "iperf3/3.12/tcp_json.stdout",
}

SILENT = {"command", "cp", "sysbench-mutex", "stress-ng", "linpack", "unixbench", "geekbench", "speccpu"}
"""Suites whose tool says nothing before it ends."""


def test_every_suite_has_its_captured_output() -> None:
    assert set(WHOLE) == {suite.id for suite in SUITES}


@pytest.mark.parametrize("suite", WHOLE)
def test_a_whole_output_gives_its_figures(suite: str) -> None:
    ran = benchwright("parse", suite, DATA / WHOLE[suite], "--json")
    assert (ran.status, ran.err) == (DONE, "")
    assert set(ran.json) == {"metrics", "samples", "notes"}
    for metric in ran.json["metrics"]:
        assert set(metric) == {"name", "value", "unit", "better", "labels"}
        assert metric["better"] in {"higher", "lower"}
    for sample in ran.json["samples"]:
        assert set(sample) == {"time", "name", "value", "unit", "labels", "warm_up"}
    assert ran.json["metrics"]
    assert ran.json["samples"] or suite in SILENT
    assert {entry["unit"] for entry in ran.json["metrics"] + ran.json["samples"]} <= set(Unit)


@pytest.mark.parametrize("suite", WHOLE)
def test_half_an_output_says_so_and_fails(suite: str) -> None:
    whole = (DATA / WHOLE[suite]).read_bytes()
    parsed = parse_output(suite, whole[: len(whole) // 2])
    assert not parsed.complete
    assert parsed.notes


def test_half_an_output_fails_on_the_command_line() -> None:
    whole = (DATA / WHOLE["fio"]).read_bytes()
    ran = benchwright("parse", "fio", "-", "--json", stdin=whole[: len(whole) // 2])
    assert ran.status == FAILED
    assert ran.json["notes"]


def test_standard_input_is_read_and_a_table_printed() -> None:
    ran = benchwright("parse", "sysbench-cpu", "-", stdin=(DATA / WHOLE["sysbench-cpu"]).read_bytes())
    assert ran.status == DONE
    assert "Events per second" in ran.out
    assert "higher is better" in ran.out


def test_a_terminal_of_another_time_gets_question_marks() -> None:
    output = (DATA / WHOLE["sysbench-cpu"]).read_bytes()
    ran = benchwright("parse", "sysbench-cpu", "-", stdin=output, PYTHONIOENCODING="latin-1")
    assert ran.status == DONE
    assert "? higher is better" in ran.out


@pytest.mark.parametrize(
    ("suite", "output", "said"),
    [
        ("fio", "fio/3.33/missing_directory", "No such file or directory"),
        ("sysbench-cpu", "sysbench/1.0.20/cpu_bad_option", "invalid option"),
        ("iperf3", "iperf3/3.12/fail_refused", "Connection refused"),
        ("dd", "dd/9.1/enospc", "No space left on device"),
    ],
)
def test_a_tool_that_failed_says_what_it_said(suite: str, output: str, said: str) -> None:
    mixed = (DATA / f"{output}.stdout").read_bytes() + (DATA / f"{output}.stderr").read_bytes()
    ran = benchwright("parse", suite, "-", "--json", stdin=mixed)
    assert ran.status == FAILED
    assert said in " ".join(ran.json["notes"])


@pytest.mark.parametrize("output", [b"", b"\x00\xff\x1b[31m{{{" * 1000, b"\n" * 5000])
@pytest.mark.parametrize("suite", ["fio", "dd"])
def test_garbage_is_no_measurement(suite: str, output: bytes) -> None:
    ran = benchwright("parse", suite, "-", stdin=output)
    assert ran.status == FAILED
    assert "Note: " in ran.out


@pytest.mark.parametrize(
    ("suite", "output", "note"),
    [
        ("sysbench-cpu", "fio", "This is no output of sysbench; it reads as one of fio: give the suite fio."),
        ("iperf3", "dd", "This is no output of iperf3; it reads as one of dd: give the suite dd."),
        (
            "fio",
            "sysbench-memory",
            "This is no output of fio; it reads as one of sysbench: give the suite sysbench-memory.",
        ),
    ],
)
def test_the_output_of_another_tool_is_told_for_what_it_is(suite: str, output: str, note: str) -> None:
    parsed = parse_output(suite, (DATA / WHOLE[output]).read_bytes())
    assert (parsed.notes, parsed.figures, parsed.complete) == ((note,), (), False)


def test_an_empty_output_was_not_cut_off() -> None:
    ran = benchwright("parse", "sysbench-cpu", "-", stdin=b"\r\n")
    assert ran.status == FAILED
    assert ran.out.splitlines() == [
        "There is no figure in it.",
        "Note: The output is empty: nothing was printed, or nothing captured.",
    ]


def test_an_unknown_suite_and_a_missing_file_are_bad_input(tmp_path: Path) -> None:
    unknown = benchwright("parse", "bonnie", "-")
    assert (unknown.status, unknown.out) == (BAD_INPUT, "")
    assert "bonnie" in unknown.err
    assert "sysbench-cpu" in unknown.err
    missing = benchwright("parse", "fio", tmp_path / "nothing")
    assert (missing.status, missing.out) == (BAD_INPUT, "")
    assert "nothing" in missing.err
