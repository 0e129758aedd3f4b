"""Outputs of the suites' tools, as they are printed and as people paste them: format, figures and stated values."""

import json
from pathlib import Path

import pytest

from app.checks.catalogue import of_starts
from app.outputs.judging import JudgedOutput
from app.outputs.recognition import recognise
from tests.app.judged_text import outputs
from tests.suites.captured_outputs import capture

DATA = Path(__file__).parents[1] / "data"

WHOLE: tuple[tuple[str, str, str, dict[str, object]], ...] = (
    ("ioping/1.3/write", "ioping", "latency_mean", {"operation": "write", "block_size": 4096, "count": 6}),
    ("ioping/1.3/direct", "ioping", "latency_mean", {"operation": "read", "interval": 0.1, "count": 21}),
    (
        "pgbench/15.18/tpcb",
        "pgbench",
        "transactions_per_second",
        {"script": "tpcb-like", "scale": 4, "clients": 2, "time": 5.0},
    ),
    (
        "pgbench/15.18/rate",
        "pgbench",
        "transactions_per_second",
        {"script": "simple-update", "threads": 1, "rate": 210.801861},
    ),
    (
        "oltp/sysbench-1.0.20/pg_read_write",
        "sysbench OLTP",
        "transactions_per_second",
        {"threads": 2, "percentile": 95, "time": 3.0},
    ),
    ("redis/7.0.15/set_threads", "redis-benchmark", "requests_per_second", {"test": "set", "client_threads": 2}),
    ("redis/6.0.16/set", "redis-benchmark", "requests_per_second", {"clients": 50, "data_size": 3}),
    ("http/wrk-4.1.0/file", "wrk", "requests_per_second", {"threads": 2, "connections": 10, "time": 2.0}),
    ("sockperf/3.7/tcp", "sockperf", "round_trip", {"protocol": "tcp", "mode": "ping-pong", "full_rtt": True}),
    ("sockperf/3.7/under_load", "sockperf", "round_trip", {"protocol": "udp", "mode": "under-load"}),
    ("stream/5.10/one_thread", "STREAM", "triad", {"array_size": 160_000_000, "times": 10, "threads": 1}),
    ("unixbench/5.1.3/dhry2reg_c1", "UnixBench", "index", {"copies": "single", "workload": "processor"}),
    ("unixbench/6.0.0/index_c1", "UnixBench", "index", {"copies": "single", "workload": "index"}),
    ("stress-ng/0.15.06/stream_two", "stress-ng memory", "read", {"method": "stream", "threads": 2, "time": 16.0}),
    ("stress-ng/0.15.06/memrate_two", "stress-ng memory", "read", {"method": "memrate", "memrate_bytes": 2**26}),
    ("pg-test-fsync/15.18/disk", "pg_test_fsync", "fdatasync_rate", {"seconds": 1}),
    ("geekbench/documented/geekbench6", "Geekbench", "multi_core", {"program": "geekbench6"}),
    ("linpack/documented/intel", "LINPACK", "linpack", {"program": "intel", "sizes": "1000, 2000, 5000"}),
    ("linpack/documented/xhpl_2.3", "LINPACK", "linpack", {"program": "xhpl", "block": 192}),
    ("linpack/hpcc-1.5.0/openblas", "LINPACK", "linpack", {"program": "hpcc", "sizes": "500, 1000"}),
    ("mtr/0.95/routed", "mtr JSON", "round_trip_mean", {"target": "10.216.2.2", "cycles": 10}),
)
"""Captures without their suffix: the format, a metric, and values that the output states."""


def captured(name: str) -> str:
    """Return what the terminal showed: the messages, then the output."""
    streams = (DATA / f"{name}{suffix}" for suffix in (".stderr", ".stdout"))
    return "".join(each.read_text() for each in streams if each.exists())


def figures(one: JudgedOutput) -> set[tuple[str, object, float]]:
    return {(figure.metric.name, figure.labels, figure.value) for figure in one.found.output.parsed.figures}


@pytest.mark.parametrize(("name", "title", "metric", "stated"), WHOLE, ids=[each[0] for each in WHOLE])
def test_an_output_is_recognised_with_the_values_that_it_states(
    name: str, title: str, metric: str, stated: dict[str, object]
) -> None:
    (one,) = outputs(captured(name))
    assert one.found.format == title
    assert any(figure.metric.name.startswith(metric) for figure in one.found.output.parsed.figures), figures(one)
    assert {key: one.found.output.stated.get(key) for key in stated} == stated


