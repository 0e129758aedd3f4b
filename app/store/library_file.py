"""The library's file: private creation, identity and integrity checks, hardened connections, copies."""

import errno
import os
import secrets
import shutil
import sqlite3
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from app.output import make_private
from app.store import errors
from app.store.database import PATIENCE
from app.store.main_file import Identity, MainFile
from app.store.sql_views import STATEMENTS
from remote.local_file import FileStamp, stamp_of

BRIEF = 0.25
"""Seconds of each wait inside SQLite, during which Python handles no signal."""

MIN_SIZE = 512
"""Bytes of the smallest possible database, one page (https://www.sqlite.org/fileformat.html)."""

RETRY_INTERVAL = 0.05
"""Seconds between tries at a locked library."""

SUFFIXES = ("-wal", "-shm", "-journal")
"""Suffixes of the files that SQLite keeps beside a library."""

T = TypeVar("T")


def wal_of(path: Path) -> Path:
    """Return the write-ahead log of the library at `path`; SQLite resolves symbolic links for its name."""
    return _side_file(path, "-wal")


def stamps_of(path: Path) -> tuple[FileStamp | None, ...]:
    """Return the stamps of the library at `path` and of its log; None for one that is missing or empty.

    Readers create and remove an empty log, and write to no other file than its index.
    """
    return tuple(map(stamp_of, (path, wal_of(path))))


def _side_file(path: Path, end: str) -> Path:
    return Path(f"{os.path.realpath(path)}{end}")


def create_file(path: Path) -> None:
    """Create an empty file for a library at `path`; raise StoreError if it exists or cannot be created."""
    try:
        make_private(path)
    except FileExistsError as error:
        raise errors.StoreError(f"{path} exists already.", "Choose a new file name.") from error
    except OSError as error:
        raise cannot_open(path, error) from error


def check_kind(path: Path) -> os.stat_result | None:
    """Return the stat of `path`, None if missing; raise StoreError for a pipe, a device or a directory.

    Does not open it: opening a pipe blocks, and closing any descriptor of a file drops SQLite's POSIX locks on it.
    """
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise cannot_open(path, error) from error
    if not stat.S_ISREG(found.st_mode):
        raise errors.StoreError(
            f"The library {errors.named(path)} cannot be opened: it is {_kind(found)}.", "Choose a file with --store."
        )
    if 0 < found.st_size < MIN_SIZE:  # SQLite treats a very short file as an empty database
        raise errors.damaged(path, errors.NOT_SQLITE)
    return found


def path_to_create(path: Path) -> Path:
    """Return where to create a new library at `path`: the target if that is a link to a missing file.

    Raises StoreError if the target's folder is missing too: its disk may not be mounted.
    """
    for part in (path, *path.parents):
        if part.is_symlink() and not part.exists():
            target = Path(os.path.realpath(part))
            if part == path and target.parent.is_dir():
                return target
            raise errors.StoreError(
                f"The library {path} cannot be created: {part} is a link to {target}, which does not exist.",
                f"Create the folder {target.parent if part == path else target}, mount its disk, or choose another "
                "library with --store.",
            )
    return path


