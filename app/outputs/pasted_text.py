"""Text as people paste it: without terminal colours, mail quoting, panes, markup, escapes and hard line breaks."""

import codecs
import html
import quopri
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from suites.strict_json import read_json

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
EVERY = 20_000
_RETURNS = re.compile(r"\r+\n")
_WITHIN_LINE = re.compile(r"[\r\v\f]")
_INTERRUPT = "^C"
"""What a terminal shows of Ctrl-C, before the next line of the tool."""
_SPACES = re.compile(r"[\u00a0\u2000-\u200a\u202f\u205f\u3000]")
_QUOTE = re.compile(r"[ \t]{0,8}(?:>[ \t]?)+")
_ENDING = re.compile(r"(?:[ \t]*<br ?/?>|[ \t]{2,}\|)$")
"""End of a line in a table: a parser may take it for a part of the line."""
_BREAK_MARK = re.compile(r"[ \t]+\\$")
"""End of a line that goes on below, in Markdown and in shells."""
OF_FILLED = 0.8
"""Share of the lines with text that end with such a mark, from which no tool printed it."""
_FENCES = frozenset({"```", "~~~"})
_FENCE = re.compile(r"[ \t]*(?:```|~~~)\S*[ \t]*")
_WRAPPED = range(56, 90)
"""Characters of a line that a mail program may have broken; they break at 72 to 80."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a text, and its number there, from 1. Lines that were made of one have its number.

    `blanks` are those that its end had, `depth` the marks of mail quoting at its beginning.
    """

    number: int
    text: str
    blanks: int = 0
    depth: int = 0

    def with_text(self, text: str) -> "Line":
        """Return the line with another text; itself if it is the same."""
        return self if text == self.text else Line(self.number, text, self.blanks, self.depth)

    @property
    def width(self) -> int:
        """Characters of the line as it was pasted."""
        return len(self.text) + self.blanks


