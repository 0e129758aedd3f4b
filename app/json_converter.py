"""The converter between dataclasses and JSON: strict types, bounded sizes, errors that name the field."""

import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin, get_type_hints

from app.events import PlannedSession, SettingRestored
from app.plans.plan import Plan, Repetition, Step
from app.records import HostAction, MetricNoise, RunSummary
from suites.base import Command
from suites.facts import Absent
from suites.parameters import Value
from suites.verdict import Verdict
from suites.vocab import Figure, Finding, Sample

if TYPE_CHECKING:
    import cattrs

TEXT_LIMIT = 64 * 1024
"""Longest text of a document in characters."""

Json = dict[str, Any]
T = TypeVar("T")


def short(what: object) -> str:
    """Return `what` as text of at most 160 characters, without a final stop."""
    text = str(what).strip().rstrip(".")
    return text if len(text) <= 160 else text[:157] + "…"


def _strict(kind: type[T], expected: str) -> Callable[[object, object], T]:
    def read(value: object, _kind: object) -> T:
        if type(value) is not kind:  # exactly: True is an int to isinstance
            raise ValueError(f"expected {expected}, found {short(repr(value))}")
        return value

    return read


def _whole(value: object, _kind: object) -> int:
    number = _strict(int, "a whole number")(value, int)
    if abs(number) >= 2**63:
        raise ValueError("the number is too large")
    return number


def _number(value: object, _kind: object) -> float:
    if not (type(value) is int or type(value) is float) or not math.isfinite(value):
        raise ValueError(f"expected a finite number, found {short(repr(value))}")
    return float(value)


def _text(value: object, _kind: object) -> str:
    text = _strict(str, "text")(value, str)
    if len(text) > TEXT_LIMIT:
        raise ValueError(f"the text has {len(text)} characters; the limit is {TEXT_LIMIT}")
    return text


def _enumeration(value: object, kind: type[StrEnum]) -> StrEnum:
    if value not in tuple(kind):
        raise ValueError(f"expected one of {', '.join(kind)}, found {short(repr(value))}")
    return kind(str(value))


def _parameter_value(value: object, _kind: object) -> Value:
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return (_whole if isinstance(value, int) else _number)(value, None)
    if isinstance(value, str):
        return _text(value, None)
    raise ValueError(f"expected a parameter's value, found {short(repr(value))}")


def _fact_writer(converter: "cattrs.Converter", unit: str) -> Callable[[Any], Json]:
    def write(fact: Any) -> Json:
        if isinstance(fact, Absent):
            return {"absent": fact.reason}
        return {"value": converter.unstructure(fact), "unit": unit}

    return write


_NEVER_NEGATIVE = frozenset({"1", "B", "B/s", "bit/s", "MHz"})


def _fact_reader(converter: "cattrs.Converter", unit: str, kind: Any) -> Callable[[object, object], Any]:
    def read(given: object, _kind: object) -> Any:
        if not isinstance(given, dict) or ("absent" in given) == ("value" in given):
            raise ValueError('expected {"value": ..., "unit": ...} or {"absent": reason}')
        if "absent" in given:
            return Absent(_text(given["absent"], str))
        if given.get("unit", unit) != unit:
            raise ValueError(f"the unit is {short(repr(given['unit']))}, expected {unit!r}")
        value = converter.structure(given["value"], kind)
        if unit in _NEVER_NEGATIVE and value < 0:
            raise ValueError(f"{value} {unit} is negative")
        return value

    return read


def _is_facts(kind: Any) -> bool:
    return is_dataclass(kind) and any("unit" in field.metadata for field in fields(kind))


def _facts_writer(kind: Any, converter: "cattrs.Converter") -> Callable[[Any], Json]:
    from cattrs.gen import make_dict_unstructure_fn, override

    hooks: dict[str, Any] = {
        field.name: override(unstruct_hook=_fact_writer(converter, field.metadata["unit"]))
        for field in fields(kind)
        if "unit" in field.metadata
    }
    return make_dict_unstructure_fn(kind, converter, **hooks)


def _facts_reader(kind: Any, converter: "cattrs.Converter") -> Callable[[object, Any], Any]:
    from cattrs.gen import make_dict_structure_fn, override

    hints = get_type_hints(kind)
    hooks: dict[str, Any] = {
        field.name: override(
            struct_hook=_fact_reader(
                converter,
                field.metadata["unit"],
                next(part for part in get_args(hints[field.name]) if part is not Absent),
            )
        )
        for field in fields(kind)
        if "unit" in field.metadata
    }
    return _object_reader(make_dict_structure_fn(kind, converter, **hooks))


def _object_reader(read_fields: Callable[[Mapping[str, Any], Any], Any]) -> Callable[[object, Any], Any]:
    def read(given: object, kind: Any) -> Any:
        if not isinstance(given, dict):
            raise TypeError(f"expected an object, found {short(repr(given))}")
        return read_fields(given, kind)

    return read


def _is_tuple(kind: Any) -> bool:
    return get_origin(kind) is tuple


def _tuple_reader(kind: Any, converter: "cattrs.BaseConverter") -> Callable[[object, Any], tuple[Any, ...]]:
    items: Any = list.__class_getitem__(get_args(kind)[0])
    read_items = converter.get_structure_hook(items)

    def read(given: object, _kind: Any) -> tuple[Any, ...]:
        if not isinstance(given, list):
            raise TypeError(f"expected a list, found {short(repr(given))}")
        return tuple(read_items(given, items))

    return read


