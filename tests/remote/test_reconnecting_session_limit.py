"""A host that opens few sessions on one connection: what is read for long gets a connection of its own."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pytest

from remote.errors import ConnectError, ConnectOutcome, SessionLimitError
from remote.reconnect import CHANNEL_WAIT, EXTRA_CONNECTIONS, ReconnectingSession
from remote.session import LIMIT, Channel, Chunk, Completed

HOST = "lab"


@dataclass
class Open:
    """A command that is read for as long as somebody likes."""

    connection: "Connection"
    ended: bool = False
    exit_status: int | None = None

    def read(self, timeout: float) -> list[Chunk]:
        return []

    def send(self, data: bytes, *, last: bool) -> None:
        raise NotImplementedError

    def close(self) -> None:
        self.connection.channels.discard(id(self))
        self.ended = True


@dataclass
class Connection:
    """A connection on which the host opens `room` sessions at once."""

    room: int
    channel_wait: float = 10.0
    closed: bool = False
    channels: set[int] = field(default_factory=set)
    host: str = HOST

    def _check(self) -> None:
        if len(self.channels) >= self.room:
            raise SessionLimitError(f"{HOST} opens no further session on this connection.", host=HOST)

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout: float = 30.0, limit: int = LIMIT) -> Completed:
        if argv[0] == "cat":  # the first command of all, before anything can be in its way
            return Completed(b"one\n12.00 3.00\n", b"", 0)
        self._check()
        return Completed(b"yes", b"", 0)

    def open(self, argv: Sequence[str], *, stdin: bytes = b"", keep_input: bool = False) -> Channel:
        self._check()
        opened = Open(self)
        self.channels.add(id(opened))
        return opened

    def close(self) -> None:
        self.closed = True


@dataclass
class Host:
    """Lets connections be made, until it is told to refuse further ones."""

    room: int
    refuses: bool = False
    made: list[Connection] = field(default_factory=list)

    def connect(self) -> Connection:
        if self.refuses:
            raise ConnectError(ConnectOutcome.REFUSED, f"{HOST} refused.", host=HOST)
        self.made.append(Connection(self.room))
        return self.made[-1]

    @property
    def open_ones(self) -> int:
        return sum(not connection.closed for connection in self.made)


@pytest.fixture
def begin() -> Iterator[Callable[[Host], ReconnectingSession]]:
    made: list[ReconnectingSession] = []

    def start(host: Host) -> ReconnectingSession:
        made.append(ReconnectingSession(host.connect))
        return made[-1]

    yield start
    for session in made:
        session.close()


Begin = Callable[[Host], ReconnectingSession]


def test_with_room_for_all_there_is_one_connection(begin: Begin) -> None:
    host = Host(room=10)
    session = begin(host)
    session.open(["follow"])
    session.open(["watch"])
    assert session.run(["ask"]).stdout == b"yes"
    assert len(host.made) == 1
    assert host.made[0].channel_wait == CHANNEL_WAIT


def test_where_one_session_is_all_everything_goes_on_side_by_side(begin: Begin) -> None:
    host = Host(room=1)
    session = begin(host)
    watched = session.open(["watch"])
    assert session.run(["ask"]).stdout == b"yes"
    followed = session.open(["follow"])
    assert session.run(["ask"]).stdout == b"yes"
    assert not watched.ended
    assert session.connections == 1  # nothing was lost, so nobody need look again
    followed.close()
    assert host.open_ones == 2  # that of the first channel, and that for commands
    session.close()
    assert host.open_ones == 0


def test_what_is_still_read_at_the_end_takes_its_connection_with_it(begin: Begin) -> None:
    host = Host(room=1)
    session = begin(host)
    session.open(["watch"])
    session.open(["follow"])
    session.close()
    assert host.open_ones == 0


def test_a_host_that_opens_no_session_at_all_is_said(begin: Begin) -> None:
    host = Host(room=0)
    session = begin(host)
    with pytest.raises(SessionLimitError, match="opens no further session"):
        session.run(["ask"])
    assert len(host.made) == 1 + EXTRA_CONNECTIONS


def test_where_no_other_connection_is_made_the_refusal_is_said(begin: Begin) -> None:
    host = Host(room=1)
    session = begin(host)
    session.open(["watch"])
    host.refuses = True
    with pytest.raises(SessionLimitError, match="opens no further session"):
        session.open(["follow"])
