"""Targets of the user's commands as far as their words show; checked on the host right before they start.

A program may use its arguments in any way. So a block device named anywhere is refused, unless the program is known to
only read it. Shell expansions are followed; if only a shell can expand the argument of a program that writes, it is
refused, too. What a program does by itself (its own text, a script in a file) is not visible.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from suites.command.line_paths import ASSIGNMENT, LinePaths, TooLongError
from suites.command.parameters import words as words_of
from suites.command.program_rules import (
    DELEGATES,
    DEVICE_QUERIES,
    LINE_RUNNERS,
    LISTS_DEVICES,
    OPENS,
    PASSES,
    RAISES,
    REMOTE,
    SHELLS,
    FileUse,
    name_of,
    reads_lines,
    starts,
    use_of,
)
from suites.command.program_targets import SPECIAL, copy_targets, mounts_no_device
from suites.command.shell_expansion import HOST, UNKNOWN, Variables, all_commands, clean, line_of, shown
from suites.command.shell_parser import ShellCommand, commands
from suites.parameters import Values
from suites.targets import PathUse, Target, bounded, refused, unsure

DEEPEST = 4
"""Maximum depth of nested shells; deeper ones are refused."""

MOST_WORDS = 20_000

_BLANK = re.compile(r"\s")
_WORD = re.compile(r"[\w./+-]+")


def targets_of_line(text: str, values: Values) -> tuple[Target, ...]:
    """Return the targets of a line of a step, relative to the step's private directory."""
    given = words_of(values["environment"], shell=False) or ()
    variables = Variables((name, clean(value)) for name, _, value in (word.partition("=") for word in given))
    line = _Line(variables, [clean(str(values["working_directory"]))])
    try:
        found = tuple(line.of_text(clean(text), by_shell=bool(values["shell"])))
    except (TooLongError, RecursionError):
        found = (
            unsure(f"“{shown(text)}” has too many expansions to check. Shorten the line."),
            Target("", PathUse.RAISES),
        )
    line_words = _WORD.findall(f"{text} {values['environment']}")
    uses = [(DELEGATES, PathUse.LEAVES), (RAISES, PathUse.RAISES)]
    whole = [Target("", use) for names, use in uses if any(names.fullmatch(name_of(word)) for word in line_words)]
    return bounded((*found, *whole, *([Target("", PathUse.LEAVES)] if "cgroup" in text else ())))


