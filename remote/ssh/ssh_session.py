"""Session over SSH: concurrent commands over one connection."""

import contextlib
import secrets
import threading
import time
import weakref
from collections.abc import Callable, Sequence

import paramiko
from paramiko.common import cMSG_CHANNEL_REQUEST

from remote.command_line import command_line, gates
from remote.errors import ConnectionLostError, OutputLimitError, RemoteError, RemoteTimeoutError, SessionLimitError
from remote.jobs.collect import collect
from remote.questions import plain
from remote.session import LIMIT, Channel, Chunk, Completed
from remote.ssh.transport import BoundedTransport, ChannelExit, ExcessError, SilentError

# A command over one channel of an SSH connection.


BLOCK = 256 * 1024
"""Bytes per read."""

INPUT_PAUSE = 0.02
"""Seconds between attempts to send input to a full window."""


class _DataEvent(threading.Event):
    """Event for data on either stream. paramiko clears it when one stream is empty, even if the other is not."""

    def clear(self) -> None:
        """Do nothing: only the reader resets the event."""

    def reset(self) -> None:
        """Clear the event."""
        super().clear()


class SshChannel:
    """A running command. Read by one thread at a time; `close` may be called from any."""

    def __init__(
        self,
        channel: paramiko.Channel,
        transport: BoundedTransport,
        *,
        host: str,
        stdin: bytes,
        marker: str,
        lost: Callable[[], ConnectionLostError],
        released: Callable[[], None],
        keep_input: bool = False,
    ) -> None:
        self._channel = channel
        self._transport = transport
        self._host = host
        self._stdin = memoryview(stdin)
        self._stdin_open = True
        self._more_input = keep_input
        self._gates = gates(marker)
        self._lost = lost
        self._released = released
        self._data = _DataEvent()
        self._reading = threading.Lock()
        self._releasing = threading.Lock()  # taken by the first release and never released
        self._closed = False
        self._ended = False
        self._exit_status: int | None = None
        channel.settimeout(0.0)
        channel.in_buffer.set_event(self._data)
        channel.in_stderr_buffer.set_event(self._data)

    def read(self, timeout: float) -> list[Chunk]:
        """Return what has arrived, waiting up to `timeout` seconds for the first byte; [] if none arrives.

        Raises ConnectionLostError if the connection breaks, and RemoteError if the login shell did not start the
        command.
        """
        deadline = time.monotonic() + timeout
        with self._reading:
            while not self.ended:
                self._data.reset()  # before reading: data that arrives afterwards sets it again
                chunks = self._take()
                if chunks or self._check_end():
                    return chunks
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    break
                self._data.wait(min(remaining, INPUT_PAUSE) if self._has_input else remaining)
            return []

    @property
    def _has_input(self) -> bool:
        """Whether input, or its end, is still to be sent."""
        return bool(self._stdin) or (self._stdin_open and not self._more_input)

    def _take(self) -> list[Chunk]:
        """Return the buffered output, and send input as far as the window allows."""
        try:
            self._send_input()
            pieces = [("stdout", self._channel.recv), ("stderr", self._channel.recv_stderr)]
            arrived = [(stream, self._received(receive)) for stream, receive in pieces]
        except (paramiko.SSHException, EOFError, OSError) as error:
            raise self._lost() from error
        passed = [Chunk(stream, self._gates[stream].feed(data)) for stream, data in arrived if data]
        return [chunk for chunk in passed if chunk.data]

    def _received(self, receive: Callable[[int], bytes]) -> bytes:
        try:
            return receive(BLOCK)
        except TimeoutError:  # no data
            return b""

    def _send_input(self) -> None:
        while self._stdin and not self._channel.closed:
            try:
                sent = self._channel.send(bytes(self._stdin[:BLOCK]))
            except TimeoutError:  # the host's window is full
                return
            if sent == 0:
                break
            self._stdin = self._stdin[sent:]
        if self._stdin_open and not self._more_input:
            self._stdin_open = False
            self._channel.shutdown_write()

    def _check_end(self) -> bool:
        """With no output left, return whether the command has ended; raise if its connection is lost."""
        channel = self._channel
        if channel.in_buffer.read_ready() or channel.in_stderr_buffer.read_ready():
            return False
        status = None if channel.exit_status < 0 else channel.exit_status
        over = channel in self._transport.endings or (bool(channel.eof_received) and status is not None)
        # Checked again: paramiko's thread may have buffered the last data after the first check, before the end.
        if over and not (channel.in_buffer.read_ready() or channel.in_stderr_buffer.read_ready()):
            self._finish(status)
            return True
        if not over and (channel.closed or not self._transport.is_active()) and not self._closed:
            raise self._lost()
        return False

    def _finish(self, status: int | None) -> None:
        refused = self._transport.endings.get(self._channel) is ChannelExit.REFUSED
        started = self._gates["stdout"].open and not refused
        if started:  # status first: another thread that sees `ended` may read it immediately
            self._exit_status = status
            self._ended = True
        self._release()
        if not started:
            raise self._not_started()

    def _not_started(self) -> RemoteError:
        noise = plain(self._gates["stderr"].noise or self._gates["stdout"].noise)
        output = f" It printed: “{noise}”." if noise else ""
        return RemoteError(
            f"The login shell of {self._host} did not start the command.{output}",
            "Check the account’s shell, its start-up files such as ~/.bashrc, and ForceCommand in the host’s "
            "sshd_config.",
            host=self._host,
        )

    @property
    def ended(self) -> bool:
        """Whether both streams were read to their end, or the channel was closed."""
        return self._ended or self._closed

    @property
    def exit_status(self) -> int | None:
        """The exit status; None before the end, or if the host sent none (a signal ended the command)."""
        return self._exit_status

    @property
    def process_group(self) -> int | None:
        """The PGID of the command on the host; None before its first output was read."""
        found = self._gates["stdout"].found
        return int(found) if found and int(found) > 1 else None  # kill(2): 0 is our own group, -1 all processes

    def send(self, data: bytes, *, last: bool) -> None:
        """Send `data` to the command's stdin, which ends with the `last`. Called by the reading thread."""
        self._stdin = memoryview(bytes(self._stdin) + data)
        self._more_input = not last
        try:
            self._send_input()
        except (paramiko.SSHException, EOFError, OSError) as error:
            raise self._lost() from error

    def start(self, command: str) -> None:
        """Request `command` without waiting for the reply: `read` raises if it is refused."""
        try:
            self._request("exec", command.encode("utf-8", "surrogateescape"), reply=True)
            self._send_input()
        except (paramiko.SSHException, EOFError, OSError) as error:
            raise self._lost() from error

    def _request(self, kind: str, value: bytes, *, reply: bool) -> None:
        message = paramiko.Message()
        message.add_byte(cMSG_CHANNEL_REQUEST)
        message.add_int(self._channel.remote_chanid)
        message.add_string(kind)
        message.add_boolean(reply)
        message.add_string(value)
        self._transport.send(message)

    def close(self) -> None:
        """Send SIGHUP and close the channel. Safe to call twice, from any thread.

        sshd delivers the signal for every user except root.
        """
        self._release(hang_up=True)

    def _release(self, *, hang_up: bool = False) -> None:
        if not self._releasing.acquire(blocking=False):
            return
        self._closed = True
        try:
            if hang_up and not self._channel.closed:
                self._request("signal", b"HUP", reply=False)
            self._channel.close()
        except (paramiko.SSHException, EOFError, OSError):
            pass  # the connection is closed, and the channel with it
        finally:
            self._data.set()
            self._released()


