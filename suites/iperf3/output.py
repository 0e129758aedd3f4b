"""Reads iperf3's output in any of its forms, as it arrives: text, --json-stream events, or the document of -J."""

from collections.abc import Iterable
from typing import Any

from suites.base import MAXIMUM_LINE, LineSplitter, Parsed
from suites.iperf3.json import JsonReader
from suites.iperf3.text import TextReader
from suites.iperf3.transcript import Transcript
from suites.strict_json import read_json
from suites.tool_words import how_it_ended
from suites.vocab import Sample

MAXIMUM_EVENT = 2**20
"""Bytes of one event's line: 128 streams both ways (iperf3's most) take some 300 kB."""

MAXIMUM_DOCUMENT = 32 * 2**20
"""Characters of one document: a day's intervals of one stream take some 30 MB; a longer one is not read."""

_INSIDE = ("\t", " ", "{", "}", "]")
"""How lines of iperf3's documents begin; any other line amid one is a message that got between."""


class Iperf3Parser:
    """One trial's parser."""

    def __init__(self) -> None:
        self._lines = LineSplitter(maximum=MAXIMUM_EVENT)
        self._transcript = Transcript()
        self._text = TextReader(self._transcript)
        self._json = JsonReader(self._transcript)
        self._document: list[str] = []
        self._length = 0
        self._samples: list[Sample] = []
        self._notes: list[str] = []

    def feed(self, data: bytes, stream: str = "stdout") -> Iterable[Sample]:
        """Take the next bytes; return the samples they complete."""
        before = len(self._samples)
        for line in self._lines.feed(data, stream):
            self._samples += self._read(line)
        return self._samples[before:]

    def finish(self, exit_status: int | None = None) -> Parsed:
        """Say what the whole output means.

        The exit status alone proves nothing: with -J, 3.12 ends with 0 after an error, and 3.19 after a signal.
        """
        for line in self._lines.rest():
            self._read_unfinished(line)
        transcript = self._transcript
        if self._document:
            self._notes.append("The JSON document is cut off before its end.")
        broken_off = transcript.broken_off() or bool(exit_status)
        figures = transcript.figures(broken_off=broken_off)
        notes = [*transcript.error_notes(), *self._notes, *transcript.warning_notes(figures)]
        if broken_off:
            notes.append(self._what_is_left(bool(figures)))
        if exit_status:
            notes.append(f"iperf3 {how_it_ended(exit_status)}.")
        return Parsed(tuple(figures), tuple(self._samples), tuple(notes), complete=not broken_off)

    @staticmethod
    def _what_is_left(has_figures: bool) -> str:  # noqa: FBT001 (a private helper with one argument)
        if not has_figures:
            return "The test gave no result."
        return (
            "The test did not reach its end: the figure is the mean of the intervals before that; iperf3's own summary "
            "of a broken-off test is wrong."
        )

    def _read(self, line: str) -> list[Sample]:
        if self._document and line.startswith(_INSIDE):
            return self._go_on(line)
        if line.startswith("{"):
            return self._begin(line)
        return self._text.read(line) if len(line) <= MAXIMUM_LINE else []

    def _read_unfinished(self, line: str) -> None:
        """Take a last line that no line break ended: a row of figures may lack digits, JSON tells by itself."""
        if line.startswith("{") or self._document:
            self._samples += self._read(line)
        else:
            self._text.read_words(line)

    def _begin(self, line: str) -> list[Sample]:
        """Take a line that begins with a brace: an event, a whole document, or the first line of one."""
        if line.rstrip() != "{":
            return self._decode(line)
        self._document, self._length = [line], len(line)
        return []

    def _go_on(self, line: str) -> list[Sample]:
        """Take a line within a document; one that is a closing brace and nothing else ends it."""
        self._length += len(line) + 1
        if self._length <= MAXIMUM_DOCUMENT:
            self._document.append(line)
        if line.rstrip() != "}":
            return []
        text = "\n".join(self._document)
        self._document = []
        if self._length > MAXIMUM_DOCUMENT:
            self._notes.append("The JSON document is longer than 32 MB and was not read.")
            return []
        return self._decode(text)

    def _decode(self, text: str) -> list[Sample]:
        try:
            found: Any = read_json(text)
        except ValueError as error:
            if len(self._notes) < 3:  # one is enough to know; a broken tool may print thousands
                self._notes.append(f"A part of the output is no JSON that can be used: {str(error)[:120]}.")
            return []
        if not isinstance(found, dict):
            return []
        return self._json.read_event(found) if "event" in found else self._json.read_document(found)
