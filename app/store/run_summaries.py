"""Summaries of runs: derived rows from which a list is shown and filtered. Written with the run, or completed later."""

import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from app.centres import centre_over
from app.numeric import balanced_mean
from app.plans.duet import halves_of_trials
from app.plans.plan import Step, host_label, token_of, value_text
from app.plans.plan_remarks import reason_of
from app.records import RunRecord
from app.store import record_reader, run_reader, schema
from app.store.dialects import dialect_of
from app.store.errors import StoreError
from app.store.rows import Row, inserted_id, storable, to_text
from suites.errors import UnknownSuiteError
from suites.facts import known, virtualisation_of
from suites.parameters import Parameter, Value
from suites.quantities import figure_text, label_text
from suites.vocab import Finding, Labels, Metric, Severity

FigureKey = tuple[str, str, Metric, Labels]
"""Step, host, metric and labels."""


def write(connection: Connection, run_id: str, record: RunRecord | None = None) -> None:
    """Write the summary of a run anew, which is read unless its `record` is given.

    That of a damaged run has what its own row says.
    """
    for table in (schema.run_summaries, schema.run_metrics):
        connection.execute(delete(table).where(table.c.run_id == run_id))
    runs = schema.runs.c
    columns = (
        runs.name, runs.question, runs.plan_hash, runs.hosts, runs.steps, runs.state, runs.started, runs.ended,
        runs.headline, runs.session_series, runs.session, runs.session_due,
    )  # fmt: skip
    own = dict(connection.execute(select(*columns).where(runs.id == run_id)).mappings().one())
    own |= {"run_id": run_id, "duration": _duration(own["started"], own["ended"])}
    try:
        record = record or record_reader.record(connection, run_id)
    except StoreError:
        connection.execute(insert(schema.run_summaries), storable(own | _UNREADABLE))
        return
    figures = _figures(record)
    headline = _headline(connection, record, figures)
    if headline["headline"] != own["headline"]:
        connection.execute(update(schema.runs).where(runs.id == run_id).values(headline=headline["headline"]))
    _write_metrics(connection, run_id, record, figures)
    imported = record.read_from is not None
    steps = to_text([_configuration(connection, step, stated_only=imported) for step in record.plan.steps])
    row = {
        **own,
        **_platform(record),
        **headline,
        **_verdict(record),
        "configurations": steps,
        "trials": record.summary.trials,
    }
    connection.execute(insert(schema.run_summaries), storable(row))


def missing(connection: Connection) -> list[str]:
    """Return the runs without a summary, the newest first."""
    runs, written = schema.runs.c, schema.run_summaries.c
    query = select(runs.id).where(runs.id.not_in(select(written.run_id))).order_by(runs.started.desc())
    return list(connection.execute(query).scalars())


def complete(connection: Connection, runs: Iterable[str], seconds: float) -> int:
    """Write the summaries of `runs`, for at most `seconds`; return their number."""
    until, number = time.monotonic() + seconds, 0
    for run in runs:
        if number and time.monotonic() > until:
            break
        with suppress(LookupError):  # deleted meanwhile
            write(connection, run)
        number += 1
    return number


_UNREADABLE: dict[str, Any] = {
    "configurations": "[]", "instance": "", "virtualisation": "", "kernel": "", "trials": 0, "trust": "",
    "limited_by": "", "errors": 0, "warnings": 0,
}  # fmt: skip


def _duration(started: str, ended: str | None) -> float | None:
    with suppress(ValueError, TypeError):
        return (datetime.fromisoformat(ended or "") - datetime.fromisoformat(started)).total_seconds()
    return None


def _figures(record: RunRecord) -> Mapping[FigureKey, Sequence[tuple[int, float]]]:
    """Return the numbers and values of the counted trials of each figure, in the order of the steps."""
    found: dict[FigureKey, list[tuple[int, float]]] = defaultdict(list)
    for step in record.plan.steps:
        for one in record.trials_of(step.name):
            for figure in one.figures:
                key = (step.name, one.trial.host, figure.metric, figure.labels)
                found[key].append((one.trial.number, figure.value))
    return found


def _write_metrics(
    connection: Connection, run_id: str, record: RunRecord, figures: Mapping[FigureKey, Sequence[tuple[int, float]]]
) -> None:
    numbers = _metric_ids(connection)
    rows = [
        {
            "run_id": run_id,
            "step": step,
            "host": host,
            "metric": numbers[metric],
            "labels": to_text(labels),
            "value": balanced_mean([value for _, value in values], _halves(record, step, values)),
        }
        for (step, host, metric, labels), values in figures.items()
    ]
    if rows:
        connection.execute(insert(schema.run_metrics), rows)


def _metric_ids(connection: Connection) -> Mapping[Metric, int]:
    return {metric: number for number, metric in run_reader.metrics_by_id(connection).items()}


def _halves(record: RunRecord, step: str, values: Sequence[tuple[int, float]]) -> tuple[bool, ...]:
    return halves_of_trials(record.plan, step, (number for number, _ in values))


