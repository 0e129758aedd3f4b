"""Gate of a run against a baseline: the answers to its conditions, and the outcome over several runs."""

import math
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from app.checks.elsewhere import MEASURED_ELSEWHERE
from app.comparison.comparison import Comparison, ComparisonRow, RelativeFigure
from app.comparison.estimates import (
    ERROR,
    FEWEST_TRIALS,
    Ratio,
    beyond_p,
    holm,
    margin_edges,
    ratio_with_interval,
    widened,
)
from app.comparison.gate_conditions import Condition
from app.comparison.moments import MomentError, Moments, moment_error
from app.comparison.replication import host_means_by_moment
from app.comparison.sentences import signed_share
from app.comparison.verdicts import (
    FEWEST,
    FEWEST_SESSIONS,
    SINGLE,
    ComparisonVerdict,
    Level,
    Scope,
    VerdictEvidence,
    insufficient_side,
)
from app.plans.plan import host_label
from app.summary import MetricSummary
from suites.quantities import count_text, figure_text, metric_text
from suites.verdict import NOT_JUDGED, Goal, Trust, Verdict
from suites.vocab import Better, Labels

SHOWN_TWICE = 2
"""Runs that show a regression before it fails: the first only raises the suspicion, a fresh one confirms it."""


class GateOutcome(StrEnum):
    """The outcome of a condition: its limit is not exceeded, it is, or the trials do not show which."""

    PASS = "pass"  # noqa: S105 - an outcome, no password
    FAIL = "fail"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class ConditionAnswer:
    """The answer of one run to a condition, for one figure of a step on a host.

    `ratio` is that to the baseline, or of the value to the bound of a goal; `low` and `high` are its 95 % interval, or
    None. `p` is the p-value of the regression, corrected by Holm's method for all figures of the gate; None without an
    interval. `counts` are the trials (sessions, hosts) of the run and the baseline. `reason` is why it is undecided.
    `remark` names a result or baseline that is unverified, has caveats or is not judged yet.
    """

    condition: Condition
    step: str
    host: str
    labels: Labels
    answer: GateOutcome
    run: str
    text: str
    reason: str = ""
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    counts: tuple[int, int] = (0, 0)
    trust: str = ""
    lasting: bool = False  # the obstacle is in the baseline: further runs of the plan change nothing
    remark: str = ""
    unverified: bool = False  # the result or the baseline is

    @property
    def key(self) -> tuple[str, str, str, Labels]:
        """What identifies the answers to the same question in several runs."""
        return self.condition.text, self.step, self.host, self.labels

    @property
    def name(self) -> str:
        """The condition with its step, host and labels: ``iops worse by 5 % (disk on web-1, read)``."""
        labels = f", {' '.join(value for _, value in self.labels)}" if self.labels else ""
        where = f"{self.step} on {host_label(self.host)}{labels}" if self.step else "no result"
        return f"{self.condition.text} ({where})"


@dataclass(frozen=True, slots=True)
class _Estimate:
    """What the trials say of one figure: its ratio, the p-value of one beyond the limit, and whether it is within.

    `p` is None, and `passes` False, with an `obstacle` to an answer. `counted` is the number of its values with their
    level: ``1 against 4 sessions``.
    """

    ratio: Ratio | None
    p: float | None = None
    passes: bool = False
    obstacle: str = ""
    lasting: bool = False
    counted: str = ""


@dataclass(frozen=True, slots=True)
class _Cell:
    """A condition on a row of the comparison, with its estimate; `once`: a group was measured in one session."""

    condition: Condition
    row: ComparisonRow
    estimate: _Estimate
    counts: tuple[int, int]
    trust: str = ""
    remark: str = ""
    unverified: bool = False
    once: bool = False


