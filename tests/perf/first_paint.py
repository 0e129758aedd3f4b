"""Opens a window, says that it is painted, and ends: ``python -m tests.perf.first_paint bare|benchwright``."""

import os
import sys

from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QApplication, QWidget


class FirstPaint(QObject):
    """Ends the process once everything of the first window is painted."""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 (Qt names it)
        """Wait for the first event that paints; the rest of the window is painted before the next turn of the loop."""
        if event.type() is QEvent.Type.Paint and isinstance(watched, QWidget):
            QTimer.singleShot(0, _end)
        return False


def _end() -> None:
    os.write(1, b"painted\n")
    os._exit(0)


def main(name: str) -> None:
    """Open the window called `name`."""
    application = QApplication([])
    waiting = FirstPaint()
    application.installEventFilter(waiting)
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
