"""The shell's grammar as far as it says what runs and which files are named (POSIX, Shell Command Language; bash).

Every part of a word is kept apart by what a shell does with it, so that what is quoted is no pattern, and what only a
shell can know is not taken for text.
"""

import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice, product

MOST_FORMS = 64
"""Forms that braces and default values may give one word."""

PIPE = "<()"
"""The text of commands of whose input or output the shell makes a pipe with a name of its own."""

DEEPEST = 8
"""Commands within words within commands."""


class Kind(StrEnum):
    """What a shell does with a part of a word."""

    TEXT = "text"
    GLOB = "glob"
    VARIABLE = "variable"
    COMMANDS = "commands"
    """The output of commands."""
    FIGURE = "figure"
    """A number."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a word: its text, its pattern, the name of its variable, or its source."""

    kind: Kind
    text: str
    inner: tuple["Command", ...] = ()
    quoted: bool = False
    """It stays one word, whatever blanks it has."""
    default: tuple["Part", ...] | None = None
    """What it is where the variable is not set."""


Parts = tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Word:
    """A word in each form that it may have: braces and default values give several."""

    text: str
    """The word with its quotation marks taken away, and all else as it is written."""
    forms: tuple[Parts, ...]

    @property
    def inner(self) -> Iterator["Command"]:
        """The commands whose output is a part of the word."""
        return (
            command for part in dict.fromkeys(part for form in self.forms for part in form) for command in part.inner
        )


@dataclass(slots=True)
class Command:
    """A simple command with what its redirections write to and read."""

    words: list[Word] = field(default_factory=list)
    written: list[Word] = field(default_factory=list)
    read: list[Word] = field(default_factory=list)
    sure: bool = True
    """It runs whatever the commands before it return."""
    piped: bool = False
    """It reads what the command before it prints."""
    defines: bool = False
    """Its first word is the name of a function that is defined here."""

    @property
    def texts(self) -> list[str]:
        """The words without their quotation marks."""
        return [word.text for word in self.words]

    def __hash__(self) -> int:
        """Tell commands apart as objects."""
        return id(self)


def plain_word(text: str) -> Word:
    """Return a word that no shell reads."""
    return Word(text, ((Part(Kind.TEXT, text),),))


