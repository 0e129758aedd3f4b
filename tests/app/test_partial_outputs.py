"""Outputs as people give them, in part, translated or without a disk: never a wrong figure, and named what lacks."""

import re
import shutil
from pathlib import Path

import pytest

from app.outputs.files import judged_bytes
from app.outputs.judging import JudgedOutput, is_not_read
from app.outputs.recognition import recognise
from suites.outputs import CACHE_DROPPED
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


@pytest.mark.parametrize(
    ("operands", "flush"),
    [
        ("oflag=direct,sync,nonblock conv=fsync", "dsync"),
        ("oflag=direct oflag=sync", "dsync"),
        ("oflag=sync", "dsync"),
        ("oflag=direct,nonblock", "direct"),
        ("oflag=direct conv=fsync", "direct"),
        ("conv=fsync,notrunc", "fdatasync"),
        ("conv=notrunc conv=fdatasync oflag=append", "fdatasync"),
        ("conv=fsync bs=1m", "fdatasync"),
        ("conv=sync,noerror", "none"),
        ("oflag=append", "none"),
    ],
)
def test_flags_of_dd_in_a_list_or_repeated_are_read(operands: str, flush: str) -> None:
    one = only(f"$ dd if=/dev/zero of=/mnt/x bs=1M count=100 {operands}\n" + COPY.format(17.2939, 6.06))
    values = one.record.plan.steps[0].values
    assert (values["flush"], values["block_size"], values["count"]) == (flush, 2**20, 100)
    assert ({"unflushed-write", "cache-unknown"} & ids(one) != set()) == (flush == "none")


@pytest.mark.parametrize("target", ["of=/dev/null", "of=/dev/zero", "of=/dev/full", "of=/dev/stdout | md5sum", "| cat"])
def test_a_copy_to_nothing_or_to_another_program_is_a_read(target: str) -> None:
    line = f"$ dd if=/mnt/x bs=1M count=100 iflag=fullblock,direct {target}\n"
    one = only(line + COPY.format(17.2939, 6.06))
    assert one.verdict.trust is Trust.UNVERIFIED, one.verdict.summary
    assert "cache-unknown" in ids(only(line.replace(",direct", "") + COPY.format(17.2939, 6.06)))


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


LONG_BOTH_WAYS = """\
[  6][TX-S] 153320.00-153321.00 sec   312 MBytes  2.62 Gbits/sec            227543
[  5][RX-S] 153321.00-153322.00 sec   509 MBytes  4.27 Gbits/sec  0.001 ms  62207/432494 (14%)
[  6][TX-S] 153321.00-153322.00 sec   321 MBytes  2.69 Gbits/sec            233730
[  5][RX-S] 153322.00-153323.00 sec   511 MBytes  4.29 Gbits/sec  0.001 ms  61612/433844 (14%)
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID][Role] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams
[  5][RX-S]   0.00-153323.00 sec  68.3 TBytes  3.92 Gbits/sec  0.001 ms  6568527827/58732443141 (11%)  receiver
"""


def test_a_summary_counts_for_its_direction_whatever_rows_are_shown() -> None:
    one = only(LONG_BOTH_WAYS)
    assert value(one, "throughput", direction="send", end="receiver") == 3.92e9
    assert value(one, "throughput", direction="receive", end="sender") == pytest.approx(2.655e9)
    (incomplete,) = (each for each in one.verdict.findings if each.id == "output-incomplete")
    assert re.search("figure of receive .* mean of the 2 s", incomplete.measured)
    assert one.record.plan.steps[0].values["time"] == 86_400  # the longest that can be set


ROWS = """\
$ iperf3 -c 192.0.2.1 -t 10
Connecting to host 192.0.2.1, port 5291
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  4]   0.00-1.00   sec  84.8 MBytes   711 Mbits/sec    2   1.41 KBytes
[  4]   1.00-2.00   sec  85.0 MBytes   713 Mbits/sec    1   1.41 KBytes
"""
SENT_SUMMARY = "[  4]   0.00-10.00  sec   900 MBytes   755 Mbits/sec   12             sender\n"


def test_rows_without_their_summary_are_not_called_a_test_that_ended_early() -> None:
    one = only(ROWS)
    assert value(one, "throughput", end="sender") == pytest.approx(712e6)
    notes = " ".join(one.found.output.parsed.notes)
    assert re.search("figure is the mean of the 2 s", notes)
    assert "ended early" not in notes
    whole = only(ROWS + SENT_SUMMARY)  # of ten seconds, of which two are shown
    assert value(whole, "throughput", end="sender") == 755e6
    assert "mean" not in " ".join(whole.found.output.parsed.notes)


def test_the_port_that_iperf3_prints_is_read() -> None:
    assert only(ROWS).record.plan.steps[0].values["port"] == 5291
    document = (DATA / "iperf3/3.12/tcp_json.stdout").read_text()
    asked = re.sub(r'("connecting_to":[^}]*"port":\s*)\d+', r"\g<1>5291", document)
    assert asked != document
    assert only(asked).record.plan.steps[0].values["port"] == 5291
    server = only((DATA / "iperf3/3.12/server_tcp_json.stdout").read_text())
    assert server.record.plan.steps[0].values["port"] == 5333


