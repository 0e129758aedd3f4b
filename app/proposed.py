"""Command lines of Benchwright that its messages propose: they work as they are printed."""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from app.paths import store_path

_library: tuple[str, re.Pattern[str]] | None = None
_verbs: tuple[str, ...] = ()


def use_library(path: Path | None, verbs: Sequence[str] | None = None) -> None:
    """Name the library at `path` from now on, where it is not the user's default one.

    `verbs` are those of the command line; without them those given last stay.
    """
    global _library, _verbs  # noqa: PLW0603 (a process serves one library)
    _verbs = _verbs if verbs is None else tuple(verbs)
    _library = None
    if path is not None and path != store_path() and _verbs:
        found = re.compile(rf"\bbenchwright (?=(?:{'|'.join(map(re.escape, _verbs))})\b)")
        _library = f"benchwright --store {shlex.quote(str(path))} ", found


def with_library(text: str) -> str:
    """Return `text` with the library in use named in every command line of Benchwright."""
    if _library is None:
        return text
    named, found = _library
    return found.sub(lambda _: named, text)
