"""The keyring of the desktop or the system, if it encrypts: passwords of hosts and of libraries on servers."""

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

log = logging.getLogger(__name__)

T = TypeVar("T")

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
"""Keyring backends in use. Others store secrets in plain text, in a password-protected file, or not at all."""


def is_secure(backend: "KeyringBackend") -> bool:
    """Return whether a keyring encrypts its secrets; a chain does if every member does."""
    module = type(backend).__module__
    if module == "keyring.backends.chainer":
        parts = getattr(backend, "backends", ())
        return bool(parts) and all(type(part).__module__ in SECURE for part in parts)
    return module in SECURE


class SystemKeyring:
    """The system keyring, looked up on first use. Errors are logged, not raised."""

    def __init__(self, backend: "KeyringBackend | None" = None) -> None:
        """Use `backend`, or the system's own if it is secure."""
        self._backend = backend
        self._searched = backend is not None
        self._lock = threading.Lock()

    @property
    def usable(self) -> bool:
        """Whether an encrypting keyring exists."""
        return self._usable_backend() is not None

    def get(self, account: str) -> str | None:
        """Return the secret of an account, or None."""
        return self._attempt("cannot read the keyring", lambda backend: backend.get_password(SERVICE, account))

    def set(self, account: str, secret: str) -> None:
        """Store the secret of an account."""
        failed = "cannot write to the keyring: the secret is not stored"
        self._attempt(failed, lambda backend: backend.set_password(SERVICE, account, secret))

    def delete(self, account: str) -> None:
        """Delete the secret of an account."""
        failed = "cannot delete a secret from the keyring"
        self._attempt(failed, lambda backend: backend.delete_password(SERVICE, account))

    def _attempt(self, failed: str, work: "Callable[[KeyringBackend], T]") -> "T | None":
        """Return the result of `work` on the keyring; None without one, or if it fails."""
        from keyring.errors import KeyringError

        backend = self._usable_backend()
        try:
            return None if backend is None else work(backend)
        except KeyringError:
            log.warning("%s", failed, exc_info=True)
            return None

    def _usable_backend(self) -> "KeyringBackend | None":
        with self._lock:
            if not self._searched:
                self._searched = True
                self._backend = _system_backend()
            return self._backend


def _system_backend() -> "KeyringBackend | None":
    import keyring

    backend = keyring.get_keyring()
    if is_secure(backend):
        return backend
    log.info("no encrypting keyring: %s.%s is not used", type(backend).__module__, type(backend).__qualname__)
    return None
