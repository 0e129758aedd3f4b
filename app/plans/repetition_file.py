"""The [repetition] table of a plan file: shares in percent, times as people write them."""

import tomlkit

from app.plans.plan import MAXIMUM_TRIALS, PlanError, Policy, Repetition
from suites.errors import ParameterError
from suites.parameters import Parameter, Type, Value

_SHARES = frozenset({"precision", "margin", "confidence"})
"""Fields that are shares in the program and percent in the file."""

_FIELDS = (
    Parameter(name="trials", title="", type=Type.INTEGER, default=0, help="", maximum=MAXIMUM_TRIALS),
    Parameter(name="warm_ups", title="trials that do not count", type=Type.INTEGER, default=0, help=""),
    Parameter(name="pause", title="seconds between trials", type=Type.NUMBER, default=0.0, help="", maximum=1e6),
    Parameter(name="precision", title="percent of the middle, either way", type=Type.NUMBER, default=0.0, help=""),
    Parameter(name="baseline", title="the name of a pinned run", type=Type.TEXT, default="", help=""),
    Parameter(name="margin", title="percent that do not matter", type=Type.NUMBER, default=0.0, help=""),
    Parameter(name="confidence", title="95 or 99 percent", type=Type.NUMBER, default=0.0, help=""),
    Parameter(name="minimum", title="trials in any case", type=Type.INTEGER, default=0, help=""),
    Parameter(name="cap", title="trials at most", type=Type.INTEGER, default=0, help=""),
    Parameter(name="budget", title="for all trials together", type=Type.DURATION, default=0.0, help=""),
)
"""What the table may hold. Bounds are the plan's own, checked as a whole."""


def read_repetition(content: object) -> Repetition:
    """Return the repetition that a table holds; raise PlanError naming the field that is wrong."""
    if not isinstance(content, dict):
        raise PlanError("repetition is not a table.", "Write [repetition] and trials = 3 below it.")
    policy = _policy(content.get("policy", Policy.FIXED))
    known = {parameter.name: parameter for parameter in _FIELDS}
    accepted = {"policy", *Repetition(policy=policy).ruling()}
    for name in content:
        if name not in accepted:
            other = f" with the policy {policy}" if name in known else ""
            raise PlanError(f"repetition has no “{name}”{other}.", f"It may have {', '.join(sorted(accepted))}.")
    read = {name: _value(known[name], value) for name, value in content.items() if name != "policy"}
    return Repetition(policy=policy, **read)  # type: ignore[arg-type]  # each field was read by its own type


def _policy(content: object) -> Policy:
    try:
        return Policy(content)  # type: ignore[arg-type]  # whatever the file holds: the enumeration refuses it
    except ValueError:
        raise PlanError(f"repetition.policy is {content!r}.", f"Give one of {', '.join(Policy)}.") from None


def _value(parameter: Parameter, given: object) -> Value:
    if isinstance(given, str) and parameter.type in {Type.INTEGER, Type.NUMBER}:
        raise PlanError(f"repetition.{parameter.name} is {given!r}.", "Give a number.")
    try:
        value = parameter.parse(given)
    except ParameterError as error:
        raise PlanError(f"repetition.{error.message}", error.remedy) from error
    if isinstance(value, int | float) and not isinstance(value, bool) and value < 0:
        raise PlanError(f"repetition.{parameter.name} is {value:g}.", "Give a number that is not negative.")
    return round(float(value) / 100, 9) if parameter.name in _SHARES else value


def format_repetition(repetition: Repetition) -> tomlkit.items.Table:
    """Return the table that read_repetition() reads, with what each field means beside it."""
    table = tomlkit.table()
    ruling = repetition.ruling()
    if repetition.policy is not Policy.FIXED:
        table["policy"] = str(repetition.policy)
    for parameter in _FIELDS:
        if parameter.name in ruling:
            item = tomlkit.item(_written(parameter, getattr(repetition, parameter.name)))
            if parameter.title:
                item.comment(parameter.title)
            table[parameter.name] = item
    return table


def _written(parameter: Parameter, value: Value) -> Value:
    if parameter.type is Type.DURATION:
        return parameter.format(value)
    return round(float(value) * 100, 9) if parameter.name in _SHARES else value
