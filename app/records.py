"""Records: stored runs and what belongs to them, as read from the library."""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple

from app.events import FindingRaised, HostChange, OutputSource, PlannedSession, State, Trial
from app.plans.plan import Plan, host_label
from suites.base import Purpose
from suites.errors import BenchwrightError
from suites.evidence import Interval, measured_interval
from suites.facts import Facts
from suites.quantities import first_upper
from suites.read_only.csv_table import SUITE as TABLE
from suites.verdict import Trust, Verdict, worst
from suites.vocab import Figure, Finding, Labels, Metric, Sample


def start_text(moment: str, *, undated: bool) -> str:
    """Return a written start; `undated` marks the time of an import, which is not that of the measurement."""
    return f"imported {moment}" if undated else moment


@dataclass(frozen=True, slots=True)
class RunSummary:
    """Summary of a run. `headline` is the text of the first figure; times are UTC, ISO 8601."""

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
    baseline: str | None = None  # name of the baseline that contains the run
    suites: tuple[str, ...] = ()  # suites of the steps, without duplicates
    detached: bool = False  # not ended, and no process records it
    trust: str = ""  # trust of its verdict; empty without a verdict
    limited_by: str = ""  # limit in its verdict; empty without one
    session: PlannedSession | None = None  # the session of a series that it is
    chosen_steps: tuple[str, ...] = ()  # of a part of a run: the selected steps; empty for all
    chosen_hosts: tuple[str, ...] = ()
    imported: str | None = None  # when its output was imported; None for a run that was measured here

    @property
    def is_undated(self) -> bool:
        """Whether `started` is the time of the import, as the output does not state when it was measured."""
        return self.imported is not None and self.imported == self.started

    def start_text(self, moment: str) -> str:
        """Return the start as `moment` is written; that of an import is marked: ``imported 2026-11-27 14:05``."""
        return start_text(moment, undated=self.is_undated)

    @property
    def utc_text(self) -> str:
        """The start in UTC to the minute, without the name of the zone: ``2026-11-27 14:05``."""
        return self.start_text(self.started[:16].replace("T", " "))

    @property
    def ids(self) -> tuple[str, ...]:
        """The id of the run, or those of a group, each once."""
        return tuple(dict.fromkeys(self.id.split(",")))

    @property
    def part(self) -> str:
        """What was selected of the run: ``step scan, hosts web-1, web-2``; empty for the whole run."""
        chosen = (("step", self.chosen_steps), ("host", tuple(map(host_label, self.chosen_hosts))))
        return ", ".join(f"{kind}{'s' * (len(names) > 1)} {', '.join(names)}" for kind, names in chosen if names)

    @property
    def status(self) -> str:
        """The state, or "detached", as exports write it."""
        return "detached" if self.detached else self.state.value

    @property
    def status_text(self) -> str:
        """The state, or "detached", as it is shown."""
        return "detached" if self.detached else self.state.text


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """A stored trial; `origin` and `ended_clock` as in TrialEnded."""

    trial: Trial
    state: State
    ended: str | None
    exit_status: int | None
    figures: tuple[Figure, ...] = ()
    notes: tuple[str, ...] = ()
    reason: str = ""
    origin: float | None = None
    ended_clock: float | None = None

    @property
    def duration(self) -> float | None:
        """Seconds from the first command to its end on the host, else to the end of output; None if unknown."""
        if self.ended_clock is not None and self.trial.clock is not None:
            return max(0.0, self.ended_clock - self.trial.clock)
        try:
            ended = datetime.fromisoformat(self.ended or "")
            return max(0.0, (ended - datetime.fromisoformat(self.trial.started)).total_seconds())
        except (ValueError, TypeError):
            return None


@dataclass(frozen=True, slots=True)
class ChangeRecord:
    """A setting of a host that a run changed. `put_back` is the time it was restored or given up, None while pending.

    `problem` is why it was not restored: the host was not reached, or the setting was changed by others since.
    """

    run_id: str
    change: HostChange
    changed: str
    put_back: str | None = None
    problem: str = ""

    @property
    def pending(self) -> bool:
        """Whether the setting is still to be restored."""
        return self.change.before is not None and self.put_back is None


