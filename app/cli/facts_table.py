"""Facts as lines of text."""

from collections.abc import Iterator
from dataclasses import Field, fields, is_dataclass
from typing import Any

from app.wording import bytes_text, quantity
from suites.facts import Absent, Facts
from suites.units import Unit

_SINGULAR = {
    "cpu caches": "cpu cache",
    "block devices": "block device",
    "file systems": "file system",
    "directories": "directory",
    "devices": "device",
    "interfaces": "interface",
    "tools": "tool",
}


def facts_rows(facts: Facts) -> list[tuple[str, str]]:
    """Return (name, value) for every fact, in the order of the groups; absent ones say why."""
    return list(_rows("", facts))


def _rows(prefix: str, group: Any) -> Iterator[tuple[str, str]]:
    for field in fields(group):
        value = getattr(group, field.name)
        name = f"{prefix}{field.name}".replace("_", " ")
        if is_dataclass(value) and not isinstance(value, Absent):
            yield from _rows(f"{name} ", value)
        elif isinstance(value, tuple) and value and is_dataclass(value[0]):
            for item in value:
                yield f"{_SINGULAR.get(name, name)} {_title(item)}", _line(item)
        else:
            yield name, _written(value, field)


def _title(item: Any) -> str:
    first = fields(item)[0].name
    return str(getattr(item, first))


def _line(item: Any) -> str:
    parts = []
    for field in fields(item)[1:]:
        value = getattr(item, field.name)
        if not isinstance(value, Absent) and not field.metadata.get("internal"):
            parts.append(f"{field.name.replace('_', ' ')} {_written(value, field)}")
    absent = [field for field in fields(item)[1:] if isinstance(getattr(item, field.name), Absent)]
    if not parts and absent:
        return _written(getattr(item, absent[0].name), absent[0])
    return ", ".join(parts)


def _written(value: Any, field: "Field[Any]") -> str:
    if isinstance(value, Absent):
        return f"— ({value.reason})"
    unit = field.metadata.get("unit", "")
    if unit == "B" and isinstance(value, int) and field.name != "mtu":
        return bytes_text(value)
    if unit in set(Unit) and isinstance(value, float):
        return quantity(float(value), Unit(unit))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return " ".join(map(str, value)) or "none"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return f"{text} {unit}" if unit and unit != "1" else text
