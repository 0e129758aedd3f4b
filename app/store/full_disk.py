"""Operations without disk space: delete a run without a write-ahead log, save a run to another file."""

import errno
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import Connection, NullPool, create_engine
from sqlalchemy.exc import DBAPIError

from app.paths import store_path
from app.store import schema
from app.store.errors import FREE_SPACE, StoreError, StoreFullError, TakenOverError, code_of, translated
from app.store.library_file import driver_of, for_writing, temporary_folder, wal_of
from app.store.recorder import Recorder

Work = Callable[[Connection], None]


def on_full_disk(path: Path, work: Work) -> None:
    """Do `work`, which deletes, in the library at `path` on a full disk, and free the space.

    First with an exclusive lock and a rollback journal, which fits in the space freed by checkpointing the log. If that
    fails, in a copy on another file system that is then written over the library and removed after fsync. Raises
    StoreFullError if there is no space for a copy, StoreError if another program has the library open.
    """
    try:
        try:
            _exclusively(path, work)
        except (DBAPIError, sqlite3.Error) as error:
            if not isinstance(translated(_cause(error), path), StoreFullError):
                raise
            _in_a_copy(path, work)
    except (DBAPIError, sqlite3.Error) as error:
        raise translated(_cause(error), path) from error


def _cause(error: DBAPIError | sqlite3.Error) -> BaseException | None:
    return error.orig if isinstance(error, DBAPIError) else error


def _exclusively(path: Path, work: Work, *, tidy: bool = False) -> None:
    """Do `work` in one transaction with an exclusive lock; `tidy` runs VACUUM after it."""
    engine = create_engine("sqlite://", creator=lambda: for_writing(path), poolclass=NullPool)
    with engine.connect() as connection:
        raw = driver_of(connection)
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
        raise StoreFullError(f"No space left to convert the library {path}.", FREE_SPACE)


def _in_a_copy(path: Path, work: Work) -> None:
    log = wal_of(path)
    logged = log.stat().st_size if log.exists() else 0
    try:
        folder = temporary_folder(3 * (path.stat().st_size + logged))
    except OSError as error:
        raise _no_space_error(path) from error
    copy = folder / path.name
    try:
        shutil.copyfile(path, copy)
        if logged:
            shutil.copyfile(log, wal_of(copy))
        _exclusively(copy, work, tidy=True)
    except BaseException as error:
        shutil.rmtree(folder)
        if isinstance(error, OSError) or code_of(error) == sqlite3.SQLITE_FULL:
            raise _no_space_error(path) from error
        raise
    _write_over(copy, path)
    shutil.rmtree(folder)


def _write_over(copy: Path, path: Path) -> None:
    """Write `copy` over the library in place, which is no smaller, so that no new block is needed."""
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
            f"The library {path} could not be overwritten: {error.strerror}. Its content is in {copy}.",
            "Copy that file to a safe place now.",
        ) from error


def _no_space_error(path: Path) -> StoreFullError:
    return StoreFullError(
        f"No space left for the library {path}, nor for a temporary copy of it.",
        "Free space on its disk, or set TMPDIR to a directory with free space.",
    )


def move_to_new_file(recorder: Recorder) -> str:
    """Move `recorder` to a new file; return a message about what is lost, empty for nothing.

    Tries the folder of the library, the default folder of libraries, and that of temporary files. Raises StoreError
    with the reason for each folder.
    """
    beside = recorder.location if isinstance(recorder.location, Path) else store_path()
    name = f"{beside.stem}-{recorder.run_id}{beside.suffix}"
    refused: list[str] = []
    full = False
    for folder in dict.fromkeys((recorder.folder, store_path().parent, Path(tempfile.gettempdir()))):
        if folder is None:
            continue
        try:
            return recorder.save_as(folder / name)
        except TakenOverError:
            raise
        except StoreError as error:
            full = full or isinstance(error, StoreFullError) or getattr(error.__cause__, "errno", 0) == errno.ENOSPC
            refused.append(f"{folder}: {_reason(error)}")
    raise StoreError(
        f"The run {recorder.run_id} could not be saved to another file ({'; '.join(refused)}).",
        "Free space in one of these folders." if full else "",
    )


def _reason(error: StoreError) -> str:
    if isinstance(error, StoreFullError):
        return "no space left"
    if isinstance(error.__cause__, OSError):
        return (error.__cause__.strerror or "not writable").lower()
    return error.message
