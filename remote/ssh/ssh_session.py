"""A session on a host over SSH: many commands at once over one connection."""

import contextlib
import secrets
import threading
import time
import weakref
from collections.abc import Sequence

import paramiko

from remote.command_line import command_line
from remote.errors import ConnectionLostError, NoRoomError, OutputLimitError, RemoteError, RemoteTimeoutError
from remote.jobs.collect import collect
from remote.session import LIMIT, Channel, Completed
from remote.ssh.ssh_channel import SshChannel
from remote.ssh.transport import BoundedTransport, ExcessError, SilentError

OPEN_TIMEOUT = 10.0
"""Seconds a host may take to open one more channel, waiting for another to end included."""

OPEN_PAUSE = 0.1
"""Seconds between two attempts to open a channel where the host allows no more at once (MaxSessions)."""


KILL = 'kill -s HUP -- "-$1" && sleep 1 && kill -s KILL -- "-$1"'
"""A script that ends a process group: hung up on first, killed after a second. The words suit every POSIX shell."""

KILL_TIMEOUT = 2.0
"""Seconds that ending a command may take, twice: to start, and to be done."""


class SshSession:
    """Runs commands on one host. `hops` are the connections it goes through, the nearest first."""

    def __init__(self, host: str, transport: BoundedTransport, hops: Sequence[BoundedTransport] = ()) -> None:
        self._host = host
        self._transport = transport
        self._hops = tuple(hops)
        self._closed = False
        self._channels: weakref.WeakSet[SshChannel] = weakref.WeakSet()
        self._under_way = 0
        self._released = threading.Condition()
        self.waits_for_room = OPEN_TIMEOUT

    @property
    def host(self) -> str:
        """The host's name, as the user knows it."""
        return self._host

    @property
    def silence(self) -> float:
        """Seconds since anything was heard of the host; a quiet one is asked for a sign of life every few seconds."""
        return time.monotonic() - self._transport.bounded_packetizer.heard

    @property
    def stalls_after(self) -> float:
        """Seconds of silence after which something is wrong: 8, where a host is asked after 5 and has 3 to answer."""
        return 1.6 * self._transport.bounded_packetizer.probe_after

    @property
    def broken(self) -> bool:
        """Whether the connection is known to be gone."""
        return not self._transport.is_active()

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout: float = 30.0, limit: int = LIMIT) -> Completed:
        """Run `argv` to its end and return what it printed. Every word is quoted for the remote shell.

        Raises RemoteTimeoutError, OutputLimitError (the command is ended in both cases), ConnectionLostError, or
        RemoteError where the host does not run commands.
        """
        began = time.monotonic()
        channel = self._start(argv, stdin, min(timeout, OPEN_TIMEOUT))
        try:
            left = timeout - (time.monotonic() - began)
            return collect(channel, argv, host=self._host, timeout=left, limit=limit)
        except (RemoteTimeoutError, OutputLimitError):
            channel.close()
            self._end(channel.process_group)
            raise
        finally:
            channel.close()

    def _end(self, group: int | None) -> None:
        """Kill what a command left running when it was let go of, as well as that goes on a host in trouble."""
        if group is None:
            return
        with contextlib.suppress(RemoteError):
            channel = self._start(["sh", "-c", KILL, "sh", str(group)], b"", KILL_TIMEOUT)
            try:
                collect(channel, ["kill"], host=self._host, timeout=KILL_TIMEOUT, limit=LIMIT)
            finally:
                channel.close()

    def open(self, argv: Sequence[str], *, stdin: bytes = b"", keep_input: bool = False) -> Channel:
        """Start `argv` and return it under way; `stdin` is sent as the channel is read, then closed.

        With `keep_input` it stays open for `Channel.send`.
        """
        return self._start(argv, stdin, OPEN_TIMEOUT, keep_input=keep_input)

    def _start(self, argv: Sequence[str], stdin: bytes, timeout: float, *, keep_input: bool = False) -> SshChannel:
        marker = secrets.token_hex(16)
        line = command_line(argv, marker)
        opened = self._open_channel(time.monotonic() + timeout)
        channel = SshChannel(
            opened,
            self._transport,
            host=self._host,
            stdin=stdin,
            keep_input=keep_input,
            marker=marker,
            lost=self._lost,
            released=self._release,
        )
        with self._released:  # who closes the session goes through them
            self._channels.add(channel)
        try:
            channel.start(line)
        except RemoteError:
            channel.close()
            raise
        return channel

    def _open_channel(self, deadline: float) -> paramiko.Channel:
        """Open a channel; where the host allows no more of them, wait for one of ours to end."""
        began = time.monotonic()
        while True:
            try:
                channel = self._transport.open_session(timeout=max(0.1, deadline - time.monotonic()))
            except (paramiko.SSHException, EOFError, OSError) as error:
                with self._released:
                    # With none of ours to wait for, the host is only given the time to notice that they ended.
                    patience = min(deadline, began + (self.waits_for_room if self._under_way else 1.0))
                    if not self._transport.is_active():
                        raise self._lost() from error
                    if time.monotonic() >= patience:
                        raise self._no_channel(error) from error
                    self._released.wait(OPEN_PAUSE)
            else:
                with self._released:
                    self._under_way += 1
                return channel

    def _release(self) -> None:
        with self._released:
            self._under_way -= 1
            self._released.notify()

    def _no_channel(self, error: Exception) -> RemoteError:
        if not isinstance(error, paramiko.ChannelException):
            return RemoteTimeoutError(
                f"{self._host} did not start a command in time.",
                "Look whether the host is overloaded, then try again.",
                host=self._host,
            )
        return NoRoomError(
            f"{self._host} opens no further session on this connection.",
            "Raise MaxSessions in its sshd_config, or run fewer things there at once.",
            host=self._host,
        )

    def _lost(self) -> ConnectionLostError:
        if self._closed:
            return ConnectionLostError(f"The session with {self._host} was closed.", host=self._host)
        return ConnectionLostError(
            f"The connection to {self._host} broke: {why_broken(self._transport)}.",
            "Check that the host is up and reachable; what was measured so far is kept.",
            host=self._host,
        )

    def close(self) -> None:
        """End the session. Jobs on the host are not stopped. Safe to call twice."""
        self._closed = True
        for transport in (self._transport, *reversed(self._hops)):
            transport.end()
        with self._released:
            channels = list(self._channels)
        for channel in channels:
            channel.close()


def why_broken(transport: BoundedTransport, error: Exception | None = None) -> str:
    """Return in words what ended a connection: `error`, or what its own thread came upon."""
    cause = error or transport.cause
    if transport.farewell:
        return f"the other end said “{transport.farewell}”"
    if isinstance(cause, SilentError):
        return str(cause)
    if isinstance(cause, ExcessError):
        return f"the other end broke the protocol ({cause})"
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror
    return "the other end closed it" if cause is None or isinstance(cause, EOFError) else "the protocol was violated"
