"""Plans as TOML files."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any, TypedDict

import tomlkit

from app.output import WriteError, write_whole
from app.plans.goals import GOAL, read_goals, unit_of
from app.plans.plan import (
    FORMATS,
    MAXIMUM_TRIALS,
    MOST_PAUSE,
    TELEMETRY_DEFAULT,
    Order,
    Plan,
    PlanError,
    Policy,
    Repetition,
    Step,
    make_step,
    value_tables,
)
from app.plans.plan_names import NEW_PLAN, has_automatic_name, named_after, step_name
from app.plans.plan_remarks import LONGEST, Acknowledged, RemediedValue
from app.plans.tuning import TUNING, Tuning, tuning_of, tuning_values
from app.plans.validation import validate
from remote.local_file import parse_toml, read_file
from suites.errors import BenchwrightError, ParameterError
from suites.parameters import Parameter, Type, Value
from suites.verdict import Goal

MAXIMUM_SIZE = 1024 * 1024

MAXIMUM_TEXT = 500
"""Characters of a name or of a question."""

REMARKS = ("acknowledged", "changed")
"""The keys of the remarks in a plan file."""

INTERVAL = "telemetry_interval"
"""The key of the seconds between telemetry samples in a plan file."""

_PLAN_KEYS = {
    "format", "name", "question", "hosts", "order", "seed", "repetition", "tuning", "step", GOAL, INTERVAL, *REMARKS
}  # fmt: skip
_STEP_KEYS = {"suite", "name", "peer", "parameters"}


def read_plan(path: Path, *, usable_goals: bool = True, hosts: Sequence[str] = ()) -> Plan:
    """Return the plan in the file at `path`; raise PlanError naming the file and the fault.

    Without `usable_goals` its goals may be ones that this version does not run, as in files of older versions. `hosts`
    are those of a plan that names none.
    """
    parse = partial(parse_plan, usable_goals=usable_goals, hosts=hosts)
    return read_file(path, MAXIMUM_SIZE, PlanError, "A plan is a TOML file in UTF-8.", parse)


def parse_plan(text: str, *, usable_goals: bool = True, hosts: Sequence[str] = ()) -> Plan:
    """Return the plan written in `text`; raise PlanError, ParameterError or UnknownSuiteError."""
    content = parse_toml(text, PlanError, "Compare it with the output of “benchwright plan new”.")
    return plan_of({**content, "hosts": content.get("hosts") or list(hosts)}, usable_goals=usable_goals)


def plan_of(content: Mapping[str, Any], *, usable_goals: bool = True) -> Plan:
    """Return the plan in parsed TOML; raise PlanError, ParameterError or UnknownSuiteError."""
    _refuse_unknown(content, _PLAN_KEYS, "a plan")
    written = content.get("format", FORMATS[-1])
    if written not in FORMATS:
        raise PlanError(f"format is {str(written)[:60]!r}.", f"This Benchwright reads {', '.join(FORMATS)}.")
    written_steps = _sequence(content.get("step", []), "step", dict)
    steps = tuple(_read_step(step, number) for number, step in enumerate(written_steps, 1))
    plan = validate(
        Plan(
            name=plan_text(content.get("name", ""), "name") or NEW_PLAN,
            question=plan_text(content.get("question", ""), "question"),
            hosts=tuple(plan_text(host, "hosts") for host in _sequence(content.get("hosts", []), "hosts", str)),
            steps=steps,
            repetition=read_repetition(content.get("repetition", {})),
            order=_read_order(content.get("order", Order.BLOCK)),
            seed=_read_seed(content.get("seed")),
            tuning=_read_tuning(content.get("tuning", {})),
            goals=read_goals(content, steps),
            telemetry_interval=_read_interval(content.get(INTERVAL, TELEMETRY_DEFAULT)),
            **read_remarks(content),
        ),
        usable_goals=usable_goals,
    )
    return named_after(plan, plan)


def _read_step(content: Mapping[str, Any], number: int) -> Step:
    from suites.registry import SUITES  # loading all suites delays the start of the window

    where = f"step {number}"
    _refuse_unknown(content, _STEP_KEYS, where)
    if "suite" not in content:
        raise PlanError(f"{where} has no suite.", 'Add suite = "fio", for example.')
    parameters = content.get("parameters", {})
    if not isinstance(parameters, dict):
        raise PlanError(
            f"{where}: parameters is not a table.", "Write [step.parameters] with one parameter on each line."
        )
    peer, name = content.get("peer"), plan_text(content.get("name", ""), "name")
    try:
        return make_step(
            plan_text(content["suite"], "suite"),
            parameters,
            name=step_name(name, str(content["suite"]), {suite.id for suite in SUITES}),
            peer=None if peer is None else plan_text(peer, "peer"),
        )
    except BenchwrightError as error:
        raise type(error)(f"{where}: {error.message}", error.remedy) from error


def _read_order(content: object) -> Order:
    try:
        return Order(str(content))
    except ValueError:
        raise PlanError(f"order is {content!r}.", f"Set one of {', '.join(Order)}.") from None


def _read_seed(content: object) -> int | None:
    if content is not None and (type(content) is not int or content < 0):
        raise PlanError(f"seed is {str(content)[:60]!r}.", "Set a whole number from 0, or omit it.")
    return content


def _read_interval(content: object) -> float:
    if isinstance(content, bool) or not isinstance(content, int | float):
        raise PlanError(f"{INTERVAL} is {str(content)[:60]!r}.", "Set the seconds between samples.")
    return float(content)


def _read_tuning(content: object) -> Tuning:
    if not isinstance(content, dict):
        raise PlanError("tuning is not a table.", "Write [tuning], and for example drop_caches = true below.")
    _refuse_unknown(content, {parameter.name for parameter in TUNING}, "tuning")
    try:
        values = {
            parameter.name: parameter.parse(content.get(parameter.name, parameter.default)) for parameter in TUNING
        }
    except ParameterError as error:
        raise PlanError(f"tuning.{error.message}", error.remedy) from error
    return tuning_of(values)


def _refuse_unknown(content: Mapping[str, Any], accepted: set[str], where: str) -> None:
    for key in content:
        if key not in accepted:
            raise PlanError(f"{where} has no “{key}”.", f"Its keys are {', '.join(sorted(accepted))}.")


def plan_text(value: object, name: str) -> str:
    """Return a text of a plan; raise PlanError unless it is one line of at most MAXIMUM_TEXT characters."""
    if not isinstance(value, str) or len(value) > MAXIMUM_TEXT or any(ord(character) < 32 for character in value):
        raise PlanError(f"{name} is {str(value)[:60]!r}.", f"Set one line of text, at most {MAXIMUM_TEXT} characters.")
    return value


def _sequence(value: object, name: str, kind: type) -> list[Any]:
    if not isinstance(value, list) or not all(isinstance(item, kind) for item in value):
        wanted = "[[step]] tables" if kind is dict else 'a list of names, such as ["local"]'
        raise PlanError(f"{name} is {str(value)[:60]!r}.", f"Write {name} as {wanted}.")
    return value


def format_plan(plan: Plan) -> str:
    """Return `plan` as TOML with title, unit and bounds of each parameter as comments; parse_plan() reads it."""
    document = tomlkit.document()
    document.add(tomlkit.comment("A Benchwright plan: hosts x steps x repetition. Run it with: benchwright run FILE"))
    document["format"] = plan.format
    if not has_automatic_name(plan):
        document["name"] = plan.name
    document["question"] = plan.question
    document["hosts"] = list(plan.hosts)
    document["order"] = str(plan.order)
    if plan.seed is not None:
        document["seed"] = _commented(plan.seed, "of the random order")
    document["repetition"] = format_repetition(plan.repetition)
    if plan.telemetry_interval != TELEMETRY_DEFAULT:
        document[INTERVAL] = _commented(plan.telemetry_interval, "seconds between samples of the hosts")
    if plan.tuning != Tuning():
        document["tuning"] = _format_tuning(plan.tuning)
    steps = tomlkit.aot()
    for step in plan.steps:
        steps.append(_format_step(step))
    document["step"] = steps
    _add_tables(document, GOAL, plan.goals)
    for goal, table in zip(plan.goals, document.get(GOAL, []), strict=True):
        unit = unit_of(goal.metric, goal.step, plan.steps)
        if unit is not None:
            table["at_least" if goal.at_least is not None else "at_most"].comment(unit)
    _add_tables(document, "acknowledged", plan.acknowledged)
    _add_tables(document, "changed", plan.changed)
    return tomlkit.dumps(document)


def _format_tuning(tuning: Tuning) -> tomlkit.items.Table:
    """Return the tuning without defaults."""
    table = tomlkit.table()
    values = tuning_values(tuning)
    for parameter in TUNING:
        if values[parameter.name] != parameter.default:
            table[parameter.name] = _commented(values[parameter.name], parameter.title)
    return table


def _format_step(step: Step) -> tomlkit.items.Table:
    table = tomlkit.table()
    table["suite"] = step.suite_id
    if step.name != step.suite_id:
        table["name"] = step.name
    if step.peer is not None:
        table["peer"] = _commented(step.peer, "the host that runs the server")
    parameters, tables = tomlkit.table(), value_tables(step)
    for parameter in step.suite.parameters:
        title = "" if parameter.title == parameter.name else parameter.title
        comment = ", ".join(part for part in (title, parameter.unit, parameter.bounds()) if part)
        if parameter.name in tables:
            inline = tomlkit.inline_table()
            inline.update({host: _written(parameter, value) for host, value in tables[parameter.name].items()})
            parameters[parameter.name] = inline.comment(comment)
        else:
            parameters[parameter.name] = _commented(_written(parameter, step.values[parameter.name]), comment)
    table["parameters"] = parameters
    return table


def _commented(value: Value, comment: str) -> tomlkit.items.Item:
    lines = isinstance(value, str) and "\n" in value
    item = tomlkit.string(str(value), multiline=True) if lines else tomlkit.item(value)
    item.comment(comment)
    return item


def _written(parameter: Parameter, value: Value) -> Value:
    return parameter.format(value) if parameter.type in {Type.SIZE, Type.DURATION} else value


def write_plan(plan: Plan, path: Path) -> None:
    """Write `plan` to `path`, replacing it atomically; raise PlanError if that fails."""
    try:
        write_whole(path, format_plan(plan).encode())
    except WriteError as error:
        raise PlanError(error.message, error.remedy) from error


MOST = 1000


class PlanRemarks(TypedDict):
    """The fields of a plan that hold remarks."""

    acknowledged: tuple[Acknowledged, ...]
    changed: tuple[RemediedValue, ...]


def read_remarks(content: Mapping[str, Any]) -> PlanRemarks:
    """Return the remarks in the `content` of a plan file; raise PlanError naming the fault."""
    return {
        "acknowledged": tuple(Acknowledged(**table) for table in _tables(content, "acknowledged", Acknowledged)),
        "changed": tuple(RemediedValue(**table) for table in _tables(content, "changed", RemediedValue)),
    }


def _tables(content: Mapping[str, Any], name: str, kind: type[Acknowledged | RemediedValue]) -> list[dict[str, str]]:
    tables = content.get(name, [])
    if not isinstance(tables, list) or len(tables) > MOST or not all(isinstance(table, dict) for table in tables):
        raise PlanError(f"{name} is not [[{name}]] tables.", f"Write [[{name}]] with its values below.")
    for number, table in enumerate(tables, 1):
        _check(table, kind, f"{name} {number}")
    return tables


def _check(table: Mapping[str, Any], kind: type[Acknowledged | RemediedValue], where: str) -> None:
    known = {field.name for field in fields(kind)}
    needed = known - {"step"} if kind is Acknowledged else known
    for key in table:
        if key not in known:
            raise PlanError(f"{where} has no “{key[:60]}”.", f"Its keys are {', '.join(sorted(known))}.")
    for key in sorted(needed - set(table)):
        raise PlanError(f"{where} has no {key}.", f"Required: {', '.join(sorted(needed))}.")
    for key, value in table.items():
        if not isinstance(value, str) or len(value) > LONGEST or not value.isprintable():
            raise PlanError(f"{where}: {key} is {str(value)[:60]!r}.", "Set one line of text.")
        if not value.strip() and key in {"finding", "reason"}:
            raise PlanError(f"{where}: {key} is empty.", "Set the finding’s id and a reason.")


def _add_tables(document: tomlkit.TOMLDocument, name: str, rows: Sequence[Goal | Acknowledged | RemediedValue]) -> None:
    """Write `rows`, if any, into `document` as an array of tables."""
    tables = tomlkit.aot()
    for row in rows:
        table = tomlkit.table()
        for field in fields(row):
            value = getattr(row, field.name)
            if value is not None:
                table[field.name] = value
        tables.append(table)
    if rows:
        document[name] = tables


_SHARES = frozenset({"precision", "margin", "confidence"})
"""Fields that are fractions in memory and percent in the file."""

_SESSIONS = frozenset({"sessions", "every"})
_PROFILE = frozenset({"profile"})
"""Fields under every policy; not written for a single session, and without a profiled trial."""

_FIELDS = (
    Parameter(name="trials", title="", type=Type.INTEGER, default=0, help="", maximum=MAXIMUM_TRIALS),
    Parameter(name="warm_ups", title="trials before the counted ones", type=Type.INTEGER, default=0, help=""),
    Parameter(name="pause", title="seconds between trials", type=Type.NUMBER, default=0.0, help="", maximum=MOST_PAUSE),
    Parameter(name="precision", title="±percent of the centre", type=Type.NUMBER, default=0.0, help=""),
    Parameter(name="baseline", title="the name of a pinned run", type=Type.TEXT, default="", help=""),
    Parameter(name="margin", title="percent; without one that of the metric", type=Type.NUMBER, default=0.0, help=""),
    Parameter(name="confidence", title="percent: 95 or 99", type=Type.NUMBER, default=0.0, help=""),
    Parameter(name="minimum", title="fewest trials", type=Type.INTEGER, default=0, help=""),
    Parameter(name="cap", title="most trials", type=Type.INTEGER, default=0, help=""),
    Parameter(name="budget", title="time for all trials", type=Type.DURATION, default=0.0, help=""),
    Parameter(name="sessions", title="runs of the plan over time", type=Type.INTEGER, default=1, help=""),
    Parameter(name="every", title="time between their starts", type=Type.DURATION, default=0.0, help=""),
    Parameter(name="profile", title="one more trial under perf, not counted", type=Type.FLAG, default=False, help=""),
)
"""The fields of the table. check_repetition() checks their bounds."""


def read_repetition(content: object) -> Repetition:
    """Return the repetition in a table; raise PlanError naming the invalid field."""
    if not isinstance(content, dict):
        raise PlanError("repetition is not a table.", "Write [repetition], and for example trials = 6 below.")
    policy = _policy(content.get("policy", Policy.FIXED))
    known = {parameter.name: parameter for parameter in _FIELDS}
    accepted = {"policy", *Repetition(policy=policy).ruling(), *_SESSIONS, *_PROFILE}
    for name in content:
        if name not in accepted:
            other = f" with the policy {policy}" if name in known else ""
            raise PlanError(f"repetition has no “{name}”{other}.", f"Its keys are {', '.join(sorted(accepted))}.")
    read: dict[str, Any] = {name: _value(known[name], value) for name, value in content.items() if name != "policy"}
    return Repetition(policy=policy, **read)


def _policy(content: object) -> Policy:
    try:
        return Policy(str(content))
    except ValueError:
        raise PlanError(f"repetition.policy is {content!r}.", f"Set one of {', '.join(Policy)}.") from None


def _value(parameter: Parameter, given: object) -> Value:
    if isinstance(given, str) and parameter.type in {Type.INTEGER, Type.NUMBER}:
        about = f" ({parameter.title})" if parameter.title else ""
        raise PlanError(f"repetition.{parameter.name} is {given!r}.", f"Set a number{about}.")
    try:
        value = parameter.parse(given)
    except ParameterError as error:
        raise PlanError(f"repetition.{error.message}", error.remedy) from error
    if isinstance(value, int | float) and not isinstance(value, bool) and value < 0:
        raise PlanError(f"repetition.{parameter.name} is {value:g}.", "Set a number from 0.")
    return round(float(value) / 100, 9) if parameter.name in _SHARES else value


def format_repetition(repetition: Repetition) -> tomlkit.items.Table:
    """Return the table for read_repetition(), with field descriptions as comments."""
    table = tomlkit.table()
    written = {*repetition.ruling(), *(_SESSIONS if repetition != repetition.one_session else ())}
    written |= _PROFILE if repetition.profile else frozenset()
    if repetition.policy is not Policy.FIXED:
        table["policy"] = str(repetition.policy)
    for parameter in _FIELDS:
        value = getattr(repetition, parameter.name)
        if parameter.name in written and value is not None:
            item = tomlkit.item(_repetition_value(parameter, value))
            if parameter.title:
                item.comment(parameter.title)
            table[parameter.name] = item
    return table


def _repetition_value(parameter: Parameter, value: Value) -> Value:
    if parameter.type is Type.DURATION:
        return parameter.format(value)
    return round(float(value) * 100, 9) if parameter.name in _SHARES else value
