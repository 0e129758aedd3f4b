"""Run commands as root on a host through sudo; a password, if needed, is sent over standard input."""

import secrets
import time
from collections.abc import Sequence

from remote.errors import ConnectionLostError, RemoteError
from remote.jobs.collect import collect
from remote.questions import Asker, SecretQuestion, plain
from remote.session import LIMIT, Channel, Chunk, Completed, Session

ATTEMPTS = 3
"""Password attempts, as sudo's own default (sudoers(5), passwd_tries)."""

PATIENCE = 30.0
"""Seconds sudo may take to start the command; a wrong password alone takes 2-3 s."""

PREAMBLE_LIMIT = 64 * 1024
"""Bytes that may be printed before the command starts."""

PROBE = """
id -u; id -un
command -v sudo >/dev/null 2>&1 && LC_ALL=C sudo -n true </dev/null 2>&1
status=$?
echo; echo "status $status"
"""

BEGIN = 'printf %s "$0" >&2; exec "$@"'
"""Run by sudo: prints the mark, which is `$0`, on stderr, then execs the command."""

PASSWORD_WANTED = ("password is required", "terminal is required", "authentication is required")
"""Messages of `sudo -n` if a password is needed (sudo 1.8 and 1.9; sudo-rs)."""


class PrivilegeError(RemoteError):
    """A command cannot be run as root on a host."""


class WrongPasswordError(PrivilegeError):
    """sudo did not accept the password."""


def as_root(session: Session, asker: Asker, purpose: str) -> Session:
    """Return a session that runs commands as root on the host of `session`, which stays open.

    `sudo -n` is tried first; if that needs a password, `asker` is asked, with the `purpose`. The password is kept in
    memory until the session is closed. Raises PrivilegeError, naming the `purpose`, if root is not available.
    """
    user, status, output = _probe(session)
    if user is None:
        return session
    if status == 0:
        return RootSession(session)
    if not any(message in output for message in PASSWORD_WANTED):
        raise _no_root(session.host, user, purpose, output)
    return _with_password(session, asker, SecretQuestion(session.host, user, "Password for sudo", purpose=purpose))


def _probe(session: Session) -> tuple[str | None, int | None, str]:
    """Return the user (None if root), and the exit status and output of `sudo -n`."""
    completed = session.run(["sh", "-c", PROBE], limit=PREAMBLE_LIMIT)
    lines = completed.stdout.decode("utf-8", "replace").splitlines()
    status = lines[-1].removeprefix("status ") if lines else ""
    if len(lines) < 3 or not status.isdecimal():
        raise PrivilegeError(
            f"{session.host}: no answer to id and sudo.",
            "Check that the account has a POSIX shell and may run commands.",
            host=session.host,
        )
    uid, user, *output = lines[:-1]
    return (None if uid == "0" else plain(user)), int(status), " ".join(output).strip()


def _no_root(host: str, user: str, purpose: str, output: str) -> PrivilegeError:
    reason = f"sudo prints “{plain(output)}”" if output else "sudo is not installed"
    return PrivilegeError(
        f"{user} cannot become root on {host} to {purpose}: {reason}.",
        "Sign in as root, or allow the account to use sudo.",
        host=host,
    )


def _with_password(session: Session, asker: Asker, question: SecretQuestion) -> Session:
    for attempt in range(1, ATTEMPTS + 1):
        asked = SecretQuestion(question.host, question.user, question.prompt, attempt=attempt, purpose=question.purpose)
        password = asker.secret(asked)
        if password is None:
            raise PrivilegeError(
                f"{question.user} cannot {question.purpose} on {question.host}: sudo needs a password.",
                f"Enter the password{'' if asker.attended else ' on a terminal'}, or sign in as root.",
                host=question.host,
            )
        root = RootSession(session, password)
        try:
            root.run(["true"])
        except WrongPasswordError:
            continue
        return root
    raise WrongPasswordError(
        f"sudo on {question.host} refused {ATTEMPTS} passwords for {question.user}.",
        "Enter the password of the account on that host, not that of this computer.",
        host=question.host,
    )


