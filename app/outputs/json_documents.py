"""JSON documents of known tools among the lines of a text."""

import itertools
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from json import JSONDecodeError

from app.outputs.found import MOST_OUTPUTS, Between, FoundOutput, UnreadOutput, formats
from app.outputs.pasted_text import Line
from app.outputs.tool_lines import command_of, command_of_tool
from suites.line_parser import MAXIMUM_LINE
from suites.outputs import OutputFormat
from suites.strict_json import read_json

MOST_ENDLESS = 20
"""Lines that seem to begin a document without an end, after which none is sought."""

MOST_COPIED = 2**30
"""Characters after documents in their last line in which others are sought, counted anew after each."""

MOST_OPENED = 8
"""Brackets of a line at which a document may begin."""

_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]')
"""Strings and brackets of JSON."""

_OPENED = re.compile(r"(?:^|(?<=[\s=:>(|,]))(?:\{(?=\s*(?:$|\"))|\[(?=\s*(?:$|[\[{])))")
"""The bracket that begins a document or a value in one."""

_JSON_LINE = re.compile(r"\s*(?:[\"{}\[\]:,\d-]|true\b|false\b|null\b|$)")
"""A line that may be inside a document."""


@dataclass(frozen=True, slots=True)
class _Document:
    """A document: its text, the number of its lines, and the text before it in its first and after it in its last."""

    text: str
    lines: int
    before: str
    after: str


@dataclass(slots=True)
class _Documents:
    """Documents that are read together: their format, texts, the first line of each, and the command line."""

    format: OutputFormat
    texts: list[str]
    numbers: list[int]
    command: str


@dataclass(frozen=True, slots=True)
class ReadDocuments:
    """The results in documents, the lines outside of these, and whether one has no end.

    `own_lines` are those of `invalid` documents, which are no JSON and have the names of a known format.
    """

    found: list[FoundOutput]
    rest: list[Line]
    cut_off: bool
    invalid: list[UnreadOutput]
    own_lines: int


def read_documents(lines: Sequence[Line], between: Between) -> ReadDocuments:
    """Read the documents of known formats among `lines`; those of one format that follow one another are joined."""
    groups: list[_Documents] = []
    invalid: list[UnreadOutput] = []
    rest: list[Line] = []
    waiting = list(reversed(lines))
    endless, own, copied, last, steps = 0, 0, 0, -1, itertools.count()
    while waiting:
        line = waiting[-1]
        if next(steps) % MOST_OUTPUTS == 0:
            between()
        document, known = None, None
        if endless < MOST_ENDLESS and len(groups) < MOST_OUTPUTS:
            document, known, ended = _known_document(waiting)
            endless += not ended
        if document is not None and isinstance(known, _InvalidJson):
            invalid.append(UnreadOutput(known.format, line, known.why(line.number)))
            own += document.lines
        if document is None or not isinstance(known, OutputFormat):
            rest.append(line.with_text(line.text[:MAXIMUM_LINE]))
            last = last if not line.text.strip() else -1
            waiting.pop()
            continue
        if document.before.strip():
            rest.append(line.with_text(document.before[:MAXIMUM_LINE]))
            last = last if known.parts else -1
        end = waiting[-document.lines]
        del waiting[-document.lines :]
        copied += len(document.after)
        beside = bool(known.parts) and not _OPENED.search(document.after)  # no line between two parts
        if copied < MOST_COPIED and document.after.strip() and not beside:
            waiting.append(end.with_text(document.after))
        if known.joined and last >= 0 and groups[last].format is known:
            groups[last].texts.append(document.text)
            groups[last].numbers.append(line.number)
        else:
            groups.append(_Documents(known, [document.text], [line.number], _command_before(rest, formats()[known])))
            last = len(groups) - 1
    cut_off = endless > 0 and any(_keys().search(line.text) for line in rest)
    return ReadDocuments([found for group in groups for found in _read_group(group)], rest, cut_off, invalid, own)


