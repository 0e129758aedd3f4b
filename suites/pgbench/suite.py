"""pgbench: PostgreSQL's own benchmark, on the user's server or one started for the test."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from suites.base import (
    Command,
    Context,
    Effect,
    Estimate,
    Purpose,
    RateLimit,
    StepCheck,
    StepEvidence,
    Suite,
    TestedTool,
    Workload,
)
from suites.checks import Check, CheckOutcome
from suites.command_line import CommandSyntax, Respelled
from suites.equivalents import Equivalent, MetricMapping, ParameterMapping, Traits, backwards, mapped
from suites.facts import Facts, cpus_for
from suites.host_files import HostFile
from suites.identities import in_text
from suites.oltp import server
from suites.output_reading import NAMED_ELSEWHERE, StatedLine, by_parser, with_own_texts
from suites.outputs import OutputFormat, ParsedTrial, ToolOutput
from suites.parameters import Choice, Parameter, Tuned, Type, Value, Values, count_parameter, port_parameter
from suites.pgbench.output import (
    IDENTITIES,
    LAG,
    LARGEST,
    LOGGED,
    METRICS,
    NOT_CONNECTED,
    SUMMARY,
    TPS,
    TRANSACTIONS,
    PgbenchParser,
    fitting_share,
    is_logged,
    live_figures,
    log_options,
    log_size,
    tuned_share,
)
from suites.programs import POSTGRESQL_SERVER, Program, same_package_name
from suites.quantities import count_text, quantity
from suites.runtime_checks import SHORT_RUNTIME
from suites.verdict import Trust
from suites.vocab import Resource

# Parameters of pgbench.


SCRIPT = Parameter(
    name="script",
    title="builtin",
    default="tpcb-like",
    help="Content of each transaction. Rates of different ones are not comparable.",
    option="-b",
    choices=(
        Choice("tpcb-like", "tpcb-like: three updates, a read, an insert"),
        Choice("simple-update", "simple-update: without the contended tables"),
        Choice("select-only", "select-only: one read"),
    ),
)

SCALE = count_parameter(
    name="scale",
    default=1,
    help="Branches, each with 100,000 accounts and about 16 MB. Updates of one branch wait for each other.",
    option="-s",
    maximum=100_000,
)

CLIENTS = count_parameter(
    name="clients", title="client", default=1, help="Number of concurrent sessions.", option="-c", maximum=10_000
)

THREADS = count_parameter(
    name="threads",
    title="jobs",
    default=1,
    help="Threads of pgbench that share the clients. A single one may limit many clients.",
    option="-j",
    maximum=4096,
)

TIME = Parameter(
    name="time",
    type=Type.DURATION,
    default=10.0,
    help="Duration of the test.",
    option="-T",
    minimum=1,
    maximum=86400,
    whole=True,
)

PROTOCOL = Parameter(
    name="protocol",
    default="simple",
    help="Query protocol. Prepared statements are planned once, which can nearly double the rate of short reads.",
    option="-M",
    choices=(
        Choice("simple", "simple: text, planned each time"),
        Choice("extended", "extended: separate parameters"),
        Choice("prepared", "prepared: planned once"),
    ),
)

RATE = Parameter(
    name="rate",
    type=Type.NUMBER,
    default=0.0,
    help="Target transactions per second, 0 for no limit; latency is then that of this load.",
    option="-R",
    unit="1/s",
    minimum=0,
    maximum=10**7,
)

PORT = port_parameter(
    title="Port", default=5432, help="The server's port.", option="-p", minimum=1, applies=server.is_named
)

PGBENCH_PARAMETERS = (SCRIPT, SCALE, CLIENTS, THREADS, TIME, PROTOCOL, RATE, LOGGED, server.TABLES)


# Checks of a pgbench step.


SCALE_BYTES = 16 * 10**6
"""Bytes of one branch: 15 MB of accounts and their index, measured with du after pgbench -i (PostgreSQL 15)."""

RECOMMENDED_SCALE = 20


def _contended(evidence: StepEvidence) -> CheckOutcome | None:
    scale, clients = int(evidence.values["scale"]), int(evidence.values["clients"])
    scripts = str(evidence.values.get("scripts", "TPC-B"))  # of an output from elsewhere
    if evidence.values["script"] != "tpcb-like" or scale >= clients or "TPC-B" not in scripts:
        return None
    return CheckOutcome(f"scale is {scale} with {count_text(clients, 'client')}.", changes={"scale": clients})


def size_of(values: Values) -> int:
    """Return the bytes of all tables."""
    return int(values["scale"]) * SCALE_BYTES


def _one_thread(evidence: StepEvidence) -> CheckOutcome | None:
    threads, clients = int(evidence.values["threads"]), int(evidence.values["clients"])
    if clients < 16 or threads > 1:
        return None
    return CheckOutcome(f"{clients} clients on 1 thread.", changes={"threads": 2})


def _large_log(evidence: StepEvidence) -> CheckOutcome | None:
    size = log_size(evidence.values)
    if size <= 2 * LARGEST:  # tolerance: a tuned share remains acceptable after small changes of time or script
        return None
    return CheckOutcome(
        f"log is {float(evidence.values['logged']):g} %: up to {quantity(size)} of log per trial.",
        changes={"logged": fitting_share(evidence.values)},
    )


def _reconnects(evidence: StepEvidence) -> CheckOutcome | None:
    if not evidence.values.get("reconnects"):
        return None
    return CheckOutcome("tps includes reconnection times.")


PGBENCH_CHECKS: tuple[StepCheck, ...] = (
    server.NO_DATABASE,
    Check(
        id="pgbench-contended",
        title="Fewer branches than clients",
        why="Each transaction updates one branch, and two of the same branch wait for each other: the figure is "
        "the lock's, not the server's.",
        remedy="Set scale to at least the number of clients.",
        source="PostgreSQL, pgbench: Good Practices.",
        needs="scale and clients.",
        evaluate=_contended,
    ),
    server.tables_in_memory(
        "pgbench-in-memory",
        size_of,
        needs="scale; the host's memory.",
        source="PostgreSQL, pgbench: Good Practices.",
    ),
    Check(
        id="pgbench-reconnects",
        title="Each transaction connects",
        why="The rate and the latency include the time to connect, which is most of a short transaction.",
        remedy="Leave --connect out, unless the application connects for each transaction.",
        source="PostgreSQL, pgbench: --connect.",
        needs="The output of pgbench.",
        evaluate=_reconnects,
    ),
    Check(
        id="pgbench-one-thread",
        title="One pgbench thread for many clients",
        why="pgbench itself may be the limit: one thread sends and receives for all clients.",
        remedy="Use one thread for each of pgbench's CPUs.",
        source="PostgreSQL, pgbench: --jobs.",
        needs="clients and threads.",
        evaluate=_one_thread,
    ),
    server.makes_tables(
        "pgbench-makes-tables", lambda _values: "pgbench_*", source="PostgreSQL, pgbench: --initialize."
    ),
    Check(
        id="pgbench-log-large",
        of_result=False,
        trust=Trust.CAVEATS,
        title="Transaction log may grow large",
        why="pgbench writes one line per logged transaction to the step's directory: a large log takes space, "
        "loads the measured disk and takes time to read at the end.",
        remedy="Log a smaller share: a few thousand transactions suffice for a p99.",
        source="PostgreSQL, pgbench: --log, --sampling-rate.",
        needs="log, script, time, threads and rate.",
        evaluate=_large_log,
    ),
    server.SAME_HOST,
    server.NOT_DURABLE,
    SHORT_RUNTIME,
    server.checkpoint_missed(lambda values: values["script"] != "select-only"),
)


_NAME = "benchwright"
_DEFAULTS = {parameter.name: parameter.default for parameter in PGBENCH_PARAMETERS}

# Existing tables belong to the user: only tables that were created here are changed and dropped.
_MAKE = (
    "scale=$1 database=$2; shift 2; "
    'there=$(psql -w "$@" -Atc "select to_regclass(\'pgbench_accounts\')" "$database") || exit; '
    '[ -z "$there" ] || { echo "$database has tables pgbench_* already: keep them, or name another database" >&2; '
    'exit 1; }; : >made && exec pgbench -i -q -s "$scale" "$@" "$database"'
)
_DROP = '[ ! -f made ] || exec pgbench -i -I d "$@"'


ONE_ROW = HostFile("connect.sql", text="select 1;\n")

PGBENCH = Program(
    "pgbench", ("pgbench",), {**same_package_name("postgresql-contrib"), "apt": "postgresql", "pacman": "postgresql"}
)


_OF_OLTP: Mapping[Value, Value] = {
    "oltp_point_select": "select-only", "oltp_read_only": "select-only", "oltp_read_write": "tpcb-like",
}  # fmt: skip


_LONG_OPTIONS = {"--builtin": "-b", "--client": "-c", "--jobs": "-j", "--time": "-T", "--protocol": "-M",
                 "--rate": "-R", "--username": "-U", "--port": "-p", "--progress": "-P", "--log": "-l"}  # fmt: skip


_VALUED = re.compile(
    r"-[bcDfFhjLMpPRstTU]|--(?!log$|no-vacuum$|skip-|select-|debug$|vacuum-all$|report-|connect$)[\w-]+"
)
"""An option after which a word is its value."""


def _run_words(words: Sequence[str]) -> list[str]:
    """Return the words with the share of the transactions in the log, also if it is all of them, and the database."""
    found = list(words)
    if found and found[-1][:1] != "-" and not any(map(_VALUED.fullmatch, found[-2:-1])):
        found[-1] = Respelled(f"--dbname={found[-1]}", found[-1])
    log = {"-l", "--log"} & set(words) and not any(word.startswith("--sampling-rate") for word in words)
    return [*found, Respelled("--sampling-rate=1", "-l")] if log else found


_SCRIPTS = {"TPC-B (sort of)": "tpcb-like", "simple update": "simple-update", "select only": "select-only",
            "Update only pgbench_accounts": "simple-update", "SELECT only": "select-only"}  # fmt: skip
"""Scripts by the names that pgbench prints, the last two of them before version 9.6."""

_STATED = (
    StatedLine(
        "script", re.compile(r"transaction type: (?:<builtin: )?([^>]{1,60})>?$"), lambda name: _SCRIPTS.get(name, "")
    ),
    StatedLine("scale", re.compile(r"scaling factor: (\d{1,7})")),
    StatedLine("protocol", re.compile(r"query mode: (\w+)")),
    StatedLine("clients", re.compile(r"number of clients: (\d{1,6})")),
    StatedLine("threads", re.compile(r"number of threads: (\d{1,6})")),
    StatedLine("time", re.compile(r"duration: (\d{1,7}) s")),
)
_CONNECTION = StatedLine(
    "address", re.compile(r".*(?:\bhost(?:addr)?=|postgres(?:ql)?://(?:[^/@\s]*@)?)\[?([^\s'/,:?\]]+)")
)
"""The host in a connection string, which pgbench accepts in place of the name of the database."""

_FIRST = re.compile(r"pgbench \(\d|starting vacuum\.\.\.|progress: [\d.,]+ s, [\d.,]+ tps, lat ")
"""A line before the summary; stderr, which has the progress, may precede the version on stdout."""

_SUMMARY = re.compile(r"transaction type: ")
_LINE = re.compile(
    r"transaction type: |scaling factor: \d|query mode: \w|number of clients: \d|"
    r"number of (?:transactions actually processed|failed transactions): \d|tps = [\d.]+ \(|"
    r"latency (?:average|stddev) = \d|initial connection time = \d"
)


def _requested_rate(parsed: ParsedTrial, _stated: Mapping[str, Value]) -> Mapping[str, Value]:
    """Return the rate that was reached as the requested one, if a schedule is reported."""
    figures = {one.metric.name: one.value for one in parsed.figures}
    return {"rate": figures[TPS.name]} if {TPS.name, LAG.name} <= figures.keys() else {}


_TIMED = re.compile(r"^duration: \d|\s(?:-\w*T|--time\b)", re.MULTILINE)
"""The time of a run that it ends by, in the output or on the command line; others end after their transactions."""


def _as_long_as_its_transactions(one: ToolOutput) -> ToolOutput:
    """Return a result of a run that ended after a number of transactions, with the time that these took."""
    figures = {figure.metric: figure.value for figure in one.parsed.figures}
    count, rate = figures.get(TRANSACTIONS, 0.0), figures.get(TPS, 0.0)
    if not count or not rate:
        return one
    return replace(one, stated={**one.stated, "time": float(max(1, round(count / rate)))}, seconds=count / rate)


_TYPE = re.compile(r"transaction type: (?:<builtin: )?(.{1,60}?)>?$", re.MULTILINE)
_OF_SCRIPT = re.compile(r"SQL script \d{1,4}: (?:<builtin: )?(.{1,60}?)>?$", re.MULTILINE)


def _with_scripts(one: ToolOutput, own: str) -> ToolOutput:
    """Return a result with its scripts, if it has others than a single built-in one, and whether it reconnects.

    These are no parameters: only an output from elsewhere has them.
    """
    stated, left = dict(one.stated), dict(one.unstated)
    if "(including reconnection times)" in own:
        stated["reconnects"] = True
    kind = _TYPE.search(own)
    if kind is not None and kind[1].strip() not in _SCRIPTS:
        stated["scripts"] = ", ".join(_OF_SCRIPT.findall(own)) or kind[1].strip()
        left.pop("script", None)
    return replace(one, stated=stated, unstated=left)


class Pgbench(Suite):
    """pgbench. Each client runs transactions one after another for a fixed time."""

    id = "pgbench"
    title = "pgbench"
    summary = "Transactions per second of PostgreSQL, on a server you name or one started for the test."
    resource = Resource.APPLICATION
    tried = TestedTool(
        "pgbench 15.18 run for real; the summaries of 9.6 to 13 documented",
        "every second; percentiles at the end",
        "a server of its own, or one that runs already",
    )
    program = PGBENCH
    other_programs = (POSTGRESQL_SERVER,)
    parameters = (
        server.SERVER,
        *PGBENCH_PARAMETERS,
        server.SERVER_DIRECTORY,
        server.BUFFERS,
        server.FSYNC,
        server.CHECKPOINT,
        server.ADDRESS,
        PORT,
        server.DATABASE,
        server.USER,
    )
    main_parameters = ("script", "scale", "clients", "threads", "time", "protocol")
    syntax = CommandSyntax(
        ("pgbench",),
        extra={
            "--sampling-rate": "logged",
            "-h": "address",
            "--host": "address",
            "-U": "user",
            "--dbname": "database",
        },
        invisible=frozenset({"scale", "logged"}),
        texts={"logged": lambda share: str(100 * float(share))},
        aliases=_LONG_OPTIONS,
        normalised=_run_words,
    )
    metrics = METRICS
    parser_type = PgbenchParser
    directory_parameter = "directory"
    uses_server = True
    server_processes = frozenset({"postgres"})
    checks = PGBENCH_CHECKS
    equivalents = (
        Equivalent(
            "sysbench-oltp",
            "How many transactions per second does a database on this host do?",
            (
                ParameterMapping("script", "workload", backwards(_OF_OLTP), mapped(_OF_OLTP)),
                ParameterMapping("clients", "threads"),
                *(
                    ParameterMapping(name, name)
                    for name in ("time", "directory", "buffers", "fsync", "checkpoint_timeout")
                ),
            ),
            tuple(MetricMapping((name,), (name,)) for name in ("transactions_per_second", "latency_mean")),
            incomparable="A transaction of sysbench has up to 20 statements, one of pgbench 1 to 7, on other tables: "
            "only scaling with hosts or clients is comparable.",
        ),
    )

    @property
    def output_formats(self) -> tuple[OutputFormat, ...]:
        """The formats of pgbench's output."""
        read = by_parser(
            self,
            _STATED,
            unstated={"script": ("tpcb-like", "select-only")},
            assumed=NAMED_ELSEWHERE,
            words=(_CONNECTION,),
            inferred=_requested_rate,
            again=_SUMMARY,
            clock=re.compile(r"progress: (\d{1,9}\.\d) s, "),
            live=live_figures,
            contradictions=in_text(IDENTITIES),
        )

        def with_time(text: str, command: str | None) -> Iterator[ToolOutput]:
            for one, own in with_own_texts(read(text, command), text):
                seen = _with_scripts(one, own)
                yield seen if _TIMED.search(f"{command or ''}\n{own}") else _as_long_as_its_transactions(seen)

        failed = re.compile(rf"pgbench: (?:error|fatal): |(?<!: ){NOT_CONNECTED}")
        return (OutputFormat(title="pgbench", first=_FIRST, line=_LINE, failed=failed, read=with_time),)

    def programs(self, values: Values, facts: Facts | None) -> tuple[Program, ...]:
        """Return pgbench, and the server if the step starts one."""
        return (PGBENCH, POSTGRESQL_SERVER) if server.is_started_here(values) else (PGBENCH,)

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return two clients and one thread per CPU, and enough branches to avoid contention."""
        tuned = {**server.tuned_checkpoints(), **server.tuned_server(context)}
        cpus = None if context.facts is None else cpus_for(context.facts)
        scale = RECOMMENDED_SCALE
        if cpus is not None:
            scale = max(scale, 4 * cpus)
            tuned["clients"] = Tuned(2 * cpus, f"Two for each of the {cpus} CPUs: one works while the other waits.")
            tuned["threads"] = Tuned(cpus, f"One for each of the {cpus} CPUs.")
        tuned["scale"] = Tuned(scale, "More branches than clients, so that updates of one row do not queue.")
        chosen = {name: choice.value for name, choice in tuned.items()}
        return tuned | {"logged": tuned_share({**_DEFAULTS, **chosen})}

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the commands that create the tables, run the test, read its log, and drop the tables."""
        read = (SUMMARY,) if is_logged(values) else ()
        scale, run = str(values["scale"]), ("pgbench", *_options(values))
        if server.is_started_here(values):
            there = ["-h", server.PEER, "-U", _NAME]
            fill = (
                *server.start_arguments(values, server.POSTGRESQL, int(values["clients"])),
                "pgbench",
                "-i",
                "-q",
                "-s",
                scale,
                *there,
                "postgres",
            )
            return (
                Command(fill, Purpose.PREPARE, files=(server.FILE,)),
                Command((*server.started(server.POSTGRESQL), *run, *there, "postgres"), files=(server.FILE,)),
                *read,
            )
        there, database = _where(values), str(values["database"])
        measure = Command((*run, *there, database))
        all_at_once = ("-c", str(values["clients"]), "-j", str(values["threads"]), "-t", "1", "-f", ONE_ROW.name)
        connected = server.connect_command(("pgbench", "-n", *all_at_once, *there, database), files=(ONE_ROW,))
        if values["tables"] == server.KEEP:
            return (connected, measure, *read)
        return (
            connected,
            Command(("sh", "-c", _MAKE, "pgbench", scale, database, *there), Purpose.PREPARE),
            measure,
            *read,
            Command(("sh", "-c", _DROP, "pgbench", *there, database), Purpose.CLEAN_UP),
        )

    def effects(self, values: Values) -> tuple[Effect, ...]:
        """Return the effects on a server set by the user."""
        return server.server_effects(("pgbench", *_where(values), str(values["database"])), values)

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return the run's time and the size of the tables; writes depend on the number of transactions."""
        writes = values["script"] != "select-only"
        return server.run_estimate(values, size_of(values), log_size(values), writes=writes)

    def workload(self, values: Values) -> Workload:
        """Return the rate, and whether each transaction waits for the disk."""
        rate = float(values["rate"])
        return Workload(
            rate_limit=RateLimit("transactions_per_second", rate) if rate else None,
            commits=server.is_started_here(values) and bool(values["fsync"]) and values["script"] != "select-only",
        )

    def traits(self, values: Values, facts: Facts | None) -> Traits:
        """Return the traits of a step for cross-checks."""
        clients = int(values["clients"])
        return Traits(flushed=bool(values["fsync"]), in_flight=clients, threads=clients, seconds=float(values["time"]))


def _options(values: Values) -> list[str]:
    options = ["-b", str(values["script"]), "-T", f"{values['time']:g}", "-P", "1"]
    options += ["-c", str(values["clients"]), "-j", str(values["threads"]), "-M", str(values["protocol"])]
    if values["rate"]:
        options += ["-R", f"{values['rate']:.15g}"]
    return [*options, *log_options(values)]


def _where(values: Values) -> list[str]:
    pairs = (("-h", str(values["address"])), ("-p", str(values["port"])), ("-U", str(values["user"])))
    return [word for option, value in pairs if value for word in (option, value)]
