"""Writer of a run's events to the tables of its library."""

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from sqlalchemy import ColumnElement, Connection, Table, delete, insert, select, update

from app.detached_runs import DetachedRun
from app.events import (
    AttemptEnded,
    Event,
    FactsRead,
    FindingRaised,
    HostChanged,
    JobBegan,
    JobPlanned,
    OutputImported,
    RunDetached,
    RunEnded,
    RunStarted,
    SettingRestored,
    State,
    Trial,
    TrialAttached,
    TrialEnded,
    TrialStarted,
    VerdictReached,
    WorkspaceRemoved,
    WorkspaceUsed,
)
from app.formats import FormatError, facts_to_json, plan_from_json, plan_to_json
from app.library_location import Location
from app.numeric import balanced_mean
from app.plans.duet import halves_of_trials
from app.plans.plan import Plan
from app.store import host_log, run_summaries, schema, series_statistics, stored_evidence
from app.store.dialects import dialect_of
from app.store.errors import lost, unreadable_run
from app.store.rows import (
    Row,
    Written,
    began_row,
    inserted_id,
    job_row,
    raised_row,
    run_row,
    storable,
    to_text,
    trial_row,
    verdict_row,
    workspace_row,
)
from suites.quantities import figure_text
from suites.verdict import Verdict
from suites.vocab import Figure, Labels, Metric, Sample


@dataclass(frozen=True, slots=True)
class SeriesKey:
    """Key of a series within a run: of a trial's samples, or of a host's telemetry."""

    trial: int | None
    host: str | None
    metric: Metric
    labels: Labels


@dataclass(slots=True)
class WrittenIds:
    """Row ids of a run's metrics and series, and the counts of its written rows."""

    metrics: dict[Metric, int] = field(default_factory=dict)
    series: dict[SeriesKey, int] = field(default_factory=dict)
    written: Written = field(default_factory=Written)

    def copy(self) -> "WrittenIds":
        """Return a copy, to be discarded if its transaction fails."""
        return WrittenIds(dict(self.metrics), dict(self.series), self.written.copy())


@dataclass(slots=True)
class WriteBuffer:
    """Samples and output in order of arrival."""

    samples: list[tuple[SeriesKey, Sample]] = field(default_factory=list)
    output: list[tuple[int, str, list[bytes]]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.samples or self.output)

    def add_output(self, trial: int, stream: str, data: bytes) -> None:
        """Add the next bytes of a stream; consecutive chunks of one stream are merged."""
        if self.output and self.output[-1][:2] == (trial, stream):
            self.output[-1][2].append(data)
        else:
            self.output.append((trial, stream, [data]))

    def add_samples(self, trial: int | None, host: str | None, samples: Iterable[Sample]) -> None:
        """Add samples; drop those with a value or time that is not finite."""
        self.samples += [
            (SeriesKey(trial, host, sample.metric, sample.labels), sample)
            for sample in samples
            if math.isfinite(sample.value) and math.isfinite(sample.time)
        ]

    def extend(self, later: "WriteBuffer") -> None:
        """Add what arrived `later`."""
        self.samples += later.samples
        for trial, stream, pieces in later.output:
            for piece in pieces:
                self.add_output(trial, stream, piece)

    def write(self, connection: Connection, run_id: str, known: WrittenIds) -> None:
        """Write everything; add new metrics and series to `known`."""
        if self.output:
            connection.execute(
                insert(schema.output),
                [
                    {"run_id": run_id, "trial": trial, "stream": stream, "data": b"".join(pieces)}
                    for trial, stream, pieces in self.output
                ],
            )
        if self.samples:
            rows = [
                {
                    "series": series_id(connection, run_id, key, known),
                    "time": sample.time,
                    "value": sample.value,
                    "warm_up": sample.warm_up,
                }
                for key, sample in self.samples
            ]
            connection.execute(insert(schema.sample_rows), rows)
        for key, _sample in self.samples:
            known.written.samples[key.trial] += 1
        for trial, _stream, pieces in self.output:
            known.written.add_output(trial, b"".join(pieces))


