"""A user is let in as with OpenSSH: agent, keys, passphrases, passwords; and a refusal says what was tried."""

import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import paramiko
import pytest
from paramiko.common import AUTH_FAILED

from remote.errors import ConnectError, ConnectOutcome
from remote.questions import Asker, RefusingAsker
from remote.ssh.authentication import ATTEMPTS
from remote.ssh.connect import connect
from remote.ssh.keys import inspect
from remote.ssh.known_hosts import fingerprint
from remote.ssh.target import NO_IDENTITY, SshTarget
from tests.lab.scripted_server import Script, ScriptedServer
from tests.lab_sshd import PASSPHRASE, AnsweringAsker, LabHost, LabKeys, make_key
from tests.messages import messages

MESSAGES = messages("lab", "test_authentication")

Start = Callable[..., LabHost]
Serve = Callable[[Script], ScriptedServer]


def refused(target: SshTarget, known_hosts: Path, asker: Asker | None = None) -> ConnectError:
    with pytest.raises(ConnectError) as caught:
        connect(target, asker or AnsweringAsker(), known_hosts=known_hosts)
    return caught.value


def let_in(target: SshTarget, known_hosts: Path, asker: Asker | None = None) -> None:
    connect(target, asker or AnsweringAsker(), known_hosts=known_hosts).close()


# Keys
@pytest.mark.parametrize("kind", ["ed25519", "rsa", "ecdsa"])
def test_a_key_of_any_kind(lab_host: LabHost, tmp_path: Path, kind: str) -> None:
    key = make_key(tmp_path / "key", kind=kind)
    lab_host.authorize(key)
    let_in(lab_host.target(key=key), lab_host.known_hosts)


def test_an_encrypted_key_asks_for_its_passphrase_until_it_is_right(lab_host: LabHost) -> None:
    asker = AnsweringAsker(secrets=["wrong", PASSPHRASE])
    let_in(lab_host.target(key=lab_host.keys.encrypted), lab_host.known_hosts, asker)
    first, second = asker.secret_questions
    assert (first.host, first.user, first.key_path) == ("lab", lab_host.user, str(lab_host.keys.encrypted))
    assert (first.attempt, second.attempt) == (1, 2)


def test_too_many_wrong_passphrases(lab_host: LabHost) -> None:
    asker = AnsweringAsker(secrets=["wrong"] * 10)
    error = refused(lab_host.target(key=lab_host.keys.encrypted), lab_host.known_hosts, asker)
    assert error.outcome is ConnectOutcome.AUTH_REFUSED
    assert "wrong passphrase" in error.message
    assert len(asker.secret_questions) == ATTEMPTS


def test_no_passphrase_is_asked_for_a_key_that_the_host_would_not_take(lab_host: LabHost, tmp_path: Path) -> None:
    key = make_key(tmp_path / "key", passphrase=PASSPHRASE)
    asker = AnsweringAsker(secrets=[PASSPHRASE])
    error = refused(lab_host.target(key=key), lab_host.known_hosts, asker)
    assert error.outcome is ConnectOutcome.AUTH_REFUSED
    assert asker.secret_questions == []


def test_giving_up_on_a_question_is_no_refusal(lab_host: LabHost) -> None:
    asker = AnsweringAsker(secrets=[None])
    error = refused(lab_host.target(key=lab_host.keys.encrypted), lab_host.known_hosts, asker)
    assert error.outcome is ConnectOutcome.CANCELLED
    assert len(asker.secret_questions) == 1


def test_without_a_user_to_ask_the_next_credential_is_used(lab_host: LabHost) -> None:
    encrypted = lab_host.target(key=lab_host.keys.encrypted)
    error = refused(encrypted, lab_host.known_hosts, RefusingAsker())
    assert error.outcome is ConnectOutcome.AUTH_REFUSED
    assert "no terminal" in error.message
    assert "--remember" in error.remedy
    both = replace(encrypted, identity_files=(lab_host.keys.encrypted, lab_host.keys.client))
    let_in(both, lab_host.known_hosts, RefusingAsker())


def test_a_refusal_says_what_was_tried_and_what_to_do(lab_host: LabHost, tmp_path: Path) -> None:
    (tmp_path / "broken").write_text("no key")
    files = (lab_host.keys.stranger, tmp_path / "missing", tmp_path / "broken", NO_IDENTITY)
    error = refused(replace(lab_host.target(), identity_files=files), lab_host.known_hosts)
    assert error.outcome is ConnectOutcome.AUTH_REFUSED
    assert lab_host.user in error.message
    assert str(lab_host.keys.stranger) in error.message
    assert MESSAGES["missing_not_used_there_is_no"] in error.message
    assert MESSAGES["broken_not_used_it_holds_no"] in error.message
    assert MESSAGES["the_host_accepts_publickey"] in error.message
    assert "authorized_keys" in error.remedy