def test_a_received_rate_is_not_the_requested_one() -> None:
    server = (DATA / "iperf3/3.12/udp_text.server.out").read_text()
    assert only(server).record.plan.steps[0].values["bitrate"] == 1.0  # what arrives whole at the default was sent so
    in_seconds = server.replace(" 128 KBytes  1.05 Mbits", "87.3 KBytes   715 Kbits")
    slow = only(in_seconds.replace("256 KBytes  1.05 Mbits", "175 KBytes   715 Kbits"))
    assert value(slow, "throughput", end="receiver") == 715e3
    assert slow.record.plan.steps[0].values["bitrate"] == 0
    assert slow.verdict.limited_by is None


TWO_REPORTS = """\
**Unpatched**
read : io=102120KB, bw=618740 B/s, iops=151 , runt=169006msec
slat (usec): min=275 , max=87560 , avg=6571.88, stdev=2799.57

write: io=102680KB, bw=622133 B/s, iops=151 , runt=169006msec
slat (usec): min=2 , max=196 , avg=24.66, stdev=20.35

**Patched**
read : io=102864KB, bw=504885 B/s, iops=123 , runt=208627msec
slat (usec): min=0 , max=120 , avg= 1.65, stdev= 3.46

write: io=101936KB, bw=500330 B/s, iops=122 , runt=208627msec
slat (usec): min=0 , max=131 , avg= 1.85, stdev= 3.27
"""


def test_reports_of_fio_without_heads_are_results_with_the_words_above_them() -> None:
    found = outputs(TWO_REPORTS)
    assert [one.found.output.name for one in found] == ["Unpatched", "Patched"]
    assert [value(one, "iops", operation="read") for one in found] == [151, 123]
    assert [value(one, "iops", operation="write") for one in found] == [151, 122]
    assert [one.found.output.seconds for one in found] == [169.006, 208.627]
    lines = TWO_REPORTS.splitlines()
    other_ways = outputs("\n".join((lines[0], *lines[4:9])))  # what was written, then what was read
    assert [(one.found.output.name, value(one, "iops")) for one in other_ways] == [("Unpatched", 151), ("Patched", 123)]
    bare = outputs(re.sub(r"(?m)^\*.*\n", "", TWO_REPORTS))
    assert [value(one, "iops", operation="read") for one in bare] == [151, 123]


def test_a_job_that_was_started_again_is_no_clone_of_the_first() -> None:
    text = (DATA / "fio/3.7/normal_final.stdout").read_text()
    report = text[text.index("job1: (groupid=0") :]
    again = re.sub(r"pid=\d+", "pid=99999", report)
    (one,) = outputs(report)
    figures = [each.found.output.parsed.figures for each in outputs(report + again)]
    assert figures == [one.found.output.parsed.figures] * 2
    assert len(outputs(report * 2)) == 1  # as --status-interval repeats them


COPY = "104857600 bytes (105 MB, 100 MiB) copied, {} s, {} MB/s\n"
RECORDS = "10240+0 records in\n10240+0 records out\n"


def test_the_size_of_a_copy_is_what_was_copied() -> None:
    one = only("$ dd if=/dev/zero of=test.img bs=10k count=10k\n" + COPY.format(1.72939, 60.6))
    assert (one.record.plan.steps[0].values["count"], one.record.plan.steps[0].values["block_size"]) == (10240, 10240)
    (unflushed,) = (each for each in one.verdict.findings if each.id == "unflushed-write")
    assert "100 MiB are written" in unflushed.measured
    to_the_end = only("$ dd if=disk.img of=/dev/null bs=1M iflag=direct\n" + COPY.format(1.72939, 60.6))
    assert to_the_end.record.plan.steps[0].values["count"] == 100
    in_part = only("$ dd if=/dev/urandom of=test.img bs=1M count=1000\n" + COPY.format(1.72939, 60.6))
    assert "copied-in-part" in ids(in_part)


def test_a_copy_is_as_long_as_dd_printed() -> None:
    line = "$ dd if=disk.img of=/dev/null bs=10k count=10k iflag=direct\n"
    assert not {"short-runtime", "too-brief"} & ids(only(line + COPY.format(17.2939, 6.06)))
    (short,) = (each for each in only(line + COPY.format(4.9, 21.4)).verdict.findings if each.id == "short-runtime")
    assert short.measured == "100 MiB took 4.9 s."
    assert "too-brief" in ids(only(line + COPY.format(0.0727784, 1440)))


@pytest.mark.parametrize(
    "dropped",
    [
        "# echo 3 > /proc/sys/vm/drop_caches",
        "$ sync; echo 1 | sudo tee /proc/sys/vm/drop_caches",
        "$ sudo /sbin/sysctl -w vm.drop_caches=3",
    ],
)
def test_a_page_cache_that_was_dropped_serves_no_reads_of_dd(dropped: str) -> None:
    read = "$ dd if=disk.img of=/dev/null bs=10k count=10k\n" + COPY.format(17.2939, 6.06)
    assert "cache-unknown" in ids(only(read))
    cold = only(f"{dropped}\n{read}")
    assert ids(cold) == {"measured-elsewhere", "read-rate", "small-blocks"}
    assert any(note.startswith(CACHE_DROPPED) for note in cold.found.output.parsed.notes)
    first, second = outputs(f"{dropped}\n{read}{read}")  # the second reads what the first has cached
    assert "cache-unknown" not in ids(first)
    assert "cache-unknown" in ids(second)
    write = read.replace("if=disk.img of=/dev/null", "if=/dev/zero of=disk.img")
    assert "unflushed-write" in ids(only(f"{dropped}\n{write}"))


