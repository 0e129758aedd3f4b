"""Find the outputs of tools in a text, by content: JSON documents first, then lines of text."""

import itertools
import re
import shlex
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from json import JSONDecodeError

from app.outputs.pasted_text import (
    Line,
    decoded_lines,
    dedented,
    has_markup,
    lines_of,
    omission,
    plain,
    rejoined,
    uncut,
    without_endings,
)
from app.outputs.surroundings import without_panes, without_surroundings
from suites import registry
from suites.command.program_rules import name_of, starts
from suites.command_line import lines_of as shell_commands
from suites.command_line import without_prompts
from suites.line_parser import MAXIMUM_LINE
from suites.outputs import CACHE_DROPPED, OutputFormat, ToolOutput
from suites.strict_json import read_json
from suites.tool_messages import printable_message

MAXIMUM_SIZE = 256 * 2**20
"""Largest accepted output in bytes: a day of fio with one JSON document a second."""

MOST_ENDLESS = 20
"""Lines that seem to begin a document without an end, after which none is sought."""

MOST_OUTPUTS = 1000
"""Outputs of one text that are read."""

AROUND = 200
"""Lines before the first and after the last line of a tool that may state something about its output."""

MOST_COUNTED = 2000
"""Lines at either end of a segment by which the formats that may read it are known."""

_LONGEST_COMMAND = 8192
"""Characters of a command line that is read."""

_OPTION = re.compile(r"-{1,2}[A-Za-z][\w-]*(?:[= ].*)?|\w{1,20}=\S+|\S+\.fio|run|prepare", re.ASCII)
"""A word that follows a tool's name on its command line, but not in prose: an option, an operand, a job file."""

_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]')
"""Strings and brackets of JSON."""

_OPENED = re.compile(r"(?:^|(?<=[\s=:>(|,]))(?:\{(?=\s*(?:$|\"))|\[(?=\s*(?:$|[\[{])))")
"""The bracket that begins a document or a value in one."""

_NAMED_VALUE = re.compile(r'[^{]*(?:"\s*:(?:\\t|[\s\[{"\\])*|[}\]],\s*)$')
"""What precedes a value in a line of a document with several lines."""

_JSON_LINE = re.compile(r"\s*(?:[\"{}\[\]:,\d-]|true\b|false\b|null\b|$)")
"""A line that may be inside a document."""

MOST_COPIED = 2**30
"""Characters after documents in their last line in which others are sought, counted anew after each."""

MOST_OPENED = 8
"""Brackets of a line at which a document may begin."""


@dataclass(frozen=True, slots=True)
class FoundOutput:
    """A result in a text: its format, the text it was read from, its first line (from 1), and the command line.

    `command` is empty if the text has none before the output; one that is a loop precedes several.
    """

    format: str
    output: ToolOutput
    text: str
    first_line: int
    command: str = ""


@dataclass(frozen=True, slots=True)
class UnreadOutput:
    """Lines of a format without a figure that could be read: the format, the first of them, and what is missing."""

    format: str
    line: Line
    notes: str = ""


@dataclass(frozen=True, slots=True)
class Recognition:
    """The results in a text, and the number of its lines, without empty ones, that belong to none.

    `cut_off`: it has a JSON document without an end. `own_lines` are the lines of known formats and command lines.
    """

    found: tuple[FoundOutput, ...] = ()
    left_over: int = 0
    cut_off: bool = False
    unread: tuple[UnreadOutput, ...] = ()
    own_lines: int = 0

    @property
    def score(self) -> tuple[int, ...]:
        """How much was read: complete results, figures, names without markup, stated values, samples, tools’ lines."""
        outputs = [one.output for one in self.found]
        return (
            sum(one.parsed.complete and bool(one.parsed.figures) for one in outputs),
            sum(len(one.parsed.figures) for one in outputs),
            -sum(has_markup(one.name) for one in outputs),
            sum(len(one.stated) for one in outputs),
            sum(len(one.parsed.samples) for one in outputs),
            self.own_lines,
        )

    @property
    def is_whole(self) -> bool:
        """Whether nothing but documents was in the text, and each was read."""
        parsed = [one.output.parsed for one in self.found]
        return bool(parsed) and not (self.left_over or self.own_lines) and all(one.complete for one in parsed)


@cache
def formats() -> Mapping[OutputFormat, str]:
    """Return every format, and the name of its tool."""
    return registry.output_formats()


