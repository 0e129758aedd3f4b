"""Errors of the library and their messages."""

import errno
import os
import shlex
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

from app.fleet_study import PREFIX
from app.library_location import Location, ServerUrl
from app.store import schema
from suites.errors import BenchwrightError


class StoreError(BenchwrightError):
    """The library cannot be read or written, or has no such run.

    `unchanged`: nothing in it was changed, which the message then ends with; `fault` is the message without that.
    """

    def __init__(self, fault: str, remedy: str = "", *, unchanged: bool = False) -> None:
        super().__init__(f"{fault} {UNCHANGED}" if unchanged else fault, remedy)
        self.fault = fault


class StoreFullError(StoreError):
    """The library's file system is full."""


class StoreLostError(StoreError):
    """The library is missing, replaced or not writable; recorded events wait in memory."""


class PasswordError(StoreLostError):
    """The server of the library at `url` requires a password, or does not accept the one that it was given."""

    def __init__(self, url: ServerUrl, reason: str, remedy: str) -> None:
        super().__init__(f"The library {url} cannot be opened: {reason}.", remedy)
        self.url = url


class UnknownOutcomeError(StoreLostError):
    """The connection ended during a commit: whether that succeeded is not known."""


class StoreBusyError(StoreError):
    """Another program has locked the library; recorded events wait in memory."""


TRANSIENT = (StoreFullError, StoreLostError, StoreBusyError)
"""What a library that cannot be written at present raises: it may pass."""


class NoStudyError(StoreError):
    """The library has no such fleet study."""


class ReadOnlyError(StoreError):
    """The library has a newer format, which this version only reads."""


class TakenOverError(StoreError):
    """Another process records the run now; this one stops recording and detaches."""


class DamagedError(StoreError):
    """The library is damaged; its readable rows can be salvaged into a new one."""


UNWRITABLE = frozenset({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN})
"""Primary result codes of SQLite for a file that is not writable."""

NO_SIDE_FILES = UNWRITABLE | {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}
"""Primary result codes of reading if SQLite cannot create its files beside the library."""

_REMEDIES: Mapping[int, tuple[str, str]] = {
    sqlite3.SQLITE_READONLY: ("cannot be written", "Check the permissions of the file and its folder."),
    sqlite3.SQLITE_PERM: ("cannot be opened", "Check the permissions of the file and its folder."),
    sqlite3.SQLITE_CANTOPEN: ("cannot be opened", "Check the permissions of the file and its folder."),
    sqlite3.SQLITE_IOERR: ("could not be read or written: disk I/O error", "Check the disk."),
}


IN_USE = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_PROTOCOL})
"""Primary result codes of SQLite for a library locked by another program."""

UNCHANGED = "Nothing in it was changed."

FREE_SPACE = "Free space on its disk."

NOT_SQLITE = "not an SQLite file"


def named(path: Path) -> str:
    """Return `path` as text, with the target of a symbolic link."""
    return f"{path} (a link to {os.path.realpath(path)})" if path.is_symlink() else str(path)


