"""Queries: whole runs, and one metric over many runs."""

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from sqlalchemy import Connection, Row, RowMapping, Select, bindparam, func, select

from app.events import Moment, PlannedSession, State, Trial
from app.formats import FormatError, by_host_from_json, command_from_json, facts_from_json, plan_from_json
from app.plans.plan import Plan
from app.records import DetachedRun, HistoryRow, RunRecord, RunSummary, SampleSeries, TrialRecord
from app.store import baselines, host_log, schema
from app.store.errors import StoreError, unreadable_run
from app.store.rows import verdict_of
from suites.facts import Facts
from suites.units import Unit
from suites.verdict import Verdict
from suites.vocab import Better, Figure, Finding, Labels, Metric, MetricKind, Sample, Severity

CANDIDATES = 5
"""Runs listed for an ambiguous name."""


def summaries(connection: Connection, run_id: str | None = None) -> list[RunSummary]:
    """Return the summary of every run, or only of `run_id`, newest first."""
    if run_id is None:
        return [_summary(row) for row in connection.execute(_all_summaries()).mappings()]
    return [_summary(row) for row in connection.execute(_one_summary(), {_RUN: run_id}).mappings()]


@cache
def _all_summaries() -> Select[Any]:
    """Return the query for all summaries. Cached: building it takes longer than running it for one run."""
    runs, trials = schema.runs.c, schema.trials.c
    counted = (trials.run_id == runs.id) & (trials.state == State.DONE.value) & trials.warm_up.is_(False)
    done = select(func.count()).select_from(schema.trials).where(counted).scalar_subquery()
    pinned = _newest_name(runs.id)
    wanted = (
        runs.id, runs.name, runs.question, runs.hosts, runs.steps, runs.state, runs.started, runs.ended, runs.headline,
        runs.plan, runs.session_series, runs.session, runs.session_due,
    )  # fmt: skip
    series = schema.session_series.c
    of_series = select(series.plan).where(series.id == runs.session_series).scalar_subquery()
    query = select(*wanted, done.label("trials"), pinned.label("baseline"), of_series.label("series_plan"))
    return query.add_columns(*_whole_verdict(runs.id)).order_by(runs.started.desc(), runs.id.desc())


@cache
def _one_summary() -> Select[Any]:
    """Return the query for the summary of one run, bound as _RUN."""
    return _all_summaries().where(schema.runs.c.id == bindparam(_RUN))


_RUN = "wanted_run"


def _whole_verdict(run_id: Any) -> tuple[Any, Any]:
    """Return the queries for the trust and the limit in the verdict of a run."""
    table = schema.verdicts.c
    whole = (table.run_id == run_id) & table.step.is_(None)
    level, limiter = (select(column).where(whole).scalar_subquery() for column in (table.level, table.limited_by))
    return level.label("trust"), limiter.label("limited_by")


def _newest_name(run_id: Any) -> Any:
    """Return the query for the name of the newest baseline whose newest version contains a run."""
    table, parts = schema.baselines, schema.baseline_parts
    newer = table.alias()
    replaced = select(newer.c.id).where((newer.c.name == table.c.name) & (newer.c.version > table.c.version)).exists()
    names = select(table.c.name).join(parts, parts.c.baseline == table.c.id)
    return names.where((parts.c.run_id == run_id) & ~replaced).order_by(table.c.id.desc()).limit(1).scalar_subquery()


def find(connection: Connection, run: str) -> str:
    """Return the id for `run`: an id, "last", a baseline of one run, or an unambiguous prefix of an id."""
    runs = schema.runs.c
    newest = select(runs.id).order_by(runs.started.desc(), runs.id.desc())
    exact = connection.execute(select(runs.id).where(runs.id == run)).scalar()
    if exact is None and run == "last":
        exact = connection.execute(newest).scalar()
        if exact is None:
            raise StoreError("The library has no runs.", "Start one with: benchwright quick")
    exact = exact or baselines.run_named(connection, run)
    if exact is not None:
        return str(exact)
    prefix = newest.where(runs.id.startswith(run, autoescape=True))
    found = list(connection.execute(prefix.limit(CANDIDATES + 1)).scalars()) if run else []
    if len(found) == 1:
        return str(found[0])
    if found:
        listed = ", ".join(found[:CANDIDATES]) + (" and more" if len(found) > CANDIDATES else "")
        raise StoreError(f"“{run}” matches several runs: {listed}.", "Enter more of the id.")
    raise StoreError(f"There is no run “{run[:80]}”.", "List the runs with: benchwright list")


