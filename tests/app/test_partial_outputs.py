"""Outputs as people give them, in part, translated or without a disk: never a wrong figure, and named what lacks."""

import re
import shutil
from pathlib import Path

import pytest

from app.outputs.files import judged_bytes
from app.outputs.judging import JudgedOutput
from app.outputs.recognition import recognise
from suites.verdict import Trust

DATA = Path(__file__).parents[1] / "data"


def outputs(text: str) -> tuple[JudgedOutput, ...]:
    return judged_bytes("paste", text.encode()).outputs


def only(text: str) -> JudgedOutput:
    found = outputs(text)
    assert len(found) == 1, [one.found.format for one in found]
    return found[0]


def ids(one: JudgedOutput) -> set[str]:
    return {finding.id for finding in one.verdict.findings}


def value(one: JudgedOutput, name: str, **at: str) -> float | None:
    figures = one.found.output.parsed.figures
    return next(
        (each.value for each in figures if each.metric.name == name and at.items() <= dict(each.labels).items()), None
    )


CLOSING = "1073741824 bytes (1.1 GB, 1.0 GiB) copied, {}, 894 MB/s\n"


def test_the_closing_report_of_dd_alone_is_complete() -> None:
    one = only(CLOSING.format("1.2 s"))
    assert value(one, "elapsed") == 1.2
    assert not {"output-incomplete", "errors-in-output"} & ids(one)


def test_closing_reports_of_several_copies_are_several_results() -> None:
    found = outputs("".join(CLOSING.format(f"{seconds} s") for seconds in (1.2, 1.201, 1.199)))
    assert [value(one, "elapsed") for one in found] == [1.2, 1.201, 1.199]
    assert not any("output-incomplete" in ids(one) for one in found)


def test_closing_reports_of_whole_seconds_are_several_results_unless_the_bytes_grow() -> None:
    found = outputs(CLOSING.format("2 s") * 3)
    assert [value(one, "elapsed") for one in found] == [2.0, 2.0, 2.0]


def test_the_block_size_of_fio_without_its_first_line_follows_from_its_figures() -> None:
    one = only("  read: IOPS=2000, BW=31.2MiB/s (32.8MB/s)(313MiB/10001msec)\n")
    assert one.record.plan.steps[0].values["block_size"] == 16384


def test_the_last_progress_of_a_killed_dd_is_no_closing_report() -> None:
    later = CLOSING.format("2 s").replace("1073741824", "2147483648").replace("1.1 GB, 1.0 GiB", "2.1 GB, 2.0 GiB")
    text = "\r" + CLOSING.format("1 s").strip() + "\r" + later
    assert "output-incomplete" in ids(only(text))


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [("1,2 s", 1.2), ("1.234,5 s", 1234.5), ("1,234.5 s", 1234.5), ("1'234.5 s", 1234.5), ("1.2e-05 s", 1.2e-05)],
)
def test_decimal_commas_and_separators_of_dd_are_read(seconds: str, expected: float) -> None:
    text = f"1+0 Datensätze ein\n1+0 Datensätze aus\n{CLOSING.format(seconds).replace('copied', 'kopiert')}"
    assert value(only(text), "elapsed") == pytest.approx(expected)


@pytest.mark.parametrize(
    ("operands", "trust", "finding"),
    [
        ("if=/dev/zero of=/dev/null", Trust.INVALID, "memory"),
        ("if=/dev/zero of=/dev/shm/x conv=fdatasync", Trust.INVALID, "memory"),
        ("if=/dev/sda of=/dev/null iflag=direct", Trust.UNVERIFIED, "Reading /dev/sda"),
        ("if=/dev/shm/x of=/mnt/x oflag=direct", None, ""),
        ("if=/dev/zero of=/mnt/x oflag=direct", None, ""),
    ],
)
def test_a_copy_that_writes_no_disk_is_named(operands: str, trust: Trust | None, finding: str) -> None:
    report = "4096+0 records in\n4096+0 records out\n4294967296 bytes (4.3 GB, 4.0 GiB) copied, 20.0 s, 215 MB/s\n"
    one = only(f"$ dd {operands} bs=1M count=4096\n{report}")
    found = next((each for each in one.verdict.findings if each.id in {"no-disk-written", "read-rate"}), None)
    assert (found is None) == (not finding)
    if found is not None:
        assert one.verdict.trust is trust
        assert finding in found.measured
        assert "written" not in found.title


