"""Programs of this computer that ~/.ssh/config asks for: ProxyCommand and Match exec. None runs without a yes."""

import contextlib
import os
import select
import signal
import socket
import subprocess
import threading

from remote.errors import ConnectError, Outcome
from remote.plain import plain
from remote.questions import Asker, LocalProgramQuestion
from remote.ssh.ssh_config import Entry
from remote.ssh.ssh_lookup import Consult

LONGEST_DECISION = 30.0
"""Seconds the command of a Match exec may take."""

GRACE = 0.5
"""Seconds a ProxyCommand is given to end once its connection is closed, and again after each signal."""

LAST_WORDS_TIME = 0.1
"""Seconds its standard error is read on once it has ended: somebody else may hold it open."""

LAST_WORDS = 2048
"""Bytes of a ProxyCommand's standard error that are kept for the message: the last ones."""


def _shell() -> str:
    """Return the shell that OpenSSH uses, too. Source: readconf.c, execute_in_shell."""
    return os.environ.get("SHELL") or "/bin/sh"


def consult(asker: Asker, host: str) -> Consult:
    """Return what decides a Match exec: the user is asked, then the command's exit status is. None: it may not run."""

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
        raise entry.error(f"its command took longer than {LONGEST_DECISION:g} s: {command[:200]}") from None
    except OSError as error:
        raise entry.error(f"its command did not run: {error.strerror}.") from error
    return done.returncode == 0


class ProxySocket(socket.socket):
    """The near end of a program that stands in for the network. Closing it, from any thread, ends the program."""

    def __init__(self, question: LocalProgramQuestion) -> None:
        """Start the program; raise ConnectError where its shell cannot be."""
        self._closing = threading.Lock()
        self._closed_for_good = False
        self._status: int | None = None
        self._said = b""
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
                    Outcome.UNREACHABLE,
                    f"The ProxyCommand of {question.host} did not start: {error.strerror}.",
                    f"Look at {question.path}, line {question.line}.",
                    host=question.host,
                ) from error
        super().__init__(fileno=near.detach())
        self._listener = threading.Thread(target=self._listen, name=f"proxy of {plain(question.host, 40)}", daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while said := self._errors.recv(4096):
                self._said = (self._said + said)[-LAST_WORDS:]

    def ending(self) -> str:
        """Return in words how the program ended, if by itself, and what it said last; empty where there is neither."""
        self.close()
        status = self._status
        how = "" if status is None else f"signal {-status} ended it" if status < 0 else f"its exit status is {status}"
        said = plain(self._said)
        return " and ".join(part for part in (how, f"it said “{said}”" if said else "") if part)

    def close(self) -> None:
        """Close, and end the program with every process it started in its group."""
        with self._closing:
            if self._closed_for_good:
                return
            self._closed_for_good = True
            with contextlib.suppress(OSError):
                self.shutdown(socket.SHUT_RDWR)
            super().close()
            self._end()
            with contextlib.suppress(OSError):
                self._errors.shutdown(socket.SHUT_RDWR)
            self._listener.join(GRACE)
            self._errors.close()

    def _end(self) -> None:
        """Wait for the program, which has read the end of its input; then end whoever is left of its group."""
        ended = self._has_ended()
        self._listener.join(LAST_WORDS_TIME)
        for number in (signal.SIGTERM, signal.SIGKILL):
            # Its own process is not reaped before: until then the group's number is nobody else's.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
            if ended or self._has_ended():
                break
        status = self._process.wait()
        self._status = status if ended else None

    def _has_ended(self) -> bool:
        """Return whether the program ends within the grace."""
        process = os.pidfd_open(self._process.pid)
        try:
            return bool(select.select([process], [], [], GRACE)[0])
        finally:
            os.close(process)


def proxy_socket(asker: Asker, question: LocalProgramQuestion) -> ProxySocket:
    """Return the connection that a ProxyCommand makes; raise ConnectError where the user does not allow it."""
    if asker.local_program(question):
        return ProxySocket(question)
    raise ConnectError(
        Outcome.NOT_ALLOWED,
        f"{question.path}, line {question.line}: {question.setting} would run a command on this computer, which was "
        f"not allowed: {question.command[:200]}",
        "Allow it, use ProxyJump instead, or name the jump host here.",
        host=question.host,
    )
