"""Read a command line back into the values of a suite: the inverse of Suite.commands(). Nothing is executed."""

import itertools
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Protocol, Self

from suites.command.program_rules import name_of, starts
from suites.command.shell_parser import commands
from suites.errors import ParameterError
from suites.parameters import NUMERIC, Parameter, Type, Value, Values
from suites.programs import Program

Words = Sequence[str]

LONGEST_LINE, LONGEST_WORD, MOST_WORDS = 32 * 1024, 512, 1500
"""Maximum characters of a text and of a word, and words of a text, that are read while the user types."""

MOST_COMBINATIONS = 64
"""Maximum combinations of choices that are rendered for one line."""

PASSES = 3
"""Renderings after which the options that a line lacks have their defaults: one may enable another."""

SECOND = "another command; a step has one."

_CONTINUATION = re.compile(r"\\[ \t]*\r?\n[ \t]*")
_HOST = r"(?:\[[^\]\n]{0,80}\]|[\w.-]{1,64}@[\w.-]{1,64}:\S{0,200}?)"
_PROMPT = re.compile(rf"^[ \t]*(?:{_HOST}[$#]|\$)[ \t]+", re.MULTILINE)
"""A shell prompt: ``$``, ``root@web-1:~#``, ``[ann@web-1 ~]$``."""

_ROOT_PROMPT = re.compile(r"^[ \t]*#[ \t]+", re.MULTILINE)
_COMMENT = re.compile(r"^[ \t]*#.*\n?", re.MULTILINE)

SHELL_WORD = re.compile(r"""(?:[^\s'"]|'[^']*'|"[^"]*")+""")
"""A word with its quotation marks."""

_HARMLESS = frozenset({"sudo", "env", "-n", "-E", "--"})


def _unchanged(words: Words) -> list[str]:
    return list(words)


class Respelled(str):
    """A word in the spelling that is read, and as it was `typed`."""

    __slots__ = ("typed",)
    typed: str

    def __new__(cls, word: str, typed: str) -> Self:
        """Return `word`, which was typed as `typed`, or as the word was from which that one was made."""
        made = super().__new__(cls, word)
        made.typed = as_typed(typed)
        return made


def as_typed(word: str) -> str:
    """Return a word of a command line as it was typed."""
    return word.typed if isinstance(word, Respelled) else word


@dataclass(frozen=True, slots=True)
class UnreadWord:
    """A word of a command line that could not be read, and why; without a word, the line itself.

    One that does not `block` is named, and does not prevent the start.
    """

    word: str
    why: str
    blocks: bool = True

    @property
    def text(self) -> str:
        """The word and the reason in one line."""
        word = self.word if len(self.word) <= 60 else f"{self.word[:57]}…"
        return f"{word}: {self.why}" if word else self.why


def _none(_words: Words) -> list[UnreadWord]:
    return []


@dataclass(frozen=True, slots=True)
class CommandSyntax:
    """How the command line of a suite states its parameters.

    `programs` are the names after which its own words begin, by default those of the tool; `operand` is a word among
    them that identifies the suite. `extra` maps an option with a value (``-t``, ``--time``; ``bs`` for ``bs=4k``) to
    its parameter, beside those that the parameters declare. `aliases` are other spellings of options and words.
    Parameters in `choices` are identified by the words that they add: the most similar rendering is used.
    `texts` converts the tool's text of a parameter, `absent` is its value where the line lacks its option, if not the
    tool's default; `joined` are lists with a value in each line. `unshown` are never part of the rendered line.
    `normalised` prepares the words after the program, Respelled where it changes them, without those that `refused`
    names with the reason; `invisible` are parameters whose declared option is not one of that line. Parameters in
    `paths` hold the path of a program that replaces the tool.
    """

    programs: tuple[str, ...] = ()
    operand: str = ""
    extra: Mapping[str, str] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    choices: tuple[str, ...] = ()
    texts: Mapping[str, Callable[[str], str]] = field(default_factory=dict)
    absent: Mapping[str, Value] = field(default_factory=dict)
    joined: frozenset[str] = frozenset()
    unshown: frozenset[str] = frozenset()
    invisible: frozenset[str] = frozenset()
    normalised: Callable[[Words], list[str]] = _unchanged
    refused: Callable[[Words], list[UnreadWord]] = _none
    paths: tuple[str, ...] = ()

    def options(self, parameters: Iterable[Parameter]) -> dict[str, str]:
        """Return the parameter of each option."""
        declared = {
            option: known.name
            for known in parameters
            if known.name not in {*self.choices, *self.invisible}
            for option in known.option.replace("=", "").split(", ")
            if option
        }
        return {**declared, **self.extra}

    def readable(self, parameters: Sequence[Parameter]) -> frozenset[str]:
        """Return the names of the parameters that a line states."""
        return frozenset({*self.options(parameters).values(), *self.choices} - self.unshown)


