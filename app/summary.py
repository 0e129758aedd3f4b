"""Summary of a run: metrics over its trials, headline metrics, distinct findings, and its public JSON."""

import math
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, NotRequired, TypedDict

from app.centres import Centre, centre_over
from app.checks.energy import EnergyUse
from app.comparison.estimates import group_means
from app.comparison.variance import VarianceLevels, levels_of
from app.events import Trial
from app.formats import (
    FactsJson,
    FindingJson,
    PlanJson,
    RemarksJson,
    VerdictJson,
    facts_to_json,
    finding_to_json,
    plan_to_json,
    remarks_to_json,
    verdict_to_json,
)
from app.json_converter import Json, publish, published
from app.numeric import mean_of
from app.plans.duet import halves_of_trials
from app.plans.plan import Step
from app.records import ChangeRecord, EarlierVerdict, Recall, RunRecord, RunSummary, TrialRecord
from app.sample_statistics import WithinTrials
from app.verdict.listing import listed
from suites.errors import UnknownSuiteError
from suites.facts import known
from suites.quantities import count_text, estimate_text, figure_text, range_text, share_text, uncertainty_text
from suites.verdict import Trust, Verdict, trust_mark
from suites.vocab import Labels, Metric

Session = tuple[str, str]
"""Host and run: the trials of a run on a host are a session."""

RUN_FORMAT = "benchwright-run/1"


class OfTrials:
    """What `values`, one for each trial, have in common."""

    __slots__ = ()
    values: tuple[float, ...]

    @property
    def n(self) -> int:
        """The number of trials."""
        return len(self.values)

    @property
    def median(self) -> float:
        """The median of the trials."""
        return statistics.median(self.values)

    @property
    def minimum(self) -> float:
        """The lowest trial."""
        return min(self.values)

    @property
    def maximum(self) -> float:
        """The highest trial."""
        return max(self.values)


