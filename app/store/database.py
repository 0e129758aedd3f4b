"""The store's file: opened on first use, checked before anything is written, and one transaction at a time."""

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, NullPool, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from app.store import schema
from app.store.errors import StoreError, damaged, translated

BUSY_TIMEOUT = 10.0
"""Seconds to wait for another program's transaction."""

_WRITING = "benchwright_writing"


class Database:
    """One store file. Connections are opened for each piece of work and closed with it, from any thread."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._engine: Engine | None = None

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
        """Give `connection`, which connect() returned, in a transaction."""
        with self._translating(), connection.begin():
            yield connection

    def connect(self) -> Connection:
        """Return a connection for transactions that write. It belongs to the caller."""
        with self._translating():
            return self._opened().connect().execution_options(**{_WRITING: True})

    def close(self) -> None:
        """Forget the engine; it holds no connection between two pieces of work."""
        with self._lock:
            if self._engine is not None:
                self._engine.dispose()
                self._engine = None

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
        _check(self.path)
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


def _check(path: Path) -> None:
    """Raise StoreError for a file that is no store or a newer one. Nothing is written to it."""
    with path.open("rb") as file:
        header = file.read(len(_HEADER))
    if not header:
        return
    if header != _HEADER:  # SQLite itself would take a very short file for an empty database
        raise damaged(path, "it is no SQLite file")
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=BUSY_TIMEOUT)
    try:
        application, found, tables = (
            connection.execute(f"SELECT {what}").fetchone()[0]
            for what in (
                "application_id FROM pragma_application_id",
                "user_version FROM pragma_user_version",
                "count(*) FROM sqlite_master",
            )
        )
    except sqlite3.Error as error:
        raise translated(error, path) from error
    finally:
        connection.close()
    if found > schema.FORMAT and application == schema.APPLICATION_ID:
        raise StoreError(
            f"The library {path} has format {found}; this Benchwright knows formats up to {schema.FORMAT}.",
            "Use the newer Benchwright that wrote it. Nothing in it was changed.",
        )
    if tables and application != schema.APPLICATION_ID:
        raise damaged(path, "it is a database of another program")


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
