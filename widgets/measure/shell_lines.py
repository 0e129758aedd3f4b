"""Commands as text for a shell: folded to be read, and a whole plan as a script. No Qt."""

import re
import shlex
from collections.abc import Sequence

from app.plans.plan import Plan
from app.services import StepPreview

_WORD = re.compile(r"""(?:[^\s'"]|'[^']*'|"[^"]*")+""")
_LEAST_COLUMNS = 20


def folded(text: str, columns: int) -> str:
    """Return shell lines broken between words, each broken line ending in a backslash: a shell reads them alike.

    A word longer than a line stays whole; what cannot be folded safely is returned as it is.
    """
    return "\n".join(_fold(line, max(_LEAST_COLUMNS, columns)) for line in text.split("\n"))


def _fold(line: str, columns: int) -> str:
    if len(line) <= columns:
        return line
    lines, current = [], ""
    for word in _WORD.findall(line):
        if current and len(current) + len(word) + 3 > columns:
            lines.append(f"{current} \\")
            current = f"  {word}"
        else:
            current = f"{current} {word}" if current else word
    broken = "\n".join([*lines, current])
    return broken if _words(broken.replace("\\\n", "")) == _words(line) else line


def _words(text: str) -> list[str] | None:
    try:
        return shlex.split(text)
    except ValueError:
        return None


def shell_script(plan: Plan, previews: Sequence[StepPreview]) -> str:
    """Return the commands of one trial of everything as a script to read and run by hand, host by host."""
    given = plan.repetition
    least = given.fewest + given.warm_ups
    repeats = str(least) if given.most == given.fewest else f"at least {least}"
    lines = ["#!/bin/sh", f"# {_one_line(plan.name)}: one trial of each step; the plan has {repeats}."]
    for host in plan.hosts:
        lines += ["", f"# On {_one_line(host)}"]
        for preview in previews:
            if preview.host == host:
                lines += [f"# {_one_line(preview.step)}", preview.text]
    return "\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())
