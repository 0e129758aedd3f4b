"""Reads the digest of the library in the background, and follows what other processes do to library and hosts."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QWidget

from app.library_digest import LibraryDigest, digest_of
from app.services import Workstation
from suites.errors import BenchwrightError
from widgets.jobs import BackgroundJob, collection_paused

if TYPE_CHECKING:
    from app.store.library_version import LibraryVersion

INTERVAL = 1.0
"""Seconds between two looks at the library while the window is visible."""

SHARE = 0.01
"""Largest share of a CPU that looking takes: after a slow look the next one is later."""


class LibraryDigests(QObject):
    """Reads digests; of several requests during a reading, one more is made."""

    read = Signal(object)  # a LibraryDigest
    failed = Signal(object)  # a BenchwrightError
    hosts_changed = Signal()  # any process has changed the saved hosts or ~/.ssh/config
    changed = Signal()  # another process has changed the list of runs, or the library can be read again or no longer

    def __init__(self, workstation: Workstation, parent: QObject) -> None:
        super().__init__(parent)
        self._workstation = workstation
        self._reading: BackgroundJob | None = None
        self._again = False
        self._version: LibraryVersion | None = None  # of the last digest; None if the library could not be read
        self._hosts: tuple[object, ...] | None = None  # the stamps of the last look, None before the first
        self._next_look = QTimer(self, singleShot=True, interval=round(1000 * INTERVAL))

    def refresh(self) -> None:
        """Read the library."""
        if self._reading is not None:
            self._again = True
            return
        self._reading = BackgroundJob(self._read, self).start(self._take, self._fail, finished=self._finish)

    def watch(self, window: QWidget) -> None:
        """Look once a second whether the library or the hosts were changed, while `window` is visible."""
        self._next_look.timeout.connect(lambda: self._look(window))
        self._next_look.start()

    def _read(self) -> "tuple[LibraryVersion, LibraryDigest]":
        with collection_paused():
            version = self._workstation.library_version(self._version)
            return version, digest_of(self._workstation.library(), datetime.now(UTC), self._workstation.first_figures)

    def _take(self, found: "tuple[LibraryVersion, LibraryDigest]") -> None:
        self._version, digest = found
        self.read.emit(digest)

    def _fail(self, error: BenchwrightError) -> None:
        self._version = None
        self.failed.emit(error)

    def _finish(self) -> None:
        self._reading = None
        if self._again:
            self._again = False
            self.refresh()

    def _look(self, window: QWidget) -> None:
        if self._reading is not None or not window.isVisible() or window.isMinimized():
            self._next_look.start()
            return
        job = BackgroundJob(self._compared, self)
        job.finished.connect(job.deleteLater)
        job.start(self._follow)

    def _compared(self) -> "_Look":
        from app.store.errors import StoreBusyError

        began, version = time.thread_time(), self._version
        try:
            version = self._workstation.library_version(version)
        except StoreBusyError:
            pass  # locked for a while
        except BenchwrightError:
            version = None
        return _Look(version, self._workstation.hosts_stamps(), time.thread_time() - began)

    def _follow(self, found: "_Look") -> None:
        known, version, hosts = self._version, found.library, self._hosts
        self._next_look.start(round(1000 * max(INTERVAL, found.seconds / SHARE)))
        self._hosts = found.hosts
        if hosts != found.hosts:
            self.hosts_changed.emit()
        if self._reading is None and version != known:
            self._version = version
            if version is None or known is None or version.content != known.content:
                self.changed.emit()


@dataclass(frozen=True, slots=True)
class _Look:
    """What a look found: the version of the library, None if it cannot be read, the stamps of the files of hosts, and
    the CPU seconds that it took."""

    library: "LibraryVersion | None"
    hosts: tuple[object, ...]
    seconds: float
