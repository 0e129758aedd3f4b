"""The client's side of authentication holds its ground against what a server may send."""

import queue

import paramiko
import pytest
from paramiko.common import MSG_USERAUTH_FAILURE, MSG_USERAUTH_SUCCESS

from remote.ssh.transport import BoundedTransport, ExcessError
from remote.ssh.userauth import MOST_REPLIES, Answer, UserAuth


class Recorder(BoundedTransport):
    """A transport without a connection: what is sent is kept."""

    def __init__(self) -> None:  # without the parent's: there is no socket
        self.sent: queue.SimpleQueue[paramiko.Message] = queue.SimpleQueue()

    def send(self, message: paramiko.Message) -> None:
        self.sent.put(message)


@pytest.fixture
def service() -> UserAuth:
    return UserAuth(Recorder(), "ada")


def failure(*methods: str, partial: bool = False) -> paramiko.Message:
    message = paramiko.Message()
    message.add_list(methods)
    message.add_boolean(partial)
    message.rewind()
    return message


def test_a_refusal_names_the_methods_that_are_left(service: UserAuth) -> None:
    service._handler_table[MSG_USERAUTH_FAILURE](failure("publickey", "pass\x1bword", partial=True))
    assert service.password("secret") == Answer(success=False, methods=("publickey", "pass word"), partial=True)
    assert not service.is_authenticated()


def test_success(service: UserAuth) -> None:
    service._handler_table[MSG_USERAUTH_SUCCESS](paramiko.Message())
    assert service.none() == Answer(success=True)
    assert service.is_authenticated()


def test_answers_that_nobody_asked_for_are_not_kept_for_ever(service: UserAuth) -> None:
    keep = service._handler_table[MSG_USERAUTH_FAILURE]
    for _ in range(MOST_REPLIES):
        keep(failure("password"))
    with pytest.raises(ExcessError):
        keep(failure("password"))


def test_a_connection_that_ends_wakes_whoever_waits(service: UserAuth) -> None:
    service.abort()
    with pytest.raises(EOFError):
        service.none()


def test_a_success_in_place_of_the_service_is_out_of_place(service: UserAuth) -> None:
    service._handler_table[MSG_USERAUTH_SUCCESS](paramiko.Message())
    with pytest.raises(paramiko.SSHException):
        service.begin()
