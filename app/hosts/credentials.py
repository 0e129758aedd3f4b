"""Cache of accepted secrets and allowed programs, in memory; in the system keyring only on request."""

import contextlib
import threading
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from app.system_keyring import SystemKeyring
from remote.questions import Asker, DelegatingAsker, LocalProgramQuestion, SecretQuestion


def account(question: SecretQuestion) -> str | None:
    """Return the account of a secret: a key file, or a user at an address; None for a one-time secret."""
    if not question.lasting:
        return None
    if question.key_path is not None:
        return key_account(question.key_path)
    return password_account(question.user, question.address) if question.address else None


def key_account(path: str) -> str:
    """Return the account of a key file's passphrase."""
    return f"passphrase of {path}"


def password_account(user: str, address: str) -> str:
    """Return the account of a password."""
    return f"password of {user}@{address}"


class CredentialCache:
    """Thread-safe cache of secrets by account and of allowed programs, for the life of the process."""

    def __init__(self, keyring: SystemKeyring | None = None) -> None:
        self.keyring = keyring or SystemKeyring()
        self._secrets: dict[str, str] = {}
        self._allowed: set[tuple[str, str]] = set()
        self._prompt_locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._lock = threading.Lock()

    def asker(self, asker: Asker) -> "RememberingAsker":
        """Return an asker for one connection attempt, which asks `asker` only for what is not cached."""
        return RememberingAsker(asker, self)

    @contextlib.contextmanager
    def serialise(self, about: str) -> Iterator[None]:
        """Serialise prompts about one subject: of a hundred hosts with the same key, only the first asks."""
        with self._lock:
            turn = self._prompt_locks[about]
        with turn:
            yield

    def secret(self, account: str) -> str | None:
        """Return the secret of an account from the cache, else from the keyring."""
        with self._lock:
            known = self._secrets.get(account)
        return self.keyring.get(account) if known is None else known

    def learn(self, account: str, secret: str) -> None:
        """Cache the secret of an account."""
        with self._lock:
            self._secrets[account] = secret

    def doubt(self, account: str, secret: str) -> None:
        """Remove `secret` of an account from the cache, not from the keyring: the host may be at fault."""
        with self._lock:
            if self._secrets.get(account) == secret:
                del self._secrets[account]

    def forget(self, account: str) -> bool:
        """Delete the secret of an account from cache and keyring; return whether there was one."""
        with self._lock:
            known = self._secrets.pop(account, None)
        stored = self.keyring.get(account)
        if stored is not None:
            self.keyring.delete(account)
        return known is not None or stored is not None

    def allowed(self, question: LocalProgramQuestion) -> bool:
        """Return whether this setting's command was allowed."""
        return (question.setting, question.command) in self._allowed

    def allow(self, question: LocalProgramQuestion) -> None:
        """Allow this setting's command from now on."""
        self._allowed.add((question.setting, question.command))


class RememberingAsker(DelegatingAsker):
    """Asker of one connection attempt; the caller reports its outcome with `worked` or `failed`."""

    def __init__(self, asker: Asker, memory: CredentialCache) -> None:
        super().__init__(asker)
        self._memory = memory
        self._used: dict[str, str] = {}
        self._asked: dict[str, SecretQuestion] = {}

    def secret(self, question: SecretQuestion) -> str | None:
        """Return the cached secret, or ask if there is none or it was rejected."""
        about = account(question)
        if about is None:
            return self._asker.secret(question)
        with self._memory.serialise(about):
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

    def local_program(self, question: LocalProgramQuestion) -> bool:
        """Return whether a program may run; ask once per command and process."""
        with self._memory.serialise(f"{question.setting} {question.command}"):
            if not self._memory.allowed(question) and self._asker.local_program(question):
                self._memory.allow(question)
            return self._memory.allowed(question)

    def worked(self) -> None:
        """Store the secrets of an accepted attempt in the keyring if the user wants it."""
        for about, question in self._asked.items():
            if question.may_keep and self._asker.remember(question):
                self._memory.keyring.set(about, self._used[about])

    def failed(self) -> None:
        """Remove the secrets of a rejected attempt from the cache."""
        for about, secret in self._used.items():
            self._memory.doubt(about, secret)
