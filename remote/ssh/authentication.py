"""Prove to a host who the user is, in OpenSSH's order: agent, key files, then what the server asks."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import paramiko
from paramiko.agent import AgentKey

from remote.errors import ConnectError, Outcome
from remote.questions import Asker, SecretQuestion
from remote.ssh.agent import agent_keys
from remote.ssh.keys import KeyFile, PublicKey, UnusableKeyError, WrongPassphraseError, load
from remote.ssh.known_hosts import fingerprint
from remote.ssh.offers import Offers, collect, short
from remote.ssh.target import Target
from remote.ssh.transport import BoundedTransport
from remote.ssh.userauth import Answer, Prompt, UserAuth

ATTEMPTS = 3
"""How often a passphrase or a password is asked for. Source: ssh_config(5), NumberOfPasswordPrompts."""

_ONE_TIME = re.compile(r"one.?time|otp|token|code", re.IGNORECASE)

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
        offers = collect(self.target)
        self.tried += [unused for unused in offers.unused if unused not in self.tried]
        with agent_keys(self.target.agent) as held:
            offered = offers.of_agent(held, only_named=self.target.identities_only)
            if any(self._try_agent_key(service, key, offers) for key in offered):
                return True
            shown = {key.asbytes() for key in offered}
            left = [
                file for file in offers.files if file.private and (file.public is None or file.public.blob not in shown)
            ]
            return any(self._try_file(service, file, offers) for file in left)

    def _try_agent_key(self, service: UserAuth, key: AgentKey, offers: Offers) -> bool:
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

    def _try_file(self, service: UserAuth, file: KeyFile, offers: Offers) -> bool:
        name = f"key file {short(file.path)}"
        forms = [] if file.public is None else offers.forms(file.public)
        if file.encrypted and forms:
            # No passphrase is asked for in vain.
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
            prompt = f"Passphrase for {short(file.path)}"
            question = SecretQuestion(self.target.name, self.target.user, prompt, str(file.path), attempt, lasting=True)
            passphrase = self._answer(question)
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
                return False  # the server offers the method but has nothing to ask
            self._note(f"keyboard-interactive ({asked} times)", attempt)
            if over:
                return True
        # The same password would only be refused again as a password.
        self._methods = tuple(method for method in self._methods if method != "password")
        return False

    def _question(self, introduction: str, prompt: Prompt, attempt: int, prompts: int) -> SecretQuestion:
        """Return the server's own question. Only a password, asked for by itself, is the same the next time."""
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
            self._note(f"password ({attempt} times)", attempt)
            if self._take(service.password(password)):
                return True
        return False

    def _password_question(self, attempt: int) -> SecretQuestion:
        target = self.target
        prompt = f"Password of {target.user} on {target.name}"
        place = f"{target.host_name}:{target.port}"
        return SecretQuestion(target.name, target.user, prompt, attempt=attempt, place=place, lasting=True)

    def _note(self, words: str, attempt: int) -> None:
        """Say what was tried, instead of what was said at the attempt before."""
        if attempt > 1:
            self.tried.pop()
        self.tried.append(words.replace("(1 times)", "(once)"))

    def _answer(self, question: SecretQuestion) -> str:
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
