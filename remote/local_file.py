"""Reading files on this computer with a size limit and a timeout, as bytes, text or TOML."""

import codecs
import errno
import os
import select
import stat
import time
import tomllib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from suites.errors import BenchwrightError
from suites.quantities import quantity

T = TypeVar("T")

FileStamp = tuple[int, int, int]
"""Inode, size and time of the last change of a file."""

PATIENCE = 10.0
"""Seconds without data after which a pipe is given up."""


def stamp_of(path: Path) -> FileStamp | None:
    """Return the stamp of the file at `path`; None if it is missing, unreadable or empty."""
    with suppress(OSError):
        found = path.stat()
        return (found.st_ino, found.st_size, found.st_mtime_ns) if found.st_size else None
    return None


def read_bounded(path: Path, most: int) -> bytes:
    """Return the content of the file at `path`, at most `most` + 1 bytes, so that the caller can detect a longer one.

    The file may be a pipe, such as a shell's ``<(…)``; one without a writer is empty. Raises OSError; TimeoutError for
    a pipe that delivers nothing for PATIENCE.
    """
    # O_NONBLOCK: opening a FIFO without a writer would block.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    try:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        pieces: list[bytes] = []
        remaining = most + 1
        while remaining > 0 and (data := _read(descriptor, min(remaining, 2**16))):
            pieces.append(data)
            remaining -= len(data)
        return b"".join(pieces)
    finally:
        os.close(descriptor)


def read_file(
    path: Path,
    limit: int,
    failure: type[BenchwrightError],
    hint: str,
    parse: Callable[[str], T],
    *,
    encoding: str = "utf-8-sig",  # some editors write a byte order mark
) -> T:
    """Return what `parse` makes of the text file at `path`, of at most `limit` bytes.

    It may be marked as UTF-16, unless another `encoding` is asked for.
    Raises `failure` naming the file and the fault; `hint` is the remedy for a file that is no text.
    """
    try:
        content = read_bounded(path, limit)
        if len(content) > limit:
            raise failure(f"{path} is larger than {quantity(limit)}.", "Choose a smaller file.")
        marked = content[:2] in {codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE}  # PowerShell's >
        text = content.decode("utf-16" if marked and encoding == "utf-8-sig" else encoding)
    except OSError as error:
        raise failure(f"{path} cannot be read: {error.strerror}.", "Check the name and its permissions.") from error
    except UnicodeDecodeError as error:
        raise failure(f"{path} is not a text file.", hint) from error
    try:
        return parse(text)
    except BenchwrightError as error:
        raise failure(f"{path}: {error.message}", error.remedy) from error


def _refuse_large(value: object) -> None:
    """Raise ValueError for an integer beyond 64 bits, which TOML does not have and Python may refuse to print."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError("a whole number exceeds 64 bits")
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _refuse_large(each)


def parse_toml(text: str, failure: type[BenchwrightError], hint: str) -> dict[str, Any]:
    """Parse TOML; raise `failure` with the remedy `hint`."""
    try:
        content = tomllib.loads(text)
        _refuse_large(content)
    except RecursionError as error:
        raise failure("nested too deeply.") from error
    except ValueError as error:  # TOMLDecodeError, and integers that exceed the digit limit
        raise failure(f"not valid TOML: {str(error)[:200]}.", hint) from error
    return content


def _read(descriptor: int, size: int) -> bytes:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return os.read(descriptor, size)
        except BlockingIOError:
            waiting = select.poll()
            waiting.register(descriptor, select.POLLIN)
            if not waiting.poll(max(0.0, deadline - time.monotonic()) * 1000):
                raise TimeoutError(errno.ETIMEDOUT, f"no data for {PATIENCE:g} s") from None
