"""Locks that processes share: one held for a moment, and one that shows that its process lives."""

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from remote.local_directory import make_directory

PATIENCE = 5.0
"""Seconds to wait for another process to finish; each needs milliseconds."""

_UNSUPPORTED = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS}
"""Not every file system supports locks."""


@cache
def _opened(path: Path, _pid: int) -> int:
    """Open the file at `path` once: closing it would release every lock that this process has on it (fcntl(2))."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def hold(path: Path, number: int) -> None:
    """Lock byte `number` of the file at `path` until this process ends, however it ends; raise OSError."""
    fcntl.lockf(_opened(path, os.getpid()), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)


def is_held(path: Path, number: int) -> bool:
    """Return whether another process, of any PID namespace or computer that shares the file, holds byte `number`."""
    handle = _opened(path, os.getpid())
    try:
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
    except BlockingIOError:
        return True
    fcntl.lockf(handle, fcntl.LOCK_UN, 1, number)
    return False


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of the file at `path`, whose suffix becomes ``.lock``; raise OSError after PATIENCE."""
    make_directory(path.parent)
    handle = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        _lock(handle, time.monotonic() + PATIENCE)
        yield
    finally:
        os.close(handle)


def _lock(handle: int, deadline: float) -> None:
    while True:
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise
        except OSError as error:
            if error.errno in _UNSUPPORTED:
                return None
            raise
        time.sleep(0.005)