OUTPUT_LIMIT = 2**20
"""Bytes of a command's output that are stored; a package manager prints some tens of kilobytes."""


@dataclass(frozen=True, slots=True)
class HostAction:
    """An action on a host requested by the user: tool installed, settings restored. Times are UTC, ISO 8601.

    `exit_status` is None if unknown; `reason` is then why. `output` is the output of the command.
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
class Instrument:
    """Measurement overhead on a host. Times are in seconds; None is unknown, with the reason in `absent`.

    `clock_resolution` is the smallest step between two clock readings, `clock_cost` the time of one reading,
    `sleep_late` the timer overshoot of a sleep (median and worst), `round_trip` the time of an empty command (median
    and worst), `telemetry_cost` the share of one core that telemetry uses.
    """

    clock_source: str | None = None
    clock_resolution: float | None = None
    clock_cost: float | None = None
    sleep_late: float | None = None
    sleep_late_worst: float | None = None
    round_trip: float | None = None
    round_trip_worst: float | None = None
    telemetry_cost: float | None = None
    absent: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MetricNoise:
    """Noise of a metric over the `n` trials of one calibration."""

    metric: str
    title: str
    labels: Labels
    n: int
    cov: float


@dataclass(frozen=True, slots=True)
class TelemetryEffect:
    """Ratio of the headline figure with telemetry to that without, and its 95 % interval; None if not computable."""

    ratio: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Calibration:
    """Calibration of `host` with `suite` at `made` (UTC, ISO 8601); `run` is the run of its trials.

    `fingerprint` is what must be unchanged for it to apply: kernel, processor, instance, version of the tool.
    `parameters` is the fingerprint of its step, empty if an older version made it.
    """

    host: str
    made: str
    suite: str
    run: str
    fingerprint: Mapping[str, str]
    instrument: Instrument
    noise: tuple[MetricNoise, ...]
    telemetry: TelemetryEffect | None = None
    parameters: str = ""

    @property
    def cov(self) -> float:
        """Coefficient of variation of the suite's headline metric."""
        return self.noise[0].cov

    @property
    def day(self) -> str:
        """The day of the calibration: ``12 Nov``."""
        return f"{datetime.fromisoformat(self.made):%d %b}".lstrip("0")


@dataclass(frozen=True, slots=True)
class Published:
    """Source of a published table, with doubts about all of its figures and about single ones."""

    source: str
    doubts: tuple[str, ...] = ()
    of: Mapping[tuple[str, Labels], str] = field(default_factory=dict)


NotCheckedOf = Mapping[tuple[str | None, str | None], Mapping[str, str]]
"""By step and host: the checks that could not be made, with the reasons."""


@dataclass(frozen=True, slots=True)
class ComputedVerdicts:
    """Verdicts of a run that has none stored, the findings that they add, and the checks that could not be made."""

    verdicts: tuple[Verdict, ...] = ()
    findings: tuple[FindingRaised, ...] = ()
    not_checked: NotCheckedOf = field(default_factory=dict)

    @property
    def of_run(self) -> Verdict | None:
        """The verdict of the run; None without any."""
        return next((one for one in self.verdicts if one.step is None), None)

    def complete(self, summary: RunSummary) -> RunSummary:
        """Return the summary of the run with the verdict."""
        whole = self.of_run
        if whole is None:
            return summary
        limited = "" if whole.limited_by is None else whole.limited_by.value
        return replace(summary, trust=whole.trust.value, limited_by=limited)


@dataclass(frozen=True, slots=True)
class EarlierVerdict:
    """A verdict of an earlier version of the checks, and when another replaced it (UTC, ISO 8601)."""

    verdict: Verdict
    replaced: str