@dataclass(frozen=True)
class MetricSummary(OfTrials):
    """A metric of a step on a host, or on several pooled hosts, over the counted trials.

    `hosts` and `trials` (run id, trial id) have one entry for each value. `verdict` is the least trusted of those on
    its trials, None if there is none. `halves` is whether each value was measured on the first half of the CPUs, None
    for one of no duet, empty without duets: means weigh both halves equally, so that an odd trial is no difference.
    """

    step: str
    host: str
    metric: Metric
    labels: Labels
    values: tuple[float, ...]
    hosts: tuple[str, ...] = ()
    trials: tuple[tuple[str, int], ...] = ()
    verdict: Verdict | None = None
    halves: tuple[bool | None, ...] = ()

    @property
    def trust(self) -> Trust | None:
        """The trust in the value; None without a verdict."""
        return None if self.verdict is None else self.verdict.trust

    @property
    def verdict_host_text(self) -> str:
        """The host that the verdict is about, as in `` on web-3``; empty if all values are of one host."""
        host = "" if self.verdict is None else self.verdict.host
        return f" on {host}" if host and len(set(self.hosts)) > 1 else ""

    @property
    def doubt(self) -> str:
        """The mark of the value in a table: ``caveats``, ``doubtful``, ``invalid``; empty for a valid one."""
        return trust_mark(self.trust)

    @property
    def marked_value(self) -> str:
        """The value with its unit and mark: ``2002 IOPS (doubtful)``."""
        return f"{self.value_text} ({self.doubt})" if self.doubt else self.value_text

    @property
    def value_text(self) -> str:
        """The value with its unit: ``2002 IOPS``."""
        return figure_text(self.metric, self.value, self.uncertainty)

    @property
    def interval_text(self) -> str:
        """The 95 % interval of the value: ``± 3.2k``; empty without one."""
        half = self.uncertainty
        return uncertainty_text(self.metric, self.value, half) if half else ""

    @property
    def estimate_text(self) -> str:
        """The value with its unit and interval: ``2002 IOPS ± 31``."""
        return estimate_text(self.metric, self.value, self.uncertainty)

    @property
    def cov(self) -> float | None:
        """The coefficient of variation, standard deviation by mean; None for unknown noise or a zero mean."""
        values = self.noise_values
        if len(values) < 2 or not (mean := statistics.fmean(values)):
            return None
        return statistics.stdev(values) / abs(mean)

    @cached_property
    def balanced_values(self) -> tuple[float, ...]:
        """The trials; those of duets without the effect of the halves in each session, which is no noise."""
        if not self.halves or min(self.values) <= 0:
            return self.values
        halves = list(zip(self._sessions, self.halves, strict=True))
        means = group_means(self.values, halves)
        return tuple(
            value * self.session_means[half[0]] / means[half] for value, half in zip(self.values, halves, strict=True)
        )

    @property
    def noise_by_session(self) -> dict[Session, tuple[float, ...]]:
        """The balanced trials of each session, for measures of noise.

        Deviations within a duet are widened for the degree of freedom that the effect of the halves takes. With a
        single trial on each half its noise is unknown: only its mean is left.
        """
        found: dict[Session, list[int]] = {}
        for index, session in enumerate(self._sessions):
            found.setdefault(session, []).append(index)
        return {session: self._noise_of(session, indices) for session, indices in found.items()}

    def _noise_of(self, session: Session, indices: Sequence[int]) -> tuple[float, ...]:
        values, middle = [self.balanced_values[index] for index in indices], self.session_means[session]
        groups = len({self.halves[index] for index in indices}) if self.halves and min(self.values) > 0 else 1
        return _widened(values, middle, groups) if groups > 1 else tuple(values)

    @cached_property
    def noise_values(self) -> tuple[float, ...]:
        """The trials, for the noise of a session: those of several sessions without the differences between these.

        Their deviations are widened to one degree of freedom less than their number. Sessions of one trial each are
        taken as one session.
        """
        sessions = self.noise_by_session
        repeated = {session: values for session, values in sessions.items() if len(values) > 1}
        if len(sessions) == 1 or not repeated or min(self.values) <= 0:
            return tuple(value for values in sessions.values() for value in values)
        pooled = [self.value * value / self.session_means[one] for one, values in repeated.items() for value in values]
        return _widened(pooled, self.value, len(repeated))

    @cached_property
    def _sessions(self) -> list[Session]:
        """The host and the run of each value."""
        runs = [run for run, _ in self.trials] or [""] * self.n
        return list(zip(self.hosts or [self.host] * self.n, runs, strict=True))

    @cached_property
    def session_means(self) -> dict[Session, float]:
        """The mean of the trials of each session: one value a session."""
        if not self.halves:
            return group_means(self.values, self._sessions)
        halves = group_means(self.values, zip(self._sessions, self.halves, strict=True))
        return group_means(halves.values(), (session for session, _ in halves))

    @cached_property
    def host_means(self) -> dict[str, float]:
        """The mean of the sessions of each host."""
        sessions = self.session_means
        return group_means(sessions.values(), (host for host, _ in sessions))

    @cached_property
    def value(self) -> float:
        """The geometric mean of the trials; of several sessions, then of several hosts, each with equal weight.

        The arithmetic mean if a trial is not above zero.
        """
        return mean_of(tuple(self.host_means.values()))

    @cached_property
    def replicates(self) -> tuple[float, ...]:
        """The values at the highest replicated level: means of hosts, else means of sessions, else trials."""
        hosts = self.host_means
        sessions = hosts if len(hosts) > 1 else self.session_means
        return tuple(sessions.values()) if len(sessions) > 1 else self.values

    @cached_property
    def interval(self) -> Centre | None:
        """The value with its 95 % interval (Student's t on the logarithms of the replicates).

        None for one replicate, identical ones, one that is not above zero, or a duet with one trial on each half.
        """
        values = self.replicates
        if len(values) < 2 or min(values) <= 0 or min(values) == max(values):
            return None
        found = centre_over(values, [bool(half) for half in self.halves] if values is self.values else ())
        return None if found.low is None else found

    @property
    def nested(self) -> list[list[list[float]]]:
        """The values of each run of each host, as in noise_by_session."""
        found: dict[str, list[list[float]]] = {}
        for (host, _), values in self.noise_by_session.items():
            found.setdefault(host, []).append(list(values))
        return list(found.values())

    def by_host(self) -> dict[str, list[int]]:
        """Return the indices of the values of each host."""
        found: dict[str, list[int]] = {}
        for index, host in enumerate(self.hosts or [self.host] * self.n):
            found.setdefault(host, []).append(index)
        return found

    @property
    def units_text(self) -> str:
        """What the value is the mean of: ``8 trials``, ``3 sessions (18 trials)``, ``2 hosts (16 trials)``."""
        trials = count_text(self.n, "trial")
        for means, noun in ((self.host_means, "host"), (self.session_means, "session")):
            if len(means) > 1:
                return f"{count_text(len(means), noun)} ({trials})"
        return trials

    @property
    def no_logarithm(self) -> str:
        """Why the value is an arithmetic mean without an interval: ``a trial is 0``; empty for a geometric mean."""
        if min(self.values) > 0 or min(self.values) == max(self.values):
            return ""
        return "a trial is 0" if not min(self.values) else "a trial is below 0"

    @property
    def mean_text(self) -> str:
        """What the value is: ``geometric mean of 8 trials``, ``arithmetic mean of 8 trials (a trial is 0)``."""
        reason = self.no_logarithm
        return f"{'arithmetic' if reason else 'geometric'} mean of {self.units_text}{f' ({reason})' if reason else ''}"

    @property
    def n_text(self) -> str:
        """The n of the interval: ``8``, or as in `units_text` if it is over sessions or hosts."""
        return str(self.n) if len(self.session_means) == 1 else self.units_text

    @property
    def range_text(self) -> str:
        """Least to greatest trial in the unit of the value."""
        return range_text(self.metric, self.minimum, self.maximum, self.uncertainty, value=self.value)

    @property
    def uncertainty(self) -> float | None:
        """The distance of the upper end of the 95 % interval from the value; None without an interval."""
        found = self.interval
        return None if found is None or found.half is None else found.half * found.value


