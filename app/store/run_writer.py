"""Writes what happens in a run into the tables of its library."""

import statistics
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import ColumnElement, Connection, Table, delete, insert, update

from app.events import (
    AttemptEnded,
    Event,
    FactsRead,
    FindingRaised,
    HostChanged,
    HostPutBack,
    JobBegan,
    JobPlanned,
    RunEnded,
    RunLeft,
    RunStarted,
    State,
    Trial,
    TrialAttached,
    TrialEnded,
    TrialStarted,
    VerdictReached,
    WorkspaceRemoved,
    WorkspaceUsed,
)
from app.formats import facts_to_json
from app.plans.plan import Plan
from app.runs.left import LeftRun
from app.store import host_log, schema
from app.store.batch import Batch, Known, forget_samples, write_figures
from app.store.errors import lost
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
from app.wording import figure_text
from suites.verdict import Verdict
from suites.vocab import Figure, Sample


class RunWriter:
    """Writes the run `run_id` to the library at `path`, or what comes after what is stored of one that was `left`."""

    def __init__(self, run_id: str, path: Path, left: LeftRun | None) -> None:
        self.path = path
        self._run_id = run_id
        self.epoch = 0 if left is None else left.epoch
        self._plan: Plan | None = None if left is None else left.record.plan
        self._trials: dict[int, Trial] = {}
        self._headline: dict[int, Figure] = {}
        self._at = ""  # the moment of what is written
        for record in () if left is None else left.record.trials:
            self._trials[record.trial.id] = record.trial
            if record.state is State.DONE and record.figures and self._leads(record.trial):
                self._headline[record.trial.id] = record.figures[0]

    def write(
        self, connection: Connection, batch: Batch, events: Sequence[Event], known: Known, moment: str, *, over: bool
    ) -> None:
        """Write what happened until `moment` in the transaction of `connection`; `over` where the end was written.

        Raises StoreLostError where a row that it changes is not there.
        """
        self._at = moment
        if not any(isinstance(event, RunStarted) for event in events):
            # Who could not see this process may have marked the run as interrupted meanwhile.
            row = {} if over else {"state": State.RUNNING.value, "reason": ""}
            self._update_run(connection, {"touched": moment, **row})
        batch.write(connection, self._run_id, known)
        for event in events:
            self._write(connection, event, known)

    def _write(self, connection: Connection, event: Event, known: Known) -> None:
        match event:
            case RunStarted(_, plan, started):
                self._plan = plan
                self._insert(connection, schema.runs, {**run_row(self._run_id, plan, started), "epoch": self.epoch})
            case FactsRead(host, moment, facts):
                row = {"run_id": self._run_id, "host": host, "moment": moment.value}
                table = schema.facts  # they may have been read before the run was detached
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
                row = {"state": state.value, "reason": reason, "ended": self._at, "telemetry_cost": to_text(dict(cost))}
                self._update_run(connection, row)
                self._end_open_trials(connection, reason)
            case _:
                self._write_where(connection, event, known)

    def _write_where(self, connection: Connection, event: Event, known: Known) -> None:
        """Write what is needed to find a command again, or that the run was detached."""
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
            case RunLeft():
                self._update_run(
                    connection, {"owner_pid": 0, "owner_boot": "", "owner_started": 0, "left_at": self._at}
                )

    def _forget_attempt(self, connection: Connection, trial: int, known: Known) -> None:
        """Delete the commands and the output of a trial that is made anew."""
        known.written.output.pop(trial, None)
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
            "ended": self._at,
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
        """End the trials of which no end was recorded: in a run that has ended, none is under way."""
        table, row = schema.trials, {"state": State.PARTIAL.value, "ended": self._at, "reason": reason}
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
            raise lost(self.path, f"no longer holds the run {self._run_id}")
