"""Outputs of sysbench, pgbench and redis-benchmark as people give them, in part: never a wrong figure."""

import re

import pytest

from app.outputs.recognition import recognise
from suites.verdict import Trust
from tests.app.judged_text import ids, only, outputs, value
from tests.suites.captured_outputs import DATA

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
