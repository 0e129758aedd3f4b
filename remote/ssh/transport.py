"""paramiko's transport with limits against hostile and silent servers."""

import contextlib
import logging
import socket
import time
import weakref
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

import paramiko
from paramiko.common import (
    MSG_CHANNEL_CLOSE,
    MSG_CHANNEL_DATA,
    MSG_CHANNEL_EXTENDED_DATA,
    MSG_CHANNEL_FAILURE,
    cMSG_GLOBAL_REQUEST,
)
from paramiko.packet import Packetizer

from remote.questions import plain
from remote.ssh.keys import SUFFIX
from remote.ssh.target import ALIVE, Keepalive

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

# Callers report paramiko's errors to the user, so its log output is dropped.
logging.getLogger("paramiko").addHandler(logging.NullHandler())

LARGEST_GREETING = 8 * 1024
"""Largest amount of data in bytes before the server's version. Source: OpenSSH."""

LARGEST_PACKET = 256 * 1024
"""Largest packet in bytes. Source: OpenSSH packet.h, PACKET_MAX_SIZE."""

POLLS = 10
"""Socket timeouts of a silent connection before a keepalive is sent; data and the end of the connection wake at once.

paramiko polls ten times a second, which is most of the CPU time of a hundred connections.
"""

MOST_EXTENSIONS = 64
"""Largest number of extensions in one message; OpenSSH sends five."""

SLOWEST = 1000.0
"""Slowest throughput in bytes/s; a packet may take that much longer than the silence limit."""

WINDOW_SLACK = 64 * 1024
"""Bytes by which a server may exceed the channel window: two packets."""

DISABLED_ALGORITHMS = {
    "kex": ["diffie-hellman-group-exchange-sha256"],  # the server may choose 1024 bits, and paramiko would take them
    "ciphers": ["3des-cbc", "aes128-cbc", "aes192-cbc", "aes256-cbc"],
    "macs": ["hmac-sha1", "hmac-sha1-96", "hmac-md5", "hmac-md5-96"],
    "keys": ["ssh-rsa", "ssh-dss"],
    "pubkeys": ["ssh-rsa", "ssh-dss"],
}
"""Algorithms disabled by default in OpenSSH or weak: 3DES, CBC, MD5, SHA-1."""


class SilentError(paramiko.SSHException):
    """The server was silent for too long."""


class ExcessError(paramiko.SSHException):
    """The server sent more than the protocol allows."""


class BoundedPacketizer(Packetizer):
    """Packetizer that fails on oversized packets and on silence."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__(sock)
        self.greeting = b""
        self.probe: Callable[[], None] | None = None
        self.probe_after = ALIVE.interval
        self.last_received = self.probed = time.monotonic()
        self.silence_limit: float | None = None
        self._wanted = 0
        self._writing = False

    def _read_timeout(self, timeout: float) -> bytes:
        """Read part of the greeting, the only part of the protocol that is read by lines."""
        # Missing in paramiko's type stubs.
        data: bytes = super()._read_timeout(timeout)  # type: ignore[misc]
        self.greeting += data
        if len(self.greeting) > LARGEST_GREETING:
            raise ExcessError("endless greeting")
        return data

    def read_all(self, n: int, check_rekey: bool = False) -> bytes:  # noqa: FBT001, FBT002 (paramiko's signature)
        """Read `n` bytes; raise ExcessError if the claimed packet size exceeds the limit."""
        if n > LARGEST_PACKET:
            raise ExcessError(f"packet of {n} bytes")
        self._wanted = n
        data = super().read_all(n, check_rekey)
        self.last_received = time.monotonic()
        return data

    def handshake_timed_out(self) -> bool:
        """Return whether the key exchange timed out; paramiko calls this before it reads each part of a packet.

        Raises SilentError if a packet arrives too slowly: paramiko itself never times out while single bytes arrive.
        """
        taken = time.monotonic() - self.last_received
        if self.silence_limit is not None and taken > self.silence_limit + self._wanted / SLOWEST:
            raise SilentError(f"no complete packet for {taken:.0f} s")
        timed_out: bool = super().handshake_timed_out()
        return timed_out

    def write_all(self, out: "ReadableBuffer") -> None:
        """Write `out` and set a flag meanwhile; paramiko's lock admits one thread at a time."""
        self._writing = True
        try:
            super().write_all(out)
        finally:
            self._writing = False

    def _check_keepalive(self) -> None:
        """Check for silence and send a keepalive; the reading thread calls this on a socket timeout.

        No keepalive is sent during a write: a dead peer may block the writer, and this thread would wait for its lock.
        """
        if self.silence_limit is None:
            return
        now = time.monotonic()
        if now - self.last_received > self.silence_limit:
            raise SilentError(f"no data for {now - self.last_received:.0f} s")
        if (
            self.probe is not None
            and not self._writing
            and now - max(self.last_received, self.probed) > self.probe_after
        ):
            self.probed = now
            self.probe()


