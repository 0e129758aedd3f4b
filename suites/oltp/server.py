"""A database server started for a step: in its private directory, listening on a socket only, removed with it."""

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from suites.base import Command, Context, Effect, EffectKind, Estimate, Purpose, StepCheck, StepEvidence
from suites.checks import Check, CheckOutcome, NotChecked, blocking_check
from suites.disk import DIRECTORY, MIB, best_directory
from suites.host_files import HostFile
from suites.iperf3.link import is_loopback
from suites.parameters import Choice, Parameter, Tuned, Type, Values, flag_parameter, text_parameter
from suites.programs import PATH, POSTGRESQL_SERVER
from suites.quantities import quantity
from suites.vocab import Severity

OWN, NAMED = "own", "named"
MAKE, KEEP = "make", "keep"
POSTGRESQL, MYSQL = "postgresql", "mysql"

SCRIPT = "database.sh"
PEER = "/proc/self/cwd/data"
"""Directory of the socket: a short path, because a socket's path is limited to 107 bytes (unix(7))."""

OVERHEAD = 2 * 2**30
"""Bytes besides the data: PostgreSQL's log grows to max_wal_size, 1 GB, and beyond; MariaDB's to less."""

# PostgreSQL refuses to run as root. Another account cannot enter root's directory unless it keeps the one capability
# for that; all other capabilities are dropped. MariaDB runs as root with an option.
_TEXT = r"""# sh database.sh make|run KIND [BUFFERS FSYNC CHECKPOINT CONNECTIONS] COMMAND...: a server in ./data
set -u
mode=$1 kind=$2
shift 2
here=$(pwd -P) data=$(pwd -P)/data account=
fail() {
    echo "$*" >&2
    exit 1
}
for folder in $(ls -d @PATTERNS@ \
    2>/dev/null | sort -V); do
    [ ! -x "$folder/initdb" ] || PATH=$folder:$PATH
done
PATH=@PATH@
export PATH
ulimit -n "$(ulimit -Hn)" # each client has a connection
if [ "$(id -u)" = 0 ] && [ "$kind" = postgresql ]; then
    id -u postgres >/dev/null 2>&1 && account=postgres || account=nobody
fi
server() {
    if [ -z "$account" ]; then "$@"; else
        setpriv --reuid "$(id -u $account)" --regid "$(id -g $account)" --clear-groups \
            --inh-caps +dac_read_search --ambient-caps +dac_read_search -- "$@"
    fi
}
make_postgresql() { # buffers fsync checkpoint connections
    command -v initdb >/dev/null && command -v pg_ctl >/dev/null || fail "There is no PostgreSQL server here."
    server initdb -D "$data" -U benchwright -A trust -E UTF8 --locale=C -N >make.log 2>&1 ||
        fail "$(tail -n 5 make.log)"
    printf "%s = '%s'\n" listen_addresses "" unix_socket_directories . shared_buffers "$1MB" fsync "$2" port 5432 \
        checkpoint_timeout "$3s" max_connections "$4" >>"$data/postgresql.conf"
}
start_postgresql() { server pg_ctl -D "$data" -l "$data/server.log" -w -t 120 start >/dev/null 2>&1; }
stop_postgresql() { server pg_ctl -D "$data" -m fast -w -t 120 stop >/dev/null 2>&1; }
version_postgresql() { postgres --version; }
version_mysql() { mariadbd --version; }
make_mysql() { # buffers fsync checkpoint connections
    command -v mariadbd >/dev/null && command -v mariadb-install-db >/dev/null ||
        fail "There is no MariaDB server here."
    flush=1
    [ "$2" = on ] || flush=0
    printf '%s\n' "[mariadbd]" "datadir=$data" socket=mysql.sock "pid-file=$data/pid" skip-networking \
        "user=$(id -un)" "innodb_buffer_pool_size=$1M" "innodb_flush_log_at_trx_commit=$flush" skip-log-bin \
        "max_connections=$4" >my.cnf
    mariadb-install-db --defaults-file="$here/my.cnf" --auth-root-authentication-method=normal --skip-test-db \
        >make.log 2>&1 || fail "$(tail -n 5 make.log)"
    start_mysql || fail "$(tail -n 5 "$data/server.log")"
    accepted=$(mariadb-admin --no-defaults -u root -S data/mysql.sock variables |
        awk '$2 == "max_connections" { print $4 }') # it lowers the number where it may not open as many files
    [ "${accepted:-0}" -ge "$4" ] ||
        fail "MariaDB accepts ${accepted:-no} connections of $4, with $(ulimit -n) open files: use fewer threads."
    mariadb-admin --no-defaults -u root -S data/mysql.sock create sbtest || fail "no database could be made"
    stop_mysql
}
start_mysql() {
    mariadbd --defaults-file="$here/my.cnf" >>"$data/server.log" 2>&1 &
    pid=$! tries=0
    until mariadb-admin --no-defaults -u root -S data/mysql.sock ping >/dev/null 2>&1; do
        tries=$((tries + 1))
        kill -0 "$pid" 2>/dev/null && [ "$tries" -lt 600 ] || return 1
        sleep 0.2
    done
}
stop_mysql() { kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null; }
if [ "$mode" = make ]; then
    (umask 077 && mkdir data) || exit
    [ -z "$account" ] || chown "$account" data || exit
    "make_$kind" "$1" "$2" "$3" "$4"
    shift 4
fi
"start_$kind" || fail "The server did not start: $(tail -n 5 "$data/server.log" 2>&1)"
trap '"stop_$kind"; exit 143' HUP INT TERM
[ "$mode" = make ] || echo "benchwright-server $("version_$kind" 2>/dev/null)" >&2
"$@"
status=$?
"stop_$kind"
exit "$status"
"""

