"""What is known to fool people about sysbench's database tests."""

from suites.base import version_of
from suites.checks import CannotTell, Check, Outcome, StepCheck, StepEvidence
from suites.oltp.server import MAKE, NO_DATABASE, NOT_DURABLE, SAME_HOST, in_memory, is_own
from suites.parameters import Values
from suites.runtime_checks import SHORT_RUNTIME
from suites.vocab import Level

ROW_BYTES = 260
"""Bytes of a row with its indexes: 257 in tables of 25,000 rows (measured: PostgreSQL 15, pg_total_relation_size)."""

TUNED_TABLES = 8
TUNED_ROWS = 100_000
FEW_ROWS = 100_000


def size_of(values: Values) -> int:
    """Return the bytes of all tables."""
    return int(values["table_count"]) * int(values["table_size"]) * ROW_BYTES


def _rows(values: Values) -> int:
    return int(values["table_count"]) * int(values["table_size"])


def _old(evidence: StepEvidence) -> Outcome | None:
    version = version_of(evidence.context.facts, "sysbench")
    if version is None or version >= (1,):
        return None
    return Outcome(f"sysbench {'.'.join(map(str, version))} is installed.")


def _few_rows(evidence: StepEvidence) -> Outcome | None:
    values = evidence.values
    if _rows(values) >= FEW_ROWS:
        return None
    return Outcome(
        f"{_rows(values):,} rows in all; sysbench's own default is 10,000 in 1 table.",
        changes={"table_count": TUNED_TABLES, "table_size": TUNED_ROWS},
    )


def _in_memory(evidence: StepEvidence) -> Outcome | CannotTell | None:
    return in_memory(evidence, size_of(evidence.values), {})


def _makes(evidence: StepEvidence) -> Outcome | None:
    values = evidence.values
    if is_own(values) or values["tables"] != MAKE or not values["database"]:
        return None
    last = f" to sbtest{values['table_count']}" if int(values["table_count"]) > 1 else ""
    return Outcome(f"Tables sbtest1{last} are made in {values['database']} before, and dropped after.")


OLTP_CHECKS: tuple[StepCheck, ...] = (
    NO_DATABASE,
    Check(
        id="oltp-needs-sysbench-1",
        level=Level.ERROR,
        title="This sysbench is too old",
        why="Before 1.0 the database tests were other programs with other options; their figures compare with none of "
        "these.",
        remedy="Install sysbench 1.0 or later.",
        source="sysbench, ChangeLog of 1.0.",
        needs="The version of sysbench on the host.",
        evaluate=_old,
    ),
    Check(
        id="oltp-few-rows",
        level=Level.WARNING,
        title="So few rows that transactions wait for each other",
        why="Threads change the same rows: what is measured is locks, deadlocks and the processor's caches.",
        remedy=f"Use {TUNED_TABLES} tables of {TUNED_ROWS:,} rows or more.",
        source="sysbench 1.0.20: --table-size, --rand-type.",
        needs="The tables and their rows; the threads.",
        evaluate=_few_rows,
    ),
    Check(
        id="oltp-in-memory",
        level=Level.INFO,
        title="All tables fit into memory",
        why="After the first reads the disk is asked for commits alone: the figure is that of CPU, memory and the log.",
        remedy="Read it as that; for the disk, give the tables more than the memory.",
        source="PostgreSQL, pgbench: Good Practices, of which this is as true.",
        needs="The size of the tables; the host's memory.",
        evaluate=_in_memory,
    ),
    Check(
        id="oltp-makes-tables",
        level=Level.INFO,
        title="Tables are made in your database",
        why="They take room and time there, and load the server before the test.",
        remedy="Name a database that holds nothing else. Tables that are there already stop the test before it begins.",
        source="sysbench 1.0.20, oltp_common.lua: prepare.",
        needs="Whether tables are made, and in which database.",
        evaluate=_makes,
    ),
    SAME_HOST,
    NOT_DURABLE,
    SHORT_RUNTIME,
)
