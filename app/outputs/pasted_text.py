"""Text as people paste it: without mail quoting, terminal colours, prompts, indentation and hard line breaks."""

import codecs
import html
import re
from collections.abc import Iterator, Sequence

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

_CONTROLS = re.compile(r"\x1b\[[0-?]{0,32}[ -/]{0,4}[@-~]|\x1b\][^\x07\x1b]{0,512}(?:\x07|\x1b\\)|\x1b[@-Z\\-_]")
"""Escape sequences of terminals (ECMA-48): CSI, OSC and those of two characters."""

_INVISIBLE = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\u200b-\u200f\u2060\ufeff]")
_SPACES = re.compile(r"[\u00a0\u2000-\u200a\u202f\u205f\u3000]")
_BORDER = re.compile(r"(?:[ \t]*(?:[\u2502\u2551]|<br ?/?>)|[ \t]{2,}\|)$")
"""End of a line in a table or a pane: text after a value may hide it from the parser."""
_QUOTE = re.compile(r"[ \t]{0,8}(?:>[ \t]?)+")
_FENCE = re.compile(r"[ \t]*(?:```|~~~)\S*[ \t]*")
_TIME = r"\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?"
_STAMP = re.compile(
    rf"[ \t]*\[?\d{{4}}-\d\d-\d\d[T ]{_TIME}(?:Z| ?[+-]\d\d:?\d\d)?\]?[ \t]+"  # ISO 8601: containers, log collectors
    rf"|[ \t]*[A-Z][a-z]{{2}} {{1,2}}\d{{1,2}} {_TIME} \S{{1,80}} \S{{1,60}}: "  # syslog, journalctl
)
_WRAPPED = range(56, 90)
"""Characters of a line that a mail program may have broken; they break at 72 to 80."""


def decoded(data: bytes) -> str:
    """Return the text of a file in any Unicode encoding with a byte order mark, UTF-8, or Latin-1 if it is neither."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def variants(text: str) -> Iterator[list[str]]:
    """Yield the lines of `text` in each way in which they may be meant, the plainest first.

    First without quoting, colours and time stamps. Then, if lines may have been broken by a mail program, rejoined.
    """
    lines = _cleaned(text)
    yield lines
    joined = _rejoined(lines)
    if joined != lines:
        yield joined


def _cleaned(text: str) -> list[str]:
    text = _SPACES.sub(" ", _CONTROLS.sub("", text))
    if re.search(r"&(?:gt|lt|amp|quot|#\d{1,4});", text) and not re.search(r"</\w{1,40}>", text):  # else it is XML
        text = html.unescape(text)
    lines = [_INVISIBLE.sub("", line).rstrip() for line in re.split(r"\r\n|[\n\r\v\f]", text)]
    lines = [_BORDER.sub("", line) for line in lines]
    lines = ["" if _FENCE.fullmatch(line) else line for line in lines]
    lines = [_QUOTE.sub("", line, count=1) if line.lstrip().startswith(">") else line for line in lines]
    return _without(_STAMP, lines)


def _without(prefix: re.Pattern[str], lines: list[str]) -> list[str]:
    """Return `lines` without `prefix` if most of those that are not empty have it."""
    filled = [line for line in lines if line]
    having = sum(prefix.match(line) is not None for line in filled)
    return [prefix.sub("", line, count=1) for line in lines] if having > len(filled) / 2 else lines


def _rejoined(lines: Sequence[str]) -> list[str]:
    """Return `lines` with each that is as long as a mail program leaves one joined with a short one after it."""
    found: list[str] = []
    before = 0
    for line in lines:
        if before in _WRAPPED and line.strip() and len(line) < before:
            found[-1] = f"{found[-1]} {line.strip()}"
        else:
            found.append(line)
        before = len(line)
    return found


def dedented(lines: Sequence[str]) -> list[str]:
    """Return `lines` without the blanks that the first one begins with, as far as they have them."""
    first = next((line for line in lines if line.strip()), "")
    most = len(first) - len(first.lstrip(" \t"))
    return [line[min(most, len(line) - len(line.lstrip(" \t"))) :] for line in lines]