def commands(text: str, *, by_shell: bool) -> tuple[Command, ...]:
    """Return the simple commands of `text` in order, those within words not among them.

    Without a shell, it is one. Raises ValueError where a quotation or substitution has no end.
    """
    if not by_shell:
        return (Command([plain_word(word) for word in shlex.split(text)]),)
    return _Reader(text).commands()


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
_DEFAULT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*):?([-=+?])")
CUT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(%%?|##?)([\w.*/~-]*)")
"""A variable without its end or its beginning."""
_REDIRECTION = re.compile(r"(?:[0-9]*|&)(<<<|<<|<>|<&|>>|>\||>&|<|>)")
_BRACES = re.compile(r"\{[^\s{}]*(?:,|\.\.)[^\s{}]*\}")


class _Reader:
    """One text, and where in it the reader is."""

    def __init__(self, text: str, at: int = 0, depth: int = 0) -> None:
        self.text = text
        self.at = at
        self.depth = depth
        if depth > DEEPEST:
            raise ValueError("nested too deeply")

    def commands(self, end: str = "") -> tuple[Command, ...]:
        """Return the commands up to the sign `end` that belongs to what is around them."""
        found = [Command()]
        opened = 0
        while self.at < len(self.text):
            sign = self.text[self.at]
            if sign == end and not opened:
                self.at += 1
                return _full(found)
            if sign in " \t\r":
                self.at += 1
            elif sign == "#":
                self._until_line_ends()
            elif self._redirection(found[-1]):
                continue
            elif sign in ";&|()\n":
                opened = max(0, opened + {"(": 1, ")": -1}.get(sign, 0))
                found.append(self._operator(found[-1]))
            else:
                found[-1].words += self._word()
        if end:
            raise ValueError(f"no {end}")
        return _full(found)

    def _until_line_ends(self) -> None:
        ends = self.text.find("\n", self.at)
        self.at = len(self.text) if ends < 0 else ends

    def _operator(self, before: Command) -> Command:
        match = re.compile(r"\|\||&&|\|&?|[;&()\n]").match(self.text, self.at)
        sign = match[0] if match else ""
        if sign == "(" and len(before.words) == 1 and re.match(r"\(\s*\)", self.text[self.at :]):
            before.defines = True
        self.at += len(sign)
        return Command(sure=sign not in {"&&", "||"}, piped=sign in {"|", "|&"})

    def _redirection(self, command: Command) -> bool:
        """Read a redirection; tell whether there was one."""
        match = _REDIRECTION.match(self.text, self.at)
        if match is None or self.text[self.at : self.at + 2] in {"<(", ">("}:
            return False
        if match[1] == "<<":
            raise ValueError("a here-document")
        self.at = match.end()
        while self.text[self.at : self.at + 1] in {" ", "\t"}:
            self.at += 1
        into = command.read if match[1] in {"<", "<<<", "<&"} else command.written
        words = self._word()
        if not match[1].endswith("&") or not re.fullmatch(r"[0-9]*-?", words[0].text):
            into += words
        return True

    def _word(self) -> list[Word]:
        begins = self.at
        parts: list[Part] = []
        while self.at < len(self.text) and self.text[self.at] not in " \t\r\n;&|()<>":
            parts += self._part(first=not parts or parts[-1].text[-1:] in {"=", ":"}, quoted=False)
        if self.at == begins:
            if self.text[self.at : self.at + 2] not in {"<(", ">("}:
                raise ValueError("no word")
            self.at += 2
            parts = [Part(Kind.COMMANDS, PIPE, self._inner(")"))]
        return _words(parts)

    def _part(self, *, first: bool, quoted: bool) -> list[Part]:
        """Read the next part of a word, which is in double quotation marks or in none."""
        sign = self.text[self.at]
        self.at += 1
        if sign == "\\":
            return self._escaped(quoted=quoted)
        if sign in "$`":
            return self._expansion(sign, quoted=quoted)
        if sign == '"' and not quoted:
            return self._quoted()
        if sign == "~" and first and not quoted:
            return self._home()
        if sign == "'" and not quoted:
            return [Part(Kind.TEXT, self._up_to("'"))]
        return [Part(Kind.GLOB if sign in "*?[{},." and not quoted else Kind.TEXT, sign)]

    def _escaped(self, *, quoted: bool) -> list[Part]:
        sign = self.text[self.at : self.at + 1] or "\\"
        self.at += 1
        if sign == "\n":
            return []
        return [Part(Kind.TEXT, sign if not quoted or sign in '$`"\\' else f"\\{sign}")]

    def _quoted(self) -> list[Part]:
        parts = [Part(Kind.TEXT, "")]
        while self.text[self.at : self.at + 1] != '"':
            if self.at >= len(self.text):
                raise ValueError("no quotation mark")
            parts += self._part(first=False, quoted=True)
        self.at += 1
        return parts

    def _home(self) -> list[Part]:
        match = re.compile(r"[+\w.-]*").match(self.text, self.at)
        name = match[0] if match else ""
        self.at += len(name)
        if name in {"", "+"}:
            return [Part(Kind.VARIABLE, "PWD" if name else "HOME")]
        return [Part(Kind.UNKNOWN, f"~{name}")]

    def _up_to(self, sign: str) -> str:
        ends = self.text.find(sign, self.at)
        if ends < 0:
            raise ValueError(f"no {sign}")
        text, self.at = self.text[self.at : ends], ends + len(sign)
        return text

    def _inner(self, end: str) -> tuple[Command, ...]:
        reader = _Reader(self.text, self.at, self.depth + 1)
        found = reader.commands(end)
        self.at = reader.at
        return found

    def _expansion(self, sign: str, *, quoted: bool) -> list[Part]:
        """Read what follows a dollar sign or a backquote."""
        after = self.text[self.at : self.at + 1]
        if sign == "`":
            return [self._backquoted(quoted=quoted)]
        if after == "(":
            return [self._arithmetic() or self._output(quoted=quoted)]
        if after == "{":
            self.at += 1
            return [self._braced(quoted=quoted)]
        if after in {"'", '"'} and after and not quoted:
            return [self._escapes()] if after == "'" else []
        name = _NAME.match(self.text, self.at)
        self.at = name.end() if name else self.at
        return [Part(Kind.VARIABLE, name[0], quoted=quoted) if name else Part(Kind.TEXT, "$")]

    def _backquoted(self, *, quoted: bool) -> Part:
        match = re.compile(r"((?:[^`\\]|\\.)*)`", re.DOTALL).match(self.text, self.at)
        if match is None:
            raise ValueError("no `")
        self.at = match.end()
        text = re.sub(r"\\([$`\\])" if not quoted else r'\\([$`\\"])', r"\1", match[1])
        return Part(Kind.COMMANDS, match[0], _Reader(text, 0, self.depth + 1).commands(), quoted)

    def _output(self, *, quoted: bool) -> Part:
        begins = self.at
        self.at += 1
        found = self._inner(")")
        return Part(Kind.COMMANDS, f"${self.text[begins : self.at]}", found, quoted)

    def _escapes(self) -> Part:
        """Read ``$'...'``, where a backslash may stand for any character."""
        match = re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL).match(self.text, self.at)
        if match is None:
            raise ValueError("no '")
        self.at = match.end()
        return Part(Kind.UNKNOWN if "\\" in match[1] else Kind.TEXT, match[1])

    def _arithmetic(self) -> Part | None:
        """Read ``((...))``; None where it is no arithmetic."""
        if not self.text.startswith("((", self.at):
            return None
        opened, at = 0, self.at
        while at < len(self.text):
            opened += {"(": 1, ")": -1}.get(self.text[at], 0)
            at += 1
            if not opened:
                break
        inside = self.text[self.at + 2 : at - 2]
        if opened or not self.text.startswith("))", at - 2):
            return None
        self.at = at
        found = _Reader(f'"{inside}"', 0, self.depth + 1).commands() if re.search("[$`]", inside) else ()
        return Part(Kind.FIGURE, inside, found)

    def _braced(self, *, quoted: bool) -> Part:
        """Read ``${...}`` after its brace."""
        begins = self.at
        default = _DEFAULT.match(self.text, self.at)
        self.at = default.end() if default else self.at
        parts: list[Part] = []
        while self.text[self.at : self.at + 1] != "}":
            if self.at >= len(self.text):
                raise ValueError("no }")
            parts += self._part(first=False, quoted=self.text[self.at] not in "'\"")
        text = self.text[begins : self.at]
        self.at += 1
        if default:
            return Part(Kind.VARIABLE, default[1], _inner(parts), quoted, _merged(parts) if parts else ())
        if re.fullmatch(_NAME.pattern, text) or CUT.fullmatch(text):
            return Part(Kind.VARIABLE, text, quoted=quoted)
        if re.fullmatch(r"#\w+(?:\[[@*]\])?", text):
            return Part(Kind.FIGURE, text)
        return Part(Kind.UNKNOWN, text, _inner(parts))


