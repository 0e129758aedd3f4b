"""Parser of shell grammar as far as it determines programs and file names (POSIX, Shell Command Language; bash).

Each part of a word keeps its kind of expansion, so that a quoted text is not a pattern, and a part that only a shell
can expand is not taken for text.
"""

import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice, product

MOST_FORMS = 64
"""Maximum expansions of one word by braces and default values."""

PIPE = "<()"
"""Text of commands whose input or output the shell connects to a named pipe."""

DEEPEST = 8
"""Maximum depth of command substitutions."""


class PartKind(StrEnum):
    """Kind of expansion of a part of a word."""

    TEXT = "text"
    GLOB = "glob"
    VARIABLE = "variable"
    COMMANDS = "commands"
    """The output of commands."""
    FIGURE = "figure"
    """A number."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class WordPart:
    """A part of a word: its text, pattern, variable name or source."""

    kind: PartKind
    text: str
    inner: tuple["ShellCommand", ...] = ()
    quoted: bool = False
    """Quoted: not split at blanks."""
    default: tuple["WordPart", ...] | None = None
    """The value if the variable is not set."""


Parts = tuple[WordPart, ...]


@dataclass(frozen=True, slots=True)
class Word:
    """A word with all its expansions by braces and default values."""

    text: str
    """The word without quotation marks, otherwise as written."""
    forms: tuple[Parts, ...]

    @property
    def inner(self) -> Iterator["ShellCommand"]:
        """The command substitutions of the word."""
        return (
            command for part in dict.fromkeys(part for form in self.forms for part in form) for command in part.inner
        )


@dataclass(slots=True)
class ShellCommand:
    """A simple command with the write and read targets of its redirections."""

    words: list[Word] = field(default_factory=list)
    written: list[Word] = field(default_factory=list)
    read: list[Word] = field(default_factory=list)
    sure: bool = True
    """It runs whatever the commands before it return."""
    piped: bool = False
    """It reads the output of the command before it."""
    defines: bool = False
    """Its first word is the name of a function defined on the line."""

    @property
    def texts(self) -> list[str]:
        """The words without their quotation marks."""
        return [word.text for word in self.words]

    def __hash__(self) -> int:
        """Compare commands by identity."""
        return id(self)


def plain_word(text: str) -> Word:
    """Return a word that no shell expands."""
    return Word(text, ((WordPart(PartKind.TEXT, text),),))


def commands(text: str, *, by_shell: bool) -> tuple[ShellCommand, ...]:
    """Return the simple commands of `text` in order, without those of substitutions.

    Without a shell, it is one command. Raises ValueError for an unclosed quotation or substitution.
    """
    if not by_shell:
        return (ShellCommand([plain_word(word) for word in shlex.split(text)]),)
    return _Reader(text).commands()


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
_DEFAULT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*):?([-=+?])")
CUT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(%%?|##?)([\w.*/~-]*)")
"""A suffix or prefix removal of a variable."""
_REDIRECTION = re.compile(r"(?:[0-9]*|&)(<<<|<<|<>|<&|>>|>\||>&|<|>)")
_BRACES = re.compile(r"\{[^\s{}]*(?:,|\.\.)[^\s{}]*\}")


class _Reader:
    """Recursive-descent parser: a text and the position in it."""

    def __init__(self, text: str, at: int = 0, depth: int = 0) -> None:
        self.text = text
        self.at = at
        self.depth = depth
        if depth > DEEPEST:
            raise ValueError("nested too deeply")

    def commands(self, end: str = "") -> tuple[ShellCommand, ...]:
        """Return the commands up to the closing token `end` of the enclosing construct."""
        found = [ShellCommand()]
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

    def _operator(self, before: ShellCommand) -> ShellCommand:
        match = re.compile(r"\|\||&&|\|&?|[;&()\n]").match(self.text, self.at)
        sign = match[0] if match else ""
        if sign == "(" and len(before.words) == 1 and re.match(r"\(\s*\)", self.text[self.at :]):
            before.defines = True
        self.at += len(sign)
        return ShellCommand(sure=sign not in {"&&", "||"}, piped=sign in {"|", "|&"})

    def _redirection(self, command: ShellCommand) -> bool:
        """Parse a redirection; return whether there was one."""
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
        parts: list[WordPart] = []
        while self.at < len(self.text) and self.text[self.at] not in " \t\r\n;&|()<>":
            parts += self._part(first=not parts or parts[-1].text[-1:] in {"=", ":"}, quoted=False)
        if self.at == begins:
            if self.text[self.at : self.at + 2] not in {"<(", ">("}:
                raise ValueError("no word")
            self.at += 2
            parts = [WordPart(PartKind.COMMANDS, PIPE, self._inner(")"))]
        return _words(parts)

    def _part(self, *, first: bool, quoted: bool) -> list[WordPart]:
        """Parse the next part of a word, inside or outside double quotation marks."""
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
            return [WordPart(PartKind.TEXT, self._up_to_quote())]
        return [WordPart(PartKind.GLOB if sign in "*?[{},." and not quoted else PartKind.TEXT, sign)]

    def _escaped(self, *, quoted: bool) -> list[WordPart]:
        sign = self.text[self.at : self.at + 1] or "\\"
        self.at += 1
        if sign == "\n":
            return []
        return [WordPart(PartKind.TEXT, sign if not quoted or sign in '$`"\\' else f"\\{sign}")]

    def _quoted(self) -> list[WordPart]:
        parts = [WordPart(PartKind.TEXT, "")]
        while self.text[self.at : self.at + 1] != '"':
            if self.at >= len(self.text):
                raise ValueError("no quotation mark")
            parts += self._part(first=False, quoted=True)
        self.at += 1
        return parts

    def _home(self) -> list[WordPart]:
        match = re.compile(r"[+\w.-]*").match(self.text, self.at)
        name = match[0] if match else ""
        self.at += len(name)
        if name in {"", "+"}:
            return [WordPart(PartKind.VARIABLE, "PWD" if name else "HOME")]
        return [WordPart(PartKind.UNKNOWN, f"~{name}")]

    def _up_to_quote(self) -> str:
        ends = self.text.find("'", self.at)
        if ends < 0:
            raise ValueError("no '")
        text, self.at = self.text[self.at : ends], ends + 1
        return text

    def _inner(self, end: str) -> tuple[ShellCommand, ...]:
        reader = _Reader(self.text, self.at, self.depth + 1)
        found = reader.commands(end)
        self.at = reader.at
        return found

    def _expansion(self, sign: str, *, quoted: bool) -> list[WordPart]:
        """Parse what follows a dollar sign or a backquote."""
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
        return [WordPart(PartKind.VARIABLE, name[0], quoted=quoted) if name else WordPart(PartKind.TEXT, "$")]

    def _backquoted(self, *, quoted: bool) -> WordPart:
        match = re.compile(r"((?:[^`\\]|\\.)*)`", re.DOTALL).match(self.text, self.at)
        if match is None:
            raise ValueError("no `")
        self.at = match.end()
        text = re.sub(r"\\([$`\\])" if not quoted else r'\\([$`\\"])', r"\1", match[1])
        return WordPart(PartKind.COMMANDS, match[0], _Reader(text, 0, self.depth + 1).commands(), quoted)

    def _output(self, *, quoted: bool) -> WordPart:
        begins = self.at
        self.at += 1
        found = self._inner(")")
        return WordPart(PartKind.COMMANDS, f"${self.text[begins : self.at]}", found, quoted)

    def _escapes(self) -> WordPart:
        """Parse ``$'...'``, where backslash escapes stand for any character."""
        match = re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL).match(self.text, self.at)
        if match is None:
            raise ValueError("no '")
        self.at = match.end()
        return WordPart(PartKind.UNKNOWN if "\\" in match[1] else PartKind.TEXT, match[1])

    def _arithmetic(self) -> WordPart | None:
        """Parse ``((...))``; None if it is not arithmetic."""
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
        return WordPart(PartKind.FIGURE, inside, found)

    def _braced(self, *, quoted: bool) -> WordPart:
        """Parse ``${...}`` after its brace."""
        begins = self.at
        default = _DEFAULT.match(self.text, self.at)
        self.at = default.end() if default else self.at
        parts: list[WordPart] = []
        while self.text[self.at : self.at + 1] != "}":
            if self.at >= len(self.text):
                raise ValueError("no }")
            parts += self._part(first=False, quoted=self.text[self.at] not in "'\"")
        text = self.text[begins : self.at]
        self.at += 1
        if default:
            return WordPart(PartKind.VARIABLE, default[1], _inner(parts), quoted, _merged(parts) if parts else ())
        if re.fullmatch(_NAME.pattern, text) or CUT.fullmatch(text):
            return WordPart(PartKind.VARIABLE, text, quoted=quoted)
        if re.fullmatch(r"#\w+(?:\[[@*]\])?", text):
            return WordPart(PartKind.FIGURE, text)
        return WordPart(PartKind.UNKNOWN, text, _inner(parts))


def _full(found: list[ShellCommand]) -> tuple[ShellCommand, ...]:
    return tuple(command for command in found if command.words or command.written or command.read)


def _words(parts: list[WordPart]) -> list[Word]:
    """Return a word with all expansions of its braces and default values."""
    text = "".join(_source(part) for part in parts)
    forms = dict.fromkeys(_merged(list(form)) for each in _expanded(parts) for form in _with_defaults(each))
    found = tuple(islice(forms, MOST_FORMS + 1))
    return [Word(text, found if len(found) <= MOST_FORMS else ((WordPart(PartKind.UNKNOWN, text, _inner(parts)),),))]


def _inner(parts: Iterable[WordPart]) -> tuple[ShellCommand, ...]:
    return tuple(command for part in parts for command in part.inner)


def _source(part: WordPart) -> str:
    if part.kind is PartKind.VARIABLE:
        return f"${part.text}" if re.fullmatch(r"\w+|\W", part.text) else f"${{{part.text}}}"
    if part.kind is PartKind.FIGURE and not part.text.startswith(("/", "#")):
        return f"$(({part.text}))"
    return part.text


def _merged(parts: list[WordPart] | Parts) -> Parts:
    """Return `parts` with adjacent texts merged; remaining braces, commas and dots become text."""
    found: list[WordPart] = []
    for part in parts:
        each = WordPart(PartKind.TEXT, part.text) if part.kind is PartKind.GLOB and part.text in "{},." else part
        if each.kind is PartKind.TEXT and found and found[-1].kind is PartKind.TEXT:
            found[-1] = WordPart(PartKind.TEXT, found[-1].text + each.text)
        elif each.text or each.kind is not PartKind.TEXT or not found:
            found.append(each)
    return tuple(found)


def _expanded(parts: list[WordPart]) -> list[Parts]:
    """Return a word and its brace expansions, as in bash: ``a{b,c}`` is ``ab`` and ``ac``."""
    found: list[Parts] = [tuple(parts)]
    left = [parts]
    while left:
        made = _opened_braces(left.pop())
        if not made:
            continue
        found += map(tuple, made)
        left += made
        if len(found) > MOST_FORMS:
            return [(WordPart(PartKind.UNKNOWN, "{", _inner(parts)),)]
    return found


def _opened_braces(parts: list[WordPart]) -> list[list[WordPart]]:
    """Return the expansions of a word's first braces; none if it has none."""
    signs = "".join(part.text if part.kind is PartKind.GLOB and part.text in "{},." else "x" for part in parts)
    match = _BRACES.search(signs)
    if match is None:
        return []
    if (
        match.start() and parts[match.start() - 1].kind is PartKind.VARIABLE
    ):  # braces are expanded first: $A{B,C} is $AB and $AC
        return [[WordPart(PartKind.UNKNOWN, "{", _inner(parts))]]
    pieces: list[list[WordPart]] = [[]]
    for part in parts[match.start() + 1 : match.end() - 1]:
        if part.kind is PartKind.GLOB and part.text == ",":
            pieces.append([])
        else:
            pieces[-1].append(part)
    if len(pieces) == 1:
        pieces = [[WordPart(PartKind.GLOB, "*")]]
    return [[*parts[: match.start()], *piece, *parts[match.end() :]] for piece in pieces]


def _with_defaults(parts: Parts) -> Iterator[Parts]:
    """Yield `parts` with each ``${NAME:-text}`` as the variable and as the text."""
    choices = [((part,), part.default) if part.default is not None else ((part,),) for part in parts]
    for form in islice(product(*choices), MOST_FORMS + 1):
        yield tuple(part for each in form for part in each)