_PATTERNS, *_DIRECTORIES = POSTGRESQL_SERVER.search
_SEARCH_PATH = ":".join("$PATH" if directory == PATH else directory for directory in _DIRECTORIES)
FILE = HostFile(SCRIPT, text=_TEXT.replace("@PATTERNS@", _PATTERNS).replace("@PATH@", _SEARCH_PATH))
"""Where to search for the servers: the same directories as for the host's facts."""

_SERVER = re.compile(r"benchwright-server .{0,60}?\b(\d{1,3}\.\d{1,4}[\w.-]{0,40}).{0,200}")
_NAMES = (("postgres", "PostgreSQL"), ("MariaDB", "MariaDB"), ("Redis", "Redis"), ("nginx", "nginx"))


def server_version(line: str) -> str | None:
    """Return the name and version of the started server if `line` is its version line."""
    match = _SERVER.fullmatch(line.strip())
    name = next((name for sign, name in _NAMES if sign in line), "server")
    return None if match is None else f"{name} {match[1].partition('-')[0]}"


def is_started_here(values: Values) -> bool:
    """Return whether the server is started for the test."""
    return values["server"] == OWN


def server_effects(words: Sequence[str], values: Values) -> tuple[Effect, ...]:
    """Return the effect on a server that already runs; `words` are its connection options."""
    if is_started_here(values):
        return ()
    tables = ", in tables that are created and dropped" if values["tables"] == MAKE else ""
    return (Effect(EffectKind.CHANGES, shlex.join(words), f"database server: transactions{tables}"),)


def is_named(values: Values) -> bool:
    """Return whether the step uses a server that runs already."""
    return not is_started_here(values)


SERVER = Parameter(
    name="server",
    title="Server",
    default=OWN,
    help="own: created in the step's private directory, started for each trial and removed with it.",
    choices=(Choice(OWN, "own: started for the test"), Choice(NAMED, "named: runs already")),
)

_named_parameter = partial(text_parameter, applies=is_named, identity=False)

ADDRESS = _named_parameter(
    name="address",
    title="Address",
    help="Address of the server as seen from the host: a name, an address or the directory of its socket.",
    pattern=r"[^\s,-][^\s,]*",
)

DATABASE = _named_parameter(
    name="database",
    title="Database",
    help="Database in which tables are created and dropped. Use one without other content.",
    pattern=r"[\w$][\w$.-]*",
)

TABLES = Parameter(
    name="tables",
    title="Tables",
    default=MAKE,
    help="Whether tables are created before and dropped after. Existing tables are never replaced.",
    choices=(Choice(MAKE, "make: created before, dropped after"), Choice(KEEP, "keep: existing tables")),
    applies=is_named,
    identity=False,
)

USER = _named_parameter(
    name="user",
    title="User",
    help="The server's user. The password comes from a file on the host, never from here.",
    pattern=r"[\w$][\w$.@-]*",
)

BUFFERS = Parameter(
    name="buffers",
    title="Server memory",
    type=Type.SIZE,
    default=128 * MIB,
    help="shared_buffers of PostgreSQL, innodb_buffer_pool_size of MariaDB; both default to 128 MiB.",
    minimum=16 * MIB,
    maximum=2**42,
    applies=is_started_here,
)

FSYNC = flag_parameter(
    name="fsync",
    default=True,
    help="Whether each commit waits for the disk. Without it a crash loses data, and the disk hardly matters.",
    applies=is_started_here,
)

CHECKPOINT_DEFAULT = 300.0
"""Seconds: checkpoint_timeout of PostgreSQL if it is not configured."""

