"""Files written whole or not at all."""

import contextlib
import os
import tempfile
from pathlib import Path

from suites.errors import BenchwrightError


class WriteError(BenchwrightError):
    """A file could not be written; what stood there before is untouched."""


def write_whole(path: Path, content: bytes, *, private: bool = False) -> Path:
    """Write `content` to `path` so that a crash leaves the old file or the new one; return `path`.

    Written beside it, forced to disk, renamed over it, and the rename forced to disk. Only its user can read what is
    `private`; of the rest the umask decides, but not everybody may write it. Raises WriteError.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700 if private else 0o775)
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
