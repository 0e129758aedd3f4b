"""A command over a dedicated connection, for a host that opens few sessions per connection (MaxSessions)."""

from collections.abc import Callable

from remote.session import Channel, Chunk, Session


class DedicatedChannel:
    """A channel that closes its connection when it is closed; `on_close` is then called, from any thread."""

    def __init__(self, channel: Channel, session: Session, on_close: Callable[["DedicatedChannel"], None]) -> None:
        self._channel = channel
        self._session = session
        self._on_close = on_close

    def read(self, timeout: float) -> list[Chunk]:
        """Return what has arrived (see Channel)."""
        return self._channel.read(timeout)

    @property
    def ended(self) -> bool:
        """Whether both streams were read to their end."""
        return self._channel.ended

    @property
    def exit_status(self) -> int | None:
        """The exit status; None before the end, or if the host sent none."""
        return self._channel.exit_status

    def send(self, data: bytes, *, last: bool) -> None:
        """Send `data` to the command's stdin (see Channel)."""
        self._channel.send(data, last=last)

    def close(self) -> None:
        """Close the channel and its connection. Safe to call twice, from any thread."""
        self._channel.close()
        self._session.close()
        self._on_close(self)
