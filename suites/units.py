"""The list of units, and exact conversion between those of one dimension."""

import re
from enum import StrEnum
from typing import NamedTuple

from suites.errors import BenchwrightError, UnitError


class Unit(StrEnum):
    """All units of metrics; the list is part of the public formats. MB/s is 10^6 bytes per second, MiB/s 2^20."""

    BYTES_PER_SECOND = "B/s"
    KB_PER_SECOND = "kB/s"
    MB_PER_SECOND = "MB/s"
    KIB_PER_SECOND = "KiB/s"
    MIB_PER_SECOND = "MiB/s"
    GIB_PER_SECOND = "GiB/s"
    BITS_PER_SECOND = "bit/s"
    MBIT_PER_SECOND = "Mbit/s"
    PER_SECOND = "1/s"
    SECOND = "s"
    MILLISECOND = "ms"
    MICROSECOND = "us"
    NANOSECOND = "ns"
    BYTE = "B"
    WATT = "W"
    PERCENT = "%"
    ONE = "1"


class _Scale(NamedTuple):
    dimension: str
    factor: float


_SCALES = {
    Unit.BYTES_PER_SECOND: _Scale("bytes per second", 1.0),
    Unit.KB_PER_SECOND: _Scale("bytes per second", 1e3),
    Unit.MB_PER_SECOND: _Scale("bytes per second", 1e6),
    Unit.KIB_PER_SECOND: _Scale("bytes per second", 2.0**10),
    Unit.MIB_PER_SECOND: _Scale("bytes per second", 2.0**20),
    Unit.GIB_PER_SECOND: _Scale("bytes per second", 2.0**30),
    Unit.BITS_PER_SECOND: _Scale("bytes per second", 1 / 8),
    Unit.MBIT_PER_SECOND: _Scale("bytes per second", 1e6 / 8),
    Unit.PER_SECOND: _Scale("events per second", 1.0),
    Unit.SECOND: _Scale("time", 1.0),
    Unit.MILLISECOND: _Scale("time", 1e-3),
    Unit.MICROSECOND: _Scale("time", 1e-6),
    Unit.NANOSECOND: _Scale("time", 1e-9),
    Unit.BYTE: _Scale("bytes", 1.0),
    Unit.WATT: _Scale("power", 1.0),
    Unit.PERCENT: _Scale("share", 0.01),
    Unit.ONE: _Scale("share", 1.0),
}


def unit(text: str) -> Unit:
    """Return the unit written `text`; raise UnitError for an unknown one."""
    try:
        return Unit(text)
    except ValueError:
        known = ", ".join(Unit)
        raise UnitError(f"“{text}” is not a unit.", f"Use one of {known}.") from None


_PER = r"(?:/s(?:ecs?|econds?)?|ps)"
_EVENTS = (
    r"(?![bB](?:its?|ytes?)?/|[kKMGTPEm]i?(?:[bB](?:its?|ytes?)?|(?:i|fl)?ops?|reqs?|[tqrp]ps|[hH]z)?/)"
    r"(?:[a-z]+|[A-DFH-JLN-OQ-SU-Z][a-z]+|Events|Keys|Messages|Packets|Points|Tasks|Tests|Tokens|Transactions)"
)
"""A noun without a prefix: ``requests`` and ``Requests``, but neither ``kreq`` nor ``Mkeys``."""

_SPELLINGS = {
    Unit.BYTES_PER_SECOND: rf"(?:B|[Bb]ytes?){_PER}",
    Unit.KB_PER_SECOND: rf"[kK](?:B|[Bb]ytes?){_PER}",
    Unit.MB_PER_SECOND: rf"M(?:B|[Bb]ytes?){_PER}",
    Unit.KIB_PER_SECOND: rf"[kK]i(?:B|[Bb]ytes?){_PER}",
    Unit.MIB_PER_SECOND: rf"Mi(?:B|[Bb]ytes?){_PER}",
    Unit.GIB_PER_SECOND: rf"Gi(?:B|[Bb]ytes?){_PER}",
    Unit.BITS_PER_SECOND: rf"(?:b|[Bb]its?){_PER}",
    Unit.MBIT_PER_SECOND: rf"M(?:b|[Bb]its?){_PER}",
    Unit.PER_SECOND: rf"(?:1|(?:IO|io|FL|fl)?(?:OPS|[Oo]ps?)|{_EVENTS})?/s(?:ecs?|econds?)?|"
    r"(?:IO|io|FL|fl)?(?:OPS|[Oo]ps)|(?:IO|io|[fpqrtFPQRT])(?:ps|PS)|Hz",
    Unit.SECOND: r"s(?:ecs?|econds?)?",
    Unit.MILLISECOND: r"m(?:s(?:ecs?)?|illis(?:econds?)?)",
    Unit.MICROSECOND: r"[uµμ]s(?:ecs?)?|micros(?:econds?)?",
    Unit.NANOSECOND: r"ns(?:ecs?)?|nanos(?:econds?)?",
    Unit.BYTE: r"B|[Bb]ytes?",
    Unit.WATT: r"W|[Ww]atts?",
    Unit.PERCENT: r"%|percent|pct",
    Unit.ONE: r"[x×]|times",
}
"""How tools spell each unit. Not the ambiguous: m (minutes, thousandths), b and mb/s (bits, bytes)."""


