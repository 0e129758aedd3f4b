"""Output of text and files: escaping of control characters, JSON, and atomic file writes."""

import contextlib
import json
import os
import tempfile
import unicodedata
from functools import lru_cache
from pathlib import Path

from remote.local_directory import make_directory
from suites.errors import BenchwrightError

SQLITE = b"SQLite format 3\0"
"""The first bytes of a library (https://www.sqlite.org/fileformat.html)."""


class WriteError(BenchwrightError):
    """A file could not be written; the old one is unchanged."""


def write_whole(path: Path, content: bytes, *, private: bool = False) -> Path:
    """Write `content` to `path` atomically: a crash leaves the old file or the new one. Return `path`.

    Write a temporary file in its folder, fsync it, rename it over `path`, and fsync the folder. The mode is 0600 if
    `private`, else 0664 less the umask, never world-writable. Raises WriteError, also for a device, and for a database,
    which may be the library.
    """
    try:
        if kind := _kept(path):
            raise WriteError(f"{path} is a {kind}: it is not replaced.", "Choose another path.")
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
            f"{path} cannot be written: {reason}.",
            "Choose another path, or check permissions and free space.",
        ) from error
    return path


def _kept(path: Path) -> str:
    """Return what is at `path` if no output may replace it; empty for nothing, or a file that is no database."""
    if path.is_dir():
        return "folder"
    if not path.is_file():
        return "device or pipe" if path.exists() else ""
    with path.open("rb") as file:
        return "database" if file.read(len(SQLITE)) == SQLITE else ""


def make_folder(path: Path, remedy: str) -> None:
    """Create the folder `path` if it is missing; raise WriteError with `remedy`."""
    try:
        make_directory(path, private=False)
    except OSError as error:
        raise WriteError(
            f"The folder {path} cannot be created: {(error.strerror or str(error)).lower()}.", remedy
        ) from error


def make_private(path: Path) -> None:
    """Create an empty file at `path` with mode 0600; raise OSError, also if it exists.

    SQLite gives its journal and WAL files the mode of the database.
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
    """Return the umask. os.umask() can only be read by setting it, which races with other threads."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("Umask:"):
            return int(line.split()[1], 8)
    return 0o077


UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories that control a terminal, change the text direction, or are invisible."""


def escaped(text: str, but: str = "") -> str:
    """Return `text` with every character of UNSEEN escaped, except those in `but`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(character if character in but else _escaped(character) for character in text)


@lru_cache(maxsize=4096)
def _escaped(character: str) -> str:
    return repr(character)[1:-1] if unicodedata.category(character) in UNSEEN else character


def json_text(content: object) -> str:
    """Return `content` as JSON that is safe to print: characters of UNSEEN become JSON escapes.

    That keeps the meaning, because characters beyond ASCII occur only within strings.
    """
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    if text.isascii() and "\x7f" not in text:
        return text
    return "".join(_for_json(character) for character in text)


@lru_cache(maxsize=4096)
def _for_json(character: str) -> str:
    seen = character == "\n" or unicodedata.category(character) not in UNSEEN
    return character if seen else json.dumps(character)[1:-1] if character != "\x7f" else "\\u007f"


def visible(text: str) -> str:
    """Return `text` with every unprintable character but the newline escaped."""
    return "".join(
        character if character.isprintable() or character == "\n" else repr(character)[1:-1] for character in text
    )