COLD = "10485760000 bytes (10 GB, 9.8 GiB) copied, 60.1 s, 174 MB/s\n"
DROP, DD = "echo 3 > /proc/sys/vm/drop_caches", "dd if=/mnt/t of=/dev/null bs=1M count=10000"


@pytest.mark.parametrize(
    ("lines", "cold"),
    [
        (f"# {DROP}\n# ls -l /mnt/t\n# {DD}\n", True),
        (f"# {DROP}; sync; {DD}\n", True),
        (f"# {DROP}\n# cat /mnt/other > /dev/null\n# {DD}\n", True),
        (f'# sudo sh -c "sync; {DROP}" && {DD}\n', True),
        (f"$ {DROP}\n-bash: /proc/sys/vm/drop_caches: Permission denied\n$ {DD}\n", False),
        (f"$ {DROP}\nzsh: permission denied: /proc/sys/vm/drop_caches\n$ {DD}\n", False),
        (f"$ sysctl vm.drop_caches=3\nsysctl: permission denied on key 'vm.drop_caches'\n$ {DD}\n", False),
        (f"$ echo 3 | sudo tee /proc/sys/vm/drop_caches\nsudo: a password is required\n$ {DD}\n", False),
        (f"$ {DROP}\nbash: denied: drop_caches\n$ sudo sysctl -w vm.drop_caches=3\n$ {DD}\n", True),
        (f"# {DROP}\n# cat /mnt/t > /dev/null\n# {DD}\n", False),
        (f"# {DROP}; md5sum /mnt/t; {DD}\n", False),
        (f"# {DROP}\n# cp /mnt/* /srv\n# {DD}\n", False),
        (f"# {DROP}\n# tar cf /dev/null /mnt\n# {DD}\n", False),
        (f"# {DROP}\n# {DD} 2>/dev/null\n# {DD}\n", False),
    ],
)
def test_a_page_cache_counts_as_dropped_only_if_nothing_filled_it_again(lines: str, *, cold: bool) -> None:
    assert ("cache-unknown" not in ids(only(lines + COLD))) == cold


@pytest.mark.parametrize("records", ["", "10000+0 records in\n10000+0 records out\n"])
@pytest.mark.parametrize(
    ("lines", "cold"),
    [
        (f"# {DROP}\n# for i in 1 2 3; do {DD}; done\n", [True, False, False]),
        (f"# {DROP}; for i in 1 2 3; do {DD}; done\n", [True, False, False]),
        (f"# for i in 1 2 3; do {DROP}; {DD}; done\n", [True, True, True]),
        (f"# for i in 1 2; do ls; done; {DROP}; for i in 1 2 3; do {DD}; done\n", [True, False, False]),
    ],
)
def test_a_page_cache_that_was_dropped_once_serves_the_later_passes(lines: str, cold: list[bool], records: str) -> None:
    assert ["cache-unknown" not in ids(one) for one in outputs(lines + (records + COLD) * 3)] == cold


OLD_IOPING = """\
--- / (ext4 /dev/dm-0) ioping statistics ---
{} requests completed in 3.00 s, 2.08 k iops, 8.15 MiB/s
min/avg/max/mdev = 288 us / 479 us / 752 us / 169 us
"""


def test_requests_and_their_rate_are_what_ioping_printed() -> None:
    one = only(OLD_IOPING.format(4))
    assert (value(one, "requests"), value(one, "iops_without_pauses")) == (4, 2080)
    values = one.record.plan.steps[0].values
    assert (values["count"], values["interval"]) == (4, 1.0)
    (few,) = (each for each in one.verdict.findings if each.id == "few-requests")
    assert few.measured.startswith("4 requests")
    assert "few-requests" not in ids(only(OLD_IOPING.format("2.2 k")))
    alone = only("10 requests completed in 9.0 s, 233 iops, 233.1 MiB/s\n")
    assert value(alone, "iops_without_pauses") == 233
    assert "output-incomplete" in ids(alone)


@pytest.mark.parametrize(
    ("target", "command", "expected"),
    [
        ("/dev/nvme0n1 (block device 1.82 TiB)", "", 1.82 * 2**40),
        ("/dev/vda (device 10.0 GiB)", "$ ioping -R /dev/vda\n", 10 * 2**30),
        ("/dev/vda (device 10.0 GiB)", "$ ioping -q -i 0 -w 3 -S 64m /dev/vda\n", 64 * 2**20),
        ("/ (ext4 /dev/dm-0)", "", 2**20),
    ],
)
def test_requests_to_a_device_fall_in_all_of_it(target: str, command: str, expected: float) -> None:
    one = only(command + OLD_IOPING.replace("/ (ext4 /dev/dm-0)", target).format(400))
    assert one.record.plan.steps[0].values["working_set"] == int(expected)
    assert ("small-working-set" in ids(one)) == (expected == 2**20)


