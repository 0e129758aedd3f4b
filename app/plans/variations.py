"""Steps that differ in one or several parameters: a step for each combination of values."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

from app.plans.plan import Plan, PlanError, Step, make_step, value_tables

MOST_STEPS = 100
"""Steps of a plan that variations may make."""


def varied(plan: Plan, variations: Sequence[str]) -> Plan:
    """Return `plan` with a step for each combination of the values in `variations`, ``[STEP.]NAME=VALUE,VALUE``.

    STEP is a step or a suite; without it, every step varies. A step is named after its values: ``fio block_size=4k``.
    Raises PlanError or ParameterError for a variation that is not valid.
    """
    given = [_parsed(text, plan.steps) for text in variations]
    count = sum(math.prod(len(values) for _, values in _own(step, given)) for step in plan.steps)
    if given and count > MOST_STEPS:
        raise PlanError(f"The variations make {count:,} steps.", f"Use fewer values: at most {MOST_STEPS} steps.")
    return replace(plan, steps=tuple(made for step in plan.steps for made in _variants(step, _own(step, given))))


_Variation = tuple[str, str, tuple[str, ...]]


def _parsed(text: str, steps: Sequence[Step]) -> _Variation:
    """Return the step, empty for every one, the parameter and its values."""
    target, _, listed = text.partition("=")
    step, _, name = target.strip().rpartition(".")
    values = tuple(value.strip() for value in listed.split(","))
    if not name or len(values) < 2 or not all(values) or len(set(values)) < len(values):
        raise PlanError(f"“{text[:60]}” does not vary a parameter.", "Write fio.block_size=4k,64k, for example.")
    if step and not any(step in {one.name, one.suite_id} for one in steps):
        raise PlanError(f"The plan has no step “{step[:60]}”.", f"Its steps: {', '.join(one.name for one in steps)}.")
    return step, name, values


def _own(step: Step, given: Sequence[_Variation]) -> list[tuple[str, tuple[str, ...]]]:
    """Return the parameters of a step that vary, with their values."""
    return [(name, values) for target, name, values in given if target in {"", step.name, step.suite_id}]


def _variants(step: Step, own: Sequence[tuple[str, tuple[str, ...]]]) -> list[Step]:
    if not own:
        return [step]
    found = []
    for values in product(*(values for _, values in own)):
        chosen = dict(zip((name for name, _ in own), values, strict=True))
        title = " ".join([step.name, *(f"{name}={value}" for name, value in chosen.items())])
        whole = {**step.values, **value_tables(step), **chosen}
        found.append(make_step(step.suite_id, whole, name=title, peer=step.peer))
    return found
