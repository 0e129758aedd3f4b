"""What can go wrong with the library, in words for people."""

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from suites.errors import BenchwrightError


class StoreError(BenchwrightError):
    """The library cannot be read or written, or has no such run."""


class StoreFullError(StoreError):
    """The library's file system takes no more."""


_REMEDIES: Mapping[int, tuple[str, str]] = MappingProxyType(
    {
        sqlite3.SQLITE_BUSY: ("is in use by another program", "Wait until it is done and try again."),
        sqlite3.SQLITE_READONLY: ("cannot be written", "Check the permissions of the file and its folder."),
        sqlite3.SQLITE_PERM: ("cannot be opened", "Check the permissions of the file and its folder."),
        sqlite3.SQLITE_CANTOPEN: ("cannot be opened", "Check the permissions of the file and its folder."),
        sqlite3.SQLITE_IOERR: ("could not be read or written: the disk reports an error", "Check the disk."),
    }
)


def translated(error: BaseException | None, path: Path) -> StoreError:
    """Return what SQLite's `error` about the store at `path` means to a person."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the low byte is the primary code
    if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
        return damaged(path, str(error))
    if code == sqlite3.SQLITE_FULL:
        return StoreFullError(f"No space is left for the library {path}.", "Free some space on its disk.")
    if code in _REMEDIES:
        what, remedy = _REMEDIES[code]
        return StoreError(f"The library {path} {what}.", remedy)
    return StoreError(f"The library {path} failed: {error}.")


def damaged(path: Path, detail: str) -> StoreError:
    """Return the error that says the file at `path` is left as it is, because it cannot be understood."""
    return StoreError(
        f"The library {path} is damaged or is none ({detail}). Nothing in it was changed.",
        f"Restore a copy, or save what can be read: benchwright salvage {path} NEW. --store names another library.",
    )
