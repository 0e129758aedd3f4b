"""The public JSON of facts, plans, calibrations, findings and commands."""

import contextlib
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from types import GenericAlias
from typing import Annotated, Any, TypedDict, TypeVar

from app.fleet_study import FORMAT as FLEET_FORMAT
from app.fleet_study import FleetHost, FleetLimits, FleetPlan, HostOrder, Topology, check_terms
from app.host_attributes import HostAddress, HostAttributes
from app.investigation import Investigation
from app.json_converter import TEXT_LIMIT, Json, converter, published, short
from app.plans.plan import FORMATS as PLAN_FORMATS
from app.plans.plan import Plan, PlanError
from app.plans.plan_remarks import RemediedValue, reason_of
from app.records import Calibration
from suites.base import Command
from suites.errors import BenchwrightError
from suites.facts import Facts
from suites.quantities import quantity
from suites.verdict import Limiter, Trust, Verdict
from suites.vocab import Finding, Severity

FACTS_FORMAT = "benchwright-facts/1"

CALIBRATION_FORMATS = ("benchwright-calibration/1", "benchwright-calibration/2")
"""Since 2 without a margin and the false alarms of an A/A test, which are ignored in 1."""

INVESTIGATION_FORMAT = "benchwright-investigation/1"

SIZE_LIMIT = 32 * 2**20
"""Largest accepted document in bytes; facts take about 20 KiB."""

T = TypeVar("T")


class FormatError(BenchwrightError):
    """An invalid document. The message has the path of the field."""


def read_json(document: bytes | str, name: str) -> object:
    """Parse the JSON `document`; `name` names it in errors.

    Raises FormatError for more than SIZE_LIMIT bytes, invalid UTF-8 or JSON, duplicate keys, NaN, infinity, or nesting
    beyond the recursion limit.
    """
    if len(document) > SIZE_LIMIT:
        raise FormatError(f"{name} has {quantity(len(document))}.", f"The limit is {quantity(SIZE_LIMIT)}.")
    try:
        text = document.decode("utf-8-sig") if isinstance(document, bytes) else document
        return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=_unique_keys)
    except RecursionError:
        raise FormatError(f"{name} is nested too deeply.") from None
    except ValueError as error:  # invalid UTF-8 or JSON, and the errors of the three hooks
        raise FormatError(f"{name} is not valid JSON: {short(error)}.") from None


class FactsKeys(TypedDict):
    """Keys of facts beside those of Facts."""

    format: Annotated[str, FACTS_FORMAT]


FactsJson = Annotated[Json, FactsKeys, Facts]


def facts_to_json(facts: Facts) -> FactsJson:
    """Return `facts` in the format FACTS_FORMAT.

    A fact is ``{"value": ..., "unit": ...}``, or ``{"absent": reason}``. Keys, such as a
    device's name, are plain values. A text longer than TEXT_LIMIT is cut, and says so.
    """
    found: Json = _with_bounded_texts({"format": FACTS_FORMAT, **published(facts)})
    return found


_DEEPEST = 10
"""Levels in which texts are cut; facts have fewer."""


def _with_bounded_texts(content: Any, levels: int = _DEEPEST) -> Any:
    """Return a JSON value with the texts cut that are longer than TEXT_LIMIT, each with a mark at its end."""
    if not levels:
        return content
    if isinstance(content, str) and len(content) > TEXT_LIMIT:
        mark = f"… (cut: {len(content):,} characters)"
        return content[: TEXT_LIMIT - len(mark)] + mark
    if isinstance(content, list):
        return [_with_bounded_texts(each, levels - 1) for each in content]
    if isinstance(content, dict):
        return {name: _with_bounded_texts(each, levels - 1) for name, each in content.items()}
    return content


def facts_from_json(data: object) -> Facts:
    """Read the JSON of facts_to_json(); raise FormatError naming the invalid field.

    A missing fact is absent. A missing unit is accepted, a different one is an error. Unknown fields are ignored: a
    newer version may have added them.
    """
    return _structure(_body(data, "The facts", FACTS_FORMAT), Facts, "The facts")


def stored_facts_from_json(data: object) -> Facts:
    """Read facts as facts_from_json(); a text longer than TEXT_LIMIT, which older versions stored, is cut."""
    return facts_from_json(_with_bounded_texts(data))