CHECKPOINT = Parameter(
    name="checkpoint_timeout",
    type=Type.DURATION,
    default=CHECKPOINT_DEFAULT,
    help="Interval of PostgreSQL's checkpoints, which write all changed pages to the disk. A shorter run has none.",
    minimum=30,
    maximum=86400,
    whole=True,
    applies=is_started_here,
)

TUNED_CHECKPOINT = 30.0
TUNED_TIME = 3 * TUNED_CHECKPOINT

SERVER_DIRECTORY = replace(
    DIRECTORY,
    help="Absolute path on the disk for the server's data, in a private directory created there.",
    applies=is_started_here,
)


def checkpoint_of(values: Values) -> float:
    """Return the seconds between checkpoints: PostgreSQL's default for a server that already runs."""
    given = values.get(CHECKPOINT.name, CHECKPOINT_DEFAULT)  # a stored step may predate the parameter
    return float(given) if is_started_here(values) else CHECKPOINT_DEFAULT


def tuned_checkpoints() -> dict[str, Tuned]:
    """Return the time of a run that contains checkpoints."""
    return {
        "time": Tuned(TUNED_TIME, f"Contains checkpoints, which write all changed pages: one each "
                      f"{TUNED_CHECKPOINT:g} s."),
        CHECKPOINT.name: Tuned(
            TUNED_CHECKPOINT, "PostgreSQL's default of 5 min would take a run of 10 min to show its checkpoints."
        ),
    }  # fmt: skip


def checkpoint_missed(writes: Callable[[Values], bool]) -> StepCheck:
    """Return the check that a run of PostgreSQL that `writes` is not shorter than a checkpoint."""

    def evaluate(evidence: StepEvidence) -> CheckOutcome | None:
        values = evidence.values
        seconds, interval = float(values["time"]), checkpoint_of(values)
        if not writes(values) or seconds >= interval:
            return None
        if not is_started_here(values):
            return CheckOutcome(f"time is {seconds:g} s; checkpoint_timeout is {interval:g} s by default.")
        return CheckOutcome(
            f"time is {seconds:g} s, checkpoint_timeout {interval:g} s.",
            changes={"time": TUNED_TIME, CHECKPOINT.name: TUNED_CHECKPOINT},
            remedy="Set time to at least twice checkpoint_timeout." if interval <= TUNED_CHECKPOINT else None,
        )

    return Check(
        id="no-checkpoint",
        title="Run is shorter than a checkpoint",
        why="Between checkpoints PostgreSQL writes only its log; changed pages stay in memory. The figure leaves out "
        "their writes, and is higher than a server sustains.",
        remedy="Set time to at least twice checkpoint_timeout, or lower checkpoint_timeout to 30 s.",
        source="PostgreSQL, 30.5 WAL Configuration: checkpoint_timeout; pgbench, Good Practices.",
        needs="time, script; checkpoint_timeout.",
        evaluate=evaluate,
    )


_CONNECTIONS = {POSTGRESQL: 100, MYSQL: 151}
"""Default of max_connections: PostgreSQL 15, MariaDB 10.11."""

SPARE_CONNECTIONS = 10
"""Connections besides the clients': of the tool itself, and those that PostgreSQL reserves (3)."""