def code_of(error: BaseException | None) -> int:
    """Return SQLite's primary result code of an error, 0 for other errors."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF  # the low byte


def refused_text(verb: str, refused: Sequence[tuple[str, str]], most: int | None = None) -> str:
    """Return the runs that were not `verb`, each time with the reason; `most` bounds the reasons, and the runs of each.

    Runs with the same reason share it. Each sentence has a space before it.
    """
    by_reason: dict[str, list[str]] = {}
    for run, reason in refused:
        by_reason.setdefault(reason, []).append(run)
    shown = list(by_reason.items())[:most]
    texts = [f" Not {verb}: {listed(runs, most)}: {reason}" for reason, runs in shown]
    left = len(refused) - sum(len(runs) for _, runs in shown)
    return "".join(texts) + (f" Not {verb}: {left} more." if left else "")


def listed(names: Sequence[str], most: int | None = None) -> str:
    """Return names with commas, or `most` of them and the number of the others."""
    more = len(names) - len(names[:most])
    return ", ".join(names[:most]) + (f" and {more} more" if more else "")


def translated(error: BaseException | None, path: Path) -> StoreError:
    """Return the StoreError for SQLite's `error` at the library `path`."""
    code, damage = code_of(error), _damage(error)
    if damage:
        return damaged(path, damage)
    if code in IN_USE:
        return StoreBusyError(
            f"The library {named(path)} is locked by another program.", "Close that program or wait for it."
        )
    if code == sqlite3.SQLITE_FULL:
        return no_space(named(path))
    if code in NO_SIDE_FILES and (refused := _refused_by_disk(path)) is not None:
        return refused
    if code in _REMEDIES:
        what, remedy = _REMEDIES[code]
        kind = StoreLostError if code in UNWRITABLE else StoreError
        return kind(f"The library {named(path)} {what}.", remedy)
    return StoreError(f"The library {path} failed: {error}.")


def no_space(library: str) -> StoreFullError:
    """Return the error that the disk of `library` is full."""
    return StoreFullError(f"No space left for the library {library}.", FREE_SPACE)


def _damage(error: BaseException | None) -> str:
    """Return how the content of the file is damaged; empty for another error."""
    if code_of(error) in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
        return str(error)
    if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_IOERR_SHORT_READ:
        return "file truncated"
    if isinstance(error, sqlite3.OperationalError) and "decode to UTF-8" in str(error):  # raised by Python, no code
        return "text is not UTF-8"
    return ""


MIN_FREE = 2**16
"""Bytes that SQLite needs at least beside the library: the index of the log and a few pages."""


def _refused_by_disk(path: Path) -> StoreError | None:
    """Return the error if the file system is read-only or full; None otherwise."""
    try:
        found = os.statvfs(Path(os.path.realpath(path)).parent)
    except OSError:
        return None
    if found.f_flag & os.ST_RDONLY or _is_write_protected(path.parent):
        return StoreLostError(
            f"The library {named(path)} cannot be written: its file system is read-only.",
            "To measure, pin or delete, remount it read-write, or choose another library with --store.",
        )
    if found.f_bavail * found.f_frsize < MIN_FREE:
        return no_space(named(path))
    return None


def _is_write_protected(folder: Path) -> bool:
    """Return whether the file system is read-only though mounted read-write, as ext4 after an error."""
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_WRONLY))
    except OSError as error:
        return error.errno == errno.EROFS
    return False


