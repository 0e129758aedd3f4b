"""Qt's event loop for programs that wait for something without a signal."""

from collections.abc import Callable

from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

WAKING = 20
"""Milliseconds between two looks."""


def process_events_while(pending: Callable[[], bool]) -> None:
    """Process events while `pending`; sleep until the next, because polling would take a processor from other threads.

    With a time limit, processEvents() does not sleep, and QTest.qWait() keeps the interpreter from other threads.
    """
    waking = QTimer(interval=WAKING)
    waking.start()
    while pending():
        QApplication.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
    waking.stop()
