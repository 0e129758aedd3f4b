"""A host that an authority vouches for is trusted exactly where ssh trusts it; one that it does not, is not."""

import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from remote.errors import ConnectError, ConnectOutcome
from remote.ssh.connect import connect
from remote.ssh.known_hosts import host_pattern
from remote.ssh.target import HostKeyRules
from tests.lab_sshd import AnsweringAsker, LabHost, make_key
from tests.messages import messages

MESSAGES = messages("lab", "test_host_certificates")

Start = Callable[..., LabHost]


@dataclass
class Vouched:
    """A host with a certificate, and the authority that signed it."""

    host: LabHost
    authority: Path

    @property
    def authority_line(self) -> str:
        return " ".join(self.authority.with_suffix(".pub").read_text().split()[:2])

    @property
    def host_line(self) -> str:
        return " ".join(self.host.host_key.with_suffix(".pub").read_text().split()[:2])

    def know(self, *lines: str) -> None:
        name = host_pattern("127.0.0.1", self.host.port)
        text = "".join(f"{line}\n" for line in lines)
        self.host.known_hosts.write_text(text.format(name=name, ca=self.authority_line, key=self.host_line))

    def outcome(self, asker: AnsweringAsker | None = None) -> ConnectOutcome:
        try:
            connect(self.host.target(), asker or AnsweringAsker(), known_hosts=self.host.known_hosts).close()
        except ConnectError as error:
            return error.outcome
        return ConnectOutcome.CONNECTED

    def ssh_connects(self) -> bool:
        self.host.target()  # writes the configuration
        options = [
            f"UserKnownHostsFile={self.host.known_hosts}", "GlobalKnownHostsFile=/dev/null", "UpdateHostKeys=no",
            "BatchMode=yes",
        ]  # fmt: skip
        words = [
            "ssh",
            "-F",
            str(self.host.directory / "config"),
            *(word for option in options for word in ("-o", option)),
        ]
        return subprocess.run([*words, "lab", "true"], check=False, capture_output=True).returncode == 0


Vouch = Callable[..., Vouched]


@pytest.fixture
def vouch(start_lab_host: Start, tmp_path: Path) -> Vouch:
    """Return a function that starts a host with a certificate, made with the given options of ssh-keygen."""

    def make(*options: str, kind: str = "ed25519", signed_by: str = "ed25519") -> Vouched:
        authority = make_key(tmp_path / "authority", kind=signed_by)
        key = make_key(tmp_path / "key", kind=kind)
        words = ["ssh-keygen", "-q", "-s", str(authority), "-I", "lab", *(options or ("-h", "-n", "127.0.0.1"))]
        subprocess.run([*words, str(key.with_suffix(".pub"))], check=True)
        host = start_lab_host()
        host.restart(host_key=key, HostCertificate=str(tmp_path / "key-cert.pub"))
        return Vouched(host, authority)

    return make


@pytest.mark.parametrize(
    "kind", ["ed25519", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("rsa", "ecdsa"))]
)
def test_an_authority_vouches_for_a_host_without_a_question(vouch: Vouch, kind: str) -> None:
    vouched = vouch(kind=kind, signed_by=kind)
    vouched.know("@cert-authority {name} {ca}")
    asker = AnsweringAsker()
    assert vouched.outcome(asker) is ConnectOutcome.CONNECTED
    assert asker.host_key_questions == []
    assert vouched.ssh_connects()


KNOWN = {
    "by pattern": ["@cert-authority [127.0.0.*]:* {ca}"],
    "without its port": ["@cert-authority 127.0.0.1 {ca}"],
    "for another host": ["@cert-authority elsewhere {ca}"],
    "as a plain key": ["{name} {ca}"],
    "another authority": ["@cert-authority {name} {key}"],
    "and the key itself": ["@cert-authority elsewhere {ca}", "{name} {key}"],
    "and revoked": ["@cert-authority {name} {ca}", "@revoked * {ca}"],
    "and the key revoked": ["@cert-authority {name} {ca}", "@revoked * {key}"],
    "and another key": ["@cert-authority {name} {ca}", "{name} {ca}"],
}


@pytest.mark.parametrize("lines", list(KNOWN.values()), ids=list(KNOWN))
def test_what_an_authority_is_known_for_is_what_ssh_knows_it_for(vouch: Vouch, lines: list[str]) -> None:
    vouched = vouch()
    vouched.know(*lines)
    assert (vouched.outcome() is ConnectOutcome.CONNECTED) is vouched.ssh_connects()


CERTIFICATES = {
    "for a user": ("-n", "127.0.0.1"),
    "for another name": ("-h", "-n", "web.example.org"),
    "for any name": ("-h",),
    "for a pattern": ("-h", "-n", "127.*"),
    "expired": ("-h", "-n", "127.0.0.1", "-V", "20200101:20200102"),
    "not yet valid": ("-h", "-n", "127.0.0.1", "-V", "20400101:20410101"),
    "with a condition": ("-h", "-n", "127.0.0.1", "-O", "critical:new@example.org=1"),
}


