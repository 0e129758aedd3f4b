"""Outputs in lines of text: where each begins and ends, and the format that reads most of it."""

import itertools
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from app.outputs.found import Between, FoundOutput, UnreadOutput, formats
from app.outputs.pasted_text import Line, dedented, omission
from app.outputs.tool_lines import begun_by, command_of, command_of_tool, has_own
from suites.outputs import CACHE_DROPPED, OutputFormat, ToolOutput
from suites.tool_messages import printable_message

AROUND = 200
"""Lines before the first and after the last line of a tool that may state something about its output."""

MOST_COUNTED = 2000
"""Lines at either end of a segment by which the formats that may read it are known."""

MOST_OF_ONE = 200_000
"""Lines at the beginning and at the end of an output that are read."""

_DROPS = re.compile(r"vm[./]drop_caches ?= ?[13]\b|\b[13]\b[^;&>|]{0,9}[>|][^;&]{0,20}/proc/sys/vm/drop_caches")
"""A command that drops the page cache, or what sysctl prints then; 2 drops other caches."""


@dataclass(frozen=True, slots=True)
class SegmentLine:
    """A line with its command line, if it is one, whether only a tool has it, and the tools whose output it begins."""

    number: int
    text: str
    command: str
    is_own: bool
    begun: frozenset[str]


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


def segments(lines: Iterable[Line]) -> Iterator[list[SegmentLine]]:
    """Yield `lines` in parts, each with one output: a line that begins one ends the part before, as does a prompt.

    Lines that begin an output follow one another where it has several such, as one for each job. What precedes the
    first command belongs to its output, as a job file does.
    """
    segment: list[SegmentLine] = []
    beginning: frozenset[str] = frozenset()
    only_begun, of_tool = True, False
    for line in map(_text_line, lines):
        begun = line.begun
        ends = line.command or (begun and not (only_begun and (begun & beginning or not beginning)))
        if ends and of_tool:
            yield segment
            segment, beginning, only_begun, of_tool = [], frozenset(), True, False
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
    return SegmentLine(line.number, text, command_of(text), is_own, begun_by(text) if is_own else frozenset())


def cache_notes(before: Sequence[SegmentLine], segment: Sequence[SegmentLine], command: str) -> tuple[str, ...]:
    """Return a note on the page cache if it was dropped after the output `before` and before that of `segment`."""
    outputs = [at for at, line in enumerate(before) if line.is_own and not line.command]
    above = itertools.takewhile(lambda line: line.command or not line.is_own, segment)
    texts = [line.text for line in (*before[max(outputs, default=-1) + 1 :], *above)] + [command]
    found = next(filter(None, map(_DROPS.search, texts)), None)
    return () if found is None else (f"{CACHE_DROPPED}“{printable_message(found[0])}”.",)


def read_segment(
    segment: Sequence[SegmentLine], command: str, notes: tuple[str, ...], between: Between
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
    segment: Sequence[SegmentLine], known: Iterable[OutputFormat], command: str, between: Between
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


def _left_out(segment: Sequence[SegmentLine], known: OutputFormat) -> tuple[str, ...]:
    """Return a note on the line within an output that says that others were left out, if there is one."""
    for line in segment:
        mark = omission(line.text)
        if mark and not (known.prints_dots and not mark.strip(".")):
            return (f"Lines are left out at “{mark}” in line {line.number}.",)
    return ()