class _Line(LinePaths):
    """One line with its commands."""

    def __init__(self, variables: Variables, directories: list[str] | None, depth: int = 0) -> None:
        super().__init__(variables, directories)
        self.depth = depth
        self.examined = [0]
        """Number of words examined so far, including nested lines."""
        self.words: list[list[str]] = []
        self.feeds_shell = False
        """A shell runs the output of other commands of the line."""
        self.stdin = ""
        """Program whose arguments are the output of other commands of the line."""

    def of_text(self, text: str, *, by_shell: bool) -> Iterator[Target]:
        """Yield the targets of the commands of `text`, including those that cannot be checked."""
        try:
            found = all_commands(commands(text, by_shell=by_shell))
        except ValueError as error:
            what = "a here-document" if "here" in str(error) else "an unmatched quotation mark or bracket"
            yield refused(f"“{shown(text)}” has {what}, so it cannot be checked.")
            return
        if by_shell:
            self.note(found)
        for command in found:
            yield from self._of(command)
        if self.feeds_shell:
            yield from self._any_line()
        if self.stdin:
            yield from self._all_words(self.stdin)

    def _of(self, command: ShellCommand) -> Iterator[Target]:
        for word in command.written:
            for form in self.variables.forms(word):
                yield from self.written(" ".join(form))
        if command.defines or command.texts[:1] == ["function"]:
            self.stdin = self.stdin or "a function"
        for words in self.variants(command.words):
            self.words.append(words)
            yield from self.run(words)
        for word in command.read:
            self.words += [list(form) for form in self.variables.forms(word)]

    def run(self, words: Sequence[str]) -> Iterator[Target]:
        """Yield the targets of a command: the program, and the words that lead to it."""
        self.examined[0] += 1 + len(words)
        if self.examined[0] > MOST_WORDS:
            raise TooLongError
        places, leading = starts(words)
        lead = [words[at] for at in leading]
        yield from self.named([word for word in lead if not ASSIGNMENT.fullmatch(word)])
        for word in lead:
            if _BLANK.search(word) and not ASSIGNMENT.fullmatch(word):  # env -S
                yield from self.line(word)
        leads = {name_of(word) for word in lead}
        if leads & {"chroot", "nsenter"}:
            yield unsure("It changes the root directory, so paths cannot be checked.")
        for at in places:
            name, arguments = name_of(words[at]), list(words[at + 1 :])
            yield from self._whole(name, arguments)
            if "xargs" in leads:
                name, arguments = self._xargs_arguments(words[:at], name, arguments)
            yield from self._program(name, arguments, words[at])

    def _whole(self, name: str, arguments: Sequence[str]) -> Iterator[Target]:
        """Yield the targets that apply to a program as a whole."""
        more = use_of(name, arguments) is not FileUse.READS
        opens = OPENS.fullmatch(name) and more and not (name == "mount" and mounts_no_device(arguments))
        if opens or name in DEVICE_QUERIES:
            yield Target("", PathUse.OPENS)
        if self._delegates(name, arguments) or (name in PASSES and more):
            yield Target("", PathUse.LEAVES)
        if RAISES.fullmatch(name) or UNKNOWN in name or HOST in name:
            yield Target("", PathUse.RAISES)

    @staticmethod
    def _delegates(name: str, arguments: Sequence[str]) -> bool:
        """Whether a program may act through a service or another host; rsync does if a word may begin with a host."""
        if name == "rsync":
            return any(REMOTE.match(word) or word.startswith((UNKNOWN, HOST)) for word in arguments)
        return UNKNOWN in name or DELEGATES.fullmatch(name) is not None

    @staticmethod
    def _xargs_arguments(lead: Sequence[str], name: str, arguments: list[str]) -> tuple[str, list[str]]:
        """Return the program with the arguments of xargs, which are unknown words."""
        sign = ""
        for word, after in pairwise([*lead, ""]):
            match = re.fullmatch(r"-I(.*)|(?:-i|--replace=?)(.*)", word)
            if match:
                sign = match[1] or match[2] or (after if word == "-I" else "{}")
        if sign:
            return name.replace(sign, UNKNOWN), [word.replace(sign, UNKNOWN) for word in arguments]
        return name, [*arguments, UNKNOWN]

    def _program(self, name: str, arguments: list[str], path: str) -> Iterator[Target]:
        self.feeds_shell = self.feeds_shell or reads_lines(name, arguments)
        special = SPECIAL.get(name)
        kind = use_of(name, arguments)
        if special is not None:
            yield from special(arguments, self)
        elif name in SHELLS:
            yield from self._shell(name, arguments)
        elif name in LINE_RUNNERS:
            yield from self._line_arguments(name, arguments)
        elif kind is FileUse.WRITES:
            yield from (target for word in arguments if not word.startswith("-") for target in self.written(word, name))
            yield from self.named(arguments)
        elif kind is FileUse.COPIES:
            yield from copy_targets(name, arguments, self)
        elif kind is FileUse.ANYTHING:
            yield from self._unknown_program([path, *arguments])

    def _unknown_program(self, words: Sequence[str]) -> Iterator[Target]:
        """Yield the possible targets of an unknown program, and of programs that its words may start."""
        yield from self.named(words)
        if any(UNKNOWN in word for word in words):
            self.stdin = self.stdin or name_of(words[0])
        for at, word in enumerate(words[1:], 1):
            name = name_of(word)
            if name in SPECIAL or name in SHELLS or use_of(name, words[at + 1 :]) is FileUse.WRITES:
                yield from self._program(name, list(words[at + 1 :]), word)
                return

    def _shell(self, name: str, arguments: Sequence[str]) -> Iterator[Target]:
        """Yield the targets of a line given to a shell; a shell without one runs its standard input."""
        for at, word in enumerate(arguments):
            if re.fullmatch(r"[-+][A-Za-z]*c[A-Za-z]*", word):
                rest = list(arguments[at + 1 :])
                while rest and re.match(r"[-+]", rest[0]):
                    rest.pop(0)
                if rest:
                    yield from self.line(rest[0])
                    yield from self.named(rest[1:])
                    return
            if not re.match(r"[-+]", word) and not (
                at and re.fullmatch(r"[-+][A-Za-z]*[oO]|--\w*file", arguments[at - 1])
            ):
                yield from self.named(arguments)
                return
        self.feeds_shell = True
        yield Target("", PathUse.RAISES)
        self.stdin = f"{name} (standard input)"

    def _line_arguments(self, name: str, arguments: Sequence[str]) -> Iterator[Target]:
        yield from self.named(arguments)
        if name in {"eval", "trap"} and any(UNKNOWN in word or HOST in word for word in arguments):
            yield Target("", PathUse.RAISES)
            yield unsure(f"{name} runs what only a shell can expand; write it out.")
        elif name == "eval":
            yield from self.line(" ".join(arguments))
        else:
            if name in {"parallel", "watch", "alias"}:
                self.stdin = self.stdin or name
            given = [word.replace("{}", UNKNOWN) for word in arguments] if name == "parallel" else list(arguments)
            yield from (target for word in given if _BLANK.search(word) for target in self.line(word))
            plain = next((at for at, word in enumerate(given) if not re.match(r"-|\d", word)), len(given))
            for at in (plain, plain + 1):
                if at < len(given) and not _BLANK.search(given[at]):
                    extra = [UNKNOWN] if name == "parallel" and not any(UNKNOWN in word for word in given) else []
                    yield from self.run([*given[at:], *extra])

    def line(self, text: str) -> Iterator[Target]:
        """Yield the targets of a line that is a word of this one."""
        if self.depth >= DEEPEST:
            yield unsure(f"“{shown(text)}” nests lines too deeply to check.")
            return
        inner = _Line(self.variables.copy(), self.directories and list(self.directories), self.depth + 1)
        inner.links, inner.examined = list(self.links), self.examined
        yield from inner.of_text(line_of(text), by_shell=True)
        self.stdin = self.stdin or inner.stdin

    def _any_line(self) -> Iterator[Target]:
        """Yield the targets of words that a shell may read as its input."""
        for words in list(self.words):
            yield from (target for word in words if _BLANK.search(word) for target in self.line(word))
            yield from self.run([word for word in words[1:] if word != UNKNOWN])

    def _all_words(self, program: str) -> Iterator[Target]:
        """Yield all words of a line in which a program takes its arguments from other commands."""
        for words in self.words:
            places, _ = starts(words)
            listing = {name_of(words[at]) for at in places} & LISTS_DEVICES
            if listing:
                yield unsure(
                    f"{min(listing)} may name any device, and {program} takes its arguments from other commands."
                )
            yield from self.named(words)
