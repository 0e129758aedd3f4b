"""Paths of the user's files, and protection against replacement by other accounts."""

import logging
import os
import pwd
import shlex
import stat
from contextlib import suppress
from pathlib import Path

from platformdirs import PlatformDirs

from suites.errors import BenchwrightError

_DIRECTORIES = PlatformDirs("benchwright", appauthor=False)


def store_path() -> Path:
    """Return the file of the library."""
    return Path(_DIRECTORIES.user_data_dir) / "runs.sqlite3"


def hosts_path() -> Path:
    """Return the file of saved hosts."""
    return Path(_DIRECTORIES.user_config_dir) / "hosts.toml"


def consent_path() -> Path:
    """Return the file of consents to the content of plans."""
    return Path(_DIRECTORIES.user_state_dir) / "consent"


def queue_path() -> Path:
    """Return the file of the queue."""
    return Path(_DIRECTORIES.user_state_dir) / "queue.json"


def unstored_path() -> Path:
    """Return the folder of texts that could not be stored when the window was ended by a signal."""
    return Path(_DIRECTORIES.user_state_dir) / "unstored"


def window_path() -> Path:
    """Return the file of the window's settings."""
    return Path(_DIRECTORIES.user_config_dir) / "window.ini"


def private_directories() -> tuple[Path, ...]:
    """Return every directory that only Benchwright uses; each may be missing."""
    return tuple(dict.fromkeys(path().parent for path in (store_path, hosts_path, consent_path, log_path)))


def log_path() -> Path:
    """Return the log file, the only destination of tracebacks."""
    return Path(_DIRECTORIES.user_log_dir) / "benchwright.log"


def reports_path() -> Path:
    """Return the default folder of reports."""
    return Path(_DIRECTORIES.user_documents_dir) / "Benchwright"


log = logging.getLogger(__name__)

OTHERS = stat.S_IWGRP | stat.S_IWOTH
"""The mode bits that let other accounts write."""


class UnsafeDirectoryError(BenchwrightError):
    """Another account can replace the files of Benchwright."""


def secure_private_directories() -> None:
    """Remove write permission of other accounts, which an earlier umask or version may have granted.

    Delete consents that others could have replaced. Raises UnsafeDirectoryError if another account owns a directory,
    or if its permissions cannot be changed.
    """
    for directory in private_directories():
        with suppress(FileNotFoundError, NotADirectoryError):
            _secure(directory)


def replaceable_by_others(path: Path) -> bool:
    """Return whether another account may rename or replace `path`, by the owners and modes of the directories above.

    Group write permission above Benchwright's own directory is ignored: it is often a group of one user.
    """
    directories = Path(os.path.realpath(path)).parents
    for index, directory in enumerate(directories):
        found = directory.stat()
        bits = OTHERS if index == 0 else stat.S_IWOTH
        if not _trusted(found.st_uid) or (found.st_mode & bits and not found.st_mode & stat.S_ISVTX):
            return True
    return False


def _secure(directory: Path) -> None:
    found = directory.stat()
    if not _trusted(found.st_uid):
        raise UnsafeDirectoryError(
            f"The directory {directory} belongs to the account {_name(found.st_uid)}, which can replace "
            "Benchwright’s files.",
            f"Change its owner: sudo chown -R {_name(os.geteuid())} {shlex.quote(str(directory))}",
        )
    if not found.st_mode & OTHERS:
        return
    log.warning("other accounts could write to %s", directory)
    if directory == consent_path().parent:
        with suppress(OSError):
            consent_path().unlink()
    try:
        for entry in directory.iterdir():
            mode = entry.lstat().st_mode
            if stat.S_ISREG(mode) and mode & OTHERS:
                entry.chmod(0o600)
        directory.chmod(0o700)
    except OSError as error:
        if os.statvfs(directory).f_flag & os.ST_RDONLY:
            return  # read-only file system
        raise UnsafeDirectoryError(
            f"Other accounts can write to Benchwright’s directory {directory}, and its mode cannot be changed: "
            f"{(error.strerror or str(error)).lower()}.",
            f"Remove that permission: sudo chmod go-w {shlex.quote(str(directory))}",
        ) from error


def _trusted(owner: int) -> bool:
    """Return whether `owner` is this account, root, or the account that called sudo."""
    return owner in {os.geteuid(), 0} or (os.geteuid() == 0 and str(owner) == os.environ.get("SUDO_UID"))


def _name(uid: int) -> str:
    with suppress(KeyError):
        return pwd.getpwuid(uid).pw_name
    return str(uid)
