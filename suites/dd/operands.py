"""The operands of a command line of dd in the spelling of its suite, and what it copies without a disk."""

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence

from suites.command_line import Respelled, UnreadWord
from suites.outputs import NO_DISK, ONLY_READ, is_without_disk

_FLUSHES = (
    ("oflag=dsync", {"oflag=dsync", "oflag=sync"}),
    ("oflag=direct", {"oflag=direct"}),
    ("conv=fdatasync", {"conv=fdatasync", "conv=fsync"}),
)
"""Operands of the suite and the flags that each is for: the first found counts. conv=sync only pads blocks."""

_READS = frozenset({"iflag=direct", "iflag=fullblock"})

_STREAM = re.compile(r"/dev/(?:stdout|stderr|tty|fd/\d+)|/proc/self/fd/\d+|-?")
"""Targets whose content goes to another program or a terminal; without of=, the standard output."""


def plain_words(words: Sequence[str]) -> list[str]:
    """Return operands with each flag that has a parameter as a word of its own, and a read's target as /dev/null.

    GNU dd joins repeated lists of flags; BSD's names of flags are the same.
    """
    flags = {flag: word for word in words for flag in _flags(word)}
    used = _used(flags)
    plain = [word for word in words if not _flags(word)]
    source, target = _value(plain, "if"), _value(plain, "of")
    if source and not is_without_disk(source) and (is_without_disk(target) or _STREAM.fullmatch(target)):
        typed = next((word for word in plain if word.startswith("of=")), "")
        plain = [*(word for word in plain if word != typed), Respelled("of=/dev/null", typed)]
    return plain + [Respelled(word, flags[flag]) for flag, word in used.items()]


def refused_words(words: Sequence[str]) -> list[UnreadWord]:
    """Return the flags in operands for which there is no parameter, or which count as another one."""
    used = _used({flag: word for word in words for flag in _flags(word)})
    found = []
    for word in words:
        left = [flag for flag in _flags(word) if used.get(flag) != flag]
        if left:
            names = ",".join(flag.partition("=")[2] for flag in left)
            found.append(UnreadWord(word if len(left) == len(_flags(word)) else names, "no parameter for this."))
    return found


def _flags(word: str) -> list[str]:
    """Return each flag of a list in an operand: ``oflag=direct``, ``oflag=sync``; none of another word."""
    name, _, values = word.partition("=")
    return [f"{name}={value}" for value in values.split(",")] if name in {"conv", "iflag", "oflag"} else []


def _used(flags: Iterable[str]) -> dict[str, str]:
    """Return the flags that count, and the operand for each."""
    given = set(flags)
    flush, spellings = next(((word, each & given) for word, each in _FLUSHES if each & given), ("", set()))
    return {**{flag: flag for flag in sorted(_READS & given)}, **dict.fromkeys(sorted(spellings), flush)}


def without_disk(command: str) -> Iterator[str]:
    """Yield a note if a command line of dd only reads a disk, or neither writes nor reads one."""
    source, target = _operand(command, "if"), _operand(command, "of")
    if not is_without_disk(target):
        return
    if is_without_disk(source):
        yield f"{NO_DISK}the copy from {source} to {target} stays in memory."
    else:
        yield f"{ONLY_READ}reading {source or 'the standard input'}; nothing is written to a disk."


def _operand(command: str, name: str) -> str:
    """Return the path that an operand of dd names; empty if it has none."""
    try:
        words = shlex.split(command)
    except ValueError:  # an unclosed quote
        words = command.split()
    return _value(words, name)


def _value(words: Sequence[str], name: str) -> str:
    found = [word.partition("=")[2] for word in words if word.startswith(f"{name}=")]
    return found[-1] if found else ""
