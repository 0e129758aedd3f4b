"""Database of a library file (SQLite): opened on first use, checked before writing; transactions."""

import math
import sqlite3
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import closing, contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from pathlib import Path

from sqlalchemy import Connection, Engine, NullPool, create_engine, event
from sqlalchemy.exc import DBAPIError

from app.output import make_private
from app.store import errors, schema, schema_upgrade, stored_evidence
from app.store.database import PATIENCE, Database, patience_of, with_patience
from app.store.dialects import APPLICATION_ID
from app.store.library_file import (
    BRIEF,
    OpenFile,
    ReadOnlyCopy,
    cannot_open,
    check_kind,
    for_reading,
    for_writing,
    foreign_code,
    identity_of,
    path_to_create,
    patiently,
    stamps_of,
    wal_of,
)
from app.store.main_file import Identity

_WRITING = "benchwright_writing"

_FILE = "benchwright_file"

_Connect = Callable[[], Connection]

_open_driver: ContextVar[Callable[[], sqlite3.Connection]] = ContextVar("open_driver")
"""What opens the file of the connection that is being made."""


class FileDatabase(Database):
    """One library file, opened on first use."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._writer = threading.Lock()
        self._written = -math.inf  # when a commit was made (time.monotonic)
        self._connect: _Connect | None = None
        self._newer: int | None = None
        self._file: Identity | None = None  # the file opened last; once set, a missing file is an error
        self._copy = ReadOnlyCopy(path, _is_earlier, _upgrade)
        self._held: set[OpenFile] = set()

    @property
    def location(self) -> Path:
        """The path of the file."""
        return self._path

    @property
    def path(self) -> Path:
        """The path of the file."""
        return self._path

    def read_only(self, lately: float = 0.0) -> errors.StoreError | None:
        """Return why the library cannot be written (newer format, full or read-only disk); None if it can.

        A commit in the last `lately` seconds is enough: to try it takes the lock that runs write under.
        """
        with self.reading() as connection:
            newer = self._too_new_to_write(connection)
        return newer or (None if time.monotonic() - self._written < lately else self._refusal())

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a connection in one read transaction (a consistent snapshot).

        Raises StoreLostError if the file is gone, or if a recorder has another file open than the one at the path.
        """
        for file in tuple(self._held):
            file.check()
        with self._translating(), self._to_read() as connection, connection.begin():
            yield connection

    @contextmanager
    def transaction(self, connection: Connection) -> Iterator[Connection]:
        """Give `connection`, from connect(), in a transaction; every commit goes through here.

        Raises, without committing, ReadOnlyError if a newer Benchwright converted the library since it was opened,
        StoreLostError if the open file is no longer the one at the path, DamagedError if another program wrote to it.
        """
        file: OpenFile = connection.get_execution_options()[_FILE]
        with self._translating(), self._turn(connection):
            try:
                file.check()
                with connection.begin():
                    newer = self._too_new_to_write(connection)
                    if newer is not None:
                        raise newer
                    yield connection
                    file.check()  # again: the file may have been replaced during the transaction
                self._written = time.monotonic()
                file.is_intact()  # records what the commit's checkpoint wrote
            except DBAPIError:
                file.check()  # SQLite reports an emptied or replaced file as damaged
                raise

    @contextmanager
    def _turn(self, connection: Connection) -> Iterator[None]:
        """Let the threads of this process write one after the other: SQLite's lock is had by whoever asks first.

        After the patience of `connection`, which the wait uses up, it is left to SQLite whether it is still locked.
        """
        began, patience = time.monotonic(), patience_of(connection)
        waited = self._writer.acquire(timeout=max(0.0, patience))
        try:
            with_patience(connection, max(0.0, patience - (time.monotonic() - began)))
            yield
        finally:
            if waited:
                self._writer.release()

    def connect(self) -> Connection:
        """Return a connection for write transactions, to be closed by the caller. Raises ReadOnlyError."""
        with self._translating():
            connect = self._opened()
            if self._newer is not None:
                raise errors.read_only(self.path, self._newer, schema.FORMAT)
            file = OpenFile(self.path, self._file or (0, 0))
            connection = connect().execution_options(**{_WRITING: True, _FILE: file})
        try:
            file.check()
        except errors.StoreError:
            connection.close()
            raise
        return connection

    def hold(self, connection: Connection) -> OpenFile:
        """Make reading() fail, until release(), if the path has another file than `connection` has open; return that.

        For recorders: their connection stays open, and readers must see the same file.
        """
        file: OpenFile = connection.get_execution_options()[_FILE]
        self._held.add(file)
        return file

    def release(self, file: OpenFile) -> None:
        """Undo hold()."""
        self._held.discard(file)

    def is_open(self, file: Identity | None) -> bool:
        """Return whether `file` is the file opened last."""
        return file is not None and file == self._file

    def stamps(self) -> tuple[Hashable, ...]:
        """Return the stamps of the file and of its log."""
        return stamps_of(self.path)

    def size(self) -> int:
        """Return the bytes of the file with its log."""
        total = self.path.stat().st_size
        with suppress(FileNotFoundError):
            total += wal_of(self.path).stat().st_size
        return total

    def close(self) -> None:
        """Remove the read-only copy; no connection is kept open."""
        with self._lock:
            self._connect = None
            self._copy.close()

    def _too_new_to_write(self, connection: Connection) -> errors.ReadOnlyError | None:
        found = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
        return errors.read_only(self.path, found, schema.FORMAT) if found > schema.FORMAT else None

    def _refusal(self) -> errors.StoreError | None:
        try:
            with self.writing(patience=0.0):
                return None
        except (errors.StoreFullError, errors.StoreLostError) as error:
            return error
        except errors.StoreError:
            return None  # locked or damaged: reported on the next write

    @contextmanager
    def _translating(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise errors.translated(error.orig, self.path) from error
        except sqlite3.Error as error:  # of the driver's own cursor
            raise errors.translated(error, self.path) from error

    def _to_read(self) -> Connection:
        """Return a connection for reading; of a copy if SQLite cannot create its files beside the library."""
        try:
            connect = self._opened()
            connection = connect()
            try:
                with connection.begin():
                    connection.exec_driver_sql("SELECT count(*) FROM sqlite_master")
            except DBAPIError:
                connection.close()
                raise
        except (DBAPIError, errors.StoreError) as error:
            orig = error.orig if isinstance(error, DBAPIError) else error.__cause__
            if errors.code_of(orig) not in errors.NO_SIDE_FILES:
                raise
            return self._read_copy(error)
        return connection

    def _read_copy(self, error: Exception) -> Connection:
        try:
            _check(self.path, self._copy.connection)
            return _connected(_reading, self._copy.connection)
        except OSError:
            raise error from None

    def _opened(self) -> _Connect:
        with self._lock:
            found = check_kind(self.path)
            if self._file is not None and found is None:
                raise errors.lost(self.path, "is gone: it was moved, removed or unmounted")
            if found is not None and (found.st_dev, found.st_ino) != self._file:  # replaced by another file
                self._connect = None
            elif found is not None and not found.st_size:
                raise errors.lost(self.path, "was emptied")
            if self._connect is None:
                self._connect = self._open()
            return self._connect

    def _open(self) -> _Connect:
        found = check_kind(self.path)
        if found is None and not self.creates:
            raise errors.no_library(self.path)
        if found is None:
            self._make()
        identity = identity_of(self.path)
        self._newer = _check(self.path, lambda: for_reading(self.path)) if found and found.st_size else None
        if self._newer is not None:
            self._file = identity
            return partial(_connected, _reading, partial(for_reading, self.path))
        connect = _prepared_for_writing(self.path)
        self._file = identity
        return connect

    def _make(self) -> None:
        try:
            # SQLite would delete this log, and its commits, with the new library; another process may have made both.
            if wal_of(self.path).exists() and not self.path.exists():
                raise errors.StoreError(
                    f"The library {self.path} is missing, but its write-ahead log exists.",
                    "Restore the library, move the log away, or choose another library with --store.",
                )
            with suppress(FileExistsError):  # another process was first
                make_private(path_to_create(self.path))
        except OSError as error:
            raise cannot_open(self.path, error) from error


def _check(path: Path, connect: Callable[[], sqlite3.Connection]) -> int | None:
    """Return the format of a library that is newer but readable; None for a writable one.

    Raises StoreError if the file is not a library or too new to be read. Writes nothing.
    """
    try:
        with closing(connect()) as connection:
            application, found, tables = patiently(lambda: _described(connection), PATIENCE)
            code = foreign_code(connection)
            needed = 0 if code else read_format(connection, found)
    except sqlite3.Error as error:
        if errors.code_of(error) == sqlite3.SQLITE_NOTADB:
            raise errors.damaged(path, errors.NOT_SQLITE) from error
        raise errors.translated(error, path) from error
    if tables and application != APPLICATION_ID:
        raise errors.foreign_file(path)
    if code:  # of a newer Benchwright, it may be its views
        raise errors.too_new(path, found, found) if found > schema.FORMAT else errors.with_code(path, code)
    if needed > schema.FORMAT:
        raise errors.too_new(path, found, needed)
    return found if found > schema.FORMAT else None


def _described(connection: sqlite3.Connection) -> list[int]:
    """Return application id, format, and the number of tables and indexes."""
    return [
        connection.execute(f"SELECT {what}").fetchone()[0]
        for what in (
            "application_id FROM pragma_application_id",
            "user_version FROM pragma_user_version",
            "count(*) FROM sqlite_master",
        )
    ]


def read_format(connection: sqlite3.Connection, found: int) -> int:
    """Return the format needed to read a library of the format `found`: its read_format, else `found`."""
    name = schema.formats.name
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,)).fetchone():
        return found
    needed = connection.execute(f"SELECT max(read_format) FROM {name}").fetchone()[0]  # noqa: S608 (constant name)
    return needed if isinstance(needed, int) else found