def decoded(data: bytes) -> str:
    """Return the text of a file in any Unicode encoding with a byte order mark, UTF-8, or Latin-1 if it is neither."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def lines_of(text: str, between: Callable[[], None] = lambda: None) -> list[Line]:
    """Return the lines of `text` without what a terminal does not show, and without the encoding of a mail.

    A line that a carriage return overwrites has the number of the line that it is in. `between` is called every
    EVERY lines; what it raises ends that.
    """
    text = _RETURNS.sub("\n", _SPACES.sub(" ", _CONTROLS.sub("", text)))
    whole = text.split("\n" if "\n" in text else "\r")
    lines: list[Line] = []
    for number, line in enumerate(whole, 1):
        if number % EVERY == 1:
            between()
        parts = [_INVISIBLE.sub("", part).removeprefix(_INTERRUPT) for part in _WITHIN_LINE.split(line)]
        lines += [Line(number, part.rstrip(), len(part) - len(part.rstrip())) for part in parts]
    return _of_mail(lines)


def plain(lines: Sequence[Line]) -> list[Line]:
    """Return `lines` without mail quoting, fences and the borders of panes, which no tool prints."""
    return _without_panes([_unquoted(line) for line in lines])


def _unquoted(line: Line) -> Line:
    if line.text.lstrip(" \t").startswith(">") and (quote := _QUOTE.match(line.text)):
        line = Line(line.number, line.text[quote.end() :], line.blanks, quote[0].count(">"))
    return line.with_text("") if line.text.lstrip(" \t")[:3] in _FENCES and _FENCE.fullmatch(line.text) else line


def without_endings(lines: Sequence[Line]) -> list[Line]:
    """Return `lines` without the border of a table after each, and without the mark of a line break if most have it."""
    filled = [line for line in lines if line.text.strip()]
    marked = sum(line.text.endswith("\\") and _BREAK_MARK.search(line.text) is not None for line in filled)
    broken = marked > OF_FILLED * len(filled)
    bare = (_BREAK_MARK.sub("", line.text) if broken else line.text for line in lines)
    return [
        line.with_text(_ENDING.sub("", text) if text.endswith((">", "|")) else text)
        for line, text in zip(lines, bare, strict=True)
    ]


# Panes: text side by side in a terminal, and boxes around it


_BORDER = re.compile("[\u2502\u2503\u2551]")


def _without_panes(lines: list[Line]) -> list[Line]:
    """Return `lines` with the text of each pane below that of the pane at its left."""
    if not any(_BORDER.search(line.text) for line in lines):
        return lines
    split = [_BORDER.split(line.text) for line in lines]
    bordered = [parts for parts in split if len(parts) > 1]
    boxed = sum(not parts[0].strip() for parts in bordered) > len(bordered) / 2
    panes: list[list[Line]] = []
    for line, parts in zip(lines, split, strict=True):
        for at, part in enumerate(parts[1:] if boxed and len(parts) > 1 else parts):
            if at == len(panes):
                panes.append([])
            panes[at].append(line.with_text(part.rstrip()))
    return [line for pane in panes for line in pane]


# Markup, and texts inside strings


_TAG = re.compile(r"</?[A-Za-z][\w-]{0,40}(?:\s[^<>]{0,1000})?/?>")
_BREAK = re.compile(
    r"<br ?/?>|</?(?:p|div|pre|tr|li|h\d)\b[^<>]{0,1000}>|\{(?:code|noformat)[^{}]{0,80}\}|\[/?(?:code|pre|quote)\]",
    re.IGNORECASE,
)
"""A line break of HTML, and the beginning and end of a block in it, in Jira and in forums."""
_MARKUP = re.compile(rf"&(?:gt|lt|amp|quot|nbsp|#x?\w{{1,6}});|{_BREAK.pattern}|</?(?:code|span|td)\b", re.IGNORECASE)
_BOLD = re.compile(r"(?<!\*)\*\*(?=[^*\s])([^*]{1,80})(?<=\S)\*\*(?!\*)")
"""A part of a line in bold type of Markdown."""
_SIGNS = frozenset("&<{[")
"""The signs with which markup begins."""
_QUOTED_PRINTABLE = re.compile(r"=(?:[0-9A-F]{2}|$)")
_SURE = re.compile("=3D|^.{70,}=$")
"""An encoded =, and the end of a line as long as an encoder leaves it, which goes on."""
_STRING = re.compile(r"""(?<!\\)(["'])((?:\\.|(?!\1)[^\\])*)(?:\1|$)""")
"""A string with quotation marks; the rest of the line if its end is missing."""
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "", "f": ""}
_CELL = re.compile(r'(?:[^"]{0,1000},)?"(?=[^"])')
"""The beginning of a cell with several lines in a table of CSV."""

DEEPEST = 3
"""Strings in strings that are decoded."""


def decoded_lines(lines: Sequence[Line]) -> list[Line]:
    """Return `lines` without bold type, HTML, the escapes of strings that have several lines, and cells of CSV."""
    found = _of_messages(lines)
    found = [line.with_text(_BOLD.sub(r"\1", line.text)) if "**" in line.text else line for line in found]
    if any(_MARKUP.search(line.text) for line in found if not _SIGNS.isdisjoint(line.text)):
        found = [part for line in found for part in _without_tags(line)]
    for _ in range(DEEPEST):
        if not any("\\n" in line.text for line in found):
            break
        found = [part for line in found for part in _in_strings(line)]
    return _of_cells(found)


_MESSAGE = ("log", "msg", "message", "MESSAGE", "textPayload", "line", "text", "body")
"""Names of the text in a log of JSON objects: of Docker, of programs, of journald, of Google Cloud."""

_SOURCE = frozenset(
    {"container", "container_id", "container_name", "CONTAINER_ID", "CONTAINER_NAME", "pod", "pod_name", "host",
     "hostname", "_HOSTNAME", "service"}
)  # fmt: skip
"""Names of what distinguishes the sources of a log of JSON objects, at its top or in an object in it."""

_DEEPEST_SOURCE = 3

_PIECE = 2**14
"""Least bytes of a line that Docker writes in several messages; only the last ends with a line break."""


