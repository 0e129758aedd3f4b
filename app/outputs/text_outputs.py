"""Outputs in lines of text: where each begins and ends, and the format that reads most of it."""

import itertools
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from posixpath import normpath

from app.outputs.found import MOST_OUTPUTS, Between, FoundOutput, UnreadOutput, formats
from app.outputs.pasted_text import Line, dedented, omission
from app.outputs.tool_lines import (
    begun_by,
    command_of,
    command_of_tool,
    commands_in,
    commands_of_tools,
    has_own,
    is_loop,
    tools_with,
)
from suites.command.program_rules import name_of
from suites.outputs import CACHE_DROPPED, OutputFormat, ToolOutput
from suites.tool_messages import printable_message
from suites.vocab import Labels

AROUND = 200
"""Lines before the first and after the last line of a tool that may state something about its output."""

MOST_COUNTED = 2000
"""Lines at either end of a segment by which the formats that may read it are known."""

MOST_OF_ONE = 200_000
"""Lines at the beginning and at the end of an output that are read."""

MOST_BROKEN = 200
"""Lines of a command line."""

_CONTINUED = re.compile(r"^[ \t]*(?:>[ \t])?[ \t]*")
"""What precedes the next line of a command line: the prompt of a shell that waits for it."""

_DROPS = re.compile(r"vm[./]drop_caches ?= ?[13]\b|\b[13]\b[^;&>|]{0,9}[>|][^;&]{0,20}/proc/sys/vm/drop_caches")
"""A command that drops the page cache, or what sysctl prints then; 2 drops other caches."""

_NOT_DROPPED = re.compile(
    r"^[ \t]*[-\w./]+(?:\[\d+\])?: .*drop_caches|^sudo: .*(?:password|not allowed|not found|terminal|tty)", re.MULTILINE
)
"""What a shell, tee, sysctl or sudo prints if it may not drop the page cache, in any language."""

_LOOP = re.compile(r"(?s)\b(?:for|while|until|repeat|xargs)\b(?!.*\bdone\b)")
"""A loop that has not ended."""

_NO_FILE = re.compile(r"\W*|-.*|\d+\w{0,3}|\d*[<>&].*|/dev/(?:null|zero|full|u?random)|/proc/.*")
"""A word of a command line that names no file on a disk."""

_NAMES_ONLY = re.compile("ls|stat|du|df|cd|chmod|chown|filefrag|touch|u?mount|rm|mkdir|lsblk|blockdev")
"""Programs that do not read the content of a file that they name."""


@dataclass(frozen=True, slots=True)
class SegmentLine:
    """A line with its command line, if it is one, whether only a tool has it, and the tools whose output it begins.

    `depth` is that of mail quoting.
    """

    number: int
    text: str
    command: str
    is_own: bool
    begun: frozenset[str]
    depth: int

    @property
    def is_printed(self) -> bool:
        """Whether only a tool has it, and it is no command line."""
        return self.is_own and not self.command


@dataclass(frozen=True, slots=True)
class _SegmentReading:
    """What a format reads of lines: its score, the lines with and as text, and the results."""

    score: tuple[int, ...]
    format: OutputFormat
    near: Sequence[SegmentLine]
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


def whole_commands(lines: Sequence[Line]) -> list[Line]:
    """Return `lines` with each command line of a tool in one, which has a backslash before each line break in it."""
    found: list[Line] = []
    at = 0
    while at < len(lines):
        line, end = lines[at], at + 1
        if line.text.endswith("\\"):
            while end < min(len(lines), at + MOST_BROKEN) and lines[end - 1].text.endswith("\\"):
                end += 1
            rest = (_CONTINUED.sub("", each.text).removesuffix("\\") for each in lines[at + 1 : end])
            whole = " ".join([line.text.removesuffix("\\"), *rest])
            line, end = (line.with_text(whole), end) if command_of(whole) else (line, at + 1)
        found.append(line)
        at = end
    return found


def segments(lines: Iterable[Line]) -> Iterator[list[SegmentLine]]:
    """Yield `lines` in parts, each with one output: a line that begins one ends the part before, as do a prompt and
    a line of a tool that is quoted less often, which another person wrote.

    Lines that begin an output follow one another where it has several such, as one for each job. What precedes the
    first command belongs to its output, as a job file does.
    """
    segment: list[SegmentLine] = []
    beginning: frozenset[str] = frozenset()
    only_begun, of_tool, depth = True, False, 0
    for line in map(_text_line, lines):
        begun = line.begun
        ends = line.command or (begun and not (only_begun and (begun & beginning or not beginning)))
        if (ends or (line.is_own and line.depth < depth)) and of_tool:
            yield segment
            segment, beginning, only_begun, of_tool, depth = [], frozenset(), True, False, 0
        depth = line.depth if line.is_printed else depth
        segment.append(line)
        of_tool = of_tool or line.is_own or bool(line.command)
        if begun:
            beginning = begun
        elif line.is_own and beginning:
            only_begun = False
    if segment:
        yield segment