def test_requests_without_a_summary_are_those_shown() -> None:
    row = "4 KiB <<< /tmp (ext4 /dev/vda1): request={} time=210.1 us{}\n"
    one = only(row.format(1, " (warmup)") + "".join(row.format(number, "") for number in range(2, 5)))
    (few,) = (each for each in one.verdict.findings if each.id == "few-requests")
    assert few.measured.startswith("4 requests")


BY_COUNT = """\
transaction type: <builtin: TPC-B (sort of)>
scaling factor: 100
query mode: simple
number of clients: 10
number of threads: 2
number of transactions per client: {}
number of transactions actually processed: {}0/{}0
tps = {} (without initial connection time)
"""


@pytest.mark.parametrize("command", ["", "$ pgbench -c 10 -t 100000 bench\n"])
def test_a_run_of_pgbench_by_transactions_is_as_long_as_they_took(command: str) -> None:
    one = only(command + BY_COUNT.format(100000, 100000, 100000, 907.967014))
    assert one.record.plan.steps[0].values["time"] == 1101
    assert "no-checkpoint" not in ids(one)
    brief = only(command + BY_COUNT.format(1000, 1000, 1000, 4000))
    assert {"no-checkpoint", "short-runtime"} <= ids(brief)


def test_a_run_of_sysbench_by_events_is_as_long_as_they_took() -> None:
    text = (DATA / "sysbench/1.0.20/cpu_default.stdout").read_text()
    seconds = re.search(r"total time: +([\d.]+)s", text)
    assert seconds is not None
    for command in ("", "$ sysbench cpu --events=20000 --time=600 run\n", "$ sysbench cpu --time=600 run\n"):
        one = only(command + text)
        ran = one.record.plan.steps[0].values["time"]
        assert ran == (600 if command.startswith("$ sysbench cpu --time") else int(float(seconds[1])))


@pytest.mark.parametrize(
    ("command", "lines", "expected"),
    [
        ("sysbench cpu --threads=$t run | grep 'events per'", "    events per second:  {}\n", [1000.1, 3990.1, 790.1]),
        ("sysbench oltp_read_only run | grep trans", "    transactions:  6120   ({} per sec.)\n", [611.81, 22.1, 36.9]),
        ("pgbench -h db1 -T 600 b | grep tps", "tps = {} (without initial connection time)\n", [900.1, 5200.1, 910.4]),
        (
            "pgbench -h db1 -T 600 b | grep tps",
            "tps = 1.0 (including connections establishing)\ntps = {} (excluding connections establishing)\n",
            [900.1, 5200.1, 910.4],
        ),
    ],
)
def test_each_pass_of_a_loop_is_a_result_by_its_rate_alone(command: str, lines: str, expected: list[float]) -> None:
    found = outputs(f"$ for t in 1 4 8; do {command}; done\n" + "".join(map(lines.format, expected)))
    assert [one.found.output.parsed.figures[0].value for one in found] == expected
    assert [one.found.first_line for one in found][:2] == [2, 2 + lines.count("\n")]
    assert all("output-incomplete" in ids(one) for one in found)


@pytest.mark.parametrize(
    ("name", "first", "suite"),
    [
        ("fileio_fsync_all", "File operations:", "sysbench-fileio"),
        ("fileio_fsync_all", "    reads/s:", "sysbench-fileio"),
        ("cpu_default", "CPU speed:", "sysbench-cpu"),
    ],
)
def test_a_summary_of_sysbench_without_its_head_is_read(name: str, first: str, suite: str) -> None:
    text = (DATA / f"sysbench/1.0.20/{name}.stdout").read_text()
    one = only(text[text.index(first) :])
    assert one.found.output.suite_id == suite
    assert one.found.output.parsed.complete
    expected = {each.metric: each.value for each in only(text).found.output.parsed.figures}
    assert expected.items() >= {each.metric: each.value for each in one.found.output.parsed.figures}.items()
    general = only(text[text.index("General statistics:") :])
    assert general.verdict.trust is Trust.UNDECIDED
    assert general.found.output.undecided


SIZE_BOUND = "  write: IOPS=20.0k, BW=78.1MiB/s (81.9MB/s)({}msec); 0 zone resets\n"


@pytest.mark.parametrize(
    ("done", "finding"), [("80.0KiB/1", "too-brief"), ("160MiB/2052", "short-runtime"), ("1603MiB/20520", None)]
)
def test_a_job_without_a_runtime_is_as_short_as_fio_printed(done: str, finding: str | None) -> None:
    found = ids(only(SIZE_BOUND.format(done))) & {"too-brief", "short-runtime"}
    assert found == ({finding} if finding else set())


def test_mean_and_percentile_of_other_kinds_of_latency_are_named() -> None:
    one = only("""\
Rand-Read-4K: (groupid=4, jobs=1): err= 0: pid=25889: Sat Oct  7 20:49:46 2017
  read : io=22504KB, bw=384042B/s, iops=93, runt= 60004msec
    slat (usec): min=5, max=9300, avg=2018.98, stdev= 7.17
    clat (usec): min=142, max=327710, avg=10639.50, stdev=17862.58
     lat (usec): min=159, max=327718, avg=12658.76, stdev=17862.45
    clat percentiles (msec):
     |  1.00th=[    3],  5.00th=[    4], 10.00th=[    4], 20.00th=[    5],
     | 99.00th=[  130], 99.50th=[  135], 99.90th=[  147], 99.95th=[  206],
""")
    assert re.search(r"12\.7 ms .*, completion latency p99 130 ms", one.verdict.summary)