def write_figures(
    connection: Connection, run_id: str, trial: int, figures: Iterable[Figure], known: WrittenIds
) -> None:
    """Write a trial's figures; drop those that are not finite."""
    rows = [
        {
            "run_id": run_id,
            "trial": trial,
            "metric": metric_id(connection, figure.metric, known),
            "labels": to_text(figure.labels),
            "value": figure.value,
        }
        for figure in figures
        if math.isfinite(figure.value)
    ]
    if rows:
        connection.execute(insert(schema.figures), rows)


def forget_samples(connection: Connection, run_id: str, trial: int, known: WrittenIds) -> None:
    """Delete a trial's samples before they are rewritten."""
    table = schema.series
    connection.execute(delete(table).where(table.c.run_id == run_id, table.c.trial == trial))
    for key in [key for key in known.series if key.trial == trial]:
        del known.series[key]
    known.written.samples[trial] = 0


def series_id(connection: Connection, run_id: str, key: SeriesKey, known: WrittenIds) -> int:
    """Return the row id of a series; insert it if new."""
    if key not in known.series:
        values = {
            "run_id": run_id,
            "trial": key.trial,
            "host": key.host,
            "metric": metric_id(connection, key.metric, known),
            "labels": to_text(key.labels),
        }
        known.series[key] = inserted_id(connection, schema.series, values)
    return known.series[key]


def metric_id(connection: Connection, metric: Metric, known: WrittenIds) -> int:
    """Return the row id of a metric, shared by all runs; insert it if new."""
    if metric not in known.metrics:
        values = {
            "name": metric.name,
            "title": metric.title,
            "unit": metric.unit.value,
            "better": metric.better.value,
            "kind": metric.kind.value,
            "percentile": metric.percentile,
        }
        columns = schema.metrics.c
        same = [columns[name].is_not_distinct_from(value) for name, value in values.items()]
        query = select(columns.id).where(*same).order_by(columns.id).limit(1)
        found = connection.execute(query).scalar()
        if found is None:
            dialect_of(connection).lock_shared_rows(connection)
            found = connection.execute(query).scalar()  # inserted by another process meanwhile
        known.metrics[metric] = inserted_id(connection, schema.metrics, values) if found is None else found
    return known.metrics[metric]


_SUMMARISED = (RunStarted, RunDetached, RunEnded, VerdictReached)
"""Events after which the summary of the run is written anew."""

_STARTS = (RunStarted, TrialStarted)
"""Events whose rows must exist before samples and output are written."""


