"""A session that outlives its connection: when that breaks, another is made, and what was asked is asked again."""

import contextlib
import random
import shlex
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from remote.answer_deadline import ANSWER_TIME, AnswerDeadline
from remote.errors import ConnectionLostError, NoRoomError, Outcome, RemoteTimeoutError, outcome_of
from remote.jobs.job_record import booted, restarted
from remote.link import PATIENCE, Crowded, Link, LinkState, Patience, Wire
from remote.own_channel import OwnChannel
from remote.session import LIMIT, Channel, Completed, Session
from suites.errors import BenchwrightError

T = TypeVar("T")

ROOM_PATIENCE = 1.0
"""Seconds for which a command waits for room on a connection before another connection is made for it."""

MOST_FOR_ROOM = 4
"""Connections that are made because there was no room: a host that opens sessions on none of them opens none at all."""

LOOK = 0.5
"""Seconds between two looks at the connection."""

SETTLED = 10.0
"""Seconds a connection must have lasted for the next loss to count as a new one: its patience then begins anew."""

LAST_CHANCE = 4.0
"""Seconds for which a host that is not reached is still waited for once the run is over."""

BOOT_TIME = 10.0
"""Seconds in which a host must say which boot it is of, after a connection was made."""

FINAL = frozenset(
    {
        Outcome.KEY_UNKNOWN, Outcome.KEY_CHANGED, Outcome.KEY_REVOKED, Outcome.CANCELLED, Outcome.NOT_ALLOWED,
        Outcome.CONFIG,
    }
)  # fmt: skip
"""Failures that trying again cannot mend: somebody has to look."""

REFUSALS = 3
"""How often in a row a host may refuse the user: while it starts it lets nobody in, later only a mistake does."""


