"""The store's file: opened on first use, checked before anything is written, and one transaction at a time."""

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, NullPool, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from app.store import schema
from app.store.errors import ReadOnlyError, StoreError, damaged, not_ours, read_only, too_new, translated

BUSY_TIMEOUT = 10.0
"""Seconds to wait for another program's transaction."""

_WRITING = "benchwright_writing"


class Database:
    """One store file. Connections are opened for each piece of work and closed with it, from any thread."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._engine: Engine | None = None
        self._newer: int | None = None

    def read_only(self) -> ReadOnlyError | None:
        """Return why nothing can be written to the store: its format is newer than ours. None where that can be."""
        with self.reading() as connection:
            return self._too_new_to_write(connection)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a connection that sees one state of the store throughout."""
        with self._translating(), self._opened().connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Give a connection in a transaction that is committed, on disk, when the block ends."""
        with self.connect() as connection, self.transaction(connection):
            yield connection

    @contextmanager
    def transaction(self, connection: Connection) -> Iterator[Connection]:
        """Give `connection`, which connect() returned, in a transaction.

        Raises ReadOnlyError where a newer Benchwright has converted the store since it was opened.
        """
        with self._translating(), connection.begin():
            newer = self._too_new_to_write(connection)
            if newer is not None:
                raise newer
            yield connection

    def connect(self) -> Connection:
        """Return a connection for transactions that write. It belongs to the caller. Raises ReadOnlyError."""
        with self._translating():
            engine = self._opened()
            if self._newer is not None:
                raise read_only(self.path, self._newer, schema.FORMAT)
            return engine.connect().execution_options(**{_WRITING: True})

    def close(self) -> None:
        """Forget the engine; it holds no connection between two pieces of work."""
        with self._lock:
            if self._engine is not None:
                self._engine.dispose()
                self._engine = None

    def _too_new_to_write(self, connection: Connection) -> ReadOnlyError | None:
        found = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
        return read_only(self.path, found, schema.FORMAT) if found > schema.FORMAT else None

    @contextmanager
    def _translating(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise translated(error.orig, self.path) from error

    def _opened(self) -> Engine:
        with self._lock:
            if self._engine is None:
                self._engine = self._open()
            return self._engine

    def _open(self) -> Engine:
        _make_file(self.path)
        self._newer = _check(self.path)
        if self._newer is not None:
            return _for_reading(self.path)
        url = URL.create("sqlite", database=str(self.path))
        options = {"check_same_thread": False, "timeout": BUSY_TIMEOUT}
        engine = create_engine(url, poolclass=NullPool, connect_args=options)
        event.listen(engine, "connect", _prepare)
        event.listen(engine, "begin", _begin)
        with engine.connect().execution_options(**{_WRITING: True}) as connection, connection.begin():
            # Looked at again within the transaction: another program may have been first.
            found = connection.exec_driver_sql("PRAGMA user_version").scalar()
            if found == 0:
                schema.create(connection)
            elif found is not None and found < schema.FORMAT:
                schema.upgrade(connection, found)
        return engine


def _make_file(path: Path) -> None:
    """Make an empty file that only its user can read; SQLite gives its companions the same permissions."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
    except OSError as error:
        reason = (error.strerror or "unknown error").lower()
        raise StoreError(
            f"The library {path} cannot be opened: {reason}.", "Check its folder, or name another with --store."
        ) from error


_HEADER = b"SQLite format 3\0"  # https://www.sqlite.org/fileformat.html, 1.3


def _check(path: Path) -> int | None:
    """Return the format of a store that is newer and can be read; None for one that can be written.

    Raises StoreError for a file that is no store, or one too new to be read. Nothing is written to it.
    """
    with path.open("rb") as file:
        header = file.read(len(_HEADER))
    if not header:
        return None
    if header != _HEADER:  # SQLite itself would take a very short file for an empty database
        raise damaged(path, "it is no SQLite file")
    try:
        with closing(_connect_for_reading(path)) as connection:
            application, found, tables = (
                connection.execute(f"SELECT {what}").fetchone()[0]
                for what in (
                    "application_id FROM pragma_application_id",
                    "user_version FROM pragma_user_version",
                    "count(*) FROM sqlite_master",
                )
            )
            needed = _read_format(connection, found)
    except sqlite3.Error as error:
        raise translated(error, path) from error
    if tables and application != schema.APPLICATION_ID:
        raise not_ours(path)
    if needed > schema.FORMAT:
        raise too_new(path, found, needed, schema.FORMAT)
    return found if found > schema.FORMAT else None


def _read_format(connection: sqlite3.Connection, found: int) -> int:
    """Return what must be known to read a store of the format `found`: that format, unless it says otherwise."""
    name = schema.formats.name
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,)).fetchone():
        return found
    said = connection.execute(f"SELECT max(read_format) FROM {name}").fetchone()[0]  # noqa: S608 (a name of our own)
    return said if isinstance(said, int) else found


def _connect_for_reading(path: Path) -> sqlite3.Connection:
    uri = f"{path.resolve().as_uri()}?mode=ro"
    return sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT, check_same_thread=False, isolation_level=None)


def _for_reading(path: Path) -> Engine:
    """Return an engine whose connections can write nothing, not even tidy the file up."""
    engine = create_engine("sqlite://", creator=lambda: _connect_for_reading(path), poolclass=NullPool)
    event.listen(engine, "begin", _begin)
    return engine


def _prepare(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # transactions begin where we say, not where the driver guesses
    settings = ["journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"]
    if connection.execute("PRAGMA page_count").fetchone() == (0,):
        # What a deleted run took goes back to the disk. Only an empty file can take this, before all else.
        settings.insert(0, "auto_vacuum = FULL")
    for setting in settings:
        connection.execute(f"PRAGMA {setting}").close()


def _begin(connection: Connection) -> None:
    # IMMEDIATE: two writers then wait for each other, instead of one failing in the middle.
    writing = connection.get_execution_options().get(_WRITING, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")
