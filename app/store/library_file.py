"""The library's file on the disk: made for its user alone, told apart from whatever takes its place, copied aside."""

import errno
import os
import shutil
import sqlite3
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from sqlalchemy.exc import DBAPIError

from app.store.errors import IN_USE, StoreError, StoreLostError, code_of, damaged, lost, named, translated
from app.writing import make_private

PATIENCE = 5.0
"""Seconds to wait for another program that has the library locked."""

BRIEF = 0.25
"""Seconds of that which SQLite waits itself: no signal is handled meanwhile."""

SMALLEST = 512
"""Bytes of the smallest database there is: one page of the smallest size (https://www.sqlite.org/fileformat.html)."""

AGAIN = 0.05
"""Seconds between two tries at a library that another program has locked."""

BESIDE = ("-wal", "-shm", "-journal")
"""What SQLite adds to the name of a library for the files that belong to it."""

T = TypeVar("T")

Identity = tuple[int, int]
"""The device and the inode of a file."""


def wal_of(path: Path) -> Path:
    """Return the write-ahead log of the library at `path`: SQLite names it after the file behind every link."""
    return Path(f"{os.path.realpath(path)}-wal")


def make_new(path: Path) -> None:
    """Make an empty file for a library at `path`; raise StoreError where something is there, or it cannot be made."""
    try:
        make_private(path)
    except FileExistsError as error:
        raise StoreError(f"{path} exists already.", "Choose a new file name.") from error
    except OSError as error:
        raise cannot_open(path, error) from error


def check_kind(path: Path) -> os.stat_result | None:
    """Return what `path` is, None where there is nothing; raise StoreError for a pipe, a device or a directory.

    Nothing is opened: a pipe would keep whoever opens it, and a descriptor that is closed gives up SQLite's locks.
    """
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise cannot_open(path, error) from error
    if not stat.S_ISREG(found.st_mode):
        raise StoreError(
            f"The library {named(path)} cannot be opened: it is {_kind(found)}.", "Name a file with --store."
        )
    if 0 < found.st_size < SMALLEST:  # SQLite itself would take a very short file for an empty database
        raise damaged(path, "it is not an SQLite file")
    return found


def place_to_make(path: Path) -> Path:
    """Return where a new library at `path` is to be made: the target where that is a link to a file that is missing.

    Raises StoreError where the folder of the target is missing too: a disk may not be mounted.
    """
    for part in (path, *path.parents):
        if part.is_symlink() and not part.exists():
            target = Path(os.path.realpath(part))
            if part == path and target.parent.is_dir():
                return target
            raise StoreError(
                f"The library {path} cannot be made: {part} is a link to {target}, which does not exist.",
                f"Make the folder {target.parent if part == path else target} or mount its disk, or name another "
                "library with --store.",
            )
    return path