@cache
def _lines_of_tools(*, only_first: bool = False) -> re.Pattern[str]:
    """Return the pattern of the lines of every format, or of those with which outputs begin."""
    patterns = (pattern for each in formats() for pattern in ((each.first,) if only_first else (each.first, each.line)))
    texts = dict.fromkeys(_unnamed(pattern) for pattern in patterns if pattern is not None)
    return re.compile("|".join(f"(?:{text})" for text in texts))


def _unnamed(pattern: re.Pattern[str]) -> str:
    """Return a pattern whose groups have no names, which must differ in one pattern."""
    text = re.sub(r"\(\?P<\w+>", "(?:", pattern.pattern)
    return f"(?i:{text})" if pattern.flags & re.IGNORECASE else text


@cache
def _within_line() -> re.Pattern[str]:
    """Return the pattern of text of a tool, or the beginning of a document, after something else in a line.

    It begins no word and no number that has begun before, and no ornament of equals signs.
    """
    return re.compile(rf"(?<![\w.])(?!(?<==)=)(?:{_lines_of_tools().pattern}|\{{(?:$|\s*\"\w)|\[$)")


LONGEST_PREFIX = 200
"""Characters of a line in which the text of a tool is sought."""


def own_text(line: str) -> int | None:
    """Return the position in a line at which text of a tool begins; None if it has none."""
    if len(line) > _LONGEST_KNOWN:
        return _own_text(line)
    known = _known_line(line)
    if known.begins_at == _NOT_SOUGHT:
        known.begins_at = _own_text(line)
    return known.begins_at


def _own_text(line: str) -> int | None:
    if begins_own(line):
        return 0
    match = _within_line().search(line, 1, 2 * LONGEST_PREFIX)
    if match is None or match.start() > LONGEST_PREFIX or _NAMED_VALUE.match(line, 0, match.start()):
        return None
    return match.start()


def begins_own(line: str) -> bool:
    """Return whether `line` has text of a tool from its beginning, or begins a document."""
    return has_own(line) or line.strip() in {"{", "["}


def has_own(line: str) -> bool:
    """Return whether only an output of a known tool has `line`."""
    return _known_line(line).is_own if len(line) <= _LONGEST_KNOWN else _is_own(line)


def _is_own(line: str) -> bool:
    return _lines_of_tools().match(line.strip()) is not None


_NOT_SOUGHT = -1

_KNOWN, _LONGEST_KNOWN = 2**16, 400
"""Lines whose meaning is remembered, and their characters at most: the readings of a text have most lines in common."""


@dataclass(slots=True)
class _KnownLine:
    """Whether only a tool has a line, and once sought, its command line and where text of a tool begins in it."""

    is_own: bool
    command: str | None = None
    begins_at: int | None = _NOT_SOUGHT


@lru_cache(_KNOWN)
def _known_line(line: str) -> _KnownLine:
    return _KnownLine(_is_own(line))


Between = Callable[[], None]
"""Called between parts of work that takes a minute for the largest text; what it raises ends that."""


def go_on() -> None:
    """Continue with the next part."""


MOST_TRIED = 20_000
"""Lines of a text that are read in every way; the others are read in the best one."""

BLOCK = 100_000
"""Lines of a text that are changed at a time."""

MOST_OF_ONE = 200_000
"""Lines at the beginning and at the end of an output that are read."""

Way = tuple[Callable[[Sequence[Line], Between], list[Line]], ...]
"""What is left out of the lines of a text, or joined, one after the other."""


def recognise(text: str, between: Between = go_on) -> Recognition:
    """Return the results in `text`, read in the way that gives most; of ways that give the same, the plainest counts.

    As it is; without the encodings of mail, HTML and strings; each of these without prefixes; the best of them with the
    lines rejoined that a mail program or a terminal broke. The beginning of a long text decides if it has a result.
    """
    lines = lines_of(text, between)
    best = _best_reading(lines[:MOST_TRIED], between)
    if len(lines) > MOST_TRIED:
        best = _read_in(best.way, lines, between) if best.read.found else _best_reading(lines, between)
    return best.read


@dataclass(frozen=True, slots=True)
class _Reading:
    """What was read of lines, these lines, and the way in which the text was changed into them."""

    read: Recognition
    lines: Sequence[Line]
    way: Way


