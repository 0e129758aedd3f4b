"""The end of patience with a host that answers nothing once its run is over."""

import contextlib
import math
import threading
import time
from collections.abc import Callable

from remote.errors import ConnectionLostError, RemoteTimeoutError
from remote.session import Session
from suites.errors import BenchwrightError

ANSWER_TIME = 12.0
"""Seconds in which a host must have answered some request, whichever it was, after the run is over."""


UNASKED = 1.0
"""Seconds for which the requests of the run itself may show whether the host answers."""


class AnswerDeadline:
    """Tells a host that is slow from one that never answers, such as one that sends a byte now and then.

    Once the run is `over`, and nothing that was asked there is answered, the host is asked for a sign of life. What
    arrives does not make the time begin anew: only a whole answer counts.
    """

    def __init__(self, over: Callable[[], bool]) -> None:
        self._over = over
        self._since: float | None = None
        self._answered = False
        self._asking: threading.Thread | None = None

    def answered(self) -> None:
        """Note that a request was answered."""
        self._answered = True

    def missed_one(self) -> None:
        """Note that a request was not answered in its time: that others were says nothing any more."""
        if self._answered:
            self._since = None

    @property
    def end(self) -> float:
        """When it passes (monotonic seconds); infinite as long as it is not counted."""
        return math.inf if self._since is None or self._answered else self._since + ANSWER_TIME

    def passed(self, session: Session) -> bool:
        """Return whether the run is over and its host has not answered in time. Asks over `session`; never waits."""
        if not self._over():
            return False
        now = time.monotonic()
        if self._since is None:
            self._since, self._answered, self._asking = now, False, None
        if not self._answered and self._asking is None and now - self._since > UNASKED:
            self._asking = threading.Thread(target=self._ask, args=(session,), name="sign of life", daemon=True)
            self._asking.start()
        return not self._answered and now - self._since > ANSWER_TIME

    def _ask(self, session: Session) -> None:
        with contextlib.suppress(BenchwrightError):  # that it has no room, or does not run it, is an answer, too
            try:
                session.run(["true"], timeout=ANSWER_TIME)
            except (RemoteTimeoutError, ConnectionLostError):
                return
        self._answered = True

    def close(self) -> None:
        """Wait a moment for the thread that asks: its session is closed."""
        asking = self._asking
        if asking is not None:
            asking.join(1.0)
