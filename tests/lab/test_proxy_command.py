"""A ProxyCommand takes the place of the network after a yes, and ends with its session; whatever it says is kept."""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from remote.errors import ConnectError, ConnectionLostError, ConnectOutcome
from remote.session import Session
from remote.ssh.connect import connect
from tests.lab_sshd import AnsweringAsker, LabHost, read_on
from tests.messages import messages
from tests.processes import ends

MESSAGES = messages("lab", "test_proxy_command")

RELAY = """
import os, socket, sys, threading
open(sys.argv[3], "w").write(str(os.getpid()))
sock = socket.create_connection((sys.argv[1], int(sys.argv[2])))
def back():
    while data := sock.recv(65536):
        os.write(1, data)
    os._exit(0)
threading.Thread(target=back).start()
while data := os.read(0, 65536):
    sock.sendall(data)
sock.close()
os._exit(0)
"""


@pytest.fixture
def relay(tmp_path: Path) -> tuple[str, Path]:
    """Return a line for ProxyCommand, and the file in which the program notes its process."""
    script, pid = tmp_path / "relay.py", tmp_path / "pid"
    script.write_text(RELAY)
    return f"  ProxyCommand {sys.executable} '{script}' %h %p '{pid}'\n", pid


Connect = Callable[..., Session]


@pytest.fixture
def through(lab_host: LabHost) -> Iterator[Connect]:
    """Return a function that connects to the lab's host with a line added to its configuration."""
    opened: list[Session] = []

    def make(line: str, asker: AnsweringAsker | None = None) -> Session:
        target = lab_host.target(more=line)
        opened.append(connect(target, asker or AnsweringAsker(allow_programs=True), known_hosts=lab_host.known_hosts))
        return opened[-1]

    yield make
    for session in opened:
        session.close()


def refused(through: Connect, line: str, asker: AnsweringAsker | None = None) -> ConnectError:
    threads = threading.active_count()
    with pytest.raises(ConnectError) as caught:
        through(line, asker)
    assert threading.active_count() == threads
    return caught.value


def test_a_host_is_reached_through_a_program_that_ends_with_the_session(
    through: Connect, relay: tuple[str, Path], lab_host: LabHost
) -> None:
    line, pid = relay
    asker = AnsweringAsker(allow_programs=True)
    session = through(line, asker)
    assert session.run(["echo", "hello"]).stdout == b"hello\n"
    (question,) = asker.program_questions
    assert (question.host, question.setting, question.line) == ("lab", "ProxyCommand", 7)
    assert question.command == line.strip().removeprefix("ProxyCommand ").replace("%h %p", f"127.0.0.1 {lab_host.port}")
    process = int(pid.read_text())
    os.kill(process, 0)
    session.close()
    assert ends(process)


def test_without_a_yes_nothing_runs(through: Connect, relay: tuple[str, Path], lab_host: LabHost) -> None:
    line, pid = relay
    error = refused(through, line, AnsweringAsker(allow_programs=False))
    assert error.outcome is ConnectOutcome.NOT_ALLOWED
    assert f"{lab_host.directory / 'config'}, line 7" in error.message
    assert "relay.py" in error.message
    assert not pid.exists()


def test_what_a_program_says_as_it_fails_is_told(through: Connect) -> None:
    error = refused(through, "  ProxyCommand sh -c 'echo no \x1b[1mway\x1b[m to %h >&2; exit 7'\n")
    assert error.outcome is ConnectOutcome.UNREACHABLE
    assert "exit status 7" in error.message
    assert "“no [1mway [m to 127.0.0.1”" in error.message
    assert "line 7" in error.message


def test_a_program_that_is_not_there(through: Connect) -> None:
    error = refused(through, "  ProxyCommand /no/such/program %h\n")
    assert error.outcome is ConnectOutcome.UNREACHABLE
    assert "/no/such/program" in error.message


def test_a_program_that_says_nothing_is_ended(through: Connect, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    began = time.monotonic()
    error = refused(
        through, f"  ConnectTimeout 1\n  ProxyCommand sh -c 'echo $$ >{pid}; trap : TERM; read x; sleep 300'\n"
    )
    assert error.outcome is ConnectOutcome.TIMED_OUT
    assert MESSAGES["passed_nothing_on_in_time"] in error.message
    assert ends(int(pid.read_text()))
    assert time.monotonic() - began < 60.0  # by itself it would take 300


def test_a_program_that_floods_its_standard_error_does_no_harm(through: Connect, relay: tuple[str, Path]) -> None:
    line, _ = relay
    command = line.strip().removeprefix("ProxyCommand ")
    session = through(f"  ProxyCommand yes >&2 & exec {command}\n")
    assert session.run(["echo", "hello"]).stdout == b"hello\n"


def test_a_program_that_dies_takes_the_connection_with_it(through: Connect, relay: tuple[str, Path]) -> None:
    line, pid = relay
    session = through(line)
    channel = session.open(["sleep", "10"])
    os.kill(int(pid.read_text()), 9)
    with pytest.raises(ConnectionLostError):
        read_on(channel)


def test_the_host_s_key_is_verified_behind_a_program_too(
    through: Connect, relay: tuple[str, Path], lab_host: LabHost
) -> None:
    lab_host.restart(host_key=lab_host.keys.other_host)
    assert refused(through, relay[0]).outcome is ConnectOutcome.KEY_CHANGED
