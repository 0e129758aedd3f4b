"""Conversion between records and the library's rows."""

import binascii
import json
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Select, Table, insert, select

from app.events import FindingRaised, JobPlanned, PlannedSession, State, Trial, WorkspaceUsed
from app.formats import plan_to_json
from app.json_converter import converter, published
from app.plans.plan import Plan
from app.records import Recall
from app.store import schema
from app.store.ownership import owner_row
from app.version import VERSION
from remote.jobs.job_record import JobStart
from suites.verdict import Limiter, Trust, Verdict
from suites.vocab import Finding, Severity

Row = Mapping[str, Any]


def to_text(content: object) -> str:
    """Return `content` as ASCII JSON: a host's output may contain lone surrogates, which SQLite text cannot store."""
    return json.dumps(content, allow_nan=False)


def storable(row: Row) -> dict[str, Any]:
    """Return `row` with lone surrogates replaced, which SQLite text cannot store."""
    return {
        name: value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
        for name, value in row.items()
    }


def check_types(table: Table, row: Mapping[str, Any]) -> None:
    """Raise ValueError for a value of another type than that of its column: SQLite stores any."""
    for name, value in row.items():
        kind = table.c[name].type.python_type
        if value is not None and not isinstance(value, (int, float) if kind is float else kind):
            raise ValueError(f"{table.name}.{name} is no {kind.__name__}")


def inserted_id(connection: Connection, table: Table, values: Row) -> int:
    """Insert a row; return the number that the database gave it."""
    key = connection.execute(insert(table), values).inserted_primary_key
    if key is None:
        raise LookupError(f"no number for a row of {table.name}")
    return int(key[0])


def driver_rows(connection: Connection, query: Select[Any]) -> list[tuple[Any, ...]]:
    """Return the rows of `query` as the driver does: SQLAlchemy's own take longer than reading a million of them."""
    compiled = query.compile(dialect=connection.dialect)
    values = compiled.construct_params()
    names = compiled.positiontup
    cursor = connection.connection.cursor()
    try:
        cursor.execute(str(compiled), values if names is None else tuple(values[name] for name in names))
        return list(cursor.fetchall())
    finally:
        cursor.close()


def run_row(run_id: str, plan: Plan, started: str, session: PlannedSession | None = None) -> Row:
    """Return the row of a new run owned by this process; `session` is the session of a series that it is."""
    return {
        "id": run_id,
        "name": plan.name,
        "question": plan.question,
        "hosts": to_text(plan.hosts),
        "steps": to_text([step.name for step in plan.steps]),
        "plan": to_text(plan_to_json(plan)),
        "plan_hash": plan.hash(),
        "program_version": VERSION,
        "state": State.RUNNING.value,
        "started": started,
        "session_series": None if session is None else session.series,
        "session": None if session is None else session.number,
        "session_due": None if session is None else session.due,
        **owner_row(),
    }


def workspace_row(run_id: str, event: WorkspaceUsed, used: str) -> Row:
    """Return the row of a private directory."""
    return {
        "nonce": event.workspace.nonce,
        "run_id": run_id,
        "step": event.step,
        "host": event.host,
        "where": event.where,
        "on_peer": event.on_peer,
        "path": event.workspace.path,
        "identity": event.workspace.identity,
        "used": used,
    }


def job_row(run_id: str, event: JobPlanned) -> Row:
    """Return the row of a planned command."""
    return {
        "directory": event.directory,
        "run_id": run_id,
        "trial": event.trial,
        "purpose": event.purpose.value,
        "number": event.number,
        "where": event.where,
        "nonce": event.workspace.nonce,
        "path": event.workspace.path,
        "before": to_text(dict(event.before)),
    }


def began_row(began: JobStart) -> Row:
    """Return the columns of a command's start."""
    return {
        "pid": began.pid,
        "job_group": began.group,
        "leader_started": began.leader_started,
        "boot_id": began.boot_id,
        "clock": began.clock,
        "epoch": began.epoch,
    }


def trial_row(trial: Trial) -> Row:
    """Return the row of a started trial."""
    return {
        "id": trial.id,
        "host": trial.host,
        "step": trial.step,
        "number": trial.number,
        "warm_up": trial.warm_up,
        "commands": to_text([published(command) for command in trial.commands]),
        "started": trial.started,
        "clock": trial.clock,
        "peer_clock": trial.peer_clock,
        "tool_version": trial.tool_version,
        "state": State.RUNNING.value,
    }


def raised_row(run_id: str, raised: FindingRaised) -> Row:
    """Return the row of a finding."""
    row = converter().unstructure(raised.finding)
    about = {"run_id": run_id, "trial": raised.trial, "clock": raised.clock, "checks": raised.checks}
    return {**about, "check_id": row.pop("id"), **row, "changes": to_text(row["changes"])}


def verdict_row(run_id: str, verdict: Verdict) -> Row:
    """Return the row of a verdict."""
    row = converter().unstructure(verdict)
    return {"run_id": run_id, **row, "findings": to_text(row["findings"])}


def verdict_of(row: Row) -> Verdict:
    """Return the verdict of a row; raise ValueError, TypeError or KeyError if it is malformed."""
    findings = tuple(Finding(severity=Severity(one.pop("level")), **one) for one in json.loads(row["findings"]))
    limiter = None if row["limited_by"] is None else Limiter(row["limited_by"])
    place = row["step"], row["host"]
    return Verdict(Trust(row["level"]), limiter, row["summary"], findings, *place, checks=int(row["checks"]))


def recalls(connection: Connection, run_id: str | None = None) -> Mapping[str, Recall]:
    """Return what later versions of the checks changed, by run, or in one run; malformed rows are left out."""
    found, query = {}, select(schema.recalls)
    for row in connection.execute(query if run_id is None else query.where(schema.recalls.c.run_id == run_id)):
        with suppress(ValueError, TypeError):
            dismissed = None if row.dismissed is None else str(row.dismissed)
            trust = Trust(row.was).value, Trust(row.now).value
            found[str(row.run_id)] = Recall(*trust, str(row.reason), int(row.checks), str(row.replaced), dismissed)
    return found


@dataclass(slots=True)
class Written:
    """Counts of a run's rows: trials, samples by trial (None: telemetry), length and CRC-32 of output by trial."""

    trials: int = 0
    samples: Counter[int | None] = field(default_factory=Counter)
    output: dict[int, tuple[int, int]] = field(default_factory=dict)

    def copy(self) -> "Written":
        """Return a copy."""
        return Written(self.trials, Counter(self.samples), dict(self.output))

    def add_output(self, trial: int, data: bytes) -> None:
        """Add the next bytes of a trial's output."""
        length, crc = self.output.get(trial, (0, 0))
        self.output[trial] = (length + len(data), binascii.crc32(data, crc))

    def agrees(self, other: "Written | None") -> bool:
        """Return whether `other` is equal; False for None."""
        return other is not None and (self.trials, +self.samples, self.output) == (
            other.trials, +other.samples, other.output,
        )  # fmt: skip
