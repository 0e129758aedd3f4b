"""The system's keyring, where it is one that encrypts: GNOME's, KDE's, macOS's or Windows's."""

import logging
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # Imported where it is used: looking for keyrings takes a tenth of a second.
    from keyring.backend import KeyringBackend

log = logging.getLogger(__name__)

SERVICE = "Benchwright"

SECURE = frozenset(
    {
        "keyring.backends.SecretService",
        "keyring.backends.libsecret",
        "keyring.backends.kwallet",
        "keyring.backends.macOS",
        "keyring.backends.Windows",
    }
)
"""The only keyrings that are used. Others keep secrets in plain text, under a password in a file, or not at all."""


def is_secure(backend: "KeyringBackend") -> bool:
    """Return whether a keyring encrypts what it keeps; one that is made of several does if each of them does."""
    module = type(backend).__module__
    if module == "keyring.backends.chainer":
        parts = backend.backends  # type: ignore[attr-defined]  # every chain has them
        return bool(parts) and all(type(part).__module__ in SECURE for part in parts)
    return module in SECURE


class SystemKeyring:
    """The keyring the user has, looked for when it is first needed. What fails is logged, never raised or guessed."""

    def __init__(self, backend: "KeyringBackend | None" = None) -> None:
        """Use `backend`, or the one the system has if that is secure."""
        self._backend = backend
        self._looked = backend is not None
        self._lock = threading.Lock()

    @property
    def usable(self) -> bool:
        """Whether there is a keyring that encrypts."""
        return self._found() is not None

    def get(self, account: str) -> str | None:
        """Return the secret of an account, or None where none is kept."""
        from keyring.errors import KeyringError

        backend = self._found()
        try:
            return None if backend is None else backend.get_password(SERVICE, account)
        except KeyringError:
            log.warning("the keyring could not be read", exc_info=True)
            return None

    def set(self, account: str, secret: str) -> None:
        """Keep the secret of an account."""
        from keyring.errors import KeyringError

        backend = self._found()
        try:
            if backend is not None:
                backend.set_password(SERVICE, account, secret)
        except KeyringError:
            log.warning("the keyring could not be written: the secret will be asked for again", exc_info=True)

    def delete(self, account: str) -> None:
        """Keep the secret of an account no longer."""
        from keyring.errors import KeyringError

        backend = self._found()
        try:
            if backend is not None:
                backend.delete_password(SERVICE, account)
        except KeyringError:
            log.warning("the keyring could not forget a secret", exc_info=True)

    def _found(self) -> "KeyringBackend | None":
        with self._lock:
            if not self._looked:
                self._looked = True
                self._backend = _of_the_system()
            return self._backend


def _of_the_system() -> "KeyringBackend | None":
    import keyring

    backend = keyring.get_keyring()
    if is_secure(backend):
        return backend
    log.info("no keyring that encrypts: %s.%s is not used", type(backend).__module__, type(backend).__qualname__)
    return None
