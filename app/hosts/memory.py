"""What the user has said once need not be said again while the program runs: secrets that worked, programs allowed.

Nothing of it is written to a file. The system's keyring is told of a secret only where the user asks for that.
"""

import contextlib
import threading
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from app.hosts.system_keyring import SystemKeyring
from remote.questions import Asker, ConsentQuestion, HostKeyQuestion, LocalProgramQuestion, LossQuestion, SecretQuestion


def account(question: SecretQuestion) -> str | None:
    """Return what a secret belongs to: a key file, or a user at an address; None for one that changes every time."""
    if not question.lasting:
        return None
    if question.key_path is not None:
        return key_account(question.key_path)
    return password_account(question.user, question.place) if question.place else None


def key_account(path: str) -> str:
    """Return the account of a key file's passphrase."""
    return f"passphrase of {path}"


def password_account(user: str, place: str) -> str:
    """Return the account of a password."""
    return f"password of {user}@{place}"


class Memory:
    """Secrets by account, and the programs that may run, until the program ends. Any thread may use it."""

    def __init__(self, keyring: SystemKeyring | None = None) -> None:
        self.keyring = keyring or SystemKeyring()
        self._secrets: dict[str, str] = {}
        self._allowed: set[tuple[str, str]] = set()
        self._turns: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._lock = threading.Lock()

    def asker(self, asker: Asker) -> "RememberingAsker":
        """Return an asker for one attempt to connect, which asks `asker` only what is not known."""
        return RememberingAsker(asker, self)

    @contextlib.contextmanager
    def turn(self, about: str) -> Iterator[None]:
        """Let only one ask about a thing at a time: of a hundred hosts with one key, the first asks for all."""
        with self._lock:
            turn = self._turns[about]
        with turn:
            yield

    def secret(self, account: str) -> str | None:
        """Return the secret of an account, from the keyring where nobody has given it yet."""
        with self._lock:
            known = self._secrets.get(account)
        return self.keyring.get(account) if known is None else known

    def learn(self, account: str, secret: str) -> None:
        """Know the secret of an account."""
        with self._lock:
            self._secrets[account] = secret

    def doubt(self, account: str, secret: str) -> None:
        """Forget `secret`, should it be what is known of an account. The keyring keeps it: the host may be to blame."""
        with self._lock:
            if self._secrets.get(account) == secret:
                del self._secrets[account]

    def forget(self, account: str) -> bool:
        """Forget the secret of an account, in the keyring, too; return whether there was one."""
        with self._lock:
            known = self._secrets.pop(account, None)
        kept = self.keyring.get(account)
        if kept is not None:
            self.keyring.delete(account)
        return known is not None or kept is not None

    def allowed(self, question: LocalProgramQuestion) -> bool:
        """Return whether exactly this program has been allowed."""
        return (question.setting, question.command) in self._allowed

    def allow(self, question: LocalProgramQuestion) -> None:
        """Let exactly this program run from now on."""
        self._allowed.add((question.setting, question.command))


class RememberingAsker:
    """An asker for one attempt to connect. Whoever connects says how it went: `worked` or `failed`."""

    def __init__(self, asker: Asker, memory: Memory) -> None:
        self._asker = asker
        self._memory = memory
        self._used: dict[str, str] = {}
        self._asked: dict[str, SecretQuestion] = {}

    def host_key(self, question: HostKeyQuestion) -> bool:
        """Ask: an accepted key is in known_hosts from then on."""
        return self._asker.host_key(question)

    def secret(self, question: SecretQuestion) -> str | None:
        """Return the secret that is known, or ask where there is none or it was not accepted."""
        about = account(question)
        if about is None:
            return self._asker.secret(question)
        with self._memory.turn(about):
            wrong = self._used.pop(about, None) if question.attempt > 1 else None
            known = self._memory.secret(about)
            if known is not None and known == wrong:
                self._memory.forget(about)
                known = None
            if known is None:
                asked = replace(question, may_keep=self._memory.keyring.usable)
                known = self._asker.secret(asked)
                if known is None:
                    return None
                self._asked[about] = asked
                self._memory.learn(about, known)
            self._used[about] = known
            return known

    def remember(self, question: SecretQuestion) -> bool:
        """Ask."""
        return self._asker.remember(question)

    def consent(self, question: ConsentQuestion) -> bool:
        """Ask: what was agreed to is remembered elsewhere."""
        return self._asker.consent(question)

    def local_program(self, question: LocalProgramQuestion) -> bool:
        """Return whether a program may run: asked once for exactly its words, for as long as Benchwright runs."""
        with self._memory.turn(f"{question.setting} {question.command}"):
            if not self._memory.allowed(question) and self._asker.local_program(question):
                self._memory.allow(question)
            return self._memory.allowed(question)

    def confirm_loss(self, question: LossQuestion) -> str | None:
        """Ask, every time."""
        return self._asker.confirm_loss(question)

    def worked(self) -> None:
        """Put into the keyring what the user wants to be there: every secret used has been accepted."""
        for about, question in self._asked.items():
            if question.may_keep and self._asker.remember(question):
                self._memory.keyring.set(about, self._used[about])

    def failed(self) -> None:
        """Forget every secret that was used: one of them was wrong, or is no longer right."""
        for about, secret in self._used.items():
            self._memory.doubt(about, secret)