def test_what_an_unstated_option_may_change_is_a_finding() -> None:
    one = only(SIZE_BOUND.format("1603MiB/20520"))
    assert one.deciding == ("direct",)
    assert "unflushed-write" in ids(one)


OLTP_LINE = (
    "[ {time}s ] thds: 8 tps: {tps}.00 qps: 10000.11 (r/w/o: 7000/2000/1000) lat (ms,95%): 22.42 err/s: 0.00 "
    "reconn/s: 0.00\n"
)
PGBENCH_LINE = "progress: {time}.0 s, {tps}.0 tps, lat 20 ms stddev 7, 0 failed\n"
IPERF_LINE = "[  5]   {start}.00-{time}.00   sec   112 MBytes   {tps} Mbits/sec    0    400 KBytes\n"


@pytest.mark.parametrize(("line", "unit"), [(OLTP_LINE, 1), (PGBENCH_LINE, 1), (IPERF_LINE, 1e6)])
@pytest.mark.parametrize("between", ["", "after tuning\n"])
def test_live_lines_whose_time_goes_back_are_another_result(line: str, unit: float, between: str) -> None:
    runs = [
        "".join(line.format(start=time - 1, time=time, tps=tps + time) for time in (1, 2, 3)) for tps in (400, 900, 200)
    ]
    found = outputs(between.join(runs))
    assert [one.found.output.parsed.figures[0].value for one in found] == [402 * unit, 902 * unit, 202 * unit]
    assert [one.found.first_line for one in found] == [1, 4 + bool(between), 7 + 2 * bool(between)]


def test_two_live_lines_of_one_time_are_of_one_result() -> None:
    """With --rate, sysbench prints the length of its queue as well."""
    lines = "[ {0}s ] thds: 1 eps: 200.00 lat (ms,95%): 1.89\n[ {0}s ] queue length: 0 concurrency: 0\n"
    assert len(outputs("Prime numbers limit: 10000\n" + "".join(map(lines.format, (1, 2, 3))))) == 1


def test_live_lines_of_pgbench_name_the_time_without_transactions_and_the_failed_ones() -> None:
    one = only(
        "progress: 5.0 s, 300.0 tps, lat 10.0 ms stddev 1.0, 0 failed\n"
        "progress: 10.0 s, 0.0 tps, lat 0.000 ms stddev 0.000, 0 failed\n"
        "progress: 15.0 s, 100.0 tps, lat 30.0 ms stddev 1.0, 12 failed\n"
    )
    assert value(one, "latency_mean") == 15.0  # three transactions of 10 ms for each of 30 ms
    notes = " ".join(one.found.output.parsed.notes)
    assert "1 of which have 0 tps" in notes
    assert "12 transactions failed" in notes


SUMMARY_OF_30 = """\
Connecting to host 10.0.0.2, port 5201
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  5]   0.00-1.00   sec   112 MBytes   941 Mbits/sec    0    400 KBytes
[  5]   1.00-2.00   sec   112 MBytes   940 Mbits/sec    0    400 KBytes
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate         Retr
[  5]   0.00-30.00  sec  3.28 GBytes   939 Mbits/sec    0             sender
[  5]   0.00-30.04  sec  3.28 GBytes   937 Mbits/sec                  receiver

iperf Done.
"""


@pytest.mark.parametrize("text", [SUMMARY_OF_30, SUMMARY_OF_30.removesuffix("\niperf Done.\n")])
def test_the_summary_of_iperf3_states_the_time_not_the_rows_that_are_shown(text: str) -> None:
    one = only(text)
    assert one.record.plan.steps[0].values["time"] == 30
    assert not {"took-too-long", "short-runtime"} & ids(one)
    assert not any("2 s" in finding.measured for finding in one.verdict.findings)


def test_a_summary_of_no_bytes_contradicts_the_rows_and_keeps_the_loss() -> None:
    """The report of a server in iperf3's issue 905."""
    row = "[  5]   {0}.00-{1}.00   sec   129 KBytes  1.05 Mbits/sec  0.494 ms  0/91 (0%)\n"
    rows = "".join(row.format(at, at + 1) for at in range(9))
    one = only(
        "Server listening on 5201\n"
        "Accepted connection from 192.168.56.1, port 55011\n"
        "[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n"
        f"{rows}"
        "- - - - - - - - - - - - - - - - - - - - - - - - -\n"
        "[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n"
        "[  5]   0.00-10.00  sec  0.00 Bytes  0.00 bits/sec  0.203 ms  4/906 (0.44%)\n"
    )
    assert value(one, "throughput", end="receiver") == pytest.approx(1.05e6)
    assert (value(one, "lost"), value(one, "datagrams")) == (0.44, 906)
    assert any("0 bytes of 906" in note for note in one.found.output.parsed.notes)


