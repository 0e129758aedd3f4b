"""OpenSSH's patterns, in host names of ssh_config and known_hosts: `*`, `?` and nothing else."""

import re
from collections.abc import Iterable


def matches(pattern: str, text: str) -> bool:
    """Return whether `text` is of the form `pattern`, in which `*` stands for any text and `?` for one character.

    Source: ssh_config(5), PATTERNS. Brackets are themselves, unlike in a shell: known_hosts has ``[host]:port``.
    """
    collapsed = re.sub(r"\*+", "*", pattern)
    here = there = 0
    star, mark = -1, 0
    while there < len(text):
        if here < len(collapsed) and collapsed[here] == "*":
            star, mark = here, there
            here += 1
        elif here < len(collapsed) and collapsed[here] in {"?", text[there]}:
            here, there = here + 1, there + 1
        elif star >= 0:  # the last star takes one character more: no pattern needs more than a product of the lengths
            mark += 1
            here, there = star + 1, mark
        else:
            return False
    return collapsed[here:] in {"", "*"}


def matches_list(patterns: Iterable[str], text: str) -> bool:
    """Return whether a pattern of the list matches `text` and none that begins with `!` does."""
    found = False
    for pattern in patterns:
        if pattern.startswith("!"):
            if matches(pattern[1:], text):
                return False
        elif matches(pattern, text):
            found = True
    return found