@dataclass(frozen=True, slots=True)
class _Message:
    """A message of a log, what precedes its object in the line, and its source. `goes_on`: its line has not ended."""

    text: str
    before: str
    source: tuple[str, ...]
    goes_on: bool


def _of_messages(lines: Sequence[Line]) -> list[Line]:
    """Return the messages in `lines` if most are JSON objects with one, as logs are written: one source after another.

    What precedes an object remains before its message.
    """
    messages = [_message(line.text) for line in lines]
    filled = sum(bool(line.text.strip()) for line in lines)
    if sum(each is not None for each in messages) <= OF_FILLED * filled:
        return list(lines)
    sources: dict[tuple[str, ...], list[Line]] = {}
    open_pieces: dict[tuple[str, ...], list[str]] = {}
    source: tuple[str, ...] = ()
    for line, message in zip(lines, messages, strict=True):
        if message is None:
            sources.setdefault(source, []).append(line)
            continue
        source = message.source
        pieces = open_pieces.setdefault((*source, message.before), [])
        pieces.append(message.text)
        if message.goes_on:
            continue
        texts = "".join(pieces).removesuffix("\n").split("\n")
        pieces.clear()
        sources.setdefault(source, []).extend(line.with_text(message.before + text) for text in texts)
    for (*names, before), pieces in open_pieces.items():  # the log ends within a line
        if pieces:
            sources.setdefault(tuple(names), []).append(Line(lines[-1].number, before + "".join(pieces)))
    return [line for each in sources.values() for line in each]


def _message(text: str) -> _Message | None:
    """Return the message in a line that ends with a JSON object; None if it has none."""
    at = text.find("{")
    if at < 0 or not text.endswith("}"):
        return None
    try:
        content = read_json(text[at:])
    except ValueError:
        return None
    for name in _MESSAGE:
        value = content.get(name)
        found = _of_bytes(value) if name == "MESSAGE" and isinstance(value, list) else value
        if isinstance(found, str):
            goes_on = name == "log" and not found.endswith("\n") and len(found.encode("utf-8", "replace")) >= _PIECE
            return _Message(found, text[:at].lstrip(" \t"), tuple(_sources(content)), goes_on)
    return None


def _of_bytes(values: Sequence[object]) -> str | None:
    """Return the text that journald writes as an array of bytes, because it has control characters or is no UTF-8."""
    numbers = [value for value in values if isinstance(value, int) and 0 <= value < 256]
    return bytes(numbers).decode("utf-8", "replace") if len(numbers) == len(values) else None


def _sources(content: Mapping[str, object], depth: int = 1) -> Iterator[str]:
    for name, value in content.items():
        if name in _SOURCE and isinstance(value, str):
            yield value
        elif isinstance(value, dict) and depth < _DEEPEST_SOURCE:
            yield from _sources(value, depth + 1)


def _of_mail(lines: Sequence[Line]) -> list[Line]:
    """Return `lines` without the encoding quoted-printable (RFC 2045, 6.7), if each = in them belongs to it."""
    marks = sum(line.text.count("=") for line in lines)
    if not any(_SURE.search(line.text) for line in lines) or marks != sum(
        len(_QUOTED_PRINTABLE.findall(line.text)) for line in lines
    ):
        return list(lines)
    found: list[Line] = []
    goes_on = False
    for line in lines:
        text = line.text.removesuffix("=")
        if goes_on:
            found[-1] = found[-1].with_text(found[-1].text + text)
        else:
            found.append(line.with_text(text))
        goes_on = line.text.endswith("=")
    return [each.with_text(quopri.decodestring(each.text.encode()).decode("utf-8", "replace")) for each in found]


def _of_cells(lines: Sequence[Line]) -> list[Line]:
    """Return `lines` without the quotation marks of the cells of CSV (RFC 4180) that contain several lines."""
    found: list[Line] = []
    inside = False
    for line in lines:
        text, odd = line.text, line.text.count('"') % 2 == 1
        opening = None if inside or not odd else _CELL.match(text)
        if opening is not None:
            text = text[opening.end() :]
        elif inside and odd:
            text = text.removesuffix('"')
        if inside or opening is not None:
            text = text.replace('""', '"')
        inside = opening is not None or (inside and not odd)
        found.append(line.with_text(text))
    return found