@pytest.mark.parametrize("options", list(CERTIFICATES.values()), ids=list(CERTIFICATES))
def test_a_certificate_holds_where_it_holds_for_ssh(vouch: Vouch, options: tuple[str, ...]) -> None:
    vouched = vouch(*options)
    vouched.know("@cert-authority {name} {ca}")
    assert (vouched.outcome() is ConnectOutcome.CONNECTED) is vouched.ssh_connects()


def test_a_certificate_that_does_not_hold_is_said_and_its_key_asked_about(vouch: Vouch) -> None:
    vouched = vouch("-h", "-n", "127.0.0.1", "-V", "20200101:20200102")
    vouched.know("@cert-authority {name} {ca}")
    asker = AnsweringAsker(accept_host_key=True)
    assert vouched.outcome(asker) is ConnectOutcome.CONNECTED
    (question,) = asker.host_key_questions
    assert MESSAGES["certificate_that_does_not"] in question.note
    assert question.fingerprint == vouched.host.fingerprint
    assert vouched.outcome() is ConnectOutcome.CONNECTED  # the key itself is known from now on


def test_an_authority_that_is_revoked_is_refused_by_its_line(vouch: Vouch) -> None:
    vouched = vouch()
    vouched.know("@cert-authority {name} {ca}", "@revoked * {ca}")
    assert vouched.outcome(AnsweringAsker(accept_host_key=True)) is ConnectOutcome.KEY_REVOKED


# How the configuration wants keys checked
def test_a_host_is_known_by_its_alias_without_a_port(lab_host: LabHost) -> None:
    known = lab_host.known_hosts.read_text().split(" ", 1)[1]
    lab_host.known_hosts.write_text(f"i-0123 {known}")
    target = replace(lab_host.target(), host_key=HostKeyRules(alias="i-0123"))
    connect(target, AnsweringAsker(), known_hosts=lab_host.known_hosts).close()
    lab_host.restart(host_key=lab_host.keys.other_host)
    with pytest.raises(ConnectError) as caught:
        connect(target, AnsweringAsker(), known_hosts=lab_host.known_hosts)
    assert f"ssh-keygen -R i-0123 -f {lab_host.known_hosts}" in caught.value.remedy


def test_the_files_that_are_named_are_read_and_the_first_is_written(lab_host: LabHost, tmp_path: Path) -> None:
    first, second, system = tmp_path / "first", tmp_path / "second", tmp_path / "system"
    rules = HostKeyRules(user_files=(first, second), global_files=(system,), hashed=True)
    target = replace(lab_host.target(), host_key=rules)
    asker = AnsweringAsker(accept_host_key=True)
    connect(target, asker).close()
    assert asker.host_key_questions[0].known_hosts == str(first)
    assert first.read_text().startswith("|1|")
    connect(target, AnsweringAsker()).close()
    first.unlink()
    system.write_text(lab_host.known_hosts_line)
    connect(target, AnsweringAsker()).close()


def test_with_no_file_an_accepted_key_is_not_written_down(lab_host: LabHost) -> None:
    target = replace(lab_host.target(), host_key=HostKeyRules(user_files=(), global_files=()))
    asker = AnsweringAsker(accept_host_key=True)
    connect(target, asker).close()
    assert asker.host_key_questions[0].known_hosts == ""
    assert not (Path.home() / ".ssh").exists()


def test_a_strict_configuration_refuses_an_unknown_key_without_a_question(lab_host: LabHost, tmp_path: Path) -> None:
    target = lab_host.target(more="  StrictHostKeyChecking yes\n")
    asker = AnsweringAsker(accept_host_key=True)
    with pytest.raises(ConnectError, match="StrictHostKeyChecking is yes") as caught:
        connect(target, asker, known_hosts=tmp_path / "none")
    assert caught.value.outcome is ConnectOutcome.KEY_UNKNOWN
    assert asker.host_key_questions == []


@pytest.mark.parametrize("word", ["no", "accept-new"])
def test_a_lax_configuration_is_asked_about_all_the_same(lab_host: LabHost, tmp_path: Path, word: str) -> None:
    target = lab_host.target(more=f"  StrictHostKeyChecking {word}\n")
    asker = AnsweringAsker(accept_host_key=False)
    with pytest.raises(ConnectError) as caught:
        connect(target, asker, known_hosts=tmp_path / "none")
    assert f"StrictHostKeyChecking {word}" in asker.host_key_questions[0].note
    assert "is ignored" in caught.value.message
    lab_host.restart(host_key=lab_host.keys.other_host)
    with pytest.raises(ConnectError) as caught:
        connect(target, asker, known_hosts=lab_host.known_hosts)
    assert caught.value.outcome is ConnectOutcome.KEY_CHANGED
