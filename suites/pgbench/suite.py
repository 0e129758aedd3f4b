"""pgbench: PostgreSQL's own benchmark, of a server the user names or of one started for the purpose."""

from collections.abc import Mapping

from suites.base import Command, Context, Effect, Estimate, Purpose, TrialParser
from suites.checks import StepCheck
from suites.facts import Facts
from suites.oltp.server import (
    ADDRESS,
    BUFFERS,
    DATABASE,
    FILE,
    FSYNC,
    KEEP,
    OVERHEAD,
    OWN_DIRECTORY,
    PEER,
    POSTGRESQL,
    SERVER,
    USER,
    is_own,
    made,
    server_effects,
    started,
    tuned_server,
)
from suites.parameters import Parameter, Tuned, Values
from suites.pgbench.checks import PGBENCH_CHECKS, RECOMMENDED_SCALE, SCALE_BYTES
from suites.pgbench.log import SUMMARY, is_logged, log_options, log_size, tuned_share
from suites.pgbench.output import METRICS, PgbenchParser
from suites.pgbench.parameters import PGBENCH_PARAMETERS, PORT
from suites.programs import POSTGRESQL_SERVER, Program
from suites.runtime_checks import TRUSTED
from suites.thread_checks import cpus_for
from suites.vocab import Metric, Resource

_NAME = "benchwright"
_DEFAULTS = {parameter.name: parameter.default for parameter in PGBENCH_PARAMETERS}

# Tables that are there already are somebody's: they are left alone, and only what was made here is dropped at the end.
_MAKE = (
    "scale=$1 database=$2; shift 2; "
    'there=$(psql -w "$@" -Atc "select to_regclass(\'pgbench_accounts\')" "$database") || exit; '
    '[ -z "$there" ] || { echo "$database has tables pgbench_* already: keep them, or name another database" >&2; '
    'exit 1; }; : >made && exec pgbench -i -q -s "$scale" "$@" "$database"'
)
_DROP = '[ ! -f made ] || exec pgbench -i -I d "$@"'


class Pgbench:
    """pgbench. Transactions one after another by each client, for a fixed time."""

    id = "pgbench"
    title = "pgbench"
    summary = "Transactions a second of PostgreSQL, your own or one started for it: banking, updates, or reads alone."
    resource = Resource.APPLICATION
    tool = "pgbench"
    packages: Mapping[str, str] = {
        "apt": "postgresql",
        "dnf": "postgresql-contrib",
        "zypper": "postgresql-contrib",
        "pacman": "postgresql",
        "apk": "postgresql-contrib",
    }
    parameters: tuple[Parameter, ...] = (
        SERVER,
        *PGBENCH_PARAMETERS,
        OWN_DIRECTORY,
        BUFFERS,
        FSYNC,
        ADDRESS,
        PORT,
        DATABASE,
        USER,
    )
    metrics: tuple[Metric, ...] = METRICS
    needs_peer = False
    directory_parameter: str | None = "directory"
    checks: tuple[StepCheck, ...] = PGBENCH_CHECKS

    def programs(self, values: Values, facts: Facts | None) -> tuple[Program, ...]:
        """Return the server that is started for the step, where it is one of its own."""
        del facts
        return (POSTGRESQL_SERVER,) if is_own(values) else ()

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return two clients for each CPU, a thread for each, and as many branches as keep them apart."""
        tuned = {
            "time": Tuned(TRUSTED, f"{TRUSTED:g} s give {TRUSTED:g} samples of one second."),
            **tuned_server(context),
        }
        cpus = None if context.facts is None else cpus_for(context.facts)
        scale = RECOMMENDED_SCALE
        if cpus is not None:
            scale = max(scale, 4 * cpus)
            tuned["clients"] = Tuned(2 * cpus, f"Two for each of the {cpus} CPUs: while one waits, another works.")
            tuned["threads"] = Tuned(cpus, f"One for each of the {cpus} CPUs.")
        tuned["scale"] = Tuned(scale, "More branches than clients, so that updates of one row do not queue.")
        chosen = {name: choice.value for name, choice in tuned.items()}
        return tuned | {"logged": tuned_share({**_DEFAULTS, **chosen})}

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return what makes the tables, the run, what reads its log, and what drops the tables again."""
        del context
        read = (SUMMARY,) if is_logged(values) else ()
        scale, run = str(values["scale"]), ("pgbench", *_options(values))
        if is_own(values):
            there = ["-h", PEER, "-U", _NAME]
            fill = (*made(values, POSTGRESQL), "pgbench", "-i", "-q", "-s", scale, *there, "postgres")
            return (
                Command(fill, Purpose.PREPARE, files=(FILE,)),
                Command((*started(POSTGRESQL), *run, *there, "postgres"), files=(FILE,)),
                *read,
            )
        there, database = _where(values), str(values["database"])
        measure = Command((*run, *there, database))
        if values["tables"] == KEEP:
            return (measure, *read)
        return (
            Command(("sh", "-c", _MAKE, "pgbench", scale, database, *there), Purpose.PREPARE),
            measure,
            *read,
            Command(("sh", "-c", _DROP, "pgbench", *there, database), Purpose.CLEAN_UP),
        )

    def effects(self, values: Values) -> tuple[Effect, ...]:
        """Return what is done to a server that the user named."""
        return server_effects(("pgbench", *_where(values), str(values["database"])), values)

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return the run's time and the size of the tables; what transactions write depends on how many there are."""
        del context
        size = int(values["scale"]) * SCALE_BYTES
        own = is_own(values)
        reads = values["script"] == "select-only"
        log = log_size(values)
        return Estimate(
            duration=float(values["time"]),
            written=log if reads or not own else None,
            prepared=2 * size if own else 0,
            space=log + (2 * size + OVERHEAD if own else 0),
            network=0 if own else None,
        )

    def parser(self, values: Values) -> TrialParser:
        """Return a fresh parser; the output says all it needs to know."""
        del values
        return PgbenchParser()


def _options(values: Values) -> list[str]:
    words = ["-b", str(values["script"]), "-T", f"{values['time']:g}", "-P", "1"]
    words += ["-c", str(values["clients"]), "-j", str(values["threads"]), "-M", str(values["protocol"])]
    if values["rate"]:
        words += ["-R", f"{values['rate']:g}"]
    return [*words, *log_options(values)]


def _where(values: Values) -> list[str]:
    pairs = (("-h", str(values["address"])), ("-p", str(values["port"])), ("-U", str(values["user"])))
    return [word for option, value in pairs if value for word in (option, value)]