def _best_reading(lines: Sequence[Line], between: Between) -> _Reading:
    best = _read_in((_unframed,), lines, between)
    tried = [best.lines]

    def better(before: Sequence[Line], way: Way) -> Sequence[Line]:
        """Read what the last step of `way` makes of the lines before it, keep it if it is more, and return them."""
        nonlocal best
        changed = _changed(before, way[-1:], between)
        if changed not in tried:
            tried.append(changed)
            read = _read_lines(changed, between)
            best = _Reading(read, changed, way) if read.score > best.read.score else best
        return changed

    if not best.read.is_whole:
        better(tried[0], (_unframed, _bare))
    if not best.read.is_whole and (decoded := better(lines, (_decoded,))) != tried[0]:
        better(decoded, (_decoded, _bare))
    for join in (_rejoined, _uncut):
        if not best.read.is_whole:
            better(best.lines, (*best.way, join))
    return best


def _read_in(way: Way, lines: Sequence[Line], between: Between) -> _Reading:
    changed = _changed(lines, way, between)
    return _Reading(_read_lines(changed, between), changed, way)


def _changed(lines: Sequence[Line], way: Way, between: Between) -> Sequence[Line]:
    """Return `lines` in a way; those of a long text in blocks, except where prefixes and messages are of all lines."""
    for change in way:
        size = max(1, len(lines)) if change in {_bare, _decoded} else BLOCK
        changed: list[Line] = []
        for start in range(0, len(lines), size):
            between()
            changed += change(lines[start : start + size], between)
        lines = changed
    return lines


def _unframed(lines: Sequence[Line], _between: Between) -> list[Line]:
    return without_panes(plain(lines), begins_own)


def _decoded(lines: Sequence[Line], between: Between) -> list[Line]:
    return list(_changed(decoded_lines(lines), (_unframed,), between))


def _bare(lines: Sequence[Line], between: Between) -> list[Line]:
    calls = itertools.count()

    def sought(line: str) -> int | None:
        if next(calls) % MOST_OUTPUTS == 0:
            between()
        return own_text(line)

    return without_surroundings(lines, sought, begins_own)


def _unended(lines: Sequence[Line], _between: Between) -> list[Line]:
    return without_endings(lines)


def _rejoined(lines: Sequence[Line], _between: Between) -> list[Line]:
    return rejoined(without_endings(lines), _stands_alone)


def _uncut(lines: Sequence[Line], _between: Between) -> list[Line]:
    return uncut(without_endings(lines), _stands_alone)


def _stands_alone(line: str) -> bool:
    """Return whether `line` does not go on from another."""
    return has_own(line) or bool(omission(line))


def _read_lines(lines: Sequence[Line], between: Between) -> Recognition:
    documents = _documents(_changed(lines, (_unended,), between), between)
    found, unread = documents.found, documents.invalid
    left, own = 0, documents.own_lines
    loop = ""
    before: Sequence[_TextLine] = ()
    watched = _watched(documents.rest, between)
    for segment in _segments(watched):
        command = next((line.command for line in reversed(segment) if line.command), loop)
        loop = command if is_loop(command) else ""
        notes = _dropped(before, segment, command)
        before = segment
        results = list(_read_segment(segment, command, notes, between))
        found += [one for one in results if isinstance(one, FoundOutput)]
        unread += [one for one in results if isinstance(one, UnreadOutput)]
        own += sum(line.is_own or bool(line.command) for line in segment)
        left += 0 if results else sum(bool(line.text.strip()) for line in segment)
        if len(found) >= MOST_OUTPUTS:
            left += sum(bool(line.text.strip()) for line in watched)
    return Recognition(
        tuple(sorted(found, key=lambda one: one.first_line)), left, documents.cut_off, tuple(unread), own
    )


def _watched(lines: Iterable[Line], between: Between) -> Iterator[Line]:
    for number, line in enumerate(lines):
        if number % MOST_TRIED == 0:
            between()
        yield line


# JSON documents


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
class _ReadDocuments:
    """The results in documents, the lines outside of these, and whether one has no end.

    `own_lines` are those of `invalid` documents, which are no JSON and have the names of a known format.
    """

    found: list[FoundOutput]
    rest: list[Line]
    cut_off: bool
    invalid: list[UnreadOutput]
    own_lines: int


def _documents(lines: Sequence[Line], between: Between) -> _ReadDocuments:
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
            groups.append(_Documents(known, [document.text], [line.number], _command_before(rest)))
            last = len(groups) - 1
    cut_off = endless > 0 and any(_keys().search(line.text) for line in rest)
    return _ReadDocuments([found for group in groups for found in _read_group(group)], rest, cut_off, invalid, own)


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
    for output in group.format.read(text, command_of_tool(group.command) or None):
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


# Lines of text


