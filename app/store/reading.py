"""Runs read back from the store."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, Row, RowMapping, Select, bindparam, func, select

from app.events import Moment, State, Trial
from app.formats import FormatError, command_from_json, facts_from_json, plan_from_json
from app.records import RunRecord, RunSummary, SampleSeries, TrialRecord
from app.store import calibrations, host_log, schema
from app.store.baselines import run_named
from app.store.errors import StoreError
from app.store.rows import verdict_of
from suites.facts import Facts
from suites.units import Unit
from suites.verdict import Verdict
from suites.vocab import Better, Figure, Finding, Kind, Labels, Level, Metric, Sample

CANDIDATES = 5
"""How many runs an ambiguous name lists."""


def summaries(connection: Connection, run_id: str | None = None) -> list[RunSummary]:
    """Return one line for every run, or for `run_id` alone, the newest first."""
    if run_id is None:
        return [_summary(row) for row in connection.execute(_lines()).mappings()]
    return [_summary(row) for row in connection.execute(_line(), {_RUN: run_id}).mappings()]


@cache
def _lines() -> Select[Any]:
    """Return the query for a line of every run. Making it takes longer than SQLite needs to answer it for one run."""
    runs, trials = schema.runs.c, schema.trials.c
    counted = (trials.run_id == runs.id) & (trials.state == State.DONE.value) & trials.warm_up.is_(False)
    done = select(func.count()).select_from(schema.trials).where(counted).scalar_subquery()
    pinned = _newest_name(runs.id)
    wanted = (
        runs.id, runs.name, runs.question, runs.hosts, runs.steps, runs.state, runs.started, runs.ended, runs.headline,
        runs.plan,
    )  # fmt: skip
    query = select(*wanted, done.label("trials"), pinned.label("baseline"))
    return query.add_columns(*_whole_verdict(runs.id)).order_by(runs.started.desc(), runs.id.desc())


@cache
def _line() -> Select[Any]:
    """Return the query for the line of one run, which is given as _RUN."""
    return _lines().where(schema.runs.c.id == bindparam(_RUN))


_RUN = "wanted_run"


def _whole_verdict(run_id: Any) -> tuple[Any, Any]:
    """Return the queries for the level and the limiter of the verdict on a whole run."""
    table = schema.verdicts.c
    whole = (table.run_id == run_id) & table.step.is_(None)
    level, limiter = (select(column).where(whole).scalar_subquery() for column in (table.level, table.limited_by))
    return level.label("trust"), limiter.label("limited_by")


def _newest_name(run_id: Any) -> Any:
    """Return the query for the name of the newest baseline that holds a run, in its newest version."""
    table, parts = schema.baselines, schema.baseline_parts
    newer = table.alias()
    replaced = select(newer.c.id).where((newer.c.name == table.c.name) & (newer.c.version > table.c.version)).exists()
    held = select(table.c.name).join(parts, parts.c.baseline == table.c.id)
    return held.where((parts.c.run_id == run_id) & ~replaced).order_by(table.c.id.desc()).limit(1).scalar_subquery()


def find(connection: Connection, run: str) -> str:
    """Return the id of the run meant by `run`: an id, "last", a baseline of one run, or how one id begins."""
    runs = schema.runs.c
    newest = select(runs.id).order_by(runs.started.desc(), runs.id.desc())
    exact = connection.execute(select(runs.id).where(runs.id == run)).scalar()
    if exact is None and run == "last":
        exact = connection.execute(newest).scalar()
        if exact is None:
            raise StoreError("The library has no run yet.", "Start one with “benchwright quick”.")
    exact = exact or run_named(connection, run)
    if exact is not None:
        return str(exact)
    beginning = newest.where(runs.id.startswith(run, autoescape=True))
    found = list(connection.execute(beginning.limit(CANDIDATES + 1)).scalars()) if run else []
    if len(found) == 1:
        return str(found[0])
    if found:
        listed = ", ".join(found[:CANDIDATES]) + (" and more" if len(found) > CANDIDATES else "")
        raise StoreError(f"“{run}” begins several runs: {listed}.", "Give more of the id.")
    raise StoreError(f"There is no run “{run[:80]}”.", "“benchwright list” shows the runs there are.")


def record(connection: Connection, run_id: str) -> RunRecord:
    """Return the run `run_id` without its samples and raw output."""
    table = schema.runs.c
    columns = (table.plan, table.plan_hash, table.program_version, table.reason, table.telemetry_cost, table.started)
    plan, plan_hash, version, reason, cost, started = connection.execute(
        select(*columns).where(table.id == run_id)
    ).one()
    try:
        read_plan = plan_from_json(json.loads(plan))
        before = _facts(connection, run_id, Moment.BEFORE)
        return RunRecord(
            summaries(connection, run_id)[0],
            read_plan,
            plan_hash,
            version,
            reason,
            before,
            _facts(connection, run_id, Moment.AFTER),
            _trials(connection, run_id),
            _findings(connection, run_id),
            json.loads(cost),
            host_log.changes_of(connection, run_id),
            _verdicts(connection, run_id),
            _finding_trials(connection, run_id),
            calibrations.of_run(connection, read_plan, before, started),
        )
    except (FormatError, ValueError, TypeError, KeyError) as error:  # JSON and the words of our enumerations
        raise StoreError(
            f"The run {run_id} cannot be read: {error}", "The library is damaged; restore a copy."
        ) from error


def samples(connection: Connection, run_id: str, trials: Sequence[int] | None = None) -> SampleSeries:
    """Return the samples of every trial of the run, or of `trials`, in the order in which they came."""
    column = schema.series.c.trial
    chosen = column.is_not(None) if trials is None else column.in_(trials)
    found = _samples(connection, run_id, column, chosen)
    return {int(trial): tuple(values) for trial, values in found.items()}


def telemetry(
    connection: Connection, run_id: str, host: str | None = None, window: tuple[float, float] | None = None
) -> Mapping[str, tuple[Sample, ...]]:
    """Return the telemetry of every host of the run, or of `host`, in the order in which it came.

    With `window`, only what lies between two moments on the host's monotonic clock.
    """
    column = schema.series.c.host
    chosen = column.is_not(None) if host is None else column == host
    within = () if window is None else (schema.samples.c.time.between(*window),)
    found = _samples(connection, run_id, column, chosen, within)
    return {str(host): tuple(values) for host, values in found.items()}


def output(connection: Connection, run_id: str, trial: int) -> Mapping[str, bytes]:
    """Return the raw output of a trial by stream."""
    table = schema.output.c
    query = select(table.stream, table.data).where(table.run_id == run_id, table.trial == trial).order_by(table.id)
    pieces: dict[str, list[bytes]] = defaultdict(list)
    for stream, data in connection.execute(query):
        pieces[stream].append(data)
    return {stream: b"".join(parts) for stream, parts in pieces.items()}


def _samples(
    connection: Connection, run_id: str, owner: Any, chosen: Any, within: Sequence[Any] = ()
) -> dict[Any, list[Sample]]:
    series, table = schema.series.c, schema.samples.c
    described: dict[int, tuple[Any, Metric, Labels]] = {}
    metrics = metrics_by_id(connection)
    for number, whose, metric, labels in connection.execute(
        select(series.id, owner, series.metric, series.labels).where(series.run_id == run_id, chosen)
    ):
        described[number] = (whose, metrics[metric], read_labels(labels))
    found: dict[Any, list[Sample]] = {whose: [] for whose, _, _ in described.values()}
    query = select(table.series, table.time, table.value, table.warm_up).join(
        schema.series, schema.series.c.id == table.series
    )
    for number, moment, value, warm_up in connection.execute(
        query.where(series.run_id == run_id, chosen, *within).order_by(table.id)
    ):
        whose, metric_of, labels_of = described[number]
        found[whose].append(Sample(moment, metric_of, value, labels_of, warm_up))
    return found


def _summary(row: RowMapping) -> RunSummary:
    return RunSummary(
        id=row["id"],
        name=row["name"],
        question=row["question"],
        hosts=tuple(json.loads(row["hosts"])),
        steps=tuple(json.loads(row["steps"])),
        state=State(row["state"]),
        started=row["started"],
        ended=row["ended"],
        trials=row["trials"],
        headline=row["headline"],
        baseline=row["baseline"],
        suites=_suites(row["plan"]),
        trust=row["trust"] or "",
        limited_by=row["limited_by"] or "",
    )


def _suites(plan: str) -> tuple[str, ...]:
    """Return the suites that `plan` names, none where it is damaged: one such run must not hide the others."""
    try:
        return tuple(dict.fromkeys(str(step["suite"]) for step in json.loads(plan)["steps"]))
    except (ValueError, TypeError, KeyError):
        return ()


def metrics_by_id(connection: Connection) -> dict[int, Metric]:
    """Return every metric the store knows by its number."""
    return {
        number: Metric(name, title, Unit(unit), Better(better), Kind(kind), percentile)
        for number, name, title, unit, better, kind, percentile in connection.execute(select(schema.metrics))
    }


def _facts(connection: Connection, run_id: str, moment: Moment) -> dict[str, Facts]:
    table = schema.facts.c
    query = select(table.host, table.content).where(table.run_id == run_id, table.moment == moment.value)
    return {host: facts_from_json(json.loads(content)) for host, content in connection.execute(query)}


def _trials(connection: Connection, run_id: str) -> tuple[TrialRecord, ...]:
    figures = _figures(connection, run_id)
    query: Select[Any] = select(schema.trials).where(schema.trials.c.run_id == run_id).order_by(schema.trials.c.id)
    return tuple(_trial(row, figures.get(row.id, ())) for row in connection.execute(query))


def _trial(row: Row[Any], figures: Sequence[Figure]) -> TrialRecord:
    commands = tuple(command_from_json(command) for command in json.loads(row.commands))
    trial = Trial(
        row.id, row.host, row.step, row.number, row.warm_up, commands, row.started, row.clock, row.tool_version
    )
    notes = tuple(json.loads(row.notes))
    return TrialRecord(trial, State(row.state), row.ended, row.exit_status, tuple(figures), notes, row.reason)


def _figures(connection: Connection, run_id: str) -> dict[int, list[Figure]]:
    metrics, table = metrics_by_id(connection), schema.figures.c
    found: dict[int, list[Figure]] = defaultdict(list)
    query = (
        select(table.trial, table.metric, table.value, table.labels).where(table.run_id == run_id).order_by(table.id)
    )
    for trial, metric, value, labels in connection.execute(query):
        found[trial].append(Figure(metrics[metric], value, read_labels(labels)))
    return found


def _findings(connection: Connection, run_id: str) -> tuple[Finding, ...]:
    query: Select[Any] = select(schema.findings).where(schema.findings.c.run_id == run_id)
    return tuple(
        Finding(
            row.check_id, Level(row.level), row.title, row.measured, row.why, row.remedy, row.source, row.step,
            row.host, json.loads(row.changes), row.install,
        )
        for row in connection.execute(query.order_by(schema.findings.c.id))
    )  # fmt: skip


def _finding_trials(connection: Connection, run_id: str) -> tuple[int | None, ...]:
    """Return the trial of each finding, in the order of the findings."""
    table = schema.findings.c
    query = select(table.trial).where(table.run_id == run_id).order_by(table.id)
    return tuple(connection.execute(query).scalars())


def _verdicts(connection: Connection, run_id: str) -> tuple[Verdict, ...]:
    table = schema.verdicts
    query = select(table).where(table.c.run_id == run_id).order_by(table.c.id)
    return tuple(verdict_of(dict(row)) for row in connection.execute(query).mappings())


def read_labels(text: str) -> Labels:
    """Return the labels that stand in a row."""
    return tuple((name, value) for name, value in json.loads(text))
