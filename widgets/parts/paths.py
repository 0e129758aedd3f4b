"""Paths that a user typed: nothing typed raises."""

from contextlib import suppress
from pathlib import Path


def typed_path(text: str) -> Path:
    """Return `text` as a path with ``~`` expanded; ``~name`` of an unknown user stays as it is."""
    with suppress(RuntimeError):
        return Path(text).expanduser()
    return Path(text)


def exists(path: Path) -> bool:
    """Return whether `path` exists; False if its name is too long or its folder cannot be searched."""
    with suppress(OSError):
        return path.exists()
    return False
