"""The framed items that facts.sh prints, taken apart without trusting a byte of them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from remote.plain import plain
from suites.facts import Absent

LONGEST_ITEM = 64 * 1024
"""Bytes of one item; the script cuts there, so a longer one is not the script's."""

MOST_ITEMS = 4096
"""Items in all; a host with more directories and groups than that is playing with us."""

_FRAME = r"@@%s (-?)([a-z0-9_.-]{1,64}) ([0-9]{1,6})\n"


@dataclass(frozen=True, slots=True)
class Items:
    """Every item by name, in order where one came several times; and the host's reasons for those that are missing.

    `complete` is False where the script did not get to its end.
    """

    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    complete: bool = False

    def text(self, name: str) -> str | None:
        """Return the item, or None where it is missing or empty."""
        return next((value for value in self.values.get(name, ()) if value.strip()), None)

    def all(self, name: str) -> tuple[str, ...]:
        """Return every value the item came with."""
        return self.values.get(name, ())

    def missing(self, name: str, otherwise: str = "") -> Absent:
        """Return why the item is missing: in the host's words, else `otherwise`."""
        if name in self.reasons:
            return Absent(self.reasons[name])
        if not self.complete and name not in self.values:
            return Absent("the host's answer was cut off before it")
        return Absent(otherwise or "the host said nothing about it")


def parse_items(output: bytes, mark: str) -> Items:
    """Take `output` apart. What a value says is never read as a frame; a frame that does not fit is skipped."""
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
    return plain(text) or "no reason was given"
