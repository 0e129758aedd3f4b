"""Splitter of fio's output into complete JSON documents and text lines."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from suites.strict_json import read_json

MAXIMUM_DOCUMENT = 32 * 2**20
"""Bytes of the longest accepted document. fio's own have about 16 KiB per direction of each job."""


@dataclass(frozen=True, slots=True)
class Document:
    """One complete JSON document."""

    content: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Refused:
    """A document that was not read, and why."""

    because: str


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line outside any document."""

    text: str


Piece = Document | Refused | TextLine


@dataclass(slots=True)
class DocumentReader:
    """Splits arriving bytes into documents and text.

    fio prints one document per second, each from a line that is ``{`` to a line that is ``}``. Lines that begin with a
    letter belong to no document: if stderr is mixed in, they may occur inside one.
    """

    _line: bytearray = field(default_factory=bytearray)
    _overlong: bool = False
    _under_way: list[bytes] | None = None
    _size: int = 0

    @property
    def within_document(self) -> bool:
        """Whether a document has begun and not ended."""
        return self._under_way is not None

    def feed(self, data: bytes) -> list[Piece]:
        """Return the pieces that `data` completes."""
        first, *others = data.split(b"\n")
        self._extend(first)
        pieces: list[Piece] = []
        for other in others:
            pieces += self._end_line()
            self._extend(other)
        return pieces

    def finish(self) -> list[Piece]:
        """Return the pieces of an unterminated last line."""
        return self._end_line() if self._line or self._overlong else []

    def _extend(self, data: bytes) -> None:
        if self._overlong:
            return
        self._line += data
        if len(self._line) > MAXIMUM_DOCUMENT:
            self._overlong = True
            self._line.clear()

    def _end_line(self) -> list[Piece]:
        if self._overlong:
            self._overlong = False
            self._under_way = None
            return [Refused(f"a line of it is longer than {MAXIMUM_DOCUMENT} bytes")]
        line = bytes(self._line)
        self._line.clear()
        # fio updates its estimate of the time left with carriage returns.
        return [piece for part in line.rstrip(b"\r").split(b"\r") for piece in self._take(part)]

    def _take(self, line: bytes) -> list[Piece]:
        bare = line.removeprefix(b"\xef\xbb\xbf").rstrip()
        if bare == b"{":
            cut = [Refused("it is truncated")] if self.within_document else []
            self._begin(bare)
            return [*cut]
        if self._under_way is None:
            return self._outside(bare)
        if bare[:1].isalpha():
            return [_text(bare)]
        return self._inside(bare)

    def _outside(self, line: bytes) -> list[Piece]:
        if not line.startswith(b"{"):
            return [_text(line)]
        piece = _document(line)  # the whole document on one line, as rewritten by other programs
        if isinstance(piece, Document):
            return [piece]
        self._begin(line)
        return []

    def _begin(self, line: bytes) -> None:
        self._under_way = [line]
        self._size = len(line)

    def _inside(self, line: bytes) -> list[Piece]:
        lines = self._under_way or []
        lines.append(line)
        self._size += len(line) + 1
        if self._size > MAXIMUM_DOCUMENT:
            self._under_way = None
            return [Refused(f"it is longer than {MAXIMUM_DOCUMENT} bytes")]
        if line != b"}":
            return []
        self._under_way = None
        return [_document(b"\n".join(lines))]


def _document(source: bytes) -> Document | Refused:
    try:
        content = read_json(source.decode("utf-8", "replace"))
    except ValueError as error:
        return Refused(str(error))
    return Document(content) if isinstance(content, dict) else Refused("it is no object")


def _text(line: bytes) -> TextLine:
    return TextLine(line.decode("utf-8", "replace"))
