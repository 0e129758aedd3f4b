"""The converter between our dataclasses and JSON: strict in types, bounded, and with errors that name the field."""

import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import cattrs
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from app.plans.plan import Plan, Repetition, Step
from suites.facts import Absent
from suites.parameters import Value

TEXT_LIMIT = 64 * 1024
"""Characters of the longest text within a document."""

Json = dict[str, Any]
T = TypeVar("T")


def short(what: object) -> str:
    """Return `what` in words, cut where it would fill a screen, without the stop at its end."""
    words = str(what).strip().rstrip(".")
    return words if len(words) <= 160 else words[:157] + "…"


def _strict(kind: type[T], words: str) -> Callable[[object, object], T]:
    def read(value: object, _kind: object) -> T:
        if type(value) is not kind:  # exactly: True is an int to isinstance
            raise ValueError(f"expected {words}, found {short(repr(value))}")
        return value

    return read


def _whole(value: object, _kind: object) -> int:
    number = _strict(int, "a whole number")(value, int)
    if abs(number) >= 2**63:
        raise ValueError("the number is too large")
    return number


def _number(value: object, _kind: object) -> float:
    if type(value) not in {int, float} or not math.isfinite(float(value)):  # type: ignore[arg-type]  # just checked
        raise ValueError(f"expected a finite number, found {short(repr(value))}")
    return float(value)  # type: ignore[arg-type]  # just checked


def _text(value: object, _kind: object) -> str:
    text = _strict(str, "text")(value, str)
    if len(text) > TEXT_LIMIT:
        raise ValueError(f"the text has {len(text)} characters, at most {TEXT_LIMIT} are read")
    return text


def _word(value: object, kind: type[StrEnum]) -> StrEnum:
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


def _fact_writer(converter: cattrs.Converter, unit: str) -> Callable[[Any], Json]:
    def write(fact: Any) -> Json:
        if isinstance(fact, Absent):
            return {"absent": fact.reason}
        return {"value": converter.unstructure(fact), "unit": unit}

    return write


_NEVER_NEGATIVE = frozenset({"1", "B", "B/s", "bit/s", "MHz"})


def _fact_reader(converter: cattrs.Converter, unit: str, kind: Any) -> Callable[[object, object], Any]:
    def read(given: object, _kind: object) -> Any:
        if not isinstance(given, dict) or ("absent" in given) == ("value" in given):
            raise ValueError('expected {"value": ..., "unit": ...} or {"absent": reason}')
        if "absent" in given:
            return Absent(_text(given["absent"], str))
        if given.get("unit", unit) != unit:
            raise ValueError(f"the unit is {short(repr(given['unit']))}, expected {unit!r}")
        value = converter.structure(given["value"], kind)
        if unit in _NEVER_NEGATIVE and value < 0:
            raise ValueError(f"{value} {unit} is less than nothing")
        return value

    return read


def _is_facts(kind: Any) -> bool:
    return is_dataclass(kind) and any("unit" in field.metadata for field in fields(kind))


def _facts_writer(kind: Any, converter: cattrs.Converter) -> Callable[[Any], Json]:
    hooks = {
        field.name: override(unstruct_hook=_fact_writer(converter, field.metadata["unit"]))
        for field in fields(kind)
        if "unit" in field.metadata
    }
    return make_dict_unstructure_fn(kind, converter, **hooks)  # type: ignore[arg-type]  # hooks are named by field


def _facts_reader(kind: Any, converter: cattrs.Converter) -> Callable[[object, Any], Any]:
    hints = get_type_hints(kind)
    hooks = {
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
    return _object_reader(make_dict_structure_fn(kind, converter, **hooks))  # type: ignore[arg-type]  # likewise


def _object_reader(read_fields: Callable[[Mapping[str, Any], Any], Any]) -> Callable[[object, Any], Any]:
    def read(given: object, kind: Any) -> Any:
        if not isinstance(given, dict):
            raise TypeError(f"expected an object, found {short(repr(given))}")
        return read_fields(given, kind)

    return read


def _is_tuple(kind: Any) -> bool:
    return get_origin(kind) is tuple


def _tuple_reader(kind: Any, converter: cattrs.BaseConverter) -> Callable[[object, Any], tuple[Any, ...]]:
    items: Any = list.__class_getitem__(get_args(kind)[0])
    read_items = converter.get_structure_hook(items)

    def read(given: object, _kind: Any) -> tuple[Any, ...]:
        if not isinstance(given, list):
            raise TypeError(f"expected a list, found {short(repr(given))}")
        return tuple(read_items(given, items))

    return read


def _is_mapping(kind: Any) -> bool:
    return get_origin(kind) is Mapping


def _mapping_reader(kind: Any, converter: cattrs.BaseConverter) -> Callable[[object, Any], Json]:
    content: Any = dict.__class_getitem__(get_args(kind))
    return _object_reader(lambda given, _kind: converter.structure(given, content))


_FIRST_FIELDS = 3
"""Fields of a repetition in the first format of plans; later ones are written only where they say something."""


@cache
def converter() -> cattrs.Converter:
    """Return the converter of every document, which takes nothing for what it is not.

    Fields that are not known are passed over: a newer program may have added them.
    """
    made = cattrs.Converter(unstruct_collection_overrides={tuple: list})
    made.register_structure_hook(StrEnum, _word)
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
    suite_id = override(rename="suite")
    step_reader = make_dict_structure_fn(Step, made, suite_id=suite_id)
    made.register_structure_hook(Step, _object_reader(step_reader))
    made.register_unstructure_hook(Step, make_dict_unstructure_fn(Step, made, suite_id=suite_id))
    later = {field.name: override(omit_if_default=True) for field in fields(Repetition)[_FIRST_FIELDS:]}
    write_repetition = make_dict_unstructure_fn(Repetition, made, **later)  # type: ignore[arg-type]  # named by field
    made.register_unstructure_hook(Repetition, write_repetition)
    left_out = {name: override(omit_if_default=True) for name in ("seed", "acknowledged", "changed", "goals")}
    write_plan = make_dict_unstructure_fn(Plan, made, **left_out)  # type: ignore[arg-type]  # named by field
    made.register_unstructure_hook(Plan, write_plan)
    return made