def cannot_write(path: Path, error: OSError) -> StoreError:
    """Return the error for a file at `path` that could not be written."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return no_space(str(path))
    reason = (error.strerror or "unknown error").lower()
    return StoreLostError(f"The library {path} cannot be written: {reason}.", "Choose another file.")


def lost(path: Location, what: str) -> StoreLostError:
    """Return the error that `what` happened to the open library at `path`."""
    return StoreLostError(f"The library {path} {what}.", "Restore it, or save the run to another file.")


def overwritten(path: Path) -> DamagedError:
    """Return the error that another program wrote to the open library at `path`."""
    return DamagedError(
        f"The library {path} was overwritten or truncated by another program.", "Save the run to another file."
    )


def read_only(path: Location, found: int, known: int) -> ReadOnlyError:
    """Return the error that the library at `path` has the newer format `found` and is read-only."""
    return ReadOnlyError(
        f"The library {path} is read-only: its format {found} is newer than {known}, the newest this Benchwright "
        "writes.",
        "To measure, pin or delete, update Benchwright, or choose another library with --store.",
    )


def too_new(path: Location, found: int, needed: int) -> StoreError:
    """Return the error that the library at `path` cannot be read: that requires format `needed`."""
    reading = f" (readable from format {needed})" if needed != found else ""
    return StoreError(
        f"The library {path} has format {found}{reading}; this Benchwright supports formats up to {schema.FORMAT}.",
        f"Update Benchwright, or choose another library with --store. {UNCHANGED}",
    )


def no_run(run: str) -> StoreError:
    """Return the error that no run has this id or name."""
    shown = "Show a study with: benchwright fleet show"
    return StoreError(
        f"There is no run “{run[:80]}”.", shown if run.startswith(PREFIX) else "List the runs with: benchwright list"
    )


class UnreadableRunError(StoreError):
    """Rows of a run are malformed."""


def unreadable_run(run_id: str, error: Exception) -> UnreadableRunError:
    """Return the error that the rows of a run cannot be read."""
    return UnreadableRunError(f"The run {run_id} cannot be read: {error}", "The library is damaged; restore a copy.")


def foreign_file(path: Path) -> StoreError:
    """Return the error that the file at `path` is a database of another program."""
    return StoreError(
        f"{path} is not a library but a database of another program.",
        "Choose another file with --store.",
        unchanged=True,
    )


def no_library(path: Path) -> StoreError:
    """Return the error that there is no file at `path`, and none was created."""
    return StoreError(f"There is no library at {path}.", "Check --store. A run creates a new one: benchwright quick")


def empty_file(path: Path) -> StoreError:
    """Return the error that the file at `path` is empty."""
    return StoreError(f"{path} is not a library: the file is empty.", "Choose another file.")


def not_readable(url: ServerUrl, role: str) -> StoreError:
    """Return the error that the role may not read the library at `url`."""
    quoted = '"{}"'.format(role.replace('"', '""'))
    return StoreError(
        f"The role {role} may not read the library {url}.",
        "As its owner, run: benchwright store roles | psql DATABASE, and in psql: GRANT benchwright_writer TO "
        f"{quoted}; or, only to read, GRANT benchwright_reader TO {quoted};",
    )


def no_permission(url: ServerUrl, reason: str = "") -> ReadOnlyError:
    """Return the error that the role may not write to the library at `url`; `reason` is what the server refused."""
    return ReadOnlyError(
        f"The library {url} is read-only for this role{f': {reason}' if reason else ''}.",
        "To measure, pin or delete, connect as a writer: benchwright store roles prints the SQL that makes one.",
    )


def needs_owner(url: ServerUrl, found: int | None) -> StoreError:
    """Return the error that the role may not create the tables, or upgrade those of the format `found`."""
    what = "has no library" if found is None else f"has a library of format {found}, older than {schema.FORMAT}"
    return StoreError(
        f"The database {url} {what}, and this role may not change its tables.",
        "As the role that owns the database, run once: benchwright --store URL list",
    )


def no_file(location: Location) -> StoreError:
    """Return the error that the library at `location` is on a server, where no file can be copied or repaired."""
    tool = f"'{location.for_libpq}'" if isinstance(location, ServerUrl) else location
    return StoreError(
        f"The library {location} is a database on a server, not a file.",
        f"Back it up with: pg_dump --format=custom --schema=benchwright --schema=results --file=FILE {tool}, restore "
        "it with pg_restore, or copy its runs to a file with: benchwright store copy URL FILE",
    )


def with_code(path: Path, names: Sequence[str]) -> DamagedError:
    """Return the error that the file at `path` contains triggers, views or similar code."""
    return DamagedError(
        f"The library {path} contains SQL code not written by Benchwright: {', '.join(names)}. Nothing in it was run "
        "or changed.",
        f"Copy only its tables: benchwright salvage {shlex.quote(str(path))} NEW, or choose another library with "
        "--store.",
    )


def damaged(path: Location, detail: str) -> DamagedError:
    """Return the error that the file at `path` is damaged or not a library."""
    return DamagedError(
        f"The library {path} is damaged or not a library ({detail}).",
        f"Restore a copy, salvage it with: benchwright salvage {shlex.quote(str(path))} NEW, or choose another library "
        "with --store.",
        unchanged=True,
    )
