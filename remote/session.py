"""A session: commands run on a host, over SSH or here, with the same words for both."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

LIMIT = 8 * 2**20
"""Bytes a command may print before it is stopped, unless the caller allows another amount."""


@dataclass(frozen=True, slots=True)
class Completed:
    """How a command ended. `exit_status` is None where the host sent none: that is never success."""

    stdout: bytes
    stderr: bytes
    exit_status: int | None


@dataclass(frozen=True, slots=True)
class Chunk:
    """Bytes that arrived on one stream, "stdout" or "stderr"."""

    stream: str
    data: bytes


class Channel(Protocol):
    """A command under way, read as it prints."""

    def read(self, timeout: float) -> list[Chunk]:
        """Return what has arrived, waiting up to `timeout` seconds for the first byte; [] if none came.

        After the last byte `ended` is true. Raises ConnectionLostError where the connection broke.
        """
        ...

    @property
    def ended(self) -> bool:
        """Whether both streams have ended and everything was read."""
        ...

    @property
    def exit_status(self) -> int | None:
        """The exit status; None before the end, or where the host sent none."""
        ...

    def send(self, data: bytes, *, last: bool) -> None:
        """Pass `data` on to the command's input, which ends with the `last`; for one opened with `keep_input`.

        Nothing waits here: what the command does not take at once is passed on while it is read, by the same thread.
        """
        ...

    def close(self) -> None:
        """Let go of the command: its input and output are closed. Safe to call twice, from any thread."""
        ...


class Session(Protocol):
    """A connection to one host. All methods may be called from several threads at once."""

    @property
    def host(self) -> str:
        """The host's name, as the user knows it."""
        ...

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout: float = 30.0, limit: int = LIMIT) -> Completed:
        """Run `argv` to its end and return what it printed. Every word is quoted for the remote shell.

        Raises RemoteTimeoutError, OutputLimitError (the command is ended in both cases) or ConnectionLostError.
        """
        ...

    def open(self, argv: Sequence[str], *, stdin: bytes = b"", keep_input: bool = False) -> Channel:
        """Start `argv` and return it under way; `stdin` is sent, then closed unless `keep_input`: `send` goes on."""
        ...

    def close(self) -> None:
        """End the session. Jobs on the host are not stopped. Safe to call twice."""
        ...
