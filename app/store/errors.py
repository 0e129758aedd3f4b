"""What can go wrong with the library, in words for people."""

import errno
import os
import shlex
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from suites.errors import BenchwrightError


class StoreError(BenchwrightError):
    """The library cannot be read or written, or has no such run."""


class StoreFullError(StoreError):
    """The library's file system takes no more."""


class StoreLostError(StoreError):
    """The library is not where it was, or may not be written: what is measured waits."""


class StoreBusyError(StoreError):
    """Another program has the library locked: nothing is lost, and it takes everything once that is over."""


class ReadOnlyError(StoreError):
    """The library is of a newer Benchwright: this one reads it, and writes nothing to it."""


class TakenOverError(StoreError):
    """Another Benchwright records the run now: this one writes nothing of it any more, and lets go of its hosts."""


class DamagedError(StoreError):
    """The library cannot be understood; what can still be read of it may be saved into a new one."""


UNWRITABLE = frozenset({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN})
"""Primary codes of SQLite for a file that may not be written."""

NOT_HERE = UNWRITABLE | {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}
"""Primary codes that reading fails with where SQLite can make no files beside the library."""

_REMEDIES: Mapping[int, tuple[str, str]] = MappingProxyType(
    {
        sqlite3.SQLITE_READONLY: ("cannot be written", "Check the permissions of the file and its folder."),
        sqlite3.SQLITE_PERM: ("cannot be opened", "Check the permissions of the file and its folder."),
        sqlite3.SQLITE_CANTOPEN: ("cannot be opened", "Check the permissions of the file and its folder."),
        sqlite3.SQLITE_IOERR: ("could not be read or written: the disk reports an error", "Check the disk."),
    }
)


IN_USE = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_PROTOCOL})
"""Primary codes of SQLite for a library that another program has locked."""

UNCHANGED = "Nothing in it was changed."


def named(path: Path) -> str:
    """Return `path`, and the file behind it where it is a symbolic link."""
    return f"{path} (a link to {os.path.realpath(path)})" if path.is_symlink() else str(path)


def code_of(error: BaseException | None) -> int:
    """Return SQLite's primary code of an error, 0 for an error that is not its own."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF  # the low byte


def translated(error: BaseException | None, path: Path) -> StoreError:
    """Return what SQLite's `error` about the store at `path` means to a person."""
    code, damage = code_of(error), _damage(error)
    if damage:
        return damaged(path, damage)
    if code in IN_USE:
        return StoreBusyError(
            f"The library {named(path)} is in use by another program.", "Close that program, or wait until it is done."
        )
    if code == sqlite3.SQLITE_FULL:
        return StoreFullError(f"No space is left for the library {named(path)}.", "Free some space on its disk.")
    if code in NOT_HERE and (refused := _refused_by_disk(path)) is not None:
        return refused
    if code in _REMEDIES:
        what, remedy = _REMEDIES[code]
        kind = StoreLostError if code in UNWRITABLE else StoreError
        return kind(f"The library {named(path)} {what}.", remedy)
    return StoreError(f"The library {path} failed: {error}.")


def _damage(error: BaseException | None) -> str:
    """Return what is wrong with the content of a file; empty for another error."""
    if code_of(error) in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
        return str(error)
    if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_IOERR_SHORT_READ:
        return "it was cut off"
    if isinstance(error, sqlite3.OperationalError) and "decode to UTF-8" in str(error):  # by Python, without a code
        return "it holds text that is not UTF-8"
    return ""


LEAST = 2**16
"""Bytes that SQLite needs beside the library at least: those of the index of its log, and a few pages."""


def _refused_by_disk(path: Path) -> StoreError | None:
    """Return what the file system of the library refuses to everybody; None where it is something else."""
    try:
        found = os.statvfs(Path(os.path.realpath(path)).parent)
    except OSError:
        return None
    if found.f_flag & os.ST_RDONLY or _takes_no_file(path.parent):
        return StoreLostError(
            f"The library {named(path)} cannot be written: its file system is read-only.",
            "It can be read. To measure, pin or delete, mount it for writing, or name another library with --store.",
        )
    if found.f_bavail * found.f_frsize < LEAST:
        return StoreFullError(f"No space is left for the library {named(path)}.", "Free some space on its disk.")
    return None


def _takes_no_file(folder: Path) -> bool:
    """Return whether a file system that is mounted for writing is read-only: ext4 is so once it met an error."""
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_WRONLY))
    except OSError as error:
        return error.errno == errno.EROFS
    return False


def cannot_write(path: Path, error: OSError) -> StoreError:
    """Return the error that says why the file at `path` could not be written."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return StoreFullError(f"No space is left for the library {path}.", "Free some space on its disk.")
    reason = (error.strerror or "unknown error").lower()
    return StoreLostError(f"The library {path} cannot be written: {reason}.", "Name another file.")


def lost(path: Path, what: str) -> StoreLostError:
    """Return the error that says `what` happened to the library that was opened at `path`."""
    return StoreLostError(f"The library {path} {what}.", "Put it back, or save what was measured to another file.")


def read_only(path: Path, found: int, known: int) -> ReadOnlyError:
    """Return the error that says why nothing is written to the library at `path`, whose format is `found`."""
    return ReadOnlyError(
        f"The library {path} is of a newer Benchwright: it has format {found}, and this one writes formats up to "
        f"{known}. It can be read, and nothing in it is changed.",
        "To measure, pin or delete, update Benchwright, or name another library with --store.",
    )


def too_new(path: Path, found: int, needed: int, known: int) -> StoreError:
    """Return the error that says why the library at `path` is not even read: that takes knowing format `needed`."""
    reading = f", which takes knowing format {needed}" if needed != found else ""
    return StoreError(
        f"The library {path} has format {found}{reading}; this Benchwright knows formats up to {known}.",
        "Update Benchwright, or name another library with --store. Nothing in it was changed.",
    )


def not_ours(path: Path) -> StoreError:
    """Return the error that says the file at `path` belongs to another program."""
    return StoreError(
        f"{path} is no library: it is a database of another program. Nothing in it was changed.",
        "Name another file with --store.",
    )


def with_code(path: Path, names: Sequence[str]) -> DamagedError:
    """Return the error that says the file at `path` holds triggers or the like, which Benchwright never makes."""
    return DamagedError(
        f"The library {path} holds SQL code that Benchwright did not write: {', '.join(names)}. Nothing in it was run "
        "or changed.",
        f"Save its tables alone: benchwright salvage {shlex.quote(str(path))} NEW. --store names another library.",
    )


def damaged(path: Path, detail: str) -> DamagedError:
    """Return the error that says the file at `path` is left as it is, because it cannot be understood."""
    return DamagedError(
        f"The library {path} is damaged or is none ({detail}). {UNCHANGED}",
        f"Restore a copy, or save what can be read: benchwright salvage {shlex.quote(str(path))} NEW. --store names "
        "another library.",
    )