def _widened(values: Sequence[float], middle: float, groups: int) -> tuple[float, ...]:
    """Return values around `middle`, from which the means of `groups` were taken, with n − 1 degrees of freedom.

    Only `middle` if the means left none.
    """
    freedom = len(values) - groups
    if not freedom:
        return (middle,)
    widened = math.sqrt((len(values) - 1) / freedom)
    return tuple(middle * (value / middle) ** widened for value in values)


def levels(summary: MetricSummary, within: WithinTrials) -> VarianceLevels | None:
    """Return the variance levels of a metric; `within` are the sample statistics of its trials."""
    key = (summary.metric.name, summary.labels)
    samples = [within.get(trial, {}).get(key) for trial in summary.trials]
    return levels_of(summary.nested, [one for one in samples if one is not None])


def summaries(record: RunRecord) -> tuple[MetricSummary, ...]:
    """Return every metric of every step and host of `record` over its counted trials."""
    gathered: dict[tuple[str, str, Metric, Labels], list[tuple[float, Trial]]] = {}
    for step in record.plan.steps:
        for trial in record.trials_of(step.name):
            for figure in trial.figures:
                key = (step.name, trial.trial.host, figure.metric, figure.labels)
                gathered.setdefault(key, []).append((figure.value, trial.trial))
    return tuple(
        MetricSummary(
            *key,
            tuple(value for value, _ in found),
            (key[1],) * len(found),
            tuple(_source(record, trial) for _, trial in found),
            record.verdict_on(key[0], key[1]),
            _halves(record, [trial for _, trial in found]),
        )
        for key, found in gathered.items()
    )