OPEN_TIMEOUT = 10.0
"""Timeout in seconds for opening a channel, including the wait for another to close."""

OPEN_PAUSE = 0.1
"""Seconds between two attempts to open a channel if the host allows no more (MaxSessions)."""


KILL = 'kill -s HUP -- "-$1" && sleep 1 && kill -s KILL -- "-$1"'
"""Script that ends a process group: SIGHUP, SIGKILL after 1 s. `kill -s NAME --` works in every POSIX shell."""

KILL_TIMEOUT = 2.0
"""Timeout in seconds for starting KILL, and again for its end."""


class SshSession:
    """Session on one host. `hops` are the connections to its jump hosts, nearest first."""

    def __init__(self, host: str, transport: BoundedTransport, hops: Sequence[BoundedTransport] = ()) -> None:
        self._host = host
        self._transport = transport
        self._hops = tuple(hops)
        self._closed = False
        self._channels: weakref.WeakSet[SshChannel] = weakref.WeakSet()
        self._open_channels = 0
        self._released = threading.Condition()
        self.channel_wait = OPEN_TIMEOUT

    @property
    def host(self) -> str:
        """The host's name, as the user knows it."""
        return self._host

    @property
    def silence(self) -> float:
        """Seconds since the last data from the host; a silent host gets a keepalive every few seconds."""
        return time.monotonic() - self._transport.bounded_packetizer.last_received

    @property
    def stalls_after(self) -> float:
        """Seconds of silence after which the connection is stalled: 8 with a keepalive after 5, 3 s for the reply."""
        return 1.6 * self._transport.bounded_packetizer.probe_after

    @property
    def broken(self) -> bool:
        """Whether the connection is known to be closed."""
        return not self._transport.is_active()

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout: float = 30.0, limit: int = LIMIT) -> Completed:
        """Run `argv` to its end and return what it printed. Each argument is quoted for the remote shell.

        Raises RemoteTimeoutError, OutputLimitError (the command is ended in both cases), ConnectionLostError, or
        RemoteError if the host does not run commands.
        """
        began = time.monotonic()
        channel = self._start(argv, stdin, min(timeout, OPEN_TIMEOUT))
        try:
            remaining = timeout - (time.monotonic() - began)
            return collect(channel, argv, host=self._host, timeout=remaining, limit=limit)
        except (RemoteTimeoutError, OutputLimitError):
            channel.close()
            self._end(channel.process_group)
            raise
        finally:
            channel.close()

    def _end(self, group: int | None) -> None:
        """End a closed command's process group, on a best-effort basis: sshd does not deliver root's signals."""
        if group is None:
            return
        with contextlib.suppress(RemoteError):
            channel = self._start(["sh", "-c", KILL, "sh", str(group)], b"", KILL_TIMEOUT)
            try:
                collect(channel, ["kill"], host=self._host, timeout=KILL_TIMEOUT, limit=LIMIT)
            finally:
                channel.close()

    def open(self, argv: Sequence[str], *, stdin: bytes = b"", keep_input: bool = False) -> Channel:
        """Start `argv` and return its channel; `stdin` is sent during `read`, then closed unless `keep_input`."""
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
        with self._released:  # `close` iterates over them under this lock
            self._channels.add(channel)
        try:
            channel.start(line)
        except RemoteError:
            channel.close()
            raise
        return channel

    def _open_channel(self, deadline: float) -> paramiko.Channel:
        """Open a channel; if the host allows no more, wait for another of this session to close."""
        began = time.monotonic()
        while True:
            try:
                channel = self._transport.open_session(timeout=max(0.1, deadline - time.monotonic()))
            except (paramiko.SSHException, EOFError, OSError) as error:
                with self._released:
                    # Without open channels, allow 1 s for the host to process their closing.
                    patience = min(deadline, began + (self.channel_wait if self._open_channels else 1.0))
                    if not self._transport.is_active():
                        raise self._lost() from error
                    if time.monotonic() >= patience:
                        raise self._no_channel(error) from error
                    self._released.wait(OPEN_PAUSE)
            else:
                with self._released:
                    self._open_channels += 1
                return channel

    def _release(self) -> None:
        with self._released:
            self._open_channels -= 1
            self._released.notify()

    def _no_channel(self, error: Exception) -> RemoteError:
        if not isinstance(error, paramiko.ChannelException):
            return RemoteTimeoutError(
                f"{self._host} did not start the command in time.",
                "Check whether the host is overloaded, then try again.",
                host=self._host,
            )
        return SessionLimitError(
            f"{self._host} opens no further session on this connection (MaxSessions).",
            "Raise MaxSessions in its sshd_config, or run fewer commands there at once.",
            host=self._host,
        )

    def _lost(self) -> ConnectionLostError:
        if self._closed:
            return ConnectionLostError(f"The session with {self._host} is closed.", host=self._host)
        return ConnectionLostError(
            f"The connection to {self._host} broke: {why_broken(self._transport)}.",
            "Check that the host is running and reachable. Data up to now is kept.",
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
    """Return the cause of a lost connection as text: `error`, or the transport's own."""
    cause = error or transport.cause
    if transport.disconnect_message:
        return f"the server sent “{transport.disconnect_message}”"
    if isinstance(cause, SilentError):
        return str(cause)
    if isinstance(cause, ExcessError):
        return f"protocol violation by the server ({cause})"
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror
    return "closed by the server" if cause is None or isinstance(cause, EOFError) else "protocol violation"
