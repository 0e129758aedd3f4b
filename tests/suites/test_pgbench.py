"""pgbench as a suite: its commands, what is warned of, and what is read of its output."""

import math
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from suites.base import Context, Purpose, complete_values, tuned_values
from suites.errors import ParameterError
from suites.outputs import ParsedTrial
from suites.pgbench.output import SUMMARY, PgbenchParser, fitting_share, log_size
from suites.pgbench.suite import Pgbench
from tests.disk_host import GIB, MIB, disk_host, outcomes, tuned_step
from tests.messages import messages
from tests.suites.captured_outputs import capture, figures, series
from tests.suites.host_facts import applied, assert_warned, evidence, raised

MESSAGES = messages("suites", "test_pgbench")

SUITE = Pgbench()
NAMED = {"server": "named", "database": "bench", "address": "db-1", "user": "ann"}


def lines(**given: object) -> list[tuple[Purpose, str]]:
    commands = SUITE.commands(complete_values(SUITE, given), Context())
    return [(command.purpose, shlex.join(command.argv)) for command in commands]


def parsed(name: str, *, mixed: bool = False) -> ParsedTrial:
    return capture(f"pgbench/15.18/{name}").parse(PgbenchParser(), mixed=mixed)


def test_a_server_of_its_own_is_made_filled_and_started() -> None:
    there = "-h /proc/self/cwd/data -U benchwright postgres"
    assert lines(scale=7, clients=4, threads=2, rate=500, buffers=64 * MIB) == [
        (Purpose.PREPARE, f"sh database.sh make postgresql 64 on 300 100 pgbench -i -q -s 7 {there}"),
        (
            Purpose.MEASURE,
            f"sh database.sh run postgresql pgbench -b tpcb-like -T 10 -P 1 -c 4 -j 2 -M simple -R 500 {there}",
        ),
    ]
    assert " 64 off " in lines(fsync=False, buffers=64 * MIB)[0][1]
    assert " on 300 522 pgbench " in lines(clients=512)[0][1]


def test_a_server_that_runs_already_is_asked_as_a_person_would() -> None:
    connect, make, measure, drop = lines(**NAMED, port=6000, clients=400)
    assert connect[1].endswith(" pgbench -n -c 400 -j 1 -t 1 -f connect.sql -h db-1 -p 6000 -U ann bench")
    assert measure == (
        Purpose.MEASURE,
        "pgbench -b tpcb-like -T 10 -P 1 -c 400 -j 1 -M simple -h db-1 -p 6000 -U ann bench",
    )
    assert (make[0], drop[0]) == (Purpose.PREPARE, Purpose.CLEAN_UP)
    assert make[1].endswith(" pgbench 1 bench -h db-1 -p 6000 -U ann")
    assert drop[1].endswith(MESSAGES["pgbench_h_db_1_p_6000_u_ann"])
    assert [purpose for purpose, _line in lines(**NAMED, tables="keep")] == [Purpose.PREPARE, Purpose.MEASURE]


def test_transactions_are_logged_where_percentiles_are_asked_for() -> None:
    *_, measure, read = lines(logged=100)
    assert " -M simple -l -h " in measure[1]
    assert read == (Purpose.MEASURE, "sh percentiles.sh")
    assert " -l --sampling-rate=0.125 -h " in lines(logged=12.5)[1][1]
    assert [purpose for purpose, _line in lines(**NAMED, logged=100)] == [
        Purpose.PREPARE,
        Purpose.PREPARE,
        Purpose.MEASURE,
        Purpose.MEASURE,
        Purpose.CLEAN_UP,
    ]
    assert [line for _purpose, line in lines(**NAMED, tables="keep", logged=1)][2:] == ["sh percentiles.sh"]


