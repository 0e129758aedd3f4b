"""A database server of a step's own: in its private directory, reached by a socket alone, gone with the directory."""

import re
import shlex
from collections.abc import Mapping, Sequence

from suites.base import Context, Effect, EffectKind
from suites.checks import CannotTell, Check, Outcome, StepEvidence
from suites.disk import DIRECTORY, MIB, amount, best_directory
from suites.host_files import HostFile
from suites.parameters import Choice, Parameter, Tuned, Type, Value, Values
from suites.vocab import Level

OWN, NAMED = "own", "named"
MAKE, KEEP = "make", "keep"
POSTGRESQL, MYSQL = "postgresql", "mysql"

SCRIPT = "database.sh"
PEER = "/proc/self/cwd/data"
"""Where the socket is, whatever the directory is called: the path of a socket may have 107 bytes only (unix(7))."""

OVERHEAD = 2 * 2**30
"""Bytes beside the data: PostgreSQL's log grows to max_wal_size, 1 GB, and beyond; MariaDB's to less."""

# PostgreSQL refuses to be run by root. As another account it cannot enter a directory of root's, unless it keeps the
# one right to do that: nothing else about root is left to it. MariaDB may be run by root, if told so.
_TEXT = r"""# sh database.sh make|run KIND [BUFFERS FSYNC] COMMAND...: a database server in ./data, for one command.
set -u
mode=$1 kind=$2
shift 2
here=$(pwd -P) data=$(pwd -P)/data account=
fail() {
    echo "$*" >&2
    exit 1
}
for folder in $(ls -d /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /usr/libexec/postgresql* /usr/lib/postgresql*/bin \
    2>/dev/null | sort -V); do
    [ ! -x "$folder/initdb" ] || PATH=$folder:$PATH
done
PATH=$PATH:/usr/sbin:/usr/libexec:/usr/local/sbin
export PATH
if [ "$(id -u)" = 0 ] && [ "$kind" = postgresql ]; then
    id -u postgres >/dev/null 2>&1 && account=postgres || account=nobody
fi
server() {
    if [ -z "$account" ]; then "$@"; else
        setpriv --reuid "$(id -u $account)" --regid "$(id -g $account)" --clear-groups \
            --inh-caps +dac_read_search --ambient-caps +dac_read_search -- "$@"
    fi
}
make_postgresql() { # buffers fsync
    command -v initdb >/dev/null && command -v pg_ctl >/dev/null || fail "There is no PostgreSQL server here."
    server initdb -D "$data" -U benchwright -A trust -E UTF8 --locale=C -N >make.log 2>&1 ||
        fail "$(tail -n 5 make.log)"
    printf "%s = '%s'\n" listen_addresses "" unix_socket_directories . shared_buffers "$1MB" fsync "$2" port 5432 \
        >>"$data/postgresql.conf"
}
start_postgresql() { server pg_ctl -D "$data" -l "$data/server.log" -w -t 120 start >/dev/null 2>&1; }
stop_postgresql() { server pg_ctl -D "$data" -m fast -w -t 120 stop >/dev/null 2>&1; }
version_postgresql() { postgres --version; }
version_mysql() { mariadbd --version; }
make_mysql() { # buffers fsync
    command -v mariadbd >/dev/null && command -v mariadb-install-db >/dev/null ||
        fail "There is no MariaDB server here."
    flush=1
    [ "$2" = on ] || flush=0
    printf '%s\n' "[mariadbd]" "datadir=$data" socket=mysql.sock "pid-file=$data/pid" skip-networking \
        "user=$(id -un)" "innodb_buffer_pool_size=$1M" "innodb_flush_log_at_trx_commit=$flush" skip-log-bin >my.cnf
    mariadb-install-db --defaults-file="$here/my.cnf" --auth-root-authentication-method=normal --skip-test-db \
        >make.log 2>&1 || fail "$(tail -n 5 make.log)"
    start_mysql || fail "$(tail -n 5 "$data/server.log")"
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
    "make_$kind" "$1" "$2"
    shift 2
fi
"start_$kind" || fail "The server did not start: $(tail -n 5 "$data/server.log" 2>&1)"
trap '"stop_$kind"; exit 143' HUP INT TERM
[ "$mode" = make ] || echo "benchwright-server $("version_$kind" 2>/dev/null)" >&2
"$@"
status=$?
"stop_$kind"
exit "$status"
"""

