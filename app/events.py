"""Events of a run as immutable data, consumed in order by the store, the window and the command line."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain

from app.library_location import Location
from app.plans.plan import Plan
from remote.connection_state import LinkState as LinkState  # noqa: PLC0414 (re-exported for the window)
from remote.errors import ConnectOutcome
from remote.jobs.job_record import JobStart
from remote.jobs.workspace import Workspace
from suites.base import Command, Purpose
from suites.facts import Facts
from suites.outputs import ParsedTrial
from suites.perf import is_profiled
from suites.verdict import Limiter, Verdict
from suites.vocab import Finding, Labels, Metric, Sample


class State(StrEnum):
    """State of a run or trial. RUNNING: in progress or detached. PARTIAL: ended early, with its measurements kept."""

    RUNNING = "running"
    DONE = "done"
    PARTIAL = "partial"
    FAILED = "failed"

    @property
    def text(self) -> str:
        """The state as it is shown."""
        return "ended early" if self is State.PARTIAL else self.value


class Moment(StrEnum):
    """Whether facts were read before or after the run."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class Trial:
    """One execution of a step on a host. `id` is unique within the run; `number` counts from 1.

    Warm-ups are numbered separately. `commands` are the exact commands; `started` is UTC, ISO 8601; `clock` is the
    start of the measuring command on the host's monotonic clock (seconds since boot), None if it never began.
    `peer_clock` is the peer's monotonic clock at that moment, known to about a tenth of a second.
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
    peer_clock: float | None = None

    @property
    def profiled(self) -> bool:
        """Whether it ran under perf, after the trials that count; it is marked as a warm-up, which never counts."""
        return self.warm_up and is_profiled(self.commands)

    @property
    def kind(self) -> str:
        """The kind of trial: ``trial``, ``warm-up`` or ``profiled trial``."""
        return "profiled trial" if self.profiled else "warm-up" if self.warm_up else "trial"

    @property
    def title(self) -> str:
        """Kind and number, as it is shown: ``trial 2``."""
        return self.kind if self.profiled else f"{self.kind} {self.number}"


class Event:
    """Base of all events."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class PlannedSession:
    """A session of a series: its `number`, from 1, of `total`; `due` is when it was to start, UTC, ISO 8601.

    `total` is 0 if the library no longer has the series.
    """

    series: str
    number: int
    total: int
    due: str


@dataclass(frozen=True, slots=True)
class RunStarted(Event):
    """A new run starts; `session` is the session of a series that it is, None for a single run."""

    run_id: str
    plan: Plan
    started: str
    session: PlannedSession | None = None


@dataclass(frozen=True, slots=True)
class OutputSource:
    """The file or paste from which a run was read: its name and the SHA-256 of its bytes."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class OutputImported(Event):
    """The run was read at `imported` (UTC, ISO 8601) from an output of tools elsewhere; `content` are its bytes."""

    source: OutputSource
    content: bytes
    imported: str


@dataclass(frozen=True, slots=True)
class Activity(Event):
    """Text of the current activity; `waits_for` is what it waits for, `measures` that it is a measurement.

    `command` is the beginning of its command, if it has one.
    """

    text: str
    host: str | None = None
    waits_for: str = ""
    measures: bool = False
    command: str = ""


@dataclass(frozen=True, slots=True)
class LibraryChanged(Event):
    """The library at `path`, a file or a URL, cannot be written because of `problem`; empty: it can be again.

    Repeated while the problem lasts. The run waits meanwhile; commands on hosts continue. `on_stop` is the text of
    what happens to the run if it is stopped now.
    """

    path: Location
    problem: str = ""
    remedy: str = ""
    on_stop: str = ""


@dataclass(frozen=True, slots=True)
class FactsRead(Event):
    """Facts of a host, before or after the run."""

    host: str
    moment: Moment
    facts: Facts


@dataclass(frozen=True, slots=True)
class FindingRaised(Event):
    """A finding of a check. `trial` is the id of its trial, None for the whole step or plan.

    `clock` is the time on its host's monotonic clock (s) at which it was seen during a trial, None if it has none.
    `checks` is the version of the checks of the verdict that raised it, None for one that was seen before or during a
    trial.
    """

    finding: Finding
    trial: int | None = None
    clock: float | None = None
    checks: int | None = None


@dataclass(frozen=True, slots=True)
class LimitSeen(Event):
    """What limited the trials of a step on a host so far, by their own evidence. The verdict replaces it."""

    step: str
    host: str
    limiter: Limiter


@dataclass(frozen=True, slots=True)
class StepEnded(Event):
    """All trials of a step on a host have ended; its verdict can be computed."""

    step: str
    host: str


@dataclass(frozen=True, slots=True)
class VerdictReached(Event):
    """Verdict of a step on a host, or of the run (step and host None)."""

    verdict: Verdict


@dataclass(frozen=True, slots=True)
class TrialStarted(Event):
    """The measuring command of a trial begins. `expected` is its estimated duration in seconds, None if unknown."""

    trial: Trial
    expected: float | None


@dataclass(frozen=True, slots=True)
class OutputRead(Event):
    """Raw output of a trial."""

    trial: int
    stream: str
    data: bytes


@dataclass(frozen=True, slots=True)
class SampleRead(Event):
    """A sample of a trial. Its time is in the tool's own seconds; `origin` as in TrialEnded, as far as known."""

    trial: int
    sample: Sample
    origin: float | None = None


@dataclass(frozen=True, slots=True)
class TelemetryRead(Event):
    """Telemetry samples of a host. Their times are on the host's monotonic clock (seconds)."""

    host: str
    samples: tuple[Sample, ...]


