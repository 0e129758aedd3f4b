"""Queries: whole runs, and one metric over many runs."""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, Select, bindparam, case, func, select

from app.events import Moment, PlannedSession, State
from app.formats import plan_from_json, stored_facts_from_json
from app.plans.plan import Plan
from app.records import HistoryRow, RunSummary, SampleSeries
from app.store import baselines, ownership, packed_samples, schema
from app.store.errors import StoreError, no_run, unreadable_run
from suites.facts import Facts
from suites.units import Unit
from suites.vocab import Better, Labels, Metric, MetricKind, Sample

CANDIDATES = 5
"""Runs listed for an ambiguous name."""


def summaries(connection: Connection, run_ids: Sequence[str]) -> list[RunSummary]:
    """Return the summaries of `run_ids`, newest first."""
    found = [_summary(row) for row in connection.execute(_some_summaries(), {_RUNS: run_ids}).mappings()]
    if all(summary.state is not State.RUNNING for summary in found):
        return found
    detached = set(ownership.unrecorded_runs(connection))
    return [replace(summary, detached=summary.id in detached) for summary in found]


@cache
def _some_summaries() -> Select[Any]:
    """Return the query for the summaries of the runs bound as _RUNS.

    Cached: building it takes longer than running it for one run.
    """
    runs, trials = schema.runs.c, schema.trials.c
    counted = (trials.run_id == runs.id) & (trials.state == State.DONE.value) & trials.warm_up.is_(False)
    done = select(func.count()).select_from(schema.trials).where(counted).scalar_subquery()
    pinned = _newest_name(runs.id)
    wanted = (
        runs.id, runs.name, runs.question, runs.hosts, runs.steps, runs.state, runs.started, runs.ended, runs.headline,
        runs.plan, runs.session_series, runs.session, runs.session_due, imported_at().label("imported"),
    )  # fmt: skip
    series, added = schema.session_series.c, schema.annotations.c
    total = select(series.sessions).where(series.id == runs.session_series).scalar_subquery()
    renamed = select(added.name).where(added.run_id == runs.id).scalar_subquery()
    columns = (done.label("trials"), pinned.label("baseline"), total.label("sessions"), renamed.label("renamed"))
    query = select(*wanted, *columns).add_columns(*_whole_verdict(runs.id))
    query = query.where(runs.id.in_(bindparam(_RUNS, expanding=True)))
    return query.order_by(runs.started.desc(), runs.id.desc())


_RUNS = "wanted_runs"


def imported_at() -> ColumnElement[str | None]:
    """Return the expression of when a run was imported, NULL for one measured here. Before format 17: its start."""
    runs, outputs = schema.runs.c, schema.imported_outputs.c
    of_it = select(outputs.run_id).where(outputs.run_id == runs.id).exists()
    return func.coalesce(runs.imported, case((of_it, runs.started)))


def _whole_verdict(run_id: Any) -> tuple[Any, Any]:
    """Return the queries for the trust and the limit in the verdict of a run."""
    table = schema.verdicts.c
    whole = (table.run_id == run_id) & table.step.is_(None)
    level, limiter = (
        select(column).where(whole).limit(1).scalar_subquery() for column in (table.level, table.limited_by)
    )
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
    kept = newest.where(runs.id.not_in(binned()))
    exact = connection.execute(select(runs.id).where(runs.id == run)).scalar()
    if exact is None and run == "last":
        exact = connection.execute(kept).scalar()
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
    raise no_run(run)


def binned() -> Select[Any]:
    """Return the query for the runs in the bin."""
    table = schema.annotations.c
    return select(table.run_id).where(table.binned.is_not(None))


def samples(
    connection: Connection,
    run_id: str,
    trials: Sequence[int] | None = None,
    metrics: Collection[str] | None = None,
) -> SampleSeries:
    """Return the samples of the run by trial, of all or some `trials` and `metrics`, in order of arrival."""
    column = schema.series.c.trial
    chosen: ColumnElement[bool] = column.is_not(None) if trials is None else column.in_(trials)
    if metrics is not None:
        named = select(schema.metrics.c.id).where(schema.metrics.c.name.in_(metrics))
        chosen &= schema.series.c.metric.in_(named)
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
    found = _samples(connection, run_id, column, chosen, window)
    return {str(host): tuple(values) for host, values in found.items()}


def output(connection: Connection, run_id: str, trial: int) -> Mapping[str, bytes]:
    """Return the raw output of a trial by stream."""
    pieces: dict[str, list[bytes]] = defaultdict(list)
    for stream, data in output_in_order(connection, run_id, trial):
        pieces[stream].append(data)
    return {stream: b"".join(parts) for stream, parts in pieces.items()}


def imported_content(connection: Connection, run_id: str) -> bytes:
    """Return the file or text from which the run was imported, as it was read; empty for a run that was measured."""
    table = schema.imported_outputs.c
    return connection.execute(select(table.content).where(table.run_id == run_id)).scalar() or b""


