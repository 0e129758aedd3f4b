"""Protocols for running commands on a host, over SSH or locally."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

LIMIT = 8 * 2**20
"""Default limit of a command's output in bytes."""


@dataclass(frozen=True, slots=True)
class Completed:
    """Result of a command. `exit_status` is None if the host sent none: never a success."""

    stdout: bytes
    stderr: bytes
    exit_status: int | None


@dataclass(frozen=True, slots=True)
class Chunk:
    """Bytes that arrived on one stream, "stdout" or "stderr"."""

    stream: str
    data: bytes


class Channel(Protocol):
    """A running command, read as it prints."""

    def read(self, timeout: float) -> list[Chunk]:
        """Return what has arrived, waiting up to `timeout` seconds for the first byte; [] if none arrives.

        After the last byte `ended` is true. Raises ConnectionLostError if the connection breaks.
        """
        ...

    @property
    def ended(self) -> bool:
        """Whether both streams were read to their end."""
        ...

    @property
    def exit_status(self) -> int | None:
        """The exit status; None before the end, or if the host sent none."""
        ...

    def send(self, data: bytes, *, last: bool) -> None:
        """Send `data` to the stdin of a command opened with `keep_input`; the `last` closes it.

        Does not block: data that the command does not take now is sent during `read`, by the same thread.
        """
        ...

    def close(self) -> None:
        """Close the command's input and output. Safe to call twice, from any thread."""
        ...


class Session(Protocol):
    """A connection to one host. All methods may be called from several threads at once."""

    @property
    def host(self) -> str:
        """The host's name, as the user knows it."""
        ...

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout: float = 30.0, limit: int = LIMIT) -> Completed:
        """Run `argv` to its end and return what it printed. Each argument is quoted for the remote shell.

        Raises RemoteTimeoutError, OutputLimitError (the command is ended in both cases) or ConnectionLostError.
        """
        ...

    def open(self, argv: Sequence[str], *, stdin: bytes = b"", keep_input: bool = False) -> Channel:
        """Start `argv` and return its channel; `stdin` is sent, then closed unless `keep_input` (see `send`)."""
        ...

    def close(self) -> None:
        """End the session. Jobs on the host are not stopped. Safe to call twice."""
        ...
