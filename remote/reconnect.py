"""A session that reconnects after a lost connection and repeats the requests that got no answer."""

import contextlib
import random
import shlex
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from operator import methodcaller
from typing import TypeVar

from remote.answer_deadline import ANSWER_TIME, AnswerDeadline
from remote.connection_state import PATIENCE, ChannelLimited, Link, LinkState, MonitoredConnection, ReconnectPolicy
from remote.dedicated_channel import DedicatedChannel
from remote.errors import (
    FINAL,
    ConnectionLostError,
    ConnectOutcome,
    RemoteTimeoutError,
    SessionLimitError,
    outcome_of,
)
from remote.jobs.job_record import booted, restarted
from remote.session import LIMIT, Channel, Completed, Session
from suites.errors import BenchwrightError

T = TypeVar("T")

CHANNEL_WAIT = 1.0
"""Seconds a command waits for a free channel before another connection is made."""

EXTRA_CONNECTIONS = 4
"""Largest number of connections added for channels: a host that opens channels on none of them opens none at all."""

POLL_INTERVAL = 0.5
"""Seconds between two checks of the connection."""

STABLE_AFTER = 10.0
"""Seconds a connection must last for the next loss to restart the backoff."""

LAST_CHANCE = 4.0
"""Seconds to wait for a host that is not connected after the run is over."""

BOOT_TIME = 10.0
"""Timeout in seconds for reading the boot id after a connection is made."""

REFUSALS = 3
"""Consecutive authentication failures before giving up: a booting host refuses every user (pam_nologin(8))."""