def _full(found: list[Command]) -> tuple[Command, ...]:
    return tuple(command for command in found if command.words or command.written or command.read)


def _words(parts: list[Part]) -> list[Word]:
    """Return a word: with each form that its braces and its default values may have."""
    text = "".join(_source(part) for part in parts)
    forms = dict.fromkeys(_merged(list(form)) for each in _expanded(parts) for form in _with_defaults(each))
    found = tuple(islice(forms, MOST_FORMS + 1))
    return [Word(text, found if len(found) <= MOST_FORMS else ((Part(Kind.UNKNOWN, text, _inner(parts)),),))]


def _inner(parts: Iterable[Part]) -> tuple[Command, ...]:
    return tuple(command for part in parts for command in part.inner)


def _source(part: Part) -> str:
    if part.kind is Kind.VARIABLE:
        return f"${part.text}" if re.fullmatch(r"\w+|\W", part.text) else f"${{{part.text}}}"
    if part.kind is Kind.FIGURE and not part.text.startswith(("/", "#")):
        return f"$(({part.text}))"
    return part.text


def _merged(parts: list[Part] | Parts) -> Parts:
    """Return `parts` with neighbouring text as one; a brace, a comma or a dot that is left is text."""
    found: list[Part] = []
    for part in parts:
        each = Part(Kind.TEXT, part.text) if part.kind is Kind.GLOB and part.text in "{},." else part
        if each.kind is Kind.TEXT and found and found[-1].kind is Kind.TEXT:
            found[-1] = Part(Kind.TEXT, found[-1].text + each.text)
        elif each.text or each.kind is not Kind.TEXT or not found:
            found.append(each)
    return tuple(found)


def _expanded(parts: list[Part]) -> list[Parts]:
    """Return a word as it is, and those that braces make of it, as bash has it: ``a{b,c}`` is ``ab`` and ``ac``."""
    found: list[Parts] = [tuple(parts)]
    left = [parts]
    while left:
        made = _opened_braces(left.pop())
        if not made:
            continue
        found += map(tuple, made)
        left += made
        if len(found) > MOST_FORMS:
            return [(Part(Kind.UNKNOWN, "{", _inner(parts)),)]
    return found


def _opened_braces(parts: list[Part]) -> list[list[Part]]:
    """Return the words that the first braces of one make of it; none where it has none."""
    signs = "".join(part.text if part.kind is Kind.GLOB and part.text in "{},." else "x" for part in parts)
    match = _BRACES.search(signs)
    if match is None:
        return []
    if match.start() and parts[match.start() - 1].kind is Kind.VARIABLE:  # braces come first: $A{B,C} is $AB and $AC
        return [[Part(Kind.UNKNOWN, "{", _inner(parts))]]
    pieces: list[list[Part]] = [[]]
    for part in parts[match.start() + 1 : match.end() - 1]:
        if part.kind is Kind.GLOB and part.text == ",":
            pieces.append([])
        else:
            pieces[-1].append(part)
    if len(pieces) == 1:
        pieces = [[Part(Kind.GLOB, "*")]]
    return [[*parts[: match.start()], *piece, *parts[match.end() :]] for piece in pieces]


def _with_defaults(parts: Parts) -> Iterator[Parts]:
    """Yield `parts` with each ``${NAME:-text}`` as the variable and as the text."""
    choices = [((part,), part.default) if part.default is not None else ((part,),) for part in parts]
    for form in islice(product(*choices), MOST_FORMS + 1):
        yield tuple(part for each in form for part in each)