@dataclass(frozen=True, slots=True)
class _TextLine:
    """A line with its command line, if it is one, whether only a tool has it, and the tools whose output it begins."""

    number: int
    text: str
    command: str
    is_own: bool
    begun: frozenset[str]


def _text_line(line: Line) -> _TextLine:
    text, is_own = line.text, has_own(line.text)
    return _TextLine(line.number, text, command_of(text), is_own, _begun_by(text) if is_own else frozenset())


def _segments(lines: Iterable[Line]) -> Iterator[list[_TextLine]]:
    """Yield `lines` in parts, each with one output: a line that begins one ends the part before, as does a prompt.

    Lines that begin an output follow one another where it has several such, as one for each job.
    """
    segment: list[_TextLine] = []
    beginning: frozenset[str] = frozenset()
    only_begun = True
    for line in map(_text_line, lines):
        begun = line.begun
        if segment and (line.command or (begun and not (only_begun and (begun & beginning or not beginning)))):
            yield segment
            segment, beginning, only_begun = [], frozenset(), True
        segment.append(line)
        if begun:
            beginning = begun
        elif line.is_own and beginning:
            only_begun = False
    if segment:
        yield segment


def _begun_by(line: str) -> frozenset[str]:
    """Return the tools whose output begins with `line`."""
    stripped = line.strip()
    if not _lines_of_tools(only_first=True).match(stripped):
        return frozenset()
    return frozenset(tool for each, tool in formats().items() if each.begins(stripped))


_DROPS = re.compile(r"vm[./]drop_caches ?= ?[13]\b|\b[13]\b[^;&>|]{0,9}[>|][^;&]{0,20}/proc/sys/vm/drop_caches")
"""A command that drops the page cache, or what sysctl prints then; 2 drops other caches."""


def _dropped(before: Sequence[_TextLine], segment: Sequence[_TextLine], command: str) -> tuple[str, ...]:
    """Return a note on the page cache if it was dropped after the output `before` and before that of `segment`."""
    outputs = [at for at, line in enumerate(before) if line.is_own and not line.command]
    above = itertools.takewhile(lambda line: line.command or not line.is_own, segment)
    texts = [line.text for line in (*before[max(outputs, default=-1) + 1 :], *above)] + [command]
    found = next(filter(None, map(_DROPS.search, texts)), None)
    return () if found is None else (f"{CACHE_DROPPED}“{printable_message(found[0])}”.",)


@dataclass(frozen=True, slots=True)
class _SegmentReading:
    """What a format reads of lines: its score, the lines with and as text, and the results."""

    score: tuple[int, ...]
    format: OutputFormat
    near: Sequence[_TextLine]
    text: str
    results: tuple[ToolOutput, ...]

    @property
    def notes(self) -> str:
        """What is missing."""
        return " ".join(dict.fromkeys(note for one in self.results for note in one.parsed.notes))

    @property
    def decides(self) -> bool:
        """Whether it has a figure, or its result says why it has none."""
        begun_or_undecided = self.score[1] or any(one.undecided for one in self.results)
        return bool(self.score[2] or (begun_or_undecided and self.results))


def _read_segment(
    segment: Sequence[_TextLine], command: str, notes: tuple[str, ...], between: Between
) -> Iterator[FoundOutput | UnreadOutput]:
    """Yield the results of the format that reads most of a segment, or that of which nothing can be read.

    `notes` follow those of each.
    """
    at = [index for index, line in enumerate(segment) if line.is_own and not line.command]
    if not at:
        return
    left_out: tuple[str, ...] = ()
    if len(at) > 2 * MOST_OF_ONE:
        begin, end = at[MOST_OF_ONE], at[-MOST_OF_ONE]
        left_out = (f"Lines {segment[begin].number:,} to {segment[end - 1].number:,} of a long output are not read.",)
        segment = [*segment[:begin], *segment[end:]]
        at = [index for index, line in enumerate(segment) if line.is_own and not line.command]
    first = segment[at[0]]
    known: Iterable[OutputFormat] = formats()
    if len(at) > 2 * MOST_COUNTED:  # its ends show which format reads it
        ends = [*segment[: at[MOST_COUNTED]], *segment[at[-MOST_COUNTED] :]]
        best = max(_segment_readings(ends, known, command, between), key=lambda one: (one.decides, one.score))
        known = (best.format,)
    readings = list(_segment_readings(segment, known, command, between))
    best = max(readings, key=lambda one: (one.decides, one.score))
    if best.decides:
        begun_at = best.format.begun(best.text)
        left_out = (*left_out, *_left_out(segment[at[0] : at[-1]], best.format))
        own_at = [index for index, line in enumerate(best.near) if line.is_own]
        for one in best.results:
            parsed = replace(
                one.parsed, complete=one.parsed.complete and not left_out, notes=(*left_out, *one.parsed.notes, *notes)
            )
            at_line = own_at[min(bisect_left(own_at, one.line), len(own_at) - 1)]
            read = replace(one, begun=begun_at, parsed=parsed, line=at_line)
            yield FoundOutput(best.format.title, read, best.text, best.near[at_line].number, command)
    elif max(one.score[-1] for one in readings) > 1 or first.begun:
        likeliest = max(readings, key=lambda one: one.score[-1])
        yield UnreadOutput(likeliest.format.title, Line(first.number, first.text.strip()), likeliest.notes)


