"""Questions that only the user may answer, as data; whoever has the user's eye answers them."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class HostKeyQuestion:
    """Is this the right host? Asked when its key is not in known_hosts.

    `fingerprint` is OpenSSH's form, ``SHA256:`` and unpadded base64. `via` names the jump host, if any. `known_hosts`
    is empty where the key will not be written down. `note` says what else is to be known, such as a setting of
    ~/.ssh/config that is not followed.
    """

    host: str
    address: str
    port: int
    key_type: str
    fingerprint: str
    known_hosts: str
    via: str | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class SecretQuestion:
    """A password, a passphrase for the key in `key_path`, or another prompt the server sends.

    With a `purpose` it is the password that sudo asks for, to run something as root: `purpose` says what, as in
    "drop the page cache before each trial". `place` is where a password is sent, as ``address:port``. `lasting` says
    that the answer will be right the next time, too, unlike that of a token; `echo` that it may be seen as it is
    typed; `may_keep` that the system's keyring could keep it.
    """

    host: str
    user: str
    prompt: str
    key_path: str | None = None
    attempt: int = 1
    purpose: str = ""
    place: str = ""
    lasting: bool = False
    echo: bool = False
    may_keep: bool = False


@dataclass(frozen=True, slots=True)
class LocalProgramQuestion:
    """May a program run on this computer? `setting` is the one of ~/.ssh/config that asks for it, at `path`, `line`.

    `command` is the line that the user's shell is given, to the letter.
    """

    host: str
    setting: str
    command: str
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class LossQuestion:
    """May everything on a device be lost? `facts` are what the host says of it, in words, by name.

    The user types `confirmation`, which no other device has; `confirmed_by` says what it is, such as "serial number".
    """

    host: str
    device: str
    facts: tuple[tuple[str, str], ...]
    confirmation: str
    confirmed_by: str


@dataclass(frozen=True, slots=True)
class ConsentItem:
    """One thing that a plan does, and where, such as “Executes on web-1”; `what` of the plan it is.

    `text` is verbatim, but for characters that do not show, which are escaped.
    """

    action: str
    what: str
    text: str


@dataclass(frozen=True, slots=True)
class ConsentQuestion:
    """May a plan do more than run benchmark tools? `items` are all that was not agreed to before, nothing cut."""

    plan: str
    items: tuple[ConsentItem, ...]


class Asker(Protocol):
    """Answers questions; called on a worker thread, and blocks until there is an answer."""

    def host_key(self, question: HostKeyQuestion) -> bool:
        """Return whether the key is to be trusted and appended to known_hosts."""
        ...

    def secret(self, question: SecretQuestion) -> str | None:
        """Return the secret, or None to give up."""
        ...

    def remember(self, question: SecretQuestion) -> bool:
        """Return whether the user wants the system's keyring to keep the secret of `question`, which has worked."""
        ...

    def local_program(self, question: LocalProgramQuestion) -> bool:
        """Return whether the program may run."""
        ...

    def confirm_loss(self, question: LossQuestion) -> str | None:
        """Return what the user typed to confirm the loss, or None to give up. Only the confirmation itself counts."""
        ...

    def consent(self, question: ConsentQuestion) -> bool:
        """Return whether the user has read what a plan does, and agrees to all of it."""
        ...


class Refuse:
    """An asker for when there is nobody to ask: no key is accepted, no secret known, no program run, nothing lost or
    agreed to."""

    def host_key(self, question: HostKeyQuestion) -> bool:  # noqa: ARG002 (the protocol's)
        """Refuse."""
        return False

    def secret(self, question: SecretQuestion) -> str | None:  # noqa: ARG002 (the protocol's)
        """Know none."""
        return None

    def remember(self, question: SecretQuestion) -> bool:  # noqa: ARG002 (the protocol's)
        """Keep nothing."""
        return False

    def local_program(self, question: LocalProgramQuestion) -> bool:  # noqa: ARG002 (the protocol's)
        """Refuse."""
        return False

    def confirm_loss(self, question: LossQuestion) -> str | None:  # noqa: ARG002 (the protocol's)
        """Lose nothing."""
        return None

    def consent(self, question: ConsentQuestion) -> bool:  # noqa: ARG002 (the protocol's)
        """Agree to nothing."""
        return False
