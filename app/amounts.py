"""Amounts and limits as people write them: ``20000 MB/s``, ``latency_p99 <= 1 ms``."""

import re
from collections.abc import Iterable

from app.ranking.candidates import Limit
from suites.errors import BenchwrightError
from suites.units import Unit
from suites.units import unit as unit_of

_LIMIT = re.compile(r"\s*([^\s<>=≤≥]+)\s*(<=|>=|≤|≥)\s*(.+)")
_AMOUNT = re.compile(r"\s*([+-]?\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?)\s*(\S*)\s*", re.IGNORECASE)


def limit_of(text: str) -> Limit:
    """Return the limit written ``latency_p99 <= 1 ms``."""
    found = _LIMIT.fullmatch(text)
    if found is None:
        raise BenchwrightError(f"“{text[:60]}” is no limit.", "Write latency_p99 <= 1 ms, for example.")
    value, unit = amount_of(found[3])
    return Limit(found[1], value, unit, found[2] in {"<=", "≤"})


def amount_of(text: str) -> tuple[float, Unit | None]:
    """Return the number in ``20000 MB/s`` and its unit, None where it has none."""
    found = _AMOUNT.fullmatch(text) if len(text) < 60 else None
    if found is None:
        raise BenchwrightError(f"“{text[:60]}” is no amount.", "Write 20000, or 20000 MB/s.")
    return float(found[1].replace("_", "")), unit_of(found[2]) if found[2] else None


def weights_of(words: Iterable[str]) -> dict[str, float]:
    """Return the weights written ``NAME`` or ``NAME=WEIGHT``."""
    found = {}
    for word in words:
        name, mark, weight = word.partition("=")
        found[name] = amount_of(weight)[0] if mark else 1.0
    return found
