"""A session that outlives its connection: what it asks again, what it waits for, and when it gives up."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pytest

from remote.connection_state import Link, LinkState, ReconnectPolicy
from remote.errors import ConnectError, ConnectionLostError, ConnectOutcome, RemoteTimeoutError
from remote.reconnect import ReconnectingSession
from remote.session import LIMIT, Channel, Completed
from tests.messages import messages

MESSAGES = messages("remote", "test_reconnecting_session")

QUICK = ReconnectPolicy(first=0.01, longest=0.02, total=10.0)


@dataclass
class Wired:
    """A connection that breaks when told to. `boot` is the host's; it answers everything with "yes"."""

    boot: str = "one"
    silence: float = 0.0
    stalls_after: float = 8.0
    broken: bool = False
    slow: bool = False
    closed: bool = False
    asked: list[str] = field(default_factory=list)
    host: str = "lab"

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout: float = 30.0, limit: int = LIMIT) -> Completed:
        if self.broken or self.closed:
            raise ConnectionLostError("The connection to lab broke: cut.", host="lab")
        if self.slow:
            raise RemoteTimeoutError("slow", host="lab")
        self.asked.append(argv[0])
        if argv[0] == "cat":
            return Completed(f"{self.boot}\n12.00 3.00\n".encode(), b"", 0)
        return Completed(b"yes", b"", 0)

    def open(self, argv: Sequence[str], *, stdin: bytes = b"", keep_input: bool = False) -> Channel:
        raise NotImplementedError

    def close(self) -> None:
        self.closed = True


class Way:
    """Hands out what it was given, one after another: connections, or errors to raise."""

    def __init__(self, *ends: Wired | ConnectError) -> None:
        self.ends = list(ends)
        self.reported: list[Link] = []
        self.changed = threading.Condition()
        self.over = False

    def connect(self) -> Wired:
        end = self.ends.pop(0) if len(self.ends) > 1 else self.ends[0]
        if isinstance(end, ConnectError):
            raise end
        return end

    def send(self, link: Link) -> None:
        with self.changed:
            self.reported.append(link)
            self.changed.notify_all()

    def await_state(self, state: LinkState) -> Link:
        with self.changed:
            assert self.changed.wait_for(lambda: any(link.state is state for link in self.reported), 60.0)
        return next(link for link in self.reported if link.state is state)

    @property
    def states(self) -> list[LinkState]:
        return [link.state for link in self.reported]


Make = Callable[..., tuple[ReconnectingSession, Way]]


@pytest.fixture
def make() -> Iterator[Make]:
    """Return a function that makes a session over the given ends of connections; all are closed after the test."""
    made: list[ReconnectingSession] = []

    def start(*ends: Wired | ConnectError, patience: ReconnectPolicy = QUICK) -> tuple[ReconnectingSession, Way]:
        way = Way(*ends)
        made.append(ReconnectingSession(way.connect, report=way.send, over=lambda: way.over, patience=patience))
        return made[-1], way

    yield start
    for session in made:
        session.close()


def refused(outcome: ConnectOutcome = ConnectOutcome.REFUSED) -> ConnectError:
    return ConnectError(outcome, f"lab: {outcome}.", "Look there.", host="lab")


def test_an_interrupted_request_is_repeated(make: Make) -> None:
    first, second = Wired(), Wired()
    session, way = make(first, refused(), second)
    first.broken = True
    assert session.run(["ask"]).stdout == b"yes"
    assert second.asked == ["cat", "ask"]
    assert way.states == [LinkState.LOST, LinkState.RECONNECTING, LinkState.RECONNECTING, LinkState.BACK]
    assert [link.attempt for link in way.reported] == [0, 1, 2, 2]
    assert way.reported[0].detail == MESSAGES["the_connection_to_lab_broke"]
    assert session.connections == 2
    assert not session.restarted
    assert first.closed


def test_a_break_is_noticed_though_nobody_asks(make: Make) -> None:
    first = Wired()
    _session, way = make(first, Wired())
    first.broken = True
    way.await_state(LinkState.BACK)


