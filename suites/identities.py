"""Identities of an output: figures that follow from one another, compared within the rounding of each number."""

import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from suites.outputs import ReadOutput, ToolOutput
from suites.quantities import quantity
from suites.units import Unit

CONTRADICTION = "Figures contradict each other: "
"""How the note about a contradiction begins."""

MOST_CONTRADICTIONS = 3
"""Contradictions of one output that are reported: one mistake breaks several identities."""

SLACK = 0.005
"""Relative difference beside the rounding: tools read the clock twice, and round figures before they compute others."""

_MOST_LINES = 20_000
"""Lines of one output that are checked."""

_DECADES = {"": 1.0, "k": 1e3, "K": 1e3, "m": 1e6, "M": 1e6, "g": 1e9, "G": 1e9, "T": 1e12, "P": 1e15}

DECIMAL: Mapping[str, tuple[float, ...]] = {letter: (power,) for letter, power in _DECADES.items()}
"""Factors of the prefixes of powers of 1000."""

BINARY: Mapping[str, tuple[float, ...]] = {"": (1.0,)} | {
    letter: (1024.0**power,) for power, letters in enumerate(("kK", "mM", "gG", "T", "P"), 1) for letter in letters
}
"""Factors of the prefixes of powers of 1024."""


@dataclass(frozen=True, slots=True)
class Rounded:
    """The range of values that a tool prints as the same number."""

    low: float
    high: float

    def scaled(self, factor: float) -> "Rounded":
        """Return the range times a factor above 0."""
        return Rounded(self.low * factor, self.high * factor)


Printed = tuple[Rounded, ...]
"""What a printed number may mean: more than one range if its unit is ambiguous, such as MB."""

Numbers = Mapping[str, Printed]
"""The printed numbers of an output by name, in the unit of their identity."""


def rounded(text: str) -> Rounded:
    """Return the range of a number as text: half a unit of its last digit either way. Raises ValueError for any other.

    A count is exact. The decimal mark is a point or a comma.
    """
    plain = text.replace(",", ".")
    value = float(plain)
    mantissa, _, exponent = plain.lower().partition("e")
    digits = len(mantissa.partition(".")[2])
    if not digits and not exponent:
        return Rounded(value, value)
    half = 0.5 * 10.0 ** (int(exponent or 0) - digits)
    return Rounded(value - half, value + half)


def printed(text: str, factors: Iterable[float] = (1.0,), error: float = 0.0) -> Printed:
    """Return what a number means with each of the factors that its unit may have; `error` is in its own unit."""
    one = rounded(text)
    return tuple(Rounded(one.low - error, one.high + error).scaled(factor) for factor in factors)


