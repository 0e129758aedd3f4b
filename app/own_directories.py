"""Keeps other accounts out of the directories that belong to Benchwright alone."""

import logging
import os
import pwd
import shlex
import stat
from contextlib import suppress
from pathlib import Path

from app.paths import consent_path, own_directories
from suites.errors import BenchwrightError

log = logging.getLogger(__name__)

OTHERS = stat.S_IWGRP | stat.S_IWOTH
"""The mode bits that let other accounts write."""


class UnsafeDirectoryError(BenchwrightError):
    """Another account can replace the files of Benchwright."""


def secure_own_directories() -> None:
    """Take write permission from other accounts: an earlier umask, or version, may have given it to them.

    Consent that others could have replaced meanwhile is forgotten. Raises UnsafeDirectoryError where another account
    owns a directory, or where its permissions cannot be changed.
    """
    for directory in own_directories():
        with suppress(FileNotFoundError, NotADirectoryError):
            _secure(directory)


def others_may_replace(path: Path) -> bool:
    """Return whether another account may rename or replace `path`, by the owners and modes of the directories above.

    Write permission of a group above Benchwright's own directory does not count: it is often a group of one user.
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
            f"The directory {directory} belongs to the account {_name(found.st_uid)}, which can replace what "
            "Benchwright keeps in it.",
            f"Take it over: sudo chown -R {_name(os.geteuid())} {shlex.quote(str(directory))}",
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
            return  # nobody can write to it
        raise UnsafeDirectoryError(
            f"Other accounts can write to the directory {directory}, which is Benchwright's own: "
            f"{(error.strerror or str(error)).lower()}.",
            f"Take that permission away: sudo chmod go-w {shlex.quote(str(directory))}",
        ) from error


def _trusted(owner: int) -> bool:
    """Return whether `owner` is this account, root, or the account for which sudo made this one root."""
    return owner in {os.geteuid(), 0} or (os.geteuid() == 0 and str(owner) == os.environ.get("SUDO_UID"))


def _name(uid: int) -> str:
    with suppress(KeyError):
        return pwd.getpwuid(uid).pw_name
    return str(uid)
