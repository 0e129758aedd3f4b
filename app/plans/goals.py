"""The goals of a plan, bounds on metrics, as [[goal]] tables of a plan file."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from app.plans.plan import GoalError
from suites.verdict import Goal

GOAL = "goal"
"""The key of the goals in a plan file."""

MOST = 100


def read_goals(content: Mapping[str, Any]) -> tuple[Goal, ...]:
    """Return the goals in the `content` of a plan file; raise GoalError naming the wrong table or key."""
    tables = content.get(GOAL, [])
    if not isinstance(tables, list) or len(tables) > MOST or not all(isinstance(table, dict) for table in tables):
        raise GoalError("goal is not a list of [[goal]] tables.", "Write [[goal]] with its values below.")
    return tuple(_goal(table, f"goal {number}") for number, table in enumerate(tables, 1))


def _goal(table: Mapping[str, Any], where: str) -> Goal:
    known = [field.name for field in fields(Goal)]
    for key in table:
        if key not in known:
            raise GoalError(f"{where} has no “{key[:60]}”.", f"Its keys are {', '.join(known)}.")
    metric, step = table.get("metric"), table.get("step")
    if not isinstance(metric, str) or not isinstance(step, str | None):
        raise GoalError(f"{where} has no metric.", 'Write metric = "iops", for example.')
    return Goal(metric, _bound(table, "at_least", where), _bound(table, "at_most", where), step)


def _bound(table: Mapping[str, Any], name: str, where: str) -> float | None:
    value = table.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise GoalError(f"{where}: {name} is {str(value)[:60]!r}.", "Set a number, in the metric’s unit.")
    return float(value)


_GOAL = re.compile(r"(?:(?P<step>.+):)?\s*(?P<metric>[a-z0-9_]+)\s*(?P<bound>>=|<=)\s*(?P<value>[-+.0-9eE]+)")

SEPARATOR = ";"


def goals_of(text: str) -> tuple[Goal, ...]:
    """Parse goals such as ``iops >= 20000; disk:latency_p99 <= 2e6``; raise GoalError for anything else."""
    return tuple(_parsed(part.strip()) for part in text.split(SEPARATOR) if part.strip())


def _parsed(text: str) -> Goal:
    found = _GOAL.fullmatch(text)
    try:
        value = float(found["value"]) if found is not None else math.nan
    except ValueError:
        value = math.nan
    if found is None or not math.isfinite(value):
        raise GoalError(f"“{text[:60]}” is not a goal.", "Write iops >= 20000, or STEP:latency_p99 <= 2e6.")
    step = found["step"].strip() if found["step"] else None
    return Goal(found["metric"], **{"at_least" if found["bound"] == ">=" else "at_most": value}, step=step)


def goals_text(goals: Sequence[Goal]) -> str:
    """Return `goals` as text that goals_of() parses."""
    texts = []
    for goal in goals:
        bound, value = (">=", goal.at_least) if goal.at_least is not None else ("<=", goal.at_most)
        texts.append(f"{f'{goal.step}:' if goal.step else ''}{goal.metric} {bound} {value:.15g}")
    return f"{SEPARATOR} ".join(texts)
