"""Text around the lines of a tool, as logs, lists and tables add it: found by what remains, not by its form.

Where the text of a tool begins within a line, what precedes it is a prefix. Each line with the same prefix, whatever
the numbers in it, loses it, and what most of these lines end with.
"""

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from app.outputs.pasted_text import Line, unescaped

OwnText = Callable[[str], int | None]
"""Returns the position in a line at which the text of a tool begins; None if it has none."""

MOST_PREFIXES = 12
"""Prefixes of a text that are left out, the most frequent first."""

FEWEST_OF_WORDS = 3
"""Lines with a prefix that ends with a word: in fewer, it is a line of another tool that ends like one of this."""

_WORD = re.compile(r"[A-Za-z]\(\?=")

MOST_LINES = 100_000
"""Lines of a text in which prefixes are sought."""

MOST_MARKS = 12
"""Places of a line at which the text after that of the tool may begin."""

MOST_SOURCES = 64
"""Different numbers in a prefix that are names of sources, not a time."""

OF_MOST = 0.8
"""Share of the lines that end alike, from which this end is not their own."""

_PARTS = re.compile(r"(?<!\w)[A-Za-z_][\w.-]*|\d+|[ \t]+|.", re.ASCII)
_MARK = re.compile(r"""[ \t]*["'`|\\]|\t""")
"""Where the text after that of a tool begins; a tool’s own seldom has these characters."""

_ENDS = " \t\"'`,;|\\}"


FEWEST_LINES = 2
"""Lines that have the border of a pane in one column."""

_BORDER = re.compile(r"(?<=[ \t])\|")


def without_panes(lines: Sequence[Line], has_own: Callable[[str], bool]) -> list[Line]:
    """Return `lines` with text that is beside that of a tool, after a | in one column, below all others.

    A parser may take what follows a figure in its line for a part of it.
    """
    if not any("|" in line.text for line in lines):
        return list(lines)
    cuts: dict[int, tuple[str, str]] = {}
    begun: dict[int, int] = {}
    for index in range(len(lines) + 1):
        columns = {match.start() for match in _BORDER.finditer(lines[index].text)} if index < len(lines) else set()
        for column in [each for each in begun if each not in columns]:
            start = begun.pop(column)
            if index - start >= FEWEST_LINES:
                run = range(start, index)
                sides = {at: (lines[at].text[:column], lines[at].text[column + 1 :]) for at in run}
                for at, (left, right) in _of_tool(sides, has_own).items():
                    cuts.setdefault(at, (left.rstrip(), right))
        for column in columns:
            begun.setdefault(column, index)
    kept = [line.with_text(cuts[at][0]) if at in cuts else line for at, line in enumerate(lines)]
    return [*kept, *(lines[at].with_text(cuts[at][1]) for at in sorted(cuts))]


def _of_tool(sides: Mapping[int, tuple[str, str]], has_own: Callable[[str], bool]) -> dict[int, tuple[str, str]]:
    """Return the sides of lines with the tool's text first; none if the left one is a prefix, or it drew the border."""
    if not any(right.strip() for _, right in sides.values()):
        return {}
    if any(has_own(f"{left}|{right}") and not has_own(left) and not has_own(right) for left, right in sides.values()):
        return {}  # the tool's own table
    if any(has_own(left) for left, _ in sides.values()):
        return dict(sides)
    differ = len({left for left, _ in sides.values()}) > len(sides) / 2
    if differ and any(has_own(right) for _, right in sides.values()):
        return {at: (right, left) for at, (left, right) in sides.items()}
    return {}


@dataclass(slots=True)
class _Prefix:
    """The lines with a prefix, by their index, without it. The groups of its pattern are its numbers."""

    pattern: re.Pattern[str]
    quoted: bool = False
    rests: dict[int, str] = field(default_factory=dict)
    numbers: dict[int, tuple[float, ...]] = field(default_factory=dict)


def without_surroundings(lines: Sequence[Line], own_text: OwnText, begins_own: Callable[[str], bool]) -> list[Line]:
    """Return `lines` without what surrounds text of a tool; those of several sources come one source after another."""
    prefixes = _prefixes(lines, own_text)
    if not prefixes and not any(begins_own(line.text.rstrip(_ENDS)) for line in lines):
        return list(lines)
    bare = _Prefix(re.compile(""))
    of_line = [_take(index, line.text, (*prefixes, bare)) for index, line in enumerate(lines)]
    for prefix in (*prefixes, bare):
        _trim(prefix, begins_own)
    named = {id(prefix): _names(list(prefix.numbers.values())) for prefix in prefixes}
    sources: dict[object, list[Line]] = {}
    source: object = None
    for index, (line, prefix) in enumerate(zip(lines, of_line, strict=True)):
        if prefix is not bare:
            source = id(prefix), *(prefix.numbers[index][at] for at in named[id(prefix)])
        sources.setdefault(source, []).append(line.with_text(prefix.rests[index]))
    return [line for each in sources.values() for line in each]