@pytest.mark.parametrize("name", [each[0] for each in WHOLE])
def test_prompts_quoting_and_a_second_output_change_no_figure(name: str) -> None:
    text = captured(name)
    (alone,) = outputs(text)
    quoted = "".join(f"> {line}\n" for line in text.splitlines())
    assert [figures(one) for one in outputs(f"Hello,\nthis is what I get:\n\n{quoted}\nIs it slow?\n")] == [
        figures(alone)
    ]
    other = captured("iperf3/3.12/tcp_P4_text")
    beside = outputs(f"{other}\n{text}\n{other}")
    assert [one.found.format for one in beside] == ["iperf3 text", alone.found.format, "iperf3 text"]
    assert figures(beside[1]) == figures(alone)
    assert [figures(one) for one in outputs(f"{text}\n{text}")] == [figures(alone)] * 2


SUMMARIES = (
    ("ioping/1.3/direct", "--- benchwright.dat", {"latency_mean": 372.9}),
    ("pgbench/15.18/tpcb", "transaction type", {"transactions_per_second": 2477.813264}),
    ("http/wrk-4.1.0/file", "  116285 requests", {"requests_per_second": 55386.50}),
)


@pytest.mark.parametrize(("name", "begins", "expected"), SUMMARIES, ids=[each[0] for each in SUMMARIES])
def test_the_summary_alone_has_its_figures(name: str, begins: str, expected: dict[str, float]) -> None:
    text = captured(name)
    (one,) = outputs(text[text.index(begins) :])
    found = {figure.metric.name: figure.value for figure in one.found.output.parsed.figures}
    assert {key: found.get(key) for key in expected} == expected


MTR_REPORT = """\
Start: 2023-02-14T09:12:01+0000
HOST: web-1                       Loss%   Snt   Last   Avg  Best  Wrst StDev
  1.|-- 192.0.2.1                  0.0%    10    0.4   0.5   0.3   0.9   0.2
  2.|-- 198.51.100.7              30.0%    10    5.1   5.3   4.9   6.8   0.6
  3.|-- 203.0.113.9                0.0%    10   10.2  10.4  10.1  11.0   0.3
"""
"""The report as mtr(8) documents it: mtr -r -c 10."""


def test_the_report_of_mtr_as_text_has_the_figures_of_its_json() -> None:
    (one,) = outputs(MTR_REPORT)
    found = {figure.metric.name: figure.value for figure in one.found.output.parsed.figures if not figure.labels}
    assert found["round_trip_mean"] == 10.4
    assert found["lost"] == 0.0
    assert one.found.output.stated["cycles"] == 10
    assert any("198.51.100.7" in note for note in one.found.output.parsed.notes)


def test_an_output_that_failed_has_the_format_of_its_test() -> None:
    (one,) = outputs(captured("oltp/sysbench-1.0.20/no_server"))
    assert (one.found.format, one.verdict.trust.value) == ("sysbench OLTP", "invalid")


def test_a_check_of_the_start_or_the_cost_says_nothing_of_a_result() -> None:
    """A run of a day, tables made in a server, a published score: nothing that a reader of the output is warned of."""
    of_the_start = of_starts()
    assert {"tool-missing", "stress-ng-endless", "pgbench-makes-tables", "geekbench-uploads"} <= of_the_start
    assert {"page-cache", "short-runtime", "oltp-few-rows", "governor-not-performance"}.isdisjoint(of_the_start)
    for name in ("stress-ng/0.19.02/memrate_one", "pgbench/15.18/tpcb", "geekbench/documented/geekbench6"):
        for one in outputs(captured(name)):
            assert of_the_start.isdisjoint(finding.id for finding in one.verdict.findings), name


def test_a_log_of_fio_cannot_be_judged_and_what_would_is_named() -> None:
    (one,) = outputs("".join(f"{1000 * second}, {45_000 + second}, 0, 4096, 0\n" for second in range(10)))
    assert (one.found.format, one.verdict.trust.value) == ("fio log", "cannot tell")
    assert one.found.output.undecided in one.verdict.summary
    assert one.found.output.parsed.figures == ()


