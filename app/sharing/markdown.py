"""Texts and code in Markdown, which come from hosts and people."""

import re
from collections.abc import Sequence

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")


def escaped_markdown(text: str) -> str:
    """Return `text` on one line, without the marks of Markdown and HTML."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def code_block(lines: Sequence[str]) -> list[str]:
    """Return shell commands as a block with a fence that none of them ends; nothing for none."""
    fence = "`" * max(3, 1 + max((len(run) for line in lines for run in re.findall("`+", line)), default=0))
    return [f"{fence}sh", *lines, fence] if lines else []
