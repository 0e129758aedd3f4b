"""Possible values of a line's words at run time: text with markers where only the host or a shell can expand it."""

import re
from collections.abc import Iterable, Sequence
from itertools import product

from suites.command.program_rules import PLAIN_OUTPUT, name_of, starts
from suites.command.shell_parser import CUT, MOST_FORMS, PIPE, PartKind, ShellCommand, Word, WordPart

ANY, ONE, CLASS, FIGURE, UNKNOWN, HOST, HOST_END = map(chr, range(0xE000, 0xE007))
"""Private-use markers in the text of a word: a pattern's ``*``, ``?`` and ``[``; a number or name that is not a path;
an unknown part; a variable of the host, whose name extends up to HOST_END."""

_AS_PATTERN: dict[str, str | int | None] = {
    ANY: "*",
    ONE: "?",
    CLASS: "[",
    FIGURE: "*",
    UNKNOWN: "*",
    HOST: "${",
    HOST_END: "}",
}

_SIGNS = {"*": ANY, "?": ONE, "[": CLASS}
_NUMBERS = frozenset({"?", "#", "$", "!", "RANDOM", "SECONDS", "LINENO", "PPID", "UID", "EUID", "SHLVL"})
_SHELLS_OWN = frozenset({"IFS", "OLDPWD", "REPLY", "OPTARG", "OPTIND", "DIRSTACK", "FUNCNAME", "ENV", "PS4"})
_HOSTS = re.compile(r"[A-Z][A-Z0-9_]*")
_ACTIVE = re.compile(rf"[{ANY}-{FIGURE}{HOST}]")
_BLANKS = " \t\n"


class Variables:
    """Possible values of variables at any time of a line."""

    def __init__(self, given: Iterable[tuple[str, str]]) -> None:
        self._values: dict[str, list[str]] = {}
        self._sure: set[str] = set()
        self.read_from_file = False
        """A sourced file or an eval may set any variable."""
        for name, value in given:
            self.put(name, [value], sure=True)

    def put(self, name: str, values: Sequence[str], *, sure: bool) -> None:
        """Add values; they replace all others if the variable is `sure` to be set."""
        found = list(dict.fromkeys([*self._values.get(name, ()), *values]))
        self._values[name] = found if len(found) <= MOST_FORMS else [UNKNOWN]
        if sure:
            self._sure.add(name)

    def state(self) -> dict[str, tuple[str, ...]]:
        """Return all values, to detect changes."""
        return {name: tuple(values) for name, values in self._values.items()}

    def forget(self, name: str) -> None:
        """Mark the variable as unknown."""
        self._values[name] = [UNKNOWN]

    def is_set(self, name: str) -> bool:
        """Whether the line or its environment sets the variable."""
        return name in self._values

    def copy(self) -> "Variables":
        """Return the initial values of a subshell."""
        made = Variables(())
        made._values = {name: list(values) for name, values in self._values.items()}
        made._sure = set(self._sure)
        made.read_from_file = self.read_from_file
        return made

    def values(self, name: str) -> list[str]:
        """Return the possible values of the variable."""
        found = self._values.get(name, [])
        if name == "PWD" or name in _NUMBERS:
            return [*found, "." if name == "PWD" else FIGURE]
        if self.read_from_file:
            return [*found, UNKNOWN]
        if name in self._sure:
            return found
        if not _HOSTS.fullmatch(name) or name in _SHELLS_OWN or name.startswith("BASH"):
            return found or [UNKNOWN]
        return [*found, f"{HOST}{name}{HOST_END}"]

    def forms(self, word: Word) -> list[tuple[str, ...]]:
        """Return the possible values of the word: each is one word or, if a variable is not quoted, several."""
        found: list[tuple[str, ...]] = []
        for form in word.forms:
            for texts in product(*(self._part(part) for part in form)):
                text, split = "".join(texts), any(_splits(part, value) for part, value in zip(form, texts, strict=True))
                found.append(tuple(text.split()) if split else (text,))
                if len(found) > MOST_FORMS:
                    return [(UNKNOWN,)]
        return list(dict.fromkeys(found))

    def _part(self, part: WordPart) -> list[str]:
        if part.kind is PartKind.TEXT:
            return [part.text]
        if part.kind is PartKind.GLOB:
            return [_SIGNS[part.text]]
        if part.kind is PartKind.VARIABLE:
            cut = CUT.fullmatch(part.text)
            return self.values(part.text) if cut is None else _cut(self.values(cut[1]), cut[2], cut[3])
        if part.kind is PartKind.COMMANDS:
            return [_output(part)]
        return [FIGURE if part.kind is PartKind.FIGURE else UNKNOWN]


def _cut(values: Sequence[str], sign: str, what: str) -> list[str]:
    """Return values after prefix or suffix removal."""
    if sign == "##" and what == "*/":
        return [FIGURE]
    if "*" in what:
        return [UNKNOWN]
    return [*values, *(each.removesuffix(what) if "%" in sign else each.removeprefix(what) for each in values)]


def _splits(part: WordPart, value: str) -> bool:
    return part.kind is PartKind.VARIABLE and not part.quoted and any(blank in value for blank in _BLANKS)


def _output(part: WordPart) -> str:
    """Return the possible output of commands, as far as their words show."""
    if part.text == PIPE:
        return "/dev/null"
    if any(not command.piped for command in part.inner[1:]):
        return UNKNOWN
    last = part.inner[-1].texts if part.inner else []
    places, _ = starts(last)
    name = name_of(last[places[0]]) if places else ""
    if name == "pwd":
        return "."
    if name == "mktemp":
        return f"/tmp/tmp.{ANY}"  # noqa: S108 (a name that nothing has yet)
    plain = name in PLAIN_OUTPUT and ".." not in part.text and ("/" not in part.text or name in {"basename", "wc"})
    return FIGURE if plain else UNKNOWN


def is_plain(text: str) -> bool:
    """Whether the text contains no marker."""
    return UNKNOWN not in text and not _ACTIVE.search(text)


def is_whole(text: str) -> bool:
    """Whether the text is a path independent of the directory."""
    return text.startswith(("/", f"{HOST}HOME{HOST_END}"))


def pattern_of(text: str) -> str:
    """Return the text as a pattern for the host; an unknown part matches anything within a directory."""
    quoted = re.sub(r"[*?\[$]", r"[\g<0>]", text).replace("\\", "?")
    return quoted.translate(str.maketrans(_AS_PATTERN))


def line_of(text: str) -> str:
    """Return the text as a line for another shell."""
    return text.translate(str.maketrans({**_AS_PATTERN, FIGURE: "$?", UNKNOWN: "$1"}))


def shown(text: str) -> str:
    """Return the text for display."""
    return text.translate(str.maketrans({**_AS_PATTERN, FIGURE: "...", UNKNOWN: "..."}))[:80]


def clean(text: str) -> str:
    """Return user text without the markers of this module."""
    return re.sub(rf"[{ANY}-{HOST_END}]", "?", text)


def all_commands(commands: Iterable[ShellCommand]) -> list[ShellCommand]:
    """Return commands with their command substitutions, each before the one that needs it."""
    found: list[ShellCommand] = []
    for command in commands:
        for word in (*command.words, *command.written, *command.read):
            found += all_commands(word.inner)
        found.append(command)
    return found
