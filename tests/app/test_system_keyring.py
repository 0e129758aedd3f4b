"""Only a keyring that encrypts is ever used, and one that fails costs a question, nothing else."""

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends import SecretService, chainer, fail, kwallet, libsecret, null

from app.system_keyring import SERVICE, SystemKeyring, is_secure
from tests.app.keyring_in_memory import KeyringInMemory


class PlaintextKeyring(KeyringInMemory):
    """Stands for keyrings.alt's, which writes a file anybody can read."""


def made(kind: type[KeyringBackend]) -> KeyringBackend:
    return kind.__new__(kind)  # without looking for the service, which need not run here


def chain(*parts: KeyringBackend) -> KeyringBackend:
    class Chain(chainer.ChainerBackend):
        priority = -1
        backends = tuple(parts)  # a property of the real one

    Chain.__module__ = "keyring.backends.chainer"
    return made(Chain)


@pytest.mark.parametrize("kind", [SecretService.Keyring, libsecret.Keyring, kwallet.DBusKeyring])
def test_a_desktop_s_keyring_is_used(kind: type[KeyringBackend]) -> None:
    assert is_secure(made(kind))
    assert is_secure(chain(made(kind), made(SecretService.Keyring)))


@pytest.mark.parametrize("backend", [made(null.Keyring), made(fail.Keyring), PlaintextKeyring()])
def test_no_other_is(backend: KeyringBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_secure(backend)
    assert not is_secure(chain())
    assert not is_secure(chain(made(SecretService.Keyring), backend))
    monkeypatch.setattr(keyring, "get_keyring", lambda: backend)
    found = SystemKeyring()
    assert not found.usable
    found.set("account", "secret")
    assert found.get("account") is None
    found.delete("account")
    if isinstance(backend, PlaintextKeyring):
        assert backend.kept == {}


def test_a_secret_is_kept_under_our_own_name() -> None:
    backend = KeyringInMemory()
    found = SystemKeyring(backend)
    found.set("password of ada@web:22", "secret")
    assert backend.kept == {(SERVICE, "password of ada@web:22"): "secret"}
    assert found.get("password of ada@web:22") == "secret"
    found.delete("password of ada@web:22")
    assert backend.kept == {}
    found.delete("password of ada@web:22")


def test_a_locked_keyring_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    backend = KeyringInMemory()
    backend.locked = True
    found = SystemKeyring(backend)
    found.set("account", "s3cret-value")
    assert found.get("account") is None
    found.delete("account")
    assert "s3cret-value" not in caplog.text
