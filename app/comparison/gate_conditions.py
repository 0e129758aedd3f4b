"""Conditions that fail a gate: changes for the worse and bounds, parsed and checked."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.plans.goals import NoGoalError, check_goals, goals_of
from app.plans.plan import Plan, Step
from suites.errors import BenchwrightError, UnknownSuiteError
from suites.quantities import share_text
from suites.units import ungrouped
from suites.verdict import Goal
from suites.vocab import Better, Metric

MOST_CONDITIONS = 50


class GateError(BenchwrightError):
    """A condition, or the baseline of a gate, cannot be used."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition that fails a gate, with its `text` as given.

    `share` is the change for the worse that fails it, 0.05 for 5 %; else `goal` is the bound that has to be met. `step`
    is None for every step with the metric.
    """

    text: str
    metric: str
    share: float | None = None
    goal: Goal | None = None
    step: str | None = None


def check_same_suite(plan: Plan, baseline: Plan, name: str) -> None:
    """Raise GateError if no suite of `plan` is in the `baseline`, which has this name: nothing compares them."""
    if not {step.suite_id for step in plan.steps} & {step.suite_id for step in baseline.steps}:
        theirs, ours = (", ".join(dict.fromkeys(map(_title, one.steps))) for one in (baseline, plan))
        raise GateError(
            f"The baseline “{name[:60]}” measures {theirs}, “{plan.name[:60]}” measures {ours}: different things.",
            "Choose a baseline of the same test.",
        )


def _title(step: Step) -> str:
    """Return the title of a step's suite; its id if this version does not have it."""
    try:
        return step.suite.title
    except UnknownSuiteError:
        return step.suite_id


_WORSE = re.compile(r"(?:(?P<step>[^:]+?)\s*:\s*)?(?P<metric>[a-z0-9_]+) worse by (?P<share>[0-9.]+) ?%")
_LIMIT = re.compile(r"(?P<step>(?:[^;]*:)?\s*)(?P<metric>[a-z0-9_]*)(?P<bound>[^;]*[<>][^;]*)")
MOST_WORSE = 10.0
"""The limit of a change of a metric that is better lower; others fall by 100 % at most."""

_WRITE = 'Write "p99 worse by 5 %", "iops worse by 10 %" or "latency_p99 > 10 ms".'


def parse_conditions(texts: Sequence[str], steps: Sequence[Step]) -> tuple[Condition, ...]:
    """Return the conditions in `texts` for the metrics of `steps`; raise GateError or GoalError for any other text.

    A metric is its name, or without ``latency_``: ``p99`` is ``latency_p99``; else the end of one name alone.
    """
    if not 0 < len(texts) <= MOST_CONDITIONS:
        raise GateError(f"A gate has 1 to {MOST_CONDITIONS} conditions, not {len(texts)}.", _WRITE)
    found = tuple(_parsed(" ".join(text.split()), steps) for text in texts)
    names = [(one.step, one.metric, one.goal is None) for one in found]
    for one, name in zip(found, names, strict=True):
        if names.count(name) > 1:
            raise GateError(f"Several conditions limit {one.metric}.", "Keep the strictest.")
    return found


def _parsed(given: str, steps: Sequence[Step]) -> Condition:
    """Return a condition; its metric may be given by name or title."""
    text = _with_name(given, steps)
    if worse := _WORSE.fullmatch(text):
        step = worse["step"]
        if step is not None and step not in {one.name for one in steps}:
            raise GateError(f"“{text[:60]}”: no such step.", f"Steps: {', '.join(one.name for one in steps)}.")
        try:
            share = float(ungrouped(worse["share"])) / 100
        except ValueError:
            share = math.nan
        metric = _metric_of(worse["metric"], step, steps)
        lower = all(one.better is Better.LOWER for one in _metrics(step, steps) if one.name == metric)
        most = MOST_WORSE if lower else 1.0
        if not 0 < share < most:
            raise GateError(f"“{text[:60]}”: the change is not above 0 and below {share_text(most)}.", _WRITE)
        return Condition(given, metric, share=share, step=step)
    limit_parts = _LIMIT.fullmatch(text)
    if limit_parts is None:
        raise GateError(f"“{given[:60]}” is not a condition.", _WRITE)
    metric = limit_parts["metric"]
    named = _metric_of(metric, None, steps) if metric else metric
    try:
        (limit,) = goals_of(f"{limit_parts['step']}{named}{limit_parts['bound']}", steps)
    except NoGoalError:  # its remedy is a goal, the opposite of a condition
        raise GateError(f"“{given[:60]}” is not a condition.", _WRITE) from None
    better = {each.better for each in _metrics(limit.step, steps) if each.name == limit.metric}
    if better == {Better.LOWER if limit.at_least is None else Better.HIGHER}:
        sign, other = ("<", ">") if limit.at_least is None else (">", "<")
        wanted = re.sub(f"{sign}=?", other, text)
        raise GateError(f"“{given[:60]}” fails on better results: {better.pop()} is better.", f"Write {wanted[:60]}.")
    goal = replace(limit, at_least=limit.at_most, at_most=limit.at_least)  # the condition is the goal missed
    check_goals([goal], steps)
    return Condition(given, goal.metric, goal=goal, step=goal.step)


def _with_name(text: str, steps: Sequence[Step]) -> str:
    """Return the text of a condition with the name of its metric for the title, as outputs show it."""
    names = {each.title: each.name for each in _metrics(None, steps)}
    titles = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    found = re.match(rf"((?:[^;<>]*:)?\s*)({titles})(?=\s+worse by|\s*[<>])", text) if names else None
    return text if found is None else f"{found[1]}{names[found[2]]}{text[found.end() :]}"


def _metrics(step: str | None, steps: Sequence[Step]) -> list[Metric]:
    return [each for one in steps if step in {None, one.name} for each in one.suite.metrics_of(one.whole_values())]


def _metric_of(name: str, step: str | None, steps: Sequence[Step]) -> str:
    """Return the full name of a metric of `steps`; raise GateError for none, or several with that end."""
    names = list(dict.fromkeys(each.name for each in _metrics(step, steps)))
    exact = next((each for each in (name, f"latency_{name}") if each in names), "")
    found = [exact] if exact else [each for each in names if each.endswith(f"_{name}")]
    if len(found) != 1:
        which = "is not a metric" if not found else "is several metrics"
        raise GateError(f"“{name[:60]}” {which} of the plan.", f"Metrics: {', '.join(found or names)}.")
    return found[0]