def record(connection: Connection, run_id: str) -> RunRecord:
    """Return the run `run_id` without samples and raw output."""
    table = schema.runs.c
    columns = (table.plan, table.plan_hash, table.program_version, table.reason)
    stored = select(*columns, table.telemetry_cost, table.telemetry_program).where(table.id == run_id)
    plan, plan_hash, version, reason, cost, program = connection.execute(stored).one()
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
            by_host_from_json(cost, float, "The cost of telemetry"),
            host_log.changes_of(connection, run_id),
            _verdicts(connection, run_id),
            _finding_trials(connection, run_id),
            baselines.calibrations(connection, read_plan.hosts),
            telemetry_program=_programs(program),
        )
    except (FormatError, ValueError, TypeError, KeyError) as error:  # malformed JSON, unknown enum values
        raise unreadable_run(run_id, error) from error


def _programs(text: str) -> Mapping[str, str]:
    """Return the telemetry program of each host: SHA-256, or "script"."""
    found = by_host_from_json(text, str, "The telemetry program")
    if not all(program == "script" or re.fullmatch(r"[0-9a-f]{64}", program) for program in found.values()):
        raise FormatError("The telemetry program is neither a SHA-256 nor “script”.")
    return found


def samples(connection: Connection, run_id: str, trials: Sequence[int] | None = None) -> SampleSeries:
    """Return the samples of every trial of the run, or of `trials`, in order of arrival."""
    column = schema.series.c.trial
    chosen = column.is_not(None) if trials is None else column.in_(trials)
    found = _samples(connection, run_id, column, chosen)
    return {int(trial): tuple(values) for trial, values in found.items()}


def telemetry(
    connection: Connection, run_id: str, host: str | None = None, window: tuple[float, float] | None = None
) -> Mapping[str, tuple[Sample, ...]]:
    """Return the telemetry of every host of the run, or of `host`, in order of arrival.

    `window` limits it to a start and end on the host's monotonic clock (seconds).
    """
    column = schema.series.c.host
    chosen = column.is_not(None) if host is None else column == host
    within = () if window is None else (schema.samples.c.time.between(*window),)
    found = _samples(connection, run_id, column, chosen, within)
    return {str(host): tuple(values) for host, values in found.items()}


def output(connection: Connection, run_id: str, trial: int) -> Mapping[str, bytes]:
    """Return the raw output of a trial by stream."""
    pieces: dict[str, list[bytes]] = defaultdict(list)
    for stream, data in output_in_order(connection, run_id, trial):
        pieces[stream].append(data)
    return {stream: b"".join(parts) for stream, parts in pieces.items()}


def _samples(
    connection: Connection, run_id: str, owner: Any, chosen: Any, within: Sequence[Any] = ()
) -> dict[Any, list[Sample]]:
    series, table = schema.series.c, schema.samples.c
    described: dict[int, tuple[Any, Metric, Labels]] = {}
    metrics = metrics_by_id(connection)
    for number, owned_by, metric, labels in connection.execute(
        select(series.id, owner, series.metric, series.labels).where(series.run_id == run_id, chosen)
    ):
        described[number] = (owned_by, metrics[metric], read_labels(labels))
    found: dict[Any, list[Sample]] = {owned_by: [] for owned_by, _, _ in described.values()}
    query = select(table.series, table.time, table.value, table.warm_up).join(
        schema.series, schema.series.c.id == table.series
    )
    for number, moment, value, warm_up in connection.execute(
        query.where(series.run_id == run_id, chosen, *within).order_by(table.id)
    ):
        owned_by, metric_of, labels_of = described[number]
        found[owned_by].append(Sample(moment, metric_of, value, labels_of, warm_up))
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
        session=_session(row),
    )


def _session(row: RowMapping) -> PlannedSession | None:
    """Return the session that a run is; its total is 0 if its series is missing."""
    if row["session_series"] is None:
        return None
    total = 0
    with suppress(ValueError, TypeError, KeyError):
        total = int(json.loads(row["series_plan"])["repetition"]["sessions"])
    return PlannedSession(str(row["session_series"]), int(row["session"] or 0), total, str(row["session_due"]))


def _suites(plan: str) -> tuple[str, ...]:
    """Return the suites of `plan`, () if it is malformed: one damaged run must not hide the others."""
    try:
        return tuple(dict.fromkeys(str(step["suite"]) for step in json.loads(plan)["steps"]))
    except (ValueError, TypeError, KeyError):
        return ()


def metrics_by_id(connection: Connection) -> dict[int, Metric]:
    """Return every metric by its row id."""
    return {
        number: Metric(name, title, Unit(unit), Better(better), MetricKind(kind), percentile)
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
        row.id,
        row.host,
        row.step,
        row.number,
        row.warm_up,
        commands,
        row.started,
        _finite(row.clock),
        row.tool_version,
        _finite(row.peer_clock),
    )
    notes = tuple(json.loads(row.notes))
    return TrialRecord(
        trial, State(row.state), row.ended, row.exit_status, tuple(figures), notes, row.reason,
        _finite(row.origin), _finite(row.ended_clock),
    )  # fmt: skip


