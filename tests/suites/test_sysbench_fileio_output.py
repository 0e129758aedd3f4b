"""The parser of sysbench's file test, on captures of both generations, failures and cut-off outputs among them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.base import complete_values
from suites.outputs import ParsedTrial
from suites.sysbench.fileio import SysbenchFileio
from tests.messages import messages
from tests.suites.captured_outputs import capture, captures, figures, series

MESSAGES = messages("suites", "test_sysbench_fileio_output")

SUITE = SysbenchFileio()
DEFAULTS = complete_values(SUITE, {})
FILEIO = [path for path in captures("sysbench") if "/fileio_" in path]


def parsed(path: str) -> ParsedTrial:
    return capture(f"sysbench/{path}").parse(SUITE.parser(DEFAULTS))


def test_the_figures_are_those_of_the_summary() -> None:
    found = parsed("1.0.20/fileio_rndrw_direct")
    assert found.complete
    assert found.notes == ()
    assert figures(found) == {
        "iops read": 12841.31,
        "iops write": 8560.65,
        "bandwidth read": 200.65,
        "bandwidth write": 133.76,
        "total_time": 3.001,
        "total_events": 64241,
        "latency_mean": 0.09,
        "latency_p95": 0.11,
        "latency_max": 13.82,
    }
    assert found.figures[0].metric == SUITE.metrics[0]


def test_the_samples_are_those_of_the_lines_of_progress() -> None:
    found = parsed("1.0.20/fileio_rndrw_direct")
    assert series(found.samples, "bandwidth", operation="read") == [(1, 237.3), (2, 175.93), (3, 188.75)]
    assert series(found.samples, "latency_p95") == [(1, 0.110), (2, 0.110), (3, 0.092)]
    assert series(found.samples, "iops", operation="write")[0][1] == pytest.approx(158.19 * 64)
    assert series(found.samples, "fsyncs_per_second") == []


@pytest.mark.parametrize(
    ("mode", "operations"),
    [
        ("seqwr", {"write"}),
        ("seqrewr", {"write"}),
        ("seqrd", {"read"}),
        ("rndrd", {"read"}),
        ("rndwr", {"write"}),
        ("rndrw", {"read", "write"}),
        ("fsync_all", {"write"}),
    ],
)
def test_a_mode_has_figures_of_what_it_does_alone(mode: str, operations: set[str]) -> None:
    found = parsed(f"1.0.20/fileio_{mode}")
    assert found.complete
    for metric in ("iops", "bandwidth"):
        assert {name for name in figures(found) if name.startswith(metric)} == {f"{metric} {op}" for op in operations}
        assert {
            dict(sample.labels)["operation"] for sample in found.samples if sample.metric.name == metric
        } == operations


def test_flushes_are_counted_and_their_part_in_the_latency_is_told() -> None:
    found = parsed("1.0.20/fileio_fsync_all")
    assert figures(found)["fsyncs_per_second"] == 2480.68
    assert found.notes == (MESSAGES["sysbench_counts_each_fsync"],)
    assert series(found.samples, "fsyncs_per_second")[0] == (1, 3619.80)


def test_the_old_generations_rates_come_from_operations_and_seconds() -> None:
    found = parsed("0.4.12/fileio_rndrw")
    assert found.complete
    assert figures(found) == {
        "iops read": 187715 / 3.0001,
        "iops write": 125143 / 3.0001,
        "bandwidth read": pytest.approx(187715 / 3.0001 / 64),
        "bandwidth write": pytest.approx(125143 / 3.0001 / 64),
        "fsyncs_per_second": 12512 / 3.0001,
        "total_time": 3.0001,
        "total_events": 312858,
        "latency_max": 2.71,
    }
    assert "below its resolution" in found.notes[0]
    assert MESSAGES["its_operations_and_their"] in found.notes[1]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no_prepare", "Cannot open file 'test_file.0' errno = 2"),
        ("size_mismatch", "Size of file 'test_file.0' is 16MiB, but at least 32MiB is expected"),
        ("bad_mode", "Invalid IO operations mode: foo"),
        ("seqrd_bad_block", "errno = 22 (Invalid argument)"),
    ],
)
def test_failures_are_named(name: str, words: str) -> None:
    found = parsed(f"1.0.20/fileio_{name}")
    assert not found.complete
    assert found.figures == ()
    assert words in found.notes[0]
    shown = any("prepare did not run" in note for note in found.notes)
    assert shown == (name in {"no_prepare", "size_mismatch"})


def test_a_stopped_run_keeps_its_live_figures() -> None:
    found = parsed("1.0.20/fileio_sigterm")
    assert not found.complete
    assert found.notes == (MESSAGES["sysbench_was_cut_off_it"], MESSAGES["sysbench_was_ended_by"])
    assert series(found.samples, "bandwidth") == [(1, 3691.44), (2, 3769.88)]


def test_a_stall_is_a_sample_of_nothing_and_an_operation_not_done_is_none() -> None:
    parser = SUITE.parser(DEFAULTS)
    parser.feed(b"Block size 16KiB\nDoing random read test\n")
    samples = parser.feed(b"[ 1s ] reads: 0.00 MiB/s writes: 0.00 MiB/s fsyncs: 0.00/s latency (ms,95%): 0.000\n")
    assert [(sample.metric.name, sample.value) for sample in samples] == [("iops", 0), ("bandwidth", 0)]


def test_another_tests_output_is_refused() -> None:
    found = parsed("1.0.20/cpu_default")
    assert not found.complete
    assert found.notes == (MESSAGES["this_is_not_the_output_of"],)


@pytest.mark.parametrize("case", ["1.0.20/fileio_rndrw", "0.4.12/fileio_rndrw"])
def test_an_output_cut_anywhere_is_never_complete_nor_wrong(case: str) -> None:
    data = capture(f"sysbench/{case}").stdout.rstrip()
    whole = SUITE.parser(DEFAULTS)
    whole.feed(data)
    truth = whole.finish()
    assert truth.complete
    for length in range(len(data)):
        parser = SUITE.parser(DEFAULTS)
        parser.feed(data[:length])
        found = parser.finish()
        assert not found.complete
        assert set(found.figures) <= set(truth.figures)
        assert set(found.samples) <= set(truth.samples)


PIECES = [
    b"[ 1s ] reads: 1.00 MiB/s writes: 2.00 MiB/s fsyncs: 3.00/s latency (ms,95%): 0.5\n",
    b"[ 2s ] reads: 1.00 MiB/s writes: 2.00 MiB/s fsyncs: 3.00/s latency (ms,999%): 0.5\n",
    b"Extra file open flags: 0\n",
    b"Block size 0B\n",
    b"Block size 999999999MiB\n",
    b"Doing random r/w test\n",
    b"Doing sequential dance test\n",
    b"Operations performed:  1 reads, 2 writes, 3 Other = 6 Total\n",
    b"Operations performed:  " + b"9" * 400 + b" reads, 2 writes, 3 Other = 6 Total\n",
    b"    total time:                          0.0000s\n",
    b"    reads/s:                      nan\n",
    b"    reads/s:                      12.5\n",
    b"    execution time (avg/stddev):   2.9991/0.00\n",
    b"FATAL: Cannot open file \x1b[2J errno = 2\n",
    b"\xff\xfe\x00",
]


@given(data=st.one_of(st.binary(max_size=400), st.lists(st.sampled_from(PIECES), max_size=14).map(b"".join)))
def test_any_bytes_are_accepted(data: bytes) -> None:
    parser = SUITE.parser(DEFAULTS)
    live = list(parser.feed(data))
    assert list(parser.finish().samples) == live
