"""Plans as TOML files that a person can read, comment and edit."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomlkit

from app.plans.goals import GOAL, add_goals, read_goals
from app.plans.plan import FORMATS, Order, Plan, PlanError, Step, make_step, validate
from app.plans.plan_remarks_file import REMARKS, add_remarks, read_remarks
from app.plans.repetition_file import format_repetition, read_repetition
from app.plans.tuning import TUNING, Tuning, tuning_of, tuning_values
from app.writing import WriteError, write_whole
from remote.local_file import read_bounded
from suites.errors import BenchwrightError, ParameterError
from suites.parameters import Parameter, Type, Value

MAXIMUM_SIZE = 1024 * 1024

MAXIMUM_TEXT = 500
"""Characters of a name or of a question."""

_PLAN_KEYS = {"format", "name", "question", "hosts", "order", "seed", "repetition", "tuning", "step", GOAL, *REMARKS}
_STEP_KEYS = {"suite", "name", "peer", "parameters"}


def read_plan(path: Path) -> Plan:
    """Return the plan in the file at `path`; raise PlanError naming the file and what is wrong in it."""
    try:
        content = read_bounded(path, MAXIMUM_SIZE)
        if len(content) > MAXIMUM_SIZE:
            raise PlanError(f"{path} is larger than 1 MiB; a plan is a short text.")
        text = content.decode("utf-8-sig")  # some editors begin a file with a mark of its encoding
    except OSError as error:
        raise PlanError(f"{path} cannot be read: {error.strerror}.", "Check the name and its permissions.") from error
    except UnicodeDecodeError as error:
        raise PlanError(f"{path} is not a text file.", "A plan is a TOML file in UTF-8.") from error
    try:
        return parse_plan(text)
    except BenchwrightError as error:
        raise PlanError(f"{path}: {error.message}", error.remedy) from error


def parse_plan(text: str) -> Plan:
    """Return the plan written in `text`; raise PlanError, ParameterError or UnknownSuiteError."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PlanError(f"not valid TOML: {error}.", "Compare it with the output of “benchwright plan new”.") from error
    except RecursionError as error:
        raise PlanError("nested deeper than any plan is.") from error
    return plan_of(content)


def plan_of(content: Mapping[str, Any]) -> Plan:
    """Return the plan that the tables of a file hold; raise PlanError, ParameterError or UnknownSuiteError."""
    _refuse_unknown(content, _PLAN_KEYS, "a plan")
    written = content.get("format", FORMATS[-1])
    if written not in FORMATS:
        raise PlanError(f"format is {str(written)[:60]!r}.", f"This Benchwright reads {', '.join(FORMATS)}.")
    steps = _sequence(content.get("step", []), "step", dict)
    return validate(
        Plan(
            name=_text(content.get("name", "plan"), "name"),
            question=_text(content.get("question", ""), "question"),
            hosts=tuple(_text(host, "hosts") for host in _sequence(content.get("hosts", []), "hosts", str)),
            steps=tuple(_read_step(step, number) for number, step in enumerate(steps, 1)),
            repetition=read_repetition(content.get("repetition", {})),
            order=_read_order(content.get("order", Order.BLOCK)),
            seed=_read_seed(content.get("seed")),
            tuning=_read_tuning(content.get("tuning", {})),
            goals=read_goals(content),
            **read_remarks(content),
        )
    )


def _read_step(content: Mapping[str, Any], number: int) -> Step:
    where = f"step {number}"
    _refuse_unknown(content, _STEP_KEYS, where)
    if "suite" not in content:
        raise PlanError(f"{where} names no suite.", 'Add suite = "fio", for example.')
    parameters = content.get("parameters", {})
    if not isinstance(parameters, dict):
        raise PlanError(f"{where}: parameters is not a table.", "Write [step.parameters] and one line a parameter.")
    peer = content.get("peer")
    try:
        return make_step(
            _text(content["suite"], "suite"),
            parameters,
            name=_text(content.get("name", ""), "name"),
            peer=None if peer is None else _text(peer, "peer"),
        )
    except BenchwrightError as error:
        raise type(error)(f"{where}: {error.message}", error.remedy) from error


def _read_order(content: object) -> Order:
    try:
        return Order(content)  # type: ignore[arg-type]  # whatever the file holds: the enumeration refuses it
    except ValueError:
        raise PlanError(f"order is {content!r}.", f"Give one of {', '.join(Order)}.") from None


def _read_seed(content: object) -> int | None:
    if content is not None and (isinstance(content, bool) or not isinstance(content, int) or not 0 <= content < 2**63):
        raise PlanError(f"seed is {str(content)[:60]!r}.", "Give a whole number that is not negative, or leave it out.")
    return content


def _read_tuning(content: object) -> Tuning:
    if not isinstance(content, dict):
        raise PlanError("tuning is not a table.", "Write [tuning] and drop_caches = true below it, for example.")
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
            raise PlanError(f"{where} has no “{key}”.", f"It may have {', '.join(sorted(accepted))}.")


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or len(value) > MAXIMUM_TEXT or any(ord(character) < 32 for character in value):
        raise PlanError(f"{name} is {str(value)[:60]!r}.", f"Give one line of text, at most {MAXIMUM_TEXT} characters.")
    return value


def _sequence(value: object, name: str, kind: type) -> list[Any]:
    if not isinstance(value, list) or not all(isinstance(item, kind) for item in value):
        wanted = "[[step]] tables" if kind is dict else 'a list of names, such as ["local"]'
        raise PlanError(f"{name} is {str(value)[:60]!r}.", f"Write {name} as {wanted}.")
    return value


def format_plan(plan: Plan) -> str:
    """Return `plan` as TOML, with the unit and help of each parameter beside it; parse_plan gives it back."""
    document = tomlkit.document()
    document.add(tomlkit.comment("A Benchwright plan: hosts x steps x repetition. Run it with: benchwright run FILE"))
    document["format"] = plan.format
    document["name"] = plan.name
    document["question"] = plan.question
    document["hosts"] = list(plan.hosts)
    document["order"] = str(plan.order)
    if plan.seed is not None:
        document["seed"] = _commented(plan.seed, "of the lots that the order draws")
    document["repetition"] = format_repetition(plan.repetition)
    if plan.tuning != Tuning():
        document["tuning"] = _format_tuning(plan.tuning)
    steps = tomlkit.aot()
    for step in plan.steps:
        steps.append(_format_step(step))
    document["step"] = steps
    add_goals(document, plan.goals)
    add_remarks(document, plan)
    return tomlkit.dumps(document)


def _format_tuning(tuning: Tuning) -> tomlkit.items.Table:
    """Return what is changed on the hosts; what is left as it is is left out."""
    table = tomlkit.table()
    values = tuning_values(tuning)
    for parameter in TUNING:
        if values[parameter.name] != parameter.default:
            table[parameter.name] = _commented(values[parameter.name], parameter.title)
    return table


def _format_step(step: Step) -> tomlkit.items.Table:
    table = tomlkit.table()
    table["suite"] = step.suite_id
    table["name"] = step.name
    if step.peer is not None:
        table["peer"] = _commented(step.peer, "the host that runs the server end")
    parameters = tomlkit.table()
    for parameter in step.suite.parameters:
        comment = ", ".join(part for part in (parameter.title, parameter.unit, parameter.bounds()) if part)
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
    """Write `plan` to `path`; raise PlanError where that fails. An existing file is replaced as a whole."""
    try:
        write_whole(path, format_plan(plan).encode())
    except WriteError as error:
        raise PlanError(error.message, error.remedy) from error
