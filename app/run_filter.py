"""The filter language of the library: ``host:web-1 rw=randread iops>100k -tag:old since:7d "free text"``.

A term is a field with a value (``:`` contains, ``=`` equals), a parameter or metric with a comparison, or a word that
occurs anywhere. All terms must hold; a comma separates alternatives, ``-`` negates (``rw!=read`` is ``-rw=read``).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from suites.errors import BenchwrightError

_NAME = re.compile(r"([^\W\d][\w.]*(?:-\w+)*)(!=|>=|<=|==|:|=|>|<)")
_BARE = re.compile(r'[^\s",]+')
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)

_NO_WORD = re.compile(r"[-!=()|&]|[<>]=?[\d=]")
_LOGIC = frozenset({"AND", "OR", "NOT"})
_REMEDY = (
    "All terms must hold: write host:a,b for “or”, -host:a for “not”, no spaces around an operator; or use quotes."
)


class FilterError(BenchwrightError):
    """A filter that cannot be read; `start` and `end` are the place of its fault in the text."""

    def __init__(self, message: str, remedy: str, start: int, end: int) -> None:
        super().__init__(f"{message} (column {start + 1}).", remedy)
        self.start, self.end = start, end


@dataclass(frozen=True, slots=True)
class Term:
    """A term of a filter. `name` is empty for free text; `start` and `end` are its place in the text."""

    name: str
    operator: str
    values: tuple[str, ...]
    negated: bool = False
    start: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)

    def __str__(self) -> str:
        sign = "-" if self.negated else ""
        if not self.name:
            return sign + ",".join(one if _is_word(one) else _quoted(one) for one in self.values)
        shown = (one if _BARE.fullmatch(one) else _quoted(one) for one in self.values)
        return f"{sign}{self.name}{self.operator}{','.join(shown)}"


def _is_word(text: str) -> bool:
    """Return whether `text` is a word without quotation marks: no term, operator or group of another language."""
    return bool(_BARE.fullmatch(text)) and not _NO_WORD.match(text) and not _NAME.match(text) and text not in _LOGIC


@dataclass(frozen=True, slots=True)
class RunFilter:
    """The terms of a filter, all of which must hold."""

    terms: tuple[Term, ...] = ()

    def __str__(self) -> str:
        return " ".join(map(str, self.terms))

    def with_term(self, term: Term) -> "RunFilter":
        """Return the filter with a further term; alternatives of one field are merged."""
        for at, one in enumerate(self.terms):
            if one.name and (one.name, one.operator, one.negated) == (term.name, term.operator, term.negated):
                merged = replace(one, values=tuple(dict.fromkeys((*one.values, *term.values))))
                return RunFilter((*self.terms[:at], merged, *self.terms[at + 1 :]))
        return RunFilter((*self.terms, term))

    def without(self, term: Term) -> "RunFilter":
        """Return the filter without a term."""
        return RunFilter(tuple(one for one in self.terms if one != term))


def parse_filter(text: str) -> RunFilter:
    """Return the filter written as `text`. Raises FilterError."""
    return RunFilter(tuple(_terms(text)))


def _terms(text: str) -> Iterator[Term]:
    at = 0
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        if at == len(text):
            return
        term = _term(text, at)
        yield term
        at = term.end


def _term(text: str, start: int) -> Term:
    at = start
    if negated := text[at] == "-":
        at += 1
        if at == len(text) or text[at].isspace():
            raise FilterError("“-” negates nothing", "Write a term after it: -tag:old", start, at)
    if found := _NAME.match(text, at):
        values, end = _values(text, found.end())
        if not all(values):
            raise FilterError(f"“{found[0]}” has no value", "", start, end)
        unequal = found[2] == "!="
        sign = "=" if found[2] in {"!=", "=="} else found[2]
        return Term(found[1], sign, values, negated is not unequal, start, end)
    values, end = _values(text, at)
    if not all(values):
        if text[at] == '"':
            raise FilterError("The text in quotes is empty", "", start, end)
        raise FilterError("A comma separates two alternatives", "Write a,b without a space.", start, end)
    if _NO_WORD.match(text, at) or text[at:end] in _LOGIC:
        raise FilterError(f"“{text[at:end][:60]}” is no word", _REMEDY, start, end)
    return Term("", "", values, negated, start, end)


def _values(text: str, at: int) -> tuple[tuple[str, ...], int]:
    """Return the values of a term, separated by commas, and where they end."""
    value, at = _value(text, at, _BARE)
    found = [value]
    while at < len(text) and text[at] == ",":
        value, at = _value(text, at + 1, _BARE)
        found.append(value)
    return tuple(found), at


def _value(text: str, at: int, bare: re.Pattern[str]) -> tuple[str, int]:
    if text[at : at + 1] == '"':
        if quoted := _QUOTED.match(text, at):
            return _ESCAPED.sub(r"\1", quoted[1]), quoted.end()
        raise FilterError("The quotation mark is not closed", 'Add a " after the text.', at, len(text))
    found = bare.match(text, at)
    return ("", at) if found is None else (found[0], found.end())


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def term_of(name: str, value: str) -> Term:
    """Return the term that a value chosen from a menu means; a text is compared as a whole."""
    return Term(name, "=", (value,))
