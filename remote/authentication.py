"""Prove to a host who the user is, in OpenSSH's order: agent, key files, then what the server asks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import paramiko
from paramiko.agent import AgentKey

from remote.agent import agent_keys
from remote.errors import ConnectError, Outcome
from remote.keys import KeyFile, PublicKey, UnusableKeyError, WrongPassphraseError, default_files, inspect, load
from remote.known_hosts import fingerprint
from remote.questions import Asker, SecretQuestion
from remote.target import NO_IDENTITY, Target
from remote.transport import BoundedTransport
from remote.userauth import Answer, Prompt, UserAuth

ATTEMPTS = 3
"""How often a passphrase or a password is asked for. Source: ssh_config(5), NumberOfPasswordPrompts."""


MOST_STEPS = 4
"""How many proofs, one after the other, a server may want."""


class _CancelledError(Exception):
    """The user gave up on a question."""


@dataclass(slots=True)
class Authentication:
    """One attempt to be let in on one connection. `tried` says in words what was shown to the server."""

    transport: BoundedTransport
    target: Target
    asker: Asker
    tried: list[str] = field(default_factory=list)
    _methods: tuple[str, ...] = ()
    _done: bool = False

    def run(self) -> None:
        """Return once the user is let in.

        Raises ConnectError (AUTH_REFUSED, CANCELLED), or SSHException and EOFError where the connection breaks.
        """
        service = UserAuth(self.transport, self.target.user)
        service.begin()
        self._take(service.none())
        steps = (self._keys, self._interactive, self._password)
        try:
            # A step that succeeded may be one of several that the server wants: the others are then tried anew.
            for _ in range(MOST_STEPS):
                if self._done or not any(step(service) for step in steps):
                    break
        except _CancelledError:
            raise self._cancelled() from None
        except EOFError:
            if not self.tried:
                raise
            raise self._refused() from None
        if not self._done:
            raise self._refused()

    def _take(self, answer: Answer) -> bool:
        """Note the server's answer; return whether this step is over: let in, or one of several proofs accepted."""
        self._done = answer.success
        self._methods = answer.methods
        return answer.success or answer.partial

    # Keys
    def _keys(self, service: UserAuth) -> bool:
        if "publickey" not in self._methods:
            return False
        files = list(self._files())
        with agent_keys() as held:
            offered = self._agent_keys(held, files)
            for key in offered:
                if self._try_agent_key(service, key):
                    return True
            shown = {key.asbytes() for key in offered}
            left = [file for file in files if file.private and (file.public is None or file.public.blob not in shown)]
            return any(self._try_file(service, file) for file in left)

    def _files(self) -> Iterator[KeyFile]:
        """Yield the key files to use; those that cannot be are noted in `tried`."""
        named = [path for path in self.target.identity_files if path != NO_IDENTITY]
        for path in named if self.target.identity_files else default_files():
            try:
                yield inspect(path)
            except UnusableKeyError as error:
                self.tried.append(f"key file {_short(path)} (not used: {error})")

    def _agent_keys(self, held: Sequence[AgentKey], files: Sequence[KeyFile]) -> list[AgentKey]:
        """Return the agent's keys to offer: those of the key files first; no others under IdentitiesOnly."""
        wanted = [file.public.blob for file in files if file.public is not None]
        named = [key for key in held if key.asbytes() in wanted]
        named.sort(key=lambda key: wanted.index(key.asbytes()))
        others = [] if self.target.identities_only else [key for key in held if key.asbytes() not in wanted]
        return [*named, *others]

    def _try_agent_key(self, service: UserAuth, key: AgentKey) -> bool:
        name = f"agent key {fingerprint(key.asbytes())}"
        try:
            return self._show(service, name, key, PublicKey(key.get_name(), key.blob))
        except (paramiko.SSHException, OSError) as error:
            if not self.transport.is_active():
                raise
            self.tried.append(f"{name} (the agent did not sign: {error})")
            return False

    def _try_file(self, service: UserAuth, file: KeyFile) -> bool:
        name = f"key file {_short(file.path)}"
        if file.encrypted and file.public is not None and not self._would_accept(service, file.public):
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
        certificate = key.public_blob
        if certificate is not None:
            shown = PublicKey(certificate.key_type, certificate.key_blob)
            if self._show(service, f"{name} with its certificate", key, shown):
                return True
            key.public_blob = None
        return self._show(service, name, key, PublicKey(key.get_name(), key.asbytes()))

    def _would_accept(self, service: UserAuth, public: PublicKey) -> bool:
        """Return whether the server would accept a key: no passphrase is asked for in vain."""
        algorithm = self._algorithm(public.kind)
        if algorithm is None:
            return False
        refusal = service.accepts(algorithm, public.blob)
        if refusal is not None:
            self._take(refusal)
        return refusal is None

    def _show(self, service: UserAuth, name: str, key: paramiko.PKey, public: PublicKey) -> bool:
        algorithm = self._algorithm(public.kind)
        if algorithm is None:
            self.tried.append(f"{name} (not used: the server takes no RSA signatures but SHA-1)")
            return False
        if "publickey" not in self._methods:
            return False
        self.tried.append(name)
        return self._take(service.public_key(key, algorithm, public.blob))

    def _algorithm(self, kind: str) -> str | None:
        """Return the signature algorithm for a type of key: RSA's depends on what the server understands. RFC 8332."""
        if not kind.startswith("ssh-rsa"):
            return kind
        understood = self.transport.server_extensions.get("server-sig-algs", b"").decode("ascii", "replace").split(",")
        for algorithm in ("rsa-sha2-512", "rsa-sha2-256"):
            if algorithm in understood or understood == [""]:
                return algorithm + kind.removeprefix("ssh-rsa")
        return None

    def _unlock(self, file: KeyFile) -> paramiko.PKey | None:
        """Return the private key, asking for its passphrase; None after too many wrong ones."""
        if not file.encrypted:
            return load(file, None)
        for attempt in range(1, ATTEMPTS + 1):
            prompt = f"Passphrase for {_short(file.path)}"
            passphrase = self._secret(prompt, attempt, key_path=str(file.path))
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
            return [self._secret(f"{introduction} {prompt.text}".strip(), attempt) for prompt in prompts]

        for attempt in range(1, ATTEMPTS + 1):
            if "keyboard-interactive" not in self._methods:
                return False
            over = self._take(service.interactive(answer))
            if asked == 0 and not over:
                return False  # the server offers the method but has nothing to ask
            self._note(f"keyboard-interactive ({asked} times)", attempt)
            if over:
                return True
        # The same password would only be refused again as a password.
        self._methods = tuple(method for method in self._methods if method != "password")
        return False

    def _password(self, service: UserAuth) -> bool:
        for attempt in range(1, ATTEMPTS + 1):
            if "password" not in self._methods:
                return False
            password = self._secret(f"Password of {self.target.user} on {self.target.name}", attempt)
            self._note(f"password ({attempt} times)", attempt)
            if self._take(service.password(password)):
                return True
        return False

    def _note(self, words: str, attempt: int) -> None:
        """Say what was tried, instead of what was said at the attempt before."""
        if attempt > 1:
            self.tried.pop()
        self.tried.append(words.replace("(1 times)", "(once)"))

    def _secret(self, prompt: str, attempt: int, key_path: str | None = None) -> str:
        question = SecretQuestion(self.target.name, self.target.user, prompt, key_path, attempt)
        secret = self.asker.secret(question)
        if secret is None:
            raise _CancelledError
        return secret

    # What is said in the end
    def _cancelled(self) -> ConnectError:
        host = self.target.name
        return ConnectError(Outcome.CANCELLED, f"Connecting to {host} was cancelled.", "Connect again.", host=host)

    def _refused(self) -> ConnectError:
        host, user = self.target.name, self.target.user
        tried = "; ".join(self.tried) or "nothing, as there is no key or agent to try"
        message = f"{host} did not let the user {user} in. Tried: {tried}."
        if self.transport.farewell:
            message += f" The host said: “{self.transport.farewell}”."
        elif self._methods:
            message += f" The host accepts: {', '.join(self._methods)}."
        return ConnectError(Outcome.AUTH_REFUSED, message, self._remedy(), host=host)

    def _remedy(self) -> str:
        if "many authentication failures" in self.transport.farewell:
            return "Name the right key as IdentityFile, with IdentitiesOnly yes, so that no other is shown before it."
        return (
            "Add your public key to ~/.ssh/authorized_keys of that user on the host (ssh-copy-id does it), "
            "or name another user or key."
        )


def _short(path: Path) -> str:
    """Return a path as people write it, with ~ for the home."""
    try:
        return f"~/{path.relative_to(Path.home())}"
    except ValueError:
        return str(path)
