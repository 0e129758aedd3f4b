"""Tables of the library, format 18. Any change of them needs a new format, and a converter in schema_upgrade.py.

A change that only adds tables or columns keeps READ_FORMAT, so that older programs can read the new library.
"""

from collections.abc import Iterator
from typing import Any

import sqlalchemy
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    LargeBinary,
    MetaData,
    Select,
    Table,
    select,
)
from sqlalchemy.dialects import postgresql

from app.store.dialects import insertion_order

FORMAT = 18
"""Format required to write this library: a file's user_version."""

READ_FORMAT = 16
"""Minimum format required to read this library; cf. the read and write version in SQLite's own header."""

SUMMARY_FORMAT = 14
"""Format since which summaries of runs are as now; older ones are written anew."""

Integer = sqlalchemy.Integer().with_variant(BigInteger(), "postgresql")
"""64 bits in any database: clock ticks of a host exceed 32."""

Text = sqlalchemy.Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
"""Text compared by bytes in any database, so that ids, times and hosts have one order."""

tables = MetaData()

formats = Table(  # one row; without it, reading requires the user_version
    "formats",
    tables,
    Column("read_format", Integer, primary_key=True, autoincrement=False),
    Column("format", Integer),  # since format 16: FORMAT in a database without user_version
)


def _run_id() -> Column[str]:
    return Column("run_id", ForeignKey("runs.id", ondelete="CASCADE"), nullable=False)


runs = Table(
    "runs",
    tables,
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
    Column("started", Text, nullable=False),  # UTC, ISO 8601, like every time here
    Column("ended", Text),
    Column("headline", Text, nullable=False, default=""),
    Column("telemetry_cost", Text, nullable=False, default="{}"),  # JSON, share of one core by host
    Column("telemetry_program", Text, nullable=False, server_default="{}"),  # since format 9: JSON, SHA-256 by host
    Column("owner_pid", Integer, nullable=False),
    Column("owner_boot", Text, nullable=False),
    Column("owner_started", Integer, nullable=False),
    Column("owner_space", Text),  # since format 7: its PID namespace; NULL if unknown
    Column("owner_host", Text),  # since format 7: account and computer of the owner
    Column("epoch", Integer, nullable=False, server_default="0"),  # since format 7: incremented by each take-over
    Column("touched", Text),  # since format 3: last heartbeat
    Column("left_at", Text),  # since format 3: when the user detached it
    Column("session_series", Text),  # since format 11: the series that it is a session of; it may be missing
    Column("session", Integer),  # since format 11: its number, from 1
    Column("session_due", Text),  # since format 11: when it was to start
    Column("batch", Text),  # since format 16: mark of the recorder's last commit to a server
    Column("evidence", Text),  # since format 17: JSON, number of rows by table when it ended; NULL while it goes on
    Column("imported", Text),  # since format 17: when its output was imported; `started` is the same if it states none
    Index("runs_by_start", "started"),
    Index("runs_by_state", "state"),  # since format 12
)

session_series = Table(  # since format 11
    "session_series",
    tables,
    Column("id", Text, primary_key=True),
    Column("plan", Text, nullable=False),  # JSON, with the number of sessions and the time between them
    Column("sessions", Integer),  # since format 12: the number of sessions in `plan`
    Column("created", Text, nullable=False),
    Column("ended", Text),  # complete, or ended by the user
    Column("claim", Text),  # id of the run that starts its next session; the run has no row yet
    Column("claimed", Text),
)

fleet_studies = Table(  # since format 18
    "fleet_studies",
    tables,
    Column("id", Text, primary_key=True),
    Column("plan", Text, nullable=False),  # JSON, app.fleet_study.FORMAT, without its hosts
    Column("created", Text, nullable=False),
    Column("ended", Text),  # complete, or ended by the user
    Column("paused", Text),
    Column("stopped", Text),  # when whoever carries its host-runs was asked to stop them
    Column("by_workers", Boolean, nullable=False),
)

fleet_hosts = Table(  # since format 18
    "fleet_hosts",
    tables,
    Column("study", ForeignKey("fleet_studies.id", ondelete="CASCADE"), primary_key=True),
    Column("host", Text, primary_key=True),
    Column("place", Integer, nullable=False),  # in the plan
    Column("group_name", Text, nullable=False),
    Column("attributes", Text, nullable=False),  # JSON, app.host_attributes
    Column("address", Text),  # JSON, app.host_attributes; NULL if its name is enough
    Column("added", Text),  # NULL if it was in the plan from the beginning
    Column("removed", Text),
    Column("replaced_by", Text),
)

