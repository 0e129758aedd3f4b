"""Hosts behind other hosts: every hop is verified and let in like the host itself, and named where it fails."""

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from remote.errors import ConnectError, ConnectionLostError, ConnectOutcome
from remote.ssh.connect import connect
from remote.ssh.target import SshTarget
from tests.lab_sshd import AnsweringAsker, LabHost, free_port, read_on
from tests.messages import messages

MESSAGES = messages("lab", "test_jump_hosts")

Start = Callable[..., LabHost]


@pytest.fixture
def gate(start_lab_host: Start) -> LabHost:
    return start_lab_host()


@pytest.fixture
def known_hosts(tmp_path: Path, gate: LabHost, lab_host: LabHost) -> Path:
    path = tmp_path / "known_hosts"
    path.write_text(gate.known_hosts_line + lab_host.known_hosts_line)
    return path


def through(gate: LabHost, host: LabHost) -> SshTarget:
    return replace(host.target(), jumps=(replace(gate.target(), name="gate"),))


def refused(target: SshTarget, known_hosts: Path, asker: AnsweringAsker | None = None) -> ConnectError:
    threads = threading.active_count()
    with pytest.raises(ConnectError) as caught:
        connect(target, asker or AnsweringAsker(), known_hosts=known_hosts)
    assert threading.active_count() == threads  # no connection to a hop is left open
    return caught.value


def test_a_host_behind_another(gate: LabHost, lab_host: LabHost, known_hosts: Path) -> None:
    threads = threading.active_count()
    session = connect(through(gate, lab_host), AnsweringAsker(), known_hosts=known_hosts)
    done = session.run(["sh", "-c", "echo $SSH_CONNECTION"])
    assert done.stdout.split()[-1] == str(lab_host.port).encode()
    assert len(gate.connections()) > 0
    session.close()
    assert threading.active_count() == threads  # the connection to the gate is closed, too


def test_a_host_behind_two_others(gate: LabHost, lab_host: LabHost, start_lab_host: Start, known_hosts: Path) -> None:
    second = start_lab_host()
    with known_hosts.open("a") as file:
        file.write(second.known_hosts_line)
    target = replace(lab_host.target(), jumps=(gate.target(), second.target()))
    session = connect(target, AnsweringAsker(), known_hosts=known_hosts)
    assert session.run(["true"]).exit_status == 0
    session.close()


def test_each_unknown_key_is_asked_about_with_the_way_to_it(gate: LabHost, lab_host: LabHost, tmp_path: Path) -> None:
    asker = AnsweringAsker(accept_host_key=True)
    connect(through(gate, lab_host), asker, known_hosts=tmp_path / "new").close()
    assert [(question.host, question.via) for question in asker.host_key_questions] == [("gate", None), ("lab", "gate")]
    assert (tmp_path / "new").read_text() == gate.known_hosts_line + lab_host.known_hosts_line


def test_a_jump_host_that_is_down(gate: LabHost, lab_host: LabHost, known_hosts: Path) -> None:
    gate.stop()
    error = refused(through(gate, lab_host), known_hosts)
    assert error.outcome is ConnectOutcome.JUMP_FAILED
    assert error.host == "lab"
    assert "jump host gate" in error.message
    assert "refused the connection" in error.message


def test_a_jump_host_whose_key_changed(gate: LabHost, lab_host: LabHost, known_hosts: Path) -> None:
    gate.restart(host_key=gate.keys.other_host)
    error = refused(through(gate, lab_host), known_hosts)
    assert error.outcome is ConnectOutcome.JUMP_FAILED
    assert MESSAGES["the_key_of_gate_has_changed"] in error.message
    assert "ssh-keygen -R" in error.remedy


def test_a_jump_host_that_does_not_let_the_user_in(gate: LabHost, lab_host: LabHost, known_hosts: Path) -> None:
    gate.refuse_everybody()
    error = refused(through(gate, lab_host), known_hosts)
    assert error.outcome is ConnectOutcome.JUMP_FAILED
    assert "gate refused the user" in error.message


def test_a_jump_host_that_forwards_nothing(gate: LabHost, lab_host: LabHost, known_hosts: Path) -> None:
    gate.restart(AllowTcpForwarding="no")
    error = refused(through(gate, lab_host), known_hosts)
    assert error.outcome is ConnectOutcome.JUMP_FAILED
    assert "AllowTcpForwarding" in error.remedy


def test_a_host_that_is_down_behind_a_jump_host(gate: LabHost, lab_host: LabHost, known_hosts: Path) -> None:
    error = refused(replace(through(gate, lab_host), port=free_port()), known_hosts)
    assert error.outcome is ConnectOutcome.REFUSED
    assert "jump host gate" in error.message
    error = refused(replace(through(gate, lab_host), host_name="no-such-host.invalid"), known_hosts)
    assert error.outcome in {ConnectOutcome.NAME_NOT_FOUND, ConnectOutcome.UNREACHABLE}


def test_giving_up_at_a_jump_host_is_no_failure_of_it(gate: LabHost, lab_host: LabHost, known_hosts: Path) -> None:
    target = through(gate, lab_host)
    jump = replace(target.jumps[0], identity_files=(gate.keys.encrypted,))
    assert refused(replace(target, jumps=(jump,)), known_hosts).outcome is ConnectOutcome.CANCELLED


def test_a_jump_host_that_dies_takes_the_session_with_it(gate: LabHost, lab_host: LabHost, known_hosts: Path) -> None:
    session = connect(through(gate, lab_host), AnsweringAsker(), known_hosts=known_hosts)
    channel = session.open(["sleep", "10"])
    gate.cut()
    with pytest.raises(ConnectionLostError):
        read_on(channel)
    session.close()
