"""The window: a rail, one page in the middle, what explains it on the right, what runs at the bottom."""

import gc
import logging
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QEvent, QTimer, Signal
from PySide6.QtGui import QAction, QCloseEvent
from PySide6.QtWidgets import (
    QApplication,
    QFileDialog,
    QHBoxLayout,
    QMainWindow,
    QVBoxLayout,
    QWidget,
)

from app.events import LibraryChanged
from app.paths import log_path
from app.proposed import use_library
from app.services import Workstation
from suites.errors import BenchwrightError
from widgets import jobs, settings, theme
from widgets.hosts.left_bar import LeftBar
from widgets.interrupts import heeded
from widgets.jobs import Job
from widgets.leaving import Leaving
from widgets.library.library_bar import LibraryBar
from widgets.menus import build_menus
from widgets.middle import Middle
from widgets.page import Page
from widgets.parts.empty_state import EmptyState
from widgets.parts.icons import icon
from widgets.parts.question import Question
from widgets.questions import WindowAsker
from widgets.rail import Rail, Room
from widgets.rooms import Rooms
from widgets.status_line import StatusLine

log = logging.getLogger(__name__)

SIZE = (1280, 800)
SMALLEST = (896, 480)
PATIENCE = 3.0
"""Seconds that threads under way may take to end after the window has closed."""

LOADED = 2000
"""Milliseconds after which what a page needs is loaded."""