def _without_tags(line: Line) -> Iterator[Line]:
    parts = _BREAK.split(line.text)
    filled = [part for part in parts if part.strip()] if len(parts) > 1 else parts
    for part in filled or [""]:
        yield line.with_text(_SPACES.sub(" ", html.unescape(_TAG.sub("", part))).rstrip())


def _in_strings(line: Line) -> Iterator[Line]:
    """Yield the lines in the strings of `line` that have escaped line breaks; without one, the line itself."""
    inner = [match[2] for match in _STRING.finditer(line.text) if "\\n" in match[2]]
    if not inner:
        yield line
    for text in inner:
        for each in lines_of(unescaped(text).removesuffix("\n")):
            yield replace(each, number=line.number)


def has_markup(text: str) -> bool:
    """Return whether `text` has tags or entities of HTML, or one quotation mark of two, as in the cell of a table."""
    return _MARKUP.search(text) is not None or text.count('"') % 2 == 1


def unescaped(text: str) -> str:
    """Return `text` without the escapes of a string of JSON or a programming language."""
    return _ESCAPE.sub(_of_escape, text)


def _of_escape(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    return chr(int(code, 16)) if code else _ESCAPED.get(match[3], match[3])


# Broken lines


_LONGEST = 10_000
"""Characters of a line from which nothing is joined with it."""
_FOLDED = range(30, 131)
"""Width of a text whose lines may have been broken to fit it."""
_WORD = re.compile(r"[^ ]*")
_BREAKABLE = re.compile(r" *[^ ]{1,40} ")
_VALUE = r"[\d.,/]+ ?\w{0,9}"
_ALONE = re.compile(rf"[^:]{{2,60}}:[ \t]{{2,}}{_VALUE}|[A-Z][\w /()]{{2,60}}: \S+|(?:[-=*_~] ?){{4,}}")
"""A name and its value, or a rule: no end of another line."""
_RULE = re.compile(r"(?:[-=*_~] ?){4,}")
_NAMED = re.compile(rf"[^\n]+:\n{_VALUE}")
"""A name, and its value in the next line."""


def rejoined(lines: Sequence[Line], has_own: Callable[[str], bool], goes_on: Callable[[str, str], bool]) -> list[Line]:
    """Return `lines` with each joined with the next one whose first word would have made it wider than all are.

    Where the widest line is wider than people break lines, with a shorter one after it if it is as long as a mail
    program leaves one. A line of a tool by itself, for which `has_own` is true, does not go on from another; two for
    which `goes_on` is true are one, as are a name and its value. A line that blanks fill goes on after them.
    """
    widest = max((line.width for line in lines if _BREAKABLE.match(f"{line.text}{' ' * line.blanks}")), default=0)
    found: list[Line] = []
    before = Line(0, "")
    for line in lines:
        text = line.text.strip()
        full = not (has_own(line.text) or _ALONE.fullmatch(text)) and _is_full(before, line, widest)
        full = full or _NAMED.fullmatch(f"{before.text}\n{text}") is not None
        if found and text and len(found[-1].text) < _LONGEST and (full or goes_on(found[-1].text, text)):
            between = "" if before.width >= widest and " " not in before.text.strip() else " "  # cut, not broken
            found[-1] = found[-1].with_text(f"{found[-1].text}{between}{text}")
        else:
            found.append(line)
        before = line
    return found


def _is_full(before: Line, line: Line, widest: int) -> bool:
    """Return whether the first word of `line` did not fit in the line before it."""
    word = len(_WORD.findall(line.text)[0])  # none of a line that is indented
    if not before.text or not (word or (before.blanks and before.width == widest)) or _RULE.fullmatch(before.text):
        return False
    if widest not in _FOLDED:
        return len(before.text) in _WRAPPED and len(line.text) < len(before.text)
    return before.width + word + (not before.blanks or word < len(line.text)) > widest


FEWEST_CUT = 2
"""Lines as wide as a terminal or a folded text, after which it has cut the longer ones."""


_LABELLED = re.compile(r"\s{2,}[^\W\d_][\w /()%-]{1,40}\s*:\s*\S.*")
"""An indented name and its value: no part of another line."""
_OF_RULE = re.compile(r"[-=*_~# ]+")
_OF_TWO_WORDS = re.compile(r"\d[^\W\d_]")
"""A number that ends a line and a word that begins the next: rarely one word that was cut."""


def cut_at(lines: Sequence[Line], has_own: Callable[[str], bool]) -> int:
    """Return the characters at which longer lines were cut, also within words (fold -w); 0 if none were.

    No line is wider, few end where a word did not fit, and no rule is as wide; two or more of those joined are lines of
    a tool, some of them cut within a word.
    """
    widest = max((line.width for line in lines), default=0)
    cut = sum(line.width == widest for line in lines)
    if widest not in _FOLDED or cut < FEWEST_CUT:
        return 0
    pairs = list(pairwise(lines))
    nearly = (_is_full(one, after, widest) for one, after in pairs if one.width < widest and not has_own(after.text))
    if sum(nearly) > cut or any(
        one.width == widest and _RULE.fullmatch(one.text) and not _OF_RULE.fullmatch(after.text) for one, after in pairs
    ):
        return 0
    joints: list[str] = []
    for number, parts in _cut_lines(lines, has_own, widest):
        whole = "".join(parts)
        if number > 1 and (has_own(whole) or _LABELLED.fullmatch(whole)):
            joints += [one[-1:] + other[:1] for one, other in pairwise(parts)]
    within = [joint for joint in joints if " " not in joint and not _OF_TWO_WORDS.fullmatch(joint)]
    at_blank = sum(" " in joint for joint in joints)
    is_cut = within and FEWEST_CUT <= len(within) + at_blank >= len(joints) / 2
    return widest if is_cut else 0


def _cut_lines(lines: Sequence[Line], has_own: Callable[[str], bool], widest: int) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of lines that each line was cut into, and their texts."""
    parts: list[str] = []
    goes_on = False
    for line in lines:
        alone = not line.width or has_own(line.text) or _LABELLED.fullmatch(line.text)
        if parts and (not goes_on or alone):
            yield len(parts), parts
            parts = []
        parts.append(line.text + " " * line.blanks)
        goes_on = line.width == widest
    if parts:
        yield len(parts), parts


def uncut(lines: Sequence[Line], has_own: Callable[[str], bool]) -> list[Line]:
    """Return `lines` with each that is as wide as the terminal joined with the next one, which continues it."""
    widest = max((len(line.text) for line in lines), default=0)
    if widest < _WRAPPED[0] or sum(len(line.text) == widest for line in lines) < FEWEST_CUT:
        return list(lines)
    found: list[Line] = []
    goes_on = False
    for line in lines:
        if goes_on and not has_own(line.text):
            found[-1] = found[-1].with_text(found[-1].text + line.text)
        else:
            found.append(line)
        goes_on = len(line.text) == widest
    return found


_OMISSION = re.compile(
    r"\[(?:\.{2,9}|…|snip(?:ped)?|cut|truncated)\]|<(?:\.{2,9}|snip(?:ped)?|cut)>|\(\.{3}\)|…|\.{3,9}|"
    r"-{1,9} ?(?:8<|snip) ?-{1,9}",
    re.IGNORECASE,
)


def omission(line: str) -> str:
    """Return the mark that people write in place of lines that they leave out, if `line` is one, else ""."""
    stripped = line.strip()
    return stripped if _OMISSION.fullmatch(stripped) else ""


def dedented(lines: Sequence[str], first: str) -> list[str]:
    """Return `lines` without the blanks that `first` begins with, as far as they have them."""
    most = len(first) - len(first.lstrip(" \t"))
    return [line[min(most, len(line) - len(line.lstrip(" \t"))) :] for line in lines]