def test_each_host_of_fio_client_has_a_verdict_and_so_has_their_sum() -> None:
    content = json.loads(captured("fio/2.21/json_final"))
    (job,) = content.pop("jobs")
    total = {key: value for key, value in job.items() if key != "job options"} | {"jobname": "All clients"}
    stats = [{**job, "hostname": "web-1"}, {**job, "hostname": "web-2"}, total]
    found = outputs(json.dumps({**content, "client_stats": stats}, indent=2))
    assert [one.found.output.name for one in found] == ["web-1 job1", "web-2 job1", "All clients"]
    (alone,) = outputs(captured("fio/2.21/json_final"))
    throughput = {one for one in figures(alone) if one[0] == "iops"}
    assert throughput
    assert all(throughput <= figures(one) for one in found)
    assert all(one.found.output.stated["direct"] is True for one in found)


CLIENTS = """\
<web-1> test: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=8
<web-1> Starting 2 processes
<web-1>
test: (groupid=0, jobs=2): err= 0: pid=100: Wed Mar 12 23:09:07 2025
  read: IOPS=9862, BW=38.5MiB/s (40.4MB/s)(1156MiB/30000msec)
     lat (usec): min=91, max=77024, avg=261.83, stdev=71.30
<web-2>
test: (groupid=0, jobs=2): err= 0: pid=101: Wed Mar 12 23:09:07 2025
  read: IOPS=4931, BW=19.3MiB/s (20.2MB/s)(578MiB/30000msec)
     lat (usec): min=91, max=77024, avg=523.66, stdev=71.30
"""
"""Form of the text of fio --client with two hosts, by fio's client.c."""


def test_the_text_of_fio_client_is_divided_among_its_hosts() -> None:
    found = outputs(CLIENTS)
    assert [one.found.output.name for one in found] == ["web-1 test", "web-2 test"]
    rates = [{name: value for name, _labels, value in figures(one)}["iops"] for one in found]
    assert rates == [9862, 4931]
    assert all(one.found.output.stated["numjobs"] == 2 for one in found)
    assert all(one.found.output.stated["iodepth"] == 8 for one in found)


def test_servers_that_are_named_before_all_results_have_numbers_and_their_sum_is_no_server() -> None:
    found = outputs(captured("fio-client/3.33/two_servers_text"))
    assert [one.found.output.name for one in found] == ["vm server 1 read", "vm server 2 read", "All clients"]
    rates = [{name: value for name, _labels, value in figures(one)}["iops"] for one in found]
    assert rates == pytest.approx([10_800, 10_717, 21_508], rel=0.001)
    assert [one.found.output.stated["numjobs"] for one in found] == [1, 1, 2]


@pytest.mark.parametrize("name", ["jsonstream_tcp", "jsonstream_full", "jsonstream_udp", "jsonstream_P2_bidir"])
def test_the_events_of_iperf3_are_one_test_as_its_document_is(name: str) -> None:
    text = captured(f"iperf3/3.21/{name}")
    (one,) = outputs(text)
    assert (one.found.format, one.found.output.parsed.complete) == ("iperf3 JSON", True)
    assert {"throughput"} <= {metric for metric, _labels, _value in figures(one)}
    assert one.found.output.stated["protocol"] == ("udp" if "udp" in name else "tcp")
    several = outputs(f"{text}$ iperf3 -c 10.99.0.2 -J --json-stream\n{captured('iperf3/3.21/jsonstream_udp')}")
    assert [figures(each) for each in several] == [
        figures(one),
        *map(figures, outputs(captured("iperf3/3.21/jsonstream_udp"))),
    ]


def test_events_without_a_start_are_those_of_a_document_only_if_it_has_them() -> None:
    full = captured("iperf3/3.21/jsonstream_full")
    lines = [line for line in full.splitlines(keepends=True) if not line.startswith('{"event":"start"')]
    assert len(lines) < len(full.splitlines())
    (same,) = outputs("".join(lines))
    assert figures(same) == figures(outputs(full)[0])
    udp = captured("iperf3/3.21/jsonstream_udp").splitlines(keepends=True)
    events = "".join(line for line in udp if line.startswith('{"event"') and '"event":"start"' not in line)
    document = captured("iperf3/3.12/tcp_json")
    found = outputs(events + document)
    assert [figures(one) for one in found] == [figures(outputs(text)[0]) for text in (events, document)]


def test_events_of_iperf3_without_an_end_are_incomplete() -> None:
    (one,) = outputs(captured("iperf3/3.21/client_sigterm_jsonstream"))
    assert not one.found.output.parsed.complete