STATISTICS = """\
General statistics:
total time:                          {time}s
total number of events:              10000
total time taken by event execution: {busy}
response time:
min:                                 21.65ms
avg:                                 21.98ms
max:                                136.04ms
approx.  95 percentile:              46.81ms

Threads fairness:
events (avg/stddev):           833.3333/23.57
execution time (avg/stddev):   {each}/0.01
"""
OF_READS = """\
SQL statistics:
    transactions:                        {count}  ({rate} per sec.)
    queries:                             {count}  ({rate} per sec.)
"""
FIRST = STATISTICS.format(time="34.4150", busy="412.6643s", each="34.3887")
SECOND = STATISTICS.format(time="18.3264", busy="219.7879", each="18.3157")


def test_each_of_two_summaries_without_heads_is_a_result() -> None:
    """The two hosts of sysbench's issue 231."""
    found = outputs(f"**VM:**\n\n{FIRST}\n**Hardware:**\n\n{SECOND}")
    assert [one.verdict.trust for one in found] == 2 * [Trust.UNDECIDED]
    assert all("do not name the test" in one.verdict.summary for one in found)
    reads = [OF_READS.format(count=10_000, rate=rate) for rate in (290.57, 545.66)]
    rates = [value(one, "transactions_per_second") for one in outputs(f"{reads[0]}{FIRST}\n{reads[1]}{SECOND}")]
    assert rates == [290.57, 545.66]


TIMED = """\
transaction type: <builtin: select only>
scaling factor: 10
query mode: simple
number of clients: 4
number of threads: 2
{length}
number of transactions actually processed: {count}
latency average = 4.000 ms
tps = 1000.000000 (without initial connection time)
"""


def test_a_run_of_transactions_beside_one_of_a_time_has_the_time_that_they_took() -> None:
    texts = (
        TIMED.format(length="duration: 60 s", count=60_000),
        TIMED.format(length="number of transactions per client: 100000", count="400000/400000"),
    )
    for each in (texts, texts[::-1]):
        times = [one.record.plan.steps[0].values["time"] for one in outputs("".join(each))]
        assert times == ([60, 400] if each is texts else [400, 60])


@pytest.mark.parametrize(
    ("name", "first", "check", "stated"),
    [
        ("sysbench/1.0.20/fileio_rndrw", "File operations:", "one-io-in-flight", "Number of threads: 1"),
        ("sysbench/1.0.20/cpu_default", "CPU speed:", "sysbench-cpu-defaults", "Prime numbers limit: 10000"),
        ("sysbench/1.0.20/mutex_default", "", "sysbench-mutex-short", "$ sysbench mutex run"),
        ("redis/7.0.15/set", "", "redis-one-key", "$ redis-benchmark -t set"),
    ],
)
def test_no_check_takes_a_default_for_a_stated_value(name: str, first: str, check: str, stated: str) -> None:
    text = (DATA / f"{name}.stdout").read_text()
    without = text[text.index(first) :]
    assert check not in ids(only(without))
    assert check in ids(only(f"{stated}\n{without}"))


NO_CONNECTION = {
    "pgbench/15.18/no_server": "pgbench",
    "pgbench/15.18/no_role": "pgbench",
    "redis/8.0.2/no_server": "redis-benchmark",
    "redis/7.0.15/password": "redis-benchmark",
    "http/wrk-4.1.0/no_server": "wrk",
}


@pytest.mark.parametrize("capture", NO_CONNECTION)
def test_a_tool_that_only_prints_that_it_cannot_connect_failed(capture: str) -> None:
    tool, text = NO_CONNECTION[capture], (DATA / f"{capture}.stderr").read_text()

    one = only(text)

    assert one.found.format == tool
    assert one.verdict.trust is Trust.INVALID
    assert one.found.output.parsed.notes[0].startswith(f"{tool} failed: ")
    assert "redis-few-requests" not in ids(one)


def test_the_message_of_an_older_pgbench_is_its_own() -> None:
    one = only('connection to database "bench" failed:\ncould not connect to server: Connection refused\n')

    assert one.verdict.trust is Trust.INVALID
    assert one.found.output.parsed.notes[-1].endswith("refused")


@pytest.mark.parametrize("program", ["psql: error", "psycopg2.OperationalError"])
def test_no_output_is_another_program_that_cannot_connect(program: str) -> None:
    assert not outputs(f'{program}: connection to server at "10.0.0.5", port 5432 failed: Connection refused\n')


OLD_REDIS = """====== {} ======
  100000 requests completed in 5.03 seconds
  50 parallel clients
  3 bytes payload
  keep alive: 1

0.01% <= 1 milliseconds
{}
100.00% <= 5 milliseconds
19880.72 requests per second

"""


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("96.50% <= 3 milliseconds\n99.00% <= 4 milliseconds", "p50 ≤ 3 ms, p95 ≤ 3 ms, p99 ≤ 4 ms, maximum < 6 ms"),
        ("96.50% <= 3 milliseconds", "p50 ≤ 3 ms, p95 ≤ 3 ms, maximum < 6 ms"),
    ],
)
def test_the_latency_table_of_an_old_redis_benchmark_bounds_the_percentiles(rows: str, expected: str) -> None:
    one = only(OLD_REDIS.format("LRANGE_300 (first 300 elements)", rows))

    assert f"only bounds ({expected})" in one.found.output.parsed.notes[0]
    assert (value(one, "requests_per_second"), value(one, "latency_p99")) == (19880.72, None)