@pytest.mark.parametrize("change", [("IOPS=8579", "IOPS=8,579"), ("avg=58.76", "avg=58,76"), ("BW=33.5", "BW=33,5")])
def test_a_comma_in_fios_text_is_refused_and_no_figure(change: tuple[str, str]) -> None:
    text = (DATA / "fio/3.33/normal_text.stdout").read_text()
    assert change[0] in text
    one = only(text.replace(*change))
    assert one.verdict.trust is Trust.UNDECIDED
    assert not one.found.output.parsed.figures
    assert change[1].rpartition(",")[0] in one.verdict.summary


def _streams(name: str, *, without: str = r"\[SUM\]") -> tuple[str, str]:
    text = (DATA / f"iperf3/{name}.stdout").read_text()
    return text, "".join(line for line in text.splitlines(keepends=True) if not re.match(without, line))


def test_streams_without_their_sum_are_added_up() -> None:
    whole, streams = _streams("3.12/tcp_P4_text")
    expected, one = only(whole), only(streams)
    for end in ("sender", "receiver"):
        assert value(one, "throughput", end=end) == pytest.approx(value(expected, "throughput", end=end), rel=0.001)
    assert value(one, "retransmits") == value(expected, "retransmits")
    assert any("sum of 4 streams" in note for note in one.found.output.parsed.notes)
    times = {
        (each.time, each.metric.name) for each in one.found.output.parsed.samples if each.metric.name == "throughput"
    }
    assert times == {
        (each.time, each.metric.name)
        for each in expected.found.output.parsed.samples
        if each.metric.name == "throughput"
    }


def test_the_summary_rows_of_the_streams_alone_are_added_up() -> None:
    whole, streams = _streams("3.12/tcp_P4_text")
    rows = "".join(line for line in streams.splitlines(keepends=True) if "receiver" in line)
    assert value(only(rows), "throughput") == pytest.approx(value(only(whole), "throughput", end="receiver"), rel=0.001)


def test_the_rows_of_some_streams_are_not_the_total() -> None:
    _whole, streams = _streams("3.12/tcp_P4_text")
    assert (
        value(only("".join(line for line in streams.splitlines(keepends=True) if "[ 11]   " not in line)), "throughput")
        is None
    )


def test_a_sum_that_is_not_that_of_its_streams_contradicts_them() -> None:
    whole, _streams_alone = _streams("3.12/tcp_P4_text")
    doubled = re.sub(r"(?m)^(\[SUM\]   0\.00-2\.00 .*?)7\.03 GBytes  30168", r"\g<1>14.06 GBytes  60336", whole)
    assert doubled != whole
    assert "figures-contradict" in ids(only(doubled))
    assert "figures-contradict" not in ids(only(whole))


IPERF2 = """\
------------------------------------------------------------
Client connecting to 192.168.1.1, UDP port 5001
Sending 1470 byte datagrams
------------------------------------------------------------
[  3] local 192.168.1.2 port 40000 connected with 192.168.1.1 port 5001
[ ID] Interval       Transfer     Bandwidth
[  3]  0.0-10.0 sec   125 MBytes   105 Mbits/sec
[  3] Sent 89285 datagrams
"""
ANSWER = """\
[  3] Server Report:
[  3]  0.0-10.0 sec  62.5 MBytes  52.4 Mbits/sec   0.050 ms 44642/89285 (50%)
"""
NO_ANSWER = "[  3] WARNING: did not receive ack of last datagram after 10 tries.\n"


