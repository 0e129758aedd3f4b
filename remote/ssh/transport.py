"""paramiko's transport with the limits it lacks: a hostile or silent peer costs neither memory nor patience."""

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

from remote.plain import plain
from remote.ssh.certificate import SUFFIX
from remote.ssh.target_settings import ALIVE, Alive

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

# What paramiko reports is reported again, in words for people, by whoever called it.
logging.getLogger("paramiko").addHandler(logging.NullHandler())

LARGEST_GREETING = 8 * 1024
"""Bytes a server may send before it says which SSH it speaks. Source: OpenSSH, which reads as many."""

LARGEST_PACKET = 256 * 1024
"""Bytes in one packet. Source: OpenSSH packet.h, PACKET_MAX_SIZE."""

LOOKS = 10
"""Looks at a silent connection before it is asked for a sign of life; what arrives, or its end, wakes at once.

paramiko looks ten times a second; at a hundred hosts that is most of what they take of the processor.
"""

MOST_EXTENSIONS = 64
"""Extensions a server may announce at once; OpenSSH knows five."""

SLOWEST = 1000.0
"""Bytes a second that a connection must carry: a packet takes that long beyond the silence that is allowed."""

WINDOW_SLACK = 64 * 1024
"""Bytes a peer may overrun its window before it counts as hostile: two packets."""

DISABLED_ALGORITHMS = {
    "kex": ["diffie-hellman-group-exchange-sha256"],  # the server may choose 1024 bits, and paramiko would take them
    "ciphers": ["3des-cbc", "aes128-cbc", "aes192-cbc", "aes256-cbc"],
    "macs": ["hmac-sha1", "hmac-sha1-96", "hmac-md5", "hmac-md5-96"],
    "keys": ["ssh-rsa", "ssh-dss"],
    "pubkeys": ["ssh-rsa", "ssh-dss"],
}
"""What OpenSSH itself no longer offers, or only with weaknesses: 3DES, CBC, MD5, SHA-1."""


class SilentError(paramiko.SSHException):
    """The other end said nothing for too long."""


class ExcessError(paramiko.SSHException):
    """The other end sent more than the protocol lets it."""


class BoundedPacketizer(Packetizer):
    """Reads packets, and gives up on a peer that sends too much at once or nothing at all."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__(sock)
        self.greeting = b""
        self.probe: Callable[[], None] | None = None
        self.probe_after = ALIVE.ask_after
        self.heard = self.probed = time.monotonic()
        self.silence_limit: float | None = None
        self._wanted = 0
        self._writing = False

    def _read_timeout(self, timeout: float) -> bytes:
        """Read some of the greeting, the only part of the protocol that is read by lines."""
        # paramiko's own, which its type stubs leave out.
        data: bytes = super()._read_timeout(timeout)  # type: ignore[misc]
        self.greeting += data
        if len(self.greeting) > LARGEST_GREETING:
            raise ExcessError("endless greeting")
        return data

    def read_all(self, n: int, check_rekey: bool = False) -> bytes:  # noqa: FBT001, FBT002 (paramiko's signature)
        """Read `n` bytes; raise ExcessError where a peer claims that a packet is larger than any may be."""
        if n > LARGEST_PACKET:
            raise ExcessError(f"packet of {n} bytes")
        self._wanted = n
        data = super().read_all(n, check_rekey)
        self.heard = time.monotonic()
        return data

    def handshake_timed_out(self) -> bool:
        """Return whether it took too long to agree on keys: asked before each part of a packet is read.

        Raises SilentError where the parts arrive so slowly that the packet does not come to its end: paramiko never
        calls a peer silent that sends a byte now and then.
        """
        taken = time.monotonic() - self.heard
        if self.silence_limit is not None and taken > self.silence_limit + self._wanted / SLOWEST:
            raise SilentError(f"no whole packet for {taken:.0f} s")
        timed_out: bool = super().handshake_timed_out()
        return timed_out

    def write_all(self, out: "ReadableBuffer") -> None:
        """Write `out`, and be seen to do so: only one thread at a time gets here."""
        self._writing = True
        try:
            super().write_all(out)
        finally:
            self._writing = False

    def _check_keepalive(self) -> None:
        """Look how long the peer has been silent: called by the reading thread in silence.

        While somebody writes, no probe is sent: this thread must not wait for one that a dead peer keeps waiting.
        """
        if self.silence_limit is None:
            return
        now = time.monotonic()
        if now - self.heard > self.silence_limit:
            raise SilentError(f"nothing heard for {now - self.heard:.0f} s")
        if self.probe is not None and not self._writing and now - max(self.heard, self.probed) > self.probe_after:
            self.probed = now
            self.probe()


Handler = Callable[[paramiko.Channel, paramiko.Message], None]


def _bounded(handle: Handler) -> Handler:
    """Return `handle`, a channel's handler of arriving data, made to enforce the window that the peer was given.

    paramiko buffers whatever arrives: a peer that ignores its window could fill the memory.
    """

    def bounded(channel: paramiko.Channel, message: paramiko.Message) -> None:
        handle(channel, message)
        held = len(channel.in_buffer) + len(channel.in_stderr_buffer)
        if held > channel.in_window_size + WINDOW_SLACK:
            raise ExcessError(f"{held} bytes in a window of {channel.in_window_size}")

    return bounded


class Ending(StrEnum):
    """How the other end let go of a channel. A channel that is closed without one was lost with its connection."""

    CLOSED = "closed"
    REFUSED = "refused"


def _noted(ending: Ending, handle: Handler) -> Handler:
    """Return `handle`, a channel's handler of its end, made to note first how it ended."""

    def noted(channel: paramiko.Channel, message: paramiko.Message) -> None:
        transport = channel.transport
        if isinstance(transport, BoundedTransport):
            transport.endings.setdefault(channel, ending)
        handle(channel, message)

    return noted


