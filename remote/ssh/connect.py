"""Reach a host: through its jump hosts, with its key verified and the user let in, or with a clear reason why not."""

import contextlib
import random
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import paramiko

from remote.errors import ConnectError, Outcome
from remote.plain import plain
from remote.questions import Asker
from remote.session import Session
from remote.ssh.authentication import Authentication
from remote.ssh.dial import dial
from remote.ssh.host_key import HostKeys
from remote.ssh.local_program import ProxySocket, proxy_socket
from remote.ssh.ssh_session import SshSession, why_broken
from remote.ssh.target import Target
from remote.ssh.transport import BoundedTransport, ExcessError, SilentError

MOST_AT_ONCE = 16
"""Connections to one server that are being made at the same time: a hundred hosts may be behind one jump host, whose
sshd turns away three in ten from the eleventh on that is not let in yet, and all from the hundredth on. With half as
many, making a hundred takes a quarter longer. Source: sshd_config(5), MaxStartups 10:30:100."""

TURNED_AWAY = 4.0
FIRST_PAUSE = 0.2
"""Seconds for which a server that turns us away is tried again, and the first pause; each is twice the one before."""

_doors: defaultdict[tuple[str, int], threading.Semaphore] = defaultdict(partial(threading.Semaphore, MOST_AT_ONCE))
_choosing_a_door = threading.Lock()


class _TurnedAwayError(ConnectError):
    """The server has too many connections that are not let in yet."""


def _door(target: Target) -> threading.Semaphore:
    """Return what lets in a few at a time where `target` is."""
    with _choosing_a_door:
        return _doors[target.host_name, target.port]


def connect(target: Target, asker: Asker, *, known_hosts: Path | None = None) -> Session:
    """Return a session on `target`, each jump host on the way verified and authenticated like the host itself.

    `known_hosts` stands in for the files OpenSSH would read. `asker` is asked about unknown keys, for secrets, and
    before a ProxyCommand runs. Reaching a host and agreeing on keys takes at most its `connect_timeout`, not counting
    the time people take to answer, nor that for which others go first where MOST_AT_ONCE are on their way already.
    Raises ConnectError, its `outcome` saying how it failed; nothing stays open then.
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


def _via(target: Target, passed: int) -> str | None:
    """Return the name of the jump host through which the next one is reached."""
    return target.jumps[passed - 1].name if passed else None


@contextlib.contextmanager
def _named_as_jump(jump: Target, target: Target) -> Iterator[None]:
    """Say of a failure within this block that it happened at a jump host, and at which."""
    try:
        yield
    except ConnectError as error:
        if error.outcome is Outcome.CANCELLED:
            raise
        message = f"{target.name} is not reached: its jump host {jump.name} failed. {error.message}"
        raise ConnectError(Outcome.JUMP_FAILED, message, error.remedy, host=target.name) from error


def _open(
    target: Target, through: BoundedTransport | None, keys: HostKeys, asker: Asker, via: str | None
) -> BoundedTransport:
    """Return an authenticated connection to `target`, over TCP or through a jump host."""
    with _door(target):
        give_up, pause = time.monotonic() + TURNED_AWAY, FIRST_PAUSE
        while True:
            try:
                return _let_in(target, through, keys, asker, via)
            except _TurnedAwayError:
                if time.monotonic() + pause > give_up:
                    raise
            time.sleep(pause * random.uniform(0.75, 1.25))  # noqa: S311 (no secret)
            pause *= 2


def _let_in(
    target: Target, through: BoundedTransport | None, keys: HostKeys, asker: Asker, via: str | None
) -> BoundedTransport:
    sock, deadline = _way(target, through, asker, via)
    try:
        transport = BoundedTransport(sock)
    except BaseException:
        sock.close()
        raise
    try:
        _agree(transport, target, keys, deadline)
        keys.verify(transport, target, via)
        _authenticate(transport, target, asker)
    except BaseException:
        transport.end()
        raise
    return transport


def _way(
    target: Target, through: BoundedTransport | None, asker: Asker, via: str | None
) -> tuple[socket.socket | paramiko.Channel, float]:
    """Return what leads to the host, and until when it must have answered: the user's time to think does not count."""
    if through is None and target.proxy is not None:
        sock = proxy_socket(asker, target.proxy)
        return sock, time.monotonic() + target.connect_timeout
    deadline = time.monotonic() + target.connect_timeout
    if through is not None:
        return _tunnel(target, through, deadline, via or ""), deadline
    family, silence = target.family, target.alive.limit
    name = target.host_name
    return dial(name, target.port, deadline, host=target.name, family=family, silence=silence), deadline


