"""Facts as grouped rows of title and text, and the facts that differ; an absent fact keeps its reason."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from app.output import escaped
from app.plans.duet import cpu_list
from suites.facts import NOT_READ, Absent, Facts, known
from suites.quantities import duration_text, frequency_text, offset_text, quantity
from suites.units import Unit

Record = Any
"""A dataclass of suites.facts; its fields and units are read by introspection."""

_TITLES = {
    "load_1_minute": "Load, 1 minute",
    "boot_id": "Boot ID",
    "command_line": "Kernel command line",
    "watched": "Load watched for",
    "foreign_cpu": "CPU use by others",
    "foreign_processes": "Processes of others",
    "foreign_disks": "Disk use by others",
    "instance_id": "Instance ID",
    "workstation_address": "Address of this computer",
    "usable": "Usable threads",
    "layout": "Usable cores",
    "frequency_maximum": "Maximum frequency",
    "frequency_guest": "Frequency in the guest",
    "numa_nodes": "NUMA nodes",
    "numa_balancing": "NUMA balancing",
    "io_uring_disabled": "io_uring disabled",
    "quota": "cgroup CPU quota",
    "limit": "cgroup limit",
    "urandom_rate": "/dev/urandom rate",
    "mtu": "MTU",
    "kind": "Type",
    "direct": "Accepts O_DIRECT",
    "free": "Free for this user",
}
_GROUPS = (
    ("System", "system", {"distribution_id", "distribution_version", "distribution_like", "clock_offset_uncertainty"}),
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
    ("Cloud limits", "cloud_limits", "name", ("value", "unit")),
)


@dataclass(frozen=True, slots=True)
class FactRow:
    """A fact or a group of facts. With `absent`, `value` is the reason."""

    title: str
    value: str = ""
    absent: bool = False
    children: tuple["FactRow", ...] = ()


def fact_rows(facts: Facts) -> tuple[FactRow, ...]:
    """Return the groups of `facts` in order of relevance to a benchmark."""
    plain = [_group(title, getattr(facts, name), exclude) for title, name, exclude in _GROUPS]
    lists = [_list(title, getattr(facts, name), key, summary) for title, name, key, summary in _LISTS]
    system, cloud, cpu, memory, measured = plain
    return (system, cloud, cpu, memory, *(group for group in lists if group.children), measured)


def as_text(rows: Iterable[FactRow], depth: int = 0) -> str:
    """Return `rows` as indented lines of text."""
    return escaped("\n".join(_lines(rows, depth)), but="\n")


def _lines(rows: Iterable[FactRow], depth: int) -> Iterator[str]:
    for row in rows:
        value = f"absent ({row.value})" if row.absent else row.value
        yield f"{'  ' * depth}{row.title}{': ' if value else ''}{value}"
        yield from _lines(row.children, depth + 1)


_MISSING = "missing"

ABSENT_TEXT = "absent ("
"""The beginning of the text of an absent fact; its reason and a bracket follow."""

_TRANSIENT = frozenset({"System · Uptime"})
"""Facts that differ at each reading."""


@dataclass(frozen=True, slots=True)
class ComparedFact:
    """One fact of several readings, in their order; an absent value is ``absent (reason)``.

    `differs` is false also for a fact that only some readings list, and that is absent there.
    """

    title: str
    values: tuple[str, ...]
    differs: bool


def compared_facts(readings: Sequence[Facts]) -> list[ComparedFact]:
    """Return every fact of `readings`, with the path of its groups as title, in the order of fact_rows()."""
    found = [dict(flat_facts(fact_rows(facts))) for facts in readings]
    titles = dict.fromkeys(title for one in found for title in one)
    return [_compared(title, [one.get(title) for one in found]) for title in titles]


def _compared(title: str, values: Sequence[str | None]) -> ComparedFact:
    known_values = [value for value in values if value is not None]
    partly = len(known_values) < len(values)
    absent = all(value.startswith(ABSENT_TEXT) for value in known_values)
    differs = len(set(values)) > 1 and not (partly and absent) and title not in _TRANSIENT
    return ComparedFact(title, tuple(value or _MISSING for value in values), differs)


def flat_facts(rows: Iterable[FactRow], above: str = "") -> Iterator[tuple[str, str]]:
    """Yield the title path and the value of every leaf of `rows`."""
    for row in rows:
        title = f"{above} · {row.title}" if above else row.title
        if row.children:
            yield from flat_facts(row.children, title)
        else:
            yield title, f"{ABSENT_TEXT}{row.value})" if row.absent else row.value


def matching_rows(rows: Iterable[FactRow], text: str) -> tuple[FactRow, ...]:
    """Return the rows whose title or value contains `text` in any case, with the groups above them and all below."""
    found = []
    for row in rows:
        if text.casefold() in f"{row.title}\n{row.value}".casefold():
            found.append(row)
        elif children := matching_rows(row.children, text):
            found.append(replace(row, children=children))
    return tuple(found)


def _group(title: str, record: Record, exclude: set[str]) -> FactRow:
    rows = tuple(_row(record, name, unit) for name, unit in _declared(record) if name not in exclude)
    reasons = {row.value for row in rows if row.absent} - {NOT_READ.reason} or {NOT_READ.reason}
    if len(reasons) == 1 and all(row.absent for row in rows):
        return FactRow(title, reasons.pop(), absent=True)
    return FactRow(title, children=rows)


def _list(title: str, records: Iterable[Record], key: str, summary: tuple[str, ...]) -> FactRow:
    return FactRow(title, children=tuple(_entry(record, key, summary) for record in records))


def _entry(record: Record, key: str, summary: tuple[str, ...]) -> FactRow:
    rows = {name: _row(record, name, unit) for name, unit in _declared(record) if name != key}
    parts = [rows[name].value for name in summary if not rows[name].absent]
    name = getattr(record, key)
    if parts:
        return FactRow(name, " · ".join(parts), children=tuple(rows.values()))
    found = any(not row.absent for row in rows.values())
    return FactRow(name, rows[summary[0]].value, absent=True, children=tuple(rows.values()) if found else ())


def _declared(record: Record) -> list[tuple[str, str]]:
    shown = (field for field in fields(record) if not field.metadata.get("internal"))
    return [(field.name, str(field.metadata.get("unit", ""))) for field in shown]


def _row(record: Record, name: str, unit: str) -> FactRow:
    value = getattr(record, name)
    title = _TITLES.get(name, name.replace("_", " ").capitalize())
    if isinstance(value, Absent):
        return FactRow(title, value.reason, absent=True)
    children = _children(name, value)
    if children:
        return FactRow(title, _count(len(children), *_NOUNS.get(name, ("entry", "entries"))), children=children)
    if isinstance(value, tuple):
        return FactRow(title, ", ".join(map(str, value)) or "none")
    if name == "clock_offset":
        return FactRow(title, offset_text(value, known(record.clock_offset_uncertainty)))
    return FactRow(title, _value_text(name, value, unit))


_NOUNS = {
    "caches": ("cache", "caches"),
    "layout": ("core", "cores"),
    "mitigations": ("vulnerability", "vulnerabilities"),
    "foreign_processes": ("process", "processes"),
    "foreign_disks": ("disk", "disks"),
}


def _children(name: str, value: object) -> tuple[FactRow, ...]:
    """Return a row for each entry of a fact that is a list of records, or of lines with a name."""
    if not isinstance(value, tuple) or not value:
        return ()
    if name == "caches":
        return tuple(_cache(cache) for cache in value)
    if name == "layout":
        return tuple(FactRow(f"CPU {cpu_list(core.cpus)}", _place(core)) for core in value)
    if name == "mitigations":
        return tuple(map(_mitigation, value))
    if is_dataclass(value[0]):
        return tuple(_entry(one, "name", tuple(part for part, _ in _declared(one)[1:])) for one in value)
    return ()


def _place(core: Record) -> str:
    return f"NUMA node {core.node} · package {core.package}"


def _mitigation(text: str) -> FactRow:
    vulnerability, _, state = text.partition(": ")
    return FactRow(vulnerability, state)


def _cache(cache: Record) -> FactRow:
    shared = "" if isinstance(cache.shared_by, Absent) else f"shared by {cache.shared_by}"
    many = "" if isinstance(cache.instances, Absent) else f"{cache.instances} ×"
    title = f"L{cache.level} {cache.kind.lower()}"
    if isinstance(cache.size, Absent):
        return FactRow(title, cache.size.reason, absent=True)
    size = " ".join(part for part in (many, quantity(cache.size)) if part)
    return FactRow(title, " · ".join(part for part in (size, shared) if part))


def _count(count: int, noun: str, nouns: str) -> str:
    return f"{count} {noun if count == 1 else nouns}"


def _value_text(name: str, value: object, unit: str) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float):
        return str(value)
    return _UNITS.get(unit, _number)(value) if name != "mtu" else f"{value} B"


def _number(value: float) -> str:
    return f"{value:g}"


_UNITS: Mapping[str, Callable[[float], str]] = {
    "B": quantity,
    "s": duration_text,
    "MHz": lambda value: frequency_text(1e6 * value),
    "B/s": lambda value: quantity(value, Unit.BYTES_PER_SECOND),
    "bit/s": lambda value: quantity(value, Unit.BITS_PER_SECOND),
}
