"""Opens the window, and runs it until it is closed."""

import gc
import sys
import time

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from app.services import Workstation
from widgets import jobs, theme
from widgets.jobs import BackgroundJob
from widgets.main_window import MainWindow
from widgets.pages import load_pages
from widgets.plots.accessible import install_accessible_roles
from widgets.shutdown import signals_handled
from widgets.theme import icon

PATIENCE = 3.0
"""Seconds to wait for background threads after the window has closed."""

SETTLED = 500
"""Milliseconds after which the first page is shown with what it reads."""

LOADED = 2000
"""Milliseconds after which a page has loaded its modules."""


def _freeze_loaded() -> None:
    """Exclude the objects loaded by a page from garbage collection (gc.freeze), once it is loaded.

    A full collection traverses 200,000 objects of the libraries and blocked the window for 110 to 140 ms on an AMD
    EPYC; without them for 6 ms.
    """
    QTimer.singleShot(LOADED, gc.freeze)


def open_window(workstation: Workstation) -> int:
    """Run the window until it is closed; return the exit status."""
    application = QApplication.instance() or QApplication(sys.argv[:1])
    if not isinstance(application, QApplication):
        raise TypeError("a QApplication is needed to show a window")
    application.setApplicationName("benchwright")
    application.setApplicationDisplayName("Benchwright")
    application.setDesktopFileName("benchwright")
    theme.apply(application)
    install_accessible_roles()
    application.setWindowIcon(icon("benchwright", "accent"))
    window = MainWindow(workstation)
    window.page_created.connect(_freeze_loaded)
    window.show()
    QTimer.singleShot(SETTLED, window, lambda: BackgroundJob(load_pages, window).start())
    _freeze_loaded()
    with signals_handled(window.end):
        status = application.exec()
    deadline = time.monotonic() + PATIENCE
    for job in jobs.running():
        job.cancel()
        job.wait(max(0.0, deadline - time.monotonic()))
    return status
