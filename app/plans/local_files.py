"""Files of this computer that a plan copies to a host: what they are, before they are."""

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from app.wording import bytes_text
from remote.jobs.files import LARGEST


@dataclass(frozen=True, slots=True)
class LocalFile:
    """What the user has to know of a file, in `words` that follow its path, and a hash of what is in it."""

    words: str
    digest: str


def look(paths: Iterable[str]) -> Mapping[str, LocalFile]:
    """Return what the files at `paths` are. Opens nothing but regular files, and no file that is too large to go."""
    return {path: _look(path) for path in paths}


def _look(path: str) -> LocalFile:
    try:
        found = Path(path).stat()
        if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
            return LocalFile(" (not a regular file: it cannot be copied)", "")
        with Path(path).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        resolved = os.path.realpath(path)
    except OSError as error:
        return LocalFile(f" ({(error.strerror or 'cannot be read').lower()})", "")
    leads = "" if resolved == str(Path(path)) else f", resolves to {resolved}"
    return LocalFile(f" ({bytes_text(found.st_size)}{leads})", digest)
