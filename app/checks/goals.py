"""Check that the goals of a plan are of a size that their metrics can have."""

from app.checks.plans import PlanEvidence
from app.plans.goals import goal_text, unit_of
from suites.checks import Check, CheckOutcome
from suites.units import Unit, convert, same_dimension
from suites.verdict import Goal
from suites.vocab import Resource, Severity

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
    severity=Severity.WARNING,
    title="Goal is in the wrong unit",
    why="The bound is orders of magnitude off what the metric can be: every result meets it, or none.",
    remedy="Write the unit with the value, as in latency_p99 <= 5 ms or bandwidth >= 500 MB/s.",
    source="The plan’s goals and the units of their metrics.",
    needs="The goals; the metrics of the steps.",
    evaluate=_absurd,
)