@dataclass(frozen=True, slots=True)
class ParsedCommand:
    """The values of a command line, and the words that could not be read; `bare`: the program is all that was read.

    `unvalued` are the parameters of these words: the line states another value, such as a variable of the shell.
    """

    values: Mapping[str, Value]
    unread: tuple[UnreadWord, ...] = ()
    bare: bool = False
    unvalued: frozenset[str] = frozenset()

    @property
    def can_start(self) -> bool:
        """Whether no unread word prevents the start."""
        return not any(each.blocks for each in self.unread)

    @property
    def is_refused(self) -> bool:
        """Whether the values are not those of the line."""
        return self.bare or not all(each.word for each in self.unread)


class HostCommand(Protocol):
    """A command as this module reads it (suites.base.Command)."""

    @property
    def argv(self) -> tuple[str, ...]:
        """Its words."""
        ...

    @property
    def line(self) -> str:
        """The equivalent shell command line."""
        ...

    @property
    def purpose(self) -> str:
        """Why it runs."""
        ...

    @property
    def on_peer(self) -> bool:
        """Whether it runs on the peer."""
        ...


class ReadableSuite(Protocol):
    """A suite as this module reads it (suites.base.Suite)."""

    program: Program
    parameters: tuple[Parameter, ...]
    syntax: CommandSyntax

    def commands(self, values: Values, context: Any) -> Sequence[HostCommand]:
        """Return all commands of a trial in order."""
        ...


@dataclass(slots=True)
class _Scan:
    """The words of a command line: texts by parameter with the words they are in, and all other words."""

    given: dict[str, list[str]] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    rest: list[str] = field(default_factory=list)


def measured(commands_: Iterable[HostCommand]) -> list[HostCommand]:
    """Return the commands of the measurement on the host: those whose lines are edited."""
    return [command for command in commands_ if command.purpose == "measure" and not command.on_peer]


def command_text(suite: ReadableSuite, values: Values, context: Any) -> str:
    """Return the command lines of the measurement, as parse_command() reads them."""
    return "\n".join(command.line for command in measured(suite.commands(values, context)))


def without_prompts(text: str) -> str:
    """Return the lines of `text` without prompts, line continuations and lines that are comments.

    A ``#`` is the prompt of root if each line begins with one or has another prompt; else it begins a comment.
    """
    joined = _CONTINUATION.sub(" ", text)
    plain = _PROMPT.sub("", joined)
    as_root = all(line.lstrip()[:1] in {"#", ""} for line in joined.splitlines())
    return (_ROOT_PROMPT if as_root else _COMMENT).sub("", plain)


def lines_of(text: str) -> list[list[str]]:
    """Return the words of each command in `text`; raise ValueError for an unclosed quotation mark or too long a text.

    A redirection is a word of its own.
    """
    return [list(line) for line in _lines_of(text)]


