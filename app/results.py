"""Stored results as pandas data frames, for notebooks and scripts: runs, metrics, samples, telemetry and facts.

    from app.results import open_library

    with open_library() as library:
        library.metrics("last").groupby(["metric", "labels"])["value"].median()

Each frame is tidy: one row is one observation, with its unit in a column. resources/help/formats.md documents
the columns.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from app.library_location import Location, location_of
from app.numeric import pd
from app.plans.plan_remarks import reason_of
from app.records import RunRecord, RunSummary, SampleSeries, TrialRecord
from app.summary import MetricSummary, summaries
from app.verdict.listing import listed
from app.verdict.stored import energy_of_run
from suites.base import Purpose
from suites.errors import BenchwrightError
from suites.facts import Facts
from suites.quantities import label_pairs
from suites.vocab import Figure, Sample

if TYPE_CHECKING:
    from app.store.store import Store

TEXT, WHOLE, REAL, TRUTH, TIME = "string", "Int64", "float64", "boolean", "datetime64[us, UTC]"

RUNS = {
    "run": TEXT, "name": TEXT, "question": TEXT, "hosts": TEXT, "steps": TEXT, "suites": TEXT, "state": TEXT,
    "started": TIME, "ended": TIME, "imported": TIME, "trials": WHOLE, "headline": TEXT, "baseline": TEXT,
    "trust": TEXT, "limited_by": TEXT, "series": TEXT, "session": WHOLE,
}  # fmt: skip

METRICS = {
    "run": TEXT, "started": TIME, "imported": TIME, "plan": TEXT, "host": TEXT, "step": TEXT, "suite": TEXT,
    "trial": WHOLE, "warm_up": TRUTH, "state": TEXT, "metric": TEXT, "labels": TEXT, "value": REAL, "unit": TEXT,
    "better": TEXT, "n": WHOLE, "ci95_low": REAL, "ci95_high": REAL, "median": REAL, "minimum": REAL, "maximum": REAL,
    "cov": REAL, "power_of": TEXT, "watts": REAL, "joules_per_operation": REAL, "joules_per_gb": REAL,
    "tool_version": TEXT, "command": TEXT, "findings": TEXT, "acknowledged": TEXT, "trust": TEXT, "limited_by": TEXT,
}  # fmt: skip
"""A row for each metric over all counted trials, with `trial` missing and `n` to `cov` set, and one for each trial."""

SAMPLES = {
    "run": TEXT, "host": TEXT, "step": TEXT, "trial": WHOLE, "kind": TEXT, "time_s": REAL, "metric": TEXT,
    "labels": TEXT, "value": REAL, "unit": TEXT, "warm_up": TRUTH,
}  # fmt: skip

FACTS = {
    "run": TEXT, "host": TEXT, "moment": TEXT, "fact": TEXT, "value": TEXT, "number": REAL, "unit": TEXT,
    "absent": TEXT,
}  # fmt: skip

Row = dict[str, Any]

Telemetry = Mapping[str, tuple[Sample, ...]]
"""Samples by host."""


def open_library(path: Location | str | None = None) -> "Library":
    """Open the library at `path`, a file or a URL, by default the user's own. Raises BenchwrightError."""
    from app.paths import store_path
    from app.store.store import Store

    location = location_of(path) if isinstance(path, str) else path or store_path()
    if isinstance(location, Path) and not location.is_file():
        raise BenchwrightError(f"There is no library at {location}.", "Pass the path of a library.")
    return Library(Store(location))


class Library:
    """A reader of stored runs as data frames.

    Runs are selected as on the command line: by id, unambiguous prefix of an id, ``last``, or baseline name; several
    joined by commas; ``@HOST`` or ``:STEP`` selects a part.
    """

    def __init__(self, store: "Store") -> None:
        from app.comparison.selection import RunSelection

        self._store = store
        self._selection = RunSelection(store)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._store.close()

    def runs(self) -> "pd.DataFrame":
        """Return a row for each run, the newest first (columns: RUNS)."""
        return frame(map(_run, self._store.runs()), RUNS)

    def metrics(self, *runs: str) -> "pd.DataFrame":
        """Return a row for each metric of each trial, and one for all counted trials (columns: METRICS)."""
        return frame((row for found in self._selection.read(runs) for row in metric_rows(*found)), METRICS)

    def samples(self, *runs: str) -> "pd.DataFrame":
        """Return a row for each sample of the tests, and of the hosts' telemetry (columns: SAMPLES)."""
        return frame((row for found in self._selection.read(runs) for row in sample_rows(*found)), SAMPLES)

    def facts(self, *runs: str) -> "pd.DataFrame":
        """Return a row for each fact of each host, read before and after the run (columns: FACTS)."""
        records = (record for group in self._selection.chosen(runs) for record in group)
        return frame((row for record in records for row in fact_rows(record)), FACTS)


def frame(rows: Iterable[Row], columns: Mapping[str, str]) -> "pd.DataFrame":
    """Return rows as a data frame of these columns and types; absent values are missing."""
    found = pd.DataFrame.from_records([[row.get(name) for name in columns] for row in rows], columns=list(columns))
    for name, kind in columns.items():
        if kind == TIME:
            moments = pd.to_datetime(found[name].astype("string"), errors="coerce", utc=True, format="ISO8601")
            found[name] = moments.dt.as_unit("us")
    return found.astype({name: kind for name, kind in columns.items() if kind != TIME})


