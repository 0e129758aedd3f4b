"""Passwords and questions of a real sshd with PAM behind it."""

from dataclasses import replace

import pytest

from remote.errors import ConnectError, ConnectOutcome
from remote.ssh.connect import connect
from remote.ssh.target import NO_IDENTITY, SshTarget
from tests.lab.pam_host import PASSWORD, StartPam
from tests.lab_sshd import AnsweringAsker, LabHost


def by_password(host: LabHost) -> SshTarget:
    return replace(host.target(), identity_files=(NO_IDENTITY,))


def test_a_password_that_pam_checks(start_pam_host: StartPam) -> None:
    host = start_pam_host(PasswordAuthentication="yes")
    asker = AnsweringAsker(secrets=["wrong", PASSWORD])
    connect(by_password(host), asker, known_hosts=host.known_hosts).close()
    assert [(question.attempt, question.lasting) for question in asker.secret_questions] == [(1, True), (2, True)]
    assert asker.secret_questions[0].address == f"127.0.0.1:{host.port}"


def test_the_questions_of_pam_with_what_it_says_before(start_pam_host: StartPam) -> None:
    host = start_pam_host(KbdInteractiveAuthentication="yes")
    asker = AnsweringAsker(secrets=["wrong", PASSWORD])
    connect(by_password(host), asker, known_hosts=host.known_hosts).close()
    assert len(asker.secret_questions) == 2
    assert asker.secret_questions[0].prompt.endswith("Password:")
    assert asker.secret_questions[0].lasting


def test_pam_refuses_wrong_passwords(start_pam_host: StartPam) -> None:
    host = start_pam_host(PasswordAuthentication="yes", KbdInteractiveAuthentication="yes")
    with pytest.raises(ConnectError) as caught:
        connect(by_password(host), AnsweringAsker(secrets=["wrong"] * 9), known_hosts=host.known_hosts)
    assert caught.value.outcome is ConnectOutcome.AUTH_REFUSED
    assert "wrong" not in str(caught.value)


def test_a_key_and_then_a_password_that_pam_checks(start_pam_host: StartPam) -> None:
    host = start_pam_host(PasswordAuthentication="yes", AuthenticationMethods="publickey,password")
    asker = AnsweringAsker(secrets=[PASSWORD])
    connect(host.target(), asker, known_hosts=host.known_hosts).close()
    assert len(asker.secret_questions) == 1
