"""A detached run: what must be known to find what still measures on its hosts, and to go on with it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from app.events import State, Trial
from app.records import RunRecord, TrialRecord
from remote.jobs.job import Job
from remote.jobs.job_record import Began
from remote.jobs.workspace import Workspace
from suites.base import Purpose


@dataclass(frozen=True, slots=True)
class StoredJob:
    """A command of a trial on the host `where`; `began` is None where nobody was told that it did.

    `number` counts the commands of its purpose within the trial, `before` the bytes that earlier ones printed.
    """

    trial: int
    purpose: Purpose
    number: int
    where: str
    workspace: Workspace
    directory: str
    before: Mapping[str, int]
    began: Began | None = None


@dataclass(frozen=True, slots=True)
class StoredWorkspace:
    """A private directory on the host `where`, of `step` on `host`, which may still be there."""

    run_id: str
    step: str
    host: str
    where: str
    on_peer: bool
    workspace: Workspace


@dataclass(frozen=True, slots=True)
class LeftRun:
    """A run that nobody records and that did not end. `since` is when it was last recorded: UTC, ISO 8601.

    `by_choice` tells that the user let go of it, rather than that Benchwright ended while it ran. `epoch` counts how
    often it was taken over: whoever records it writes under the last one alone. `unseen` tells that it cannot be seen
    from this process whether the Benchwright that recorded it has ended.
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
        """The seconds since it was last recorded."""
        return seconds_since(self.since)

    @property
    def under_way(self) -> tuple[TrialRecord, ...]:
        """The trials that were measuring, at most one on a host; none between two trials."""
        return tuple(trial for trial in self.record.trials if trial.state is State.RUNNING)

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts on which something of it may still be; those of the plan where that is nowhere."""
        return tuple(dict.fromkeys(used.where for used in self.workspaces)) or self.record.summary.hosts


@dataclass(frozen=True, slots=True)
class TrialLeft:
    """The trial that was under way, found again: its output as far as it is stored, in the order in which it came.

    `measuring` is its command number `number`, None where that has not begun.
    """

    trial: Trial
    output: tuple[tuple[str, bytes], ...]
    number: int
    measuring: Job | None
    servers: tuple[Job, ...] = ()


def seconds_since(moment: str) -> float:
    """Return the seconds that have passed since `moment`, in UTC, ISO 8601; 0 where it is no such thing."""
    try:
        return (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()
    except (ValueError, TypeError):
        return 0.0
