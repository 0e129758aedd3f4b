"""The published JSON Schemas: of a run, a comparison, a gate and judged outputs."""

from collections.abc import Callable, Mapping

from app.comparison.comparison import ComparisonRow, RelativeFigure
from app.comparison.crossover import HalfEffect
from app.comparison.gate import GateOutcome
from app.comparison.gate_report import FORMAT
from app.comparison.variance import VarianceLevels
from app.formats import FACTS_FORMAT, FINDING_KEYS, INVESTIGATION_FORMAT, VERDICT_KEYS
from app.investigation import Investigation
from app.json_converter import Json
from app.json_schema import DIALECT, SchemaTypes, closed, open_to_more
from app.library_rows import LibraryRow
from app.plans.plan import FORMATS, Plan
from app.plans.plan_remarks import RemediedValue
from app.records import ChangeRecord, Recall, RunSummary, TrialRecord
from app.summary import RUN_FORMAT, MetricSummary
from suites.facts import Facts
from suites.parameters import Value
from suites.verdict import Trust, Verdict
from suites.vocab import Figure, Finding, Severity

ADDRESS = "urn:benchwright:schema"


def _object_of(content: Json) -> Json:
    return {"type": "object", "additionalProperties": content}


def _list_of(content: Json) -> Json:
    return {"type": "array", "items": content}


def _part(made: SchemaTypes, kind: type, names: tuple[str, ...], **own: Json) -> Json:
    """Return the schema of an object with some of the keys of a class."""
    definition = made.definitions[made.of(kind)["$ref"].rpartition("/")[2]]["properties"]
    return {name: definition[name] for name in names} | own


def _run(made: SchemaTypes) -> Json:
    text, of = made.of(str), made.of
    finding = closed(_part(made, Finding, FINDING_KEYS))
    verdict = _part(made, Verdict, VERDICT_KEYS, findings=_list_of(finding))
    on_step = {"step": text, "host": of(str | None), **verdict}
    facts = _object_of({"$ref": "#/$defs/FactsDocument"})
    made.definitions["FactsDocument"] = _with_format(made, Facts, FACTS_FORMAT)
    made.definitions["PlanDocument"] = _with_format(made, Plan, *FORMATS)
    metric = made.keys(MetricSummary) | {
        "levels": of(VarianceLevels | None),
        "power_of": text, "watts": of(float), "joules_per_operation": of(float), "joules_per_gb": of(float),
    }  # fmt: skip
    acknowledged = closed({"id": text, "step": of(str | None), "host": of(str | None), "reason": text})
    return closed(
        {
            "format": {"const": RUN_FORMAT},
            **made.keys(RunSummary),
            "reason": text,
            "program_version": text,
            "plan_hash": text,
            "plan": {"$ref": "#/$defs/PlanDocument"},
            "facts_before": facts,
            "facts_after": facts,
            "clock_offset": _object_of(closed({"start": of(float | None), "end": of(float | None)})),
            "metrics": _list_of(closed(metric, {"power_of", "watts", "joules_per_operation", "joules_per_gb"})),
            "trials": _list_of(of(TrialRecord)),
            "findings": _list_of(finding),
            "verdict": {"anyOf": [closed(verdict), {"type": "null"}]},
            "verdicts": _list_of(closed(on_step)),
            "earlier_verdicts": _list_of(closed({**on_step, "step": of(str | None), "replaced": text})),
            "recall": of(Recall | None),
            "acknowledged": _list_of(acknowledged),
            "changed": _list_of(of(RemediedValue)),
            "telemetry_cost": _object_of(of(float)),
            "telemetry_program": _object_of(text),
            "changes": _list_of(of(ChangeRecord)),
        }
    )


def _with_format(made: SchemaTypes, kind: type, *formats: str) -> Json:
    """Return the schema of a class as a document, which has its format."""
    made.of(kind)
    definition = made.definitions[kind.__name__]
    return {
        **definition,
        "properties": {"format": {"enum": list(formats)}, **definition["properties"]},
        "required": ["format", *definition["required"]],
    }


