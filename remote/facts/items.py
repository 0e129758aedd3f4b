"""Parser of the framed items that facts.sh prints; the input is untrusted."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from remote.questions import plain
from suites.facts import Absent

LONGEST_ITEM = 256 * 1024
"""Largest item in bytes; the script truncates most at 64 KiB, and lists of processes here."""

MOST_ITEMS = 4096
"""Largest number of items."""

_FRAME = r"@@%s (-?)([a-z0-9_.-]{1,64}) ([0-9]{1,6})\n"


@dataclass(frozen=True, slots=True)
class Items:
    """Items by name, repeated ones in order, and the host's reasons for missing items.

    `complete` is False if the script did not reach its end.
    """

    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    complete: bool = False

    def text(self, name: str) -> str | None:
        """Return the item, or None if it is missing or empty."""
        return next((value for value in self.values.get(name, ()) if value.strip()), None)

    def all(self, name: str) -> tuple[str, ...]:
        """Return all values of the item."""
        return self.values.get(name, ())

    def missing(self, name: str, otherwise: str = "") -> Absent:
        """Return why the item is missing: the host's reason, else `otherwise`."""
        if name in self.reasons:
            return Absent(self.reasons[name])
        if not self.complete and name not in self.values:
            return Absent("the host's answer was truncated")
        return Absent(otherwise or "not reported by the host")


def parse_items(output: bytes, mark: str) -> Items:
    """Parse `output`. Values are skipped by length, so that their content is never read as a frame."""
    frame = re.compile((_FRAME % re.escape(mark)).encode())
    values: dict[str, tuple[str, ...]] = {}
    reasons: dict[str, str] = {}
    position = 0
    for _ in range(MOST_ITEMS):
        found = frame.search(output, position)
        if found is None:
            break
        position = found.end()
        length = int(found[3])
        value = output[position : position + length]
        if length > LONGEST_ITEM or output[position + length : position + length + 1] != b"\n":
            continue
        position += length + 1
        name, text = found[2].decode(), value.decode("utf-8", "replace")
        if found[1]:
            reasons.setdefault(name, _reason(text))
        else:
            values[name] = (*values.get(name, ()), text)
    return Items(values, reasons, complete="end" in values)


def _reason(text: str) -> str:
    return plain(text) or "no reason reported"


# Bounded numbers and words in a host's text: None for any other text.


LARGEST = 2**62
"""Larger than any plausible size or count."""

MOST_CPUS = 2**16


def whole(text: str | None, low: int = 0, high: int = LARGEST) -> int | None:
    """Return `text` as an integer, or None if it is not one from `low` to `high`."""
    if text is None or not re.fullmatch(r"-?[0-9]{1,19}", text.strip(), re.ASCII):
        return None
    value = int(text.strip())  # str.strip removes characters (such as \x1c) that int() rejects
    return value if low <= value <= high else None


def number(text: str | None, low: float = 0.0, high: float = 1e15) -> float | None:
    """Return `text` as a decimal number, or None if it is not one from `low` to `high`."""
    if text is None or not re.fullmatch(r"-?[0-9]{1,19}(\.[0-9]{0,12})?", text.strip(), re.ASCII):
        return None
    value = float(text.strip())
    return value if math.isfinite(value) and low <= value <= high else None


def text_line(text: str | None, longest: int = 120) -> str | None:
    """Return `text` as one printable line, or None if that is empty."""
    return None if text is None else plain(text, longest) or None


def listed_cpus(text: str | None) -> tuple[int, ...] | None:
    """Return the CPUs of a kernel list such as ``0-3,8`` in order; None if it is invalid or empty."""
    if text is None or not text.strip():
        return None
    found: set[int] = set()
    for part in text.strip().split(","):
        first, divided, last = part.partition("-")
        low, high = whole(first, high=MOST_CPUS), whole(last if divided else first, high=MOST_CPUS)
        if low is None or high is None or high < low:
            return None
        found.update(range(low, high + 1))
    return tuple(sorted(found)) if len(found) <= MOST_CPUS else None


def count_cpus(text: str | None) -> int | None:
    """Return the number of CPUs in a kernel list such as ``0-3,8``; None if it is invalid."""
    found = listed_cpus(text)
    return None if found is None else len(found)


def fields(text: str | None, separator: str = ":") -> Mapping[str, str]:
    """Return ``name separator value`` lines by name; the first of a repeated name."""
    found: dict[str, str] = {}
    for line in (text or "").splitlines():
        name, divided, value = line.partition(separator)
        if divided:
            found.setdefault(name.strip(), value.strip())
    return found


def tree(text: str | None) -> Mapping[str, Mapping[str, str]]:
    """Return lines ``device/attribute:value`` (grep's output on /sys) by device and attribute."""
    found: dict[str, dict[str, str]] = {}
    for device, attribute, value in re.findall(r"^([^/:\n]+)/([^:\n]+):(.*)$", text or "", re.MULTILINE):
        found.setdefault(device, {}).setdefault(attribute, value.strip())
    return found
