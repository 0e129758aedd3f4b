"""When to redraw: at once after a quiet moment, ten times a second at most, and never while nothing arrives."""

import time

from PySide6.QtCore import QObject, QTimer, Signal

INTERVAL = 0.1
_SHARE = 5
"""A redraw may take at most this part of the time until the next, so that typing and clicking stay quick."""


class Redraw(QObject):
    """Turns any number of requests into few redraws. Connect `due` to what redraws."""

    due = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._redraw)
        self._next = 0.0

    def request(self) -> None:
        """Ask for a redraw soon."""
        if not self._timer.isActive():
            self._start()

    def now(self) -> None:
        """Redraw at once, for what the user did."""
        self._timer.stop()
        self._redraw()

    def _redraw(self) -> None:
        started = time.monotonic()
        self.due.emit()
        cost = time.monotonic() - started
        self._next = started + max(INTERVAL, cost * _SHARE)
        if self._timer.isActive():  # something asked while it was being drawn
            self._start()

    def _start(self) -> None:
        self._timer.start(round(max(0.0, self._next - time.monotonic()) * 1000))