def test_the_default_keys_are_tried_where_none_is_named(lab_host: LabHost) -> None:
    target = replace(lab_host.target(), identity_files=())
    assert "no key and no agent" in refused(target, lab_host.known_hosts).message
    folder = Path.home() / ".ssh"
    folder.mkdir()
    for suffix in ("", ".pub"):
        (folder / f"id_ed25519{suffix}").write_bytes(Path(f"{lab_host.keys.client}{suffix}").read_bytes())
    let_in(target, lab_host.known_hosts)
    assert "Tried: nothing" in refused(replace(target, identity_files=(NO_IDENTITY,)), lab_host.known_hosts).message


def test_too_many_keys_are_named_as_the_reason(start_lab_host: Start, tmp_path: Path) -> None:
    host = start_lab_host(MaxAuthTries="2")
    files = tuple(make_key(tmp_path / f"key{number}") for number in range(4))
    error = refused(replace(host.target(), identity_files=files), host.known_hosts)
    assert error.outcome is ConnectOutcome.AUTH_REFUSED
    assert MESSAGES["too_many_authentication"] in error.message
    assert "IdentitiesOnly" in error.remedy


# Certificates
@dataclass
class Signed:
    """A host that lets nobody in but by a certificate, the key it is about, and where the certificate lies."""

    host: LabHost
    key: Path
    certificate: Path


@pytest.fixture
def sign(start_lab_host: Start, tmp_path: Path) -> Callable[..., Signed]:
    def make(*options: str, kind: str = "ed25519", passphrase: str = "", neighbours: bool = True) -> Signed:
        authority = make_key(tmp_path / "authority")
        key = make_key(tmp_path / "key", kind=kind, passphrase=passphrase)
        host = start_lab_host(TrustedUserCAKeys=str(authority.with_suffix(".pub")))
        words = ["ssh-keygen", "-q", "-s", str(authority), "-I", "test", "-n", host.user, *options]
        subprocess.run([*words, str(key.with_suffix(".pub"))], check=True)
        certificate = tmp_path / "key-cert.pub"
        return Signed(host, key, certificate if neighbours else certificate.rename(tmp_path / "elsewhere"))

    return make


@pytest.mark.parametrize("kind", ["ed25519", "rsa", "ecdsa"])
def test_a_certificate_beside_its_key_lets_the_user_in(sign: Callable[..., Signed], kind: str) -> None:
    signed = sign(kind=kind)
    let_in(signed.host.target(key=signed.key), signed.host.known_hosts)


def test_a_certificate_that_is_named_lets_the_user_in(sign: Callable[..., Signed]) -> None:
    signed = sign(neighbours=False)
    target = signed.host.target(key=signed.key)
    assert refused(target, signed.host.known_hosts).outcome is ConnectOutcome.AUTH_REFUSED
    let_in(replace(target, certificate_files=(signed.certificate,)), signed.host.known_hosts)


def test_a_key_is_unlocked_for_its_certificate_alone(sign: Callable[..., Signed]) -> None:
    signed = sign(passphrase=PASSPHRASE)
    asker = AnsweringAsker(secrets=[PASSPHRASE])
    let_in(signed.host.target(key=signed.key), signed.host.known_hosts, asker)
    assert len(asker.secret_questions) == 1


def test_a_certificate_serves_a_key_that_only_the_agent_holds(
    sign: Callable[..., Signed], agent: "RunningAgent"
) -> None:
    signed = sign()
    agent.add(str(signed.key))
    signed.key.unlink()
    target = signed.host.target(key=signed.key.with_suffix(".pub"))
    let_in(replace(target, certificate_files=(signed.certificate,), identities_only=True), signed.host.known_hosts)


def test_a_certificate_that_is_of_no_use_is_said(sign: Callable[..., Signed], tmp_path: Path) -> None:
    signed = sign("-V", "20200101:20200102")
    (tmp_path / "broken").write_text("nothing")
    target = replace(signed.host.target(key=signed.key), certificate_files=(tmp_path / "broken", tmp_path / "missing"))
    shown = refused(target, signed.host.known_hosts).message
    assert MESSAGES["key_cert_pub_not_used_it"] in shown
    assert MESSAGES["broken_not_used_it_holds_no_2"] in shown
    assert MESSAGES["missing_not_used_it_cannot"] in shown


# The agent
@dataclass
class RunningAgent:
    environment: dict[str, str]

    def add(self, *words: str, answer: str = "") -> None:
        environment = os.environ | self.environment | {"SSH_ASKPASS_REQUIRE": "force", "SSH_ASKPASS": answer}
        subprocess.run(["ssh-add", "-q", *words], env=environment, check=True, stdin=subprocess.DEVNULL)


