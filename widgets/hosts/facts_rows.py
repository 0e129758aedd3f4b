"""Facts as titled rows in a reader's words, grouped; what is absent keeps its reason. No Qt."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from app.escaping import escaped
from app.wording import bytes_text, duration_text, quantity
from suites.facts import Absent, Facts
from suites.units import Unit

Record = Any
"""One of the dataclasses of suites.facts; their fields and units are read off them, not known here."""

_TITLES = {
    "load_1_minute": "Load, 1 minute",
    "boot_id": "Boot ID",
    "instance_id": "Instance ID",
    "workstation_address": "Sees this computer as",
    "usable": "Usable threads",
    "frequency_maximum": "Highest frequency",
    "numa_nodes": "NUMA nodes",
    "numa_balancing": "NUMA balancing",
    "io_uring_disabled": "io_uring disabled",
    "quota": "CPU quota of the cgroup",
    "limit": "Limit of the cgroup",
    "urandom_rate": "/dev/urandom gives",
    "mtu": "MTU",
    "kind": "Type",
    "direct": "Accepts O_DIRECT",
    "free": "Free for this user",
}
_GROUPS = (
    ("System", "system", {"distribution_id", "distribution_version", "distribution_like"}),
    ("Cloud", "cloud", set[str]()),
    ("CPU", "cpu", set[str]()),
    ("Memory", "memory", set[str]()),
    ("Measured by the probe", "measured", set[str]()),
)
_LISTS = (
    ("Block devices", "block_devices", "name", ("size", "kind", "model")),
    ("File systems", "file_systems", "mount", ("kind", "free")),
    ("Directories", "directories", "path", ("kind", "free")),
    ("Raw devices", "devices", "path", ("model", "size", "serial")),
    ("Network interfaces", "interfaces", "name", ("state", "speed")),
    ("Tools", "tools", "name", ("version",)),
)


@dataclass(frozen=True, slots=True)
class Row:
    """A fact, or a group of them. `absent` tells that `value` is the reason why there is none."""

    title: str
    value: str = ""
    absent: bool = False
    children: tuple["Row", ...] = ()


def fact_rows(facts: Facts) -> tuple[Row, ...]:
    """Return the groups of `facts`, in the order in which a benchmark asks for them."""
    plain = [_group(title, getattr(facts, name), leave_out) for title, name, leave_out in _GROUPS]
    lists = [_list(title, getattr(facts, name), key, summary) for title, name, key, summary in _LISTS]
    system, cloud, cpu, memory, measured = plain
    return (system, cloud, cpu, memory, *(group for group in lists if group.children), measured)


def as_text(rows: Iterable[Row], depth: int = 0) -> str:
    """Return `rows` as indented lines, for a ticket."""
    return escaped("\n".join(_lines(rows, depth)), but="\n")


def _lines(rows: Iterable[Row], depth: int) -> Iterator[str]:
    for row in rows:
        value = f"absent ({row.value})" if row.absent else row.value
        yield f"{'  ' * depth}{row.title}{': ' if value else ''}{value}"
        yield from _lines(row.children, depth + 1)


def _group(title: str, record: Record, leave_out: set[str]) -> Row:
    rows = tuple(_row(record, name, unit) for name, unit in _declared(record) if name not in leave_out)
    reasons = {row.value for row in rows if row.absent}
    if len(reasons) == 1 and all(row.absent for row in rows):
        return Row(title, reasons.pop(), absent=True)
    return Row(title, children=rows)


def _list(title: str, records: Iterable[Record], key: str, summary: tuple[str, ...]) -> Row:
    return Row(title, children=tuple(_entry(record, key, summary) for record in records))


def _entry(record: Record, key: str, summary: tuple[str, ...]) -> Row:
    rows = {name: _row(record, name, unit) for name, unit in _declared(record) if name != key}
    told = [rows[name].value for name in summary if not rows[name].absent]
    name = getattr(record, key)
    if told:
        return Row(name, " · ".join(told), children=tuple(rows.values()))
    found = any(not row.absent for row in rows.values())
    return Row(name, rows[summary[0]].value, absent=True, children=tuple(rows.values()) if found else ())


def _declared(record: Record) -> list[tuple[str, str]]:
    shown = (field for field in fields(record) if not field.metadata.get("internal"))
    return [(field.name, str(field.metadata.get("unit", ""))) for field in shown]


def _row(record: Record, name: str, unit: str) -> Row:
    value = getattr(record, name)
    title = _TITLES.get(name, name.replace("_", " ").capitalize())
    if isinstance(value, Absent):
        return Row(title, value.reason, absent=True)
    if name == "caches":
        return Row(title, _count(value, "cache"), children=tuple(_cache(cache) for cache in value))
    if isinstance(value, tuple):
        return Row(title, ", ".join(map(str, value)) or "none")
    return Row(title, _written(name, value, unit))


def _cache(cache: Record) -> Row:
    shared = "" if isinstance(cache.shared_by, Absent) else f"shared by {cache.shared_by}"
    many = "" if isinstance(cache.instances, Absent) else f"{cache.instances} ×"
    title = f"L{cache.level} {cache.kind.lower()}"
    if isinstance(cache.size, Absent):
        return Row(title, cache.size.reason, absent=True)
    size = " ".join(part for part in (many, bytes_text(cache.size)) if part)
    return Row(title, " · ".join(part for part in (size, shared) if part))


def _count(things: tuple[Any, ...], noun: str) -> str:
    return f"{len(things)} {noun}{'' if len(things) == 1 else 's'}"


def _written(name: str, value: object, unit: str) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float):
        return str(value)
    if name == "clock_offset":
        return f"{'+' if value >= 0 else '−'}{quantity(abs(value), Unit.SECOND)}"
    if name == "uptime":
        return _uptime(value)
    return _UNITS.get(unit, _number)(value) if name != "mtu" else f"{value} B"


def _uptime(seconds: float) -> str:
    days, rest = divmod(int(seconds), 86400)
    return f"{days} d {rest // 3600} h" if days else duration_text(seconds)


def _number(value: float) -> str:
    return f"{value:g}"


def _frequency(megahertz: float) -> str:
    return f"{megahertz / 1000:.3g} GHz" if megahertz >= 1000 else f"{megahertz:g} MHz"


_UNITS: Mapping[str, Callable[[float], str]] = {
    "B": bytes_text,
    "s": duration_text,
    "MHz": _frequency,
    "B/s": lambda value: quantity(value, Unit.BYTES_PER_SECOND),
    "bit/s": lambda value: quantity(value, Unit.BITS_PER_SECOND),
}