def test_other_events_are_no_output_of_iperf3() -> None:
    assert outputs('{"event": "click", "data": {"x": 1}}\n{"event": 7, "data": []}\n') == ()


@pytest.mark.parametrize("border", ["   |", " │", "<br>"])
def test_the_border_of_a_pane_or_a_table_hides_no_value(border: str) -> None:
    text = (DATA / "iperf3/3.12/udp_P2_text.stdout").read_text()
    plain, framed = recognise(text), recognise("\n".join(line + border for line in text.splitlines()))
    assert plain.found
    assert [one.output.parsed.figures for one in framed.found] == [one.output.parsed.figures for one in plain.found]


@pytest.mark.parametrize("mark", ["    3  ", "     3\t", "3: ", "512+0 records in 512+0 records out "])
def test_a_number_before_a_line_of_dd_is_no_count_of_bytes(mark: str) -> None:
    found = recognise(f"{mark}536870912 bytes (537 MB, 512 MiB) copied, 0.81803 s, 656 MB/s").found
    copied = [each.value for one in found for each in one.output.parsed.figures if each.metric.name == "copied"]
    assert copied in ([], [536870912.0])


_IPERF3_BY_BYTES = """$ iperf3 {options}
Connecting to host 10.0.0.2, port 5201
[  5] local 10.0.0.1 port 59086 connected to 10.0.0.2 port 5201
[ ID] Interval           Transfer     Bitrate         Retr
[  5]   0.00-{seconds}   sec  {size} MBytes  {rate} Mbits/sec    1             sender
[  5]   0.00-{seconds}   sec  {size} MBytes  {rate} Mbits/sec                  receiver

iperf Done.
"""


@pytest.mark.parametrize("options", ["-c 10.0.0.2 -n 20M", "-c 10.0.0.2 -uk 3000", "-c 10.0.0.2 -F data", ""])
@pytest.mark.parametrize(("seconds", "rate"), [("5.56", "30.2"), ("0.56", "300")])
def test_an_iperf3_test_that_ends_by_bytes_has_no_planned_time(options: str, seconds: str, rate: str) -> None:
    text = _IPERF3_BY_BYTES.format(options=options, seconds=seconds, size="20.0", rate=rate)
    (one,) = outputs(text if options else text.partition("\n")[2])
    found = {each.id: each for each in one.verdict.findings}
    assert "ended-early" not in found
    assert ("too-brief" in found) == (seconds == "0.56")


def test_a_document_of_iperf3_that_ends_by_bytes_has_its_real_time() -> None:
    content = json.loads(captured("iperf3/3.12/tcp_json"))
    content["start"]["test_start"] |= {"duration": 0, "bytes": 15728640}
    (one,) = outputs(json.dumps(content))
    assert one.found.output.seconds == pytest.approx(content["end"]["sum_received"]["seconds"], rel=0.05)
    assert one.found.output.stated["time"] == pytest.approx(one.found.output.seconds, abs=0.01)


_SYSBENCH_RATED = """sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Number of threads: 2
Target transaction rate: {rate}/sec

{before}
General statistics:
    total time:                          5.0010s
    total number of events:              149636

Threads fairness:
    events (avg/stddev):           74818.0000/5406.00
    execution time (avg/stddev):   2.8052/0.77
"""
_OF_TEST = {
    "cpu": "Prime numbers limit: 10000\n\nCPU speed:\n    events per second: 29921.22",
    "threads": "",
    "memory": "  block size: 4KiB\n  total size: 8192MiB\n  operation: read\n  scope: global\n\n"
    "Total operations: 149636 (29917.18 per second)\n\n584.52 MiB transferred (116.86 MiB/sec)\n",
    "fileio": "Extra file open flags: directio\n4 files, 16MiB each\n64MiB total file size\nBlock size 16KiB\n"
    "Doing random r/w test\n\nFile operations:\n    reads/s:  17950.00\n    writes/s:  11966.00\n    fsyncs/s:  0.00\n",
}


@pytest.mark.parametrize("test", _OF_TEST)
@pytest.mark.parametrize(("rate", "is_limit"), [(30_000, True), (60_000, False)])
def test_the_requested_rate_of_sysbench_limits_it(test: str, rate: int, is_limit: bool) -> None:  # noqa: FBT001 (one of a table)
    command = f"$ sysbench {test} --threads=2 --time=5 --rate={rate} run\n"
    (one,) = outputs(command + _SYSBENCH_RATED.format(rate=rate, before=_OF_TEST[test]))
    assert (one.verdict.limited_by is not None and one.verdict.limited_by.name == "RATE") == is_limit
    assert "Total size" not in one.verdict.summary


