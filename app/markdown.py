"""Text for Markdown as GitHub reads it: nothing in it is a mark, a link, a mention or a reference."""

import re
from collections.abc import Iterable, Iterator, Sequence

from app.output import visible

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~!])")
_REFERENCE = re.compile(r"(@|(?<![\w#])#|\bGH-)(?=\w)|(://|\bwww\.)", re.IGNORECASE)
"""What GitHub links in plain text, also behind a backslash: @name, #1, GH-1, addresses."""

_JOINER = "\u2060"
"""WORD JOINER: invisible, and the end of such a name."""


def escaped(text: str) -> str:
    """Return `text` on one line without the marks of Markdown and HTML, references and control characters."""
    line = " ".join(visible(text).split()).replace("&", "&amp;")
    return _SPECIAL.sub(r"\\\1", _REFERENCE.sub(rf"\g<0>{_JOINER}", line))


def paragraphs(text: str) -> Iterator[str]:
    """Yield the lines of a text; within a paragraph they end with a hard break."""
    lines = [escaped(line) for line in text.splitlines()]
    for line, after in zip(lines, [*lines, ""][1:], strict=True):
        yield f"{line}\\" if line and after else line


def table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> Iterator[str]:
    """Yield the lines of a table; the columns whose index is in `right` are aligned to the right."""
    yield f"| {' | '.join(map(escaped, head))} |"
    yield f"|{'|'.join('---:' if number in right else '---' for number in range(len(head)))}|"
    for row in rows:
        yield f"| {' | '.join(map(escaped, row))} |"


def code(lines: Sequence[str], language: str) -> list[str]:
    """Return `lines` as a block of code, with a fence that they do not end; nothing without lines."""
    fence = "`" * max(3, 1 + max((len(run) for line in lines for run in re.findall("`+", line)), default=0))
    shown = [visible(part) for line in lines for part in line.split("\n")]
    return [f"{fence}{language}", *shown, fence] if lines else []
