"""Directories of this computer: made with the permissions they need, whatever the umask."""

from pathlib import Path


def make_directory(path: Path, *, private: bool = True) -> None:
    """Make the directory `path` and whatever is missing above it; one that exists stays as it is.

    Only this account can use what is made `private` (0700); the rest is made as the umask has it, but never so that
    every account may write to it. Raises OSError, also where something else is at `path`.
    """
    mode = 0o700 if private else 0o775
    try:
        path.mkdir(mode)
    except FileNotFoundError:
        if path.parent == path:
            raise
        make_directory(path.parent, private=private)
        path.mkdir(mode, exist_ok=True)
    except OSError:
        if not path.is_dir():
            raise