class SteadySession:
    """One host for as long as a run takes. `told` hears of every change of the link, from any thread.

    What a broken connection kept from being answered is asked again over the next: only what may run twice belongs
    here, as all scripts of ours may. While there is no connection, every method waits; it raises ConnectionLostError
    once `patience` is at its end, counted from the loss or from `waited_since` if that is later (infinite: nobody waits
    yet), at once where the host's key has changed or the like, and after LAST_CHANCE where the run is `over`. A host
    that answers no request for ANSWER_TIME once the run is `over` is given up, whatever still arrives from it. Never is
    anything started or stopped on the host by the loss itself.

    Where the host opens few sessions on one connection, what is read for long gets connections of its own: nobody then
    waits for its end.
    """

    def __init__(
        self,
        connect: Callable[[], Session],
        *,
        told: Callable[[Link], None] = lambda _link: None,
        over: Callable[[], bool] = lambda: False,
        patience: Patience = PATIENCE,
        waited_since: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """Connect; raise what `connect` raises."""
        self._connect = connect
        self._told = told
        self._over = over
        self._patience = patience
        self._waited_since = waited_since
        self._changed = threading.Condition()
        self._boot = ""
        self.restarted = ""
        self.connections = 1
        self._session: Session | None = self._connected_anew()
        self._host = self._session.host
        self._lost: Session | None = None
        self._failure: BenchwrightError | None = None
        self._abandoned = False
        self._answers = AnswerDeadline(over)
        self._closed = False
        self._stalled = False
        self._made = self._heard = self._outage = time.monotonic()
        self._attempt = 0
        self._why = ""
        self._deadline: float | None = None
        self._making_room = threading.Lock()
        self._asking = threading.local()
        self._full: list[Session] = []  # what is read for long goes on over them
        self._own: set[OwnChannel] = set()
        self._keeper = threading.Thread(target=self._keep, name=f"link {self._host}", daemon=True)
        self._keeper.start()

    @property
    def host(self) -> str:
        """The host's name, as the user knows it."""
        return self._host

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout: float = 30.0, limit: int = LIMIT) -> Completed:
        """Run `argv` to its end and return what it printed, however many connections that takes."""
        return self._through(lambda session: session.run(argv, stdin=stdin, timeout=timeout, limit=limit))

    def open(self, argv: Sequence[str], *, stdin: bytes = b"", keep_input: bool = False) -> Channel:
        """Start `argv` and return it under way. It ends with its connection: who reads it opens another."""
        return self._through(lambda session: self._opened(session, argv, stdin, keep_input=keep_input))

    @contextlib.contextmanager
    def not_once_over(self) -> Iterator[None]:
        """Within, this thread asks nothing, and nothing again, once the run is over: ConnectionLostError is raised."""
        self._asking.not_once_over = True
        try:
            yield
        finally:
            self._asking.not_once_over = False

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
        self._keeper.join(1.0)

    def _through(self, work: Callable[[Session], T]) -> T:
        while True:
            session = self._current()
            if self._is_unwanted():
                raise self._not_asked()
            try:
                done = work(session)
            except ConnectionLostError as error:
                self._lose(session, error.message)
            except NoRoomError:
                if not self._make_room(session):
                    raise
            except RemoteTimeoutError as error:
                self._answers.missed_one()
                if not isinstance(session, Wire) or session.silence < session.stalls_after:
                    raise
                self._lose(session, error.message)
            else:
                self._answers.answered()
                return done

    # A host that opens few sessions on one connection

    def _make_room(self, session: Session) -> bool:
        """Take a new connection for what is asked from now on, in place of `session`, which is full.

        Return whether there is one. What is under way over `session` goes on undisturbed.
        """
        with self._making_room:
            if session is not self._session:  # somebody else has made room, or it is lost
                return True
            if len(self._full) == MOST_FOR_ROOM:
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
        """Open a channel over `session`, or over a connection of its own where there is little room."""
        if not self._full:
            return session.open(argv, stdin=stdin, keep_input=keep_input)
        with contextlib.suppress(BenchwrightError):  # then there is the one connection, or none: it will tell
            own = self._connect()
            with contextlib.ExitStack() as stack:
                stack.callback(own.close)
                channel = OwnChannel(own.open(argv, stdin=stdin, keep_input=keep_input), own, self._own.discard)
                with self._changed:
                    if not self._closed:
                        self._own.add(channel)
                        stack.pop_all()
                        return channel
        return session.open(argv, stdin=stdin, keep_input=keep_input)

    def _for_commands(self, session: Session) -> Session:
        if isinstance(session, Crowded):
            session.waits_for_room = ROOM_PATIENCE
        return session

    # A connection that breaks

    def _current(self) -> Session:
        """Return the session in use, waiting for one where there is none."""
        with self._changed:
            while self._session is None:
                if self._closed:
                    raise ConnectionLostError(f"The session with {self._host} was closed.", host=self._host)
                if self._abandoned:
                    raise self._no_answer()
                if self._failure is not None:
                    raise self._given_up(self._failure) from self._failure
                if self._is_unwanted():
                    raise self._not_asked()
                self._wait_for_the_last_time()
                self._changed.wait(LOOK)
            return self._session

    def _is_unwanted(self) -> bool:
        return getattr(self._asking, "not_once_over", False) and self._over()

    def _not_asked(self) -> ConnectionLostError:
        return ConnectionLostError(f"{self._host} was not asked any more: the run is over.", host=self._host)

    def _wait_for_the_last_time(self) -> None:
        if not self._over():
            return
        now = time.monotonic()
        self._deadline = self._deadline or now + LAST_CHANCE
        if now >= min(self._deadline, self._answers.end):
            raise ConnectionLostError(
                f"{self._host} is not reached: {self._why}",
                self._where_to_look(),
                host=self._host,
            )

    def _lose(self, session: Session, why: str) -> None:
        """Take note that `session` no longer reaches the host; the keeper makes another."""
        with self._changed:
            if session is not self._session:
                return
            now = time.monotonic()
            self._heard = now - (session.silence if isinstance(session, Wire) else 0.0)
            if now - self._made > SETTLED or not self._attempt:
                self._attempt, self._outage = 0, now
            self._session, self._lost, self._why, self._stalled = None, session, why, False
            self._tell(LinkState.LOST)
            self._changed.notify_all()

    def _tell(self, state: LinkState, told_restart: str = "") -> None:
        self._told(Link(state, self._heard, self._attempt, self._why, told_restart))

    # The keeper's thread

    def _keep(self) -> None:
        try:
            while not self._closed and self._failure is None:
                with self._changed:
                    self._changed.wait_for(lambda: self._closed or self._session is None, LOOK)
                    session = self._session
                if session is not None and self._answers.passed(session):
                    self._abandon(session)
                elif session is not None:
                    self._look_at(session)
                elif not self._closed:
                    self._restore()
        finally:
            self._end_waiting()

    def _end_waiting(self) -> None:
        """Let nobody wait for a keeper that has ended, whatever ended it."""
        with self._changed:
            if not self._closed and self._failure is None:
                self._failure = ConnectionLostError("Making a new connection failed inside Benchwright.")
            self._changed.notify_all()

    def _look_at(self, session: Session) -> None:
        if not isinstance(session, Wire):
            return
        if session.broken:
            self._lose(session, f"The connection to {self._host} broke.")
            return
        silence = session.silence
        with self._changed:
            if session is self._session and (silence > session.stalls_after) is not self._stalled:
                self._stalled = not self._stalled
                self._heard, self._attempt, self._why = time.monotonic() - silence, 0, ""
                self._tell(LinkState.STALLED if self._stalled else LinkState.BACK)

    def _restore(self) -> None:
        """Connect again, however often it takes."""
        if self._lost is not None:
            self._lost.close()
        if self._is_too_late():  # connections are made, but none lasts
            self._give_up(ConnectionLostError(self._why, host=self._host))
            return
        refusals = 0
        while not self._closed:
            self._attempt += 1
            last = self._pause()
            if self._closed:
                return
            self._tell(LinkState.RECONNECTING)
            try:
                session = self._connected_anew()
            except BenchwrightError as error:
                self._why = error.message
                outcome = outcome_of(error)
                refusals = refusals + 1 if outcome is Outcome.AUTH_REFUSED else 0
                if last or outcome in FINAL or refusals == REFUSALS or self._is_too_late():
                    self._give_up(error)
                    return
            else:
                self._take_up(session)
                return

    def _pause(self) -> bool:
        """Wait as long as patience asks for; return whether the next attempt is the last, as the run is over."""
        until = time.monotonic() + self._patience.pause(self._attempt, random.uniform(-1.0, 1.0))  # noqa: S311 (no secret)
        with self._changed:
            while not self._closed and not self._over() and (left := until - time.monotonic()) > 0:
                self._changed.wait(min(LOOK, left))
        return self._over()

    def _is_too_late(self) -> bool:
        return time.monotonic() - max(self._outage, self._waited_since()) > self._patience.total

    def _give_up(self, error: BenchwrightError) -> None:
        with self._changed:
            self._failure = error
            self._tell(LinkState.GIVEN_UP)
            self._changed.notify_all()

    def _abandon(self, session: Session) -> None:
        """Give up a host that lets everybody wait: what is asked there fails now, and nothing more is asked."""
        with self._changed:
            self._abandoned, self._failure, self._session = True, self._no_answer(), None
            self._why = self._failure.message
            own = list(self._own)
            self._tell(LinkState.GIVEN_UP)
            self._changed.notify_all()
        for full in (session, *self._full):
            full.close()
        for channel in own:
            channel.close()

    def _no_answer(self) -> ConnectionLostError:
        return ConnectionLostError(
            f"{self._host} did not respond within {ANSWER_TIME:g} s of the stop, and Benchwright closed "
            "the connection.",
            self._where_to_look(),
            host=self._host,
        )

    def _where_to_look(self) -> str:
        return f"Commands may still run there. List them with: benchwright hosts leftovers {shlex.quote(self._host)}"

    def _given_up(self, error: BenchwrightError) -> ConnectionLostError:
        message = (
            f"The connection to {self._host} was lost, and no other could be made: {error.message} "
            "Commands under way there continue until they end."
        )
        return ConnectionLostError(message, error.remedy, host=self._host)

    def _take_up(self, session: Session) -> None:
        with self._changed:
            if not self._closed:
                self._session, self._lost = session, None
                self._made = time.monotonic()
                self.connections += 1
                self._tell(LinkState.BACK, self.restarted)
                self._changed.notify_all()
                return
        session.close()

    def _connected_anew(self) -> Session:
        """Return a new session, and note where it is no longer the boot of before."""
        session = self._for_commands(self._connect())
        with contextlib.ExitStack() as stack:
            stack.callback(session.close)
            said = _boot(session)
            if self._boot and restarted(said, self._boot):
                self.restarted = booted(said)
            self._boot = said.get("boot", self._boot)
            stack.pop_all()
        return session


def _boot(session: Session) -> dict[str, str]:
    """Return the host's boot id and uptime, by the words of job.sh; nothing where it does not tell."""
    said = session.run(["cat", "/proc/sys/kernel/random/boot_id", "/proc/uptime"], timeout=BOOT_TIME)
    words = said.stdout.decode("ascii", "replace").split()
    return {"boot": words[0], "up": words[1]} if said.exit_status == 0 and len(words) == 3 else {}
