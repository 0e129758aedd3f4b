"""The public JSON of facts, plans, findings, figures, samples and commands, and how it is read back with suspicion."""

import json
import math
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, TypeVar

import cattrs

from app.converting import converter, short
from app.plans.plan import FORMATS as PLAN_FORMATS
from app.plans.plan import Plan
from app.plans.plan_remarks import reason_of
from suites.base import Command
from suites.errors import BenchwrightError
from suites.facts import Facts
from suites.vocab import Figure, Finding, Sample

FACTS_FORMAT = "benchwright-facts/1"

SIZE_LIMIT = 32 * 2**20
"""Bytes of the largest document that is read: a fact sheet has some 20 KiB."""

Json = dict[str, Any]
T = TypeVar("T")


class FormatError(BenchwrightError):
    """A document is not what it should be. The message names the field by its path."""


def read_json(document: bytes | str, name: str) -> object:
    """Return what the JSON `document` says; `name` is how an error calls it.

    Raises FormatError for more than SIZE_LIMIT bytes, bad UTF-8, bad JSON, a key given twice, NaN, an infinity,
    or nesting deeper than the interpreter follows.
    """
    if len(document) > SIZE_LIMIT:
        raise FormatError(f"{name} has {len(document)} bytes.", f"At most {SIZE_LIMIT} are read.")
    try:
        text = document.decode("utf-8-sig") if isinstance(document, bytes) else document
        return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=_unique_keys)
    except RecursionError:
        raise FormatError(f"{name} is nested too deeply to be read.") from None
    except ValueError as error:  # bad UTF-8, bad JSON and what the three hooks refuse
        raise FormatError(f"{name} cannot be read as JSON: {short(error)}.") from None


def facts_to_json(facts: Facts) -> Json:
    """Return `facts` in the format FACTS_FORMAT.

    A fact is ``{"value": ..., "unit": ...}``, or ``{"absent": reason}``. What tells things apart, such as a
    device's name, is given bare.
    """
    return {"format": FACTS_FORMAT, **converter().unstructure(facts)}


def facts_from_json(data: object) -> Facts:
    """Return the facts that facts_to_json() wrote; raise FormatError naming the field that is wrong.

    A fact that is left out is absent. A unit may be left out, but a different one is refused. Fields that are not
    known are passed over: a newer program may have added them.
    """
    return _structure(_body(data, "The facts", FACTS_FORMAT), Facts, "The facts")


def plan_to_json(plan: Plan) -> Json:
    """Return `plan` in the oldest of PLAN_FORMATS that can say it."""
    return {"format": plan.format, **converter().unstructure(plan)}


def plan_from_json(data: object) -> Plan:
    """Return the plan that plan_to_json() wrote; raise FormatError naming the field that is wrong.

    Suites and their parameters are not looked up: a stored plan may be older than the program that reads it.
    """
    return _structure(_body(data, "The plan", *PLAN_FORMATS), Plan, "The plan")


def finding_to_json(finding: Finding) -> Json:
    """Return the public form of `finding`: id, level, title, measured, why, remedy, source, step."""
    names = ("id", "level", "title", "measured", "why", "remedy", "source", "step")
    return {name: converter().unstructure(getattr(finding, name)) for name in names}


def remarks_to_json(plan: Plan, findings: Iterable[Finding]) -> Json:
    """Return what is kept beside `findings`: those that are acknowledged and why, and what remedies changed."""
    acknowledged = [
        {"id": finding.id, "step": finding.step, "host": finding.host, "reason": reason}
        for finding in findings
        if (reason := reason_of(plan.acknowledged, finding))
    ]
    return {"acknowledged": acknowledged, "changed": [asdict(change) for change in plan.changed]}


def figure_to_json(figure: Figure) -> Json:
    """Return the public form of `figure`: name, value, unit, better, labels."""
    metric = figure.metric
    return {
        "name": metric.name,
        "value": figure.value,
        "unit": metric.unit.value,
        "better": metric.better.value,
        "labels": dict(figure.labels),
    }


def sample_to_json(sample: Sample) -> Json:
    """Return the public form of `sample`: time (seconds), name, value, unit, labels, warm_up."""
    return {
        "time": sample.time,
        "name": sample.metric.name,
        "value": sample.value,
        "unit": sample.metric.unit.value,
        "labels": dict(sample.labels),
        "warm_up": sample.warm_up,
    }


def command_to_json(command: Command) -> Json:
    """Return `command`: its words, the line a shell takes, its purpose, and whether it runs on the peer."""
    fields = converter().unstructure(command)
    return {"line": command.line, **{name: value for name, value in fields.items() if name != "targets"}}


def command_from_json(data: object) -> Command:
    """Return the command that command_to_json() wrote; raise FormatError naming the field that is wrong."""
    return _structure(data, Command, "The command")


def _structure(data: object, kind: type[T], name: str) -> T:
    try:
        return converter().structure(data, kind)
    except RecursionError:
        raise FormatError(f"{name}: nested too deeply to be read.") from None
    except (cattrs.BaseValidationError, ValueError, TypeError, KeyError) as error:
        raise FormatError(f"{name}: {_first_fault(error)}.") from None


def _first_fault(error: Exception) -> str:
    fault = cattrs.transform_error(error, format_exception=_fault)[0]
    what, _, path = fault.rpartition(" @ $")
    return f"{path.removeprefix('.')}: {what}" if path else what


def _fault(error: BaseException, _kind: type | None) -> str:
    if isinstance(error, KeyError):
        return "it is missing"
    return short(error)


def _body(data: object, name: str, *wanted: str) -> Json:
    if not isinstance(data, dict):
        raise FormatError(f"{name} should be a JSON object.")
    found = data.get("format")
    if found not in wanted:
        raise FormatError(f"{name}: format is {short(repr(found))}.", f"This Benchwright reads {', '.join(wanted)}.")
    return {key: value for key, value in data.items() if key != "format"}


def _refuse_constant(word: str) -> float:
    raise ValueError(f"{word} is not a number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits[:40]} is too large")
    return number


def _unique_keys(pairs: list[tuple[str, Any]]) -> Json:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is given twice")
    return found
