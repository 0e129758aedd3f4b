"""Connect to a host through its jump hosts, verify its key and authenticate the user."""

import contextlib
import queue
import random
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import paramiko

from remote.errors import ConnectError, ConnectOutcome
from remote.questions import Asker, plain
from remote.session import Session
from remote.ssh.authentication import Authentication
from remote.ssh.host_key import HostKeys
from remote.ssh.local_program import ProxySocket, proxy_socket
from remote.ssh.ssh_session import SshSession, why_broken
from remote.ssh.target import ALIVE, SshTarget
from remote.ssh.transport import BoundedTransport, ExcessError, SilentError

# TCP connections with a deadline and the socket options of a measuring connection.


_Addresses = list[tuple[socket.AddressFamily, socket.SocketKind, int, str, tuple[str, int] | tuple[str, int, int, int]]]

KEEPALIVE = {"TCP_KEEPIDLE": 15, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}
"""TCP keepalive: seconds, seconds, and count (tcp(7))."""


def dial(
    host_name: str,
    port: int,
    deadline: float,
    *,
    host: str,
    family: socket.AddressFamily = socket.AF_UNSPEC,
    silence: float = ALIVE.limit,
) -> socket.socket:
    """Return a connection to the first address of `host_name` that answers before `deadline` (monotonic seconds).

    Only addresses of `family` are tried. `silence` is TCP_USER_TIMEOUT in seconds. TCP_NODELAY is set: with Nagle's
    algorithm a command takes 45 ms instead of 3 ms. Raises ConnectError with messages about `host`.
    """
    endpoint = f"{host_name} port {port}"
    addresses = _addresses(host_name, port, family, deadline, host)
    error: OSError | None = None
    for index, (kind_of_address, kind, protocol, _, address) in enumerate(addresses):
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            break
        sock = socket.socket(kind_of_address, kind, protocol)
        try:
            sock.settimeout(remaining / (len(addresses) - index))
            sock.connect(address)
        except OSError as failure:
            sock.close()
            error = failure
        else:
            _set_options(sock, silence)
            return sock
    raise _failure(error, host, endpoint)


def _addresses(host_name: str, port: int, family: socket.AddressFamily, deadline: float, host: str) -> _Addresses:
    """Resolve the name in a separate thread, since getaddrinfo has no timeout."""
    results: queue.SimpleQueue[_Addresses | OSError | UnicodeError] = queue.SimpleQueue()

    def look_up() -> None:
        try:
            results.put(socket.getaddrinfo(host_name, port, family, socket.SOCK_STREAM))  # type: ignore[arg-type]
        except (OSError, UnicodeError) as error:
            results.put(error)

    threading.Thread(target=look_up, name=f"look-up-{plain(host_name, 40)}", daemon=True).start()
    try:
        result = results.get(timeout=max(0.0, deadline - time.monotonic()))
    except queue.Empty:
        raise ConnectError(
            ConnectOutcome.TIMED_OUT,
            f"Name lookup of {host_name} timed out.",
            "Check this computer's network and DNS server, or use the host's address.",
            host=host,
        ) from None
    if isinstance(result, list) and result:
        return result
    reason = f" ({result.strerror})" if isinstance(result, OSError) and result.strerror else ""
    named = host_name if host_name == host else f"{host_name} of host {host}"
    raise ConnectError(
        ConnectOutcome.NAME_NOT_FOUND,
        f"Host name {named} was not found{reason}.",
        "Check the spelling and HostName in ~/.ssh/config, or use the address.",
        host=host,
    )


def _set_options(sock: socket.socket, silence: float) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    options = {**KEEPALIVE, "TCP_USER_TIMEOUT": int(silence * 1000)}
    for name, value in options.items():
        number = getattr(socket, name, None)  # not defined on all systems
        if number is not None:
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.IPPROTO_TCP, number, value)


def _failure(error: OSError | None, host: str, endpoint: str) -> ConnectError:
    if error is None or isinstance(error, TimeoutError):
        return ConnectError(
            ConnectOutcome.TIMED_OUT,
            f"{host} ({endpoint}): connection timed out.",
            "Check that the host is running and that no firewall or security group drops the connection.",
            host=host,
        )
    if isinstance(error, ConnectionRefusedError):
        return ConnectError(
            ConnectOutcome.REFUSED,
            f"{host} ({endpoint}) refused the connection: no server listens on the port.",
            "Check the port and that sshd is running on the host.",
            host=host,
        )
    return ConnectError(
        ConnectOutcome.UNREACHABLE,
        f"{host} ({endpoint}) cannot be reached: {error.strerror}.",
        "Check the address and this computer's network.",
        host=host,
    )