def _source(record: RunRecord, trial: Trial) -> tuple[str, int]:
    """Return the run and the id of a trial; of joined runs those that it comes from."""
    source = record.sources.get(trial.id)
    return (record.summary.id, trial.id) if source is None else (source.run, source.trial)


def _halves(record: RunRecord, trials: Sequence[Trial]) -> tuple[bool | None, ...]:
    """Return whether each trial was on the first half of the CPUs, None if of no duet; empty without duets."""
    if not record.sources:
        return halves_of_trials(record.plan, trials[0].step, (trial.number for trial in trials))
    found = tuple(record.sources[trial.id].on_first for trial in trials)
    return () if set(found) == {None} else found


_TAIL = 99.0


def headline_metrics(step: Step, metrics: Iterable[Metric]) -> frozenset[str]:
    """Return the names of the headline metric, or the first one of an unknown suite, and of the tail metric."""
    found = list(dict.fromkeys(metrics))
    try:
        head = step.headline.name
    except UnknownSuiteError:
        head = ""
    names = {metric.name for metric in found}
    first = head if head in names else next((metric.name for metric in found), "")
    tail = tail_of(found)
    return frozenset({first} | ({tail.name} if tail is not None else set()))


def tail_of(metrics: Iterable[Metric]) -> Metric | None:
    """Return the percentile metric nearest to p99, between 90 and 100 exclusive, or None."""
    tails = [metric for metric in metrics if 90 < (metric.percentile or 0) < 100]
    return min(tails, key=lambda metric: abs((metric.percentile or 0) - _TAIL), default=None)


class MetricKeys(TypedDict):
    """Keys of a metric of a run beside those of MetricSummary; of power and energy where they are known."""

    power_of: NotRequired[str]
    watts: NotRequired[float]
    joules_per_operation: NotRequired[float]
    joules_per_gb: NotRequired[float]
    levels: Annotated[Json, VarianceLevels] | None


class ClockOffset(TypedDict):
    """Seconds by which a host's clock was ahead of the workstation's, None if unknown."""

    start: float | None
    end: float | None


class StepKeys(TypedDict):
    """Keys of a verdict on a step on a host."""

    step: str
    host: str | None


class EarlierKeys(TypedDict):
    """Keys of an earlier verdict, which was `replaced` at that time (UTC, ISO 8601)."""

    step: str | None
    host: str | None
    replaced: str


class RunKeys(TypedDict):
    """Keys of a run beside those of RunSummary and RemarksJson."""

    format: Annotated[str, RUN_FORMAT]
    reason: str
    note: str
    tags: list[str]
    program_version: str
    plan_hash: str
    plan: PlanJson
    facts_before: Mapping[str, FactsJson]
    facts_after: Mapping[str, FactsJson]
    clock_offset: Mapping[str, ClockOffset]
    metrics: list[Annotated[Json, MetricSummary, MetricKeys]]
    trials: list[Annotated[Json, TrialRecord]]
    findings: list[FindingJson]
    verdict: VerdictJson | None
    verdicts: list[Annotated[Json, StepKeys, VerdictJson]]
    earlier_verdicts: list[Annotated[Json, EarlierKeys, VerdictJson]]
    recall: Annotated[Json, Recall] | None
    telemetry_cost: Mapping[str, float]
    telemetry_program: Mapping[str, str]
    changes: list[Annotated[Json, ChangeRecord]]


RunJson = Annotated[Json, RunSummary, RemarksJson, RunKeys]


