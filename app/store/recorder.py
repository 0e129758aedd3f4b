"""Writes down a run as it happens."""

import contextlib
import statistics
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from sqlalchemy import ColumnElement, Connection, Table, delete, func, insert, select, update

from app.events import (
    Activity,
    AttemptEnded,
    Event,
    FactsRead,
    FindingRaised,
    HostChanged,
    HostPutBack,
    JobBegan,
    JobPlanned,
    LibraryChanged,
    LinkChanged,
    OutputRead,
    Progress,
    RunAttached,
    RunEnded,
    RunLeft,
    RunStarted,
    SampleRead,
    State,
    StepEnded,
    TelemetryRead,
    Trial,
    TrialAttached,
    TrialEnded,
    TrialStarted,
    VerdictReached,
    WorkspaceRemoved,
    WorkspaceUsed,
)
from app.formats import facts_to_json
from app.moments import now
from app.plans.plan import Plan
from app.records import RunRecord, SampleSeries
from app.runs.left import LeftRun
from app.store import host_log, reading, schema
from app.store.batch import Batch, Known, forget_samples, write_figures
from app.store.database import Database
from app.store.errors import StoreError, TakenOverError, lost
from app.store.held import Held
from app.store.library_file import make_new
from app.store.rows import (
    Row,
    began_row,
    finding_row,
    job_row,
    run_row,
    storable,
    to_text,
    trial_row,
    verdict_row,
    workspace_row,
)
from app.store.run_connection import RunConnection
from app.wording import figure_text
from suites.verdict import Verdict
from suites.vocab import Figure, Sample

GATHERING = 0.5
"""Seconds for which samples and output are gathered before they are committed."""

