"""The goals of a plan: what a figure has to reach, as [[goal]] tables of a plan file."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import tomlkit

from suites.base import metrics_of
from suites.errors import BenchwrightError
from suites.verdict import Goal

if TYPE_CHECKING:
    from app.plans.plan import Step

GOAL = "goal"
"""The key of a plan file that this module reads and writes."""

MOST = 100


class GoalError(BenchwrightError):
    """A goal cannot be read, or no step can meet it."""


def read_goals(content: Mapping[str, Any]) -> tuple[Goal, ...]:
    """Return the goals in the `content` of a plan file; raise GoalError naming what is wrong."""
    tables = content.get(GOAL, [])
    if not isinstance(tables, list) or len(tables) > MOST or not all(isinstance(table, dict) for table in tables):
        raise GoalError("goal is not [[goal]] tables.", "Write [[goal]] and its values below it.")
    return tuple(_goal(table, f"goal {number}") for number, table in enumerate(tables, 1))


def _goal(table: Mapping[str, Any], where: str) -> Goal:
    known = [field.name for field in fields(Goal)]
    for key in table:
        if key not in known:
            raise GoalError(f"{where} has no “{key[:60]}”.", f"It may have {', '.join(known)}.")
    metric, step = table.get("metric"), table.get("step")
    if not isinstance(metric, str) or not isinstance(step, str | None):
        raise GoalError(f"{where} names no metric.", 'Write metric = "iops", for example.')
    return Goal(metric, _bound(table, "at_least", where), _bound(table, "at_most", where), step)


def _bound(table: Mapping[str, Any], name: str, where: str) -> float | None:
    value = table.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise GoalError(f"{where}: {name} is {str(value)[:60]!r}.", "Give a number, in the metric’s unit.")
    return float(value)


_WORDS = re.compile(r"(?:(?P<step>.+):)?\s*(?P<metric>[a-z0-9_]+)\s*(?P<bound>>=|<=)\s*(?P<value>[-+.0-9eE]+)")

SEPARATOR = ";"


def goals_of(text: str) -> tuple[Goal, ...]:
    """Return the goals that a person wrote: ``iops >= 20000; disk:latency_p99 <= 2e6``; raise GoalError for others."""
    return tuple(_written(part.strip()) for part in text.split(SEPARATOR) if part.strip())


def _written(words: str) -> Goal:
    found = _WORDS.fullmatch(words)
    try:
        value = float(found["value"]) if found is not None else math.nan
    except ValueError:
        value = math.nan
    if found is None or not math.isfinite(value):
        raise GoalError(f"“{words[:60]}” is no goal.", "Write iops >= 20000, or STEP:latency_p99 <= 2e6.")
    step = found["step"].strip() if found["step"] else None
    return Goal(found["metric"], **{"at_least" if found["bound"] == ">=" else "at_most": value}, step=step)


def goals_text(goals: Sequence[Goal]) -> str:
    """Return `goals` as a person writes them; goals_of() gives them back."""
    said = []
    for goal in goals:
        bound, value = (">=", goal.at_least) if goal.at_least is not None else ("<=", goal.at_most)
        said.append(f"{f'{goal.step}:' if goal.step else ''}{goal.metric} {bound} {value:.15g}")
    return f"{SEPARATOR} ".join(said)


def check_goals(goals: Sequence[Goal], steps: "Sequence[Step]") -> None:
    """Raise GoalError where a goal has not exactly one bound, or no step has its metric."""
    for goal in goals:
        if (goal.at_least is None) == (goal.at_most is None):
            raise GoalError(f"The goal for {goal.metric[:60]} needs one bound.", "Give at_least or at_most.")
        asked = [step for step in steps if goal.step in {None, step.name}]
        if not asked:
            raise GoalError(f"A goal is of the step “{str(goal.step)[:60]}”, which the plan has not.")
        names = {metric.name for step in asked for metric in metrics_of(step.suite, step.values)}
        if goal.metric not in names:
            listed = ", ".join(sorted(names))
            raise GoalError(f"No step measures “{goal.metric[:60]}”, which a goal asks for.", f"They measure {listed}.")


def add_goals(document: tomlkit.TOMLDocument, goals: Sequence[Goal]) -> None:
    """Write `goals` into `document`; nothing where there are none."""
    if not goals:
        return
    tables = tomlkit.aot()
    for goal in goals:
        table = tomlkit.table()
        for field in fields(goal):
            value = getattr(goal, field.name)
            if value is not None:
                table[field.name] = value
        tables.append(table)
    document[GOAL] = tables