def _prefixes(lines: Sequence[Line], own_text: OwnText) -> list[_Prefix]:
    counted: Counter[str] = Counter()
    for line in itertools.islice(lines, MOST_LINES):
        at = own_text(line.text.rstrip(_ENDS))
        if at:
            counted[_pattern(line.text[:at].rstrip(" \t"))] += 1
    frequent = sorted((text for text in counted if text), key=lambda text: (-counted[text], len(text)))
    likely = [text for text in frequent[: 2 * MOST_PREFIXES] if not _WORD.search(text) or _is_shared(text, lines)]
    return [_Prefix(re.compile(text), quoted=text.endswith(('"', "'"))) for text in likely[:MOST_PREFIXES]]


def _is_shared(prefix: str, lines: Iterable[Line]) -> bool:
    """Return whether several lines have a prefix."""
    having = filter(re.compile(prefix).match, (line.text for line in lines))
    return len(list(itertools.islice(having, FEWEST_OF_WORDS))) == FEWEST_OF_WORDS


def _pattern(prefix: str) -> str:
    """Return the pattern of a prefix: its words and signs, any numbers, and any blanks, which may be more or fewer."""
    parts = _PARTS.findall(prefix)
    pattern = "".join(
        r"(\d{1,20})" if part.isdigit() else r"[ \t]*" if part.isspace() else re.escape(part) for part in parts
    )
    return rf"{pattern}(?=[ \t]|$)" if prefix[-1:].isalnum() else pattern


def _take(index: int, text: str, prefixes: Sequence[_Prefix]) -> _Prefix:
    """Add a line to the first of `prefixes` that it has, and return it."""
    for prefix in prefixes:
        if match := prefix.pattern.match(text):
            prefix.rests[index] = text[match.end() :]
            prefix.numbers[index] = tuple(_number(match, group) for group in range(1, len(match.groups()) + 1))
            return prefix
    raise ValueError(f"no prefix of {text[:40]!r}")


def _number(match: re.Match[str], group: int) -> float:
    """Return a number of a prefix; one after a point is a fraction, whose last digits may be missing."""
    fraction = match.start(group) and match.string[match.start(group) - 1] in ".,"
    return float(f"0.{match[group]}" if fraction else match[group])


def _names(numbers: Sequence[tuple[float, ...]]) -> list[int]:
    """Return the positions of the numbers that go back and forth, as the names of sources do and a time does not."""
    back = Counter(
        next(at for at, (one, other) in enumerate(zip(before, after, strict=True)) if one != other)
        for before, after in pairwise(numbers)
        if after < before
    )
    return [
        at
        for at, times in back.items()
        if times > 1 and times > len(numbers) / 10 and len({each[at] for each in numbers}) <= MOST_SOURCES
    ]


def _trim(prefix: _Prefix, begins_own: Callable[[str], bool]) -> None:
    """Leave out the blanks that every line with a prefix begins with, and what most of those of a tool end with."""
    rests = prefix.rests
    blanks = min((len(text) - len(text.lstrip(" \t")) for text in rests.values() if text.strip()), default=0)
    if prefix.pattern.pattern:
        for index, text in rests.items():
            rests[index] = text[blanks:]
    own = [text for text in rests.values() if begins_own(text.rstrip(_ENDS))]
    tail = _tail(own)
    for index, text in rests.items():
        bare = tail.sub("", text, count=1) if tail is not None else text
        if prefix.quoted:
            bare = unescaped(bare) if "\\" in bare else bare.replace('""', '"')
        rests[index] = bare.rstrip()


def _tail(own: Sequence[str]) -> re.Pattern[str] | None:
    """Return the pattern of the longest text that most lines of a tool have after their own; None if there is none."""
    counted: Counter[str] = Counter()
    for text in own:
        marks = [match.start() for match in _MARK.finditer(text)][-MOST_MARKS:]
        counted.update({_pattern_of_tail(text[at:]) for at in marks})
    common = [text for text, times in counted.items() if times >= OF_MOST * len(own)]
    return re.compile(max(common, key=len)) if common else None


def _pattern_of_tail(text: str) -> str:
    """Return the pattern of a tail; the last element of a list has no comma after it."""
    parts = _PARTS.findall(text.strip().removesuffix(","))
    pattern = "".join(r"\d{1,20}" if part.isdigit() else re.escape(part) for part in parts)
    return rf"[ \t]*{pattern},?[ \t]*$"
