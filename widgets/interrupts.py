"""Ctrl+C in the terminal and a polite kill close the window in order, as its own button does."""

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from PySide6.QtCore import QSocketNotifier

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def heeded(close: Callable[[], None]) -> Iterator[None]:
    """Call `close` on the window's thread whenever one of NUMBERS arrives.

    Qt's loop runs no Python while it waits, so a handler alone would not be called: the signal's number is
    written to a socket, which wakes the loop.
    """
    reading, writing = socket.socketpair()
    with reading, writing:
        for end in (reading, writing):
            end.setblocking(False)
        before = {number: signal.signal(number, lambda _number, _frame: None) for number in NUMBERS}
        woken = signal.set_wakeup_fd(writing.fileno())
        notifier = QSocketNotifier(reading.fileno(), QSocketNotifier.Type.Read)

        def heed() -> None:
            reading.recv(64)
            close()

        notifier.activated.connect(heed)
        try:
            yield
        finally:
            notifier.setEnabled(False)
            signal.set_wakeup_fd(woken)
            for number, handler in before.items():
                signal.signal(number, handler)
