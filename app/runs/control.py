"""How a run is told to stop, to be left alone, or not to mind others, from any thread."""

import threading
from enum import StrEnum
from pathlib import Path

from suites.errors import BenchwrightError

WAITING = "waiting: "
"""How an activity begins that says for whom a run waits."""


class Busy(StrEnum):
    """What to do where somebody else measures a host."""

    REFUSE = "refuse"
    WAIT = "wait"
    ANYWAY = "anyway"


class HostInUseError(BenchwrightError):
    """Somebody else measures a host, and the user did not say to mind that no further. Nothing was run."""


class Control:
    """The user's hand on a run."""

    def __init__(self, busy: Busy = Busy.REFUSE) -> None:
        self.busy = busy
        self._over = threading.Event()
        self._left = False
        self._lost = False
        self._library: Path | None = None

    def save_to(self, path: Path) -> None:
        """Go on writing the run down in a new library at `path`, where the one that it began in takes nothing."""
        self._library = path

    def take_library(self) -> Path | None:
        """Return the path that save_to() was given, once; None where there is none."""
        path, self._library = self._library, None
        return path

    def stop(self) -> None:
        """End the run as soon as its process can be ended."""
        self._over.set()

    def leave(self) -> None:
        """Let go of the run: what measures on a host goes on there, and waits to be attached. Stopping comes first."""
        if not self._over.is_set():
            self._left = True
            self._over.set()

    def lose(self) -> None:
        """Let go of the run because somebody else took it over: nothing is done on its hosts any more."""
        self._left = self._lost = True
        self._over.set()

    @property
    def lost(self) -> bool:
        """Whether lose() was called."""
        return self._lost

    @property
    def stopped(self) -> bool:
        """Whether stop() was called."""
        return self._over.is_set() and not self._left

    @property
    def left(self) -> bool:
        """Whether leave() or lose() was called."""
        return self._left

    @property
    def over(self) -> bool:
        """Whether any of them was called."""
        return self._over.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait `seconds`, less if the run is over; return whether it is."""
        return self._over.wait(seconds)


class StoppedError(Exception):
    """The run was stopped before its hosts were reached, or before a command began: there is nothing to measure."""


class LeftError(Exception):
    """The run was detached: whoever sees this leaves everything on the hosts as it is."""
