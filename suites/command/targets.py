"""What the commands of the user's own open, as far as their words say: judged on the host right before they start.

A program may do anything with its words. So a block device that is named anywhere is refused, unless the program is
known to only read it. What a shell makes of the words is followed; where only a shell can tell what a program that
writes is given, it is refused, too. What a program does by itself (its own text, a script in a file) is not seen.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from suites.command.line_paths import ASSIGNMENT, LinePaths, TooLongError
from suites.command.parameters import words as words_of
from suites.command.program_targets import SPECIAL, copy_targets, mounts_no_device
from suites.command.programs import (
    ASKS,
    LEAVES,
    LISTS_DEVICES,
    OPENS,
    PASSES,
    RAISES,
    SHELLS,
    TAKES_LINES,
    Does,
    does,
    name_of,
    starts,
)
from suites.command.shell_words import Command, commands
from suites.command.word_values import HOST, UNKNOWN, Variables, all_commands, clean, line_of, shown
from suites.parameters import Values
from suites.targets import Target, Use, bounded, refused, unsure

DEEPEST = 4
"""Shells within shells that are looked into; what is deeper is refused."""

MOST_WORDS = 20_000

_BLANK = re.compile(r"\s")
_WORD = re.compile(r"[\w./+-]+")


def targets_of_line(text: str, values: Values) -> tuple[Target, ...]:
    """Return what a line of a step opens, relative to the step's private directory."""
    given = words_of(values["environment"], shell=False) or ()
    variables = Variables((name, clean(value)) for name, _, value in (word.partition("=") for word in given))
    line = _Line(variables, [clean(str(values["working_directory"]))])
    try:
        found = tuple(line.of_text(clean(text), by_shell=bool(values["shell"])))
    except (TooLongError, RecursionError):
        found = (
            unsure(f"“{shown(text)}” has more forms than can be judged. Write less into one line."),
            Target("", Use.RAISES),
        )
    spoken = _WORD.findall(f"{text} {values['environment']}")
    uses = [(LEAVES, Use.LEAVES), (RAISES, Use.RAISES)]
    whole = [Target("", use) for names, use in uses if any(names.fullmatch(name_of(word)) for word in spoken)]
    return bounded((*found, *whole, *([Target("", Use.LEAVES)] if "cgroup" in text else ())))


