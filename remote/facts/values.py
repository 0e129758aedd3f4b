"""Numbers and words in a host's text, bounded: what does not fit is None, never a guess."""

import math
import re
from collections.abc import Mapping

from remote.plain import plain

LARGEST = 2**62
"""Larger than any size or count a host can honestly have."""

MOST_CPUS = 2**16


def whole(text: str | None, low: int = 0, high: int = LARGEST) -> int | None:
    """Return the whole number `text` is, or None where it is none between `low` and `high`."""
    if text is None or not re.fullmatch(r"-?[0-9]{1,19}", text.strip(), re.ASCII):
        return None
    value = int(text.strip())  # strip takes more characters for space than int does
    return value if low <= value <= high else None


def number(text: str | None, low: float = 0.0, high: float = 1e15) -> float | None:
    """Return the decimal number `text` is, or None where it is none between `low` and `high`."""
    if text is None or not re.fullmatch(r"-?[0-9]{1,19}(\.[0-9]{0,12})?", text.strip(), re.ASCII):
        return None
    value = float(text.strip())
    return value if math.isfinite(value) and low <= value <= high else None


def word(text: str | None, longest: int = 120) -> str | None:
    """Return `text` as one visible line, or None where nothing is left of it."""
    return None if text is None else plain(text, longest) or None


def count_cpus(text: str | None) -> int | None:
    """Return how many CPUs a kernel's list such as ``0-3,8`` names."""
    if text is None or not text.strip():
        return None
    total = 0
    for part in text.strip().split(","):
        first, divided, last = part.partition("-")
        low, high = whole(first, high=MOST_CPUS), whole(last if divided else first, high=MOST_CPUS)
        if low is None or high is None or high < low:
            return None
        total += high - low + 1
    return total if total <= MOST_CPUS else None


def fields(text: str | None, separator: str = ":") -> Mapping[str, str]:
    """Return ``name separator value`` lines by name, the first of each."""
    found: dict[str, str] = {}
    for line in (text or "").splitlines():
        name, divided, value = line.partition(separator)
        if divided:
            found.setdefault(name.strip(), value.strip())
    return found


def tree(text: str | None) -> Mapping[str, Mapping[str, str]]:
    """Return what grep read from /sys, lines ``device/attribute:value``, by device and attribute."""
    found: dict[str, dict[str, str]] = {}
    for device, attribute, value in re.findall(r"^([^/:\n]+)/([^:\n]+):(.*)$", text or "", re.MULTILINE):
        found.setdefault(device, {}).setdefault(attribute, value.strip())
    return found