def start_arguments(values: Values, kind: str, clients: int) -> tuple[str, ...]:
    """Return the arguments before the command that fills the tables: they create and start a server for `clients`."""
    buffers = str(int(values["buffers"]) // MIB)
    connections = max(_CONNECTIONS[kind], clients + SPARE_CONNECTIONS)
    fsync = "on" if values["fsync"] else "off"
    return ("sh", SCRIPT, "make", kind, buffers, fsync, f"{checkpoint_of(values):.0f}", str(connections))


_CONNECT = (
    '"$@" >connect.log 2>&1 && exit; tail -n 5 connect.log; '
    "! grep -Eqi 'too many (clients|connections)|connection slots|error 1040' connect.log || "
    'echo "The server refuses so many connections at once: use fewer, or raise its limit (max_connections)."; exit 1'
)


def connect_command(words: Sequence[str], files: tuple[HostFile, ...] = ()) -> Command:
    """Return the command that opens all connections to a server that already runs, before anything is measured.

    `words` open them and end. A pooler may accept more than the server behind it, so no limit is computed.
    """
    return Command(("sh", "-c", _CONNECT, "connect", *words), Purpose.PREPARE, files=files)


def started(kind: str) -> tuple[str, ...]:
    """Return the arguments before a command that needs the started server, which runs as long as the command."""
    return ("sh", SCRIPT, "run", kind)


def tuned_server(context: Context) -> dict[str, Tuned]:
    """Return the disk with the most free space, and a quarter of the memory, as PostgreSQL's manual advises."""
    tuned: dict[str, Tuned] = {}
    directory = best_directory(context.facts)
    if directory is not None:
        tuned["directory"] = Tuned(directory.path, "Most free space of the directories tried.")
    memory = None if context.facts is None else context.facts.memory_for_cache()
    if memory is not None and memory >= 64 * MIB:
        share = memory // 4 // MIB * MIB
        tuned["buffers"] = Tuned(
            share, f"A quarter of the {quantity(memory)} of memory, as PostgreSQL's manual advises."
        )
    return tuned


def run_estimate(values: Values, size: int, log: int = 0, *, writes: bool) -> Estimate:
    """Return the run's time and the `size` of the tables; how much is written depends on the transactions."""
    own = is_started_here(values)
    return Estimate(
        duration=float(values["time"]),
        written=None if own and writes else log,
        prepared=2 * size if own else 0,
        space=log + (2 * size + OVERHEAD if own else 0),
        network=0 if own else None,
    )


def is_local(values: Values) -> bool:
    """Return whether the server runs on the client's host, as far as its address shows."""
    address = str(values["address"])
    return is_started_here(values) or address[:1] in {"", "/", "@"} or is_loopback(address.strip("[]"))


def _same_host(evidence: StepEvidence) -> CheckOutcome | None:
    if is_started_here(evidence.values) or not is_local(evidence.values):
        return None
    address = str(evidence.values["address"])
    return CheckOutcome(
        f"The address is {address}." if address else "No address: the tool connects to its own host by default."
    )


def _not_durable(evidence: StepEvidence) -> CheckOutcome | None:
    if not is_started_here(evidence.values) or evidence.values["fsync"]:
        return None
    return CheckOutcome("fsync is no.", changes={"fsync": True})


def _no_database(evidence: StepEvidence) -> CheckOutcome | None:
    if is_started_here(evidence.values) or evidence.values["database"]:
        return None
    return CheckOutcome("The server runs already; no database is set.")


SAME_HOST = Check(
    id="database-same-host",
    severity=Severity.INFO,
    title="Client and server share the CPUs",
    why="The client uses part of the CPU that it measures, and no network is in between.",
    remedy="Use a server on another host, reached over the production network, to measure the server alone.",
    source="PostgreSQL, pgbench: Good Practices.",
    needs="The server's address.",
    evaluate=_same_host,
)

NOT_DURABLE = Check(
    id="database-not-durable",
    title="Commits do not wait for the disk",
    why="The rate is many times that of a durable database; production data is not kept this way.",
    remedy="Set fsync to yes.",
    source="PostgreSQL, 20.5 Write Ahead Log: fsync; MariaDB, innodb_flush_log_at_trx_commit.",
    needs="fsync.",
    evaluate=_not_durable,
)

NO_DATABASE = blocking_check(
    id="database-not-named",
    title="Database missing",
    why="The test creates and drops tables and needs a database to do it in.",
    remedy="Set a database without other content.",
    source="The step's parameters.",
    needs="The server's database.",
    evaluate=_no_database,
)


def tables_in_memory(check_id: str, size_of: Callable[[Values], int], *, needs: str, source: str) -> StepCheck:
    """Return the remark that all tables, of `size_of` bytes, fit into memory on the server's host, if that is known."""

    def evaluate(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
        if is_started_here(evidence.values) or not is_local(evidence.values):
            return None
        facts = evidence.context.facts
        memory, size = None if facts is None else facts.memory_for_cache(), size_of(evidence.values)
        if memory is None:
            return NotChecked("The host's memory is not known.")
        if size >= memory:
            return None
        return CheckOutcome(f"{quantity(size)} of tables, {quantity(memory)} of memory.")

    return Check(
        id=check_id,
        severity=Severity.INFO,
        title="All tables fit into memory",
        why="After the first reads only commits reach the disk: the figure measures CPU, memory and the log.",
        remedy="To measure the disk, make the tables larger than the memory.",
        source=source,
        needs=needs,
        evaluate=evaluate,
    )


def makes_tables(check_id: str, tables: Callable[[Values], str], *, source: str) -> StepCheck:
    """Return the remark that `tables` are created in a database of the user."""

    def evaluate(evidence: StepEvidence) -> CheckOutcome | None:
        values = evidence.values
        if is_started_here(values) or values["tables"] != MAKE or not values["database"]:
            return None
        made = f"Tables {tables(values)} are created in {values['database']} before, and dropped after."
        return CheckOutcome(made)

    return Check(
        id=check_id,
        of_result=False,
        severity=Severity.INFO,
        title="Tables are created in your database",
        why="Creating them takes space and time and loads the server before the test.",
        remedy="Use a database without other content. Existing tables stop the test before it begins.",
        source=source,
        needs="Tables and database.",
        evaluate=evaluate,
    )