Handler = Callable[[paramiko.Channel, paramiko.Message], None]


def _bounded(handle: Handler) -> Handler:
    """Wrap a channel's data handler so that it enforces the window.

    paramiko buffers all data: a server that ignores the window could exhaust memory.
    """

    def bounded(channel: paramiko.Channel, message: paramiko.Message) -> None:
        handle(channel, message)
        buffered = len(channel.in_buffer) + len(channel.in_stderr_buffer)
        if buffered > channel.in_window_size + WINDOW_SLACK:
            raise ExcessError(f"{buffered} bytes in a window of {channel.in_window_size}")

    return bounded


class ChannelExit(StrEnum):
    """How the server ended a channel. A channel closed without one was lost with its connection."""

    CLOSED = "closed"
    REFUSED = "refused"


def _recording(ending: ChannelExit, handle: Handler) -> Handler:
    """Wrap a channel's close or failure handler so that it first records the `ending`."""

    def noted(channel: paramiko.Channel, message: paramiko.Message) -> None:
        transport = channel.transport
        if isinstance(transport, BoundedTransport):
            transport.endings.setdefault(channel, ending)
        handle(channel, message)

    return noted


# paramiko's table of channel message handlers, meant to be overridden in subclasses.
_PARAMIKO_HANDLERS: dict[int, Handler] = paramiko.Transport._channel_handler_table  # type: ignore[attr-defined]  # noqa: SLF001