def is_spelling(text: str, of: Unit) -> bool:
    """Return whether `text` is a spelling of a unit, such as ``sec`` or ``us/op``, ``Mbits/sec``, ``ops/s``."""
    each = text.partition("/")[0] if _SCALES[of].dimension == "time" else text
    return re.fullmatch(_SPELLINGS[of], each) is not None


_LONG_TIMES = re.compile(r"m|mins?|minutes?|h|hrs?|hours?|d|days?")


def measures_as(text: str, unit: Unit) -> bool:
    """Return whether `text` is `unit`, a multiple of it or another unit of its dimension: ``GB/s`` for MiB/s."""
    if _SCALES[unit].dimension == "time" and _LONG_TIMES.fullmatch(text):
        return True
    given = {text, re.sub(r"^[kKMGTPEm]i?(?=.)", "", text)}
    return any(is_spelling(one, other) for one in given for other in Unit if same_dimension(other, unit))


def convert(value: float, origin: Unit, target: Unit) -> float:
    """Return `value` converted from `origin` to `target`; raise UnitError if their dimensions differ."""
    if origin is target:
        return value
    have, want = _SCALES[origin], _SCALES[target]
    if have.dimension != want.dimension:
        raise UnitError(f"{origin} is {have.dimension}; {target} is {want.dimension}.")
    return value * have.factor / want.factor


def same_dimension(one: Unit, other: Unit) -> bool:
    """Return whether both units have the same dimension."""
    return _SCALES[one].dimension == _SCALES[other].dimension


_DISPLAY_LADDERS: tuple[tuple[frozenset[Unit], tuple[tuple[float, str], ...]], ...] = (
    (
        frozenset(
            {
                Unit.BYTES_PER_SECOND,
                Unit.KB_PER_SECOND,
                Unit.MB_PER_SECOND,
                Unit.KIB_PER_SECOND,
                Unit.MIB_PER_SECOND,
                Unit.GIB_PER_SECOND,
            }
        ),
        ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")),
    ),  # also those of tools that count in MiB/s: the figures of one run have one family of units
    (
        frozenset({Unit.BITS_PER_SECOND, Unit.MBIT_PER_SECOND}),
        ((1e9 / 8, "Gbit/s"), (1e6 / 8, "Mbit/s"), (1e3 / 8, "kbit/s"), (1 / 8, "bit/s")),
    ),
    (
        frozenset({Unit.SECOND, Unit.MILLISECOND, Unit.MICROSECOND, Unit.NANOSECOND}),
        ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
    ),
    (frozenset({Unit.BYTE}), ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B"))),
    (frozenset({Unit.PER_SECOND}), ((1e9, "G/s"), (1e6, "M/s"), (1e3, "k/s"), (1.0, "/s"))),
    (frozenset({Unit.WATT}), ((1.0, "W"),)),
)


_EVENT_RATE = re.compile(r"([kMG]?)(?:IOPS|FLOPS|OPS|/s)|([kM])")


def typed_unit(text: str) -> tuple[float, Unit] | None:
    """Return the multiple and the unit that a user means by `text`: 1e9 B/s for ``GB/s``, 1e3/s for ``kIOPS`` or ``k``.

    None for others.
    """
    if text in set(Unit):
        return 1.0, Unit(text)
    if text == "min":
        return 60.0, Unit.SECOND
    if rate := _EVENT_RATE.fullmatch(text):
        return {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}[rate[1] or rate[2] or ""], Unit.PER_SECOND
    for units, steps in _DISPLAY_LADDERS:
        for divisor, suffix in steps:
            if suffix == text:
                least = min(units, key=lambda unit: _SCALES[unit].factor)
                return divisor / _SCALES[least].factor, least
    return None


class Display(NamedTuple):
    """Display scale of a unit: divide by `divisor`, write `suffix` once."""

    divisor: float
    suffix: str


def display(largest: float, origin: Unit) -> Display:
    """Return the prefix for a column whose largest figure is `largest`.

    SI prefixes for rates and times, whatever the tool prints, and binary ones for sizes.
    """
    factor = _SCALES[origin].factor
    base = abs(largest) * factor
    for units, ladder in _DISPLAY_LADDERS:
        if origin in units:
            for step, suffix in ladder:
                if base >= step:
                    return Display(step / factor, suffix)
            step, suffix = ladder[-1]
            return Display(step / factor, suffix)
    return Display(1.0, "%" if origin is Unit.PERCENT else "")


_SEPARATORS = ",\u00a0\u2009\u202f"
"""Between groups of three digits: a comma, as in printed figures, or a no-break or thin space. A space may be, too."""

_GROUPS = re.compile(
    rf"(?<![\d.{_SEPARATORS}])[1-9]\d{{0,2}}([ {_SEPARATORS}])\d{{3}}(?:\1\d{{3}})*(?![{_SEPARATORS}]?\d)"
)
_BETWEEN_DIGITS = re.compile(rf"\d[{_SEPARATORS}]\d")

DECIMALS = "Write a decimal point, as in 1.5; commas separate groups of three digits, as in 1,500."


def ungrouped(text: str) -> str:
    """Return `text` without the separators of groups of three digits: ``1500 IOPS`` for ``1,500 IOPS``.

    Raises BenchwrightError for other digits separated alike, such as 1,5 or 0,500: a comma may be a decimal one.
    """
    plain = _GROUPS.sub(lambda found: found[0].replace(found[1], ""), text)
    if _BETWEEN_DIGITS.search(plain):
        raise BenchwrightError(f"“{text[:60]}” is ambiguous.", DECIMALS)
    return plain