def test_the_log_stays_small_whatever_the_rate() -> None:
    values = complete_values(SUITE, {"threads": 8, "time": 30, "logged": 100})
    assert log_size(values) == 40 * 10_000 * 8 * 30
    assert fitting_share(values) == 70
    assert fitting_share({**values, "threads": 1}) == 100
    assert fitting_share({**values, "rate": 100.0}) == 100
    for given in ({"time": 86400.0, "threads": 4096}, {"script": "select-only"}, {}):
        chosen = {**values, **given}
        assert log_size({**chosen, "logged": fitting_share(chosen)}) <= 65 * MIB
    plain = SUITE.estimate({**values, "logged": 0.0}, Context())
    logged = SUITE.estimate(values, Context())
    assert logged.space - plain.space == log_size(values)
    assert SUITE.estimate({**values, "script": "select-only"}, Context()).written == 5 * log_size(values)


def read_log(folder: Path) -> str:
    done = subprocess.run(("sh", "percentiles.sh"), cwd=folder, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


def test_the_host_finds_the_same_percentiles_as_the_definition(tmp_path: Path) -> None:
    (tmp_path / "percentiles.sh").write_text(SUMMARY.files[0].text)
    times = [(number * 7919) % 1009 + 50 for number in range(1501)]
    for thread, name in enumerate(("pgbench_log.77", "pgbench_log.77.1", "pgbench_log.77.2")):
        own = [f"0 1 {time} 0 1795209663 643684\n" for time in times[thread::3]]
        (tmp_path / name).write_text("".join((*own, "0 9 failed 0 1795209664 1\n", "1 9 skipped 0 1795209664 2\n")))
    stale = tmp_path / "pgbench_log.99"
    stale.write_text("0 1 9999999 0 1 1\n" * 5000)
    os.utime(stale, (1, 1))
    ranked = sorted(times)
    p50, p95, p99 = (ranked[math.ceil(share * 1501) - 1] for share in (0.5, 0.95, 0.99))
    shown = read_log(tmp_path)
    assert shown == f"1501 logged transactions: p50 = {p50} us, p95 = {p95} us, p99 = {p99} us\n"
    assert [path.name for path in tmp_path.iterdir()] == ["percentiles.sh"]
    assert read_log(tmp_path).startswith("0 logged transactions: ")


@pytest.mark.parametrize(
    ("name", "value"),
    [("scale", 0), ("clients", 0), ("database", "a b"), ("database", "host=x"), ("address", "-x"), ("user", "a'b")],
)
def test_values_that_could_be_something_else_are_refused(name: str, value: object) -> None:
    with pytest.raises(ParameterError, match=name):
        complete_values(SUITE, {name: value})


def test_there_is_no_parameter_for_a_password() -> None:
    assert not [parameter.name for parameter in SUITE.parameters if "pass" in parameter.name]


def test_the_estimate_knows_what_the_tables_take() -> None:
    own = SUITE.estimate(complete_values(SUITE, {"scale": 100, "time": 60}), Context())
    assert (own.duration, own.written, own.prepared) == (60.0, None, 3_200_000_000)
    assert own.space == 3_200_000_000 + 2 * GIB
    named = SUITE.estimate(complete_values(SUITE, NAMED), Context())
    assert (named.written, named.prepared, named.space, named.network) == (0, 0, 0, None)


def test_tuning_follows_the_facts() -> None:
    values = tuned_values(SUITE, Context(disk_host()))
    assert (values["clients"], values["threads"], values["scale"]) == (16, 8, 32)
    assert (values["directory"], values["buffers"], values["time"]) == ("/srv", 4 * GIB, 90.0)
    assert values["checkpoint_timeout"] == 30.0
    assert values["logged"] == 23
    assert outcomes(tuned_step(SUITE)) == {}


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"scale": 4, "clients": 8}, "pgbench-contended"),
        ({"clients": 16, "threads": 1}, "pgbench-one-thread"),
        ({"fsync": False}, "database-not-durable"),
        ({"server": "named"}, "database-not-named"),
        (NAMED, "pgbench-makes-tables"),
        ({**NAMED, "address": ""}, "database-same-host"),
        ({**NAMED, "address": ""}, "pgbench-in-memory"),
        ({"time": 3}, "short-runtime"),
        ({"time": 3600, "logged": 100}, "pgbench-log-large"),
    ],
)
def test_what_is_warned_of(given: dict[str, object], found: str) -> None:
    assert_warned(evidence(SUITE, Context(disk_host()), **given), found)


