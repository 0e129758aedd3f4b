"""How a run is told to stop, from any thread."""

import threading


class Control:
    """The user's hand on a run."""

    def __init__(self) -> None:
        self._stopped = threading.Event()

    def stop(self) -> None:
        """End the run as soon as its process can be ended; what was measured is kept."""
        self._stopped.set()

    @property
    def stopped(self) -> bool:
        """Whether stop() was called."""
        return self._stopped.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait `seconds`, less if stopped; return whether it was."""
        return self._stopped.wait(seconds)
