"""Find the outputs of tools in a text, by content: JSON documents first, then lines of text."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from app.outputs.found import MOST_OUTPUTS, Between, FoundOutput, Recognition, UnreadOutput, formats, go_on
from app.outputs.json_documents import read_documents
from app.outputs.pasted_text import (
    Line,
    cut_at,
    decoded_lines,
    lines_of,
    omission,
    plain,
    rejoined,
    uncut,
    without_endings,
)
from app.outputs.surroundings import without_panes, without_surroundings
from app.outputs.text_outputs import SegmentLine, cache_notes, read_passes, segments, whole_commands
from app.outputs.tool_lines import begins_own, goes_on, has_own, own_text
from app.outputs.waiting_commands import WaitingCommands
from suites.outputs import LINES_CUT

MOST_TRIED = 20_000
"""Lines of a text that are read in every way; the others are read in the best one."""

BLOCK = 100_000
"""Lines of a text that are changed at a time."""

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
    unframed = best.lines
    tried = [unframed]

    def better(before: Sequence[Line], way: Way) -> Sequence[Line]:
        """Read what the last step of `way` makes of the lines before it, keep it if it is more, and return them."""
        nonlocal best
        changed = _changed(before, way[-1:], between)
        if changed not in tried:
            tried.append(changed)
            read = _read_lines(changed, between)
            joined = way[-1] is _rejoined and read.values != best.read.values and read.has_as_much_as(best.read)
            best = _Reading(read, changed, way) if joined or read.score > best.read.score else best
        return changed

    if not best.read.is_whole:
        better(unframed, (_unframed, _bare))
    if not best.read.is_whole and (decoded := better(lines, (_decoded,))) != unframed:
        better(decoded, (_decoded, _bare))
    for join in (_rejoined, _uncut):
        if not best.read.is_whole:
            better(best.lines, (*best.way, join))
    width = 0 if best.read.is_whole or _uncut in best.way else cut_at(without_endings(unframed), _stands_alone)
    return replace(best, read=_doubted(best.read, width)) if width else best


def _doubted(read: Recognition, width: int) -> Recognition:
    """Return results of lines that were cut at a width, and that joining did not read as a whole, with a note of it."""
    note = f"{LINES_CUT}the lines are cut at {width} characters, some within a word or a number."
    titles = {each.title for each in formats() if each.keys}
    found = (one if one.format in titles else replace(one, output=one.output.with_note(note)) for one in read.found)
    return replace(read, found=tuple(found))


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
    return rejoined(without_endings(lines), _stands_alone, goes_on)


def _uncut(lines: Sequence[Line], _between: Between) -> list[Line]:
    return uncut(without_endings(lines), _stands_alone)


def _stands_alone(line: str) -> bool:
    """Return whether `line` does not go on from another."""
    return has_own(line) or bool(omission(line))


def _read_lines(lines: Sequence[Line], between: Between) -> Recognition:
    lines = whole_commands(lines)
    documents = read_documents(_changed(lines, (_unended,), between), between)
    found, unread = documents.found, documents.invalid
    left, own, broken = 0, documents.own_lines, 0
    before: Sequence[SegmentLine] = ()
    watched = _watched(documents.rest, between)
    waiting = WaitingCommands(segments(watched))
    for segment in waiting:
        command = waiting.command_of(segment)
        notes = cache_notes(before, segment, command)
        before = segment
        results = read_passes(segment, command, notes, between)
        waiting.have_output(command, results)
        found += [one for one in results if isinstance(one, FoundOutput)]
        unread += [one for one in results if isinstance(one, UnreadOutput)]
        own += sum(line.is_own or bool(line.command) for line in segment)
        broken += sum(goes_on(line.text, rest.text.strip()) for line, rest in pairwise(segment))
        missed = sum(isinstance(one, UnreadOutput) for one in results)
        left += missed if results else sum(bool(line.text.strip()) for line in segment)
        if len(found) >= MOST_OUTPUTS:
            left += sum(bool(line.text.strip()) for line in watched)
    return Recognition(
        tuple(sorted(found, key=lambda one: one.first_line)), left, documents.cut_off, tuple(unread), own, broken
    )


def _watched(lines: Iterable[Line], between: Between) -> Iterator[Line]:
    for number, line in enumerate(lines):
        if number % MOST_TRIED == 0:
            between()
        yield line
