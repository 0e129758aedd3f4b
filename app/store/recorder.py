"""Writes down a run as it happens."""

import statistics
import threading
import time
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

from sqlalchemy import Connection, Table, insert, update

from app.events import (
    Activity,
    Event,
    FactsRead,
    FindingRaised,
    HostChanged,
    HostPutBack,
    OutputRead,
    Progress,
    RunEnded,
    RunStarted,
    SampleRead,
    State,
    TelemetryRead,
    Trial,
    TrialEnded,
    TrialStarted,
)
from app.formats import facts_to_json
from app.plan import Plan
from app.store import host_log, schema
from app.store.batch import Batch, Known, forget_samples, write_figures
from app.store.database import Database
from app.store.errors import StoreError
from app.store.rows import Row, finding_row, run_row, storable, to_text, trial_row
from app.wording import figure_text
from suites.vocab import Figure, Sample

GATHERING = 0.5
"""Seconds for which samples and output are gathered before they are committed."""

_live: set[str] = set()
"""Runs that this process records now. A run that names this process as its owner and is not here was given up."""


def is_recorded_here(run_id: str) -> bool:
    """Return whether a recorder of this process still writes the run."""
    return run_id in _live


class Recorder:
    """Takes the events of one run, from any thread, and keeps them.

    What happened once (a trial began, ended, a finding) is on disk when record() returns. Samples and output are
    gathered for GATHERING seconds, so a crash costs less than a second of them. What could not be written because
    of a StoreError waits, and is tried again with the next event.
    """

    def __init__(self, database: Database, run_id: str) -> None:
        self._database = database
        self._run_id = run_id
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._batch = Batch()
        self._waiting: list[Event] = []
        self._known = Known()
        self._committed = time.monotonic()
        self._kept_until = "its beginning"
        self._trials: dict[int, Trial] = {}
        self._samples: dict[int, list[Sample]] = {}
        self._headline: dict[int, Figure] = {}
        self._plan: Plan | None = None
        _live.add(run_id)

    def record(self, event: Event) -> None:
        """Keep `event`; raise StoreError where the store cannot take it, saying what is kept."""
        with self._lock:
            match event:
                case Activity() | Progress():
                    return
                case OutputRead(trial, stream, data):
                    self._batch.add_output(trial, stream, data)
                case SampleRead(trial, sample):
                    self._batch.add_samples(trial, None, [sample])
                    self._samples.setdefault(trial, []).append(sample)
                case TelemetryRead(host, samples):
                    self._batch.add_samples(None, host, samples)
                case _:
                    self._waiting.append(event)
            if self._waiting or time.monotonic() - self._committed >= GATHERING:
                self._commit()

    def flush(self) -> None:
        """Commit what was gathered."""
        with self._lock:
            if self._batch or self._waiting:
                self._commit()

    def close(self) -> None:
        """Commit what was gathered and let go of the store. A run that has not ended counts as interrupted."""
        try:
            self.flush()
        finally:
            with self._lock:
                _live.discard(self._run_id)
                if self._connection is not None:
                    self._connection.close()
                    self._connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _commit(self) -> None:
        """Write what waits in one transaction; where that fails, all of it goes on waiting."""
        known = self._known.copy()
        try:
            if self._connection is None:
                self._connection = self._database.connect()
            with self._database.transaction(self._connection) as connection:
                self._batch.write(connection, self._run_id, known)
                for event in self._waiting:
                    self._write(connection, event, known)
        except StoreError as error:
            kept = f"Of the run {self._run_id}, everything up to {self._kept_until} is kept."
            raise type(error)(f"{error.message} {kept}", error.remedy) from error
        self._known = known
        self._batch = Batch()
        self._waiting = []
        self._committed = time.monotonic()
        self._kept_until = f"{datetime.now(UTC):%H:%M:%S} UTC"

    def _write(self, connection: Connection, event: Event, known: Known) -> None:
        match event:
            case RunStarted(_, plan, started):
                self._plan = plan
                self._insert(connection, schema.runs, run_row(self._run_id, plan, started))
            case FactsRead(host, moment, facts):
                row = {"host": host, "moment": moment.value, "content": to_text(facts_to_json(facts))}
                self._insert(connection, schema.facts, {"run_id": self._run_id, **row})
            case FindingRaised(finding, trial):
                about = {"run_id": self._run_id, "trial": trial}
                self._insert(connection, schema.findings, {**about, **finding_row(finding)})
            case TrialStarted(trial):
                self._trials[trial.id] = trial
                self._insert(connection, schema.trials, {"run_id": self._run_id, **trial_row(trial)})
            case TrialEnded():
                self._end_trial(connection, event, known)
            case HostChanged() | HostPutBack():
                host_log.write_change(connection, self._run_id, event)
            case RunEnded(_, state, reason, cost):
                row = {"state": state.value, "reason": reason, "ended": _now(), "telemetry_cost": to_text(dict(cost))}
                self._update_run(connection, row)

    def _end_trial(self, connection: Connection, event: TrialEnded, known: Known) -> None:
        row = {
            "state": event.state.value,
            "ended": _now(),
            "exit_status": event.exit_status,
            "notes": to_text(event.parsed.notes),
            "reason": event.reason,
        }
        if event.parsed.tool_version is not None:  # the output knows better than what was asked beforehand
            row["tool_version"] = event.parsed.tool_version
        table = schema.trials
        same = (table.c.run_id == self._run_id, table.c.id == event.trial)
        connection.execute(update(table).where(*same).values(storable(row)))
        write_figures(connection, self._run_id, event.trial, event.parsed.figures, known)
        live = tuple(self._samples.pop(event.trial, ()))
        if event.parsed.samples and event.parsed.samples != live:
            # The parser's last word: with the whole output it may know more than it did live.
            forget_samples(connection, self._run_id, event.trial, known)
            whole = Batch()
            whole.add_samples(event.trial, None, event.parsed.samples)
            whole.write(connection, self._run_id, known)
        self._write_headline(connection, event)

    def _write_headline(self, connection: Connection, event: TrialEnded) -> None:
        """Keep the first step's first figure, the median of its trials so far, as the run's line in the library."""
        trial = self._trials.get(event.trial)
        if trial is None or self._plan is None or event.state is not State.DONE or not event.parsed.figures:
            return
        if trial.warm_up or (trial.host, trial.step) != (self._plan.hosts[0], self._plan.steps[0].name):
            return
        self._headline[event.trial] = event.parsed.figures[0]
        metric = event.parsed.figures[0].metric
        values = [figure.value for figure in self._headline.values() if figure.metric == metric]
        self._update_run(connection, {"headline": figure_text(metric, statistics.median(values))})

    def _insert(self, connection: Connection, table: Table, row: Row) -> None:
        connection.execute(insert(table).values(storable(row)))

    def _update_run(self, connection: Connection, row: Row) -> None:
        connection.execute(update(schema.runs).where(schema.runs.c.id == self._run_id).values(storable(row)))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
