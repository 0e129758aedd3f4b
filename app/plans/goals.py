"""The goals of a plan, bounds on metrics, as [[goal]] tables of a plan file or as text, in any unit of the metric."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from app.plans.plan import GoalError, Step
from suites.errors import BenchwrightError, UnitError
from suites.units import Unit, convert, same_dimension, typed_unit, ungrouped
from suites.verdict import Goal
from suites.vocab import Better, Metric, MetricKind


class NoGoalError(GoalError):
    """A text is not a goal."""


GOAL = "goal"
"""The key of the goals in a plan file."""

MOST = 100


def read_goals(content: Mapping[str, Any], steps: Sequence[Step]) -> tuple[Goal, ...]:
    """Return the goals in the `content` of a plan file; raise GoalError naming the wrong table or key.

    A bound is a number in the metric's unit, or text with a unit, which the metrics of `steps` determine.
    """
    tables = content.get(GOAL, [])
    if not isinstance(tables, list) or len(tables) > MOST or not all(isinstance(table, dict) for table in tables):
        raise GoalError("goal is not a list of [[goal]] tables.", "Write [[goal]] with its values below.")
    return tuple(_goal(table, f"goal {number}", steps) for number, table in enumerate(tables, 1))


def _goal(table: Mapping[str, Any], where: str, steps: Sequence[Step]) -> Goal:
    known = [field.name for field in fields(Goal)]
    for key in table:
        if key not in known:
            raise GoalError(f"{where} has no “{key[:60]}”.", f"Its keys are {', '.join(known)}.")
    metric, step = table.get("metric"), table.get("step")
    if not isinstance(metric, str) or not isinstance(step, str | None):
        raise GoalError(f"{where} has no metric.", 'Write metric = "iops", for example.')
    units = _units(metric, step, steps)
    goal = Goal(metric, _bound(table, "at_least", where, units), _bound(table, "at_most", where, units), step)
    _check_one_bound(goal)
    return goal


def _check_one_bound(goal: Goal) -> None:
    if (goal.at_least is None) == (goal.at_most is None):
        raise GoalError(f"The goal for {goal.metric[:60]} needs one bound.", "Set at_least or at_most.")


def _bound(table: Mapping[str, Any], name: str, where: str, units: frozenset[Unit]) -> float | None:
    value = table.get(name)
    if value is None:
        return None
    if isinstance(value, str) and (found := _QUANTITY.fullmatch(value)) and found["unit"]:
        return _value(found, units, where, _WRITE_BOUND)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise GoalError(f"{where}: {name} is {str(value)[:60]!r}.", _WRITE_BOUND)
    return float(value)


_WRITE_BOUND = 'Set a number in the metric’s unit, or text such as "5 ms".'


_AMOUNT = r"(?P<value>[-+.0-9](?:[-+.,\u00a0\u2009\u202f0-9]*[.0-9])?(?:[eE][-+]?[0-9]+)?)\s*(?P<unit>[^\s\d;][^\s;]*)?"
_QUANTITY = re.compile(_AMOUNT)
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_STEP = rf'(?:(?P<step>{{names}}{_QUOTED}|[^;"]+?)\s*:)?\s*'
_GOAL = rf"{_STEP}(?P<metric>[a-z0-9_]+)\s*(?P<bound>[<>]=?)\s*{_AMOUNT}\s*(?:;|$)"
_PLAIN = re.compile(r'[^\s;:"<>=](?:[^;"<>=]*[^\s;:"<>=])?')
"""A step name that a goal has without quotes."""

_SHOWN = (Unit.SECOND, Unit.MILLISECOND, Unit.MICROSECOND, Unit.NANOSECOND)

SEPARATOR = ";"


def unit_of(metric: str, step: str | None, steps: Sequence[Step]) -> Unit | None:
    """Return the unit of a goal's metric in `steps`; None if none measures it, or several in different units."""
    units = _units(metric, step, steps)
    return next(iter(units)) if len(units) == 1 else None


def _units(metric: str, step: str | None, steps: Sequence[Step]) -> frozenset[Unit]:
    return frozenset(each.unit for _, each in _measured(metric, step, steps))


