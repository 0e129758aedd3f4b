"""sysbench OLTP: transactions on PostgreSQL, MySQL or MariaDB, on the user's server or one started for the test."""

import re
from dataclasses import replace

from suites.base import (
    Command,
    Context,
    Effect,
    Estimate,
    Purpose,
    StepCheck,
    StepEvidence,
    Suite,
    TestedTool,
    Workload,
    version_of,
)
from suites.checks import Check, CheckOutcome, blocking_check
from suites.command_line import CommandSyntax, Respelled, Words
from suites.equivalents import Traits
from suites.facts import Facts, cpus_for, known
from suites.oltp import server
from suites.oltp.output import METRICS, OltpParser
from suites.output_reading import NAMED_ELSEWHERE, StatedLine
from suites.outputs import OutputFormat
from suites.parameters import Choice, Parameter, Tuned, Values, count_parameter, port_parameter, text_parameter
from suites.pgbench.output import TPS
from suites.programs import MARIADB_SERVER, POSTGRESQL_SERVER, Program
from suites.runtime_checks import SHORT_RUNTIME, TRUSTED
from suites.sysbench.output import ALIASES, PERCENTILE, SYSBENCH, THREADS, TIME, command, requested_rate
from suites.sysbench.output_formats import sysbench_format
from suites.vocab import Resource

# Parameters of sysbench's database tests.


PGSQL, MYSQL_DRIVER = "pgsql", "mysql"

WORKLOAD = Parameter(
    name="workload",
    title="Transaction",
    default="oltp_read_write",
    help="Content of each transaction. Rates of different ones are not comparable.",
    choices=(
        Choice("oltp_read_only", "oltp_read_only: 14 reads of rows and ranges"),
        Choice("oltp_read_write", "oltp_read_write: the same reads and 4 writes"),
        Choice("oltp_point_select", "oltp_point_select: one read of one row"),
        Choice("oltp_write_only", "oltp_write_only: 4 writes"),
    ),
)

DRIVER = Parameter(
    name="driver",
    default=MYSQL_DRIVER,
    help="Database system to measure. A server started for the test is MariaDB or PostgreSQL, whichever is installed.",
    option="--db-driver",
    choices=(Choice(MYSQL_DRIVER, "MySQL or MariaDB"), Choice(PGSQL, "PostgreSQL")),
)

TABLE_COUNT = count_parameter(
    name="table_count", default=1, help="Number of tables.", option="--tables", maximum=10_000
)

TABLE_SIZE = count_parameter(
    name="table_size",
    default=10_000,
    help="Rows per table, about 260 B each with indexes.",
    option="--table-size",
    maximum=10**10,
)

DISTRIBUTION = Parameter(
    name="distribution",
    default="special",
    help="Distribution of the rows. sysbench's default picks 1 % of them in 3 of 4 cases, so little comes from "
    "the disk.",
    option="--rand-type",
    choices=(
        Choice("special", "special: a few rows most often"),
        Choice("uniform", "uniform: all rows alike"),
        Choice("gaussian", "gaussian: middle rows more often"),
        Choice("pareto", "pareto: first rows more often"),
        Choice("zipfian", "zipfian: first rows much more often"),
    ),
)

PORT = port_parameter(
    title="Port",
    default=0,
    help="The server's port; 0 is the default: 3306 for MySQL, 5432 for PostgreSQL.",
    applies=server.is_named,
)

CONFIG_FILE = text_parameter(
    name="config_file",
    help="File on the host, readable only by you, with a line mysql-password=…; for PostgreSQL use ~/.pgpass.",
    option="--config-file",
    pattern=r"/.*",
    applies=server.is_named,
    identity=False,
)
"""sysbench reads command-line options from such a file (--config-file); it reads no my.cnf."""


# Checks of sysbench's database tests.


ROW_BYTES = 260
"""Bytes of a row with its indexes: 257 in tables of 25,000 rows (measured: PostgreSQL 15, pg_total_relation_size)."""

