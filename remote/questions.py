"""Questions to the user as data, and the base class of what answers them."""

from dataclasses import dataclass

from suites.tool_messages import LONGEST_MESSAGE, printable_message


@dataclass(frozen=True, slots=True)
class HostKeyQuestion:
    """Whether to trust a host key that is not in known_hosts.

    `fingerprint` is in OpenSSH's form, ``SHA256:`` and unpadded base64. `via` names the jump host, if any.
    `known_hosts` is empty if the key will not be saved. `note` is an extra remark, such as a setting of ~/.ssh/config
    that is ignored.
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
    """A password, a passphrase for the key in `key_path`, or another prompt of the server.

    With a `purpose` it is the sudo password, and `purpose` is what root is needed for, as in "drop the page cache
    before each trial". `address` is the ``address:port`` that receives a password. `lasting`: the answer can be reused,
    unlike a one-time code. `echo`: the input may be shown while typing. `may_keep`: the system keyring can store it.
    """

    host: str
    user: str
    prompt: str
    key_path: str | None = None
    attempt: int = 1
    purpose: str = ""
    address: str = ""
    lasting: bool = False
    echo: bool = False
    may_keep: bool = False


@dataclass(frozen=True, slots=True)
class LocalProgramQuestion:
    """Whether a program may run on this computer. `setting` is the ssh_config keyword, at `path`, `line`.

    `command` is the exact line that is passed to the user's shell.
    """

    host: str
    setting: str
    command: str
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class LossQuestion:
    """Whether all data on a device may be destroyed. `facts` are (name, text) pairs that the host reports.

    The user types `confirmation`, which is unique to the device; `confirmed_by` names it, such as "serial number".
    """

    host: str
    device: str
    facts: tuple[tuple[str, str], ...]
    confirmation: str
    confirmed_by: str


@dataclass(frozen=True, slots=True)
class ConsentItem:
    """One action of a plan with its host, such as “Executes on web-1”; `what` is the part of the plan.

    `text` is verbatim, with unprintable characters escaped.
    """

    action: str
    what: str
    text: str


@dataclass(frozen=True, slots=True)
class ConsentQuestion:
    """Whether a plan may do more than run benchmark tools. `items` are all actions not yet agreed to, untruncated."""

    plan: str
    items: tuple[ConsentItem, ...]


class Asker:
    """Answers questions; what a subclass does not answer is refused.

    Called on a worker thread; blocks until there is an answer. `attended`: there is a user who can be asked.
    """

    attended = True
    expected_fingerprint: str | None = None
    """The only host key to trust, if the user named one."""

    def host_key(self, question: HostKeyQuestion) -> bool:
        """Return whether the key is to be trusted and appended to known_hosts."""
        return False

    def secret(self, question: SecretQuestion) -> str | None:
        """Return the secret, or None to give up."""
        return None

    def remember(self, question: SecretQuestion) -> bool:
        """Return whether to store the secret of `question`, which was accepted, in the system keyring."""
        return False

    def local_program(self, question: LocalProgramQuestion) -> bool:
        """Return whether the program may run."""
        return False

    def confirm_loss(self, question: LossQuestion) -> str | None:
        """Return what the user typed, to be compared with the confirmation, or None to give up."""
        return None

    def consent(self, question: ConsentQuestion) -> bool:
        """Return whether the user agrees to all of a plan's actions."""
        return False


class DelegatingAsker(Asker):
    """An asker that passes every question on to another one; a subclass answers some itself."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker
        self.attended = asker.attended
        self.expected_fingerprint = asker.expected_fingerprint

    def host_key(self, question: HostKeyQuestion) -> bool:
        """Ask; an accepted key is stored in known_hosts."""
        return self._asker.host_key(question)

    def secret(self, question: SecretQuestion) -> str | None:
        """Ask for a secret."""
        return self._asker.secret(question)

    def remember(self, question: SecretQuestion) -> bool:
        """Ask whether to store a secret."""
        return self._asker.remember(question)

    def local_program(self, question: LocalProgramQuestion) -> bool:
        """Ask whether a program may run."""
        return self._asker.local_program(question)

    def confirm_loss(self, question: LossQuestion) -> str | None:
        """Ask, every time."""
        return self._asker.confirm_loss(question)

    def consent(self, question: ConsentQuestion) -> bool:
        """Ask for consent."""
        return self._asker.consent(question)


class RefusingAsker(Asker):
    """An asker that refuses everything, for use without a user."""

    attended = False


# Text from a host made safe to display: one line, bounded, printable characters only.


def plain(text: str | bytes, longest: int = LONGEST_MESSAGE) -> str:
    """Return `text` as one line of at most `longest` characters; control, format and bidi characters become spaces."""
    if isinstance(text, bytes):
        text = text[: 4 * longest].decode("utf-8", "replace")
    return printable_message(text, longest)