def _kind(found: os.stat_result) -> str:
    for test, kind in ((stat.S_ISDIR, "a directory"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket")):
        if test(found.st_mode):
            return kind
    return "a device"


def cannot_open(path: Path, error: OSError) -> StoreLostError:
    """Return the error that says why the library cannot be opened."""
    if error.errno == errno.ELOOP:
        return StoreLostError(
            f"The library {path} cannot be opened: its symbolic link leads back to itself.",
            "Correct the link, or name another library with --store.",
        )
    reason = (error.strerror or "unknown error").lower()
    return StoreLostError(
        f"The library {named(path)} cannot be opened: {reason}.", "Check its folder, or name another with --store."
    )


def identity_of(path: Path) -> Identity | None:
    """Return which file is at `path`, None for none; raise OSError where that cannot be found out."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


@dataclass(slots=True, eq=False)
class OpenFile:
    """The file that a connection opened at `path`, and its write-ahead log once that is known."""

    path: Path
    main: Identity
    wal: Identity | None = None
    withdrawn: list[Path] = field(default_factory=list)

    def check(self) -> None:
        """Raise StoreLostError where others no longer find this file at its path."""
        try:
            found = self.path.stat()
            if (found.st_dev, found.st_ino) != self.main:
                raise lost(self.path, "was replaced by another file")
            if found.st_size < SMALLEST:
                raise lost(self.path, "was emptied")
            self._check_wal()
        except FileNotFoundError as error:
            raise lost(self.path, "is gone: it was moved, removed or unmounted") from error
        except OSError as error:
            raise lost(self.path, f"cannot be reached: {(error.strerror or str(error)).lower()}") from error

    def withdraw(self) -> None:
        """Move the log away from beside another file that took this one's place: SQLite would read it into that one.

        The connection goes on using it under its new name.
        """
        log = wal_of(self.path)
        with suppress(OSError):
            if identity_of(self.path) not in {None, self.main} and identity_of(log) == self.wal:
                for end in ("-wal", "-shm"):
                    beside = log.with_name(log.name.removesuffix("-wal") + end)
                    self.withdrawn.append(beside.rename(beside.with_name(f"{beside.name}-of-lost-{self.main[1]}")))

    def _check_wal(self) -> None:
        log = wal_of(self.path)
        found = identity_of(log)
        if self.wal is None:
            self.wal = found
        elif found != self.wal:
            raise lost(self.path, f"lost its write-ahead log {log.name}")


def for_writing(path: Path, timeout: float = PATIENCE) -> sqlite3.Connection:
    """Return a connection to the library at `path`, which is never made by it."""
    return _connection(path, "mode=rw", timeout)


def for_reading(path: Path) -> sqlite3.Connection:
    """Return a connection that can write nothing, not even tidy the file up."""
    return _connection(path, "mode=ro")


def _connection(path: Path, words: str, timeout: float = BRIEF) -> sqlite3.Connection:
    uri = f"{path.resolve().as_uri()}?{words}"
    connection = sqlite3.connect(uri, uri=True, timeout=timeout, check_same_thread=False, isolation_level=None)
    return hardened(connection)


def patiently(work: Callable[[], T], patience: float) -> T:
    """Return what `work` returns; do it again for `patience` seconds while another program has the library locked.

    The wait is Python's, so that a signal ends it.
    """
    deadline = time.monotonic() + patience
    while True:
        try:
            return work()
        except (sqlite3.Error, DBAPIError) as error:
            cause = error.orig if isinstance(error, DBAPIError) else error
            if code_of(cause) not in IN_USE or time.monotonic() >= deadline:
                raise
            time.sleep(AGAIN)


_LIMITS = (
    (sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 200),
    (sqlite3.SQLITE_LIMIT_SQL_LENGTH, 2**20),
    (sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 20),  # deleting a run cascades
)
"""Limits that no statement of Benchwright comes near; SQLite refuses a schema that needs more."""


def hardened(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Return `connection`, set so that what is in its file runs nothing: anybody may have written it.

    Triggers and views are refused when a library is opened (foreign_code()); where Python can set it (3.12), SQLite
    also runs none. Source: https://www.sqlite.org/security.html.
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
    """Return the triggers, views, virtual tables and computed columns of a file: Benchwright makes none of them."""
    objects = connection.execute(
        "SELECT type, name FROM sqlite_master WHERE type NOT IN ('table', 'index') "
        "OR (type = 'table' AND rootpage = 0) ORDER BY name"
    )
    found = [f"{'virtual table' if kind == 'table' else kind} {name}" for kind, name in objects]
    return found or [f"computed column {name}" for (name,) in connection.execute(_COMPUTED)]


_COMPUTED = (
    "SELECT m.name || '.' || c.name FROM sqlite_master AS m, pragma_table_xinfo(m.name) AS c "
    "WHERE m.type = 'table' AND c.hidden IN (2, 3)"
)


class Aside:
    """Reads a library beside which SQLite can make no files of its own: its disk is full, or may not be written.

    `is_earlier` tells of a connection whether the library has an earlier format; `upgrade` converts a copy of one.
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
        """Return a connection that reads; raise OSError where what was written last can be copied nowhere.

        Without a write-ahead log the file says everything, and nobody writes to it. With one, both are copied to where
        there is room: the log can only be read with a file of its own beside it. A library of an earlier format is
        read from a copy, which is upgraded.
        """
        log = wal_of(self._path)
        with suppress(FileNotFoundError):
            if log.stat().st_size:
                return for_reading(self._copy(self._path, log))
        as_it_is = _connection(self._path, "mode=ro&immutable=1")
        try:
            if not self._is_earlier(as_it_is):
                return as_it_is
        except sqlite3.Error:
            return as_it_is  # whoever reads meets it again, and says so
        as_it_is.close()
        return for_reading(self._copy(self._path))

    def close(self) -> None:
        """Remove the copy, where there is one."""
        if self._folder is not None:
            self._folder.cleanup()
            self._folder, self._copied = None, ()

    def _copy(self, *files: Path) -> Path:
        """Return a copy of the library and, where there is one, of its log, in the format of today."""
        now = tuple((one.st_ino, one.st_size, one.st_mtime_ns) for one in (file.stat() for file in files))
        if self._folder is None or self._copied != now:
            self.close()
            self._folder = room_for(2 * sum(size for _, size, _ in now))
            for file, name in zip(files, ("copy", "copy-wal"), strict=False):
                shutil.copyfile(file, Path(self._folder.name) / name)
            self._upgrade(Path(self._folder.name) / "copy")
            self._copied = now
        return Path(self._folder.name) / "copy"


MEMORY = Path("/dev/shm")  # noqa: S108 (a private directory is made in it)
"""A file system in memory, which may have room where no disk has."""


def room_for(size: int) -> tempfile.TemporaryDirectory[str]:
    """Make a private directory where `size` bytes find room, removed in the end; raise OSError where there is none."""
    return tempfile.TemporaryDirectory(prefix="benchwright-", dir=_place_with(size))


def place_for(size: int) -> Path:
    """Make a private directory where `size` bytes find room, which is the caller's to remove; raise OSError."""
    return Path(tempfile.mkdtemp(prefix="benchwright-", dir=_place_with(size)))


def _place_with(size: int) -> Path:
    """Return where temporary files go, or memory, whichever has room for `size` bytes first; raise OSError for none."""
    for place in _places():
        with suppress(OSError):
            if shutil.disk_usage(place).free > size + 2**20 and os.access(place, os.W_OK):
                return place
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _places() -> Iterator[Path]:
    with suppress(FileNotFoundError):  # no temporary directory takes a file
        yield Path(tempfile.gettempdir())
    yield MEMORY


def copy_open(connection: sqlite3.Connection, target: Path) -> None:
    """Write all that `connection` sees to the empty file `target`, wherever its own file is by now.

    Raises sqlite3.Error, StoreBusyError where another program has the file locked.
    """

    def refuse_busy(status: int, _remaining: int, _total: int) -> None:
        if status in IN_USE:  # else it would be tried for ever
            raise translated(_with_code(status), target)

    with closing(for_writing(target)) as new:
        connection.backup(new, progress=refuse_busy)


def _with_code(code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError()
    error.sqlite_errorcode = code
    return error


def remove_library(path: Path) -> None:
    """Remove the library at `path` and all that SQLite makes beside it, where they are there."""
    for end in ("", *BESIDE):
        with suppress(OSError):
            Path(f"{path}{end}").unlink()