def test_a_test_of_redis_that_fills_the_server_is_not_cut_off() -> None:
    titles = ("LPUSH (needed to benchmark LRANGE)", "LRANGE_600 (first 600 elements)")
    fills, measured = outputs("".join(OLD_REDIS.format(title, "") for title in titles))

    assert "only fills the server" in fills.verdict.summary
    assert not fills.found.output.parsed.notes
    assert measured.found.output.stated["test"] == "lrange_600"


def test_a_line_of_redis_benchmark_has_the_name_of_its_test() -> None:
    assert only("PING_BULK: 140845.06 requests per second\n").found.output.stated["test"] == "ping_mbulk"


STRESS_NG = """stress-ng: info:  [4116] setting to a {} run per stressor
stress-ng: info:  [4116] dispatching hogs: 1 stream
stress-ng: info:  [4117] stream: memory rate: 8500.10 MB read/sec, 5666.70 MB write/sec, 743.0 Mflop/sec
stress-ng: info:  [4116] successful run completed in {}
"""


@pytest.mark.parametrize(
    ("asked", "duration", "early"),
    [
        ("60 second", "12.31s", True),
        ("60 second", "60.01s (1 min, 0.01 secs)", False),
        ("60 secs", "12.31 secs", True),
        ("5 mins, 0 secs", "1 min, 12.31 secs", True),
        ("5 mins, 0 secs", "5 mins, 0.31 secs", False),
    ],
)
def test_a_stress_ng_that_a_signal_stopped_ended_early(asked: str, duration: str, *, early: bool) -> None:
    one = only(STRESS_NG.format(asked, duration))

    assert ("ended-early" in ids(one)) == early
    assert (one.verdict.trust is Trust.DOUBTFUL) == early


def test_a_stress_ng_without_a_stated_time_did_not_end_early() -> None:
    text = STRESS_NG.format("", "12.31s").partition("\n")[2]

    assert "ended-early" not in ids(only(text)) | ids(only(f"$ stress-ng --stream 1 --stream-ops 9\n{text}"))
    assert "ended-early" in ids(only(f"$ stress-ng --stream 1 -t 60\n{text}"))


@pytest.mark.parametrize(("line", "name"), [
    ("    events per second:  {}", "events_per_second"),
    ("    reads/s:                      {}", "iops"),
    ("tps = {} (without initial connection time)", "transactions_per_second"),
])  # fmt: skip
@pytest.mark.parametrize("between", ["", "Server B:\n"])
def test_each_rate_line_alone_is_a_result(line: str, name: str, between: str) -> None:
    found = outputs(between.join(f"{line.format(rate)}\n" for rate in (1234.5, 2345.6, 2345.6)))
    assert [value(one, name) for one in found] == [1234.5, 2345.6, 2345.6]


def test_a_rate_line_that_another_one_replaces_is_counted_as_not_read() -> None:
    text = "events per second: 1034.00\nServer C:\nevents per second: 333.00\ntotal time: 10.0004s\n"
    read = recognise(text)
    assert [figure.value for one in read.found for figure in one.output.parsed.figures] == [333.0, 10.0004]
    assert read.left_over == 1


def test_a_row_of_another_tool_in_a_table_is_a_result_or_not_read() -> None:
    rows = (
        "`4294967296 bytes (4.3 GB, 4.0 GiB) copied, 21.5 s, 200 MB/s`",
        "`[  5]   0.00-10.00  sec  1.09 GBytes   937 Mbits/sec                  receiver`",
        "`Requests/sec:  14321.10`",
    )
    whole = judged_bytes("table", "".join(f"| test | {row} |\n" for row in rows).encode())
    assert [one.found.output.suite_id for one in whole.outputs] == ["dd", "iperf3"]
    assert whole.left_over == 1


def test_another_stressor_of_stress_ng_is_not_read() -> None:
    line = "stress-ng: metrc: [9] cpu                7844      5.00      4.45      0.04      1568.61        1746.22\n"
    one = only(f"stress-ng: info:  [9] setting to a 5 second run per stressor\n{line}"
               "stress-ng: info:  [9] successful run completed in 5.01s\n")  # fmt: skip
    assert is_not_read(one.found.output.parsed)
    assert one.verdict.trust is Trust.UNDECIDED


def test_a_block_size_that_a_long_copy_does_not_state_is_no_finding() -> None:
    one = only("4294967296 bytes (4.3 GB, 4.0 GiB) copied, 21.5 s, 200 MB/s\n")
    assert "small-blocks" not in ids(one)
    assert {"block_size", "count"}.isdisjoint(one.found.output.stated)


def test_lost_packets_of_ping_are_no_datagrams() -> None:
    one = only("20 packets transmitted, 15 received, 25% packet loss, time 19027ms\n"
               "rtt min/avg/max/mdev = 10.1/14.2/15.3/0.4 ms\n")  # fmt: skip
    (finding,) = (each for each in one.verdict.findings if each.id == "datagrams-lost")
    assert "ICMP echo packets" in finding.measured
    assert "atagram" not in f"{finding.title} {finding.measured} {finding.why} {finding.remedy}"


