"""Detached runs: runs that no process records, with their jobs and directories on the hosts."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.events import State
from app.records import RunRecord, TrialRecord
from app.timestamps import seconds_since
from remote.jobs.job_record import JobStart
from remote.jobs.workspace import Workspace
from suites.base import Purpose


@dataclass(frozen=True, slots=True)
class StoredJob:
    """A command of a trial on the host `where`; `began` is None if its start is not stored.

    `number` and `before` as in JobPlanned.
    """

    trial: int
    purpose: Purpose
    number: int
    where: str
    workspace: Workspace
    directory: str
    before: Mapping[str, int]
    began: JobStart | None = None


@dataclass(frozen=True, slots=True)
class StoredWorkspace:
    """A private directory on the host `where`, of `step` on `host`, that may still exist."""

    run_id: str
    step: str
    host: str
    where: str
    on_peer: bool
    workspace: Workspace


@dataclass(frozen=True, slots=True)
class DetachedRun:
    """A run that has not ended and that no process records. `since` is its last heartbeat (UTC, ISO 8601).

    `by_choice` is true if the user detached it, false if Benchwright ended during the run. `epoch` counts take-overs:
    only the owner of the last epoch may write. `unseen` is true if this process cannot verify that the last owner has
    ended.
    """

    record: RunRecord
    since: str
    by_choice: bool
    jobs: tuple[StoredJob, ...] = ()
    workspaces: tuple[StoredWorkspace, ...] = ()
    epoch: int = 0
    unseen: bool = False

    @property
    def id(self) -> str:
        """The run's id."""
        return self.record.summary.id

    @property
    def age(self) -> float:
        """Seconds since it was last recorded."""
        return seconds_since(self.since)

    @property
    def under_way(self) -> tuple[TrialRecord, ...]:
        """The running trials, at most one per host, or two of a duet."""
        return tuple(trial for trial in self.record.trials if trial.state is State.RUNNING)

    @property
    def unstored(self) -> tuple[StoredJob, ...]:
        """The measuring commands that were planned, the last of each trial, of trials whose start is not stored."""
        known = {record.trial.id for record in self.record.trials}
        planned = {job.trial: job for job in self.jobs if job.purpose is Purpose.MEASURE and job.trial not in known}
        return tuple(planned.values())

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that may still have its directories; if none, those of the plan."""
        return tuple(dict.fromkeys(used.where for used in self.workspaces)) or self.record.summary.hosts

    @property
    def needed(self) -> frozenset[str]:
        """The hosts required to attach it: those with its directories or running trials, and their peers."""
        plan, trials = self.record.plan, [record.trial for record in self.under_way]
        peers = {plan.step(trial.step).peer or trial.host for trial in trials}
        return frozenset({used.where for used in self.workspaces} | {trial.host for trial in trials} | peers)