MOST_AT_ONCE = 16
"""Concurrent connection attempts per server. A hundred hosts may be behind one jump host, whose sshd drops 30 % of the
unauthenticated connections beyond 10 and all beyond 100 (sshd_config(5), MaxStartups 10:30:100). With 8, connecting to
100 hosts takes a quarter longer."""

RETRY_TIME = 4.0
FIRST_PAUSE = 0.2
"""Seconds for which a connection dropped by MaxStartups is retried, and the first pause, which doubles each time."""

_attempts: defaultdict[tuple[str, int], threading.Semaphore] = defaultdict(partial(threading.Semaphore, MOST_AT_ONCE))
_attempts_lock = threading.Lock()


class _MaxStartupsError(ConnectError):
    """The server has too many unauthenticated connections."""


def _attempt_limit(target: SshTarget) -> threading.Semaphore:
    """Return the semaphore that limits concurrent attempts to the address of `target`."""
    with _attempts_lock:
        return _attempts[target.host_name, target.port]


def connect(target: SshTarget, asker: Asker, *, known_hosts: Path | None = None) -> Session:
    """Return a session on `target`; each jump host is verified and authenticated like the host itself.

    `known_hosts` replaces the files that OpenSSH reads. `asker` is asked about unknown keys, for secrets, and before a
    ProxyCommand runs. Connection and key exchange take at most the target's `connect_timeout`, without the time for
    answers and for waiting behind MOST_AT_ONCE other attempts. Raises ConnectError and closes everything on failure.
    """
    keys = HostKeys(asker, known_hosts)
    hops: list[BoundedTransport] = []
    with contextlib.ExitStack() as stack:
        for jump in target.jumps:
            with _named_as_jump(jump, target):
                hops.append(_open(jump, hops[-1] if hops else None, keys, asker, _via(target, len(hops))))
            stack.callback(hops[-1].end)
        transport = _open(target, hops[-1] if hops else None, keys, asker, _via(target, len(hops)))
        stack.pop_all()
    for each, passed in zip((*hops, transport), (*target.jumps, target), strict=True):
        each.watch(passed.alive)
    return SshSession(target.name, transport, hops)


def _via(target: SshTarget, passed: int) -> str | None:
    """Return the name of the jump host through which the next one is reached."""
    return target.jumps[passed - 1].name if passed else None


@contextlib.contextmanager
def _named_as_jump(jump: SshTarget, target: SshTarget) -> Iterator[None]:
    """Name the jump host in errors raised within this block."""
    try:
        yield
    except ConnectError as error:
        if error.outcome is ConnectOutcome.CANCELLED:
            raise
        message = f"{target.name}: connecting to jump host {jump.name} failed. {error.message}"
        raise ConnectError(ConnectOutcome.JUMP_FAILED, message, error.remedy, host=target.name) from error


def _open(
    target: SshTarget, through: BoundedTransport | None, keys: HostKeys, asker: Asker, via: str | None
) -> BoundedTransport:
    """Return an authenticated connection to `target`, over TCP or through a jump host."""
    with _attempt_limit(target):
        give_up, pause = time.monotonic() + RETRY_TIME, FIRST_PAUSE
        while True:
            try:
                return _attempt(target, through, keys, asker, via)
            except _MaxStartupsError:
                if time.monotonic() + pause > give_up:
                    raise
            time.sleep(pause * random.uniform(0.75, 1.25))  # noqa: S311 (no secret)
            pause *= 2


def _attempt(
    target: SshTarget, through: BoundedTransport | None, keys: HostKeys, asker: Asker, via: str | None
) -> BoundedTransport:
    sock, deadline = _socket(target, through, asker, via)
    try:
        transport = BoundedTransport(sock)
    except BaseException:
        sock.close()
        raise
    try:
        _exchange_keys(transport, target, keys, deadline)
        keys.verify(transport, target, via)
        _authenticate(transport, target, asker)
    except BaseException:
        transport.end()
        raise
    return transport