def test_many_threads_wait_for_one_connection(make: Make) -> None:
    first, second = Wired(), Wired()
    session, way = make(first, second)
    first.broken = True
    threads = [threading.Thread(target=session.run, args=(["ask"],)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert second.asked.count("ask") == 8
    assert way.states.count(LinkState.LOST) == 1


def test_a_restart_of_the_host_is_told(make: Make) -> None:
    first = Wired("one")
    session, way = make(first, Wired("two"))
    first.broken = True
    session.run(["ask"])
    assert session.restarted.startswith("at ")
    assert way.reported[-1].restarted == session.restarted


def test_silence_is_told_and_so_is_its_end(make: Make) -> None:
    only = Wired()
    _session, way = make(only)
    before = time.monotonic()
    only.silence = 12.0
    stalled = way.await_state(LinkState.STALLED)
    assert before <= stalled.since + only.silence <= time.monotonic()
    only.silence = 0.0
    way.await_state(LinkState.BACK)
    assert LinkState.LOST not in way.states


def test_a_slow_host_is_not_a_silent_one(make: Make) -> None:
    only = Wired()
    session, way = make(only)
    only.slow = True
    with pytest.raises(RemoteTimeoutError):
        session.run(["ask"])
    assert way.states == []


def test_a_silent_host_that_does_not_answer_is_sought_anew(make: Make) -> None:
    first, second = Wired(), Wired()
    session, way = make(first, second)
    first.slow, first.silence = True, 9.0
    assert session.run(["ask"]).stdout == b"yes"
    assert LinkState.LOST in way.states


@pytest.mark.parametrize(
    "outcome",
    [ConnectOutcome.KEY_CHANGED, ConnectOutcome.KEY_REVOKED, ConnectOutcome.KEY_UNKNOWN, ConnectOutcome.CANCELLED],
)
def test_some_failures_are_final(make: Make, outcome: ConnectOutcome) -> None:
    first = Wired()
    session, way = make(first, refused(outcome))
    first.broken = True
    with pytest.raises(ConnectionLostError, match=f"reconnecting failed: lab: {outcome}") as caught:
        session.run(["ask"])
    assert caught.value.remedy == "Look there."
    assert way.states == [LinkState.LOST, LinkState.RECONNECTING, LinkState.GIVEN_UP]


def test_a_key_that_changed_on_the_way_is_final_too(make: Make) -> None:
    first = Wired()
    jump = refused(ConnectOutcome.JUMP_FAILED)
    jump.__cause__ = refused(ConnectOutcome.KEY_CHANGED)
    session, way = make(first, jump)
    first.broken = True
    with pytest.raises(ConnectionLostError):
        session.run(["ask"])
    assert way.states.count(LinkState.RECONNECTING) == 1


def test_a_user_who_is_refused_is_not_shown_to_the_host_for_ever(make: Make) -> None:
    first = Wired()
    session, way = make(first, refused(ConnectOutcome.AUTH_REFUSED))
    first.broken = True
    with pytest.raises(ConnectionLostError):
        session.run(["ask"])
    assert way.states.count(LinkState.RECONNECTING) == 3


def test_patience_ends(make: Make) -> None:
    first = Wired()
    session, way = make(first, refused(), patience=ReconnectPolicy(first=0.01, longest=0.01, total=0.1))
    first.broken = True
    with pytest.raises(ConnectionLostError, match="continue until they end"):
        session.run(["ask"])
    assert way.states[-1] is LinkState.GIVEN_UP


def test_connections_that_do_not_last_end_patience_too(make: Make) -> None:
    ends = [Wired(broken=False) for _ in range(200)]
    session, way = make(*ends, patience=ReconnectPolicy(first=0.01, longest=0.01, total=0.2))
    stop = threading.Event()

    def break_them() -> None:
        while not stop.is_set():
            for end in ends:
                end.broken = bool(end.asked)

    breaker = threading.Thread(target=break_them)
    breaker.start()
    way.await_state(LinkState.GIVEN_UP)
    stop.set()
    breaker.join()
    with pytest.raises(ConnectionLostError):
        session.run(["ask"])


def test_once_the_run_is_over_nobody_waits_long(make: Make) -> None:
    first = Wired()
    session, way = make(first, refused(), patience=ReconnectPolicy(first=60.0))
    first.broken = True
    way.await_state(LinkState.LOST)
    way.over = True
    began = time.monotonic()
    with pytest.raises(ConnectionLostError):
        session.run(["ask"])
    assert time.monotonic() - began < 40.0


def test_closing_ends_every_wait(make: Make) -> None:
    first = Wired()
    session, way = make(first, refused(), patience=ReconnectPolicy(first=60.0))
    first.broken = True
    way.await_state(LinkState.LOST)
    caught: list[Exception] = []

    def wait() -> None:
        try:
            session.run(["ask"])
        except ConnectionLostError as error:
            caught.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    session.close()
    thread.join(60.0)
    assert not thread.is_alive()
    assert "is closed" in str(caught[0])


def test_a_first_connection_that_fails_is_no_outage() -> None:
    def fail() -> Wired:
        raise refused()

    with pytest.raises(ConnectError, match="connection refused"):
        ReconnectingSession(fail)


def test_pauses_double_up_to_the_longest() -> None:
    patience = ReconnectPolicy()
    assert [patience.pause(attempt, 0.0) for attempt in range(1, 8)] == [1, 2, 4, 8, 16, 30, 30]
    assert patience.pause(1000, 1.0) == 30 * 1.25
    assert patience.pause(1, -1.0) == 0.75


def test_requests_not_needed_after_the_run_are_not_made_then(make: Make) -> None:
    """A start that was under way as the connection broke is not made over the next, once the user has stopped."""
    first, second = Wired(), Wired()
    session, way = make(first)
    stopped, failed = threading.Event(), list[str]()

    def connect() -> Wired:
        assert stopped.wait(60.0)
        return second

    session._connect = connect
    first.broken = True

    def start() -> None:
        try:
            with session.not_after_end():
                session.run(["start"])
        except ConnectionLostError as error:
            failed.append(error.message)

    thread = threading.Thread(target=start)
    thread.start()
    way.await_state(LinkState.LOST)
    way.over = True
    stopped.set()
    thread.join(60.0)
    assert failed == [MESSAGES["lab_was_not_asked_any_more"]]
    way.await_state(LinkState.BACK)
    assert session.run(["remove"]).stdout == b"yes"
    assert "start" not in second.asked
    with pytest.raises(ConnectionLostError, match="was cancelled"), session.not_after_end():
        session.run(["start"])