_SECTIONS = re.compile(", (?=" + "|".join(f'"{field.name}": ' for field in fields(Facts)) + ")")
"""The borders of the fields in stored facts. In a text a quotation mark has a backslash before it."""


def stored_facts_reader() -> Callable[[str], Facts]:
    """Return a reader of the stored JSON of facts_to_json() with the errors of facts_from_json().

    It decodes a field that is the same in several facts once: of a host, few fields change from run to run.
    """

    @lru_cache(maxsize=1024)
    def decoded(text: str) -> Json:
        given = json.loads(f"{{{text}}}")
        if given.pop("format", FACTS_FORMAT) != FACTS_FORMAT:
            raise ValueError("another format")
        found = _structure({"host": "", "read_at": "", **given}, Facts, "The facts")
        return {name: getattr(found, name) for name in given if hasattr(found, name)}

    def read(text: str) -> Facts:
        # What is damaged is reported by the reading of the whole.
        with contextlib.suppress(ValueError, TypeError, AttributeError, RecursionError, FormatError):
            if text.startswith('{"format": ') and text.endswith("}"):
                parts = map(decoded, _SECTIONS.split(text[1:-1]))
                return Facts(**{name: value for part in parts for name, value in part.items()})
        return stored_facts_from_json(json.loads(text))

    return read


class CalibrationKeys(TypedDict):
    """Keys of a calibration beside those of Calibration."""

    format: Annotated[str, CALIBRATION_FORMATS[-1]]


BareCalibration = Annotated[Json, CalibrationKeys, Calibration]


def calibration_to_json(found: Calibration) -> BareCalibration:
    """Return the public and stored JSON of a calibration. Times are in seconds, shares are fractions: 0.05 is 5 %."""
    return {"format": CALIBRATION_FORMATS[-1], **published(found)}


def calibration_from_json(data: object) -> Calibration:
    """Read the JSON of calibration_to_json(); raise FormatError naming the invalid field."""
    return _structure(_body(data, "The calibration", *CALIBRATION_FORMATS), Calibration, "The calibration")


class InvestigationKeys(TypedDict):
    """Keys of an investigation beside those of Investigation."""

    format: Annotated[str, INVESTIGATION_FORMAT]


InvestigationJson = Annotated[Json, InvestigationKeys, Investigation]


def investigation_to_json(found: Investigation) -> InvestigationJson:
    """Return the public and stored JSON of an investigation."""
    return {"format": INVESTIGATION_FORMAT, **published(found)}


def investigation_from_json(data: object) -> Investigation:
    """Read the JSON of investigation_to_json(); raise FormatError naming the invalid field."""
    return _structure(_body(data, "The investigation", INVESTIGATION_FORMAT), Investigation, "The investigation")


class PlanKeys(TypedDict):
    """Keys of a plan beside those of Plan."""

    format: Annotated[str, *PLAN_FORMATS]


PlanJson = Annotated[Json, PlanKeys, Plan]


def plan_to_json(plan: Plan) -> PlanJson:
    """Return `plan` in the oldest of PLAN_FORMATS that can hold it."""
    return {"format": plan.format, **published(plan)}


def plan_from_json(data: object) -> Plan:
    """Read the JSON of plan_to_json(); raise FormatError naming the invalid field.

    Suites and their parameters are not looked up: a stored plan may be older than the program.
    """
    return _structure(_body(data, "The plan", *PLAN_FORMATS), Plan, "The plan")


class FleetPlanJson(TypedDict):
    """The public and stored JSON of a fleet plan, without its hosts."""

    format: Annotated[str, FLEET_FORMAT]
    plan: PlanJson
    topology: Topology
    order: HostOrder
    seed: int
    limits: FleetLimits
    retries: int


def fleet_plan_to_json(plan: FleetPlan) -> FleetPlanJson:
    """Return the JSON of a fleet plan without its hosts."""
    return {
        "format": FLEET_FORMAT,
        "plan": plan_to_json(plan.plan),
        "topology": plan.topology,
        "order": plan.order,
        "seed": plan.seed,
        "limits": published(plan.limits),
        "retries": plan.retries,
    }