def _measured(metric: str, step: str | None, steps: Sequence[Step]) -> list[tuple[Step, Metric]]:
    """Return the metrics of that name in `steps`, or in the one named `step`, each with its step."""
    targets = [one for one in steps if step in {None, one.name}]
    return [(one, each) for one in targets for each in one.suite.metrics_of(one.whole_values()) if each.name == metric]


def goals_of(text: str, steps: Sequence[Step] = ()) -> tuple[Goal, ...]:
    """Parse goals such as ``iops >= 20k; disk:latency_p99 <= 5 ms``; raise GoalError for anything else.

    A value without a unit is in the metric's own; `steps` give the metrics. A step name with a separator is quoted, as
    in ``"4k; random":iops >= 20k``, unless it is one of `steps`.
    """
    names = sorted((step.name for step in steps), key=len, reverse=True)
    goal = re.compile(_GOAL.format(names="".join(f"{re.escape(name)}|" for name in names)))
    goals: list[Goal] = []
    text = text.strip()
    while text:
        if (found := goal.match(text)) is not None:
            goals.append(_parsed(found, steps))
            text = text[found.end() :].lstrip()
        elif text.startswith(SEPARATOR):
            text = text[1:].lstrip()
        else:
            named = text.split(SEPARATOR)[0].strip()[:60]
            raise NoGoalError(f"“{named}” is not a goal.", f"Write {goal_example(steps)}.")
    return tuple(goals)


def _parsed(found: re.Match[str], steps: Sequence[Step]) -> Goal:
    step = found["step"]
    if step and step not in {one.name for one in steps} and re.fullmatch(_QUOTED, step):
        step = re.sub(r"\\(.)", r"\1", step[1:-1])
    where = f"“{found[0].rstrip('; ')[:60]}”"
    value = _value(found, _units(found["metric"], step, steps), where, f"Write {goal_example(steps)}.")
    return Goal(found["metric"], **{"at_least" if found["bound"].startswith(">") else "at_most": value}, step=step)


def _value(found: re.Match[str], units: frozenset[Unit], where: str, remedy: str) -> float:
    """Return the value and unit in `found` in the metric's unit, the one of `units`; `remedy` is for no quantity."""
    factor, given = typed_unit(found["unit"] or "") or (1.0, None)
    try:
        value = float(ungrouped(found["value"])) * factor
    except ValueError:
        value = math.nan
    except BenchwrightError as error:
        raise GoalError(error.message, error.remedy) from None
    if not math.isfinite(value) or (found["unit"] and given is None):
        raise NoGoalError(f"{where} is not a goal.", remedy)
    if given is None or not units:
        return value
    if len(units) > 1:
        raise GoalError(f"{where}: the steps measure it in {', '.join(sorted(units))}.", "Name the step: STEP:METRIC.")
    (unit,) = units
    try:
        return float(f"{convert(value, given, unit):.12g}")
    except UnitError:
        raise GoalError(f"{where} is in {found['unit']}, the metric in {unit}.", _use(unit)) from None


def _use(unit: Unit) -> str:
    """Return the remedy that lists the units of the dimension of `unit`."""
    if unit is Unit.PER_SECOND:
        return "Use no unit, k or M."
    return f"Use {', '.join(each for each in Unit if same_dimension(each, unit))}."


def goal_example(steps: Sequence[Step]) -> str:
    """Return a goal for the first step’s headline metric, with a unit: ``iops >= 20k``, ``latency_p99 <= 5 ms``."""
    metrics = steps[0].suite.metrics_of(steps[0].whole_values()) if steps else ()
    if not metrics:
        return "iops >= 20k"
    several = len(_units(metrics[0].name, None, steps)) > 1
    return f"{_step_text(steps[0].name) if several else ''}{_example_of(metrics[0])}"


def _example_of(metric: Metric) -> str:
    """Return a goal for a metric in its better direction."""
    shown = (text for unit, text in _EXAMPLES if same_dimension(unit, metric.unit))
    value = "1000" if metric.unit is Unit.ONE else next(shown, f"10 {metric.unit}")
    return f"{metric.name} {'>=' if metric.better is Better.HIGHER else '<='} {value}"