_REDIS_OF = """====== {test} ======
  50000 requests completed in 0.25 seconds
  20 parallel clients
  3 bytes payload
  keep alive: 1

Summary:
  throughput summary: 200000.00 requests per second
  latency summary (msec):
          avg       min       p50       p95       p99       max
        1.486     0.080     0.527     5.783     7.151     9.167
"""
_REDIS_BRIEF = {
    "-q": "SET: 26881.72 requests per second, p50=0.599 msec\nGET: 23041.47 requests per second, p50=0.615 msec\n",
    "--csv": '"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms",'
    '"max_latency_ms"\n"SET","26881.72","1.8","0.064","0.599","7.5","12.4","22.6"\n'
    '"GET","23041.47","1.8","0.064","0.615","7.5","12.4","22.6"\n',
}


def test_each_test_of_a_redis_command_has_its_options() -> None:
    tests = ("PING_INLINE", "SET", "GET")
    command = "$ redis-benchmark -t ping,set,get -n 50000 -P 16 -r 10000 -c 20\n"
    found = outputs(command + "".join(_REDIS_OF.format(test=test) for test in tests))
    stated = [one.found.output.stated for one in found]
    assert [(one["test"], one["pipeline"], one["keyspace"]) for one in stated] == [
        (test.lower(), 16, 10_000) for test in tests
    ]


@pytest.mark.parametrize("option", _REDIS_BRIEF)
def test_the_brief_forms_of_redis_are_read(option: str) -> None:
    found = outputs(f"$ redis-benchmark -t set,get -P 4 {option}\n{_REDIS_BRIEF[option]}")
    values = [{one.metric.name: one.value for one in each.found.output.parsed.figures} for each in found]
    rates = [(one["requests_per_second"], one["latency_p50"]) for one in values]
    assert rates == [(26881.72, 0.599), (23041.47, 0.615)]
    assert [one.found.output.stated["pipeline"] for one in found] == [4, 4]


def test_what_hyperfine_ignored_has_no_figure() -> None:
    text = "Benchmark 1: {}\n  Time (mean ± σ):      31.2 ms ±   0.4 ms    [User: 12.1 ms, System: 3.1 ms]\n"
    failed, done = outputs(f"{text.format('false')}\n  Warning: Ignoring non-zero exit code.\n{text.format('true')}")
    assert "exit code" in " ".join(finding.measured for finding in failed.verdict.findings)
    assert not failed.found.output.parsed.figures
    assert done.found.output.parsed.figures


_WRK = """Running 1m test @ http://10.0.0.2/
  8 threads and 128 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   210.88ms  289.85ms   3.79s    84.62%
    Req/Sec    75.44     40.51   260.00     67.23%
  {count} requests in {seconds}, 5.51MB read
Requests/sec: {rate}
Transfer/sec: {transfer}B
"""


@pytest.mark.parametrize(
    ("count", "seconds", "rate", "contradicts"),
    [
        ("35951", "307445734491.24m", "0.00", True),
        ("35951", "1.00m", "599.18", False),
        ("**35951**", "**1.00m**", "599.18", False),
    ],
)
def test_the_summary_of_wrk_is_read_in_bold_and_agrees_with_its_plan(
    count: str,
    seconds: str,
    rate: str,
    contradicts: bool,  # noqa: FBT001 (one of a table)
) -> None:
    (one,) = outputs(_WRK.format(count=count, seconds=seconds, rate=rate, transfer=rate))
    assert ("35951 requests in 307445734491.24m" in str(one.verdict.findings)) == contradicts
    figures = [each.value for each in one.found.output.parsed.figures if each.metric.name == "total_requests"]
    assert figures == [35951.0]


_PGBENCH = """pgbench (15.18)
transaction type: {kind}
scaling factor: 1
query mode: simple
number of clients: 2
number of threads: 1
duration: 60 s
number of transactions actually processed: 108096
{lines}latency average = 1.110 ms
{connecting}
tps = 1801.608271 ({rate})
"""
_OF_SCRIPTS = """SQL script {number}: <builtin: {name}>
 - weight: 1 (targets 50.0% of total)
 - 54048 transactions (50.0% of total, tps = 900.800000)
 - latency average = {mean} ms
 - latency stddev = 0.651 ms
"""