BEAT = 5.0
"""Seconds after which a recorder that has nothing to write gives a sign of life: it dates the run anew."""

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

    Every transaction is refused with TakenOverError once another process has taken the run over.
    """

    def __init__(self, database: Database, run_id: str, left: LeftRun | None = None) -> None:
        """Write down the run `run_id`, or go on with one that was `left` to itself."""
        self._run_id = run_id
        self._lock = threading.Lock()
        self._library = RunConnection(database, run_id)
        self._batch = Batch()
        self._waiting: list[Event] = []
        self._known = Known()
        self._left = left
        self._held = Held(whole=left is None)
        self._committed = time.monotonic()
        self._kept_until = ""
        self._trials: dict[int, Trial] = {}
        self._samples: dict[int, list[Sample]] = {}
        self._headline: dict[int, Figure] = {}
        self._plan: Plan | None = None
        self._epoch = 0 if left is None else left.epoch
        self._begun = left is not None  # the run is in the store
        self._over = False  # its end is, or that it was let go of
        self._taken_over: TakenOverError | None = None
        self.when_taken_over: Callable[[], None] = lambda: None
        """Called, from a thread of the recorder's own, where nothing is recorded when it is seen."""
        if left is not None:
            self._take_up(left)
        _live.add(run_id)
        self._closing = threading.Event()
        self._beating = threading.Thread(target=self._beat, name=f"beat {run_id}", daemon=True)
        self._beating.start()

    def _take_up(self, left: LeftRun) -> None:
        self._plan = left.record.plan
        for record in left.record.trials:
            self._trials[record.trial.id] = record.trial
            if record.state is State.DONE and record.figures and self._leads(record.trial):
                self._headline[record.trial.id] = record.figures[0]

    @property
    def run_id(self) -> str:
        """The run that is written down."""
        return self._run_id

    @property
    def folder(self) -> Path | None:
        """The folder of the library, None where it is gone."""
        return self._library.folder()

    @property
    def path(self) -> Path:
        """Where the run is written down now."""
        return self._library.database.path

    def remember(self, event: Event) -> None:
        """Hold what is stored of a run that is gone on with, as far as it can be written again from memory."""
        with self._lock:
            before = Batch()
            match event:
                case SampleRead(trial, sample):
                    before.add_samples(trial, None, [sample])
                case TelemetryRead(host, samples):
                    before.add_samples(None, host, samples)
            self._held.add(before, () if before else (event,))

    def record(self, event: Event) -> None:
        """Keep `event`; raise StoreError where the store cannot take it, saying what is kept."""
        with self._lock:
            self._refuse_taken_over()
            self._take(event)
            if self._waiting or time.monotonic() - self._committed >= GATHERING:
                self._commit()

    def put_by(self, event: Event) -> None:
        """Keep `event` with what waits, for when the store takes something again: it has just refused."""
        with self._lock:
            self._take(event)

    def _take(self, event: Event) -> None:
        match event:
            case Activity() | LibraryChanged() | Progress() | LinkChanged() | RunAttached() | StepEnded():
                return
            case OutputRead(trial, stream, data):
                self._batch.add_output(trial, stream, data)
            case SampleRead(trial, sample):
                self._batch.add_samples(trial, None, [sample])
                self._samples.setdefault(trial, []).append(sample)
            case TelemetryRead(host, samples):
                self._batch.add_samples(None, host, samples)
            case TrialAttached(trial, _, samples):
                self._samples[trial.id] = list(samples)
                self._waiting.append(event)
            case TrialEnded(trial, parsed=parsed):
                if parsed.samples == tuple(self._samples.pop(trial, ())):  # nothing but what was committed as it came
                    event = replace(event, parsed=replace(parsed, samples=()))
                self._waiting.append(event)
            case _:
                self._waiting.append(event)

    def flush(self) -> None:
        """Commit what was gathered."""
        with self._lock:
            self._refuse_taken_over()
            if self._batch or self._waiting:
                self._commit()

    @property
    def taken_over(self) -> bool:
        """Whether another process has taken the run over, as far as was seen."""
        return self._taken_over is not None

    def _refuse_taken_over(self) -> None:
        if self._taken_over is not None:
            raise self._taken_over

    def _beat(self) -> None:
        """Give signs of life until close(): they tell Benchwrights that cannot see this process that it lives."""
        while not self._closing.wait(BEAT):
            with self._lock, contextlib.suppress(StoreError):  # what is recorded next will meet it, and say so
                quiet = time.monotonic() - self._committed >= BEAT
                if self._begun and not self._over and self._taken_over is None and quiet:
                    self._commit()
            if self._taken_over is not None:
                self.when_taken_over()
                return

    def stored(self) -> RunRecord:
        """Return what is stored of the run by now, without its samples."""
        self.flush()
        with self._library.database.reading() as connection:
            return reading.record(connection, self._run_id)

    def stored_samples(
        self, trials: Sequence[int], host: str, window: tuple[float, float]
    ) -> tuple[SampleSeries, Mapping[str, tuple[Sample, ...]]]:
        """Return the stored samples of `trials`, and the telemetry of `host` in a window on its monotonic clock."""
        with self._library.database.reading() as connection:
            return (
                reading.samples(connection, self._run_id, trials),
                reading.telemetry(connection, self._run_id, host, window),
            )

    def verify(self) -> None:
        """Read back over a new connection how much of the run is at the store's path.

        Raises StoreError where that cannot be read, StoreLostError where it is not what was written.
        """
        with self._lock:
            if not self._known.written.agrees(self._library.read_back()):
                raise lost(self.path, f"not all of the run {self._run_id} is in it")

    def save_as(self, path: Path) -> str:
        """Write the library and what waits of the run to a new file at `path`, and go on there; return what is lost.

        The library is read over the connection that is open, wherever its file is by now. Where that cannot be, the
        run alone is written, from memory. Raises StoreError, and nothing is changed then.
        """
        with self._lock:
            before = (self._library, self._known)
            make_new(path)
            try:
                missing = self._begin_anew(path)
                self._commit()
            except BaseException:
                self._library.close()
                self._library, self._known = before
                path.unlink(missing_ok=True)
                raise
            before[0].discard()
        self.verify()
        return missing

    def close(self) -> None:
        """Commit what was gathered and let go of the store. A run that has not ended counts as interrupted."""
        self._closing.set()
        self._beating.join()
        try:
            if self._taken_over is None:
                self.flush()
        finally:
            with self._lock:
                _live.discard(self._run_id)
                self._library.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self.close()
        except StoreError:
            if not isinstance(error, StoreError):  # which says it already
                raise

    def _commit(self) -> None:
        """Write what waits in one transaction; where that fails, all of it goes on waiting."""
        known = self._known.copy()
        try:
            with self._library.database.transaction(self._connected(known)) as connection:
                self._check_epoch(connection)
                self._write_all(connection, self._batch, self._waiting, known)
        except TakenOverError as error:
            self._taken_over = error
            raise
        except StoreError as error:
            self._library.regain(error, self._known.written)
            raise type(error)(f"{error.message} {self._kept()}", error.remedy) from error
        self._held.add(self._batch, self._waiting)
        self._known = known
        self._begun = True
        self._over = self._over or any(isinstance(event, RunEnded | RunLeft) for event in self._waiting)
        self._batch = Batch()
        self._waiting = []
        self._committed = time.monotonic()
        self._kept_until = f"{datetime.now(UTC):%H:%M:%S} UTC"

    def _write_all(self, connection: Connection, batch: Batch, events: Sequence[Event], known: Known) -> None:
        if not any(isinstance(event, RunStarted) for event in events):
            # Who could not see this process may have marked the run as interrupted meanwhile.
            row = {} if self._over else {"state": State.RUNNING.value, "reason": ""}
            self._update_run(connection, {"touched": now(), **row})
        batch.write(connection, self._run_id, known)
        for event in events:
            self._write(connection, event, known)

    def _connected(self, known: Known) -> Connection:
        connection = self._library.connected()
        if self._left is not None and not self._kept_until:
            known.written = self._library.read_back() or known.written
        return connection

    def _kept(self) -> str:
        """Return what is kept of the run, as far as it can be read back."""
        found = None
        with contextlib.suppress(StoreError):
            found = self._library.read_back()
        if not self._known.written.agrees(found):
            return f"What is measured in the run {self._run_id} is in memory alone."
        return f"Of the run {self._run_id}, everything up to {self._kept_until or 'when it was left'} is kept."

    def _begin_anew(self, path: Path) -> str:
        """Go on in the empty file at `path` with what was committed; return what is lost by that."""
        old, self._library = self._library, RunConnection(Database(path), self._run_id)
        if old.copy_to(path, self._known.written):
            return ""
        self._known = Known()
        path.write_bytes(b"")
        for batch, events in self._held.commits():
            with self._library.database.transaction(self._library.connected()) as connection:
                self._write_all(connection, batch, events, self._known)
        others = "The other runs of the library are not in it."
        return others if self._held.whole else f"{others} Of this run, not all samples and output are in it."

    def _check_epoch(self, connection: Connection) -> None:
        """Raise TakenOverError where the run was taken over since this recorder began."""
        table = schema.runs.c
        query = select(table.epoch, table.owner_host, table.owner_pid).where(table.id == self._run_id)
        found = connection.execute(query).one_or_none()
        if found is not None and found.epoch != self._epoch:
            by = f" by Benchwright on {found.owner_host} (process {found.owner_pid})" if found.owner_pid else ""
            raise TakenOverError(
                f"The run {self._run_id} was taken over{by}: this Benchwright records nothing more of it.",
                "What runs on its hosts goes on. “benchwright attach --list” shows whether the run waits.",
            )

    def _write(self, connection: Connection, event: Event, known: Known) -> None:
        match event:
            case RunStarted(_, plan, started):
                self._plan = plan
                self._insert(connection, schema.runs, {**run_row(self._run_id, plan, started), "epoch": self._epoch})
            case FactsRead(host, moment, facts):
                row = {"run_id": self._run_id, "host": host, "moment": moment.value}
                table = schema.facts  # they may have been read before the run was left to itself
                same = [table.c[name] == value for name, value in row.items()]
                connection.execute(delete(table).where(*same))
                self._insert(connection, table, {**row, "content": to_text(facts_to_json(facts))})
            case FindingRaised(finding, trial):
                about = {"run_id": self._run_id, "trial": trial}
                self._insert(connection, schema.findings, {**about, **finding_row(finding)})
            case VerdictReached(verdict):
                self._write_verdict(connection, verdict)
            case TrialStarted(trial):
                self._trials[trial.id] = trial
                self._insert(connection, schema.trials, {"run_id": self._run_id, **trial_row(trial)})
                known.written.trials += 1
            case TrialEnded():
                self._end_trial(connection, event, known)
            case HostChanged() | HostPutBack():
                host_log.write_change(connection, self._run_id, event)
            case RunEnded(_, state, reason, cost):
                row = {"state": state.value, "reason": reason, "ended": now(), "telemetry_cost": to_text(dict(cost))}
                self._update_run(connection, row)
                self._end_open_trials(connection, reason)
            case _:
                self._write_where(connection, event, known)

    def _write_where(self, connection: Connection, event: Event, known: Known) -> None:
        """Write what is needed to find a command again, or that the run was left to itself."""
        jobs, workspaces = schema.jobs, schema.workspaces
        match event:
            case WorkspaceUsed(workspace=workspace):
                connection.execute(delete(workspaces).where(workspaces.c.nonce == workspace.nonce))
                self._insert(connection, workspaces, workspace_row(self._run_id, event, now()))
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
            case RunLeft():
                self._update_run(connection, {"owner_pid": 0, "owner_boot": "", "owner_started": 0, "left_at": now()})

    def _forget_attempt(self, connection: Connection, trial: int, known: Known) -> None:
        """Delete the commands and the output of a trial that is made anew."""
        output = schema.output.c
        chosen = (output.run_id == self._run_id) & (output.trial == trial)
        length = select(func.sum(func.length(output.data))).where(chosen)
        known.written.output -= connection.execute(length).scalar() or 0
        for table in (schema.jobs, schema.output):
            connection.execute(delete(table).where(table.c.run_id == self._run_id, table.c.trial == trial))

    def _write_samples(self, connection: Connection, trial: int, samples: Sequence[Sample], known: Known) -> None:
        """Write all samples of a trial, in place of those there are."""
        forget_samples(connection, self._run_id, trial, known)
        whole = Batch()
        whole.add_samples(trial, None, samples)
        whole.write(connection, self._run_id, known)

    def _write_verdict(self, connection: Connection, verdict: Verdict) -> None:
        """Write a verdict in place of an earlier one: a run that is gone on with is judged again."""
        table = schema.verdicts
        place = (table.c.step.is_(verdict.step), table.c.host.is_(verdict.host))
        connection.execute(delete(table).where(table.c.run_id == self._run_id, *place))
        self._insert(connection, table, verdict_row(self._run_id, verdict))

    def _end_trial(self, connection: Connection, event: TrialEnded, known: Known) -> None:
        row = {
            "state": event.state.value,
            "ended": now(),
            "exit_status": event.exit_status,
            "notes": to_text(event.parsed.notes),
            "reason": event.reason,
        }
        if event.parsed.tool_version is not None:  # the output knows better than what was asked beforehand
            row["tool_version"] = event.parsed.tool_version
        table = schema.trials
        self._update(connection, table, row, (table.c.run_id == self._run_id) & (table.c.id == event.trial))
        write_figures(connection, self._run_id, event.trial, event.parsed.figures, known)
        if event.parsed.samples:
            # The parser's last word: with the whole output it may know more than it did live.
            self._write_samples(connection, event.trial, event.parsed.samples, known)
        self._write_headline(connection, event)

    def _end_open_trials(self, connection: Connection, reason: str) -> None:
        """End the trials of which no end was told: in a run that has ended, nothing is under way."""
        table, row = schema.trials, {"state": State.PARTIAL.value, "ended": now(), "reason": reason}
        still = (table.c.run_id == self._run_id) & (table.c.state == State.RUNNING.value)
        connection.execute(update(table).where(still).values(storable(row)))

    def _write_headline(self, connection: Connection, event: TrialEnded) -> None:
        """Keep the first step's first figure, the median of its trials so far, as the run's line in the library."""
        trial = self._trials.get(event.trial)
        if trial is None or self._plan is None or event.state is not State.DONE or not event.parsed.figures:
            return
        if not self._leads(trial):
            return
        self._headline[event.trial] = event.parsed.figures[0]
        metric = event.parsed.figures[0].metric
        values = [figure.value for figure in self._headline.values() if figure.metric == metric]
        self._update_run(connection, {"headline": figure_text(metric, statistics.median(values))})

    def _leads(self, trial: Trial) -> bool:
        """Return whether the figures of a trial stand in the run's line in the library."""
        plan = self._plan
        first = (plan.hosts[0], plan.steps[0].name) if plan is not None else None
        return not trial.warm_up and (trial.host, trial.step) == first

    def _insert(self, connection: Connection, table: Table, row: Row) -> None:
        connection.execute(insert(table).values(storable(row)))

    def _update_run(self, connection: Connection, row: Row) -> None:
        self._update(connection, schema.runs, row, schema.runs.c.id == self._run_id)

    def _update(self, connection: Connection, table: Table, row: Row, chosen: ColumnElement[bool]) -> None:
        """Change a row of the run; raise StoreLostError where there is none: what came after it would be nobody's."""
        if not connection.execute(update(table).where(chosen).values(storable(row))).rowcount:
            raise lost(self.path, f"the run {self._run_id} is no longer in it")