def _run(run: RunSummary) -> Row:
    return {
        "run": run.id,
        "name": run.name,
        "question": run.question,
        "hosts": ", ".join(run.hosts),
        "steps": ", ".join(run.steps),
        "suites": ", ".join(run.suites),
        "state": run.status,
        "started": run.started,
        "ended": run.ended,
        "imported": run.imported,
        "trials": run.trials,
        "headline": run.headline,
        "baseline": run.baseline,
        "trust": run.trust or None,
        "limited_by": run.limited_by or None,
        "series": None if run.session is None else run.session.series,
        "session": None if run.session is None else run.session.number,
    }


def metric_rows(record: RunRecord, samples: SampleSeries, telemetry: Telemetry) -> Iterator[Row]:
    """Yield a row for each metric over the counted trials, then one for each figure of each trial."""
    energy = energy_of_run(record, samples, telemetry)
    for summary in summaries(record):
        used = energy.get((summary.step, summary.host))
        columns = {} if used is None else used.columns(summary.metric, summary.labels)
        yield {**_cell(record, summary.host, summary.step), **_of_all(record, summary), **columns}
    for trial in record.trials:
        cell = _cell(record, trial.trial.host, trial.trial.step)
        used = energy.get((trial.trial.step, trial.trial.host))
        for figure in trial.figures:
            columns = {} if used is None else used.columns(figure.metric, figure.labels, trial.trial.id, figure.value)
            yield {**cell, **_of_trial(trial), **_figure(figure), **columns}


def _cell(record: RunRecord, host: str, step: str) -> Row:
    found = [
        finding
        for finding in listed(record)
        if finding.step in {None, step} and finding.host in {None, host}
    ]  # fmt: skip
    verdict = record.verdict_on(step, host)
    remarks = [(finding.id, reason_of(record.plan.acknowledged, finding)) for finding in found]
    reasons = {finding: reason for finding, reason in remarks if reason}  # errors of the same check have none
    return {
        "run": record.summary.id,
        "started": record.summary.started,
        "imported": record.summary.imported,
        "plan": record.plan.name,
        "host": host,
        "step": step,
        "suite": next((known.suite_id for known in record.plan.steps if known.name == step), None),
        "findings": " ".join(dict.fromkeys(finding.id for finding in found)),
        "trust": "" if verdict is None else verdict.trust.value,
        "limited_by": "" if verdict is None or verdict.limited_by is None else verdict.limited_by.value,
        "acknowledged": "; ".join(starmap("{}: {}".format, reasons.items())),
    }


def _of_all(record: RunRecord, summary: MetricSummary) -> Row:
    trials = record.trials_of(summary.step, summary.host)
    commands = dict.fromkeys(command_line(trial) for trial in trials)
    versions = dict.fromkeys(trial.trial.tool_version for trial in trials if trial.trial.tool_version is not None)
    interval = summary.interval
    return {
        **_figure(Figure(summary.metric, summary.value, summary.labels)),
        "n": summary.n,
        "ci95_low": None if interval is None else interval.low,
        "ci95_high": None if interval is None else interval.high,
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
    """Return the measuring commands of a trial as a shell line."""
    measuring = [command for command in trial.trial.commands if command.purpose is Purpose.MEASURE]
    return " && ".join(command.line for command in measuring)


def sample_rows(record: RunRecord, samples: SampleSeries, telemetry: Telemetry) -> Iterator[Row]:
    """Yield a row for each sample: `time_s` is seconds since the trial began, of telemetry since the host's boot."""
    run = record.summary.id
    for trial in record.trials:
        cell = {"run": run, "host": trial.trial.host, "step": trial.trial.step, "trial": trial.trial.number}
        for sample in samples.get(trial.trial.id, ()):
            marked = sample.warm_up or trial.trial.warm_up
            yield {**cell, "kind": "test", **_sample(sample), "warm_up": marked}
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


def fact_rows(record: RunRecord) -> Iterator[Row]:
    """Yield a row for each fact, named by its path in the public JSON: ``cpu.model``, ``block_devices.sda.size``."""
    for moment, read in (("before", record.facts_before), ("after", record.facts_after)):
        for host, facts in read.items():
            for row in _facts(facts):
                yield {"run": record.summary.id, "host": host, "moment": moment, **row}


def _facts(facts: Facts) -> Iterator[Row]:
    from app.formats import facts_to_json

    body = facts_to_json(facts)
    yield from _leaves("", {name: part for name, part in body.items() if isinstance(part, dict | list)})


def _leaves(path: str, node: Any) -> Iterator[Row]:
    if isinstance(node, list):
        for item in node:
            title, *_ = item.values()
            yield from _leaves(f"{path}.{title}", item)
    elif isinstance(node, dict) and "absent" in node:
        yield {"fact": path, "absent": node["absent"]}
    elif isinstance(node, dict) and "value" in node:
        value = node["value"]
        number = float(value) if isinstance(value, int | float) else None
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        yield {"fact": path, "value": text, "number": number, "unit": node["unit"] or None}
    elif isinstance(node, dict):
        for name, part in node.items():
            yield from _leaves(f"{path}.{name}".removeprefix("."), part)
