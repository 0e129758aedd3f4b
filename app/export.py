"""Runs as CSV for other programs: a summary, and every sample as a row of its own."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from app.escaping import escaped
from app.plans.plan_remarks import reason_of
from app.records import RunRecord, SampleSeries, TrialRecord
from app.summary import MetricSummary, summaries
from app.writing import write_whole
from suites.base import Purpose
from suites.vocab import Figure, Labels, Sample

SUMMARY_COLUMNS = (
    "run", "started", "plan", "host", "step", "suite", "trial", "warm_up", "state", "metric", "labels", "value", "unit",
    "better", "n", "median", "minimum", "maximum", "cov", "tool_version", "command", "findings", "acknowledged",
    "verdict", "limited_by",
)  # fmt: skip

SAMPLE_COLUMNS = ("run", "host", "step", "trial", "kind", "time_s", "metric", "labels", "value", "unit", "warm_up")

Row = dict[str, Any]

Telemetry = Mapping[str, tuple[Sample, ...]]
"""Samples by host."""


def export_csv(
    records: Sequence[RunRecord],
    samples: Mapping[str, SampleSeries],
    telemetry: Mapping[str, Telemetry],
    path: Path,
) -> list[Path]:
    """Write the summary of `records` to `path` and the samples beside it; return both paths.

    `samples` and `telemetry` are those of each run by its id. The summary has a row for every figure of every trial,
    and one with trial "all" for the trials that count. The samples' `time_s` is seconds since the trial began, in
    telemetry since the host's boot. Raises WriteError, and then the old files still stand.
    """
    beside = path.with_name(f"{path.stem}-samples{path.suffix or '.csv'}")
    summary = [row for record in records for row in _summary_rows(record)]
    tidy = [
        row
        for record in records
        for row in _sample_rows(record, samples[record.summary.id], telemetry[record.summary.id])
    ]
    return [write_csv(summary, SUMMARY_COLUMNS, path), write_csv(tidy, SAMPLE_COLUMNS, beside)]


def _summary_rows(record: RunRecord) -> Iterator[Row]:
    for summary in summaries(record):
        yield {**_place(record, summary.host, summary.step), **_of_all(record, summary)}
    for trial in record.trials:
        place = _place(record, trial.trial.host, trial.trial.step)
        for figure in trial.figures:
            yield {**place, **_of_trial(trial), **_figure(figure)}


def _place(record: RunRecord, host: str, step: str) -> Row:
    found = [
        finding
        for finding in record.findings
        if finding.step in {None, step} and finding.host in {None, host}
    ]  # fmt: skip
    verdict = record.verdict_on(step, host)
    said = [(finding.id, reason_of(record.plan.acknowledged, finding)) for finding in found]
    reasons = {finding: reason for finding, reason in said if reason}  # of several of one check, one may be an error
    return {
        "run": record.summary.id,
        "started": record.summary.started,
        "plan": record.plan.name,
        "host": host,
        "step": step,
        "suite": next((known.suite_id for known in record.plan.steps if known.name == step), None),
        "findings": " ".join(dict.fromkeys(finding.id for finding in found)),
        "verdict": "" if verdict is None else verdict.level.value,
        "limited_by": "" if verdict is None or verdict.limited_by is None else verdict.limited_by.value,
        "acknowledged": "; ".join(f"{finding}: {reason}" for finding, reason in reasons.items()),
    }


def _of_all(record: RunRecord, summary: MetricSummary) -> Row:
    trials = record.trials_of(summary.step, summary.host)
    commands = dict.fromkeys(command_line(trial) for trial in trials)
    versions = dict.fromkeys(trial.trial.tool_version for trial in trials if trial.trial.tool_version is not None)
    return {
        "trial": "all",
        **_figure(Figure(summary.metric, summary.median, summary.labels)),
        "n": summary.n,
        "median": summary.median,
        "minimum": summary.minimum,
        "maximum": summary.maximum,
        "cov": summary.cov,
        "tool_version": " ".join(versions),
        "command": "\n".join(commands),
    }


def _of_trial(trial: TrialRecord) -> Row:
    return {
        "trial": trial.trial.number,
        "warm_up": trial.trial.warm_up,
        "state": trial.state.value,
        "tool_version": trial.trial.tool_version,
        "command": command_line(trial),
    }


def _figure(figure: Figure) -> Row:
    return {
        "metric": figure.metric.name,
        "labels": label_pairs(figure.labels),
        "value": figure.value,
        "unit": figure.metric.unit.value,
        "better": figure.metric.better.value,
    }


def command_line(trial: TrialRecord) -> str:
    """Return what a person types to measure the same: the measuring commands of a trial."""
    measuring = [command for command in trial.trial.commands if command.purpose is Purpose.MEASURE]
    return " && ".join(command.line for command in measuring)


def _sample_rows(record: RunRecord, samples: SampleSeries, telemetry: Telemetry) -> Iterator[Row]:
    run = record.summary.id
    for trial in record.trials:
        place = {"run": run, "host": trial.trial.host, "step": trial.trial.step, "trial": trial.trial.number}
        for sample in samples.get(trial.trial.id, ()):
            marked = sample.warm_up or trial.trial.warm_up
            yield {**place, "kind": "test", **_sample(sample), "warm_up": marked}
    for host, values in telemetry.items():
        for sample in values:
            yield {"run": run, "host": host, "kind": "telemetry", **_sample(sample)}


def _sample(sample: Sample) -> Row:
    return {
        "time_s": sample.time,
        "metric": sample.metric.name,
        "labels": label_pairs(sample.labels),
        "value": sample.value,
        "unit": sample.metric.unit.value,
    }


def label_pairs(labels: Labels) -> str:
    """Return labels as one cell of a table: ``operation=read;threads=4``."""
    return ";".join(f"{name}={value}" for name, value in labels)


def write_csv(rows: Sequence[Row], columns: Sequence[str], path: Path) -> Path:
    """Write rows as csv_text() has them; return `path`."""
    return write_whole(path, csv_text(rows, columns).encode("utf-8", "replace"))


def csv_text(rows: Sequence[Row], columns: Sequence[str]) -> str:
    """Return rows as CSV: what a row has not got is left empty, and nobody's words are run as a formula."""
    import pandas as pd

    frame = pd.DataFrame(
        [[_cell(row.get(column)) for column in columns] for row in rows], columns=list(columns), dtype=object
    )
    return frame.to_csv(index=False, lineterminator="\n")


_FORMULA = re.compile(r"[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?")


def _cell(value: object) -> object:
    r"""Return `value` so that no spreadsheet takes a host's words for a formula; numbers stay numbers.

    What controls a terminal or turns or hides text is written out; a carriage return also ends the line for half of
    the programs that read CSV.
    """
    if not isinstance(value, str):
        return value
    text = escaped(value, but="\n\t")
    return f"'{text}" if _FORMULA.match(value) and not _NUMBER.fullmatch(value) else text
