"""A real sshd is reached, and every way in which a host may not be reached is told apart, with a remedy."""

import contextlib
import re
import shlex
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from app.cli.prompts import TerminalAsker
from app.hosts.credentials import CredentialCache, RememberingAsker
from remote.errors import ConnectError, ConnectOutcome
from remote.questions import Asker, RefusingAsker
from remote.ssh.connect import connect
from remote.ssh.known_hosts import host_pattern
from remote.ssh.target import SshTarget, resolve
from remote.ssh.transport import BoundedTransport
from tests.lab_sshd import AnsweringAsker, LabHost, free_port


def refusal(target: SshTarget, known_hosts: Path, asker: Asker | None = None) -> ConnectError:
    """Return why `target` is not reached; whoever connects must leave no thread behind, which conftest.py checks."""
    with pytest.raises(ConnectError) as caught:
        connect(target, asker or AnsweringAsker(), known_hosts=known_hosts)
    assert caught.value.host == target.name
    assert caught.value.remedy
    return caught.value


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    began = time.monotonic()
    yield
    assert time.monotonic() - began < seconds


def test_many_at_once_are_all_let_in_by_a_server_that_takes_few_at_a_time(
    start_lab_host: Callable[..., LabHost], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remote.ssh.connect.RETRY_TIME", 30.0)  # however busy this computer is
    host = start_lab_host(MaxStartups="10")
    with ThreadPoolExecutor(24) as pool:
        for session in pool.map(lambda _: host.connect(), range(24)):
            session.close()


def test_a_command_runs_on_the_host(lab_host: LabHost) -> None:
    session = lab_host.connect()
    try:
        done = session.run(["sh", "-c", "echo out; echo err >&2; exit 7"])
    finally:
        session.close()
    assert (done.stdout, done.stderr, done.exit_status) == (b"out\n", b"err\n", 7)
    assert session.host == "lab"


def test_the_user_s_own_files_are_used_where_nothing_else_is_said(lab_host: LabHost) -> None:
    lab_host.add_to_home()
    connect(resolve("lab"), RefusingAsker()).close()


def test_the_socket_does_not_wait_to_fill_packets_and_is_watched(lab_host: LabHost) -> None:
    session = lab_host.connect()
    try:
        sock = session._transport.sock  # type: ignore[attr-defined]  # there is no other way to see it
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
    finally:
        session.close()


# The host's key
def test_an_unknown_key_is_shown_and_once_accepted_is_known(lab_host: LabHost) -> None:
    known_hosts = lab_host.directory / "new" / "known_hosts"
    asker = AnsweringAsker(accept_host_key=True)
    connect(lab_host.target(), asker, known_hosts=known_hosts).close()
    (question,) = asker.host_key_questions
    assert (question.host, question.address, question.port) == ("lab", "127.0.0.1", lab_host.port)
    assert (question.fingerprint, question.key_type) == (lab_host.fingerprint, "ssh-ed25519")
    assert (question.known_hosts, question.via) == (str(known_hosts), None)
    assert known_hosts.read_text() == lab_host.known_hosts_line

    connect(lab_host.target(), RefusingAsker(), known_hosts=known_hosts).close()


def test_a_key_that_is_not_the_expected_one_is_shown_beside_it(lab_host: LabHost) -> None:
    known_hosts = lab_host.directory / "unexpected"
    expected = f"SHA256:{'A' * 43}"
    asker = RememberingAsker(TerminalAsker(expected), CredentialCache())
    error = refusal(lab_host.target(), known_hosts, asker)
    assert error.outcome is ConnectOutcome.KEY_UNKNOWN
    assert f"the host sent {lab_host.fingerprint}" in error.message
    assert f"the given fingerprint is {expected}" in error.message
    assert "man-in-the-middle" in error.message
    assert "Accept" not in error.remedy
    assert not known_hosts.exists()
    connect(lab_host.target(), TerminalAsker(lab_host.fingerprint), known_hosts=known_hosts).close()


def test_an_unknown_key_that_is_not_accepted_is_not_written_down(lab_host: LabHost) -> None:
    known_hosts = lab_host.directory / "none"
    asker = AnsweringAsker(accept_host_key=False)
    error = refusal(lab_host.target(), known_hosts, asker)
    assert error.outcome is ConnectOutcome.KEY_UNKNOWN
    assert lab_host.fingerprint in error.message
    assert not known_hosts.exists()
    assert asker.secret_questions == []


def test_a_changed_key_is_refused_without_a_question(lab_host: LabHost) -> None:
    lab_host.restart(host_key=lab_host.keys.other_host)
    asker = AnsweringAsker(accept_host_key=True, secrets=["never"])
    error = refusal(lab_host.target(), lab_host.known_hosts, asker)
    assert error.outcome is ConnectOutcome.KEY_CHANGED
    assert f"{lab_host.known_hosts}, line 1" in error.message
    assert lab_host.fingerprint in error.message
    assert "cloud address" in error.message
    name = host_pattern("127.0.0.1", lab_host.port)
    command = error.remedy.partition(": ")[2]
    assert shlex.split(command) == ["ssh-keygen", "-R", name, "-f", str(lab_host.known_hosts)]
    subprocess.run(["sh", "-c", command], check=True, capture_output=True)  # the remedy, to the letter
    assert asker.host_key_questions == []


def test_a_revoked_key_is_refused(lab_host: LabHost) -> None:
    public = lab_host.known_hosts_line.split(" ", 1)[1]
    with lab_host.known_hosts.open("a") as file:
        file.write(f"@revoked * {public}")
    error = refusal(lab_host.target(), lab_host.known_hosts, AnsweringAsker(accept_host_key=True))
    assert error.outcome is ConnectOutcome.KEY_REVOKED
    assert f"{lab_host.known_hosts}, line 2" in error.message


# The network
def test_a_name_that_is_not_found(lab_host: LabHost) -> None:
    for name in ("no-such-host.invalid", "a" * 64 + ".invalid"):
        error = refusal(SshTarget("lab", name), lab_host.known_hosts)
        assert error.outcome is ConnectOutcome.NAME_NOT_FOUND
        assert name in error.message
    assert refusal(SshTarget(name, name), lab_host.known_hosts).message.count(name) == 1


def test_a_port_where_nothing_listens(lab_host: LabHost) -> None:
    error = refusal(replace(lab_host.target(), port=free_port()), lab_host.known_hosts)
    assert error.outcome is ConnectOutcome.REFUSED


def test_an_address_that_cannot_be_reached(lab_host: LabHost) -> None:
    error = refusal(SshTarget("lab", "::ffff:255.255.255.255", connect_timeout=1.0), lab_host.known_hosts)
    assert error.outcome is ConnectOutcome.UNREACHABLE


def test_only_addresses_of_the_family_that_is_wanted_are_tried(lab_host: LabHost) -> None:
    connect(
        replace(lab_host.target(), family=socket.AF_INET), RefusingAsker(), known_hosts=lab_host.known_hosts
    ).close()
    error = refusal(replace(lab_host.target(), family=socket.AF_INET6), lab_host.known_hosts)
    assert error.outcome is ConnectOutcome.NAME_NOT_FOUND


def test_a_name_server_that_does_not_answer(lab_host: LabHost, monkeypatch: pytest.MonkeyPatch) -> None:
    answered = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: answered.wait() and [])
    try:
        with at_most(2.0):
            error = refusal(SshTarget("lab", "slow.example.org", connect_timeout=0.2), lab_host.known_hosts)
    finally:
        answered.set()
    assert error.outcome is ConnectOutcome.TIMED_OUT
    assert "DNS server" in error.remedy