def _text_line(line: Line) -> SegmentLine:
    text, is_own = line.text, has_own(line.text)
    begun = begun_by(text) if is_own else frozenset()
    return SegmentLine(line.number, text, command_of(text), is_own, begun, line.depth)


@dataclass(frozen=True, slots=True)
class SegmentNotes:
    """Notes on the first result of a segment, and on each later one."""

    first: tuple[str, ...] = ()
    later: tuple[str, ...] = ()


def cache_notes(before: Sequence[SegmentLine], segment: Sequence[SegmentLine], command: str) -> SegmentNotes:
    """Return notes on the page cache if it was dropped after the output `before` and before a result of `segment`.

    Outside a loop it was dropped before the first pass only. A drop that failed, or after which another command reads
    a file that `command` names, does not count.
    """
    outputs = [at for at, line in enumerate(before) if line.is_own and not line.command]
    above = itertools.takewhile(lambda line: line.command or not line.is_own, segment)
    texts = [line.text for line in (*before[max(outputs, default=-1) + 1 :], *above)]
    carried = not any(line.command for line in segment)
    again = carried and is_loop(command)  # a later pass of it
    text = "\n".join([*texts, command] if carried else texts)
    drop = next(reversed(list(_DROPS.finditer(text))), None)
    if drop is None or _NOT_DROPPED.search(text, drop.end()) or _uses(text[drop.end() :].lstrip("\"'"), command) > 1:
        return SegmentNotes()
    note = (f"{CACHE_DROPPED}“{printable_message(drop[0])}”.",)
    each = _LOOP.search(text, 0, drop.start()) is not None
    return SegmentNotes(() if again and not each else note, note if each else ())


def _uses(text: str, command: str) -> int:
    """Return how many commands in `text` use a file that `command` names, itself among them."""
    own = {word.rpartition("=")[2] for word in command_of_tool(command).split()[1:]}
    files = {normpath(word) for word in own if not _NO_FILE.fullmatch(word)}
    found = 0
    for words in itertools.chain.from_iterable(map(commands_in, text.splitlines())):
        named = {normpath(word.removeprefix("< ").rpartition("=")[2]) for word in words[1:]}
        only_named = any(_NAMES_ONLY.fullmatch(name_of(word)) for word in words)
        found += not only_named and any(_is_in(file, each) for file in files for each in named)
    return found


def _is_in(file: str, named: str) -> bool:
    """Return whether a word of a command names a file, by a pattern or by its directory."""
    return fnmatchcase(file, named) or file.startswith(f"{named}/")


_NUMBER = re.compile(r"\d[\d.,]*")


def _passes(segment: Sequence[SegmentLine]) -> list[list[SegmentLine]]:
    """Return a segment in parts of the same lines but for their numbers; none if it does not repeat its first one."""
    own = [line for line in segment if line.is_own and not line.command]
    parts: list[list[SegmentLine]] = []
    shapes: list[list[str]] = []
    for line in own:
        shape = _shape(line)
        if not parts or shape == shapes[0][0]:
            parts.append([])
            shapes.append([])
        parts[-1].append(line)
        shapes[-1].append(shape)
    return parts if len(parts) > 1 and all(each == shapes[0] for each in shapes) else []


def _shape(line: SegmentLine) -> str:
    """Return a line without its numbers."""
    return " ".join(_NUMBER.sub("0", line.text).split())


def read_passes(
    segment: Sequence[SegmentLine], command: str, notes: SegmentNotes, between: Between
) -> list[FoundOutput | UnreadOutput]:
    """Return the results of a segment, one for each pass of a command from which only the same lines are shown."""
    whole = list(read_segment(segment, command, notes, between))
    found = [one for one in whole if isinstance(one, FoundOutput)]
    if any(one.output.parsed.complete or not (is_loop(command) or _is_printed(one)) for one in found):
        return whole
    parts = _passes(segment)[:MOST_OUTPUTS]
    after = SegmentNotes(notes.later, notes.later)
    read = [list(read_segment(part, command, after if at else notes, between)) for at, part in enumerate(parts)]
    each = [one for results in read for one in results if isinstance(one, FoundOutput) and _is_printed(one)]
    overwritten = _values(found) <= _values(each) and _figures(each).isdisjoint(_figures(found))  # not a sum, no rows
    if len(each) == len(parts) > len(found) and (is_loop(command) or overwritten):
        return [*each]
    return [*whole, *_overwritten(segment, found, between)]


