"""What the commands of the user's own open, as far as their words say: judged on the host right before they start.

A program may do anything with its words. So a block device that is named anywhere is refused, unless the program is
known to only read it; where a tool that is known to write names its target by what only a shell can tell, it is
refused, too.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from posixpath import join

from suites.command.fio_words import FLAGS, jobs_of, options_of
from suites.command.parameters import words as words_of
from suites.command.shell_words import SHELLS, commands, program, redirected
from suites.fio_job.file import Section, section_of
from suites.fio_job.options import ALIASES, ENGINES, KNOWN, REFUSED
from suites.fio_job.targets import chosen_elsewhere, engine_of, opened
from suites.parameters import Values
from suites.targets import Target, Use, agreed, bounded, refused

MAXIMUM_PATH = 4096

_WRITERS = frozenset({"tee", "shred", "blkdiscard", "mkswap", "mke2fs", "truncate", "fallocate"})
"""Programs that write to whatever they are given."""

_READERS = frozenset(
    {"cat", "head", "tail", "cmp", "diff", "md5sum", "sha1sum", "sha256sum", "sha512sum", "b2sum", "cksum", "wc", "od",
     "xxd", "hexdump", "strings", "file", "stat", "ls", "lsblk", "blkid", "df", "du", "findmnt", "readlink", "realpath",
     "test", "[", "echo", "printf", "smartctl", "iostat", "pv", "grep", "dumpe2fs", "udevadm", "ioping", "zcat"}
)  # fmt: skip
"""Programs that only read what they are given, or name it."""

_LOOKS = {
    "hdparm": re.compile(r"-[tTiIgvq]+|--direct|/.*"),
    "blockdev": re.compile(r"--(?:get\w+|report|rereadpt|flushbufs|v)|/.*"),
    "fdisk": re.compile(r"-l|--list|/.*"),
    "sfdisk": re.compile(r"-[ld]|--list|--dump|--json|-J|/.*"),
    "wipefs": re.compile(r"-[npJiO]+|--no-act|--json|--parsable|/.*"),
    "badblocks": re.compile(r"-[svb]+|\d+|/.*"),
    "nvme": re.compile(r"list|id-ctrl|id-ns|smart-log|/.*"),
}
"""Programs that only look as long as their words are no others than these."""

_ABSOLUTE = re.compile(r"/[\w./:@+,%-]+")
_SIGNS = re.compile(r"[$`*?\[{]")
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
_NUMBERS = re.compile(r"\$[$#?!]")
_INNER = re.compile(r"\$\(([^()]*)\)|`([^`]*)`")
_UNKNOWN = "$?unknown"
_SETTING = frozenset({"for", "read", "mapfile", "readarray", "getopts", "unset", "let"})
"""Words after which variables get values that the line does not say."""

_FIO_WRITES = ("output", "daemonize", "trigger-file", "aux-path", "client", "server", "remote-config")
_FIO_NAMES = KNOWN | REFUSED.keys() | ALIASES.keys() | FLAGS | frozenset(_FIO_WRITES) | {"output-format"}
DEEPEST = 3


def targets_of_line(text: str, values: Values) -> tuple[Target, ...]:
    """Return what a line of a step opens, relative to the step's private directory."""
    if not _readable(text):
        return (refused(f"“{text[:80]}” has a quotation mark without its other one, so that it cannot be judged."),)
    shell = bool(values["shell"])
    line = _Line(values, list(commands(text, shell=shell)), shell=shell or _starts_shell(text))
    return bounded(line.targets())


def _readable(text: str, depth: int = 0) -> bool:
    """Whether the words of a line, and of lines that it gives to shells, can be told apart."""
    try:
        found = shlex.split(text)
    except ValueError:
        return False
    return depth >= DEEPEST or all(_readable(word, depth + 1) for word in found if " " in word and _starts_shell(text))


def _starts_shell(text: str) -> bool:
    return any(word.rpartition("/")[2] in SHELLS for word in text.split())


