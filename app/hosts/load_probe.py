"""Background load of a host, read again and again over one connection."""

import threading
from collections.abc import Callable

from app.checks.issues import HostReading
from app.checks.recheck import load_reading
from app.plans.plan import Plan
from remote.jobs.lease import others
from remote.probe import read_load
from remote.script import new_mark
from remote.session import Session
from suites.facts import Facts


class LoadProbe:
    """Reads the background load of the host of `facts`. Its methods block; any thread may call them."""

    def __init__(self, connect: Callable[[], Session], plan: Plan, facts: Facts) -> None:
        self._connect, self._plan, self._facts = connect, plan, facts
        self._session: Session | None = None
        self._lock = threading.Lock()

    def read(self) -> HostReading | None:
        """Return the findings of the background load; None, without reading it, while a run measures the host.

        Raises what connecting and reading raise.
        """
        with self._lock:
            if self._session is None:
                self._session = self._connect()
            if others(self._session, "", new_mark()):
                return None
            return load_reading(self._plan, self._facts, read_load(self._session, self._facts.system.container))

    def close(self) -> None:
        """Close the connection, after a reading under way."""
        with self._lock:
            if self._session is not None:
                self._session.close()
                self._session = None
