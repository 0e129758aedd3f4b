"""Questions that only the user may answer, as data; whoever has the user's eye answers them."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class HostKeyQuestion:
    """Is this the right host? Asked when its key is not in known_hosts.

    `fingerprint` is OpenSSH's form, ``SHA256:`` and unpadded base64. `via` names the jump host, if any.
    """

    host: str
    address: str
    port: int
    key_type: str
    fingerprint: str
    known_hosts: str
    via: str | None = None


@dataclass(frozen=True, slots=True)
class SecretQuestion:
    """A password, a passphrase for the key in `key_path`, or another prompt the server sends.

    With a `purpose` it is the password that sudo asks for, to run something as root: `purpose` says what, as in
    "drop the page cache before each trial".
    """

    host: str
    user: str
    prompt: str
    key_path: str | None = None
    attempt: int = 1
    purpose: str = ""


class Asker(Protocol):
    """Answers questions; called on a worker thread, and blocks until there is an answer."""

    def host_key(self, question: HostKeyQuestion) -> bool:
        """Return whether the key is to be trusted and appended to known_hosts."""
        ...

    def secret(self, question: SecretQuestion) -> str | None:
        """Return the secret, or None to give up. It is never stored."""
        ...


class Refuse:
    """An asker for when there is nobody to ask: no key is accepted, no secret is known."""

    def host_key(self, question: HostKeyQuestion) -> bool:  # noqa: ARG002 (the protocol's)
        """Refuse."""
        return False

    def secret(self, question: SecretQuestion) -> str | None:  # noqa: ARG002 (the protocol's)
        """Know none."""
        return None