def run_to_json(
    record: RunRecord,
    within: WithinTrials | None = None,
    energy: Mapping[tuple[str, str], EnergyUse] | None = None,
) -> RunJson:
    """Return the run without samples and raw output.

    `within` are the sample statistics of its trials, for the variance levels; `energy` is by step and host.
    """
    findings = listed(record)
    return {
        "format": RUN_FORMAT,
        **published(record.summary),
        "reason": record.reason,
        "note": record.note,
        "tags": list(record.tags),
        "program_version": record.program_version,
        "plan_hash": record.plan_hash,
        "plan": plan_to_json(record.plan),
        "facts_before": {host: facts_to_json(facts) for host, facts in record.facts_before.items()},
        "facts_after": {host: facts_to_json(facts) for host, facts in record.facts_after.items()},
        "clock_offset": {host: _clock_offset(record, host) for host in record.facts_before},
        "metrics": [_metric(summary, within or {}, energy or {}) for summary in summaries(record)],
        "trials": [published(trial) for trial in record.trials],
        "findings": [finding_to_json(finding) for finding in findings],
        "verdict": None if record.verdict is None else verdict_to_json(record.verdict),
        "verdicts": [
            {"step": one.step, "host": one.host, **verdict_to_json(one)}
            for one in record.verdicts
            if one.step is not None
        ],
        "earlier_verdicts": [_earlier(one) for one in record.earlier],
        "recall": None if record.recall is None else published(record.recall),
        **remarks_to_json(record.plan, findings),
        "telemetry_cost": dict(record.telemetry_cost),
        "telemetry_program": dict(record.telemetry_program),
        "changes": [published(change) for change in record.changes],
    }


def _earlier(one: EarlierVerdict) -> Json:
    verdict = one.verdict
    return {"step": verdict.step, "host": verdict.host, **verdict_to_json(verdict), "replaced": one.replaced}


_NUMBER = re.compile(r"[-+]?\d[\d.,]*")


def notes_text(trials: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """Return the notes of a step's trials, given by title; of notes that differ in numbers only, the last trial's."""
    kinds = dict[str, dict[str, str]]()
    for title, notes in trials:
        for note in notes:
            alike = kinds.setdefault(_NUMBER.sub("0", note), {})
            alike.pop(note, None)
            alike[note] = title
    last = ((list(alike.items())[-1], len(alike) > 1) for alike in kinds.values())
    return [f"{note} ({title})" if differ else note for (note, title), differ in last]


def telemetry_text(program: str | None, cost: float | None) -> str:
    """Return what sampled a host and the CPU time it used; empty if not known.

    ``Telemetry: shipped program, 0.07 % of one core.`` The script is the fallback where no program runs.
    """
    known = [
        program and ("shell script" if program == "script" else "shipped program"),
        None if cost is None else f"{share_text(cost)} of one core",
    ]
    parts = [part for part in known if part]
    return f"Telemetry: {', '.join(parts)}." if parts else ""


def _clock_offset(record: RunRecord, host: str) -> ClockOffset:
    """Return the seconds by which the host's clock was ahead of the workstation's; null if unknown."""
    start, end = (
        None if facts is None else known(facts.system.clock_offset)
        for facts in (record.facts_before.get(host), record.facts_after.get(host))
    )
    return {"start": start, "end": end}


def _metric(summary: MetricSummary, within: WithinTrials, energy: Mapping[tuple[str, str], EnergyUse]) -> Json:
    used = energy.get((summary.step, summary.host))
    columns = {} if used is None else used.columns(summary.metric, summary.labels)
    return {**published(summary), **columns, "levels": published(levels(summary, within))}


publish(
    ChangeRecord,
    "host=change.host what=change.what path=change.path before=change.before during=change.during "
    "trial=change.trial changed put_back problem",
)
publish(
    MetricSummary,
    "name=metric.name value low=interval.low high=interval.high median unit=metric.unit better=metric.better labels "
    "step host n minimum maximum cov trust",
)
publish(
    TrialRecord,
    "id=trial.id host=trial.host step=trial.step number=trial.number warm_up=trial.warm_up state "
    "started=trial.started ended exit_status tool_version=trial.tool_version commands=trial.commands metrics=figures "
    "notes reason",
)
