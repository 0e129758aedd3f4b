"""A lock that processes of this computer share."""

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from remote.local_directory import make_directory

PATIENCE = 5.0
"""Seconds to wait for another process to finish; each needs milliseconds."""

_UNSUPPORTED = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS}
"""Not every file system supports locks."""


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
