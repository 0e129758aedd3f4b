"""Ctrl+C in the terminal and a polite kill close the window in order, as its own button does."""

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from PySide6.QtCore import QSocketNotifier

from app.signals import survives_hang_up

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def heeded(close: Callable[[], None]) -> Iterator[None]:
    """Call `close` on the window's thread whenever one of NUMBERS arrives; not for a HUP that nohup lets us ignore.

    Qt's loop runs no Python while it waits, so a handler alone would not be called: the signal's number is
    written to a socket, which wakes the loop.
    """
    reading, writing = socket.socketpair()
    with reading, writing:
        for end in (reading, writing):
            end.setblocking(False)
        numbers = [number for number in NUMBERS if number != signal.SIGHUP or not survives_hang_up()]
        before = {number: signal.signal(number, lambda _number, _frame: None) for number in numbers}
        woken = signal.set_wakeup_fd(writing.fileno())
        notifier = QSocketNotifier(reading.fileno(), QSocketNotifier.Type.Read)

        def heed() -> None:
            if set(reading.recv(64)) & set(numbers):  # any handled signal wakes the loop
                close()

        notifier.activated.connect(heed)
        try:
            yield
        finally:
            notifier.setEnabled(False)
            signal.set_wakeup_fd(woken)
            for number, handler in before.items():
                signal.signal(number, handler)
