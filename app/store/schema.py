"""The store's tables, format 7. What changes them needs a new format and a converter from this one.

A change that only adds tables or columns leaves READ_FORMAT as it is: programs of before then read the new library.
"""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Select,
    Table,
    Text,
    delete,
    insert,
    literal_column,
    select,
)

APPLICATION_ID = 0x42575231  # "BWR1", so that `file` and we know our own
FORMAT = 7
"""What a program must know to write this library: the file's user_version."""

READ_FORMAT = 6
"""What a program must know at least to read it, as SQLite tells reading from writing in a header of its own."""

_tables = MetaData()

formats = Table(  # one row; libraries of before have none, and are read by what writes them
    "formats",
    _tables,
    Column("read_format", Integer, primary_key=True, autoincrement=False),
)


def _run_id() -> Column[str]:
    return Column("run_id", ForeignKey("runs.id", ondelete="CASCADE"), nullable=False)


runs = Table(
    "runs",
    _tables,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("question", Text, nullable=False),
    Column("hosts", Text, nullable=False),  # JSON list
    Column("steps", Text, nullable=False),  # JSON list of names
    Column("plan", Text, nullable=False),  # JSON, one of app.plans.plan.FORMATS
    Column("plan_hash", Text, nullable=False),
    Column("program_version", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("reason", Text, nullable=False, default=""),
    Column("started", Text, nullable=False),  # UTC, ISO 8601, like every moment here
    Column("ended", Text),
    Column("headline", Text, nullable=False, default=""),
    Column("telemetry_cost", Text, nullable=False, default="{}"),  # JSON, share of one core by host
    Column("owner_pid", Integer, nullable=False),
    Column("owner_boot", Text, nullable=False),
    Column("owner_started", Integer, nullable=False),
    Column("owner_space", Text),  # since format 7: its PID namespace; NULL where it is not known
    Column("owner_host", Text),  # since format 7: account and computer of the process that records
    Column("epoch", Integer, nullable=False, server_default="0"),  # since format 7: grows with each take-over
    Column("touched", Text),  # since format 3: when something was last recorded
    Column("left_at", Text),  # since format 3: when the user let go of it
    Index("runs_by_start", "started"),
)

facts = Table(
    "facts",
    _tables,
    Column("run_id", ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("host", Text, primary_key=True),
    Column("moment", Text, primary_key=True),
    Column("content", Text, nullable=False),  # JSON, app.formats.FACTS_FORMAT
)

trials = Table(
    "trials",
    _tables,
    Column("run_id", ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("host", Text, nullable=False),
    Column("step", Text, nullable=False),
    Column("number", Integer, nullable=False),
    Column("warm_up", Boolean, nullable=False),
    Column("commands", Text, nullable=False),  # JSON list
    Column("started", Text, nullable=False),
    Column("clock", Float),
    Column("tool_version", Text),
    Column("state", Text, nullable=False),
    Column("ended", Text),
    Column("exit_status", Integer),
    Column("notes", Text, nullable=False, default="[]"),  # JSON list
    Column("reason", Text, nullable=False, default=""),
)

findings = Table(
    "findings",
    _tables,
    Column("id", Integer, primary_key=True),
    _run_id(),
    Column("trial", Integer),
    Column("check_id", Text, nullable=False),
    Column("level", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("measured", Text, nullable=False),
    Column("why", Text, nullable=False),
    Column("remedy", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("step", Text),
    Column("host", Text),
    Column("changes", Text, nullable=False),  # JSON object
    Column("install", Text),
    Index("findings_of_run", "run_id"),
)

verdicts = Table(  # since format 5
    "verdicts",
    _tables,
    Column("id", Integer, primary_key=True),
    _run_id(),
    Column("step", Text),  # NULL in the verdict on the whole run
    Column("host", Text),
    Column("level", Text, nullable=False),
    Column("limited_by", Text),
    Column("summary", Text, nullable=False),
    Column("findings", Text, nullable=False),  # JSON list of the findings that it rests on
    Index("verdicts_of_run", "run_id"),
)

metrics = Table(
    "metrics",
    _tables,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("unit", Text, nullable=False),
    Column("better", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("percentile", Float),
)

figures = Table(
    "figures",
    _tables,
    Column("id", Integer, primary_key=True),
    _run_id(),
    Column("trial", Integer, nullable=False),
    Column("metric", ForeignKey("metrics.id"), nullable=False),
    Column("labels", Text, nullable=False),  # JSON list of pairs
    Column("value", Float, nullable=False),
    Index("figures_of_trial", "run_id", "trial"),
)

series = Table(
    "series",
    _tables,
    Column("id", Integer, primary_key=True),
    _run_id(),
    Column("trial", Integer),  # of a trial's own samples
    Column("host", Text),  # of telemetry
    Column("metric", ForeignKey("metrics.id"), nullable=False),
    Column("labels", Text, nullable=False),
    Index("series_of_run", "run_id", "trial"),
)

samples = Table(
    "samples",
    _tables,
    Column("id", Integer, primary_key=True),
    Column("series", ForeignKey("series.id", ondelete="CASCADE"), nullable=False),
    Column("time", Float, nullable=False),
    Column("value", Float, nullable=False),
    Column("warm_up", Boolean, nullable=False),
    Index("samples_of_series", "series"),
)

output = Table(
    "output",
    _tables,
    Column("id", Integer, primary_key=True),
    _run_id(),
    Column("trial", Integer, nullable=False),
    Column("stream", Text, nullable=False),
    Column("data", LargeBinary, nullable=False),
    Index("output_of_trial", "run_id", "trial"),
)

baselines = Table(  # since format 4, in place of pins
    "baselines",
    _tables,
    Column("id", Integer, primary_key=True),  # the newest pinned has the highest
    Column("name", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("pinned", Text),  # not known of those pinned before format 4
    Column("oldest", Float),  # seconds after which it is too old; NULL: what the program thinks
    Column("size", Integer, nullable=False),  # parts it was pinned with; a deleted run takes its own away
    Column("reference", Text),  # JSON of an imported table, NULL where runs are pinned
    Index("baselines_by_name", "name", "version", unique=True),
)

baseline_parts = Table(  # since format 4
    "baseline_parts",
    _tables,
    Column("id", Integer, primary_key=True),
    Column("baseline", ForeignKey("baselines.id", ondelete="CASCADE"), nullable=False),
    Column("run_id", ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
    Column("part", Text, nullable=False, default=""),  # "", or what is behind the run: @HOST, :STEP
    Index("baseline_parts_of_run", "run_id"),
    Index("baseline_parts_of_baseline", "baseline"),
)


calibrations = Table(  # since format 6: they outlive the run of their A/A test
    "calibrations",
    _tables,
    Column("id", Integer, primary_key=True),
    Column("host", Text, nullable=False),
    Column("suite", Text, nullable=False),
    Column("made", Text, nullable=False),
    Column("content", Text, nullable=False),  # JSON, app.calibration.to_json.FORMAT
    Index("calibrations_of_host", "host"),
)

changes = Table(  # since format 2
    "changes",
    _tables,
    Column("id", Integer, primary_key=True),
    _run_id(),
    Column("host", Text, nullable=False),
    Column("trial", Integer),
    Column("what", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("before", Text),  # where it is missing, there is nothing to put back
    Column("during", Text, nullable=False),
    Column("changed", Text, nullable=False),
    Column("put_back", Text),
    Column("problem", Text, nullable=False, default=""),  # why it was not put back
    Index("changes_of_run", "run_id"),
)

host_log = Table(  # since format 2
    "host_log",
    _tables,
    Column("id", Integer, primary_key=True),
    Column("host", Text, nullable=False),
    Column("what", Text, nullable=False),
    Column("command", Text, nullable=False),
    Column("started", Text, nullable=False),
    Column("ended", Text),
    Column("exit_status", Integer),
    Column("output", LargeBinary, nullable=False, default=b""),
    Column("reason", Text, nullable=False, default=""),
    Index("host_log_of_host", "host"),
)


workspaces = Table(  # since format 3: directories that may still be on a host; they outlive their run's rows
    "workspaces",
    _tables,
    Column("nonce", Text, primary_key=True),
    Column("run_id", Text, nullable=False),
    Column("step", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("where", Text, nullable=False),
    Column("on_peer", Boolean, nullable=False),
    Column("path", Text, nullable=False),
    Column("identity", Text, nullable=False, server_default=""),  # since format 7: boot, device and inode on its host
    Column("used", Text, nullable=False),
    Index("workspaces_of_run", "run_id"),
)

jobs = Table(  # since format 3: the commands of trials, each planned before it began
    "jobs",
    _tables,
    Column("directory", Text, primary_key=True),
    _run_id(),
    Column("trial", Integer, nullable=False),
    Column("purpose", Text, nullable=False),
    Column("number", Integer, nullable=False),
    Column("where", Text, nullable=False),
    Column("nonce", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("before", Text, nullable=False),  # JSON, bytes by stream
    Column("pid", Integer),
    Column("job_group", Integer),
    Column("leader_started", Integer),
    Column("boot_id", Text),
    Column("clock", Float),
    Column("epoch", Float),
    Index("jobs_of_trial", "run_id", "trial"),
)

LARGE = frozenset({samples.name, output.name})
"""The tables that grow with the time that is measured."""


def rows_of_run(run_id: str) -> Iterator[tuple[Table, Select[Any]]]:
    """Yield the tables that hold something of a run, each with the query for it, in an order in which to write it.

    Baselines that name the run are not of it.
    """
    for table in _tables.sorted_tables:
        rows = select(table).order_by(literal_column(f"{table.name}.rowid"))  # of jobs, the order is what is known
        if table is runs:
            yield table, rows.where(runs.c.id == run_id)
        elif table is samples:
            yield table, rows.join(series, series.c.id == samples.c.series).where(series.c.run_id == run_id)
        elif table is metrics:
            yield table, rows
        elif "run_id" in table.c and table is not baseline_parts:
            yield table, rows.where(table.c.run_id == run_id)


def upgrade(connection: Connection, found: int) -> None:
    """Bring a store of the older format `found` to this one, one step after another."""
    for step in _STEPS[found - 1 :]:
        step(connection)
    _say_formats(connection)


def _to_2(connection: Connection) -> None:
    """From 1 to 2 only tables are added."""
    _tables.create_all(connection)


def _to_3(connection: Connection) -> None:
    """From 2 to 3 tables are added, and when a run was last recorded and when it was detached."""
    _tables.create_all(connection)
    for column in ("touched", "left_at"):
        connection.exec_driver_sql(f"ALTER TABLE runs ADD COLUMN {column} TEXT")


def _to_4(connection: Connection) -> None:
    """From 3 to 4 each pinned run becomes the first version of a baseline; when it was pinned was not written down."""
    _tables.create_all(connection)
    if not connection.exec_driver_sql("SELECT 1 FROM sqlite_master WHERE name = 'pins'").first():
        return
    connection.exec_driver_sql(
        "INSERT INTO baselines (id, name, version, size) SELECT id, name, 1, 1 FROM pins ORDER BY id"
    )
    connection.exec_driver_sql(
        "INSERT INTO baseline_parts (baseline, run_id, part) SELECT id, run_id, '' FROM pins ORDER BY id"
    )
    connection.exec_driver_sql("DROP TABLE pins")


def _to_5(connection: Connection) -> None:
    """From 4 to 5 only the table of verdicts is added: runs of before have none until they are judged when read."""
    _tables.create_all(connection)


def _to_6(connection: Connection) -> None:
    """From 5 to 6 only the table of calibrations is added."""
    _tables.create_all(connection)


def _to_7(connection: Connection) -> None:
    """From 6 to 7 the runs get what tells who records them, and how often they were taken over; directories on hosts
    what tells each from another that is put in its place."""
    for table, column in (
        ("runs", "owner_space TEXT"),
        ("runs", "owner_host TEXT"),
        ("runs", "epoch INTEGER NOT NULL DEFAULT 0"),
        ("workspaces", "identity TEXT NOT NULL DEFAULT ''"),
    ):
        # A table that an earlier step made is complete already.
        if column.split()[0] not in {row[1] for row in connection.exec_driver_sql(f"PRAGMA table_info({table})")}:
            connection.exec_driver_sql(f"ALTER TABLE {table} ADD COLUMN {column}")


_STEPS = (_to_2, _to_3, _to_4, _to_5, _to_6, _to_7)


def create(connection: Connection) -> None:
    """Make the tables of an empty store."""
    _tables.create_all(connection)
    connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
    _say_formats(connection)


def _say_formats(connection: Connection) -> None:
    """Write down what a program must know to write this library, and to read it."""
    connection.exec_driver_sql(f"PRAGMA user_version = {FORMAT}")
    connection.execute(delete(formats))
    connection.execute(insert(formats).values(read_format=READ_FORMAT))
