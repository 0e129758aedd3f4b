"""A verdict on outputs of tools that ran elsewhere, from what they carry."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.cli.main import benchwright
from app.outputs.files import JudgedFile, judged_bytes
from app.outputs.judging import JudgedOutput, KnownHost
from remote.telemetry.statistics_text import statistics_samples
from suites.verdict import Trust
from suites.vocab import Severity
from tests.app.judged_text import ids, only
from tests.disk_host import disk_host

DATA = Path(__file__).parents[1] / "data"


def judged(text: str) -> JudgedFile:
    return judged_bytes("paste", text.encode())


def captured(name: str) -> str:
    return (DATA / name).read_text()


@pytest.mark.parametrize(
    ("name", "format_title", "metric", "value"),
    [
        ("sysbench/1.0.20/cpu_default.stdout", "sysbench CPU", "events_per_second", 5125.12),
        ("sysbench/1.0.20/fileio_rndrw_direct.stdout", "sysbench file I/O", "total_events", None),
        ("fio/2.21/json_final.stdout", "fio JSON", "total_iops", None),
        ("iperf3/3.12/tcp_json.stdout", "iperf3 JSON", "throughput", None),
        ("iperf3/3.12/tcp_P4_text.stdout", "iperf3 text", "throughput", None),
        ("iperf3/iperf-2.1.8/tcp.stdout", "iperf 2 text", "throughput", None),
    ],
)
def test_an_output_without_objection_is_unverified(
    name: str, format_title: str, metric: str, value: float | None
) -> None:
    one = only(captured(name))
    assert one.found.format == format_title
    loopback = {"same-host-peer"} if name.startswith("iperf3") else set()
    remarks = {each.id for each in one.record.findings if each.severity is Severity.INFO}
    assert ids(one) - {"short-runtime"} == {"measured-elsewhere", *remarks, *loopback}
    caveats = loopback or "short-runtime" in ids(one)  # captures are of seconds
    assert one.verdict.trust is (Trust.CAVEATS if caveats else Trust.UNVERIFIED)
    figures = {figure.metric.name: figure.value for figure in one.found.output.parsed.figures}
    assert metric in figures
    assert value is None or figures[metric] == value


def test_buffered_reads_without_counts_of_the_device_cannot_be_judged() -> None:
    one = only(captured("sysbench/1.0.20/fileio_rndrd.stdout"))
    assert one.verdict.trust is Trust.UNDECIDED
    assert "cache-unknown" in ids(one)


def test_what_decides_is_named_where_the_output_does_not_state_it() -> None:
    report = captured("dd/9.1/zero_fdatasync.stderr")
    one = only(report)
    assert one.verdict.trust is Trust.UNDECIDED
    assert one.deciding == ("if", "conv, oflag")
    assert ", ".join(one.deciding) in one.verdict.summary
    named = only(f"$ dd if=/dev/zero of=x bs=1M count=512 conv=fdatasync\n{report}")
    assert named.deciding == ()
    assert named.record.plan.steps[0].values["flush"] == "fdatasync"


def test_an_error_of_the_tool_is_invalid_and_named() -> None:
    one = only(captured("sysbench/1.0.20/cpu_bad_value.stdout"))
    assert one.verdict.trust is Trust.INVALID
    assert "errors-in-output" in ids(one)


OLD_UDP = """\
Connecting to host 192.168.1.1, port 5201
[  4] local 192.168.1.2 port 55324 connected to 192.168.1.1 port 5201
[ ID] Interval           Transfer     Bandwidth       Total Datagrams
[  4]   0.00-1.00   sec  116 MBytes   970 Mbits/sec  14800
[  4]   1.00-2.00   sec  119 MBytes  1.00 Gbits/sec  15260
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bandwidth       Jitter    Lost/Total Datagrams
[  4]   0.00-2.00   sec  235 MBytes   986 Mbits/sec  0.037 ms  25250/30060 (84%)
[  4] Sent 30060 datagrams