def fleet_plan_from_json(data: object, hosts: tuple[FleetHost, ...]) -> FleetPlan:
    """Read the JSON of fleet_plan_to_json(); raise FormatError naming the invalid field."""
    found = _body(data, "The fleet plan", FLEET_FORMAT)
    plan = plan_from_json(found.pop("plan", None))
    terms = _structure(found, _FleetTerms, "The fleet plan")
    made = FleetPlan(plan, hosts, terms.topology, terms.order, terms.seed, terms.limits, terms.retries)
    try:
        check_terms(made)
    except PlanError as error:
        raise FormatError(error.message, error.remedy) from None
    return made


@dataclass(frozen=True, slots=True)
class _FleetTerms:
    """The fields of a fleet plan beside its plan and hosts."""

    topology: Topology
    order: HostOrder
    seed: int
    limits: FleetLimits
    retries: int


class FindingJson(TypedDict):
    """The public form of a finding."""

    id: str
    level: Severity
    title: str
    measured: str
    why: str
    remedy: str
    source: str
    step: str | None


def finding_to_json(finding: Finding) -> FindingJson:
    """Return the public form of `finding`."""
    return {
        "id": finding.id,
        "level": finding.severity,
        "title": finding.title,
        "measured": finding.measured,
        "why": finding.why,
        "remedy": finding.remedy,
        "source": finding.source,
        "step": finding.step,
    }


def host_address_from_json(data: object) -> HostAddress:
    """Read the JSON of the address of a host; raise FormatError naming the invalid field."""
    return _structure(data, HostAddress, "The address")


def host_attributes_from_json(data: object) -> HostAttributes:
    """Read the JSON of the attributes of a host; raise FormatError naming the invalid field."""
    return _structure(data, HostAttributes, "The attributes")


class AcknowledgedJson(TypedDict):
    """An acknowledged finding."""

    id: str
    step: str | None
    host: str | None
    reason: str


class RemarksJson(TypedDict):
    """The acknowledgements of findings, and the values changed by remedies."""

    acknowledged: list[AcknowledgedJson]
    changed: list[Annotated[Json, RemediedValue]]


def remarks_to_json(plan: Plan, findings: Iterable[Finding]) -> RemarksJson:
    """Return the acknowledgements of `findings` with their reasons, and the values changed by remedies."""
    acknowledged: list[AcknowledgedJson] = [
        {"id": finding.id, "step": finding.step, "host": finding.host, "reason": reason}
        for finding in findings
        if (reason := reason_of(plan.acknowledged, finding))
    ]
    return {"acknowledged": acknowledged, "changed": [published(change) for change in plan.changed]}


def command_from_json(data: object) -> Command:
    """Read the JSON of a command; raise FormatError naming the invalid field."""
    return _structure(data, Command, "The command")


def by_host_from_json(text: str, kind: type[T], name: str) -> Mapping[str, T]:
    """Return the values of `kind` in the JSON object `text`, by host; raise FormatError naming what is wrong."""
    values: Any = GenericAlias(Mapping, (str, kind))
    return dict(_structure(read_json(text, name), values, name))


def _structure(data: object, kind: type[T], name: str) -> T:
    import cattrs  # takes 0.2 s, which the start of the window must not wait for

    try:
        return converter().structure(data, kind)
    except RecursionError:
        raise FormatError(f"{name}: nested too deeply.") from None
    except (cattrs.BaseValidationError, ValueError, TypeError, KeyError) as error:
        raise FormatError(f"{name}: {_first_fault(error)}.") from None


def _first_fault(error: Exception) -> str:
    import cattrs

    fault = cattrs.transform_error(error, format_exception=_fault)[0]
    what, _, path = fault.rpartition(" @ $")
    return f"{path.removeprefix('.')}: {what}" if path else what


def _fault(error: BaseException, _kind: type | None) -> str:
    if isinstance(error, KeyError):
        return "missing"
    return short(error)


def _body(data: object, name: str, *wanted: str) -> Json:
    if not isinstance(data, dict):
        raise FormatError(f"{name} must be a JSON object.")
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
        raise ValueError("duplicate key")
    return found


class VerdictJson(TypedDict):
    """The public form of a verdict; `checks` is their version."""

    level: Trust
    limited_by: Limiter | None
    summary: str
    checks: int
    findings: list[FindingJson]


def verdict_to_json(verdict: Verdict) -> VerdictJson:
    """Return the public form of a verdict."""
    return {
        "level": verdict.trust,
        "limited_by": verdict.limited_by,
        "summary": verdict.summary,
        "checks": verdict.checks,
        "findings": [finding_to_json(finding) for finding in verdict.findings],
    }
