"""Directories on this computer, created with explicit permissions."""

from pathlib import Path


def make_directory(path: Path, *, private: bool = True) -> None:
    """Create the directory `path` and its missing parents; an existing one is not changed.

    The mode is 0700 if `private`, else 0775, less the umask: never world-writable. Raises OSError, also if `path`
    exists and is not a directory.
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
