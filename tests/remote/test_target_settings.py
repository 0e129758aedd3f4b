"""Single settings of the ssh configuration, from their words to values."""

import socket
from pathlib import Path

import pytest

from remote.ssh.target import ALIVE, HostKeyRules, Keepalive
from tests.remote.targets import config, resolved

__all__ = ["config"]  # a fixture


@pytest.mark.parametrize(
    ("text", "seconds"), [("10", 10.0), ("2m", 120.0), ("1h30m", 5400.0), ("none", 10.0), ("0", 10.0)]
)
def test_times(config: Path, text: str, seconds: float) -> None:
    assert resolved(config, f"ConnectTimeout {text}\n").connect_timeout == seconds


def test_how_host_keys_are_checked(config: Path) -> None:
    text = (
        "Host lab\n HostKeyAlias web\n UserKnownHostsFile ~/a %d/b-%k\n GlobalKnownHostsFile /c\n HashKnownHosts yes\n"
        "Host strict\n StrictHostKeyChecking yes\n UserKnownHostsFile none\n"
    )
    home = Path.home()
    rules = HostKeyRules("web", (home / "a", home / "b-web"), (Path("/c"),), ask=True, hashed=True)
    assert resolved(config, text).host_key == rules
    assert resolved(config, text).known_as == ("web", 22)
    assert resolved(config, text, "strict").host_key == HostKeyRules(user_files=(), ask=False)
    assert resolved(config, text, "strict:2222").known_as == ("strict", 2222)


@pytest.mark.parametrize("word", ["no", "off", "accept-new"])
def test_a_key_is_never_accepted_without_a_word_whatever_is_configured(config: Path, word: str) -> None:
    rules = resolved(config, f"StrictHostKeyChecking {word}\n").host_key
    assert rules.ask
    assert f"StrictHostKeyChecking {word} ({config}, line 1) is ignored" in rules.note


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ("IdentityAgent none\n", ""),
        ("IdentityAgent SSH_AUTH_SOCK\n", None),
        ("IdentityAgent $LAB_AGENT\n", "/run/agent"),
        ("IdentityAgent ${LAB_AGENT}-%n\n", "/run/agent-lab"),
        ("IdentityAgent $NO_SUCH_VARIABLE\n", ""),
        ("IdentityAgent /a/b\n", "/a/b"),
    ],
)
def test_which_agent(config: Path, monkeypatch: pytest.MonkeyPatch, text: str, expected: str | None) -> None:
    monkeypatch.setenv("LAB_AGENT", "/run/agent")
    assert resolved(config, text).agent == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ServerAliveInterval 2\n", Keepalive(2.0, 6.0)),
        ("ServerAliveInterval 2\nServerAliveCountMax 5\n", Keepalive(2.0, 10.0)),
        ("ServerAliveInterval 1m\n", Keepalive(5.0, 180.0)),  # a stall is told at once, however long it is borne
        ("ServerAliveInterval 0\n", ALIVE),
        ("ServerAliveCountMax 1\n", ALIVE),
    ],
)
def test_how_long_silence_is_borne(config: Path, text: str, expected: Keepalive) -> None:
    assert resolved(config, text).alive == expected


def test_the_kind_of_address(config: Path) -> None:
    assert resolved(config, "AddressFamily inet6\n").family is socket.AF_INET6
    assert resolved(config, "AddressFamily inet\n").family is socket.AF_INET
    assert resolved(config, "AddressFamily any\n").family is socket.AF_UNSPEC


def test_certificates_are_named_like_keys(config: Path) -> None:
    files = resolved(config, "CertificateFile ~/a-cert.pub\nCertificateFile /b-%r\nUser ada\n").certificate_files
    assert files == (Path.home() / "a-cert.pub", Path("/b-ada"))
