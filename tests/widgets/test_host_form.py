"""What may be typed for a host, and what is said where it may not."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.hosts.hosts import HostEntry
from widgets.hosts.add_host_dialog import FIELDS, entry, faults, typed


def test_a_name_alone_is_enough() -> None:
    assert faults({"name": "web-1"}) == {}
    assert entry({"name": " web-1 "}) == HostEntry("web-1")


def test_everything_typed_is_kept_and_comes_back() -> None:
    key = Path.home() / "key"
    key.write_text("a key")
    texts = ("web-1", "192.0.2.14", "2222", "ann", "~/key", "ops@bastion:22, [2001:db8::1]:2200")
    given_texts = dict(zip(FIELDS, texts, strict=True))
    assert faults(given_texts) == {}
    made = entry(given_texts)
    assert (made.host_name, made.port, made.user) == ("192.0.2.14", 2222, "ann")
    assert typed(made) == given_texts


@pytest.mark.parametrize(
    ("field", "text", "shown"),
    [
        ("name", "", "Enter a name"),
        ("name", "local", "this computer"),
        ("name", "web 1", "spaces"),
        ("name", "-oProxyCommand=sh", "leading dash"),
        ("name", "taken", "already"),
        ("host_name", "a;rm", "Not an address"),
        ("host_name", "a" * 256, "Longer"),
        ("port", "0", "1 to 65535"),
        ("port", "65536", "1 to 65535"),
        ("port", "2 2", "1 to 65535"),
        ("port", "²", "1 to 65535"),
        ("user", "an n", "Not a user name"),
        ("identity_file", "/nowhere/key", "No such file"),
        ("identity_file", "~nosuchuser/key", "No such file"),
        ("identity_file", "k" * 300, "No such file"),
        ("identity_file", "key.pub", "public key"),
        ("jump", "bastion:port", "user@host:port"),
        ("jump", "-oProxyCommand=sh", "user@host:port"),
    ],
)
def test_each_fault_is_said_beside_its_field(field: str, text: str, shown: str) -> None:
    texts = {"name": "web-1"} | {field: text}
    found = faults(texts, frozenset({"taken"}))
    assert list(found) == [field]
    assert shown in found[field]


@pytest.mark.slow
@given(st.text(max_size=300))
def test_nothing_typed_breaks_the_form_and_nothing_odd_is_accepted(text: str) -> None:
    for field in ("name", "host_name", "user"):
        found = faults({"name": "web-1"} | {field: text})
        if field not in found and text.strip():
            kept = text.strip()
            assert not kept.startswith("-")
            assert not any(character.isspace() or ord(character) < 32 for character in kept)
