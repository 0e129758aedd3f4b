"""A line of the user's own taken apart: its commands, the program that each starts, and what a shell redirects."""

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import PurePosixPath

BEFORE_PROGRAM = frozenset({"sudo", "doas", "time", "nice", "ionice", "env", "exec", "nohup", "command", "stdbuf",
                            "chrt", "setsid", "eatmydata"})  # fmt: skip
"""Words that only lead to the program; of their options, each may take a word of its own."""

WITH_OPERAND = frozenset({"taskset", "numactl", "timeout"})
"""Words that lead to the program and take a word of their own before it."""

SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "zsh"})

KEYWORDS = frozenset({"do", "then", "else", "elif", "if", "while", "until", "{", "!"})
"""Words of a shell's own after which a command begins (POSIX, Shell Command Language, 2.4)."""

MOST_WORDS = 5000
"""More than a parameter of one line can hold."""

DEEPEST = 3
"""Shells within shells that are looked into."""

_DIVIDERS = re.compile(r"[;&|()]+")
_REDIRECTION = re.compile(r"[0-9]*(?:<>|>{1,2}\|?)(.*)")


def commands(text: str, *, shell: bool, depth: int = 0) -> Iterator[list[str]]:
    """Yield the words of each command in `text`; of ``sh -c LINE``, those of the line. A line that cannot be read has
    none."""
    reader = shlex.shlex(text.replace("\n", " ; ") if shell else text, posix=True, punctuation_chars=";&|()" * shell)
    reader.whitespace_split = True
    reader.commenters = ""
    words: list[str] = []
    try:
        for number, word in enumerate(reader):
            if number >= MOST_WORDS:
                break
            if shell and _DIVIDERS.fullmatch(word):
                yield from _whole(words, depth)
                words = []
            else:
                words.append(word)
    except ValueError:  # a quotation that is not closed; a check of the command says so
        return
    yield from _whole(words, depth)


def _whole(words: list[str], depth: int) -> Iterator[list[str]]:
    """Yield a command, or those of the line that a shell is given."""
    name, arguments = program(words, SHELLS)
    if name not in SHELLS or depth >= DEEPEST:
        yield words
        return
    for option, line in pairwise(arguments):
        if re.fullmatch(r"-[a-z]*c", option):
            yield from commands(line, shell=True, depth=depth + 1)  # noqa: S604 (nothing is run: it is read)
            return


def program(words: Sequence[str], known: frozenset[str]) -> tuple[str, list[str]]:
    """Return the program's name without its folder, and what follows it; an operand is no program that is `known`."""
    left = list(words)
    operand = False
    while left:
        name = PurePosixPath(left[0]).name
        leads = name in BEFORE_PROGRAM or name in WITH_OPERAND or name in KEYWORDS
        if name in known:
            return name, left[1:]
        if left[0].startswith("-"):
            operand = True
        elif leads or re.match(r"[A-Za-z_]\w*=", left[0]):
            operand = name in WITH_OPERAND
        elif operand:
            operand = False
        else:
            return name, left[1:]
        left.pop(0)
    return "", []


def redirected(words: Sequence[str]) -> tuple[str, ...]:
    """Return the files that a shell would write a command's output to."""
    found = []
    for word, after in pairwise([*words, ""]):
        if (match := _REDIRECTION.fullmatch(word)) is not None:
            found.append(match[1] or after)
    return tuple(found)
