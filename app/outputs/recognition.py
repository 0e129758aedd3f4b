"""Find the outputs of tools in a text, by content: JSON documents first, then lines of text."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from app.outputs.pasted_text import dedented, variants
from suites import registry
from suites.command_line import without_prompts
from suites.line_parser import MAXIMUM_LINE
from suites.outputs import OutputFormat, ToolOutput
from suites.strict_json import read_json

MAXIMUM_SIZE = 256 * 2**20
"""Largest accepted output in bytes: a day of fio with one JSON document a second."""

MOST_ENDLESS = 20
"""Lines that seem to begin a document without an end, after which none is sought."""

MOST_OUTPUTS = 1000
"""Outputs of one text that are read."""

_LONGEST_COMMAND = 8192
"""Characters of a command line that is read."""

_OPTION = re.compile(r"-{1,2}[A-Za-z][\w-]*(?:[= ].*)?|\w{1,20}=\S+|\S+\.fio|run|prepare", re.ASCII)
"""A word that follows a tool's name on its command line, but not in prose: an option, an operand, a job file."""

_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]')
"""Strings and brackets of JSON."""


@dataclass(frozen=True, slots=True)
class FoundOutput:
    """A result in a text: its format, the text it was read from, its lines there (from 1), and the command line.

    `command` is empty if the text has none before the output.
    """

    format: str
    output: ToolOutput
    text: str
    first_line: int
    command: str = ""


@dataclass(frozen=True, slots=True)
class Recognition:
    """The results in a text, and the number of its lines, without empty ones, that belong to none.

    `cut_off`: it has a JSON document without an end.
    """

    found: tuple[FoundOutput, ...] = ()
    left_over: int = 0
    cut_off: bool = False

    @property
    def score(self) -> tuple[int, int, int]:
        """How much was read: complete results, figures, and fewer lines left over."""
        parsed = [one.output.parsed for one in self.found]
        return sum(one.complete for one in parsed), sum(len(one.figures) for one in parsed), -self.left_over


@cache
def formats() -> Mapping[OutputFormat, str]:
    """Return every format, and the name of its tool."""
    return registry.output_formats()


def recognise(text: str) -> Recognition:
    """Return the results in `text`, read in the way of variants() that gives most."""
    return max((_read_lines(lines) for lines in variants(text)), key=lambda one: one.score, default=Recognition())


@dataclass(slots=True)
class _Line:
    number: int
    text: str


def _read_lines(lines: Sequence[str]) -> Recognition:
    numbered = [_Line(number, text) for number, text in enumerate(lines, 1)]
    found, rest, cut_off = _documents(numbered)
    left = 0
    for segment in _segments(rest):
        results = list(_read_segment(segment)) if len(found) < MOST_OUTPUTS else []
        found += results
        left += 0 if results else sum(bool(line.text.strip()) for line in segment)
    return Recognition(tuple(sorted(found, key=lambda one: one.first_line)), left, cut_off)


# JSON documents, at the beginning of a line or after a prompt


@dataclass(slots=True)
class _Documents:
    """Documents that are read together: their format, lines and text."""

    format: OutputFormat
    lines: list[_Line]
    command: str


def _documents(lines: Sequence[_Line]) -> tuple[list[FoundOutput], list[_Line], bool]:
    """Return the results in the documents of `lines`, the lines outside of these, and whether one has no end."""
    groups: list[_Documents] = []
    rest: list[_Line] = []
    at, endless, last = 0, 0, -1
    while at < len(lines):
        line = lines[at]
        may_begin = line.text.lstrip()[:1] in {"{", "["} and endless < MOST_ENDLESS and len(groups) < MOST_OUTPUTS
        end = _document_end(lines, at) if may_begin else None
        endless += may_begin and end is None
        own = [] if end is None else lines[at:end]
        known = _format_of("\n".join(one.text for one in own)) if own else None
        if known is None:
            rest.append(replace(line, text=line.text[:MAXIMUM_LINE]))
            last = last if not line.text.strip() else -1
            at += 1
            continue
        if known.joined and last >= 0 and groups[last].format is known:
            groups[last].lines += own
        else:
            groups.append(_Documents(known, list(own), _command_before(rest)))
            last = len(groups) - 1
        at += len(own)
    return [found for group in groups for found in _read_group(group)], rest, endless > 0


