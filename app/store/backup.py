"""Backup of the whole library to another file: a consistent copy, verified before it gets its name."""

import os
import secrets
import sqlite3
from collections.abc import Generator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from app.output import make_private
from app.store import errors, schema
from app.store.database import Database
from app.store.library_file import copy_open, create_file, driver_of, for_reading, for_writing, remove_library
from suites.quantities import count_text


@dataclass(frozen=True, slots=True)
class BackedUp:
    """A verified copy of a library. `rows` are all of its tables."""

    path: Path
    runs: int
    rows: int
    size: int  # bytes

    done, total, whole = 1, 1, True  # as those of a transfer

    @property
    def text(self) -> str:
        """What was written and verified, in a sentence."""
        return (
            f"Backed up {count_text(self.runs, 'run')} to {self.path} ({self.size / 1e6:,.1f} MB). "
            f"Verified: integrity check, {count_text(self.rows, 'row')}."
        )


def back_up(source: Database, path: Path) -> Generator[BackedUp]:
    """Copy the library, also while runs are recorded, to the new file `path`; yield what was verified.

    The copy has another name until it is verified and on disk; a failure leaves nothing at `path`. Raises StoreError.
    """
    if not isinstance(source.location, Path):
        raise errors.no_file(source.location)
    if os.path.lexists(path):
        raise errors.StoreError(f"{path} exists already.", "Choose a new file name.")
    if not path.parent.is_dir():  # its disk may not be mounted
        raise errors.StoreError(f"The folder {path.parent} does not exist.", "Create it, or mount its disk.")
    partial = path.with_name(f".{path.name}-{secrets.token_hex(4)}.partial")
    try:
        with source.reading() as connection:
            make_private(partial)
            raw = driver_of(connection)
            expected = _counts(raw)
            copy_open(raw, partial)
        with closing(for_writing(partial)) as copy:
            copy.execute("PRAGMA journal_mode = DELETE").close()  # one file, also on a read-only medium
        _sync(partial)
        rows = _verified(partial, path, expected)
        create_file(path)  # fails if it exists meanwhile
        partial.replace(path)
        _sync(path.parent)
    except OSError as error:
        raise errors.cannot_write(path, error) from error
    except sqlite3.Error as error:
        raise errors.translated(error, path) from error
    finally:
        remove_library(partial)
    yield BackedUp(path, rows[schema.runs.name], sum(rows.values()), path.stat().st_size)


def _verified(file: Path, path: Path, expected: Mapping[str, int]) -> Mapping[str, int]:
    """Return the number of rows by table; raise StoreError if the copy is damaged or incomplete."""
    with closing(for_reading(file)) as copy:
        problem = copy.execute("PRAGMA integrity_check(1)").fetchone()[0]
        found = _counts(copy)
    if problem == "ok" and found == expected:
        return found
    fault = "rows are missing" if problem == "ok" else problem.splitlines()[-1]
    raise errors.StoreError(
        f"The backup {path} was not kept: its check failed ({fault}).",
        "If the library itself is damaged, copy what is readable with: benchwright salvage",
    )


def _counts(connection: sqlite3.Connection) -> Mapping[str, int]:
    """Return the number of rows of each table."""
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {
        name: connection.execute('SELECT count(*) FROM "{}"'.format(name.replace('"', '""'))).fetchone()[0]  # noqa: S608 (names from the file's own schema, quoted)
        for name in names
    }


def _sync(path: Path) -> None:
    """Write a file, or the names in a folder, to disk (fsync)."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError:
        if path.is_file():
            raise  # some network file systems cannot sync a folder
    finally:
        os.close(descriptor)