@lru_cache(4)  # every suite reads the same text
def _lines_of(text: str) -> tuple[tuple[str, ...], ...]:
    words = text.split()
    if len(text) > LONGEST_LINE or len(words) > MOST_WORDS or any(len(word) > LONGEST_WORD for word in words):
        raise ValueError(f"Longer than {LONGEST_LINE} characters, {MOST_WORDS} words or {LONGEST_WORD} in a word.")
    try:
        found = commands(without_prompts(text), by_shell=True)
    except (ValueError, RecursionError):
        raise ValueError("Unclosed quotation mark or bracket.") from None
    return tuple(
        (*one.texts, *(f"> {word.text}" for word in one.written), *(f"< {word.text}" for word in one.read))
        for one in found
        if one.texts or one.written
    )


def parse_command(suite: ReadableSuite, text: str, current: Values, context: Any) -> ParsedCommand | None:
    """Return the values of a suite that `text` states; None if it does not start the suite's program.

    A word that the line of the `current` values contains, too, changes nothing. An option that `text` lacks has the
    tool's default. Values that no line states stay as they are.
    """
    try:
        lines = lines_of(text)
    except ValueError as error:
        return ParsedCommand(current, (UnreadWord("", str(error)),))
    reader = _Reader(suite, context, current)
    if not any(reader.starts(line) for line in lines):
        return None
    found = reader.read(lines)
    unread = {word for each in found.unread for word in each.word.split()}
    bare = bool(unread) and {name_of(word) for line in lines for word in line if word not in unread} <= reader.names
    quoted = {_unquoted(word): word for word in SHELL_WORD.findall(text)}
    shown = (replace(each, word=_quoted(each.word, quoted, text)) for each in found.unread)
    return replace(found, unread=tuple(sorted(shown, key=lambda each: not each.blocks)), bare=bare)


def _unquoted(word: str) -> str:
    try:
        return "".join(shlex.split(word))
    except ValueError:
        return word


def _quoted(word: str, quoted: Mapping[str, str], text: str) -> str:
    """Return a word or a redirection as it is in `text`."""
    if word[:2] in {"> ", "< "} and (found := re.search(rf"[\d&]*[<>|&]+\s*{re.escape(word[2:])}", text)):
        return found[0]
    return quoted.get(word, word)