# paramiko keeps what it does with a channel's messages in this table of its Transport, for subclasses to change.
_PARAMIKO_HANDLERS: dict[int, Handler] = paramiko.Transport._channel_handler_table  # type: ignore[attr-defined]  # noqa: SLF001


class BoundedTransport(paramiko.Transport):
    """One connection to a server, with only the algorithms that are still sound."""

    _channel_handler_table: ClassVar[dict[int, Handler]] = {
        **_PARAMIKO_HANDLERS,
        MSG_CHANNEL_DATA: _bounded(_PARAMIKO_HANDLERS[MSG_CHANNEL_DATA]),
        MSG_CHANNEL_EXTENDED_DATA: _bounded(_PARAMIKO_HANDLERS[MSG_CHANNEL_EXTENDED_DATA]),
        MSG_CHANNEL_CLOSE: _noted(Ending.CLOSED, _PARAMIKO_HANDLERS[MSG_CHANNEL_CLOSE]),
        MSG_CHANNEL_FAILURE: _noted(Ending.REFUSED, _PARAMIKO_HANDLERS[MSG_CHANNEL_FAILURE]),
    }

    server_extensions: dict[str, bytes]  # missing in paramiko's type stubs

    def __init__(self, sock: socket.socket | paramiko.Channel) -> None:
        super().__init__(sock, disabled_algorithms=DISABLED_ALGORITHMS, packetizer_class=BoundedPacketizer)
        self.name = f"ssh-{id(self):x}"
        self.endings: weakref.WeakKeyDictionary[paramiko.Channel, Ending] = weakref.WeakKeyDictionary()
        self._cause: BaseException | None = None
        self.farewell = ""
        self.refusal = ""
        self.offered: dict[str, list[str]] = {}
        self.certificates = False

    @property
    def preferred_keys(self) -> tuple[str, ...]:
        """The host key algorithms to ask for: certificates come first, and only where an authority is known."""
        plain_keys = tuple(self._filter_algorithm("keys"))  # type: ignore[attr-defined]
        return (*(f"{name}{SUFFIX}" for name in plain_keys if self.certificates), *plain_keys)

    @property
    def bounded_packetizer(self) -> BoundedPacketizer:
        """The packetizer, as what it is."""
        packetizer = self.packetizer
        assert isinstance(packetizer, BoundedPacketizer)  # noqa: S101 (given to __init__ above)
        return packetizer

    def prefer_keys(self, types: list[str]) -> None:
        """Ask for host keys of these types first."""
        algorithms = {"ssh-rsa": ["rsa-sha2-512", "rsa-sha2-256"]}
        wanted = [name for kind in types for name in algorithms.get(kind, [kind])]
        options = self.get_security_options()
        known = [name for name in wanted if name in options.key_types]
        options.key_types = (*known, *(name for name in options.key_types if name not in known))

    def send(self, message: paramiko.Message) -> None:
        """Send a message, after the exchange of keys if one is under way."""
        self._send_user_message(message)  # type: ignore[attr-defined]

    def get_exception(self) -> Exception | None:
        """Hand out what went wrong, as paramiko does, and remember what ended the connection."""
        error = super().get_exception()
        if error is not None and not isinstance(error, paramiko.ChannelException):
            self._cause = self._cause or error
        return error

    @property
    def cause(self) -> BaseException | None:
        """What ended the connection, or None where nothing is known to have."""
        self.get_exception()
        return self._cause

    def _parse_kex_init(self, message: paramiko.Message) -> None:
        """Keep what the server offers, to say it where nothing of it can be used."""
        self.offered = self._really_parse_kex_init(message)  # type: ignore[attr-defined]
        message.rewind()
        super()._parse_kex_init(message)  # type: ignore[misc]

    def _parse_ext_info(self, message: paramiko.Message) -> None:
        """Take the server's extensions, unless it claims more than it could send."""
        count = message.get_int()
        if count > MOST_EXTENSIONS:
            raise ExcessError(f"{count} extensions")
        message.rewind()
        super()._parse_ext_info(message)  # type: ignore[misc]

    def _parse_disconnect(self, message: paramiko.Message) -> None:
        """Keep what the server says as it leaves."""
        message.get_int()
        self.farewell = plain(message.get_string())

    def _parse_channel_open_failure(self, message: paramiko.Message) -> None:
        """Keep the server's own words on why it opens no channel; paramiko only logs them."""
        message.get_int()
        message.get_int()
        self.refusal = plain(message.get_string())
        message.rewind()
        super()._parse_channel_open_failure(message)  # type: ignore[misc]

    def watch(self, alive: Alive = ALIVE) -> None:
        """From now on, find out by asking whether the other end is still there."""
        packetizer = self.bounded_packetizer
        packetizer.heard = packetizer.probed = time.monotonic()
        packetizer.probe, packetizer.probe_after = self._probe, alive.ask_after
        packetizer.silence_limit = alive.limit
        self.sock.settimeout(min(1.0, max(0.02, alive.ask_after / LOOKS)))

    def _probe(self) -> None:
        if not self.clear_to_send.is_set():
            return  # keys are being exchanged: that is a question, too
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
        with contextlib.suppress(RuntimeError):  # it never started, or it is this very thread
            self.join(1.0)
        self.packetizer.complete_handshake()  # stops a timer that otherwise runs on where no message ever came
