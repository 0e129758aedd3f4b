"""The store's file: opened on first use, checked before anything is written, and one transaction at a time."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path

from sqlalchemy import Connection, Engine, NullPool, create_engine, event
from sqlalchemy.exc import DBAPIError

from app.store import schema
from app.store.errors import (
    NOT_HERE,
    ReadOnlyError,
    StoreError,
    StoreFullError,
    StoreLostError,
    code_of,
    damaged,
    lost,
    not_ours,
    read_only,
    too_new,
    translated,
    with_code,
)
from app.store.library_file import (
    BRIEF,
    PATIENCE,
    Aside,
    Identity,
    OpenFile,
    cannot_open,
    check_kind,
    for_reading,
    for_writing,
    foreign_code,
    identity_of,
    patiently,
    place_to_make,
    wal_of,
)
from app.writing import make_private

_WRITING = "benchwright_writing"

_PATIENCE = "benchwright_patience"

_FILE = "benchwright_file"


class Database:
    """One store file. Connections are opened for each piece of work and closed with it, from any thread."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._engine: Engine | None = None
        self._newer: int | None = None
        self._file: Identity | None = None  # that was opened last; from then on none is made
        self._aside = Aside(path, _is_earlier, _upgrade)
        self._long: set[OpenFile] = set()

    def read_only(self) -> StoreError | None:
        """Return why nothing can be written to the store: its format is newer than ours, or its disk takes nothing.

        None where it can be written.
        """
        with self.reading() as connection:
            newer = self._too_new_to_write(connection)
        return newer or self._refusal()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a connection that sees one state of the store throughout.

        Raises StoreLostError where the file is gone, or where a run is recorded into one that others do not find.
        """
        for file in tuple(self._long):
            file.check()
        with self._translating(), self._to_read() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self, patience: float = PATIENCE) -> Iterator[Connection]:
        """Give a connection in a transaction that is committed, on disk, when the block ends.

        Raises StoreBusyError where another program has the store locked for `patience` seconds.
        """
        with self.connect() as connection, self.transaction(with_patience(connection, patience)):
            yield connection

    @contextmanager
    def transaction(self, connection: Connection) -> Iterator[Connection]:
        """Give `connection`, which connect() returned, in a transaction: the one way to commit.

        Raises ReadOnlyError where a newer Benchwright has converted the store since it was opened, StoreLostError
        where the file that the connection opened is no longer the one at the store's path. Nothing is committed then.
        """
        file: OpenFile = connection.get_execution_options()[_FILE]
        with self._translating():
            try:
                with connection.begin():
                    newer = self._too_new_to_write(connection)
                    if newer is not None:
                        raise newer
                    yield connection
                    file.check()
            except DBAPIError:
                file.check()  # a file that was emptied reads as a damaged one
                raise

    def connect(self) -> Connection:
        """Return a connection for transactions that write. It belongs to the caller. Raises ReadOnlyError."""
        with self._translating():
            engine = self._opened()
            if self._newer is not None:
                raise read_only(self.path, self._newer, schema.FORMAT)
            file = OpenFile(self.path, self._file or (0, 0))
            connection = engine.connect().execution_options(**{_WRITING: True, _FILE: file})
        try:
            file.check()
        except StoreError:
            connection.close()
            raise
        return connection

    def hold(self, connection: Connection) -> OpenFile:
        """Read nothing, until release(), that `connection`, of connect(), does not see; return what it has open.

        It stays open for long: a reader that found another file at the path would say what is not so.
        """
        file: OpenFile = connection.get_execution_options()[_FILE]
        self._long.add(file)
        return file

    def release(self, file: OpenFile) -> None:
        """Read what is at the path, whatever the connection of hold() sees."""
        self._long.discard(file)

    def is_open(self, file: Identity | None) -> bool:
        """Return whether `file` is the one that was opened."""
        return file is not None and file == self._file

    def close(self) -> None:
        """Forget the engine; it holds no connection between two pieces of work."""
        with self._lock:
            self._forget()
            self._aside.close()

    def _forget(self) -> None:
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None

    def _too_new_to_write(self, connection: Connection) -> ReadOnlyError | None:
        found = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
        return read_only(self.path, found, schema.FORMAT) if found > schema.FORMAT else None

    def _refusal(self) -> StoreError | None:
        try:
            with self.writing(patience=0.0):
                return None
        except (StoreFullError, StoreLostError) as error:
            return error
        except StoreError:
            return None  # in use, or damaged: whoever writes is told then

    @contextmanager
    def _translating(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise translated(error.orig, self.path) from error

    def _to_read(self) -> Connection:
        """Return a connection that reads, from a copy where SQLite can make no files beside the library."""
        try:
            connection = self._opened().connect()
            try:
                with connection.begin():
                    connection.exec_driver_sql("SELECT count(*) FROM sqlite_master")
            except DBAPIError:
                connection.close()
                raise
        except (DBAPIError, StoreError) as error:
            orig = error.orig if isinstance(error, DBAPIError) else error.__cause__
            if code_of(orig) not in NOT_HERE:
                raise
            return self._read_aside(error)
        return connection

    def _read_aside(self, error: Exception) -> Connection:
        try:
            _check(self.path, self._aside.connection)
            return _engine_for_reading(self._aside.connection).connect()
        except OSError:
            raise error from None

    def _opened(self) -> Engine:
        with self._lock:
            found = check_kind(self.path)
            if self._file is not None and found is None:
                raise lost(self.path, "is gone: it was moved, removed or unmounted")
            if found is not None and (found.st_dev, found.st_ino) != self._file:  # another has taken its place
                self._forget()
            elif found is not None and not found.st_size:
                raise lost(self.path, "was emptied")
            if self._engine is None:
                self._engine = self._open()
            return self._engine

    def _open(self) -> Engine:
        found = check_kind(self.path)
        if found is None:
            self._make()
        identity = identity_of(self.path)
        self._newer = _check(self.path, lambda: for_reading(self.path)) if found and found.st_size else None
        if self._newer is not None:
            self._file = identity
            return _engine_for_reading(lambda: for_reading(self.path))
        engine = _engine_for_writing(self.path)
        self._file = identity
        return engine

    def _make(self) -> None:
        try:
            if wal_of(self.path).exists():  # SQLite removes what is left of one library when it begins another
                raise StoreError(
                    f"The library {self.path} is gone, and its write-ahead log is still there.",
                    "Put the library back, move the log away, or name another library with --store.",
                )
            with suppress(FileExistsError):  # another Benchwright was first
                make_private(place_to_make(self.path))
        except OSError as error:
            raise cannot_open(self.path, error) from error


def with_patience(connection: Connection, patience: float) -> Connection:
    """Let the transactions of `connection` wait `patience` seconds where another program has the store locked."""
    return connection.execution_options(**{_PATIENCE: patience})


def _check(path: Path, connect: Callable[[], sqlite3.Connection]) -> int | None:
    """Return the format of a store that is newer and can be read; None for one that can be written.

    Raises StoreError for a file that is no store, or one too new to be read. Nothing is written to it.
    """
    try:
        with closing(connect()) as connection:
            application, found, tables = patiently(lambda: _described(connection), PATIENCE)
            code = foreign_code(connection)
            needed = 0 if code else _read_format(connection, found)
    except sqlite3.Error as error:
        if code_of(error) == sqlite3.SQLITE_NOTADB:
            raise damaged(path, "it is not an SQLite file") from error
        raise translated(error, path) from error
    if tables and application != schema.APPLICATION_ID:
        raise not_ours(path)
    if code:
        raise with_code(path, code)
    if needed > schema.FORMAT:
        raise too_new(path, found, needed, schema.FORMAT)
    return found if found > schema.FORMAT else None


def _described(connection: sqlite3.Connection) -> list[int]:
    """Return the application and the format that a store names, and how many tables and indexes it has."""
    return [
        connection.execute(f"SELECT {what}").fetchone()[0]
        for what in (
            "application_id FROM pragma_application_id",
            "user_version FROM pragma_user_version",
            "count(*) FROM sqlite_master",
        )
    ]


def _read_format(connection: sqlite3.Connection, found: int) -> int:
    """Return what must be known to read a store of the format `found`: that format, unless it says otherwise."""
    name = schema.formats.name
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,)).fetchone():
        return found
    said = connection.execute(f"SELECT max(read_format) FROM {name}").fetchone()[0]  # noqa: S608 (a name of our own)
    return said if isinstance(said, int) else found


def _engine_for_writing(path: Path) -> Engine:
    """Return an engine on the library at `path`, which is made or upgraded where that is to be done."""
    engine = create_engine("sqlite://", creator=lambda: for_writing(path, BRIEF), poolclass=NullPool)
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    with engine.connect() as connection, connection.begin():
        if connection.exec_driver_sql("PRAGMA user_version").scalar() == schema.FORMAT:
            return engine
    with engine.connect().execution_options(**{_WRITING: True}) as connection, connection.begin():
        # Looked at again within the transaction: another program may have been first.
        version = connection.exec_driver_sql("PRAGMA user_version").scalar()
        if version == 0:
            schema.create(connection)
        elif version is not None and version < schema.FORMAT:
            schema.upgrade(connection, version)
    return engine


def _is_earlier(connection: sqlite3.Connection) -> bool:
    """Return whether a library has an earlier format."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return bool(application == schema.APPLICATION_ID and 0 < version < schema.FORMAT)


