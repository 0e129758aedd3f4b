"""What happens during a run, in order, as immutable data: the store, the window and the command line all read it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from app.plan import Plan
from suites.base import Command, Parsed
from suites.facts import Facts
from suites.vocab import Finding, Sample


class State(StrEnum):
    """How a run or a trial stands. PARTIAL: stopped or broken off, what was measured is kept."""

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
class Progress:
    """How far the run is: trials done of all, and the seconds still expected, None where it cannot be known."""

    done: int
    total: int
    remaining: float | None


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The run ended. `reason` says why where it is not DONE; `telemetry_cost` is the share of one core
    that watching took on each host, where it could be read."""

    run_id: str
    state: State
    reason: str = ""
    telemetry_cost: Mapping[str, float] = field(default_factory=dict)


Event = (
    RunStarted
    | Activity
    | FactsRead
    | FindingRaised
    | TrialStarted
    | OutputRead
    | SampleRead
    | TelemetryRead
    | TrialEnded
    | Progress
    | RunEnded
)
