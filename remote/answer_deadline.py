"""Deadline for a host that answers no request after its run is over."""

import contextlib
import math
import threading
import time
from collections.abc import Callable

from remote.errors import ConnectionLostError, RemoteTimeoutError
from remote.session import Session
from suites.errors import BenchwrightError

ANSWER_TIME = 12.0
"""Seconds after the end of the run in which a host must have answered at least one request."""


PROBE_DELAY = 1.0
"""Seconds to wait for an answer to one of the run's own requests before a probe is sent."""


class AnswerDeadline:
    """Deadline that separates a slow host from one that never answers, such as one that sends a byte now and then.

    Once the run is `over` and no request has been answered, a thread runs `true` on the host as a probe. Only a
    complete answer counts: bytes that arrive do not extend the deadline.
    """

    def __init__(self, over: Callable[[], bool]) -> None:
        self._over = over
        self._since: float | None = None
        self._answered = False
        self._prober: threading.Thread | None = None

    def answered(self) -> None:
        """Record that a request was answered."""
        self._answered = True

    def timed_out(self) -> None:
        """Record that a request timed out: earlier answers no longer count."""
        if self._answered:
            self._since = None

    @property
    def end(self) -> float:
        """The deadline (monotonic seconds); infinite before it is set and after an answer."""
        return math.inf if self._since is None or self._answered else self._since + ANSWER_TIME

    def passed(self, session: Session) -> bool:
        """Return whether the run is over and the deadline has passed. Probes over `session`; does not block."""
        if not self._over():
            return False
        now = time.monotonic()
        if self._since is None:
            self._since, self._answered, self._prober = now, False, None
        if not self._answered and self._prober is None and now - self._since > PROBE_DELAY:
            self._prober = threading.Thread(target=self._probe, args=(session,), name="answer probe", daemon=True)
            self._prober.start()
        return not self._answered and now - self._since > ANSWER_TIME

    def _probe(self, session: Session) -> None:
        with contextlib.suppress(BenchwrightError):  # a refusal (MaxSessions, no such program) is an answer, too
            try:
                session.run(["true"], timeout=ANSWER_TIME)
            except (RemoteTimeoutError, ConnectionLostError):
                return
        self._answered = True

    def close(self) -> None:
        """Join the probe thread, whose session is closed, for at most 1 s."""
        prober = self._prober
        if prober is not None:
            prober.join(1.0)
