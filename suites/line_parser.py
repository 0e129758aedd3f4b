"""Parsers of tools that print lines: the bytes of each stream become lines, and lines become samples."""

import re
from dataclasses import dataclass, field
from typing import ClassVar

from suites.outputs import ParsedTrial
from suites.tool_messages import printable_message
from suites.vocab import Sample

MAXIMUM_LINE = 64 * 1024
"""Bytes at which a line is cut: a tool that prints longer ones is broken or hostile."""

MAXIMUM_FAILURES = 5
"""Limit of the messages of a tool that are repeated in notes."""


@dataclass(slots=True)
class LineSplitter:
    """Splits the bytes of each stream into lines of text; invalid UTF-8 is replaced.

    Only the first `maximum` bytes of a line are kept. The result does not depend on how the bytes are chunked.
    """

    separators: re.Pattern[bytes] = re.compile(rb"\r\n|\n|\r")
    maximum: int = MAXIMUM_LINE
    _pending: dict[str, bytes] = field(default_factory=dict)
    _cut: set[str] = field(default_factory=set)  # streams inside a line whose beginning was already returned
    _returned: set[str] = field(
        default_factory=set
    )  # streams whose last byte was a "\r" that ended a line; a "\n" that follows is skipped

    def feed(self, data: bytes, stream: str = "stdout") -> list[str]:
        """Return the lines that `data` completes."""
        if not data:
            return []
        if stream in self._returned:
            self._returned.discard(stream)
            data = data.removeprefix(b"\n")
        *whole, rest = self.separators.split(self._pending.pop(stream, b"") + data)
        if whole and stream in self._cut:
            self._cut.discard(stream)
            del whole[0]
        if not rest and data.endswith(b"\r"):
            self._returned.add(stream)
        whole.extend(self._keep(rest, stream))
        return [line[: self.maximum].decode("utf-8", "replace") for line in whole]

    def _keep(self, rest: bytes, stream: str) -> list[bytes]:
        """Buffer the unfinished line `rest`, or return its beginning if it is too long already."""
        if stream in self._cut:
            return []
        if len(rest) > self.maximum:
            self._cut.add(stream)
            return [rest]
        self._pending[stream] = rest
        return []

    def rest(self) -> list[str]:
        """Return the unterminated last line of each stream."""
        unfinished = [line.decode("utf-8", "replace") for line in self._pending.values() if line]
        self._pending.clear()
        return unfinished


@dataclass(slots=True)
class LineParser:
    """Base class of the parsers of tools that print lines: `_read` takes each and adds to `_samples`.

    An unterminated last line may lack digits: it is read only if one of the patterns `unfinished` matches it.
    """

    unfinished: ClassVar[tuple[re.Pattern[str], ...]] = ()
    _lines: LineSplitter = field(default_factory=LineSplitter, init=False)
    _samples: list[Sample] = field(default_factory=list, init=False)
    _failures: list[str] = field(default_factory=list, init=False)  # the tool's messages

    def feed(self, data: bytes, stream: str = "stdout") -> list[Sample]:
        """Parse the next bytes of a stream; return the samples that they complete."""
        before = len(self._samples)
        for line in self._lines.feed(data, stream):
            self._read(line.rstrip())
        return self._samples[before:]

    def finish(self, exit_status: int | None = None) -> ParsedTrial:
        """Return the result of the whole output."""
        for line in self._lines.rest():
            self._read_unfinished(line.rstrip())
        return self._result(exit_status)

    def _read(self, line: str) -> None:
        raise NotImplementedError

    def _read_unfinished(self, line: str) -> None:
        if any(pattern.fullmatch(line.strip()) for pattern in self.unfinished):
            self._read(line)

    def _fail(self, message: str) -> None:
        if len(self._failures) < MAXIMUM_FAILURES:
            self._failures.append(printable_message(message))

    def _result(self, exit_status: int | None) -> ParsedTrial:
        raise NotImplementedError
