"""Authenticate the user in OpenSSH's order: agent keys, key files, keyboard-interactive, password."""

import contextlib
import os
import re
import shlex
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import paramiko
from paramiko.agent import AgentKey, AgentSSH

from remote.errors import ConnectError, ConnectOutcome
from remote.questions import Asker, SecretQuestion
from remote.ssh.keys import (
    Certificate,
    CertificateError,
    KeyFile,
    PublicKey,
    UnusableKeyError,
    WrongPassphraseError,
    default_files,
    inspect,
    load,
    read,
)
from remote.ssh.known_hosts import fingerprint
from remote.ssh.target import NO_IDENTITY, SshTarget
from remote.ssh.transport import BoundedTransport
from remote.ssh.userauth import Answer, Prompt, UserAuth

# The user's SSH agent, with a timeout.


LIST_TIMEOUT = 5.0
"""Timeout in seconds for listing the agent's keys. Signing has none: the agent may ask its user first."""


class _Agent(AgentSSH):
    def open(self, connection: socket.socket, path: str) -> None:
        connection.settimeout(LIST_TIMEOUT)
        connection.connect(path)
        self._connect(connection)  # type: ignore[attr-defined]  # as paramiko's own Agent does
        connection.settimeout(None)


@contextlib.contextmanager
def agent_keys(path: str | None = None) -> Iterator[tuple[AgentKey, ...]]:
    """Yield the keys of the agent at the socket `path`, by default SSH_AUTH_SOCK.

    Yields none if there is no agent or it does not answer.
    """
    path = os.environ.get("SSH_AUTH_SOCK") if path is None else path
    if not path:
        yield ()
        return
    agent = _Agent()
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            agent.open(connection, path)
        except (paramiko.SSHException, OSError, ValueError, TypeError):  # no answer or a truncated one
            yield ()
            return
        yield agent.get_keys()


# Credentials: key files, the agent's keys, and certificates for both.


@dataclass(frozen=True, slots=True)
class Form:
    """One way to offer a key: with a certificate, which `suffix` names, or without."""

    public: PublicKey
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class AuthenticationOffers:
    """The key files and certificates to use. `unused` lists the configured ones that cannot be used, with reasons."""

    files: tuple[KeyFile, ...]
    certificates: tuple[tuple[Path, Certificate], ...]
    unused: tuple[str, ...]

    def forms(self, public: PublicKey) -> list[Form]:
        """Return the ways to offer a key, those with a certificate first."""
        own = [
            Form(PublicKey(certificate.kind, certificate.blob), f" with the certificate {short(path)}")
            for path, certificate in self.certificates
            if certificate.key == public.blob
        ]
        return [*own, Form(public)]

    def of_agent(self, available: Sequence[AgentKey], *, only_named: bool) -> list[AgentKey]:
        """Return the agent's keys to offer: those of key files first, and only those if `only_named`."""
        named = [file.public.blob for file in self.files if file.public is not None]
        for _, certificate in self.certificates:
            named += [certificate.key, certificate.blob]
        first = sorted((key for key in available if key.asbytes() in named), key=lambda key: named.index(key.asbytes()))
        return first if only_named else [*first, *(key for key in available if key.asbytes() not in named)]


def collect(target: SshTarget) -> AuthenticationOffers:
    """Return the credentials of `target`, or OpenSSH's default files if it names none.

    Certificates are searched beside the keys (KEY-cert.pub) and in CertificateFile. Source: ssh_config(5).
    """
    paths = [path for path in target.identity_files if path != NO_IDENTITY]
    paths = paths if target.identity_files else default_files()
    files: list[KeyFile] = []
    unused: list[str] = []
    for path in paths:
        try:
            files.append(inspect(path))
        except UnusableKeyError as error:
            unused.append(f"key file {short(path)} (not used: {error})")
    beside_keys = [file for path in paths if (file := path.with_name(f"{path.name}-cert.pub")).is_file()]
    named = [path for path in target.certificate_files if path != NO_IDENTITY]
    certificates: list[tuple[Path, Certificate]] = []
    for path in dict.fromkeys([*named, *beside_keys]):
        try:
            certificate = read(path)
        except CertificateError as error:
            unused.append(f"certificate {short(path)} (not used: {error})")
            continue
        problem = certificate.time_problem(time.time())
        if problem:
            unused.append(f"certificate {short(path)} (not used: {problem})")
        else:
            certificates.append((path, certificate))
    return AuthenticationOffers(tuple(files), tuple(certificates), tuple(unused))


def short(path: Path) -> str:
    """Return a path with ~ for the home directory."""
    try:
        return f"~/{path.relative_to(Path.home())}"
    except ValueError:
        return str(path)


ATTEMPTS = 3
"""Attempts for a passphrase or password. Source: ssh_config(5), NumberOfPasswordPrompts."""

