"""sysbench OLTP as a suite: its commands, what is warned of, and what is read of its output."""

import shlex
from dataclasses import replace

import pytest

from suites.base import Context, Purpose, complete_values, tuned_values
from suites.errors import ParameterError
from suites.facts import Tool
from suites.oltp.suite import SysbenchOltp
from suites.outputs import ParsedTrial
from suites.sysbench.cpu import SysbenchCpu
from tests.disk_host import GIB, MIB, disk_host, outcomes, tuned_step
from tests.messages import messages
from tests.suites.captured_outputs import capture, figures, series
from tests.suites.host_facts import assert_warned, evidence, raised

MESSAGES = messages("suites", "test_oltp")

SUITE = SysbenchOltp()
NAMED = {"server": "named", "database": "bench", "address": "db-1", "user": "ann"}


def lines(**given: object) -> list[tuple[Purpose, str]]:
    commands = SUITE.commands(complete_values(SUITE, given), Context())
    return [(command.purpose, shlex.join(command.argv)) for command in commands]


def parsed(name: str) -> ParsedTrial:
    return capture(f"oltp/sysbench-1.0.20/{name}").parse(SUITE.parser(complete_values(SUITE, {})))


@pytest.mark.parametrize(
    ("driver", "kind", "connections", "where"),
    [
        ("pgsql", "postgresql", 100, "--pgsql-host=/proc/self/cwd/data --pgsql-user=benchwright --pgsql-db=postgres"),
        ("mysql", "mysql", 151, "--mysql-socket=data/mysql.sock --mysql-user=root --mysql-db=sbtest"),
    ],
)
def test_a_server_of_its_own_is_made_filled_and_started(driver: str, kind: str, connections: int, where: str) -> None:
    options = f"sysbench oltp_read_only --db-driver={driver} {where} --tables=3 --table-size=500"
    times = "--threads=2 --time=10 --percentile=95 --report-interval=1 run"
    given = {"table_count": 3, "table_size": 500, "threads": 2, "buffers": 64 * MIB}
    assert lines(driver=driver, workload="oltp_read_only", **given) == [
        (Purpose.PREPARE, f"sh database.sh make {kind} 64 on 300 {connections} {options} prepare"),
        (Purpose.MEASURE, f"sh database.sh run {kind} {options} --rand-type=special {times}"),
    ]


def test_a_server_that_runs_already_is_asked_as_a_person_would() -> None:
    make, connect, measure, drop = lines(**NAMED, port=6000, config_file="/home/ann/pw")
    options = (
        "sysbench oltp_read_write --db-driver=mysql --config-file=/home/ann/pw --mysql-host=db-1 --mysql-port=6000 "
        "--mysql-user=ann --mysql-db=bench --tables=1 --table-size=10000"
    )
    assert measure[1].startswith(f"{options} --rand-type=special --threads=1 ")
    assert (make[0], drop[0]) == (Purpose.PREPARE, Purpose.CLEAN_UP)
    assert make[1].endswith(f" sysbench {options}")
    assert connect[1].endswith(f" {options.replace('read_write', 'point_select')} --threads=1 --events=1 run")
    assert drop[1].endswith(f" sysbench {options}")
    assert [purpose for purpose, _line in lines(**NAMED, tables="keep")] == [Purpose.PREPARE, Purpose.MEASURE]


def test_a_directory_as_address_is_a_socket() -> None:
    socket = {**NAMED, "address": "/run/mysqld/mysqld.sock", "tables": "keep"}
    assert "--mysql-socket=/run/mysqld/mysqld.sock --mysql-user" in lines(**socket)[0][1]
    assert "--pgsql-host=/run/postgresql" in lines(**{**socket, "address": "/run/postgresql", "driver": "pgsql"})[0][1]


@pytest.mark.parametrize(
    ("name", "value"),
    [("workload", "oltp"), ("table_size", 0), ("database", "a;b"), ("address", "a,b"), ("config_file", "pw")],
)
def test_values_that_could_be_something_else_are_refused(name: str, value: object) -> None:
    with pytest.raises(ParameterError, match=name):
        complete_values(SUITE, {name: value})


def test_there_is_no_parameter_for_a_password() -> None:
    given = {**NAMED, "driver": "pgsql"}
    assert not [parameter.name for parameter in SUITE.parameters if "pass" in parameter.name]
    assert "password" not in " ".join(line for _purpose, line in lines(**given))


def test_the_estimate_knows_what_the_tables_take() -> None:
    values = complete_values(SUITE, {"table_count": 10, "table_size": 1_000_000, "time": 60})
    own = SUITE.estimate(values, Context())
    assert (own.duration, own.written, own.prepared) == (60.0, None, 5_200_000_000)
    assert own.space == 5_200_000_000 + 2 * GIB
    reads = SUITE.estimate({**values, "workload": "oltp_point_select"}, Context())
    assert reads.written == 0


