"""Backup of the whole library to another file: a consistent copy, verified before it gets its name."""

import sqlite3
from collections.abc import Generator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from app.store import errors, schema
from app.store.database import Database
from app.store.library_file import copy_open, driver_of, for_reading, make_one_file, new_library
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
    if not path.parent.is_dir():  # its disk may not be mounted
        raise errors.StoreError(f"The folder {path.parent} does not exist.", "Create it, or mount its disk.")
    with source.reading() as connection, new_library(path) as partial:
        raw = driver_of(connection)
        expected = _counts(raw)
        copy_open(raw, partial)
        make_one_file(partial)
        rows = _verified(partial, path, expected)
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
        "If the library itself is damaged, copy what is readable with: benchwright salvage LIBRARY NEW",
    )


def _counts(connection: sqlite3.Connection) -> Mapping[str, int]:
    """Return the number of rows of each table."""
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {
        name: connection.execute('SELECT count(*) FROM "{}"'.format(name.replace('"', '""'))).fetchone()[0]  # noqa: S608 (names from the file's own schema, quoted)
        for name in names
    }