def answers_of(
    conditions: Sequence[Condition], comparison: Comparison, *, incomplete: str = "", look: float = 0.0
) -> tuple[ConditionAnswer, ...]:
    """Return the answers of a run, the last side of `comparison`, to `conditions`.

    A condition fails if its figure is beyond the limit with p < 0.05 after Holm's correction over all figures of all
    conditions, so that the family-wise error is at most 5 %; it passes if the 95 % interval is entirely within. A
    result in doubt, of the run or of the baseline, answers nothing, nor does one that is `incomplete`, for
    this reason. `look` is the confidence level of the intervals of a run that stopped at its verdict (look_level).
    """
    return answers_of_groups(conditions, {"": comparison}, comparison.runs[-1].id, incomplete=incomplete, look=look)


def answers_of_groups(
    conditions: Sequence[Condition],
    groups: Mapping[str, Comparison],
    run: str,
    *,
    incomplete: str = "",
    look: float = 0.0,
) -> tuple[ConditionAnswer, ...]:
    """Return the answers of `run` as answers_of() does, one for each of several groups of hosts.

    Holm's correction is over all groups. A group with a name was compared `together` (ComparisonCriteria): it is
    answered as a whole, over all of its sessions. One that several hosts share is like one run, and no regression fails
    by it alone.
    """
    cells: list[_Cell] = []
    missing: list[ConditionAnswer] = []
    for condition in conditions:
        found = [
            replace(
                _cell(condition, row, comparison.moments, incomplete, look),
                once=bool(group) and _is_once(row, comparison.moments),
            )
            for group, comparison in groups.items()
            for row in _rows_of(comparison, group)
            if row.metric.name == condition.metric and condition.step in {None, own_step(row)}
        ]
        cells += found
        if not found:
            why = incomplete or "not measured"
            missing.append(ConditionAnswer(condition, "", "", (), GateOutcome.UNDECIDED, run, condition.metric, why))
    corrected = iter(holm([cell.estimate.p for cell in cells if cell.estimate.p is not None]))
    answers = [_answer(cell, None if cell.estimate.p is None else next(corrected), run) for cell in cells]
    return (*answers, *missing)


def _rows_of(comparison: Comparison, group: str) -> list[ComparisonRow]:
    """Return the rows of a comparison, of a group with its name."""
    hosts = [_own_hosts(row, of_group=bool(group)) for row in comparison.rows]
    return [
        replace(row, host=f"{group} ({host})" if group else host)
        for row, host in zip(comparison.rows, hosts, strict=True)
    ]


def _own_hosts(row: ComparisonRow, *, of_group: bool) -> str:
    """Return the host of the run, of a group, or the number of its hosts.

    One host, beside one of the baseline, is named by that: runs on others answer the same question.
    """
    side = row.sides[-1]
    several = of_group or any(len(set(one.hosts)) > 1 for one in row.sides if one is not None)
    return side.host if several and side is not None else row.host


def own_step(row: ComparisonRow) -> str:
    """Return the step of the run that a row is of; that of the baseline, whose name may differ, without a result."""
    side = row.sides[-1]
    return row.step if side is None else side.step


ONCE = "one session shows a regression, which a second has to confirm"


def _is_once(row: ComparisonRow, moments: Moments) -> bool:
    """Return whether the last side of a row is of one session, or of none that several of its hosts share."""
    side = row.sides[-1]
    if side is None:
        return False
    hosts = host_means_by_moment(side, moments)
    shared = Counter(name for host in hosts.values() for name in host)
    fewest = min(2, len(hosts))
    return sum(count >= fewest for count in shared.values()) < SHOWN_TWICE


def _answer(cell: _Cell, p: float | None, run: str) -> ConditionAnswer:
    estimate, row = cell.estimate, cell.row
    answer, reason = GateOutcome.UNDECIDED, estimate.obstacle or "the interval crosses the limit"
    if p is not None and p < ERROR:
        answer, reason = (GateOutcome.UNDECIDED, ONCE) if cell.once else (GateOutcome.FAIL, "")
    elif estimate.passes:
        answer, reason = GateOutcome.PASS, ""
    ratio = estimate.ratio or Ratio(math.nan)
    value = None if math.isnan(ratio.value) else ratio.value
    return ConditionAnswer(
        cell.condition, own_step(row), row.host, row.labels, answer, run, _text(cell), reason,
        value, ratio.low, ratio.high, p, cell.counts, cell.trust, estimate.lasting, cell.remark, cell.unverified,
    )  # fmt: skip


