"""Benchwright command lines in messages, completed with the library in use so that they work as printed."""

import re
import shlex
from collections.abc import Sequence

from app.library_location import Location
from app.paths import store_path

_library: tuple[str, re.Pattern[str]] | None = None
_verbs: tuple[str, ...] = ()


def use_library(location: Location | None, verbs: Sequence[str] | None = None) -> None:
    """Set the library that with_library() names; none for the default one.

    `verbs` are those of the command line; None keeps the last ones.
    """
    global _library, _verbs  # noqa: PLW0603 (a process serves one library)
    _verbs = _verbs if verbs is None else tuple(verbs)
    _library = None
    if location is not None and location != store_path() and _verbs:
        found = re.compile(rf"\bbenchwright (?=(?:{'|'.join(map(re.escape, _verbs))})\b)")
        _library = f"benchwright --store {shlex.quote(str(location))} ", found


def with_library(text: str) -> str:
    """Insert ``--store`` for a library that is not the default into every Benchwright command line in `text`."""
    if _library is None:
        return text
    named, found = _library
    return found.sub(lambda _: named, text)
