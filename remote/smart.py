"""What a drive says of its own wear: SMART as smartctl prints it in JSON."""

from typing import Any

from suites.facts import Absent
from suites.strict_json import read_json

NVME_UNIT = 512_000
"""Bytes of one of the units in which NVMe counts what was written (NVMe base specification: thousands of 512 B)."""

_PERCENT_LARGEST = 255
"""The largest percentage that NVMe tells; 255 stands for all above it."""

Wear = tuple["float | Absent", "int | Absent"]


def wear_of(text: str | None) -> Wear:
    """Return the percentage of its rated endurance that a drive has used, and the bytes written to it in its life.

    `text` is what `smartctl -j -a` prints, or a word why there is none.
    """
    if text is None:
        return Absent("only root may ask the drive"), Absent("only root may ask the drive")
    if text.strip() == "missing":
        return Absent("smartctl is not installed"), Absent("smartctl is not installed")
    try:
        told = read_json(text)
    except ValueError:
        told = None
    log = _within(told, "nvme_smart_health_information_log")
    used = _number(log, "percentage_used")
    if used is None:
        used = _number(_within(told, "endurance_used"), "current_percent")
    units = _number(log, "data_units_written")
    return (
        Absent("SMART tells no share of the endurance") if used is None or used > _PERCENT_LARGEST else float(used),
        Absent("SMART tells no bytes written") if units is None else int(units) * NVME_UNIT,
    )


def _within(source: object, name: str) -> dict[str, Any]:
    found = source.get(name) if isinstance(source, dict) else None
    return found if isinstance(found, dict) else {}


def _number(source: dict[str, Any], name: str) -> float | None:
    value = source.get(name)
    sane = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 2**63
    return value if sane else None
