"""A command under way over a connection of its own, for a host that opens few sessions on each (MaxSessions)."""

from collections.abc import Callable

from remote.session import Channel, Chunk, Session


class OwnChannel:
    """A channel that takes its connection with it when it is let go of; `gone` is told once, from any thread."""

    def __init__(self, channel: Channel, session: Session, gone: Callable[["OwnChannel"], None]) -> None:
        self._channel = channel
        self._session = session
        self._gone = gone

    def read(self, timeout: float) -> list[Chunk]:
        """Return what has arrived, as Channel says."""
        return self._channel.read(timeout)

    @property
    def ended(self) -> bool:
        """Whether both streams have ended and everything was read."""
        return self._channel.ended

    @property
    def exit_status(self) -> int | None:
        """The exit status; None before the end, or where the host sent none."""
        return self._channel.exit_status

    def send(self, data: bytes, *, last: bool) -> None:
        """Pass `data` on to the command's input, as Channel says."""
        self._channel.send(data, last=last)

    def close(self) -> None:
        """Let go of the command and of its connection. Safe to call twice, from any thread."""
        self._channel.close()
        self._session.close()
        self._gone(self)