class ReconnectingSession:
    """A session to one host for the duration of a run. `report` is called with every link change, from any thread.

    A request without an answer is repeated over the next connection, so commands must be idempotent, as Benchwright's
    scripts are. Without a connection every method blocks. It raises ConnectionLostError when `patience` is exhausted,
    counted from the loss or from `waited_since` if that is later (infinite: not started); immediately for a final
    failure such as a changed host key; and after LAST_CHANCE if the run is `over`. A host that answers no request for
    ANSWER_TIME after the run is `over` is given up, even if bytes still arrive. A lost connection starts or stops
    nothing on the host.

    If the host limits sessions per connection, each long-running channel gets its own connection, so that short
    commands need not wait for it.
    """

    def __init__(
        self,
        connect: Callable[[], Session],
        *,
        report: Callable[[Link], None] = lambda _link: None,
        over: Callable[[], bool] = lambda: False,
        patience: ReconnectPolicy = PATIENCE,
        waited_since: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """Connect; raise what `connect` raises."""
        self._connect = connect
        self._report = report
        self._over = over
        self._patience = patience
        self._waited_since = waited_since
        self._changed = threading.Condition()
        self._boot = ""
        self.restarted = ""
        self.connections = 1
        self._session: Session | None = self._new_session()
        self._host = self._session.host
        self._lost: Session | None = None
        self._failure: BenchwrightError | None = None
        self._abandoned = False
        self._answers = AnswerDeadline(over)
        self._closed = False
        self._stalled = False
        self._connected_at = self._last_received = self._outage = time.monotonic()
        self._attempt = 0
        self._why = ""
        self._deadline: float | None = None
        self._adding = threading.Lock()
        self._thread_options = threading.local()
        self._full: list[Session] = []  # kept open for the channels that run over them
        self._own: set[DedicatedChannel] = set()
        self._monitor_thread = threading.Thread(target=self._monitor, name=f"link {self._host}", daemon=True)
        self._monitor_thread.start()

    @property
    def host(self) -> str:
        """The host's name, as the user knows it."""
        return self._host

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout: float = 30.0, limit: int = LIMIT) -> Completed:
        """Run `argv` to its end and return what it printed, over as many connections as needed."""
        done: Completed = self._with_session(methodcaller("run", argv, stdin=stdin, timeout=timeout, limit=limit))
        return done

    def open(self, argv: Sequence[str], *, stdin: bytes = b"", keep_input: bool = False) -> Channel:
        """Start `argv` and return its channel. It ends with its connection: the reader has to open another."""
        return self._with_session(lambda session: self._opened(session, argv, stdin, keep_input=keep_input))

    @contextlib.contextmanager
    def not_after_end(self) -> Iterator[None]:
        """Within, requests of this thread, and their repetition, raise ConnectionLostError once the run is over."""
        self._thread_options.not_after_end = True
        try:
            yield
        finally:
            self._thread_options.not_after_end = False

    def close(self) -> None:
        """End the session. Jobs on the host are not stopped. Safe to call twice."""
        with self._changed:
            self._closed = True
            sessions = [session for session in (self._session, self._lost) if session is not None]
            self._session, own = None, list(self._own)
            self._changed.notify_all()
        for session in (*sessions, *self._full):
            session.close()
        for channel in own:
            channel.close()
        self._answers.close()
        self._monitor_thread.join(1.0)

    def _with_session(self, work: Callable[[Session], T]) -> T:
        while True:
            session = self._current()
            if self._is_cancelled():
                raise self._request_cancelled()
            try:
                done = work(session)
            except ConnectionLostError as error:
                self._lose(session, error.message)
            except SessionLimitError:
                if not self._add_connection(session):
                    raise
            except RemoteTimeoutError as error:
                self._answers.timed_out()
                if not isinstance(session, MonitoredConnection) or session.silence < session.stalls_after:
                    raise
                self._lose(session, error.message)
            else:
                self._answers.answered()
                return done

    # A host that opens few sessions on one connection

    def _add_connection(self, session: Session) -> bool:
        """Use a new connection for further requests instead of `session`, which is full; return whether there is one.

        Channels open over `session` are not affected.
        """
        with self._adding:
            if session is not self._session:  # another thread has added one, or the connection is lost
                return True
            if len(self._full) == EXTRA_CONNECTIONS:
                return False
            try:
                new = self._for_commands(self._connect())
            except BenchwrightError:
                return False
            with self._changed:
                if self._session is session:
                    self._session = new
                    self._full.append(session)
                    return True
        new.close()
        return True

    def _opened(self, session: Session, argv: Sequence[str], stdin: bytes, *, keep_input: bool) -> Channel:
        """Open a channel over `session`, or over a dedicated connection if the host limits channels."""
        if not self._full:
            return session.open(argv, stdin=stdin, keep_input=keep_input)
        with contextlib.suppress(BenchwrightError):  # fall back to `session`, which raises if it is lost, too
            own = self._connect()
            with contextlib.ExitStack() as stack:
                stack.callback(own.close)
                channel = DedicatedChannel(own.open(argv, stdin=stdin, keep_input=keep_input), own, self._own.discard)
                with self._changed:
                    if not self._closed:
                        self._own.add(channel)
                        stack.pop_all()
                        return channel
        return session.open(argv, stdin=stdin, keep_input=keep_input)

    def _for_commands(self, session: Session) -> Session:
        if isinstance(session, ChannelLimited):
            session.channel_wait = CHANNEL_WAIT
        return session

    # A connection that breaks

    def _current(self) -> Session:
        """Return the current session, waiting for one if there is none."""
        with self._changed:
            while self._session is None:
                if self._closed:
                    raise ConnectionLostError(f"The session with {self._host} is closed.", host=self._host)
                if self._abandoned:
                    raise self._no_answer()
                if self._failure is not None:
                    raise self._given_up(self._failure) from self._failure
                if self._is_cancelled():
                    raise self._request_cancelled()
                self._check_last_chance()
                self._changed.wait(POLL_INTERVAL)
            return self._session

    def _is_cancelled(self) -> bool:
        return getattr(self._thread_options, "not_after_end", False) and self._over()

    def _request_cancelled(self) -> ConnectionLostError:
        return ConnectionLostError(f"The request to {self._host} was cancelled: the run is over.", host=self._host)

    def _check_last_chance(self) -> None:
        """Raise ConnectionLostError if the run is over and the time to reconnect is used up."""
        if not self._over():
            return
        now = time.monotonic()
        self._deadline = self._deadline or now + LAST_CHANCE
        if now >= min(self._deadline, self._answers.end):
            raise ConnectionLostError(
                f"{self._host} is not connected: {self._why}", self._leftovers_hint(), host=self._host
            )

    def _lose(self, session: Session, why: str) -> None:
        """Record that the connection of `session` is lost; the monitor thread makes another."""
        with self._changed:
            if session is not self._session:
                return
            now = time.monotonic()
            self._last_received = now - (session.silence if isinstance(session, MonitoredConnection) else 0.0)
            if now - self._connected_at > STABLE_AFTER or not self._attempt:
                self._attempt, self._outage = 0, now
            self._session, self._lost, self._why, self._stalled = None, session, why, False
            self._report_link(LinkState.LOST)
            self._changed.notify_all()

    def _report_link(self, state: LinkState, restarted: str = "") -> None:
        self._report(Link(state, self._last_received, self._attempt, self._why, restarted))

    # The monitor thread

    def _monitor(self) -> None:
        try:
            while not self._closed and self._failure is None:
                with self._changed:
                    self._changed.wait_for(lambda: self._closed or self._session is None, POLL_INTERVAL)
                    session = self._session
                if session is not None and self._answers.passed(session):
                    self._abandon(session)
                elif session is not None:
                    self._check_link(session)
                elif not self._closed:
                    self._restore()
        finally:
            self._end_waiting()

    def _end_waiting(self) -> None:
        """Wake all waiting threads: without the monitor thread, even after an unexpected error, none would return."""
        with self._changed:
            if not self._closed and self._failure is None:
                self._failure = ConnectionLostError("Making a new connection failed inside Benchwright.")
            self._changed.notify_all()

    def _check_link(self, session: Session) -> None:
        if not isinstance(session, MonitoredConnection):
            return
        if session.broken:
            self._lose(session, f"The connection to {self._host} broke.")
            return
        silence = session.silence
        with self._changed:
            if session is self._session and (silence > session.stalls_after) is not self._stalled:
                self._stalled = not self._stalled
                self._last_received, self._attempt, self._why = time.monotonic() - silence, 0, ""
                self._report_link(LinkState.STALLED if self._stalled else LinkState.BACK)

    def _restore(self) -> None:
        """Reconnect with backoff until it succeeds, fails for good or `patience` is exhausted."""
        if self._lost is not None:
            self._lost.close()
        if self._is_exhausted():  # connections succeed, but none lasts STABLE_AFTER
            self._give_up(ConnectionLostError(self._why, host=self._host))
            return
        refusals = 0
        while not self._closed:
            self._attempt += 1
            last = self._pause()
            if self._closed:
                return
            self._report_link(LinkState.RECONNECTING)
            try:
                session = self._new_session()
            except BenchwrightError as error:
                self._why = error.message
                outcome = outcome_of(error)
                refusals = refusals + 1 if outcome is ConnectOutcome.AUTH_REFUSED else 0
                if last or outcome in FINAL or refusals == REFUSALS or self._is_exhausted():
                    self._give_up(error)
                    return
            else:
                self._adopt(session)
                return

    def _pause(self) -> bool:
        """Wait for the backoff pause; return whether the next attempt is the last because the run is over."""
        until = time.monotonic() + self._patience.pause(self._attempt, random.uniform(-1.0, 1.0))  # noqa: S311 (no secret)
        with self._changed:
            while not self._closed and not self._over() and (remaining := until - time.monotonic()) > 0:
                self._changed.wait(min(POLL_INTERVAL, remaining))
        return self._over()

    def _is_exhausted(self) -> bool:
        return time.monotonic() - max(self._outage, self._waited_since()) > self._patience.total

    def _give_up(self, error: BenchwrightError) -> None:
        with self._changed:
            self._failure = error
            self._report_link(LinkState.GIVEN_UP)
            self._changed.notify_all()

    def _abandon(self, session: Session) -> None:
        """Give up a host that answers nothing: pending and further requests fail immediately."""
        with self._changed:
            self._abandoned, self._failure, self._session = True, self._no_answer(), None
            self._why = self._failure.message
            own = list(self._own)
            self._report_link(LinkState.GIVEN_UP)
            self._changed.notify_all()
        for full in (session, *self._full):
            full.close()
        for channel in own:
            channel.close()

    def _no_answer(self) -> ConnectionLostError:
        return ConnectionLostError(
            f"{self._host} did not respond within {ANSWER_TIME:g} s of the stop, and Benchwright closed "
            "the connection.",
            self._leftovers_hint(),
            host=self._host,
        )

    def _leftovers_hint(self) -> str:
        return f"Commands may still run there. List them with: benchwright hosts leftovers {shlex.quote(self._host)}"

    def _given_up(self, error: BenchwrightError) -> ConnectionLostError:
        message = (
            f"The connection to {self._host} was lost, and reconnecting failed: {error.message} "
            "Commands running there continue until they end."
        )
        return ConnectionLostError(message, error.remedy, host=self._host)

    def _adopt(self, session: Session) -> None:
        with self._changed:
            if not self._closed:
                self._session, self._lost = session, None
                self._connected_at = time.monotonic()
                self.connections += 1
                self._report_link(LinkState.BACK, self.restarted)
                self._changed.notify_all()
                return
        session.close()

    def _new_session(self) -> Session:
        """Return a new session; set `restarted` if the host has rebooted."""
        session = self._for_commands(self._connect())
        with contextlib.ExitStack() as stack:
            stack.callback(session.close)
            found = _boot(session)
            if self._boot and restarted(found, self._boot):
                self.restarted = booted(found)
            self._boot = found.get("boot", self._boot)
            stack.pop_all()
        return session


def _boot(session: Session) -> dict[str, str]:
    """Return the host's boot id and uptime by the keys of job.sh; empty if the host does not report them."""
    completed = session.run(["cat", "/proc/sys/kernel/random/boot_id", "/proc/uptime"], timeout=BOOT_TIME)
    fields = completed.stdout.decode("ascii", "replace").split()
    return {"boot": fields[0], "up": fields[1]} if completed.exit_status == 0 and len(fields) == 3 else {}