class _Reader:
    """Reads lines as values of one suite."""

    def __init__(self, suite: ReadableSuite, context: Any, current: Values) -> None:
        self._suite, self._context, self._current = suite, context, current
        self._syntax = suite.syntax
        self._options = self._syntax.options(suite.parameters)
        self._programs = self._syntax.programs or suite.program.names
        self.names = {"sudo", self._syntax.operand, *self._programs, *suite.program.names}
        self._parameters = {known.name: known for known in suite.parameters}
        self._now = self._scan(self._lines(current))

    def starts(self, line: Words) -> bool:
        """Return whether `line` starts the program of the suite."""
        at = self._program(line)
        wrapped = any(line[line[:1] == ["sudo"] :][:2] == shown[:2] for shown in self._lines(self._current))
        if at is None or not (wrapped or all(word in starts(line)[1] for word in range(at))):
            return False
        wanted = self._syntax.operand
        return not wanted or wanted in {self._syntax.aliases.get(word, word) for word in line[at:]}

    def read(self, lines: Sequence[Words]) -> ParsedCommand:
        """Return the values of `lines`: those of one command, or of the points of a sweep, and no other command's."""
        own = [line for line in lines if self.starts(line)]
        taken = own if self._syntax.joined else own[: max(1, sum(map(self.starts, self._lines(self._current))))]
        unread = [UnreadWord(line[self._program(line) or 0], SECOND) for line in own[len(taken) :]]
        scan = self._scan(taken)
        scan.rest += [word for line in lines if line not in own for word in line]
        unread += [*self._refused(taken), *self._differing(taken)]
        changed = self._changed(scan, unread)
        unvalued = frozenset(name for name in scan.given if name not in changed and self._is_new(name, scan))
        values = self._applying(changed)
        values = self._chosen(self._with_defaults(values, scan), scan)
        values = self._with_defaults(values, scan)
        shown = self._scan(self._lines(values))
        for name, word in scan.words.items():
            if name not in shown.given and name not in self._syntax.unshown and values[name] != self._absent(name):
                unread.append(UnreadWord(word, "not used with these values."))
        unread += [
            UnreadWord(as_typed(word), "no parameter for this.")
            for word in (Counter(scan.rest) - Counter(shown.rest * len(taken)))
        ]
        unread += self._elsewhere(taken, values)
        if len(taken) > 1 and len(self._lines(values)) != len(taken):
            unread.append(UnreadWord("", "Not every combination of the lists."))
        return ParsedCommand(values, tuple(dict.fromkeys(unread)), unvalued=unvalued)

    def _elsewhere(self, lines: Iterable[Words], values: Values) -> list[UnreadWord]:
        """Return sudo and the paths of programs in `lines` that are not those of the line of `values`."""
        lines_shown = [each.line for each in measured(self._suite.commands(values, self._context))]
        shown = {word for line in self._lines(values) for word in line}
        before = [line[: (self._program(line) or 0) + 1] for line in lines]
        as_root = any(line.startswith("sudo ") for line in lines_shown)
        asked = not as_root and any("sudo" in map(name_of, words) for words in before)
        sudo = UnreadWord("sudo", "not used; the step runs as the user of the connection.", blocks=False)
        paths = [words[-1] for words in before if "/" in words[-1] and words[-1] not in shown]
        found = [UnreadWord(path, f"the step starts the host’s own {name_of(path)}.") for path in paths]
        return [sudo, *found] if asked else found

    def _refused(self, lines: Iterable[Words]) -> list[UnreadWord]:
        starts_ = [(line, self._program(line) or 0) for line in lines]
        return [word for line, at in starts_ for word in self._syntax.refused(line[at + 1 :])]

    def _differing(self, lines: Iterable[Words]) -> list[UnreadWord]:
        """Return the options that differ between the commands of a sweep, without being one of its lists."""
        scans = [self._scan([line]) for line in lines]
        return [
            UnreadWord({**scans[0].words, **scan.words}[name], "differs between the commands.")
            for scan in scans[1:]
            for name in {**scans[0].given, **scan.given}
            if name not in self._syntax.joined and scan.given.get(name) != scans[0].given.get(name)
        ]

    def _lines(self, values: Values) -> list[list[str]]:
        return [list(each.argv) for each in measured(self._suite.commands(values, self._context))]

    def _program(self, line: Words) -> int | None:
        own = {name_of(str(self._current[name])) for name in self._syntax.paths} - {""}
        return next((at for at, word in enumerate(line) if name_of(word) in {*self._programs, *own}), None)

    def _is_new(self, name: str, scan: _Scan) -> bool:
        """Return whether a line states a parameter otherwise than the line of the current values."""
        return scan.given[name] != self._now.given.get(name)

    def _changed(self, scan: _Scan, unread: list[UnreadWord]) -> dict[str, Value]:
        """Return the values whose text differs from that of the current values; add the invalid ones to `unread`."""
        found: dict[str, Value] = {}
        for name, texts in scan.given.items():
            if not self._is_new(name, scan):
                continue
            try:
                convert = self._syntax.texts.get(name, str)
                each = [convert(text) for text in texts]
                text = ", ".join(dict.fromkeys(each)) if name in self._syntax.joined else each[-1]
                parameter = self._parameters[name]
                if parameter.type in NUMERIC:  # in a command a comma separates values, in a field thousands
                    text = text.replace(",", ", ")
                found[name] = parameter.parse(text)
            except ParameterError as error:
                unread.append(UnreadWord(scan.words[name], error.remedy))
            except ValueError:
                unread.append(UnreadWord(scan.words[name], "not a value."))
        return found

    def _applying(self, changed: Mapping[str, Value]) -> dict[str, Value]:
        """Return the current values with `changed`, and with the choice with which these have an effect.

        As a server that is named by its address; only of a parameter that no line states.
        """
        values = {**self._current, **changed}
        idle = [self._parameters[name] for name in changed if not self._parameters[name].applies(values)]
        unstated = self._parameters.keys() - self._syntax.readable(self._suite.parameters)
        for name in unstated if idle else ():
            for choice in self._parameters[name].choices:
                chosen = {**values, name: choice.value}
                if all(known.applies(chosen) for known in idle):
                    return chosen
        return values

    def _with_defaults(self, values: dict[str, Value], scan: _Scan) -> dict[str, Value]:
        for _ in range(PASSES):
            missing = self._scan(self._lines(values)).given.keys() - scan.given.keys()
            defaults = {name: self._absent(name) for name in missing}
            if defaults.items() <= values.items():
                break
            values = {**values, **defaults}
        return values

    def _absent(self, name: str) -> Value:
        return self._syntax.absent.get(name, self._parameters[name].default)

    def _chosen(self, values: dict[str, Value], scan: _Scan) -> dict[str, Value]:
        """Return `values` with the choices whose rendering has the most words in common with `scan`, then options."""
        names = list(self._syntax.choices)
        if not names:
            return values
        wanted = Counter(scan.rest)

        def distance(candidate: Mapping[str, Value]) -> tuple[int, int]:
            found = self._scan(self._lines(candidate))
            shown = Counter(found.rest)
            return (wanted - shown).total() + (shown - wanted).total(), len(found.given.keys() ^ scan.given.keys())

        options = [_alternatives(self._parameters[name], values[name]) for name in names]
        combined = itertools.islice(itertools.product(*options), MOST_COMBINATIONS)
        return min(({**values, **dict(zip(names, each, strict=True))} for each in combined), key=distance)

    def _scan(self, lines: Iterable[Words]) -> _Scan:
        scan = _Scan()
        for line in lines:
            at = self._program(line)
            if at is None:
                scan.rest += line
                continue
            self._scan_prefix(line[:at], scan)
            scan.rest.append(name_of(line[at]))
            self._scan_words(self._syntax.normalised(line[at + 1 :]), scan)
        return scan

    def _scan_prefix(self, prefix: Words, scan: _Scan) -> None:
        for word in prefix:
            name, equals, value = word.partition("=")
            if equals and name in self._options:
                _add(scan, self._options[name], value, word)
            elif name_of(word) not in _HARMLESS and word not in _HARMLESS:
                scan.rest.append(word)

    def _scan_words(self, words: Words, scan: _Scan) -> None:
        left = [Respelled(self._syntax.aliases.get(word, word), word) for word in words]
        while left:
            word = left.pop(0)
            name, equals, value = word.partition("=")
            name = self._syntax.aliases.get(name, name)
            known = self._options.get(name)
            if known is not None and equals:
                _add(scan, known, value, word)
            elif known is not None and name.startswith("-") and self._parameters[known].type is Type.FLAG:
                _add(scan, known, "yes", word)
            elif known is not None and name.startswith("-") and left:
                value = left.pop(0)
                _add(scan, known, value, f"{as_typed(word)} {as_typed(value)}")
            elif self._glued(word):
                _add(scan, self._options[word[:2]], word[2:], word)
            else:
                scan.rest.append(word)

    def _glued(self, word: str) -> bool:
        """Return whether `word` is a short option with its value, as in ``-t30``."""
        short = len(word) > 2 and word[0] == "-" and word[1] != "-"
        return short and word[:2] in self._options and word not in self._options and "=" not in word


def _add(scan: _Scan, name: str, text: str, word: str) -> None:
    scan.given.setdefault(name, []).append(text)
    scan.words[name] = as_typed(word)


def _alternatives(parameter: Parameter, current: Value) -> list[Value]:
    """Return the values of a choice or a flag, the current one first."""
    values: list[Value] = [True, False]
    if parameter.type is not Type.FLAG:
        values = [choice.value for choice in parameter.choices]
    return sorted(values, key=lambda value: value != current)