FILE = HostFile(SCRIPT, text=_TEXT)

_SERVER = re.compile(r"benchwright-server .{0,60}?\b(\d{1,3}\.\d{1,4}[\w.-]{0,40}).{0,200}")
_NAMES = (("postgres", "PostgreSQL"), ("MariaDB", "MariaDB"))


def server_version(line: str) -> str | None:
    """Return the name and version of the step's own server, where `line` is that with which it says so."""
    match = _SERVER.fullmatch(line.strip())
    name = next((name for sign, name in _NAMES if sign in line), "server")
    return None if match is None else f"{name} {match[1].partition('-')[0]}"


def is_own(values: Values) -> bool:
    """Return whether the server is started for the purpose."""
    return values["server"] == OWN


def server_effects(words: Sequence[str], values: Values) -> tuple[Effect, ...]:
    """Return what is done to a server that runs already; `words` lead to it, as on the command line."""
    if is_own(values):
        return ()
    tables = ", in tables that are made and dropped" if values["tables"] == MAKE else ""
    return (Effect(EffectKind.CHANGES, shlex.join(words), f"database server: transactions{tables}"),)


def _is_named(values: Values) -> bool:
    return not is_own(values)


SERVER = Parameter(
    name="server",
    title="Server",
    type=Type.CHOICE,
    default=OWN,
    help="One of its own is made in the step's private directory, started for each trial, and removed with it.",
    choices=(Choice(OWN, "One of its own"), Choice(NAMED, "One that runs already")),
)

ADDRESS = Parameter(
    name="address",
    title="Address",
    type=Type.TEXT,
    default="",
    help="Where the server is, as the host sees it: a name, an address, or a directory with its socket.",
    pattern=r"[^\s,-][^\s,]*",
    applies=_is_named,
    identity=False,
)

DATABASE = Parameter(
    name="database",
    title="Database",
    type=Type.TEXT,
    default="",
    help="The database in which tables are made and dropped. Use one that holds nothing else.",
    pattern=r"[\w$][\w$.-]*",
    applies=_is_named,
    identity=False,
)

TABLES = Parameter(
    name="tables",
    title="Tables of the server",
    type=Type.CHOICE,
    default=MAKE,
    help="Whether the tables are made before and dropped after. Tables that are there already are never replaced.",
    choices=(Choice(MAKE, "Made before, dropped after"), Choice(KEEP, "Those that are there")),
    applies=_is_named,
    identity=False,
)

USER = Parameter(
    name="user",
    title="User",
    type=Type.TEXT,
    default="",
    help="The server's user. A password is never given here: it comes from a file on the host.",
    pattern=r"[\w$][\w$.@-]*",
    applies=_is_named,
    identity=False,
)

BUFFERS = Parameter(
    name="buffers",
    title="Server's memory",
    type=Type.SIZE,
    default=128 * MIB,
    help="shared_buffers of PostgreSQL, innodb_buffer_pool_size of MariaDB: both have 128 MiB by default.",
    minimum=16 * MIB,
    maximum=2**42,
    applies=is_own,
)

FSYNC = Parameter(
    name="fsync",
    title="Durable",
    type=Type.FLAG,
    default=True,
    help="Whether each commit waits for the disk. Without it a crash loses data, and the disk is hardly measured.",
    applies=is_own,
)

OWN_DIRECTORY = Parameter(
    name="directory",
    title="Directory",
    type=Type.TEXT,
    default=DIRECTORY.default,
    help="An absolute path on the disk that holds the server's own data, in a private directory made there.",
    pattern=r"/.*",
    applies=is_own,
    identity=False,
)