def _known_document(
    waiting: Sequence[Line],
) -> tuple[_Document | None, "OutputFormat | _InvalidJson | None", bool]:
    """Return the first document of a known format in the last line of `waiting`, its format, and whether it ended."""
    document, known, invalid = None, None, None
    openings = _openings(waiting[-1].text)
    for start in openings:
        document = _document(waiting, start)
        known = None if document is None else _format_of(document.text)
        if isinstance(known, _InvalidJson) and invalid is None:
            invalid = document, known
        if isinstance(known, OutputFormat) or document is None or not _may_contain(document.text):
            break
    if invalid is not None and not isinstance(known, OutputFormat):
        return *invalid, True
    return document, known, document is not None or not openings


def _openings(line: str) -> list[int]:
    """Return the positions in a line at which a document may begin."""
    if "{" not in line and "[" not in line:
        return []
    return [match.start() for match in itertools.islice(_OPENED.finditer(line), MOST_OPENED)]


def _read_group(group: _Documents) -> Iterator[FoundOutput]:
    text = "\n".join(group.texts)
    begun = group.format.begun(text)
    starts_at = list(itertools.accumulate((1 + each.count("\n") for each in group.texts), initial=0))
    for output in group.format.read(text, command_of_tool(group.command, formats()[group.format]) or None):
        number = group.numbers[bisect_right(starts_at, output.line, hi=len(group.texts)) - 1]
        yield FoundOutput(group.format.title, replace(output, begun=begun), text, number, group.command)


def _document(waiting: Sequence[Line], start: int) -> _Document | None:
    """Return the document that begins at `start` of the last line of `waiting`, which are reversed; None if it does
    not end.
    """
    depth = 0
    texts: list[str] = []
    before = waiting[-1].text[:start]
    blanks = len(before) - len(before.lstrip(" \t"))
    for count, line in enumerate(reversed(waiting), 1):
        text = line.text[start:] if count == 1 else line.text
        if count > 1 and not _JSON_LINE.match(text):
            return None
        for match in _TOKENS.finditer(text):
            if match[0][0] == '"':
                continue
            depth += 1 if match[0] in "{[" else -1
            if depth == 0:
                texts.append(text[: match.end()])
                whole = "\n".join(one[min(blanks, len(one) - len(one.lstrip(" \t"))) :] for one in texts)
                return _Document(whole, count, before, text[match.end() :])
        texts.append(text)
    return None


def _names(one: OutputFormat) -> set[str]:
    """Return the names of a document that others hardly have."""
    return {key for key in one.keys if " " in key or len(key) > len("version")}


@cache
def _keys() -> re.Pattern[str]:
    names = set[str]().union(*map(_names, formats()))
    return re.compile("|".join(f'"{re.escape(name)}"' for name in sorted(names)))


def _may_contain(text: str) -> bool:
    """Return whether `text` has the names of a known document."""
    return any(each.may_be_in(text) for each in formats())


@dataclass(frozen=True, slots=True)
class _InvalidJson:
    """The format of a document by its names, and why it is no JSON."""

    format: str
    error: ValueError

    def why(self, first: int) -> str:
        """Return the error of a document that begins in line `first`."""
        error = self.error
        at = f"{error.msg}, line {first + error.lineno - 1}" if isinstance(error, JSONDecodeError) else str(error)
        return f"Not valid JSON: {at}."


def _format_of(text: str) -> OutputFormat | _InvalidJson | None:
    if not _may_contain(text):
        return None
    try:
        content = read_json(text)
    except ValueError as error:
        named = (each.title for each in formats() if _names(each) and each.may_be_in(text))
        title = next(named, "")
        return _InvalidJson(title, error) if title else None
    return next((each for each in formats() if each.is_document(content)), None)


def _command_before(lines: Sequence[Line], tool: str) -> str:
    """Return the last command line among `lines` that has a command of `tool`."""
    found = (command_of(line.text) for line in reversed(lines))
    return next((command for command in found if command and command_of_tool(command, tool)), "")