class Identity(Protocol):
    """What the numbers of an output must satisfy: a product, an order."""

    def broken(self, numbers: Numbers) -> str | None:
        """Return how `numbers` contradict each other; None if they do not, or if one is missing."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """`result` is the product of `factors` divided by that of `divisors`, times `scale`.

    `text` is the identity in words. With `at_most`, the result is a bound that the product must not exceed. It does
    not apply if there is a number `unless`.
    """

    text: str
    result: str
    factors: tuple[str, ...]
    divisors: tuple[str, ...] = ()
    unit: Unit = Unit.ONE
    scale: float = 1.0
    slack: float = SLACK
    at_most: bool = False
    unless: str = ""

    def broken(self, numbers: Numbers) -> str | None:
        """Return how far the printed result is from the computed one."""
        names = (self.result, *self.factors, *self.divisors)
        if self.unless in numbers or any(name not in numbers for name in names):
            return None
        found = None
        for result, *others in itertools.product(*(numbers[name] for name in names)):
            computed = self._computed(others)
            if computed is None or self._agrees(result, computed):
                return None
            found = found or (computed, result)
        if found is None:
            return None
        shown = [quantity((one.low + one.high) / 2, self.unit) for one in found]
        return f"{self.text} = {shown[0]}, printed: {shown[1]}"

    def _computed(self, others: Sequence[Rounded]) -> Rounded | None:
        low = high = self.scale
        for one in others[: len(self.factors)]:
            low, high = low * max(0.0, one.low), high * one.high
        for one in others[len(self.factors) :]:
            if one.low <= 0:
                return None  # may be anything
            low, high = low / one.high, high / one.low
        return Rounded(low, high) if math.isfinite(high) else None

    def _agrees(self, result: Rounded, computed: Rounded) -> bool:
        above = computed.low > result.high * (1 + self.slack)
        return not above and (self.at_most or computed.high >= result.low * (1 - self.slack))


@dataclass(frozen=True, slots=True)
class Ascending:
    """The numbers `names`, as far as there are any, must not fall: minimum, mean, maximum; percentiles."""

    names: tuple[str, ...]
    unit: Unit
    titles: Mapping[str, str] = field(default_factory=dict)
    slack: float = SLACK

    def broken(self, numbers: Numbers) -> str | None:
        """Return the first number that is above a later one."""
        given = [(name, numbers[name][0]) for name in self.names if name in numbers]
        for (lower, one), (higher, other) in itertools.pairwise(given):
            if one.low > other.high * (1 + self.slack):
                shown = [quantity((each.low + each.high) / 2, self.unit) for each in (one, other)]
                names = [self.titles.get(name, name) for name in (lower, higher)]
                return f"{names[0]} {shown[0]} is above {names[1]} {shown[1]}"
        return None


@dataclass(frozen=True, slots=True)
class Total:
    """The line whose group `part` is `total` has the sum of the number `name` of the lines with the same `key` groups.

    A sum below the total counts only if each of the `parts` that the output announces has its line.
    """

    name: str
    part: str
    total: str
    key: tuple[str, ...]
    unit: Unit
    slack: float = 0.01

    def broken_in(self, rows: Iterable[tuple[Mapping[str, str | None], Numbers]], parts: int | None) -> str | None:
        """Return how far the first wrong total is from its sum. `rows` are the groups and numbers of each line."""
        by_key: dict[tuple[str | None, ...], dict[str, Rounded]] = {}
        for groups, numbers in rows:
            name = groups.get(self.part)
            if name is not None and self.name in numbers:
                by_key.setdefault(tuple(groups.get(each) for each in self.key), {})[name] = numbers[self.name][0]
        for found in by_key.values():
            total = found.pop(self.total, None)
            if total is None or len(found) < 2:
                continue
            low, high = (sum(getattr(one, end) for one in found.values()) for end in ("low", "high"))
            below = high < total.low * (1 - self.slack) and len(found) == parts
            if below or low > total.high * (1 + self.slack):
                shown = [quantity(value, self.unit) for value in ((low + high) / 2, (total.low + total.high) / 2)]
                return f"sum of {len(found)} rows = {shown[0]}, printed: {shown[1]}"
        return None


@dataclass(frozen=True, slots=True)
class PrintedLine:
    """A kind of line: each named group of `pattern` is a printed number.

    A group NAME_unit is its unit, whose factors `units` has; any other name that ends in “_” is text. `cut` are those
    of which an integer is rounded or cut, and no count; `errors` by how much a number may be wrong beside its rounding.
    `spans` are numbers that are the difference of two others. `rules` hold within one line, `totals` between lines of
    this kind; `part` announces one part of a total.
    """

    pattern: re.Pattern[str]
    rules: tuple[Identity, ...] = ()
    units: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    cut: frozenset[str] = frozenset()
    errors: Mapping[str, float] = field(default_factory=dict)
    spans: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    totals: tuple[Total, ...] = ()
    part: re.Pattern[str] | None = None

    def read(self, line: str) -> tuple[Mapping[str, str | None], dict[str, Printed]] | None:
        """Return the groups and the numbers of a line; None if it is of another kind."""
        match = self.pattern.match(line)
        if match is None:
            return None
        groups = match.groupdict()
        numbers = {}
        for name, text in groups.items():
            if text is None or name.endswith(("_", "_unit")):
                continue
            unit = groups.get(f"{name}_unit")
            factors = self.units.get(unit or "", (1.0,) if unit is None else ())
            cut = text.isdigit() and (name in self.cut or factors not in {(), (1.0,)})  # 9862k is no count
            try:
                numbers[name] = printed(text, factors, max(float(cut), self.errors.get(name, 0.0)))
            except ValueError:  # such as 1.2.3
                continue
        found = {name: one for name, one in numbers.items() if one}
        for name, (later, earlier) in self.spans.items():
            if later in found and earlier in found:
                one, other = found[later][0], found[earlier][0]
                found[name] = (Rounded(one.low - other.high, one.high - other.low),)
        return groups, found


@dataclass(frozen=True, slots=True)
class Identities:
    """The identities of one tool's text. `rules` hold between the numbers of several lines, the last of each counts.

    `begins` is a line with which another part of the output begins, to which `rules` apply alone; its group `name_`
    is the name of that result.
    """

    lines: tuple[PrintedLine, ...]
    rules: tuple[Identity, ...] = ()
    begins: re.Pattern[str] | None = None

    def contradictions(self, text: str) -> Iterator[tuple[str, str]]:
        """Yield the name of the result, empty if it has none, and each contradiction in `text`."""
        name, numbers = "", dict[str, Printed]()
        rows: dict[int, list[tuple[Mapping[str, str | None], Numbers]]] = {}
        for line in text.splitlines()[:_MOST_LINES]:
            if self.begins is not None and (match := self.begins.match(line)):
                yield from ((name, words) for words in broken(self.rules, numbers))
                name, numbers = match.groupdict().get("name_") or "", {}
            for index, kind in enumerate(self.lines):
                found = kind.read(line)
                if found is None:
                    continue
                numbers |= found[1]
                yield from ((name, f"{words} ({line.strip()[:80]})") for words in broken(kind.rules, found[1]))
                if kind.totals:
                    rows.setdefault(index, []).append(found)
        yield from ((name, words) for words in broken(self.rules, numbers))
        for index, kind in enumerate(self.lines):
            parts = None if kind.part is None else sum(kind.part.match(line) is not None for line in text.splitlines())
            for total in kind.totals:
                words = total.broken_in(rows.get(index, ()), parts)
                if words is not None:
                    yield "", words


def broken(rules: Iterable[Identity], numbers: Numbers) -> Iterator[str]:
    """Yield how the rules are broken."""
    for rule in rules:
        words = rule.broken(numbers)
        if words is not None:
            yield words


Contradictions = Callable[[str], Iterable[tuple[str, str]]]
"""Returns the name of the result, empty for all, and each contradiction in a text."""


def in_text(*identities: Identities) -> Contradictions:
    """Return what finds the contradictions of a text."""
    return lambda text: itertools.chain.from_iterable(each.contradictions(text) for each in identities)


def noted(outputs: Iterable[ToolOutput], contradictions: Iterable[tuple[str, str]]) -> Iterator[ToolOutput]:
    """Yield results with a note about each contradiction: that of a named result at that one, else at all."""
    results = tuple(outputs)
    names = {one.name for one in results}
    found = tuple(contradictions)
    for one in results:
        own = dict.fromkeys(words for name, words in found if name == one.name or name not in names)
        notes = (f"{CONTRADICTION}{words}." for words in itertools.islice(own, MOST_CONTRADICTIONS))
        yield replace(one, parsed=replace(one.parsed, notes=(*one.parsed.notes, *notes)))


def checked(read: ReadOutput, find: Contradictions) -> ReadOutput:
    """Return a reader that notes at each result what in the output contradicts itself."""
    return lambda text, command: noted(read(text, command), find(text))


# Numbers of a JSON document


@dataclass(frozen=True, slots=True)
class Member:
    """The member of a JSON object that is a number: its path, and the factor to the unit of its identity.

    `error` is by how much it may be wrong, as printed: 1 for an integer that is cut and no count.
    """

    path: tuple[str, ...]
    factor: float = 1.0
    error: float = 0.0


def json_numbers(source: Mapping[str, object], members: Mapping[str, Member]) -> dict[str, Printed]:
    """Return the numbers of an object that are present. A decimal one is as exact as JSON writers print it."""
    found: dict[str, Printed] = {}
    for name, member in members.items():
        value: object = source
        for key in member.path:
            value = value.get(key) if isinstance(value, Mapping) else None
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            continue
        half = member.error + (0.0 if isinstance(value, int) else 1e-6 + 1e-6 * abs(value))
        found[name] = (Rounded(value - half, value + half).scaled(member.factor),)
    return found


def negative_members(source: Mapping[str, object], members: Mapping[str, Member]) -> Iterator[str]:
    """Yield the numbers of an object that are below 0 where none can be: they are no figures."""
    for name, (one, *_) in json_numbers(source, members).items():
        if one.high < 0:
            yield f"{'.'.join(members[name].path)} is {one.high:.6g}, below 0, and is not used"