def _text(cell: _Cell) -> str:
    """Return the figure, the limit or that of the baseline, the ratio of both with its interval, and n."""
    row, ratio, goal = cell.row, cell.estimate.ratio, cell.condition.goal
    name, (ours, theirs) = metric_text(row.metric, row.labels), cell.counts
    count = f"n = {cell.estimate.counted or (ours if goal is not None else f'{ours} against {theirs}')}"
    limit = "" if goal is None else f", limit {figure_text(row.metric, goal.bound)}"
    if ratio is None or math.isnan(ratio.value):
        shown, of_baseline = (_values(row, each) for each in (row.sides[-1], row.sides[0]))
        against = f" against {of_baseline}" if goal is None and shown and of_baseline else ""
        return f"{': '.join(filter(None, (name, shown)))}{against}{limit}, {count}"
    ends = (ratio.low, ratio.high)
    interval = "" if None in ends else f" (95 % CI {ratio.low:.3f} to {ratio.high:.3f})"
    value = f" {signed_share(ratio.value)}"
    if goal is not None:
        value = f": {figure_text(row.metric, ratio.value * goal.bound)}"
    return f"{name}{value}{limit}, ratio {ratio.value:.3f}{interval}, {count}"


def _values(row: ComparisonRow, side: MetricSummary | None) -> str:
    """Return the values of a side: the least to the largest."""
    ends = () if side is None or not side.values else (min(side.values), max(side.values))
    return " to ".join(dict.fromkeys(figure_text(row.metric, value) for value in ends))


def _cell(condition: Condition, row: ComparisonRow, moments: Moments, incomplete: str, look: float) -> _Cell:
    baseline, side, figure = row.sides[0], row.sides[-1], row.against[-1]
    if side is None:
        return _Cell(condition, row, _Estimate(None, obstacle=incomplete or "not measured in the run"), (0, 0))
    goal = condition.goal
    if goal is None:
        estimate = _against_baseline(figure, condition.share or 0.0, higher_is_worse=row.metric.better is Better.LOWER)
        estimate = replace(estimate, counted="" if figure.evidence is None else figure.evidence.counted)
        counts = figure.counts or (side.n, 0 if baseline is None else baseline.n)
    else:
        level, values = _values_of(side)
        error = moment_error(host_means_by_moment(side, moments), {}) if level is Level.HOST else None
        estimate, counts = _against_goal(values, level, goal, look, error), (len(values), 0)
        sessions = "" if error is None else f", {count_text(error.counts[0], Level.SESSION)}"
        estimate = replace(estimate, counted=f"{count_text(len(values), level)}{sessions}")
    sides = [("the result", side), *([("the baseline", baseline)] if goal is None and baseline is not None else [])]
    verdicts = [(name, f"{name}{one.verdict_host_text}", one.verdict) for name, one in sides if one.verdict is not None]
    doubts = {name: _verdict_text(where, one) for name, where, one in verdicts if one.trust.in_doubt}
    weaker = {Trust.UNVERIFIED, Trust.CAVEATS}
    remarks = [_verdict_text(where, one) for _, where, one in verdicts if one.trust in weaker]
    if goal is None and figure.level is Level.HOST and figure.scope in SINGLE - {Scope.ONE_SESSION}:
        remarks.append("sessions not repeated: a difference of their moments counts as a difference")
    remarks += [f"{name} is {NOT_JUDGED}" for name, one in sides if one.verdict is None]
    if incomplete or doubts:
        invalid = any(one.trust is Trust.INVALID for _, _, one in verdicts)
        own = "" if invalid else estimate.obstacle  # that of an invalid side is this doubt
        obstacle = incomplete or "; ".join(filter(None, (own, *doubts.values())))
        lasting = "the baseline" in doubts or bool(own and estimate.lasting)
        estimate = _Estimate(estimate.ratio, obstacle=obstacle, lasting=lasting, counted=estimate.counted)
    unverified = any(one.id == MEASURED_ELSEWHERE.id for _, _, verdict in verdicts for one in verdict.findings)
    unverified |= any(one.trust is Trust.UNVERIFIED for _, _, one in verdicts)
    return _Cell(condition, row, estimate, counts, str(side.trust or ""), "; ".join(remarks), unverified)