def test_what_is_not_warned_of() -> None:
    assert set(raised(evidence(SUITE, Context(disk_host()), **NAMED, tables="keep", time=600))) == set()
    local = {**NAMED, "address": "", "scale": 2000}
    assert "pgbench-in-memory" not in raised(evidence(SUITE, Context(disk_host()), **local))
    assert "pgbench-contended" not in raised(evidence(SUITE, Context(), scale=1, clients=9, script="simple-update"))


@pytest.mark.parametrize(
    ("given", "missed"),
    [
        ({"time": 60}, True),
        ({"time": 300}, False),
        ({"time": 60, "checkpoint_timeout": 30}, False),
        ({"time": 20, "checkpoint_timeout": 30}, True),
        ({"time": 60, "script": "select-only"}, False),
        ({**NAMED, "time": 60}, True),
        ({**NAMED, "time": 60, "checkpoint_timeout": 30}, True),  # of a server that is not ours
        ({**NAMED, "time": 600}, False),
    ],
)
def test_a_run_without_a_checkpoint_is_warned_of(given: dict[str, object], *, missed: bool) -> None:
    step = evidence(SUITE, Context(disk_host()), **given)
    assert ("no-checkpoint" in raised(step)) is missed
    if missed and "server" not in given:
        assert "no-checkpoint" not in raised(applied(step, "no-checkpoint"))
        assert ("lower" in raised(step)["no-checkpoint"].remedy) is (given.get("checkpoint_timeout") != 30)


@pytest.mark.parametrize("mixed", [False, True])
def test_the_figures_are_those_that_are_printed(*, mixed: bool) -> None:
    found = parsed("tpcb", mixed=mixed)
    assert (found.complete, found.notes, found.tool_version) == (True, (), "pgbench 15.18")
    assert figures(found) == {
        "transactions_per_second": 2477.813264,
        "latency_mean": 0.807,
        "latency_deviation": 0.211,
        "failed_transactions": 0,
        "connection_time": 5.502,
        "total_transactions": 12380,
    }
    assert found.figures[0].metric == SUITE.metrics[0]
    rates = series(found.samples, "transactions_per_second")
    assert rates == [(1.0, 2605.9), (2.0, 2673.1), (3.0, 2728.9), (4.0, 2254.9), (5.0, 2116.0)]
    assert series(found.samples, "failed_transactions")[0] == (1.0, 0.0)


@pytest.mark.parametrize(
    ("logged", "ranks", "shown"),
    [
        (12380, (50, 95, 99), ()),
        (6190, (50, 95, 99), ("The latency percentiles are of 6,190 logged transactions, 50 % of all.",)),
        (99, (50, 95), ("The latency percentiles are of 99 logged transactions, 0.8 % of all.",)),
        (0, (), ("pgbench logged no transaction: no percentiles.",)),
    ],
)
def test_percentiles_say_of_what_they_are(logged: int, ranks: tuple[int, ...], shown: tuple[str, ...]) -> None:
    parser, output = PgbenchParser(), capture("pgbench/15.18/tpcb")
    parser.feed(output.stderr, "stderr")
    parser.feed(output.stdout)
    parser.feed(b"%d logged transactions: p50 = 701 us, p95 = 1250 us, p99 = 2500 us\n" % logged)
    found = parser.finish(0)
    reported = {50: 0.701, 95: 1.25, 99: 2.5}
    percentiles = {one.metric.percentile: one.value for one in found.figures if one.metric.percentile is not None}
    assert percentiles == {rank: reported[rank] for rank in ranks}
    assert (found.complete, found.notes) == (True, shown)
    assert found.figures[0].metric == SUITE.metrics[0]


def test_a_rate_limit_has_a_lag() -> None:
    found = parsed("rate")
    assert figures(found)["schedule_lag_mean"] == 0.119
    assert series(found.samples, "schedule_lag_mean") == [(1.0, 0.101), (2.0, 0.121), (3.0, 0.135)]


