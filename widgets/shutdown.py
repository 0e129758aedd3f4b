"""Closing the window: confirmation while a run is under way, and signal handling."""

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from PySide6.QtCore import QSocketNotifier
from PySide6.QtWidgets import QWidget

from app.signals import survives_hang_up
from suites.quantities import count_text
from widgets.parts.dialogs import QuestionDialog, opened

if TYPE_CHECKING:
    from widgets.fleet.fleet_runs import FleetRuns
    from widgets.live.live_page import LivePage

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def signals_handled(close: Callable[[], None]) -> Iterator[None]:
    """Call `close` on the window's thread when one of NUMBERS arrives, except for SIGHUP under nohup.

    Qt's event loop runs no Python code while it waits, so a Python handler alone would not run: set_wakeup_fd writes
    the signal's number to a socket, which wakes the loop.
    """
    reading, writing = socket.socketpair()
    with reading, writing:
        for end in (reading, writing):
            end.setblocking(False)
        numbers = [number for number in NUMBERS if number != signal.SIGHUP or not survives_hang_up()]
        before = {number: signal.signal(number, lambda _number, _frame: None) for number in numbers}
        woken = signal.set_wakeup_fd(writing.fileno())
        notifier = QSocketNotifier(reading.fileno(), QSocketNotifier.Type.Read)

        def handle() -> None:
            if set(reading.recv(64)) & set(numbers):  # other handled signals write to the socket, too
                close()

        notifier.activated.connect(handle)
        try:
            yield
        finally:
            notifier.setEnabled(False)
            signal.set_wakeup_fd(woken)
            for number, handler in before.items():
                signal.signal(number, handler)


class CloseGuard:
    """Decides whether the window may close. `waiting` shows a text while the window waits to close.

    Runs that wait stay in the queue: the next start offers them. `fleet` are the fleet studies of the window, which can
    be resumed.
    """

    def __init__(
        self,
        window: QWidget,
        measuring: Callable[[], "LivePage | None"],
        fleet: "FleetRuns",
        waiting: Callable[[str], None],
    ) -> None:
        self._window = window
        self._measuring = measuring
        self._fleet = fleet
        self._waiting = waiting
        self._closing = False
        self._free = False

    @property
    def waits(self) -> bool:
        """Whether the window closes as soon as the runs have ended."""
        return self._closing

    def allowed(self) -> bool:
        """Return whether the window may close now; otherwise ask the user, and close it later if agreed."""
        if self._free or not self._under_way():
            return True
        self._ask_to_close_anyway() if self._closing else self._ask_to_stop()
        return False

    def _under_way(self) -> bool:
        live = self._measuring()
        return self._fleet.running or (live is not None and live.running)

    def reset(self) -> None:
        """Forget that the window was to close: it stays open."""
        self._closing = self._free = False

    def stop_and_close(self) -> None:
        """Stop the runs and close the window when they have ended."""
        live = self._measuring()
        if live is not None:
            live.runs.hold()
        if self._under_way() and not self._closing:
            self._closing = True
            self._waiting("Stopping…")
            self._fleet.stop_all()
            if live is not None and live.running:
                live.stop_all()
        elif not self._closing:
            self._window.close()

    def detach_and_close(self) -> None:
        """Detach the runs and close the window when everything read is stored."""
        live = self._measuring()
        if live is not None:
            live.runs.hold()
        if self._under_way() and not self._closing:
            self._closing = True
            self._waiting("Detaching… the trials under way continue")
            self._fleet.detach_all()
            if live is not None and live.running:
                live.detach_all()
        elif not self._closing:
            self._window.close()

    def run_ended(self) -> None:
        """Close the window if it waits for the end of the runs and this was the last."""
        if self._closing and not self._under_way():
            self._close_anyway()

    def _ask_to_stop(self) -> None:
        live = self._measuring()
        titles, waiting = ([], 0) if live is None else (live.titles(), len(live.runs.active) - len(live.runs.running))
        titles = [*titles, *self._fleet.titles()]
        one = len(titles) < 2
        listed = "" if one else f"{'; '.join(titles)}.\n\n"
        studies = "\n\nResume on the page Fleet continues a fleet study either way." if self._fleet.running else ""
        queued = f"\n\n{count_text(waiting, 'run')} in the queue: offered at the next start." if waiting else ""
        question = self._open_question(
            "A run is under way" if one else f"{len(titles)} runs are under way",
            f"{listed}Detach: the trial under way continues on its host; the next trials wait until you attach the run "
            f"here or with “benchwright attach”. Stop: the run ends and what was measured is stored. The run in the "
            f"library names anything left on the host.{studies}{queued}",
            "Stop and close",
            self.stop_and_close,
        )
        question.add_extra_button("Detach and close", self.detach_and_close)

    def _ask_to_close_anyway(self) -> None:
        self._open_question(
            "A run is still stopping",
            "If the window closes now, commands may continue on the host. The next start offers to attach the run.",
            "Close without waiting",
            self._close_anyway,
        )

    def _close_anyway(self) -> None:
        self._free = True
        self._window.close()

    def _open_question(self, text: str, explanation: str, accept: str, callback: Callable[[], None]) -> QuestionDialog:
        question = QuestionDialog(text, explanation, accept, self._window, decline_text="Keep the window open")
        question.accepted.connect(callback)
        return opened(question)