@dataclass(frozen=True, slots=True)
class TrialEnded(Event):
    """A trial ended. `reason` is the text of why it is not DONE; `stopped`: the user stopped it.

    On the host's monotonic clock, None if unknown: `origin` is the tool's time 0, by the arrival of its samples;
    `ended_clock` the end of its last command.
    """

    trial: int
    state: State
    exit_status: int | None
    parsed: ParsedTrial
    reason: str = ""
    stopped: bool = False
    origin: float | None = None
    ended_clock: float | None = None


@dataclass(frozen=True, slots=True)
class HostChange:
    """A setting of a host changed for a run: the content of the kernel's file at `path` before and during it.

    `before` is None if nothing is to be restored, as for the page cache dropped before the trial `trial`.
    """

    host: str
    what: str
    path: str
    before: str | None
    during: str
    trial: int | None = None


@dataclass(frozen=True, slots=True)
class HostChanged(Event):
    """A setting was changed, after a note of it was written on the host. `at` is UTC, ISO 8601."""

    change: HostChange
    at: str


@dataclass(frozen=True, slots=True)
class SettingRestored(Event):
    """The setting at `path`, changed by `run` (empty: this run), was restored.

    If it was not, `problem` is the reason, and `pending` is true if it is still to be restored.
    """

    host: str
    path: str
    at: str
    problem: str = ""
    pending: bool = False
    run: str = ""


@dataclass(frozen=True, slots=True)
class Progress(Event):
    """Progress of the run: trials done, expected total, remaining seconds; None if unknown.

    `exact` is False if the number of trials depends on their results.
    """

    done: int
    total: int | None
    remaining: float | None
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether to stop, and why.

    `settled` is true if the goal is reached, not if only the trials or the time are used up. `more` trials and
    `seconds` are the forecast, None if unknown; `beyond`: the goal may need more than the plan allows, where they lead.
    `low`, `value` and `high` are the deciding interval, of the metric or,
    with `of_ratio`, of its ratio to the baseline (a sequential interval, app.plans.sequential); `reach` is the relative
    distance of its farther edge from `value`, `wanted` the target for it.
    """

    stop: bool
    settled: bool
    trials: int
    reason: str
    more: int | None = None
    seconds: float | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    reach: float | None = None
    wanted: float | None = None
    of_ratio: bool = False
    beyond: bool = False


@dataclass(frozen=True, slots=True)
class PolicyDecided(Event):
    """Decision of the repetition policy for a step on a host: the interval so far, and the forecast.

    `metric` and `labels` identify the figure that needs the most trials; `metric` is None without figures.
    """

    host: str
    step: str
    metric: Metric | None
    labels: Labels
    decision: Decision


@dataclass(frozen=True, slots=True)
class RunEnded(Event):
    """The run ended. `reason` is the text of why it is not DONE, `problems` its sentences.

    `unreached` is how the connection failed without which nothing was measured.

    By host, where known: `telemetry_cost` is the share of one core that telemetry used, `telemetry_program` the SHA-256
    of its program, or ``script``.
    """

    run_id: str
    state: State
    reason: str = ""
    telemetry_cost: Mapping[str, float] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    telemetry_program: Mapping[str, str] = field(default_factory=dict)
    unreached: ConnectOutcome | None = None


@dataclass(frozen=True, slots=True)
class LinkChanged(Event):
    """The state of the connection to a host changed. `since` is the last data, on the workstation's monotonic clock.

    Commands on the host continue in every state. `detail` is the text of what failed, or why reconnecting ended;
    `restarted` is the time of the host's boot if it has restarted.
    """

    host: str
    state: LinkState
    since: float
    attempt: int = 0
    detail: str = ""
    restarted: str = ""


@dataclass(frozen=True, slots=True)
class WorkspaceUsed(Event):
    """A private directory on the host `where` for `step` on `host`; raised before it is created."""

    step: str
    host: str
    where: str
    on_peer: bool
    workspace: Workspace


@dataclass(frozen=True, slots=True)
class WorkspaceRemoved(Event):
    """A private directory was removed from its host."""

    nonce: str


@dataclass(frozen=True, slots=True)
class JobPlanned(Event):
    """A command is about to be started; contains all that is needed to find it on the host after a crash.

    `number` is its index among the commands of its purpose in the trial, `before` the bytes printed by earlier ones, by
    stream.
    """

    trial: int
    purpose: Purpose
    number: int
    where: str
    workspace: Workspace
    directory: str
    before: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class JobBegan(Event):
    """The command in `directory` has started."""

    directory: str
    began: JobStart


@dataclass(frozen=True, slots=True)
class AttemptEnded(Event):
    """The commands of a trial whose start is not stored have ended; it will be repeated under the same id."""

    trial: int


@dataclass(frozen=True, slots=True)
class TrialAttached(Event):
    """A detached trial is followed again. `samples` are those of its stored output."""

    trial: Trial
    expected: float | None
    samples: tuple[Sample, ...]


@dataclass(frozen=True, slots=True)
class RunAttached(Event):
    """A detached run continues; it began `age` seconds ago."""

    run_id: str
    plan: Plan
    age: float


@dataclass(frozen=True, slots=True)
class RunDetached(Event):
    """The run was detached. Commands on hosts continue; other trials wait until it is attached."""

    run_id: str


Stage = Callable[[Event], Iterable[Event]]
"""Maps an event to events: itself, with those added before or after it."""


def apply_stages(events: Iterable[Event], *stages: Stage) -> Iterator[Event]:
    """Yield `events`, each passed through all `stages` in order before the next is taken."""
    passed = iter(events)
    for stage in stages:
        passed = chain.from_iterable(map(stage, passed))
    return passed