def _pgbench(kind: str, lines: str = "", *, connects: bool = False) -> JudgedOutput:
    connecting = "average connection time = 0.163 ms" if connects else "initial connection time = 3.691 ms"
    rate = "including reconnection times" if connects else "without initial connection time"
    scripts = [_OF_SCRIPTS.format(number=1, name="select only", mean="0.097")]
    scripts.append(_OF_SCRIPTS.format(number=2, name="simple update", mean="2.099"))
    text = _PGBENCH.format(kind=kind, lines=lines, connecting=connecting, rate=rate)
    (one,) = outputs(text + ("".join(scripts) if kind == "multiple scripts" else ""))
    return one


def _value(one: JudgedOutput, metric: str) -> list[float]:
    return [each.value for each in one.found.output.parsed.figures if each.metric.name == metric]


def test_the_scripts_of_pgbench_are_figures_beside_those_of_all() -> None:
    one = _pgbench("multiple scripts")
    assert _value(one, "latency_mean") == [1.11]
    assert _value(one, "script_rate") == [900.8, 900.8]
    assert _value(one, "script_latency_mean") == [0.097, 2.099]
    assert not {"figures-contradict", "pgbench-contended"} & {each.id for each in one.verdict.findings}


@pytest.mark.parametrize(("kind", "is_contended"), [("own.sql", False), ("<builtin: TPC-B (sort of)>", True)])
def test_only_the_script_that_updates_branches_contends_for_them(kind: str, is_contended: bool) -> None:  # noqa: FBT001 (one of a table)
    assert ("pgbench-contended" in {each.id for each in _pgbench(kind).verdict.findings}) == is_contended


def test_pgbench_names_reconnections_and_what_was_above_the_latency_limit() -> None:
    one = _pgbench(
        "own.sql", "number of transactions above the 20.0 ms latency limit: 26/108096 (0.024%)\n", connects=True
    )
    assert (_value(one, "late_transactions"), _value(one, "connection_time_mean")) == ([26.0], [0.163])
    assert "pgbench-reconnects" in {each.id for each in one.verdict.findings}


_BUSY = "the server is busy running a test. try again later"


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"start": {"connected": [], "version": "iperf 3.12"}, "intervals": [], "end": {}, "error": _BUSY}),
        f"iperf3: error - {_BUSY}\n",
        f"$ iperf3 -c 10.0.0.2 -t 2\niperf3: error - {_BUSY}\n",
    ],
)
def test_an_error_of_iperf3_alone_is_named(text: str) -> None:
    (one,) = outputs(text)
    assert "iperf3" in one.found.format
    assert _BUSY in one.verdict.summary + str(one.verdict.findings)


@pytest.mark.parametrize("connecting", ["", "Connecting to host 10.0.0.2, port 5201\n"])
def test_a_test_that_the_server_of_iperf3_refused_is_one_beside_others(connecting: str) -> None:
    refused = f"{connecting}iperf3: error - {_BUSY}\n"
    measured = capture("iperf3/3.12/tcp_text").stdout.decode()
    (own,) = outputs(measured)
    for text in (refused + measured, measured + refused, refused + measured + refused):
        found = outputs(text)
        whole = [one for one in found if one.found.output.parsed.figures]
        failed = [one for one in found if not one.found.output.parsed.figures]
        assert [one.found.output.parsed for one in whole] == [own.found.output.parsed]
        assert [one.found.output.undecided for one in failed] == [f"iperf3 failed: {_BUSY}."] * text.count(_BUSY)


def test_what_is_left_out_of_an_output_is_named() -> None:
    line = "[ {}s] threads: 16, tps: {}, reads: 1.00, writes: 1.00, response time: 60.10ms (95%), errors: 0.00, "
    rates = ((11, "18446842801212211200.00"), (12, "1385.03"))
    (one,) = outputs("".join(f"{line.format(*each)}reconnects:  0.00\n" for each in rates))
    assert any("18446842801212211200.00" in note for note in one.found.output.parsed.notes)
    (one,) = outputs("goos: linux\nBenchmarkSort/a-2  \t   33440\t      2328 ns/op\t        42.50 foo/op\nPASS\n")
    assert any("foo/op" in note for note in one.found.output.parsed.notes)
