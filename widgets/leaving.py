"""Closing the window while something is measured: asked about, ended in order, never waited for in silence."""

from collections.abc import Callable
from typing import Protocol

from PySide6.QtWidgets import QWidget

from widgets.parts.question import Question


class Measuring(Protocol):
    """What may be under way: the live page."""

    @property
    def running(self) -> bool:
        """Whether a run is under way."""
        ...

    def stop(self) -> None:
        """End the run in order; what was measured is kept."""
        ...

    def leave(self) -> None:
        """Let go of the run: what measures on a host goes on there."""
        ...


class Leaving:
    """Decides whether the window may close. `waiting` is told, in words, for what the window waits before it does."""

    def __init__(
        self, window: QWidget, measuring: Callable[[], Measuring | None], waiting: Callable[[str], None]
    ) -> None:
        self._window = window
        self._measuring = measuring
        self._waiting = waiting
        self._waits = False
        self._free = False

    @property
    def waits(self) -> bool:
        """Whether the window closes as soon as the run has ended."""
        return self._waits

    def allowed(self) -> bool:
        """Return whether the window may close now; otherwise ask, and close it later if the answer says so."""
        live = self._measuring()
        if self._free or live is None or not live.running:
            return True
        self._ask_to_leave_it() if self._waits else self._ask_to_stop()
        return False

    def stop_and_close(self) -> None:
        """End what runs, and close the window once it has ended."""
        live = self._measuring()
        if live is not None and live.running and not self._waits:
            self._waits = True
            self._waiting("Stopping…")
            live.stop()
        elif not self._waits:
            self._window.close()

    def leave_and_close(self) -> None:
        """Let go of what runs, and close the window once everything that was read is stored."""
        live = self._measuring()
        if live is not None and live.running and not self._waits:
            self._waits = True
            self._waiting("Detaching… trials under way continue")
            live.leave()

    def run_ended(self) -> None:
        """Close the window if it only waited for this."""
        if self._waits:
            self._free = True
            self._window.close()

    def _ask_to_stop(self) -> None:
        question = self._question(
            "A measurement is running",
            "Detached, the trial under way continues on its host; the trials after it wait until you attach, in this "
            "window or with “benchwright attach”. Stopped, the run ends in order: what was measured is stored, and "
            "nothing is left behind on the host.",
            "Stop it and close",
            self.stop_and_close,
        )
        question.add_way_out("Detach and close", self.leave_and_close)
        question.open()

    def _ask_to_leave_it(self) -> None:
        self._question(
            "The measurement is still being stopped",
            "If the window closes now, commands may continue on the host; the run is then offered here the next time.",
            "Close without waiting",
            self._leave,
        ).open()

    def _leave(self) -> None:
        self._free = True
        self._window.close()

    def _question(self, text: str, explanation: str, accept: str, callback: Callable[[], None]) -> Question:
        question = Question(text, explanation, accept, self._window, decline_text="Keep the window open")
        question.accepted.connect(callback)
        question.finished.connect(question.deleteLater)
        return question
