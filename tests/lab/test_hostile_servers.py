"""A server that breaks the protocol costs neither memory nor patience, and no exception of paramiko's gets out."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import paramiko
import pytest
from paramiko.common import MSG_DISCONNECT, MSG_EXT_INFO, MSG_USERAUTH_FAILURE

from remote.errors import (
    ConnectError,
    ConnectionLostError,
    ConnectOutcome,
    OutputLimitError,
    RemoteError,
    RemoteTimeoutError,
)
from remote.session import Session
from remote.ssh import userauth
from remote.ssh.connect import connect
from remote.ssh.target import SshTarget
from remote.ssh.transport import BoundedPacketizer
from tests.lab.scripted_server import Behaviour, Script, ScriptedServer
from tests.lab_sshd import AnsweringAsker, read_on

Serve = Callable[[Script], ScriptedServer]
Open = Callable[[Behaviour | None], Session]


@pytest.fixture
def session_with(serve: Serve, tmp_path: Path) -> Iterator[Open]:
    """Return a function that connects to a server with the given behaviour."""
    opened: list[Session] = []

    def start(behaviour: Behaviour | None, *, exec_accepted: bool = True) -> Session:
        server = serve(Script(behaviour=behaviour, exec_accepted=exec_accepted))
        known_hosts = tmp_path / f"known_hosts_{server.port}"
        known_hosts.write_text(server.known_hosts_line)
        target = SshTarget("lab", "127.0.0.1", server.port, "ada")
        opened.append(connect(target, AnsweringAsker(), known_hosts=known_hosts))
        return opened[-1]

    yield start
    for session in opened:
        session.close()


def test_a_window_that_is_ignored_ends_the_connection(session_with: Open) -> None:
    sent = 0

    def flood(channel: paramiko.Channel) -> None:
        nonlocal sent
        channel.out_window_size = 2**40  # what the client allowed does not matter
        while True:
            channel.sendall(b"x" * 32000)
            sent += 32000

    session = session_with(flood)
    channel = session.open(["cat"])
    session._transport.join(20.0)  # type: ignore[attr-defined]  # nobody reads the channel meanwhile
    assert not session._transport.is_alive()  # type: ignore[attr-defined]
    assert sent < 50 * 2**20
    with pytest.raises(ConnectionLostError, match="protocol violation by the server"):
        read_on(channel)


def refused(serve: Serve, script: Script, folder: Path, *secrets: str) -> ConnectError:
    server = serve(script)
    known_hosts = folder / "known_hosts"
    known_hosts.write_text(server.known_hosts_line)
    with pytest.raises(ConnectError) as caught:
        connect(
            SshTarget("lab", "127.0.0.1", server.port, "ada"), AnsweringAsker(secrets=secrets), known_hosts=known_hosts
        )
    return caught.value


def test_prompts_without_number(serve: Serve, tmp_path: Path) -> None:
    script = Script(methods="keyboard-interactive", prompts=["?"] * 1000)
    error = refused(serve, script, tmp_path, *["answer"] * 1000)
    assert error.outcome is ConnectOutcome.PROTOCOL
    assert "1000 prompts" in error.message


def test_questions_without_end(serve: Serve, tmp_path: Path) -> None:
    script = Script(methods="keyboard-interactive", prompts=["?"], endless_prompts=True)
    error = refused(serve, script, tmp_path, *["answer"] * 1000)
    assert error.outcome is ConnectOutcome.PROTOCOL
    assert "too many prompts" in error.message


def test_a_server_that_falls_silent_before_the_user_is_let_in(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(userauth, "REPLY_TIMEOUT", 0.4)
    monkeypatch.setattr(userauth, "REPLY_PAUSE", 0.1)
    over = threading.Event()
    try:
        error = refused(serve, Script(before_answering=over.wait), tmp_path)
    finally:
        over.set()
    assert error.outcome is ConnectOutcome.TIMED_OUT


def message(number: int, *fields: object) -> paramiko.Message:
    made = paramiko.Message()
    made.add_byte(bytes([number]))
    made.add(*fields)
    return made


def test_answers_that_nobody_asked_for(serve: Serve, tmp_path: Path) -> None:
    failures = [message(MSG_USERAUTH_FAILURE, "password", False)] * 10_000
    error = refused(serve, Script(methods="password", sent_first=failures), tmp_path, *["secret"] * 9)
    assert error.outcome in {ConnectOutcome.PROTOCOL, ConnectOutcome.AUTH_REFUSED}


def test_more_extensions_than_it_sends(serve: Serve, tmp_path: Path) -> None:
    extensions = message(MSG_EXT_INFO)
    extensions.add_int(2**32 - 1)
    script = Script(methods="none", sent_first=[extensions])
    began = time.monotonic()
    error = refused(serve, script, tmp_path)
    assert error.outcome is ConnectOutcome.PROTOCOL
    assert time.monotonic() - began < 60.0


def test_a_farewell_is_shown_in_plain_text(serve: Serve, tmp_path: Path) -> None:
    script = Script(methods="password", sent_first=[message(MSG_DISCONNECT, 2, "go \x1b[31maway\u202e", "")])
    error = refused(serve, script, tmp_path)
    assert error.outcome is ConnectOutcome.PROTOCOL
    assert "“go [31maway”" in error.message


def test_a_server_that_never_starts_the_command(session_with: Open) -> None:
    began = time.monotonic()
    with pytest.raises(RemoteTimeoutError):
        session_with(lambda _: None).run(["true"], timeout=0.5)
    assert time.monotonic() - began < 60.0  # an attempt to end the command included


def test_a_server_that_refuses_to_run_anything(serve: Serve, tmp_path: Path) -> None:
    server = serve(Script(exec_accepted=False))
    known_hosts = tmp_path / "known_hosts"
    known_hosts.write_text(server.known_hosts_line)
    session = connect(SshTarget("lab", "127.0.0.1", server.port, "ada"), AnsweringAsker(), known_hosts=known_hosts)
    with pytest.raises(RemoteError, match="did not start the command"):
        session.run(["true"])
    session.close()


def test_an_end_without_an_exit_status_is_no_success(session_with: Open) -> None:
    def vanish(channel: paramiko.Channel) -> None:
        channel.sendall(b"done\n")
        channel.close()

    done = session_with(vanish).run(["true"])
    assert (done.stdout, done.exit_status) == (b"done\n", None)


def test_an_exit_status_without_an_end_of_output_is_waited_for(session_with: Open) -> None:
    def early(channel: paramiko.Channel) -> None:
        channel.send_exit_status(3)
        channel.sendall(b"late\n")
        channel.shutdown_write()
        channel.send_exit_status(4)
        channel.close()

    done = session_with(early).run(["true"])
    assert done.stdout == b"late\n"
    assert done.exit_status in {3, 4}


def test_endless_output_on_both_streams_is_cut(session_with: Open) -> None:
    def flood(channel: paramiko.Channel) -> None:
        while True:
            channel.sendall(b"x" * 32000)
            channel.sendall_stderr(b"y" * 32000)

    with pytest.raises(OutputLimitError):
        session_with(flood).run(["true"], limit=10**6)


def test_a_server_that_goes_in_the_middle_of_a_packet(session_with: Open) -> None:
    def break_off(channel: paramiko.Channel) -> None:
        channel.sendall(b"begun")
        assert channel.transport is not None
        channel.transport.sock.sendall(b"\0\0\xff")
        channel.transport.sock.shutdown(2)

    with pytest.raises(ConnectionLostError):
        session_with(break_off).run(["true"])


def test_garbage_in_place_of_a_packet(session_with: Open) -> None:
    def scribble(channel: paramiko.Channel) -> None:
        assert channel.transport is not None
        channel.transport.sock.sendall(b"\xff" * 4096)

    with pytest.raises(ConnectionLostError):
        session_with(scribble).run(["true"])


def test_a_packet_that_arrives_byte_by_byte_is_not_waited_for(session_with: Open) -> None:
    packetizers: list[BoundedPacketizer] = []

    def drip(channel: paramiko.Channel) -> None:
        assert channel.transport is not None
        time.sleep(0.3)  # the server's own answer to the request goes before
        packetizers[0].silence_limit = 0.5
        for _ in range(15):  # a byte less than the beginning of a packet has
            channel.transport.sock.sendall(b"x")
            time.sleep(0.2)

    session = session_with(drip)
    packetizers.append(session._transport.bounded_packetizer)  # type: ignore[attr-defined]
    with pytest.raises(ConnectionLostError, match="no complete packet for"):
        session.run(["true"], timeout=10.0)
