"""A command under way on a host, over one channel of an SSH connection."""

import threading
import time
from collections.abc import Callable

import paramiko
from paramiko.common import cMSG_CHANNEL_REQUEST

from remote.command_line import gates
from remote.errors import ConnectionLostError, RemoteError
from remote.plain import plain
from remote.session import Chunk
from remote.ssh.transport import BoundedTransport, Ending

BLOCK = 256 * 1024
"""Bytes taken from a stream at once."""

INPUT_PAUSE = 0.02
"""Seconds between attempts to send more input to a command that is slow to take it."""


class _Bell(threading.Event):
    """Rings for data on either stream. paramiko stops it when one stream is empty, which says nothing of the other."""

    def clear(self) -> None:
        """Do nothing: only the reader stops the bell."""

    def stop(self) -> None:
        """Stop the bell."""
        super().clear()


class SshChannel:
    """One command. It is read by one thread at a time; `close` may be called from any."""

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
        self._bell = _Bell()
        self._reading = threading.Lock()
        self._releasing = threading.Lock()  # taken once, for good, by whoever lets go first
        self._let_go = False
        self._ended = False
        self._exit_status: int | None = None
        channel.settimeout(0.0)
        channel.in_buffer.set_event(self._bell)
        channel.in_stderr_buffer.set_event(self._bell)

    def read(self, timeout: float) -> list[Chunk]:
        """Return what has arrived, waiting up to `timeout` seconds for the first byte; [] if none came.

        Raises ConnectionLostError where the connection broke, and RemoteError where the host's login shell did not
        start the command: what it printed instead is not the command's.
        """
        deadline = time.monotonic() + timeout
        with self._reading:
            while not self.ended:
                self._bell.stop()
                chunks = self._take()
                if chunks or self._settle():
                    return chunks
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                self._bell.wait(min(left, INPUT_PAUSE) if self._has_input else left)
            return []

    @property
    def _has_input(self) -> bool:
        """Whether the host is still to be given input, or told that there is no more."""
        return bool(self._stdin) or (self._stdin_open and not self._more_input)

    def _take(self) -> list[Chunk]:
        """Return what is buffered, and pass on input where the host takes it."""
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
        except TimeoutError:  # nothing is there
            return b""

    def _send_input(self) -> None:
        while self._stdin and not self._channel.closed:
            try:
                sent = self._channel.send(self._stdin[:BLOCK])  # type: ignore[arg-type]  # any bytes will do
            except TimeoutError:  # the host's window is full
                return
            if sent == 0:
                break
            self._stdin = self._stdin[sent:]
        if self._stdin_open and not self._more_input:
            self._stdin_open = False
            self._channel.shutdown_write()

    def _settle(self) -> bool:
        """With nothing left to read, return whether the command is over; raise where its connection is."""
        channel = self._channel
        if channel.in_buffer.read_ready() or channel.in_stderr_buffer.read_ready():
            return False
        status = None if channel.exit_status < 0 else channel.exit_status
        over = channel in self._transport.endings or (bool(channel.eof_received) and status is not None)
        if over and not (channel.in_buffer.read_ready() or channel.in_stderr_buffer.read_ready()):
            self._finish(status)
            return True
        if not over and (channel.closed or not self._transport.is_active()) and not self._let_go:
            raise self._lost()
        return False

    def _finish(self, status: int | None) -> None:
        refused = self._transport.endings.get(self._channel) is Ending.REFUSED
        started = self._gates["stdout"].open and not refused
        if started:  # before anything else: who sees the end may ask for the status at once
            self._exit_status = status
            self._ended = True
        self._release()
        if not started:
            raise self._not_started()

    def _not_started(self) -> RemoteError:
        noise = plain(self._gates["stderr"].noise or self._gates["stdout"].noise)
        said = f" It printed: “{noise}”." if noise else ""
        return RemoteError(
            f"The login shell of {self._host} did not start the command.{said}",
            "Check that the account may run commands over SSH: its shell, what ~/.bashrc or the like runs, and "
            "ForceCommand in the host’s sshd_config.",
            host=self._host,
        )

    @property
    def ended(self) -> bool:
        """Whether both streams have ended and everything was read, or the command was let go of."""
        return self._ended or self._let_go

    @property
    def exit_status(self) -> int | None:
        """The exit status; None before the end, or where the host sent none (a signal ended the command)."""
        return self._exit_status

    @property
    def process_group(self) -> int | None:
        """The number of the command's process group on the host; None before anything of it was read."""
        found = self._gates["stdout"].found
        return int(found) if found and int(found) > 1 else None  # to kill, 0 and 1 stand for more than a group

    def send(self, data: bytes, *, last: bool) -> None:
        """Pass `data` on to the command's input, which ends with the `last`. Called by the thread that reads."""
        self._stdin = memoryview(bytes(self._stdin) + data)
        self._more_input = not last
        try:
            self._send_input()
        except (paramiko.SSHException, EOFError, OSError) as error:
            raise self._lost() from error

    def start(self, command: str) -> None:
        """Ask the host to run `command`, without waiting for its word: a refusal shows when the channel is read."""
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
        """Let go of the command: it is hung up on, and its input and output are closed.

        Safe to call twice, from any thread. sshd passes the signal on for every user but root.
        """
        self._release(hang_up=True)

    def _release(self, *, hang_up: bool = False) -> None:
        if not self._releasing.acquire(blocking=False):
            return
        self._let_go = True
        try:
            if hang_up and not self._channel.closed:
                self._request("signal", b"HUP", reply=False)
            self._channel.close()
        except (paramiko.SSHException, EOFError, OSError):
            pass  # the connection is gone, and the channel with it
        finally:
            self._bell.set()
            self._released()
