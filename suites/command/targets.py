"""What the commands of the user's own open, as far as their words say: judged on the host right before they start.

A program may do anything with its words. So a block device that is named anywhere is refused, unless the program is
known to only read it. What a shell makes of the words is followed; where only a shell can tell what a program that
writes is given, it is refused, too. What a program does by itself (its own text, a script in a file) is not seen.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from posixpath import basename, dirname, join

from suites.command.fio_targets import fio_targets
from suites.command.parameters import words as words_of
from suites.command.programs import (
    LISTS_DEVICES,
    SHELLS,
    TAKES_LINES,
    UNKNOWN_PROGRAM,
    Does,
    does,
    known_program,
    name_of,
    operands_of,
    starts,
)
from suites.command.shell_words import Command, Word, commands
from suites.command.word_values import (
    ANY,
    HOST,
    UNKNOWN,
    Variables,
    all_commands,
    clean,
    is_plain,
    is_whole,
    line_of,
    pattern_of,
    shown,
)
from suites.parameters import Values
from suites.targets import Match, Target, Use, bounded, refused

MAXIMUM_PATH = 4096
MOST_DIRECTORIES = 20
MOST_LOOKS = 3000
MOST_LINKS = 200
DEEPEST = 4
"""Shells within shells that are looked into; what is deeper is refused."""

_PATH = re.compile(r"/[^\s:,;=@|()<>\"'{}]+")
_PIECES = re.compile(r"[\s:,;=@|&()<>\"'{}+]+")
_VARIABLE = re.compile(r"[A-Za-z_]\w*")
_SET = re.compile(r"([A-Za-z_]\w*)\+?=(.*)", re.DOTALL)
_COUNTED = re.compile(r"([A-Za-z_]\w*)(?:\+\+|--|[-+*/%]=.*)")
_SETTING = frozenset({"read", "mapfile", "readarray", "getopts", "let", "select"})
"""Words after which variables get values that the line does not say."""

_BRANCHING = frozenset({"if", "while", "until", "for", "case", "select"})
_DIRECTORY = re.compile(r"(?:.*WorkingDirectory=)(.+)|-C|-D|--(?:chdir|directory|working-directory|work-?dir|cwd)|(?:-C|--(?:chdir|directory|"
                        r"working-directory|work-?dir|cwd)=)(.+)")  # fmt: skip
"""Options that change the directory of a program that is started."""

_RUNNING = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_PRINTING = frozenset({"-fprint", "-fprint0", "-fprintf", "-fls"})
_LINKING = re.compile(r"-[A-Za-z]*[aRrdPls][A-Za-z]*|--(?:archive|recursive|no-dereference|link|symbolic-link).*")
"""Options with which cp copies a link or a device as what it is, or whole directories."""


def targets_of_line(text: str, values: Values) -> tuple[Target, ...]:
    """Return what a line of a step opens, relative to the step's private directory."""
    given = words_of(values["environment"], shell=False) or ()
    variables = Variables((name, clean(value)) for name, _, value in (word.partition("=") for word in given))
    line = _Line(variables, [clean(str(values["working_directory"]))], 0)
    try:
        return bounded(line.of_text(clean(text), shell=bool(values["shell"])))
    except (_TooLongError, RecursionError):
        return (refused(f"“{shown(text)}” says too many things at once to be judged. Split it."),)


class _TooLongError(Exception):
    """A line has more forms than can be looked at."""