iperf Done.
"""
"""The form in which iperf3 before 3.7 prints a test of UDP."""


def _rates(one: JudgedOutput) -> dict[str, float]:
    return {
        dict(figure.labels)["end"]: round(figure.value / 1e6, 1)
        for figure in one.found.output.parsed.figures
        if figure.metric.name == "throughput"
    }


def test_a_sent_rate_is_never_called_received() -> None:
    whole = only(OLD_UDP)
    assert _rates(whole) == {"sender": 986.0, "receiver": 157.8}
    assert "datagrams-lost" in ids(whole)
    head, row, sent = OLD_UDP.splitlines()[-5:-2]
    assert _rates(only(f"{head}\n{row}\n{sent}\n")) == {"sender": 986.0, "receiver": 157.8}
    assert _rates(only(f"{head}\n{row}\n")) == {"sender or receiver": 986.0}


def test_several_outputs_in_one_paste_have_a_verdict_each() -> None:
    text = "\n".join(
        (
            "Hi, here are my numbers:",
            "root@web-1:~# sysbench cpu run",
            captured("sysbench/1.0.20/cpu_default.stdout"),
            *(f"> {line}" for line in captured("iperf3/3.12/tcp_P4_text.stdout").splitlines()),
            captured("fio/2.21/json_final.stdout"),
        )
    )
    found = judged(text)
    assert [one.found.format for one in found.outputs] == ["sysbench CPU", "iperf3 text", "fio JSON"]
    assert found.outputs[0].found.command == "sysbench cpu run"


def test_the_summary_alone_is_read_and_its_missing_end_named() -> None:
    summary = [line for line in captured("iperf3/3.12/tcp_P4_text.stdout").splitlines() if line.startswith("[SUM]")]
    one = only("\n".join(summary[-2:]))
    assert set(_rates(one)) == {"sender", "receiver"}
    assert one.verdict.trust is Trust.CAVEATS
    assert "output-incomplete" in ids(one)


@pytest.mark.parametrize("mark", ["[...]", "...", "<snip>", "…", "--8<--"])
@pytest.mark.parametrize("name", ["iperf3/3.12/tcp_P4_text", "ioping/1.3/direct", "fio/3.7/normal_final"])
def test_lines_that_were_left_out_are_named(name: str, mark: str) -> None:
    lines = captured(f"{name}.stdout").splitlines()
    bare, third = only("\n".join(lines)), len(lines) // 3
    one = only("\n".join((*lines[:third], mark, *lines[third + 3 :])))
    printed = name.startswith("fio") and mark == "..."  # by fio itself
    assert ("output-incomplete" in ids(one)) is not printed
    assert ids(one) - {"output-incomplete"} == ids(bare)


def test_a_summary_without_the_intervals_has_not_ended_early() -> None:
    lines = captured("iperf3/3.9/tcp_text.stdout").splitlines()
    one = only("\n".join(line for line in lines if "sec" not in line or "er" in line))
    assert ids(one) == {"short-runtime", "measured-elsewhere", "omit-missing"}
    assert one.found.output.stated["time"] == 3


FAST_JOB = """\
r: (groupid=0, jobs=1): err= 0: pid=3456: Mon Mar  1 10:00:00 2021
  read: IOPS=371k, BW=1448MiB/s (1519MB/s)(4096MiB/2828msec)
     lat (usec): min=4, max=1240, avg=85.5, stdev=11.4

Run status group 0 (all jobs):
   READ: bw=1448MiB/s (1519MB/s), 1448MiB/s-1448MiB/s (1519MB/s-1519MB/s), io=4096MiB (4295MB), run=2828-2828msec