def _figures(found: Iterable[FoundOutput]) -> set[tuple[str, Labels, int]]:
    """Return the figures of results, each by its name, its labels and how many there are of it."""
    counts = Counter((figure.metric.name, figure.labels) for one in found for figure in one.output.parsed.figures)
    return {(*figure, count) for figure, count in counts.items()}


def _values(found: Iterable[FoundOutput]) -> set[float]:
    return {figure.value for one in found for figure in one.output.parsed.figures}


def _overwritten(
    segment: Sequence[SegmentLine], found: Sequence[FoundOutput], between: Between
) -> Iterator[UnreadOutput]:
    """Yield each line whose figure is in no result, because a later line like it has the figure that was read."""
    alike: dict[str, list[SegmentLine]] = {}
    for line in segment[:MOST_COUNTED] if found else ():
        if line.is_own and not line.command:
            alike.setdefault(_shape(line), []).append(line)
    for *earlier, last in alike.values():
        if not earlier or not _values(_alone(last, between)) <= _values(found):
            continue
        for line in earlier:
            if _values(alone := _alone(line, between)) - _values(found):
                yield UnreadOutput(alone[0].format, Line(line.number, line.text.strip()))


def _alone(line: SegmentLine, between: Between) -> list[FoundOutput]:
    """Return the results of a line by itself."""
    return [one for one in read_segment([line], "", SegmentNotes(), between) if isinstance(one, FoundOutput)]


def _is_printed(one: FoundOutput) -> bool:
    """Return whether a result has figures that the tool printed, not those of its lines while it ran."""
    return bool(one.output.parsed.figures) and not one.output.parsed.samples


def read_segment(
    segment: Sequence[SegmentLine], command: str, notes: SegmentNotes, between: Between
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
        command = command if command_of_tool(command, formats()[best.format]) else ""
        left_out = (*left_out, *_left_out(segment[at[0] : at[-1]], best.format))
        own_at = [index for index, line in enumerate(best.near) if line.is_own and best.format.has(line.text.strip())]
        for number, one in enumerate(best.results):
            texts = (*left_out, *one.parsed.notes, *(notes.later if number else notes.first))
            parsed = replace(one.parsed, complete=one.parsed.complete and not left_out, notes=texts)
            at_line = own_at[min(bisect_left(own_at, one.line), len(own_at) - 1)]
            read = replace(one, begun=begun_at, parsed=parsed, line=at_line)
            yield FoundOutput(best.format.title, read, best.text, best.near[at_line].number, command)
        tool, own = formats()[best.format], (segment[index] for index in at[:MOST_COUNTED])
        others = [line for line in own if not (best.format.has(line.text.strip()) or tool in tools_with(line.text))]
        rest = [*read_segment(others, "", SegmentNotes(), between)]  # as in a table, or of what ran beside it
        if any(isinstance(one, FoundOutput) for one in rest):
            yield from rest
        else:
            yield from (UnreadOutput(best.format.title, Line(each.number, each.text.strip())) for each in others)
    elif max(one.score[-1] for one in readings) > 1 or first.begun:
        likeliest = max(readings, key=lambda one: one.score[-1])
        yield UnreadOutput(likeliest.format.title, Line(first.number, first.text.strip()), likeliest.notes)


def _segment_readings(
    segment: Sequence[SegmentLine], known: Iterable[OutputFormat], command: str, between: Between
) -> Iterator[_SegmentReading]:
    """Yield what each format that has lines of a segment reads of it, with and without the lines before them."""
    at = [index for index, line in enumerate(segment) if line.is_own and not line.command]
    stripped = [segment[index].text.strip() for index in at]
    own = {each: count for each in known if (count := sum(map(each.has, stripped)))}
    for start in sorted({max(0, at[0] - AROUND), at[0]}):  # what precedes may belong to the output, or hide it
        near = [line for line in segment[start : at[-1] + 1 + AROUND] if not line.command]
        text = "\n".join(dedented([line.text for line in near], segment[at[0]].text)) + "\n"
        for each, count in own.items():
            between()
            commands: list[str | None] = [*commands_of_tools(command, formats()[each])] or [None]
            results = tuple(each.read(text, commands[0]))
            if 1 < len(results) == len(commands):
                results = tuple(list(each.read(text, one))[at] for at, one in enumerate(commands))
            begun = sum(each.begins(line) or each.fails(line) for line in stripped)
            figures = sum(len(one.parsed.figures) for one in results)
            score = sum(one.parsed.complete for one in results), begun, figures, count
            yield _SegmentReading(score, each, near, text, results)


def _left_out(segment: Sequence[SegmentLine], known: OutputFormat) -> tuple[str, ...]:
    """Return a note on the line within an output that says that others were left out, if there is one."""
    for line in segment:
        mark = omission(line.text)
        if mark and not (known.prints_dots and not mark.strip(".")):
            return (f"Lines are left out at “{mark}” in line {line.number}.",)
    return ()
