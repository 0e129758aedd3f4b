"""SQLite: durable transactions, bulk inserts and lookups per second, through its own shell."""

import re
from dataclasses import dataclass, field, replace
from functools import partial

from suites.base import Command, Context, Estimate, StepCheck, StepEvidence, Suite, TestedTool, Workload
from suites.checks import Check, CheckOutcome
from suites.command_line import CommandSyntax
from suites.disk import DIRECTORY, best_directory
from suites.equivalents import Traits
from suites.facts import Facts
from suites.host_files import HostFile
from suites.line_parser import LineParser
from suites.outputs import ParsedTrial
from suites.parameters import Choice, Parameter, Tuned, Type, Values
from suites.pgbench.output import TPS
from suites.programs import Program
from suites.tool_messages import exit_notes
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind, Resource

INSERTS = Metric("inserts_per_second", "Rows inserted in one transaction", Unit.PER_SECOND, Better.HIGHER,
                 MetricKind.RATE)  # fmt: skip
LOOKUPS = Metric("lookups_per_second", "Lookups by primary key", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)
METRICS = (TPS, INSERTS, LOOKUPS)
PHASES = {"transactions": TPS, "inserts": INSERTS, "lookups": LOOKUPS}

_PHASE = re.compile(r"benchwright-phase (\w{1,20}) ?(\d{0,12})")
_TIME = re.compile(r"Run Time: real (\d{1,9}\.\d{1,9}) user \S+ sys \S+")
_FAILURE = re.compile(r"(?:Runtime |Parse )?[Ee]rror\b.*|.*: (?:command )?not found|.*unable to open database.*")

# The shell times each line, in milliseconds: one transaction would be rounded to nothing. So each line has a thousand,
# and without BEGIN every statement of it is a transaction of its own.
_TEXT = r"""# sh sqlite.sh TRANSACTIONS ROWS JOURNAL SYNCHRONOUS: SQL for the shell, which times each line.
set -u
rm -f bench.db bench.db-*
{
    echo "PRAGMA journal_mode=$3; PRAGMA synchronous=$4;"
    echo "CREATE TABLE one(id INTEGER PRIMARY KEY, v TEXT); CREATE TABLE many(id INTEGER PRIMARY KEY, v TEXT);"
    echo ".timer on"
    echo ".print benchwright-phase transactions $1"
    awk -v n="$1" 'BEGIN { for (i = 1; i <= n; i++)
        printf "INSERT INTO one VALUES(%d, hex(randomblob(50)));%s", i, (i % 1000 && i < n ? " " : "\n") }'
    echo ".print benchwright-phase inserts $2"
    rows="WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $2)"
    echo "BEGIN; $rows INSERT INTO many SELECT i, hex(randomblob(50)) FROM n; COMMIT;"
    echo ".print benchwright-phase lookups $2"
    echo "$rows SELECT sum(length(v)) FROM n JOIN many ON many.id = 1 + i * 7919 % $2;"
    echo ".print benchwright-phase end"
} | sqlite3 -batch -bail bench.db
"""
FILE = HostFile("sqlite.sh", text=_TEXT)


COARSE = 0.1
"""Seconds below which a step of the shell's clock is more than 1 % of a phase."""


@dataclass(slots=True)
class SqliteParser(LineParser):
    """Parser of one run: the sum of the times of a phase, each counted by the shell."""

    unfinished = (_FAILURE,)
    _phase: str = ""
    _counts: dict[str, int] = field(default_factory=dict)
    _seconds: dict[str, float] = field(default_factory=dict)

    def _read(self, line: str) -> None:
        if match := _PHASE.fullmatch(line.strip()):
            self._phase = match[1]
            self._counts[match[1]] = int(match[2] or 0)
        elif match := _TIME.fullmatch(line.strip()):
            self._seconds[self._phase] = self._seconds.get(self._phase, 0.0) + float(match[1])
        elif _FAILURE.fullmatch(line.strip()):
            self._fail(line)

    def _result(self, exit_status: int | None) -> ParsedTrial:
        notes = [f"sqlite3 failed: {words}" for words in self._failures]
        rated = {
            phase: self._counts[phase] / self._seconds[phase]
            for phase in PHASES
            if self._counts.get(phase) and self._seconds.get(phase)
        }
        if not ("end" in self._counts and rated.keys() == PHASES.keys()) and not notes:
            notes.append("sqlite3 was cut off, or a phase took less than 1 ms: no figures.")
        notes += exit_notes("sqlite3", exit_status)
        remarks = [
            f"{phase}: {seconds:g} s, of which the clock's step of 1 ms is {0.001 / seconds:.0%}: measure more of them."
            for phase in PHASES
            if not notes and (seconds := self._seconds.get(phase, 0.0)) < COARSE
        ]
        figures = () if notes else tuple(Figure(metric, rated[phase]) for phase, metric in PHASES.items())
        return ParsedTrial(figures, (), (*notes, *remarks), not notes)


