"""sysbench OLTP: transactions on PostgreSQL, MySQL or MariaDB, named by the user or started for the purpose."""

from collections.abc import Mapping

from suites.base import Command, Context, Effect, Estimate, Purpose, TrialParser
from suites.checks import StepCheck
from suites.facts import Facts, known
from suites.oltp.checks import OLTP_CHECKS, TUNED_ROWS, TUNED_TABLES, size_of
from suites.oltp.output import METRICS, OltpParser
from suites.oltp.parameters import (
    CONFIG_FILE,
    DISTRIBUTION,
    DRIVER,
    PGSQL,
    PORT,
    TABLE_COUNT,
    TABLE_SIZE,
    WORKLOAD,
)
from suites.oltp.server import (
    ADDRESS,
    BUFFERS,
    DATABASE,
    FILE,
    FSYNC,
    KEEP,
    MYSQL,
    OVERHEAD,
    OWN_DIRECTORY,
    PEER,
    POSTGRESQL,
    SERVER,
    TABLES,
    USER,
    is_own,
    made,
    server_effects,
    started,
    tuned_server,
)
from suites.parameters import Parameter, Tuned, Values
from suites.programs import MARIADB_SERVER, POSTGRESQL_SERVER, Program
from suites.runtime_checks import TRUSTED
from suites.sysbench.common import PACKAGES, PERCENTILE, THREADS, TIME, command
from suites.thread_checks import cpus_for
from suites.vocab import Metric, Resource

# Tables that are there already are somebody's: they are left alone, and only what was made here is dropped at the end.
_MAKE = (
    'said=$("$@" prepare 2>&1); status=$?; printf "%s\\n" "$said" | tail -n 20; '
    'case $said in *"already exists"*) echo "Keep these tables, or name another database." ;; *) : >made ;; esac; '
    "exit $status"
)
_DROP = '[ ! -f made ] || exec "$@" cleanup'

_OWN = {
    POSTGRESQL: (f"--pgsql-host={PEER}", "--pgsql-user=benchwright", "--pgsql-db=postgres"),
    MYSQL: ("--mysql-socket=data/mysql.sock", "--mysql-user=root", "--mysql-db=sbtest"),
}


class SysbenchOltp:
    """sysbench's database tests. Transactions one after another by each thread, for a fixed time."""

    id = "sysbench-oltp"
    title = "sysbench OLTP"
    summary = "Transactions a second of PostgreSQL, MySQL or MariaDB, your own or one started for it, read or written."
    resource = Resource.APPLICATION
    tool = "sysbench"
    packages: Mapping[str, str] = PACKAGES
    parameters: tuple[Parameter, ...] = (
        SERVER,
        DRIVER,
        WORKLOAD,
        TABLE_COUNT,
        TABLE_SIZE,
        DISTRIBUTION,
        THREADS,
        TIME,
        PERCENTILE,
        OWN_DIRECTORY,
        BUFFERS,
        FSYNC,
        ADDRESS,
        PORT,
        DATABASE,
        USER,
        CONFIG_FILE,
        TABLES,
    )
    metrics: tuple[Metric, ...] = METRICS
    needs_peer = False
    directory_parameter: str | None = "directory"
    checks: tuple[StepCheck, ...] = OLTP_CHECKS

    def programs(self, values: Values, facts: Facts | None) -> tuple[Program, ...]:
        """Return the server that is started for the step, where it is one of its own."""
        del facts
        own = POSTGRESQL_SERVER if values["driver"] == PGSQL else MARIADB_SERVER
        return (own,) if is_own(values) else ()

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return two threads for each CPU, and rows enough that they seldom meet."""
        tuned = {
            "time": Tuned(TRUSTED, f"{TRUSTED:g} s give {TRUSTED:g} samples of one second."),
            "table_count": Tuned(TUNED_TABLES, "Threads spread over several tables, as they do in use."),
            "table_size": Tuned(TUNED_ROWS, "With sysbench's own 10,000 rows, transactions wait for each other."),
            **tuned_server(context),
        }
        facts = context.facts
        if facts is None:
            return tuned
        cpus = cpus_for(facts)
        if cpus is not None:
            tuned["threads"] = Tuned(2 * cpus, f"Two for each of the {cpus} CPUs: while one waits, another works.")
        has_postgresql, has_mariadb, has_pgbench = (
            known(facts.tool(name).path) is not None for name in ("postgres", "mariadbd", "pgbench")
        )
        if has_postgresql or (has_pgbench and not has_mariadb):
            tuned["driver"] = Tuned(PGSQL, "PostgreSQL's programs were found on the host.")
        return tuned

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return what makes the tables, the run, and what drops them again."""
        kind = POSTGRESQL if values["driver"] == PGSQL else MYSQL
        where = list(_OWN[kind]) if is_own(values) else _where(values)
        tables = [f"--tables={values['table_count']}", f"--table-size={values['table_size']}"]
        options = [f"--db-driver={values['driver']}", *where, *tables]
        test = str(values["workload"])
        fill = ("sysbench", test, *options)
        run = command(test, [*options, f"--rand-type={values['distribution']}"], values, context).argv
        if is_own(values):
            return (
                Command((*made(values, kind), *fill, "prepare"), Purpose.PREPARE, files=(FILE,)),
                Command((*started(kind), *run), files=(FILE,)),
            )
        if values["tables"] == KEEP:
            return (Command(run),)
        return (
            Command(("sh", "-c", _MAKE, "sysbench", *fill), Purpose.PREPARE),
            Command(run),
            Command(("sh", "-c", _DROP, "sysbench", *fill), Purpose.CLEAN_UP),
        )

    def effects(self, values: Values) -> tuple[Effect, ...]:
        """Return what is done to a server that the user named."""
        return server_effects(("sysbench", str(values["workload"]), *_where(values)), values)

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return the run's time and the size of the tables; what transactions write depends on how many there are."""
        del context
        size, own = size_of(values), is_own(values)
        reads = values["workload"] in {"oltp_read_only", "oltp_point_select"}
        return Estimate(
            duration=float(values["time"]),
            written=0 if reads or not own else None,
            prepared=2 * size if own else 0,
            space=2 * size + OVERHEAD if own else 0,
            network=0 if own else None,
        )

    def parser(self, values: Values) -> TrialParser:
        """Return a fresh parser; the output says all it needs to know."""
        del values
        return OltpParser()


def _where(values: Values) -> list[str]:
    """Return the words that lead to the server. sysbench reads a file of options first, in which a password may be."""
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