@pytest.fixture
def agent(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningAgent]:
    path = tmp_path_factory.mktemp("agent") / "socket"
    with subprocess.Popen(["ssh-agent", "-D", "-a", str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()  # it prints once it listens
        monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
        yield RunningAgent({"SSH_AUTH_SOCK": str(path)})
        process.terminate()


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa", pytest.param("rsa", marks=pytest.mark.slow)])
def test_a_key_in_the_agent(lab_host: LabHost, agent: RunningAgent, tmp_path: Path, kind: str) -> None:
    key = make_key(tmp_path / "key", kind=kind)
    lab_host.authorize(key)
    agent.add(str(key))
    let_in(replace(lab_host.target(), identity_files=(), identities_only=False), lab_host.known_hosts)


def test_with_identities_only_the_agent_s_other_keys_stay_unseen(lab_host: LabHost, agent: RunningAgent) -> None:
    agent.add(str(lab_host.keys.client))
    named = replace(lab_host.target(key=lab_host.keys.stranger), identities_only=True)
    error = refused(named, lab_host.known_hosts)
    public = inspect(lab_host.keys.client).public
    assert public is not None
    assert fingerprint(public.blob) not in error.message
    let_in(replace(named, identities_only=False), lab_host.known_hosts)
    # Its public half is enough to name a key that the agent holds.
    let_in(replace(named, identity_files=(lab_host.keys.client.with_suffix(".pub"),)), lab_host.known_hosts)


def test_an_encrypted_key_in_the_agent_needs_no_passphrase(
    lab_host: LabHost, agent: RunningAgent, tmp_path: Path
) -> None:
    answer = tmp_path / "answer"
    answer.write_text(f"#!/bin/sh\necho '{PASSPHRASE}'\n")
    answer.chmod(0o700)
    agent.add(str(lab_host.keys.encrypted), answer=str(answer))
    asker = AnsweringAsker()
    let_in(lab_host.target(key=lab_host.keys.encrypted), lab_host.known_hosts, asker)
    assert asker.secret_questions == []


def test_an_agent_that_does_not_sign_only_loses_its_key(lab_host: LabHost, agent: RunningAgent, tmp_path: Path) -> None:
    denial = tmp_path / "deny"
    denial.write_text("#!/bin/sh\nexit 1\n")
    denial.chmod(0o700)
    agent.add("-c", str(lab_host.keys.client))  # asks to confirm each use, which nobody can here
    error = refused(lab_host.target(key=lab_host.keys.client.with_suffix(".pub")), lab_host.known_hosts)
    assert error.outcome is ConnectOutcome.AUTH_REFUSED
    assert "the agent did not sign" in error.message
    let_in(
        replace(lab_host.target(key=lab_host.keys.encrypted)),
        lab_host.known_hosts,
        AnsweringAsker(secrets=[PASSPHRASE]),
    )


def test_the_agent_that_is_named_is_asked_and_none_is_none(
    lab_host: LabHost, agent: RunningAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent.add(str(lab_host.keys.client))
    monkeypatch.delenv("SSH_AUTH_SOCK")
    target = replace(lab_host.target(), identity_files=(NO_IDENTITY,), identities_only=False)
    let_in(replace(target, agent=agent.environment["SSH_AUTH_SOCK"]), lab_host.known_hosts)
    monkeypatch.setenv("SSH_AUTH_SOCK", agent.environment["SSH_AUTH_SOCK"])
    let_in(target, lab_host.known_hosts)
    assert refused(replace(target, agent=""), lab_host.known_hosts).outcome is ConnectOutcome.AUTH_REFUSED


def test_an_agent_that_is_gone_does_no_harm(lab_host: LabHost, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_AUTH_SOCK", "/nowhere/at/all")
    let_in(lab_host.target(), lab_host.known_hosts)


# Passwords, from a server that needs no PAM
def scripted_target(server: ScriptedServer, folder: Path) -> tuple[SshTarget, Path]:
    known_hosts = folder / "known_hosts"
    known_hosts.write_text(server.known_hosts_line)
    return SshTarget("lab", "127.0.0.1", server.port, "ada"), known_hosts


def test_a_password(serve: Serve, tmp_path: Path) -> None:
    server = serve(Script(methods="publickey,password", password="right"))
    asker = AnsweringAsker(secrets=["wrong", "right"])
    let_in(*scripted_target(server, tmp_path), asker)
    assert [question.attempt for question in asker.secret_questions] == [1, 2]
    assert asker.secret_questions[0].prompt == "Password of ada on lab"
    assert asker.secret_questions[0].key_path is None


def test_wrong_passwords(serve: Serve, tmp_path: Path) -> None:
    server = serve(Script(methods="password", password="right"))
    asker = AnsweringAsker(secrets=["wrong"] * 9)
    error = refused(*scripted_target(server, tmp_path), asker)
    assert error.outcome is ConnectOutcome.AUTH_REFUSED
    assert "password (3 times)" in error.message
    assert "wrong" not in error.message
    assert len(asker.secret_questions) == ATTEMPTS


def test_keyboard_interactive_shows_the_server_s_own_prompts(serve: Serve, tmp_path: Path) -> None:
    script = Script(
        methods="keyboard-interactive", prompts=["Pass\x1b[1mword:", "Token:"], answers=["secret", "123456"]
    )
    asker = AnsweringAsker(secrets=["secret", "123456"])
    let_in(*scripted_target(serve(script), tmp_path), asker)
    assert [question.prompt for question in asker.secret_questions] == [
        MESSAGES["welcome_to_the_lab_pass"],
        MESSAGES["welcome_to_the_lab_token"],
    ]
    assert not any(question.lasting for question in asker.secret_questions)  # a token is another the next time


def test_wrong_answers_are_not_tried_again_as_a_password(serve: Serve, tmp_path: Path) -> None:
    script = Script(methods="keyboard-interactive,password", prompts=["Password:"], answers=["right"])
    asker = AnsweringAsker(secrets=["wrong"] * 9)
    error = refused(*scripted_target(serve(script), tmp_path), asker)
    assert error.outcome is ConnectOutcome.AUTH_REFUSED
    assert len(asker.secret_questions) == ATTEMPTS
    assert "password" not in script.asked


def test_a_server_with_nothing_to_ask_is_given_the_password(serve: Serve, tmp_path: Path) -> None:
    script = Script(methods="keyboard-interactive,password", password="right")
    let_in(*scripted_target(serve(script), tmp_path), AnsweringAsker(secrets=["right"]))


def test_giving_up_on_a_password(serve: Serve, tmp_path: Path) -> None:
    for methods, prompts in (("password", []), ("keyboard-interactive", ["Password:"])):
        server = serve(Script(methods=methods, prompts=prompts, password="right"))
        assert refused(*scripted_target(server, tmp_path)).outcome is ConnectOutcome.CANCELLED


@pytest.mark.parametrize("methods", ["publickey,password", "publickey,keyboard-interactive"])
def test_a_refused_key_is_named_where_no_password_can_be_entered(
    serve: Serve, tmp_path: Path, lab_keys: LabKeys, methods: str
) -> None:
    class Refusing(Script):
        def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
            return AUTH_FAILED

    script = Refusing(methods=methods, prompts=["Code:"], password="right")
    target, known_hosts = scripted_target(serve(script), tmp_path)
    error = refused(replace(target, identity_files=(lab_keys.stranger,)), known_hosts, RefusingAsker())
    assert error.outcome is ConnectOutcome.AUTH_REFUSED
    assert f"key file {lab_keys.stranger}; {methods.partition(',')[2]} (no terminal to enter it on)." in error.message


def test_a_key_and_then_a_password(serve: Serve, tmp_path: Path, lab_keys: LabKeys) -> None:
    script = Script(methods="publickey", then="password", password="right")
    target, known_hosts = scripted_target(serve(script), tmp_path)
    target = replace(target, identity_files=(lab_keys.client,))
    let_in(target, known_hosts, AnsweringAsker(secrets=["right"]))
    assert script.asked[-1] == "password"


def test_a_password_and_then_a_token(serve: Serve, tmp_path: Path) -> None:
    # The order of the steps is the server's, not ours.
    script = Script(
        methods="password", then="keyboard-interactive", password="right", prompts=["Token:"], answers=["123456"]
    )
    let_in(*scripted_target(serve(script), tmp_path), AnsweringAsker(secrets=["right", "123456"]))


def test_a_host_that_lets_everybody_in(serve: Serve, tmp_path: Path) -> None:
    let_in(*scripted_target(serve(Script(methods="none")), tmp_path))


def test_a_host_that_leaves_while_the_user_thinks(serve: Serve, tmp_path: Path) -> None:
    server = serve(Script(methods="password", password="right"))
    target, known_hosts = scripted_target(server, tmp_path)

    class SlowAsker(AnsweringAsker):
        def secret(self, question: object) -> str | None:
            server.close()
            return "right"

    assert refused(target, known_hosts, SlowAsker()).outcome in {ConnectOutcome.PROTOCOL, ConnectOutcome.AUTH_REFUSED}