def _socket(
    target: SshTarget, through: BoundedTransport | None, asker: Asker, via: str | None
) -> tuple[socket.socket | paramiko.Channel, float]:
    """Return a socket or tunnel to the host, and the deadline of the key exchange, without the time for questions."""
    if through is None and target.proxy is not None:
        sock = proxy_socket(asker, target.proxy)
        return sock, time.monotonic() + target.connect_timeout
    deadline = time.monotonic() + target.connect_timeout
    if through is not None:
        return _tunnel(target, through, deadline, via or ""), deadline
    family, silence = target.family, target.alive.limit
    name = target.host_name
    return dial(name, target.port, deadline, host=target.name, family=family, silence=silence), deadline


def _tunnel(target: SshTarget, through: BoundedTransport, deadline: float, via: str) -> paramiko.Channel:
    timeout = max(0.1, deadline - time.monotonic())
    through.refusal = ""
    try:
        return through.open_channel("direct-tcpip", (target.host_name, target.port), ("127.0.0.1", 0), timeout=timeout)
    except (paramiko.SSHException, EOFError, OSError) as error:
        raise _no_tunnel(target, through, via, error) from error


def _no_tunnel(target: SshTarget, through: BoundedTransport, via: str, error: Exception) -> ConnectError:
    endpoint = f"{target.host_name} port {target.port}"
    if isinstance(error, paramiko.ChannelException) and error.code == 1:
        return ConnectError(
            ConnectOutcome.JUMP_FAILED,
            f"{target.name}: jump host {via} does not forward connections.",
            "Set AllowTcpForwarding yes in its sshd_config.",
            host=target.name,
        )
    if not isinstance(error, paramiko.ChannelException) and not through.is_active():
        return ConnectError(
            ConnectOutcome.JUMP_FAILED,
            f"{target.name}: the connection to jump host {via} broke: {why_broken(through)}.",
            "Try again.",
            host=target.name,
        )
    reason = through.refusal or "no reason reported"
    outcome = next((outcome for words, outcome in _REASONS if words in reason.lower()), ConnectOutcome.UNREACHABLE)
    return ConnectError(
        outcome if isinstance(error, paramiko.ChannelException) else ConnectOutcome.TIMED_OUT,
        f"{target.name} ({endpoint}) cannot be reached from jump host {via}: {reason}.",
        "Check that the jump host resolves the address, and that sshd is running there.",
        host=target.name,
    )


_REASONS = (
    ("refused", ConnectOutcome.REFUSED),
    ("timed out", ConnectOutcome.TIMED_OUT),
    ("not known", ConnectOutcome.NAME_NOT_FOUND),
    ("resol", ConnectOutcome.NAME_NOT_FOUND),
)
"""Parts of the messages of sshd and its C library for a failed connection."""


def _exchange_keys(transport: BoundedTransport, target: SshTarget, keys: HostKeys, deadline: float) -> None:
    """Exchange versions and keys with the server before `deadline`."""
    timeout = max(0.1, deadline - time.monotonic())
    keys.prepare(transport, target)
    transport.banner_timeout = transport.handshake_timeout = timeout
    try:
        transport.start_client(timeout=timeout)
    except (paramiko.SSHException, EOFError, OSError) as error:
        raise _no_key_exchange(transport, target, error) from error
    if not transport.initial_kex_done:
        raise _no_key_exchange(transport, target, TimeoutError())


_TOO_MANY = "Exceeded MaxStartups"
_DROPPED = frozenset({_TOO_MANY, "Not allowed at this time"})
"""Lines that sshd sends instead of its version for MaxStartups and PerSourcePenalties. Source: sshd.c."""