class RunWriter:
    """Writer of the run `run_id` to the library at `location`; continues the `detached_run`."""

    def __init__(self, run_id: str, location: Location, detached_run: DetachedRun | None) -> None:
        self.location = location
        self._run_id = run_id
        self.epoch = 0 if detached_run is None else detached_run.epoch
        self._plan: Plan | None = None if detached_run is None else detached_run.record.plan
        self._trials: dict[int, Trial] = {}
        self._headline: dict[int, Figure] = {}
        self._at = ""  # time of the current commit
        self._elsewhere = False  # imported: its ends are not those of the import
        for record in () if detached_run is None else detached_run.record.trials:
            self._trials[record.trial.id] = record.trial
            if record.state is State.DONE and record.figures and self._is_headline(record.trial):
                self._headline[record.trial.id] = record.figures[0]

    def write(
        self,
        connection: Connection,
        buffer: WriteBuffer,
        events: Sequence[Event],
        known: WrittenIds,
        moment: str,
        *,
        over: bool,
        batch: str | None = None,
    ) -> None:
        """Write events until `moment` in the transaction of `connection`; `over` if the end was written before.

        `batch` marks the run as written by this transaction.

        Raises StoreLostError if a row to be updated is missing.
        """
        self._at = moment
        if not any(isinstance(event, RunStarted) for event in events):
            # A process elsewhere may have marked the run as interrupted meanwhile.
            row = {} if over else {"state": State.RUNNING.value, "reason": ""}
            self._update_run(connection, {"touched": dialect_of(connection).moment(connection), **row})
        for event in events:
            if isinstance(event, _STARTS):
                self._write(connection, event, known)
        buffer.write(connection, self._run_id, known)
        for event in events:
            if not isinstance(event, _STARTS):
                self._write(connection, event, known)
        if any(isinstance(event, _SUMMARISED) for event in events):
            run_summaries.write(connection, self._run_id)
            stored_evidence.write(connection, [self._run_id])
        if batch is not None:
            self._update_run(connection, {"batch": batch})

    @property
    def _end(self) -> str | None:
        """The end of what ends now; None for what was measured elsewhere."""
        return None if self._elsewhere else self._at

    def _write(self, connection: Connection, event: Event, known: WrittenIds) -> None:
        match event:
            case RunStarted(_, plan, started, session):
                self._plan = plan
                row = run_row(self._run_id, plan, started, session)
                touched = dialect_of(connection).moment(connection)
                self._insert(connection, schema.runs, {**row, "epoch": self.epoch, "touched": touched})
            case OutputImported(source, content, imported):
                row = {"run_id": self._run_id, "name": source.name, "sha256": source.sha256, "content": content}
                self._insert(connection, schema.imported_outputs, row)
                self._update_run(connection, {"imported": imported})
                self._elsewhere = True
            case FactsRead(host, moment, facts):
                row = {"run_id": self._run_id, "host": host, "moment": moment.value}
                table = schema.facts  # may exist already if the run was detached
                same = [table.c[name] == value for name, value in row.items()]
                connection.execute(delete(table).where(*same))
                self._insert(connection, table, {**row, "content": to_text(facts_to_json(facts))})
            case FindingRaised():
                self._insert(connection, schema.findings, raised_row(self._run_id, event))
            case VerdictReached(verdict):
                self._write_verdict(connection, verdict)
            case TrialStarted(trial):
                self._trials[trial.id] = trial
                self._insert(connection, schema.trials, {"run_id": self._run_id, **trial_row(trial)})
                known.written.trials += 1
            case TrialEnded():
                self._end_trial(connection, event, known)
            case HostChanged() | SettingRestored():
                host_log.write_change(connection, self._run_id, event)
            case RunEnded(_, state, reason, cost):
                row = {
                    "state": state.value,
                    "reason": reason,
                    "ended": self._end,
                    "telemetry_cost": to_text(dict(cost)),
                }
                self._update_run(connection, {**row, "telemetry_program": to_text(dict(event.telemetry_program))})
                self._end_open_trials(connection, reason)
            case _:
                self._write_other(connection, event, known)

    def _write_other(self, connection: Connection, event: Event, known: WrittenIds) -> None:
        """Write events about workspaces, jobs, attempts, attaching and detaching."""
        jobs, workspaces = schema.jobs, schema.workspaces
        match event:
            case WorkspaceUsed(workspace=workspace):
                connection.execute(delete(workspaces).where(workspaces.c.nonce == workspace.nonce))
                self._insert(connection, workspaces, workspace_row(self._run_id, event, self._at))
            case WorkspaceRemoved(nonce):
                connection.execute(delete(workspaces).where(workspaces.c.nonce == nonce))
            case JobPlanned():
                self._insert(connection, jobs, job_row(self._run_id, event))
            case JobBegan(directory, began):
                self._update(connection, jobs, began_row(began), jobs.c.directory == directory)
            case AttemptEnded(trial):
                self._forget_attempt(connection, trial, known)
            case TrialAttached(trial, _, samples):
                self._write_samples(connection, trial.id, samples, known)
            case RunDetached():
                self._update_run(
                    connection, {"owner_pid": 0, "owner_boot": "", "owner_started": 0, "left_at": self._at}
                )

    def _forget_attempt(self, connection: Connection, trial: int, known: WrittenIds) -> None:
        """Delete the commands and output of a trial that will be repeated."""
        known.written.output.pop(trial, None)
        for table in (schema.jobs, schema.output):
            connection.execute(delete(table).where(table.c.run_id == self._run_id, table.c.trial == trial))

    def _write_samples(self, connection: Connection, trial: int, samples: Sequence[Sample], known: WrittenIds) -> None:
        """Replace all samples of a trial."""
        forget_samples(connection, self._run_id, trial, known)
        whole = WriteBuffer()
        whole.add_samples(trial, None, samples)
        whole.write(connection, self._run_id, known)

    def _write_verdict(self, connection: Connection, verdict: Verdict) -> None:
        """Write a verdict; replace an earlier one, since a continued run gets new verdicts."""
        table = schema.verdicts
        same = (table.c.step.is_not_distinct_from(verdict.step), table.c.host.is_not_distinct_from(verdict.host))
        connection.execute(delete(table).where(table.c.run_id == self._run_id, *same))
        self._insert(connection, table, verdict_row(self._run_id, verdict))

    def _end_trial(self, connection: Connection, event: TrialEnded, known: WrittenIds) -> None:
        row = {
            "state": event.state.value,
            "ended": self._end,
            "exit_status": event.exit_status,
            "notes": to_text(event.parsed.notes),
            "reason": event.reason,
            "origin": event.origin,
            "ended_clock": event.ended_clock,
        }
        if event.parsed.tool_version is not None:  # the version in the output overrides the probed one
            row["tool_version"] = event.parsed.tool_version
        table = schema.trials
        self._update(connection, table, row, (table.c.run_id == self._run_id) & (table.c.id == event.trial))
        write_figures(connection, self._run_id, event.trial, event.parsed.figures, known)
        if event.parsed.samples:
            # With the whole output, the parser may have corrected its live samples.
            self._write_samples(connection, event.trial, event.parsed.samples, known)
        series_statistics.keep(connection, self._run_id, event.trial)
        self._write_headline(connection, event)

    def _end_open_trials(self, connection: Connection, reason: str) -> None:
        """End the trials without a recorded end: no trial of an ended run is running."""
        table, row = schema.trials, {"state": State.PARTIAL.value, "ended": self._at, "reason": reason}
        still = (table.c.run_id == self._run_id) & (table.c.state == State.RUNNING.value)
        connection.execute(update(table).where(still).values(storable(row)))

    def _write_headline(self, connection: Connection, event: TrialEnded) -> None:
        """Update the run's headline: the mean of the first figure of its first step and host."""
        trial = self._trials.get(event.trial)
        if trial is None or self._plan is None or event.state is not State.DONE or not event.parsed.figures:
            return
        if not self._is_headline(trial):
            return
        self._headline[event.trial] = event.parsed.figures[0]
        metric = event.parsed.figures[0].metric
        values = {number: figure.value for number, figure in self._headline.items() if figure.metric == metric}
        halves = halves_of_trials(self._plan, trial.step, (self._trials[number].number for number in values))
        mean = balanced_mean(tuple(values.values()), halves)
        self._update_run(connection, {"headline": figure_text(metric, mean)})

    def _is_headline(self, trial: Trial) -> bool:
        """Return whether a trial counts for the run's headline: first step and host, not a warm-up."""
        plan = self._plan
        first = (plan.hosts[0], plan.steps[0].name) if plan is not None else None
        return not trial.warm_up and (trial.host, trial.step) == first

    def _insert(self, connection: Connection, table: Table, row: Row) -> None:
        connection.execute(insert(table), storable(row))

    def _update_run(self, connection: Connection, row: Row) -> None:
        self._update(connection, schema.runs, row, schema.runs.c.id == self._run_id)

    def _update(self, connection: Connection, table: Table, row: Row, chosen: ColumnElement[bool]) -> None:
        """Update a row of the run; raise StoreLostError if it is missing, as later rows would have no parent."""
        if not connection.execute(update(table).where(chosen).values(storable(row))).rowcount:
            raise lost(self.location, f"no longer contains the run {self._run_id}")


_ACKNOWLEDGED = "acknowledged"


def change_acknowledged(connection: Connection, run_id: str, change: Callable[[Plan], Plan]) -> None:
    """Replace the acknowledged findings in a run's plan by those of the plan that `change` returns.

    The rest of the stored plan is unchanged, and so is its hash, which excludes them. Raises StoreError if the plan
    cannot be read.
    """
    runs = schema.runs.c
    text = connection.execute(select(runs.plan).where(runs.id == run_id)).scalar_one()
    try:
        stored = json.loads(text)
        plan = plan_from_json(stored)
    except (FormatError, ValueError) as error:
        raise unreadable_run(run_id, error) from error
    written = {name: value for name, value in plan_to_json(change(plan)).items() if name in {"format", _ACKNOWLEDGED}}
    kept = {name: value for name, value in stored.items() if name != _ACKNOWLEDGED}
    connection.execute(update(schema.runs).where(runs.id == run_id).values(plan=to_text({**kept, **written})))
    run_summaries.write(connection, run_id)
