"""Checks of goals: that their size is one that their metrics can have, and whether the result meets them."""

from collections.abc import Iterable, Sequence

from app.centres import centre_over
from app.checks.plans import PlanEvidence
from app.comparison.estimates import FEWEST_TRIALS, median_of
from app.plans.goals import goal_text, unit_of
from suites.checks import Check, CheckOutcome, NotChecked, after_check
from suites.evidence import StepOutcomeEvidence
from suites.quantities import count_text, figure_text, metric_text, range_text
from suites.units import Unit, convert, same_dimension
from suites.verdict import Goal, Trust, Verdict
from suites.vocab import Figure, Resource, Severity

_RANGES: tuple[tuple[Unit, float, float, str], ...] = (
    (Unit.SECOND, 1e-6, 1e5, "1 us to a day"),
    (Unit.BYTES_PER_SECOND, 1e4, 1e12, "10 kB/s to 1,000 GB/s"),
    (Unit.PER_SECOND, 1.0, 1e9, "1 to 10^9 per second"),
)
"""Unit, least and largest plausible value, of disks, networks and applications."""

_WIDE: tuple[tuple[Unit, float, float, str], ...] = (
    (Unit.SECOND, 1e-10, 1e6, "0.1 ns to ten days"),
    (Unit.BYTES_PER_SECOND, 1e4, 1e14, "10 kB/s to 100 TB/s"),
    (Unit.PER_SECOND, 1e-3, 1e14, "0.001 to 10^14 per second"),
)
"""The same of processors and memory, from a cache hit to an hour of linpack, and up to FLOPS."""

_WIDE_OF = frozenset({Resource.CPU, Resource.MEMORY})


def _absurd(evidence: PlanEvidence) -> CheckOutcome | None:
    texts = []
    for goal in evidence.plan.goals:
        steps = [step for step in evidence.plan.steps if unit_of(goal.metric, goal.step, [step])]
        unit = unit_of(goal.metric, goal.step, steps)
        wide = any(step.suite.resource in _WIDE_OF for step in steps)
        if unit is not None and (plausible := _plausible(goal, unit, _WIDE if wide else _RANGES)):
            texts.append(f"{goal_text(goal, unit)}: plausible is {plausible}.")
    return CheckOutcome(" ".join(texts)) if texts else None


def _plausible(goal: Goal, unit: Unit, ranges: tuple[tuple[Unit, float, float, str], ...]) -> str:
    """Return the plausible values of the goal's metric if its bound is outside them."""
    for base, low, high, text in ranges:
        if same_dimension(base, unit):
            return "" if low <= convert(goal.bound, unit, base) <= high else text
    return ""


GOAL_UNITS = Check(
    id="goal-units",
    title="Goal is in the wrong unit",
    why="The bound is orders of magnitude off what the metric can be: every result meets it, or none.",
    remedy="Write the unit with the value, as in latency_p99 <= 5 ms or bandwidth >= 500 MB/s.",
    source="The plan’s goals and the units of their metrics.",
    needs="The goals; the metrics of the steps.",
    evaluate=_absurd,
)


def _met(step: StepOutcomeEvidence) -> CheckOutcome | NotChecked | None:
    results, missed, relevant = [], False, False
    for goal in step.goals:
        if goal.step not in {None, step.name}:
            continue
        figures = step.done[0].as_named(goal.metric) if step.done else ()
        relevant = True
        for figure in figures:
            values = step.over_trials(figure.metric.name, figure.labels)
            halves = step.halves_over(figure.metric.name, figure.labels)
            interval = _interval(values, halves)
            reached = {goal.is_met(value) for value in interval}
            missed = missed or reached == {False}
            results.append(_met_text(goal, figure, centre_over(values, halves).value, len(values), interval))
    if not results:
        return NotChecked("The goal's metric was not measured.") if relevant else None
    return CheckOutcome(" ".join(results), severity=Severity.WARNING if missed else Severity.INFO)


def _interval(values: Sequence[float], halves: Sequence[bool]) -> tuple[float, ...]:
    """Return the ends of the 95 % interval of the mean of trials; none for fewer than FEWEST_TRIALS."""
    if len(values) < FEWEST_TRIALS:
        return ()
    # A count such as errors may be zero: the median has an interval without logarithms.
    found = centre_over(values, halves) if min(values) > 0 else median_of(values)
    return () if found.low is None or found.high is None else (found.low, found.high)


def _met_text(goal: Goal, figure: Figure, value: float, count: int, interval: Sequence[float]) -> str:
    metric, half = figure.metric, (interval[-1] - interval[0]) / 2 if interval else None
    wanted = f"{'at least' if goal.at_least is not None else 'at most'} {figure_text(metric, goal.bound, half)}"
    found = f"{metric_text(metric, figure.labels)}: {figure_text(metric, value, half)}, goal {wanted}"
    if not interval:
        return f"{found}: not decided ({count_text(count, 'trial')}, needs {FEWEST_TRIALS})."
    reached = {goal.is_met(value) for value in interval}
    outcome = "not sure" if len(reached) > 1 else "met" if True in reached else "missed"
    return f"{found}: {outcome} (95 % CI {range_text(metric, interval[0], interval[1], half)})."


GOAL_MET = after_check(
    id="goal",
    severity=Severity.INFO,
    title="Result compared with the goal",
    why="The goal is what the application needs.",
    remedy="If it is missed, change what limits the result.",
    source="The plan’s goal, and the 95 % interval of the trials: it needs six.",
    evaluate=_met,
    needs="a goal in the plan, and its figure",
    trust=Trust.VALID,
)


def goals_text(verdicts: Iterable[Verdict]) -> str:
    """Return whether results meet the plan's goals; empty without a goal."""
    return " ".join(one.measured for verdict in verdicts for one in verdict.findings if one.id == GOAL_MET.id)


def goal_missed(verdicts: Iterable[Verdict]) -> bool:
    """Return whether the trials show that a goal is missed: their 95 % interval is entirely beyond it."""
    return any(one.id == GOAL_MET.id and one.severity is Severity.WARNING for each in verdicts for one in each.findings)