def _read_group(group: _Documents) -> Iterator[FoundOutput]:
    text = "\n".join(one.text for one in group.lines)
    for output in group.format.read(text, group.command or None):
        yield FoundOutput(group.format.title, output, text, group.lines[0].number, group.command)


def _document_end(lines: Sequence[_Line], at: int) -> int | None:
    """Return the index after the last line of the document that begins in line `at`; None if it does not end."""
    depth = 0
    for index in range(at, len(lines)):
        for word in _TOKENS.findall(lines[index].text):
            if word[0] == '"':
                continue
            depth += 1 if word in "{[" else -1
            if depth == 0:
                return index + 1
        if depth <= 0:
            return None
    return None


def _format_of(text: str) -> OutputFormat | None:
    try:
        content = read_json(text)
    except ValueError:
        return None
    return next((each for each in formats() if each.is_document(content)), None)


# Lines of text


def _segments(lines: Sequence[_Line]) -> Iterator[list[_Line]]:
    """Yield `lines` in parts, each with one output: a line that begins one ends the part before, as does a prompt.

    Lines that begin an output follow one another where it has several such, as one for each job.
    """
    segment: list[_Line] = []
    beginning: frozenset[str] = frozenset()
    only_begun = True
    for line in lines:
        begun = _begun_by(line.text)
        prompt = is_command(line.text)
        if segment and (prompt or (begun and not (only_begun and (begun & beginning or not beginning)))):
            yield segment
            segment, beginning, only_begun = [], frozenset(), True
        segment.append(line)
        if begun:
            beginning = begun
        elif line.text.strip() and beginning:
            only_begun = only_begun and not _has_line(line.text)
    if segment:
        yield segment


def _begun_by(line: str) -> frozenset[str]:
    """Return the tools whose output begins with `line`."""
    stripped = line.strip()
    return frozenset(tool for each, tool in formats().items() if each.begins(stripped)) if stripped else frozenset()


def _has_line(line: str) -> bool:
    return any(each.has(line.strip()) for each in formats())


def _read_segment(segment: Sequence[_Line]) -> Iterator[FoundOutput]:
    """Yield the results of the format that reads most of a segment."""
    command = _command_before(segment)
    lines = dedented([line.text for line in segment if not is_command(line.text)])
    text = "\n".join(lines) + "\n"
    best: tuple[tuple[int, ...], OutputFormat, tuple[ToolOutput, ...]] | None = None
    for each in formats():
        own = sum(each.has(line.strip()) for line in lines if line.strip())
        if not own:
            continue
        results = tuple(each.read(text, command or None))
        begun = sum(each.begins(line.strip()) for line in lines)
        figures = sum(len(one.parsed.figures) for one in results)
        score = (sum(one.parsed.complete for one in results), begun, figures, own)
        decided = begun or any(one.undecided for one in results)
        if (figures or (decided and results)) and (best is None or score > best[0]):
            best = score, each, results
    if best is not None:
        yield from (FoundOutput(best[1].title, one, text, segment[0].number, command) for one in best[2])


# Command lines


@cache
def _programs() -> frozenset[str]:
    return frozenset(name for suite in registry.readable() for name in suite.program.names)


def is_command(line: str) -> bool:
    """Return whether `line` is the command line of a tool: after a prompt, or the tool's name and options."""
    return bool(command_of(line))


def command_of(line: str) -> str:
    """Return the command line of a tool in `line`, without its prompt; empty if there is none."""
    if len(line) > _LONGEST_COMMAND:
        return ""
    plain = without_prompts(line).strip()
    words = plain.split()
    prompted = plain != line.strip()
    at = 1 if words[:1] == ["sudo"] else 0
    name = words[at].rpartition("/")[2] if len(words) > at else ""
    if name not in _programs() or not (prompted or any(_OPTION.fullmatch(word) for word in words[at + 1 :])):
        return ""
    return plain


def _command_before(lines: Sequence[_Line]) -> str:
    """Return the last command line among `lines`, with the lines that continue it."""
    for at in range(len(lines) - 1, -1, -1):
        command = command_of(lines[at].text)
        if command:
            return command
    return ""