def _values_of(side: MetricSummary) -> tuple[Level, tuple[float, ...]]:
    """Return the values of a side at the highest replicated level: trials of one session share its moment."""
    hosts, sessions = tuple(side.host_means.values()), tuple(side.session_means.values())
    if len(hosts) > 1:
        return Level.HOST, hosts
    return (Level.SESSION, sessions) if len(sessions) > 1 else (Level.TRIAL, side.values)


def _verdict_text(name: str, verdict: Verdict) -> str:
    """Return the trust in a result or a baseline with the finding that decides it, which is the first of a verdict."""
    undecided = verdict.trust is Trust.UNDECIDED
    trust = f"the verdict on {name} is “{verdict.trust}”" if undecided else f"{name} is {verdict.trust}"
    if verdict.findings:
        return f"{trust}: {verdict.findings[0].title}"
    reason = verdict.summary.partition(": ")[2].rstrip(".")
    return f"{trust}: {reason}" if reason and verdict.trust.in_doubt else trust


def _judged(ratio: Ratio, share: float, *, higher_is_worse: bool) -> _Estimate:
    """Return the p-value of a ratio beyond the limit, on the worse side, and whether its interval is within."""
    least, most = margin_edges(share)
    inside = _log_of(ratio.high) <= most if higher_is_worse else _log_of(ratio.low) >= least
    beyond = math.log(ratio.value) > most if higher_is_worse else math.log(ratio.value) < least
    return _Estimate(ratio, beyond_p(ratio, share) if beyond else 1.0, inside)


def _log_of(end: float | None) -> float:
    """Return the logarithm of an end of an interval; NaN, which is within no limit, for None."""
    return math.nan if end is None else math.log(end)


def _against_baseline(figure: RelativeFigure, share: float, *, higher_is_worse: bool) -> _Estimate:
    ratio, evidence = figure.estimate, figure.evidence
    if figure.verdict is ComparisonVerdict.NOT_COMPARABLE or ratio is None or evidence is None:
        return _Estimate(ratio, obstacle=figure.ground, lasting=True)
    if evidence.barred:
        return _Estimate(ratio, obstacle=evidence.barred)
    if evidence.needed:
        return _Estimate(ratio, obstacle=_too_few(evidence), lasting=_baseline_lacks(evidence))
    if ratio.low is not None:
        return _judged(ratio, share, higher_is_worse=higher_is_worse)
    if figure.centres is None or not figure.exact:
        return _Estimate(ratio, obstacle=ratio.reason or figure.ground)
    ours, theirs = figure.centres  # counters that are identical in every trial of a side
    worse = ours > theirs * (1 + share) if higher_is_worse else ours < theirs * (1 - share)
    return _Estimate(ratio, 0.0 if worse else 1.0, not worse)


def _too_few(evidence: VerdictEvidence) -> str:
    """Return how many values are missing, on which side, and how they are measured."""
    ours, theirs = evidence.counts
    of_trials = evidence.level is Level.TRIAL
    alone = "one trial has no interval, " if of_trials and min(ours, theirs) == 1 else ""
    side = insufficient_side(evidence.needed, evidence.counts) or "on each side"
    if evidence.one_session:
        side = "of this run" if ours > theirs else "of the baseline"
    if evidence.level is Level.HOST:
        side, how = ("in both", "measure the same hosts") if evidence.pairs else (side, "measure more hosts")
    else:
        how = f"run {FEWEST_TRIALS} trials, or join {FEWEST_SESSIONS} runs by commas" if of_trials else "join more runs"
    return f"{alone}needs {count_text(evidence.needed, f'more {evidence.level}')} {side}: {how}"


def _baseline_lacks(evidence: VerdictEvidence) -> bool:
    """Return whether the baseline has too few values, so that no further run of the plan decides."""
    ours, theirs = evidence.counts
    return theirs > ours if evidence.one_session else theirs < FEWEST[evidence.level]