def _prepared_for_writing(path: Path) -> _Connect:
    """Return what connects to the library at `path`; create its tables or upgrade them if needed."""
    connect = partial(_connected, _writing, partial(for_writing, path, BRIEF))
    with connect() as connection:
        with connection.begin():
            if connection.exec_driver_sql("PRAGMA user_version").scalar() == schema.FORMAT:
                return connect
        with connection.execution_options(**{_WRITING: True}).begin():
            # Read again inside the write transaction: another process may have upgraded it first.
            version = connection.exec_driver_sql("PRAGMA user_version").scalar()
            if version == 0:
                schema_upgrade.create(connection)
            elif version is not None and version < schema.FORMAT:
                schema_upgrade.upgrade(connection)
                stored_evidence.write(connection)
    return connect


def _is_earlier(connection: sqlite3.Connection) -> bool:
    """Return whether a library has an earlier format."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return bool(application == APPLICATION_ID and 0 < version < schema.FORMAT)


def _upgrade(copy: Path) -> None:
    """Upgrade a copy of a library to the current format."""
    with closing(for_writing(copy)) as connection:
        earlier = _is_earlier(connection)
    if earlier:
        _prepared_for_writing(copy)


def _prepare(connection: sqlite3.Connection, _record: object) -> None:
    settings = ["journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"]
    if patiently(lambda: connection.execute("PRAGMA page_count").fetchone(), PATIENCE) == (0,):
        # Deleted runs free disk space. Must be set first, while the file is empty.
        settings.insert(0, "auto_vacuum = FULL")
    for setting in settings:  # another process may be creating the same library
        patiently(partial(connection.execute, f"PRAGMA {setting}"), PATIENCE).close()


def _begin(connection: Connection) -> None:
    options = connection.get_execution_options()

    def begin() -> None:
        if options.get(_WRITING, False):
            # Take the write lock at once: a deferred upgrade from read to write fails with SQLITE_BUSY unretried.
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            connection.exec_driver_sql("BEGIN")
            connection.exec_driver_sql("SELECT 1 FROM sqlite_master")  # takes the read lock, so that a wait is here

    patiently(begin, patience_of(connection))


def _connected(engine: Engine, open_driver: Callable[[], sqlite3.Connection]) -> Connection:
    token = _open_driver.set(open_driver)
    try:
        return engine.connect()
    finally:
        _open_driver.reset(token)


def _driver() -> sqlite3.Connection:
    return _open_driver.get()()


def _engine() -> Engine:
    """Return an engine for any file: SQLAlchemy compiles a statement once for each engine."""
    engine = create_engine("sqlite://", creator=_driver, poolclass=NullPool)
    event.listen(engine, "begin", _begin)
    return engine


_reading = _engine()

_writing = _engine()
event.listen(_writing, "connect", _prepare)
