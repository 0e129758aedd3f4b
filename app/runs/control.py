"""How a run is told to stop, to be left alone, or not to mind others, from any thread."""

import math
import threading
import time
from enum import StrEnum
from pathlib import Path

from remote.errors import RemoteError
from suites.errors import BenchwrightError

WAITING = "waiting: "
"""How an activity begins that says for whom a run waits."""


LAST_OUTPUT_TIME = 6.0
"""Seconds after Stop until which the output of a command that was ended is read."""

CLEAN_UP_TIME = 10.0
"""Seconds after Stop until which the clean-up commands of a host may run."""

ENDING_TIME = 13.0
"""Seconds after Stop until which anything may take that is done on a host or for it."""

LETTING_GO_TIME = 15.0
"""Seconds after Stop until which leases are removed and connections closed."""


class Busy(StrEnum):
    """What to do where somebody else measures a host."""

    REFUSE = "refuse"
    WAIT = "wait"
    ANYWAY = "anyway"


class HostInUseError(BenchwrightError):
    """Somebody else measures a host, and the user did not say to mind that no further. Nothing was run."""


class EndingTimeError(RemoteError):
    """Something took longer than ENDING_TIME after Stop, and is waited for no longer."""

    def __init__(self) -> None:
        super().__init__(f"it did not end within {ENDING_TIME:g} s of the stop.")


class Control:
    """The user's hand on a run.

    One clock runs from Stop (or from when the run is let go of): all that is done from then on shares it.
    """

    def __init__(self, busy: Busy = Busy.REFUSE) -> None:
        self.busy = busy
        self._over = threading.Event()
        self._left = False
        self._lost = False
        self._library: Path | None = None
        self._since: float | None = None  # since when the clock runs (monotonic seconds)

    def save_to(self, path: Path) -> None:
        """Go on writing the run down in a new library at `path`, where the one that it began in takes nothing."""
        self._library = path

    def take_library(self) -> Path | None:
        """Return the path that save_to() was given, once; None where there is none."""
        path, self._library = self._library, None
        return path

    def stop(self) -> None:
        """End the run as soon as its process can be ended."""
        self._end()

    def _end(self) -> None:
        if self._since is None:
            self._since = time.monotonic()
        self._over.set()

    def hold_clock(self) -> None:
        """Do not count the time until start_clock(): a run that is attached to be ended is not connected to yet."""
        self._since = None

    def start_clock(self) -> None:
        """Count the time from now on, where the run is over and it is not counted yet."""
        if self.over:
            self._end()

    def remaining(self, seconds: float) -> float:
        """Return how much is left of the first `seconds` after Stop; infinite before Stop."""
        return math.inf if self._since is None else max(0.0, self._since + seconds - time.monotonic())

    def leave(self) -> None:
        """Let go of the run: what measures on a host goes on there, and waits to be attached. Stopping comes first."""
        if not self._over.is_set():
            self._left = True
            self._end()

    def lose(self) -> None:
        """Let go of the run because somebody else took it over: nothing is done on its hosts any more."""
        self._left = self._lost = True
        self._end()

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