host_runs = Table(  # since format 18: runs of a study, those that wait included
    "host_runs",
    tables,
    Column("study", ForeignKey("fleet_studies.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),  # in order of start
    Column("session", Integer, nullable=False),
    Column("host", Text, nullable=False),
    Column("group_name", Text, nullable=False),
    Column("peer", Text),
    Column("due", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("epoch", Integer, nullable=False, server_default="0"),  # incremented by each take-over
    Column("run", Text, nullable=False, server_default=""),  # id of its latest run, which may not be stored yet
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("worker", Text, nullable=False, server_default=""),
    Column("changed", Text, nullable=False),
    Column("reason", Text, nullable=False, server_default=""),
    Index("host_runs_by_state", "study", "state", "number"),
    Index("host_runs_by_run", "run"),
)

facts = Table(
    "facts",
    tables,
    Column("run_id", ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("host", Text, primary_key=True),
    Column("moment", Text, primary_key=True),
    Column("content", Text, nullable=False),  # JSON, app.formats.FACTS_FORMAT
)

trials = Table(
    "trials",
    tables,
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
    Column("peer_clock", Float),  # since format 8: the peer's clock when the host's was `clock`
    Column("origin", Float),  # since format 8: the tool's time 0 on the host's clock
    Column("ended_clock", Float),  # since format 8: the end of the last command on the host's clock
)

findings = Table(
    "findings",
    tables,
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
    Column("clock", Float),  # since format 13: when it was seen during a trial, on its host's clock
    Column("checks", Integer),  # since format 16: version of the checks of the verdict that raised it, else NULL
    Index("findings_of_run", "run_id"),
)

verdicts = Table(  # since format 5
    "verdicts",
    tables,
    Column("id", Integer, primary_key=True),
    _run_id(),
    Column("step", Text),  # NULL in the verdict of the run
    Column("host", Text),
    Column("level", Text, nullable=False),
    Column("limited_by", Text),
    Column("summary", Text, nullable=False),
    Column("findings", Text, nullable=False),  # JSON list of the findings it is based on
    Column("checks", Integer, nullable=False, server_default="0"),  # since format 16: version of the checks; 0: unknown
    Index("verdicts_of_run", "run_id"),
    Index("verdicts_by_checks", "checks", "run_id"),  # since format 16
)

earlier_verdicts = Table(  # since format 16: those that a later version of the checks replaced
    "earlier_verdicts",
    tables,
    Column("id", Integer, primary_key=True),
    _run_id(),
    Column("step", Text),
    Column("host", Text),
    Column("level", Text, nullable=False),
    Column("limited_by", Text),
    Column("summary", Text, nullable=False),
    Column("findings", Text, nullable=False),
    Column("checks", Integer, nullable=False),
    Column("replaced", Text, nullable=False),
    Index("earlier_verdicts_of_run", "run_id"),
)

recalls = Table(  # since format 16: runs whose trust a later version of the checks changed
    "recalls",
    tables,
    Column("run_id", ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("was", Text, nullable=False),
    Column("now", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("checks", Integer, nullable=False),
    Column("replaced", Text, nullable=False),
    Column("dismissed", Text),
)

unjudged = Table(  # since format 17: runs that keep their verdict, as the checks cannot judge them again
    "unjudged",
    tables,
    Column("run_id", ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("checks", Integer, nullable=False),  # their version
    Column("reason", Text, nullable=False),
)

metrics = Table(
    "metrics",
    tables,
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
    tables,
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
    tables,
    Column("id", Integer, primary_key=True),
    _run_id(),
    Column("trial", Integer),  # NULL for telemetry
    Column("host", Text),  # NULL for a trial's samples
    Column("metric", ForeignKey("metrics.id"), nullable=False),
    Column("labels", Text, nullable=False),
    Index("series_of_run", "run_id", "trial"),
)

sample_rows = Table(  # samples not packed yet: of a run under way, or of an older library; before format 16, samples
    "sample_rows",
    tables,
    Column("id", Integer, primary_key=True),
    Column("series", ForeignKey("series.id", ondelete="CASCADE"), nullable=False),
    Column("time", Float, nullable=False),
    Column("value", Float, nullable=False),
    Column("warm_up", Boolean, nullable=False),
    Index("samples_of_series", "series"),
)

sample_times = Table(  # since format 16: times of packed samples, shared by the series with the same times
    "sample_times",
    tables,
    Column("id", Integer, primary_key=True),
    _run_id(),
    Column("n", Integer, nullable=False),
    Column("first", Float, nullable=False),  # the least
    Column("last", Float, nullable=False),  # the greatest
    Column("time_list", Text, nullable=False),  # JSON list
    Index("times_of_run", "run_id"),
)

packed_samples = Table(  # since format 16: see packed_samples.py
    "packed_samples",
    tables,
    Column("id", Integer, primary_key=True),  # ascending in order of arrival within a series
    Column("series", ForeignKey("series.id", ondelete="CASCADE"), nullable=False),
    Column("times", ForeignKey("sample_times.id", ondelete="CASCADE"), nullable=False),
    Column("warm_up", Boolean, nullable=False),  # of all of them
    Column("value_list", Text, nullable=False),  # JSON list
    Column("position_list", Text, nullable=False),  # JSON list of first position, distance, number
    Index("packed_of_series", "series"),
    Index("packed_by_times", "times"),
)

series_statistics = Table(  # since format 10: of the series of counted trials, those older are computed when needed
    "series_statistics",
    tables,
    Column("series", ForeignKey("series.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("n", Integer),  # NULL, as the rest, where samples have no statistics
    Column("mean", Float),
    Column("variance", Float),
    Column("worth", Float),  # effective sample size
)

output = Table(
    "output",
    tables,
    Column("id", Integer, primary_key=True),
    _run_id(),
    Column("trial", Integer, nullable=False),
    Column("stream", Text, nullable=False),
    Column("data", LargeBinary, nullable=False),
    Index("output_of_trial", "run_id", "trial"),
)

imported_outputs = Table(  # since format 15: outputs of tools that ran elsewhere, as they were read
    "imported_outputs",
    tables,
    Column("run_id", ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("name", Text, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("content", LargeBinary, nullable=False),
)

baselines = Table(  # since format 4, in place of pins
    "baselines",
    tables,
    Column("id", Integer, primary_key=True),  # ascending in order of pinning
    Column("name", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("pinned", Text),  # NULL if pinned before format 4
    Column("oldest", Float),  # maximum age in seconds; NULL: the program's default
    Column("size", Integer, nullable=False),  # number of parts when pinned; deleting a run deletes its parts
    Column("reference", Text),  # JSON of an imported table, NULL for runs
    Index("baselines_by_name", "name", "version", unique=True),
)

baseline_parts = Table(  # since format 4
    "baseline_parts",
    tables,
    Column("id", Integer, primary_key=True),
    Column("baseline", ForeignKey("baselines.id", ondelete="CASCADE"), nullable=False),
    Column("run_id", ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
    Column("part", Text, nullable=False, default=""),  # "" for the whole run, else @HOST, :STEP
    Index("baseline_parts_of_run", "run_id"),
    Index("baseline_parts_of_baseline", "baseline"),
)


calibrations = Table(  # since format 6: they outlive their run
    "calibrations",
    tables,
    Column("id", Integer, primary_key=True),
    Column("host", Text, nullable=False),
    Column("suite", Text, nullable=False),
    Column("made", Text, nullable=False),
    Column("content", Text, nullable=False),  # JSON, app.formats.CALIBRATION_FORMATS
    Index("calibrations_of_host", "host"),
)

changes = Table(  # since format 2
    "changes",
    tables,
    Column("id", Integer, primary_key=True),
    _run_id(),
    Column("host", Text, nullable=False),
    Column("trial", Integer),
    Column("what", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("before", Text),  # NULL if there is nothing to restore
    Column("during", Text, nullable=False),
    Column("changed", Text, nullable=False),
    Column("put_back", Text),
    Column("problem", Text, nullable=False, default=""),  # why it was not restored
    Index("changes_of_run", "run_id"),
)

host_log = Table(  # since format 2
    "host_log",
    tables,
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
    tables,
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

jobs = Table(  # since format 3: commands of trials, inserted before they start
    "jobs",
    tables,
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

configurations = Table(  # since format 12: suites with their parameter values, shared by all runs
    "configurations",
    tables,
    Column("id", Integer, primary_key=True),
    Column("digest", Text, nullable=False, unique=True),  # of the suite and of all values
    Column("suite", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),  # of what decides what is measured: see Step.fingerprint()
)

configuration_values = Table(  # since format 12
    "configuration_values",
    tables,
    Column("id", Integer, primary_key=True),
    Column("configuration", ForeignKey("configurations.id", ondelete="CASCADE"), nullable=False),
    Column("name", Text, nullable=False),
    Column("token", Text, nullable=False),  # the tool's own word
    Column("value", Text, nullable=False),
    Column("number", Float),  # NULL for text
    Index("values_of_configuration", "configuration"),
)

run_summaries = Table(  # since format 12: derived from the other tables, so that a list reads neither plans nor facts
    "run_summaries",
    tables,
    Column("run_id", ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("name", Text, nullable=False),
    Column("question", Text, nullable=False),
    Column("plan_hash", Text, nullable=False),
    Column("hosts", Text, nullable=False),  # JSON list, as the next three
    Column("steps", Text, nullable=False),
    Column("configurations", Text, nullable=False),  # one of each step
    Column("state", Text, nullable=False),
    Column("started", Text, nullable=False),
    Column("ended", Text),
    Column("duration", Float),
    Column("headline", Text, nullable=False),
    Column("instance", Text, nullable=False),
    Column("virtualisation", Text, nullable=False),
    Column("kernel", Text, nullable=False),
    Column("trials", Integer, nullable=False),
    Column("metric", ForeignKey("metrics.id")),  # the headline metric, with its value
    Column("value", Float),
    Column("half", Float),  # from the value to the upper end of its 95 % interval
    Column("trust", Text, nullable=False),
    Column("limited_by", Text, nullable=False),
    Column("errors", Integer, nullable=False),
    Column("warnings", Integer, nullable=False),
    Column("session_series", Text),
    Column("session", Integer),
    Column("session_due", Text),
    Column("headline_trials", Integer),  # since format 14: those of the value
)

run_metrics = Table(  # since format 12: derived, the mean over the counted trials of a step on a host
    "run_metrics",
    tables,
    Column("id", Integer, primary_key=True),
    _run_id(),
    Column("step", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("metric", ForeignKey("metrics.id"), nullable=False),
    Column("labels", Text, nullable=False),
    Column("value", Float, nullable=False),
    Index("run_metrics_of_run", "run_id"),
    Index("run_metrics_by_value", "metric", "value"),
)

annotations = Table(  # since format 12: what the user added to a run
    "annotations",
    tables,
    Column("run_id", ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("name", Text, nullable=False),  # in place of the plan's; may be empty
    Column("note", Text, nullable=False),
    Column("tags", Text, nullable=False),  # JSON list
    Column("binned", Text),  # when it was deleted; it can be restored
)

locks = Table(  # since format 15: runs that cannot be deleted; not a part of annotations, which are replaced as a whole
    "locks",
    tables,
    Column("run_id", ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("reason", Text, nullable=False),
    Column("locked", Text, nullable=False),
)

saved_searches = Table(  # since format 12
    "saved_searches",
    tables,
    Column("name", Text, primary_key=True),
    Column("search", Text, nullable=False),
)

investigations = Table(  # since format 16: they outlive their runs
    "investigations",
    tables,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("changed", Text, nullable=False),
    Column("content", Text, nullable=False),  # JSON, app.formats.INVESTIGATION_FORMAT
)

DERIVED = frozenset({run_summaries.name, run_metrics.name, configurations.name, configuration_values.name})
"""Tables that are written anew where they lack a run."""

SAMPLES = (sample_rows, packed_samples)
"""Tables of samples, by series."""

LARGE = frozenset({*(table.name for table in SAMPLES), sample_times.name, output.name, imported_outputs.name})
"""Tables whose size grows with measured time."""


def rows_of_run(run_id: str) -> Iterator[tuple[Table, Select[Any]]]:
    """Yield the tables with rows of a run and the query for them, parents first. Excludes baselines of the run."""
    for table in tables.sorted_tables:
        rows = select(table).order_by(insertion_order(table))
        if table is runs:
            yield table, rows.where(runs.c.id == run_id)
        elif table in SAMPLES:
            yield table, rows.join(series, series.c.id == table.c.series).where(series.c.run_id == run_id)
        elif table is metrics:
            yield table, rows
        elif table.name in DERIVED:
            continue  # written anew
        elif "run_id" in table.c and table is not baseline_parts:
            yield table, rows.where(table.c.run_id == run_id)
