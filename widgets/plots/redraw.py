"""Limit redraws to ten a second; the first after a pause is immediate."""

import time

from PySide6.QtCore import QObject, QTimer, Signal

INTERVAL = 0.1
_SHARE = 5
"""Redraws take at most 1/5 of the time, so that the window stays responsive."""


class Redraw(QObject):
    """Coalesces redraw requests. Connect `due` to the function that redraws."""

    due = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self._redraw)
        self._next = self._started = 0.0

    def request(self, pause: float = INTERVAL) -> None:
        """Request a redraw, at least `pause` seconds after the start of the last one."""
        due = max(self._next, self._started + pause)
        wait = round(max(0.0, due - time.monotonic()) * 1000)
        if not self._timer.isActive() or self._timer.remainingTime() > wait:
            self._timer.start(wait)

    def now(self) -> None:
        """Redraw immediately, after a user's action."""
        self._timer.stop()
        self._redraw()

    def _redraw(self) -> None:
        started = self._started = time.monotonic()
        self.due.emit()
        cost = time.monotonic() - started
        self._next = started + max(INTERVAL, cost * _SHARE)
        if self._timer.isActive():  # requested during the redraw: start again with the new delay
            self._timer.stop()
            self.request()