def test_udp_without_an_answer_of_the_server_is_a_sent_rate() -> None:
    one = only(IPERF2 + NO_ANSWER)
    assert one.verdict.trust is Trust.DOUBTFUL
    assert "sent-rate-only" in ids(one)
    answered = only(IPERF2 + ANSWER)
    assert "sent-rate-only" not in ids(answered)
    assert value(answered, "throughput", end="receiver") == 52.4e6


def test_a_test_of_no_duration_has_no_rate() -> None:
    one = only(IPERF2.replace("0.0-10.0", "0.0- 0.0"))
    assert one.verdict.trust is Trust.INVALID
    assert value(one, "throughput") is None
    iperf3 = (DATA / "iperf3/3.12/tcp_P4_text.stdout").read_text().replace("0.00-2.00", "0.00-0.00")
    assert all("0.00-0.00" not in str(each) for each in only(iperf3).found.output.parsed.figures)
    assert "output-incomplete" in ids(only(iperf3))


@pytest.mark.parametrize("name", ["tcp_omit_json", "tcp_omit_text"])
def test_seconds_that_iperf3_omitted_did_not_end_it_early(name: str) -> None:
    (one,) = outputs((DATA / f"iperf3/3.12/{name}.stdout").read_text())
    assert float(one.record.plan.steps[0].values["omit"]) > 0
    assert "ended-early" not in ids(one)


def test_a_block_size_that_the_output_does_not_state_is_no_contradiction() -> None:
    rates = "   read: IOPS=12.2k, BW=760MiB/s (797MB/s)(22.3GiB/30001msec)\n"
    one = only(rates)
    assert one.record.plan.steps[0].values["block_size"] == pytest.approx(64 * 1024, rel=0.01)
    assert "rate-against-block" not in ids(one)


LIVE_ROWS = {
    "sysbench OLTP": """\
[ 93s ] thds: 56 tps: 43.00 qps: 1397.23 (r/w/o: 645.10/662.11/90.01) lat (ms,95%): 2680.11 err/s 1.00 reconn/s: 0.00
[ 94s ] thds: 56 tps: 45.00 qps: 1370.99 (r/w/o: 622.00/646.00/103.00) lat (ms,95%): 2539.17 err/s 1.00 reconn/s: 0.00
""",
    "sysbench OLTP of 0.5": """\
[  10s] threads: 16, tps: 42.00, reads: 9.00, writes: 4.00, response time: 6.10ms (95%), errors: 0.00, reconnects:  0.00
[  30s] threads: 16, tps: 45.00, reads: 9.00, writes: 4.00, response time: 6.10ms (95%), errors: 0.00, reconnects:  0.00
""",
    "sysbench file I/O": """\
[ 1s ] reads: 40.00 MiB/s writes: 0.00 MiB/s fsyncs: 0.00/s latency (ms,95%): 1.00
[ 2s ] reads: 48.00 MiB/s writes: 0.00 MiB/s fsyncs: 0.00/s latency (ms,95%): 1.00
""",
    "sysbench memory": "[ 1s ] 40.00 MiB/sec\n[ 2s ] 48.00 MiB/sec\n",
    "sysbench CPU": """\
$ sysbench cpu --report-interval=1 run
[ 1s ] thds: 1 eps: 40.00 lat (ms,95%): 1.00
[ 2s ] thds: 1 eps: 48.00 lat (ms,95%): 1.00
""",
    "pgbench": """\
progress: 5.0 s, 40.0 tps, lat 9.9 ms stddev 1.0, 0 failed
progress: 10.0 s, 48.0 tps, lat 9.9 ms stddev 1.0
""",
    "ioping": """\
4 KiB <<< . (ext4 /dev/vda 252.0 GiB): request=1 time=565.3 us (warmup)
4 KiB <<< . (ext4 /dev/vda 252.0 GiB): request=2 time=40 us
4 KiB <<< . (ext4 /dev/vda 252.0 GiB): request=3 time=48 us
""",
}