def test_a_listener_that_never_takes_the_connection(lab_host: LabHost) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, contextlib.ExitStack() as stack:
        address = listener.getsockname()
        for _ in range(2):  # fills the queue: what comes after it gets no answer at all
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(address)
        with at_most(2.0):
            error = refusal(SshTarget("lab", "127.0.0.1", address[1], connect_timeout=0.3), lab_host.known_hosts)
    assert error.outcome is ConnectOutcome.TIMED_OUT


Listen = Callable[[Callable[[socket.socket], None]], int]


def until_closed(connection: socket.socket) -> None:
    """Read whatever comes and say nothing."""
    while connection.recv(4096):
        pass


def test_a_server_that_never_says_a_word(lab_host: LabHost, listen: Listen) -> None:
    with at_most(2.0):
        error = refusal(SshTarget("lab", "127.0.0.1", listen(until_closed), connect_timeout=0.3), lab_host.known_hosts)
    assert error.outcome is ConnectOutcome.TIMED_OUT


def test_a_server_that_stops_after_its_greeting(lab_host: LabHost, listen: Listen) -> None:
    def greet(connection: socket.socket) -> None:
        connection.sendall(b"SSH-2.0-Slow_1.0\r\n")
        until_closed(connection)

    with at_most(2.0):
        error = refusal(SshTarget("lab", "127.0.0.1", listen(greet), connect_timeout=0.3), lab_host.known_hosts)
    assert error.outcome is ConnectOutcome.TIMED_OUT


# What is no SSH server, or no sound one
def test_a_web_server(lab_host: LabHost, listen: Listen) -> None:
    def answer(connection: socket.socket) -> None:
        connection.recv(100)
        connection.sendall(b"HTTP/1.1 400 Bad \x1b[31mRequest\r\nServer: x\r\n\r\n")

    error = refusal(SshTarget("lab", "127.0.0.1", listen(answer)), lab_host.known_hosts)
    assert error.outcome is ConnectOutcome.PROTOCOL
    assert "HTTP/1.1 400 Bad [31mRequest" in error.message


def test_a_mail_server_that_waits(lab_host: LabHost, listen: Listen) -> None:
    def greet(connection: socket.socket) -> None:
        connection.sendall(b"220 mail.example.org ESMTP\r\n")
        until_closed(connection)

    with at_most(4.0):
        error = refusal(SshTarget("lab", "127.0.0.1", listen(greet), connect_timeout=0.5), lab_host.known_hosts)
    assert error.outcome is ConnectOutcome.PROTOCOL
    assert "220 mail.example.org" in error.message