class _Line:
    """One line: the directories and variables that it may have at any moment, as far as its own words say."""

    def __init__(self, variables: Variables, directories: list[str] | None, depth: int) -> None:
        self.variables = variables
        self.directories = directories
        self.depth = depth
        self.looked = [0]
        """How many commands were looked at, by the lines within this one as well."""
        self.links: list[tuple[str, str]] = []
        self.commands: list[Command] = []
        self.words: list[list[str]] = []
        self.feeds_shell = False
        """A shell runs what other commands of the line print."""
        self.fed = ""
        """Which program is given words that other commands of the line print."""

    def of_text(self, text: str, *, shell: bool) -> Iterator[Target]:
        """Yield what the commands of `text` open; what cannot be judged is among it."""
        try:
            found = commands(text, shell=shell)
        except ValueError as error:
            what = "a here-document" if "here" in str(error) else "a quotation mark or bracket without its other one"
            yield refused(f"“{shown(text)}” has {what}, so that it cannot be judged.")
            return
        self.commands = all_commands(found)
        for command in self.commands:
            if shell:
                self._note(command)
        for command in self.commands:
            yield from self._of(command)
        if self.feeds_shell:
            yield from self._any_line()
        if self.fed:
            yield from self._any_word(self.fed)

    # What the line says of its variables and directories

    def _note(self, command: Command) -> None:
        """Note the variables that a command sets and the directories that it goes to or makes others of."""
        texts = command.texts
        sure = command.sure and not any(set(each.texts[:1]) & _BRANCHING for each in self.commands)
        if texts[:1] == ["for"] and len(texts) > 1 and _VARIABLE.fullmatch(texts[1]):
            given = [text for word in command.words[3:] for form in self.variables.forms(word) for text in form]
            self.variables.put(texts[1], given if texts[2:3] == ["in"] else [UNKNOWN], sure=texts[2:3] == ["in"])
        setting = bool(set(texts[:2]) & _SETTING)
        for word in command.words:
            counted = _COUNTED.fullmatch(word.text)
            if setting and _VARIABLE.fullmatch(word.text):
                self.variables.put(word.text, [UNKNOWN], sure=False)
            elif counted:
                self.variables.put(counted[1], self.variables.values("RANDOM"), sure=False)
            elif word.text.startswith("CDPATH="):
                self.directories = None
            elif match := _SET.fullmatch(word.text):
                found = [match[2] for form in self.variables.forms(word) if (match := _SET.fullmatch(" ".join(form)))]
                self.variables.put(match[1], found, sure=sure)
        for words in self._variants(command.words):
            self._note_directory(words)

    def _note_directory(self, words: Sequence[str]) -> None:
        places, leading = starts(words)
        for at in places[:1]:
            name, arguments = name_of(words[at]), words[at + 1 :]
            if name in {"cd", "pushd", "popd"}:
                to = next((word for word in arguments if not word.startswith("-")), "/proc/self/cwd")
                self._enter(UNKNOWN if name == "popd" or "-" in arguments or not to else self._home(arguments) or to)
            elif known_program(name).does is Does.COPIES or name == "mount":
                operands, named = operands_of(known_program(name), arguments)
                self._note_link(name, [*operands, *named])
        program = places[0] if places else len(words)
        unknown = known_program(name_of(words[program])) is UNKNOWN_PROGRAM if places else False
        checked = words if unknown else [words[at] for at in leading]
        for number, word in enumerate(checked):
            match = _DIRECTORY.fullmatch(word)
            if match:
                self._enter(match[1] or match[2] or (checked[number + 1] if number + 1 < len(checked) else ""))

    @staticmethod
    def _home(arguments: Sequence[str]) -> str:
        return "" if any(not word.startswith("-") for word in arguments) else "~"

    def _enter(self, to: str) -> None:
        if self.directories is None or to == "~":
            return
        if UNKNOWN in to:
            self.directories = None
        else:
            entered = [to if is_whole(to) else join(before, to) for before in self.directories]
            self.directories = list(dict.fromkeys([*self.directories, *entered]))
            if len(self.directories) > MOST_DIRECTORIES:
                self.directories = None

    def _note_link(self, name: str, operands: Sequence[str]) -> None:
        """Note under which other names files are found after a command that links, copies, moves or mounts them."""
        *sources, to = operands if len(operands) > 1 else [*operands, basename((operands or [""])[0])]
        for source in sources:
            for path in self._paths(source):
                self.links += [(at, path) for at in (*self._paths(to), *self._paths(join(to, basename(source))))]
            if name == "ln" and not is_whole(source):  # a symbolic link leads on from where it is
                for at in self._paths(to):
                    self.links += [(at, join(dirname(at), source)), (join(at, basename(source)), join(at, source))]
        if len(self.links) > MOST_LINKS:
            raise _TooLongError

    def _variants(self, words: Sequence[Word]) -> Iterator[list[str]]:
        """Yield the words of a command so that each of them has each of its forms at least once."""
        forms = [self.variables.forms(word) for word in words]
        for number in range(max(map(len, forms), default=0)):
            yield [text for each in forms for text in each[min(number, len(each) - 1)]]

    # Paths

    def _paths(self, text: str) -> list[str]:
        """Return where the file may be that `text` names; from each link that the line makes, where it leads."""
        if is_whole(text):
            found = [text]
        else:
            found = list(dict.fromkeys(join(directory, text) for directory in self.directories or [""]))
        for link, to in self.links:
            found += [to + path[len(link) :] for path in found if path == link or path.startswith(f"{link}/")]
            if len(found) > MOST_LINKS:
                raise _TooLongError
        return list(dict.fromkeys(found))

    def target(self, path: str, use: Use) -> Target:
        """Return the target that a text without anything unknown is."""
        return Target(path, use) if is_plain(path) else Target(pattern_of(path), use, Match.PATTERN)

    def written(self, text: str, name: str = "It") -> Iterator[Target]:
        """Yield the targets of a tool that writes; only the host may be needed to tell what they are."""
        if UNKNOWN in text:
            yield refused(
                f"{name} writes to “{shown(text)}”, and only a shell can tell which file that is; write it out."
            )
        elif self.directories is None and not is_whole(text):
            yield refused(f"{name} writes to “{shown(text)}” in a directory that only a shell can tell; write it out.")
        elif text:
            yield from (self.target(path, Use.OVERWRITE) for path in self._paths(text))

    def named(self, words: Sequence[str]) -> Iterator[Target]:
        """Yield every word, and every path within a word, that could be a device."""
        for word in words:
            found = [word, *_PATH.findall(word), *_PIECES.split(word)]
            found += [word[2:]] if re.match(r"-\w.", word) else []
            found = [each for each in dict.fromkeys(found) if each.strip(UNKNOWN + ".") and not each.startswith("-")]
            for text in found:
                if "\n" not in text and len(text) < MAXIMUM_PATH:
                    yield from (self.target(path, Use.NAME) for path in self._paths(text))

    # Commands

    def _count(self) -> None:
        self.looked[0] += 1
        if self.looked[0] > MOST_LOOKS:
            raise _TooLongError

    def _of(self, command: Command) -> Iterator[Target]:
        for word in command.written:
            for form in self.variables.forms(word):
                yield from self.written(" ".join(form))
        if command.defines or command.texts[:1] == ["function"]:
            self.fed = self.fed or "a function"
        for words in self._variants(command.words):
            self.words.append(words)
            yield from self._run(words)
        for word in command.read:
            self.words += [list(form) for form in self.variables.forms(word)]

    def _run(self, words: Sequence[str]) -> Iterator[Target]:
        """Yield what a command opens: the program, and what leads to it."""
        self._count()
        places, leading = starts(words)
        lead = [words[at] for at in leading]
        yield from self.named([word for word in lead if not _SET.fullmatch(word)])
        for word in lead:
            if re.search(r"\s", word) and not _SET.fullmatch(word):  # env -S
                yield from self.line(word)
        leads = {name_of(word) for word in lead}
        if leads & {"chroot", "nsenter"}:
            yield refused("It changes the root directory, so that paths cannot be judged.")
        for at in places:
            name, arguments = name_of(words[at]), list(words[at + 1 :])
            if "xargs" in leads:
                name, arguments = self._fed_by_xargs(words[:at], name, arguments)
            yield from self._program(name, arguments, words[at])

    @staticmethod
    def _fed_by_xargs(lead: Sequence[str], name: str, arguments: list[str]) -> tuple[str, list[str]]:
        """Return the program with what xargs gives it: words that are not known."""
        sign = next((lead[number + 1] if word == "-I" else word[2:] for number, word in enumerate(lead[:-1] or lead)
                     if re.match(r"-I", word)), "")  # fmt: skip
        sign = sign or ("{}" if any(re.match(r"-i|--replace", word) for word in lead) else "")
        if sign:
            return name.replace(sign, UNKNOWN), [word.replace(sign, UNKNOWN) for word in arguments]
        return name, [*arguments, UNKNOWN]

    def _program(self, name: str, arguments: list[str], path: str) -> Iterator[Target]:
        special = _SPECIAL.get(name)
        kind = does(name, arguments)
        if special is not None:
            yield from special(self, arguments)
        elif name in SHELLS:
            yield from self._shell(name, arguments)
        elif name in TAKES_LINES:
            yield from self._takes_lines(name, arguments)
        elif kind is Does.WRITES:
            yield from (target for word in arguments if not word.startswith("-") for target in self.written(word, name))
            yield from self.named(arguments)
        elif kind is Does.COPIES:
            yield from self._copies(name, arguments)
        elif kind is Does.ANYTHING:
            yield from self._anything([path, *arguments])

    def _anything(self, words: Sequence[str]) -> Iterator[Target]:
        """Yield what a program may open of which nothing is known, and programs that its words may start."""
        yield from self.named(words)
        if any(UNKNOWN in word for word in words):
            self.fed = self.fed or name_of(words[0])
        for at, word in enumerate(words[1:], 1):
            name = name_of(word)
            if name in _SPECIAL or name in SHELLS or does(name, words[at + 1 :]) is Does.WRITES:
                yield from self._program(name, list(words[at + 1 :]), word)
                return

    def _copies(self, name: str, arguments: list[str]) -> Iterator[Target]:
        operands, named = operands_of(known_program(name), arguments)
        sources, to = (operands, named) if named else (operands[:-1], operands[-1:])
        if name in {"rsync", "scp"} or (name == "cp" and any(_LINKING.fullmatch(word) for word in arguments)):
            yield from self.named(operands)
        elif name in {"mv", "ln"}:
            yield from self.named(sources)
        if name == "ln" and len(operands) == 1:
            return
        for target in to:
            if name in {"rsync", "scp"} and re.match(r"[^/]*:", target):
                continue  # another host
            yield from self.written(target, name)
            for source in sources:
                last = basename(source.rstrip("/")) if UNKNOWN not in source else ANY
                yield from self.written(join(target, last) if last else "", name)
        if name == "ln":
            for source in sources:
                for at in to if not is_whole(source) else ():
                    yield from self.named([join(dirname(at), source), join(at, source)])

    def _dd(self, arguments: Sequence[str]) -> Iterator[Target]:
        for word in arguments:
            if word.startswith("of="):
                yield from self.written(word[3:], "dd")
            elif not re.match(r"[a-z]+=", word):
                yield from self.written(word, "dd")

    @staticmethod
    def _mknod(arguments: Sequence[str]) -> Iterator[Target]:
        if not set(arguments) & {"p"}:
            yield refused("mknod makes a device, and what is done with that cannot be judged.")

    def _fio(self, arguments: Sequence[str]) -> Iterator[Target]:
        yield from fio_targets(arguments, self)

    def found(self, target: Target) -> Iterator[Target]:
        """Yield a target where it is, as far as the host alone can tell."""
        if UNKNOWN in target.path or (self.directories is None and not is_whole(target.path)):
            yield refused(f"fio is given “{shown(target.path)}”, and only a shell can tell what that is; write it out.")
        else:
            for path in self._paths(target.path):
                more = "" if target.match is Match.EXACT else "*"
                plain = is_plain(path)
                yield (
                    replace(target, path=path)
                    if plain
                    else replace(target, path=f"{pattern_of(path)}{more}", match=Match.PATTERN)
                )

    def _find(self, arguments: list[str]) -> Iterator[Target]:
        """Yield what find may change, and what the programs that it starts may."""
        roots: list[str] = []
        for word in arguments:
            if word.startswith(("-", "(", "!")) and not re.fullmatch(r"-[HLP]|-O\d|-D", word):
                break
            roots += [] if word.startswith("-") else [word]
        acts = False
        for at, word in enumerate(arguments):
            if word in _PRINTING:
                yield from self.written("".join(arguments[at + 1 : at + 2]), "find")
            elif word in _RUNNING:
                ends = next((n for n in range(at, len(arguments)) if arguments[n] in {";", "+"}), len(arguments))
                started = [each.replace("{}", UNKNOWN) for each in arguments[at + 1 : ends]]
                fed, self.fed = self.fed, ""
                yield from self._run(started)
                acts, self.fed = acts or bool(self.fed), fed
            acts = acts or word == "-delete"
        for root in (roots or ["."]) if acts else ():
            if "-L" in arguments or "-follow" in arguments:
                yield refused("find follows links to whatever they lead, and gives it to a program; leave -L out.")
            elif UNKNOWN in root:
                yield refused("find starts where only a shell can tell; write it out.")
            else:
                for path in self._paths(root):
                    yield self.target(path, Use.NAME)
                    yield Target(pattern_of(path), Use.NAME, Match.BELOW)

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
        self.fed = f"{name} (standard input)"

    def _takes_lines(self, name: str, arguments: Sequence[str]) -> Iterator[Target]:
        yield from self.named(arguments)
        if name in {"eval", "trap"} and any(UNKNOWN in word or HOST in word for word in arguments):
            yield refused(f"{name} runs what only a shell can tell; write it out.")
        elif name == "eval":
            yield from self.line(" ".join(arguments))
        else:
            if name in {"parallel", "watch", "alias"}:
                self.fed = self.fed or name
            given = [word.replace("{}", UNKNOWN) for word in arguments] if name == "parallel" else list(arguments)
            yield from (target for word in given if re.search(r"\s", word) for target in self.line(word))
            plain = next((at for at, word in enumerate(given) if not re.match(r"-|\d", word)), len(given))
            for at in (plain, plain + 1):
                if at < len(given) and not re.search(r"\s", given[at]):
                    extra = [UNKNOWN] if name == "parallel" and not any(UNKNOWN in word for word in given) else []
                    yield from self._run([*given[at:], *extra])

    def line(self, text: str) -> Iterator[Target]:
        """Yield what a line opens that is a word of this one."""
        if self.depth >= DEEPEST:
            yield refused(f"“{shown(text)}” is a line within lines within lines, which is not judged.")
            return
        inner = _Line(self.variables.copy(), self.directories and list(self.directories), self.depth + 1)
        inner.links, inner.looked = list(self.links), self.looked
        yield from inner.of_text(line_of(text), shell=True)
        self.fed = self.fed or inner.fed

    def _any_line(self) -> Iterator[Target]:
        """Yield what the words of a line may open that are given to a shell as its input."""
        for words in list(self.words):
            yield from (target for word in words if re.search(r"\s", word) for target in self.line(word))
            yield from self._run([word for word in words[1:] if word != UNKNOWN])

    def _any_word(self, program: str) -> Iterator[Target]:
        """Yield all words of a line in which a program is given what other commands of it print."""
        for words in self.words:
            places, _ = starts(words)
            listing = {name_of(words[at]) for at in places} & LISTS_DEVICES
            if listing:
                yield refused(f"{min(listing)} may name any device, and {program} is given words of other commands.")
            yield from self.named(words)


_SPECIAL: Mapping[str, Callable[[_Line, list[str]], Iterator[Target]]] = {
    "dd": _Line._dd,  # noqa: SLF001
    "fio": _Line._fio,  # noqa: SLF001
    "mknod": lambda _, arguments: _Line._mknod(arguments),  # noqa: SLF001
    "find": _Line._find,  # noqa: SLF001
}
