"""Paths of the files that a line names, given its variables, directories and the links that it makes."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from posixpath import basename, dirname, join, normpath

from suites.command.program_rules import UNKNOWN_PROGRAM, copies_links, known_program, name_of, operands_of, starts
from suites.command.shell_expansion import (
    ANY,
    FIGURE,
    HOST_END,
    UNKNOWN,
    Variables,
    is_plain,
    is_whole,
    pattern_of,
    shown,
)
from suites.command.shell_parser import PartKind, ShellCommand, Word
from suites.targets import Match, PathUse, Target, unsure

MAXIMUM_PATH = 4096
MOST_DIRECTORIES = 20
MOST_LINKS = 200
MOST_PASSES = 4
"""Passes over a loop to find the values of its variables."""

_PATH = re.compile(rf"(?:^-+[A-Za-z]+|(?<![\w.~*?\]%+{ANY}-{HOST_END}-]))(/[^\s:,;=@|()<>\"'{{}}]+)")
_PIECES = re.compile(r"[\s:,;=@|&()<>\"'{}+]+")
_VARIABLE = re.compile(r"[A-Za-z_]\w*")
ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\+?)=(.*)", re.DOTALL)
_COUNTED = re.compile(r"([A-Za-z_]\w*)\s*(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))")
_SETTING = frozenset({"read", "mapfile", "readarray", "getopts", "let", "select", "printf", "wait"})
"""Words that set variables to values not on the line."""

_DECLARING = frozenset({"export", "declare", "typeset", "local", "readonly"})
_LOOPS = frozenset({"while", "until", "for", "select", "function"})
_BRANCHES = _LOOPS | {"if", "case"}
_DIRECTORY = re.compile(
    r"-C|-D|--(?:chdir|directory|working-directory|work-?dir|cwd)|"
    r"(?:-C|--(?:chdir|directory|working-directory|work-?dir|cwd)=|.*WorkingDirectory=)(.+)"
)
"""Options that change the working directory of a program."""


class TooLongError(Exception):
    """A line has too many expansions to check."""


class LinePaths:
    """The directories and variables that a line may have at any time, as far as its words show."""

    def __init__(self, variables: Variables, directories: list[str] | None) -> None:
        self.variables = variables
        self.directories = None if variables.is_set("CDPATH") else directories
        """Directories that the line may be in; None if only a shell can tell."""
        self.links: list[tuple[str, str]] = []
        """Link paths created by the line, and their targets."""

    def note(self, commands: Sequence[ShellCommand]) -> None:
        """Record variables, directory changes and links of the commands."""
        first = {text for command in commands for text in command.texts[:2]}
        loops = bool(first & _LOOPS) or any(command.defines for command in commands)
        before = self.variables.state()
        for number in range(MOST_PASSES if loops else 1):
            before = self.variables.state()
            for command in commands:
                self._note_variables(command, sure=command.sure and not first & _BRANCHES and not number)
        if loops:
            for name, values in self.variables.state().items():
                if before.get(name) != values:
                    self.variables.forget(name)
        for command in commands:
            for words in self.variants(command.words):
                self._note_directories(words, loops=loops)

    def variants(self, words: Sequence[Word]) -> Iterator[list[str]]:
        """Yield the words of a command so that each expansion of each word occurs at least once."""
        forms = [self.variables.forms(word) for word in words]
        for number in range(max(map(len, forms), default=0)):
            yield [text for each in forms for text in each[min(number, len(each) - 1)]]

    def _note_variables(self, command: ShellCommand, *, sure: bool) -> None:
        texts = command.texts
        places, _ = starts(texts)
        name = name_of(texts[places[0]]) if places else ""
        if name == "for" and len(texts) > places[0] + 1:
            given = command.words[places[0] + 3 :] if "in" in texts[:5] else ()
            values = [text for word in given for form in self.variables.forms(word) for text in form]
            self.variables.put(texts[places[0] + 1], values or [UNKNOWN], sure=bool(given))
        if name in {".", "source", "eval"} or (
            name in _DECLARING and any(self._is_unknown(word) for word in command.words)
        ):
            self.variables.read_from_file = True
            self.directories = None if name == "eval" else self.directories
        for word in command.words:
            self._note_word(word, setting=name in _SETTING, sure=sure)

    def _is_unknown(self, word: Word) -> bool:
        return any(not is_plain(text) and "=" not in word.text for form in self.variables.forms(word) for text in form)

    def _note_word(self, word: Word, *, setting: bool, sure: bool) -> None:
        for part in (part for form in word.forms for part in form):
            if part.kind is PartKind.FIGURE:
                for each in _COUNTED.finditer(part.text):
                    self.variables.put(each[1], [FIGURE], sure=False)
            elif part.kind is PartKind.VARIABLE and part.default is not None:
                forms = self.variables.forms(Word("", (part.default,)))
                self.variables.put(part.text, [text for form in forms for text in form], sure=False)
        begins = _VARIABLE.match(word.text)
        if setting and begins:
            self.variables.put(begins[0], [UNKNOWN], sure=False)
        elif match := ASSIGNMENT.fullmatch(word.text):
            whole = [" ".join(form) for form in self.variables.forms(word)]
            values = [given[3] if (given := ASSIGNMENT.fullmatch(form)) else UNKNOWN for form in whole]
            if match[2]:
                values = [old + new for old in self.variables.values(match[1]) for new in values]
            self.variables.put(match[1], values, sure=sure and not match[2])
            if match[1] == "CDPATH":
                self.directories = None
        elif counted := _COUNTED.match(word.text):
            self.variables.put(counted[1], [FIGURE], sure=False)

    def _note_directories(self, words: Sequence[str], *, loops: bool) -> None:
        places, leading = starts(words)
        name = name_of(words[places[0]]) if places else ""
        arguments = words[places[0] + 1 :] if places else []
        if name in {"cd", "pushd", "popd"}:
            self._note_change(name, arguments, loops=loops)
        elif name in {"ln", "mv", "mount", "rsync"} or copies_links(name, arguments):
            operands, named = operands_of(known_program(name), arguments)
            self._note_links(name, [*operands, *named])
        checked = words if known_program(name) is UNKNOWN_PROGRAM else [words[at] for at in leading]
        for word, after in pairwise([*checked, ""]):
            if match := _DIRECTORY.fullmatch(word):
                self._enter(match[1] or after)

    def _note_change(self, name: str, arguments: Sequence[str], *, loops: bool) -> None:
        operands = [word for word in arguments if not word.startswith("-")]
        if name == "popd" or "-" in arguments:  # back to the line's own directory
            self.directories = self.directories if self.directories and len(self.directories) > 1 else None
        elif not operands:
            for home in self.variables.values("HOME") if name == "cd" else ():
                self._enter(home)
        elif loops and ".." in operands[0].split("/"):
            self.directories = None
        else:
            self._enter(operands[0])

    def _enter(self, to: str) -> None:
        if self.directories is None:
            return
        entered = [to if is_whole(to) else join(before, to) for before in self.directories]
        self.directories = list(dict.fromkeys([*self.directories, *entered]))
        if UNKNOWN in to or len(self.directories) > MOST_DIRECTORIES:
            self.directories = None

    def _note_links(self, name: str, operands: Sequence[str]) -> None:
        """Record the other names of files after a command that links, copies, moves or mounts them."""
        *sources, to = operands if len(operands) > 1 else [*operands, basename((operands or [""])[0])]
        for source in sources:
            for path in self.paths(source):
                self.links += [(at, path) for at in (*self.paths(to), *self.paths(join(to, basename(source))))]
            if name == "ln" and not is_whole(source):  # a symbolic link is relative to its own directory
                for at in self.paths(to):
                    self.links += [(at, join(dirname(at), source)), (join(at, basename(source)), join(at, source))]
        if len(self.links) > MOST_LINKS:
            raise TooLongError

    def paths(self, text: str) -> list[str]:
        """Return the possible paths of the file named by `text`, with the line's links resolved."""
        found = [text] if is_whole(text) else [join(directory, text) for directory in self.directories or [""]]
        for link, to in self.links:
            found += [to + path[len(link) :] for path in found if path == link or path.startswith(f"{link}/")]
            if len(found) > MOST_LINKS:
                raise TooLongError
        return list(dict.fromkeys(found))

    def target(self, path: str, use: PathUse) -> Target:
        """Return the target of a text without unknown parts."""
        return Target(path, use) if is_plain(path) else Target(pattern_of(path), use, Match.PATTERN)

    def written(self, text: str, name: str = "It") -> Iterator[Target]:
        """Yield the targets of a tool that writes; only the host may be needed to expand them."""
        if UNKNOWN in text:
            yield unsure(f"{name} writes to “{shown(text)}”, which only a shell can expand; write it out.")
        elif self.directories is None and not is_whole(text):
            yield unsure(f"{name} writes to “{shown(text)}” in a directory that only a shell can expand; write it out.")
        elif text:
            yield from (self.target(path, PathUse.OVERWRITE) for path in self.paths(text))

    def named(self, words: Sequence[str]) -> Iterator[Target]:
        """Yield every word, and every path within a word, that could be a device."""
        for word in words:
            found = [word, *_PATH.findall(word), *_PIECES.split(word)]
            found += [word[2:]] if re.match(r"-\w.", word) else []
            found = [
                each for each in dict.fromkeys(found) if each.strip(f"{UNKNOWN}{FIGURE}.") and not each.startswith("-")
            ]
            for text in found:
                if "\n" not in text and len(text) < MAXIMUM_PATH:
                    for path in self.paths(text):
                        yield self.target(path, PathUse.NAME)
                        # A directory on the way may not exist yet.
                        yield self.target(normpath(path), PathUse.NAME)

    def found(self, target: Target) -> Iterator[Target]:
        """Yield a target with its directory resolved, as far as the host alone can expand it."""
        if UNKNOWN in target.path or (self.directories is None and not is_whole(target.path)):
            yield unsure(f"fio is given “{shown(target.path)}”, which only a shell can expand; write it out.")
        else:
            for path in self.paths(target.path):
                more = "" if target.match is Match.EXACT else "*"
                plain = is_plain(path)
                yield (
                    replace(target, path=path)
                    if plain
                    else replace(target, path=f"{pattern_of(path)}{more}", match=Match.PATTERN)
                )

    def below(self, text: str) -> Iterator[Target]:
        """Yield the targets of the content of a directory."""
        yield from (Target(pattern_of(path), PathUse.NAME, Match.BELOW) for path in self.paths(text))
