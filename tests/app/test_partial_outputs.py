"""Outputs of any tool as people give them, in part, translated or packed: no wrong figure, and named what lacks."""

import shutil
from pathlib import Path

import pytest

from app.outputs.files import judged_bytes
from app.outputs.judging import is_not_read
from app.outputs.recognition import recognise
from suites.verdict import Trust
from tests.app.judged_text import ids, only, outputs, value
from tests.suites.captured_outputs import DATA

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


def test_lost_packets_of_ping_are_no_datagrams() -> None:
    one = only("20 packets transmitted, 15 received, 25% packet loss, time 19027ms\n"
               "rtt min/avg/max/mdev = 10.1/14.2/15.3/0.4 ms\n")  # fmt: skip
    (finding,) = (each for each in one.verdict.findings if each.id == "datagrams-lost")
    assert "ICMP echo packets" in finding.measured
    assert "atagram" not in f"{finding.title} {finding.measured} {finding.why} {finding.remedy}"
