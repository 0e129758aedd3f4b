"""Open a TCP connection to a host, within a time, with the options a measuring connection needs."""

import contextlib
import queue
import socket
import threading
import time

from remote.errors import ConnectError, Outcome
from remote.plain import plain
from remote.ssh.target_settings import ALIVE

_Addresses = list[tuple[socket.AddressFamily, socket.SocketKind, int, str, tuple[str, int] | tuple[str, int, int, int]]]

KEEPALIVE = {"TCP_KEEPIDLE": 15, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}
"""Seconds, seconds, and how many: the kernel's own watch over a connection that is idle."""


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

    Only addresses of `family` count. After `silence` seconds without an answer the kernel gives the connection up.
    Nagle's algorithm is off: with it a command takes 45 ms instead of 3. Raises ConnectError, in words about `host`.
    """
    place = f"{host_name} port {port}"
    addresses = _addresses(host_name, port, family, deadline, host)
    error: OSError | None = None
    for index, (kind_of_address, kind, protocol, _, address) in enumerate(addresses):
        left = deadline - time.monotonic()
        if left <= 0:
            break
        sock = socket.socket(kind_of_address, kind, protocol)
        try:
            sock.settimeout(left / (len(addresses) - index))
            sock.connect(address)
        except OSError as failure:
            sock.close()
            error = failure
        else:
            _set_options(sock, silence)
            return sock
    raise _failure(error, host, place)


def _addresses(host_name: str, port: int, family: socket.AddressFamily, deadline: float, host: str) -> _Addresses:
    """Look the name up in a thread of its own: the system's resolver knows no time-out of ours."""
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
            Outcome.TIMED_OUT,
            f"Looking up the name {host_name} took too long.",
            "Check this computer's network and name server, or give the host's address.",
            host=host,
        ) from None
    if isinstance(result, list) and result:
        return result
    reason = f" ({result.strerror})" if isinstance(result, OSError) and result.strerror else ""
    raise ConnectError(
        Outcome.NAME_NOT_FOUND,
        f"The name {host_name} of host {host} was not found{reason}.",
        "Check the spelling and HostName in ~/.ssh/config, or give the address.",
        host=host,
    )


def _set_options(sock: socket.socket, silence: float) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    options = {**KEEPALIVE, "TCP_USER_TIMEOUT": int(silence * 1000)}
    for name, value in options.items():
        number = getattr(socket, name, None)  # not every system has each
        if number is not None:
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.IPPROTO_TCP, number, value)


def _failure(error: OSError | None, host: str, place: str) -> ConnectError:
    if error is None or isinstance(error, TimeoutError):
        return ConnectError(
            Outcome.TIMED_OUT,
            f"{host} ({place}) did not answer in time.",
            "Check that the host is running and that no firewall or security group drops the connection.",
            host=host,
        )
    if isinstance(error, ConnectionRefusedError):
        return ConnectError(
            Outcome.REFUSED,
            f"{host} ({place}) refused the connection: nothing listens there.",
            "Check the port and that sshd is running on the host.",
            host=host,
        )
    return ConnectError(
        Outcome.UNREACHABLE,
        f"{host} ({place}) cannot be reached: {error.strerror}.",
        "Check the address and this computer's network.",
        host=host,
    )
