"""Opens a window, says that it is painted, and ends: ``python -m tests.perf.first_paint bare|benchwright``."""

import os
import sys

from PySide6.QtCore import QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication


def _end_once_painted() -> None:
    """End the process once a window is exposed: Qt paints all of it before it handles another event.

    A filter of all events would be called some 5,000 times, and be measured.
    """
    windows = QGuiApplication.topLevelWindows()
    if any(window.isExposed() for window in windows):
        os.write(1, b"painted\n")
        os._exit(0)
    QTimer.singleShot(0, _end_once_painted)


def main(name: str) -> None:
    """Open the window called `name`."""
    application = QApplication([])
    QTimer.singleShot(0, _end_once_painted)
    if name == "benchwright":
        from app.__main__ import main as benchwright

        sys.argv = ["benchwright"]
        benchwright()
        return
    import pyqtgraph as pg

    window = pg.PlotWidget()
    window.plot([0.0, 1.0], [0.0, 1.0])
    window.resize(1280, 800)
    window.show()
    application.exec()


if __name__ == "__main__":
    main(sys.argv[1])