@dataclass(frozen=True, slots=True)
class Recall:
    """What a later version of the checks changed in a run: the trust that it had, and has now, and why.

    It is that of the run, else of the step that changed most. `checks` is the later version. `replaced` is when it
    judged, `dismissed` when the user closed the notice of it (UTC, ISO 8601).
    """

    was: str
    now: str
    reason: str
    checks: int
    replaced: str
    dismissed: str | None = None

    @property
    def text(self) -> str:
        """The trust it has now and why: ``doubtful: Page cache served part of the I/O``."""
        return f"{self.now}: {self.reason}" if self.reason else self.now

    @property
    def past(self) -> str:
        """The trust that it had: ``was valid until checks version 2``."""
        return f"was {self.was} until checks version {self.checks}"


@dataclass(frozen=True, slots=True)
class TrialSource:
    """The run of a trial of joined runs, and its id there; of a duet, whether it was on the first half of the CPUs."""

    run: str
    trial: int
    on_first: bool | None = None


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A stored run without samples and raw output, which are read on demand."""

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
    verdicts: tuple[Verdict, ...] = ()  # of each step on each host, and of the run
    finding_trials: tuple[int | None, ...] = ()  # trial id by finding; None for findings outside trials
    finding_clocks: tuple[float | None, ...] = ()  # host's clock by finding (s); None for those seen at no known time
    calibrations: tuple[Calibration, ...] = ()  # of its hosts, newest first, including those that do not apply
    read_from: OutputSource | None = None  # set for outputs of tools that ran elsewhere
    published: Published | None = None  # set for a published table, which is not a run of this program
    telemetry_program: Mapping[str, str] = field(default_factory=dict)  # by host: SHA-256, or "script"
    parts: tuple["RunRecord", ...] = ()  # of several runs as one: the runs; `findings` are those that hold in each
    sources: Mapping[int, TrialSource] = field(default_factory=dict)  # of several runs as one: by trial id
    finding_checks: tuple[int | None, ...] = ()  # version of the checks by finding, as in FindingRaised
    earlier: tuple[EarlierVerdict, ...] = ()  # verdicts of earlier versions of the checks, the last replaced first
    recall: Recall | None = None
    unjudged: str = ""  # why later checks could not judge it again
    note: str = ""  # of the user, as the tags
    tags: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Its name as a title. That of an imported run is the name of a file, which stays as it is."""
        imported = any(one.read_from is not None for one in (self, *self.parts))
        return self.summary.name if imported else first_upper(self.summary.name)

    @property
    def measurement(self) -> tuple[object, ...]:
        """What identifies the measurement: the run, or the bytes that it was imported from.

        A table has several runs, each with its hosts and, if it states one, its start.
        """
        if self.read_from is None:
            return (self.summary.id,)
        tables = any(step.suite_id == TABLE for step in self.plan.steps)
        start = None if self.summary.is_undated else self.summary.started
        return self.read_from.sha256, *((self.plan.hosts, start) if tables else ())

    @property
    def tags_text(self) -> str:
        """The user's tags as a line; empty without any."""
        return f"Tags: {', '.join(self.tags)}" if self.tags else ""

    @property
    def ending(self) -> str:
        """How a run ended that is not done: ``Ended early. Stopped by you.``; empty for one that is."""
        summary = self.summary
        return "" if summary.state is State.DONE else f"{summary.status_text.capitalize()}. {self.reason}".strip()

    @property
    def verdict(self) -> Verdict | None:
        """The verdict of the run; None without one."""
        return self.verdict_on(None, None)

    @property
    def raised(self) -> tuple[FindingRaised, ...]:
        """The findings, each with its trial and the time at which it was seen."""
        unknown = (None,) * len(self.findings)
        parts = (
            self.findings,
            self.finding_trials or unknown,
            self.finding_clocks or unknown,
            self.finding_checks or unknown,
        )
        return tuple(map(FindingRaised, *parts))

    def with_raised(self, raised: Sequence[FindingRaised]) -> "RunRecord":
        """Return the run with these findings."""
        return replace(
            self,
            findings=tuple(one.finding for one in raised),
            finding_trials=tuple(one.trial for one in raised),
            finding_clocks=tuple(one.clock for one in raised),
            finding_checks=tuple(one.checks for one in raised),
        )

    def verdict_on(self, step: str | None, host: str | None) -> Verdict | None:
        """Return the verdict of `step` on `host`; None without one."""
        return next((one for one in self.verdicts if (one.step, one.host) == (step, host)), None)

    def interval(self, one: TrialRecord, samples: Iterable[Sample]) -> Interval | None:
        """Return the seconds in which a trial's tool counted; None if it never began. Several commands are a whole."""
        clock, duration = one.trial.clock, one.duration
        if clock is None or duration is None:
            return None
        counted = None
        with contextlib.suppress(BenchwrightError):  # an unknown suite
            step = self.plan.step(one.trial.step)
            if sum(command.purpose is Purpose.MEASURE for command in one.trial.commands) == 1:
                counted = step.suite.counted(step.whole_values(), one.figures, samples)
        return measured_interval(counted, clock, clock + duration, one.origin)

    def trials_of(self, step: str, host: str | None = None) -> tuple[TrialRecord, ...]:
        """Return the done trials of `step` (on `host`) without warm-ups."""
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
    """Range of a baseline's series: median and quartiles `low`, `high`, and the mean of its trials' figures, if any.

    Quartiles are of the samples within its trials, or of the figures for a metric without samples. `step` and `host`
    are those of the run compared, not the baseline's own.
    """

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
    note: str = ""  # caveat shown after the name: too old, or from another environment
    reference: bool = False  # a published figure of unknown spread
    trials: int = 0  # number of trials behind `figure`
    values: tuple[float, ...] = ()  # their figures, if they are of one session: a ratio to them has an interval

    @property
    def label(self) -> str:
        """The name with the note."""
        return f"{self.name} ({self.note})" if self.note else self.name


