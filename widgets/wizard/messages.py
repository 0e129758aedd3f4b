"""Texts of facts and estimates. No Qt."""

from collections.abc import Iterable

from suites.facts import Absent, Facts, known, virtualisation_of
from suites.quantities import duration_text, quantity

UNKNOWN = "unknown"


def duration(seconds: float | None) -> str:
    """Return `seconds` as text, or ``unknown`` for None."""
    return UNKNOWN if seconds is None else duration_text(seconds)


def size(value: int | None) -> str:
    """Return bytes in binary units: a dash for 0, ``unknown`` for None."""
    if value is None:
        return UNKNOWN
    return quantity(value) if value else "–"


def long_facts(facts: Facts) -> list[tuple[str, str | Absent]]:
    """Return the facts that matter for a benchmark as (name, text)."""
    cpu, memory, system = facts.cpu, facts.memory, facts.system
    return [
        ("CPU", _fact_text(cpu.model)),
        ("Usable", _fact_text(cpu.usable, " vCPU")),
        ("Governor", _fact_text(cpu.governor)),
        ("Memory", memory.total if isinstance(memory.total, Absent) else size(memory.total)),
        ("Disk", _disks(facts)),
        ("System", _fact_text(system.distribution)),
        ("Kernel", _fact_text(system.kernel)),
        ("Virtualisation", virtualisation_of(facts) or _fact_text(system.virtualisation)),
    ]


def _fact_text(fact: object, unit: str = "") -> str | Absent:
    return fact if isinstance(fact, Absent) else f"{fact}{unit}"


def _disks(facts: Facts) -> str:
    disks = [device for device in facts.block_devices if known(device.kind) == "disk"]
    shown = [" ".join(part for part in (disk.name, _known_size(disk.size)) if part) for disk in disks]
    return listed(shown) or "none found"


def _known_size(fact: int | Absent) -> str:
    return "" if isinstance(fact, Absent) else size(fact)


def listed(names: Iterable[str], limit: int = 3) -> str:
    """Return up to `limit` names and the number of the others: ``a, b, c and 2 more``."""
    all_names = list(names)
    more = f" and {len(all_names) - limit} more" if len(all_names) > limit else ""
    return ", ".join(all_names[:limit]) + more