_EXAMPLES = ((Unit.SECOND, "5 ms"), (Unit.BYTES_PER_SECOND, "500 MB/s"), (Unit.PER_SECOND, "20k"))


def goals_text(goals: Sequence[Goal], steps: Sequence[Step] = ()) -> str:
    """Return `goals` as text that goals_of() parses, with units as far as `steps` give them."""
    return f"{SEPARATOR} ".join(goal_text(goal, unit_of(goal.metric, goal.step, steps)) for goal in goals)


def goal_text(goal: Goal, unit: Unit | None) -> str:
    """Return one goal: ``disk:latency_p99 <= 5 ms``."""
    return f"{_step_text(goal.step)}{goal.metric} {goal.sign} {_with_unit(goal.bound, unit)}"


def _step_text(name: str | None) -> str:
    """Return the step of a goal and its colon, quoted where the name has a separator; empty for None."""
    if name is None:
        return ""
    quoted = re.sub(r'(["\\])', r"\\\1", name)
    return f"{name}:" if _PLAIN.fullmatch(name) else f'"{quoted}":'


def _with_unit(value: float, unit: Unit | None) -> str:
    """Return `value` with its unit; a time in the largest unit that it reaches."""
    if unit is None or unit in {Unit.PER_SECOND, Unit.ONE}:
        return f"{value:.15g}"
    shown = next((each for each in _SHOWN if unit in _SHOWN and convert(abs(value), unit, each) >= 1), unit)
    return f"{convert(value, unit, shown):.12g} {shown}"


def check_goals(goals: Sequence[Goal], steps: Sequence[Step]) -> None:
    """Raise GoalError unless each goal has one bound that some results meet, and a step with its metric.

    The remedy for a bound is a goal that goals_of() parses and this accepts.
    """
    for goal in goals:
        _check_one_bound(goal)
        targets = [step for step in steps if goal.step in {None, step.name}]
        if not targets:
            named = ", ".join(step.name for step in steps)
            raise GoalError(
                f"A goal names the step “{str(goal.step)[:60]}”, which is not in the plan.", f"Steps: {named}."
            )
        found = _measured(goal.metric, goal.step, steps)
        if not found:
            listed = ", ".join(
                sorted({each.name for one in targets for each in one.suite.metrics_of(one.whole_values())})
            )
            raise GoalError(f"No step measures the goal’s metric “{goal.metric[:60]}”.", f"Metrics: {listed}.")
        for step, metric in found:
            if fault := _fault(goal, metric):
                text = goal_text(goal, unit_of(goal.metric, goal.step, steps))
                raise GoalError(f"The goal {text} is met by {fault}.", _remedy(goal, step, metric, steps))


def _fault(goal: Goal, metric: Metric) -> str:
    """Return which results meet a bound: every one, none or worse ones; empty for a usable bound."""
    higher = goal.at_least is not None
    below = metric.least is not None and (goal.bound < metric.least or (higher and goal.bound == metric.least))
    above = metric.most is not None and (goal.bound > metric.most or (not higher and goal.bound == metric.most))
    if below or above:
        possible = "at least 0" if metric.most is None else f"0 to {metric.most:g} {metric.unit}"
        return f"{'every' if below is higher else 'no'} result: {metric.name} is {possible}"
    if metric.kind is not MetricKind.COUNT and higher is (metric.better is Better.LOWER):
        return f"worse results: a {metric.better} value is better"
    return ""


def _remedy(goal: Goal, step: Step, metric: Metric, steps: Sequence[Step]) -> str:
    """Return the remedy for a refused bound: the goal in the other direction, else an example for its metric."""
    turned = replace(goal, at_least=goal.at_most, at_most=goal.at_least)
    (example,) = goals_of(_example_of(metric), [step])
    several = unit_of(goal.metric, goal.step, steps) is None
    named = replace(example, step=step.name)
    for one in (*((turned,) if goal.bound else ()), named if several else replace(example, step=goal.step), named):
        if not any(_fault(one, each) for _, each in _measured(one.metric, one.step, steps)):
            return f"Write {goal_text(one, unit_of(one.metric, one.step, steps))}."
    return ""