class HistoryRow(NamedTuple):
    """A figure of a done trial."""

    run: str
    started: str
    plan: str  # hash of the plan
    host: str
    step: str
    version: str | None
    metric: Metric
    labels: Labels
    value: float
    trust: str = ""  # of the verdict on its step and host
    number: int = 0  # of the trial
    undated: bool = False  # `started` is the time of the import


@dataclass(frozen=True, slots=True)
class BaselineRow:
    """A version of a baseline. `parts` are its runs, each with the selected part (``@HOST``, ``:STEP``) or "".

    `size` is the number of parts when pinned; `begun` the start of its newest run; `reference` the JSON of a published
    table, None for runs; `oldest` the maximum age in seconds, None for the program's default.
    """

    name: str
    version: int
    pinned: str | None
    parts: tuple[tuple[str, str], ...]
    size: int
    begun: str
    reference: str | None
    oldest: float | None
    newest: bool
    trust: str = ""  # the lowest of the verdicts on its parts; empty without one


def lowest_trust(found: Mapping[tuple[str, str, str], Trust], parts: Sequence[tuple[str, str]]) -> str:
    """Return the lowest trust of the `parts` of a baseline, `found` by run, step and host.

    Empty if a run has none, unless another is doubtful or invalid.
    """
    judged = {run for run, _, _ in found}
    levels = tuple(
        trust
        for run, part in parts
        for (owner, step, host), trust in found.items()
        if run == owner and part in {"", f"@{host}", f":{step}", f"@{host}:{step}", f":{step}@{host}"}
    )
    known = all(run in judged for run, _ in parts)
    return worst(levels).value if levels and (known or worst(levels).in_doubt) else ""


SampleSeries = Mapping[int, tuple[Sample, ...]]
"""Samples by trial id."""


PREFIX = "baseline:"
"""Prefix that marks a name as a baseline's."""


def split_name(word: str) -> tuple[str, int | None]:
    """Return name and version of ``NAME`` or ``NAME@VERSION``."""
    name, mark, version = word.removeprefix(PREFIX).rpartition("@")
    if mark and version.isdecimal() and len(version) < 10:
        return name, int(version)
    return word.removeprefix(PREFIX), None