_whole_number = partial(Parameter, type=Type.INTEGER)
TRANSACTIONS = _whole_number(
    name="transactions", title="Transactions", default=1000, help="Inserts of one row, each its own transaction.",
    minimum=10, maximum=1_000_000,
)  # fmt: skip
ROWS = _whole_number(
    name="rows", title="Rows", default=1_000_000, help="Rows inserted in one transaction, then looked up.",
    minimum=1000, maximum=100_000_000,
)  # fmt: skip
JOURNAL = Parameter(
    name="journal_mode",
    default="delete",
    help="Journal that makes a transaction atomic.",
    choices=(Choice("delete", "delete: rollback journal, SQLite's default"), Choice("wal", "wal: write-ahead log")),
)
SYNCHRONOUS = Parameter(
    name="synchronous",
    default="full",
    help="Whether each transaction waits for the disk.",
    choices=(
        Choice("full", "full: each waits, SQLite's default"),
        Choice("normal", "normal: with wal, only checkpoints wait"),
        Choice("off", "off: none waits"),
    ),
)


def _waits(values: Values) -> bool:
    return values["synchronous"] == "full" or (values["synchronous"] == "normal" and values["journal_mode"] == "delete")


def _not_durable(evidence: StepEvidence) -> CheckOutcome | None:
    if _waits(evidence.values):
        return None
    return CheckOutcome(f"synchronous is {evidence.values['synchronous']}.", changes={"synchronous": "full"})


CHECKS: tuple[StepCheck, ...] = (
    Check(
        id="sqlite-not-durable",
        title="Commits do not wait for the disk",
        why="The rate is many times that of durable transactions; a power failure loses the last ones.",
        remedy="Set synchronous to full.",
        source="SQLite documentation, PRAGMA synchronous.",
        needs="synchronous and journal_mode.",
        evaluate=_not_durable,
    ),
)

SQLITE = Program(
    "SQLite shell",
    ("sqlite3",),
    {"apt": "sqlite3", "dnf": "sqlite", "zypper": "sqlite3", "apk": "sqlite", "pacman": "sqlite"},
)


class Sqlite(Suite):
    """The shell of SQLite. Fixed work, timed by the shell."""

    id = "sqlite"
    title = "SQLite"
    summary = "Durable transactions, bulk inserts and lookups per second of SQLite, timed by its shell."
    resource = Resource.APPLICATION
    tried = TestedTool(
        "SQLite 3.40.1 run for real; outputs of 3.34.1 and 3.46.1 captured", "no", "one process; not speedtest1"
    )
    program = SQLITE
    parameters = (TRANSACTIONS, ROWS, JOURNAL, SYNCHRONOUS, replace(DIRECTORY))
    syntax = CommandSyntax(("sqlite.sh",))
    metrics = METRICS
    parser_type = SqliteParser
    directory_parameter = "directory"
    checks = CHECKS

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return the directory with the most free space."""
        directory = best_directory(context.facts)
        return {} if directory is None else {
            "directory": Tuned(directory.path, "Most free space of the directories tried.")
        }  # fmt: skip

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the one command of a trial."""
        words = (str(values[name]) for name in ("transactions", "rows", "journal_mode", "synchronous"))
        return (Command(("sh", FILE.name, *words), files=(FILE,)),)

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return the space of the rows, about 110 B each; each transaction writes a few pages."""
        rows = 110 * int(values["rows"])
        return Estimate(None, written=rows + 4 * 4096 * int(values["transactions"]), space=2 * rows)

    def workload(self, values: Values) -> Workload:
        """Return whether each transaction waits for the disk."""
        return Workload(commits=_waits(values))

    def traits(self, values: Values, facts: Facts | None) -> Traits:
        """Return the traits of a step for cross-checks."""
        return Traits(flushed=_waits(values), in_flight=1, threads=1)
