"""What is known to fool people about pgbench."""

from suites.checks import CannotTell, Check, Outcome, StepCheck, StepEvidence
from suites.disk import amount
from suites.oltp.server import MAKE, NO_DATABASE, NOT_DURABLE, SAME_HOST, in_memory, is_own
from suites.pgbench.log import LARGEST, fitting_share, log_size
from suites.runtime_checks import SHORT_RUNTIME
from suites.vocab import Level

SCALE_BYTES = 16 * 10**6
"""Bytes of one branch: 15 MB of accounts and their index, as du tells after pgbench -i (PostgreSQL 15)."""

RECOMMENDED_SCALE = 20


def _contended(evidence: StepEvidence) -> Outcome | None:
    scale, clients = int(evidence.values["scale"]), int(evidence.values["clients"])
    if evidence.values["script"] != "tpcb-like" or scale >= clients:
        return None
    return Outcome(f"scale is {scale}, and there are {clients} clients.", changes={"scale": clients})


def _in_memory(evidence: StepEvidence) -> Outcome | CannotTell | None:
    return in_memory(evidence, int(evidence.values["scale"]) * SCALE_BYTES, {})


def _one_thread(evidence: StepEvidence) -> Outcome | None:
    threads, clients = int(evidence.values["threads"]), int(evidence.values["clients"])
    if clients < 16 or threads > 1:
        return None
    return Outcome(f"{clients} clients on 1 thread.", changes={"threads": 2})


def _drops(evidence: StepEvidence) -> Outcome | None:
    values = evidence.values
    if is_own(values) or values["tables"] != MAKE or not values["database"]:
        return None
    return Outcome(f"Tables pgbench_* are made in {values['database']} before, and dropped after.")


def _large_log(evidence: StepEvidence) -> Outcome | None:
    size = log_size(evidence.values)
    if size <= 2 * LARGEST:  # what is tuned to a host still serves where the time or the script is changed a little
        return None
    return Outcome(
        f"logged is {float(evidence.values['logged']):g} %: up to {amount(size)} of log a trial.",
        changes={"logged": fitting_share(evidence.values)},
    )


PGBENCH_CHECKS: tuple[StepCheck, ...] = (
    NO_DATABASE,
    Check(
        id="pgbench-contended",
        level=Level.WARNING,
        title="Fewer branches than clients",
        why="Each transaction updates one of the branches, and two of the same branch wait for each other: the rate is "
        "that of the lock, not of the server.",
        remedy="Make the scale at least the number of clients.",
        source="PostgreSQL, pgbench: Good Practices.",
        needs="The scale and the clients.",
        evaluate=_contended,
    ),
    Check(
        id="pgbench-in-memory",
        level=Level.INFO,
        title="All tables fit into memory",
        why="After the first reads the disk is asked for commits alone: the figure is that of CPU, memory and the log.",
        remedy="Read it as that; for the disk, give the tables more than the memory.",
        source="PostgreSQL, pgbench: Good Practices.",
        needs="The scale; the host's memory.",
        evaluate=_in_memory,
    ),
    Check(
        id="pgbench-one-thread",
        level=Level.WARNING,
        title="One thread serves many clients",
        why="pgbench itself may be what is measured: one thread sends and reads for all of them.",
        remedy="Use a thread for each of pgbench's CPUs.",
        source="PostgreSQL, pgbench: --jobs.",
        needs="The clients and the threads.",
        evaluate=_one_thread,
    ),
    Check(
        id="pgbench-makes-tables",
        level=Level.INFO,
        title="Tables are made in your database",
        why="They take room and time there, and load the server before the test.",
        remedy="Name a database that holds nothing else. Tables that are there already stop the test before it begins.",
        source="PostgreSQL, pgbench: --initialize.",
        needs="Whether tables are made, and in which database.",
        evaluate=_drops,
    ),
    Check(
        id="pgbench-log-large",
        level=Level.WARNING,
        title="The log of transactions may grow large",
        why="pgbench writes a line for each logged transaction to the step's directory: a large log takes its room, "
        "loads the disk that is measured, and takes time to be read at the end.",
        remedy="Log a smaller share: a few thousand transactions tell a p99.",
        source="PostgreSQL, pgbench: --log, --sampling-rate.",
        needs="The share that is logged, the script, the time, the threads and the rate limit.",
        evaluate=_large_log,
    ),
    SAME_HOST,
    NOT_DURABLE,
    SHORT_RUNTIME,
)
