"""Commands run as root on a host: through sudo, with a password only where the user gives one, over standard input."""

import secrets
import time
from collections.abc import Sequence

from remote.errors import ConnectionLostError, RemoteError
from remote.jobs.collect import collect
from remote.plain import plain
from remote.questions import Asker, SecretQuestion
from remote.session import LIMIT, Channel, Chunk, Completed, Session

ATTEMPTS = 3
"""How often a password is asked for, as sudo itself does (sudoers, passwd_tries)."""

PATIENCE = 30.0
"""Seconds sudo may take to begin; a wrong password alone costs two or three."""

MOST_WORDS = 64 * 1024
"""Bytes that may be printed before the command begins."""

PROBE = """
id -u; id -un
command -v sudo >/dev/null 2>&1 && LC_ALL=C sudo -n true </dev/null 2>&1
status=$?
echo; echo "status $status"
"""

BEGIN = 'printf %s "$0" >&2; exec "$@"'
"""Run by sudo: says the mark that stands in place of a script's name, then becomes the command."""

PASSWORD_WANTED = ("password is required", "terminal is required", "authentication is required")
"""What `sudo -n` says where a password would help (sudo 1.8 and 1.9; sudo-rs)."""


class PrivilegeError(RemoteError):
    """Something cannot be run as root on a host."""


class WrongPasswordError(PrivilegeError):
    """sudo did not accept the password."""


def as_root(session: Session, asker: Asker, purpose: str) -> Session:
    """Return a session that runs everything as root on the host of `session`, which stays open beside it.

    `sudo -n` is tried first; where that needs a password, `asker` is asked, and told the `purpose`. The password is
    kept in memory until the session is closed. Raises PrivilegeError where there is no way, naming the `purpose`.
    """
    user, status, said = _probe(session)
    if user is None:
        return session
    if status == 0:
        return RootSession(session)
    if not any(words in said for words in PASSWORD_WANTED):
        raise _no_way(session.host, user, purpose, said)
    return _with_password(session, asker, SecretQuestion(session.host, user, "Password for sudo", purpose=purpose))


def _probe(session: Session) -> tuple[str | None, int | None, str]:
    """Return the user, or None where it is root already, and how `sudo -n` ended: its status and words."""
    completed = session.run(["sh", "-c", PROBE], limit=MOST_WORDS)
    lines = completed.stdout.decode("utf-8", "replace").splitlines()
    status = lines[-1].removeprefix("status ") if lines else ""
    if len(lines) < 3 or not status.isdecimal():
        raise PrivilegeError(
            f"{session.host} did not say who its user is.",
            "Check that the account has a POSIX shell and may run commands.",
            host=session.host,
        )
    uid, user, *said = lines[:-1]
    return (None if uid == "0" else plain(user)), int(status), " ".join(said).strip()


def _no_way(host: str, user: str, purpose: str, said: str) -> PrivilegeError:
    why = f"sudo says “{plain(said)}”" if said else "sudo is not installed"
    return PrivilegeError(
        f"{user} cannot become root on {host} to {purpose}: {why}.",
        "Sign in as root, or let the account use sudo.",
        host=host,
    )


def _with_password(session: Session, asker: Asker, question: SecretQuestion) -> Session:
    for attempt in range(1, ATTEMPTS + 1):
        asked = SecretQuestion(question.host, question.user, question.prompt, attempt=attempt, purpose=question.purpose)
        password = asker.secret(asked)
        if password is None:
            raise PrivilegeError(
                f"No password for sudo was given, so {question.user} cannot {question.purpose} on {question.host}.",
                "Give it when asked, or sign in as root.",
                host=question.host,
            )
        root = RootSession(session, password)
        try:
            root.run(["true"])
        except WrongPasswordError:
            continue
        return root
    raise WrongPasswordError(
        f"sudo on {question.host} did not accept {ATTEMPTS} passwords of {question.user}.",
        "It wants the password of that account there, not the one of this computer.",
        host=question.host,
    )