def _upgrade(copy: Path) -> None:
    """Bring a copy of a library to the format of today."""
    with closing(for_writing(copy)) as connection:
        earlier = _is_earlier(connection)
    if earlier:
        _engine_for_writing(copy).dispose()


def _engine_for_reading(connect: Callable[[], sqlite3.Connection]) -> Engine:
    """Return an engine whose connections can write nothing, not even tidy the file up."""
    engine = create_engine("sqlite://", creator=connect, poolclass=NullPool)
    event.listen(engine, "begin", _begin)
    return engine


def _prepare(connection: sqlite3.Connection, _record: object) -> None:
    settings = ["journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"]
    if patiently(lambda: connection.execute("PRAGMA page_count").fetchone(), PATIENCE) == (0,):
        # What a deleted run took goes back to the disk. Only an empty file can take this, before all else.
        settings.insert(0, "auto_vacuum = FULL")
    for setting in settings:  # another program may be making the same library
        patiently(partial(connection.execute, f"PRAGMA {setting}"), PATIENCE).close()


def _begin(connection: Connection) -> None:
    options = connection.get_execution_options()

    def begin() -> None:
        if options.get(_WRITING, False):
            # Two writers then wait for each other, instead of one failing in the middle.
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            connection.exec_driver_sql("BEGIN")
            connection.exec_driver_sql("SELECT 1 FROM sqlite_master")  # who has the file locked is met here

    patiently(begin, options.get(_PATIENCE, PATIENCE))
