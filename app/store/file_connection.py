"""Connection of a recorder to a library file."""

import sqlite3
import time
from contextlib import suppress
from pathlib import Path

from sqlalchemy import Connection

from app.store.database import PATIENCE, with_patience
from app.store.errors import StoreError, StoreLostError, damaged, lost, translated
from app.store.file_database import FileDatabase
from app.store.library_file import OpenFile, copy_open, driver_of, identity_of, wal_of
from app.store.rows import Written
from app.store.run_connection import RunConnection

STEPS = 10_000
"""Steps of SQLite's virtual machine between time checks."""


class FileRunConnection(RunConnection):
    """Connection to a library file; recognises a file that was moved, replaced or overwritten meanwhile."""

    def __init__(self, database: FileDatabase, run_id: str) -> None:
        super().__init__(database, run_id)
        self._library = database
        self._file: OpenFile | None = None

    def connected(self, patience: float = PATIENCE) -> Connection:
        """Return the connection; its transactions wait `patience` seconds for a locked library. Raises StoreError."""
        if self._connection is None:
            self._connection = self._library.connect()
            self._file = self._library.hold(self._connection)
        return with_patience(self._connection, patience)

    def close(self, *, damaged: bool = False) -> None:
        """Close the file; write nothing to it if it is `damaged` or another program wrote to it."""
        if self._file is not None:
            self._library.release(self._file)
        if self._connection is not None:
            if self._file is not None and (damaged or not self._file.is_intact()):
                self._file.abandon()
            self._connection.close()
            self._connection = None

    def discard(self, *, damaged: bool = False) -> None:
        """Close a file whose content is saved elsewhere and remove its renamed logs; `damaged` as in close()."""
        self.close(damaged=damaged)
        for path in self._file.withdrawn if self._file is not None else ():
            path.unlink(missing_ok=True)

    def folder(self) -> Path | None:
        """Return the library's folder, None if it is gone or now on another device (under a mount point)."""
        folder = self._library.path.parent
        with suppress(OSError):
            if self._file is None or folder.stat().st_dev == self._file.main[0]:
                return folder if folder.is_dir() else None
        return None

    def check_pages(self, seconds: float | None) -> None:
        """Check pages for at most `seconds`; None: all pages and indexes."""
        try:
            with self.database.reading() as connection:
                check_pages(connection, self._library.path, seconds)
        except sqlite3.Error as error:
            raise translated(error, self._library.path) from error

    def regain(self, error: StoreError, written: Written) -> None:
        """After losing the file, reconnect at its path next time if the file there contains all rows `written`.

        This is so when a disk is mounted again, when a copy was moved over the library, or when only the write-ahead
        log was removed; the open log is then checkpointed into the file first.
        """
        if self._connection is None or self._file is None:
            return
        if self._file.is_in_place() and not self._file.is_intact():
            self._file.abandon()
            return
        if not isinstance(error, StoreLostError):
            return
        self._library.release(self._file)
        self._file.withdraw()
        found = None
        with suppress(StoreError):
            self._settle()
            found = self.read_back()
        if written.agrees(found):
            self.discard()
        else:
            self._library.hold(self._connection)

    def _settle(self) -> None:
        """Checkpoint a log that was unlinked into the file, unless another process has created a new log."""
        raw, path, log = self._driver(), self._library.path, wal_of(self._library.path)
        with suppress(OSError, sqlite3.Error):
            if (
                raw is not None
                and not (log.exists() and log.stat().st_size)
                and self._library.is_open(identity_of(path))
            ):
                raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def copy_to(self, path: Path) -> None:
        """Copy the library to the empty file `path`; raise StoreError."""
        raw = self._driver()
        if raw is None:
            raise lost(self._library.path, "is not open")
        try:
            copy_open(raw, path)
        except sqlite3.Error as error:
            raise translated(error, path) from error

    def _driver(self) -> sqlite3.Connection | None:
        found = None if self._connection is None else self._connection.connection.driver_connection
        return found if isinstance(found, sqlite3.Connection) else None


def check_pages(connection: Connection, path: Path, seconds: float | None) -> None:
    """Raise DamagedError if the library at `path` is malformed or violates a foreign key.

    With `seconds`, a quick_check (no indexes) that stops after that time; None: a full integrity_check.
    """
    driver = driver_of(connection)
    if seconds is not None:
        deadline = time.monotonic() + seconds
        driver.set_progress_handler(lambda: time.monotonic() > deadline, STEPS)
    try:
        pragma = "integrity_check" if seconds is None else "quick_check"
        (result,) = driver.execute(f"PRAGMA {pragma}(1)").fetchone()
        if result == "ok" and driver.execute("PRAGMA foreign_key_check").fetchone() is not None:
            result = "foreign key violation"
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
            raise
        return
    finally:
        driver.set_progress_handler(None, 0)
    if result != "ok":
        raise damaged(path, " ".join(result.removeprefix("*** in database main ***").split()))