class MainWindow(QMainWindow):
    """One window, six rooms. It brings pages to the front and passes on what they ask of each other."""

    page_made = Signal()  # for the first time in this window

    def __init__(self, workstation: Workstation) -> None:
        super().__init__()
        self.workstation = workstation
        self.asker = WindowAsker(self)
        self.rooms = Rooms(workstation, self.asker, self)
        self.leaving = Leaving(self, lambda: self.rooms.live, self._show_waiting)
        self.rail = Rail()
        self.middle = Middle()
        self.status_line = StatusLine()
        self.library_bar = LibraryBar(workstation, self)
        self.left_bar = LeftBar(workstation, self)
        self._failed: dict[Room, QWidget] = {}
        self._told: dict[QWidget, str] = {}
        self._painted = False
        self._arrange()
        self._connect(build_menus(self))
        self.show_room(Room.HOSTS)

    def show_room(self, room: Room) -> Page | None:
        """Bring the page of `room` to the front and return it, or None where it could not be opened."""
        page = self.rooms.page(room)
        shown = page or self._failure(room)
        new = self.middle.bring_to_front(shown, None if page is None else page.side)
        if new and page is not None:
            page.status.connect(lambda text: self._tell(page, text))
            page.library_damaged.connect(self.library_bar.show_error)
            page.salvage_requested.connect(self.library_bar.ask_where_to_save)
            page.other_library_requested.connect(self.library_bar.ask_for_another)
            self.page_made.emit()
        self.rail.show_room(room)
        self.status_line.show_told(self._told.get(shown, ""))
        if page is not None and self._painted:
            page.activated()
        if not self.rail.hasFocus():
            shown.take_focus() if isinstance(shown, Page) else shown.setFocus()
        return page

    def show_running(self, summary: str) -> None:
        """Show everywhere what is running; an empty `summary` says that nothing is."""
        if not self.leaving.waits:
            self.status_line.show_running(summary)
        self.rail.show_running(1 if summary else 0)

    def run_ended(self) -> None:
        """The run under way has ended."""
        self.show_running("")
        self.left_bar.refresh()
        self.leaving.run_ended()

    def show_library_change(self, change: LibraryChanged) -> None:
        """Say everywhere whether the library takes the run under way."""
        self.library_bar.show_change(change)

    def show_help(self, topic: str) -> None:
        """Show the help page about `topic`."""
        self.rooms.show_help(topic)

    def show_about(self) -> None:
        """Say what this program is."""
        from app.version import VERSION

        self.say(f"Benchwright {VERSION}", "Benchmark Linux hosts and know whether the number may be believed.")

    def say(self, text: str, more: str) -> None:
        """Tell something that must be read before one goes on."""
        box = Question(text, more, "Close", self, decline_text="")
        box.finished.connect(box.deleteLater)
        box.open()

    def ask_where_to_export(
        self, runs: Sequence[str], name: str, margin: float | None = None, overruled: str = ""
    ) -> None:
        """Ask where `runs` are to be written, and write them; several are compared by `margin`, `overruled` or not."""
        from widgets.export_dialog import ExportDialog

        dialog = ExportDialog(self.workstation, runs, name, self, margin=margin, overruled=overruled)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def ask_for_plan(self) -> None:
        """Ask for a plan's file and open it."""
        chooser = QFileDialog(self, "Open a plan", "", "Plans (*.toml);;All files (*)")
        chooser.setFileMode(QFileDialog.FileMode.ExistingFile)
        chooser.fileSelected.connect(self._load_plan)
        chooser.finished.connect(chooser.deleteLater)
        chooser.open()

    def export(self) -> None:
        """Export what the page in front shows; where that is nothing, show the library to choose from."""
        page = self.middle.front
        if not (isinstance(page, Page) and page.export()) and self.show_room(Room.LIBRARY) is not None:
            self.status_line.show_told("Choose a run to export")

    def event(self, event: QEvent) -> bool:
        """Let the page in front begin its reading once the window has been painted, not before."""
        handled = super().event(event)
        if event.type() is QEvent.Type.Paint and not self._painted:
            self._painted = True
            QTimer.singleShot(0, self, self._activate_front)
        return handled

    def closeEvent(self, event: QCloseEvent) -> None:
        """Close, unless something runs: then ask first."""
        if not self.leaving.allowed():
            event.ignore()
            return
        settings.put("geometry", self.saveGeometry())
        self.middle.store()
        self.asker.close()
        for job in jobs.running():
            job.cancel()
        event.accept()

    def _activate_front(self) -> None:
        page = self.middle.front
        if isinstance(page, Page):
            page.activated()
        self.library_bar.refresh()
        self.left_bar.refresh()

    def _arrange(self) -> None:
        self.setWindowTitle("Benchwright")
        self.setMinimumSize(*SMALLEST)
        self._inside = QWidget()
        row = QHBoxLayout()
        row.setSpacing(0)
        row.addWidget(self.rail)
        row.addWidget(self.middle, 1)
        rows = QVBoxLayout(self._inside)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(0)
        rows.addWidget(self.library_bar)
        rows.addWidget(self.left_bar)
        rows.addLayout(row, 1)
        self.setCentralWidget(self._inside)
        self.setStatusBar(self.status_line)
        self.resize(*SIZE)
        self.restoreGeometry(settings.blob("geometry"))

    def _connect(self, fold: QAction) -> None:
        self.rail.chosen.connect(self.show_room)
        self.library_bar.is_measuring = lambda: self.rooms.live is not None and self.rooms.live.running
        self.library_bar.opened.connect(self._show_other_library)
        self.library_bar.save_requested.connect(self._save_library)
        self.left_bar.attach_requested.connect(self.rooms.attach)
        self.left_bar.stop_requested.connect(lambda left: self.rooms.attach(left, stop=True))
        self.status_line.stop_requested.connect(self._stop)
        fold.setChecked(not self.middle.folded)
        fold.toggled.connect(lambda shown: self.middle.set_folded(folded=not shown))
        self.middle.fold_changed.connect(lambda folded: fold.setChecked(not folded))

    def _show_other_library(self) -> None:
        page = self.middle.front
        use_library(self.workstation.library_path)
        self.rooms.refresh_library()
        if isinstance(page, Page) and page is not self.rooms.made(Room.LIBRARY):
            page.activated()
        self.left_bar.refresh()

    def _failure(self, room: Room) -> QWidget:
        if room not in self._failed:
            self._failed[room] = EmptyState(
                f"{room.value} could not be opened",
                f"This is a fault in Benchwright; the other pages still work. The details are in {log_path()}.",
                "Try again",
                lambda: self.show_room(room),
                icon="error",
            )
        return self._failed[room]

    def _tell(self, page: Page, text: str) -> None:
        self._told[page] = text
        if self.middle.front is page:
            self.status_line.show_told(text)

    def _load_plan(self, path: str) -> None:
        job = Job(lambda: self.workstation.load_plan(Path(path)), self)
        job.returned.connect(self.rooms.open_plan)
        job.failed.connect(self._say_error)
        job.start()

    def _say_error(self, error: BenchwrightError) -> None:
        self.say(error.message, error.remedy)

    def _save_library(self, path: Path) -> None:
        if self.rooms.live is not None:
            self.rooms.live.save_library_to(path)

    def _stop(self) -> None:
        if self.rooms.live is not None:
            self.rooms.live.stop()

    def _show_waiting(self, text: str) -> None:
        self._inside.setEnabled(False)
        self.menuBar().setEnabled(False)
        self.status_line.show_waiting(text)


def _settle() -> None:
    """Leave what a page has loaded out of all further garbage collection, once it is loaded.

    A full collection goes through 200,000 objects of the libraries and stopped the window for 110 to 140 ms on an AMD
    EPYC; without them for 6 ms.
    """
    QTimer.singleShot(LOADED, gc.freeze)


def open_window(workstation: Workstation) -> int:
    """Show the window until it is closed; return the process's exit status."""
    application = QApplication.instance() or QApplication(sys.argv[:1])
    if not isinstance(application, QApplication):
        raise TypeError("a QApplication is needed to show a window")
    application.setApplicationName("benchwright")
    application.setApplicationDisplayName("Benchwright")
    application.setDesktopFileName("benchwright")
    theme.apply(application)
    application.setWindowIcon(icon("benchwright", "accent"))
    window = MainWindow(workstation)
    window.page_made.connect(_settle)
    window.show()
    _settle()
    with heeded(window.leaving.stop_and_close):
        status = application.exec()
    deadline = time.monotonic() + PATIENCE
    for job in jobs.running():
        job.cancel()
        job.wait(max(0.0, deadline - time.monotonic()))
    return status