def _kind(found: os.stat_result) -> str:
    for test, kind in ((stat.S_ISDIR, "a directory"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket")):
        if test(found.st_mode):
            return kind
    return "a device"


def cannot_open(path: Path, error: OSError) -> errors.StoreLostError:
    """Return the error for a library that cannot be opened."""
    if error.errno == errno.ELOOP:
        return errors.StoreLostError(
            f"The library {path} cannot be opened: symbolic link loop.",
            "Fix the link, or choose another library with --store.",
        )
    reason = (error.strerror or "unknown error").lower()
    return errors.StoreLostError(
        f"The library {errors.named(path)} cannot be opened: {reason}.",
        "Check its folder, or choose another with --store.",
    )


def identity_of(path: Path) -> Identity | None:
    """Return device and inode of the file at `path`, None if missing; raise OSError if stat fails."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


@dataclass(slots=True, eq=False)
class OpenFile:
    """The file that a connection has open at `path`, and its write-ahead log once known."""

    path: Path
    main: Identity
    wal: Identity | None = None
    withdrawn: list[Path] = field(default_factory=list)
    _content: MainFile | None = None

    def check(self) -> None:
        """Raise StoreLostError if this file is no longer at its path, DamagedError if another program wrote to it.

        The connection must be open.
        """
        try:
            found = self.path.stat()
            if (found.st_dev, found.st_ino) != self.main:
                raise errors.lost(self.path, "was replaced by another file")
            if found.st_size < MIN_SIZE:
                raise errors.lost(self.path, "was emptied")
            if not self.is_intact():
                raise errors.overwritten(self.path)
            self._check_wal()
        except FileNotFoundError as error:
            raise errors.lost(self.path, "is gone: it was moved, removed or unmounted") from error
        except OSError as error:
            raise errors.lost(self.path, f"cannot be reached: {(error.strerror or str(error)).lower()}") from error

    def is_intact(self) -> bool:
        """Return whether only SQLite wrote to the file since it was opened, even if it was moved."""
        if self._content is None:
            self._content = MainFile(self.main, identity_of(_side_file(self.path, "-shm")))
        return self._content.is_intact()

    def is_in_place(self) -> bool:
        """Return whether the file is still at its path."""
        with suppress(OSError):
            return identity_of(self.path) == self.main
        return False

    def withdraw(self) -> None:
        """Rename the log if another file replaced this one: SQLite would apply it to that file.

        The connection keeps using it under the new name.
        """
        with suppress(OSError):
            if identity_of(self.path) not in {None, self.main}:
                self._move_log()

    def abandon(self) -> None:
        """Prevent the log from being applied to the file, which another program has overwritten.

        Blocks the checkpoint at the end of the connection, and renames the log so that no other program applies it.
        """
        if self._content is not None:
            self._content.refuse_checkpoint()
        with suppress(OSError):
            self._move_log()

    def _move_log(self) -> None:
        if identity_of(wal_of(self.path)) == self.wal:
            for end in ("-wal", "-shm"):
                side_file = _side_file(self.path, end)
                self.withdrawn.append(side_file.rename(side_file.with_name(f"{side_file.name}-of-lost-{self.main[1]}")))

    def _check_wal(self) -> None:
        log = wal_of(self.path)
        found = identity_of(log)
        if self.wal is None:
            self.wal = found
        elif found != self.wal:
            raise errors.lost(self.path, f"lost its write-ahead log {log.name}")


def for_writing(path: Path, timeout: float = PATIENCE) -> sqlite3.Connection:
    """Return a connection for writing to the library at `path`; does not create the file."""
    return _connection(path, "mode=rw", timeout)


def for_reading(path: Path) -> sqlite3.Connection:
    """Return a read-only connection, which runs no checkpoint either."""
    return _connection(path, "mode=ro")


def _connection(path: Path, query: str, timeout: float = BRIEF) -> sqlite3.Connection:
    uri = f"{path.resolve().as_uri()}?{query}"
    connection = sqlite3.connect(uri, uri=True, timeout=timeout, check_same_thread=False, isolation_level=None)
    return hardened(connection)


def patiently(work: Callable[[], T], patience: float) -> T:
    """Return the result of `work`, retried for up to `patience` seconds while the library is locked.

    Waits in Python, not in SQLite, so that signals are handled.
    """
    deadline = time.monotonic() + patience
    while True:
        try:
            return work()
        except (sqlite3.Error, DBAPIError) as error:
            cause = error.orig if isinstance(error, DBAPIError) else error
            if errors.code_of(cause) not in errors.IN_USE or time.monotonic() >= deadline:
                raise
            time.sleep(RETRY_INTERVAL)


_LIMITS = (
    (sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 200),
    (sqlite3.SQLITE_LIMIT_SQL_LENGTH, 2**20),
    (sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 20),  # deleting a run cascades
)
"""SQLite limits far above Benchwright's own statements; they make SQLite reject a hostile schema."""


def hardened(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Return `connection`, hardened for untrusted files (https://www.sqlite.org/security.html).

    Triggers and views are rejected when a library is opened (foreign_code()); from Python 3.12 they are also disabled.
    """
    connection.execute("PRAGMA trusted_schema = OFF").close()
    connection.execute("PRAGMA cell_size_check = ON").close()
    for limit, most in _LIMITS:
        connection.setlimit(limit, most)
    if sys.version_info >= (3, 12):
        connection.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)
        connection.setconfig(sqlite3.SQLITE_DBCONFIG_ENABLE_TRIGGER, False)
        connection.setconfig(sqlite3.SQLITE_DBCONFIG_ENABLE_VIEW, False)
    return connection


def foreign_code(connection: sqlite3.Connection) -> list[str]:
    """Return the triggers, views, virtual tables and computed columns of a file, except Benchwright's own views."""
    objects = connection.execute(
        "SELECT type, name, sql FROM sqlite_master WHERE type NOT IN ('table', 'index') "
        "OR (type = 'table' AND rootpage = 0) ORDER BY name"
    )
    found = [
        f"{'virtual table' if kind == 'table' else kind} {name}"
        for kind, name, sql in objects
        if (kind, sql) != ("view", STATEMENTS.get(name))
    ]
    return found or [f"computed column {name}" for (name,) in connection.execute(_COMPUTED)]


_COMPUTED = (
    "SELECT m.name || '.' || c.name FROM sqlite_master AS m, pragma_table_xinfo(m.name) AS c "
    "WHERE m.type = 'table' AND c.hidden IN (2, 3)"
)


class ReadOnlyCopy:
    """Read access to a library beside which SQLite cannot create files: its disk is full or read-only.

    `is_earlier` returns whether a connection's library has an earlier format; `upgrade` converts a copy of one.
    """

    def __init__(
        self, path: Path, is_earlier: Callable[[sqlite3.Connection], bool], upgrade: Callable[[Path], None]
    ) -> None:
        self._path = path
        self._is_earlier = is_earlier
        self._upgrade = upgrade
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._copied: tuple[object, ...] = ()

    def connection(self) -> sqlite3.Connection:
        """Return a read-only connection; raise OSError if a copy is needed and there is no space for it.

        Without a write-ahead log the file is complete and is opened as immutable. With one, both are copied, since
        reading a log requires its index file. A library of an earlier format is copied and upgraded.
        """
        log = wal_of(self._path)
        with suppress(FileNotFoundError):
            if log.stat().st_size:
                return for_reading(self._copy(self._path, log))
        immutable = _connection(self._path, "mode=ro&immutable=1")
        try:
            if not self._is_earlier(immutable):
                return immutable
        except sqlite3.Error:
            return immutable  # the caller's query reports the same error
        immutable.close()
        return for_reading(self._copy(self._path))

    def close(self) -> None:
        """Remove the copy, if any."""
        if self._folder is not None:
            self._folder.cleanup()
            self._folder, self._copied = None, ()

    def _copy(self, *files: Path) -> Path:
        """Return a copy of the library and its log, in the current format; reused while the files are unchanged."""
        now = tuple((one.st_ino, one.st_size, one.st_mtime_ns) for one in (file.stat() for file in files))
        if self._folder is None or self._copied != now:
            self.close()
            self._folder = temporary_space(2 * sum(size for _, size, _ in now))
            for file, name in zip(files, ("copy", "copy-wal"), strict=False):
                shutil.copyfile(file, Path(self._folder.name) / name)
            self._upgrade(Path(self._folder.name) / "copy")
            self._copied = now
        return Path(self._folder.name) / "copy"


def driver_of(connection: Connection) -> sqlite3.Connection:
    """Return the driver's connection below an SQLAlchemy one; raise TypeError if it is not of sqlite3."""
    driver = connection.connection.driver_connection
    if not isinstance(driver, sqlite3.Connection):
        raise TypeError(f"the driver is {type(driver).__name__}, not sqlite3")
    return driver


MEMORY = Path("/dev/shm")  # noqa: S108 (a private directory is made in it)
"""A file system in memory, used if no disk has space."""


def temporary_space(size: int) -> tempfile.TemporaryDirectory[str]:
    """Create a private temporary directory with `size` bytes of space; raise OSError if there is none."""
    return tempfile.TemporaryDirectory(prefix="benchwright-", dir=_folder_with(size))


def temporary_folder(size: int) -> Path:
    """Like temporary_space(), but the caller removes the directory."""
    return Path(tempfile.mkdtemp(prefix="benchwright-", dir=_folder_with(size)))


def _folder_with(size: int) -> Path:
    """Return the first of the temporary directory and MEMORY with space for `size` bytes; raise OSError if none."""
    for folder in _folders():
        with suppress(OSError):
            if shutil.disk_usage(folder).free > size + 2**20 and os.access(folder, os.W_OK):
                return folder
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _folders() -> Iterator[Path]:
    with suppress(FileNotFoundError):  # no usable temporary directory
        yield Path(tempfile.gettempdir())
    yield MEMORY


def copy_open(connection: sqlite3.Connection, target: Path) -> None:
    """Back up the database of `connection` to the empty file `target`, even if its own file was moved.

    Raises sqlite3.Error, StoreBusyError if the file is locked.
    """

    def refuse_busy(status: int, _remaining: int, _total: int) -> None:
        if status in errors.IN_USE:  # otherwise backup() retries forever
            raise errors.translated(_with_code(status), target)

    with closing(for_writing(target)) as new:
        connection.backup(new, progress=refuse_busy)


def _with_code(code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError()
    error.sqlite_errorcode = code
    return error


@contextmanager
def new_library(path: Path) -> Iterator[Path]:
    """Give the name of an empty file, which becomes the library `path` when it is whole and on disk.

    After a failure, or if it is killed, there is nothing at `path`. Raises StoreError, for a full disk that of `path`.
    """
    if os.path.lexists(path):
        raise errors.StoreError(f"{path} exists already.", "Choose a new file name.")
    partial = path.with_name(f".{path.name[-200:]}-{secrets.token_hex(4)}.partial")
    try:
        make_private(partial)
        yield partial
        make_one_file(partial)
        _sync(partial)
        create_file(path)  # fails if it exists meanwhile
        partial.replace(path)
        _sync(path.parent)
    except errors.StoreFullError as error:
        raise errors.no_space(str(path)) from error
    except OSError as error:
        raise errors.cannot_write(path, error) from error
    except sqlite3.Error as error:
        raise errors.translated(error, path) from error
    finally:
        remove_library(partial)


def make_one_file(path: Path) -> None:
    """Move what SQLite keeps beside the library at `path` into it, so that it is whole alone and on a read-only medium.

    Raises sqlite3.Error, for example on a full disk.
    """
    with closing(for_writing(path)) as library:
        if library.execute("PRAGMA journal_mode = DELETE").fetchone() != ("delete",):
            raise _with_code(sqlite3.SQLITE_FULL)


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


def remove_library(path: Path) -> None:
    """Remove the library at `path` and SQLite's files beside it, if present."""
    for end in ("", *SUFFIXES):
        with suppress(OSError):
            Path(f"{path}{end}").unlink()
