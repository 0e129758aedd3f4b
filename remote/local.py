"""This computer as a host: the session's words over subprocess, without a shell."""

import contextlib
import os
import selectors
import signal
import subprocess
import threading
import time
import weakref
from collections.abc import Sequence
from pathlib import Path

from remote.errors import ConnectionLostError
from remote.jobs.collect import collect
from remote.session import LIMIT, Channel, Chunk, Completed

BLOCK = 64 * 1024
"""Bytes read from a stream at once: what a pipe holds."""

HANG_UP_GRACE = 0.5
"""Seconds a command that was let go of may take to end by itself before it is killed."""

INPUT_PAUSE = 0.02
"""Seconds between attempts to pass more input on to a command that is slow to take it."""

KILL_GRACE = 5.0
"""Seconds to wait for a killed process; only one stuck in the kernel takes longer."""


class LocalSession:
    """Runs commands on this computer, each in a session of its own, in the user's home as sshd would."""

    def __init__(self, host: str = "local") -> None:
        self._host = host
        self._closed = False
        self._channels: weakref.WeakSet[LocalChannel] = weakref.WeakSet()
        self._lock = threading.Lock()

    @property
    def host(self) -> str:
        """The host's name, as the user knows it."""
        return self._host

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout: float = 30.0, limit: int = LIMIT) -> Completed:
        """Run `argv` to its end and return what it printed.

        Raises RemoteTimeoutError or OutputLimitError (the command is ended in both cases), or
        ConnectionLostError where this session was closed.
        """
        channel = self.open(argv, stdin=stdin)
        try:
            return collect(channel, argv, host=self._host, timeout=timeout, limit=limit)
        finally:
            channel.close()

    def open(self, argv: Sequence[str], *, stdin: bytes = b"", keep_input: bool = False) -> Channel:
        """Start `argv` and return it under way; `stdin` is sent, then closed unless `keep_input`: `send` goes on.

        A program that cannot be started ends at once with a shell's exit status: 127 where there is none
        of this name, 126 where it may not be run.
        """
        with self._lock:
            if self._closed:
                raise ConnectionLostError(f"The session with {self._host} was closed.", host=self._host)
            try:
                channel = LocalChannel(_start(argv, b"" if keep_input else stdin, keep_input=keep_input))
            except FileNotFoundError:
                return EndedChannel(f"{argv[0]}: not found\n".encode(), 127)
            except OSError as error:
                return EndedChannel(f"{argv[0]}: {error.strerror}\n".encode(), 126)
            self._channels.add(channel)
        if keep_input:
            channel.send(stdin, last=False)
        return channel

    def close(self) -> None:
        """End the session and what was started through it. Jobs have left it and go on."""
        with self._lock:
            self._closed = True
            channels = list(self._channels)
        for channel in channels:
            channel.close()


def _start(argv: Sequence[str], stdin: bytes, *, keep_input: bool) -> subprocess.Popen[bytes]:
    """Start `argv` in a process group and session of its own.

    Its input is a file, so that nobody has to feed it, or a pipe where it is to be fed (`keep_input`).
    """
    home = Path.home()
    with contextlib.ExitStack() as stack:
        given = subprocess.PIPE
        if not keep_input:
            given = os.memfd_create("stdin") if stdin else os.open(os.devnull, os.O_RDONLY)
            stack.callback(os.close, given)
        if stdin:
            _fill(given, stdin)
        return subprocess.Popen(
            list(argv),
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=home if home.is_dir() else "/",
            start_new_session=True,
        )


