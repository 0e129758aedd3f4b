"""What happens during a run, in order, as immutable data: the store, the window and the command line all read it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from app.plans.plan import Plan
from app.plans.repetition import Decision
from remote.jobs.job_record import Began
from remote.jobs.workspace import Workspace
from remote.link import LinkState
from suites.base import Command, Parsed, Purpose
from suites.facts import Facts
from suites.verdict import Verdict
from suites.vocab import Finding, Labels, Metric, Sample


class State(StrEnum):
    """How a run or a trial stands. RUNNING: under way, or detached on its host. PARTIAL: stopped or broken off,
    what was measured is kept."""

    RUNNING = "running"
    DONE = "done"
    PARTIAL = "partial"
    FAILED = "failed"


class Moment(StrEnum):
    """When facts were read."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class Trial:
    """One execution of a step on a host. `id` is unique within the run; `number` counts from 1.

    Warm-ups count for themselves. `commands` are the exact ones that run; `started` is UTC, ISO 8601,
    `clock` the host's monotonic clock (seconds since boot) when the measuring command began, None if it never did.
    """

    id: int
    host: str
    step: str
    number: int
    warm_up: bool
    commands: tuple[Command, ...]
    started: str
    clock: float | None = None
    tool_version: str | None = None


@dataclass(frozen=True, slots=True)
class RunStarted:
    """The run exists in the store."""

    run_id: str
    plan: Plan
    started: str


@dataclass(frozen=True, slots=True)
class Activity:
    """What is being done now, in words."""

    text: str
    host: str | None = None


@dataclass(frozen=True, slots=True)
class LibraryChanged:
    """The library at `path` takes nothing of the run, and `problem` says why; empty: it takes everything again.

    It is said anew for as long as it is so. The run waits meanwhile, and what measures on a host goes on there.
    `on_stop` is what becomes of the run where it is stopped now.
    """

    path: Path
    problem: str = ""
    remedy: str = ""
    on_stop: str = ""


@dataclass(frozen=True, slots=True)
class FactsRead:
    """The facts of a host, before or after."""

    host: str
    moment: Moment
    facts: Facts


@dataclass(frozen=True, slots=True)
class FindingRaised:
    """A check spoke. `trial` is its trial's id, None where it is about the whole step or plan."""

    finding: Finding
    trial: int | None = None


@dataclass(frozen=True, slots=True)
class StepEnded:
    """All trials of a step on a host are made: it can be judged."""

    step: str
    host: str


@dataclass(frozen=True, slots=True)
class VerdictReached:
    """What may be said of a step on a host, or of the whole run, whose verdict names neither."""

    verdict: Verdict


@dataclass(frozen=True, slots=True)
class TrialStarted:
    """The measuring command of a trial begins. `expected` is its estimated duration in seconds, or None."""

    trial: Trial
    expected: float | None


@dataclass(frozen=True, slots=True)
class OutputRead:
    """Raw output of a trial, byte for byte."""

    trial: int
    stream: str
    data: bytes


@dataclass(frozen=True, slots=True)
class SampleRead:
    """A sample of a trial, as it arrived. Its time is seconds since the trial's `clock`."""

    trial: int
    sample: Sample


@dataclass(frozen=True, slots=True)
class TelemetryRead:
    """Samples of the host itself. Their time is the host's monotonic clock."""

    host: str
    samples: tuple[Sample, ...]


@dataclass(frozen=True, slots=True)
class TrialEnded:
    """A trial ended. `reason` says why in words where it is not DONE."""

    trial: int
    state: State
    exit_status: int | None
    parsed: Parsed
    reason: str = ""


@dataclass(frozen=True, slots=True)
class HostChange:
    """A setting of a host, changed for a run: what the kernel's file at `path` said before and during it.

    `before` is None where nothing is to be put back, as after the page cache was dropped, before the trial `trial`.
    """

    host: str
    what: str
    path: str
    before: str | None
    during: str
    trial: int | None = None


