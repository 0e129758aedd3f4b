"""Names that plans get by themselves: of their steps, the values that matter, and hosts."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from app.plans.plan import Plan, Step, host_label
from suites.base import Suite
from suites.parameters import Parameter, Type, Value, size_word

NEW_PLAN = "New plan"
_NAMED = frozenset({Type.CHOICE, Type.SIZE, Type.INTEGER, Type.NUMBER})
MOST_VALUES = 3
"""Values in the name of a plan with one step."""


def automatic_name(steps: Sequence[tuple[str, Suite, Mapping[str, Value]]], hosts: Sequence[str]) -> str:
    """Return the name of a plan of steps (name, suite, values): ``fio randread 4k iodepth=32 on web-1``."""
    if not steps or not hosts:
        return NEW_PLAN
    where = host_label(hosts[0]) if len(hosts) == 1 else f"{len(hosts)} hosts"
    if len(steps) == 1:
        return " ".join([steps[0][0], *_values(*steps[0][1:]), "on", where])
    names = [name for name, _, _ in steps]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{', '.join(names[:3])}{more} on {where}"


def automatic_name_of(plan: Plan) -> str:
    """Return the automatic name of `plan`."""
    return automatic_name([_named(step) for step in plan.steps], plan.hosts)


def named_after(plan: Plan, before: Plan) -> Plan:
    """Return `plan`, made from the plan `before`, with another automatic name if that one had one."""
    return replace(plan, name=automatic_name_of(plan)) if has_automatic_name(before) else plan


def on_hosts(plan: Plan, hosts: Sequence[str]) -> Plan:
    """Return `plan` for other hosts."""
    return named_after(replace(plan, hosts=tuple(hosts)), plan)


def step_name(name: str, suite_id: str, suite_ids: Collection[str]) -> str:
    """Return the name of a step; one that a step of another suite gets by itself becomes that of its own suite."""
    found = re.fullmatch(r"(.+?)([ -]\d+)?", name)
    if found is None or found[1] not in suite_ids:
        return name or suite_id
    return suite_id + (found[2] or "")


def has_automatic_name(plan: Plan) -> bool:
    """Return whether the name of `plan` is one that Benchwright made of its content."""
    plain = automatic_name([(step.name, step.suite, {}) for step in plan.steps], plan.hosts)  # of older versions
    quick = f"quick benchmark of {host_label(plan.hosts[0])}" if plan.hosts else ""
    return plan.name in {automatic_name_of(plan), plain, quick, NEW_PLAN}


def _named(step: Step) -> tuple[str, Suite, Mapping[str, Value]]:
    return step.name, step.suite, step.whole_values()


def _values(suite: Suite, values: Mapping[str, Value]) -> list[str]:
    """Return the first main values that differ from the tool's defaults; a choice always."""
    if not values:
        return []
    known = {parameter.name: parameter for parameter in suite.parameters}
    main = [known[name] for name in suite.main_parameters[:MOST_VALUES]] or list(suite.parameters[:MOST_VALUES])
    shown = [each for each in main if each.applies(values) and each.type in _NAMED]
    return [
        _text(each, values[each.name])
        for each in shown
        if each.type in {Type.CHOICE, Type.SIZE} or values[each.name] != each.default
    ]


def _text(parameter: Parameter, value: Value) -> str:
    if parameter.type is Type.CHOICE:
        word = str(value)  # of a number its title: p99
        return next((one.title for one in parameter.choices if one.value == word and word[0].isdigit()), word)
    if parameter.type is Type.SIZE:
        return size_word(int(value))
    return f"{parameter.title}={parameter.format(value)}"