"""


def test_the_time_of_a_job_is_what_fio_printed() -> None:
    """Not the time of the default size at its rate, which is 0.7 s."""
    assert "too-brief" not in ids(only(FAST_JOB))


def test_numbers_alone_are_of_no_tool() -> None:
    assert "mtr" not in judged("0.012 0.034 0.120\n" * 3).problem


def test_the_dots_between_jobs_are_of_fio() -> None:
    text = captured("fio-text/3.33/clones.stdout")
    assert "\n...\n" in text
    assert "output-incomplete" not in ids(judged(text).outputs[0])


def test_documents_of_one_run_are_one_result_and_of_two_runs_two() -> None:
    every_second = captured("fio/2.21/jsonplus_status1.stdout")
    assert len(judged(every_second).outputs) == 1
    assert len(judged(every_second + captured("fio/2.21/json_final.stdout")).outputs) == 2


def test_a_file_without_an_output_has_a_problem_and_fails(tmp_path: Path) -> None:
    prose = tmp_path / "prose.txt"
    prose.write_text("We ran fio and sysbench and it was fast: 5 GB/s.\n")
    ran = CliRunner().invoke(benchwright, ["judge", str(prose)])
    assert ran.exit_code == 2
    assert judged_bytes("prose.txt", prose.read_bytes()).problem in ran.output


def test_the_command_prints_each_verdict_as_text_and_as_json(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(captured("sysbench/1.0.20/cpu_default.stdout"))
    (tmp_path / "b.txt").write_text(OLD_UDP)
    text = CliRunner().invoke(benchwright, ["judge", str(tmp_path)])
    assert text.exit_code == 0
    for one in (only(captured("sysbench/1.0.20/cpu_default.stdout")), only(OLD_UDP)):
        assert one.verdict.summary in text.output.splitlines()
    found = json.loads(CliRunner().invoke(benchwright, ["judge", "--json", str(tmp_path)]).output)["files"]
    assert [one["file"] for one in found] == ["a.txt", "b.txt"]
    assert found[0]["results"][0]["trust"] == "unverified"
    assert found[0]["results"][0]["values"]["cpu_max_prime"] == 10000


def test_standard_input_is_read() -> None:
    ran = CliRunner().invoke(benchwright, ["judge"], input=captured("sysbench/1.0.20/cpu_default.stdout"))
    assert ran.exit_code == 0
    assert only(captured("sysbench/1.0.20/cpu_default.stdout")).verdict.summary in ran.output


def test_telemetry_beside_an_output_counts(tmp_path: Path) -> None:
    head = (
        "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n"
        " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n"
    )
    telemetry = tmp_path / "vmstat.txt"
    telemetry.write_text(head + " 2  0      0 1 1 1    0    0  0 0  882 2861 60 5 5  0  30\n" * 12)
    output = str(DATA / "sysbench/1.0.20/cpu_default.stdout")
    ran = CliRunner().invoke(benchwright, ["judge", "--json", "--telemetry", str(telemetry), output])
    (result,) = json.loads(ran.output)["files"][0]["results"]
    assert "cpu-stolen" in {finding["id"] for finding in result["findings"]}
    assert CliRunner().invoke(benchwright, ["judge", "--telemetry", output, output]).exit_code == 2


IOSTAT = "Device r/s rkB/s w/s wkB/s %util\n{} 9000 {} 0 0 99\n\n"
SAR = "12:00:00        CPU     %user     %nice   %system   %iowait    %steal     %idle\n" + "".join(
    f"12:00:{second:02}        all      9.00      0.00     20.00      0.00      0.00     71.00\n"
    for second in range(15)
)


@pytest.mark.parametrize(("telemetry", "trust", "expected"), [
    (SAR, Trust.UNDECIDED, "cache-unknown"),
    (15 * IOSTAT.format("sda", 0), Trust.DOUBTFUL, "not-from-the-device"),
    (2 * IOSTAT.format("sda", 0), Trust.UNDECIDED, "cache-unknown"),
    (15 * IOSTAT.format("sda", 4_400_000), Trust.CAVEATS, "short-runtime"),
])  # fmt: skip
def test_only_counters_of_disks_show_whether_the_page_cache_served_reads(
    telemetry: str, trust: Trust, expected: str
) -> None:
    text = captured("sysbench/1.0.20/fileio_rndrd.stdout")
    host = KnownHost(telemetry=tuple(statistics_samples(telemetry)))
    (one,) = judged_bytes("paste", text.encode(), host).outputs
    assert one.verdict.trust is trust
    assert expected in ids(one)


LINE = "  read: IOPS=12.3k, BW=48.1MiB/s (50.4MB/s)(2886MiB/60001msec)\n"
LATENCIES = """\
    slat (nsec): min=1500, max=95000, avg=3500.11, stdev=1200.00
    clat (usec): min=80, max=12000, avg=2590.11, stdev=900.00
     lat (usec): min=84, max=12004, avg=2594.00, stdev=900.10