def _segment_readings(
    segment: Sequence[_TextLine], known: Iterable[OutputFormat], command: str, between: Between
) -> Iterator[_SegmentReading]:
    """Yield what each format that has lines of a segment reads of it, with and without the lines before them."""
    at = [index for index, line in enumerate(segment) if line.is_own and not line.command]
    stripped = [segment[index].text.strip() for index in at]
    own = {each: count for each in known if (count := sum(map(each.has, stripped)))}
    tool_command = command_of_tool(command) or None
    for start in sorted({max(0, at[0] - AROUND), at[0]}):  # what precedes may belong to the output, or hide it
        near = [line for line in segment[start : at[-1] + 1 + AROUND] if not line.command]
        text = "\n".join(dedented([line.text for line in near], segment[at[0]].text)) + "\n"
        for each, count in own.items():
            between()
            results = tuple(each.read(text, tool_command))
            begun, figures = sum(map(each.begins, stripped)), sum(len(one.parsed.figures) for one in results)
            score = sum(one.parsed.complete for one in results), begun, figures, count
            yield _SegmentReading(score, each, near, text, results)


def _left_out(segment: Sequence[_TextLine], known: OutputFormat) -> tuple[str, ...]:
    """Return a note on the line within an output that says that others were left out, if there is one."""
    for line in segment:
        mark = omission(line.text)
        if mark and not (known.prints_dots and not mark.strip(".")):
            return (f"Lines are left out at “{mark}” in line {line.number}.",)
    return ()


# Command lines


_NAMES = re.compile(r"[\w.-]+")
"""What may be the name of a program."""


@cache
def _programs() -> frozenset[str]:
    return frozenset(name for suite in registry.readable() for name in suite.program.names)


_SHELL_WORDS = {"do", "then", "else", "{", "(", "+", "++"}
"""Words before a command; set -x prints + before each."""

_LOOPS = {"for", "while", "until", "xargs", "repeat"}


def command_of(line: str) -> str:
    """Return the command line of a tool in `line`, without its prompt; empty if there is none.

    After a prompt, or with options after the name of the tool, which may stand in a loop or before a pipe.
    """
    if len(line) > _LONGEST_KNOWN:
        return "" if len(line) > _LONGEST_COMMAND else _command_of(line)
    known = _known_line(line)
    if known.command is None:
        known.command = _command_of(line)
    return known.command


def _command_of(line: str) -> str:
    if _programs().isdisjoint(_NAMES.findall(line)):
        return ""
    typed = without_prompts(line).strip()
    command = command_of_tool(typed)
    options = command.split()[1:]
    return typed if command and (typed != line.strip() or any(map(_OPTION.fullmatch, options))) else ""


def command_of_tool(typed: str) -> str:
    """Return the command of a tool alone in a command line; empty if there is none."""
    for words in _commands(typed):
        at = next((at for at, word in enumerate(words) if word not in _SHELL_WORDS), 0)
        for program in starts(words[at:])[0]:
            if name_of(words[at + program]) in _programs():
                return shlex.join(word for word in words[at + program :] if word[:2] not in {"> ", "< "})
    return ""


def is_loop(typed: str) -> bool:
    """Return whether a command line runs a command several times."""
    return bool(typed) and any(not _LOOPS.isdisjoint(words) for words in _commands(typed))


def _commands(typed: str) -> list[list[str]]:
    try:
        return shell_commands(typed)
    except ValueError:
        return [typed.split()]


def _command_before(lines: Sequence[Line]) -> str:
    """Return the last command line among `lines`."""
    return next((command for line in reversed(lines) if (command := command_of(line.text))), "")