@pytest.mark.parametrize("name", LIVE_ROWS)
def test_live_lines_without_a_summary_give_their_mean(name: str) -> None:
    one = only(LIVE_ROWS[name])
    assert one.found.format in name
    assert one.found.output.parsed.figures[0].value == pytest.approx(44)
    (incomplete,) = (each for each in one.verdict.findings if each.id == "output-incomplete")
    assert "summary is missing" in incomplete.measured


def test_live_lines_of_events_do_not_name_the_test() -> None:
    one = only(LIVE_ROWS["sysbench CPU"].partition("\n")[2])
    assert one.verdict.trust is Trust.UNDECIDED
    assert "do not name the test" in one.verdict.summary


def test_an_unread_part_is_no_table_and_names_what_is_missing() -> None:
    text = "SQL statistics:,5\n    queries performed:,5\n    transactions: 5,1\n"
    file = judged_bytes("paste", text.encode())
    (unread,) = recognise(text).unread
    assert not file.unmapped
    assert unread.notes
    assert f"{unread.format} in line 1" in file.problem
    assert unread.notes in file.problem


@pytest.mark.parametrize("name", ["sysbench/1.0.20/cpu_default", "ioping/1.3/default"])
def test_decimal_commas_that_no_tool_prints_are_named(name: str) -> None:
    text = (DATA / f"{name}.stdout").read_text().replace(".", ",")
    (one,) = outputs(text)
    assert not one.found.output.parsed.complete
    assert "commas" in one.found.output.parsed.notes[0]
    assert one.verdict.trust is not Trust.INVALID


FIO_JSON = (DATA / "fio/2.21/json_final.stdout").read_text()


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        (re.sub(r'("bw_mean"\s*:) [\d.]+', r"\1 nan", FIO_JSON), "line 76"),
        (re.sub(r'("iops"\s*:) [\d.]+', r"\1 NaN", FIO_JSON), "NaN"),
        (re.sub(r'("iops"\s*:) [\d.]+', r"\1 1e999", FIO_JSON), "1e999"),
        (FIO_JSON.rstrip()[:-1] + ",}", "line 248"),
        ('{"fio version":"fio-3.33","jobs":' + "[" * 10_000 + "]" * 10_000 + "}", "deep"),
    ],
)
def test_a_document_that_is_no_json_is_named_with_its_error(text: str, seen: str) -> None:
    problem = judged_bytes("paste", f"Results:\n\n{text}".encode()).problem
    assert f"fio JSON in line {3}" in problem
    assert seen.replace("76", "78").replace("248", "250") in problem


@pytest.mark.parametrize(("kind", "named"), [("zip", "ZIP"), ("tar", "tar"), ("gztar", "tar"), ("xztar", "xz")])
def test_an_archive_of_outputs_is_named(kind: str, named: str, tmp_path: Path) -> None:
    path = Path(shutil.make_archive(str(tmp_path / "all"), kind, DATA / "ioping/1.3"))
    file = judged_bytes("all", path.read_bytes())
    assert not file.outputs
    assert named in file.problem


RANGE = "  Time (mean ± σ):     590.1 ms ± 304.8 ms\n  Range (min … max):    11.0 ms … 765.1 ms\n"


def test_the_range_of_hyperfine_without_its_runs_is_read() -> None:
    assert (value(only(RANGE), "time_min"), value(only(RANGE), "time_max")) == (0.011, 0.7651)
    alone = only(RANGE.splitlines()[1])
    assert (value(alone, "time_min"), value(alone, "time_mean")) == (0.011, None)
    assert "mean is missing" in next(each.measured for each in alone.verdict.findings if each.id == "output-incomplete")