"""


def test_a_part_of_fio_is_read_and_what_it_does_not_state_does_not_count() -> None:
    one = only(LINE + LATENCIES)
    assert one.found.output.parsed.figures[0].value == 12300
    assert one.deciding == ("direct",)
    assert not {"more-in-flight-than-asked", "depth-without-async-engine"} & ids(one)


def test_a_run_that_its_size_ended_did_not_end_early() -> None:
    text = captured("fio-text/3.33/psync.stdout")
    start = text.index("j: (groupid")
    shortened = text[:start].splitlines()[0] + "\n" + text[start:].replace("1001msec", "843msec")
    assert "ended-early" not in ids(only(shortened.partition("{")[0]))


def test_a_document_without_an_end_is_named() -> None:
    whole = captured("fio/2.21/json_final.stdout")
    cut, prose = judged(whole[: len(whole) // 2]), judged("no output\n")
    assert cut.problem
    assert prose.problem
    assert cut.problem != prose.problem


def test_a_command_without_a_flush_makes_the_copy_doubtful() -> None:
    one = only(f"$ dd if=/dev/zero of=x bs=1M count=512\n{captured('dd/9.1/zero_fdatasync.stderr')}")
    assert one.verdict.trust is Trust.DOUBTFUL
    assert one.verdict.findings[0].id == "unflushed-write"


def test_counts_of_the_device_decide_for_buffered_io() -> None:
    text = captured("fio/3.33/buffered_libaio.stdout")
    assert "cache-unknown" not in ids(only(text))
    memory = KnownHost(facts=disk_host())
    (one,) = judged_bytes("paste", text.encode(), memory).outputs
    assert "page-cache" not in ids(one)
    (read,) = judged_bytes("paste", captured("sysbench/1.0.20/fileio_rndrd.stdout").encode(), memory).outputs
    assert read.verdict.findings[0].id == "page-cache"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("sysbench/1.0.20/cpu_default.stdout", {"time": 10.0, "threads": 1, "cpu_max_prime": 10000}),
        ("sysbench/1.0.20/fileio_rndrw_direct.stdout", {"mode": "rndrw", "extra_flags": "direct", "block_size": 16384}),
        ("sysbench/1.0.20/memory_read.stdout", {"operation": "read"}),
        ("iperf3/3.12/tcp_bidir_json.stdout", {"direction": "both", "protocol": "tcp"}),
        ("iperf3/3.12/tcp_reverse_json.stdout", {"direction": "receive"}),
        ("iperf3/3.12/udp_json.stdout", {"protocol": "udp", "bitrate": 1.0}),
        ("iperf3/3.12/tcp_reverse_text.stdout", {"direction": "receive"}),
        ("fio/2.21/json_final.stdout", {"rw": "randrw"}),
    ],
)
def test_the_options_that_an_output_states_are_read(name: str, values: dict[str, object]) -> None:
    found = only(captured(name)).record.plan.steps[0].values
    assert {key: found[key] for key in values} == values


def test_what_every_output_lacks_is_named_only_where_nothing_else_is() -> None:
    caveat, none = only(OLD_UDP), only(captured("sysbench/1.0.20/cpu_default.stdout"))
    title = next(finding.title for finding in none.verdict.findings if finding.id == "measured-elsewhere")
    assert title in none.verdict.summary
    assert title not in caveat.verdict.summary


SUMMARY_OF_FIO_3 = """\
Run status group 0 (all jobs):
   READ: bw=48.1MiB/s (50.4MB/s), 48.1MiB/s-48.1MiB/s (50.4MB/s-50.4MB/s), io=2886MiB (3026MB), run=60001-60001msec
  WRITE: bw=20.5MiB/s (21.5MB/s), 20.5MiB/s-20.5MiB/s (21.5MB/s-21.5MB/s), io=1230MiB (1290MB), run=60001-60001msec