TUNED_TABLES = 8
TUNED_ROWS = 100_000
FEW_ROWS = 100_000


def size_of(values: Values) -> int:
    """Return the bytes of all tables."""
    return _rows(values) * ROW_BYTES


def _rows(values: Values) -> int:
    return int(values["table_count"]) * int(values["table_size"])


def _old(evidence: StepEvidence) -> CheckOutcome | None:
    version = version_of(evidence.context.facts, "sysbench")
    if version is None or version >= (1,):
        return None
    return CheckOutcome(f"sysbench {'.'.join(map(str, version))} is installed.")


def _few_rows(evidence: StepEvidence) -> CheckOutcome | None:
    values = evidence.values
    if _rows(values) >= FEW_ROWS:
        return None
    return CheckOutcome(
        f"{_rows(values):,} rows in all; sysbench's default is 10,000 in 1 table.",
        changes={"table_count": TUNED_TABLES, "table_size": TUNED_ROWS},
    )


def _table_names(values: Values) -> str:
    return f"sbtest1 to sbtest{values['table_count']}" if int(values["table_count"]) > 1 else "sbtest1"


def _postgresql(values: Values) -> bool:
    return values["driver"] == PGSQL


def _writes(values: Values) -> bool:
    return values["workload"] not in {"oltp_read_only", "oltp_point_select"}


OLTP_CHECKS: tuple[StepCheck, ...] = (
    server.NO_DATABASE,
    blocking_check(
        id="oltp-needs-sysbench-1",
        title="sysbench older than 1.0",
        why="Before 1.0 the database tests were other programs with other options; their figures are not comparable.",
        remedy="Install sysbench 1.0 or later.",
        source="sysbench, ChangeLog of 1.0.",
        needs="The version of sysbench on the host.",
        evaluate=_old,
    ),
    Check(
        id="oltp-few-rows",
        title="Too few rows: lock contention",
        why="Threads change the same rows: the figure measures locks, deadlocks and CPU caches.",
        remedy=f"Use {TUNED_TABLES} tables of {TUNED_ROWS:,} rows or more.",
        source="sysbench 1.0.20: --table-size, --rand-type.",
        needs="Tables, rows, threads.",
        evaluate=_few_rows,
    ),
    server.tables_in_memory(
        "oltp-in-memory",
        size_of,
        needs="Size of the tables; the host's memory.",
        source="PostgreSQL, pgbench: Good Practices, which apply here, too.",
    ),
    server.makes_tables("oltp-makes-tables", _table_names, source="sysbench 1.0.20, oltp_common.lua: prepare."),
    server.SAME_HOST,
    server.NOT_DURABLE,
    SHORT_RUNTIME,
    # InnoDB has no timed checkpoint: it flushes all the time, as its log fills.
    server.checkpoint_missed(lambda values: _postgresql(values) and _writes(values)),
)


# Existing tables belong to the user: only tables that were created here are changed and dropped.
_CREATE_TABLES = (
    'said=$("$@" prepare 2>&1); status=$?; printf "%s\\n" "$said" | tail -n 20; '
    'case $said in *"already exists"*) echo "Keep these tables, or name another database." ;; *) : >made ;; esac; '
    "exit $status"
)
_DROP = '[ ! -f made ] || exec "$@" cleanup'

_OWN = {
    server.POSTGRESQL: (f"--pgsql-host={server.PEER}", "--pgsql-user=benchwright", "--pgsql-db=postgres"),
    server.MYSQL: ("--mysql-socket=data/mysql.sock", "--mysql-user=root", "--mysql-db=sbtest"),
}

_CONNECTION = {"host": "address", "socket": "address", "port": "port", "user": "user", "db": "database"}
"""Parameter of each connection option, without the name of the driver."""


