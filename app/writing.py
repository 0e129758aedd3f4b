"""Files written whole or not at all."""

import contextlib
import os
import tempfile
from pathlib import Path

from remote.local_directory import make_directory
from suites.errors import BenchwrightError


class WriteError(BenchwrightError):
    """A file could not be written; what stood there before is untouched."""


def write_whole(path: Path, content: bytes, *, private: bool = False) -> Path:
    """Write `content` to `path` so that a crash leaves the old file or the new one; return `path`.

    Written beside it, forced to disk, renamed over it, and the rename forced to disk. Only its user can read what is
    `private`; of the rest the umask decides, but not everybody may write it. Raises WriteError.
    """
    try:
        make_directory(path.parent, private=private)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            Path(name).chmod(0o600 if private else 0o664 & ~_umask())
            Path(name).replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(name).unlink()
            raise
        _sync_folder(path.parent)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise WriteError(
            f"{path} cannot be written: {reason}.", "Choose another place, or make room and check the permissions."
        ) from error
    return path


def make_folder(path: Path, remedy: str) -> None:
    """Make the folder `path` for files of the user where it is missing; raise WriteError with `remedy`."""
    try:
        make_directory(path, private=False)
    except OSError as error:
        raise WriteError(
            f"The folder {path} cannot be made: {(error.strerror or str(error)).lower()}.", remedy
        ) from error


def make_private(path: Path) -> None:
    """Make an empty file at `path` that only its user can read, whatever the umask; raise OSError, also for one there.

    SQLite gives what it makes beside a library the same permissions.
    """
    make_directory(path.parent)
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    """Return the mask that new files get; the kernel tells it without it being changed."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("Umask:"):
            return int(line.split()[1], 8)
    return 0o077