class _Line:
    """One line: the directories and variables that it may have at any moment, as far as its own words say."""

    def __init__(self, values: Values, found: Sequence[list[str]], *, shell: bool) -> None:
        self.found = found
        self.shell = shell
        self.directories: list[str] | None = [str(values["working_directory"])]
        given = words_of(values["environment"], shell=False) or ()
        self.variables = dict(word.split("=", 1) for word in given if "=" in word)
        if shell:
            for words in found:
                self._note_variables(words)
            for words in found:
                self._note_directory(words)

    def targets(self, depth: int = 0) -> Iterator[Target]:
        """Yield what the commands of the line open."""
        for words in self.found:
            yield from self._of(words, depth)

    def _of(self, words: list[str], depth: int) -> Iterator[Target]:
        if self.shell:
            for inner in (one or other for word in words for one, other in _INNER.findall(word)):
                yield from self._inner(inner, depth)
            for path in redirected(words):
                yield from self._written(path)
            words = _without_redirections(words)
        name, arguments = program(words, frozenset({"dd", "fio", "eval", *_WRITERS, *_LOOKS}))
        if name == "eval":
            yield from self._inner(" ".join(arguments), depth)
        elif name == "dd":
            yield from (each for word in arguments if word.startswith("of=") for each in self._written(word[3:]))
        elif name == "fio":
            yield from self._fio(arguments)
        elif (name in _WRITERS or name.startswith("mkfs")) and not self._only_looks(name, arguments):
            paths = [word for word in arguments if not word.startswith("-")]
            yield from (target for path in paths for target in self._written(path))
        elif name in {"cp", "mv", "install", "rsync"}:
            yield from self._written(arguments[-1] if arguments else "")
        elif not self._only_looks(name, arguments):
            yield from self._named(words)

    def _inner(self, text: str, depth: int) -> Iterator[Target]:
        for words in commands(text, shell=True) if depth < DEEPEST else ():  # noqa: S604 (nothing is run: it is read)
            self._note_variables(words)
            yield from self._of(words, depth + 1)

    def _note_variables(self, words: Sequence[str]) -> None:
        """Note what is set to a plain value, and what is not known any more."""
        setting = words[:1] and words[0] in _SETTING
        for word in words:
            name, equals, value = word.partition("=")
            if not re.fullmatch(r"[A-Za-z_]\w*", name):
                continue
            if setting or (equals and (name in self.variables or _SIGNS.search(value))):
                self.variables[name] = _UNKNOWN
            elif equals:
                self.variables[name] = value

    def _note_directory(self, words: Sequence[str]) -> None:
        if not words[:1] or words[0] not in {"cd", "pushd", "popd"} or self.directories is None:
            return
        to = self._value(next((word for word in words[1:] if not word.startswith("-")), "$HOME"))
        if to is None or words[0] == "popd" or "-" in words:
            self.directories = None
        else:
            self.directories += [to if _is_whole(to) else join(before, to) for before in self.directories]
            self.directories = self.directories[:50]

    def _value(self, path: str) -> str | None:
        """Return `path` with its variables; None where only the shell can tell."""
        if not self.shell:
            return path
        if re.match(r"~(/|$)", path):
            path = f"$HOME{path[1:]}"
        home = re.match(r"(?:\$HOME|\$\{HOME\})(?=/|$)", path)
        rest = path[home.end() :] if home and "HOME" not in self.variables else path
        rest = _VARIABLE.sub(lambda match: self.variables.get(match[1] or match[2], match[0]), rest)
        if _SIGNS.search(_NUMBERS.sub("0", rest)):
            return None
        return f"$HOME{rest}" if rest is not path and home and "HOME" not in self.variables else rest

    def _paths(self, path: str) -> list[str]:
        if _is_whole(path):
            return [path]
        return list(dict.fromkeys(join(directory, path) for directory in self.directories or [""]))

    def _written(self, path: str) -> Iterator[Target]:
        """Yield the targets of a tool that writes; what they are must be plain."""
        value = self._value(path)
        if value is None:
            yield refused(f"It writes to “{path[:80]}”, and only a shell can tell which file that is; write it out.")
        elif self.directories is None and not _is_whole(value):
            yield refused(f"It writes to “{value[:80]}” in a directory that only a shell can tell; write it out.")
        elif value and not re.fullmatch(r"&?[0-9]*-?", value):
            yield from (Target(each, Use.OVERWRITE) for each in self._paths(value))

    def _named(self, words: Sequence[str]) -> Iterator[Target]:
        """Yield every word, and every path within a word, that could be a device."""
        for word in words:
            found = dict.fromkeys((word, word.rpartition("=")[2], *_ABSOLUTE.findall(word)))
            for path in (self._value(each.strip()) for each in found):
                if path and not path.startswith("-") and "\n" not in path and len(path) < MAXIMUM_PATH:
                    yield from (Target(each, Use.NAME) for each in self._paths(path))

    def _only_looks(self, name: str, arguments: Sequence[str]) -> bool:
        if name == "ioping":
            return not any(re.match(r"-[A-Za-z]*W", word) for word in arguments)
        harmless = _LOOKS.get(name)
        return name in _READERS or (harmless is not None and all(harmless.fullmatch(word) for word in arguments))

    def _fio(self, arguments: Sequence[str]) -> Iterator[Target]:
        options, whole = options_of(arguments)
        if not whole:
            yield refused("It has fio read a job file, which is not judged here; use the suite “fio job file” for it.")
        common, jobs = jobs_of([(_full_name(name), value) for name, value in options])
        for key in _FIO_WRITES:
            yield from (target for job in (common, *jobs) if key in job for target in self._written(job[key]))
        for section in (_section(common, job) for job in jobs):
            yield from (refused(f"fio {reason}.") for reason in chosen_elsewhere(section))
            if engine_of(section) not in ENGINES:
                yield from self._named(arguments)
            for target in agreed(opened(section)):
                yield from self._of_fio(target)

    def _of_fio(self, target: Target) -> Iterator[Target]:
        value = self._value(target.path)
        if value is None or (self.directories is None and not _is_whole(value)):
            yield refused(f"fio is given “{target.path[:80]}”, and only a shell can tell what that is; write it out.")
        else:
            yield from (replace(target, path=each) for each in self._paths(value))


def _is_whole(path: str) -> bool:
    return path.startswith(("/", "$HOME/")) or path == "$HOME"


def _section(common: Mapping[str, str], job: Mapping[str, str]) -> Section:
    plain = [{key: value or "1" for key, value in body.items() if key != "name"} for body in (common, job)]
    return section_of(job.get("name", ""), *plain)


def _full_name(name: str) -> str:
    """Return an option that getopt_long_only(3) takes by its beginning."""
    found = [each for each in _FIO_NAMES if each.startswith(name)]
    return found[0] if len(found) == 1 and name not in _FIO_NAMES else name


def _without_redirections(words: Sequence[str]) -> list[str]:
    left: list[str] = []
    after = False
    for word in words:
        redirection = re.fullmatch(r"[0-9]*(?:<>|<|>{1,2}\|?)(.*)", word)
        if redirection is None and not after:
            left.append(word)
        after = redirection is not None and not redirection[1]
    return left