@dataclass(frozen=True, slots=True)
class HostChanged:
    """A setting was changed on the host, after this was noted down there. `at` is UTC, ISO 8601."""

    change: HostChange
    at: str


@dataclass(frozen=True, slots=True)
class HostPutBack:
    """The setting at `path`, which `run` had changed (empty: this run), was put back.

    Where it was not, `problem` says why, and `pending` whether that is still to be done.
    """

    host: str
    path: str
    at: str
    problem: str = ""
    pending: bool = False
    run: str = ""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the run is: trials done of all, and the seconds still expected, each None where it cannot be known.

    `exact` is False where the trials depend on what they show: the total is then a forecast.
    """

    done: int
    total: int | None
    remaining: float | None
    exact: bool = True


@dataclass(frozen=True, slots=True)
class PolicyDecided:
    """What the trials of a step on a host say about going on: the interval so far, and the forecast.

    `metric` and `labels` name the figure that needs most, None where there is none yet.
    """

    host: str
    step: str
    metric: Metric | None
    labels: Labels
    decision: Decision


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The run ended. `reason` says why where it is not DONE; `telemetry_cost` is the share of one core
    that watching took on each host, where it could be read."""

    run_id: str
    state: State
    reason: str = ""
    telemetry_cost: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LinkChanged:
    """The way to a host has changed. `since` is when it was last heard, on the workstation's monotonic clock.

    What runs on the host goes on in every state. `detail` says in words what broke, or why it is no longer tried;
    `restarted` is since when the host runs, where it is no longer the boot of before.
    """

    host: str
    state: LinkState
    since: float
    attempt: int = 0
    detail: str = ""
    restarted: str = ""


@dataclass(frozen=True, slots=True)
class WorkspaceUsed:
    """A private directory on the host `where` is about to be made, or has been, for `step` on `host`."""

    step: str
    host: str
    where: str
    on_peer: bool
    workspace: Workspace


@dataclass(frozen=True, slots=True)
class WorkspaceRemoved:
    """A private directory is gone from its host, and everything in it."""

    nonce: str


@dataclass(frozen=True, slots=True)
class JobPlanned:
    """A command is about to be started: enough to find it again, whatever happens between here and the host.

    `number` counts the commands of its purpose within the trial, `before` the bytes that earlier ones printed.
    """

    trial: int
    purpose: Purpose
    number: int
    where: str
    workspace: Workspace
    directory: str
    before: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class JobBegan:
    """The command in `directory` runs."""

    directory: str
    began: Began


@dataclass(frozen=True, slots=True)
class AttemptEnded:
    """What began for a trial of which nothing was told has ended: the trial will be made anew, under the same id."""

    trial: int


@dataclass(frozen=True, slots=True)
class TrialAttached:
    """A detached trial is followed again. `samples` are all that its output so far holds."""

    trial: Trial
    expected: float | None
    samples: tuple[Sample, ...]


@dataclass(frozen=True, slots=True)
class RunAttached:
    """A detached run goes on; it began `age` seconds ago."""

    run_id: str
    plan: Plan
    age: float


@dataclass(frozen=True, slots=True)
class RunLeft:
    """The run was detached. What measures on a host goes on there; the rest waits until the run is attached."""

    run_id: str


Event = (
    RunStarted
    | Activity
    | LibraryChanged
    | FactsRead
    | FindingRaised
    | StepEnded
    | VerdictReached
    | TrialStarted
    | OutputRead
    | SampleRead
    | TelemetryRead
    | TrialEnded
    | HostChanged
    | HostPutBack
    | Progress
    | PolicyDecided
    | RunEnded
    | LinkChanged
    | WorkspaceUsed
    | WorkspaceRemoved
    | JobPlanned
    | JobBegan
    | AttemptEnded
    | TrialAttached
    | RunAttached
    | RunLeft
)