def _headline(
    connection: Connection, record: RunRecord, figures: Mapping[FigureKey, Sequence[tuple[int, float]]]
) -> Row:
    """Return the first figure of the first step that has one, on the first such host.

    Its text names what it is of, where the run has more: ``528/s (threads 4, sysbench-cpu on web-2)``.
    """
    if not figures:
        return {"headline": "", "metric": None, "value": None, "half": None, "headline_trials": 0}
    hosts, first = record.plan.hosts, next(iter(figures))[0]  # they are in the order of the steps
    key = min((key for key in figures if key[0] == first), key=lambda key: (*hosts, key[1]).index(key[1]))
    step, host, metric, labels = key
    point = label_text(labels) if sum(other[:3] == key[:3] for other in figures) > 1 else ""
    numbered = figures[key]
    values = [value for _, value in numbered]
    found = centre_over(values, _halves(record, key[0], numbered))
    half = None if found.high is None or min(values) == max(values) else found.high - found.value
    text = figure_text(metric, found.value, half)
    place = [step] * (step != record.plan.steps[0].name) + [f"on {host_label(host)}"] * (hosts != (host,))
    named = ", ".join(filter(None, [point, " ".join(place)]))
    return {
        "headline": f"{text} ({named})" if named else text, "metric": _metric_ids(connection)[metric],
        "value": found.value, "half": half, "headline_trials": len(values),
    }  # fmt: skip


def _verdict(record: RunRecord) -> Row:
    """Return the verdict, and the number of the issues that it counts; without one, of those that were found."""
    whole = record.verdict
    found: tuple[Finding, ...] = record.findings if whole is None else whole.findings
    open_ones = {(one.id, one.step, one.host): one.severity for one in found if not _acknowledged(record, one)}
    severities = list(open_ones.values())
    return {
        "trust": "" if whole is None else whole.trust.value,
        "limited_by": "" if whole is None or whole.limited_by is None else whole.limited_by.value,
        "errors": severities.count(Severity.ERROR),
        "warnings": severities.count(Severity.WARNING),
    }


def _acknowledged(record: RunRecord, finding: Finding) -> bool:
    return bool(reason_of(record.plan.acknowledged, finding))


def _platform(record: RunRecord) -> Row:
    facts = [record.facts_before[host] for host in record.plan.hosts if host in record.facts_before]
    return {
        "instance": _joined(known(one.cloud.instance_type) for one in facts),
        "virtualisation": _joined(map(virtualisation_of, facts)),
        "kernel": _joined(known(one.system.kernel) for one in facts),
    }


def _joined(texts: Iterable[str | None]) -> str:
    return ", ".join(dict.fromkeys(filter(None, texts)))


def _configuration(connection: Connection, step: Step, *, stated_only: bool) -> int:
    """Return the row id of a step's configuration, or of the values in it that are stated; insert it if new."""
    rows = list(_value_rows(step, stated_only=stated_only))
    described = to_text([step.suite_id, step.partner, [[row["name"], row["value"]] for row in rows]])
    digest = hashlib.sha256(described.encode()).hexdigest()
    table = schema.configurations
    query = select(table.c.id).where(table.c.digest == digest)
    stored = connection.execute(query).scalar()
    if stored is None:
        dialect_of(connection).lock_shared_rows(connection)
        stored = connection.execute(query).scalar()  # inserted by another process meanwhile
    if stored is not None:
        return int(stored)
    values = {"digest": digest, "suite": step.suite_id, "fingerprint": step.fingerprint()}
    number = inserted_id(connection, table, storable(values))
    if rows:
        connection.execute(insert(schema.configuration_values), [{"configuration": number, **row} for row in rows])
    return number


def _value_rows(step: Step, *, stated_only: bool) -> Iterator[dict[str, Any]]:
    """Yield the values of a step with their tokens; those of an unknown suite as they are stored."""
    try:
        values = dict(step.values) if stated_only else step.whole_values()
        parameters = {one.name: one for one in step.suite.parameters}
    except UnknownSuiteError:
        values, parameters = dict(step.values), {}
    peer: dict[str, Value] = {} if step.peer is None else {"peer": step.peer}
    for name, value in (values | peer).items():
        known_as = parameters.get(name)
        row = {"name": name, "token": token_of(name, known_as), "value": _text(known_as, value, step)}
        yield storable(row) | {"number": float(value) if isinstance(value, int | float) else None}


def _text(parameter: Parameter | None, value: Value, step: Step) -> str:
    if parameter is not None:
        with suppress(ValueError, TypeError):
            return value_text(step, parameter)
    return json.dumps(value) if isinstance(value, bool) else str(value)


def forget_unused(connection: Connection) -> None:
    """Delete the configurations that no run has."""
    used: set[int] = set()
    for text in connection.execute(select(schema.run_summaries.c.configurations).distinct()).scalars():
        used.update(json.loads(text))
    table = schema.configurations
    for number in connection.execute(select(table.c.id)).scalars().all():
        if number not in used:
            connection.execute(delete(table).where(table.c.id == number))
