"""JSON Schema (2020-12) of what is published as JSON, made of the types and the keys of app.json_converter.

A TypedDict is an object with its keys. ``Annotated[Json, A, B]`` is an object with the public keys of A and B; of keys
of both, those of B. ``Annotated[str, "x"]`` is that text.
"""

import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any, NotRequired, get_args, get_origin, get_type_hints, is_typeddict

from app.json_converter import Json, overrides, published_keys
from suites.facts import Absent

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_PLAIN: Mapping[object, Json] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    types.NoneType: {"type": "null"},
}


class SchemaTypes:
    """Schemas of types, each class once under ``$defs``."""

    def __init__(self) -> None:
        self.definitions: Json = {}

    def of(self, kind: Any) -> Json:
        """Return the schema of the JSON of values of a type: a class, a union, a tuple or a mapping."""
        if kind in _PLAIN:
            return _PLAIN[kind]
        if get_origin(kind) is Annotated:
            return self._annotated(kind.__metadata__)
        if get_origin(kind) is not None:
            return self._of_generic(get_origin(kind), get_args(kind))
        if issubclass(kind, StrEnum):
            return self._defined(kind, lambda: {"enum": [each.value for each in kind]})
        return self._defined(kind, lambda: self._object(kind))

    def _of_generic(self, origin: Any, arguments: Sequence[Any]) -> Json:
        if origin in {typing.Union, types.UnionType}:
            return {"anyOf": [self.of(each) for each in arguments]}
        if issubclass(origin, Mapping):
            return {"type": "object", "additionalProperties": self.of(arguments[1])}
        if origin is tuple and arguments[-1] is not Ellipsis:
            items = [self.of(each) for each in arguments]
            return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
        return {"type": "array", "items": self.of(arguments[0])}

    def _annotated(self, added: Sequence[Any]) -> Json:
        """Return the schema of one of some texts, of the JSON of a class, or of an object with the keys of several."""
        if isinstance(added[0], str):
            return {"enum": list(added)}
        if len(added) == 1:
            return self.of(added[0])
        properties: Json = {}
        optional = set[str]()
        for kind in added:
            whole = self._object(kind)
            optional = (optional - set(whole["required"])) | (set(whole["properties"]) - set(whole["required"]))
            properties |= whole["properties"]
        return closed(properties, optional)

    def _defined(self, kind: type, make: "typing.Callable[[], Json]") -> Json:
        if kind.__name__ not in self.definitions:
            self.definitions[kind.__name__] = {}  # for one that contains itself
            self.definitions[kind.__name__] = make()
        return {"$ref": f"#/$defs/{kind.__name__}"}

    def _object(self, kind: type) -> Json:
        if is_typeddict(kind):
            hints = get_type_hints(kind, include_extras=True)
            optional = {key for key, hint in hints.items() if get_origin(hint) is NotRequired}
            return closed(
                {key: self.of(get_args(hint)[0] if key in optional else hint) for key, hint in hints.items()}, optional
            )
        if not is_dataclass(kind):
            raise TypeError(f"no schema of {kind}")
        if published_keys(kind):
            return closed({key: self._value(kind, key, path) for key, path in published_keys(kind).items()})
        hints, changed = get_type_hints(kind), overrides().get(kind, {})
        found, optional = {}, set[str]()
        for each in fields(kind):
            change = changed.get(each.name)
            if change is not None and change.omit:
                continue
            key = (change and change.rename) or each.name
            found[key] = self._field(each, hints[each.name], as_object=bool(change and change.unstruct_hook))
            if change is not None and change.omit_if_default:
                optional.add(key)
        return closed(found, optional)

    def _field(self, each: "Field[Any]", hint: Any, *, as_object: bool) -> Json:
        if as_object:
            (_, value) = get_args(get_args(hint)[0])
            return {"type": "object", "additionalProperties": self.of(value)}
        if "unit" not in each.metadata:
            return self.of(hint)
        value = next(part for part in get_args(hint) if part is not Absent)
        known = closed({"value": self.of(value), "unit": {"const": each.metadata["unit"]}})
        return {"anyOf": [known, closed({"absent": {"type": "string"}})]}

    def _value(self, kind: type, key: str, path: Sequence[str]) -> Json:
        """Return the schema of the attribute at `path`, null if one on the way may be None."""
        if key == "labels":
            return {"type": "object", "additionalProperties": {"type": "string"}}
        hint: Any = kind
        nullable = False
        for name in path:
            parts = [part for part in get_args(hint) if part is not types.NoneType] if _is_union(hint) else [hint]
            nullable = nullable or (_is_union(hint) and types.NoneType in get_args(hint))
            hint = _attribute(parts[0], name)
        return self.of(hint | None if nullable else hint)


def _is_union(hint: Any) -> bool:
    return get_origin(hint) in {typing.Union, types.UnionType}


def _attribute(kind: type, name: str) -> Any:
    """Return the type of an attribute: a field or a property."""
    kind = get_origin(kind) or kind
    found = getattr(kind, name, MISSING)
    if isinstance(found, property):
        return get_type_hints(found.fget)["return"]
    if isinstance(found, cached_property):
        return get_type_hints(found.func)["return"]
    return get_type_hints(kind)[name]


def closed(properties: Json, optional: typing.Collection[str] = ()) -> Json:
    """Return the schema of an object with all `properties` but the optional ones, and no other."""
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def open_to_more(schema: Any) -> Any:
    """Return a schema that admits other keys too, which a newer version may add."""
    if isinstance(schema, dict):
        return {
            key: open_to_more(each)
            for key, each in schema.items()
            if not (key == "additionalProperties" and each is False)
        }
    return [open_to_more(each) for each in schema] if isinstance(schema, list) else schema
