"""Reads the digest of the library in the background, when something in it may have changed."""

from datetime import UTC, datetime

from PySide6.QtCore import QObject, Signal

from app.library_digest import LibraryDigest, digest_of
from app.services import Workstation
from widgets.jobs import BackgroundJob, collection_paused


class LibraryDigests(QObject):
    """Reads digests; of several requests during a reading, one more is made."""

    read = Signal(object)  # a LibraryDigest
    failed = Signal(object)  # a BenchwrightError

    def __init__(self, workstation: Workstation, parent: QObject) -> None:
        super().__init__(parent)
        self._workstation = workstation
        self._reading: BackgroundJob | None = None
        self._again = False

    def refresh(self) -> None:
        """Read the library."""
        if self._reading is not None:
            self._again = True
            return
        self._reading = BackgroundJob(self._read, self).start(self.read, self.failed, finished=self._finish)

    def _read(self) -> LibraryDigest:
        with collection_paused():
            return digest_of(self._workstation.library(), datetime.now(UTC))

    def _finish(self) -> None:
        self._reading = None
        if self._again:
            self._again = False
            self.refresh()
