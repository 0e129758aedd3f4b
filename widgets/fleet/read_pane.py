"""Base of the panes about a study, which are read in the background when they are seen."""

from collections.abc import Callable

from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QWidget

from app.services import Workstation
from suites.errors import BenchwrightError
from widgets.jobs import BackgroundJob
from widgets.parts.notice import Notice


class ReadPane(QWidget):
    """A pane about the study of show_study(), at once if it is visible, else when it is shown."""

    def __init__(self, workstation: Workstation) -> None:
        super().__init__()
        self.workstation = workstation
        self.notice = Notice()
        self._study = ""
        self._unread = False
        self._job: BackgroundJob | None = None

    @property
    def study(self) -> str:
        """The id of the study; empty for none."""
        return self._study

    @property
    def reading(self) -> bool:
        """Whether it is read at present."""
        return self._job is not None

    def show_study(self, study: str) -> None:
        """Read a study, also the same one again; an empty id: show nothing."""
        if study != self._study:
            self._study, self._job = study, None
            self.notice.hide()
            self._clear()
        self._unread = bool(study)
        self._read_unread()

    def showEvent(self, event: QShowEvent) -> None:
        """Read the study."""
        super().showEvent(event)
        self._read_unread()

    def _read_unread(self) -> None:
        if self._unread and self.isVisible():
            self._unread = False
            self._read()

    def _start(self, work: Callable[[], object], show: Callable[..., None]) -> None:
        """Run `work` in the background; results of a job that a newer one replaced are dropped."""
        job = self._job = BackgroundJob(work, self)
        job.returned.connect(lambda found: show(found) if job is self._job else None)
        job.failed.connect(lambda error: self._fail(error) if job is self._job else None)
        job.start(finished=lambda: self._finish(job))

    def _finish(self, job: BackgroundJob) -> None:
        if job is self._job:
            self._job = None

    def _clear(self) -> None:
        """Hide what is shown of another study."""
        raise NotImplementedError

    def _read(self) -> None:
        """Read the study."""
        raise NotImplementedError

    def _fail(self, error: BenchwrightError) -> None:
        self._unread = True  # when it is shown again
        self.notice.show_error(error)
