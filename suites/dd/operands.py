"""What a command line of dd copies from and to, as far as no disk takes part."""

import shlex
from collections.abc import Iterator

from suites.outputs import NO_DISK, ONLY_READ, is_without_disk


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
    found = [word.partition("=")[2] for word in words if word.startswith(f"{name}=")]
    return found[-1] if found else ""
