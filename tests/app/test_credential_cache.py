"""What was said once is not asked again, unless it was wrong; nothing is kept that changes every time."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from app.hosts.credentials import CredentialCache, account
from app.hosts.hosts import Hosts, SavedHosts
from app.system_keyring import SERVICE, SystemKeyring
from remote.errors import ConnectError, ConnectOutcome
from remote.questions import Asker, LocalProgramQuestion, SecretQuestion
from remote.session import Session
from tests.app.keyring_in_memory import KeyringInMemory
from tests.lab_sshd import AnsweringAsker

PASSWORD = SecretQuestion("web", "ada", "Password", address="10.0.0.1:22", lasting=True)
PASSPHRASE = SecretQuestion("web", "ada", "Passphrase", "/keys/a", lasting=True)
TOKEN = SecretQuestion("web", "ada", "Token:", address="10.0.0.1:22")


@pytest.fixture
def backend() -> KeyringInMemory:
    return KeyringInMemory()


@pytest.fixture
def memory(backend: KeyringInMemory) -> CredentialCache:
    return CredentialCache(SystemKeyring(backend))


def test_a_secret_is_asked_for_once(memory: CredentialCache) -> None:
    person = AnsweringAsker(secrets=["one", "two"])
    for question in (PASSWORD, PASSWORD, replace(PASSWORD, host="the same by another name")):
        assert memory.asker(person).secret(question) == "one"
    assert memory.asker(person).secret(replace(PASSWORD, user="bob")) == "two"
    assert len(person.secret_questions) == 2


def test_another_address_is_another_password_and_another_file_another_passphrase(memory: CredentialCache) -> None:
    person = AnsweringAsker(secrets=["one", "two", "three", "four"])
    asker = memory.asker(person)
    assert asker.secret(PASSWORD) == "one"
    assert asker.secret(replace(PASSWORD, address="10.0.0.2:22")) == "two"
    assert asker.secret(PASSPHRASE) == "three"
    assert asker.secret(replace(PASSPHRASE, key_path="/keys/b")) == "four"
    assert memory.asker(person).secret(replace(PASSPHRASE, host="elsewhere", user="bob")) == "three"


def test_a_token_is_asked_for_every_time(memory: CredentialCache) -> None:
    person = AnsweringAsker(secrets=["1", "2"])
    assert [memory.asker(person).secret(TOKEN) for _ in range(2)] == ["1", "2"]
    assert account(TOKEN) is None


def test_a_wrong_secret_is_asked_for_anew(memory: CredentialCache) -> None:
    person = AnsweringAsker(secrets=["wrong", "right"])
    asker = memory.asker(person)
    assert asker.secret(PASSWORD) == "wrong"
    assert asker.secret(replace(PASSWORD, attempt=2)) == "right"
    asker.worked()
    assert memory.asker(person).secret(PASSWORD) == "right"


def test_after_a_refusal_nothing_is_known_any_more(memory: CredentialCache) -> None:
    person = AnsweringAsker(secrets=["wrong", "right"])
    asker = memory.asker(person)
    asker.secret(PASSWORD)
    asker.failed()
    assert memory.asker(person).secret(PASSWORD) == "right"


def test_giving_up_is_no_answer(memory: CredentialCache) -> None:
    person = AnsweringAsker(secrets=[None, "right"])
    assert memory.asker(person).secret(PASSWORD) is None
    assert memory.asker(person).secret(PASSWORD) == "right"


def test_of_many_at_once_only_one_asks(memory: CredentialCache) -> None:
    asking, answered = threading.Event(), threading.Event()

    class Slow(AnsweringAsker):
        def secret(self, question: SecretQuestion) -> str | None:
            asking.set()
            answered.wait(60.0)
            return super().secret(question)

    person = Slow(secrets=["one"])
    with ThreadPoolExecutor(8) as hosts:
        answers = [hosts.submit(memory.asker(person).secret, PASSPHRASE) for _ in range(8)]
        assert asking.wait(60.0)
        answered.set()
        assert [answer.result() for answer in answers] == ["one"] * 8
    assert len(person.secret_questions) == 1


def test_the_keyring_gets_what_worked_and_only_on_request(memory: CredentialCache, backend: KeyringInMemory) -> None:
    person = AnsweringAsker(secrets=["one"], keep=True)
    asker = memory.asker(person)
    asker.secret(PASSWORD)
    assert person.secret_questions[0].may_keep
    assert backend.kept == {}  # it may still be wrong
    asker.worked()
    assert backend.kept == {(SERVICE, "password of ada@10.0.0.1:22"): "one"}
    unasked = memory.asker(AnsweringAsker(secrets=["two"], keep=False))
    unasked.secret(PASSPHRASE)
    unasked.worked()
    assert list(backend.kept.values()) == ["one"]


def test_what_the_keyring_has_is_not_asked_for(backend: KeyringInMemory) -> None:
    backend.kept[SERVICE, "password of ada@10.0.0.1:22"] = "kept"
    assert CredentialCache(SystemKeyring(backend)).asker(AnsweringAsker()).secret(PASSWORD) == "kept"


def test_a_stale_secret_leaves_the_keyring(memory: CredentialCache, backend: KeyringInMemory) -> None:
    backend.kept[SERVICE, "password of ada@10.0.0.1:22"] = "stale"
    person = AnsweringAsker(secrets=["new"], keep=False)
    asker = memory.asker(person)
    assert asker.secret(PASSWORD) == "stale"
    assert asker.secret(replace(PASSWORD, attempt=2)) == "new"
    assert backend.kept == {}


def test_a_host_that_refuses_does_not_empty_the_keyring(memory: CredentialCache, backend: KeyringInMemory) -> None:
    backend.kept[SERVICE, "password of ada@10.0.0.1:22"] = "kept"
    asker = memory.asker(AnsweringAsker())
    asker.secret(PASSWORD)
    asker.failed()
    assert list(backend.kept.values()) == ["kept"]


def test_without_a_keyring_nothing_is_offered() -> None:
    person = AnsweringAsker(secrets=["one"], keep=True)
    asker = CredentialCache().asker(person)  # the tests' environment has none
    asker.secret(PASSWORD)
    asker.worked()
    assert not person.secret_questions[0].may_keep


PROGRAM = LocalProgramQuestion("web", "ProxyCommand", "nc web 22", "/home/ada/.ssh/config", 3)


def test_a_program_is_allowed_to_the_letter_and_a_no_is_not_remembered(memory: CredentialCache) -> None:
    person = AnsweringAsker(allow_programs=False)
    assert not memory.asker(person).local_program(PROGRAM)
    person.allow_programs = True
    assert memory.asker(person).local_program(PROGRAM)
    assert memory.asker(person).local_program(replace(PROGRAM, host="other", line=4))
    assert len(person.program_questions) == 2
    person.allow_programs = False
    assert not memory.asker(person).local_program(replace(PROGRAM, command="nc web 22; id"))
    assert not memory.asker(person).local_program(replace(PROGRAM, setting="Match exec"))


def failed(outcome: ConnectOutcome, at_jump_host: ConnectOutcome | None = None) -> ConnectError:
    error = ConnectError(outcome, "web failed")
    error.__cause__ = None if at_jump_host is None else ConnectError(at_jump_host, "its jump host failed")
    return error


@pytest.mark.parametrize(
    ("error", "asked"),
    [
        (failed(ConnectOutcome.TIMED_OUT), 1),
        (failed(ConnectOutcome.PROTOCOL), 1),
        (failed(ConnectOutcome.AUTH_REFUSED), 2),
        (failed(ConnectOutcome.JUMP_FAILED, ConnectOutcome.UNREACHABLE), 1),
        (failed(ConnectOutcome.JUMP_FAILED, ConnectOutcome.AUTH_REFUSED), 2),
    ],
)
def test_only_a_refusal_is_a_reason_to_ask_again(
    memory: CredentialCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: ConnectError, asked: int
) -> None:
    """A connection that breaks after the password was given says nothing of it: a run may reconnect at night."""

    def connect(_target: object, asker: Asker) -> Session:
        asker.secret(PASSWORD)
        raise error

    monkeypatch.setattr("remote.ssh.connect.connect", connect)
    person, hosts = AnsweringAsker(secrets=["one", "two"]), Hosts(SavedHosts(tmp_path / "hosts.toml"), memory)
    for _ in range(2):
        with pytest.raises(ConnectError):
            hosts.connect("web", person)
    assert len(person.secret_questions) == asked