class RootSession:
    """A session that runs commands as root through sudo. It keeps the password, if any, until it is closed."""

    def __init__(self, session: Session, password: str | None = None) -> None:
        self._session = session
        self._password = password

    @property
    def host(self) -> str:
        """The host's name, as the user knows it."""
        return self._session.host

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout: float = 30.0, limit: int = LIMIT) -> Completed:
        """Run `argv` as root to its end and return what it printed.

        A command cut off by a lost connection is run again if the session below reconnects. Raises PrivilegeError if
        sudo does not start the command, and what `Session.run` raises.
        """
        while True:
            channel = self.open(argv, stdin=stdin)  # raises ConnectionLostError if there is no connection
            try:
                return collect(channel, argv, host=self.host, timeout=timeout, limit=limit)
            except ConnectionLostError:
                continue
            finally:
                channel.close()

    def open(self, argv: Sequence[str], *, stdin: bytes = b"", keep_input: bool = False) -> Channel:
        """Start `argv` as root and return its channel; reading it raises PrivilegeError if sudo refuses."""
        prompt, mark = secrets.token_hex(16), secrets.token_hex(16)
        command = ["--", "sh", "-c", BEGIN, mark, *argv]
        if self._password is None:
            sudo = ["sudo", "-n", *command]
            return SudoChannel(self._session.open(sudo, stdin=stdin, keep_input=keep_input), self.host, mark)
        sudo = ["sudo", "-S", "-p", prompt, *command]
        channel = SudoChannel(self._session.open(sudo, keep_input=True), self.host, mark)
        channel.answer(prompt, f"{self._password}\n".encode())
        channel.send(stdin, last=not keep_input)
        return channel

    def close(self) -> None:
        """Forget the password. The session below stays open: the caller of `as_root` owns it."""
        self._password = None


class SudoChannel:
    """A command started by sudo. Until it prints the `mark`, output is buffered and only the prompt is answered.

    The prompt is a nonce of this command, so that no other program can request the password; after the mark no prompt
    is answered, so that the command cannot repeat it.
    """

    def __init__(self, channel: Channel, host: str, mark: str) -> None:
        self._channel = channel
        self._host = host
        self._mark = mark.encode()
        self._prompt: bytes | None = None
        self._password = b""
        self._answered = False
        self._started = False
        self._stderr = b""
        self._buffer: list[Chunk] = []
        self._input = b""
        self._last_input = True
        self._has_input = False
        self._deadline = time.monotonic() + PATIENCE

    def answer(self, prompt: str, password: bytes) -> None:
        """Answer `prompt` with `password`, once."""
        self._prompt, self._password = prompt.encode(), password

    def send(self, data: bytes, *, last: bool) -> None:
        """Send `data` to the command's stdin after it has started, so that sudo cannot read it as a password."""
        if self._started:
            self._channel.send(data, last=last)
            return
        self._input, self._last_input, self._has_input = self._input + data, last, True

    def read(self, timeout: float) -> list[Chunk]:
        """Return the command's output, waiting up to `timeout` seconds for the first byte; [] if none arrives.

        Raises PrivilegeError if sudo does not start the command.
        """
        deadline = time.monotonic() + timeout
        while not self._started:
            chunks = self._channel.read(max(0.0, min(deadline, self._deadline) - time.monotonic()))
            self._take(chunks)
            if self._started:
                return self._release()
            if not chunks and self._channel.ended:
                raise self._refused()
            if time.monotonic() >= self._deadline:
                raise self._silent()
            if time.monotonic() >= deadline:
                return []
        return self._channel.read(timeout)

    def _take(self, chunks: Sequence[Chunk]) -> None:
        self._stderr += b"".join(chunk.data for chunk in chunks if chunk.stream == "stderr")
        self._buffer += [chunk for chunk in chunks if chunk.stream != "stderr"]
        if len(self._stderr) + sum(len(chunk.data) for chunk in self._buffer) > PREAMBLE_LIMIT:
            raise self._refused()
        before, found, after = self._stderr.partition(self._mark)
        if found:
            self._started = True
            self._buffer.append(Chunk("stderr", after))
        elif self._prompt is not None and self._prompt in before:
            self._reply(before)

    def _reply(self, stderr: bytes) -> None:
        if self._answered:
            self.close()
            raise WrongPasswordError(f"sudo on {self._host} refused the password.", "Try again.", host=self._host)
        self._answered = True
        self._stderr = stderr.partition(self._prompt or b"")[2]
        self._channel.send(self._password, last=False)
        self._password = b""

    def _release(self) -> list[Chunk]:
        if self._has_input:
            self._channel.send(self._input, last=self._last_input)
        chunks, self._buffer, self._input = self._buffer, [], b""
        return [chunk for chunk in chunks if chunk.data]

    def _refused(self) -> PrivilegeError:
        self.close()
        output = plain(self._stderr) or "nothing"
        return PrivilegeError(
            f"sudo on {self._host} did not start the command. It printed: “{output}”.",
            "Sign in as root, or allow the account to use sudo.",
            host=self._host,
        )

    def _silent(self) -> PrivilegeError:
        self.close()
        output = f" It printed: “{plain(self._stderr)}”." if self._stderr.strip() else ""
        return PrivilegeError(
            f"sudo on {self._host} did not start the command within {PATIENCE:g} s.{output}",
            "Sign in as root, or allow the account to use sudo without a password.",
            host=self._host,
        )

    @property
    def ended(self) -> bool:
        """Whether both streams were read to their end, or the channel was closed."""
        return self._started and self._channel.ended

    @property
    def exit_status(self) -> int | None:
        """The command's exit status; None before the end, or if the host sent none."""
        return self._channel.exit_status if self._started else None

    def close(self) -> None:
        """Close the channel."""
        self._started = True
        self._password = b""
        self._channel.close()
