"""Control of a run by the user, from any thread: stop, detach, and what to do if a host is in use."""

import math
import threading
import time
from enum import Enum, StrEnum
from pathlib import Path

from remote.errors import RemoteError
from suites.errors import BenchwrightError

LAST_OUTPUT_TIME = 6.0
"""Seconds after Stop during which the output of an ended command is still read."""

CLEAN_UP_TIME = 10.0
"""Seconds after Stop during which the clean-up commands of a host may run."""

ENDING_TIME = 13.0
"""Seconds after Stop by which all work on a host has to end."""

DISCONNECT_TIME = 15.0
"""Seconds after Stop by which leases are removed and connections closed."""


class BusyPolicy(StrEnum):
    """Policy for a host that another run measures."""

    REFUSE = "refuse"
    WAIT = "wait"
    ANYWAY = "anyway"


class HostInUseError(BenchwrightError):
    """Another run measures a host, and the policy is not to share it. Nothing was run."""


class EndingTimeError(RemoteError):
    """Work on a host did not end within ENDING_TIME after Stop and was abandoned."""

    def __init__(self) -> None:
        super().__init__(f"it did not end within {ENDING_TIME:g} s of the stop.")


class _Request(Enum):
    """Request to a run."""

    CONTINUE = 0
    STOP = 1
    DETACH = 2
    TAKEN_OVER = 3


class Control:
    """Control of a run, shared by all threads.

    One clock starts at Stop or detach; all limits on ending the run count from it.
    """

    def __init__(self, busy: BusyPolicy = BusyPolicy.REFUSE) -> None:
        self.busy = busy
        self._requested = _Request.CONTINUE
        self._over = threading.Event()
        self._library: Path | None = None
        self._since: float | None = None  # start of the clock (monotonic seconds)

    def save_to(self, path: Path) -> None:
        """Continue recording in a new library at `path` if the current one cannot be written."""
        self._library = path

    def take_library(self) -> Path | None:
        """Return the path given to save_to(), once; None if there is none."""
        path, self._library = self._library, None
        return path

    def stop(self) -> None:
        """Stop the run as soon as its command can be ended; no effect on a detached run."""
        self._end(_Request.STOP)

    def detach(self) -> None:
        """Detach the run: its commands continue on their hosts until it is attached. No effect on a stopped run."""
        if not self.over:
            self._end(_Request.DETACH)

    def note_taken_over(self) -> None:
        """Detach the run because another process took it over; this process leaves its hosts alone."""
        self._end(_Request.TAKEN_OVER)

    def _end(self, request: _Request) -> None:
        if self._requested is _Request.CONTINUE or request is _Request.TAKEN_OVER:
            self._requested = request
        self.start_clock()
        self._over.set()

    def stop_clock(self) -> None:
        """Stop the clock until start_clock(): a run attached only to be stopped is not connected yet."""
        self._since = None

    def start_clock(self) -> None:
        """Start the clock if it is not running."""
        self._since = self._since or time.monotonic()

    def remaining(self, seconds: float) -> float:
        """Return the seconds remaining of the first `seconds` after Stop; infinite before Stop."""
        return math.inf if self._since is None else max(0.0, self._since + seconds - time.monotonic())

    @property
    def taken_over(self) -> bool:
        """Whether another process took the run over."""
        return self._requested is _Request.TAKEN_OVER

    @property
    def stopped(self) -> bool:
        """Whether the run is to be stopped."""
        return self._requested is _Request.STOP

    @property
    def detached(self) -> bool:
        """Whether the run is to be detached, or was taken over."""
        return self._requested in {_Request.DETACH, _Request.TAKEN_OVER}

    @property
    def over(self) -> bool:
        """Whether the run is to be stopped or detached, or was taken over."""
        return self._over.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait `seconds` or until the run is over; return whether it is over."""
        return self._over.wait(seconds)

    def raise_if_detached(self) -> None:
        """Raise DetachedError if the run is to be detached."""
        if self.detached:
            raise DetachedError

    def raise_if_over(self) -> None:
        """Raise DetachedError if the run is to be detached, StoppedError if it is to be stopped."""
        self.raise_if_detached()
        if self.over:
            raise StoppedError


class StoppedError(Exception):
    """The run was stopped before its hosts were reached or before a command began."""


class DetachedError(Exception):
    """The run was detached: handlers must leave everything on the hosts unchanged."""