class RootSession:
    """A session whose commands sudo runs as root. It holds the password, if any, and forgets it when closed."""

    def __init__(self, session: Session, password: str | None = None) -> None:
        self._session = session
        self._password = password

    @property
    def host(self) -> str:
        """The host's name, as the user knows it."""
        return self._session.host

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout: float = 30.0, limit: int = LIMIT) -> Completed:
        """Run `argv` as root to its end and return what it printed.

        Like the session below, it runs it again where that has a new connection. Raises PrivilegeError where sudo
        does not start it, and what `Session.run` raises.
        """
        while True:
            channel = self.open(argv, stdin=stdin)  # raises where no connection is left
            try:
                return collect(channel, argv, host=self.host, timeout=timeout, limit=limit)
            except ConnectionLostError:
                continue
            finally:
                channel.close()

    def open(self, argv: Sequence[str], *, stdin: bytes = b"", keep_input: bool = False) -> Channel:
        """Start `argv` as root and return it under way; reading it raises PrivilegeError where sudo refuses."""
        prompt, mark = secrets.token_hex(16), secrets.token_hex(16)
        command = ["--", "sh", "-c", BEGIN, mark, *argv]
        if self._password is None:
            words = ["sudo", "-n", *command]
            return SudoChannel(self._session.open(words, stdin=stdin, keep_input=keep_input), self.host, mark)
        words = ["sudo", "-S", "-p", prompt, *command]
        gate = SudoChannel(self._session.open(words, keep_input=True), self.host, mark)
        gate.answer(prompt, f"{self._password}\n".encode())
        gate.send(stdin, last=not keep_input)
        return gate

    def close(self) -> None:
        """Forget the password. The session on the host stays open: it belongs to whoever opened it."""
        self._password = None


class SudoChannel:
    """A command that sudo starts. Until it has begun, nothing that is printed counts, and only the prompt is answered.

    The prompt holds a nonce of this one command, so that no other program gets the password by asking for one; and
    once the command has said the `mark`, no prompt is answered any more, whoever repeats it.
    """

    def __init__(self, channel: Channel, host: str, mark: str) -> None:
        self._channel = channel
        self._host = host
        self._mark = mark.encode()
        self._prompt: bytes | None = None
        self._password = b""
        self._answered = False
        self._began = False
        self._said = b""
        self._held: list[Chunk] = []
        self._input = b""
        self._last_input = True
        self._has_input = False
        self._deadline = time.monotonic() + PATIENCE

    def answer(self, prompt: str, password: bytes) -> None:
        """Answer `prompt` with `password`, once."""
        self._prompt, self._password = prompt.encode(), password

    def send(self, data: bytes, *, last: bool) -> None:
        """Pass `data` on to the command's input once it has begun; sudo itself never sees it."""
        if self._began:
            self._channel.send(data, last=last)
            return
        self._input, self._last_input, self._has_input = self._input + data, last, True

    def read(self, timeout: float) -> list[Chunk]:
        """Return what the command printed, waiting up to `timeout` seconds for the first byte; [] if none came.

        Raises PrivilegeError where sudo did not start it.
        """
        deadline = time.monotonic() + timeout
        while not self._began:
            chunks = self._channel.read(max(0.0, min(deadline, self._deadline) - time.monotonic()))
            self._take(chunks)
            if self._began:
                return self._release()
            if not chunks and self._channel.ended:
                raise self._refused()
            if time.monotonic() >= self._deadline:
                raise self._silent()
            if time.monotonic() >= deadline:
                return []
        return self._channel.read(timeout)

    def _take(self, chunks: Sequence[Chunk]) -> None:
        self._said += b"".join(chunk.data for chunk in chunks if chunk.stream == "stderr")
        self._held += [chunk for chunk in chunks if chunk.stream != "stderr"]
        if len(self._said) + sum(len(chunk.data) for chunk in self._held) > MOST_WORDS:
            raise self._refused()
        before, found, after = self._said.partition(self._mark)
        if found:
            self._began = True
            self._held.append(Chunk("stderr", after))
        elif self._prompt is not None and self._prompt in before:
            self._reply(before)

    def _reply(self, said: bytes) -> None:
        if self._answered:
            self.close()
            raise WrongPasswordError(
                f"sudo on {self._host} did not accept the password.", "Try again.", host=self._host
            )
        self._answered = True
        self._said = said.partition(self._prompt or b"")[2]
        self._channel.send(self._password, last=False)
        self._password = b""

    def _release(self) -> list[Chunk]:
        if self._has_input:
            self._channel.send(self._input, last=self._last_input)
        held, self._held, self._input = self._held, [], b""
        return [chunk for chunk in held if chunk.data]

    def _refused(self) -> PrivilegeError:
        self.close()
        said = plain(self._said) or "nothing"
        return PrivilegeError(
            f"sudo on {self._host} did not start the command. It printed: “{said}”.",
            "Sign in as root, or let the account use sudo.",
            host=self._host,
        )

    def _silent(self) -> PrivilegeError:
        self.close()
        said = f" It printed: “{plain(self._said)}”." if self._said.strip() else ""
        return PrivilegeError(
            f"sudo on {self._host} wants something other than a password, or hangs.{said}",
            "Sign in as root, or let the account use sudo without a password.",
            host=self._host,
        )

    @property
    def ended(self) -> bool:
        """Whether both streams have ended and everything was read, or the command was let go of."""
        return self._began and self._channel.ended

    @property
    def exit_status(self) -> int | None:
        """The command's exit status; None before the end, or where the host sent none."""
        return self._channel.exit_status if self._began else None

    def close(self) -> None:
        """Let go of the command."""
        self._began = True
        self._password = b""
        self._channel.close()