def test_a_rate_that_includes_reconnecting_is_read() -> None:
    assert figures(parsed("reconnect"))["transactions_per_second"] == 188.371780


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("no_role", 'role "nobody" does not exist'),
        ("no_table", 'relation "pgbench_branches" does not exist'),
        ("no_server", "No such file or directory"),
        ("interrupted", "cut off: it printed no summary. The live figures up to 3 s are kept."),
    ],
)
def test_how_it_failed_is_said(name: str, shown: str) -> None:
    found = parsed(name)
    assert (found.complete, found.figures) == (False, ())
    assert shown in " ".join(found.notes)


OLD = b"""pgbench (13.14, server 9.6.24)
transaction type: <builtin: TPC-B (sort of)>
number of transactions actually processed: %d
latency average = 1.900 ms
tps = 520.100000 (including connections establishing)
tps = 525.000000 (excluding connections establishing)
"""


def test_the_older_summary_is_read() -> None:
    parser = PgbenchParser()
    parser.feed(b"progress: 1.0 s, 500.0 tps, lat 1.9 ms stddev 0.1\n" + OLD % 5200)
    found = parser.finish(0)
    assert figures(found)["transactions_per_second"] == 525.0
    assert found.tool_version == "pgbench 13.14, server 9.6.24"
    assert [sample.metric.name for sample in found.samples] == [
        "transactions_per_second",
        "latency_mean",
        "latency_deviation",
    ]


def test_the_version_is_that_of_the_server_too() -> None:
    parser = PgbenchParser()
    parser.feed(b"benchwright-server postgres (PostgreSQL) 16.4 (Ubuntu 16.4-1.pgdg22.04+1)\n", "stderr")
    parser.feed(b"pgbench (16.4 (Ubuntu 16.4-1.pgdg22.04+1))\n")
    assert parser.finish(0).tool_version == "pgbench 16.4, PostgreSQL 16.4"


def test_no_transaction_is_no_figure() -> None:
    parser = PgbenchParser()
    parser.feed(OLD % 0)
    found = parser.finish(0)
    assert (found.complete, found.figures) == (False, ())
    assert "no transaction" in found.notes[0]


def test_failed_transactions_are_remarked_upon() -> None:
    parser = PgbenchParser()
    parser.feed(OLD % 9 + b"number of failed transactions: 12 (57.143%)\n")
    found = parser.finish(0)
    assert found.complete
    assert found.notes == (MESSAGES["12_transactions_failed_the"],)


@pytest.mark.parametrize("noise", [b"", b"\x00\xff{{" * 5000, b"progress: NaN s, 1 tps\n", b"tps = 5 (excluding"])
def test_garbage_is_no_measurement(noise: bytes) -> None:
    parser = PgbenchParser()
    parser.feed(noise)
    found = parser.finish(0)
    assert (found.complete, found.figures, found.samples) == (False, (), ())
    assert found.notes


@pytest.mark.parametrize(
    ("number", "value"),
    [("5052.143476", 5052.143476), ("5052,143476", 5052.143476), ("1.234,19", 1234.19), ("1,234.19", 1234.19),
     ("1.234.567,25", 1234567.25), ("0,5", 0.5)],
)  # fmt: skip
def test_a_number_is_read_with_the_separators_of_any_locale(number: str, value: float) -> None:
    parser = PgbenchParser()
    parser.feed(
        "transaction type: <builtin: select only>\nnumber of transactions actually processed: 10076\n"
        f"latency average = {number} ms\ntps = {number} (without initial connection time)\n".encode()
    )
    found = parser.finish(0)
    assert found.complete
    assert {one.metric.name: one.value for one in found.figures}["transactions_per_second"] == value
    assert {one.metric.name: one.value for one in found.figures}["latency_mean"] == value


def test_a_summary_that_is_not_read_does_not_name_a_language() -> None:
    parser = PgbenchParser()
    parser.feed(
        b"transaction type: <builtin: select only>\nnumber of transactions actually processed: 10\n"
        b"tps = 12,34,5 (without initial connection time)\n"
    )
    found = parser.finish(0)
    assert not found.figures
    assert "could not be read" in found.notes[0]
