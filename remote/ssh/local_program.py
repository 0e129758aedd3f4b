"""Local programs of ~/.ssh/config: ProxyCommand and Match exec. They run only with the user's consent."""

import contextlib
import os
import select
import signal
import socket
import subprocess
import threading

from remote.errors import ConnectError, ConnectOutcome
from remote.questions import Asker, LocalProgramQuestion, plain
from remote.ssh.ssh_config import Entry
from remote.ssh.ssh_lookup import Consult

LONGEST_DECISION = 30.0
"""Timeout in seconds of a Match exec."""

GRACE = 0.5
"""Seconds for a ProxyCommand to end after its connection is closed, and again after each signal."""

STDERR_TIME = 0.1
"""Seconds for which stderr is read after the program has ended: another process may keep it open."""

STDERR_LIMIT = 2048
"""Last bytes of a ProxyCommand's stderr to keep for messages."""


def _shell() -> str:
    """Return the same shell as OpenSSH. Source: readconf.c, execute_in_shell."""
    return os.environ.get("SHELL") or "/bin/sh"


def consult(asker: Asker, host: str) -> Consult:
    """Return a function that decides a Match exec by the command's exit status, after the user's consent."""

    def decide(entry: Entry, command: str) -> bool | None:
        question = LocalProgramQuestion(host, "Match exec", command, str(entry.path), entry.number)
        return _succeeds(entry, command) if asker.local_program(question) else None

    return decide


def _succeeds(entry: Entry, command: str) -> bool:
    silent = subprocess.DEVNULL
    try:
        done = subprocess.run(
            [_shell(), "-c", command],
            stdin=silent, stdout=silent, stderr=silent, timeout=LONGEST_DECISION, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise entry.error(f"Match exec timed out after {LONGEST_DECISION:g} s: {command[:200]}") from None
    except OSError as error:
        raise entry.error(f"Match exec failed: {error.strerror}.") from error
    return done.returncode == 0


class ProxySocket(socket.socket):
    """Socket connected to a ProxyCommand. Closing it, from any thread, ends the program."""

    def __init__(self, question: LocalProgramQuestion) -> None:
        """Start the program; raise ConnectError if its shell cannot be started."""
        self._closing = threading.Lock()
        self._was_closed = False
        self._status: int | None = None
        self._stderr = b""
        near, far = socket.socketpair()
        self._errors, errors = socket.socketpair()
        with far, errors:
            try:
                self._process = subprocess.Popen(
                    [_shell(), "-c", f"exec {question.command}"],
                    stdin=far.fileno(), stdout=far.fileno(), stderr=errors.fileno(), start_new_session=True,
                )  # fmt: skip
            except OSError as error:
                near.close()
                self._errors.close()
                raise ConnectError(
                    ConnectOutcome.UNREACHABLE,
                    f"The ProxyCommand of {question.host} did not start: {error.strerror}.",
                    f"Check {question.path}, line {question.line}.",
                    host=question.host,
                ) from error
        super().__init__(fileno=near.detach())
        self._listener = threading.Thread(target=self._listen, name=f"proxy of {plain(question.host, 40)}", daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while data := self._errors.recv(4096):
                self._stderr = (self._stderr + data)[-STDERR_LIMIT:]

    def ending(self) -> str:
        """Return the program's exit status, if it ended by itself, and its last stderr, as text; empty if neither."""
        self.close()
        status = self._status
        how = "" if status is None else f"ended by signal {-status}" if status < 0 else f"exit status {status}"
        stderr = plain(self._stderr)
        return ", ".join(part for part in (how, f"stderr “{stderr}”" if stderr else "") if part)

    def close(self) -> None:
        """Close the socket and end the program's process group."""
        with self._closing:
            if self._was_closed:
                return
            self._was_closed = True
            with contextlib.suppress(OSError):
                self.shutdown(socket.SHUT_RDWR)
            super().close()
            self._end()
            with contextlib.suppress(OSError):
                self._errors.shutdown(socket.SHUT_RDWR)
            self._listener.join(GRACE)
            self._errors.close()

    def _end(self) -> None:
        """Wait for the program, whose stdin has ended; then end the rest of its process group."""
        ended = self._has_ended()
        self._listener.join(STDERR_TIME)
        for number in (signal.SIGTERM, signal.SIGKILL):
            # The leader is not reaped before: until then its PID, the PGID, cannot be reused.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
            if ended or self._has_ended():
                break
        status = self._process.wait()
        self._status = status if ended else None

    def _has_ended(self) -> bool:
        """Return whether the program ends within GRACE."""
        process = os.pidfd_open(self._process.pid)
        try:
            return bool(select.select([process], [], [], GRACE)[0])
        finally:
            os.close(process)


def proxy_socket(asker: Asker, question: LocalProgramQuestion) -> ProxySocket:
    """Return a socket connected to a ProxyCommand; raise ConnectError if the user does not allow it."""
    if asker.local_program(question):
        return ProxySocket(question)
    raise ConnectError(
        ConnectOutcome.NOT_ALLOWED,
        f"{question.path}, line {question.line}: {question.setting} was not allowed to run a command on this "
        f"computer: {question.command[:200]}",
        "Allow it, use ProxyJump instead, or set the jump host here.",
        host=question.host,
    )