def _finite(value: object) -> float | None:
    """Return a number of a column; raise ValueError for text and infinities, which SQLite stores in any column."""
    if value is None or (isinstance(value, int | float) and math.isfinite(value)):
        return value
    raise ValueError(f"{str(value)[:60]!r} is not a number")


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
            row.check_id, Severity(row.level), row.title, row.measured, row.why, row.remedy, row.source, row.step,
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
    """Return the labels of a row."""
    return tuple((name, value) for name, value in json.loads(text))


def detached_run(connection: Connection, run_id: str) -> DetachedRun:
    """Return the run as a detached run."""
    table = schema.runs.c
    query = select(table.started, table.touched, table.left_at).where(table.id == run_id)
    started, touched, left_at = connection.execute(query).one()
    return DetachedRun(
        record=record(connection, run_id),
        since=left_at or touched or started,
        by_choice=left_at is not None,
        jobs=host_log.jobs(connection, run_id),
        workspaces=host_log.workspaces(connection, run_id),
    )


def output_in_order(connection: Connection, run_id: str, trial: int) -> tuple[tuple[str, bytes], ...]:
    """Return the raw output of a trial as (stream, bytes) in order of arrival."""
    table = schema.output.c
    query = select(table.stream, table.data).where(table.run_id == run_id, table.trial == trial).order_by(table.id)
    return tuple((stream, data) for stream, data in connection.execute(query))


def history_rows(connection: Connection, hosts: Sequence[str], metric: str) -> list[HistoryRow]:
    """Return every figure of `metric` on `hosts` from done trials without warm-ups, in order of the runs' start."""
    runs, trials, figures, verdicts = schema.runs.c, schema.trials.c, schema.figures.c, schema.verdicts.c
    known = {number: one for number, one in metrics_by_id(connection).items() if one.name == metric}
    query = (
        select(
            runs.id, runs.started, runs.plan_hash, trials.host, trials.step, trials.tool_version, figures.metric,
            figures.labels, figures.value, verdicts.level,
        )
        .join(schema.trials, (trials.run_id == figures.run_id) & (trials.id == figures.trial))
        .join(schema.runs, runs.id == figures.run_id)
        .outerjoin(
            schema.verdicts,
            (verdicts.run_id == figures.run_id) & (verdicts.step == trials.step) & (verdicts.host == trials.host),
        )
        .where(
            figures.metric.in_(known),
            trials.host.in_(hosts),
            trials.warm_up.is_(False),
            trials.state == State.DONE.value,
        )
        .order_by(runs.started, runs.id, figures.id)
    )  # fmt: skip
    labels: dict[str, Labels] = {}
    found = []
    for run, started, plan, host, step, version, number, text, value, level in connection.execute(query):
        if text not in labels:
            labels[text] = read_labels(text)
        row = (run, started, plan, host, step, version, known[number], labels[text], value, level or "")
        found.append(HistoryRow(*row))
    return found


def plans_of(connection: Connection, found: Sequence[HistoryRow]) -> Mapping[str, Plan]:
    """Return the plans of history rows by hash."""
    runs = schema.runs.c
    one_of_each = {row.plan: row.run for row in found}
    chosen = select(runs.plan_hash, runs.plan).where(runs.id.in_(one_of_each.values()))
    return {plan_hash: plan_from_json(json.loads(text)) for plan_hash, text in connection.execute(chosen)}


def facts_before(connection: Connection, run_id: str, hosts: Sequence[str]) -> tuple[Facts, ...]:
    """Return the facts of `hosts` from before the run."""
    table = schema.facts.c
    query = select(table.content).where(
        table.run_id == run_id, table.moment == Moment.BEFORE.value, table.host.in_(hosts)
    )
    return tuple(facts_from_json(json.loads(content)) for content in connection.execute(query).scalars())


def trial_values(
    connection: Connection, run_ids: Sequence[str]
) -> Iterator[tuple[tuple[str, int], tuple[str, Labels], list[float]]]:
    """Yield (run, trial), (metric, labels) and the values of each series of the runs, without warm-up samples."""
    series, metrics = schema.series.c, schema.metrics.c
    columns = (series.id, series.run_id, series.trial, metrics.name, series.labels)
    chosen = series.run_id.in_(run_ids) & series.trial.is_not(None)
    query = select(*columns).join(schema.metrics, metrics.id == series.metric).where(chosen)
    for number, run, trial, name, labels in connection.execute(query).all():
        yield (run, trial), (name, read_labels(labels)), _values(connection, number)


def _values(connection: Connection, series: int) -> list[float]:
    """Return the values of a series in order of arrival.

    One query per series, so that the index gives the order; with the driver's cursor, since SQLAlchemy's row object
    for each of a million samples takes longer than everything else.
    """
    rows = connection.connection.cursor()
    rows.execute("SELECT value FROM samples WHERE series = ? AND NOT warm_up ORDER BY id", (series,))
    values = [value for (value,) in rows.fetchall()]
    rows.close()
    return values
