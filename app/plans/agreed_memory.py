"""The digests of what was agreed to, in a file of the user's own."""

import logging
import os
import re
import stat
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from app.own_directories import others_may_replace
from remote.local_directory import make_directory

log = logging.getLogger(__name__)

MOST = 20_000
"""Digests that are kept; of more, the oldest are forgotten, which asks again."""

_LINE = re.compile(rb"[0-9a-f]{64}")
_SIZE = 65
"""Bytes of a digest and the end of its line."""


class AgreedMemory:
    """Remembers digests in a file with one on each line.

    The file is read by its owner alone. One that others may write or replace is not believed, and what is no digest in
    it is passed over: what is not remembered is asked again. Where nothing can be written, a digest is remembered until
    this process ends. Several processes may add at once.
    """

    def __init__(self, path: Path) -> None:
        """Use the file at `path`; it is made when the first digest is added."""
        self._path = path
        self._own: set[str] = set()
        self._lock = threading.Lock()

    def known(self) -> frozenset[str]:
        """Return every digest that is remembered."""
        with self._lock:
            return frozenset(self._own.union(self._read()))

    def add(self, digests: Iterable[str]) -> None:
        """Remember `digests`."""
        with self._lock:
            new = set(digests) - self._own - set(self._read())
            self._own |= new
            if new:
                try:
                    self._append(sorted(new))
                except OSError:
                    log.warning("consent is remembered for this process only", exc_info=True)

    def _read(self) -> list[str]:
        try:
            if others_may_replace(self._path):
                log.warning("consent is not believed: other accounts may replace %s", self._path)
                return []
            with os.fdopen(self._open(os.O_RDONLY), "rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - 2 * MOST * _SIZE))
                content = file.read(2 * MOST * _SIZE)
        except OSError:
            return []
        return [line.decode() for line in content.split(b"\n") if _LINE.fullmatch(line)][-MOST:]

    def _append(self, new: list[str]) -> None:
        make_directory(self._path.parent)
        try:
            descriptor = self._open(os.O_RDWR | os.O_APPEND | os.O_CREAT)
        except PermissionError:
            self._path.unlink()  # somebody else's, or open to others: what is in it is not believed
            descriptor = self._open(os.O_RDWR | os.O_APPEND | os.O_CREAT)
        with os.fdopen(descriptor, "r+b", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            broken = size > 0 and os.pread(file.fileno(), 1, size - 1) != b"\n"
            file.write(b"\n" * broken + "".join(f"{digest}\n" for digest in new).encode())
        if size > 2 * MOST * _SIZE:
            self._shorten()

    def _shorten(self) -> None:
        """Keep the newest digests only; what another process adds at this very moment may be lost, and is asked."""
        temporary = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        kept = "".join(f"{digest}\n" for digest in self._read())
        with suppress(FileNotFoundError):
            temporary.unlink()
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(kept)
        temporary.replace(self._path)

    def _open(self, flags: int) -> int:
        """Return a descriptor of the file; raise PermissionError where it is not a file of the user's own alone."""
        descriptor = os.open(self._path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
            os.close(descriptor)
            raise PermissionError(f"{self._path} is not the user's own")
        return descriptor