def _no_key_exchange(transport: BoundedTransport, target: SshTarget, error: Exception) -> ConnectError:
    endpoint = f"{target.name} ({target.host_name} port {target.port})"
    greeting = transport.bounded_packetizer.greeting
    is_ssh = any(line.startswith(b"SSH-") for line in greeting.split(b"\n"))
    cause = error.__context__ or error
    timed_out = isinstance(cause, TimeoutError) or transport.packetizer.handshake_timed_out()
    if isinstance(transport.sock, ProxySocket) and not greeting:
        return _no_proxy(target, transport.sock, timed_out=timed_out)
    line = plain(greeting.partition(b"\n")[0], 80)
    if line in _DROPPED:
        return (_MaxStartupsError if line == _TOO_MANY else ConnectError)(
            ConnectOutcome.REFUSED,
            f"{endpoint} dropped the connection: “{line}”.",
            "Wait a minute, then try again, or raise MaxStartups or PerSourcePenalties in its sshd_config.",
            host=target.name,
        )
    if isinstance(cause, ExcessError) or (greeting and not is_ssh):
        return ConnectError(
            ConnectOutcome.PROTOCOL,
            f"{endpoint} is not an SSH server. It sent: “{line}”.",
            "Check the port.",
            host=target.name,
        )
    if timed_out:
        return ConnectError(
            ConnectOutcome.TIMED_OUT,
            f"{endpoint} accepted the connection but did not answer in time.",
            "Check whether the host is overloaded, and that sshd listens on that port.",
            host=target.name,
        )
    if isinstance(error, paramiko.ssh_exception.IncompatiblePeer):
        return _no_common_algorithm(transport, target, endpoint, str(error))
    return ConnectError(
        ConnectOutcome.PROTOCOL,
        f"{endpoint} closed the connection during the key exchange: {why_broken(transport)}.",
        "Check the host's sshd log: it may refuse this address or have too many connections.",
        host=target.name,
    )


_OFFERED = {
    "kex": ("key exchanges", "kex_algo_list", "preferred_kex", "KexAlgorithms"),
    "host key": ("host keys", "server_key_algo_list", "preferred_keys", "HostKeyAlgorithms"),
    "cipher": ("ciphers", "server_encrypt_algo_list", "preferred_ciphers", "Ciphers"),
    "mac": ("MACs", "server_mac_algo_list", "preferred_macs", "MACs"),
    "compression": ("compression", "server_compress_algo_list", "preferred_compression", "Compression"),
}
"""By part of paramiko's message: title, attribute of the server's list, attribute of the client's, sshd's setting."""


def _no_common_algorithm(transport: BoundedTransport, target: SshTarget, endpoint: str, message: str) -> ConnectError:
    """Return the error for a server that offers no supported algorithm."""
    row = next((row for part, row in _OFFERED.items() if part in message), _OFFERED["kex"])
    title, server, client, setting = row
    # The list of key exchanges also contains extension markers.
    offered = [name for name in transport.offered.get(server, []) if not name.startswith(("ext-info-", "kex-strict-"))]
    supported = ", ".join(getattr(transport, client)[:4])
    return ConnectError(
        ConnectOutcome.PROTOCOL,
        f"{endpoint} offers only unsupported {title}: {plain(', '.join(offered))}.",
        f"Update its sshd, or allow one of these in its {setting}: {supported}.",
        host=target.name,
    )


def _no_proxy(target: SshTarget, sock: ProxySocket, *, timed_out: bool) -> ConnectError:
    program = target.proxy
    source = "" if program is None else f" ({program.path}, line {program.line}: {plain(program.command, 120)})"
    ending = sock.ending()
    failure = "sent no data in time" if timed_out else "sent no data"
    return ConnectError(
        ConnectOutcome.TIMED_OUT if timed_out else ConnectOutcome.UNREACHABLE,
        f"{target.name}: ProxyCommand{source} {failure}{f'; {ending}' if ending else ''}.",
        "Run the command by hand: it must print the server's version, SSH-2.0.",
        host=target.name,
    )


def _authenticate(transport: BoundedTransport, target: SshTarget, asker: Asker) -> None:
    try:
        Authentication(transport, target, asker).run()
    except SilentError as error:
        raise ConnectError(
            ConnectOutcome.TIMED_OUT,
            f"{target.name} did not answer during the authentication of {target.user}.",
            "Check whether the host is overloaded, then try again.",
            host=target.name,
        ) from error
    except (paramiko.SSHException, EOFError, OSError) as error:
        reason = why_broken(transport, error if isinstance(error, ExcessError) else None)
        raise ConnectError(
            ConnectOutcome.PROTOCOL,
            f"The connection to {target.name} broke during the authentication of {target.user}: {reason}.",
            "Check the host's sshd log.",
            host=target.name,
        ) from error