_ONE_TIME = re.compile(r"one.?time|otp|token|code", re.IGNORECASE)

MOST_STEPS = 4
"""Largest number of successive methods that a server may require (sshd_config(5), AuthenticationMethods)."""


class _CancelledError(Exception):
    """The user cancelled a question."""


class _UnattendedError(Exception):
    """There is no user to answer a question."""


_NO_TERMINAL = "no terminal to enter"


@dataclass(slots=True)
class Authentication:
    """Authentication on one connection. `tried` lists the credentials that were offered."""

    transport: BoundedTransport
    target: SshTarget
    asker: Asker
    tried: list[str] = field(default_factory=list)
    _methods: tuple[str, ...] = ()
    _done: bool = False

    def run(self) -> None:
        """Authenticate the user.

        Raises ConnectError (AUTH_REFUSED, CANCELLED), or SSHException and EOFError if the connection breaks.
        """
        service = UserAuth(self.transport, self.target.user)
        service.begin()
        self._take(service.none())
        steps = (self._keys, self._interactive, self._password)
        try:
            # The server may require several methods: after a partial success all are tried again.
            for _ in range(MOST_STEPS):
                if self._done or not any(step(service) for step in steps):
                    break
        except _CancelledError:
            raise self._cancelled() from None
        except _UnattendedError:
            raise self._refused() from None
        except EOFError:
            if not self.tried:
                raise
            raise self._refused() from None
        if not self._done:
            raise self._refused()

    def _take(self, answer: Answer) -> bool:
        """Record the server's answer; return whether this method succeeded, completely or partially."""
        self._done = answer.success
        self._methods = answer.methods
        return answer.success or answer.partial

    # Keys
    def _keys(self, service: UserAuth) -> bool:
        if "publickey" not in self._methods:
            return False
        offers = collect(self.target)
        self.tried += [unused for unused in offers.unused if unused not in self.tried]
        with agent_keys(self.target.agent) as keys:
            offered = offers.of_agent(keys, only_named=self.target.identities_only)
            if any(self._try_agent_key(service, key, offers) for key in offered):
                return True
            shown = {key.asbytes() for key in offered}
            remaining = [
                file for file in offers.files if file.private and (file.public is None or file.public.blob not in shown)
            ]
            return any(self._try_file(service, file, offers) for file in remaining)

    def _try_agent_key(self, service: UserAuth, key: AgentKey, offers: AuthenticationOffers) -> bool:
        name = f"agent key {fingerprint(key.asbytes())}"
        try:
            return any(
                self._show(service, f"{name}{form.suffix}", key, form.public)
                for form in offers.forms(PublicKey(key.get_name(), key.blob))
            )
        except (paramiko.SSHException, OSError) as error:
            if not self.transport.is_active():
                raise
            self.tried.append(f"{name} (the agent did not sign: {error})")
            return False

    def _try_file(self, service: UserAuth, file: KeyFile, offers: AuthenticationOffers) -> bool:
        name = f"key file {short(file.path)}"
        forms = [] if file.public is None else offers.forms(file.public)
        if file.encrypted and forms:
            # Ask for the passphrase only if the server accepts the key.
            forms = [form for form in forms if self._would_accept(service, form.public)]
            if not forms:
                self.tried.append(name)
                return False
        try:
            key = self._unlock(file)
        except UnusableKeyError as error:
            self.tried.append(f"{name} (not used: {error})")
            return False
        if key is None:
            self.tried.append(f"{name} (not used: wrong passphrase)")
            return False
        forms = forms or offers.forms(PublicKey(key.get_name(), key.asbytes()))
        return any(self._show(service, f"{name}{form.suffix}", key, form.public) for form in forms)

    def _would_accept(self, service: UserAuth, public: PublicKey) -> bool:
        """Return whether the server would accept a key."""
        algorithm = self._algorithm(public.kind)
        if algorithm is None or "publickey" not in self._methods:
            return False
        refusal = service.accepts(algorithm, public.blob)
        if refusal is not None:
            self._take(refusal)
        return refusal is None

    def _show(self, service: UserAuth, name: str, key: paramiko.PKey, public: PublicKey) -> bool:
        algorithm = self._algorithm(public.kind)
        if algorithm is None:
            self.tried.append(f"{name} (not used: the server supports RSA signatures with SHA-1 only)")
            return False
        if "publickey" not in self._methods:
            return False
        self.tried.append(name)
        return self._take(service.public_key(key, algorithm, public.blob))

    def _algorithm(self, kind: str) -> str | None:
        """Return the signature algorithm for a key type; for RSA by the server's server-sig-algs (RFC 8332)."""
        if not kind.startswith("ssh-rsa"):
            return kind
        supported = self.transport.server_extensions.get("server-sig-algs", b"").decode("ascii", "replace").split(",")
        for algorithm in ("rsa-sha2-512", "rsa-sha2-256"):
            if algorithm in supported or supported == [""]:
                return algorithm + kind.removeprefix("ssh-rsa")
        return None

    def _unlock(self, file: KeyFile) -> paramiko.PKey | None:
        """Return the private key, asking for its passphrase; None after ATTEMPTS wrong ones."""
        if not file.encrypted:
            return load(file, None)
        for attempt in range(1, ATTEMPTS + 1):
            prompt = f"Passphrase for {short(file.path)}"
            question = SecretQuestion(self.target.name, self.target.user, prompt, str(file.path), attempt, lasting=True)
            try:
                passphrase = self._answer(question)
            except _UnattendedError:
                raise UnusableKeyError(f"{_NO_TERMINAL} its passphrase on") from None
            try:
                return load(file, passphrase)
            except WrongPassphraseError:
                continue
        return None

    # Passwords and other questions
    def _interactive(self, service: UserAuth) -> bool:
        asked = 0

        def answer(introduction: str, prompts: Sequence[Prompt]) -> list[str]:
            nonlocal asked
            asked += 1
            return [self._answer(self._question(introduction, prompt, attempt, len(prompts))) for prompt in prompts]

        for attempt in range(1, ATTEMPTS + 1):
            if "keyboard-interactive" not in self._methods:
                return False
            over = self._take(service.interactive(answer))
            if asked == 0 and not over:
                return False  # the server offers the method but sends no prompts
            self._note("keyboard-interactive", asked, attempt)
            if over:
                return True
        # The password method would refuse the same password again.
        self._methods = tuple(method for method in self._methods if method != "password")
        return False

    def _question(self, introduction: str, prompt: Prompt, attempt: int, prompts: int) -> SecretQuestion:
        """Return the server's prompt as a question; it is `lasting` only if a password is the single prompt."""
        password = "password" in prompt.text.lower() and _ONE_TIME.search(prompt.text) is None
        return replace(
            self._password_question(attempt),
            prompt=f"{introduction} {prompt.text}".strip(),
            lasting=password and prompts == 1 and not prompt.echo,
            echo=prompt.echo,
        )

    def _password(self, service: UserAuth) -> bool:
        for attempt in range(1, ATTEMPTS + 1):
            if "password" not in self._methods:
                return False
            password = self._answer(self._password_question(attempt))
            self._note("password", attempt, attempt)
            if self._take(service.password(password)):
                return True
        return False

    def _password_question(self, attempt: int) -> SecretQuestion:
        target = self.target
        prompt = f"Password of {target.user} on {target.name}"
        address = f"{target.host_name}:{target.port}"
        return SecretQuestion(target.name, target.user, prompt, attempt=attempt, address=address, lasting=True)

    def _note(self, method: str, times: int, attempt: int) -> None:
        """Record what was tried, replacing the entry of the previous attempt."""
        if attempt > 1:
            self.tried.pop()
        self.tried.append(f"{method} ({'once' if times == 1 else f'{times} times'})")

    def _answer(self, question: SecretQuestion) -> str:
        secret = self.asker.secret(question)
        if secret is None and self.asker.attended:
            raise _CancelledError
        if secret is None:
            if question.key_path is None:
                method = "password" if question.lasting else "keyboard-interactive"
                self.tried.append(f"{method} ({_NO_TERMINAL} it on)")
            raise _UnattendedError
        return secret

    # Errors
    def _cancelled(self) -> ConnectError:
        host = self.target.name
        return ConnectError(
            ConnectOutcome.CANCELLED, f"Connecting to {host} was cancelled.", "Connect again.", host=host
        )

    def _refused(self) -> ConnectError:
        host, user = self.target.name, self.target.user
        tried = "; ".join(self.tried) or "nothing (no key and no agent)"
        message = f"{host} refused the user {user}. Tried: {tried}."
        if self.transport.disconnect_message:
            message += f" The host sent: “{self.transport.disconnect_message}”."
        elif self._methods:
            message += f" The host accepts: {', '.join(self._methods)}."
        return ConnectError(ConnectOutcome.AUTH_REFUSED, message, self._remedy(), host=host)

    def _remedy(self) -> str:
        if "many authentication failures" in self.transport.disconnect_message:
            return "Set IdentityFile to the right key and IdentitiesOnly yes, so that no other key is offered first."
        remedy = "Add your public key to ~/.ssh/authorized_keys on the host (ssh-copy-id), or set another user or key."
        if any(_NO_TERMINAL in one for one in self.tried):
            store = f"benchwright hosts test {shlex.quote(self.target.name)} --remember"
            remedy += f" A password or passphrase is stored, on a terminal, with: {store}"
        return remedy