def _tunnel(target: Target, through: BoundedTransport, deadline: float, via: str) -> paramiko.Channel:
    left = max(0.1, deadline - time.monotonic())
    through.refusal = ""
    try:
        return through.open_channel("direct-tcpip", (target.host_name, target.port), ("127.0.0.1", 0), timeout=left)
    except (paramiko.SSHException, EOFError, OSError) as error:
        raise _no_tunnel(target, through, via, error) from error


def _no_tunnel(target: Target, through: BoundedTransport, via: str, error: Exception) -> ConnectError:
    place = f"{target.host_name} port {target.port}"
    if isinstance(error, paramiko.ChannelException) and error.code == 1:
        return ConnectError(
            Outcome.JUMP_FAILED,
            f"{target.name} is not reached: its jump host {via} does not forward connections.",
            "Allow it there: AllowTcpForwarding in its sshd_config.",
            host=target.name,
        )
    if not isinstance(error, paramiko.ChannelException) and not through.is_active():
        return ConnectError(
            Outcome.JUMP_FAILED,
            f"{target.name} is not reached: the connection to its jump host {via} broke: {why_broken(through)}.",
            "Try again.",
            host=target.name,
        )
    reason = through.refusal or "it gave no reason"
    outcome = next((outcome for words, outcome in _REASONS if words in reason.lower()), Outcome.UNREACHABLE)
    return ConnectError(
        outcome if isinstance(error, paramiko.ChannelException) else Outcome.TIMED_OUT,
        f"{target.name} ({place}) is not reached from its jump host {via}: {reason}.",
        "Check the address as the jump host sees it, and that sshd is running there.",
        host=target.name,
    )


_REASONS = (
    ("refused", Outcome.REFUSED),
    ("timed out", Outcome.TIMED_OUT),
    ("not known", Outcome.NAME_NOT_FOUND),
    ("resol", Outcome.NAME_NOT_FOUND),
)
"""What sshd, or the C library there, says of a connection it could not make."""


def _agree(transport: BoundedTransport, target: Target, keys: HostKeys, deadline: float) -> None:
    """Exchange greetings and keys with the server before `deadline`."""
    left = max(0.1, deadline - time.monotonic())
    keys.prepare(transport, target)
    transport.banner_timeout = transport.handshake_timeout = left
    try:
        transport.start_client(timeout=left)
    except (paramiko.SSHException, EOFError, OSError) as error:
        raise _no_agreement(transport, target, error) from error
    if not transport.initial_kex_done:
        raise _no_agreement(transport, target, TimeoutError())


_TOO_MANY = "Exceeded MaxStartups"
_NOT_NOW = frozenset({_TOO_MANY, "Not allowed at this time"})
"""What sshd says in place of a greeting when it is too busy, or displeased with an address. Source: sshd.c."""