def _fill(descriptor: int, data: bytes) -> None:
    """Write all of `data` and go back to its beginning."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    os.lseek(descriptor, 0, os.SEEK_SET)


class LocalChannel:
    """A command under way on this computer."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._lock = threading.Lock()  # held while reading, so that nothing is closed under a reader
        self._closing = threading.Lock()  # taken once, for good, by whoever closes first
        self._closed = threading.Event()
        self._wake_reader, self._wake_writer = os.pipe()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._wake_reader, selectors.EVENT_READ)
        self._streams = 0
        for name, pipe in (("stdout", process.stdout), ("stderr", process.stderr)):
            if pipe is not None:
                self._selector.register(pipe.fileno(), selectors.EVENT_READ, name)
                self._streams += 1
        self._input = b""
        self._more_input = process.stdin is not None
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)

    def send(self, data: bytes, *, last: bool) -> None:
        """Pass `data` on to the command's input, which ends with the `last`. Called by the thread that reads."""
        with self._lock:
            self._input += data
            self._more_input = not last
            self._pass_on()

    def _pass_on(self) -> None:
        """Write what the pipe takes; close it after the last byte, or where nobody reads it any more."""
        pipe = self._process.stdin
        if pipe is None or pipe.closed or self._closed.is_set():
            return
        try:
            while self._input:
                self._input = self._input[os.write(pipe.fileno(), self._input) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._input, self._more_input = b"", False
        if not self._more_input:
            pipe.close()

    def read(self, timeout: float) -> list[Chunk]:
        """Return what has arrived, waiting up to `timeout` seconds for the first byte; [] if none came."""
        deadline = time.monotonic() + timeout
        with self._lock:
            chunks: list[Chunk] = []
            while self._streams and not chunks and not self._closed.is_set():
                self._pass_on()
                left = max(0.0, deadline - time.monotonic())
                ready = self._selector.select(min(left, INPUT_PAUSE) if self._input else left)
                chunks = [chunk for key, _ in ready if (chunk := self._take(key)) is not None]
                if time.monotonic() >= deadline:
                    break
            if not self._streams and not self._closed.is_set():
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(max(0.0, deadline - time.monotonic()))
            return chunks

    def _take(self, key: selectors.SelectorKey) -> Chunk | None:
        """Read once from a stream that is ready; None at its end, or where only `close` called."""
        if key.data is None:
            return None
        data = os.read(key.fd, BLOCK)
        if data:
            return Chunk(key.data, data)
        self._selector.unregister(key.fd)
        self._streams -= 1
        return None

    @property
    def ended(self) -> bool:
        """Whether both streams have ended, everything was read and the process is gone; or it was let go of."""
        return self._closed.is_set() or (not self._streams and self._process.returncode is not None)

    @property
    def exit_status(self) -> int | None:
        """The exit status; None before the end, or where a signal ended the process, as over SSH."""
        status = self._process.returncode
        return status if self.ended and status is not None and status >= 0 else None

    def close(self) -> None:
        """Let go of the command: its streams are closed, and it is hung up on, then killed, if it still runs."""
        if not self._closing.acquire(blocking=False):
            return
        self._closed.set()
        os.write(self._wake_writer, b"x")
        with self._lock:
            self._selector.close()
            for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
                if pipe is not None:
                    pipe.close()
            for descriptor in (self._wake_reader, self._wake_writer):
                os.close(descriptor)
            self._end()

    def _end(self) -> None:
        """End the process group, gently first. One that was waited for already is left alone: its id may be reused."""
        for number, grace in ((signal.SIGHUP, HANG_UP_GRACE), (signal.SIGKILL, KILL_GRACE)):
            if self._process.poll() is not None:
                return
            with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
                os.killpg(self._process.pid, number)
                self._process.wait(grace)


class EndedChannel:
    """A command that ended before it began: all it has is a line of complaint and an exit status."""

    def __init__(self, stderr: bytes, exit_status: int) -> None:
        self._stderr = stderr
        self._exit_status = exit_status

    def read(self, timeout: float) -> list[Chunk]:  # noqa: ARG002 (the protocol's; there is nothing to wait for)
        """Return the complaint, once."""
        data, self._stderr = self._stderr, b""
        return [Chunk("stderr", data)] if data else []

    def send(self, data: bytes, *, last: bool) -> None:
        """Do nothing: there is no process to take it."""

    @property
    def ended(self) -> bool:
        """Whether the complaint was read."""
        return not self._stderr

    @property
    def exit_status(self) -> int | None:
        """The exit status a shell would give."""
        return self._exit_status if self.ended else None

    def close(self) -> None:
        """Do nothing: there is no process."""
        self._stderr = b""
