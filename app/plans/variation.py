"""Variations of a plan: its steps with several values of a parameter, as points of a sweep."""

from collections.abc import Sequence
from dataclasses import replace

from app.plans.plan import Plan, PlanError, Step, make_step, value_tables
from app.plans.plan_names import named_after

MOST_STEPS = 100
"""Most steps of a varied plan."""

EXAMPLE = "Write iodepth=1,8,32, or SUITE.threads=1,2,4 for the steps of one suite."


def varied(plan: Plan, words: Sequence[str]) -> Plan:
    """Return `plan` with a step for each value of the parameters that `words` vary, and for each combination of them.

    A word is ``PARAMETER=VALUE,VALUE`` for every step with the parameter, ``SUITE.PARAMETER=`` or ``STEP.PARAMETER=``
    for some. The values are added to the names of the steps. Raises PlanError for a word that varies no step or repeats
    a value and for more than MOST_STEPS steps, and ParameterError for a value that is not accepted.
    """
    steps = list(plan.steps)
    for word in words:
        steps = _with_values(steps, word)
    return named_after(replace(plan, steps=tuple(steps)), plan) if words else plan


def _with_values(steps: Sequence[Step], word: str) -> list[Step]:
    target, equals, text = word.partition("=")
    of, _, name = target.rpartition(".")
    values = text.split(",")
    if not (equals and name and all(values)):
        raise PlanError(f"“{word[:60]}” is not PARAMETER=VALUE,VALUE.", EXAMPLE)
    chosen = [one for one in steps if of in {"", one.suite_id, one.name} and name in _parameters(one)]
    if not chosen:
        raise PlanError(f"No step has the parameter {target[:60]}.", EXAMPLE)
    if len(steps) + len(chosen) * (len(values) - 1) > MOST_STEPS:
        raise PlanError(f"“{word[:60]}” makes more than {MOST_STEPS} steps.", "Vary fewer values.")
    return [made for one in steps for made in (_points(one, name, values) if one in chosen else (one,))]


def _points(step: Step, name: str, values: Sequence[str]) -> list[Step]:
    parameter = next(one for one in step.suite.parameters if one.name == name)
    parsed = [parameter.parse(value.strip()) for value in values]
    texts = [parameter.format(value) for value in parsed]
    if twice := next((text for text in texts if texts.count(text) > 1), None):
        raise PlanError(f"{name} has the value {twice[:60]} twice.", "State each value once.")
    given = {**step.values, **value_tables(step)}
    return [
        make_step(step.suite_id, {**given, name: value}, name=f"{step.name} {name}={text}", peer=step.peer)
        for value, text in zip(parsed, texts, strict=True)
    ]


def _parameters(step: Step) -> set[str]:
    return {parameter.name for parameter in step.suite.parameters}