"""
SUMMARY_OF_FIO_2 = (
    "   READ: io=2886.0MB, aggrb=49257KB/s, minb=49257KB/s, maxb=49257KB/s, mint=60001msec, maxt=60001msec\n"
)


@pytest.mark.parametrize(
    ("text", "rates"),
    [
        (SUMMARY_OF_FIO_3, {"read": 48.1 * 2**20, "write": 20.5 * 2**20}),
        (SUMMARY_OF_FIO_2, {"read": 49257 * 1024.0}),
    ],
)
def test_the_closing_summary_of_fio_alone_has_its_rates(text: str, rates: dict[str, float]) -> None:
    one = only(text)
    figures = one.found.output.parsed.figures
    assert {dict(figure.labels)["operation"]: figure.value for figure in figures} == pytest.approx(rates)
    assert "nothing-counted" not in ids(one)
    assert one.deciding == ("direct",)
    assert one.found.output.seconds == 60.001


def test_the_block_size_that_a_part_of_fio_does_not_state_follows_from_its_rates() -> None:
    one = only("  read: IOPS=385, BW=48.1MiB/s (50.4MB/s)(2886MiB/60001msec)\n")
    assert "rate-against-block" not in ids(one)
    assert one.verdict.trust is not Trust.INVALID


@pytest.mark.parametrize(
    "text",
    [
        "Connecting to host h, port 5201\n[ ID] Interval Transfer Bitrate\n 0.00-10.00 1.10 GB 941 Mbit\n",
        "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\nNumber of threads: 2\n",
        "j: (g=0): rw=randread, bs=(R) 4096B-4096B, ioengine=libaio, iodepth=32\nfio-3.28\n  read  IOPS 17k\n",
        "transaction type: <builtin>\nscaling factor: 1\ntps: 100\n",
        captured("dd/busybox-1.35/zero_fsync.stderr"),
    ],
)
def test_what_is_recognised_without_a_figure_is_not_read_rather_than_invalid(text: str) -> None:
    found = judged(text)
    problem = found.problem or found.outputs[0].verdict.summary
    assert problem.startswith("Not read: ")
    assert text.strip().splitlines()[0][:20] in problem
    assert [one.verdict.trust for one in found.outputs] in ([], [Trust.UNDECIDED])


@pytest.mark.parametrize("beside", ["   | sshd receiver", "   top - 12:00:01", "  │ receiver"])
def test_text_beside_a_row_does_not_hide_who_printed_it(beside: str) -> None:
    row = "[  5]   0.00-10.00  sec  1.10 GBytes   941 Mbits/sec"
    one = only(f"[ ID] Interval           Transfer     Bitrate\n{row}                  sender{beside}\n")
    assert {dict(figure.labels)["end"] for figure in one.found.output.parsed.figures} == {"sender"}


def test_the_command_of_a_client_shows_that_it_sent() -> None:
    row = "[ ID] Interval           Transfer     Bitrate\n[  5]   0.00-10.00  sec  1.10 GBytes   941 Mbits/sec\n"
    assert set(_rates(only(f"$ iperf3 -c web-1 | tail\n{row}"))) == {"sender"}
    assert set(_rates(only(f"$ iperf3 -c web-1 -R | tail\n{row}"))) == {"receiver"}


@pytest.mark.parametrize(
    "line",
    [
        "$ sudo dd if=/dev/zero of=x bs=1M count=512 oflag=direct 2>&1 | grep copied",
        "+ dd if=/dev/zero of=x bs=1M count=512 oflag=direct",
        "while sleep 1; do dd if=/dev/zero of=x bs=1M count=512 oflag=direct; done",
    ],
)
def test_a_command_counts_with_the_shell_around_it(line: str) -> None:
    for one in judged(f"{line}\n536870912 bytes (537 MB, 512 MiB) copied, 1.21 s, 444 MB/s\n").outputs:
        assert one.record.plan.steps[0].values["flush"] == "direct"
        assert one.deciding == ()


@pytest.mark.parametrize("name", ["fio/3.33/enospc.stdout", "sysbench/1.0.20/fileio_no_prepare.stdout"])
def test_an_error_that_ended_the_tool_is_one_finding(name: str) -> None:
    for one in judged(captured(name)).outputs:
        measured = [finding.measured for finding in one.verdict.findings]
        assert len(set(measured)) == len(measured)
        assert "errors-in-output" in ids(one)


EARLIER_RATE = """\
sysbench 1.0.11 (using system LuaJIT 2.1.0-beta3)
Number of threads: 1
Target transaction rate: 100/sec
SQL statistics:
    transactions:                        620    (30.94 per sec.)
General statistics:
    total time:                          20.0378s
    total number of events:              620
Latency (ms):
         avg:                               6913.08
         sum:                            4286109.60
Threads fairness:
    execution time (avg/stddev):   20.0320/0.00
"""


@pytest.mark.parametrize("text", [captured("sysbench/1.0.20/cpu_rate.stdout"), EARLIER_RATE])
def test_latencies_of_a_schedule_contradict_nothing(text: str) -> None:
    one = only(text)
    assert not {"figures-contradict", "more-in-flight-than-asked"} & ids(one)
    unscheduled = only(text.replace("Target transaction rate", "Rate"))
    assert {"figures-contradict", "more-in-flight-than-asked"} & ids(unscheduled)


PGBENCH = """\
transaction type: <builtin: select only>
number of transactions actually processed: 3265
tps = 108.832630 (without initial connection time)
"""
REDIS = """\
====== GET ======
  100000 requests completed in 1.20 seconds
  50 parallel clients
83333.33 requests per second
"""
WRK = """\
Running 30s test @ {}
  2 threads and 10 connections
    Latency     1.02ms    0.50ms  10.00ms   90.00%
  300000 requests in 30.00s, 240.00MB read