def made(values: Values, kind: str) -> tuple[str, ...]:
    """Return the words before the command that fills the tables of a server of the step's own: it is made first."""
    buffers = str(int(values["buffers"]) // MIB)
    return ("sh", SCRIPT, "make", kind, buffers, "on" if values["fsync"] else "off")


def started(kind: str) -> tuple[str, ...]:
    """Return the words before a command that needs the step's own server: it runs as long as the command."""
    return ("sh", SCRIPT, "run", kind)


def tuned_server(context: Context) -> dict[str, Tuned]:
    """Return the roomiest disk and a quarter of the memory, as PostgreSQL's manual advises."""
    tuned: dict[str, Tuned] = {}
    directory = best_directory(context.facts)
    if directory is not None:
        tuned["directory"] = Tuned(directory.path, "The most room of the directories that were tried.")
    memory = None if context.facts is None else context.facts.memory_for_cache()
    if memory is not None and memory >= 64 * MIB:
        share = memory // 4 // MIB * MIB
        tuned["buffers"] = Tuned(share, f"A quarter of the {amount(memory)} of memory, as PostgreSQL's manual advises.")
    return tuned


def is_here(values: Values) -> bool:
    """Return whether the server runs on the host that asks it, as far as its address tells."""
    address = str(values["address"])
    return is_own(values) or not address or address.startswith(("/", "127.")) or address in {"localhost", "::1"}


def _same_host(evidence: StepEvidence) -> Outcome | None:
    if not is_here(evidence.values):
        return None
    what = "The server is one of the step's own" if is_own(evidence.values) else "The address is the host's own"
    return Outcome(f"{what}: client and server run on the same CPUs.")


def _not_durable(evidence: StepEvidence) -> Outcome | None:
    if not is_own(evidence.values) or evidence.values["fsync"]:
        return None
    return Outcome("fsync is no.", changes={"fsync": True})


def _nowhere(evidence: StepEvidence) -> Outcome | None:
    if is_own(evidence.values) or evidence.values["database"]:
        return None
    return Outcome("The server runs already, and no database is named.")


SAME_HOST = Check(
    id="database-same-host",
    level=Level.INFO,
    title="Client and server share the processors",
    why="The client takes part of the CPU that it measures, and no network is between them, as there is in use.",
    remedy="For the server alone, name a server on another host, reached over the network that will be used.",
    source="PostgreSQL, pgbench: Good Practices.",
    needs="Where the database is.",
    evaluate=_same_host,
)

NOT_DURABLE = Check(
    id="database-not-durable",
    level=Level.WARNING,
    title="Commits do not wait for the disk",
    why="The rate is many times that of a database whose data are safe; no such database is run with data of value.",
    remedy="Set fsync to yes.",
    source="PostgreSQL, 20.5 Write Ahead Log: fsync; MariaDB, innodb_flush_log_at_trx_commit.",
    needs="The database's settings.",
    evaluate=_not_durable,
)

NO_DATABASE = Check(
    id="database-not-named",
    level=Level.ERROR,
    title="No database is named",
    why="Tables are made and dropped, and it has to be said where that may be.",
    remedy="Name a database that holds nothing else.",
    source="The step's parameters.",
    needs="Where the database is.",
    evaluate=_nowhere,
)


def in_memory(evidence: StepEvidence, size: int, changes: Mapping[str, Value]) -> Outcome | CannotTell | None:
    """Return the remark that `size` bytes of tables fit into memory on the server's host, where that is known."""
    if not is_here(evidence.values):
        return None
    facts = evidence.context.facts
    memory = None if facts is None else facts.memory_for_cache()
    if memory is None:
        return CannotTell("The host's memory is not known.")
    if size >= memory:
        return None
    return Outcome(f"{amount(size)} of tables, {amount(memory)} of memory.", changes=changes)