def test_tuning_follows_the_facts() -> None:
    plain = tuned_values(SUITE, Context(disk_host()))
    assert (plain["threads"], plain["driver"], plain["directory"], plain["buffers"]) == (16, "mysql", "/srv", 4 * GIB)
    assert (plain["table_count"], plain["table_size"]) == (8, 100_000)
    facts = replace(disk_host(), tools=(Tool(name="pgbench", version="15.18", path="/usr/bin/pgbench"),))
    assert tuned_values(SUITE, Context(facts))["driver"] == "pgsql"
    assert outcomes(tuned_step(SUITE)) == {}


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({}, "oltp-few-rows"),
        ({"fsync": False}, "database-not-durable"),
        ({"server": "named"}, "database-not-named"),
        (NAMED, "oltp-makes-tables"),
        ({"time": 3}, "short-runtime"),
    ],
)
def test_what_is_warned_of(given: dict[str, object], found: str) -> None:
    assert_warned(evidence(SUITE, Context(disk_host()), **given), found)


@pytest.mark.parametrize(
    ("given", "missed"),
    [
        ({"driver": "pgsql", "time": 60}, True),
        ({"driver": "pgsql", "time": 300}, False),
        ({"driver": "pgsql", "time": 60, "workload": "oltp_read_only"}, False),
        ({"driver": "mysql", "time": 60}, False),
    ],
)
def test_a_run_without_a_checkpoint_is_warned_of(given: dict[str, object], *, missed: bool) -> None:
    assert ("no-checkpoint" in raised(evidence(SUITE, Context(disk_host()), **given))) is missed


def test_an_old_sysbench_is_refused() -> None:
    facts = replace(disk_host(), tools=(Tool(name="sysbench", version="sysbench 0.4.12"),))
    assert "oltp-needs-sysbench-1" in raised(evidence(SUITE, Context(facts)))
    facts = replace(disk_host(), tools=(Tool(name="sysbench", version="sysbench 1.0.20"),))
    assert "oltp-needs-sysbench-1" not in raised(evidence(SUITE, Context(facts)))


def test_the_figures_are_those_that_are_printed() -> None:
    found = parsed("pg_read_write")
    assert (found.complete, found.notes) == (True, ())
    assert figures(found) == {
        "transactions_per_second": 1287.32,
        "queries_per_second": 25758.12,
        "latency_mean": 1.54,
        "latency_p95": 3.82,
        "latency_max": 92.96,
        "errors_per_second": 0.65,
        "reconnects_per_second": 0.0,
    }
    assert found.figures[0].metric == SUITE.metrics[0]
    assert series(found.samples, "transactions_per_second") == [(1.0, 1544.51), (2.0, 1478.12), (3.0, 898.81)]
    assert series(found.samples, "latency_p95") == [(1.0, 2.81), (2.0, 3.68), (3.0, 5.09)]
    assert series(found.samples, "errors_per_second") == [(1.0, 2.0), (2.0, 0.0), (3.0, 0.0)]


@pytest.mark.parametrize(
    ("name", "rate"), [("maria_read_only", 2047.83), ("maria_write_only", 2852.79), ("pg_point_select", 26582.51)]
)
def test_each_workload_is_read(name: str, rate: float) -> None:
    found = parsed(name)
    assert (found.complete, figures(found)["transactions_per_second"]) == (True, rate)
    assert len(series(found.samples, "queries_per_second")) == 3


def test_transactions_that_were_tried_again_are_told() -> None:
    found = parsed("pg_contended")
    assert found.complete
    assert MESSAGES["2_8_transactions_a_second"] in found.notes[0]
    assert series(found.samples, "latency_p95") == [(1.0, 36.89)]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("pg_already", 'relation "sbtest1" already exists'),
        ("pg_no_tables", 'relation "sbtest1" does not exist'),
        ("pg_no_tables", "SIGSEGV"),
        ("no_server", "Connection to database failed"),
        ("maria_cut", "cut off: it printed no complete summary. The live figures up to 2 s are kept."),
    ],
)
def test_how_it_failed_is_said(name: str, shown: str) -> None:
    found = parsed(name)
    assert (found.complete, found.figures) == (False, ())
    assert shown in " ".join(found.notes)


def test_a_server_that_did_not_start_is_named() -> None:
    parser = SUITE.parser(complete_values(SUITE, {}))
    parser.feed(b"The server did not start: FATAL: could not map memory\n", "stderr")
    assert parser.finish(1).notes[0] == MESSAGES["sysbench_failed_the_server"]


def test_the_version_is_that_of_the_server_too() -> None:
    parser = SUITE.parser(complete_values(SUITE, {}))
    shown = b"benchwright-server mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)\n"
    parser.feed(shown, "stderr")
    parser.feed(b"sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n")
    assert parser.finish(0).tool_version == "sysbench 1.0.20, MariaDB 10.11.19"


def test_the_output_of_another_test_is_none_of_this() -> None:
    other = capture("sysbench/1.0.20/cpu_default").parse(SUITE.parser(complete_values(SUITE, {})))
    assert (other.complete, other.figures) == (False, ())
    this = capture("oltp/sysbench-1.0.20/pg_read_write").parse(SysbenchCpu().parser(complete_values(SysbenchCpu(), {})))
    assert (this.complete, this.figures) == (False, ())