def test_each_test_of_redis_has_its_name_in_every_format() -> None:
    summary = (
        "====== {} ======\n  100000 requests completed in 0.74 seconds\n  50 parallel clients\n\nSummary:\n"
        "  throughput summary: {} requests per second\n"
    )
    for text in (
        summary.format("SET", 134952.77) + summary.format("GET", 142045.45),
        "SET: 134952.77 requests per second\nGET: 142045.45 requests per second\n",
    ):
        assert [one.record.plan.steps[0].name for one in outputs(text)] == ["redis SET", "redis GET"]


SENT = "[ 5] 0.00-10.00 sec 1.10 GBytes 943 Mbits/sec 120 sender"
RECEIVED = "[ 5] 0.00-10.04 sec 556 MBytes 466 Mbits/sec receiver"


@pytest.mark.parametrize("between", [" ", ", ", "\n"])
def test_both_rates_of_iperf3_in_one_line_keep_their_ends(between: str) -> None:
    one = only(f"{SENT}{between}{RECEIVED}\n")
    assert value(one, "throughput", end="sender") == 943e6
    assert value(one, "throughput", end="receiver") == 466e6


def test_a_sent_rate_with_words_after_it_is_no_received_one() -> None:
    one = only(f"{SENT} (from my laptop)\n")
    assert value(one, "throughput", end="sender") == 943e6
    assert value(one, "throughput", end="receiver") is None


SERVER = """Accepted connection from 127.0.0.1, port 46766
[  5] local 127.0.0.1 port 5977 connected to 127.0.0.1 port 54920
[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams
[  5]   0.00-1.00   sec   102 MBytes   857 Mbits/sec  0.007 ms  162/3431 (4.7%)
[  5]   1.00-2.00   sec   105 MBytes   881 Mbits/sec  0.010 ms  73/3434 (2.1%)
[  5]   2.00-3.00   sec   105 MBytes   883 Mbits/sec  0.009 ms  64/3434 (1.9%)
[  5]   2.00-3.00   sec   105 MBytes   883 Mbits/sec  0.009 ms  64/3434 (1.9%)
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams
[  5]   0.00-3.00   sec   362 MBytes  1.01 Gbits/sec  0.013 ms  398/11990 (3.3%)  receiver
"""


def test_an_iperf3_server_whose_client_was_stopped_has_the_rate_of_its_rows() -> None:
    one = only(SERVER)  # its summary has the bytes of 3.5 s in 3 s
    assert value(one, "throughput", end="receiver") == pytest.approx(873.7e6, rel=1e-3)
    assert value(one, "lost") == 3.3
    assert {"output-incomplete", "datagrams-lost"} <= ids(one)


def test_ctrl_c_before_a_row_of_iperf3_hides_neither_it_nor_that_it_ended_early() -> None:
    one = only(
        "Connecting to host 10.0.0.2, port 5201\n"
        "[  5] local 10.0.0.1 port 45264 connected to 10.0.0.2 port 5201\n"
        "[ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n"
        "[  5]   0.00-1.00   sec   112 MBytes   940 Mbits/sec    0    400 KBytes       \n"
        "^C[  5]   1.00-2.00   sec   112 MBytes   980 Mbits/sec    0    400 KBytes       \n"
        "- - - - - - - - - - - - - - - - - - - - - - - - -\n"
        "[ ID] Interval           Transfer     Bitrate         Retr\n"
        "[  5]   0.00-2.00   sec   224 MBytes   960 Mbits/sec    0             sender\n"
        "[  5]   0.00-2.00   sec  0.00 Bytes  0.00 bits/sec                  receiver\n"
        "iperf3: interrupt - the client has terminated\n"
    )
    assert value(one, "throughput") == 960e6
    assert "output-incomplete" in ids(one)


FULL = """$ dd if={source} of={target} bs=1M {operands}oflag=direct
{error}2901+0 records in
2900+0 records out
3040870400 bytes (3.0 GB, 2.8 GiB) copied, 9.1 s, 334 MB/s
"""


@pytest.mark.parametrize("path", ["dd", "/usr/bin/dd"])
@pytest.mark.parametrize("words", ["error writing ‘/mnt/a’: No space left on device", "/mnt/a: Input/output error"])
def test_an_error_that_ended_dd_is_a_finding_at_its_own_result(path: str, words: str) -> None:
    error = f"{path}: {words}\n"
    before, failed = outputs(
        FULL.format(source="/dev/zero", target="/mnt/b", operands="", error="")
        + FULL.format(source="/dev/zero", target="/mnt/a", operands="", error=error)
    )
    assert "errors-in-output" not in ids(before)
    assert "errors-in-output" in ids(failed)
    assert only(error + FULL.partition("{error}")[2]).verdict.trust is Trust.DOUBTFUL


def test_dd_that_copied_fewer_blocks_than_its_endless_source_has_ended_early() -> None:
    zeros, file = (
        only(FULL.format(source=source, target="/mnt/a", operands="count=10240 ", error=""))
        for source in ("/dev/zero", "/mnt/source")
    )
    assert "copied-in-part" in ids(zeros)
    assert "copied-in-part" not in ids(file)  # the source may end there