def _against_goal(
    values: Sequence[float], level: Level, goal: Goal, look: float, error: MomentError | None
) -> _Estimate:
    """Return the estimate of the geometric mean to the bound; of zeros, and of equal trials, by the sign test."""
    bound, missing = goal.bound, FEWEST[level] - len(values)
    if missing > 0:
        return _Estimate(None, obstacle=f"needs {count_text(missing, f'more {level}')}")
    if min(*values, bound) > 0:
        logs = [math.log(value / bound) for value in values]
        difference, variance = statistics.fmean(logs), statistics.variance(logs)
        if variance >= 1e-24:
            ratio = ratio_with_interval(difference, [(variance / len(logs), len(logs) - 1)])
            ratio = ratio if error is None else error.added_to(ratio)
            return _judged(widened(ratio, look) if look else ratio, 0.0, higher_is_worse=goal.at_most is not None)
    met = {goal.is_met(value) for value in values}
    if len(met) > 1:
        return _Estimate(None, obstacle="trials on both sides of the limit, some of them zero")
    return _Estimate(None, 1.0 if True in met else 2 * 0.5 ** len(values), passes=True in met)


@dataclass(frozen=True, slots=True)
class GateResult:
    """The outcome of a gate: for each condition and figure the deciding answer, and those of all runs."""

    answers: tuple[ConditionAnswer, ...]
    runs: tuple[str, ...]
    baseline: str

    @property
    def outcome(self) -> GateOutcome:
        """The outcome: a failed condition fails, else an undecided one leaves it undecided."""
        found = {one.answer for one in self.answers}
        return next((each for each in (GateOutcome.FAIL, GateOutcome.UNDECIDED) if each in found), GateOutcome.PASS)

    @property
    def unverified(self) -> bool:
        """Whether an answer rests on a result or a baseline that was measured elsewhere, where nothing was watched."""
        return any(one.unverified for one in self.answers)

    @property
    def settled(self) -> bool:
        """Whether another run changes nothing: a condition failed, or none that a run can decide is undecided."""
        waiting = any(one.answer is GateOutcome.UNDECIDED and not one.lasting for one in self.answers)
        return self.outcome is GateOutcome.FAIL or not waiting


def result_of(runs: Sequence[Sequence[ConditionAnswer]], names: Sequence[str], baseline: str) -> GateResult:
    """Return the outcome over the answers of `runs`, oldest first.

    A regression fails from SHOWN_TWICE runs. A pass counts from the first run if no run shows a regression, else from
    as many runs as are needed to fail and more than show it. An error of one run alone is no failure.
    """
    keys = dict.fromkeys(one.key for answers in runs for one in answers if one.step)
    if not keys:
        return GateResult(tuple(runs[-1]) if runs else (), tuple(names), baseline)
    return GateResult(
        tuple(_settled(key, runs) for key in keys) + tuple(_unanswered(runs, keys)), tuple(names), baseline
    )


def _settled(key: tuple[str, str, str, Labels], runs: Sequence[Sequence[ConditionAnswer]]) -> ConditionAnswer:
    found = [one for answers in runs for one in answers if one.key == key]
    fails = [one for one in found if one.answer is GateOutcome.FAIL]
    passes = [one for one in found if one.answer is GateOutcome.PASS]
    if len(fails) >= SHOWN_TWICE:
        return fails[-1]
    if passes and (not fails or len(passes) >= SHOWN_TWICE):
        return passes[-1]
    if fails:
        reason = "regression not confirmed by fresh trials" + (f": run {passes[-1].run} passes" if passes else "")
        return replace(fails[-1], answer=GateOutcome.UNDECIDED, reason=reason)
    return found[-1]


def _unanswered(
    runs: Sequence[Sequence[ConditionAnswer]], keys: dict[tuple[str, str, str, Labels], None]
) -> Iterator[ConditionAnswer]:
    answered = {key[0] for key in keys}
    for one in runs[-1]:
        if not one.step and one.condition.text not in answered:
            yield one