class BoundedTransport(paramiko.Transport):
    """One connection to a server, without weak algorithms."""

    _channel_handler_table: ClassVar[dict[int, Handler]] = {
        **_PARAMIKO_HANDLERS,
        MSG_CHANNEL_DATA: _bounded(_PARAMIKO_HANDLERS[MSG_CHANNEL_DATA]),
        MSG_CHANNEL_EXTENDED_DATA: _bounded(_PARAMIKO_HANDLERS[MSG_CHANNEL_EXTENDED_DATA]),
        MSG_CHANNEL_CLOSE: _recording(ChannelExit.CLOSED, _PARAMIKO_HANDLERS[MSG_CHANNEL_CLOSE]),
        MSG_CHANNEL_FAILURE: _recording(ChannelExit.REFUSED, _PARAMIKO_HANDLERS[MSG_CHANNEL_FAILURE]),
    }

    server_extensions: dict[str, bytes]  # missing in paramiko's type stubs

    def __init__(self, sock: socket.socket | paramiko.Channel) -> None:
        super().__init__(sock, disabled_algorithms=DISABLED_ALGORITHMS, packetizer_class=BoundedPacketizer)
        self.name = f"ssh-{id(self):x}"
        self.endings: weakref.WeakKeyDictionary[paramiko.Channel, ChannelExit] = weakref.WeakKeyDictionary()
        self._cause: BaseException | None = None
        self.disconnect_message = ""
        self.refusal = ""
        self.offered: dict[str, list[str]] = {}
        self.certificates = False

    @property
    def preferred_keys(self) -> tuple[str, ...]:
        """Host key algorithms to offer: certificates first, and only if a certificate authority is known."""
        plain_keys = tuple(self._filter_algorithm("keys"))  # type: ignore[attr-defined]
        return (*(f"{name}{SUFFIX}" for name in plain_keys if self.certificates), *plain_keys)

    @property
    def bounded_packetizer(self) -> BoundedPacketizer:
        """The packetizer with its own type."""
        packetizer = self.packetizer
        assert isinstance(packetizer, BoundedPacketizer)  # noqa: S101 (given to __init__ above)
        return packetizer

    def prefer_keys(self, types: list[str]) -> None:
        """Offer host key algorithms of these types first."""
        algorithms = {"ssh-rsa": ["rsa-sha2-512", "rsa-sha2-256"]}
        wanted = [name for kind in types for name in algorithms.get(kind, [kind])]
        options = self.get_security_options()
        known = [name for name in wanted if name in options.key_types]
        options.key_types = (*known, *(name for name in options.key_types if name not in known))

    def send(self, message: paramiko.Message) -> None:
        """Send a message, after a running key exchange."""
        self._send_user_message(message)  # type: ignore[attr-defined]

    def get_exception(self) -> Exception | None:
        """Return and clear the last error, as paramiko does, but keep the one that ended the connection."""
        error = super().get_exception()
        if error is not None and not isinstance(error, paramiko.ChannelException):
            self._cause = self._cause or error
        return error

    @property
    def cause(self) -> BaseException | None:
        """The error that ended the connection, or None."""
        self.get_exception()
        return self._cause

    def _parse_kex_init(self, message: paramiko.Message) -> None:
        """Keep the server's algorithms for error messages."""
        self.offered = self._really_parse_kex_init(message)  # type: ignore[attr-defined]
        message.rewind()
        super()._parse_kex_init(message)  # type: ignore[misc]

    def _parse_ext_info(self, message: paramiko.Message) -> None:
        """Parse the server's extensions with a limit on their number."""
        count = message.get_int()
        if count > MOST_EXTENSIONS:
            raise ExcessError(f"{count} extensions")
        message.rewind()
        super()._parse_ext_info(message)  # type: ignore[misc]

    def _parse_disconnect(self, message: paramiko.Message) -> None:
        """Keep the server's disconnect message."""
        message.get_int()
        self.disconnect_message = plain(message.get_string())

    def _parse_channel_open_failure(self, message: paramiko.Message) -> None:
        """Keep the server's reason for refusing a channel; paramiko only logs it."""
        message.get_int()
        message.get_int()
        self.refusal = plain(message.get_string())
        message.rewind()
        super()._parse_channel_open_failure(message)  # type: ignore[misc]

    def watch(self, alive: Keepalive = ALIVE) -> None:
        """Enable keepalives and the silence limit. If the connection has broken, its session reports it, not this."""
        packetizer = self.bounded_packetizer
        packetizer.last_received = packetizer.probed = time.monotonic()
        packetizer.probe, packetizer.probe_after = self._probe, alive.interval
        packetizer.silence_limit = alive.limit
        with contextlib.suppress(OSError):  # closed by the transport's thread
            self.sock.settimeout(min(1.0, max(0.02, alive.interval / POLLS)))

    def _probe(self) -> None:
        if not self.clear_to_send.is_set():
            return  # a key exchange is running and serves as a keepalive
        message = paramiko.Message()
        message.add_byte(cMSG_GLOBAL_REQUEST)
        message.add_string("keepalive@openssh.com")
        message.add_boolean(True)
        self._send_message(message)  # type: ignore[attr-defined]

    def end(self) -> None:
        """Close the connection and wait for its thread. Safe to call twice, from any thread."""
        with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
            self.sock.shutdown(socket.SHUT_RDWR)
        self.close()
        self.sock.close()
        with contextlib.suppress(RuntimeError):  # the thread was never started, or is the current one
            self.join(1.0)
        self.packetizer.complete_handshake()  # stops a timer that keeps running if no message ever arrived
