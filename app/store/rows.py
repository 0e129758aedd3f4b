"""Between our records and the store's rows."""

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from app.events import JobPlanned, State, Trial, WorkspaceUsed
from app.formats import command_to_json, plan_to_json
from app.plans.plan import Plan
from app.store.identity import this_process
from app.version import VERSION
from remote.jobs.job_record import Began
from suites.verdict import Limiter, Trust, Verdict
from suites.vocab import Finding, Level

Row = Mapping[str, Any]


def to_text(content: object) -> str:
    """Return `content` as JSON in ASCII: a host's words may hold half characters, which SQLite's text cannot."""
    return json.dumps(content, allow_nan=False)


def storable(row: Row) -> dict[str, Any]:
    """Return `row` with the half characters that SQLite's text cannot hold replaced."""
    return {
        name: value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
        for name, value in row.items()
    }


def run_row(run_id: str, plan: Plan, started: str) -> Row:
    """Return the row of a run that begins, recorded by this process."""
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
        **owner_row(),
    }


def owner_row() -> Row:
    """Return the columns that say that this process records a run."""
    owner = this_process()
    return {
        "owner_pid": owner.pid,
        "owner_boot": owner.boot,
        "owner_started": owner.started,
        "owner_space": owner.space,
        "owner_host": owner.where,
        "left_at": None,
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
    """Return the row of a command that is about to be started."""
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


def began_row(began: Began) -> Row:
    """Return the columns that say how a command began."""
    return {
        "pid": began.pid,
        "job_group": began.group,
        "leader_started": began.leader_started,
        "boot_id": began.boot_id,
        "clock": began.clock,
        "epoch": began.epoch,
    }


def trial_row(trial: Trial) -> Row:
    """Return the row of a trial that begins."""
    return {
        "id": trial.id,
        "host": trial.host,
        "step": trial.step,
        "number": trial.number,
        "warm_up": trial.warm_up,
        "commands": to_text([command_to_json(command) for command in trial.commands]),
        "started": trial.started,
        "clock": trial.clock,
        "tool_version": trial.tool_version,
        "state": State.RUNNING.value,
    }


def finding_row(finding: Finding) -> Row:
    """Return the row of a finding."""
    return {
        "check_id": finding.id,
        "level": finding.level.value,
        "title": finding.title,
        "measured": finding.measured,
        "why": finding.why,
        "remedy": finding.remedy,
        "source": finding.source,
        "step": finding.step,
        "host": finding.host,
        "changes": to_text(dict(finding.changes)),
        "install": finding.install,
    }


def verdict_row(run_id: str, verdict: Verdict) -> Row:
    """Return the row of a verdict."""
    return {
        "run_id": run_id,
        "step": verdict.step,
        "host": verdict.host,
        "level": verdict.level.value,
        "limited_by": None if verdict.limited_by is None else verdict.limited_by.value,
        "summary": verdict.summary,
        "findings": to_text([_finding_whole(finding) for finding in verdict.findings]),
    }


def _finding_whole(finding: Finding) -> Row:
    return {field.name: getattr(finding, field.name) for field in fields(finding)} | {"changes": dict(finding.changes)}


def verdict_of(row: Row) -> Verdict:
    """Return the verdict that stands in a row; raise ValueError, TypeError or KeyError where it cannot be read."""
    findings = tuple(Finding(**{**one, "level": Level(one["level"])}) for one in json.loads(row["findings"]))
    limiter = None if row["limited_by"] is None else Limiter(row["limited_by"])
    return Verdict(Trust(row["level"]), limiter, row["summary"], findings, row["step"], row["host"])