def _no_agreement(transport: BoundedTransport, target: Target, error: Exception) -> ConnectError:
    place = f"{target.name} ({target.host_name} port {target.port})"
    greeting = transport.bounded_packetizer.greeting
    is_ssh = any(line.startswith(b"SSH-") for line in greeting.split(b"\n"))
    cause = error.__context__ or error
    timed_out = isinstance(cause, TimeoutError) or transport.packetizer.handshake_timed_out()
    if isinstance(transport.sock, ProxySocket) and not greeting:
        return _no_proxy(target, transport.sock, timed_out=timed_out)
    said = plain(greeting.partition(b"\n")[0], 80)
    if said in _NOT_NOW:
        return (_TurnedAwayError if said == _TOO_MANY else ConnectError)(
            Outcome.REFUSED,
            f"{place} takes no further connection for now: “{said}”.",
            "Wait a minute, then try again; MaxStartups and PerSourcePenalties in its sshd_config set the limits.",
            host=target.name,
        )
    if isinstance(cause, ExcessError) or (greeting and not is_ssh):
        return ConnectError(
            Outcome.PROTOCOL,
            f"{place} answers, but not as an SSH server: “{said}”.",
            "Check the port.",
            host=target.name,
        )
    if timed_out:
        return ConnectError(
            Outcome.TIMED_OUT,
            f"{place} took the connection but did not answer in time.",
            "The host may be overloaded, or something else listens at that port.",
            host=target.name,
        )
    if isinstance(error, paramiko.ssh_exception.IncompatiblePeer):
        return _nothing_in_common(transport, target, place, str(error))
    return ConnectError(
        Outcome.PROTOCOL,
        f"{place} ended the connection before keys were agreed on: {why_broken(transport)}.",
        "Look at the host's sshd log; it may refuse this address or have too many connections.",
        host=target.name,
    )


_OFFERED = {
    "kex": ("key exchanges", "kex_algo_list", "preferred_kex", "KexAlgorithms"),
    "host key": ("host keys", "server_key_algo_list", "preferred_keys", "HostKeyAlgorithms"),
    "cipher": ("ciphers", "server_encrypt_algo_list", "preferred_ciphers", "Ciphers"),
    "mac": ("MACs", "server_mac_algo_list", "preferred_macs", "MACs"),
    "compression": ("compression", "server_compress_algo_list", "preferred_compression", "Compression"),
}
"""By a word of paramiko's complaint: what it is called, where the server's and our own are found, sshd's setting."""


def _nothing_in_common(transport: BoundedTransport, target: Target, place: str, complaint: str) -> ConnectError:
    """Say what a server offers where nothing of it is safe, or known, here."""
    what, theirs, ours, setting = next((said for word, said in _OFFERED.items() if word in complaint), _OFFERED["kex"])
    # Among the key exchanges a server also says what it can besides exchanging keys.
    offered = [name for name in transport.offered.get(theirs, []) if not name.startswith(("ext-info-", "kex-strict-"))]
    wanted = ", ".join(getattr(transport, ours)[:4])
    return ConnectError(
        Outcome.PROTOCOL,
        f"{place} offers only {what} that are not accepted here: {plain(', '.join(offered))}.",
        f"Update its sshd, or allow one of these in its {setting}: {wanted}. Weak algorithms stay off.",
        host=target.name,
    )


def _no_proxy(target: Target, sock: ProxySocket, *, timed_out: bool) -> ConnectError:
    program = target.proxy
    where = "" if program is None else f" ({program.path}, line {program.line}: {plain(program.command, 120)})"
    ending = sock.ending()
    how = "passed nothing on in time" if timed_out else "passed nothing on"
    return ConnectError(
        Outcome.TIMED_OUT if timed_out else Outcome.UNREACHABLE,
        f"{target.name} is not reached: its ProxyCommand{where} {how}{f'; {ending}' if ending else ''}.",
        "Run the command by hand: the host's greeting, SSH-2.0, must appear.",
        host=target.name,
    )


def _authenticate(transport: BoundedTransport, target: Target, asker: Asker) -> None:
    try:
        Authentication(transport, target, asker).run()
    except SilentError as error:
        raise ConnectError(
            Outcome.TIMED_OUT,
            f"{target.name} did not answer while {target.user} was being let in.",
            "The host may be overloaded: try again.",
            host=target.name,
        ) from error
    except (paramiko.SSHException, EOFError, OSError) as error:
        why = why_broken(transport, error if isinstance(error, ExcessError) else None)
        raise ConnectError(
            Outcome.PROTOCOL,
            f"The connection to {target.name} broke while {target.user} was being let in: {why}.",
            "Look at the host's sshd log.",
            host=target.name,
        ) from error
