"""A stored run as it is read back."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.calibration.calibration import Calibration
from app.events import HostChange, State, Trial
from app.plans.plan import Plan
from suites.facts import Facts
from suites.verdict import Verdict
from suites.vocab import Figure, Finding, Labels, Sample


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One line of the library. `headline` is the first step's first figure, in words; times are UTC, ISO 8601."""

    id: str
    name: str
    question: str
    hosts: tuple[str, ...]
    steps: tuple[str, ...]
    state: State
    started: str
    ended: str | None
    trials: int
    headline: str = ""
    baseline: str | None = None  # the name under which the run is pinned
    suites: tuple[str, ...] = ()  # what the steps run, each once
    left: bool = False  # it has not ended, and nobody records it: it can be attached
    trust: str = ""  # the level of its verdict; empty for a run that was never judged
    limited_by: str = ""  # what its verdict names as the limit, where it names one

    @property
    def standing(self) -> str:
        """How it stands, in words."""
        return "detached" if self.left else self.state.value


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """A trial as stored: what ran, how it ended, and its figures."""

    trial: Trial
    state: State
    ended: str | None
    exit_status: int | None
    figures: tuple[Figure, ...] = ()
    notes: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ChangeRecord:
    """A setting of a host that a run changed. `put_back` is when that was over, None where it is not.

    `problem` says why it is not as it was: the host is not reached, or somebody else has changed it since.
    """

    run_id: str
    change: HostChange
    changed: str
    put_back: str | None = None
    problem: str = ""

    @property
    def pending(self) -> bool:
        """Whether the host may still have it as the run set it."""
        return self.change.before is not None and self.put_back is None


@dataclass(frozen=True, slots=True)
class HostAction:
    """What was done to a host because the user said so: a tool installed, settings put back. Times are UTC, ISO 8601.

    `exit_status` is None where none came; `reason` then says why. `output` is what the command printed.
    """

    id: int
    host: str
    what: str
    command: str
    started: str
    ended: str | None = None
    exit_status: int | None = None
    output: bytes = b""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Published:
    """Where the figures of a published table come from, and what is doubtful: in all of them, and in single ones."""

    source: str
    doubts: tuple[str, ...] = ()
    of: Mapping[tuple[str, Labels], str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A run as stored, without its samples and raw output, which are read on demand."""

    summary: RunSummary
    plan: Plan
    plan_hash: str
    program_version: str
    reason: str = ""
    facts_before: Mapping[str, Facts] = field(default_factory=dict)
    facts_after: Mapping[str, Facts] = field(default_factory=dict)
    trials: tuple[TrialRecord, ...] = ()
    findings: tuple[Finding, ...] = ()
    telemetry_cost: Mapping[str, float] = field(default_factory=dict)
    changes: tuple[ChangeRecord, ...] = ()
    verdicts: tuple[Verdict, ...] = ()  # on each step on each host, and on the whole run
    finding_trials: tuple[
        int | None, ...
    ] = ()  # of each finding, the trial in which it was raised, where it was in one
    calibrations: tuple[Calibration, ...] = ()  # of its hosts and suites, as they were when it ran
    published: Published | None = None  # where it is no run of ours but a table that somebody published

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the whole run; None where it was never judged."""
        return self.verdict_on(None, None)

    def verdict_on(self, step: str | None, host: str | None) -> Verdict | None:
        """Return the verdict on `step` on `host`; None where it was never judged."""
        return next((one for one in self.verdicts if (one.step, one.host) == (step, host)), None)

    def trials_of(self, step: str, host: str | None = None) -> tuple[TrialRecord, ...]:
        """Return the trials of `step` (on `host`) that count: no warm-ups, with figures of their own."""
        return tuple(
            record
            for record in self.trials
            if record.trial.step == step
            and not record.trial.warm_up
            and host in {None, record.trial.host}
            and record.state is State.DONE
        )


@dataclass(frozen=True, slots=True)
class Band:
    """What a baseline says about one series: its median and the range from `low` to `high` (quartiles of the
    samples within its trials, or of the figures of a metric that has no samples), and the median of its trials'
    figures, where it has one. `step` and `host` are those it was asked for, not the baseline's own."""

    run_id: str
    name: str
    metric: str
    labels: tuple[tuple[str, str], ...]
    unit: str
    median: float
    low: float
    high: float
    figure: float | None
    step: str = ""
    host: str = ""
    note: str = ""  # what to know of the baseline beside its name: that it is too old, or of another universe
    reference: bool = False  # a published figure, whose spread nobody knows
    trials: int = 0  # how many are behind its `figure`

    @property
    def said(self) -> str:
        """The name, and what to know beside it."""
        return f"{self.name} ({self.note})" if self.note else self.name


SampleSeries = Mapping[int, tuple[Sample, ...]]
"""Samples by trial id."""