def _comparison(made: SchemaTypes) -> Json:
    of, number, text = made.of, made.of(float | None), made.of(str | None)
    side = {
        "run": of(str), "part": text, "host": text, "n": of(int), "value": number, "median": number,
        "trust": of(Trust | None), "geometric_mean": number, "levels": of(VarianceLevels | None),
    }  # fmt: skip
    entry = {
        **made.keys(ComparisonRow), **made.keys(RelativeFigure), **side, "margin": of(float), "margin_of": text,
        "half": of(HalfEffect), "overruled": text, "baseline": closed(side),
    }  # fmt: skip
    return _list_of(closed(entry, {"half"}))


def _gate(made: SchemaTypes) -> Json:
    of, number, text = made.of, made.of(float | None), made.of(str | None)
    condition = {
        "condition": of(str), "metric": of(str), "step": text, "host": text, "labels": _object_of(of(str)),
        "outcome": of(GateOutcome), "run": of(str), "ratio": number, "low": number, "high": number, "p": number,
        "counts": of(tuple[int, int]), "trust": text, "text": of(str), "reason": text, "remark": text,
    }  # fmt: skip
    return closed({
        "format": {"const": FORMAT}, "outcome": of(GateOutcome), "unverified": of(bool), "baseline": of(str),
        "runs": _list_of(of(str)), "conditions": _list_of(closed(condition)),
    })  # fmt: skip


def _judge(made: SchemaTypes) -> Json:
    of, text = made.of, made.of(str)
    finding = {
        "id": text, "severity": of(Severity), "title": text, "measured": text, "why": text, "remedy": text,
        "source": text,
    }  # fmt: skip
    result = {
        "format": text, "suite": text, "line": of(int), "name": text, "command_line": text,
        "values": _object_of(of(Value)), "trust": of(Trust), "summary": text,
        "deciding": _list_of(text), "metrics": _list_of(of(Figure)),
        "findings": _list_of(closed(finding)), "not_checked": _object_of(text), "notes": _list_of(text),
    }  # fmt: skip
    file = {
        "file": text, "sha256": text, "problem": text, "lines_not_read": of(int), "results": _list_of(closed(result)),
    }  # fmt: skip
    return closed({"files": _list_of(closed(file))})


def _plan(made: SchemaTypes) -> Json:
    return _with_format(made, Plan, *FORMATS)


def _facts(made: SchemaTypes) -> Json:
    return _with_format(made, Facts, FACTS_FORMAT)


def _investigation(made: SchemaTypes) -> Json:
    return _with_format(made, Investigation, INVESTIGATION_FORMAT)


def _list(made: SchemaTypes) -> Json:
    return _list_of(closed({**made.keys(RunSummary), **made.keys(LibraryRow)}))


_SCHEMAS: Mapping[str, tuple[str, Callable[[SchemaTypes], Json]]] = {
    "run": ("A run, as show --json and export --run-json write it", _run),
    "list": ("The runs of the library, as list --json prints them", _list),
    "compare": ("A comparison, as compare --json prints it", _comparison),
    "gate": ("The outcome of a gate, as gate --json prints it", _gate),
    "judge": ("Judged outputs, as judge --json prints them", _judge),
    "plan": ("A plan, as plan files hold it", _plan),
    "facts": ("The facts of a host, as hosts facts --json prints them", _facts),
    "investigation": ("An investigation without its results", _investigation),
}

NAMES = tuple(_SCHEMAS)
"""The schemas by name."""

TITLES: Mapping[str, str] = {name: title for name, (title, _) in _SCHEMAS.items()}
"""What each schema describes, by name."""


def schema(name: str, *, strict: bool = False) -> Json:
    """Return the JSON Schema `name`; a `strict` one admits no other keys, which a newer version may add."""
    title, make = _SCHEMAS[name]
    made = SchemaTypes()
    found = make(made)
    whole = {"$schema": DIALECT, "$id": f"{ADDRESS}:{name}", "title": title, **found, "$defs": made.definitions}
    return whole if strict else dict(open_to_more(whole))
