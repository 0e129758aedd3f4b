"""A stored run as the public JSON of “show” and “run”."""

from dataclasses import asdict
from typing import Any

from app.comparing.comparison_json import levels_to_json
from app.comparing.levels import WithinTrials
from app.formats import command_to_json, facts_to_json, figure_to_json, finding_to_json, plan_to_json, remarks_to_json
from app.records import ChangeRecord, RunRecord, RunSummary, TrialRecord
from app.summary import MetricSummary, levels, summaries
from suites.facts import known
from suites.verdict import Verdict

FORMAT = "benchwright-run/1"

Json = dict[str, Any]


def summary_to_json(summary: RunSummary) -> Json:
    """Return one line of the library."""
    return {**asdict(summary), "hosts": list(summary.hosts), "steps": list(summary.steps), "state": str(summary.state)}


def run_to_json(record: RunRecord, within: WithinTrials | None = None) -> Json:
    """Return the whole run but its samples and raw output, which “export --csv” gives.

    `within` are the samples of its trials, as far as the levels of a spread go.
    """
    return {
        "format": FORMAT,
        **summary_to_json(record.summary),
        "reason": record.reason,
        "program_version": record.program_version,
        "plan_hash": record.plan_hash,
        "plan": plan_to_json(record.plan),
        "facts_before": {host: facts_to_json(facts) for host, facts in record.facts_before.items()},
        "facts_after": {host: facts_to_json(facts) for host, facts in record.facts_after.items()},
        "clock_offset": {host: _clock_offset(record, host) for host in record.facts_before},
        "metrics": [_metric(summary, within or {}) for summary in summaries(record)],
        "trials": [_trial(trial) for trial in record.trials],
        "findings": [finding_to_json(finding) for finding in record.findings],
        "verdict": None if record.verdict is None else verdict_to_json(record.verdict),
        "verdicts": [
            {"step": one.step, "host": one.host, **verdict_to_json(one)}
            for one in record.verdicts
            if one.step is not None
        ],
        **remarks_to_json(record.plan, record.findings),
        "telemetry_cost": dict(record.telemetry_cost),
        "changes": [_change(change) for change in record.changes],
    }


def verdict_to_json(verdict: Verdict) -> Json:
    """Return the public form of a verdict: level, limited_by, summary, findings."""
    return {
        "level": verdict.level.value,
        "limited_by": None if verdict.limited_by is None else verdict.limited_by.value,
        "summary": verdict.summary,
        "findings": [finding_to_json(finding) for finding in verdict.findings],
    }


def _change(record: ChangeRecord) -> Json:
    """Return a setting of a host that the run changed."""
    return {
        **asdict(record.change),
        "changed": record.changed,
        "put_back": record.put_back,
        "problem": record.problem,
    }


def _clock_offset(record: RunRecord, host: str) -> Json:
    """Return how many seconds the host's clock was ahead of the workstation's; null where it is not known."""
    moments = {"start": record.facts_before.get(host), "end": record.facts_after.get(host)}
    return {name: None if facts is None else known(facts.system.clock_offset) for name, facts in moments.items()}


def _metric(summary: MetricSummary, within: WithinTrials) -> Json:
    """Return a metric over its trials: `value` is their median."""
    return {
        "name": summary.metric.name,
        "value": summary.median,
        "unit": str(summary.metric.unit),
        "better": str(summary.metric.better),
        "labels": dict(summary.labels),
        "step": summary.step,
        "host": summary.host,
        "n": summary.n,
        "minimum": summary.minimum,
        "maximum": summary.maximum,
        "cov": summary.cov,
        "levels": levels_to_json(levels(summary, within)),
    }


def _trial(record: TrialRecord) -> Json:
    trial = record.trial
    return {
        "id": trial.id,
        "host": trial.host,
        "step": trial.step,
        "number": trial.number,
        "warm_up": trial.warm_up,
        "state": str(record.state),
        "started": trial.started,
        "ended": record.ended,
        "exit_status": record.exit_status,
        "tool_version": trial.tool_version,
        "commands": [command_to_json(command) for command in trial.commands],
        "metrics": [figure_to_json(figure) for figure in record.figures],
        "notes": list(record.notes),
        "reason": record.reason,
    }
