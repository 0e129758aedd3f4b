"""Facts and estimates in a reader's words. No Qt."""

import re
from collections.abc import Iterable

from app.wording import bytes_text, duration_text
from suites.facts import Absent, Facts, known

UNKNOWN = "unknown"

_DISTRIBUTION_NOISE = re.compile(r"\s*\([^)]*\)$")


def duration(seconds: float | None) -> str:
    """Return `seconds` as a person says it; unknown stays unknown."""
    return UNKNOWN if seconds is None else duration_text(seconds)


def size(value: int | None) -> str:
    """Return bytes in binary units; none at all as a dash, unknown as unknown."""
    if value is None:
        return UNKNOWN
    return bytes_text(value) if value else "–"


def short_facts(facts: Facts) -> str:
    """Return a host in one line: ``8 vCPU · 15.4 GiB · Debian 12``; what was not read is left out."""
    usable, total = known(facts.cpu.usable), known(facts.memory.total)
    parts = [
        "" if usable is None else f"{usable} vCPU",
        "" if total is None else size(total),
        _DISTRIBUTION_NOISE.sub("", known(facts.system.distribution) or "").replace(" GNU/Linux", ""),
        known(facts.cloud.instance_type) or "",
    ]
    return " · ".join(part for part in parts if part) or "nothing could be read"


def long_facts(facts: Facts) -> list[tuple[str, str]]:
    """Return what decides a benchmark as pairs of name and words; an absent fact gives its reason."""
    cpu, memory, system = facts.cpu, facts.memory, facts.system
    return [
        ("CPU", _said(cpu.model)),
        ("Usable", _said(cpu.usable, " vCPU")),
        ("Governor", _said(cpu.governor)),
        ("Memory", _said_size(memory.total)),
        ("Disk", _disks(facts)),
        ("System", _said(system.distribution)),
        ("Kernel", _said(system.kernel)),
        ("Runs on", _said(system.virtualisation)),
    ]


def _said(fact: object, unit: str = "") -> str:
    return f"absent: {fact.reason}" if isinstance(fact, Absent) else f"{fact}{unit}"


def _said_size(fact: int | Absent) -> str:
    return _said(fact) if isinstance(fact, Absent) else size(fact)


def _disks(facts: Facts) -> str:
    disks = [device for device in facts.block_devices if known(device.kind) == "disk"]
    shown = [" ".join(part for part in (disk.name, _size_or_nothing(disk.size)) if part) for disk in disks]
    more = f" and {len(shown) - 3} more" if len(shown) > 3 else ""
    return ", ".join(shown[:3]) + more if shown else "none found"


def _size_or_nothing(fact: int | Absent) -> str:
    return "" if isinstance(fact, Absent) else size(fact)


def listed(names: Iterable[str], limit: int = 3) -> str:
    """Return up to `limit` names, and how many more there are."""
    all_names = list(names)
    more = f" and {len(all_names) - limit} more" if len(all_names) > limit else ""
    return ", ".join(all_names[:limit]) + more
