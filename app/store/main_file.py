"""Detection of writes by other programs to the main file of an open library.

In WAL mode the main file changes only by checkpoints, whose progress is in the index of the log. Nothing is opened
here: closing any descriptor of a file drops all POSIX locks of the process on it, SQLite's included. SQLite's own
descriptors are read instead.
"""

import fcntl
import hashlib
import os
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

Identity = tuple[int, int]
"""Device and inode of a file."""

DESCRIPTORS = Path("/proc/self/fd")

HEADER = 100
"""Bytes of the header of a database (https://www.sqlite.org/fileformat.html)."""

SAMPLES = 64
"""Number of sampled pages, besides the first."""

RETRY_INTERVAL = 0.05
"""Seconds before a second read confirms that a file was written to."""

INDEX = 136
"""Bytes of the header of a log's index (https://www.sqlite.org/walformat.html)."""

SHARED = (0x40000002, 510)
"""Offset and length of SQLite's shared lock range (SHARED_FIRST, SHARED_SIZE)."""


@dataclass(frozen=True, slots=True)
class _Content:
    stamp: tuple[int, int, int]  # size, times of the last change
    progress: bytes  # of checkpoints; empty while one runs, or if unknown
    header: bytes
    sample: bytes

    @property
    def size(self) -> int:
        return self.stamp[0]


class MainFile:
    """The main file `main` of an open connection, with the index `index` of its log."""

    def __init__(self, main: Identity, index: Identity | None) -> None:
        self._main = main
        self._index = index
        self._last: _Content | None = None
        self._found: dict[Identity, int] = {}  # by file, the descriptor that was found last
        self._lock = threading.Lock()  # readers call is_intact(), too

    def is_intact(self) -> bool:
        """Return whether the file is unchanged since the last call, except by checkpoints.

        After a checkpoint only the header is compared. True if the file cannot be read.
        """
        with self._lock:
            if self._follows():
                return True
            time.sleep(RETRY_INTERVAL)  # a checkpoint of another process may have been writing this page
            return self._follows()

    def refuse_checkpoint(self) -> None:
        """Prevent the checkpoint that SQLite runs when the connection is closed.

        That checkpoint needs an exclusive POSIX lock. An open file description lock on SQLite's own descriptor
        conflicts with it even within this process (fcntl_locking(2)), and ends with the descriptor.
        """
        lock = struct.pack("hhqqi4x", fcntl.F_RDLCK, os.SEEK_SET, *SHARED, 0)
        for descriptor in self._descriptors(self._main):
            with suppress(OSError):
                fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, lock)

    def _follows(self) -> bool:
        now = self._read()
        if now is None:
            return True
        if self._last is None or now.stamp == self._last.stamp or _may_follow(self._last, now):
            self._last = now
            return True
        return False

    def _read(self) -> _Content | None:
        """Return the content of the file, None if it is not open or cannot be read."""
        with suppress(OSError):
            before = self._progress()
            for descriptor in self._descriptors(self._main):
                found = os.fstat(descriptor)
                stamp = (found.st_size, found.st_mtime_ns, found.st_ctime_ns)
                if self._last is not None and stamp == self._last.stamp:
                    header, sample = self._last.header, self._last.sample
                else:
                    header = os.pread(descriptor, HEADER, 0)
                    sample = _sample(descriptor, found.st_size, header)
                if _is(descriptor, self._main):  # otherwise it was closed, and its number reused, meanwhile
                    return _Content(stamp, before if before == self._progress() else b"", header, sample)
        return None

    def _progress(self) -> bytes:
        """Return the progress of checkpoints; empty while one runs.

        In the index: salts of the log at 32, nBackfill at 96, nBackfillAttempted at 128 (sqlite.org/walformat.html).
        """
        for descriptor in self._descriptors(self._index) if self._index is not None else ():
            index = os.pread(descriptor, INDEX, 0)
            if len(index) == INDEX and index[96:100] == index[128:132]:
                return index[32:40] + index[96:100]
        return b""

    def _descriptors(self, file: Identity) -> Iterator[int]:
        """Yield this process's open descriptors of `file`, the one found last first: each transaction asks."""
        last = self._found.get(file, -1)
        if _is(last, file):
            yield last
        for number in [int(entry.name) for entry in DESCRIPTORS.iterdir()]:
            if number != last and _is(number, file):
                self._found[file] = number
                yield number


def _may_follow(before: _Content, now: _Content) -> bool:
    """Return whether `now` can follow from `before` by SQLite's own writes; without a checkpoint it must be equal."""
    if before.progress and before.progress == now.progress:
        return (before.size, before.sample) == (now.size, now.sample)
    return (
        now.header[:18] == before.header[:18]  # magic string and page size
        and now.header[24:28] >= before.header[24:28]  # change counter
        and now.size >= _page_size(now.header)
    )


def _page_size(header: bytes) -> int:
    return int.from_bytes(header[16:18], "big") * (65536 if header[16:18] == b"\0\1" else 1)


def _sample(descriptor: int, size: int, header: bytes) -> bytes:
    """Return a digest of the first and last page and SAMPLES pages spread evenly between."""
    page = max(_page_size(header), 512)
    pages = size // page
    digest = hashlib.blake2b(header)
    for number in sorted({pages * part // SAMPLES for part in range(SAMPLES)} | {max(pages - 1, 0)}):
        digest.update(os.pread(descriptor, page, number * page))
    return digest.digest()


def _is(descriptor: int, file: Identity) -> bool:
    with suppress(OSError):
        found = os.fstat(descriptor)
        return (found.st_dev, found.st_ino) == file
    return False