class _Line(LinePaths):
    """One line with its commands."""

    def __init__(self, variables: Variables, directories: list[str] | None, depth: int = 0) -> None:
        super().__init__(variables, directories)
        self.depth = depth
        self.looked = [0]
        """How many words were looked at, by the lines within this one as well."""
        self.words: list[list[str]] = []
        self.feeds_shell = False
        """A shell runs what other commands of the line print."""
        self.fed = ""
        """Which program is given words that other commands of the line print."""

    def of_text(self, text: str, *, by_shell: bool) -> Iterator[Target]:
        """Yield what the commands of `text` open; what cannot be judged is among it."""
        try:
            found = all_commands(commands(text, by_shell=by_shell))
        except ValueError as error:
            what = "a here-document" if "here" in str(error) else "a quotation mark or bracket without its other one"
            yield refused(f"“{shown(text)}” has {what}, so that it cannot be judged.")
            return
        if by_shell:
            self.note(found)
        for command in found:
            yield from self._of(command)
        if self.feeds_shell:
            yield from self._any_line()
        if self.fed:
            yield from self._any_word(self.fed)

    def _of(self, command: Command) -> Iterator[Target]:
        for word in command.written:
            for form in self.variables.forms(word):
                yield from self.written(" ".join(form))
        if command.defines or command.texts[:1] == ["function"]:
            self.fed = self.fed or "a function"
        for words in self.variants(command.words):
            self.words.append(words)
            yield from self.run(words)
        for word in command.read:
            self.words += [list(form) for form in self.variables.forms(word)]

    def run(self, words: Sequence[str]) -> Iterator[Target]:
        """Yield what a command opens: the program, and what leads to it."""
        self.looked[0] += 1 + len(words)
        if self.looked[0] > MOST_WORDS:
            raise TooLongError
        places, leading = starts(words)
        lead = [words[at] for at in leading]
        yield from self.named([word for word in lead if not ASSIGNMENT.fullmatch(word)])
        for word in lead:
            if _BLANK.search(word) and not ASSIGNMENT.fullmatch(word):  # env -S
                yield from self.line(word)
        leads = {name_of(word) for word in lead}
        if leads & {"chroot", "nsenter"}:
            yield unsure("It changes the root directory, so that paths cannot be judged.")
        for at in places:
            name, arguments = name_of(words[at]), list(words[at + 1 :])
            yield from self._whole(name, arguments)
            if "xargs" in leads:
                name, arguments = self._fed_by_xargs(words[:at], name, arguments)
            yield from self._program(name, arguments, words[at])

    def _whole(self, name: str, arguments: Sequence[str]) -> Iterator[Target]:
        """Yield what a program means for the command as a whole."""
        more = does(name, arguments) is not Does.READS
        opens = OPENS.fullmatch(name) and more and not (name == "mount" and mounts_no_device(arguments))
        if opens or name in ASKS:
            yield Target("", Use.OPENS)
        if LEAVES.fullmatch(name) or (name in PASSES and more):
            yield Target("", Use.LEAVES)
        if RAISES.fullmatch(name) or UNKNOWN in name or HOST in name:
            yield Target("", Use.RAISES)

    @staticmethod
    def _fed_by_xargs(lead: Sequence[str], name: str, arguments: list[str]) -> tuple[str, list[str]]:
        """Return the program with what xargs gives it: words that are not known."""
        sign = ""
        for word, after in pairwise([*lead, ""]):
            match = re.fullmatch(r"-I(.*)|(?:-i|--replace=?)(.*)", word)
            if match:
                sign = match[1] or match[2] or (after if word == "-I" else "{}")
        if sign:
            return name.replace(sign, UNKNOWN), [word.replace(sign, UNKNOWN) for word in arguments]
        return name, [*arguments, UNKNOWN]

    def _program(self, name: str, arguments: list[str], path: str) -> Iterator[Target]:
        special = SPECIAL.get(name)
        kind = does(name, arguments)
        if special is not None:
            yield from special(arguments, self)
        elif name in SHELLS:
            yield from self._shell(name, arguments)
        elif name in TAKES_LINES:
            yield from self._takes_lines(name, arguments)
        elif kind is Does.WRITES:
            yield from (target for word in arguments if not word.startswith("-") for target in self.written(word, name))
            yield from self.named(arguments)
        elif kind is Does.COPIES:
            yield from copy_targets(name, arguments, self)
        elif kind is Does.ANYTHING:
            yield from self._anything([path, *arguments])

    def _anything(self, words: Sequence[str]) -> Iterator[Target]:
        """Yield what a program may open of which nothing is known, and programs that its words may start."""
        yield from self.named(words)
        if any(UNKNOWN in word for word in words):
            self.fed = self.fed or name_of(words[0])
        for at, word in enumerate(words[1:], 1):
            name = name_of(word)
            if name in SPECIAL or name in SHELLS or does(name, words[at + 1 :]) is Does.WRITES:
                yield from self._program(name, list(words[at + 1 :]), word)
                return

    def _shell(self, name: str, arguments: Sequence[str]) -> Iterator[Target]:
        """Yield what the line opens that a shell is given; a shell without one runs what it reads."""
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
        yield Target("", Use.RAISES)
        self.fed = f"{name} (standard input)"

    def _takes_lines(self, name: str, arguments: Sequence[str]) -> Iterator[Target]:
        yield from self.named(arguments)
        if name in {"eval", "trap"} and any(UNKNOWN in word or HOST in word for word in arguments):
            yield Target("", Use.RAISES)
            yield unsure(f"{name} runs what only a shell can tell; write it out.")
        elif name == "eval":
            yield from self.line(" ".join(arguments))
        else:
            if name in {"parallel", "watch", "alias"}:
                self.fed = self.fed or name
            given = [word.replace("{}", UNKNOWN) for word in arguments] if name == "parallel" else list(arguments)
            yield from (target for word in given if _BLANK.search(word) for target in self.line(word))
            plain = next((at for at, word in enumerate(given) if not re.match(r"-|\d", word)), len(given))
            for at in (plain, plain + 1):
                if at < len(given) and not _BLANK.search(given[at]):
                    extra = [UNKNOWN] if name == "parallel" and not any(UNKNOWN in word for word in given) else []
                    yield from self.run([*given[at:], *extra])

    def line(self, text: str) -> Iterator[Target]:
        """Yield what a line opens that is a word of this one."""
        if self.depth >= DEEPEST:
            yield unsure(f"“{shown(text)}” is a line within lines within lines, which is not judged.")
            return
        inner = _Line(self.variables.copy(), self.directories and list(self.directories), self.depth + 1)
        inner.links, inner.looked = list(self.links), self.looked
        yield from inner.of_text(line_of(text), by_shell=True)
        self.fed = self.fed or inner.fed

    def _any_line(self) -> Iterator[Target]:
        """Yield what the words of a line may open that are given to a shell as its input."""
        for words in list(self.words):
            yield from (target for word in words if _BLANK.search(word) for target in self.line(word))
            yield from self.run([word for word in words[1:] if word != UNKNOWN])

    def _any_word(self, program: str) -> Iterator[Target]:
        """Yield all words of a line in which a program is given what other commands of it print."""
        for words in self.words:
            places, _ = starts(words)
            listing = {name_of(words[at]) for at in places} & LISTS_DEVICES
            if listing:
                yield unsure(f"{min(listing)} may name any device, and {program} is given words of other commands.")
            yield from self.named(words)