def _connection_words(words: Words) -> list[str]:
    """Return the words with the options by which the driver in use finds a server that runs already."""
    driver = (re.findall(rf"{DRIVER.option}[= ](\w+)", " ".join(words)) or [DRIVER.default])[-1]
    if any(own in words for own, *_ in _OWN.values()):
        return list(words)
    begin = f"--{driver}-"
    return [Respelled(word.replace(begin, "--", 1), word) if word.startswith(begin) else word for word in words]


_HOST = re.compile(r"--(?:mysql|pgsql)-(?:host|socket)=(\S+)")


def _address(command: str) -> str:
    """Return the server that a command line names, by default the client's host; another if the line is cut off."""
    found = _HOST.findall(command)
    if not found and "--config-file" not in command and "run" in command.split():
        return ""
    return str(found[-1]) if len(found) == 1 else str(NAMED_ELSEWHERE["address"])


_TYPED = (StatedLine("address", re.compile("(.+)"), _address),)

_STATED = (
    StatedLine("workload", re.compile(r".*\b(oltp_\w{1,30})(?:\.lua)?\b")),
    StatedLine("time", re.compile(r"\s*total time: +([1-9]\d{0,7})\.\d+s")),  # it ends with the first event after it
)


class SysbenchOltp(Suite):
    """sysbench's database tests. Each thread runs transactions one after another for a fixed time."""

    id = "sysbench-oltp"
    title = "sysbench OLTP"
    summary = (
        "Transactions per second of PostgreSQL, MySQL or MariaDB, on a server you name or one started for the test."
    )
    resource = Resource.APPLICATION
    tried = TestedTool(
        "sysbench 1.0.20 run for real, on PostgreSQL 15.18 and MariaDB 10.11.19",
        "every second",
        "read-only, read-write, write-only, point select; MySQL itself not tried",
    )
    program = SYSBENCH
    other_programs = (POSTGRESQL_SERVER, MARIADB_SERVER)
    parameters = (
        server.SERVER,
        DRIVER,
        WORKLOAD,
        TABLE_COUNT,
        TABLE_SIZE,
        DISTRIBUTION,
        THREADS,
        TIME,
        PERCENTILE,
        server.SERVER_DIRECTORY,
        server.BUFFERS,
        server.FSYNC,
        replace(server.CHECKPOINT, applies=lambda values: _postgresql(values) and server.is_started_here(values)),
        server.ADDRESS,
        PORT,
        server.DATABASE,
        server.USER,
        CONFIG_FILE,
        server.TABLES,
    )
    main_parameters = ("driver", "workload", "table_count", "table_size", "threads", "time")
    syntax = CommandSyntax(
        ("sysbench",),
        extra={f"--{option}": name for option, name in _CONNECTION.items()},
        aliases=ALIASES,
        choices=("workload",),
        normalised=_connection_words,
    )
    metrics = METRICS
    parser_type = OltpParser
    directory_parameter = "directory"
    uses_server = True
    server_processes = frozenset({"postgres", "mysqld", "mariadbd"})
    checks = OLTP_CHECKS

    @property
    def output_formats(self) -> tuple[OutputFormat, ...]:
        """The formats of sysbench OLTP's output."""
        line = (
            r"SQL statistics:|queries performed:|transactions: +\d|ignored errors: +\d|reconnects: +\d|"
            r"\[ *\d+s *\] (?:thds: \d+ tps:|threads: \d+, tps:)|FATAL: .*(?:database|SQL|PQ|pgsql|table)"
        )
        rows = {"table_size": (TUNED_ROWS, 10_000)}
        return (sysbench_format(self, line, _STATED, unstated=rows, assumed=NAMED_ELSEWHERE, words=_TYPED),)

    def programs(self, values: Values, facts: Facts | None) -> tuple[Program, ...]:
        """Return sysbench, and the server if the step starts one."""
        own = POSTGRESQL_SERVER if values["driver"] == PGSQL else MARIADB_SERVER
        return (SYSBENCH, own) if server.is_started_here(values) else (SYSBENCH,)

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return two threads per CPU, and enough rows that conflicts are rare."""
        tuned = {
            "time": Tuned(TRUSTED, f"{TRUSTED:g} s give {TRUSTED:g} samples of one second."),
            "table_count": Tuned(TUNED_TABLES, "Threads spread over several tables, as in production."),
            "table_size": Tuned(
                TUNED_ROWS, "With sysbench's default of 10,000 rows, transactions wait for each other."
            ),
            **server.tuned_server(context),
        }
        facts = context.facts
        if facts is None:
            return tuned
        cpus = cpus_for(facts)
        if cpus is not None:
            tuned["threads"] = Tuned(2 * cpus, f"Two for each of the {cpus} CPUs: one works while the other waits.")
        has_postgresql, has_mariadb, has_pgbench = (
            known(facts.tool(name).path) is not None for name in ("postgres", "mariadbd", "pgbench")
        )
        if has_postgresql or (has_pgbench and not has_mariadb):
            tuned["driver"] = Tuned(PGSQL, "PostgreSQL is installed on the host.")
            tuned |= server.tuned_checkpoints()
        return tuned

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the commands that create the tables, run the test, and drop the tables."""
        kind = server.POSTGRESQL if values["driver"] == PGSQL else server.MYSQL
        where = list(_OWN[kind]) if server.is_started_here(values) else _where(values)
        tables = [f"--tables={values['table_count']}", f"--table-size={values['table_size']}"]
        options = [f"--db-driver={values['driver']}", *where, *tables]
        test = str(values["workload"])
        fill = ("sysbench", test, *options)
        run = command(test, [*options, f"--rand-type={values['distribution']}"], values, context).argv
        if server.is_started_here(values):
            return (
                Command(
                    (*server.start_arguments(values, kind, int(values["threads"])), *fill, "prepare"),
                    Purpose.PREPARE,
                    files=(server.FILE,),
                ),
                Command((*server.started(kind), *run), files=(server.FILE,)),
            )
        connected = server.connect_command(
            ("sysbench", "oltp_point_select", *options, f"--threads={values['threads']}", "--events=1", "run")
        )
        if values["tables"] == server.KEEP:
            return (connected, Command(run))
        return (
            Command(("sh", "-c", _CREATE_TABLES, "sysbench", *fill), Purpose.PREPARE),
            connected,
            Command(run),
            Command(("sh", "-c", _DROP, "sysbench", *fill), Purpose.CLEAN_UP),
        )

    def effects(self, values: Values) -> tuple[Effect, ...]:
        """Return the effects on a server set by the user."""
        return server.server_effects(("sysbench", str(values["workload"]), *_where(values)), values)

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return the run's time and the size of the tables; writes depend on the number of transactions."""
        return server.run_estimate(values, size_of(values), writes=_writes(values))

    def workload(self, values: Values) -> Workload:
        """Return whether each transaction waits for the disk."""
        commits = server.is_started_here(values) and bool(values["fsync"]) and _writes(values)
        return Workload(commits=commits, rate_limit=requested_rate(values, TPS.name))

    def traits(self, values: Values, facts: Facts | None) -> Traits:
        """Return the traits of a step for cross-checks."""
        clients = int(values["threads"])
        return Traits(flushed=bool(values["fsync"]), in_flight=clients, threads=clients, seconds=float(values["time"]))


def _where(values: Values) -> list[str]:
    """Return the connection options. sysbench first reads a file of options, which may contain a password."""
    driver, address = values["driver"], str(values["address"])
    socket = driver != PGSQL and address.startswith("/")
    pairs = (
        ("socket" if socket else "host", address),
        ("port", str(values["port"] or "")),
        ("user", str(values["user"])),
        ("db", str(values["database"])),
    )
    words = [f"--{driver}-{name}={value}" for name, value in pairs if value]
    return [f"--config-file={values['config_file']}", *words] if values["config_file"] else words
