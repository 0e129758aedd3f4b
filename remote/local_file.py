"""Files on this computer that somebody names: read up to a limit, and never waited for without end."""

import errno
import os
import select
import stat
import time
from pathlib import Path

PATIENCE = 10.0
"""Seconds that whoever writes to a pipe may take from one piece to the next."""


def read_bounded(path: Path, most: int) -> bytes:
    """Return what is in the file at `path`, one byte more than `most` at most, so that a longer one is seen.

    A pipe may be named, such as that of a shell's ``<(…)``; one that nobody writes to is empty. Raises OSError, also
    for a pipe on which nothing comes for PATIENCE.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        pieces: list[bytes] = []
        left = most + 1
        while left > 0 and (data := _read(descriptor, min(left, 2**16))):
            pieces.append(data)
            left -= len(data)
        return b"".join(pieces)
    finally:
        os.close(descriptor)


def _read(descriptor: int, size: int) -> bytes:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return os.read(descriptor, size)
        except BlockingIOError:
            waiting = select.poll()
            waiting.register(descriptor, select.POLLIN)
            if not waiting.poll(max(0.0, deadline - time.monotonic()) * 1000):
                raise TimeoutError(errno.ETIMEDOUT, "nothing was written to it for 10 s") from None
