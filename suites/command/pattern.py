"""Regular expressions of the user on untrusted output: matching takes time linear in the text."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from suites.errors import BenchwrightError

MAXIMUM_LINE = 4096
"""Maximum characters of a line that are matched; the rest is cut off."""

MAXIMUM_INSTRUCTIONS = 1000
"""Maximum instructions of a compiled pattern; a repetition counts as often as it repeats."""

MAXIMUM_STEPS = 20_000_000
"""Limit of matching steps for all lines, about ten seconds; exceeding it is reported."""

Test = Callable[[str], bool]


class PatternError(BenchwrightError):
    """A pattern is invalid, has no group, or uses an unsupported feature."""


@dataclass(frozen=True, slots=True)
class _Part:
    """One instruction: a character that passes `test`, a choice between `branches`, a mark, a jump, or the end."""

    kind: str
    test: Test | None = None
    branches: tuple[int, ...] = ()  # relative, the preferred first
    mark: int = 0


_Program = tuple[_Part, ...]

_REPEAT = re.compile(r"(?:[*+?]|\{(\d{1,3})(,(\d{0,3}))?\})(\??)")
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]")
_RESERVED = re.compile(r"\[\^?\[|--|&&|\|\||~~")
"""Character sequences in a class that re warns of, because their meaning may change."""

_ANCHORS = {"^": "start", "$": "end", r"\b": "boundary", r"\B": "inside", r"\A": "start", r"\Z": "end"}


@dataclass(slots=True)
class _Reader:
    """Pattern parser, left to right. It refuses whatever it does not support."""

    text: str
    position: int = 0
    groups: int = 0

    def alternatives(self) -> _Program:
        branches = [self._sequence()]
        while self._take("|"):
            branches.append(self._sequence())
        whole = branches.pop()
        for way in reversed(branches):
            jump = _Part("split", branches=(len(whole) + 1,))
            whole = (_Part("split", branches=(1, len(way) + 2)), *way, jump, *whole)
        return self._bounded(whole)

    def _sequence(self) -> _Program:
        parts: _Program = ()
        while self.position < len(self.text) and self.text[self.position] not in "|)":
            parts = self._bounded(parts + self._repeated(self._atom()))
        return parts

    def _take(self, sign: str) -> bool:
        found = self.text.startswith(sign, self.position)
        self.position += len(sign) if found else 0
        return found

    def _atom(self) -> _Program:
        if self._take("("):
            return self._group()
        return (self._single(),)

    def _group(self) -> _Program:
        named = re.compile(r"\?P<[A-Za-z_]\w*>").match(self.text, self.position)
        captures = named is not None or not self._take("?:")
        if named is not None:
            self.position = named.end()
        elif captures and self._take("?"):
            raise PatternError("The pattern uses lookaround or flags.", "Use only plain groups and (?:…).")
        self.groups += captures
        inner = self.alternatives()
        if not self._take(")"):
            raise PatternError(
                "A parenthesis of the pattern is not closed.", "Close it, or write \\( for a literal one."
            )
        return (_Part("mark", mark=0), *inner, _Part("mark", mark=1)) if captures else inner

    def _single(self) -> _Part:
        sign = self.text[self.position : self.position + 2 if self.text[self.position] == "\\" else self.position + 1]
        if sign in _ANCHORS:
            self.position += len(sign)
            return _Part(_ANCHORS[sign])
        bracket = _CLASS.match(self.text, self.position) if sign == "[" else None
        sign = sign if bracket is None else bracket.group()
        if bracket is not None and _RESERVED.search(sign):
            raise PatternError(f"“{sign[:40]}” of the pattern is ambiguous.", "Escape special characters with \\.")
        if sign[0] in "*+?" or (sign[0] == "\\" and (sign[1:].isdigit() and sign != "\\0")):
            raise PatternError(f"The pattern has “{sign}” where it is not allowed.", "Escape it with \\.")
        self.position += len(sign)
        return _Part("character", _tester(sign))

    def _repeated(self, atom: _Program) -> _Program:
        found = _REPEAT.match(self.text, self.position)
        if found is None:
            return atom
        self.position = found.end()
        sign, lazy = found.group()[0], bool(found[4])
        least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(sign, (0, None))
        if sign == "{":
            least = int(found[1])
            most = least if not found[2] else int(found[3]) if found[3] else None
        if _REPEAT.match(self.text, self.position) or self.text.startswith("+", self.position):
            raise PatternError("The pattern repeats a repetition.", "Put the inner one into (?:…).")
        return self._bounded(_repetition(atom, least, most, lazy=lazy))

    def _bounded(self, program: _Program) -> _Program:
        if len(program) > MAXIMUM_INSTRUCTIONS:
            raise PatternError("The pattern is too long.", "Match less of the line, or use fewer repetitions.")
        return program


def _tester(sign: str) -> Test:
    """Return the test of one character; `sign` matches exactly one, so re needs constant time for it."""
    try:
        return _known(re.compile(sign))
    except (re.error, OverflowError) as error:
        raise PatternError(f"“{sign[:40]}” of the pattern is invalid: {error}.", "Correct it.") from None


def _known(one: re.Pattern[str]) -> Test:
    seen: dict[str, bool] = {}

    def test(character: str) -> bool:
        if character not in seen:
            seen[character] = one.fullmatch(character) is not None
        return seen[character]

    return test


def _repetition(atom: _Program, least: int, most: int | None, *, lazy: bool) -> _Program:
    """Return `atom` repeated: the required times, then the optional ones."""

    def choice(enter: int, leave: int) -> _Part:
        return _Part("split", branches=(leave, enter) if lazy else (enter, leave))

    if len(atom) * max(least, most or 0) > MAXIMUM_INSTRUCTIONS or (most is not None and most < least):
        raise PatternError("A repetition of the pattern is too long.", "Use * or +.")
    if most is None:
        return atom * least + (choice(1, len(atom) + 2), *atom, _Part("split", branches=(-len(atom) - 1,)))
    optional: _Program = ()
    for _ in range(most - least):
        optional = (choice(1, len(atom) + len(optional) + 1), *atom, *optional)
    return atom * least + optional


_Span = tuple[int, int]


@dataclass(slots=True)
class Pattern:
    """A pattern with one group. `left` is the number of steps left for all lines together.

    It runs as a Thompson NFA with Pike's captures: all alternatives in parallel, character by character, so the time is
    at most the product of pattern and line length (R. Cox, Regular Expression Matching: the Virtual Machine Approach,
    2009). Results equal Python's `re.search`, except where a repeated expression may be empty: re stops there, this
    continues.
    """

    program: _Program
    left: int = MAXIMUM_STEPS

    @classmethod
    def read(cls, text: str) -> "Pattern":
        """Return the compiled pattern `text`; raise PatternError if it is invalid."""
        reader = _Reader(text)
        program = reader.alternatives()
        if reader.position < len(text):
            raise PatternError("The pattern has an unmatched closing parenthesis.", "Write \\) for a literal one.")
        if reader.groups != 1:
            raise PatternError(
                f"The pattern has {reader.groups} groups.",
                "Put ( ) around the number, and (?:…) around everything else.",
            )
        return cls((*program, _Part("found")))

    def span(self, line: str) -> _Span | None:
        """Return the group's start and end in the first match in `line`; None if there is none, or no step is left."""
        line = line[:MAXIMUM_LINE]
        found: _Span | None = None
        threads: dict[int, _Span] = {}
        seen: set[int] = set()  # instructions reached at this position: the first to arrive has priority
        for position in range(len(line) + 1):
            if found is None:
                self._follow(threads, seen, (0, (-1, -1)), line, position)
            following: dict[int, _Span] = {}
            seen = set()
            for at, span in threads.items():
                part = self.program[at]
                if part.kind == "found":
                    found = span
                    break  # later threads have lower priority
                if position < len(line) and part.test is not None and part.test(line[position]):
                    self._follow(following, seen, (at + 1, span), line, position + 1)
            threads = following
            if self.left <= 0 or (not threads and found is not None):
                break
        if found is None or self.left <= 0 or found[1] < found[0] or found[0] < 0:
            return None
        return found

    def _follow(
        self, threads: dict[int, _Span], seen: set[int], start: tuple[int, _Span], line: str, position: int
    ) -> None:
        """Add to `threads` every instruction reachable from `start` without a character, the preferred first."""
        stack = [start]
        while stack:
            at, span = stack.pop()
            self.left -= 1
            if at in seen:
                continue
            seen.add(at)
            part = self.program[at]
            if part.kind == "split":
                stack += [(at + way, span) for way in reversed(part.branches)]
            elif part.kind == "mark":
                stack.append((at + 1, (span[0], position) if part.mark else (position, -1)))
            elif part.kind in {"character", "found"}:
                threads[at] = span
            elif _asserts(part.kind, line, position):
                stack.append((at + 1, span))


def _asserts(at: str, line: str, position: int) -> bool:
    if at == "start":
        return position == 0
    if at == "end":
        return position == len(line)
    before = position > 0 and _is_word(line[position - 1])
    after = position < len(line) and _is_word(line[position])
    return (before != after) == (at == "boundary")


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"
