"""Deletes from a library whose disk is full, where SQLite finds no room for a log or a journal beside it."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import Connection, NullPool, create_engine
from sqlalchemy.exc import DBAPIError

from app.store import schema
from app.store.errors import StoreError, StoreFullError, code_of, translated
from app.store.library_file import for_writing, place_for, wal_of

Work = Callable[[Connection], None]


def without_room(path: Path, work: Work) -> None:
    """Do `work`, which deletes, in the library at `path`, and give back to its disk what that took.

    First alone and with a rollback journal: that has room where a log was, which is tidied up before. Otherwise in a
    copy, made where there is room, whose content is then written over the library; the copy is removed once that is on
    the disk. Raises StoreFullError where there is no room for a copy anywhere, StoreError where somebody else has the
    library open.
    """
    try:
        try:
            _alone(path, work)
        except (DBAPIError, sqlite3.Error) as error:
            if not isinstance(translated(_cause(error), path), StoreFullError):
                raise
            _in_a_copy(path, work)
    except (DBAPIError, sqlite3.Error) as error:
        raise translated(_cause(error), path) from error


def _cause(error: DBAPIError | sqlite3.Error) -> BaseException | None:
    return error.orig if isinstance(error, DBAPIError) else error


def _alone(path: Path, work: Work, *, tidy: bool = False) -> None:
    """Do `work` in one transaction while nobody else has the library open."""
    engine = create_engine("sqlite://", creator=lambda: for_writing(path), poolclass=NullPool)
    with engine.connect() as connection:
        raw = connection.connection.driver_connection
        assert isinstance(raw, sqlite3.Connection)  # noqa: S101 (the driver that was asked for)
        raw.execute("PRAGMA locking_mode = EXCLUSIVE").close()
        raw.execute("PRAGMA journal_mode = TRUNCATE").close()
        raw.execute("PRAGMA foreign_keys = ON").close()
        raw.execute("BEGIN EXCLUSIVE").close()
        try:
            _check_format(raw, path)
            work(connection)
            raw.execute("COMMIT").close()
        except BaseException:
            if raw.in_transaction:
                raw.execute("ROLLBACK").close()
            raise
        if tidy:
            raw.execute("VACUUM").close()


def _check_format(raw: sqlite3.Connection, path: Path) -> None:
    if raw.execute("PRAGMA user_version").fetchone()[0] != schema.FORMAT:
        raise StoreFullError(f"No space is left to convert the library {path}.", "Free some space on its disk.")


def _in_a_copy(path: Path, work: Work) -> None:
    log = wal_of(path)
    logged = log.stat().st_size if log.exists() else 0
    try:
        folder = place_for(3 * (path.stat().st_size + logged))
    except OSError as error:
        raise _no_room(path) from error
    copy = folder / path.name
    try:
        shutil.copyfile(path, copy)
        if logged:
            shutil.copyfile(log, wal_of(copy))
        _alone(copy, work, tidy=True)
    except BaseException as error:
        shutil.rmtree(folder)
        if isinstance(error, OSError) or code_of(error) == sqlite3.SQLITE_FULL:
            raise _no_room(path) from error
        raise
    _write_over(copy, path)
    shutil.rmtree(folder)


def _write_over(copy: Path, path: Path) -> None:
    """Write `copy` over the library, which is no smaller: no block is taken that was not its own."""
    for beside in (wal_of(path), Path(f"{os.path.realpath(path)}-shm")):
        beside.unlink(missing_ok=True)
    try:
        with copy.open("rb") as source, path.open("r+b") as file:
            shutil.copyfileobj(source, file)
            file.truncate()
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise StoreError(
            f"The library {path} could not be written over: {error.strerror}. What is in it is in {copy}.",
            "Copy that to another place now.",
        ) from error


def _no_room(path: Path) -> StoreFullError:
    return StoreFullError(
        f"No space is left for the library {path}, and none for a copy in the place for temporary files.",
        "Free some space on its disk, or name a directory that has room in TMPDIR.",
    )
