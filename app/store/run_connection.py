"""The connection over which a run is recorded: open for as long as the run is, so that it reads a file that is gone."""

import sqlite3
from contextlib import suppress
from pathlib import Path

from sqlalchemy import Connection

from app.formats import FormatError
from app.store.database import Database, with_patience
from app.store.errors import StoreError, StoreLostError, damaged, lost, translated
from app.store.library_file import PATIENCE, OpenFile, copy_open, identity_of, wal_of
from app.store.read_back import Written, check_pages, read_back


class RunConnection:
    """A connection to the library of `database` for the run `run_id`, opened when it is first asked for."""

    def __init__(self, database: Database, run_id: str) -> None:
        self.database = database
        self._run_id = run_id
        self._connection: Connection | None = None
        self._file: OpenFile | None = None

    def connected(self, patience: float = PATIENCE) -> Connection:
        """Return the connection, whose transactions wait `patience` seconds for another program; raise StoreError."""
        if self._connection is None:
            self._connection = self.database.connect()
            self._file = self.database.hold(self._connection)
        return with_patience(self._connection, patience)

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self.database.release(self._file)
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def discard(self) -> None:
        """Let go of a file of which everything is elsewhere now."""
        self.close()
        for path in self._file.withdrawn if self._file is not None else ():
            path.unlink(missing_ok=True)

    def folder(self) -> Path | None:
        """Return the library's folder, None where it is gone, or on another disk: nobody looks below a mount point."""
        folder = self.database.path.parent
        with suppress(OSError):
            if self._file is None or folder.stat().st_dev == self._file.main[0]:
                return folder if folder.is_dir() else None
        return None

    def read_back(self) -> Written | None:
        """Read every row of the run at the library's path; return how much anybody finds there. Raises StoreError."""
        try:
            with self.database.reading() as connection:
                return read_back(connection, self._run_id)
        except (FormatError, ValueError, TypeError, LookupError) as error:
            raise damaged(self.database.path, f"a row of the run {self._run_id} cannot be understood") from error

    def check(self, written: Written, seconds: float | None = None) -> None:
        """Raise StoreError unless what is at the library's path is sound, and holds all of the run that was `written`.

        Its pages are looked at for `seconds` at most; None: at every page and every index.
        """
        if not written.agrees(self.read_back()):
            raise lost(self.database.path, f"holds only a part of the run {self._run_id}")
        try:
            with self.database.reading() as connection:
                check_pages(connection, self.database.path, seconds)
        except sqlite3.Error as error:
            raise translated(error, self.database.path) from error

    def regain(self, error: StoreError, written: Written) -> None:
        """Where the file was lost, and what is at its path now holds all that was `written`, go on there next time.

        So it is when a disk comes back, when a copy was moved over the library, or when the write-ahead log alone was
        removed: what is in it is brought into the file first.
        """
        if not isinstance(error, StoreLostError) or self._connection is None or self._file is None:
            return
        self.database.release(self._file)
        self._file.withdraw()
        found = None
        with suppress(StoreError):
            self._settle()
            found = self.read_back()
        if written.agrees(found):
            self.discard()
        else:
            self.database.hold(self._connection)

    def _settle(self) -> None:
        """Bring what is in a write-ahead log that was removed into the file, where nobody else writes to that."""
        raw, path, log = self._driver(), self.database.path, wal_of(self.database.path)
        with suppress(OSError, sqlite3.Error):
            if (
                raw is not None
                and not (log.exists() and log.stat().st_size)
                and self.database.is_open(identity_of(path))
            ):
                raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def copy_to(self, path: Path) -> None:
        """Copy the whole library to the empty file `path`; raise StoreError."""
        raw = self._driver()
        if raw is None:
            raise lost(self.database.path, "is not open")
        try:
            copy_open(raw, path)
        except sqlite3.Error as error:
            raise translated(error, path) from error

    def _driver(self) -> sqlite3.Connection | None:
        found = None if self._connection is None else self._connection.connection.driver_connection
        return found if isinstance(found, sqlite3.Connection) else None