@pytest.mark.parametrize("block", [b"x" * 4096, b"lines and lines\r\n" * 200])
def test_an_endless_greeting(lab_host: LabHost, listen: Listen, block: bytes) -> None:
    def talk(connection: socket.socket) -> None:
        while True:
            connection.sendall(block)

    with at_most(3.0):
        error = refusal(SshTarget("lab", "127.0.0.1", listen(talk)), lab_host.known_hosts)
    assert error.outcome is ConnectOutcome.PROTOCOL
    assert len(error.message) < 500


def test_a_host_that_stays_too_busy_says_so(
    start_lab_host: Callable[..., LabHost], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("remote.ssh.connect.RETRY_TIME", 0.5)
    host = start_lab_host(MaxStartups="1")
    with socket.create_connection(("127.0.0.1", host.port)) as first:
        first.recv(4)  # its greeting: this connection counts now
        error = refusal(host.target(), host.known_hosts)
    assert error.outcome is ConnectOutcome.REFUSED
    assert "Exceeded MaxStartups" in error.message


def test_a_server_that_hangs_up_at_once(lab_host: LabHost, listen: Listen) -> None:
    error = refusal(SshTarget("lab", "127.0.0.1", listen(lambda _: None)), lab_host.known_hosts)
    assert error.outcome is ConnectOutcome.PROTOCOL
    assert "closed the connection" in error.message


def test_a_packet_larger_than_any(lab_host: LabHost, listen: Listen) -> None:
    def boast(connection: socket.socket) -> None:
        size = 2**31 + 4  # fits the block size, which is checked first
        connection.sendall(b"SSH-2.0-Large_1.0\r\n" + size.to_bytes(4, "big") + b"x" * 64)
        until_closed(connection)

    with at_most(3.0):
        error = refusal(SshTarget("lab", "127.0.0.1", listen(boast)), lab_host.known_hosts)
    assert error.outcome is ConnectOutcome.PROTOCOL


@pytest.mark.parametrize(
    ("option", "value", "shown"),
    [
        ("MACs", "hmac-sha1,hmac-md5", "only unsupported MACs: hmac-sha1, hmac-md5"),
        ("Ciphers", "3des-cbc,aes128-cbc", "only unsupported ciphers: 3des-cbc, aes128-cbc"),
        ("KexAlgorithms", "diffie-hellman-group14-sha1", "exchanges: diffie-hellman-group14-sha1."),
        # Its groups are the server's choice, and paramiko would take one of 1024 bits.
        ("KexAlgorithms", "diffie-hellman-group-exchange-sha256", "exchanges: diffie-hellman-group-exchange-sha256."),
    ],
)
def test_a_server_that_only_offers_weak_algorithms(
    start_lab_host: Callable[..., LabHost], option: str, value: str, shown: str
) -> None:
    # MACs only matter to ciphers that have none built in.
    host = start_lab_host(**{"Ciphers": "aes128-ctr", option: value})
    error = refusal(host.target(), host.known_hosts)
    assert error.outcome is ConnectOutcome.PROTOCOL
    assert shown in error.message
    assert f"allow one of these in its {option}" in error.remedy


def test_what_is_offered_is_what_openssh_offers() -> None:
    asked = subprocess.run(["ssh", "-G", "-F", "/dev/null", "lab"], check=True, capture_output=True, text=True).stdout
    by_ssh = {line.split(" ")[0]: line.split(" ")[-1].split(",") for line in asked.splitlines()}
    known = subprocess.run(["ssh", "-Q", "kex"], check=True, capture_output=True, text=True).stdout.split()
    with socket.socket() as unconnected:
        transport = BoundedTransport(unconnected)
        transport.certificates = True
        ours = {
            "ciphers": transport.preferred_ciphers, "macs": transport.preferred_macs,
            "hostkeyalgorithms": transport.preferred_keys, "pubkeyacceptedalgorithms": transport.preferred_pubkeys,
            "kexalgorithms": [name for name in transport.preferred_kex if name in known],
        }  # fmt: skip
        transport.end()
    for kind, names in ours.items():
        assert names
        assert set(names) <= set(by_ssh[kind]), kind
        assert not [name for name in names if re.search(r"sha1|md5|cbc|dss|^ssh-rsa|group1-|exchange", name)]


def test_an_rsa_host_key_is_never_taken_with_sha_1(start_lab_host: Callable[..., LabHost], tmp_path: Path) -> None:
    from tests.lab_sshd import make_key

    host = start_lab_host()
    host.restart(host_key=make_key(tmp_path / "rsa", kind="rsa"))
    host.known_hosts.write_text(host.known_hosts_line)
    host.connect().close()  # with SHA-2
    host.restart(HostKeyAlgorithms="ssh-rsa")
    assert refusal(host.target(), host.known_hosts).outcome is ConnectOutcome.PROTOCOL