def _is_mapping(kind: Any) -> bool:
    return get_origin(kind) is Mapping


def _mapping_reader(kind: Any, converter: "cattrs.BaseConverter") -> Callable[[object, Any], Json]:
    content: Any = dict.__class_getitem__(get_args(kind))
    return _object_reader(lambda given, _kind: converter.structure(given, content))


_PUBLISHED: dict[type, dict[str, tuple[str, ...]]] = {}


def publish(kind: type, keys: str) -> None:
    """Write objects of `kind` with the public `keys`: words ``key``, or ``key=path.of.attributes`` where it differs.

    A path ends at None; labels are an object. Without this, the keys are the fields.
    """
    paths = {key: (path or key).split(".") for key, _, path in (word.partition("=") for word in keys.split())}
    known = {field.name for field in fields(kind)} if is_dataclass(kind) else set()
    if unknown := [first for first, *_ in paths.values() if first not in known and not hasattr(kind, first)]:
        raise AttributeError(f"{kind.__name__} has no {', '.join(unknown)}")
    _PUBLISHED[kind] = {key: tuple(path) for key, path in paths.items()}


def published_keys(kind: type) -> Mapping[str, tuple[str, ...]]:
    """Return the path of attributes of each public key of `kind`; empty if its keys are its fields."""
    return _PUBLISHED.get(kind, {})


def overrides() -> Mapping[type, Json]:
    """Return by class the fields whose JSON differs, as cattrs describes it: AttributeOverride by field."""
    return _overrides(converter())


def published(value: object) -> Any:
    """Return the public JSON of an object; None for None."""
    return converter().unstructure(value)


def _public_writer(kind: type, made: "cattrs.BaseConverter") -> Callable[[Any], Json]:
    def write(whole: Any) -> Json:
        found = {}
        for key, path in _PUBLISHED[kind].items():
            value = whole
            for name in path:
                value = None if value is None else getattr(value, name)
            found[key] = dict(value) if key == "labels" else made.unstructure(value)
        return found

    return write


publish(Figure, "name=metric.name value unit=metric.unit better=metric.better labels")
publish(Sample, "time name=metric.name value unit=metric.unit labels warm_up")
publish(PlannedSession, "series number of=total due")
publish(
    RunSummary,
    "id name question hosts steps state=status started ended imported trials headline baseline suites left=detached "
    "trust limited_by session",
)
publish(SettingRestored, "path run problem")
publish(HostAction, "host what command started ended exit_status reason")
publish(Command, "line argv purpose on_peer files root")

_FIRST_FIELDS = 3
"""Fields of a repetition in the first format of plans; later ones are written only if not default."""


@cache
def converter() -> "cattrs.Converter":
    """Return the converter of all documents, without coercion between types.

    Unknown fields are ignored: a newer version may have added them.
    """
    import cattrs
    from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn

    made = cattrs.Converter(unstruct_collection_overrides={tuple: list})
    made.register_structure_hook(StrEnum, _enumeration)
    made.register_unstructure_hook(StrEnum, lambda word: word.value)
    for kind, read in ((int, _whole), (float, _number), (str, _text), (bool, _strict(bool, "true or false"))):
        made.register_structure_hook(kind, read)
    made.register_structure_hook_func(lambda kind: kind == Value, _parameter_value)
    made.register_structure_hook_factory(_is_tuple, _tuple_reader)
    made.register_structure_hook_factory(_is_mapping, _mapping_reader)
    made.register_structure_hook_factory(
        is_dataclass, lambda kind, inner: _object_reader(make_dict_structure_fn(kind, inner))
    )
    made.register_structure_hook_factory(_is_facts, _facts_reader)
    made.register_unstructure_hook_factory(_is_facts, _facts_writer)
    made.register_unstructure_hook_factory(lambda kind: kind in _PUBLISHED, _public_writer)
    for record, changed in _overrides(made).items():
        made.register_structure_hook(record, _object_reader(make_dict_structure_fn(record, made, **changed)))
        made.register_unstructure_hook(record, make_dict_unstructure_fn(record, made, **changed))
    return made


def _overrides(made: "cattrs.Converter") -> dict[type, Json]:
    """Return by class the fields whose JSON differs: in its key, or left out if default. Parts precede wholes."""
    from cattrs.gen import override

    labels: Any = Mapping[str, str]
    shares: Any = Mapping[str, float]
    optional, as_level = override(omit_if_default=True), override(rename="level")
    return {
        Step: {
            "suite_id": override(rename="suite"),
            **dict.fromkeys(("partner", "second"), override(omit=True)),  # set by the plan
            "by_host": optional,
        },
        Repetition: {field.name: optional for field in fields(Repetition)[_FIRST_FIELDS:]}
        | {
            "margins": override(
                omit_if_default=True,
                struct_hook=lambda given, _: tuple(made.structure(given, shares).items()),
                unstruct_hook=dict,
            )
        },
        Plan: dict.fromkeys(("seed", "acknowledged", "changed", "goals", "telemetry_interval"), optional),
        Finding: {"severity": as_level},
        Verdict: {"trust": as_level},
        MetricNoise: {
            "labels": override(
                struct_hook=lambda given, _: tuple(made.structure(given, labels).items()), unstruct_hook=dict
            ),
        },
    }