Requests/sec:  10000.00
Transfer/sec:      8.00MB
"""
OLTP = captured("oltp/sysbench-1.0.20/maria_read_only.stdout")


@pytest.mark.parametrize(
    ("command", "output", "seen"),
    [
        ("pgbench -h localhost -p 15432 -U root -n -T30", PGBENCH, "localhost"),
        ("pgbench -T 30 --host=127.0.0.1 bench", PGBENCH, "127.0.0.1"),
        ("pgbench -T 30 -h /var/run/postgresql bench", PGBENCH, "/var/run/postgresql"),
        ("pgbench -c 8 bench", PGBENCH, "No address"),
        ("pgbench -c 8 postgresql://ann:x@localhost:5433/bench", PGBENCH, "localhost"),
        ("pgbench -c 8 postgresql://ann:x@db1/bench", PGBENCH, ""),
        ("pgbench -c 8 'host=db1 dbname=bench'", PGBENCH, ""),
        ("pgbench -c 8 -h db1 bench", PGBENCH, ""),
        ("", PGBENCH, ""),
        ("redis-benchmark -t get", REDIS, "No address"),
        ("redis-benchmark -t get -h ::1", REDIS, "::1"),
        ("redis-benchmark -t get -s /tmp/redis.sock", REDIS, "/tmp/redis.sock"),
        ("redis-benchmark -t get -h cache.internal", REDIS, ""),
        ("sysbench oltp_read_only --mysql-host=127.0.0.1 run", OLTP, "127.0.0.1"),
        ("sysbench oltp_read_only --pgsql-host=localhost --db-driver=pgsql run", OLTP, "localhost"),
        ("sysbench oltp_read_only --mysql-socket=/run/mysqld/mysqld.sock run", OLTP, "/run/mysqld/mysqld.sock"),
        ("sysbench oltp_read_only --tables=8 run", OLTP, "No address"),
        ("sysbench oltp_read_only --mysql-host=db1 run", OLTP, ""),
        ("sysbench oltp_read_only --mysql-host=db1,db2 run", OLTP, ""),
        ("sysbench oltp_read_only --tables=8 --mysql-", OLTP, ""),
        ("", WRK.format("http://localhost:8080/index.html"), "localhost"),
        ("", WRK.format("http://127.0.0.1"), "127.0.0.1"),
        ("", WRK.format("https://[::1]:8443/"), "::1"),
        ("", WRK.format("http://localhost.example.com/"), ""),
        ("", WRK.format("http://10.0.0.7:8080/127.0.0.1"), ""),
    ],
)
def test_a_server_on_the_host_of_the_client_is_named(command: str, output: str, seen: str) -> None:
    one = only(f"$ {command}\n{output}" if command else output)
    found = [each.measured for each in one.verdict.findings if each.id.endswith("-same-host")]
    assert len(found) == bool(seen)
    assert seen in "".join(found)
    assert one.record.plan.steps[0].values["server"] == "named"


HEADLESS = "Unpatched:\n  read: IOPS=151, BW=605KiB/s (619kB/s)(35.5MiB/60053msec)\n  write: IOPS=151, BW=608KiB/s"
FIO_JSON = captured("fio/2.21/json_final.stdout")
CLOSED = "1073741824 bytes (1.1 GB, 1.0 GiB) copied, 1.2{} s, 894 MB/s"
IOPING = "--- / (ext4 /dev/dm-0) ioping statistics ---\nmin/avg/max/mdev = 288 us / 479 us / 752 us / 169 us"


@pytest.mark.parametrize(
    ("parts", "begins"),
    [
        ((IOPING, IOPING, IOPING), "--- /"),
        ((CLOSED.format(1), CLOSED.format(2), CLOSED.format(1)), "1073741824"),
        ((PGBENCH, PGBENCH), "transaction type"),
        ((FIO_JSON, FIO_JSON.replace('"jobname" : "', '"jobname" : "other-')), "{"),
        ((FAST_JOB, FAST_JOB.replace("r: (", "s: (")), ("r: (", "s: (")),
        ((HEADLESS, HEADLESS.replace("Unpatched", "Patched")), "  read:"),
    ],
)
@pytest.mark.parametrize("between", ["\n", "\nOn the block device (`x`)\n\n```\n", "\r\n\r\nprose\r\n"])
def test_each_result_has_the_line_at_which_it_begins(
    parts: tuple[str, ...], begins: str | tuple[str, ...], between: str
) -> None:
    text = between + between.join(part.rstrip("\n") for part in parts) + "\n"
    lines = text.replace("\r\n", "\n").split("\n")
    expected = [number for number, line in enumerate(lines, 1) if line.startswith(begins)]
    assert [one.found.first_line for one in judged(text).outputs] == expected