def run_of_output(connection: Connection, sha256: str, host: str, started: str | None = None) -> tuple[str, str] | None:
    """Return the newest run (id, trust) on `host` that was imported from the bytes of `sha256`; None without one.

    With `started`, that which began then.
    """
    outputs, runs, verdicts = schema.imported_outputs.c, schema.runs.c, schema.verdicts.c
    trust = select(verdicts.level).where(verdicts.run_id == runs.id, verdicts.step.is_(None)).scalar_subquery()
    query = (
        select(runs.id, runs.hosts, trust)
        .join(schema.imported_outputs, outputs.run_id == runs.id)
        .where(outputs.sha256 == sha256, runs.state == State.DONE.value, runs.id.not_in(binned()))
        .order_by(runs.started.desc())
    )
    found = connection.execute(query if started is None else query.where(runs.started == started))
    return next(((run, level or "") for run, hosts, level in found if json.loads(hosts) == [host]), None)


def imported_runs(connection: Connection) -> Mapping[str, str]:
    """Return when each imported run was, by its id."""
    at = imported_at()
    found = connection.execute(select(schema.runs.c.id, at.label("imported")).where(at.is_not(None)))
    return {row.id: row.imported for row in found}


def is_imported(connection: Connection, run_id: str) -> bool:
    """Return whether a run was imported from an output that was measured elsewhere."""
    table = schema.imported_outputs.c
    return connection.execute(select(table.run_id).where(table.run_id == run_id)).first() is not None


def _samples(
    connection: Connection, run_id: str, owner: Any, chosen: Any, window: tuple[float, float] | None = None
) -> dict[Any, list[Sample]]:
    series, table = schema.series.c, schema.sample_rows.c
    described: dict[int, tuple[Any, Metric, Labels]] = {}
    metrics = metrics_by_id(connection)
    for number, owned_by, metric, labels in connection.execute(
        select(series.id, owner, series.metric, series.labels).where(series.run_id == run_id, chosen)
    ):
        described[number] = (owned_by, metrics[metric], read_labels(labels))
    found: dict[Any, list[Sample]] = {owned_by: [] for owned_by, _, _ in described.values()}
    positions: dict[Any, list[int]] = {owned_by: [] for owned_by in found}
    try:
        for packed in packed_samples.read(connection, run_id, chosen, window):
            owned_by, metric_of, labels_of = described[packed.series]
            warm_up = packed.warm_up
            positions[owned_by] += packed.positions
            found[owned_by] += [
                Sample(moment, metric_of, value, labels_of, warm_up)
                for moment, value in zip(packed.times, packed.values, strict=True)
            ]
    except (ValueError, TypeError, RecursionError) as error:
        raise unreadable_run(run_id, error) from error
    for owned_by, samples_of in found.items():
        order = sorted(range(len(samples_of)), key=positions[owned_by].__getitem__)
        found[owned_by] = [samples_of[index] for index in order]
        if window is not None:
            found[owned_by] = [sample for sample in found[owned_by] if window[0] <= sample.time <= window[1]]
    query = select(table.series, table.time, table.value, table.warm_up).join(
        schema.series, schema.series.c.id == table.series
    )
    bounds = () if window is None else (table.time.between(*window),)
    for number, moment, value, warm_up in connection.execute(
        query.where(series.run_id == run_id, chosen, *bounds).order_by(table.id)
    ):
        owned_by, metric_of, labels_of = described[number]
        found[owned_by].append(Sample(moment, metric_of, value, labels_of, warm_up))
    return found


def _summary(row: RowMapping) -> RunSummary:
    return RunSummary(
        id=row["id"],
        name=row["renamed"] or row["name"],
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
        session=session_of(row["session_series"], row["session"], row["sessions"], row["session_due"]),
        imported=row["imported"],
    )


def session_of(series: str | None, number: int | None, total: int | None, due: str | None) -> PlannedSession | None:
    """Return the session that a run is; its total is 0 if its series is missing."""
    return None if series is None else PlannedSession(series, number or 0, total or 0, str(due))


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


def read_labels(text: str) -> Labels:
    """Return the labels of a row."""
    return tuple((name, value) for name, value in json.loads(text))


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
            figures.labels, figures.value, verdicts.level, trials.number, imported_at(),
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
            runs.id.not_in(binned()),
        )
        .order_by(runs.started, runs.id, figures.id)
    )  # fmt: skip
    labels: dict[str, Labels] = {}
    found = []
    for (
        run, started, plan, host, step, version, metric_id, text, value, level, number, imported,
    ) in connection.execute(query):  # fmt: skip
        if text not in labels:
            labels[text] = read_labels(text)
        row = (run, started, plan, host, step, version, known[metric_id], labels[text], value, level or "")
        found.append(HistoryRow(*row, number, imported == started))
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
    return tuple(stored_facts_from_json(json.loads(content)) for content in connection.execute(query).scalars())
